"""Forward mode: dual numbers against derivatives taken by hand."""

import math

import pytest

from minitorch import Dual, Scalar, ScalarFunction, dot, jvp
from tests.errors import raises


def test_a_direction_mixes_the_derivatives():
    assert jvp(lambda a, b: a * b, (3.0, 4.0), (1.0, 10.0)) == (12.0, 34.0)
    assert jvp(lambda a, b: a * b, (3.0, 4.0), (0.0, 0.0)) == (12.0, 0.0)


E = math.e
CASES = {  # function of a = 0.5 and b = 2, value, derivatives by a and b
    "a + b": (lambda a, b: a + b, 2.5, 1, 1),
    "a - b": (lambda a, b: a - b, -1.5, 1, -1),
    "a * b": (lambda a, b: a * b, 1.0, 2, 0.5),
    "a / b": (lambda a, b: a / b, 0.25, 0.5, -0.125),
    "-a": (lambda a, b: -a, -0.5, -1, 0),
    "3 - a": (lambda a, b: 3 - a, 2.5, -1, 0),
    "3 / b": (lambda a, b: 3 / b, 1.5, 0, -0.75),
    "a ** b": (lambda a, b: a**b, 0.25, 1, 0.25 * math.log(0.5)),
    "a ** 3": (lambda a, b: a**3, 0.125, 0.75, 0),
    "3 ** b": (lambda a, b: 3**b, 9.0, 0, 9 * math.log(3)),
    "|-a|": (lambda a, b: abs(-a), 0.5, 1, 0),
    "a < b": (lambda a, b: a < b, 1.0, 0, 0),
    "a > b": (lambda a, b: a > b, 0.0, 0, 0),
    "a == b": (lambda a, b: a == b, 0.0, 0, 0),
    "log b": (lambda a, b: b.log(), math.log(2.000001), 0, 1 / 2.000001),
    "exp b": (lambda a, b: b.exp(), E * E, 0, E * E),
    "sigmoid 2a": (lambda a, b: (2 * a).sigmoid(), E / (1 + E), 2 * E / (1 + E) ** 2, 0),
    "relu b": (lambda a, b: b.relu(), 2.0, 0, 1),
    "relu -b": (lambda a, b: (-b).relu(), 0.0, 0, 0),
    "sin a": (lambda a, b: a.sin(), math.sin(0.5), math.cos(0.5), 0),
    "cos a": (lambda a, b: a.cos(), math.cos(0.5), -math.sin(0.5), 0),
    "tanh a": (lambda a, b: a.tanh(), math.tanh(0.5), 1 / math.cosh(0.5) ** 2, 0),
    "sqrt b": (lambda a, b: b.sqrt(), math.sqrt(2), 0, 0.5 / math.sqrt(2)),
    "dot": (lambda a, b: dot([a, b, 3], [b, b, a]), 6.5, 5, 4.5),
    "a shared": (lambda a, b: (a * a) * (a * a), 0.0625, 0.5, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_every_function_carries_its_derivative(name):
    function, value, by_a, by_b = CASES[name]
    assert jvp(function, (0.5, 2.0), (1.0, 0.0)) == (pytest.approx(value), pytest.approx(by_a))
    assert jvp(function, (0.5, 2.0), (0.0, 1.0)) == (pytest.approx(value), pytest.approx(by_b))


def test_scalars_and_numbers_beside_a_dual_are_constants():
    for a in (Scalar(3.0), Scalar(3.0, None), 3.0, 3):
        for y in (a * Dual(2.0, 1.0), Dual(2.0, 1.0) * a):
            assert (type(y), y.data, y.tangent) == (Dual, 6.0, 3.0)


def test_a_dual_records_no_graph():
    y = Dual(2.0, 1.0) * Dual(3.0)  # a constant unless a tangent is given
    assert (y.is_constant(), list(y.parents), y.tangent) == (True, [], 3.0)


def test_what_does_not_depend_on_the_input_has_no_derivative_however_steep_it_is():
    assert jvp(lambda a, b: a + b.sqrt() + (b - 1) ** b, (2.0, 0.0), (1.0, 0.0)) == (3.0, 1.0)  # b's: inf and NaN


def test_a_function_that_ignores_its_input_has_derivative_0():
    assert jvp(lambda a: 7, (2.0,), (1.0,)) == (7.0, 0.0)
    assert jvp(lambda a: Scalar(7.0), (2.0,), (1.0,)) == (7.0, 0.0)


def test_a_dual_shows_value_and_tangent():
    assert repr(Dual(2.0, 0.5)) == "Dual(2.000000, tangent=0.500000)"


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (lambda: (Dual(2.0, 1.0) * 3).backward(), RuntimeError,
         "a Dual carries its derivative forward and records no graph; read .tangent, or use Scalar for backward()"),
        (lambda: jvp(lambda a, b: a, (2.0, 5.0), (1.0,)), ValueError, "jvp expected one tangent for each of 2 primals, got 1 tangents"),
        (lambda: Dual(2.0) * "2", TypeError, "Mul expected Scalars and numbers, got str '2'"),
        (lambda: Dual("2"), TypeError, "Scalar expected a number, got str '2'"),
    ],
)  # fmt: skip
def test_a_misuse_is_told(misuse, error, message):
    with raises(error, message):
        misuse()


def test_a_function_with_too_many_derivatives_is_told():
    class Greedy(ScalarFunction):
        @staticmethod
        def forward(ctx, a):
            return a

        @staticmethod
        def backward(ctx, d_output):
            return d_output, d_output

    with raises(ValueError, "Greedy.backward expected to return 1 derivatives, one for each input, got 2"):
        Greedy.apply(Dual(2.0, 1.0))
