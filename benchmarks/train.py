"""Training steps against PyTorch's, from the same weights on the same data, measured alternately, with losses and memory.

    python -m benchmarks.train --threads 1 2 --repeats 9 --torch-python PYTHON

* lenet: LeNet-5 with max pooling, batches of 16 images of 28 × 28.
* published: the network of `project/run_mnist_multiclass.py` without its dropout, batches of 16.
* mlp: 784-256-256-10, batches of 128.
* module2, module3: the networks of `project/run_tensor.py` and `project/run_fast_tensor.py`, with 10 and 100 hidden units, on the
  compiled backend and all 50 points at once.
* adam: a step of Adam over a tensor of 10⁶ numbers; `benchmarks.optim` has more of these.
* resnet18: a forward pass in evaluation mode, 8 images of 64 × 64. Its time is shown without a goal.

With --compiled, the same and two more networks as compiled steps: see `benchmarks.compiled`.

Each library runs in its own process, which `benchmarks.train_contenders` and `benchmarks.optim_contenders` define.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from statistics import median
from typing import NamedTuple

from benchmarks import compiled
from benchmarks.rivals import MISSED, NOT_RUN, REACHED, Library, measure, print_verdicts, record, settings, spread, tables

REPORTED = "reported"
"""The verdict of a row without a goal."""

SAME, APART = 20, 1e-4
"""The number of losses to compare, and their maximum relative difference."""

MEMORY = 1.3
"""The maximum memory of our networks relative to that of PyTorch's."""


class Row(NamedTuple):
    """One row of the table.

    Attributes:
        shown: The name in the table.
        asked: The maximum time relative to PyTorch's, on one thread and on more; None without a goal.
        steps: Steps of one measurement.
        memory: The maximum memory relative to PyTorch's; None without a goal.
    """

    shown: str
    asked: tuple[float | None, float | None]
    steps: int
    memory: float | None = MEMORY


ROWS = {
    "lenet": Row("lenet, batch 16", (1.8, 1.3), 20),
    "published": Row("published, batch 16", (1.8, 1.3), 20),
    "mlp": Row("mlp, batch 128", (1.3, 1.0), 20),
    "module2": Row("module2, batch 50", (None, 0.6), 100),
    "module3": Row("module3, batch 50", (None, 0.6), 100),
    "resnet18": Row("resnet18 forward, batch 8", (None, None), 2, None),
}
"""The networks, each with its goals."""

ADAM = "adam"
"""The row that is not a network; its goal is at most PyTorch's time."""


def compared(network: str, libraries: dict[str, Library], repeats: int) -> dict[str, tuple[list[float], list[float]]]:
    """Return the seconds of a step, measured alternately, and the first losses, for each library."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    steps = ROWS[network].steps
    for name, library in libraries.items():
        library.ask(network)
        losses = [float(x) for x in library.ask(str(min(SAME, steps))).split()[1:]]  # compiles the kernels if necessary
        found[name] = [], losses
    for _ in range(repeats):
        for name, library in libraries.items():
            found[name][0].append(float(library.ask(str(steps)).split()[0]) / steps)
    return found


def verdict(name: str, asked: float | None, got: float, more: str, row: str = "") -> str:
    """Print a line, of a row if it is not the row's first; returns whether the goal was reached, or that there is none."""
    found, goal = (REPORTED, "no goal") if asked is None else (REACHED if got <= asked else MISSED, f"at most {asked:.4g}")
    print(f"{name:26} {goal:16} {got:<10.3g} {found}{more}", flush=True)
    return record(f"{row}: {name.strip()}" if row else name, goal, f"{got:.3g}", found)


def times(name: str, asked: float | None, ours: list[float], theirs: list[float] | None) -> str:
    """Judge our time against PyTorch's; returns the verdict."""
    if theirs is None:
        print(f"{name:26} {NOT_RUN}; ours {spread(ours)}", flush=True)
        return NOT_RUN if asked is None else record(name, f"at most {asked:.4g}", "", NOT_RUN)
    return verdict(name, asked, median(ours) / median(theirs), f"; ours {spread(ours)}, torch {spread(theirs)}")


def judged(network: str, threads: int, pythons: dict[str, str], repeats: int) -> list[str]:
    """Measure a network and print its lines; returns the verdicts."""
    row = ROWS[network]
    found, memory = {}, {}
    for turn in range(2):  # the first turn caches our kernels on disk, which takes additional memory
        libraries = {name: Library(name, threads, python, "benchmarks.train_contenders") for name, python in pythons.items()}
        found = compared(network, libraries, repeats if turn else 1)
        memory = {name: int(library.ask("memory")) for name, library in libraries.items()}
        for library in libraries.values():
            library.close()
    (ours, our_losses), (theirs, their_losses) = found["minitorch"], found.get("torch", (None, []))
    verdicts = [times(row.shown, row.asked[min(threads, 2) - 1], ours, theirs)]
    if theirs is None:
        return verdicts
    apart = max(_apart(a, b) for a, b in zip(our_losses, their_losses, strict=True))
    last = f"; the last {our_losses[-1]:.6f} and {their_losses[-1]:.6f}"
    grown = f"; ours {memory['minitorch'] / 2**20:.1f} MiB, torch {memory['torch'] / 2**20:.1f} MiB"
    verdicts.append(verdict("  loss difference", APART, apart, last, row.shown))
    verdicts.append(verdict("  memory, of torch's", row.memory, memory["minitorch"] / max(memory["torch"], 1), grown, row.shown))
    return verdicts


def _apart(a: float, b: float) -> float:
    """The relative difference of a and b; infinite if one is NaN."""
    return math.inf if math.isnan(a - b) else abs(a - b) / abs(b)


def adam(threads: int, pythons: dict[str, str], repeats: int) -> str:
    """Measure a step of Adam and print its line; returns the verdict."""
    libraries = {name: Library(name, threads, python, "benchmarks.optim_contenders") for name, python in pythons.items()}
    seconds = measure("adam one usual", libraries, repeats)
    for library in libraries.values():
        library.close()
    return times("adam, 10⁶ in a tensor", 1.0, seconds["minitorch"], seconds.get("torch"))


def table(threads: int, pythons: dict[str, str], repeats: int, only: str) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns a count of the verdicts."""
    print(f"\n{threads} thread{'s' * (threads > 1)}\n{'network':26} {'goal':16} measured")
    verdicts: Counter[str] = Counter()
    for network in (name for name in ROWS if only in name):
        verdicts.update(judged(network, threads, pythons, repeats))
    if only in ADAM:
        verdicts[adam(threads, pythons, repeats)] += 1
    return verdicts


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the tables; with --compiled, those of `benchmarks.compiled`."""
    given = sys.argv[1:] if arguments is None else arguments
    if "--compiled" in given:
        compiled.main([option for option in given if option != "--compiled"])
        return
    flags = {"--compiled": "time compiled steps, of more networks; --only then names one of those"}
    options = settings("train", "Training steps against PyTorch's.", [*ROWS, ADAM], arguments, flags)
    heading = f"Step times relative to PyTorch's; medians of {options.repeats} turns, with the smallest and the largest in parentheses."
    libraries = ["minitorch", "torch"]
    print_verdicts(tables(options, heading, libraries, lambda threads, pythons: table(threads, pythons, options.repeats, options.only)))


if __name__ == "__main__":
    main()
