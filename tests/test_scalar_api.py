"""Scalar beyond the graph: names, identity, conversions, user-defined functions, and every message."""

from operator import add

import numpy as np
import pytest

from minitorch import Context, Scalar, ScalarFunction, central_difference, derivative_check, dot
from minitorch.scalar_functions import Dot, Exp, Mul
from tests.errors import raises

ARGUMENT = "central_difference expected arg from 0 to 1 for 2 values, got"


class Double(ScalarFunction):
    """2 a, with a backward that returns what the test sets."""

    derivatives: object = 2.0

    @staticmethod
    def forward(ctx, a):
        return 2.0 * a

    @staticmethod
    def backward(ctx, d_output):
        return Double.derivatives


def made(result):
    """A function whose forward returns this, and which has no backward."""
    return type("Made", (ScalarFunction,), {"forward": staticmethod(lambda ctx, a: result)})


# Names and identity


def test_a_scalar_has_a_name():
    x, unnamed = Scalar(2.0, name="weight"), Scalar(2.0)
    assert (x.name, unnamed.name) == ("weight", f"scalar_{unnamed.unique_id:x}")
    x.name = "bias"
    assert x.name == "bias"


def test_equal_scalars_are_different_objects():
    a, b = Scalar(2.0), Scalar(2.0)
    assert a.unique_id != b.unique_id
    assert len({a, b, a}) == 2
    assert {a: "first", b: "second"}[a] == "first"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # A scalar is true if its value is true.
        *((lambda: bool(Scalar(0.5)), True), (lambda: bool(Scalar(0.0)), False)),
        *((lambda: bool(Scalar(2.0) == 2.0), True), (lambda: bool(Scalar(2.0) < 2.0), False)),
        (lambda: repr(Scalar(-1 / 3)), "Scalar(-0.333333)"),
        # Small NumPy numbers are computed as floats.
        (lambda: (Scalar(5.0) - np.uint8(1)).data, 4.0),  # in its own type, -1 is 255
        (lambda: (Scalar(5.0) - np.int8(-128)).data, 133.0),
        (lambda: (Scalar(5.0) / np.float32(1e-40)).data, 5.0 / float(np.float32(1e-40))),
        # The published names of forward and backward.
        *((lambda: Exp._forward(Context(), 0.0), 1.0), (lambda: Mul._forward(Context(), 2.0, 3.0), 6.0)),
    ],
)
def test_a_call_has_its_value(call, expected):
    assert call() == expected


# Numbers


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)])
def test_a_scalar_stores_a_float_for_any_number(number):
    assert type(Scalar(number).data) is float
    assert Scalar(number).data == 2.0


@pytest.mark.parametrize("number", [2, 2.0, True + 1, np.float64(2), np.float32(2), np.int64(2)])
def test_all_types_of_numbers_work_on_both_sides_of_an_operator(number):
    x = Scalar(3.0)
    results = [x + number, number + x, x - number, number - x, x * number, number * x, x / number, number / x, x**number, number**x]
    results += [x < number, number < x, x > number, number > x, x == number, number == x]
    assert [type(y) for y in results] == [Scalar] * 16
    values = [y.data for y in results]
    assert values == pytest.approx([5, 5, 1, -1, 6, 6, 1.5, 2 / 3, 9, 8, 0, 1, 1, 0, 0, 0], rel=1e-15)


@pytest.mark.parametrize("zero", [0, 0.0, np.float64(0), Scalar(0.0)])
def test_division_by_zero_is_an_error_for_every_type_of_zero(zero):
    with pytest.raises(ZeroDivisionError):
        Scalar(1.0) / zero


ABSTRACT = "a ScalarFunction has no {} of its own; define {} in the subclass"
BACKWARD = "backward expected a number, got Scalar Scalar(1.000000); call backward() or backward(2.0)"
FACTORS = "Dot expected as many factors b as a, got 3 values; call dot(a, b)"
CHAIN = "chain_rule expected a Scalar made by a function, got Scalar(2.000000), which has no inputs"
LEAF = "only a leaf keeps its derivative, but Scalar(2.000000) was computed or is a constant; make a leaf with Scalar(...)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Scalar(1.0) - "a", TypeError, "Neg expected Scalars and numbers, got str 'a'"),
        (lambda: Scalar(1.0) / "a", TypeError, "Inv expected Scalars and numbers, got str 'a'"),
        (lambda: Scalar(1.0) + "a", TypeError, "Add expected Scalars and numbers, got str 'a'"),
        (lambda: Scalar(2.0) * "2", TypeError, "Mul expected Scalars and numbers, got str '2'"),
        (lambda: None + Scalar(2.0), TypeError, "Add expected Scalars and numbers, got NoneType None"),
        (lambda: dot([Scalar(2.0)], [[1.0]]), TypeError, "Dot expected Scalars and numbers, got list [1.0]"),
        (lambda: dot([1.0, 2.0], [3.0]), ValueError, "dot expected two lists of equal length, got 2 and 1 values"),
        (lambda: Dot.apply(Scalar(1.0), 2.0, 3.0), ValueError, FACTORS),
        (lambda: Mul.apply(), TypeError, "Mul.apply expected Scalars and numbers, got nothing"),
        (lambda: Scalar("2"), TypeError, "Scalar expected a number, got str '2'"),
        (lambda: Scalar(None), TypeError, "Scalar expected a number, got NoneType None"),
        (lambda: Scalar(1j), TypeError, "Scalar expected a number, got complex 1j"),
        (lambda: Scalar([2.0]), TypeError, "Scalar expected a number, got list [2.0]"),
        (lambda: (Scalar(1.0) * 2).backward(Scalar(1.0)), TypeError, BACKWARD),
        (lambda: Scalar(2.0).chain_rule(1.0), RuntimeError, CHAIN),
        (lambda: Scalar(2.0).requires_grad_(False).chain_rule(1.0), RuntimeError, CHAIN),
        (lambda: Scalar(2.0, None).accumulate_derivative(1.0), RuntimeError, LEAF),
        (lambda: (Scalar(1.0) * 2).accumulate_derivative(1.0), RuntimeError, LEAF),
        (lambda: central_difference(add, 1.0, 2.0, arg=-1), IndexError, f"{ARGUMENT} -1"),
        (lambda: central_difference(add, 1.0, 2.0, arg=2), IndexError, f"{ARGUMENT} 2"),
        (lambda: made(None).apply(1.0), TypeError, "Made.forward expected to return a float, got None"),
        (lambda: ScalarFunction.apply(Scalar(1.0)), NotImplementedError, ABSTRACT.format("forward", "forward(ctx, ...)")),
        (lambda: made(0.5).apply(Scalar(1.0)).backward(), NotImplementedError, ABSTRACT.format("backward", "backward(ctx, d_output)")),
    ],
)
def test_a_wrong_call_is_refused(call, error, message):
    with raises(error, message):
        call()


@pytest.mark.parametrize("y", [Scalar(2.0, None) * 3, Mul.apply(2.0, 3)])
def test_a_result_of_constants_is_a_constant(y):
    assert (y.data, y.is_constant(), y.is_leaf(), list(y.parents)) == (6.0, True, False, [])


def test_requires_grad_makes_leaves_and_constants():
    x = Scalar(2.0, None)
    y = x.requires_grad_() * 3
    assert x.is_leaf()
    assert y.requires_grad_(True) is y
    assert y.is_leaf()
    y.backward()
    assert (y.derivative, x.derivative) == (1.0, None)  # y forgot that it came from x
    assert x.requires_grad_(False).is_constant()


def test_a_subclass_of_scalar_is_a_scalar():
    class Weight(Scalar):
        __slots__ = ()

    x = Weight(3.0)
    (x * 2 + x).backward()
    assert x.derivative == 3.0


# User-defined functions


@pytest.mark.parametrize("derivatives", [2.0, (2.0,)])
def test_a_function_of_one_input_may_return_a_number_or_a_tuple(derivatives, monkeypatch):
    monkeypatch.setattr(Double, "derivatives", derivatives)
    x = Scalar(3.0)
    Double.apply(x).backward()
    assert x.derivative == 2.0


@pytest.mark.parametrize("derivatives", [(), (1.0, 2.0)])
def test_a_wrong_number_of_derivatives_is_reported(derivatives, monkeypatch):
    monkeypatch.setattr(Double, "derivatives", derivatives)
    with raises(ValueError, f"Double.backward expected to return 1 derivatives, one for each input, got {len(derivatives)}"):
        Double.apply(Scalar(3.0)).backward()


def test_a_function_may_return_an_integer():
    assert type(made(1).apply(Scalar(3.0)).data) is float


@pytest.mark.parametrize(("fn", "inputs", "derivatives"), [(Exp, (0.0,), (10.0,)), (Mul, (2.0, 3.0), (30.0, 20.0))])
def test_the_published_name_of_backward_exists(fn, inputs, derivatives):
    ctx = Context()
    fn._forward(ctx, *inputs)
    assert fn._backward(ctx, 10.0) == derivatives


def test_a_context_saves_values_under_both_names_unless_gradients_are_off():
    ctx = Context()
    ctx.save_for_backward(2.0, 3.0)
    assert ctx.saved_tensors == ctx.saved_values == (2.0, 3.0)
    silent = Context(no_grad=True)
    silent.save_for_backward(2.0, 3.0)
    assert silent.saved_values == ()


def test_dot_takes_two_lists():
    x = [Scalar(1.0), Scalar(2.0)]
    y = dot(x, [3.0, x[0]])
    y.backward()
    assert (y.data, x[0].derivative, x[1].derivative, len(y.parents)) == (5.0, 5.0, 1.0, 4)


# derivative_check


def test_derivative_check_accepts_right_derivatives(monkeypatch):
    derivative_check(lambda a, b: a * b + a.sin(), Scalar(2.0), Scalar(5.0))
    derivative_check(lambda a: a * 1000, Scalar(2.0))
    for derivative in (1.971, 2.029):  # allowed: 1e-2 + 1e-2 · 2
        monkeypatch.setattr(Double, "derivatives", derivative)
        derivative_check(Double.apply, Scalar(3.0))


@pytest.mark.parametrize("derivative", [1.969, 2.031, -2.0, float("nan"), float("inf")])
def test_derivative_check_finds_a_wrong_derivative(derivative, monkeypatch):
    monkeypatch.setattr(Double, "derivatives", derivative)
    message = rf"^at \(5\.0, 3\.0\) backward gave derivative {derivative} for argument 1, expected [\d.]+ \(central difference\)$"
    with pytest.raises(AssertionError, match=message):
        derivative_check(lambda a, b: a + Double.apply(b), Scalar(5.0), Scalar(3.0))


def test_derivative_check_finds_a_missing_derivative():
    with pytest.raises(AssertionError, match=r"^at \(2\.0\) no derivative reached argument 0; expected 0\.0 \(central difference\)$"):
        derivative_check(lambda a: Scalar(a.data, None) * 0, Scalar(2.0))
