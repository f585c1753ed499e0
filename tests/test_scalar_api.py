"""Scalar beyond the graph: names, identity, conversions, user-defined functions, and every message."""

import numpy as np
import pytest

from minitorch import Context, Scalar, ScalarFunction, central_difference, derivative_check, dot
from minitorch.scalar_functions import Dot, Exp, Mul
from tests.errors import raises


class Double(ScalarFunction):
    """2 a, with a backward that returns what the test sets."""

    derivatives: object = 2.0

    @staticmethod
    def forward(ctx, a):
        return 2.0 * a

    @staticmethod
    def backward(ctx, d_output):
        return Double.derivatives


# Names and identity


def test_a_scalar_has_the_name_it_was_given():
    x = Scalar(2.0, name="weight")
    assert x.name == "weight"
    x.name = "bias"
    assert x.name == "bias"


def test_a_scalar_without_a_name_has_its_unique_id_as_name():
    x = Scalar(2.0)
    assert x.name == f"scalar_{x.unique_id:x}"


def test_equal_scalars_are_different_objects():
    a, b = Scalar(2.0), Scalar(2.0)
    assert a.unique_id != b.unique_id
    assert len({a, b, a}) == 2
    assert {a: "first", b: "second"}[a] == "first"


def test_a_scalar_is_true_if_its_value_is_true():
    assert bool(Scalar(0.5)) is True
    assert bool(Scalar(0.0)) is False
    assert bool(Scalar(2.0) == 2.0) is True
    assert bool(Scalar(2.0) < 2.0) is False


def test_the_repr_of_a_scalar_shows_its_value():
    assert repr(Scalar(-1 / 3)) == "Scalar(-0.333333)"


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


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (lambda x: x - np.uint8(1), 4.0),  # in its own type, -1 is 255
        (lambda x: x - np.int8(-128), 133.0),
        (lambda x: x / np.float32(1e-40), 5.0 / float(np.float32(1e-40))),
    ],
)
def test_a_small_numpy_integer_is_computed_as_a_float(result, expected):
    assert result(Scalar(5.0)).data == expected


def test_division_by_zero_is_an_error_for_every_type_of_zero():
    for zero in (0, 0.0, np.float64(0), Scalar(0.0)):
        with pytest.raises(ZeroDivisionError):
            Scalar(1.0) / zero


@pytest.mark.parametrize(("operator", "name"), [(lambda x: x - "a", "Neg"), (lambda x: x / "a", "Inv"), (lambda x: x + "a", "Add")])
def test_operators_refuse_operands_that_are_not_numbers(operator, name):
    with raises(TypeError, f"{name} expected Scalars and numbers, got str 'a'"):
        operator(Scalar(1.0))


def test_backward_refuses_a_value_that_is_not_a_number():
    with raises(TypeError, "backward expected a number, got Scalar Scalar(1.000000); call backward() or backward(2.0)"):
        (Scalar(1.0) * 2).backward(Scalar(1.0))


def test_a_result_of_constants_is_a_constant():
    y = Scalar(2.0, None) * 3
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


@pytest.mark.parametrize("value", ["2", None, 1j, [2.0]])
def test_a_scalar_cannot_be_created_from_a_non_number(value):
    with raises(TypeError, f"Scalar expected a number, got {type(value).__name__} {value!r}"):
        Scalar(value)


def test_scalar_operators_refuse_non_numbers_with_a_message():
    with raises(TypeError, "Mul expected Scalars and numbers, got str '2'"):
        Scalar(2.0) * "2"
    with raises(TypeError, "Add expected Scalars and numbers, got NoneType None"):
        None + Scalar(2.0)
    with raises(TypeError, "Dot expected Scalars and numbers, got list [1.0]"):
        dot([Scalar(2.0)], [[1.0]])


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
    class Sign(ScalarFunction):
        @staticmethod
        def forward(ctx, a):
            return 1 if a > 0 else -1

    assert type(Sign.apply(Scalar(3.0)).data) is float


def test_a_function_that_does_not_return_a_number_is_reported():
    class Forgetful(ScalarFunction):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)

    with raises(TypeError, "Forgetful.forward expected to return a float, got None"):
        Forgetful.apply(Scalar(3.0))


def test_a_function_without_forward_or_backward_is_reported():
    class Empty(ScalarFunction):
        pass

    class Half(ScalarFunction):
        @staticmethod
        def forward(ctx, a):
            return a / 2

    with raises(NotImplementedError, "a ScalarFunction has no forward of its own; define forward(ctx, ...) in the subclass"):
        Empty.apply(Scalar(1.0))
    with raises(NotImplementedError, "a ScalarFunction has no backward of its own; define backward(ctx, d_output) in the subclass"):
        Half.apply(Scalar(1.0)).backward()


def test_apply_to_plain_numbers_gives_a_constant():
    y = Mul.apply(2.0, 3)
    assert (y.data, y.is_constant()) == (6.0, True)


def test_apply_needs_at_least_one_argument():
    with raises(TypeError, "Mul.apply expected Scalars and numbers, got nothing"):
        Mul.apply()


def test_the_published_names_of_forward_and_backward_exist():
    ctx = Context()
    assert Exp._forward(ctx, 0.0) == 1.0
    assert Exp._backward(ctx, 5.0) == (5.0,)
    ctx = Context()
    assert Mul._forward(ctx, 2.0, 3.0) == 6.0
    assert Mul._backward(ctx, 10.0) == (30.0, 20.0)


def test_a_context_saves_values_under_both_names_unless_gradients_are_off():
    ctx = Context()
    ctx.save_for_backward(2.0, 3.0)
    assert ctx.saved_tensors == ctx.saved_values == (2.0, 3.0)
    silent = Context(no_grad=True)
    silent.save_for_backward(2.0, 3.0)
    assert silent.saved_values == ()


def test_dot_takes_two_lists_of_equal_length():
    x = [Scalar(1.0), Scalar(2.0)]
    y = dot(x, [3.0, x[0]])
    y.backward()
    assert (y.data, x[0].derivative, x[1].derivative, len(y.parents)) == (5.0, 5.0, 1.0, 4)
    with raises(ValueError, "dot expected two lists of equal length, got 2 and 1 values"):
        dot(x, [3.0])
    with raises(ValueError, "Dot expected as many factors b as a, got 3 values; call dot(a, b)"):
        Dot.apply(*x, 3.0)


# Messages of the engine


@pytest.mark.parametrize("history", [True, False])
def test_a_leaf_has_no_chain_rule(history):
    x = Scalar(2.0).requires_grad_(history)
    with raises(RuntimeError, "chain_rule expected a Scalar made by a function, got Scalar(2.000000), which has no inputs"):
        x.chain_rule(1.0)


@pytest.mark.parametrize("x", [Scalar(2.0, None), Scalar(1.0) * 2])
def test_only_a_leaf_stores_a_derivative(x):
    message = "only a leaf keeps its derivative, but Scalar(2.000000) was computed or is a constant; make a leaf with Scalar(...)"
    with raises(RuntimeError, message):
        x.accumulate_derivative(1.0)


@pytest.mark.parametrize("arg", [-1, 2])
def test_a_difference_with_respect_to_a_missing_argument_is_refused(arg):
    with raises(IndexError, f"central_difference expected arg from 0 to 1 for 2 values, got {arg}"):
        central_difference(lambda a, b: a * b, 1.0, 2.0, arg=arg)


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
