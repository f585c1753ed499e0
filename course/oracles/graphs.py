"""Task 1.4: the order of a graph, and derivatives compared with finite differences through the whole expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course.explain.calls import NOTHING, Call, Judge
from course.explain.divergence import Wrong, shown_number
from course.oracles.finite_differences import agrees, slope
from course.oracles.scalars import FORWARDS

MOST, MOST_COMPUTED = 2000, 40
"""Graphs of more variables are not followed; those of more than the second number not computed again for every variable."""

ORDER = "the graph itself, followed from the output by its histories"
DIFFERENCES = "finite differences through the whole expression, computed again on Python's floats"


@dataclass(frozen=True)
class Node:
    """A variable of a graph as it was when a call began.

    Attributes:
        variable: The variable.
        history: How it was made.
        derivative: What it kept.
    """

    variable: Any
    history: Any
    derivative: float | None

    @property
    def inputs(self) -> Sequence[Any]:
        """What it was computed from."""
        return self.history.inputs

    @property
    def is_leaf(self) -> bool:
        """Whether the user made it."""
        return self.history.last_fn is None


class Graph:
    """All variables that are not constant and lead to one, each behind all that use it.

    Args:
        root: The output.

    Attributes:
        nodes: In order, by the identity of the variable.
        names: A letter for each leaf, function and number for others, likewise.
        constants: The others.

    Raises:
        ValueError: If there are too many.
    """

    def __init__(self, root: Any) -> None:
        found: dict[int, Node] = {}
        self.constants: list[Any] = []
        uses: dict[int, int] = {}
        waiting = [root]
        while waiting:
            variable = waiting.pop()
            if id(variable) in found:
                continue
            history = variable.history  # read once: the variables of some tests count that
            if history is None:
                self.constants.append(variable)
                continue
            found[id(variable)] = Node(variable, history, getattr(variable, "derivative", None))
            if len(found) > MOST:
                raise ValueError(f"more than {MOST} variables")
            waiting += history.inputs
        for node in found.values():
            for x in node.inputs:
                uses[id(x)] = uses.get(id(x), 0) + 1
        ready, self.nodes = [id(root)] if found else [], {}
        while ready:
            key = ready.pop(0)
            self.nodes[key] = found[key]
            for x in found[key].inputs:
                uses[id(x)] -= 1
                if not uses[id(x)] and id(x) in found:
                    ready.append(id(x))
        self.names = self._named()

    def _named(self) -> dict[int, str]:
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
        """The name of a variable; of a constant its value."""
        return self.names.get(id(variable)) or value(variable)

    def users(self, variable: Any) -> list[Node]:
        """The variables computed from one, once for every use."""
        return [node for node in self.nodes.values() for x in node.inputs if x is variable]

    def drawn(self) -> str:
        """From the output on, a line for each variable."""
        lines = []
        for key, node in self.nodes.items():
            inputs = ", ".join(map(self.name, node.inputs))
            made = f"{node.history.last_fn.__name__}({inputs}) = " if inputs else ""
            lines.append(f"{self.names[key]} = {made}{value(node.variable)}")
        return "\n".join(lines[:9] + ([f"… {len(lines) - 9} more"] if len(lines) > 9 else []))

    def output(self, changed: Any, number: float) -> float:
        """The output's value if one variable had another."""
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
        """d_output times the derivative of the output by one variable; None where differences cannot tell."""
        if id(variable) == next(iter(self.nodes)):
            return d_output
        for user in self.users(variable):
            kinked = user.history.last_fn.__name__ in ("ReLU", "LT", "EQ", "Abs")
            if kinked and (len(user.inputs) > 1 or user.inputs[0].data == 0):
                return None
        found = slope(lambda number: self.output(variable, number), variable.data)
        return None if found is None else d_output * found


def value(variable: Any) -> str:
    """The value of a variable."""
    return shown_number(getattr(variable, "data", variable))


def graph_of(call: Call) -> Graph:
    """The graph of a call's variable when it begins."""
    return Graph(call.arguments[0])


def derivatives(call: Call) -> dict[int, float | None]:
    """What the variables of the graph keep when the call returns."""
    variables = [node.variable for node in call.start.nodes.values()] + call.start.constants
    return {id(variable): getattr(variable, "derivative", None) for variable in variables}


def order(call: Call) -> Wrong | None:
    """Whether the order begins with the output, has every variable once that is not constant, and none before one that uses it."""
    graph: Graph = call.start
    if call.result is None:
        return Wrong(NOTHING, (("Expected", f"{len(graph.nodes)} variables in order"),), ORDER)
    if not isinstance(call.result, list | tuple):
        return None
    got = list(call.result)
    more = " …" if len(got) > 40 else ""
    rows = (("The graph", graph.drawn()), ("Yours", (" ".join(map(graph.name, got[:40])) or "nothing") + more))
    placed: set[int] = set()
    for place, variable in enumerate(got):
        name = graph.name(variable)
        if id(variable) in placed:
            return Wrong(f"place {place}: {name} stands there again", (*rows, ("Expected", f"{name} once")), ORDER)
        placed.add(id(variable))
        if id(variable) not in graph.names:
            kind = "a constant" if any(variable is x for x in graph.constants) else "no part of the graph"
            return Wrong(f"place {place}: {name}, {kind}", (*rows, ("Expected", "the variables of the graph that are not constant")), ORDER)
        missing = [graph.name(user.variable) for user in graph.users(variable) if id(user.variable) not in placed]
        if missing:
            expected = f"{name} behind {' and '.join(dict.fromkeys(missing))}, which {'uses' if len(set(missing)) == 1 else 'use'} it"
            return Wrong(f"place {place}: {name} comes before {missing[0]}", (*rows, ("Expected", expected)), ORDER)
    missing = [name for key, name in graph.names.items() if key not in placed]
    return Wrong(f"{missing[0]}, which is missing", (*rows, ("Expected", " ".join(graph.names.values()))), ORDER) if missing else None


def backpropagation(call: Call) -> Wrong | None:
    """Whether the derivative that arrives at each variable is that of finite differences, from the output on."""
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
        if expected is None:
            continue
        name, now = graph.names[key], kept[key]
        if node.is_leaf:
            got = now if node.derivative is None or now is None else now - node.derivative
        elif now is not None and node.derivative is None:
            return _wrong(graph, node.variable, expected, [now], f"{name}, which is no leaf and keeps a derivative")
        elif len(visits.get(key, ())) > 1:
            return _wrong(graph, node.variable, expected, visits[key], f"{name}, which is visited {len(visits[key])} times")
        else:
            got = visits[key][0] if key in visits else None
            if got is None and expected == 0:
                continue
        if not agrees(expected, math.nan if got is None else got):
            return _wrong(graph, node.variable, expected, [got], f"the derivative of {name}")
    for constant in graph.constants:
        if (given := kept[id(constant)]) is not None:
            return _wrong(graph, constant, 0.0, [given], f"the constant {value(constant)}, which is given a derivative")
    return None


def _wrong(graph: Graph, variable: Any, expected: float, got: Sequence[Any], place: str) -> Wrong:
    users = [graph.name(user.variable) for user in graph.users(variable)]
    rows = (
        ("The graph", graph.drawn()),
        ("Expected", f"the derivative {shown_number(float(f'{expected:.6g}'))} at {graph.name(variable)}"),
        ("Yours", " and ".join("none" if value is None else shown_number(value) for value in got[:4])),
        ("It comes from", ", ".join(users) or "what backpropagate was given"),
    )
    return Wrong(place, rows, DIFFERENCES)


JUDGES: dict[str, Judge] = {"minitorch.autodiff:topological_sort": order, "minitorch.autodiff:backpropagate": backpropagation}

PREPARE: dict[str, Callable[[Call], Any]] = dict.fromkeys(JUDGES, graph_of)
"""What is looked at when a call begins."""

FINISH: dict[str, Callable[[Call], Any]] = {"minitorch.autodiff:backpropagate": derivatives}
"""What is looked at when it returns."""

LATER = tuple(JUDGES)
"""Their judges take long, or call the test's functions again."""
