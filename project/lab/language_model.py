"""The student's GPT-2 with its tokenizer, from a checkpoint of run_gpt.py or from published files, and texts that it continues."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from minitorch import FastBackend, float32
from minitorch.io.formats import FileFormatError, read_arrays
from minitorch.language import GPT2, Tokenizer, add_adapters, generate, gpt2, load_adapters, load_weights
from project.lab.training import checkpoint
from project.lab.training.checkpoint import CheckpointError

SHIPPED = Path(__file__).parent / "models" / "m6_stories.safetensors"
"""A model that has learned synthetic stories; `python -m project.lab.models` has made it."""

ADAPTER = SHIPPED.with_name("m6_red.safetensors")
"""Adapters for it, which have learned stories in which everything is red."""

PROGRAM = "run_gpt"
"""The program whose checkpoints are read."""

SIZES = ("context", "layers", "heads", "width")
"""The settings of that program that determine the shapes of the weights."""


class LanguageModel(NamedTuple):
    """A model and what its numbers stand for.

    Attributes:
        model: The model.
        tokenizer: Its tokenizer.
        step: Number of steps that run_gpt.py trained it for; 0 if another program did.
    """

    model: GPT2
    tokenizer: Tokenizer
    step: int


def make_model(vocabulary: int, sizes: Mapping[str, Any]) -> GPT2:
    """Make an untrained model of float32 on the compiled backend.

    Args:
        vocabulary: Number of tokens.
        sizes: The other sizes, as in SIZES; more entries are ignored.
    """
    model = GPT2(vocabulary, **{name: sizes[name] for name in SIZES}, backend=FastBackend)
    for parameter in model.parameters():
        parameter.update(parameter.value.to(float32))
    return model


def load(path: str | Path) -> LanguageModel:
    """Read the model of a checkpoint of run_gpt.py, or of a folder with the published files of GPT-2.

    Raises:
        CheckpointError: If the checkpoint is missing, damaged, of another program or of an earlier version.
        FileFormatError: If a file of the folder is damaged, or of another model.
        OSError: If a file of the folder cannot be read.
    """
    if Path(path).is_dir():
        return LanguageModel(*gpt2(path, FastBackend), 0)
    saved = checkpoint.load(path)
    about, arrays = saved.about, saved.arrays
    if about.get("program") != PROGRAM:
        raise CheckpointError(f"{path} expected a checkpoint of {PROGRAM}.py, got one of {about.get('program')}.py; name another file")
    try:
        tokenizer, sizes = make_tokenizer(about["merges"]), {name: about["setting"][name] for name in SIZES}
    except KeyError as error:
        raise _outdated(path, error) from None
    model = make_model(len(tokenizer), sizes)
    try:
        load_weights(model, {name.removeprefix("model."): array for name, array in arrays.items() if name.startswith("model.")})
    except ValueError as error:
        raise _outdated(path, error) from None
    return LanguageModel(model, tokenizer, about["step"])


def _outdated(path: str | Path, error: Exception) -> CheckpointError:
    """The error for a checkpoint of an earlier version."""
    return CheckpointError(f"{path} expected the weights and merges of this version, got others ({error}); train again")


def load_adapter(model: GPT2, path: str | Path) -> None:
    """Add the adapters of a file that `minitorch.language.save_adapters` wrote for this model.

    Raises:
        ValueError: If the file is damaged, holds no adapters, or those of another model; the model may then have new adapters.
        OSError: If the file cannot be read.
    """
    arrays, notes = read_arrays(path)
    try:
        rank, alpha = int(notes["rank"]), float(notes["alpha"])
    except (KeyError, ValueError):
        raise FileFormatError(Path(path), "adapters with their rank and alpha", "none", "name a file that save_adapters wrote") from None
    add_adapters(model, list(dict.fromkeys(name.rpartition(".")[0] for name in arrays)), rank, alpha)
    load_adapters(model, path)


# Tokens


def make_tokenizer(merges: Iterable[Sequence[int]]) -> Tokenizer:
    """Make a tokenizer of the 256 bytes and merges of pairs, without special tokens; `list(tokenizer.merges)` are the pairs."""
    tokens, numbers = [bytes([byte]) for byte in range(256)], {}
    for left, right in merges:
        numbers[left, right] = len(tokens)
        tokens.append(tokens[left] + tokens[right])
    return Tokenizer(tokens, numbers)


def continue_tokens(
    model: Any, tokens: Sequence[int], count: int, temperature: float, top_k: int | None = None, top_p: float | None = None
) -> Iterator[int]:
    """Continue a text by any number of tokens, one after the other.

    Where the context of the model is full, generation begins anew after the last tokens that fill half of it.

    Args:
        model, tokens, count, temperature, top_k, top_p: See `minitorch.language.generate`; the text may be longer than the context.
    """
    known = list(tokens)
    while count > 0:
        if len(known) > model.context:
            known = known[-max(1, model.context // 2) :]
        part = min(count, model.context + 1 - len(known))
        for token in generate(model, known[:], part, temperature, top_k, top_p):
            known.append(token)
            yield token
        count -= part


def pieces(tokenizer: Tokenizer, tokens: Iterable[int]) -> Iterator[str]:
    """Decode tokens one at a time. The bytes of a character may be in several tokens: then the last one yields it, the others nothing."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for token in tokens:
        yield decoder.decode(tokenizer.tokens[token])
