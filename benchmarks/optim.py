"""Optimizer steps over float32 parameters against PyTorch's, measured alternately, one process per library.

python -m benchmarks.optim --threads 1 2 --torch-python /path/to/python
"""

from __future__ import annotations

from collections import Counter

from benchmarks.conv import times_of
from benchmarks.optim_contenders import LIBRARIES
from benchmarks.rivals import SHOWN, Library, measure, print_row, print_verdicts, progress, settings, spread, tables

NAMES = {"sgd": "SGD", "momentum": "SGD, momentum 0.9", "adam": "Adam", "adamw": "AdamW", "rmsprop": "RMSprop"}
"""The printed names of the optimizers."""

OVER = {"one": "10⁶ in a tensor", "mlp": "784-256-256-10", "small": "2-100-100-1"}
"""The printed names of the parameter layouts."""

FUSED = ("sgd", "momentum", "adam", "adamw")
"""The optimizers that have a fused implementation in PyTorch, which must be requested."""

ROWS = [f"{rule} {layout} usual" for layout in OVER for rule in NAMES] + [f"{rule} {layout} fused" for layout in OVER for rule in FUSED]
"""Optimizer, parameters, and PyTorch's implementation: the default one or the fused one."""

MOST = 1.0
"""The maximum time relative to PyTorch's, for every row."""


def shown(row: str) -> str:
    """The printed name of a row: "Adam, 10⁶ in a tensor"."""
    rule, layout, way = row.split()
    return f"{NAMES[rule]}, {OVER[layout]}{', torch fused' if way == 'fused' else ''}"


def table(threads: int, pythons: dict[str, str], repeats: int, only: str) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns a count of the verdicts."""
    rows = [row for row in ROWS if only in shown(row)]
    verdicts: Counter[str] = Counter()
    print(f"\n{threads} thread{'s' * (threads > 1)}")
    print(f"{'step':48} {'goal: at most':23} {'measured':23} verdict")
    libraries = {name: Library(name, threads, python, "benchmarks.optim_contenders") for name, python in pythons.items()}
    for number, row in enumerate(rows):
        progress(f"{number + 1} of {len(rows)}: {shown(row)}")
        seconds = measure(row, libraries, repeats)
        found = times_of(MOST, seconds["minitorch"], seconds.get("torch"))
        progress("")
        print_row(f"{shown(row):48}", [found], ", ".join(f"{SHOWN.get(name, name)} {spread(values)}" for name, values in seconds.items()))
        verdicts[found.verdict] += 1
    for library in libraries.values():
        library.close()
    return verdicts


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the tables."""
    options = settings("optim", "Optimizer steps against PyTorch's.", [*map(shown, ROWS)], arguments)
    turns = f"Medians of {options.repeats} alternating measurements, with the smallest and the largest in parentheses."
    heading = f"float32, one step. {turns}"
    print_verdicts(tables(options, heading, [*LIBRARIES], lambda threads, pythons: table(threads, pythons, options.repeats, options.only)))


if __name__ == "__main__":
    main()
