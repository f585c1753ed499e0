"""The graph behind a Scalar, and backpropagation through it one variable at a time, with the student's own order and chain rule."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minitorch.autodiff import topological_sort
from minitorch.trace import formula
from project.lab.guard import WrongResult, number

MOST_DRAWN = 150
"""A larger graph is folded to what lies near the current node."""

NEAR = 30
"""How many nodes a folded drawing shows."""


@dataclass
class Node:
    """One variable of the graph.

    Attributes:
        name: The name of an input; v1, v2 … for what was computed; the value of a constant.
        formula: How it is computed, such as "v1 · x"; empty for inputs and constants.
        value: Its value.
        kind: "leaf", "step" or "constant".
        parents: The nodes it is computed from.
        place: When backpropagation visits it, from 1; None if it does not.
    """

    name: str
    formula: str
    value: float
    kind: str
    parents: list[int]
    place: int | None = None


@dataclass
class Frame:
    """What is known at one moment of backpropagation.

    Attributes:
        current: The node that is being visited; None before the first and after the last.
        gradients: The derivative that has reached each node so far.
        sentence: What happened, with the numbers.
    """

    current: int | None
    gradients: dict[int, float]
    sentence: str


@dataclass
class Recording:
    """A graph and every moment of backpropagation through it.

    Attributes:
        nodes: By index, in the order of computation.
        frames: One before the start, then one for each node that is visited.
    """

    nodes: list[Node] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)


def record(out: Any) -> Recording:
    """Go backward from a Scalar, as `backpropagate` does, and keep every moment.

    Raises:
        WrongResult: If topological_sort returns no sequence of Scalars.
    """
    order = topological_sort(out)
    if not isinstance(order, Iterable):
        raise WrongResult(f"topological_sort expected to return the variables in order, got {order!r}")
    order = [variable for variable in order if not variable.is_constant()]
    rank = {id(variable): i for i, variable in enumerate(order)}
    variables = sorted(_reachable(out), key=lambda variable: rank.get(id(variable), math.inf), reverse=True)
    index = {id(variable): i for i, variable in enumerate(variables)}
    nodes = _named(variables, index)
    for place, variable in enumerate(order, start=1):
        if id(variable) not in index:
            raise WrongResult(f"topological_sort returned {variable!r}, which does not lead to the output")
        nodes[index[id(variable)]].place = place
    result = nodes[index[id(out)]]
    frames = [Frame(None, {}, f"The forward pass is done: {result.name} = {_short(result.value)}. Nothing has flowed back yet.")]
    gradients: dict[int, float] = {}
    if order:
        gradients[index[id(out)]] = 1.0
    visited: set[int] = set()
    for variable in order:
        i = index[id(variable)]
        visited.add(i)
        gradients, sentence = _visit(i, variable, nodes, index, gradients, visited)
        frames.append(Frame(i, gradients, sentence))
    return Recording(nodes, frames)


def forward_only(out: Any) -> Recording:
    """The graph without gradients, for as long as backpropagation is not written."""
    variables = _reachable(out)[::-1]
    nodes = _named(variables, {id(variable): i for i, variable in enumerate(variables)})
    return Recording(nodes, [Frame(None, {}, "The forward pass is done. Nothing can flow back yet.")])


def _visit(
    i: int, variable: Any, nodes: list[Node], index: dict[int, int], before: dict[int, float], visited: set[int]
) -> tuple[dict[int, float], str]:
    """The gradients after a node has passed its own on, and a sentence about it."""
    node, gradients = nodes[i], dict(before)
    arrived = gradients.get(i)
    if arrived is None:
        return gradients, f"{node.name} is visited before any derivative has reached it: nothing flows on. The order is wrong."
    if node.kind == "leaf":
        return gradients, f"{node.name} is a leaf: it keeps the derivative {_short(arrived)}, the sum of all that has arrived."
    parts = []
    for parent, derivative in variable.chain_rule(arrived):
        if parent.is_constant():
            continue
        p = index[id(parent)]
        passed = number(derivative, f"backward of {node.formula}")
        old = gradients.get(p)
        gradients[p] = passed if old is None else old + passed
        total = "" if old is None else f" (it had {_short(old)}, the sum is {_short(gradients[p])})"
        late = ", too late: it has been visited already" if p in visited else ""
        parts.append(f"{_short(passed)} to {nodes[p].name}{total}{late}")
    start = "the output, so its derivative is 1" if node.place == 1 else f"complete with the derivative {_short(arrived)}"
    return gradients, f"{node.name} = {node.formula} is {start}. The chain rule passes {' and '.join(parts) or 'nothing on'}."


def _reachable(out: Any) -> list[Any]:
    """Every variable that leads to out, constants included, in no particular order."""
    found: dict[int, Any] = {}
    new = [out]
    while new:
        found |= {id(variable): variable for variable in new}
        new = [parent for variable in new for parent in variable.parents if id(parent) not in found]
    return list(found.values())


def _named(variables: list[Any], index: dict[int, int]) -> list[Node]:
    """The nodes, with the names that the drawing and the sentences use."""
    nodes: list[Node] = []
    steps = 0
    for variable in variables:
        parents = [index[id(parent)] for parent in variable.parents]
        if variable.is_constant():
            nodes.append(Node(_short(variable.data), "", variable.data, "constant", parents))
        elif variable.is_leaf():
            nodes.append(Node(variable.name, "", variable.data, "leaf", parents))
        else:
            steps += 1
            nodes.append(Node(f"v{steps}", "", variable.data, "step", parents))
    for variable, node in zip(variables, nodes, strict=True):  # when all have their names: a wrong order may put an input later
        if node.kind == "step":
            node.formula = formula(variable.history.last_fn.__name__, [nodes[p].name for p in node.parents])
    return nodes


def dot(recording: Recording, moment: int, dark: bool = False) -> str:
    """One moment as a drawing, in the language of Graphviz.

    Args:
        recording: The graph.
        moment: Which frame.
        dark: For a dark page.
    """
    frame = recording.frames[moment]
    nodes = recording.nodes
    shown = set(range(len(nodes))) if len(nodes) <= MOST_DRAWN else _near(nodes, frame.current)
    ink, paper, current, leaf, faint = (
        ("#e8e8e8", "#26323d", "#a4550d", "#1d4d2b", "#8a939c") if dark else ("#1a1a1a", "#eef3f8", "#fdc68a", "#dff0df", "#7a828a")
    )
    lines = [
        "digraph {",
        'rankdir=LR bgcolor="transparent" nodesep=0.25 ranksep=0.4',
        'node [shape=box style="rounded,filled" fontname="sans-serif" fontsize=12 margin="0.12,0.06"]',
        f'node [color="{faint}" fontcolor="{ink}" fillcolor="{paper}"]',
        f'edge [color="{faint}" arrowsize=0.7]',
    ]
    for i in sorted(shown):
        node = nodes[i]
        if node.kind == "constant":
            lines.append(f'n{i} [label="{node.name}" shape=plaintext style="" fontcolor="{faint}"]')
            continue
        fill = current if i == frame.current else leaf if node.kind == "leaf" else paper
        done = node.place is not None and node.place <= moment
        pen = "penwidth=3" if i == frame.current else "penwidth=2" if done else 'style="rounded,filled,dashed"'
        lines.append(f'n{i} [label="{_label(node, frame.gradients.get(i))}" fillcolor="{fill}" color="{ink if done else faint}" {pen}]')
    hidden = 0
    for i, node in enumerate(nodes):
        for p in node.parents:
            if i in shown and p in shown:
                style = f' [color="{ink}" penwidth=2]' if i == frame.current and nodes[p].kind != "constant" else ""
                lines.append(f"n{p} -> n{i}{style}")
            elif i in shown or p in shown:
                hidden += 1
                lines.append(f'h{hidden} [label="…" shape=plaintext style="" fontcolor="{faint}"]')
                lines.append(f"h{hidden} -> n{i}" if i in shown else f"n{p} -> h{hidden}")
    return "\n".join([*lines, "}"])


def _near(nodes: list[Node], current: int | None) -> set[int]:
    """The nodes with the fewest edges between them and the current one."""
    beside: list[set[int]] = [set(node.parents) for node in nodes]
    for i, node in enumerate(nodes):
        for p in node.parents:
            beside[p].add(i)
    near, wave = set(), {len(nodes) - 1 if current is None else current}
    while wave and len(near) + len(wave) <= NEAR:
        near |= wave
        wave = set().union(*(beside[i] for i in wave)) - near
    return near or {len(nodes) - 1 if current is None else current}


def _label(node: Node, gradient: float | None) -> str:
    """What stands in a box."""
    title = f"{node.name} = {node.formula}" if node.formula else node.name
    place = f"visit {node.place}" if node.place else "never visited"
    lines = [title, f"value {_short(node.value)}", f"gradient {'-' if gradient is None else _short(gradient)}", place]
    return "\\n".join(lines).replace('"', "'")


def _short(value: float) -> str:
    """A number in at most five digits."""
    return f"{value:.5g}" if math.isfinite(value) else str(value)
