"""The computational graph of a variable, and backpropagation one variable at a time with the student's topological sort and chain rule."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from minitorch.autodiff import topological_sort
from minitorch.autograd.trace import formula
from project.lab.cards import WrongResult, number


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
        function: The function that computed it; None for inputs and constants.
        local: Its local derivatives as text, which its `backward` returns for 1, by the position of the parent.
    """

    name: str
    formula: str
    value: Any
    kind: str
    parents: list[int]
    place: int | None = None
    saved: list[tuple[str, int]] = field(default_factory=list)
    function: Any = None
    local: dict[int, str] = field(default_factory=dict)


@dataclass
class Frame:
    """The state of backpropagation after one step.

    Attributes:
        current: The node that is visited; None before the first and after the last.
        gradients: The derivative that has been accumulated at each node so far.
        sentence: A description of the step.
        passed: What the current node passes on: the receiving node, the derivative, and a remark.
        arrived: The derivative to which it has applied the chain rule.
    """

    current: int | None
    gradients: dict[int, Any]
    sentence: str
    passed: list[tuple[int, Any, str]] = field(default_factory=list)
    arrived: Any = None


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
        return f"{value:.5g}"

    def brief(self, value: Any) -> str:
        """Return a gradient as a text that fits on an edge."""
        return self.short(value)

    def about(self, value: Any) -> list[str]:
        """Return the lines of a node that describe its value."""
        return [f"value {self.short(value)}"]

    def local(self, variable: Any, call: str) -> list[tuple[Any, str]]:
        """Return the local derivatives of a variable, which are what its chain rule passes on if 1 arrives, with their parents."""
        return [(parent, self.short(derivative)) for parent, derivative, _ in self.passed(variable, 1.0, call)]


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
            passed = pass_on(kind, nodes[i], variable, gradients[i], index)
        frames.append(_visit(recording, i, gradients, passed, visited))
        gradients = frames[-1].gradients
    return recording


def pass_on(kind: Scalars, node: Node, variable: Any, arrived: Any, index: dict[int, int]) -> list[tuple[int, Any, str]]:
    """Apply the chain rule to what has arrived at a variable, and note its local derivatives.

    Args:
        kind: How the variable is treated.
        node: Its node.
        variable: The variable, which is no leaf.
        arrived: Its derivative, or a part of it.
        index: The number of each node, by the id of its variable.

    Returns:
        The receiving nodes, the derivatives, and remarks.
    """
    call = f"backward of {node.formula}"
    passed = [(index[id(parent)], derivative, remark) for parent, derivative, remark in kind.passed(variable, arrived, call)]
    if not node.local:
        with suppress(Exception):  # a wrong `backward` may fail for 1 only; the rule alone is shown then
            local = [(index[id(parent)], text) for parent, text in kind.local(variable, call)]
            node.local = {k: text for k, (_, text) in by_operand(node, local).items()}
    return passed


def by_operand(node: Node, received: list[Any]) -> dict[int, Any]:
    """Return what the parents of a node receive, by their position; each item begins with a node, and one that is used twice gets two."""
    found: dict[int, Any] = {}
    for item in received:
        place = next((k for k, p in enumerate(node.parents) if p == item[0] and k not in found), None)
        if place is not None:
            found[place] = item
    return found


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
    return Frame(i, gradients, sentence, passed, before[i])


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
            nodes.append(Node(f"v{steps}", "", value, "step", parents, saved=kind.saved(variable), function=variable.history.last_fn))
    for node in nodes:  # after all names are set, because a wrong order may list inputs later
        if node.kind == "step":
            node.formula = formula(node.function.__name__, [nodes[p].name for p in node.parents])
    return nodes
