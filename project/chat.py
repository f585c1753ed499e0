"""Write a text together with a trained language model: type the beginning of a line, and the model goes on, token by token."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import minitorch
from minitorch.language import merge_adapters, model_nbytes, quantize
from project.lab import language_model
from project.lab.language_model import LanguageModel
from project.lab.training import command_line

PROGRAM = "chat.py"

HELP = "Type the beginning of a line, or nothing for a new one. Ctrl-C ends a line, Ctrl-D the program."

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="a checkpoint of run_gpt.py, or a folder with the published files of GPT-2",
        show_default="one that has learned stories and comes with the program",
    ),
]
Int8 = Annotated[bool, typer.Option("--int8", help="quantize the weights of linear layers")]
Adapter = Annotated[Path | None, typer.Option(metavar="FILE", help="adapters for this model, from save_adapters")]
Length = Annotated[int, command_line.whole(1, "how many tokens to write in a line at most")]
Temperature = Annotated[float, command_line.between(0, 1000, "of the softmax that is sampled from; 0: the likeliest token")]
TopK = Annotated[int | None, command_line.whole(1, "sample from so many likeliest tokens")]
TopP = Annotated[float | None, command_line.between(0, 1, "sample from the likeliest tokens with this probability together", above=True)]
Seed = Annotated[int, command_line.whole(0, "of the samples")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with the options of the command line; returns the exit status."""
    return command_line.call(PROGRAM, command, arguments, __doc__)


def command(
    model: Model = language_model.SHIPPED,
    int8: Int8 = False,
    adapter: Adapter = None,
    length: Length = 100,
    temperature: Temperature = 0.8,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = 0,
) -> int:
    """Answer each line of standard input with a model; returns the exit status."""
    settings: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    try:
        language = language_model.load(model)
        if adapter:
            language_model.load_adapter(language.model, adapter)
            merge_adapters(language.model)  # so that they cost nothing
        size = f"{model_nbytes(language.model):,} bytes"
        if int8:
            size = "{:,} bytes, quantized {:,}".format(*quantize(language.model))
    except (ValueError, OSError) as error:
        raise command_line.UsageError(str(error)) from None
    print(f"{model.name}: {len(language.tokenizer):,} tokens, a context of {language.model.context}, {size}.\n{HELP}", file=sys.stderr)
    minitorch.manual_seed(seed)
    converse(language, length, settings)
    return 0


def converse(language: LanguageModel, length: int, settings: dict[str, Any]) -> None:
    """Continue the text with each line of standard input, until there are no more.

    Args:
        language: The model.
        length: The largest number of tokens to write in a line.
        settings: See `minitorch.language.next_probabilities`.
    """
    text = language.tokenizer.encode("\n")
    for line in _lines():
        text += language.tokenizer.encode(line)
        begun, before = time.perf_counter(), len(text)
        with contextlib.suppress(KeyboardInterrupt):
            for piece in language_model.pieces(language.tokenizer, _answer(language, text, length, settings)):
                print(command_line.printable(piece), end="", flush=True)
        count, seconds = len(text) - before, time.perf_counter() - begun
        print(flush=True)
        print(f"{count} tokens, {count / seconds:.0f} a second", file=sys.stderr)
        text += language.tokenizer.encode("\n")


def _lines() -> Iterator[str]:
    """The lines of standard input. In a terminal, each is asked for, and can be edited where Python has readline."""
    asks = sys.stdin.isatty()
    if asks:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - its import changes `input`
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            yield input("> " if asks else "")


def _answer(language: LanguageModel, text: list[int], length: int, settings: dict[str, Any]) -> Iterator[int]:
    """Yield the tokens of the rest of a line, and append each to the text; one with a line feed or a special one ends it."""
    for token in language_model.continue_tokens(language.model, text, length, **settings):
        if token in language.tokenizer.special_tokens.values() or b"\n" in language.tokenizer.tokens[token]:
            return
        text.append(token)
        yield token


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
