"""Probes of Module 1: backpropagation, and a network of scalars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import floats, integers, lists, sampled_from, tuples

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, is_published, number, same, shown
from course.staff.probes.layers import DIFFERENT
from course.staff.probes.module0 import stable_sigmoid
from course.staff.probes.module1 import EXACT, FUNCTIONS, SCALAR, eq, lt, small
from course.staff.probes.networks import Perceptron, labelled_points
from course.staff.probes.program import Program, Value

# Task 1.4


class Known:
    """What is known here of a variable in the child.

    Args:
        value: Its value.
        slopes: Its derivative by every leaf.
        parents: The variables that it was computed from.
    """

    def __init__(self, value: float, slopes: np.ndarray, parents: Sequence[int] = ()) -> None:
        self.value = value
        self.slopes = slopes
        self.parents = parents


STEPS: dict[str, tuple[Callable[[float], bool], Callable[[float], float], Callable[[float], float]]] = {
    "__neg__": (lambda x: True, lambda x: -x, lambda x: -1.0),
    "sigmoid": (lambda x: True, stable_sigmoid, lambda x: stable_sigmoid(x) * stable_sigmoid(-x)),
    "relu": (lambda x: x != 0 or not is_published(), lambda x: max(x, 0.0), lambda x: float(x > 0)),
    "exp": (lambda x: x < 2, math.exp, math.exp),
    "log": (lambda x: x > 0.1, lambda x: math.log(x + 1e-6), lambda x: 1 / (x + 1e-6)),
    "inv": (lambda x: abs(x) > 0.3, lambda x: 1.0 / x, lambda x: -1.0 / x**2),
}
"""Functions of one variable: where they are asked for, their value, and their derivative."""


class Graph:
    """A graph of Scalars in the child, grown from numbers.

    Args:
        p: The program that makes it.
        leaves: Values of the leaves.
        constants: Values of the constants.
        grown: For each further variable the name of a function and the numbers of its inputs.
    """

    def __init__(self, p: Program, leaves: Sequence[float], constants: Sequence[float], grown: Sequence[tuple[str, int, int]]) -> None:
        self.p = p
        scalar = p.find(SCALAR)
        self.constants = range(len(leaves), len(leaves) + len(constants))
        self.values = [*map(scalar, leaves), *(scalar(value, None) for value in constants)]
        unit = np.eye(len(leaves))
        self.known = [Known(value, unit[n]) for n, value in enumerate(leaves)] + [Known(value, 0 * unit[0]) for value in constants]
        for name, i, j in grown:
            self._grow(name, i % len(self.values), j % len(self.values))

    def _grow(self, name: str, i: int, j: int) -> None:
        a, b, x, y = self.known[i], self.known[j], self.values[i], self.values[j]
        if i in self.constants and (j in self.constants or name in STEPS):
            return  # the result would be one more constant
        if name in STEPS:
            fits, value, slope = STEPS[name]
            if fits(a.value):
                made = 1.0 / x if name == "inv" else getattr(x, name)()
                self._add(made, value(a.value), slope(a.value) * a.slopes, [i])
        elif name == "add":
            self._add(x + y, a.value + b.value, a.slopes + b.slopes, [i, j])
        elif name == "mul" and abs(a.value * b.value) < 100:
            self._add(x * y, a.value * b.value, a.slopes * b.value + b.slopes * a.value, [i, j])
        elif name in ("lt", "eq"):
            self._add(self.p.find(f"operator:{name}")(x, y), (lt if name == "lt" else eq)(a.value, b.value), 0 * a.slopes, [i, j])

    def _add(self, made: Value, value: float, slopes: np.ndarray, parents: Sequence[int]) -> None:
        self.values.append(made)
        self.known.append(Known(value, slopes, parents))

    def reached(self, at: int) -> set[int]:
        """The variables that lead to one, itself included, without constants."""
        found: set[int] = set()
        waiting = [at]
        while waiting:
            n = waiting.pop()
            if n not in found and n not in self.constants:
                found.add(n)
                waiting += self.known[n].parents
        return found


names = sampled_from([*STEPS, "add", "mul", "add", "mul", "lt", "eq"])
graphs = lists(tuples(names, integers(0, 12), integers(0, 12)), min_size=1, max_size=12)
alike = lists(sampled_from([-1.0, 0.5, 2.0, 2.0]), min_size=3, max_size=3)
DIAMOND = [("mul", 0, 0), ("exp", 2, 0), ("add", 5, 5), ("mul", 5, 6), ("add", 7, 3), ("sigmoid", 8, 0)]
LATE = [("exp", 0, 0), ("add", 5, 1), ("mul", 6, 0), ("add", 7, 5), ("add", 8, 0)]
SHARED = [("mul", 0, 1), ("__neg__", 5, 0), ("mul", 6, 5), ("relu", 6, 0), ("add", 7, 8)]
SHAPES = [([0.5, 2.0, 2.0], DIAMOND), ([0.5, -1.0, 2.0], LATE), ([2.0, 0.5, 2.0], SHARED), ([0.5, 2.0, -1.0], [("__neg__", 0, 0)])]


@probe(
    "1.4",
    "topological_sort lists every variable that leads to one once, after all that were computed from it",
    weight=3,
    examples=SHAPES,
    published=False,  # nothing but backpropagate calls it there
    leaves=alike,
    grown=graphs,
)
def topological_sort(p: Program, leaves: list[float], grown: list[tuple[str, int, int]]) -> Check:
    """Also where values are alike; constants are not listed."""
    graph = Graph(p, leaves, [2.0, -1.0], grown)
    last = len(graph.values) - 1 if len(graph.values) > 5 else 0
    id_of = p.find("builtins:id")
    listed = p.find("builtins:list")(p.find("builtins:map")(id_of, p.find("minitorch.autodiff:topological_sort")(graph.values[last])))
    got, *ids = yield [listed, *map(id_of, graph.values)]
    places = [ids.index(id) if id in ids else -1 for id in got]  # a computed number's negative, in a - b, has no value here
    ours = [place for place in places if place >= 0]
    same(sorted(ours), sorted(graph.reached(last)), of="each variable once, by number,")
    same(places[0], last, of="the variable itself first, by number,")
    for n in ours:
        for parent in graph.known[n].parents:
            if parent in ours and ours.index(parent) < ours.index(n):
                raise Wrong(f"expected variable {n} before {parent}, from which it was computed, got the order {ours}")


GIVEN = [
    ([0.5, 2.0, 2.0], [("mul", 0, 0), ("log", 2, 0), ("add", 5, 5), ("mul", 5, 6), ("add", 7, 3), ("mul", 8, 8)]),
    ([0.5, -1.0, 2.0], [("mul", 0, 0), ("add", 5, 1), ("mul", 6, 0), ("add", 7, 5), ("add", 8, 0)]),
    ([2.0, 0.5, 2.0], [("mul", 0, 1), ("add", 5, 2), ("mul", 6, 5), ("log", 6, 0), ("add", 7, 8)]),
    ([0.5, 2.0, -1.0], [("add", 0, 3)]),
]
"""Diamonds and what is used late, of products and functions whose backward is given: other backwards have probes of their own."""

few = lists(tuples(sampled_from(["add", "mul", "add", "mul", "log"]), integers(0, 12), integers(0, 12)), min_size=1, max_size=12)
smooth = lists(tuples(sampled_from([*STEPS, "add", "mul", "add", "mul"]), integers(0, 12), integers(0, 12)), min_size=1, max_size=12)


@probe(
    "1.4",
    "backward gives every leaf its derivative, and nothing else one",
    weight=4,
    examples=[(*shape, 1.0) for shape in GIVEN] + [(*GIVEN[0], -2.5)],
    count=50,
    leaves=alike,
    grown=few,
    d=sampled_from([1.0, -2.5, 0.0]),
)
def backward(p: Program, leaves: list[float], grown: list[tuple[str, int, int]], d: float) -> Check:
    """Leaves that do not lead to the output, constants, and what was computed have none."""
    yield from derivatives_of(p, leaves, grown, d)


@probe("1.4", "backward goes through formulas of all functions", examples=[(*shape, 1.0) for shape in SHAPES], leaves=alike, grown=smooth)
def formulas(p: Program, leaves: list[float], grown: list[tuple[str, int, int]], d: float = 1.0) -> Check:
    """But comparisons."""
    yield from derivatives_of(p, leaves, grown, d)


def derivatives_of(p: Program, leaves: list[float], grown: list[tuple[str, int, int]], d: float) -> Check:
    """Those of the last variable of a graph."""
    graph = Graph(p, leaves, [2.0, -1.0], grown)
    last = len(graph.values) - 1 if len(graph.values) > 5 else 0
    graph.values[last].backward(d)
    got = yield [value.derivative for value in graph.values]
    reached = graph.reached(last)
    for n, derivative in enumerate(got):
        if n < len(leaves) and n in reached:
            same(number(derivative), float(d * graph.known[last].slopes[n]), 1e-6, of=f"derivative {n} to be")
        else:
            same(derivative, None, of=f"of variable {n}, which keeps none,")


@probe("1.4", "backward adds to what a leaf has already", x=small, d=small, count=5)
def twice(p: Program, x: float, d: float) -> Check:
    """Two calls on a graph."""
    a, b = p.find(SCALAR)(x), p.find(SCALAR)(x)
    product = a * b
    product.backward()
    product.backward(d)
    by_a, by_b = yield [a.derivative, b.derivative]
    same([number(by_a), number(by_b)], [x * (1 + d), x * (1 + d)], 1e-9)


@probe("1.4", "backward of a leaf gives it what arrives", edge=True, x=small, count=2)
def of_a_leaf(p: Program, x: float) -> Check:
    """Nothing was computed."""
    a = p.find(SCALAR)(x)
    a.backward(5.0)
    (got,) = yield [a.derivative]
    same(number(got), 5.0)


@probe("1.4", "NaN flows back as NaN", edge=True, x=small, count=2)
def nan_flows(p: Program, x: float) -> Check:
    """Through a product with it."""
    a = p.find(SCALAR)(x)
    (a * math.nan).backward()
    (got,) = yield [a.derivative]
    same(number(got), math.nan)


@probe("1.4", "a graph may be 5,000 steps deep, and one of 2^50 paths takes no longer than its 50 variables", edge=True)
def deep(p: Program) -> Check:
    """A sum of 5,000 terms one after the other, and 50 doublings."""
    x = p.find(SCALAR)(1.5)
    p.find("functools:reduce")(p.find("operator:add"), p.find("builtins:list")(p.find("itertools:repeat")(x, 5000))).backward()
    double = p.function(2, lambda _, x, y: x + x)
    y = p.find(SCALAR)(1.5)
    doubled = p.find("functools:reduce")(double, p.find("builtins:range")(50), y)
    doubled.backward()
    count = p.find("builtins:len")(p.find("builtins:list")(p.find("minitorch.autodiff:topological_sort")(doubled)))
    got = yield [x.derivative, y.derivative, count]
    same([number(one) for one in got], [5000.0, 2.0**50, 51.0])


BACKWARDS: list[tuple[str, Callable[..., Sequence[float]], list[tuple[float, ...]]]] = [
    ("Mul", lambda x, y: (y, x), [(2.0, 3.0), (-1.0, 0.5)]),
    ("Inv", lambda x: (-1 / x**2,), [(2.0,), (-0.5,)]),
    ("Neg", lambda x: (-1.0,), [(2.0,)]),
    ("Sigmoid", lambda x: (stable_sigmoid(x) * stable_sigmoid(-x),), [(2.0,), (-3.0,), (0.0,)]),
    ("ReLU", lambda x: (float(x > 0),), [(2.0,), (-3.0,), (0.0,)]),
    ("Exp", lambda x: (math.exp(x),), [(2.0,), (-3.0,)]),
    ("LT", lambda x, y: (0.0, 0.0), [(2.0, 3.0), (3.0, 2.0), (2.0, 2.0)]),
    ("EQ", lambda x, y: (0.0, 0.0), [(2.0, 3.0), (2.0, 2.0)]),
]
"""Functions with their derivatives."""


def one_backward(name: str, expected: Callable[..., Sequence[float]], cases: list[tuple[float, ...]]) -> None:
    """Enter the probe of a backward."""

    def check(p: Program, *values: float) -> Check:
        leaves = [p.find(SCALAR)(value) for value in values]
        p.find(f"{FUNCTIONS}:{name}.apply")(*leaves).backward(-2.5)
        got = yield [leaf.derivative for leaf in leaves]
        same([number(one) for one in got], [-2.5 * slope for slope in expected(*values)], EXACT)

    inputs: Any = {one: floats(0.1, 4) for one in "xy"[: len(cases[0])]}
    kinked = name == "ReLU"
    says = f"{name}.backward gives what flows to every input"
    probe("1.4", says, examples=cases, count=8, published=lambda x, *_: not kinked or x != 0, **inputs)(check)


for _name, _slopes, _cases in BACKWARDS:
    one_backward(_name, _slopes, _cases)


# Task 1.5


def parameters(p: Program, module: Value, values: dict[str, np.ndarray]) -> None:
    """Write numbers into the parameters `layer.weight_i_j` and `layer.bias_j` of a module."""
    named, scalar = p.find("builtins:dict")(module.named_parameters()), p.find(SCALAR)
    for name, array in values.items():
        for place, value in np.ndenumerate(array):
            named["_".join([name, *map(str, place)])].update(scalar(float(value)))


def names_of(values: dict[str, np.ndarray]) -> list[str]:
    """The names of the parameters that hold these arrays."""
    return ["_".join([name, *map(str, place)]) for name, array in values.items() for place in np.ndindex(*array.shape)]


@probe(
    "1.5",
    "Linear puts out for each output its bias and the weighted sum of the inputs",
    weight=3,
    examples=[(1, 1, 0), (2, 3, 1), (3, 2, 2)],
    n=integers(1, 4),
    m=integers(1, 4),
    seed=integers(0, 99),
    count=8,
)
def linear(p: Program, n: int, m: int, seed: int) -> Check:
    """The values, and what flows back to weights and inputs."""
    draw = np.random.default_rng(seed)
    weights, bias, x = draw.uniform(-2, 2, (n, m)), draw.uniform(-2, 2, m), draw.uniform(-2, 2, n)
    layer = p.find("project.run_scalar:Linear")(n, m)
    parameters(p, layer, {"weight": weights, "bias": bias})
    inputs = [p.find(SCALAR)(float(value)) for value in x]
    out = p.find("builtins:list")(layer(inputs))
    out[m - 1].backward()
    named = p.find("builtins:dict")(layer.named_parameters())
    slopes = [named[f"weight_{i}_{m - 1}"].value.derivative for i in range(n)]
    count, *got = yield [p.find("builtins:len")(out), *(out[j].data for j in range(m)), *slopes, inputs[0].derivative]
    same(count, m, of="as many outputs as biases,")
    same([number(one) for one in got], [*(x @ weights + bias).tolist(), *x.tolist(), float(weights[0, m - 1])], EXACT)


@probe("1.5", "Network has three layers, 2 → H → H → 1, by their names", labels=[DIFFERENT], examples=[(1,), (2,), (5,)])
def network_layers(p: Program, hidden: int) -> Check:
    """The names of all parameters say which there are."""
    named = p.find("builtins:dict")(p.find("project.run_scalar:Network")(hidden).named_parameters())
    known = names_of(Perceptron(hidden, 0).named("weight"))
    names, *values = yield [p.find("builtins:list")(named), *(named[name].value.data for name in known)]
    same(sorted(map(str, names)), sorted(known), of="the parameters")
    if len(set(map(number, values))) < len(values):
        raise Wrong("", {DIFFERENT: f"expected parameters that start with different numbers, got {values}"})


@probe(
    "1.5",
    "Network gives the probability of each point",
    weight=3,
    examples=[(2, 0), (4, 1)],
    hidden=integers(1, 4),
    seed=integers(0, 99),
    count=6,
)
def network_forward(p: Program, hidden: int, seed: int) -> Check:
    """With parameters that are written into it."""
    known = Perceptron(hidden, seed)
    network = p.find("project.run_scalar:Network")(hidden)
    parameters(p, network, known.named("weight"))
    points = np.random.default_rng(seed).uniform(0, 1, (4, 2))
    got = yield [network([p.find(SCALAR)(x, None), p.find(SCALAR)(y, None)]).data for x, y in points.tolist()]
    same([number(one) for one in got], known(points).tolist(), EXACT)


@probe(
    "1.5",
    "a network that is trained gives hidden points the probabilities that gradient descent leads to",
    weight=3,
    seconds=60,
    examples=[("Xor", 3, 1), ("Simple", 2, 2)],
)
def training(p: Program, dataset: str, hidden: int, seed: int) -> Check:
    """Six epochs on 12 points, beside the same descent in NumPy."""
    known = Perceptron(hidden, seed)
    setting = p.find("project.lab.training.trainer:Setting")(dataset=dataset, points=12, hidden=hidden, rate=0.5, epochs=6, seed=seed)
    trainer = p.find("project.lab.training.scalar_trainer:ScalarTrainer")(setting, p.find("project.run_scalar:Network"))
    parameters(p, trainer.network, known.named("weight"))
    for _ in range(6):
        trainer.run_epoch()
    hidden_points = np.random.default_rng(seed).uniform(0, 1, (5, 2))
    (got,) = yield [trainer.probabilities(hidden_points)]
    points, labels = labelled_points(dataset, 12, seed)
    for _ in range(6):
        known.descend(points, labels, 0.5)
    if not isinstance(got, list):
        raise Wrong(f"expected a list of probabilities, got {shown(got)}")
    same([number(one) for one in got], known(hidden_points).tolist(), 1e-6)
