"""The tensor functions of the explorer: values from NumPy, gradients by hand, and error messages."""

import math
import warnings

import numpy as np
import pytest

from minitorch import IndexingError, Tensor, tensor
from project.lab.cards import WrongResult
from project.lab.explorers import tensor_sandbox as sandbox
from tests.errors import raises

POINTS = np.array([[0.5, -1.5], [2.0, 3.0]])

EXPECTED = {
    "x.sigmoid()": lambda x: 1 / (1 + np.exp(-x)),
    "x.relu()": lambda x: np.maximum(x, 0),
    "x.exp()": np.exp,
    "x.tanh()": np.tanh,
    "x.sin()": np.sin,
    "x.cos()": np.cos,
    "x.abs()": np.abs,
    "MathTest.square(x)": np.square,
    "MathTest.addConstant(x)": lambda x: x + 5,
}


@pytest.mark.parametrize("call", EXPECTED)
def test_a_function_of_one_tensor_equals_numpy(call):
    assert np.allclose(sandbox.values(sandbox.ONE[call], call, POINTS), EXPECTED[call](POINTS))


CALLS = [(call, f, {}, []) for call, f in sandbox.ONE.items()]
CALLS += [(call, f, {"arg": arg}, [np.array([[0.25, 1.0], [3.5, 4.5]])]) for call, f in sandbox.TWO.items() for arg in (0, 1)]


@pytest.mark.parametrize(("call", "f", "which", "more"), CALLS)
def test_backward_agrees_with_the_central_difference(call, f, which, more):
    inputs = np.abs(POINTS), *more
    gradient = sandbox.gradients(f, call, *inputs)[which.get("arg", 0)]
    gap, _ = sandbox.largest_gap(gradient, sandbox.differences(f, call, *inputs, **which))
    assert gap < 1e-4 * (1 + np.abs(gradient).max())


def test_the_partial_derivatives_of_a_product_are_the_other_factors():
    by_x, by_y = sandbox.gradients(sandbox.TWO["x * y"], "x * y", np.array([2.0]), np.array([5.0]))
    assert (by_x.tolist(), by_y.tolist()) == ([5.0], [2.0])


def test_reductions_along_a_fixed_dimension_are_the_course_s():
    shown = {call: sandbox.values(f, call, POINTS).tolist() for call, f in sandbox.REDUCE.items()}
    assert shown == {
        "MathTest.mean_full_red(x)": [1.0],
        "MathTest.mean_red(x)": [[1.25, 0.75]],
        "MathTest.sum_red(x)": [[2.5, 1.5]],
    }


def test_the_gradient_of_a_sum_is_copied_to_every_summand():
    flow = np.array([[1.0, 2.0]])
    (gradient,) = sandbox.gradients(lambda x: x.sum(0), "x.sum(0)", POINTS, grad_output=flow)
    assert gradient.tolist() == [[1, 2], [1, 2]]
    numeric = sandbox.entry_differences(lambda x: x.sum(0), "x.sum(0)", POINTS, grad_output=flow)
    assert np.allclose(numeric, gradient, atol=1e-6)


def test_a_missing_gradient_is_a_gradient_of_zeros():
    assert sandbox.gradients(lambda x, y: x * 2, "2 * x", POINTS, POINTS)[1].tolist() == [[0, 0], [0, 0]]


def test_numbers_are_all_different_and_the_same_for_the_same_seed():
    x = sandbox.random_values((4, 4, 4), "0 x")
    assert len(set(x.flatten().tolist())) == 64
    assert 0 not in x
    assert np.abs(x).max() <= 3.2
    assert (sandbox.random_values((4, 4, 4), "0 x") == x).all()
    assert (sandbox.random_values((4, 4, 4), "1 x") != x).any()
    assert sandbox.random_values((), "0").shape == ()
    assert sandbox.random_values((0, 2), "0").shape == (0, 2)
    assert sandbox.count_up((2, 2)).tolist() == [[1, 2], [3, 4]]


def test_the_largest_difference_is_found_with_its_index_ignoring_non_finite_values():
    gradient, numeric = np.array([[1.0, math.inf], [3.0, math.nan]]), np.array([[1.5, math.inf], [1.0, 2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sandbox.largest_gap(gradient, numeric) == (2.0, (1, 0))
    assert sandbox.largest_gap(np.zeros((0, 2)), np.zeros((0, 2))) == (0.0, ())


@pytest.mark.parametrize(("result", "got"), [(None, "NoneType; is the return missing?"), (3.0, "float")])
def test_a_function_that_does_not_return_a_tensor_is_named(result, got):
    with raises(WrongResult, f"f(x) expected to return a Tensor, got {got}"):
        sandbox.values(lambda x: result, "f(x)", POINTS)


def test_a_gradient_of_another_shape_is_named(monkeypatch):
    def store_short_gradient(self, x):
        self.grad = tensor([1.0, 2.0])

    monkeypatch.setattr(Tensor, "accumulate_derivative", store_short_gradient)
    with raises(WrongResult, "the backward pass of f(x) expected to compute a gradient of shape (2, 2), got (2,)"):
        sandbox.gradients(lambda x: x * 2, "f(x)", POINTS)


def test_central_differences_of_another_shape_are_named(monkeypatch):
    monkeypatch.setattr(sandbox, "central_difference", lambda f, *x, arg: f(*x).sum())
    with raises(WrongResult, "central_difference expected to compute a result of shape (3,) for x.exp(), got (1,)"):
        sandbox.differences(lambda x: x.exp(), "x.exp()", np.ones(3))


def test_the_sources_are_the_method_and_every_function_that_it_uses():
    x = sandbox.make_tensor(POINTS, requires_grad=True)
    shown = sandbox.sources(Tensor.mean, x.sigmoid().mean())
    assert shown.startswith("@compute_in_float32\ndef mean(self")
    for name in ("Sigmoid", "View", "Sum", "Mul"):
        assert shown.count(f"class {name}(Function):") == 1
    assert sandbox.sources(abs, None) == ""  # which has no source


@pytest.mark.parametrize("error", [ValueError("math domain error"), TypeError("shape"), ZeroDivisionError("shape")])
def test_errors_that_are_not_about_shapes_propagate(error):
    with pytest.raises(type(error)), sandbox.shapes_guard():
        raise error


@pytest.mark.parametrize("error", [ValueError("view expected a shape of 6 elements"), IndexingError("no such index")])
def test_errors_about_shapes_are_shown_and_end_the_page(monkeypatch, error):
    def stop():
        raise KeyboardInterrupt

    shown = []
    monkeypatch.setattr(sandbox.st, "warning", lambda text, icon: shown.append(text))
    monkeypatch.setattr(sandbox.st, "caption", lambda text: None)
    monkeypatch.setattr(sandbox.st, "stop", stop)
    with pytest.raises(KeyboardInterrupt), sandbox.shapes_guard():
        raise error
    assert shown == [f"**The shapes are incompatible.** {error}"]
