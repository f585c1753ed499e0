"""Task 2.3b: what the operators and methods of Tensor compute, and what history their results have."""

import math
from operator import add, eq, gt, lt, mul, sub

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis.strategies import data, sampled_from

from minitorch import IndexingError, MathTestVariable, Tensor, tensor, zeros
from minitorch.tensor_functions import EQ, LT, Add, All, Exp, IsClose, Log, Mul, Neg, Permute, ReLU, Sigmoid, Sum, View

from .tensor_strategies import (
    assert_close_tensor,
    broadcast_pairs,
    few_numbers,
    tensor_pairs,
    tensors,
    tensors_and_dims,
)

ONE_ARG, TWO_ARG, RED = MathTestVariable._comp_testing()
ONE_ARG = [pytest.param(*functions, id=functions[0]) for functions in ONE_ARG]
TWO_ARG = [pytest.param(*functions, id=functions[0]) for functions in TWO_ARG]
RED = [pytest.param(name, on_tensors, id=name) for name, _, on_tensors in RED]

MATRIX = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# The operators


@pytest.mark.task2_3b
@pytest.mark.parametrize("operator", [add, sub, mul, lt, gt, eq])
@given(pair=broadcast_pairs(few_numbers))
@example(pair=(tensor([2.0, 1.0, -1.0]), tensor([2.0, -1.0, 1.0])))
@example(pair=(tensor([math.nan, math.nan, math.inf]), tensor([math.nan, 1.0, 1.0])))
@example(pair=(zeros((0, 3)), tensor([1.0, 2.0, 3.0])))
@example(pair=(tensor(2.0), tensor(3.0)))
def test_operators_are_those_of_arrays(operator, pair):
    """+, -, *, <, > and == work element by element; shapes broadcast, and comparisons return bool."""
    a, b = pair
    expected = operator(a.to_numpy(), b.to_numpy())
    result = operator(a, b)
    assert_close_tensor(result, expected)
    assert result.dtype == expected.dtype


@pytest.mark.task2_3b
@pytest.mark.parametrize("number", [2.0, 2, -0.5])
@pytest.mark.parametrize("operator", [add, sub, mul, lt, gt, eq])
def test_operators_take_plain_numbers_on_either_side(operator, number):
    """x + 2 and 2 + x: a float or an integer acts as a tensor of one element."""
    array = np.array([[1.0, 2.0], [3.0, -0.5]])
    x = tensor(array)
    assert_close_tensor(operator(x, number), operator(array, number))
    assert_close_tensor(operator(number, x), operator(number, array))


@pytest.mark.task2_3b
@given(tensors())
@example(tensor(-3.0))
def test_the_negative_is_that_of_arrays(x):
    """-x changes the sign of every element."""
    assert_close_tensor(-x, -x.to_numpy())


@pytest.mark.task2_3b
@pytest.mark.parametrize("shift", [0.0, 0.0099, -0.0099, 0.0101, -0.0101])
@settings(max_examples=25)
@given(pair=tensor_pairs(few_numbers))
@example(pair=(tensor([2.0, -1.0]), tensor([2.0, -1.0])))
def test_close_means_less_than_a_hundredth_apart(shift, pair):
    """a.is_close(b) is true for every element where the two differ by less than 1e-2, in either direction."""
    a, b = pair
    result = a.is_close(b + shift)
    assert_close_tensor(result, np.abs(a.to_numpy() - (b.to_numpy() + shift)) < 1e-2)


@pytest.mark.task2_3b
def test_close_takes_a_plain_number():
    """x.is_close(1): the number acts as a tensor of one element."""
    assert_close_tensor(tensor([1.0, 1.009, 0.991, 1.011, -1.0]).is_close(1), [True, True, True, False, False])


@pytest.mark.task2_3b
@pytest.mark.parametrize("operator", [add, sub, mul, lt, gt, eq])
def test_shapes_that_do_not_broadcast_are_an_error(operator):
    """Shapes (2,) and (3,) do not broadcast: the operator raises IndexingError instead of returning a number."""
    with pytest.raises(IndexingError):
        operator(tensor([1.0, 2.0]), tensor([1.0, 2.0, 3.0]))


# The functions


@pytest.mark.task2_3b
@pytest.mark.parametrize(("name", "on_floats", "on_tensors"), ONE_ARG)
@settings(max_examples=30)
@given(x=tensors())
@example(x=tensor([0.0, -100.0, 100.0]))
@example(x=zeros((0,)))
def test_functions_of_one_argument_compute_what_floats_compute(name, on_floats, on_tensors, x):
    """Each function of MathTest returns, element by element, the same for a tensor as for floats."""
    array = x.to_numpy()
    assume(name != "inv" or not (array == -7 / 2).any())  # its pole
    expected = np.array([on_floats(a) for a in array.reshape(-1).tolist()]).reshape(array.shape)
    assert_close_tensor(on_tensors(x), expected)


@pytest.mark.task2_3b
@pytest.mark.parametrize(("name", "on_floats", "on_tensors"), TWO_ARG)
@settings(max_examples=30)
@given(pair=broadcast_pairs())
@example(pair=(tensor([0.0, 8.0, 2.5]), tensor([0.0, 2.5, 8.0])))
def test_functions_of_two_arguments_compute_what_floats_compute(name, on_floats, on_tensors, pair):
    """Each function of MathTest returns, element by element, the same for two tensors as for floats."""
    a, b = np.broadcast_arrays(*(x.to_numpy() for x in pair))
    assume(name != "div2" or not (b == -11 / 2).any())  # its pole
    expected = np.array([on_floats(v, w) for v, w in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)])
    assert_close_tensor(on_tensors(*pair), expected.reshape(a.shape))


@pytest.mark.task2_3b
@pytest.mark.parametrize(
    ("method", "values", "expected"),
    [
        (Tensor.log, [1.0, 0.0], [math.log(1 + 1e-6), math.log(1e-6)]),
        (Tensor.exp, [0.0, 3.0], [1.0, math.exp(3)]),
        (Tensor.sigmoid, [0.0, 3.0, -1000.0], [0.5, 1 / (1 + math.exp(-3)), 0.0]),
        (Tensor.relu, [3.0, 0.0, -3.0], [3.0, 0.0, 0.0]),
    ],
)
def test_methods_compute_the_function(method, values, expected):
    """log (shifted by 1e-6), exp, sigmoid and relu return the function's value for every element."""
    assert_close_tensor(method(tensor(values)), expected)


# The reductions


@pytest.mark.task2_3b
@pytest.mark.parametrize(("name", "on_tensors"), RED)
@given(x=tensors())
def test_reductions_compute_what_arrays_compute(name, on_tensors, x):
    """Sum and mean along dimension 0 keep it with size 1; the mean over all elements has shape (1,)."""
    array = x.to_numpy()
    expected = {
        "sum_red": array.sum(0, keepdims=True),
        "mean_red": array.mean(0, keepdims=True),
        "mean_full_red": array.mean().reshape(1),
    }
    assert_close_tensor(on_tensors(x), expected[name])


@pytest.mark.task2_3b
@pytest.mark.parametrize("reduction", ["sum", "mean", "all"])
@given(x_and_dim=tensors_and_dims(few_numbers))
def test_reductions_fold_the_named_dimension(reduction, x_and_dim):
    """sum, mean and all along dim keep it with size 1; keepdim=False removes it; -1 is the last dimension."""
    x, dim = x_and_dim
    method, on_arrays = getattr(x, reduction), getattr(np, reduction)
    assert_close_tensor(method(dim), on_arrays(x.to_numpy(), axis=dim, keepdims=True))
    assert_close_tensor(method(dim=dim - x.dims), on_arrays(x.to_numpy(), axis=dim, keepdims=True))
    assert_close_tensor(method(dim, keepdim=False), on_arrays(x.to_numpy(), axis=dim))


@pytest.mark.task2_3b
@pytest.mark.parametrize("reduction", ["sum", "mean", "all"])
@given(x=tensors(few_numbers))
@example(x=tensor(2.0))
@example(x=tensor([1.0, 0.5, 2.0]))
@example(x=tensor([[1.0, 2.0], [3.0, 0.0]]))
def test_reductions_without_a_dimension_fold_everything(reduction, x):
    """sum(), mean() and all() reduce all elements to one result of shape (1,), with keepdim=False of shape ()."""
    expected = getattr(np, reduction)(x.to_numpy())
    assert_close_tensor(getattr(x, reduction)(), [expected])
    assert_close_tensor(getattr(x, reduction)(keepdim=False), expected)


@pytest.mark.task2_3b
@pytest.mark.parametrize("dims", [(0, 2), (2, 0), [-1, 1], (0, 1, 2), (1,)])
@pytest.mark.parametrize("reduction", ["sum", "mean", "all"])
def test_reductions_take_several_dimensions(reduction, dims):
    """A tuple of dimensions reduces them all; a mean divides by the number of elements per result."""
    array = np.arange(24.0).reshape(2, 3, 4)
    method, on_arrays = getattr(tensor(array), reduction), getattr(np, reduction)
    assert_close_tensor(method(dims), on_arrays(array, axis=tuple(dims), keepdims=True))
    assert_close_tensor(method(dims, keepdim=False), on_arrays(array, axis=tuple(dims)))


@pytest.mark.task2_3b
def test_reductions_of_nothing():
    """The sum of no elements is 0, and all of no elements is true."""
    x = zeros((0, 3))
    assert_close_tensor(x.sum(0), [[0.0, 0.0, 0.0]])
    assert_close_tensor(x.sum(), [0.0])
    assert_close_tensor(x.sum(1), np.zeros((0, 1)))
    assert_close_tensor(x.all(0), [[True, True, True]])


@pytest.mark.task2_3b
@pytest.mark.parametrize("reduction", ["sum", "mean", "all"])
@pytest.mark.parametrize("dim", [2, -3, (0, 5)])
def test_reductions_along_a_missing_dimension_are_an_error(reduction, dim):
    """A matrix has dimensions 0 and 1, or -1 and -2: any other raises IndexingError."""
    with pytest.raises(IndexingError):
        getattr(tensor(MATRIX), reduction)(dim)


@pytest.mark.task2_3b
@pytest.mark.parametrize(("values", "expected"), [([0.5, -1.0], True), ([1.0, 0.0], False), ([0.0, 0.0], False), ([True, True], True)])
def test_all_asks_whether_none_is_zero(values, expected):
    """Every number except 0 counts as true; the result is bool."""
    result = tensor(values).all()
    assert result.tolist() == [expected]
    assert result.dtype.kind == "b"


# The layout


@pytest.mark.task2_3b
@given(data())
def test_permute_moves_dimensions(draw):
    """Dimension i of x.permute(order) is dimension order[i] of x; the order may be one tuple, and may count from the end."""
    x = draw.draw(tensors())
    order = draw.draw(sampled_from([tuple(np.roll(range(x.dims), k).tolist()) for k in range(x.dims)] + [tuple(range(x.dims))[::-1]]))
    expected = x.to_numpy().transpose(order)
    assert_close_tensor(x.permute(*order), expected)
    assert_close_tensor(x.permute(order), expected)
    assert_close_tensor(x.permute(*(dim - x.dims for dim in order)), expected)


@pytest.mark.task2_3b
@pytest.mark.parametrize("order", [(0,), (0, 0), (0, 2), (0, 1, 2)])
def test_an_order_that_does_not_name_each_dimension_once_is_an_error(order):
    """permute of a matrix expects 0 and 1 in either order; anything else raises IndexingError."""
    with pytest.raises(IndexingError):
        tensor(MATRIX).permute(*order)


@pytest.mark.task2_3b
@pytest.mark.parametrize("shape", [(6,), (3, 2), (1, 6, 1), (-1,), (3, -1), (-1, 6), (2, 3)])
def test_view_gives_the_elements_another_shape(shape):
    """The elements keep their order, last dimension fastest; a size of -1 is computed from the others, and the shape may be one tuple."""
    assert_close_tensor(tensor(MATRIX).view(*shape), MATRIX.reshape(shape))
    assert_close_tensor(tensor(MATRIX).view(shape), MATRIX.reshape(shape))


@pytest.mark.task2_3b
def test_views_share_the_storage():
    """permute and view copy nothing: a write into x shows in both."""
    x = tensor(MATRIX)
    permuted, viewed = x.permute(1, 0), x.view(3, 2)
    assert permuted._tensor._storage is x._tensor._storage
    assert viewed._tensor._storage is x._tensor._storage
    x[0, 2] = 30.0
    assert permuted[2, 0] == 30.0
    assert viewed[1, 0] == 30.0


@pytest.mark.task2_3b
@pytest.mark.parametrize("shape", [(6,), (2, 3), (4,), (-1, 4)])
def test_view_refuses_what_strides_cannot_do(shape):
    """If the elements are not contiguous, as after permute, or their number differs, view raises ValueError and copies nothing."""
    with pytest.raises(ValueError, match="view"):
        tensor(MATRIX).permute(1, 0).view(*shape)


@pytest.mark.task2_3b
@given(tensors())
def test_a_copy_of_a_permuted_tensor_can_be_viewed(x):
    """contiguous() makes the elements contiguous; then view(x.size) returns them in one dimension."""
    assert_close_tensor(x.contiguous().view(x.size), x.to_numpy().reshape(-1))


# What results remember


REMEMBERED = {
    "add": (lambda x: x + 2.0, Add),
    "radd": (lambda x: 2.0 + x, Add),
    "mul": (lambda x: x * 2.0, Mul),
    "rmul": (lambda x: 2.0 * x, Mul),
    "neg": (lambda x: -x, Neg),
    "lt": (lambda x: x < 2.0, LT),
    "gt": (lambda x: x > 2.0, LT),
    "eq": (lambda x: x == 2.0, EQ),
    "is_close": (lambda x: x.is_close(2.0), IsClose),
    "log": (lambda x: x.log(), Log),
    "exp": (lambda x: x.exp(), Exp),
    "sigmoid": (lambda x: x.sigmoid(), Sigmoid),
    "relu": (lambda x: x.relu(), ReLU),
    "all": (lambda x: x.all(0), All),
    "sum": (lambda x: x.sum(0), Sum),
    "sum_of_all": (lambda x: x.sum(), Sum),
    "permute": (lambda x: x.permute(1, 0), Permute),
    "view": (lambda x: x.view(6), View),
}


@pytest.mark.task2_3b
@pytest.mark.parametrize(("operation", "function"), REMEMBERED.values(), ids=REMEMBERED)
def test_a_result_remembers_its_function(operation, function):
    """The history of a result names the function that computed it, so that gradients can flow back; apply records it."""
    x = tensor(MATRIX, requires_grad=True)
    result = operation(x)
    assert result.history is not None, "without history; call the function through apply"
    assert result.history.last_fn is function


def leads_to(result, x):
    """Whether `result` was computed from `x`, directly or through other tensors."""
    return result is x or any(leads_to(parent, x) for parent in result.parents)


@pytest.mark.task2_3b
@pytest.mark.parametrize("operator", [add, sub, mul, lt, gt, eq, Tensor.is_close])
def test_a_result_remembers_both_operands(operator):
    """The history of an operator's result leads to both operands."""
    x, y = tensor([6.0], requires_grad=True), tensor([2.0], requires_grad=True)
    result = operator(x, y)
    assert leads_to(result, x)
    assert leads_to(result, y)


@pytest.mark.task2_3b
@pytest.mark.parametrize("operation", [Tensor.mean, Tensor.sum, Tensor.all, lambda x: x.mean((0, 1)), lambda x: x.sum(1, keepdim=False)])
def test_a_reduction_remembers_its_input(operation):
    """The history of a reduction's result leads to its input."""
    x = tensor(MATRIX, requires_grad=True)
    assert leads_to(operation(x), x)


@pytest.mark.task2_3b
def test_what_is_computed_from_constants_is_constant():
    """Tensors without history give results without history: there is nothing to differentiate."""
    a, b = tensor([6.0]), tensor([2.0])
    results = [a + b, a - b, a * b, -a, a < b, a > b, a == b, a.log(), a.exp(), a.sigmoid(), a.relu(), a.sum(0), a.mean(), a.permute(0)]
    assert [result.is_constant() for result in results] == [True] * len(results)
