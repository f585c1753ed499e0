"""Compiled training steps against PyTorch's, as they are and compiled by `torch.compile`, measured alternately.

    python -m benchmarks.train --compiled --threads 1 2 --repeats 9 --torch-python PYTHON

* module2, module3, mlp, lenet, published: the networks of `benchmarks.train`.
* small: MLP(2, [16, 16, 1]) on 100 points.
* sentiment: the network of project/run_sentiment.py, 10 sentences of 50 words, without dropout.
* gpt: the network of project/run_gpt.py, 16 pieces of 64 characters.

The memory of a step is that of all arrays, in relation to steps as they are. A row of its own tells the resident memory without them: that
of compiled code and of what loads it, more than the arrays of a small network.

Each form runs in its own process, which `benchmarks.compiled_contenders` defines. With --waits also what one waits for: the call that
records the step, kernels compiled before, in steps as they are; and the seconds that fusing takes, with an empty cache and from disk.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections import Counter
from statistics import median
from typing import NamedTuple

from benchmarks.compiled_contenders import EAGER, RECORDED
from benchmarks.rivals import MISSED, NOT_RUN, REACHED, Library, print_verdicts, record, settings, spread, tables

FORMS = ("minitorch", "minitorch.compiled", "torch", "torch.compiled")
"""The processes: our library and PyTorch, as they are and compiled."""


class Row(NamedTuple):
    """One network.

    Attributes:
        shown: Its name in tables.
        steps: Steps of one measurement.
        of_torch: The maximum time relative to PyTorch's.
        of_compiled: The maximum time relative to that of `torch.compile`; None without a goal.
        apart: The maximum relative difference of the last loss from PyTorch's; None where initial weights differ.
    """

    shown: str
    steps: int
    of_torch: float
    of_compiled: float | None
    apart: float | None = 1e-3


ROWS = {
    "module2": Row("Module 2, 50 points", 200, 0.10, 0.10),
    "module3": Row("Module 3, 50 points", 200, 0.10, 0.10),
    "small": Row("MLP(2, 16, 16, 1), 100 points", 200, 0.05, None),
    "mlp": Row("MLP 784-256-256-10, batches of 128", 20, 0.90, 1.0),
    "lenet": Row("LeNet, batches of 16", 20, 0.60, 1.0),
    "published": Row("the published CNN, batches of 16", 20, 0.60, 1.0),
    "sentiment": Row("sentiment CNN", 10, 0.8, None),
    "gpt": Row("a GPT of three blocks", 3, 0.9, None, None),
}
"""The networks, with their goals."""


class Measured(NamedTuple):
    """What one form took.

    Attributes:
        seconds: Of a step, once for each turn.
        losses: Of the first steps.
    """

    seconds: list[float]
    losses: list[float]


def measured(network: str, threads: int, pythons: dict[str, str], repeats: int) -> dict[str, Measured]:
    """Measure a network in every form whose library there is; a form that fails is left out."""
    libraries: dict[str, Library] = {}
    losses: dict[str, list[float]] = {}
    for form in FORMS:
        python = pythons.get(form.partition(".")[0])
        if python is None:
            continue
        try:
            library = Library(form, threads, python, "benchmarks.compiled_contenders")
            library.ask(network)
            losses[form] = [float(x) for x in library.ask(str(ROWS[network].steps)).split()[1:]]  # compiles
            libraries[form] = library
        except RuntimeError:
            continue
    seconds: dict[str, list[float]] = {form: [] for form in libraries}
    for _ in range(repeats):
        for form, library in libraries.items():
            seconds[form].append(float(library.ask(str(ROWS[network].steps)).split()[0]) / ROWS[network].steps)
    for library in libraries.values():
        library.close()
    return {form: Measured(seconds[form], losses[form]) for form in libraries}


class Memory(NamedTuple):
    """The growth of a process since before its network, in bytes; its kernels and programs are loaded from disk.

    Attributes:
        arrays: Of all arrays: parameters, gradients, the batch, and at most what a step adds.
        others: The peak of its resident memory without the arrays: compiled code, what loads it, and Python's objects.
    """

    arrays: int
    others: int


def memory(network: str, threads: int, form: str) -> Memory:
    """Measure the memory of one of our forms, which has run before; arrays in a process of their own, because tracing takes memory too."""
    found = []
    for question, tracing in (("arrays", "1"), ("memory", "0")):
        library = Library(form, threads, sys.executable, "benchmarks.compiled_contenders", PYTHONTRACEMALLOC=tracing)
        library.ask(network)
        library.ask("6")
        found.append(int(library.ask(question)))
        library.close()
    return Memory(found[0], found[1] - found[0])


LONGEST = {"recording": 2.0, "fuse": 5.0, "fuse from disk": 0.1, "memory": 0.8}
"""The goals that all networks share: steps, seconds, seconds, and times the arrays of steps as they are."""


def waits(network: str, threads: int) -> dict[str, float]:
    """What one waits for, by the names in LONGEST."""
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("fuse", "fuse from disk"):
            library = Library("minitorch.waits", threads, sys.executable, "benchmarks.compiled_contenders", NUMBA_CACHE_DIR=cache)
            library.ask(network)
            _, *seconds = map(float, library.ask(str(RECORDED + 1)).split())
            library.close()
            found["recording"] = seconds[EAGER] / median(seconds[1:EAGER])
            found[name] = seconds[RECORDED]
    return found


def judge(network: str, name: str, most: float, got: float) -> str:
    """Print a line about another goal of a network; returns the verdict."""
    verdict = REACHED if got <= most else MISSED
    print(f"  {name:22} {f'at most {most:.3g}':14} {got:<8.3g} {verdict}", flush=True)
    return record(f"{network}: {name}", f"at most {most:.3g}", f"{got:.3g}", verdict)


def line(network: str, name: str, goal: float | None, ours: list[float], theirs: Measured | None) -> str:
    """Print a line about our time relative to another's; returns the verdict."""
    asked = "no goal" if goal is None else f"at most {goal:.3g}"
    if theirs is None:
        print(f"  {name:22} {NOT_RUN}", flush=True)
        return NOT_RUN if goal is None else record(f"{network}: {name}", asked, "", NOT_RUN)
    ratio = median(ours) / median(theirs.seconds)
    found = "told" if goal is None else REACHED if ratio <= goal else MISSED
    print(f"  {name:22} {asked:14} {ratio:<8.3f} {found:8} theirs {spread(theirs.seconds)}", flush=True)
    return record(f"{network}: {name}", asked, f"{ratio:.3g}", found)


def judged(network: str, threads: int, pythons: dict[str, str], repeats: int, with_waits: bool) -> list[str]:
    """Measure a network and print its lines; returns the verdicts."""
    row, found = ROWS[network], measured(network, threads, pythons, repeats)
    ours, eager, torch = found["minitorch.compiled"], found["minitorch"], found.get("torch")
    print(f"{network}: compiled {spread(ours.seconds)}, as it is {spread(eager.seconds)}", flush=True)
    verdicts = [
        line(row.shown, "of torch's time", row.of_torch, ours.seconds, torch),
        line(row.shown, "of torch.compile's", row.of_compiled, ours.seconds, found.get("torch.compiled")),
    ]
    if torch is not None and row.apart is not None:
        apart = abs(ours.losses[-1] - torch.losses[-1]) / abs(torch.losses[-1])
        verdicts.append(judge(row.shown, "loss difference", row.apart, apart))
    waited = waits(network, threads) if with_waits else {}
    compiled, as_it_is = (memory(network, threads, form) for form in FORMS[1::-1])
    waited["memory"] = compiled.arrays / as_it_is.arrays
    code = f"{compiled.others / 2**20:.0f} MiB, {as_it_is.others / 2**20:.0f} as it is"
    print(f"  {'code':22} {'no goal':14} {code}", flush=True)
    record(f"{row.shown}: code", "no goal", code, "told")
    return verdicts + [judge(row.shown, name, LONGEST[name], got) for name, got in waited.items()]


def table(threads: int, pythons: dict[str, str], options: Namespace) -> Counter[str]:
    """Measure and print the networks for a number of threads; returns a count of the verdicts."""
    print(f"\n{threads} thread{'s' * (threads > 1)}")
    verdicts: Counter[str] = Counter()
    for network in (name for name in ROWS if options.only in name):
        verdicts.update(judged(network, threads, pythons, options.repeats, options.waits))
    return verdicts


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the tables."""
    flags = {"--waits": "also time recording and fusing"}
    options = settings("train --compiled", "Compiled training steps against PyTorch's.", list(ROWS), arguments, flags)
    heading = f"Medians of {options.repeats} turns, with the smallest and the largest in parentheses."
    print_verdicts(tables(options, heading, ["minitorch", "torch"], lambda threads, pythons: table(threads, pythons, options)))


if __name__ == "__main__":
    main()
