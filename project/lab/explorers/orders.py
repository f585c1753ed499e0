"""Other orders of backpropagation than the topological one: what each costs, and which gives a wrong derivative."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from minitorch import Scalar
from project.lab.explorers.graph import SCALARS, Frame, Recording, forward_only, pass_on, reachable, record

TOPOLOGICAL, RECURSION, FIRST_COME = "topological order", "recursion, path by path", "first come, first served"

ORDERS = {
    TOPOLOGICAL: "Each variable once, after all that use it. This is `topological_sort`.",
    RECURSION: "Whoever receives a derivative passes it on at once. The result is right, but there is one visit a path to the output.",
    FIRST_COME: "Each variable once, in the order in which it is reached. Whoever is visited too early passes on too little.",
}

MOST_FRAMES = 200
"""A recursion is shown up to this number of visits."""


def record_in(order: str, out: Any) -> Recording:
    """Run the backward pass from a Scalar in one of ORDERS, and record every step."""
    if order == RECURSION:
        return record_recursion(out)
    return record(out) if order == TOPOLOGICAL else record(out, SCALARS, first_come(out))


def first_come(out: Any) -> list[Any]:
    """The variables in the order in which they are first reached from the output, level by level."""
    found, queue = {id(out): out}, deque([out])
    while queue:
        for parent in queue.popleft().parents:
            if id(parent) not in found:
                found[id(parent)] = parent
                queue.append(parent)
    return list(found.values())


def record_recursion(out: Any) -> Recording:
    """Record a backward pass in which each variable passes every derivative on as soon as it arrives, depth first."""
    recording = forward_only(out)
    nodes, short = recording.nodes, recording.kind.short
    variables = reachable(out)[::-1]  # in the order of its nodes
    index = {id(variable): i for i, variable in enumerate(variables)}
    recording.frames[0].sentence = recording.frames[0].sentence.split(".")[0] + ". The backward pass has not started."
    pending: list[tuple[Any, Any]] = [] if out.is_constant() else [(out, 1.0)]
    gradients: dict[int, Any] = {}
    visits = [0] * len(nodes)
    while pending and len(recording.frames) <= MOST_FRAMES:
        variable, arrived = pending.pop()
        i = index[id(variable)]
        visits[i] += 1
        node = nodes[i]
        node.place = node.place or len(recording.frames)
        gradients = gradients | {i: gradients.get(i, 0.0) + arrived}
        passed = [] if node.kind == "leaf" else pass_on(SCALARS, node, variable, arrived, index)
        pending += [(variables[p], derivative) for p, derivative, _ in reversed(passed)]
        parts = [f"{short(derivative)} to {nodes[p].name}" for p, derivative, _ in passed]
        does = f"passes {' and '.join(parts)} on at once" if parts else f"adds it up to {short(gradients[i])}"
        sentence = f"Visit {len(recording.frames)}, the {ordinal(visits[i])} of {node.name}: it receives {short(arrived)} and {does}."
        recording.frames.append(Frame(i, gradients, sentence, passed, arrived))
    if pending:
        recording.frames[-1].sentence += f" There are more visits; {MOST_FRAMES} are shown."
    return recording


def ordinal(number: int) -> str:
    """First, second, third, 4th …"""
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


# What an order costs


def ladder(rungs: int, x: Any) -> Any:
    """A graph in which every variable is the sum of the two before it, as Fibonacci's numbers are: h₂ = h₁ + h₀, both of them x."""
    before, now = x * 1.0, x * 1.0
    for _ in range(rungs):
        before, now = now, before + now
    return now


def costs(rungs: int) -> list[dict[str, Any]]:
    """For each order its visits of the graph `ladder`, the derivative of x that it finds, and whether that is right."""
    rows = []
    right = fibonacci(rungs + 2)
    for order in ORDERS:
        x = Scalar(1.0, name="x")
        out = ladder(rungs, x)
        visits, derivative = count_recursion(out, x) if order == RECURSION else count_once(record_in(order, out))
        verdict = "right" if math.isclose(derivative, right) else f"wrong, it is {right}"
        rows.append({"order": order, "visits": f"{visits:,}", "derivative of x": f"{derivative:g}", "": verdict})
    return rows


def fibonacci(n: int) -> int:
    """The derivative of `ladder` with n - 2 rungs: F(1) = F(2) = 1, and every further one is the sum of the two before."""
    before, now = 0, 1
    for _ in range(n - 1):
        before, now = now, before + now
    return now


def count_once(recording: Recording) -> tuple[int, float]:
    """The number of visits of a recording, and the derivative of its leaf."""
    (leaf,) = [i for i, node in enumerate(recording.nodes) if node.kind == "leaf"]
    return len(recording.frames) - 1, recording.frames[-1].gradients.get(leaf, 0.0)


def count_recursion(out: Any, x: Any) -> tuple[int, float]:
    """The number of visits of a recursion without a record, and the derivative of x that it finds."""
    visits, total, pending = 0, 0.0, [(out, 1.0)]
    while pending:
        variable, arrived = pending.pop()
        visits += 1
        if variable is x:
            total += arrived
        elif not variable.is_leaf():
            pending += [(parent, derivative) for parent, derivative, _ in SCALARS.passed(variable, arrived, "backward")]
    return visits, total
