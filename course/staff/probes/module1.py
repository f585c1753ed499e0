"""Probes of Module 1: numerical derivatives, scalars with history, and the chain rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import floats, integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, check_raises, is_published, number
from course.staff.probes.module0 import stable_sigmoid
from course.staff.probes.program import Program, Value

SCALAR = "minitorch.scalar:Scalar"
FUNCTIONS = "minitorch.scalar_functions"
EXACT = 1e-9

small = floats(-4, 4)


# Task 1.1


def cubic(x: Any, y: Any, z: Any) -> Any:
    """A function of three numbers that is nonlinear in each."""
    return x * x * x + x * y * y * 2.0 + z * z * z * 0.5 - x * z


@probe(
    "1.1",
    "central_difference evaluates f on both sides of the point, along the argument arg",
    weight=3,
    examples=[(1.0, 2.0, 3.0, 0, 0.5), (1.0, 2.0, 3.0, 1, 0.5), (-3.0, 2.0, -1.0, 2, 0.25), (0.0, 0.0, 0.0, 0, 1.0)],
    x=small,
    y=small,
    z=small,
    arg=integers(0, 2),
    epsilon=floats(0.01, 1.0),
    source="test_central_diff",
)
def central_difference(p: Program, x: float, y: float, z: float, arg: int, epsilon: float) -> Check:
    """The step is so large that any other difference quotient is far off. f must be called at the two points, and may be at others."""
    epsilon = (
        epsilon / 1000 if is_published() else epsilon
    )  # in the original course, it may be the distance between the two points, or half of it
    f = p.function(3, lambda _, x, y, z: cubic(x, y, z))
    got, calls = yield [p.find("minitorch.autodiff:central_difference")(f, x, y, z, arg=arg, epsilon=epsilon), f.calls]
    above, below = [x, y, z], [x, y, z]
    above[arg] += epsilon
    below[arg] -= epsilon
    check_equal(number(got), (cubic(*above) - cubic(*below)) / (2 * epsilon), 1e-6)
    for point in () if is_published() else (above, below):
        if not any(np.allclose(call, point, rtol=0, atol=1e-9) for call in calls):
            raise Wrong(f"expected a call of f at {tuple(point)}, got calls at {calls}")


@probe("1.1", "central_difference uses a step of 1e-6 by default", x=small, count=5, source="docstring of central_difference")
def default_step(p: Program, x: float) -> Check:
    """The derivative of a cube."""
    (got,) = yield [p.find("minitorch.autodiff:central_difference")(p.function(1, lambda _, x: x * x * x), x)]
    check_equal(number(got), 3 * x * x, 1e-4)


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
"""Functions of scalars with the expected values of forward."""


LARGE_INPUTS: dict[str, Callable[..., bool]] = {"Sigmoid.forward does not overflow at -1000 and 1000": lambda x: abs(x) == 1000}


def forward_probe(name: str, expected: Callable[..., float], cases: list[tuple[float, ...]]) -> None:
    """Register the probe of a forward method."""

    def check(p: Program, *values: float) -> Check:
        (got,) = yield [p.find(f"{FUNCTIONS}:{name}.forward")(p.find("minitorch.autodiff:Context")(), *values)]
        check_equal(got, expected(*values), EXACT)

    inputs: Any = {name: small if len(cases[0]) == 2 else small.filter(lambda x: abs(x) > 0.01) for name in "xy"[: len(cases[0])]}
    edges = LARGE_INPUTS if name == "Sigmoid" else {}
    probe(
        "1.2",
        f"{name}.forward returns its value as a float",
        examples=cases,
        count=10,
        edges=edges,
        source="test_one_args" if len(cases[0]) == 1 else "test_two_args",
        **inputs,
    )(check)


for _name, _expected, _cases in FORWARDS:
    forward_probe(_name, _expected, _cases)


def graph_ids(p: Program, result: Value, *leaves: Value) -> list[Value]:
    """Values that show whether leaves are in the graph of a result: the ids of its variables, and the ids of the leaves."""
    ids = p.find("builtins:list")(p.find("builtins:map")(p.find("builtins:id"), p.find("minitorch.autodiff:topological_sort")(result)))
    return [ids, *(p.find("builtins:id")(leaf) for leaf in leaves)]


OPERATORS: list[tuple[str, str, Callable[..., float]]] = [
    ("+", "operator:add", lambda x, y: x + y),
    ("-", "operator:sub", lambda x, y: x - y),
    ("<", "operator:lt", lt),
    (">", "operator:gt", lambda x, y: lt(y, x)),
    ("==", "operator:eq", eq),
]


def scalar_operator_probe(sign: str, name: str, expected: Callable[..., float]) -> None:
    """Register the probe of an operator on two scalars."""

    def check(p: Program, x: float, y: float) -> Check:
        a, b = p.find(SCALAR)(x), p.find(SCALAR)(y)
        result, mixed, whole = p.find(name)(a, b), p.find(name)(a, y), p.find(name)(a, 5)
        value, with_number, with_int, a_after, graph, *ids = yield [
            result.data,
            mixed.data,
            whole.data,
            a.data,
            *graph_ids(p, result, a, b),
        ]
        check_equal(value, expected(x, y), EXACT)
        check_equal(with_number, expected(x, y), EXACT, of="with a number")
        check_equal(with_int, expected(x, 5.0), EXACT, of="with the number 5")
        check_equal(a_after, x, of="the left operand after the call")
        check_equal([id in graph for id in ids], [True, True], of="operands are in the graph of the result")

    examples = [(2.0, 3.0), (3.0, 3.0), (3.0, 2.0), (-2.0, 2.0)]
    probe(
        "1.2",
        f"{sign} of two Scalars returns a Scalar whose history holds both",
        examples=examples,
        count=10,
        x=small,
        y=small,
        source="test_one_args; test_two_args",
    )(check)


for _row in OPERATORS:
    scalar_operator_probe(*_row)

METHODS: list[tuple[str, Callable[[float], float]]] = [
    ("__neg__", lambda x: -x),
    ("log", lambda x: math.log(x + 1e-6)),
    ("exp", math.exp),
    ("sigmoid", stable_sigmoid),
    ("relu", lambda x: max(x, 0.0)),
]


def scalar_method_probe(name: str, expected: Callable[[float], float]) -> None:
    """Register the probe of a method without arguments."""

    def check(p: Program, x: float) -> Check:
        a = p.find(SCALAR)(x)
        result = getattr(a, name)()
        value, graph, id = yield [result.data, *graph_ids(p, result, a)]
        check_equal(value, expected(x), EXACT)
        check_equal(id in graph, True, of="the input is in the graph of the result")

    inputs = floats(0.01, 4) if name == "log" else small
    probe(
        "1.2",
        f"Scalar.{name} returns a Scalar whose history holds its input",
        examples=[(2.0,)],
        count=10,
        x=inputs,
        source="test_one_args",
    )(check)


for _method, _value in METHODS:
    scalar_method_probe(_method, _value)


@probe("1.2", "a method of a constant returns a constant", edge=True, examples=[(name,) for name, _ in METHODS])
def constants(p: Program, name: str) -> Check:
    """A constant has no history."""
    (is_constant,) = yield [getattr(p.find(SCALAR)(0.5, None), name)().is_constant()]
    check_equal(is_constant, True, of="is_constant()")


# Task 1.3

FUNCTIONS_WITH_DERIVATIVES: list[tuple[str, int, Callable[..., Sequence[float]]]] = [
    ("Mul", 2, lambda d, x, y: (d * y, d * x)),
    ("Add", 2, lambda d, x, y: (d, d)),
    ("LT", 2, lambda d, x, y: (0.0, 0.0)),
    ("Exp", 1, lambda d, x: (d * math.exp(x),)),
    ("Neg", 1, lambda d, x: (-d,)),
    ("Log", 1, lambda d, x: (d / (x + 1e-6),)),
]
"""Functions with the number of their inputs and the derivatives for these."""


@probe(
    "1.3",
    "chain_rule returns each input with its derivative",
    weight=3,
    edges={"chain_rule returns constant inputs too": lambda row, kind, x, y, d: kind == "constant" and row[1] == 2},
    examples=[(row, kind, 2.0, 3.0, -1.5) for row in FUNCTIONS_WITH_DERIVATIVES for kind in ("leaves", "constant", "twice", "computed")],
    row=sampled_from(FUNCTIONS_WITH_DERIVATIVES),
    kind=sampled_from(["leaves", "constant", "twice", "computed"]),
    x=floats(0.1, 4),
    y=floats(0.1, 4),
    d=small,
    source="test_chain_rule1; test_chain_rule2; test_chain_rule3; test_chain_rule4",
)
def chain_rule(p: Program, row: tuple[str, int, Any], kind: str, x: float, y: float, d: float) -> Check:
    """The inputs are leaves, a leaf and a constant, one leaf twice, or computed scalars."""
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
    check_equal(got, arity, of="number of pairs")
    check_equal(differs, False, of="another Scalar is the input")
    check_equal(parts[::2], [True] * arity, of="inputs in order")
    check_equal(
        [number(part) for part in parts[1::2]],
        [float(one) for one in derivatives(d, x, x if kind == "twice" else y)[:arity]]
        if arity == 2
        else [float(one) for one in derivatives(d, x)],
        EXACT,
    )
    check_equal(untouched, None, of="derivative of the input after chain_rule")


@probe("1.3", "chain_rule of a Scalar that no function computed raises RuntimeError", edge=True)
def chain_rule_of_a_leaf(p: Program) -> Check:
    """For a leaf and for a constant. A submission that raises for every Scalar fails."""
    yield from chain_rule(p, FUNCTIONS_WITH_DERIVATIVES[0], "leaves", 2.0, 3.0, -1.5)
    for leaf in ((1.0,), (1.0, None)):
        q = Program()
        yield from check_raises(q.find("builtins:list")(q.find(SCALAR)(*leaf).chain_rule(1.0)), "RuntimeError")


@probe(
    "1.3",
    "chain_rule raises ValueError if backward returns the wrong number of derivatives",
    edge=True,
    examples=[(1, 0), (1, 2), (2, 1), (2, 3), (2, None)],
)
def wrong_number_of_derivatives(p: Program, count: int, returned: int | None) -> Check:
    """For functions of one and two inputs, whose backward returns a tuple or a number. A submission that raises for every Scalar fails."""
    yield from chain_rule(p, FUNCTIONS_WITH_DERIVATIVES[count - 1], "leaves", 2.0, 3.0, -1.5)
    q = Program()
    static, inputs = q.find("builtins:staticmethod"), [q.find(SCALAR)(2.0), q.find(SCALAR)(3.0)][:count]
    forward_probe = q.function(1 + count, lambda _, ctx, *values: values[0])
    backward = q.function(2, lambda _, ctx, d: d if returned is None else (d,) * returned)
    methods = q.find("builtins:dict")(forward=static(forward_probe), backward=static(backward))
    function = q.find("builtins:type")("Odd", (q.find(f"{FUNCTIONS}:ScalarFunction"),), methods)
    yield from check_raises(q.find("builtins:list")(function.apply(*inputs).chain_rule(1.0)), "ValueError")
