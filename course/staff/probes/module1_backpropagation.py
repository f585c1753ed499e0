"""Probes of Module 1: backpropagation, and a network of scalars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import floats, integers, lists, sampled_from, tuples

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, is_published, number, printable
from course.staff.probes.layers import INITIAL_VALUES, source_of
from course.staff.probes.module0 import stable_sigmoid
from course.staff.probes.module1 import EXACT, FUNCTIONS, SCALAR, eq, lt, small
from course.staff.probes.networks import Perceptron, labelled_points
from course.staff.probes.program import Program, Value

# Task 1.4


class ReferenceVariable:
    """Expected properties of a variable in the child.

    Args:
        value: Its value.
        slopes: Its derivative with respect to every leaf.
        parents: The variables that it was computed from.
    """

    def __init__(self, value: float, derivatives: np.ndarray, parents: Sequence[int] = ()) -> None:
        self.value = value
        self.derivatives = derivatives
        self.parents = parents


UNARY: dict[str, tuple[Callable[[float], bool], Callable[[float], float], Callable[[float], float]]] = {
    "__neg__": (lambda x: True, lambda x: -x, lambda x: -1.0),
    "sigmoid": (lambda x: True, stable_sigmoid, lambda x: stable_sigmoid(x) * stable_sigmoid(-x)),
    "relu": (lambda x: x != 0 or not is_published(), lambda x: max(x, 0.0), lambda x: float(x > 0)),
    "exp": (lambda x: x < 2, math.exp, math.exp),
    "log": (lambda x: x > 0.1, lambda x: math.log(x + 1e-6), lambda x: 1 / (x + 1e-6)),
    "inv": (lambda x: abs(x) > 0.3, lambda x: 1.0 / x, lambda x: -1.0 / x**2),
}
"""Functions of one variable: the condition to use them, their value, and their derivative."""


class Graph:
    """A random graph of Scalars in the child.

    Args:
        p: The program that creates it.
        leaves: Values of the leaves.
        constants: Values of the constants.
        operations: For each further variable, the name of a function and the numbers of its inputs.
    """

    def __init__(self, p: Program, leaves: Sequence[float], constants: Sequence[float], operations: Sequence[tuple[str, int, int]]) -> None:
        self.p = p
        scalar = p.find(SCALAR)
        self.constants = range(len(leaves), len(leaves) + len(constants))
        self.values = [*map(scalar, leaves), *(scalar(value, None) for value in constants)]
        unit = np.eye(len(leaves))
        self.known = [ReferenceVariable(value, unit[n]) for n, value in enumerate(leaves)] + [
            ReferenceVariable(value, 0 * unit[0]) for value in constants
        ]
        for name, i, j in operations:
            self._apply(name, i % len(self.values), j % len(self.values))

    def _apply(self, name: str, i: int, j: int) -> None:
        a, b, x, y = self.known[i], self.known[j], self.values[i], self.values[j]
        if i in self.constants and (j in self.constants or name in UNARY):
            return  # the result would be one more constant
        if name in UNARY:
            is_valid, value, derivative = UNARY[name]
            if is_valid(a.value):
                made = 1.0 / x if name == "inv" else getattr(x, name)()
                self._add(made, value(a.value), derivative(a.value) * a.derivatives, [i])
        elif name == "add":
            self._add(x + y, a.value + b.value, a.derivatives + b.derivatives, [i, j])
        elif name == "mul" and abs(a.value * b.value) < 100:
            self._add(x * y, a.value * b.value, a.derivatives * b.value + b.derivatives * a.value, [i, j])
        elif name in ("lt", "eq"):
            self._add(self.p.find(f"operator:{name}")(x, y), (lt if name == "lt" else eq)(a.value, b.value), 0 * a.derivatives, [i, j])

    def _add(self, made: Value, value: float, derivatives: np.ndarray, parents: Sequence[int]) -> None:
        self.values.append(made)
        self.known.append(ReferenceVariable(value, derivatives, parents))

    def ancestors(self, at: int) -> set[int]:
        """The variables that one depends on, including itself, without constants."""
        visited: set[int] = set()
        pending = [at]
        while pending:
            n = pending.pop()
            if n not in visited and n not in self.constants:
                visited.add(n)
                pending += self.known[n].parents
        return visited


names = sampled_from([*UNARY, "add", "mul", "add", "mul", "lt", "eq"])
graphs = lists(tuples(names, integers(0, 12), integers(0, 12)), min_size=1, max_size=12)
leaf_values = lists(sampled_from([-1.0, 0.5, 2.0, 2.0]), min_size=3, max_size=3)
DIAMOND = [("mul", 0, 0), ("exp", 2, 0), ("add", 5, 5), ("mul", 5, 6), ("add", 7, 3), ("sigmoid", 8, 0)]
LATE = [("exp", 0, 0), ("add", 5, 1), ("mul", 6, 0), ("add", 7, 5), ("add", 8, 0)]
SHARED = [("mul", 0, 1), ("__neg__", 5, 0), ("mul", 6, 5), ("relu", 6, 0), ("add", 7, 8)]
SHAPES = [([0.5, 2.0, 2.0], DIAMOND), ([0.5, -1.0, 2.0], LATE), ([2.0, 0.5, 2.0], SHARED), ([0.5, 2.0, -1.0], [("__neg__", 0, 0)])]


@probe(
    "1.4",
    "topological_sort lists each variable that the output depends on once, after all variables computed from it",
    weight=3,
    examples=SHAPES,
    published=False,  # internal to backpropagate in the original course
    leaves=leaf_values,
    operations=graphs,
)
def topological_sort(p: Program, leaves: list[float], operations: list[tuple[str, int, int]]) -> Check:
    """Also if values are equal; constants are not listed."""
    graph = Graph(p, leaves, [2.0, -1.0], operations)
    last = len(graph.values) - 1 if len(graph.values) > 5 else 0
    id_of = p.find("builtins:id")
    listed = p.find("builtins:list")(p.find("builtins:map")(id_of, p.find("minitorch.autodiff:topological_sort")(graph.values[last])))
    got, *ids = yield [listed, *map(id_of, graph.values)]
    positions = [ids.index(id) if id in ids else -1 for id in got]  # in a - b, the intermediate -b has no value here
    listed_numbers = [position for position in positions if position >= 0]
    check_equal(sorted(listed_numbers), sorted(graph.ancestors(last)), of="listed variables, by number")
    check_equal(positions[0], last, of="the first variable, by number")
    for n in listed_numbers:
        for parent in graph.known[n].parents:
            if parent in listed_numbers and listed_numbers.index(parent) < listed_numbers.index(n):
                raise Wrong(f"expected variable {n} before {parent}, which it was computed from, got the order {listed_numbers}")


GIVEN_FUNCTIONS = [
    ([0.5, 2.0, 2.0], [("mul", 0, 0), ("log", 2, 0), ("add", 5, 5), ("mul", 5, 6), ("add", 7, 3), ("mul", 8, 8)]),
    ([0.5, -1.0, 2.0], [("mul", 0, 0), ("add", 5, 1), ("mul", 6, 0), ("add", 7, 5), ("add", 8, 0)]),
    ([2.0, 0.5, 2.0], [("mul", 0, 1), ("add", 5, 2), ("mul", 6, 5), ("log", 6, 0), ("add", 7, 8)]),
    ([0.5, 2.0, -1.0], [("add", 0, 3)]),
]
"""Graphs with diamonds and late uses, of functions whose backward is given: the other backward methods have separate probes."""

given_graphs = lists(tuples(sampled_from(["add", "mul", "add", "mul", "log"]), integers(0, 12), integers(0, 12)), min_size=1, max_size=12)
smooth_graphs = lists(tuples(sampled_from([*UNARY, "add", "mul", "add", "mul"]), integers(0, 12), integers(0, 12)), min_size=1, max_size=12)


@probe(
    "1.4",
    "backward stores a derivative in every leaf, and in no other variable",
    weight=4,
    examples=[(*shape, 1.0) for shape in GIVEN_FUNCTIONS] + [(*GIVEN_FUNCTIONS[0], -2.5)],
    count=50,
    leaves=leaf_values,
    operations=given_graphs,
    d=sampled_from([1.0, -2.5, 0.0]),
    source="test_backprop1; test_backprop2; test_backprop3; test_backprop4",
)
def backward(p: Program, leaves: list[float], operations: list[tuple[str, int, int]], d: float) -> Check:
    """Leaves that the output does not depend on, constants and computed variables have no derivative."""
    yield from check_derivatives(p, leaves, operations, d)


@probe(
    "1.4",
    "backward differentiates formulas that use every function",
    examples=[(*shape, 1.0) for shape in SHAPES],
    leaves=leaf_values,
    operations=smooth_graphs,
    source="test_one_derivative",
)
def formulas(p: Program, leaves: list[float], operations: list[tuple[str, int, int]], d: float = 1.0) -> Check:
    """Except comparisons."""
    yield from check_derivatives(p, leaves, operations, d)


def check_derivatives(p: Program, leaves: list[float], operations: list[tuple[str, int, int]], d: float) -> Check:
    """Check the derivatives of the last variable of a graph."""
    graph = Graph(p, leaves, [2.0, -1.0], operations)
    last = len(graph.values) - 1 if len(graph.values) > 5 else 0
    graph.values[last].backward(d)
    got = yield [value.derivative for value in graph.values]
    ancestors = graph.ancestors(last)
    for n, derivative in enumerate(got):
        if n < len(leaves) and n in ancestors:
            check_equal(number(derivative), float(d * graph.known[last].derivatives[n]), 1e-6, of=f"derivative of variable {n}")
        else:
            check_equal(derivative, None, of=f"derivative of variable {n}")


@probe(
    "1.4",
    "backward adds to the derivative that a leaf already has",
    x=small,
    d=small,
    count=5,
    source="docstring of Scalar.accumulate_derivative",
)
def repeated_backward(p: Program, x: float, d: float) -> Check:
    """Two calls on the same graph."""
    a, b = p.find(SCALAR)(x), p.find(SCALAR)(x)
    product = a * b
    product.backward()
    product.backward(d)
    grad_a, grad_b = yield [a.derivative, b.derivative]
    check_equal([number(grad_a), number(grad_b)], [x * (1 + d), x * (1 + d)], 1e-9)


@probe("1.4", "backward on a leaf stores the derivative that is passed to it", edge=True, x=small, count=2)
def backward_of_a_leaf(p: Program, x: float) -> Check:
    """The leaf has no history to propagate to."""
    a = p.find(SCALAR)(x)
    a.backward(5.0)
    (got,) = yield [a.derivative]
    check_equal(number(got), 5.0)


@probe("1.4", "NaN propagates backward as NaN", edge=True, x=small, count=2)
def nan_propagates(p: Program, x: float) -> Check:
    """Through a product with NaN."""
    a = p.find(SCALAR)(x)
    (a * math.nan).backward()
    (got,) = yield [a.derivative]
    check_equal(number(got), math.nan)


@probe("1.4", "backward handles a graph 5,000 steps deep, and visits each variable once in a graph with 2^50 paths", edge=True)
def deep_graph(p: Program) -> Check:
    """A sequential sum of 5,000 terms, and 50 doublings."""
    x = p.find(SCALAR)(1.5)
    p.find("functools:reduce")(p.find("operator:add"), p.find("builtins:list")(p.find("itertools:repeat")(x, 5000))).backward()
    double = p.function(2, lambda _, x, y: x + x)
    y = p.find(SCALAR)(1.5)
    doubled = p.find("functools:reduce")(double, p.find("builtins:range")(50), y)
    doubled.backward()
    count = p.find("builtins:len")(p.find("builtins:list")(p.find("minitorch.autodiff:topological_sort")(doubled)))
    got = yield [x.derivative, y.derivative, count]
    check_equal([number(one) for one in got], [5000.0, 2.0**50, 51.0])


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
"""Functions with their derivatives and test points."""


def backward_probe(name: str, expected: Callable[..., Sequence[float]], cases: list[tuple[float, ...]]) -> None:
    """Register the probe of a backward method."""

    def check(p: Program, *values: float) -> Check:
        leaves = [p.find(SCALAR)(value) for value in values]
        p.find(f"{FUNCTIONS}:{name}.apply")(*leaves).backward(-2.5)
        got = yield [leaf.derivative for leaf in leaves]
        check_equal([number(one) for one in got], [-2.5 * derivative for derivative in expected(*values)], EXACT)

    inputs: Any = {one: floats(0.1, 4) for one in "xy"[: len(cases[0])]}
    has_kink = name == "ReLU"
    says = f"{name}.backward returns the derivative for every input"
    probe(
        "1.4",
        says,
        examples=cases,
        count=8,
        published=lambda x, *_: not has_kink or x != 0,
        source="test_one_derivative" if len(cases[0]) == 1 else "test_two_derivative",
        **inputs,
    )(check)


for _name, _derivatives, _cases in BACKWARDS:
    backward_probe(_name, _derivatives, _cases)


# Task 1.5

SOURCE = source_of("1.5", "project.run_scalar")


def parameters(p: Program, module: Value, values: dict[str, np.ndarray]) -> None:
    """Update the parameters `layer.weight_i_j` and `layer.bias_j` of a module."""
    named, scalar = p.find("builtins:dict")(module.named_parameters()), p.find(SCALAR)
    for name, array in values.items():
        for place, value in np.ndenumerate(array):
            named["_".join([name, *map(str, place)])].update(scalar(float(value)))


def names_of(values: dict[str, np.ndarray]) -> list[str]:
    """The names of the parameters that hold these arrays."""
    return ["_".join([name, *map(str, place)]) for name, array in values.items() for place in np.ndindex(*array.shape)]


@probe(
    "1.5",
    "each output of Linear is its bias plus the weighted sum of the inputs",
    weight=3,
    examples=[(1, 1, 0), (2, 3, 1), (3, 2, 2)],
    n=integers(1, 4),
    m=integers(1, 4),
    seed=integers(0, 99),
    count=8,
    source=SOURCE,
)
def linear(p: Program, n: int, m: int, seed: int) -> Check:
    """The values, and the derivatives of weights and inputs."""
    draw = np.random.default_rng(seed)
    weights, bias, x = draw.uniform(-2, 2, (n, m)), draw.uniform(-2, 2, m), draw.uniform(-2, 2, n)
    layer = p.find("project.run_scalar:Linear")(n, m)
    parameters(p, layer, {"weight": weights, "bias": bias})
    inputs = [p.find(SCALAR)(float(value)) for value in x]
    out = p.find("builtins:list")(layer(inputs))
    out[m - 1].backward()
    named = p.find("builtins:dict")(layer.named_parameters())
    derivatives = [named[f"weight_{i}_{m - 1}"].value.derivative for i in range(n)]
    count, *got = yield [p.find("builtins:len")(out), *(out[j].data for j in range(m)), *derivatives, inputs[0].derivative]
    check_equal(count, m, of="number of outputs")
    check_equal([number(one) for one in got], [*(x @ weights + bias).tolist(), *x.tolist(), float(weights[0, m - 1])], EXACT)


@probe(
    "1.5",
    "Network has three layers, 2 → H → H → 1, under their expected names",
    labels=[INITIAL_VALUES],
    examples=[(1,), (2,), (5,)],
    own_package=False,
    source=SOURCE,
)
def network_layers(p: Program, hidden: int) -> Check:
    """Checked through the names of all parameters."""
    named = p.find("builtins:dict")(p.find("project.run_scalar:Network")(hidden).named_parameters())
    known = names_of(Perceptron(hidden, 0).parameters("weight"))
    names, *values = yield [p.find("builtins:list")(named), *(named[name].value.data for name in known)]
    check_equal(sorted(map(str, names)), sorted(known), of="parameter names")
    if len(set(map(number, values))) < len(values):
        raise Wrong("", {INITIAL_VALUES: f"expected parameters that are initialized to different values, got {values}"})


@probe(
    "1.5",
    "Network returns the probability of each point",
    weight=3,
    examples=[(2, 0), (4, 1)],
    hidden=integers(1, 4),
    seed=integers(0, 99),
    count=6,
    own_package=False,
    source=SOURCE,
)
def network_forward(p: Program, hidden: int, seed: int) -> Check:
    """With given parameters."""
    known = Perceptron(hidden, seed)
    network = p.find("project.run_scalar:Network")(hidden)
    parameters(p, network, known.parameters("weight"))
    points = np.random.default_rng(seed).uniform(0, 1, (4, 2))
    got = yield [network([p.find(SCALAR)(x, None), p.find(SCALAR)(y, None)]).data for x, y in points.tolist()]
    check_equal([number(one) for one in got], known(points).tolist(), EXACT)


@probe(
    "1.5",
    "after training, the probabilities of unseen points match those of gradient descent in NumPy",
    weight=3,
    seconds=60,
    examples=[("Xor", 3, 1), ("Simple", 2, 2)],
    own_package=False,
    source=SOURCE,
)
def training(p: Program, dataset: str, hidden: int, seed: int) -> Check:
    """Six epochs on 12 points, compared with gradient descent in NumPy."""
    known = Perceptron(hidden, seed)
    setting = p.find("project.lab.training.trainer:Setting")(dataset=dataset, points=12, hidden=hidden, rate=0.5, epochs=6, seed=seed)
    trainer = p.find("project.lab.training.scalar_trainer:ScalarTrainer")(setting, p.find("project.run_scalar:Network"))
    parameters(p, trainer.network, known.parameters("weight"))
    for _ in range(6):
        trainer.run_epoch()
    hidden_points = np.random.default_rng(seed).uniform(0, 1, (5, 2))
    (got,) = yield [trainer.probabilities(hidden_points)]
    points, labels = labelled_points(dataset, 12, seed)
    for _ in range(6):
        known.descend(points, labels, 0.5)
    if not isinstance(got, list):
        raise Wrong(f"expected a list of probabilities, got {printable(got)}")
    check_equal([number(one) for one in got], known(hidden_points).tolist(), 1e-6)
