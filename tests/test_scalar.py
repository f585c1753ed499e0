"""Tasks 1.2 and 1.4: what Scalars compute, what they remember, and the derivative of every function."""

import math
from operator import add, eq, gt, lt, mul, sub, truediv

import pytest
from hypothesis import assume, example, given
from hypothesis.strategies import floats

from minitorch import Context, MathTestVariable, Scalar, derivative_check
from minitorch.scalar_functions import EQ, LT, Add, Exp, Inv, Log, Mul, Neg, ReLU, Sigmoid

from .strategies import assert_close, small_floats

ONE_ARG, TWO_ARG, _ = MathTestVariable._comp_testing()
ONE_ARG = [pytest.param(*functions, id=functions[0]) for functions in ONE_ARG]
TWO_ARG = [pytest.param(*functions, id=functions[0]) for functions in TWO_ARG]


# Task 1.2: the forward functions, on floats


@pytest.mark.task1_2
@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        (Mul, (2.0, 7.0), 14.0),
        (Mul, (-1.5, 4.0), -6.0),
        (Inv, (4.0,), 0.25),
        (Inv, (-0.5,), -2.0),
        (Neg, (3.0,), -3.0),
        (Neg, (-3.0,), 3.0),
        (Sigmoid, (0.0,), 0.5),
        (Sigmoid, (2.0,), 1 / (1 + math.exp(-2))),
        (Sigmoid, (-2.0,), 1 / (1 + math.exp(2))),
        (Sigmoid, (1000.0,), 1.0),
        (Sigmoid, (-1000.0,), 0.0),
        (ReLU, (3.0,), 3.0),
        (ReLU, (0.25,), 0.25),
        (ReLU, (0.0,), 0.0),
        (ReLU, (-3.0,), 0.0),
        (Exp, (0.0,), 1.0),
        (Exp, (1.0,), math.e),
        (Exp, (-2.0,), math.exp(-2)),
        (LT, (1.0, 2.0), 1.0),
        (LT, (2.0, 1.0), 0.0),
        (LT, (2.0, 2.0), 0.0),
        (LT, (-2.0, 1.0), 1.0),
        (EQ, (2.0, 2.0), 1.0),
        (EQ, (2.0, 3.0), 0.0),
        (EQ, (2.0, 2.0 + 1e-9), 0.0),
        (EQ, (2.0, -2.0), 0.0),
    ],
)
def test_forward_computes_the_function(function, inputs, expected):
    """forward takes floats and returns the value of the function as a float."""
    value = function.forward(Context(), *inputs)
    assert type(value) is float
    assert_close(value, expected, 1e-9)


# … and the operators, on Scalars


@pytest.mark.task1_2
@pytest.mark.parametrize(("operator", "expected"), [(add, 8.0), (sub, 4.0), (mul, 12.0), (truediv, 3.0), (lt, 0.0), (gt, 1.0), (eq, 0.0)])
def test_operators_take_scalars_and_plain_numbers(operator, expected):
    """An operator between 6 and 2 gives the same Scalar whether either side is a Scalar, a float or a whole number."""
    for a, b in [(Scalar(6.0), Scalar(2.0)), (Scalar(6.0), 2.0), (6.0, Scalar(2.0)), (Scalar(6.0), 2), (6, Scalar(2.0))]:
        result = operator(a, b)
        assert type(result) is Scalar, f"between {a!r} and {b!r}"
        assert result.data == expected, f"between {a!r} and {b!r}"


@pytest.mark.task1_2
@given(small_floats, small_floats)
@example(0.0, 0.0)
@example(-1.0, 1.0)
def test_arithmetic_is_that_of_floats(a, b):
    """Sum, difference, product and negation of Scalars are those of floats, digit by digit."""
    x, y = Scalar(a), Scalar(b)
    assert (x + y).data == a + b
    assert (x - y).data == a - b
    assert (x * y).data == a * b
    assert (-x).data == -a


@pytest.mark.task1_2
@pytest.mark.parametrize("operator", [lt, gt, eq])
@given(floats(), floats())
@example(2.0, 2.0)
@example(-2.0, 2.0)
@example(0.0, -0.0)
@example(1.0, math.nextafter(1.0, 2.0))
@example(math.inf, math.inf)
@example(math.nan, math.nan)
@example(math.nan, 1.0)
def test_comparisons_are_those_of_floats(operator, a, b):
    """<, > and == of Scalars give a Scalar of 1.0 where they hold for floats, else of 0.0."""
    result = operator(Scalar(a), Scalar(b))
    assert type(result) is Scalar
    assert result.data == (1.0 if operator(a, b) else 0.0)


@pytest.mark.task1_2
@pytest.mark.parametrize(
    ("method", "a", "expected"),
    [
        (Scalar.log, 1.0, math.log(1 + 1e-6)),
        (Scalar.log, 0.0, math.log(1e-6)),
        (Scalar.log, 50.0, math.log(50 + 1e-6)),
        (Scalar.exp, 0.0, 1.0),
        (Scalar.exp, 3.0, math.exp(3)),
        (Scalar.exp, -3.0, math.exp(-3)),
        (Scalar.sigmoid, 0.0, 0.5),
        (Scalar.sigmoid, 3.0, 1 / (1 + math.exp(-3))),
        (Scalar.sigmoid, -1000.0, 0.0),
        (Scalar.relu, 3.0, 3.0),
        (Scalar.relu, 0.0, 0.0),
        (Scalar.relu, -3.0, 0.0),
    ],
)
def test_methods_compute_the_function(method, a, expected):
    """log (shifted by 1e-6), exp, sigmoid and relu give the value of the function as a Scalar."""
    result = method(Scalar(a))
    assert type(result) is Scalar
    assert_close(result.data, expected, 1e-9)


@pytest.mark.task1_2
@pytest.mark.parametrize(("name", "on_floats", "on_scalars"), ONE_ARG)
@given(small_floats)
@example(0.0)
@example(-100.0)
@example(100.0)
def test_functions_of_one_argument_compute_what_floats_compute(name, on_floats, on_scalars, a):
    """Each function of MathTest gives on a Scalar what it gives on a float."""
    assume(name != "inv" or a != -7 / 2)  # its pole
    result = on_scalars(Scalar(a))
    assert type(result) is Scalar
    assert_close(result.data, on_floats(a), 1e-9)


@pytest.mark.task1_2
@pytest.mark.parametrize(("name", "on_floats", "on_scalars"), TWO_ARG)
@given(small_floats, small_floats)
@example(0.0, 0.0)
@example(8.0, 2.5)
@example(2.5, 8.0)
def test_functions_of_two_arguments_compute_what_floats_compute(name, on_floats, on_scalars, a, b):
    """Each function of MathTest gives on two Scalars what it gives on two floats."""
    assume(name != "div2" or b != -11 / 2)  # its pole
    result = on_scalars(Scalar(a), Scalar(b))
    assert type(result) is Scalar
    assert_close(result.data, on_floats(a, b), 1e-9)


# … and what they remember


@pytest.mark.task1_2
@pytest.mark.parametrize(
    ("operation", "function"),
    [
        (lambda x: x + 2.0, Add),
        (lambda x: x < 2.0, LT),
        (lambda x: x == 2.0, EQ),
        (lambda x: x.log(), Log),
        (lambda x: x.exp(), Exp),
        (lambda x: x.sigmoid(), Sigmoid),
        (lambda x: x.relu(), ReLU),
    ],
    ids=["add", "lt", "eq", "log", "exp", "sigmoid", "relu"],
)
def test_a_result_remembers_its_function(operation, function):
    """The history of a result names the function that made it, and the Scalar it was made from."""
    x = Scalar(1.0)
    result = operation(x)
    assert result.history is not None
    assert result.history.last_fn is function
    assert any(parent is x for parent in result.parents)


def leads_to(result, x):
    """Whether `result` was computed from `x`, directly or through others."""
    return result is x or any(leads_to(parent, x) for parent in result.parents)


@pytest.mark.task1_2
@pytest.mark.parametrize("operator", [add, sub, mul, truediv, lt, gt, eq])
def test_a_result_remembers_both_operands(operator):
    """From the result of an operator both operands can be reached through its history."""
    x, y = Scalar(6.0), Scalar(2.0)
    result = operator(x, y)
    assert not result.is_leaf()
    assert leads_to(result, x)
    assert leads_to(result, y)


@pytest.mark.task1_2
@pytest.mark.parametrize("operator", [add, sub, mul, truediv, lt, gt, eq])
def test_operators_leave_their_operands_as_they_are(operator):
    """An operator makes a new Scalar and changes neither operand."""
    x, y = Scalar(6.0), Scalar(2.0)
    result = operator(x, y)
    assert result is not x
    assert [x.data, y.data] == [6.0, 2.0]
    assert [x.is_leaf(), y.is_leaf()] == [True, True]


@pytest.mark.task1_2
def test_what_is_computed_from_constants_is_constant():
    """Two Scalars without history give one without history: there is nothing to differentiate by."""
    a, b = Scalar(6.0, None), Scalar(2.0, None)
    results = [a + b, a - b, -a, a < b, a > b, a == b, a.log(), a.exp(), a.sigmoid(), a.relu()]
    assert [result.is_constant() for result in results] == [True] * len(results)


# Task 1.4: the derivative of every function


@pytest.mark.task1_4
@pytest.mark.parametrize("d_output", [1.0, -3.0])
@pytest.mark.parametrize(
    ("function", "a", "expected"),
    [
        (Inv, 4.0, -1 / 16),
        (Inv, -0.5, -4.0),
        (Neg, 3.0, -1.0),
        (Neg, -3.0, -1.0),
        (Sigmoid, 0.0, 0.25),
        (Sigmoid, 2.0, math.exp(-2) / (1 + math.exp(-2)) ** 2),
        (Sigmoid, -2.0, math.exp(-2) / (1 + math.exp(-2)) ** 2),
        (Sigmoid, 1000.0, 0.0),
        (Sigmoid, -1000.0, 0.0),
        (ReLU, 3.0, 1.0),
        (ReLU, 1e-9, 1.0),
        (ReLU, 0.0, 0.0),
        (ReLU, -1e-9, 0.0),
        (ReLU, -3.0, 0.0),
        (Exp, 0.0, 1.0),
        (Exp, 2.0, math.exp(2)),
        (Exp, -2.0, math.exp(-2)),
    ],
)
def test_backward_computes_the_derivative(function, a, expected, d_output):
    """The derivative of a function of one argument, times that of the output, arrives at the argument."""
    x = Scalar(a)
    function.apply(x).backward(d_output)
    assert_close(x.derivative, d_output * expected, 1e-9)


@pytest.mark.task1_4
@pytest.mark.parametrize("d_output", [1.0, -3.0])
def test_the_derivative_of_a_product_is_the_other_factor(d_output):
    """2 · 7 has the derivative 7 by the first factor and 2 by the second, times that of the output."""
    x, y = Scalar(2.0), Scalar(7.0)
    (x * y).backward(d_output)
    assert [x.derivative, y.derivative] == [7.0 * d_output, 2.0 * d_output]


@pytest.mark.task1_4
@pytest.mark.parametrize("compare", [lt, gt, eq])
@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0), (2.0, 1.0), (2.0, 2.0)])
def test_comparisons_have_the_derivative_zero(compare, a, b):
    """A comparison is flat: the derivative 0.0, not None, arrives at both operands."""
    x, y = Scalar(a), Scalar(b)
    compare(x, y).backward(5.0)
    assert [x.derivative, y.derivative] == [0.0, 0.0]


@pytest.mark.task1_4
def test_the_derivative_of_a_difference():
    """x - y has the derivatives 1 and -1, 5 - x has -1."""
    x, y, z = Scalar(3.0), Scalar(4.0), Scalar(6.0)
    (x - y).backward()
    (5 - z).backward()
    assert [x.derivative, y.derivative, z.derivative] == [1.0, -1.0, -1.0]


@pytest.mark.task1_4
def test_the_derivative_of_a_quotient():
    """x / y at (3, 2) has the derivatives 1/2 and -3/4, 1 / x at 4 has -1/16."""
    x, y, z = Scalar(3.0), Scalar(2.0), Scalar(4.0)
    (x / y).backward()
    (1 / z).backward()
    assert [x.derivative, y.derivative, z.derivative] == [0.5, -0.75, -0.0625]


def distance_to_edge(name, a, b=0.0):
    """How far the point is from where a function of MathTest jumps, bends or has its pole: no derivative can be checked there."""
    edges = {
        "inv": a + 7 / 2,
        "relu": a + 11 / 2,
        "complex": a + 7 / 10,
        "div2": b + 11 / 2,
        "gt2": a + 6 / 5 - b,
        "lt2": a + 6 / 5 - b,
        "eq2": a - b - 11 / 2,
    }
    return abs(edges.get(name, math.inf))


@pytest.mark.task1_4
@pytest.mark.parametrize(("name", "on_floats", "on_scalars"), ONE_ARG)
@given(small_floats)
@example(0.0)
@example(-100.0)
@example(100.0)
def test_derivatives_of_functions_of_one_argument(name, on_floats, on_scalars, a):
    """The derivative of each function of MathTest is the slope of the function on floats."""
    assume(distance_to_edge(name, a) > 1e-2)  # far more than h: both sides of the edge must not be mixed
    h = 1e-6
    x = Scalar(a)
    on_scalars(x).backward()
    assert_close(x.derivative, (on_floats(a + h) - on_floats(a - h)) / (2 * h))


@pytest.mark.task1_4
@pytest.mark.parametrize(("name", "on_floats", "on_scalars"), TWO_ARG)
@given(small_floats, small_floats)
@example(0.0, 0.0)
@example(3.0, 3.0)
@example(-100.0, 100.0)
def test_derivatives_of_functions_of_two_arguments(name, on_floats, on_scalars, a, b):
    """The two derivatives of each function of MathTest are the slopes of the function on floats."""
    assume(distance_to_edge(name, a, b) > 1e-2)  # far more than h: both sides of the edge must not be mixed
    h = 1e-6
    x, y = Scalar(a), Scalar(b)
    on_scalars(x, y).backward()
    assert_close(x.derivative, (on_floats(a + h, b) - on_floats(a - h, b)) / (2 * h))
    assert_close(y.derivative, (on_floats(a, b + h) - on_floats(a, b - h)) / (2 * h))


@pytest.mark.task1_4
@given(small_floats, small_floats)
@example(0.0, 0.0)
@example(-2.0, 3.0)
def test_backward_agrees_with_central_differences(a, b):
    """For a function that uses its arguments several times, backward and central_difference give the same derivatives."""
    derivative_check(lambda x, y: (x * y + x).sigmoid() * y - x * x, Scalar(a), Scalar(b))
