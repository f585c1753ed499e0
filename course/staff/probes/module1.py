"""Probes of Module 1: numerical derivatives, scalars that record, and the chain rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import floats, integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, is_published, number, raises, same
from course.staff.probes.module0 import stable_sigmoid
from course.staff.probes.program import Program, Value

SCALAR = "minitorch.scalar:Scalar"
FUNCTIONS = "minitorch.scalar_functions"
EXACT = 1e-9

small = floats(-4, 4)


# Task 1.1


def bent(x: Any, y: Any, z: Any) -> Any:
    """A function of three numbers that is no straight line in any."""
    return x * x * x + x * y * y * 2.0 + z * z * z * 0.5 - x * z


@probe(
    "1.1",
    "central_difference compares f at both sides of the point, along the argument that is asked for",
    weight=3,
    examples=[(1.0, 2.0, 3.0, 0, 0.5), (1.0, 2.0, 3.0, 1, 0.5), (-3.0, 2.0, -1.0, 2, 0.25), (0.0, 0.0, 0.0, 0, 1.0)],
    x=small,
    y=small,
    z=small,
    arg=integers(0, 2),
    epsilon=floats(0.01, 1.0),
)
def central_difference(p: Program, x: float, y: float, z: float, arg: int, epsilon: float) -> Check:
    """By a step so large that every other quotient is far off; f is called at the two points, wherever else it may be called."""
    epsilon = epsilon / 1000 if is_published() else epsilon  # it may be the distance of the two points there, or half of it
    f = p.function(3, lambda _, x, y, z: bent(x, y, z))
    got, calls = yield [p.find("minitorch.autodiff:central_difference")(f, x, y, z, arg=arg, epsilon=epsilon), f.calls]
    above, below = [x, y, z], [x, y, z]
    above[arg] += epsilon
    below[arg] -= epsilon
    same(number(got), (bent(*above) - bent(*below)) / (2 * epsilon), 1e-6)
    for point in () if is_published() else (above, below):
        if not any(np.allclose(call, point, rtol=0, atol=1e-9) for call in calls):
            raise Wrong(f"expected a call of f at {tuple(point)}, got calls at {calls}")


@probe("1.1", "central_difference takes 1e-6 for its step unless told otherwise", x=small, count=5)
def default_step(p: Program, x: float) -> Check:
    """The derivative of a cube."""
    (got,) = yield [p.find("minitorch.autodiff:central_difference")(p.function(1, lambda _, x: x * x * x), x)]
    same(number(got), 3 * x * x, 1e-4)


# Task 1.2


def lt(x: float, y: float) -> float:
    """1.0 if x < y, else 0.0."""
    return float(x < y)


def eq(x: float, y: float) -> float:
    """1.0 if x == y, else 0.0."""
    return float(x == y)


PAIRS = [(2.0, 3.0), (3.0, 3.0), (-2.0, 2.0), (1.0, 1.0 + 1e-12), (0.0, -1.0)]

FORWARDS: list[tuple[str, Callable[..., float], list[tuple[float, ...]]]] = [
    ("Mul", lambda x, y: x * y, PAIRS),
    ("LT", lt, PAIRS),
    ("EQ", eq, PAIRS),
    ("Inv", lambda x: 1.0 / x, [(2.0,), (-0.3,), (4.0,)]),
    ("Neg", lambda x: -x, [(2.0,), (-3.0,)]),
    ("Sigmoid", stable_sigmoid, [(0.0,), (2.0,), (-3.0,), (-1000.0,), (1000.0,)]),
    ("ReLU", lambda x: max(x, 0.0), [(0.0,), (2.0,), (-3.0,)]),
    ("Exp", math.exp, [(0.0,), (2.0,), (-3.0,)]),
]
"""Functions of scalars with what their forward returns."""


FAR: dict[str, Callable[..., bool]] = {"Sigmoid.forward does not overflow at -1000 and 1000": lambda x: abs(x) == 1000}


def forward(name: str, expected: Callable[..., float], cases: list[tuple[float, ...]]) -> None:
    """Enter the probe of a forward."""

    def check(p: Program, *values: float) -> Check:
        (got,) = yield [p.find(f"{FUNCTIONS}:{name}.forward")(p.find("minitorch.autodiff:Context")(), *values)]
        same(got, expected(*values), EXACT)

    inputs: Any = {name: small if len(cases[0]) == 2 else small.filter(lambda x: abs(x) > 0.01) for name in "xy"[: len(cases[0])]}
    edges = FAR if name == "Sigmoid" else {}
    probe("1.2", f"{name}.forward gives its value, as a float", examples=cases, count=10, edges=edges, **inputs)(check)


for _name, _expected, _cases in FORWARDS:
    forward(_name, _expected, _cases)


def recorded(p: Program, result: Value, *leaves: Value) -> list[Value]:
    """Values of a program that tell whether leaves are in the graph of a result: the ids of its variables, and those of the leaves."""
    ids = p.find("builtins:list")(p.find("builtins:map")(p.find("builtins:id"), p.find("minitorch.autodiff:topological_sort")(result)))
    return [ids, *(p.find("builtins:id")(leaf) for leaf in leaves)]


OPERATORS: list[tuple[str, str, Callable[..., float]]] = [
    ("+", "operator:add", lambda x, y: x + y),
    ("-", "operator:sub", lambda x, y: x - y),
    ("<", "operator:lt", lt),
    (">", "operator:gt", lambda x, y: lt(y, x)),
    ("==", "operator:eq", eq),
]


def scalar_operator(sign: str, name: str, expected: Callable[..., float]) -> None:
    """Enter the probe of an operator of two scalars."""

    def check(p: Program, x: float, y: float) -> Check:
        a, b = p.find(SCALAR)(x), p.find(SCALAR)(y)
        result, beside = p.find(name)(a, b), p.find(name)(a, y)
        value, with_number, a_after, graph, *ids = yield [result.data, beside.data, a.data, *recorded(p, result, a, b)]
        same(value, expected(x, y), EXACT)
        same(with_number, expected(x, y), EXACT, of="beside a number")
        same(a_after, x, of="the left operand to stay")
        same([id in graph for id in ids], [True, True], of="both operands in the graph of the result,")

    examples = [(2.0, 3.0), (3.0, 3.0), (3.0, 2.0), (-2.0, 2.0)]
    probe("1.2", f"{sign} of Scalars gives a Scalar that remembers both", examples=examples, count=10, x=small, y=small)(check)


for _row in OPERATORS:
    scalar_operator(*_row)

METHODS: list[tuple[str, Callable[[float], float]]] = [
    ("__neg__", lambda x: -x),
    ("log", lambda x: math.log(x + 1e-6)),
    ("exp", math.exp),
    ("sigmoid", stable_sigmoid),
    ("relu", lambda x: max(x, 0.0)),
]


def scalar_method(name: str, expected: Callable[[float], float]) -> None:
    """Enter the probe of a method without arguments."""

    def check(p: Program, x: float) -> Check:
        a = p.find(SCALAR)(x)
        result = getattr(a, name)()
        value, graph, id = yield [result.data, *recorded(p, result, a)]
        same(value, expected(x), EXACT)
        same(id in graph, True, of="it in the graph of the result,")

    inputs = floats(0.01, 4) if name == "log" else small
    probe("1.2", f"Scalar.{name} gives a Scalar that remembers it", examples=[(2.0,)], count=10, x=inputs)(check)


for _method, _value in METHODS:
    scalar_method(_method, _value)


@probe("1.2", "a method of a constant gives a constant", edge=True, examples=[(name,) for name, _ in METHODS])
def constants(p: Program, name: str) -> Check:
    """A constant has no history."""
    (is_constant,) = yield [getattr(p.find(SCALAR)(0.5, None), name)().is_constant()]
    same(is_constant, True, of="a constant of a constant,")


# Task 1.3

LINKS: list[tuple[str, int, Callable[..., Sequence[float]]]] = [
    ("Mul", 2, lambda d, x, y: (d * y, d * x)),
    ("Add", 2, lambda d, x, y: (d, d)),
    ("LT", 2, lambda d, x, y: (0.0, 0.0)),
    ("Exp", 1, lambda d, x: (d * math.exp(x),)),
    ("Neg", 1, lambda d, x: (-d,)),
    ("Log", 1, lambda d, x: (d / (x + 1e-6),)),
]
"""Functions with the number of their inputs and what flows to these."""


@probe(
    "1.3",
    "chain_rule pairs every input with the derivative that flows to it",
    weight=3,
    edges={"constants are among the pairs": lambda row, kind, x, y, d: kind == "constant" and row[1] == 2},
    examples=[(row, kind, 2.0, 3.0, -1.5) for row in LINKS for kind in ("leaves", "constant", "twice", "computed")],
    row=sampled_from(LINKS),
    kind=sampled_from(["leaves", "constant", "twice", "computed"]),
    x=floats(0.1, 4),
    y=floats(0.1, 4),
    d=small,
)
def chain_rule(p: Program, row: tuple[str, int, Any], kind: str, x: float, y: float, d: float) -> Check:
    """The inputs are leaves, a leaf and a constant, one leaf twice, or computed themselves."""
    name, arity, derivatives = row
    scalar, is_same = p.find(SCALAR), p.find("operator:is_")
    first = scalar(x) + 0.0 if kind == "computed" else scalar(x)
    second = {"constant": scalar(y, None), "twice": first}.get(kind, scalar(y))
    inputs = [first, second][:arity]
    pairs = p.find("builtins:list")(p.find(f"{FUNCTIONS}:{name}.apply")(*inputs).chain_rule(d))
    count = p.find("builtins:len")(pairs)
    parts = [part for n, one in enumerate(inputs) for part in (is_same(pairs[n][0], one), pairs[n][1])]
    other = is_same(pairs[0][0], scalar(x))
    got, untouched, differs, *parts = yield [count, first.derivative, other, *parts]
    same(got, arity, of="as many pairs as inputs,")
    same(differs, False, of="two Scalars to be told apart,")
    same(parts[::2], [True] * arity, of="the inputs in order,")
    same(
        [number(part) for part in parts[1::2]],
        [float(one) for one in derivatives(d, x, x if kind == "twice" else y)[:arity]]
        if arity == 2
        else [float(one) for one in derivatives(d, x)],
        EXACT,
    )
    same(untouched, None, of="no derivative to be added to an input,")


@probe("1.3", "chain_rule of a Scalar that no function made is a RuntimeError", edge=True)
def chain_rule_of_a_leaf(p: Program) -> Check:
    """Of a leaf, and of a constant; what is an error for every other Scalar as well earns nothing."""
    yield from chain_rule(p, LINKS[0], "leaves", 2.0, 3.0, -1.5)
    for leaf in ((1.0,), (1.0, None)):
        q = Program()
        yield from raises(q.find("builtins:list")(q.find(SCALAR)(*leaf).chain_rule(1.0)), "RuntimeError")


@probe(
    "1.3",
    "chain_rule of a function that returns the wrong number of derivatives is a ValueError",
    edge=True,
    examples=[(1, 0), (1, 2), (2, 1), (2, 3), (2, None)],
)
def wrong_number_of_derivatives(p: Program, count: int, returned: int | None) -> Check:
    """Of functions of one and of two inputs, whose backward returns a tuple or a number; what fails for every Scalar earns nothing."""
    yield from chain_rule(p, LINKS[count - 1], "leaves", 2.0, 3.0, -1.5)
    q = Program()
    static, inputs = q.find("builtins:staticmethod"), [q.find(SCALAR)(2.0), q.find(SCALAR)(3.0)][:count]
    forward = q.function(1 + count, lambda _, ctx, *values: values[0])
    backward = q.function(2, lambda _, ctx, d: d if returned is None else (d,) * returned)
    methods = q.find("builtins:dict")(forward=static(forward), backward=static(backward))
    function = q.find("builtins:type")("Odd", (q.find(f"{FUNCTIONS}:ScalarFunction"),), methods)
    yield from raises(q.find("builtins:list")(function.apply(*inputs).chain_rule(1.0)), "ValueError")
