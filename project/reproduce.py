"""Reproduce published results: print the published values next to those that our library computes, with a verdict.

python project/reproduce.py list
python project/reproduce.py NAME ...
python project/reproduce.py all [--offline]
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Sequence
from datetime import date
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from benchmarks.machine import processor
from project.lab.training import command_line
from project.reproductions import article, course_results, linear_ops, minilm, norch, resnets, thunder  # noqa: F401 - they enter themselves
from project.reproductions.results import ALL, DIFFERS, MEASURED, NOT_RUN, REPRODUCED, Absent, Reproduction

ABSENT = 3
"""Exit status: data are missing."""

COLOURS = {REPRODUCED: "green", DIFFERS: "red", MEASURED: "", NOT_RUN: "yellow"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return command_line.call("reproduce.py", command, arguments, __doc__)


def command(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help=f"all, list, or some of {', '.join(ALL)}")],
    offline: Annotated[bool, typer.Option("--offline", help="skip what needs data that may have to be downloaded")] = False,
) -> int:
    """Reproduce some of the results, print them, and return the exit status."""
    if unknown := [name for name in names if name not in (*ALL, "all", "list")]:
        raise command_line.UsageError(f"expected all, list, or some of {', '.join(ALL)}, got {', '.join(unknown)}")
    console = Console(highlight=False)
    if "list" in names:
        _list(console)
        return 0
    chosen = [*ALL.values()] if "all" in names else [ALL[name] for name in dict.fromkeys(names)]
    _say(console, f"{date.today()}, {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    verdicts: Counter[str] = Counter()
    absent = [one for one in chosen if (one.needs and offline) or not _reproduce(console, one, verdicts)]
    _say(console, "\n" + ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in COLOURS))
    for one in absent:
        _say(console, f"skipped: {one.name}, which needs {one.needs}")
    if verdicts[DIFFERS]:
        return 1
    return ABSENT if absent and "all" not in names else 0


def _list(console: Console) -> None:
    """Print every reproduction, what it needs and its source."""
    for one in ALL.values():
        _say(console, Text.assemble((f"{one.name:18}", "bold"), one.source, (f"; needs {one.needs}" if one.needs else "", "yellow")))


def _reproduce(console: Console, one: Reproduction, verdicts: Counter[str]) -> bool:
    """Print the rows of a reproduction as they are computed; return whether its data are available."""
    _say(console, Text.assemble(("\n" + one.name, "bold"), f"  {one.source}\n  python project/reproduce.py {one.name}"))
    start, found = perf_counter(), True
    try:
        for row in one.rows():
            verdicts[row.verdict] += 1
            _say(console, Text.assemble("  ", (f"{row.verdict:10}", COLOURS[row.verdict]), f"  {row.what}"))
            _say(console, f"{'published':>21}  {row.published}\n{'ours':>21}  {row.ours}")
    except Absent as error:
        verdicts[NOT_RUN] += 1
        found = False
        _say(console, Text.assemble("  ", (f"{NOT_RUN:10}", COLOURS[NOT_RUN]), f"  {error}"))
    _say(console, f"  in {perf_counter() - start:.1f} s")
    return found


def _say(console: Console, text: str | Text) -> None:
    """Print a line; a narrow terminal wraps it."""
    console.print(text, soft_wrap=True, markup=False)


if __name__ == "__main__":
    command_line.run("reproduce.py", main)
