"""Reproduce published results: what others have printed beside what our library computes, with a verdict.

python project/reproduce.py list
python project/reproduce.py NAME ...
python project/reproduce.py all
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from datetime import date
from time import perf_counter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from project.lab import command_line
from project.reproductions import article, course_results, linear_ops, norch, resnets, thunder  # noqa: F401 - they enter themselves
from project.reproductions.results import ALL, DIFFERS, MEASURED, NOT_RUN, REPRODUCED, Absent, Reproduction

ABSENT = 3
"""Exit status: data are not there."""

COLOURS = {REPRODUCED: "green", DIFFERS: "red", MEASURED: "", NOT_RUN: "yellow"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Reproduce what the command line names; returns the exit status."""
    parser = command_line.Parser("reproduce.py", __doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help=f"all, list, or some of {', '.join(ALL)}")
    names = parser.parse_args(arguments).names
    if unknown := [name for name in names if name not in (*ALL, "all", "list")]:
        parser.refuse(f"expected all, list, or some of {', '.join(ALL)}, got {', '.join(unknown)}")
    console = Console(highlight=False)
    if "list" in names:
        _list(console)
        return 0
    chosen = [*ALL.values()] if "all" in names else [ALL[name] for name in names]
    console.print(f"{date.today()}, {platform.processor() or platform.machine()}, Python {platform.python_version()}")
    verdicts: Counter[str] = Counter()
    absent = [one for one in chosen if not _reproduce(console, one, verdicts)]
    console.print()
    console.print(", ".join(f"{verdicts[verdict]} {verdict}" for verdict in COLOURS))
    for one in absent:
        console.print(f"left out: {one.name}, for want of {one.needs}")
    if verdicts[DIFFERS]:
        return 1
    return ABSENT if absent and "all" not in names else 0


def _list(console: Console) -> None:
    """Every reproduction and its source."""
    table = Table("name", "published by", "needs", box=None, pad_edge=False)
    for one in ALL.values():
        table.add_row(one.name, one.source, one.needs)
    console.print(table)


def _reproduce(console: Console, one: Reproduction, verdicts: Counter[str]) -> bool:
    """Print the rows of a reproduction; whether its data are there."""
    console.print(f"\n[bold]{one.name}[/bold]  {one.source}\n  python project/reproduce.py {one.name}")
    start = perf_counter()
    try:
        rows = list(one.rows())
    except Absent as error:
        console.print(Text(f"  {NOT_RUN}: {error}", style="yellow"))
        verdicts[NOT_RUN] += 1
        return False
    table = Table("", "published", "ours", "verdict", box=None, padding=(0, 2))
    for row in rows:
        table.add_row(row.what, row.published, row.ours, Text(row.verdict, style=COLOURS[row.verdict]))
        verdicts[row.verdict] += 1
    console.print(table)
    console.print(f"  in {perf_counter() - start:.1f} s")
    return True


if __name__ == "__main__":
    command_line.run("reproduce.py", main)
