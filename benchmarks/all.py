"""Every goal of the benchmarks as one table, from one run on one machine: reached or missed.

    python -m benchmarks.all --short --torch-python PYTHON

The table is recorded in benchmarks/results/goals.json, from which the README and the book show it. --short measures fewer times, on one
thread, and leaves out what takes minutes: the app, the class of a hundred, attacks and forgers.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks import rivals
from benchmarks.machine import processor
from benchmarks.rivals import MISSED, NOT_RUN, REACHED
from course.workspace.atomic_files import write_bytes, write_json

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "benchmarks" / "results" / "goals.json"
README = ROOT / "README.md"
BEGIN, END = "<!-- goals: written by python -m benchmarks.all -->", "<!-- end of goals -->"

AGAINST = {
    "operations": "ops",
    "convolutions": "conv",
    "optimizers": "optim",
    "training steps": "train",
    "compiled steps": "compiled",
    "PyTorch's interface": "torch_face",
    "PyTorch programs": "programs",
    "language": "language",
}
"""Programs that measure the library against others, by what a table calls them."""

SHORT_COURSE = ("status", "test", "endless", "watch")
"""The rows of `benchmarks.course` that take seconds."""


def measure(short: bool, torch_python: str, only: str) -> list[list[str]]:
    """Run the programs; returns for each goal the program, the row, the goal, what was measured, and the verdict.

    Args:
        short: See the module.
        torch_python: An interpreter that has PyTorch.
        only: Programs whose name contains this.
    """
    calls = [
        (f"{name}, {threads} thread{'s' * (threads > 1)}", module, [f"--threads={threads}", f"--torch-python={torch_python}", *turns])
        for name, module in AGAINST.items()
        for threads, turns in ([(1, ["--repeats=3"])] if short else [(1, []), (2, [])])
    ]
    calls += [("course", "course", [f"--only={row}"] if row else []) for row in (SHORT_COURSE if short else [""])]
    calls += [] if short else [("app", "app", [])]
    rows = []
    for name, module, arguments in calls:
        if only in name:
            start = time.monotonic()
            print(f"\n== {name}: python -m benchmarks.{module} {' '.join(arguments)}", flush=True)
            rivals.RECORDED.clear()
            importlib.import_module(f"benchmarks.{module}").main(arguments)
            rows += [[name, row, *demand] for row, demand in rivals.RECORDED]
            print(f"== {time.monotonic() - start:.0f} s", flush=True)
    return rows


# What README shows


def as_table(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [heading, ["---"] * len(heading), *rows])


def summary(record: dict[str, Any]) -> str:
    """How many goals of each program are reached, and the times of compiled steps relative to eager and compiled PyTorch."""
    rows = record["rows"]
    counts = {name: Counter(verdict for program, *_, verdict in rows if program == name) for name in dict.fromkeys(row[0] for row in rows)}
    reached = as_table(
        ["`" + record["command"] + "`", "goals reached", "missed", "not run"],
        [[name, *(count[verdict] for verdict in (REACHED, MISSED, NOT_RUN))] for name, count in counts.items()],
    )
    steps = {row: value for name, row, _, value, _ in rows if name.startswith("compiled steps, 1 ")}
    others = "torch's time", "torch.compile's"
    compiled = as_table(
        ["compiled step", "of PyTorch's time", "of `torch.compile`'s"],
        [
            [network, *(steps.get(f"{network}: of {other}", "") for other in others)]
            for network in dict.fromkeys(row.partition(": ")[0] for row in steps)
        ],
    )
    return f"Measured on {record['date']}, {record['machine']}.\n\n{reached}\n\n{compiled}"


def list_missed(record: dict[str, Any]) -> str:
    """The goals that are missed, folded away."""
    rows = [row[:4] for row in record["rows"] if row[4] == MISSED]
    table = as_table(["program", "row", "goal", "measured"], rows)
    return f"<details><summary>The {len(rows)} goals that are missed</summary>\n\n{table}\n\n</details>"


def insert_into_readme(text: str, record: dict[str, Any]) -> str:
    """README with the tables of a record between its markers.

    Raises:
        ValueError: If it has no markers.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"README.md expected the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{summary(record)}\n\n{list_missed(record)}\n\n{END}{after}"


def main(arguments: list[str] | None = None) -> None:
    """Measure, record, and write README's tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.all", description="Every goal of the benchmarks, reached or missed.")
    parser.add_argument("--short", action="store_true", help="measure less, in about ten minutes")
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has PyTorch (this one)")
    parser.add_argument("--only", default="", help="programs whose name contains this; nothing is recorded then")
    options = parser.parse_args(arguments)
    if not any(options.only in name for name in (*AGAINST, "course", "app")):
        parser.error(f"--only expected part of one of {', '.join(AGAINST)}, course, app; got {options.only!r}")
    if subprocess.run([options.torch_python, "-c", "import torch"], capture_output=True, check=False).returncode and not options.only:
        parser.error(f"{options.torch_python} expected PyTorch, with which goals are compared; name an interpreter with --torch-python")
    rows = measure(options.short, options.torch_python, options.only)
    machine = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    command = f"python -m benchmarks.all{' --short' * options.short}"
    record = {"command": command, "date": date.today().isoformat(), "machine": machine, "rows": rows}
    if not options.only:
        write_json(RECORD, record)
        write_bytes(README, insert_into_readme(README.read_text(encoding="utf-8"), record).encode())
    print(f"\n{summary(record)}")


if __name__ == "__main__":
    main()
