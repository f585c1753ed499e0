"""The computational graph of a variable, and backpropagation one variable at a time with the student's topological sort and chain rule."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minitorch.autodiff import topological_sort
from minitorch.autograd.trace import formula
from project.lab.cards import WrongResult, number

MOST_DRAWN = 150
"""In a larger graph, only the nodes near the current one are drawn."""

NEAR = 30
"""The number of nodes that are then drawn."""


@dataclass
class Node:
    """One variable of the graph.

    Attributes:
        name: The name of an input; v1, v2 … for an intermediate result; the value of a constant.
        formula: How it is computed, such as "v1 · x"; empty for inputs and constants.
        value: Its value.
        kind: "leaf", "step" or "constant".
        parents: The nodes from which it is computed.
        place: Its position in the order of backpropagation, from 1; None if it is not visited.
        saved: What its function has saved for the backward pass: each value as text, and how many numbers it is.
    """

    name: str
    formula: str
    value: Any
    kind: str
    parents: list[int]
    place: int | None = None
    saved: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class Frame:
    """The state of backpropagation after one step.

    Attributes:
        current: The node that is visited; None before the first and after the last.
        gradients: The derivative that has been accumulated at each node so far.
        sentence: A description of the step.
        passed: What the current node passes on: the receiving node, the derivative, and a remark.
    """

    current: int | None
    gradients: dict[int, Any]
    sentence: str
    passed: list[tuple[int, Any, str]] = field(default_factory=list)


class Scalars:
    """How a recording treats its variables if they are Scalars."""

    def value(self, variable: Any) -> Any:
        """Return the value of a variable."""
        return variable.data

    def first(self, out: Any) -> Any:
        """Return the derivative with which backpropagation starts at the output."""
        return 1.0

    def passed(self, variable: Any, arrived: Any, call: str) -> list[tuple[Any, Any, str]]:
        """Apply the chain rule of a variable; return parents, derivatives and remarks."""
        pairs = variable.chain_rule(arrived)
        return [(parent, number(derivative, call), "") for parent, derivative in pairs if not parent.is_constant()]

    def saved(self, variable: Any) -> list[tuple[str, int]]:
        """Return what the function of a variable has saved: each value as text, and how many numbers it is."""
        return [(f"{value:.5g}" if isinstance(value, float) else str(value), 1) for value in variable.history.ctx.saved_values]

    def short(self, value: Any) -> str:
        """Return a value as a short text."""
        return f"{value:.5g}" if math.isfinite(value) else str(value)

    def label(self, value: Any, gradient: Any) -> list[str]:
        """Return the lines of a node that show its value and its gradient (None if there is none yet)."""
        return [f"value {self.short(value)}", f"gradient {'-' if gradient is None else self.short(gradient)}"]


@dataclass
class Recording:
    """A graph and every step of backpropagation through it.

    Attributes:
        kind: How its variables are treated.
        nodes: The nodes in the order of computation.
        frames: One before the start, then one for each visited node.
    """

    kind: Scalars
    nodes: list[Node] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)

    def in_words(self, moment: int) -> str:
        """Say how many nodes there are, and how many have been visited."""
        count, visited = len(self.nodes), f"{moment} of {len(self.frames) - 1} visited."
        if count == 1:
            return f"1 node, which is both input and output; {visited}"
        return f"{count} nodes, from the inputs on the left to the output on the right; {visited}"


SCALARS = Scalars()


def record(out: Any, kind: Scalars = SCALARS, order: Any = None) -> Recording:
    """Run the backward pass from a variable, as `backpropagate` does, and record every step.

    Args:
        out: The output.
        kind: How its variables are treated.
        order: The variables in the order of their visits; that of topological_sort if omitted.

    Raises:
        WrongResult: If topological_sort does not return a sequence of variables of the graph, or returns none of them.
    """
    order = topological_sort(out) if order is None else order
    if not isinstance(order, Iterable):
        raise WrongResult(f"topological_sort expected to return the variables in order, got {order!r}")
    order = [variable for variable in order if not variable.is_constant()]
    if not order and not out.is_constant():
        raise WrongResult("topological_sort expected to return the variables in order, the output first, got none of them")
    rank = {id(variable): i for i, variable in enumerate(order)}
    variables = sorted(reachable(out), key=lambda variable: rank.get(id(variable), math.inf), reverse=True)
    index = {id(variable): i for i, variable in enumerate(variables)}
    nodes = _named(variables, index, kind)
    for place, variable in enumerate(order, start=1):
        if id(variable) not in index:
            raise WrongResult(f"topological_sort returned {variable!r}, which is not part of the graph of the output")
        nodes[index[id(variable)]].place = place
    result = nodes[index[id(out)]]
    frames = [
        Frame(None, {}, f"The forward pass is complete: {result.name} = {kind.short(result.value)}. The backward pass has not started.")
    ]
    recording = Recording(kind, nodes, frames)
    gradients: dict[int, Any] = {index[id(out)]: kind.first(out)} if order else {}
    visited: set[int] = set()
    for variable in order:
        i = index[id(variable)]
        visited.add(i)
        passed = []
        if nodes[i].kind != "leaf" and i in gradients:
            received = kind.passed(variable, gradients[i], f"backward of {nodes[i].formula}")
            passed = [(index[id(parent)], derivative, remark) for parent, derivative, remark in received]
        frames.append(_visit(recording, i, gradients, passed, visited))
        gradients = frames[-1].gradients
    return recording


def forward_only(out: Any, kind: Scalars = SCALARS) -> Recording:
    """Return the graph without gradients, for use until backpropagation is written."""
    variables = reachable(out)[::-1]
    nodes = _named(variables, {id(variable): i for i, variable in enumerate(variables)}, kind)
    return Recording(kind, nodes, [Frame(None, {}, "The forward pass is complete. The backward pass needs code that is not written yet.")])


def _visit(recording: Recording, i: int, before: dict[int, Any], passed: list[tuple[int, Any, str]], visited: set[int]) -> Frame:
    """Return the state after a node has passed its derivative on.

    Args:
        recording: The graph.
        i: The node.
        before: The derivatives accumulated before this step.
        passed: What the node passes on.
        visited: The nodes visited so far, including this one.
    """
    nodes, short = recording.nodes, recording.kind.short
    node, gradients = nodes[i], dict(before)
    if i not in gradients:
        return Frame(
            i, gradients, f"{node.name} is visited before it has received a derivative, so it passes nothing on. The order is wrong."
        )
    arrived = short(gradients[i])
    if node.kind == "leaf":
        return Frame(i, gradients, f"{node.name} is a leaf. It stores the derivative {arrived}, the sum of all derivatives it received.")
    parts = []
    for p, derivative, remark in passed:
        old = gradients.get(p)
        gradients[p] = derivative if old is None else old + derivative
        total = "" if old is None else f" (added to {short(old)}, the sum is {short(gradients[p])})"
        late = ", too late: it has already been visited" if p in visited else ""
        parts.append(f"{short(derivative)} to {nodes[p].name}{remark and f' ({remark})'}{total}{late}")
    start = f"is the output, so its derivative is {arrived}" if node.place == 1 else f"has the derivative {arrived}"
    sentence = f"{node.name} = {node.formula} {start}. The chain rule passes {' and '.join(parts) or 'nothing on'}."
    return Frame(i, gradients, sentence, passed)


def reachable(out: Any) -> list[Any]:
    """Return every variable in the graph of out, including constants, in no particular order."""
    found: dict[int, Any] = {}
    new = [out]
    while new:
        found |= {id(variable): variable for variable in new}
        new = [parent for variable in new for parent in variable.parents if id(parent) not in found]
    return list(found.values())


def _named(variables: list[Any], index: dict[int, int], kind: Scalars) -> list[Node]:
    """Return the nodes with their names."""
    nodes: list[Node] = []
    steps = 0
    for variable in variables:
        parents = [index[id(parent)] for parent in variable.parents]
        value = kind.value(variable)
        if variable.is_constant():
            nodes.append(Node(kind.short(value), "", value, "constant", parents))
        elif variable.is_leaf():
            nodes.append(Node(variable.name, "", value, "leaf", parents))
        else:
            steps += 1
            nodes.append(Node(f"v{steps}", "", value, "step", parents, saved=kind.saved(variable)))
    for variable, node in zip(variables, nodes, strict=True):  # after all names are set, because a wrong order may list inputs later
        if node.kind == "step":
            node.formula = formula(variable.history.last_fn.__name__, [nodes[p].name for p in node.parents])
    return nodes


def dot(recording: Recording, moment: int, dark: bool = False) -> str:
    """Return one frame as a Graphviz graph.

    Args:
        recording: The graph.
        moment: The number of the frame.
        dark: Whether the page has a dark theme.
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
        label = _label(recording.kind, node, frame.gradients.get(i))
        lines.append(f'n{i} [label="{label}" fillcolor="{fill}" color="{ink if done else faint}" {pen}]')
    hidden, remarks = 0, {p: remark.replace(" over ", "\\nover ") for p, _, remark in frame.passed}
    for i, node in enumerate(nodes):
        for p in node.parents:
            if i in shown and p in shown:
                said = f' label="{remarks[p]}" fontname="sans-serif" fontsize=11 fontcolor="{ink}"' if remarks.get(p) else ""
                style = f' [color="{ink}" penwidth=2{said}]' if i == frame.current and nodes[p].kind != "constant" else ""
                lines.append(f"n{p} -> n{i}{style}")
            elif i in shown or p in shown:
                hidden += 1
                lines.append(f'h{hidden} [label="…" shape=plaintext style="" fontcolor="{faint}"]')
                lines.append(f"h{hidden} -> n{i}" if i in shown else f"n{p} -> h{hidden}")
    return "\n".join([*lines, "}"])


def _near(nodes: list[Node], current: int | None) -> set[int]:
    """Return the nodes closest to the current one."""
    neighbors: list[set[int]] = [set(node.parents) for node in nodes]
    for i, node in enumerate(nodes):
        for p in node.parents:
            neighbors[p].add(i)
    near, wave = set(), {len(nodes) - 1 if current is None else current}
    while wave and len(near) + len(wave) <= NEAR:
        near |= wave
        wave = set().union(*(neighbors[i] for i in wave)) - near
    return near or {len(nodes) - 1 if current is None else current}


def _label(kind: Scalars, node: Node, gradient: Any) -> str:
    """Return the label of a node."""
    title = f"{node.name} = {node.formula}" if node.formula else node.name
    place = f"visit {node.place}" if node.place else "never visited"
    return "\\n".join([title, *kind.label(node.value, gradient), place]).replace('"', "'")
