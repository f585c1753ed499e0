"""Convolutions of images with 3 × 3 kernels in float32 against PyTorch and the textbook kernel, measured alternately.

Each library runs in its own process.

python -m benchmarks.conv --threads 1 2 --torch-python /path/to/python
"""

from __future__ import annotations

from collections import Counter
from statistics import median

from benchmarks.conv_contenders import LIBRARIES
from benchmarks.rivals import (
    MISSED,
    NOT_RUN,
    REACHED,
    SHOWN,
    Demand,
    Library,
    measure,
    print_row,
    print_verdicts,
    progress,
    settings,
    spread,
    tables,
)

SHAPES = {"16 1 4 28": 1.5, "16 4 8 28": 1.5, "64 4 8 28": 1.5, "8 64 64 56": 2.5}
"""Batch, input channels, output channels and size of the images, with the maximum time relative to PyTorch's."""

TOO_LONG = ("8 64 64 56",)
"""Rows for which the textbook kernel would take minutes."""

WAYS = {"forward": "forward", "both": "with backward"}
"""The passes to measure, with their printed names."""


def shown(shape: str) -> str:
    """The printed name of a row: "16 of 1 -> 4, 28²"."""
    batch, channels, out, size = shape.split()
    return f"{batch} of {channels} -> {out}, {size}²"


def times_of(most: float, ours: list[float], theirs: list[float] | None) -> Demand:
    """Our time relative to PyTorch's: the ratio of the medians, and the smallest and largest ratio of one repeat."""
    asked = f"{most} times torch's time"
    if theirs is None:
        return Demand(asked, "", NOT_RUN)
    got = median(ours) / median(theirs)
    turns = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return Demand(asked, f"{got:.2f} ({min(turns):.2f} to {max(turns):.2f})", REACHED if got <= most else MISSED)


def table(threads: int, pythons: dict[str, str], repeats: int, only: str) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns a count of the verdicts."""
    rows = [(way, shape) for shape in SHAPES for way in WAYS if only in shown(shape)]
    verdicts: Counter[str] = Counter()
    print(f"\n{threads} thread{'s' * (threads > 1)}")
    print(f"{'convolution':22} {'goal: at most':23} {'measured':23} verdict")
    libraries = {name: Library(name, threads, python, "benchmarks.conv_contenders") for name, python in pythons.items()}
    for number, (way, shape) in enumerate(rows):
        progress(f"{number + 1} of {len(rows)}: {shown(shape)}, {WAYS[way]}")
        able = {name: library for name, library in libraries.items() if name != "textbook" or shape not in TOO_LONG}
        seconds = measure(f"{way} {shape}", able, repeats)
        found = times_of(SHAPES[shape], seconds["minitorch"], seconds.get("torch"))
        progress("")
        times = ", ".join(f"{SHOWN.get(name, name)} {spread(values)}" for name, values in seconds.items())
        print_row(shown(shape), [found], f"{WAYS[way]}: {times}")
        verdicts[found.verdict] += 1
    for library in libraries.values():
        library.close()
    return verdicts


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the tables."""
    options = settings("conv", "Convolutions against PyTorch and the textbook.", [*map(shown, SHAPES)], arguments)
    turns = f"Medians of {options.repeats} alternating measurements, with the smallest and the largest in parentheses."
    heading = f"float32, kernels of 3 × 3. {turns}"
    print_verdicts(tables(options, heading, [*LIBRARIES], lambda threads, pythons: table(threads, pythons, options.repeats, options.only)))


if __name__ == "__main__":
    main()
