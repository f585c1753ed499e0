"""Traces: every line of the tables, worked out by hand."""

import math

import pytest

from minitorch import Scalar, dot, forward_trace, reverse_trace
from tests.errors import raises


def example(x_1, x_2):
    """ln x_1 + x_1 x_2 - sin x_2."""
    return x_1.log() + x_1 * x_2 - x_2.sin()


X_1, X_2 = 2.0, 5.0
LN, SIN, COS = math.log(X_1 + 1e-6), math.sin(X_2), math.cos(X_2)

STEPS = [  # name, expression, value, tangent by x1, adjoint
    ("x1", "2", X_1, 1.0, 1 / (X_1 + 1e-6) + X_2),
    ("x2", "5", X_2, 0.0, X_1 - COS),
    ("v1", "log(x1)", LN, 1 / (X_1 + 1e-6), 1.0),
    ("v2", "x1 · x2", X_1 * X_2, X_2, 1.0),
    ("v3", "v1 + v2", LN + X_1 * X_2, 1 / (X_1 + 1e-6) + X_2, 1.0),
    ("v4", "sin(x2)", SIN, 0.0, -1.0),
    ("v5", "-v4", -SIN, 0.0, 1.0),
    ("v6", "v3 + v5", LN + X_1 * X_2 - SIN, 1 / (X_1 + 1e-6) + X_2, 1.0),
]


def rows(trace):
    return [(line.name, line.expression, line.value, line.derivative) for line in trace.lines]


def close(expected):
    return [(name, expression, pytest.approx(value), pytest.approx(derivative)) for name, expression, value, derivative in expected]


def test_forward_follows_the_tangents_from_the_inputs():
    trace = forward_trace(example, X_1, X_2)
    assert trace.mode == "forward"
    assert rows(trace) == close([(name, expression, value, tangent) for name, expression, value, tangent, _ in STEPS])
    assert (round(trace.lines[-1].value, 3), round(trace.lines[-1].derivative, 3)) == (11.652, 5.5)  # as in the textbook


def test_forward_differentiates_by_the_seeded_input():
    trace = forward_trace(example, X_1, X_2, arg=1)
    assert [line.derivative for line in trace.lines] == pytest.approx([0, 1, 0, X_1, X_1, COS, -COS, X_1 - COS])


def test_reverse_follows_the_adjoints_from_the_output():
    trace = reverse_trace(example, X_1, X_2)
    assert trace.mode == "reverse"
    assert rows(trace) == close([(name, expression, value, adjoint) for name, expression, value, _, adjoint in reversed(STEPS)])
    assert [round(line.derivative, 3) for line in trace.lines[-2:]] == [1.716, 5.5]


@pytest.mark.parametrize(
    ("function", "expression"),
    [
        (lambda a, b: a + 3, "x1 + 3"), (lambda a, b: 0.5 * a, "0.5 · x1"), (lambda a, b: a < b, "x1 < x2"),
        (lambda a, b: a == b, "x1 == x2"), (lambda a, b: a**b, "x1 ^ x2"), (lambda a, b: -b, "-x2"), (lambda a, b: b.relu(), "relu(x2)"),
        (lambda a, b: 1 / b, "1 · v1"), (lambda a, b: dot([a, 1.5], [b, b]), "dot(x1, 1.5, x2, x2)"),
    ],
)  # fmt: skip
def test_steps_are_written_as_one_would_by_hand(function, expression):
    assert forward_trace(function, X_1, X_2).lines[-1].expression == expression


def test_a_trace_prints_as_a_table():
    assert str(forward_trace(lambda x: x * x, 3.0)).splitlines() == [
        "step           value  tangent",
        "x1 = 3        3.0000   1.0000",
        "v1 = x1 · x1  9.0000   6.0000",
    ]
    assert str(reverse_trace(lambda x: x * x, 3.0)).splitlines() == [
        "step           value  adjoint",
        "v1 = x1 · x1  9.0000   1.0000",
        "x1 = 3        3.0000   6.0000",
    ]


def test_an_input_that_is_the_output_has_derivative_1():
    for trace in (forward_trace(lambda x: x, 3.0), reverse_trace(lambda x: x, 3.0)):
        assert rows(trace) == [("x1", "3", 3.0, 1.0)]


def test_an_output_that_is_a_constant_has_no_line_and_no_derivative_by_the_input():
    assert rows(reverse_trace(lambda x: Scalar(2.0, None) * 3, 3.0)) == [("x1", "3", 3.0, 0.0)]
    assert rows(forward_trace(lambda x: Scalar(2.0, None) * 3, 3.0)) == [("x1", "3", 3.0, 1.0)]  # its own seed


W = Scalar(4.0)


def test_a_result_that_comes_from_elsewhere_depends_on_no_input():
    for trace in (forward_trace, reverse_trace):
        assert [(line.name, line.value) for line in trace(lambda x: W * 2, 3.0).lines] == [("x1", 3.0)]
    assert reverse_trace(lambda x: W * 2, 3.0).lines[0].derivative == 0.0
    assert W.derivative is None


def test_a_scalar_from_elsewhere_counts_as_a_constant():
    for trace in (forward_trace, reverse_trace):
        assert [line.derivative for line in trace(lambda x: W * x, 3.0).lines] == [1.0, 4.0]
    assert W.derivative is None


def test_a_trace_leaves_no_nan_where_nothing_depends_on_the_input():
    trace = forward_trace(lambda a, b: a + b.sqrt(), 2.0, 0.0)
    assert trace.lines[-1].derivative == 1.0


@pytest.mark.parametrize("arg", [-1, 2])
def test_an_input_that_is_not_there_is_refused(arg):
    with raises(IndexError, f"forward_trace expected arg from 0 to 1 for 2 inputs, got {arg}"):
        forward_trace(example, X_1, X_2, arg=arg)


@pytest.mark.parametrize("trace", [forward_trace, reverse_trace])
def test_a_function_that_returns_no_scalar_is_refused(trace):
    with raises(TypeError, "a trace expected a function that returns a Scalar, got float 2.0"):
        trace(lambda x: 2.0, 3.0)
