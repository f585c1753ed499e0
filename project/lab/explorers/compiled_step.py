"""A training step as a program: after each pass, and how long it takes as it is, replayed and fused."""

from __future__ import annotations

import time
from collections.abc import Callable
from difflib import SequenceMatcher
from statistics import median
from typing import Any, NamedTuple

import minitorch
from minitorch import FastBackend
from project.lab.charts import palette, vega

EXAMPLES = ("Network of Module 2", "Bias, ReLU, mean")
"""The programs to choose from."""

TITLES = {
    "recorded": "As recorded: every operation of the step, forward, backward and of the optimizer.",
    "fold_constants": "Constants are folded: what depends on numbers of the program alone was computed while recording.",
    "reuse_results": "Results are reused: of two equal operations on the same tensors, one is left.",
    "skip_copies": "Copies are skipped: the original is read instead.",
    "drop_unused": "Unused results are dropped.",
    "fuse": "Fused: loops over the same elements became one, and the program one function that numba compiles.",
}
"""What each stage is, by the name of its pass."""

FORMS = ("as it is", "replayed", "fused")


class Stage(NamedTuple):
    """The program after a pass.

    Attributes:
        name: The name of the pass.
        title: What the pass did.
        text: The program; a line that the next pass removes begins with "- ", all others with two spaces.
        operations: Number of operations; of loops and products, once it is fused.
        is_source: Whether the text is Python that numba compiles.
    """

    name: str
    title: str
    text: str
    operations: int
    is_source: bool


def example(name: str, hidden: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A step and its arguments; always the same numbers."""
    minitorch.manual_seed(0)
    if name == EXAMPLES[1]:
        bias = minitorch.rand((hidden,), backend=FastBackend, requires_grad=True)

        def small(x: Any) -> Any:
            loss = (x + bias).relu().mean()
            loss.backward()
            return loss.detach()

        return small, (minitorch.rand((50, hidden), backend=FastBackend) - 0.5,)
    points = minitorch.datasets["Xor"](50)
    layers = [layer(*sizes) for sizes in ((2, hidden), (hidden, hidden), (hidden, 1))]
    optimizer = minitorch.SGD([parameter for pair in layers for parameter in pair], 0.5)

    def step(x: Any, labels: Any) -> Any:
        output = x
        for weights, bias in layers:
            output = output @ weights.value + bias.value
            output = output.sigmoid() if bias.value.shape == (1,) else output.relu()
        output = output.view(x.shape[0])
        loss = -(output * labels + (1 - output) * (1 - labels)).log().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    x, labels = (minitorch.tensor(values, backend=FastBackend) for values in (points.X, [float(y) for y in points.y]))
    return step, (x, labels)


def layer(in_size: int, out_size: int) -> tuple[Any, Any]:
    """The weights and the bias of a linear layer."""
    weights = minitorch.rand((in_size, out_size), backend=FastBackend) - 0.5
    return minitorch.Parameter(weights, name="weights"), minitorch.Parameter(minitorch.zeros((out_size,), backend=FastBackend), name="bias")


def stages(compiled: Any) -> list[Stage]:
    """The stages of a compiled step that has been called."""
    found = compiled.stages()
    made = []
    for number, (name, text) in enumerate(found):
        lines = text.splitlines()
        is_source = name == "fuse"
        after = found[number + 1][1].splitlines() if number + 1 < len(found) and found[number + 1][0] != "fuse" else lines
        count = sum(line.lstrip().startswith("# ") for line in lines) if is_source else sum("(" in line for line in lines[1:])
        made.append(Stage(name.replace("_", " "), TITLES[name], text if is_source else marked(lines, after), count, is_source))
    return made


def sizes(found: list[Stage], number: int) -> dict[str, Any]:
    """A bar for the operations of each stage; that of one stage in another color."""
    names = [stage.name for stage in found]
    rows = [
        {"stage": stage.name, "operations": stage.operations, "now": "shown" if at == number else "another"}
        for at, stage in enumerate(found)
    ]
    encoding = {
        "y": {"field": "stage", "type": "nominal", "sort": names, "title": None},
        "x": vega.quantitative("operations", "operations", scale={"zero": True}),
        "color": vega.nominal("now", ["shown", "another"], [palette.BLUE, palette.GRAY], None),
    }
    words = ", ".join(f"{stage.name} {stage.operations}" for stage in found)
    return vega.chart(f"Operations of each stage: {words}.", [vega.layer("bar", encoding)], width=220, height=150, values=rows)


def marked(lines: list[str], after: list[str]) -> str:
    """Lines, those that are not among the following stage's marked with "- "."""
    kept: set[int] = set()
    written = [[operation(line) for line in each] for each in (lines, after)]
    for block in SequenceMatcher(None, *written, autojunk=False).get_matching_blocks():
        kept |= set(range(block.a, block.a + block.size))
    shown = [line if line.lstrip().startswith("#") else line.partition("  # ")[0].rstrip() for line in lines]  # phases stay
    return "\n".join(f"{'  ' if number in kept else '- '}{line}" for number, line in enumerate(shown))


def operation(line: str) -> str:
    """What a line writes: a pass may change what it reads."""
    return line.partition(" = ")[0] if " = " in line else line.partition("(")[0] + line.partition("(")[2].partition(",")[0]


def measure(name: str, hidden: int, turns: int = 40) -> dict[str, float]:
    """The seconds of a step in each form of FORMS, medians of turns."""
    step, args = example(name, hidden)
    compiled = minitorch.compile(step, fuse=False)
    found = {}
    for form, call in zip(FORMS, (step, compiled, compiled), strict=True):
        for _ in range(3):
            call(*args)
        if form == "fused":
            compiled.fuse()
            compiled(*args)
        times = []
        for _ in range(turns):
            begun = time.perf_counter()
            call(*args)
            times.append(time.perf_counter() - begun)
        found[form] = median(times)
    return found


def chart(seconds: dict[str, float]) -> dict[str, Any]:
    """A bar for each form."""
    rows = [{"form": form, "µs": round(time * 1e6, 1)} for form, time in seconds.items()]
    encoding = {
        "y": {"field": "form", "type": "nominal", "sort": list(FORMS), "title": None},
        "x": vega.quantitative("µs", "µs for one step", scale={"zero": True}),
    }
    return vega.chart(in_words(seconds), [vega.layer("bar", encoding, color=palette.BLUE)], height=110, values=rows)


def in_words(seconds: dict[str, float]) -> str:
    """The measurement in a sentence."""
    first = seconds[FORMS[0]]
    others = [f"{form} {time * 1e6:.0f} µs, {first / time:.1f} times as fast" for form, time in list(seconds.items())[1:]]
    return f"One step takes {first * 1e6:.0f} µs as it is; {'; '.join(others)}."
