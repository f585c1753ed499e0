"""CudaOps and the optimized kernels: their values, their dtypes, and how they divide a reduction."""

import math

import numpy as np
import pytest
from hypothesis import settings

import minitorch
from minitorch import CudaOps, Tensor, TensorBackend, TensorData, cuda_backend, operators, sum_practice, tensor
from minitorch.kernels.cuda import elementwise as cuda_kernels
from minitorch.kernels.cuda.device import _in_float32, jit, launch, number_function
from minitorch.kernels.cuda.elementwise import ReduceLayout, reduce_kernel
from minitorch.kernels.cuda.storage import DeviceData, coalesce_dims

from ..tensor_strategies import assert_close_tensor

few = settings(max_examples=25)


def at_most(x, y):
    """A user-defined function with a constant and a global."""
    return 1.0 if x <= y + HALF else 0.0


HALF = 0.5


# Map and zip


def test_user_defined_functions_run_on_the_gpu_in_both_floating_dtypes(cuda):
    x = np.array([0.0, 1.0, 2.0])
    for dtype in (np.float64, np.float32):
        out = cuda.zip(at_most)(tensor(x.astype(dtype), backend=cuda), tensor(np.full(3, 0.6, dtype), backend=cuda))
        assert out.dtype == dtype
        assert out.tolist() == [1.0, 1.0, 0.0]


def shifted(shift):
    """A function with a constant, a global and a closed-over number."""
    return lambda x: 1.5 * x + HALF + shift


def test_float32_stays_float32_inside_a_function():
    """Most GPUs compute float64 many times more slowly."""
    fn = shifted(0.25)
    single = _in_float32(fn)
    numbers = [*single.__code__.co_consts, single.__globals__["HALF"], *(cell.cell_contents for cell in single.__closure__)]
    assert [number for number in numbers if type(number) is float] == []
    assert [float(number) for number in numbers if type(number) is np.float32] == [1.5, 0.5, 0.25]
    assert type(single(np.float32(2.0))) is np.float32
    assert single(np.float32(2.0)) == 3.75
    assert type(fn(np.float64(2.0))) is np.float64, "the function itself is as it was"
    assert _in_float32(math.exp) is math.exp


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinity_and_nan_are_those_of_the_hardware(cuda):
    values = np.array([0.0, -1.0, 1000.0, -1000.0, math.inf, -math.inf, math.nan])
    x = tensor(values, backend=cuda)
    with np.errstate(all="ignore"):
        assert_close_tensor(1 / x, 1 / values)
        assert_close_tensor(x.exp(), np.exp(values))
        assert_close_tensor(x.log(), np.log(values + 1e-6))
        assert_close_tensor(x * x, values * values)
        assert_close_tensor(x.sigmoid(), np.array([0.5, 1 / (1 + math.e), 1, 0, 1, 0, math.nan]))
    assert math.isnan(x.sum().item())
    assert math.isnan(x.max().item())


def test_tensors_of_no_elements_launch_nothing(cuda):
    x = minitorch.zeros((0, 3), backend=cuda)
    assert (x + 1).shape == (0, 3)
    assert_close_tensor(x.sum(0), np.zeros((1, 3)))
    assert_close_tensor(x.prod(0), np.ones((1, 3)))
    assert x.sum(1).shape == (0, 1)


# Reduce


@pytest.mark.parametrize("length", [1, 2, 4, 5, 8, 9, 16, 17, 33, 127, 128, 129, 257])
@pytest.mark.parametrize("outputs", [1, 3])
def test_reduce_handles_any_length_in_any_layout(outputs, length):
    values = np.random.default_rng(length).standard_normal((outputs, length))
    x = tensor(values).to("cuda")
    turned = tensor(values.T.copy()).to("cuda").permute(1, 0)
    for y in (x, turned):
        assert_close_tensor(y.sum(1), values.sum(1, keepdims=True))


@pytest.mark.parametrize(
    "fold", [ReduceLayout(1, 8, True), ReduceLayout(2, 8, True), ReduceLayout(2, 8, False), ReduceLayout(4, 1, False)], ids=str
)
@pytest.mark.parametrize("length", [0, 1, 3, 7, 8, 9, 11, 40])
def test_no_division_of_a_reduction_includes_nonexistent_elements(length, fold):
    """The maximum of negative numbers and a product reveal what a sum of zeros would hide."""
    values = -1.0 - np.arange(3 * length).reshape(3, length) / 7
    source = DeviceData.of(TensorData(values.reshape(-1), values.shape))
    for fn, start, expected in ((operators.max, -math.inf, values.max(1, initial=-math.inf)), (operators.mul, 1.0, values.prod(1))):
        out = DeviceData.zeros((3, 1), np.float64)
        kernel = jit(reduce_kernel(number_function(fn, False), fold))
        grid = math.ceil(3 / fold.outputs), 1
        operands = source.source(), (3, length), (length, 1), 1, start
        launch(kernel, grid, fold.outputs * fold.lanes, out.target(), (3, 1), (1, 1), 3, *operands)
        np.testing.assert_allclose(out._storage, expected, 1e-12)


@pytest.mark.parametrize("length", [1000, 1024, 1025, 5000])
def test_a_long_sum_is_complete(length, cuda):
    """Beyond 1,024 elements, a reduction by a single block would return partial sums."""
    values = np.arange(length, dtype=float)
    assert tensor(values, backend=cuda).sum().item() == length * (length - 1) / 2
    assert tensor(values, backend=cuda).sum().shape == (1,)


def test_the_initial_value_is_used_once(cuda):
    for length in (0, 1, 5, 300):
        x = minitorch.zeros((2, length), backend=cuda) + 1
        assert cuda.reduce(operators.add, 10.0)(x, 1).tolist() == [[10.0 + length]] * 2


def test_integers_are_summed_exactly(cuda):
    values = np.full((2, 50), 2**53 + 1)
    assert tensor(values, backend=cuda).sum(1).tolist() == [[50 * (2**53 + 1)]] * 2
    assert tensor(np.full(100, 2**30, np.int32), backend=cuda).sum().item() == 100 * 2**30
    assert tensor(values > 0, backend=cuda).sum().item() == 100


@pytest.mark.parametrize("outputs", [1, 3, 100])
@pytest.mark.parametrize("length", [1, 15, 16, 17, 100, 1000, 4097, 131073])
@pytest.mark.parametrize("along", [True, False])
def test_every_partial_result_of_a_reduction_has_elements(outputs, length, along, monkeypatch):
    monkeypatch.setattr(cuda_kernels, "ENOUGH_BLOCKS", 1024)
    cells = cuda_kernels.Reduce(operators.add).cells(outputs, length, along)
    chunk = math.ceil(length / cells)
    assert (cells - 1) * chunk < length <= cells * chunk


def test_merging_dimensions_keeps_the_elements_and_their_order():
    assert coalesce_dims((2, 3, 4), (12, 4, 1), (12, 4, 1)) == ((24,), (1,), (1,))
    assert coalesce_dims((2, 3, 4), (12, 4, 1), (0, 4, 1)) == ((2, 12), (12, 1), (0, 1))
    assert coalesce_dims((2, 1, 4), (4, 7, 1)) == ((8,), (1,))
    assert coalesce_dims((3, 2), (1, 3)) == ((3, 2), (1, 3))
    assert coalesce_dims((), ()) == ((1,), (0,))
    assert coalesce_dims((2, 3), (0, 0)) == ((6,), (0,))


def test_more_elements_than_the_kernels_can_count_are_refused():
    with pytest.raises(ValueError, match=r"expected fewer than 2\^32 elements unless .* got shape \(65536, 65536\); call contiguous\(\)"):
        coalesce_dims((65536, 65536), (1, 65536))
    assert coalesce_dims((65536, 65536), (65536, 1)) == ((2**32,), (1,))


# Practice


def test_sum_practice_accepts_views_and_cpu_tensors():
    x = tensor([1.0, 2.0, 3.0, 4.0])[::2]
    assert sum_practice(x)._storage[0] == 4.0
    assert sum_practice(Tensor(TensorData([1.0, 2.0, 3.0], (2,), (2,)), backend=cuda_backend()))._storage[0] == 4.0


# The published way to create the backend


def test_a_backend_created_from_cuda_ops_is_the_gpu_backend():
    backend = TensorBackend(CudaOps)
    assert backend.cuda
    assert backend.name == "cuda"
    assert (tensor([1.0], backend=backend) + tensor([1.0]).to("cuda")).item() == 2.0
