"""Convolutions of images by 3 × 3 kernels in float32, beside PyTorch and the textbook kernel, measured in turns, one library a process.

python -m benchmarks.conv --threads 1 2 --torch-python /path/to/python
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
from collections import Counter
from datetime import date
from statistics import median

from benchmarks.conv_contenders import LIBRARIES
from benchmarks.ops import MISSED, NOT_RUN, REACHED, SHOWN, Demand, Library, measure, print_row, processor_and_cores, progress, spread

SHAPES = {"16 1 4 28": 1.5, "16 4 8 28": 1.5, "64 4 8 28": 1.5, "8 64 64 56": 2.5}
"""Batch, channels in, channels out and size of the images; and at most how many times PyTorch's time is asked."""

TOO_LONG = ("8 64 64 56",)
"""Rows that the textbook kernel would need minutes for."""

WAYS = {"forward": "forward", "both": "with backward"}
"""What is done, and how that is shown."""


def shown(shape: str) -> str:
    """The name of a row: "16 of 1 -> 4, 28²"."""
    batch, channels, out, size = shape.split()
    return f"{batch} of {channels} -> {out}, {size}²"


def times_of(most: float, ours: list[float], theirs: list[float] | None) -> Demand:
    """Our time beside PyTorch's: the ratio of the medians, and the least and the largest ratio of one turn."""
    asked = f"{most} times torch's time"
    if theirs is None:
        return Demand(asked, "", NOT_RUN)
    got = median(ours) / median(theirs)
    turns = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return Demand(asked, f"{got:.2f} ({min(turns):.2f} to {max(turns):.2f})", REACHED if got <= most else MISSED)


def table(threads: int, names: list[str], torch_python: str, repeats: int, only: str) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns how often each verdict was given."""
    rows = [(way, shape) for shape in SHAPES for way in WAYS if only in shown(shape)]
    verdicts: Counter[str] = Counter()
    print(f"\n{threads} thread{'s' * (threads > 1)}")
    print(f"{'convolution':22} {'asked: at most':23} {'measured':23} verdict")
    pythons = {"torch": torch_python}
    libraries = {name: Library(name, threads, pythons.get(name, sys.executable), "benchmarks.conv_contenders") for name in names}
    for number, (way, shape) in enumerate(rows):
        progress(f"{number + 1} of {len(rows)}: {shown(shape)}, {WAYS[way]}")
        able = {name: library for name, library in libraries.items() if name != "textbook" or shape not in TOO_LONG}
        seconds = measure(f"{way} {shape}", able, repeats)
        found = times_of(SHAPES[shape], seconds["minitorch"], seconds.get("torch"))
        progress("")
        times = ", ".join(f"{SHOWN[name]} {spread(values)}" for name, values in seconds.items())
        print_row(shown(shape), [found], f"{WAYS[way]}: {times}")
        verdicts[found.verdict] += 1
    for library in libraries.values():
        library.close()
    return verdicts


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conv", description="Convolutions beside PyTorch and the textbook.")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads, one table for each (1 2)")
    parser.add_argument("--repeats", type=int, default=9, help="measurements of each row (9)")
    parser.add_argument("--only", default="", help="rows whose name contains this (all)")
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has PyTorch (this one)")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or min(options.threads) < 1:
        parser.error("--repeats and --threads expected at least 1")
    if not any(options.only in shown(shape) for shape in SHAPES):
        parser.error(f"--only expected part of one of {', '.join(map(shown, SHAPES))}; got {options.only!r}")
    machine, cores = processor_and_cores()
    print(f"{date.today()}, {machine}, {cores} cores, Python {platform.python_version()}")
    print(f"float32, kernels of 3 × 3. Medians of {options.repeats} measurements in turns; in brackets the least and the largest.")
    names = list(LIBRARIES)
    if subprocess.run([options.torch_python, "-c", "import torch"], capture_output=True, check=False).returncode:
        names.remove("torch")
        print(f"torch: NOT RUN, {options.torch_python} cannot import it; name an interpreter that can with --torch-python")
    verdicts: Counter[str] = Counter()
    for threads in options.threads:
        if threads > cores:
            print(f"\n{threads} threads: NOT RUN, this machine has {cores} core{'s' * (cores > 1)}")
            continue
        verdicts += table(threads, names, options.torch_python, options.repeats, options.only)
    print("\n" + ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in (REACHED, MISSED, NOT_RUN)))


if __name__ == "__main__":
    main()
