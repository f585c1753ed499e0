"""What an operation costs through `minitorch.torch`, relative to the same operation of the engine; PyTorch's times are shown beside.

python -m benchmarks.torch_face --threads 1 --torch-python /path/to/python
"""

from __future__ import annotations

from collections import Counter
from statistics import median

from benchmarks.rivals import MISSED, REACHED, Demand, Library, measure, print_row, print_verdicts, progress, settings, spread, tables
from benchmarks.torch_face_contenders import LIBRARIES, OPERATIONS, SIZES

SHOWN = {"engine": "engine", "minitorch": "minitorch.torch", "torch": "torch"}
"""The printed names of the libraries."""

ROWS = [f"{operation} {size}" for operation in OPERATIONS for size in SIZES]
"""Operation and size of the square operands."""

MOST = 1.05
"""The maximum time relative to the engine's, for every row."""


def cost_of(engine: list[float], interface: list[float]) -> Demand:
    """The time through the interface relative to the engine's: the ratio of the medians, with the ratios of single turns."""
    got = median(interface) / median(engine)
    turns = [ours / theirs for ours, theirs in zip(interface, engine, strict=True)]
    measured = f"{got:.2f} ({min(turns):.2f} to {max(turns):.2f})"
    return Demand(f"{MOST} times the engine's", measured, REACHED if got <= MOST else MISSED)


def table(threads: int, pythons: dict[str, str], repeats: int, only: str) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns a count of the verdicts."""
    rows = [row for row in ROWS if only in row]
    verdicts: Counter[str] = Counter()
    print(f"\n{threads} thread{'s' * (threads > 1)}")
    print(f"{'operation':22} {'goal: at most':23} {'measured':23} verdict")
    libraries = {name: Library(name, threads, python, "benchmarks.torch_face_contenders") for name, python in pythons.items()}
    for number, row in enumerate(rows):
        progress(f"{number + 1} of {len(rows)}: {row}")
        seconds = measure(row, libraries, repeats)
        found = cost_of(seconds["engine"], seconds["minitorch"])
        progress("")
        print_row(row, [found], ", ".join(f"{SHOWN.get(name, name)} {spread(values)}" for name, values in seconds.items()))
        verdicts[found.verdict] += 1
    for library in libraries.values():
        library.close()
    return verdicts


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the tables."""
    options = settings("torch_face", "What PyTorch's interface adds to the engine's time.", ROWS, arguments)
    heading = f"float32. Medians of {options.repeats} alternating measurements, with the smallest and the largest in parentheses."
    print_verdicts(tables(options, heading, [*LIBRARIES], lambda threads, pythons: table(threads, pythons, options.repeats, options.only)))


if __name__ == "__main__":
    main()
