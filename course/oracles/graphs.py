"""Task 1.4: the order of a graph, and derivatives compared with finite differences of the whole expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from course.explain.calls import NOTHING, Call, Judge
from course.explain.divergence import Difference, format_number
from course.oracles.finite_differences import agrees, numerical_derivative
from course.oracles.scalars import FORWARDS

MOST, MOST_COMPUTED = 2000, 40
"""Larger graphs than the first number are not compared, and derivatives are compared in graphs up to the second number only."""

ORDER = "the histories of the graph, followed from the output"
DIFFERENCES = "finite differences of the whole expression, recomputed with Python floats"


@dataclass(frozen=True)
class Node:
    """A snapshot of a variable of a graph.

    Attributes:
        variable: The variable.
        history: Its history.
        derivative: The derivative that it has accumulated.
    """

    variable: Any
    history: Any
    derivative: float | None

    @property
    def inputs(self) -> Sequence[Any]:
        """The inputs of the function that computed it."""
        return self.history.inputs

    @property
    def is_leaf(self) -> bool:
        """Whether the user created it."""
        return self.history.last_fn is None


class Graph:
    """The variables that an output was computed from, without constants.

    Args:
        root: The output.

    Attributes:
        nodes: By the id of the variable, the output first and every other after those computed from it.
        names: A letter for every leaf, the name of the function and a number for every other variable, by the id of the variable.
        constants: The constants that it was computed from.

    Raises:
        ValueError: If there are more than MOST variables.
    """

    def __init__(self, root: Any) -> None:
        found: dict[int, Node] = {}
        self.constants: list[Any] = []
        waiting = {id(root): root}
        while waiting:
            key, variable = waiting.popitem()
            history = variable.history  # read once: the variables of some tests count how often
            if history is None:
                self.constants.append(variable)
                continue
            found[key] = Node(variable, history, getattr(variable, "derivative", None))
            if len(found) > MOST:
                raise ValueError(f"more than {MOST} variables")
            waiting |= {id(x): x for x in history.inputs if id(x) not in found}
        sorter: TopologicalSorter[int] = TopologicalSorter({key: [] for key in found})
        for key, node in found.items():
            for x in node.inputs:
                sorter.add(id(x), key)
        self.nodes = {key: found[key] for key in sorter.static_order() if key in found}
        self.names = self._assign_names()

    def _assign_names(self) -> dict[int, str]:
        names: dict[int, str] = {}
        leaves, counts = 0, {}
        for key, node in reversed(self.nodes.items()):
            if node.is_leaf:
                names[key] = "xyzuvwabcdefghijklmnopqrst"[leaves] if leaves < 26 else f"x{leaves}"
                leaves += 1
            else:
                name = node.history.last_fn.__name__
                counts[name] = counts.get(name, 0) + 1
                names[key] = f"{name}{counts[name]}"
        return {key: names[key] for key in self.nodes}

    def name(self, variable: Any) -> str:
        """The name of a variable, or the value of a constant."""
        return self.names.get(id(variable)) or value(variable)

    def users(self, variable: Any) -> list[Node]:
        """The variables computed from a variable, once for every use."""
        return [node for node in self.nodes.values() for x in node.inputs if x is variable]

    def diagram(self) -> str:
        """One line for every variable, starting with the output."""
        lines = []
        for key, node in self.nodes.items():
            inputs = ", ".join(map(self.name, node.inputs))
            made = f"{node.history.last_fn.__name__}({inputs}) = " if inputs else ""
            lines.append(f"{self.names[key]} = {made}{value(node.variable)}")
        return "\n".join(lines[:9] + ([f"… {len(lines) - 9} more"] if len(lines) > 9 else []))

    def output(self, changed: Any, number: float) -> float:
        """The value of the output if one variable had another value."""
        values: dict[int, float] = {id(changed): number}
        for key, node in reversed(self.nodes.items()):
            if key in values:
                continue
            if node.is_leaf:
                values[key] = node.variable.data
                continue
            inputs = [values.get(id(x), x.data) for x in node.inputs]
            function = node.history.last_fn
            known = FORWARDS.get(function.__name__) if function.__module__ == "minitorch.scalar_functions" else None
            values[key] = known[1](*inputs) if known else function.forward(type(node.history.ctx)(), *inputs)
        return values[next(iter(self.nodes))]

    def derivative(self, variable: Any, d_output: float) -> float | None:
        """d_output times the derivative of the output with respect to a variable; None where finite differences do not exist."""
        if id(variable) == next(iter(self.nodes)):
            return d_output
        for user in self.users(variable):
            has_kink = user.history.last_fn.__name__ in ("ReLU", "LT", "EQ", "Abs")
            if has_kink and (len(user.inputs) > 1 or user.inputs[0].data == 0):
                return None
        size = max(abs(node.variable.data) for node in self.nodes.values())
        found = numerical_derivative(lambda number: self.output(variable, number), variable.data, size)
        return None if found is None else d_output * found


def value(variable: Any) -> str:
    """The value of a variable, formatted."""
    return format_number(getattr(variable, "data", variable))


def graph_of(call: Call) -> Graph:
    """The graph of the argument at the beginning of a call."""
    return Graph(call.arguments[0])


def derivatives(call: Call) -> dict[int, float | None]:
    """The derivatives that the variables of the graph have accumulated at the end of a call."""
    variables = [node.variable for node in call.start.nodes.values()] + call.start.constants
    return {id(variable): getattr(variable, "derivative", None) for variable in variables}


def order(call: Call) -> Difference | None:
    """Compare an order: every variable that is not a constant exactly once, after all variables that were computed from it."""
    graph: Graph = call.start
    if call.result is None:
        return Difference(NOTHING, (("Expected", f"{len(graph.nodes)} variables in order"),), ORDER)
    if not isinstance(call.result, list | tuple):
        return None
    got = list(call.result)
    more = " …" if len(got) > 40 else ""
    rows = (("The graph", graph.diagram()), ("Yours", (" ".join(map(graph.name, got[:40])) or "nothing") + more))
    placed: set[int] = set()
    for place, variable in enumerate(got):
        name = graph.name(variable)
        if id(variable) in placed:
            return Difference(f"position {place}: {name}, which appears twice", (*rows, ("Expected", f"{name} once")), ORDER)
        placed.add(id(variable))
        if id(variable) not in graph.names:
            kind = "a constant" if any(variable is x for x in graph.constants) else "which is not part of the graph"
            return Difference(
                f"position {place}: {name}, {kind}", (*rows, ("Expected", "no constants and only variables of the graph")), ORDER
            )
        missing = [graph.name(user.variable) for user in graph.users(variable) if id(user.variable) not in placed]
        if missing:
            users = " and ".join(dict.fromkeys(missing))
            expected = f"{name} after {users}, which {'was' if len(set(missing)) == 1 else 'were'} computed from it"
            return Difference(f"position {place}: {name} comes before {missing[0]}", (*rows, ("Expected", expected)), ORDER)
    missing = [name for key, name in graph.names.items() if key not in placed]
    return Difference(f"{missing[0]}, which is missing", (*rows, ("Expected", " ".join(graph.names.values()))), ORDER) if missing else None


def backpropagation(call: Call) -> Difference | None:
    """Compare the derivative that reaches each variable with finite differences, starting at the output."""
    graph, d_output = call.start, float(call.arguments[1])
    followed = any(target.name == "minitorch.scalar:Scalar.chain_rule" for target in call.recorder.targets.values())
    if len(graph.nodes) > MOST_COMPUTED or not followed or not all(hasattr(node.variable, "derivative") for node in graph.nodes.values()):
        return None
    kept: dict[int, float | None] = call.end
    visits: dict[int, list[float]] = {}
    for variable, arrived in call.inside:
        visits.setdefault(id(variable), []).append(arrived)
    for key, node in graph.nodes.items():
        expected = graph.derivative(node.variable, d_output)
        if expected is None or not math.isfinite(expected):
            continue
        name, now = graph.names[key], kept[key]
        if node.is_leaf:
            got = now if node.derivative is None or now is None else now - node.derivative
        elif now is not None and node.derivative is None:
            return _wrong(graph, node.variable, expected, [now], f"{name}, which is not a leaf and must not keep a derivative")
        elif len(visits.get(key, ())) > 1:
            return _wrong(graph, node.variable, expected, visits[key], f"{name}, which is visited {len(visits[key])} times")
        else:
            got = visits[key][0] if key in visits else None
            if got is None and expected == 0:
                continue
        if not agrees(expected, math.nan if got is None else got, max(1.0, abs(d_output))):
            return _wrong(graph, node.variable, expected, [got], f"the derivative of {name}")
    for constant in graph.constants:
        if (given := kept[id(constant)]) is not None:
            return _wrong(graph, constant, 0.0, [given], f"the constant {value(constant)}, which must not have a derivative")
    return None


def _wrong(graph: Graph, variable: Any, expected: float, got: Sequence[Any], place: str) -> Difference:
    users = [graph.name(user.variable) for user in graph.users(variable)]
    rows = (
        ("The graph", graph.diagram()),
        ("Expected", f"the derivative {format_number(float(f'{expected:.6g}'))} at {graph.name(variable)}"),
        ("Yours", " and ".join("none" if value is None else format_number(value) for value in got[:4])),
        ("It comes from", ", ".join(users) or "the argument of backpropagate"),
    )
    return Difference(place, rows, DIFFERENCES)


JUDGES: dict[str, Judge] = {"minitorch.autodiff:topological_sort": order, "minitorch.autodiff:backpropagate": backpropagation}

PREPARE: dict[str, Callable[[Call], Any]] = dict.fromkeys(JUDGES, graph_of)
"""What is read at the beginning of a call."""

FINISH: dict[str, Callable[[Call], Any]] = {"minitorch.autodiff:backpropagate": derivatives}
"""What is read at the end of a call."""

LATER = tuple(JUDGES)
"""Compared after the test, because that is slow and calls functions of the test again."""
