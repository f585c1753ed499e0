"""What the Tensor layer spares: copies, scans and gradients that nobody needs. None of it may be seen in a result."""

import math

import numpy as np
import pytest

from minitorch import TensorBackend, TensorData, float32, float64, no_grad, tensor
from minitorch.tensor_data import LARGE, contiguous_layout
from minitorch.tensor_ops import SimpleOps
from tests.autograd.conftest import function


@pytest.mark.parametrize("length", [0, 1, LARGE - 1, LARGE, LARGE + 1])
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64"])
def test_an_empty_storage_has_its_length_and_a_large_one_begins_at_a_cache_line(length, dtype):
    data = TensorData.empty((length,), np.dtype(dtype))
    assert (data._storage.shape, data._storage.dtype, data.dtype) == ((length,), np.dtype(dtype), np.dtype(dtype))
    assert (data.shape, data.strides, data.offset, data.size, data.version) == ((length,), (1,), 0, length, 0)
    assert length < LARGE or data._storage.ctypes.data % 64 == 0


def test_zeros_are_zeros_in_storages_of_any_length():
    for length in (3, LARGE + 3):
        np.full(length, 7.0)  # what it leaves in memory
        assert not TensorData.zeros((length,)).array().any()


def test_strides_and_size_are_found_once_for_a_shape():
    assert contiguous_layout((2, 3, 4)) is contiguous_layout((2, 3, 4)) == ((12, 4, 1), 24)


def test_a_backend_that_reduces_several_dimensions_is_called_once():
    calls = []

    class Several(SimpleOps):
        reduces_many = True

        @staticmethod
        def reduce(fn, start=0.0):
            def reduced(a, dim, out=None):
                calls.append(dim)
                out._tensor.array()[...] = a.to_numpy().sum(dim, keepdims=True)
                return out

            return reduced

    x = tensor(np.ones((2, 3, 4)), backend=TensorBackend(Several))
    assert x.sum((0, -1)).tolist() == [[[8.0], [8.0], [8.0]]]
    assert calls == [(0, 2)]


def test_gradients_that_nobody_needs_are_not_computed():
    calls = []

    class Counting(SimpleOps):
        @staticmethod
        def zip(fn):
            made = SimpleOps.zip(fn)
            return lambda a, b, out=None: calls.append(fn) or made(a, b, out)

        @staticmethod
        def matrix_multiply(a, b):
            calls.append("matmul")
            return SimpleOps.matrix_multiply(a, b)

    backend = TensorBackend(Counting)
    x, w = tensor([[1.0, 2.0]], backend=backend, requires_grad=True), tensor([[3.0], [4.0]], backend=backend)
    out = x @ w
    calls.clear()
    out.backward()
    assert (calls, x.grad.tolist()) == (["matmul"], [[3.0, 4.0]])
    y = x * x.detach()
    calls.clear()
    y.backward(tensor([[1.0, 1.0]], backend=backend))
    assert len(calls) == 2  # the product, and the sum with the gradient that was there
    assert x.grad.tolist() == [[4.0, 6.0]]


def test_a_constant_result_records_nothing_though_forward_returns_a_leaf():
    same = function(lambda ctx, a: a, lambda ctx, grad_output: grad_output)
    x = tensor([1.0], requires_grad=True)
    with no_grad():
        assert same.apply(x).history is None
        assert function(lambda ctx, a: x).apply(tensor([2.0])).history is None
    assert x.requires_grad
    y = same.apply(x)
    assert y is not x
    assert x.is_leaf()
    assert y.history.last_fn is same


def test_a_result_is_never_the_argument_itself_though_forward_returns_that():
    chosen_of = function(lambda ctx, a, b, first: a if first else b, lambda ctx, grad_output: (grad_output, grad_output)).apply
    a, b = tensor([1.0]), tensor([2.0])
    for chosen, argument in ((chosen_of(a, b, True), a), (chosen_of(a, b, False), b)):
        assert chosen.tolist() == argument.tolist()
        chosen.requires_grad_()
        chosen.name = "chosen"
        assert not argument.requires_grad
        assert argument.name != "chosen"


def test_a_gradient_is_summed_over_whatever_was_broadcast():
    x = np.arange(24.0).reshape(2, 3, 4)
    for shape in [(4,), (1,), (), (3, 1), (1, 3, 4), (2, 1, 1), (1, 1, 1)]:
        leaf = tensor(np.ones(shape), requires_grad=True)
        (leaf * tensor(x)).sum().backward()
        axes = tuple(range(3 - len(shape))) + tuple(i + 3 - len(shape) for i, size in enumerate(shape) if size == 1)
        expected = x.sum(axes, keepdims=True).reshape(shape)
        assert leaf.grad.shape == shape
        assert np.array_equal(leaf.grad.to_numpy(), expected)


def test_a_gradient_with_more_dimensions_may_lie_in_any_order():
    leaf = tensor(np.zeros((3, 2)), requires_grad=True)
    x = np.arange(6.0).reshape(1, 2, 3)
    leaf.accumulate_derivative(tensor(x).permute(0, 2, 1))
    assert np.array_equal(leaf.grad.to_numpy(), x[0].T)


@pytest.mark.parametrize("number", [1e300, -1e300, 2.0**128 - 2.0**103])
def test_a_number_too_large_for_float32_is_infinite_without_a_warning(number):
    one = tensor([1.0], dtype=float32)
    assert (one * number).tolist() == [math.copysign(math.inf, number)]
    assert (one.to(float64) * number).tolist() == [number]
    assert tensor([number]).to(float32).tolist() == [math.copysign(math.inf, number)]


def test_the_largest_numbers_of_float32_stay_finite():
    most = float(np.finfo(np.float32).max)
    below = math.nextafter(2.0**128 - 2.0**103, 0)  # is rounded down
    assert (tensor([1.0], dtype=float32) * below).tolist() == [most]
    assert math.isnan((tensor([1.0], dtype=float32) * math.nan).item())


def test_zero_to_a_power_below_zero_is_infinite_with_the_sign_of_zero_if_the_power_is_odd():
    base, power = tensor([-0.0, 0.0, -0.0, 0.0, -0.0]), tensor([-1.0, -1.0, -2.0, -3.0, -0.5])
    assert (base**power).tolist() == [-math.inf, math.inf, math.inf, math.inf, math.inf]


def test_the_short_name_of_the_backend_is_the_backend():
    backend = TensorBackend(SimpleOps)
    x = tensor([1.0], backend=backend)
    assert x.f is x.backend is backend


def test_a_write_after_saving_is_noticed_and_one_before_is_not():
    x, w = tensor([1.0], requires_grad=True), tensor([2.0])
    w[0] = 3.0
    y = x * w
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [3.0]
    w.view(1)[0] = 4.0  # through a view
    with pytest.raises(RuntimeError, match="it has been written into since"):
        y.backward()
