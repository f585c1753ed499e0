"""Training of a small GPT on a text, in characters or tokens: the settings, the text, and a run that can stop after any step."""

from __future__ import annotations

import codecs
import hashlib
import math
import re
import shlex
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

import minitorch
from minitorch import FastBackend, float32, tensor
from minitorch.data.story_grammar import GrammarScore
from minitorch.language import Tokenizer
from minitorch.models import GPT
from minitorch.nn import cross_entropy
from minitorch.optim import AdamW, CosineAnnealingLR, clip_grad_norm_
from minitorch.tensor import generator
from project.lab.training import story_samples
from project.lab.training.checkpoint import Checkpoint, CheckpointError
from project.lab.training.compiled_step import CompiledStep
from project.lab.training.settings import COMPILE_HELP, BaseSetting, option
from project.lab.training.training_run import TrainingRun

ROOT = Path(__file__).resolve().parents[3]

LARGEST_NORM = 1.0
"""Gradients are made no longer than this."""

WEIGHT_DECAY = 0.1

VALIDATION_BATCHES = 8


@dataclass(frozen=True)
class Setting(BaseSetting):
    """The settings of a run. A run depends only on them and on its text.

    Attributes:
        steps: Number of batches to train on.
        batch: Number of sequences in a batch.
        context: Number of characters or tokens in a sequence, and the most that the model attends to.
        layers: Number of blocks of the model.
        heads: Number of attention heads in each block.
        width: Size of the embedding of a character or token.
        dropout: Probability that dropout zeroes an element.
        rate: Initial learning rate; it decreases to a tenth.
        seed: For the initial weights, the batches, dropout and the characters sampled at the end.
        compile: Whether the training step is compiled.
        stories: Number of stories to learn instead of a text.
        tokens: Size of the vocabulary that byte-pair encoding learns from the text; None for characters.

    Raises:
        ValueError: If a value is not allowed; the message is one line that names the allowed values.
    """

    program: ClassVar[str] = "run_gpt"

    steps: int = option(600, "how many batches to train on", low=1, high=1_000_000)
    batch: int = option(16, "pieces of text in a batch", low=1, high=4096)
    context: int = option(64, "characters of a piece, and the most that the model attends to", low=1, high=4096)
    layers: int = option(3, "blocks of the model", low=1, high=100)
    heads: int = option(4, "heads of each block's attention; must divide the width", low=1, high=1024)
    width: int = option(64, "size of the embedding of a character", low=1, high=4096)
    dropout: float = option(0.0, "probability that dropout zeroes an element", low=0.0, high=0.9)
    rate: float = option(3e-3, "learning rate at the beginning; it falls to a tenth", low=1e-9, high=1.0)
    seed: int = option(0, "for the initial weights, the batches, dropout and the characters sampled at the end", low=0, high=2**32 - 1)
    compile: bool = option(False, COMPILE_HELP)
    stories: int | None = option(None, "learn so many synthetic stories instead of a text, and score the sentences", low=1, high=1_000_000)
    tokens: int | None = option(None, "learn so many byte-pair tokens, and predict these, not characters", low=257, high=2**16)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % self.heads:
            raise ValueError(f"heads expected a number that divides width, {self.width}, got {self.heads}")


def book() -> str:
    """Return the prose of the course's book: its chapters without code blocks, directives and front matter.

    Raises:
        ValueError: If the book is missing.
    """
    chapters = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("module*/*.md"))]
    if not chapters:
        raise ValueError(f"the course's book expected in {ROOT / 'docs'}, got no chapter; name another text with --text FILE")
    bodies = [re.sub(r"\A---\n.*?^---\n", "", chapter, flags=re.DOTALL | re.MULTILINE) for chapter in chapters]
    prose = [re.sub(r"^(```+)[^\n]*\n.*?^\1[ \t]*$", "", body, flags=re.DOTALL | re.MULTILINE) for body in bodies]
    plain = [re.sub(r"^:.*\n", "", text, flags=re.MULTILINE) for text in prose]  # fences and options of directives
    return re.sub(r"\n{3,}", "\n\n", "\n".join(plain)).lstrip()


def read(path: Path) -> str:
    """Read the text of a file, with line feeds as line endings.

    Raises:
        ValueError: If it is not UTF-8 text, or is empty.
        OSError: If it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"byte 0x{error.object[error.start]:02x} at {error.start}"
        raise ValueError(f"{path} expected text in UTF-8, got {what}, which is none; save it as UTF-8") from None
    if not text:
        raise ValueError(f"{path} expected a text, got an empty file; name another with --text FILE")
    return text


class Text:
    """A text as a sequence of indices of characters or tokens, whose last tenth is used for validation.

    Args:
        text: The text.
        context: Number of indices in a sequence.
        tokens: Number of byte-pair tokens; None for characters.

    Attributes:
        tokenizer: The tokenizer, which is learned from the text; None for characters.
        characters: The distinct characters, sorted; the index of a character is its position in this list. Empty with a tokenizer.
        size: Number of different indices.
        unit: What an index stands for, "characters" or "tokens".
        fingerprint: A digest of the text, which detects a checkpoint of another text.
        train: Indices for training.
        valid: Indices for validation.

    Raises:
        ValueError: If the text is too short for the context, or has too few pairs for the tokens.
    """

    def __init__(self, text: str, context: int, tokens: int | None = None) -> None:
        self.tokenizer = None if tokens is None else Tokenizer.train(text, tokens)
        self.characters = sorted(set(text)) if self.tokenizer is None else []
        self.size, self.unit = tokens or len(self.characters), "tokens" if tokens else "characters"
        self.fingerprint = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        self.context = context
        self._places = {character: place for place, character in enumerate(self.characters)}
        numbers = np.array(self._encode(text), np.int64)
        cut = len(numbers) * 9 // 10
        self.train, self.valid = numbers[:cut], numbers[cut:]
        if len(self.valid) <= context:
            raise ValueError(
                f"the text expected at least {10 * context + 1} {self.unit} for a context of {context}, got {len(numbers)}; "
                "take a longer text or a smaller --context"
            )

    def batch(self, numbers: np.ndarray, count: int, random: np.random.Generator) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """Return random sequences, shape (count, context), and the index after each of their indices, shape (count · context,)."""
        starts = random.integers(0, len(numbers) - self.context, count)
        pieces = numbers[starts[:, None] + np.arange(self.context + 1)]
        return tensor(pieces[:, :-1], FastBackend), tensor(pieces[:, 1:].reshape(-1), FastBackend)

    def numbers(self, beginning: str) -> list[int]:
        """Encode the beginning of a text as indices.

        Raises:
            ValueError: If it is empty, or contains characters that do not occur in the text.
        """
        if self.tokenizer is None and (missing := sorted(set(beginning) - self._places.keys())):
            listed = ", ".join(map(repr, missing))
            raise ValueError(f"beginning expected characters that the text has, got {listed} as well; leave these out")
        if not beginning:
            raise ValueError("beginning expected at least one character, got none")
        return self._encode(beginning)

    def pieces(self, numbers: Iterable[int]) -> Iterator[str]:
        """Decode indices one at a time; the bytes of a character may be in several tokens, of which the last one yields it."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for number in numbers:
            yield self.characters[number] if self.tokenizer is None else decoder.decode(self.tokenizer.tokens[number])

    def _encode(self, text: str) -> list[int]:
        return [self._places[character] for character in text] if self.tokenizer is None else self.tokenizer.encode(text)


class Run(TrainingRun):
    """A training run that can stop after any step and continue as if nothing had happened.

    Args:
        setting: The settings.
        text: The text to train on.

    Attributes:
        step: Number of finished steps.
        losses: The losses of the steps since the last line of the log.
        file: The file of the text, for `command`; None for the course's book.
        history: For each validation during training: the step, the mean of `losses`, and the loss on the validation text.
        seconds: Total duration of all steps.
    """

    unit = "step"

    def __init__(self, setting: Setting, text: str) -> None:
        self.setting, self.text = setting, Text(text, setting.context, setting.tokens)
        self.step, self.losses, self.seconds = 0, list[float](), 0.0
        self.file: Path | None = None
        self.history = list[tuple[int, float, float]]()
        minitorch.manual_seed(setting.seed)
        sizes = setting.context, setting.layers, setting.heads, setting.width
        self.model = GPT(self.text.size, *sizes, setting.dropout, FastBackend, float32)
        self.optimizer = AdamW(self.model.parameters(), lr=setting.rate, weight_decay=WEIGHT_DECAY)
        self.schedule = CosineAnnealingLR(self.optimizer, setting.steps, setting.rate / 10)
        self._random = np.random.default_rng(setting.seed)
        self._step = CompiledStep(self.learn, setting.compile)

    @property
    def finished(self) -> int:
        """Number of finished steps, of `total`, for the training loop."""
        return self.step

    @property
    def total(self) -> int:
        """Total number of steps."""
        return self.setting.steps

    def positions(self) -> list[int]:
        """The steps after which the run was validated."""
        return [step for step, _, _ in self.history]

    def curves(self) -> dict[str, list[float]]:
        """See `TrainingRun.curves`."""
        return {"loss": [loss for _, loss, _ in self.history], "valid_loss": [valid for _, _, valid in self.history]}

    def time_spent(self) -> float:
        """See `TrainingRun.time_spent`."""
        return self.seconds

    def command(self) -> str:
        """The command line that repeats the run."""
        text = f" --text {shlex.quote(str(self.file))}" if self.file else ""
        return self.setting.command() + text

    def loss(self, pieces: minitorch.Tensor, following: minitorch.Tensor) -> minitorch.Tensor:
        """Return the cross-entropy of the model's predictions for what follows, in nats per character or token."""
        logits = self.model(pieces)
        return cross_entropy(logits.view(logits.shape[0] * logits.shape[1], logits.shape[2]), following)

    def advance(self) -> float:
        """Train on one batch, and return its loss."""
        begun = time.perf_counter()
        loss = self._step(*self.text.batch(self.text.train, self.setting.batch, self._random))
        self.schedule.step()
        self.step += 1
        self.losses.append(loss.item())
        self.seconds += time.perf_counter() - begun
        return self.losses[-1]

    def learn(self, pieces: minitorch.Tensor, following: minitorch.Tensor) -> minitorch.Tensor:
        """Take a step on one batch; returns its loss."""
        loss = self.loss(pieces, following)
        self.optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(self.model.parameters(), LARGEST_NORM)
        self.optimizer.step()
        return loss.detach()

    def gain(self) -> str:
        """A sentence on what compilation gained; "" for none."""
        return self._step.gain()

    def validation_loss(self) -> float:
        """Return the mean loss over a few batches, which are the same each time, and add it to the history."""
        random, losses = np.random.default_rng(1), []
        self.model.eval()
        try:
            with minitorch.no_grad():
                for _ in range(VALIDATION_BATCHES):
                    losses.append(self.loss(*self.text.batch(self.text.valid, self.setting.batch, random)).item())
        finally:
            self.model.train()
        valid = math.fsum(losses) / len(losses)
        if self.losses:
            self.history.append((self.step, math.fsum(self.losses) / len(self.losses), valid))
        return valid

    def sample(self, beginning: str, count: int, temperature: float) -> Iterator[str]:
        """Generate the characters or tokens that follow a beginning, one at a time.

        Raises:
            ValueError: See `Text.numbers` and `GPT.generate`.
        """
        known = self.text.numbers(beginning)

        def following() -> Iterator[int]:
            nonlocal known
            for _ in range(count):
                known = self.model.generate(known[-self.setting.context :], 1, temperature)
                yield known[-1]

        yield from self.text.pieces(following())

    def grammar(self, count: int, temperature: float) -> GrammarScore:
        """Measure how right the sentences of several samples are, each of which begins a line; the run stays as it is.

        Raises:
            ValueError: If the text has no lines.
        """
        random, (beginning,) = np.random.default_rng([self.setting.seed, self.step]), self.text.numbers("\n")
        self.model.eval()
        try:
            length = self.setting.context
            rows = story_samples.continue_lines(self.model, beginning, count, length, temperature, random, FastBackend)
        finally:
            self.model.train()
        return story_samples.score(["".join(self.text.pieces(row.tolist())) for row in rows])

    def checkpoint(self) -> Checkpoint:
        """Return everything that `restored` needs."""
        arrays = {f"model.{name}": value.to_numpy() for name, value in self.model.state_dict().items()}
        kept = self.optimizer.state_dict()
        memories = {str(number): dict(memory) for number, memory in kept["state"].items()}
        for number, memory in memories.items():
            for name in [name for name, value in memory.items() if isinstance(value, minitorch.Tensor)]:
                arrays[f"optimizer.{number}.{name}"] = memory.pop(name).to_numpy()
        about = {
            "program": self.setting.program,
            "setting": asdict(self.setting),
            "characters": "".join(self.text.characters),
            "data": self.text.fingerprint,
            "version": minitorch.__version__,
            "step": self.step,
            "losses": self.losses,
            "history": self.history,
            "seconds": self.seconds,
            "random": {"batches": self._random.bit_generator.state, "dropout": generator.bit_generator.state},
            "optimizer": kept | {"state": memories},
            "schedule": self.schedule.state_dict(),
        }
        return Checkpoint(about, arrays)

    @staticmethod
    def restored(checkpoint: Checkpoint, text: str, name: str = "the checkpoint") -> Run:
        """Restore a run from a checkpoint.

        Args:
            checkpoint: A result of `checkpoint`.
            text: The text to train on.
            name: The name of the checkpoint, for messages.

        Raises:
            CheckpointError: If it was made with another text.
            ValueError: If its arrays do not match the network.
        """
        about, arrays = checkpoint.about, checkpoint.arrays
        run = Run(Setting(**about["setting"]), text)
        if about["data"] != run.text.fingerprint:
            raise CheckpointError(f"{name} was made with another text; name that one with --text FILE, or begin anew")
        run.model.load_state_dict({name.partition(".")[2]: array for name, array in arrays.items() if name.startswith("model.")})
        memories = {number: dict(memory) for number, memory in about["optimizer"]["state"].items()}
        for key, array in arrays.items():
            if key.startswith("optimizer."):
                _, number, name = key.split(".")
                memories[number][name] = array
        run.optimizer.load_state_dict(about["optimizer"] | {"state": memories})
        run.schedule.load_state_dict(about["schedule"])
        run.step, run.losses, run.seconds = about["step"], list(about["losses"]), about["seconds"]
        run.history = [tuple(row) for row in about.get("history", [])]  # a checkpoint of an earlier version has none
        run._random.bit_generator.state = about["random"]["batches"]
        generator.bit_generator.state = about["random"]["dropout"]
        return run
