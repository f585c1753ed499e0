"""Operations of the fast backend against NumPy (OpenBLAS), PyTorch and the textbook kernels, measured alternately.

`benchmarks.contenders` defines what each library runs.

    python -m benchmarks.ops --threads 1 2 --repeats 9
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from statistics import median
from typing import NamedTuple

from benchmarks.contenders import CHAIN, LIBRARIES
from benchmarks.rivals import (
    MISSED,
    NOT_RUN,
    REACHED,
    SHOWN,
    Demand,
    Library,
    in_unit,
    measure,
    print_row,
    print_verdicts,
    progress,
    scale_of,
    settings,
    spread,
    tables,
)


class Case(NamedTuple):
    """One row of the table.

    Attributes:
        name: What is computed: operation, dtype and size.
        asked: The minimum speed relative to other libraries, by library.
        seconds: The maximum time, if there is one.
        parts: The number of equal parts of a call; the time of one part is shown.
    """

    name: str
    asked: dict[str, float]
    seconds: float | None = None
    parts: int = 1


BLAS = {"float32": {1: 0.90, 2: 0.75}, "float64": {1: 0.85, 2: 0.85}}
"""The minimum speed relative to OpenBLAS for products of 256 to 1024, by dtype and number of threads."""

SMALL = ("16", "32", "56", "64", "32x64")
"""Sizes of products for which preparation takes almost as long as computation; the last is a batch of 32."""


def cases(threads: int) -> list[Case]:
    """The rows of the table for a number of threads."""
    rows = []
    for dtype, least in BLAS.items():
        asked = {"numpy": least[min(threads, 2)]} | ({"textbook": 100.0} if dtype == "float32" else {})
        rows += [Case(f"matmul {dtype} {n}", asked) for n in (256, 384, 512, 640, 777, 1024)]
        rows += [Case(f"matmul {dtype} {size}", {"numpy": 0.80}) for size in SMALL]
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
    """The output of `FRESH` in a new process; the kernels are on disk if it has run before."""
    printed = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True).stdout
    first, further = (float(x) for x in printed.split())
    return first, further


# The table


def share_of(library: str, share: float, ours: list[float], theirs: list[float] | None) -> Demand:
    """Our speed relative to a library's: the ratio of the medians, and the smallest and largest ratio of one repeat."""
    name = SHOWN.get(library, library)
    asked = f"{share:.0f} times the {name}'s" if share >= 10 else f"{share:.2f} of {name}'s"
    if theirs is None:
        return Demand(asked, "", NOT_RUN)
    got = median(theirs) / median(ours)
    turns = [other / mine for mine, other in zip(ours, theirs, strict=False)]
    measured = f"{got:.2f} ({min(turns):.2f} to {max(turns):.2f})" if share < 10 else f"{got:.0f}"
    return Demand(asked, measured, REACHED if got >= share else MISSED)


def at_most(limit: float, ours: list[float]) -> Demand:
    """Our time against a limit."""
    return Demand(f"at most {in_unit(limit, limit)} {scale_of(limit)[1]}", spread(ours), REACHED if median(ours) <= limit else MISSED)


def demands(case: Case, seconds: dict[str, list[float]]) -> list[Demand]:
    """All goals of a case."""
    ours = seconds["minitorch"]
    found = [share_of(library, share, ours, seconds.get(library)) for library, share in case.asked.items()]
    return found + ([at_most(case.seconds, ours)] if case.seconds is not None else [])


def table(threads: int, pythons: dict[str, str], repeats: int, only: str) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns a count of the verdicts."""
    rows = [case for case in cases(threads) if only in case.name]
    verdicts: Counter[str] = Counter()
    print(f"\n{threads} thread{'s' * (threads > 1)}")
    print(f"{'work':22} {'goal for our speed':23} {'measured':23} verdict")
    libraries = {name: Library(name, threads, python, "benchmarks.contenders") for name, python in pythons.items()}
    for number, case in enumerate(rows):
        progress(f"{number + 1} of {len(rows)}: {case.name}")
        wanted = {key: library for key, library in libraries.items() if key == "minitorch" or key in case.asked}
        seconds = measure(case.name, wanted, repeats)
        found = demands(case, seconds)
        progress("")
        times = [f"{SHOWN.get(key, key)} {spread([x / case.parts for x in values])}" for key, values in seconds.items()]
        print_row(case.name, found, ", ".join(times))
        verdicts.update(demand.verdict for demand in found)
    for library in libraries.values():
        library.close()
    return verdicts


def fresh_table(repeats: int) -> Counter[str]:
    """Measure and print how soon a new process has results if the kernels are cached on disk."""
    print("\nA new process, with kernels cached on disk")
    fresh_process()  # caches the kernels
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
    names = [case.name for case in cases(1)]
    options = settings("ops", "The fast backend against NumPy, PyTorch and the textbook.", names, arguments)
    heading = f"Medians of {options.repeats} alternating measurements, with the smallest and the largest in parentheses."
    verdicts = tables(options, heading, list(LIBRARIES), lambda threads, pythons: table(threads, pythons, options.repeats, options.only))
    print_verdicts(verdicts if options.only else verdicts + fresh_table(options.repeats))


if __name__ == "__main__":
    main()
