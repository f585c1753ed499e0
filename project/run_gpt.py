"""Train a small GPT on a text, character by character, and let it go on with a beginning.

python project/run_gpt.py                       # the course's own book
python project/run_gpt.py --text FILE --steps 2000 --checkpoint gpt.safetensors
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from time import perf_counter

import numpy as np

import minitorch
from minitorch import FastBackend, float32, tensor
from minitorch.models import GPT
from minitorch.nn import cross_entropy
from minitorch.optim import AdamW, CosineAnnealingLR, clip_grad_norm_
from minitorch.tensor import generator as library_generator
from project.lab import command_line

PROGRAM = "run_gpt.py"
ROOT = Path(__file__).resolve().parents[1]

LARGEST_NORM = 1.0
"""Gradients are made no longer than this."""

VALIDATION_BATCHES = 8


@dataclass(frozen=True)
class Setting:
    """What a run is made from.

    Attributes:
        steps: How many batches to train on.
        batch: Pieces of text in a batch.
        context: Characters of a piece.
        layers: Blocks of the network.
        heads: Heads of each block's attention.
        width: Numbers for each character.
        dropout: Share of what is dropped in training.
        rate: Learning rate at the beginning; it falls to a tenth.
        seed: Of weights and of batches.
    """

    steps: int = 600
    batch: int = 16
    context: int = 64
    layers: int = 3
    heads: int = 4
    width: int = 64
    dropout: float = 0.0
    rate: float = 3e-3
    seed: int = 0


def book() -> str:
    """The text of the course's book, without code."""
    chapters = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/module*/*.md"))]
    prose = [re.sub(r"(?ms)^(```+|:::+|---).*?^\\1\\s*$", "", chapter) for chapter in chapters]
    return re.sub(r"\\n{3,}", "\\n\\n", "\\n".join(prose))


class Text:
    """A text as numbers, its last tenth kept for validation.

    Args:
        text: The text.
        context: Characters of a piece.

    Attributes:
        characters: Those that occur, in order; a character's number is its place.

    Raises:
        ValueError: If the text is too short for the context.
    """

    def __init__(self, text: str, context: int) -> None:
        self.characters = sorted(set(text))
        places = {character: place for place, character in enumerate(self.characters)}
        numbers = np.array([places[character] for character in text], np.int64)
        cut = len(numbers) * 9 // 10
        self.train, self.valid, self.context = numbers[:cut], numbers[cut:], context
        if len(self.valid) <= context:
            raise ValueError(f"a text expected more than {10 * (context + 1)} characters for a context of {context}, got {len(numbers)}")

    def batch(self, numbers: np.ndarray, count: int, generator: np.random.Generator) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """Pieces drawn at random, shape (count, context), and what follows each of their characters, shape (count · context,)."""
        starts = generator.integers(0, len(numbers) - self.context, count)
        pieces = np.stack([numbers[start : start + self.context + 1] for start in starts])
        return tensor(pieces[:, :-1], FastBackend), tensor(pieces[:, 1:].reshape(-1), FastBackend)

    def numbers(self, beginning: str) -> list[int]:
        """A beginning as numbers; characters that the text has not are left out."""
        return [self.characters.index(character) for character in beginning if character in self.characters]


def loss_of(model: GPT, pieces: minitorch.Tensor, following: minitorch.Tensor) -> minitorch.Tensor:
    """How surprised the network is by what follows, in nats for each character."""
    logits = model(pieces)
    return cross_entropy(logits.view(logits.shape[0] * logits.shape[1], logits.shape[2]), following)


def validation_loss(model: GPT, text: Text, setting: Setting) -> float:
    """The mean over the same few batches each time."""
    generator, total = np.random.default_rng(1), 0.0
    model.eval()
    with minitorch.no_grad():
        for _ in range(VALIDATION_BATCHES):
            total += loss_of(model, *text.batch(text.valid, setting.batch, generator)).item()
    model.train()
    return total / VALIDATION_BATCHES


class Run:
    """A training run that can stop after any step and go on: with the same weights, bit for bit.

    Args:
        setting: What it is made from.
        text: What it learns.
    """

    def __init__(self, setting: Setting, text: Text) -> None:
        minitorch.manual_seed(setting.seed)
        self.setting, self.text, self.step = setting, text, 0
        size, sizes = len(text.characters), (setting.context, setting.layers, setting.heads, setting.width, setting.dropout)
        self.model = GPT(size, *sizes, backend=FastBackend, dtype=float32)
        self.optimizer = AdamW(self.model.parameters(), lr=setting.rate, weight_decay=0.1)
        self.schedule = CosineAnnealingLR(self.optimizer, setting.steps, setting.rate / 10)
        self.generator = np.random.default_rng(setting.seed)

    def advance(self) -> float:
        """Train on one batch; returns its loss."""
        loss = loss_of(self.model, *self.text.batch(self.text.train, self.setting.batch, self.generator))
        self.optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(self.model.parameters(), LARGEST_NORM)
        self.optimizer.step()
        self.schedule.step()
        self.step += 1
        return loss.item()

    def save(self, path: Path) -> None:
        """Write all that going on needs, in one step."""
        generators = {"batches": self.generator.bit_generator.state, "dropout": library_generator.bit_generator.state}
        about = {"setting": asdict(self.setting), "characters": "".join(self.text.characters), "step": self.step, "generators": generators}
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "schedule": self.schedule.state_dict()}
        minitorch.save({"about": about, **state}, path)

    @staticmethod
    def load(path: Path, text: str) -> Run:
        """Go on from what `save` has written.

        Raises:
            ValueError: If the file is none, or was made from another text.
            OSError: If it cannot be read.
        """
        state = minitorch.load(path, FastBackend)
        if "about" not in state or "characters" not in state["about"]:
            raise ValueError(f"{path} expected the checkpoint of a GPT, got another file; name another, or leave out --resume")
        about = state["about"]
        run = Run(Setting(**about["setting"]), Text(text, about["setting"]["context"]))
        if "".join(run.text.characters) != about["characters"]:
            raise ValueError(f"{path} was made from a text of other characters; pass that text with --text")
        run.model.load_state_dict(state["model"])
        run.optimizer.load_state_dict(state["optimizer"])
        run.schedule.load_state_dict(state["schedule"])
        run.generator.bit_generator.state = about["generators"]["batches"]
        library_generator.bit_generator.state = about["generators"]["dropout"]
        run.step = about["step"]
        return run

    def sample(self, beginning: str, count: int, temperature: float) -> str:
        """Go on with a beginning."""
        known = self.text.numbers(beginning) or [0]
        return "".join(self.text.characters[number] for number in self.model.generate(known, count, temperature))


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says; returns the exit status."""
    parser = command_line.Parser(PROGRAM, __doc__)
    for field in fields(Setting):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default, metavar="N", help="see Setting")
    parser.add_argument("--text", type=Path, metavar="FILE", help="what to learn; left out: the course's book")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="where to keep the run")
    parser.add_argument("--resume", action="store_true", help="go on from --checkpoint")
    parser.add_argument("--log-every", type=int, default=50, metavar="N", help="steps from one line to the next")
    parser.add_argument("--beginning", default="The ", metavar="TEXT", help="what to go on with at the end")
    parser.add_argument("--length", type=int, default=300, metavar="N", help="characters to add to it")
    parser.add_argument("--temperature", type=float, default=0.8, metavar="X", help="0 for the likeliest character each time")
    options = parser.parse_args(arguments)
    if options.resume and options.checkpoint is None:
        parser.refuse("--resume expected --checkpoint FILE as well")
    try:
        text = book() if options.text is None else options.text.read_text(encoding="utf-8")
        if options.resume:
            run = Run.load(options.checkpoint, text)
        else:
            setting = Setting(**{field.name: getattr(options, field.name) for field in fields(Setting)})
            run = Run(setting, Text(text, setting.context))
    except (OSError, ValueError) as error:
        parser.refuse(str(error))
    _train(run, options.log_every, options.checkpoint)
    print(f"\n{run.sample(options.beginning, options.length, options.temperature)}")
    return 0


def _train(run: Run, every: int, checkpoint: Path | None) -> None:
    """Train to the end, or to Ctrl-C, and print the log."""
    size = sum(parameter.value.size for parameter in run.model.parameters())
    print(f"{len(run.text.train):,} characters, {len(run.text.characters)} different; {size:,} parameters")
    start, losses, first = perf_counter(), [], run.step
    with (
        command_line.progress_bar(run.setting.steps, "step", run.step) as advance,
        command_line.ctrl_c_at_a_good_moment() as stopped,
    ):
        while run.step < run.setting.steps and not stopped():
            losses.append(run.advance())
            advance()
            if run.step % every == 0 or run.step == run.setting.steps or stopped():
                seconds = (perf_counter() - start) / (run.step - first)
                valid = validation_loss(run.model, run.text, run.setting)
                print(f"step {run.step}/{run.setting.steps}  loss {np.mean(losses):.4f}  validation {valid:.4f}  {seconds:.3f} s a step")
                losses = []
                if checkpoint is not None:
                    run.save(checkpoint)


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
