"""Shared code of the benchmarks that measure our library against others, alternately and each in its own process.

The waiting threads of one library would slow down another, hence the processes. They alternate, so that other load on the machine
affects all of them equally.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from statistics import median
from typing import NamedTuple

from benchmarks.machine import processor

SHOWN = {"minitorch": "ours", "numpy": "NumPy"}
"""What a table calls a library that has another name there."""

REACHED, MISSED, NOT_RUN = "reached", "MISSED", "NOT RUN"


# Measuring


class Library:
    """The process of one library; see `benchmarks.contenders`.

    Args:
        name: A name that the program knows.
        threads: The number of threads that it may use.
        python: The interpreter that has the library.
        program: The program that runs in the process.
        environment: Variables for it.

    Raises:
        RuntimeError: If the process ends; its own message is above.
    """

    def __init__(self, name: str, threads: int, python: str, program: str, **environment: str) -> None:
        count = str(threads)
        limits = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), count)
        command = [python, "-m", program, name]
        self.name = name
        self.process = subprocess.Popen(
            command, env=os.environ | limits | environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.answer()

    def answer(self) -> str:
        """Return the next line that the process prints."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            self.close()
            raise RuntimeError(f"the process of {self.name} ended without an answer; see its message above")
        return line

    def ask(self, line: str) -> str:
        """Send a line and read the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def measure(name: str, libraries: dict[str, Library], repeats: int) -> dict[str, list[float]]:
    """Return the seconds of a call in each library that has the operation, `repeats` times, alternately."""
    able = {key: library for key, library in libraries.items() if library.ask(name) == "ready"}
    seconds: dict[str, list[float]] = {key: [] for key in able}
    for turn in range(repeats):
        for key, library in able.items():
            if key == "textbook" and turn > 2:
                continue  # its times are long, and a few are enough
            seconds[key].append(float(library.ask("")))
    return seconds


# Goals


class Demand(NamedTuple):
    """A goal of a row, and what was measured.

    Attributes:
        asked: "0.80 of NumPy", "30 times the textbook" or "at most 10 ms".
        measured: "1.13", with the spread; empty if nothing was measured.
        verdict: REACHED, MISSED or NOT_RUN.
    """

    asked: str
    measured: str
    verdict: str


RECORDED: list[tuple[str, Demand]] = []
"""Every goal that this process has judged, with its row, for `benchmarks.all`."""


def record(row: str, asked: str, measured: str, verdict: str) -> str:
    """Keep a goal and what was measured; returns the verdict."""
    RECORDED.append((" ".join(row.split()), Demand(asked, measured, verdict)))
    return verdict


def in_unit(seconds: float, like: float) -> str:
    """Return a duration without its unit, in a unit suitable for another duration."""
    value = seconds * scale_of(like)[0]
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}"


def scale_of(seconds: float) -> tuple[float, str]:
    """Return the number of units per second, and the unit that leaves digits before the decimal point."""
    return next(((scale, unit) for scale, unit in ((1.0, "s"), (1e3, "ms")) if seconds * scale >= 1), (1e6, "µs"))


def spread(seconds: list[float]) -> str:
    """Return the median of some durations, with the smallest and the largest in parentheses."""
    middle = median(seconds)
    least, largest = in_unit(min(seconds), middle), in_unit(max(seconds), middle)
    return f"{in_unit(middle, middle)} {scale_of(middle)[1]} ({least} to {largest})"


def print_row(name: str, found: list[Demand], times: str = "") -> None:
    """Print a line for each goal, and one for the times."""
    for number, demand in enumerate(found):
        record(name, *demand)
        print(f"{'' if number else name:22} {demand.asked:23} {demand.measured:23} {demand.verdict}".rstrip())
    if times:
        print(f"    {times}", flush=True)


def processor_and_cores() -> tuple[str, int]:
    """Return the name of the processor, and the number of cores that this process may use."""
    return processor(), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def progress(text: str) -> None:
    """Show on a terminal what is being measured, replacing the last message; print nothing to a file or a pipe."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:width]:{width}}\r", end="", file=sys.stderr, flush=True)


# The programs


def settings(
    program: str, description: str, rows: Sequence[str], arguments: list[str] | None, flags: Mapping[str, str] | None = None
) -> argparse.Namespace:
    """Parse the options of a program: threads, repeats, only, torch_python.

    Args:
        program: Its name in this folder.
        description: Its description in the help text.
        rows: The names of all rows.
        arguments: The command line; None for that of the process.
        flags: Options of the program alone, with their help texts.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{program}", description=description)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads, one table for each (1 2)")
    parser.add_argument("--repeats", type=int, default=9, help="measurements of each row (9)")
    parser.add_argument("--only", default="", help="rows whose name contains this (all)")
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has PyTorch (this one)")
    for flag, text in (flags or {}).items():
        parser.add_argument(flag, action="store_true", help=text)
    options = parser.parse_args(arguments)
    if options.repeats < 1 or min(options.threads) < 1:
        parser.error("--repeats and --threads expected at least 1")
    if not any(options.only in row for row in rows):
        parser.error(f"--only expected part of one of {', '.join(rows)}; got {options.only!r}")
    return options


def tables(
    options: argparse.Namespace, heading: str, names: Sequence[str], table: Callable[[int, dict[str, str]], Counter[str]]
) -> Counter[str]:
    """Print the machine and a table for each number of threads; returns a count of the verdicts.

    Args:
        options: See `settings`.
        heading: A description of the numbers.
        names: The libraries.
        table: Prints the table for a number of threads and the libraries' interpreters.
    """
    machine, cores = processor_and_cores()
    print(f"{date.today()}, {machine}, {cores} cores, Python {platform.python_version()}")
    print(heading)
    pythons = {name: options.torch_python if name.startswith("torch") else sys.executable for name in names}
    if subprocess.run([options.torch_python, "-c", "import torch"], capture_output=True, check=False).returncode:
        pythons = {name: python for name, python in pythons.items() if not name.startswith("torch")}
        print(f"torch: NOT RUN, {options.torch_python} cannot import it; name an interpreter that can with --torch-python")
    verdicts: Counter[str] = Counter()
    for threads in options.threads:
        if threads > cores:
            print(f"\n{threads} threads: NOT RUN, this machine has {cores} core{'s' * (cores > 1)}")
        else:
            verdicts += table(threads, pythons)
    return verdicts


def print_verdicts(verdicts: Counter[str]) -> None:
    """Print how often each verdict occurred."""
    print("\n" + ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in (REACHED, MISSED, NOT_RUN)))
