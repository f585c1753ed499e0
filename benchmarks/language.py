"""Attention of a language model in float32, ours in tiles, against PyTorch's and our own composed of operations; products of int8
matrices with int8 vectors, as in generation, against those of float32 in the library and in NumPy; a compiled training step, and
generation with a cache, against PyTorch's; fused attention of Task 6.5 against Task 6.3. All are measured alternately.

Each library runs in its own process.

python -m benchmarks.language --threads 1 2 --torch-python /path/to/python
"""

from __future__ import annotations

from collections import Counter
from statistics import median

from benchmarks.language_contenders import LIBRARIES, MODEL_ROWS, NEW, PROMPT, SIZES
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

GOALS = {"torch": 1.3, "composed": 0.6}
"""The maximum time of attention, forward and backward together, relative to each."""

INT8_GOALS = {"float32": 0.67, "numpy": 0.67}
"""The maximum time of a product of int8, relative to the library's of float32 and NumPy's."""

LENGTHS = (128, 512, 2048)
"""Lengths of the text, for 8 heads of size 64; the goals are for 512."""

WIDTHS = (512, 1024, 2048, 4096)
"""Numbers of rows and of columns of the matrices of int8."""

TASK_GOALS = {"textbook": 1.0}
"""The maximum time of fused attention of Task 6.5, relative to that of Task 6.3 on the textbook kernels."""

MODEL_GOALS = {"step": {"torch": 0.9}, "generate": {"torch": 0.67}}
"""The maximum time of a compiled training step, and of a text with a cache, relative to PyTorch as it is."""

ATTENTION_ROWS = [f"{kind} {length}" for kind in ("causal", "full") for length in LENGTHS]

ROWS = [*ATTENTION_ROWS, *(f"int8 {width}" for width in WIDTHS), "task 512", *MODEL_ROWS]
"""Whether a position attends to earlier ones only, and the length; int8 and the width; the tasks and the length; a language model."""


MODEL = f"step, generate: {SIZES.layers} blocks, {SIZES.width} wide; 16 × 128 tokens, compiled; {NEW} tokens after {PROMPT}, one at a time."


def goals_of(row: str) -> dict[str, float]:
    """The goals of a row."""
    return {"int8": INT8_GOALS, "task": TASK_GOALS, **MODEL_GOALS}.get(row.split()[0], GOALS)


def demand(goal: float, rival: str, ours: list[float], theirs: list[float] | None) -> Demand:
    """Our time relative to a rival's: the ratio of the medians, and the smallest and the largest ratio of one repeat."""
    asked = f"{goal} times {SHOWN.get(rival, rival)}'s time"
    if theirs is None:
        return Demand(asked, "", NOT_RUN)
    # The textbook is measured less often.
    got, turns = median(ours) / median(theirs), [mine / other for mine, other in zip(ours, theirs, strict=False)]
    return Demand(asked, f"{got:.2f} ({min(turns):.2f} to {max(turns):.2f})", REACHED if got <= goal else MISSED)


def table(threads: int, pythons: dict[str, str], repeats: int, only: str) -> Counter[str]:
    """Measure and print the rows for a number of threads; returns a count of the verdicts."""
    rows, verdicts = [row for row in ROWS if only in row], Counter[str]()
    print(f"\n{threads} thread{'s' * (threads > 1)}\n{'row':22} {'goal: at most':23} {'measured':23} verdict")
    libraries = {name: Library(name, threads, python, "benchmarks.language_contenders") for name, python in pythons.items()}
    for number, row in enumerate(rows):
        progress(f"{number + 1} of {len(rows)}: {row}")
        seconds = measure(row, libraries, repeats)
        found = [demand(goal, rival, seconds["minitorch"], seconds.get(rival)) for rival, goal in goals_of(row).items()]
        progress("")
        print_row(row, found, ", ".join(f"{SHOWN.get(name, name)} {spread(values)}" for name, values in seconds.items()))
        verdicts.update(each.verdict for each in found)
    for library in libraries.values():
        library.close()
    return verdicts


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the tables."""
    options = settings("language", "Attention, int8 products, a training step and generation.", [*ROWS], arguments)
    turns = f"Medians of {options.repeats} alternating measurements, with the smallest and the largest in parentheses."
    attention = "Attention: float32, forward and backward, 8 heads of size 64; task: causal, as students write it."
    heading = f"{attention} int8: a square matrix and a vector, forward.\n{MODEL} {turns}"
    print_verdicts(tables(options, heading, [*LIBRARIES], lambda threads, pythons: table(threads, pythons, options.repeats, options.only)))


if __name__ == "__main__":
    main()
