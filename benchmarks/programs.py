"""The training steps of programs that were written for PyTorch, with PyTorch and with our library, measured alternately.

    python -m benchmarks.programs --threads 1 --repeats 9 --torch-python PYTHON

The programs are those of project/torch_programs, which differ in their imports alone. A time is processor time, of all threads: that of a
run with more steps minus that of one with few, so that nothing before the first step or after the last one counts. --short measures half
of the programs, and each of them three times.
"""

from __future__ import annotations

import math
from collections import Counter
from statistics import median

from benchmarks.programs_contenders import PROGRAMS
from benchmarks.rivals import MISSED, NOT_RUN, REACHED, Demand, Library, print_row, print_verdicts, progress, settings, spread, tables

SHORT = (
    "dcgan", "dqn", "gpt", "graph_network", "physics_informed", "polynomial_autograd", "polynomial_by_hand", "polynomial_optim",
    "reinforce", "resnet_cifar", "reverse_attention", "sine_forecast", "style_transfer", "vae", "vision_transformer", "word2vec",
)  # fmt: skip
"""The programs of --short: one of each kind."""

FEW = 5
"""The steps of the shorter run, whose losses are compared."""

LEAST = 0.08
"""The seconds that the additional steps of the longer run should take at least, in our library; there are 5 to 300 of them."""

GOALS = {"median": 1.3, "worst": 4.0, "difference of the losses": 1e-4}
"""The median and the maximum of the times relative to PyTorch's, and the maximum relative difference of a loss."""


def run(library: Library, name: str, steps: int) -> tuple[float, list[float]]:
    """Train a program for some steps; returns the seconds and the losses."""
    seconds, *losses = map(float, library.ask(f"{name} {steps}").split())
    return seconds, losses


def compared(name: str, libraries: dict[str, Library], repeats: int) -> tuple[dict[str, list[float]], float]:
    """Return the seconds of a step for each library, `repeats` times, and the largest relative difference of a loss from PyTorch's."""
    first = {key: run(library, name, FEW)[1] for key, library in libraries.items()}  # compiles the kernels if necessary
    few, many = (run(libraries["minitorch"], name, steps)[0] for steps in (FEW, 3 * FEW))
    more = min(300, max(FEW, math.ceil(2 * FEW * LEAST / max(many - few, many / 30))))  # the difference of two times may be negative
    seconds: dict[str, list[float]] = {key: [] for key in libraries}
    for _ in range(repeats):
        for key, library in libraries.items():
            few, many = (run(library, name, steps)[0] for steps in (FEW, FEW + more))
            seconds[key].append((many - few) / more)
    apart = [abs(ours - theirs) / abs(theirs) for ours, theirs in zip(first["minitorch"], first.get("torch", []), strict=False)]
    return seconds, math.inf if any(map(math.isnan, apart)) else max(apart, default=0.0)


def judge(ratios: dict[str, float], apart: dict[str, float]) -> dict[str, Demand]:
    """The goals and what was measured.

    Args:
        ratios: Our time relative to PyTorch's for each program; none without PyTorch.
        apart: The relative difference of the losses for each program.
    """
    if not ratios:
        return {goal: Demand(f"at most {most:g}", "", NOT_RUN) for goal, most in GOALS.items()}
    slowest, farthest = max(ratios, key=ratios.__getitem__), max(apart, key=apart.__getitem__)
    found = [(median(ratios.values()), f"{len(ratios)} programs"), (ratios[slowest], slowest), (apart[farthest], farthest)]
    return {
        goal: Demand(f"at most {most:g}", f"{value:.3g} ({where})", REACHED if value <= most else MISSED)
        for (goal, most), (value, where) in zip(GOALS.items(), found, strict=True)
    }


def table(threads: int, pythons: dict[str, str], repeats: int, names: list[str]) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns a count of the verdicts."""
    print(f"\n{threads} thread{'s' * (threads > 1)}\n{'program':22} of PyTorch's time")
    libraries = {name: Library(name, threads, python, "benchmarks.programs_contenders") for name, python in pythons.items()}
    ratios, apart = {}, {}
    for number, name in enumerate(names):
        progress(f"{number + 1} of {len(names)}: {name}")
        seconds, apart[name] = compared(name, libraries, repeats)
        progress("")
        times = f"ours {spread(seconds['minitorch'])}"
        if "torch" in libraries:
            ratios[name] = median(seconds["minitorch"]) / median(seconds["torch"])
            times = f"{ratios[name]:.2f}   {times}, torch {spread(seconds['torch'])}"
        print(f"{name:22} {times}", flush=True)
    for library in libraries.values():
        library.close()
    found = judge(ratios, apart)
    for goal, demand in found.items():
        print_row(goal, [demand])
    return Counter(demand.verdict for demand in found.values())


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the tables."""
    flags = {"--short": "measure 16 of the programs, 3 times"}
    options = settings("programs", "Programs written for PyTorch, with it and with our library.", PROGRAMS, arguments, flags)
    names = [name for name in (SHORT if options.short and not options.only else PROGRAMS) if options.only in name]
    repeats = 3 if options.short else options.repeats
    heading = f"Processor time of a step. Medians of {repeats} alternating measurements, with the smallest and the largest in parentheses."
    print_verdicts(tables(options, heading, ["minitorch", "torch"], lambda threads, pythons: table(threads, pythons, repeats, names)))


if __name__ == "__main__":
    main()
