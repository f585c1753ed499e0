"""Train a tokenizer on the course's book and encode text with it, beside tiktoken with the same tokens if it is installed.

python -m benchmarks.tokenizer --megabytes 1 --vocabulary 2000 --repeats 7
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from benchmarks.machine import processor
from minitorch.language import Tokenizer

PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""GPT-2's words, as tiktoken writes them."""

GOAL = 0.2
"""The minimum encoding speed relative to tiktoken's, which is compiled Rust."""

DOCS = Path(__file__).resolve().parent.parent / "docs"


def book(size: int) -> str:
    """Return a text of this many characters: the pages of the book, and the same again if they are shorter."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md")) if "_build" not in path.parts)
    return (text * (size // len(text) + 1))[:size]


def tiktoken_encoder(tokenizer: Tokenizer) -> Callable[[str], list[int]] | None:
    """Return tiktoken's encoder with the tokens of ours, or None if it is not installed."""
    try:
        import tiktoken  # pyright: ignore[reportMissingImports]  optional
    except ImportError:
        return None
    ranks = {token: rank for rank, token in enumerate(tokenizer.tokens)}
    return tiktoken.Encoding("ours", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


def check_same(ours: list[int], theirs: list[int]) -> None:
    """Exit if the two encoders do not agree."""
    if ours != theirs:
        sys.exit("ours and tiktoken encode differently; their times are meaningless")


def seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """Processor seconds of one call."""
    start = process_time()
    function(*arguments)
    return process_time() - start


def print_row(name: str, times: list[float], size: int, theirs: list[float] | None) -> None:
    """Print one line of the table: median, range, speed, and speed relative to tiktoken's."""
    spread = f"{min(times):.3f} - {max(times):.3f}"
    ratio = f"{median(theirs) / median(times):.2f}" if theirs else ""
    print(f"{name:32}{median(times):>9.3f} s{spread:>18}{size / 1e6 / median(times):>9.1f} MB/s{ratio:>10}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tokenizer", description="Our tokenizer beside tiktoken.")
    parser.add_argument("--megabytes", type=float, default=1.0, help="millions of characters of the book (1)")
    parser.add_argument("--vocabulary", type=int, default=2000, help="number of tokens (2000)")
    parser.add_argument("--repeats", type=int, default=7, help="measurements of each program (7)")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or not options.megabytes > 0:
        parser.error(f"expected --repeats >= 1 and --megabytes > 0, got {options.repeats} and {options.megabytes}")

    text = book(round(options.megabytes * 1e6))
    size = len(text.encode())
    print(f"{processor()}, {platform.system()}, Python {platform.python_version()}; processor time")
    print(
        f"python -m benchmarks.tokenizer --megabytes {options.megabytes:g} --vocabulary {options.vocabulary} --repeats {options.repeats}\n"
    )
    print(f"{'':32}{'median':>11}{'min - max':>18}{'speed':>14}{'ratio':>10}")
    try:
        tokenizer = Tokenizer.train(text, options.vocabulary)
    except ValueError as error:
        parser.error(str(error))
    print_row("train", [seconds(Tokenizer.train, text, options.vocabulary)], size, None)

    encode = tiktoken_encoder(tokenizer)
    if encode is not None:
        check_same(tokenizer.encode(text), encode(text))
    names = ["encode, first text", "encode, words seen before", "decode"] + ["tiktoken, encode"] * (encode is not None)
    times: dict[str, list[float]] = {name: [] for name in names}
    tokens = tokenizer.encode(text)
    for _ in range(options.repeats):  # alternately, so that other load on the machine affects all of them equally
        fresh = Tokenizer(tokenizer.tokens, tokenizer.merges)
        times["encode, first text"].append(seconds(fresh.encode, text))
        times["encode, words seen before"].append(seconds(fresh.encode, text))
        times["decode"].append(seconds(fresh.decode, tokens))
        if encode is not None:
            times["tiktoken, encode"].append(seconds(encode, text))
    theirs = times.get("tiktoken, encode")
    for name, own in times.items():
        print_row(name, own, size, theirs if "encode" in name else None)
    if theirs:
        reached = median(theirs) / median(times["encode, first text"])
        print(f"\ngoal: at least {GOAL} of tiktoken's speed on the first text; {'reached' if reached >= GOAL else 'missed'}: {reached:.2f}")
    else:
        print("\ntiktoken is not installed; for the comparison, pip install tiktoken")


if __name__ == "__main__":
    main()
