"""The given parts of tensor_ops and tensor_functions: backends, dtypes, hardware results, out=, matrix products, apply."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import data, integers, sampled_from

from minitorch import IndexingError, SimpleBackend, SimpleOps, TensorBackend, TensorOps, operators, tensor, zeros
from minitorch.core import math_operators
from minitorch.core.context import TensorContext
from minitorch.core.dtypes import DTYPES, bool_, comparison_dtype, float32, float64, int32, int64, promote_to_float, promote_types
from minitorch.tensor_data import MAX_DIMS, index_to_position, to_index
from minitorch.tensor_functions import All, Copy, Function, Inv, IsClose, MatMul, Neg, View
from minitorch.tensor_ops import ieee, tensor_matrix_multiply

from .errors import raises
from .tensor_strategies import arrays, assert_close_tensor, few_numbers, laid_out, tensors


class OtherOps(SimpleOps):
    """Another backend that computes the same results."""

    name = "other"


OtherBackend = TensorBackend(OtherOps)

ABSTRACT = "TensorOps has no operations of its own; use SimpleOps, or define {} in the subclass"
OUT = "out expected shape {}, got (3,); pass a tensor of that shape, or leave it out"
MATMUL = "matmul expected shapes (…, n, k) and (…, k, m), got {}; the last size of the first must be the last but one of the second"
NO_GRADIENT = "has no gradient: it defines no backward; call x.detach() before it"
FUNCTIONS = vars(operators) | vars(math_operators)
DEFINE = "define backward(ctx, grad_output) in the subclass"


# The backend


X = tensor([[1.0, -2.0], [3.0, 0.5]])
INTEGERS, HALVES = tensor([1, 2], dtype=int64), tensor([0.5, 0.25])


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("neg_map", ([1.0, -2.0],), [-1.0, 2.0]),
        ("id_map", ([1.0, -2.0],), [1.0, -2.0]),
        ("relu_map", ([1.0, -2.0],), [1.0, 0.0]),
        ("sigmoid_map", ([0.0, 2.0],), [0.5, 1 / (1 + math.exp(-2))]),
        ("log_map", ([0.0, 2.0],), [math.log(1e-6), math.log(2 + 1e-6)]),
        ("exp_map", ([0.0, 2.0],), [1.0, math.exp(2)]),
        ("inv_map", ([4.0, -0.5],), [0.25, -2.0]),
        ("add_zip", ([1.0, 2.0], [3.0, 5.0]), [4.0, 7.0]),
        ("mul_zip", ([1.0, 2.0], [3.0, 5.0]), [3.0, 10.0]),
        ("lt_zip", ([1.0, 2.0], [3.0, 2.0]), [True, False]),
        ("eq_zip", ([1.0, 2.0], [3.0, 2.0]), [False, True]),
        ("is_close_zip", ([1.0, 2.0], [3.0, 2.001]), [False, True]),
        ("relu_back_zip", ([1.0, -2.0], [3.0, 5.0]), [3.0, 0.0]),
        ("log_back_zip", ([0.5, 2.0], [3.0, 5.0]), [3 / (0.5 + 1e-6), 5 / (2 + 1e-6)]),
        ("inv_back_zip", ([0.5, 2.0], [3.0, 5.0]), [-12.0, -1.25]),
        ("add_reduce", ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1), [[6.0], [15.0]]),
        ("add_reduce", ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], -1), [[6.0], [15.0]]),
        ("mul_reduce", ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1), [[6.0], [120.0]]),
        ("mul_reduce", ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], -1), [[6.0], [120.0]]),
    ],
)
def test_a_backend_has_all_operations(name, values, expected):
    operands = [tensor(value) if isinstance(value, list) else value for value in values]
    assert_close_tensor(getattr(SimpleBackend, name)(*operands), expected)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # A backend creates operations from any function.
        (lambda: SimpleBackend.map(abs)(X), [[1.0, 2.0], [3.0, 0.5]]),
        (lambda: SimpleBackend.zip(max)(X, tensor([1.0])), [[1.0, 1.0], [3.0, 1.0]]),
        (lambda: SimpleBackend.reduce(max, -math.inf)(X, 0), [[3.0, 0.5]]),
        # SimpleOps works without a backend.
        (lambda: SimpleOps.map(operators.neg)(INTEGERS), [-1, -2]),
        (lambda: SimpleOps.zip(operators.add)(INTEGERS, HALVES), [1.5, 2.25]),
        (lambda: SimpleOps.reduce(operators.mul, 1.0)(HALVES, -1), [0.125]),
        (lambda: SimpleOps.reduce(operators.add)(HALVES, 0), [0.75]),
        # A reduction into out ignores its old contents.
        (lambda: SimpleBackend.add_reduce(tensor([[1.0, 2.0], [3.0, 4.0]]), 1, tensor([[100.0], [200.0]])), [[3.0], [7.0]]),
    ],
)
def test_an_operation_has_its_value(call, expected):
    assert_close_tensor(call(), expected)


@pytest.mark.parametrize(
    ("call", "dtype", "expected"),
    [
        (lambda: SimpleBackend.neg_map(tensor([True, False])), int64, [-1, 0]),
        (lambda: tensor([[1, 2]], dtype=int64) @ tensor([[0.5], [0.25]], dtype=float32), float64, [[1.0]]),
        # 2**60 + 1 has no exact float64: integers stay exact.
        (lambda: SimpleBackend.relu_map(tensor(np.array([2**60 + 1, -5]))), int64, [2**60 + 1, 0]),
        (lambda: tensor(np.array([2**60 + 1, -5])) + 1, int64, [2**60 + 2, -4]),
        (lambda: tensor(np.array([2**60 + 1, -5])).sum(), int64, [2**60 - 4]),
    ],
)
def test_a_result_has_its_dtype_and_value(call, dtype, expected):
    assert (call().dtype, call().tolist()) == (dtype, expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SimpleBackend.add_reduce(zeros((2, 3)), 2), IndexingError, "dimension 2 is out of range for shape (2, 3), which has 2"),
        (lambda: TensorOps.map(operators.add), RuntimeError, ABSTRACT.format("map")),
        (lambda: TensorOps.zip(operators.add), RuntimeError, ABSTRACT.format("zip")),
        (lambda: TensorOps.reduce(operators.add), RuntimeError, ABSTRACT.format("reduce")),
        (lambda: TensorOps.matrix_multiply(zeros((1, 1)), zeros((1, 1))), RuntimeError, ABSTRACT.format("matrix_multiply")),
        (lambda: SimpleBackend.neg_map(zeros((2, 3)), zeros((3,))), ValueError, OUT.format((2, 3))),
        (lambda: SimpleBackend.add_zip(zeros((2, 1)), zeros((4,)), zeros((3,))), ValueError, OUT.format((2, 4))),
        (lambda: SimpleBackend.add_reduce(zeros((2, 3)), 0, zeros((3,))), ValueError, OUT.format((1, 3))),
        (lambda: MatMul.apply(zeros((2, 3)), zeros((2, 3))), ValueError, MATMUL.format("(2, 3) and (2, 3)")),
        (lambda: MatMul.apply(zeros((3,)), zeros((3, 1))), ValueError, MATMUL.format("(3,) and (3, 1)")),
        (lambda: MatMul.apply(zeros((2, 2)), zeros((2,))), ValueError, MATMUL.format("(2, 2) and (2,)")),
        (lambda: MatMul.apply(zeros(()), zeros(())), ValueError, MATMUL.format("() and ()")),
        (lambda: All.apply(tensor([1.0], requires_grad=True), 0).backward(), RuntimeError, f"All {NO_GRADIENT}"),
        (lambda: IsClose.apply(tensor([1.0], requires_grad=True), tensor([1.0])).backward(), RuntimeError, f"IsClose {NO_GRADIENT}"),
        (lambda: Function.backward(TensorContext(Neg), tensor([1.0])), RuntimeError, f"a Function has no backward of its own; {DEFINE}"),
    ],
)
def test_a_wrong_call_is_refused(call, error, message):
    with raises(error, message):
        call()


def test_an_operation_is_created_once():
    backend = TensorBackend(SimpleOps)
    assert backend.map(operators.neg) is backend.map(operators.neg)
    assert backend.zip(operators.add) is backend.add_zip
    assert backend.reduce(operators.add, 0.0) is not backend.reduce(operators.add, 1.0)


def test_one_function_can_return_several_dtypes():
    x = tensor([1, 0], dtype=int64)
    for result, dtype in [(promote_types, int64), (promote_to_float, float64), (comparison_dtype, bool_)]:
        assert SimpleBackend.map(operators.id, result)(x).dtype == dtype
        assert SimpleBackend.zip(operators.mul, result)(x, x).dtype == dtype
        assert SimpleBackend.reduce(operators.mul, 1.0, result)(x, 0).dtype == dtype


def test_the_repr_of_a_backend_names_its_operations():
    assert (SimpleBackend.name, SimpleBackend.cuda, SimpleBackend.ops) == ("simple", False, SimpleOps)
    assert repr(SimpleBackend) == "TensorBackend(SimpleOps)"


def test_a_backend_can_be_pickled():
    copy = pickle.loads(pickle.dumps(SimpleBackend))
    assert copy.ops is SimpleOps
    assert copy.neg_map(tensor([1.0])).tolist() == [-1.0]


# The dtype of a result


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_map_has_a_dtype_that_can_represent_its_values(dtype):
    """Floats keep their dtype; e^x, ln, sigmoid and 1/x of integers and bools have the default dtype."""
    x = tensor([1, 0], dtype=dtype)
    for name in ("exp_map", "log_map", "sigmoid_map", "inv_map"):
        assert getattr(SimpleBackend, name)(x).dtype == (dtype if dtype.kind == "f" else float64)
    for name in ("id_map", "relu_map"):
        assert getattr(SimpleBackend, name)(x).dtype == dtype


@pytest.mark.parametrize("first", DTYPES, ids=str)
@pytest.mark.parametrize("second", DTYPES, ids=str)
def test_zips_promote_as_numpy_does(first, second):
    a, b = tensor([1, 0, 1], dtype=first), tensor([1, 1, 0], dtype=second)
    for name, on_arrays in [("add_zip", np.add), ("mul_zip", np.multiply), ("lt_zip", np.less), ("eq_zip", np.equal)]:
        result, expected = getattr(SimpleBackend, name)(a, b), on_arrays(a.to_numpy(), b.to_numpy())
        assert_close_tensor(result, expected)
        assert result.dtype == expected.dtype


@pytest.mark.parametrize(("dtype", "total"), [(float64, float64), (float32, float32), (int64, int64), (int32, int64), (bool_, int64)])
@pytest.mark.parametrize(("name", "expected"), [("add_reduce", [2]), ("mul_reduce", [0])])
def test_a_reduction_has_a_dtype_with_sufficient_range(dtype, total, name, expected):
    result = getattr(SimpleBackend, name)(tensor([True, False, True], dtype=dtype), 0)
    assert (result.dtype, result.tolist()) == (total, expected)


# Where Python raises an error


@pytest.mark.parametrize(
    ("name", "dtype", "values", "expected"),
    [
        ("exp_map", float64, [709.0, 710.0, -1000.0], [math.exp(709), math.inf, 0.0]),
        ("exp_map", float32, [709.0, 710.0, -1000.0], [math.inf, math.inf, 0.0]),
        *(("log_map", dtype, [-1.0, math.inf], [math.nan, math.inf]) for dtype in (float64, float32)),
        *(("inv_map", dtype, [0.0, -0.0, math.inf], [math.inf, -math.inf, 0.0]) for dtype in (float64, float32)),
        *(("sigmoid_map", dtype, [math.inf, -math.inf, math.nan], [1.0, 0.0, math.nan]) for dtype in (float64, float32)),
    ],
)
def test_where_python_raises_results_are_those_of_the_hardware(name, dtype, values, expected):
    """Infinity or NaN without a warning: a whole tensor must not fail because of one element."""
    result = getattr(SimpleBackend, name)(tensor(values, dtype=dtype))
    assert result.dtype == dtype
    np.testing.assert_allclose(result.to_numpy(), np.array(expected, dtype))


@pytest.mark.parametrize(
    ("name", "xs", "expected"),
    [
        *(("inv", (0.0,), math.inf), ("inv", (-0.0,), -math.inf), ("inv", (4.0,), 0.25)),
        *(("inv_back", (0.0, 1.0), -math.inf), ("inv_back", (0.0, -2.0), math.inf), ("inv_back", (0.0, 0.0), math.nan)),
        *(("log_back", (-1e-6, 3.0), math.inf), ("log", (-2.0,), math.nan), ("exp", (1000.0,), math.inf)),
        *(("sqrt", (-1.0,), math.nan), ("sin", (math.inf,), math.nan)),
        *(("power", (10.0, 400.0), math.inf), ("power", (-10.0, 401.0), -math.inf), ("power", (-10.0, 400.0), math.inf)),
        *(("power", (-8.0, 0.5), math.nan), ("power", (0.0, -1.0), math.inf), ("power", (2.0, 3.0), 8.0)),
    ],
)
def test_a_function_gives_hardware_results(name, xs, expected):
    np.testing.assert_equal(ieee(FUNCTIONS[name])(*xs), expected)


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_overflow_is_infinity_without_a_warning(dtype):
    x = tensor([np.finfo(dtype).max], dtype=dtype)
    assert (x + x).tolist() == [math.inf]
    assert (-x * x).tolist() == [-math.inf]
    assert SimpleBackend.add_reduce(tensor(np.array([x.item(), x.item()], dtype)), 0).tolist() == [math.inf]
    assert SimpleBackend.matrix_multiply(x.view(1, 1), x.view(1, 1)).tolist() == [[math.inf]]


# out=


def test_an_operation_writes_into_out():
    """out may have any layout and dtype; the result is out itself, and the write is counted."""
    x, y = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), tensor([10.0, 20.0, 30.0])
    out = zeros((3, 2)).permute(1, 0)
    version = out._tensor.version
    assert SimpleBackend.neg_map(x, out) is out
    assert_close_tensor(out, -x.to_numpy())
    assert SimpleBackend.add_zip(x, y, out) is out
    assert_close_tensor(out, x.to_numpy() + y.to_numpy())
    column = zeros((2, 1), dtype=int64)
    assert SimpleBackend.add_reduce(x, 1, column) is column
    assert column.tolist() == [[6], [15]]
    assert out._tensor.version == version + 2


def test_an_operand_that_backward_needs_must_not_be_out():
    x, y = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 4.0])
    product = (x * y).sum()
    SimpleBackend.neg_map(x.detach(), y)
    with pytest.raises(RuntimeError, match="backward of Mul needs a tensor of shape"):
        product.backward()


# Matrix products


BATCHES = [((), ()), ((2,), (2,)), ((2,), ()), ((), (3,)), ((2, 1), (3,)), ((1,), (3,))]


@settings(max_examples=50)
@given(data())
def test_the_matrix_product_equals_numpy(draw):
    """For any layout; the dimensions before the last two broadcast."""
    n, k, m = (draw.draw(integers(1, 3)) for _ in range(3))
    a_batch, b_batch = draw.draw(sampled_from(BATCHES))
    a, b = draw.draw(tensors(shape=(*a_batch, n, k))), draw.draw(tensors(shape=(*b_batch, k, m)))
    assert_close_tensor(a @ b, a.to_numpy() @ b.to_numpy(), 1e-9)


@pytest.mark.parametrize(("a", "b"), [((0, 2), (2, 3)), ((2, 0), (0, 3)), ((2, 3), (3, 0)), ((0, 2, 2), (2, 2)), ((3, 1, 0), (0, 2))])
def test_a_matrix_product_over_no_elements_is_zero(a, b):
    """A sum of no products is 0."""
    assert_close_tensor(zeros(a) @ zeros(b), np.zeros(a) @ np.zeros(b))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_matrix_product_has_the_dtype_of_its_factors(dtype):
    result = tensor([[1, 0], [1, 1]], dtype=dtype) @ tensor([[1, 1], [0, 1]], dtype=dtype)
    assert result.dtype == dtype
    assert result.tolist() == (np.array([[1, 0], [1, 1]], dtype) @ np.array([[1, 1], [0, 1]], dtype)).tolist()


def test_the_matrix_product_writes_by_strides():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    out = laid_out(np.zeros((2, 4)), (2, 5))
    tensor_matrix_multiply(*out.tuple(), a.reshape(-1), (2, 3), (3, 1), b.reshape(-1), (3, 4), (4, 1))
    np.testing.assert_array_equal(out.array(), a @ b)


@pytest.mark.parametrize(("a_shape", "b_shape"), [((2, 3), (3, 4)), ((2, 2, 3), (3, 1)), ((2, 1, 1, 3), (2, 3, 2))])
def test_the_gradient_of_a_matrix_product_is_a_product_with_the_transpose(a_shape, b_shape):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=a_shape), rng.normal(size=b_shape)
    x, y = tensor(a, requires_grad=True), tensor(b, requires_grad=True)
    out = x @ y
    weights = rng.normal(size=out.shape)
    out.backward(tensor(weights))
    for leaf, full in [(x, weights @ b.swapaxes(-1, -2)), (y, a.swapaxes(-1, -2) @ weights)]:
        summed = full.sum(tuple(range(full.ndim - leaf.dims)))
        ones = tuple(d for d, size in enumerate(leaf.shape) if size == 1 and summed.shape[d] > 1)
        assert_close_tensor(leaf.grad, summed.sum(ones, keepdims=True))


# Given functions


@given(tensors())
def test_neg_and_copy_equal_numpy(x):
    assert_close_tensor(Neg.apply(x), -x.to_numpy())
    copy = Copy.apply(x)
    assert_close_tensor(copy, x.to_numpy())
    assert copy.is_contiguous()
    assert copy._tensor._storage is not x._tensor._storage


@pytest.mark.parametrize("d", [1.0, -3.0])
def test_the_gradient_of_an_inverse_is_that_of_its_formula(d):
    x = tensor([4.0, -0.5], requires_grad=True)
    Inv.apply(x).backward(tensor([d, d]))
    assert_close_tensor(x.grad, [-d / 16, -4 * d])


@given(arrays(few_numbers, (3, 2)))
def test_the_gradient_of_a_view_is_in_the_order_of_its_input(weights):
    """Also if the gradient arrives in another order, here as the permuted gradient of a permuted tensor."""
    x = tensor(np.zeros(6), requires_grad=True)
    View.apply(x, (2, 3)).permute(1, 0).backward(tensor(weights))
    assert_close_tensor(x.grad, weights.T.reshape(-1))


# Function.apply


def test_an_operation_stays_on_the_backend_of_its_inputs():
    x = tensor([[1.0, 2.0]], backend=OtherBackend)
    for result in [x + 1, 1 - x, -x, x < x, x.sum(), x.mean(0), x.permute(1, 0), x.view(2), x @ x.t(), x.exp()]:
        assert result.backend is OtherBackend


def test_operations_inside_forward_are_not_recorded():
    """Only the call itself is part of the graph."""
    x, seen = tensor([1.0, 2.0], requires_grad=True), []

    def forward(ctx, a):
        seen.append((a * 2).history)
        return a * 2

    parts = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, grad_output: grad_output * 2)}
    result = type("Twice", (Function,), parts).apply(x)
    assert seen == [None]
    assert list(result.parents) == [x]
    result.backward(tensor([1.0, 10.0]))
    assert_close_tensor(x.grad, [2.0, 20.0])


def test_apply_records_again_after_an_error():
    x = tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(IndexingError):
        x + zeros((3,))
    assert (x + 1).history is not None


def test_the_published_method_names_call_forward_and_backward():
    ctx = TensorContext(Neg, (HALVES,))
    assert_close_tensor(Neg._forward(ctx, HALVES), [-0.5, -0.25])
    (grad,) = Neg._backward(ctx, tensor([5.0, 3.0]))
    assert_close_tensor(grad, [-5.0, -3.0])


# Errors of user-defined functions, and kernels of published solutions


@pytest.mark.parametrize(
    ("fn", "value", "error"),
    [(lambda x: -math.exp(x), 1000.0, OverflowError), (math.sinh, -1000.0, OverflowError), (math.acos, 2.0, ValueError)],
)
def test_errors_of_a_user_defined_function_propagate(fn, value, error):
    """The sign of the overflow is unknown: infinity would be a guess."""
    with pytest.raises(error):
        SimpleBackend.map(fn)(tensor([value]))


def published_map(fn):
    """A kernel as many solutions write it: it loops over the storage of out, not over its elements."""

    def kernel(out, out_shape, out_strides, in_storage, in_shape, in_strides):
        index = np.zeros(MAX_DIMS, np.int32)
        for i in range(len(out)):
            to_index(i, out_shape, index)
            out[index_to_position(index, out_strides)] = fn(in_storage[index_to_position(index, in_strides)])

    return kernel


def test_a_kernel_that_assumes_contiguity_can_write_a_result_with_gaps(monkeypatch):
    monkeypatch.setattr("minitorch.tensor_ops.tensor_map", published_map)
    out = zeros((2, 4))
    SimpleOps.map(operators.neg)(tensor([[1.0, 2.0], [3.0, 4.0]]), out[:, ::2])
    assert out.tolist() == [[-1.0, 0.0, -2.0, 0.0], [-3.0, 0.0, -4.0, 0.0]]


def test_a_narrow_view_of_a_wide_storage_is_read_correctly():
    x = np.arange(60.0).reshape(3, 20)
    column = tensor(x)[:, 7:8]
    assert SimpleBackend.neg_map(column).tolist() == (-x[:, 7:8]).tolist()
    assert SimpleBackend.add_zip(column, tensor(x)[0:1, ::19]).tolist() == (x[:, 7:8] + x[0:1, ::19]).tolist()
    assert SimpleBackend.add_reduce(column, 0).tolist() == [[81.0]]


def test_a_backend_can_be_selected_by_name():
    x = tensor([1.0], backend=OtherBackend).to("simple")
    assert x.backend is SimpleBackend
    assert (x.device, x.to("simple") is x) == ("cpu", True)
