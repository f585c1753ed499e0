"""Operations of the fast backend beside NumPy (OpenBLAS), PyTorch and the textbook kernels, measured in turns.

Each library runs in a process of its own, because the waiting threads of one would slow another down; the processes take turns, so that
whatever else the machine does meets all of them alike. What they run stands in `benchmarks.contenders`.

    python -m benchmarks.ops --threads 1 2 --repeats 9
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from collections import Counter
from datetime import date
from statistics import median
from typing import NamedTuple

from benchmarks.contenders import CHAIN, LIBRARIES


class Case(NamedTuple):
    """One row of the table.

    Attributes:
        name: What is computed: operation, dtype and size.
        asked: At least so much of which library's speed, by library.
        seconds: At most so long, where that is asked.
        parts: How many equal parts a call has, of which the time of one is shown.
    """

    name: str
    asked: dict[str, float]
    seconds: float | None = None
    parts: int = 1


BLAS = {"float32": {1: 0.80, 2: 0.75}, "float64": {1: 0.85, 2: 0.85}}
"""Of OpenBLAS's speed at products of 256 to 1024, by dtype and number of threads."""

SHOWN = {"minitorch": "ours", "numpy": "NumPy", "torch": "torch", "textbook": "textbook"}

REACHED, MISSED, NOT_RUN = "reached", "MISSED", "NOT RUN"


def cases(threads: int) -> list[Case]:
    """The rows of the table for a number of threads."""
    rows = []
    for dtype, least in BLAS.items():
        asked = {"numpy": least[min(threads, 2)]} | ({"textbook": 100.0} if dtype == "float32" else {})
        rows += [Case(f"matmul {dtype} {n}", asked) for n in (256, 512, 1024)]
    rows += [Case("matmul float32 64", {"numpy": 0.65}), Case("matmul float32 32x64", {"numpy": 0.65})]
    for size in ("1e5", "1e7"):
        rows += [Case(f"{op} float32 {size}", {"torch": 0.95}) for op in ("add", "mul", "relu")]
        rows.append(Case(f"add_row float32 {size}", {"torch": 0.95, "textbook": 30.0}))
        rows += [Case(f"{op} float32 {size}", {"numpy": 1.0, "torch": 0.8}) for op in ("exp", "sigmoid", "tanh")]
    for op, share in (("sum_last", 0.8), ("sum_first", 0.6), ("sum_all", 0.8)):
        rows.append(Case(f"{op} float32 1e7", {"torch": share}))
    rows.append(Case("chain float32 10", {"torch": 1 / 0.7}, parts=CHAIN))
    rows += [Case(f"network {dtype} 100", {"torch": 1.0}, seconds=0.1) for dtype in ("float64", "float32")]
    return rows


# Measuring


class Library:
    """One library's process; see `benchmarks.contenders`.

    Args:
        name: One of `LIBRARIES`.
        threads: How many it may use.
        python: The interpreter that has it.
        program: What runs in the process.

    Raises:
        RuntimeError: If the process ends; its own message stands above.
    """

    def __init__(self, name: str, threads: int, python: str, program: str = "benchmarks.contenders") -> None:
        count = str(threads)
        limits = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), count)
        command = [python, "-m", program, name]
        self.name = name
        self.process = subprocess.Popen(command, env=os.environ | limits, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def answer(self) -> str:
        """The next line that the process prints."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            self.close()
            raise RuntimeError(f"the process of {self.name} has ended without an answer; its own message stands above")
        return line

    def ask(self, line: str) -> str:
        """Send a line, read the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def measure(name: str, libraries: dict[str, Library], repeats: int) -> dict[str, list[float]]:
    """Seconds of a call of each library that has the operation, `repeats` times in turns."""
    able = {key: library for key, library in libraries.items() if library.ask(name) == "ready"}
    seconds: dict[str, list[float]] = {key: [] for key in able}
    for turn in range(repeats):
        for key, library in able.items():
            if key == "textbook" and turn > 2:
                continue  # its times are long, and nobody doubts them
            seconds[key].append(float(library.ask("")))
    return seconds


FRESH = """
import time
start = time.perf_counter()
import minitorch
x = minitorch.tensor([[1.0, 2.0], [3.0, 4.0]], backend=minitorch.FastBackend)
(x + x).to_numpy()
first = time.perf_counter()
(x * x).to_numpy()
print(first - start, time.perf_counter() - first)
"""
"""Prints the seconds until a new process has its first result, and those for one more kernel."""


def fresh_process() -> tuple[float, float]:
    """What `FRESH` prints; the kernels are on disk if it has run before."""
    printed = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True).stdout
    first, further = (float(x) for x in printed.split())
    return first, further


# The table


class Demand(NamedTuple):
    """What is asked of a row, and what it got.

    Attributes:
        asked: "0.80 of NumPy", "30 times the textbook" or "at most 10 ms".
        measured: "1.13", with the spread; empty if nothing was.
        verdict: REACHED, MISSED or NOT_RUN.
    """

    asked: str
    measured: str
    verdict: str


def in_unit(seconds: float, like: float) -> str:
    """Without the unit: that which suits another duration."""
    value = seconds * scale_of(like)[0]
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}"


def scale_of(seconds: float) -> tuple[float, str]:
    """How many of a unit a second has, and the unit: the one that leaves digits before the point."""
    return next(((scale, unit) for scale, unit in ((1.0, "s"), (1e3, "ms")) if seconds * scale >= 1), (1e6, "µs"))


def spread(seconds: list[float]) -> str:
    """The median of some durations, and in brackets the least and the largest."""
    middle = median(seconds)
    least, largest = in_unit(min(seconds), middle), in_unit(max(seconds), middle)
    return f"{in_unit(middle, middle)} {scale_of(middle)[1]} ({least} to {largest})"


def share_of(library: str, share: float, ours: list[float], theirs: list[float] | None) -> Demand:
    """Our speed beside a library's: the ratio of the medians, and the least and the largest ratio of one turn."""
    name = SHOWN[library]
    asked = f"{share:.0f} times the {name}'s" if share >= 10 else f"{share:.2f} of {name}'s"
    if theirs is None:
        return Demand(asked, "", NOT_RUN)
    got = median(theirs) / median(ours)
    turns = [other / mine for mine, other in zip(ours, theirs, strict=False)]
    measured = f"{got:.2f} ({min(turns):.2f} to {max(turns):.2f})" if share < 10 else f"{got:.0f}"
    return Demand(asked, measured, REACHED if got >= share else MISSED)


def at_most(limit: float, ours: list[float]) -> Demand:
    """Our time beside a limit."""
    return Demand(f"at most {in_unit(limit, limit)} {scale_of(limit)[1]}", spread(ours), REACHED if median(ours) <= limit else MISSED)


def demands(case: Case, seconds: dict[str, list[float]]) -> list[Demand]:
    """Everything that is asked of a case."""
    ours = seconds["minitorch"]
    found = [share_of(library, share, ours, seconds.get(library)) for library, share in case.asked.items()]
    return found + ([at_most(case.seconds, ours)] if case.seconds is not None else [])


def print_row(name: str, found: list[Demand], times: str = "") -> None:
    """A line for each demand, and one for the times."""
    for number, demand in enumerate(found):
        print(f"{'' if number else name:22} {demand.asked:23} {demand.measured:23} {demand.verdict}".rstrip())
    if times:
        print(f"    {times}", flush=True)


def processor_and_cores() -> tuple[str, int]:
    """The processor's name, and how many of its cores this process may use."""
    from benchmarks.scalar import processor  # here: it needs micrograd

    return processor(), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def progress(text: str) -> None:
    """Show on a terminal what is being measured, in place of what was; nothing in a file or a pipe."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:width]:{width}}\r", end="", file=sys.stderr, flush=True)


def table(threads: int, names: list[str], pythons: dict[str, str], repeats: int, only: str) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns how often each verdict was given."""
    rows = [case for case in cases(threads) if only in case.name]
    verdicts: Counter[str] = Counter()
    if not rows:
        return verdicts
    print(f"\n{threads} thread{'s' * (threads > 1)}")
    print(f"{'work':22} {'asked of our speed':23} {'measured':23} verdict")
    libraries = {name: Library(name, threads, pythons.get(name, sys.executable)) for name in names}
    for number, case in enumerate(rows):
        progress(f"{number + 1} of {len(rows)}: {case.name}")
        wanted = {key: library for key, library in libraries.items() if key == "minitorch" or key in case.asked}
        seconds = measure(case.name, wanted, repeats)
        found = demands(case, seconds)
        progress("")
        times = [f"{SHOWN[key]} {spread([x / case.parts for x in values])}" for key, values in seconds.items()]
        print_row(case.name, found, ", ".join(times))
        verdicts.update(demand.verdict for demand in found)
    for library in libraries.values():
        library.close()
    return verdicts


def fresh_table(repeats: int) -> Counter[str]:
    """Measure and print how soon a new process has results, when the kernels are on disk."""
    print("\nA new process, its kernels on disk")
    fresh_process()  # puts them there
    found = []
    for number in range(repeats):
        progress(f"{number + 1} of {repeats}: a new process")
        found.append(fresh_process())
    progress("")
    first, further = (list(values) for values in zip(*found, strict=True))
    rows = [("its first result", at_most(0.7, first)), ("each further kernel", at_most(0.01, further))]
    for name, demand in rows:
        print_row(name, [demand])
    return Counter(demand.verdict for _, demand in rows)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ops", description="The fast backend beside NumPy, PyTorch and the textbook."
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads, one table for each (1 2)")
    parser.add_argument("--repeats", type=int, default=9, help="measurements of each row (9)")
    parser.add_argument("--only", default="", help="rows whose name contains this (all)")
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has PyTorch (this one)")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or min(options.threads) < 1:
        parser.error("--repeats and --threads expected at least 1")
    machine, cores = processor_and_cores()
    print(f"{date.today()}, {machine}, {cores} cores, Python {platform.python_version()}")
    print(f"Medians of {options.repeats} measurements in turns; in brackets the least and the largest.")
    names = list(LIBRARIES)
    if subprocess.run([options.torch_python, "-c", "import torch"], capture_output=True, check=False).returncode:
        names.remove("torch")
        print(f"torch: NOT RUN, {options.torch_python} cannot import it; name an interpreter that can with --torch-python")
    verdicts: Counter[str] = Counter()
    for threads in options.threads:
        if threads > cores:
            print(f"\n{threads} threads: NOT RUN, this machine has {cores} core{'s' * (cores > 1)}")
            continue
        verdicts += table(threads, names, {"torch": options.torch_python}, options.repeats, options.only)
    if not options.only:
        verdicts += fresh_table(options.repeats)
    if not verdicts:
        print(f"\nNo row has {options.only!r} in its name.")
        return
    print("\n" + ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in (REACHED, MISSED, NOT_RUN)))


if __name__ == "__main__":
    main()
