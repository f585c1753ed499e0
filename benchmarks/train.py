"""Training steps beside PyTorch's, from the same weights on the same images, measured in turns; losses and memory beside the times.

    python -m benchmarks.train --threads 1 2 --repeats 9 --torch-python PYTHON

* lenet: LeNet-5 with max pooling, batches of 16 images of 28 × 28.
* published: the network of `project/run_mnist_multiclass.py` without its dropout, batches of 16.
* mlp: 784-256-256-10, batches of 128.

Each library runs in a process of its own; what it runs stands in `benchmarks.train_contenders`.
"""

from __future__ import annotations

from collections import Counter
from statistics import median

from benchmarks.rivals import MISSED, NOT_RUN, REACHED, Library, print_verdicts, settings, spread, tables
from benchmarks.train_contenders import BATCH, SHAPES

ASKED = {"lenet": {1: 1.8, 2: 1.3}, "published": {1: 1.8, 2: 1.3}, "mlp": {1: 1.3, 2: 1.1}}
"""At most so many times PyTorch's time, by network and number of threads."""

MEMORY = 1.5
"""At most so many times the memory that PyTorch's process takes in addition for its networks."""

SAME, APART = 20, 1e-4
"""So many losses are compared, and may differ by so much of themselves."""

STEPS = 20
"""Steps of one measurement."""


def compared(network: str, libraries: dict[str, Library], repeats: int) -> dict[str, tuple[list[float], list[float]]]:
    """Of each library the seconds of a step, in turns, and its first losses."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for name, library in libraries.items():
        library.ask(network)
        losses = [float(x) for x in library.ask(str(SAME)).split()[1:]]  # compiles, where something has to be
        found[name] = [], losses
    for _ in range(repeats):
        for name, library in libraries.items():
            found[name][0].append(float(library.ask(str(STEPS)).split()[0]) / STEPS)
    return found


def verdict(name: str, asked: float, got: float, times: str) -> str:
    """Print a line; returns whether it was reached."""
    reached = REACHED if got <= asked else MISSED
    print(f"{name:26} at most {asked:<8.4g} {got:<10.3g} {reached}{times}", flush=True)
    return reached


def table(threads: int, pythons: dict[str, str], repeats: int, only: str) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns how often each verdict was given."""
    print(f"\n{threads} thread{'s' * (threads > 1)}\n{'network':26} {'asked':16} measured")
    verdicts: Counter[str] = Counter()
    for network in (name for name in SHAPES if only in name):
        for turn in range(2):  # at first our kernels are put on disk, which takes memory of its own
            libraries = {name: Library(name, threads, python, "benchmarks.train_contenders") for name, python in pythons.items()}
            found = compared(network, libraries, repeats if turn else 1)
            memory = {name: int(library.ask("memory")) for name, library in libraries.items()}
            for library in libraries.values():
                library.close()
        label = f"{network}, batch {BATCH[network]}"
        ours = found["minitorch"]
        if "torch" not in found:
            print(f"{label:26} {NOT_RUN}; ours {spread(ours[0])}")
            verdicts[NOT_RUN] += 1
            continue
        theirs = found["torch"]
        times = f"; ours {spread(ours[0])}, torch {spread(theirs[0])}"
        asked = ASKED[network][min(threads, 2)]
        verdicts[verdict(label, asked, median(ours[0]) / median(theirs[0]), times)] += 1
        apart = max(abs(a - b) / abs(b) for a, b in zip(ours[1], theirs[1], strict=True))
        verdicts[verdict("  losses apart", APART, apart, f"; the last {ours[1][-1]:.6f} and {theirs[1][-1]:.6f}")] += 1
        grown = f"; ours {memory['minitorch'] / 2**20:.1f} MiB, torch {memory['torch'] / 2**20:.1f} MiB"
        verdicts[verdict("  memory of torch's", MEMORY, memory["minitorch"] / memory["torch"], grown)] += 1
    return verdicts


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the tables."""
    options = settings("train", f"Training steps beside PyTorch's; a measurement is {STEPS} of them.", [*SHAPES], arguments)
    heading = f"Times of a step as shares of PyTorch's; medians of {options.repeats} turns, in brackets the least and the largest."
    libraries = ["minitorch", "torch"]
    print_verdicts(tables(options, heading, libraries, lambda threads, pythons: table(threads, pythons, options.repeats, options.only)))


if __name__ == "__main__":
    main()
