"""Task 2.4: the gradient of every tensor function, by hand and against central differences."""

import math
from itertools import permutations
from operator import add, eq, gt, lt, mul, sub

import numpy as np
import pytest
from hypothesis import Phase, assume, example, given, settings
from hypothesis.strategies import data, floats

from minitorch import MathTestVariable, grad_check, tensor
from minitorch.core.context import TensorContext
from minitorch.tensor_functions import EQ, LT, Exp, Log, ReLU, Sigmoid

from .tensor_strategies import arrays, assert_close_tensor, broadcast_pairs, few_numbers, laid_out, tensors, tensors_and_dims

ONE_ARG, TWO_ARG, RED = MathTestVariable._comp_testing()
ONE_ARG = [pytest.param(*functions, id=functions[0]) for functions in ONE_ARG]
TWO_ARG = [pytest.param(*functions, id=functions[0]) for functions in TWO_ARG]
RED = [pytest.param(name, on_tensors, id=name) for name, _, on_tensors in RED]


def weights_for(x):
    """Distinct numbers in a tensor's shape, some negative, as gradient of a result: none can be confused with another, or with 1."""
    return np.cos(np.arange(1.0, 1 + x.size)).reshape(x.shape)


def gradients(f, *xs):
    """The gradients of the tensors, which become leaves, when the gradient of f's result is `weights_for` it; and these weights."""
    for x in xs:
        x.requires_grad_(True)
        x.zero_grad_()
    result = f(*xs)
    weights = weights_for(result)
    result.backward(tensor(weights))
    for x in xs:
        assert x.grad is not None, "no gradient arrived"
    return [x.grad for x in xs], weights


def summed_to(array, shape):
    """An array summed over the dimensions in which another of this shape is broadcast to it."""
    array = array.sum(tuple(range(array.ndim - len(shape))))
    return array.sum(tuple(dim for dim, size in enumerate(shape) if size == 1), keepdims=True)


# By hand


@pytest.mark.task2_4
@pytest.mark.parametrize(
    ("function", "values", "derivatives"),
    [
        (Sigmoid, [0.0, 2.0, -2.0], [0.25, math.exp(-2) / (1 + math.exp(-2)) ** 2, math.exp(-2) / (1 + math.exp(-2)) ** 2]),
        (Sigmoid, [1000.0, -1000.0], [0.0, 0.0]),
        (ReLU, [3.0, 1e-9, 0.0, -1e-9, -3.0], [1.0, 1.0, 0.0, 0.0, 0.0]),
        (Log, [1.0, 50.0, 0.0], [1 / (1 + 1e-6), 1 / (50 + 1e-6), 1e6]),
        (Exp, [0.0, 2.0, -2.0], [1.0, math.exp(2), math.exp(-2)]),
    ],
)
def test_backward_computes_the_derivative_element_by_element(function, values, derivatives):
    """The gradient of a function of one argument is its derivative at every element, times the gradient of the result there."""
    (grad,), weights = gradients(function.apply, tensor(values))
    assert_close_tensor(grad, weights * derivatives)


@pytest.mark.task2_4
def test_the_gradient_of_a_product_is_the_other_factor():
    """The gradient of a product is the other factor times the gradient of the result, element by element: 5 · 7 and 5 · 2 for 2 · 7."""
    x, y = tensor([2.0, -3.0], requires_grad=True), tensor([7.0, 0.5], requires_grad=True)
    (x * y).backward(tensor([5.0, 2.0]))
    assert_close_tensor(x.grad, [35.0, 1.0])
    assert_close_tensor(y.grad, [10.0, -6.0])


@pytest.mark.task2_4
def test_the_gradient_of_a_broadcast_factor_is_summed():
    """A row that multiplies every row of a matrix receives the sum over all rows; the matrix receives the row in each of its rows."""
    x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    row = tensor([10.0, 20.0, 30.0], requires_grad=True)
    (x * row).backward(tensor([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]))
    assert_close_tensor(x.grad, [[10.0, 20.0, 30.0], [20.0, 40.0, 60.0]])
    assert_close_tensor(row.grad, [1.0 + 8.0, 2.0 + 10.0, 3.0 + 12.0])


@pytest.mark.task2_4
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,), (1, 3), (2, 1), (2, 3)])
@pytest.mark.parametrize("operator", [add, sub, mul, lt, gt, eq])
def test_a_gradient_has_the_shape_of_its_leaf(operator, shape):
    """However a leaf was broadcast, its gradient has the leaf's own shape, on either side of the operator."""
    for flip in (False, True):
        x, big = tensor(np.ones(shape), requires_grad=True), tensor(np.ones((2, 3)), requires_grad=True)
        (operator(big, x) if flip else operator(x, big)).sum().backward()
        assert x.grad.shape == shape
        assert big.grad.shape == (2, 3)


@pytest.mark.task2_4
@pytest.mark.parametrize("function", [LT, EQ])
def test_backward_of_a_comparison_returns_zeros(function):
    """A comparison is constant almost everywhere: backward returns two tensors of zeros, one per operand, not None."""
    a, b = tensor([1.0, 2.0, 3.0], requires_grad=True), tensor([2.0, 2.0, 2.0], requires_grad=True)
    ctx = TensorContext(function, (a, b))
    function.forward(ctx, a, b)
    returned = function.backward(ctx, tensor([5.0, 6.0, 7.0]))
    assert len(returned) == 2
    for grad in returned:
        assert_close_tensor(grad, [0.0, 0.0, 0.0])


@pytest.mark.task2_4
@pytest.mark.parametrize("operator", [lt, gt, eq])
@given(pair=broadcast_pairs(few_numbers))
def test_comparisons_have_the_gradient_zero(operator, pair):
    """The gradient of <, > and == is zero for both operands, in the shape of each."""
    for grad, x in zip(gradients(operator, *pair)[0], pair, strict=True):
        assert_close_tensor(grad, np.zeros(x.shape))


@pytest.mark.task2_4
def test_a_comparison_with_a_number_has_the_gradient_zero():
    """x < 2 is a step function: its gradient with respect to x is zero."""
    (grad,), _ = gradients(lambda x: (x < 2) + (x > 2) + (x == 2), tensor([1.0, 2.0, 3.0]))
    assert_close_tensor(grad, [0.0, 0.0, 0.0])


# Reductions


@pytest.mark.task2_4
@pytest.mark.parametrize(
    ("dim", "grad_output", "expected"),
    [
        (0, [[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]),
        (1, [[1.0], [2.0]], [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]),
        (None, [5.0], [[5.0, 5.0, 5.0], [5.0, 5.0, 5.0]]),
    ],
)
def test_the_gradient_of_a_sum_reaches_every_element(dim, grad_output, expected):
    """Every element counts once: the gradient of a sum flows unchanged to each of its elements."""
    x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    x.sum(dim).backward(tensor(grad_output))
    assert_close_tensor(x.grad, expected)


@pytest.mark.task2_4
@given(x_and_dim=tensors_and_dims())
@example(x_and_dim=(tensor(np.ones((0, 3))), 0))
@example(x_and_dim=(tensor(np.ones((0, 3))), 1))
def test_the_gradient_of_a_sum_along_any_dimension(x_and_dim):
    """The gradient of x.sum(dim) has x's shape: the result's gradient, repeated along dim, with or without keepdim."""
    x, dim = x_and_dim
    (grad,), weights = gradients(lambda x: x.sum(dim), x)
    assert_close_tensor(grad, np.broadcast_to(weights, x.shape))
    (grad,), weights = gradients(lambda x: x.sum(dim, keepdim=False), x)
    assert_close_tensor(grad, np.broadcast_to(np.expand_dims(weights, dim), x.shape))


@pytest.mark.task2_4
@given(x_and_dim=tensors_and_dims())
def test_the_gradient_of_a_mean_is_shared(x_and_dim):
    """Each of the n elements of a mean receives 1/n of its gradient."""
    x, dim = x_and_dim
    (grad,), weights = gradients(lambda x: x.mean(dim), x)
    assert_close_tensor(grad, np.broadcast_to(weights / x.shape[dim], x.shape))
    (grad,), weights = gradients(lambda x: x.mean(), x)
    assert_close_tensor(grad, np.full(x.shape, weights[0] / x.size))


@pytest.mark.task2_4
@pytest.mark.parametrize("dims", [(0, 2), (2, 1), (0, 1, 2)])
def test_the_gradient_of_a_sum_along_several_dimensions(dims):
    """The gradient reaches every element, whichever dimensions were reduced."""
    (grad,), weights = gradients(lambda x: x.sum(dims), tensor(np.ones((2, 3, 2))))
    assert_close_tensor(grad, np.broadcast_to(weights, (2, 3, 2)))


# Layout


@pytest.mark.task2_4
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_gradient_of_permute_finds_its_way_back(order):
    """Index (i, j, k) of x receives the gradient from where that element went; (2, 0, 1) undoes (1, 2, 0)."""
    x = tensor(np.zeros((2, 3, 4)))
    (grad,), weights = gradients(lambda x: x.permute(*order), x)
    expected = np.zeros((2, 3, 4))
    expected.transpose(order)[...] = weights  # a view of it: what is written there lands where it came from
    assert_close_tensor(grad, expected)


@pytest.mark.task2_4
@pytest.mark.parametrize("order", [(1, 2, 3, 0), (3, 0, 1, 2), (2, 0, 3, 1), (1, 0, 3, 2), (-1, 0, 1, 2)])
def test_the_gradient_of_permute_of_equal_sizes(order):
    """The same if all sizes are equal, so that a wrong order cannot show in the shape."""
    x = laid_out(np.zeros((2, 2, 2, 2)), (1, 8, 2, 4))
    (grad,), weights = gradients(lambda x: x.permute(*order), tensor(x.array()))
    expected = np.zeros((2, 2, 2, 2))
    expected.transpose(order)[...] = weights
    assert_close_tensor(grad, expected)


@pytest.mark.task2_4
def test_the_gradient_flows_through_a_permuted_copy():
    """permute, contiguous and view in a row: element (i, j) of x is at position 2·j + i of the result."""
    x = tensor(np.zeros((2, 3)))
    (grad,), weights = gradients(lambda x: x.permute(1, 0).contiguous().view(6), x)
    assert_close_tensor(grad, weights.reshape(3, 2).T)


# Several paths


@pytest.mark.task2_4
def test_a_tensor_used_twice_gets_both_gradients():
    """x · x has the gradient 2 · x, x + x the gradient 2, and x · (x > 1) the gradient (x > 1)."""
    x = np.array([3.0, -2.0, 0.5])
    (grad,), weights = gradients(lambda x: x * x, tensor(x))
    assert_close_tensor(grad, weights * 2 * x)
    (grad,), weights = gradients(lambda x: x + x, tensor(x))
    assert_close_tensor(grad, weights * 2)
    (grad,), weights = gradients(lambda x: x * (x > 1), tensor(x))
    assert_close_tensor(grad, weights * [1.0, 0.0, 0.0])


@pytest.mark.task2_4
def test_the_gradients_of_a_diamond_are_summed():
    """y = x · x feeds two functions: the gradient of y.exp() + y.sigmoid() with respect to x is (e^y + s·(1 - s)) · 2x."""
    array = np.array([[0.5, -1.0], [0.25, 1.5]])

    def diamond(x):
        y = x * x
        return y.exp() + y.sigmoid()

    (grad,), weights = gradients(diamond, tensor(array))
    y = array * array
    s = 1 / (1 + np.exp(-y))
    assert_close_tensor(grad, weights * (np.exp(y) + s * (1 - s)) * 2 * array)


@pytest.mark.task2_4
def test_gradients_of_two_backwards_add_up():
    """A second backward pass, from another result, adds to the gradient of a leaf."""
    x = tensor([2.0, 3.0], requires_grad=True)
    (x * 5.0).sum().backward()
    (x * x).sum().backward()
    assert_close_tensor(x.grad, [5.0 + 4.0, 5.0 + 6.0])


# Against differences


def distance_to_edge(name, a, b=0.0):
    """How far each element is from where a MathTest function has a step, a kink or a pole, where no derivative can be checked."""
    edges = {
        "inv": a + 7 / 2,
        "relu": a + 11 / 2,
        "complex": a + 7 / 10,
        "div2": b + 11 / 2,
        "gt2": a + 6 / 5 - b,
        "lt2": a + 6 / 5 - b,
        "eq2": a - b - 11 / 2,
    }
    return np.abs(edges.get(name, math.inf))


@pytest.mark.task2_4
@pytest.mark.parametrize(("name", "on_floats", "on_tensors"), ONE_ARG)
@settings(max_examples=25)
@given(x=tensors())
@example(x=tensor([0.0, -100.0, 100.0]))
def test_gradients_of_functions_of_one_argument(name, on_floats, on_tensors, x):
    """The gradient of each MathTest function is, at every element, the derivative of the function on floats."""
    a, h = x.to_numpy(), 1e-6
    assume((distance_to_edge(name, a) > 1e-2).all())  # far more than h: both sides of the edge must not be mixed
    (grad,), weights = gradients(on_tensors, x)
    slopes = [(on_floats(v + h) - on_floats(v - h)) / (2 * h) for v in a.reshape(-1).tolist()]
    assert_close_tensor(grad, weights * np.reshape(slopes, a.shape), 1e-2)


@pytest.mark.task2_4
@pytest.mark.parametrize(("name", "on_floats", "on_tensors"), TWO_ARG)
@settings(max_examples=25)
@given(pair=broadcast_pairs())
@example(pair=(tensor([0.0, 3.0, -100.0]), tensor([0.0, 3.0, 100.0])))
@example(pair=(tensor([[1.0], [2.0]]), tensor([3.0, 5.0, 7.0])))
def test_gradients_of_functions_of_two_arguments(name, on_floats, on_tensors, pair):
    """The two gradients of each MathTest function are its derivatives on floats, summed where an argument was broadcast."""
    a, b = np.broadcast_arrays(*(x.to_numpy() for x in pair))
    assume((distance_to_edge(name, a, b) > 1e-2).all())
    h = 1e-6
    (a_grad, b_grad), weights = gradients(on_tensors, *pair)
    points = list(zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True))
    a_slopes = [(on_floats(v + h, w) - on_floats(v - h, w)) / (2 * h) for v, w in points]
    b_slopes = [(on_floats(v, w + h) - on_floats(v, w - h)) / (2 * h) for v, w in points]
    assert_close_tensor(a_grad, summed_to(weights * np.reshape(a_slopes, a.shape), pair[0].shape), 1e-2)
    assert_close_tensor(b_grad, summed_to(weights * np.reshape(b_slopes, b.shape), pair[1].shape), 1e-2)


@pytest.mark.task2_4
@pytest.mark.parametrize(("name", "on_tensors"), RED)
@settings(max_examples=25)
@given(x=tensors())
def test_gradients_of_reductions(name, on_tensors, x):
    """The gradient of a sum reaches every element unchanged, that of a mean divided by the number of elements."""
    (grad,), weights = gradients(on_tensors, x)
    n = {"sum_red": 1, "mean_red": x.shape[0], "mean_full_red": x.size}[name]
    assert_close_tensor(grad, np.broadcast_to(weights / n, x.shape) if name != "mean_full_red" else np.full(x.shape, weights[0] / n))


# No shrinking: an example takes so long that a search for a smaller one that fails takes minutes.
@pytest.mark.task2_4
@settings(max_examples=10, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data())
def test_backward_agrees_with_central_differences(draw):
    """For a function that uses every tensor operation, grad_check finds the same gradient by central differences at every element."""
    numbers = floats(min_value=-2, max_value=2)
    x, y, bias = (tensor(draw.draw(arrays(numbers, shape))) for shape in [(2, 1, 3), (3, 2, 1), (3,)])

    def f(x, y, bias):
        z = (x.permute(2, 0, 1) * y.sigmoid() + bias.exp()).sum(1)
        return (z * z + 1.0).log().mean(0) - (z > 0) * bias

    z = (x.to_numpy().transpose(2, 0, 1) / (1 + np.exp(-y.to_numpy())) + np.exp(bias.to_numpy())).sum(1)
    assume((np.abs(z) > 1e-2).all())  # the step of z > 0
    grad_check(f, x, y, bias)
