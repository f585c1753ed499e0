"""Compile the kernels of the compiled backend and report which of their loops run in parallel: a summary, then numba's report."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from course.runner.messages import unwritten_task
from minitorch.kernels.jit import compiler_is_off
from project.lab.explorers import diagnostics
from project.lab.training import command_line

PROGRAM = "parallel_check.py"
CHOICES = (*diagnostics.FUNCTIONS, "all")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return command_line.call(PROGRAM, command, arguments, __doc__)


def command(
    function: Annotated[str, typer.Option(metavar="NAME", help=f"one of {', '.join(CHOICES)}")] = "all",
    level: Annotated[int, typer.Option(min=0, max=4, help="how much numba prints; 0 for the summary alone")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="print one line of JSON for each kernel, as the app reads it")] = False,
) -> int:
    """Compile the kernels and report.

    Returns:
        The exit status: 1 if a kernel is not written yet or not parallel.
    """
    if function not in CHOICES:
        raise command_line.UsageError(f"--function expected one of {', '.join(CHOICES)}, got {function!r}")
    if compiler_is_off():
        raise command_line.UsageError("expected the compiler to be on, got NUMBA_DISABLE_JIT=1; unset it")
    names = list(diagnostics.FUNCTIONS) if function == "all" else [function]
    reports, good = [], True
    for name in names:
        print_progress(f"compiling {name} …")
        try:
            report = diagnostics.examine(name, max(1, level))
            told, good = diagnostics.in_words(report), good and report.parallel
            reports.append(report)
        except NotImplementedError as error:
            task = unwritten_task(error)
            if task is None or as_json:
                raise
            report, told, good = None, [f"{name.upper()}: Task {task} is not written yet"], False
        print_progress("")
        if as_json:
            if report:
                print(json.dumps(asdict(report) | {"parallel": report.parallel, "words": told}), flush=True)
        else:
            print("\n".join(map(fitted, told)), flush=True)
    if level and not as_json:
        for report in reports:
            print(f"\n{f' {report.function.upper()}: report from numba ':=^{min(80, width())}}\n{report.raw or report.problem}")
    return 0 if good else 1


def width() -> int:
    """Return the width of the terminal; for a file or a pipe, the width that a line needs."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 1000


def fitted(line: str) -> str:
    """Return the line, shortened to the width of the terminal."""
    return line if len(line) <= width() else line[: width() - 1] + "…"


def print_progress(text: str) -> None:
    """Print a status message on a terminal, replacing the last one; print nothing to a pipe or a file."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
