"""Compile the kernels of the compiled backend and report which of their loops run in parallel: a summary, then what numba says."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict

from course.runner.messages import unwritten_task
from minitorch.kernels.jit import compiler_is_off
from project.lab.explorers import diagnostics
from project.lab.training import command_line

PROGRAM = "parallel_check.py"


def main(arguments: Sequence[str] | None = None) -> int:
    """Report as the command line says.

    Returns:
        The exit status: 1 if a kernel is not written yet or not parallel.
    """
    parser = command_line.Parser(PROGRAM, __doc__)
    parser.add_argument("--function", choices=[*diagnostics.FUNCTIONS, "all"], default="all", help="which kernel")
    parser.add_argument("--level", type=int, choices=(0, 1, 2, 3, 4), default=3, help="how much numba says; 0 for the summary alone")
    parser.add_argument("--json", action="store_true", help="print one line of JSON for each kernel, as the app reads it")
    options = parser.parse_args(arguments)
    if compiler_is_off():
        parser.refuse("expected the compiler to be on, got NUMBA_DISABLE_JIT=1; unset it")
    names = list(diagnostics.FUNCTIONS) if options.function == "all" else [options.function]
    reports, good = [], True
    for name in names:
        print_progress(f"compiling {name} …")
        try:
            report = diagnostics.examine(name, max(1, options.level))
            told, good = diagnostics.in_words(report), good and report.parallel
            reports.append(report)
        except NotImplementedError as error:
            task = unwritten_task(error)
            if task is None or options.json:
                raise
            report, told, good = None, [f"{name.upper()}: Task {task} is not written yet"], False
        print_progress("")
        if options.json:
            if report:
                print(json.dumps(asdict(report) | {"parallel": report.parallel, "words": told}), flush=True)
        else:
            print("\n".join(map(fitted, told)), flush=True)
    if options.level and not options.json:
        for report in reports:
            print(f"\n{f' {report.function.upper()}: what numba says ':=^{min(80, width())}}\n{report.raw or report.problem}")
    return 0 if good else 1


def width() -> int:
    """Columns of the terminal; of a file or a pipe as many as a line needs."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 1000


def fitted(line: str) -> str:
    """The line, shortened to the terminal."""
    return line if len(line) <= width() else line[: width() - 1] + "…"


def print_progress(text: str) -> None:
    """Say on a terminal what is being done, in place of what stood there; a pipe or a file stays clean."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
