"""Training of a small GPT on a text in byte-pair tokens: the settings, the text, and a run that can stop after any step."""

from __future__ import annotations

import hashlib
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Self

import numpy as np

import minitorch
from minitorch.data.story_grammar import GrammarScore
from minitorch.language import Schedule, Tokenizer, Training, add_adapters, clip_gradients, learning_rate, named_weights
from minitorch.language.layers import Linear
from minitorch.language.lora import named_layers
from minitorch.language.model import cross_entropy
from minitorch.tensor import generator
from project.lab import language_model
from project.lab.language_model import LanguageModel
from project.lab.training import story_samples
from project.lab.training.checkpoint import Checkpoint, CheckpointError
from project.lab.training.compiled_step import CompiledStep
from project.lab.training.resuming import differing_options
from project.lab.training.settings import EAGER_HELP, BaseSetting, option
from project.lab.training.training_run import TrainingRun

ROOT = Path(__file__).resolve().parents[3]

BYTES = 256
"""Number of tokens of a tokenizer without merges."""

WARMUP = 20
"""The learning rate rises during the first one of so many parts of the steps."""

VALIDATION_BATCHES = 8

RANK, ALPHA = 4, 2.0
"""The rank of adapters unless a setting says otherwise, and their alpha, as a multiple of the rank."""


@dataclass(frozen=True)
class Setting(BaseSetting):
    """The settings of a run. A run depends only on them and on its text.

    Attributes:
        steps: Number of batches to train on.
        batch: Number of sequences in a batch.
        context: Number of tokens in a sequence, and the most that the model attends to.
        layers: Number of blocks of the model.
        heads: Number of attention heads in each block.
        width: Size of the embedding of a token.
        rate: Largest learning rate; it decreases to a tenth.
        seed: For the initial weights, the batches and the tokens sampled at the end.
        eager: Whether every step runs as it is.
        stories: Number of stories to learn instead of a text.
        tokens: Size of the vocabulary: the 256 bytes, and the tokens that byte-pair encoding learns from the text.
        rank: Rank of the adapters that are trained for a model; None if a new model is.

    Raises:
        ValueError: If a value is not allowed; the message is one line that names the allowed values.
    """

    program: ClassVar[str] = "run_gpt"

    steps: int = option(600, "how many batches to train on", low=1, high=1_000_000)
    batch: int = option(16, "pieces of text in a batch", low=1, high=4096)
    context: int = option(64, "tokens of a piece, and the most that the model attends to", low=1, high=4096)
    layers: int = option(3, "blocks of the model", low=1, high=100)
    heads: int = option(4, "heads of each block's attention; must divide the width", low=1, high=1024)
    width: int = option(64, "size of the embedding of a token", low=1, high=4096)
    rate: float = option(3e-3, "learning rate after the warm-up; it falls to a tenth", low=1e-9, high=1.0)
    seed: int = option(0, "for the initial weights, the batches and the tokens sampled at the end", low=0, high=2**32 - 1)
    eager: bool = option(False, EAGER_HELP)
    stories: int | None = option(None, "learn so many synthetic stories instead of a text, and score the sentences", low=1, high=1_000_000)
    tokens: int = option(BYTES, "tokens to predict: the 256 bytes, and the rest by byte-pair encoding", low=BYTES, high=2**16)
    rank: int | None = option(None, f"rank of the adapters, with --from; {RANK} if left out", low=1, high=1024)

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
        raise ValueError(f"the course's book expected in {ROOT / 'docs'}, got none; name a text with --text FILE, or learn --stories N")
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
    """A text as a sequence of tokens, whose last tenth is used for validation.

    Args:
        text: The text.
        context: Number of tokens in a sequence.
        tokens: Number of different tokens.
        tokenizer: The tokenizer; None to learn one from the text.

    Attributes:
        tokenizer: The tokenizer.
        fingerprint: A digest of the text, which detects a checkpoint of another text.
        train: Tokens for training.
        valid: Tokens for validation.

    Raises:
        ValueError: If the text is too short for the context, or has too few pairs for the tokens.
    """

    def __init__(self, text: str, context: int, tokens: int = BYTES, tokenizer: Tokenizer | None = None) -> None:
        self.tokenizer = Tokenizer.train(text, tokens) if tokenizer is None else tokenizer
        self.fingerprint = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        numbers = np.array(self.tokenizer.encode(text), np.int64)
        cut = len(numbers) * 9 // 10
        self.train, self.valid = numbers[:cut], numbers[cut:]
        if len(self.valid) <= context:
            raise ValueError(
                f"the text expected at least {10 * context + 1} tokens for a context of {context}, got {len(numbers)}; "
                "take a longer text or a smaller --context"
            )

    def numbers(self, beginning: str) -> list[int]:
        """Encode the beginning of a text.

        Raises:
            ValueError: If it is empty, or cannot be encoded.
        """
        if not beginning:
            raise ValueError("beginning expected at least one character, got none")
        return self.tokenizer.encode(beginning)


class Run(TrainingRun):
    """A training run that can stop after any step and continue as if nothing had happened.

    Args:
        setting: The settings.
        text: The text to train on.
        base: A model that gets adapters, which alone are trained, with the settings of `adapter_setting`; None to train a new model.

    Attributes:
        model: The model.
        training: Its training.
        losses: The losses of the steps since the last line of the log.
        files: The files that `command` names, by option.
        history: For each validation during training: the step, the mean of `losses`, and the loss on the validation text.
        seconds: Total duration of all steps.
    """

    unit = "step"

    def __init__(self, setting: Setting, text: str, base: LanguageModel | None = None) -> None:
        self.setting, self.text = setting, Text(text, setting.context, setting.tokens, base and base.tokenizer)
        self.losses, self.seconds = list[float](), 0.0
        self.files = dict[str, Path]()
        self.history = list[tuple[int, float, float]]()
        minitorch.manual_seed(setting.seed)
        self.model = base.model if base else language_model.make_model(setting.tokens, asdict(setting))
        if base:
            rank = setting.rank or RANK
            add_adapters(self.model, list(named_layers(self.model, Linear)), rank, ALPHA * rank, setting.seed)
        schedule = Schedule(setting.steps, setting.steps // WARMUP, setting.rate, setting.rate / 10)
        decay = 0.0 if base else 0.1  # a decayed adapter goes back to the model without it
        self.training = Training(self.model, self.text.train, schedule, setting.batch, weight_decay=decay, seed=setting.seed)
        self._make_step()

    def _make_step(self) -> None:
        self._compiled_model = CompiledStep(self.model, 0 if self.setting.eager else self.total - self.finished)

    @property
    def step(self) -> int:
        """Number of finished steps."""
        return self.training.finished

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
        return self.setting.command() + "".join(f" {option} {shlex.quote(str(path))}" for option, path in self.files.items())

    def advance(self) -> float:
        """Train on one batch, and return its loss.

        Raises:
            NonFiniteGradients: If a gradient is infinite or not a number.
        """
        begun = time.perf_counter()
        self.losses.append(self.take_step())
        self.seconds += time.perf_counter() - begun
        return self.losses[-1]

    def take_step(self) -> float:
        """Train on one batch, and return its loss."""
        self.training.model = self._compiled_model if self._compiled_model.left else self.model
        try:
            return self.training.step().loss
        finally:
            self.training.model = self.model

    def step_with(self, compute_gradients: Callable[[minitorch.Tensor, minitorch.Tensor], float]) -> float:
        """Do what `Training.step` does, with another function that computes the gradients of a batch and returns its loss."""
        training = self.training
        ((tokens, targets),) = training.draw()
        loss = compute_gradients(tokens, targets)
        clip_gradients(self.model.parameters(), training.largest_norm)
        training.optimizer.lr = learning_rate(training.finished + 1, training.schedule)
        training.optimizer.step()
        training.finished += 1
        return loss

    def validation_loss(self) -> float:
        """Return the mean loss over a few batches, which are the same each time, and add it to the history."""
        batches = Training(self.model, self.text.valid, self.training.schedule, self.setting.batch, seed=1)
        with minitorch.no_grad():
            drawn = [part for _ in range(VALIDATION_BATCHES) for part in batches.draw()]
            valid = fmean(cross_entropy(self.model(tokens), targets).item() for tokens, targets in drawn)
        if self.losses:
            self.history.append((self.step, fmean(self.losses), valid))
        return valid

    def sample(self, beginning: str, count: int, temperature: float) -> Iterator[str]:
        """Generate the text of the tokens that follow a beginning, one at a time.

        Raises:
            ValueError: If the beginning is empty, or a logit is infinite or not a number.
        """
        tokens = language_model.continue_tokens(self.model, self.text.numbers(beginning), count, temperature)
        return language_model.pieces(self.text.tokenizer, tokens)

    def grammar(self, count: int, temperature: float) -> GrammarScore:
        """Measure how right the sentences of several samples are, each of which begins a line; the run stays as it is."""
        random, (beginning,) = np.random.default_rng([self.setting.seed, self.step]), self.text.numbers("\n")
        rows = story_samples.continue_lines(self.model, beginning, count, temperature, random)
        return story_samples.score([self.text.tokenizer.decode(row) for row in rows])

    def checkpoint(self) -> Checkpoint:
        """Return everything that `restored` needs."""
        arrays = {f"model.{name}": array for name, array in named_weights(self.model).items()}
        kept = self.training.optimizer.state_dict()
        memories = {str(number): dict(memory) for number, memory in kept["state"].items()}
        for number, memory in memories.items():
            for name in [name for name, value in memory.items() if isinstance(value, minitorch.Tensor)]:
                arrays[f"optimizer.{number}.{name}"] = memory.pop(name).to_numpy()
        about = {
            "program": self.setting.program,
            "setting": asdict(self.setting),
            "merges": list(self.text.tokenizer.merges),
            "data": self.text.fingerprint,
            "version": minitorch.__version__,
            "step": self.step,
            "losses": self.losses,
            "history": self.history,
            "seconds": self.seconds,
            "random": {"batches": self.training.random.bit_generator.state, "samples": generator.bit_generator.state},
            "optimizer": kept | {"state": memories},
        }
        return Checkpoint(about, arrays)

    @classmethod
    def restored(cls, checkpoint: Checkpoint, text: str, name: str = "the checkpoint") -> Self:
        """Restore a run from a checkpoint.

        Args:
            checkpoint: A result of `checkpoint`.
            text: The text to train on.
            name: The name of the checkpoint, for messages.

        Raises:
            CheckpointError: If it was made with another text, or by an earlier version.
            ValueError: If its arrays do not match the network.
        """
        about, arrays = checkpoint.about, checkpoint.arrays
        run = cls(saved_setting(checkpoint, name), text)
        if about["data"] != run.text.fingerprint:
            raise CheckpointError(f"{name} was made with another text; name that one with --text FILE, or begin anew")
        memories = {number: dict(memory) for number, memory in about["optimizer"]["state"].items()}
        for key, array in arrays.items():
            if key.startswith("optimizer."):
                _, number, part = key.split(".")
                memories[number][part] = array
        model = {key.removeprefix("model."): array for key, array in arrays.items() if key.startswith("model.")}
        optimizer = about["optimizer"] | {"state": memories}
        random = about["random"]
        run.training.load_state_dict({"model": model, "optimizer": optimizer, "finished": about["step"], "random": random["batches"]})
        run._make_step()
        run.seconds, run.losses = about["seconds"], list(about["losses"])
        run.history = [tuple(row) for row in about["history"]]
        generator.bit_generator.state = random["samples"]
        return run


def adapter_setting(base: LanguageModel, given: Mapping[str, Any], name: str) -> Setting:
    """Return the settings of a run that trains adapters for a model: its sizes, and other values that are given.

    Args:
        base: The model.
        given: Values of settings.
        name: The file of the model, for messages.

    Raises:
        ValueError: If a value is not allowed, or a given size is not that of the model.
    """
    width, heads = base.model.wte.weight.value.shape[1], base.model.h.modules()[0].attn.heads
    sizes = {"tokens": len(base.tokenizer), "context": base.model.context, "layers": base.model.layers, "heads": heads, "width": width}
    if differing := differing_options({size: given[size] for size in sizes if size in given}, sizes):
        raise ValueError(f"--from expected the sizes of {name}, got {differing}; leave these options out")
    return Setting(**{"rank": RANK, **given, **sizes})


def saved_setting(checkpoint: Checkpoint, name: str) -> Setting:
    """Return the settings of a checkpoint's run.

    Raises:
        CheckpointError: If an earlier version has made it.
    """
    try:
        return Setting(**checkpoint.about["setting"])
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{name} expected the settings of this version, got others ({error}); begin a new run") from None
