"""The course's own kernels, textbook and optimized, in the interpreter: the right values and no findings."""

import numpy as np
import pytest

from minitorch import cuda_conv, cuda_ops, operators
from minitorch.cuda import inspect_kernel
from minitorch.kernels.cuda import conv as conv_kernels
from minitorch.kernels.cuda import elementwise, matmul
from minitorch.kernels.cuda.device import SIMULATED, number_function

pytestmark = pytest.mark.skipif(SIMULATED, reason="NOT RUN: the simulator's kernels have smaller blocks; see test_other_numba.py")

SHAPE, STRIDES, BROADCAST = (3, 5, 40), (200, 40, 1), (0, 40, 1)
SIZE = 600
X = np.linspace(-2.0, 2.0, SIZE)
Y = np.linspace(0.5, 3.0, 200)


def out(size=SIZE, dtype=np.float64):
    return np.full(size, -1.0, dtype)


def run(kernel, grid, block, *args):
    report = inspect_kernel(kernel, grid, block, *args)
    assert report.findings == [], "\n".join(map(str, report.findings))
    return report


@pytest.mark.parametrize("fn", [operators.neg, operators.sigmoid, operators.exp])
def test_tensor_map_computes_each_element_once(fn):
    report = run(cuda_ops.tensor_map(number_function(fn)), 3, 256, out(), SHAPE, STRIDES, SIZE, X, SHAPE, STRIDES)
    np.testing.assert_allclose(report.arrays["out"], [fn(x) for x in X.tolist()], rtol=1e-12)
    assert (report.count_cells("out", "write") == 1).all()


def test_tensor_zip_broadcasts():
    kernel = cuda_ops.tensor_zip(number_function(operators.mul))
    report = run(kernel, 3, 256, out(), SHAPE, STRIDES, SIZE, X, SHAPE, STRIDES, Y, (5, 40), (40, 1))
    np.testing.assert_array_equal(report.arrays["out"], (X.reshape(SHAPE) * Y.reshape(5, 40)).reshape(-1))
    assert (report.count_cells("b_storage") == 3).all()


def test_tensor_reduce_sums_rows_of_1500_elements_in_two_cells():
    a = np.arange(3000.0)
    kernel = cuda_ops.tensor_reduce(number_function(operators.add))
    report = run(kernel, 4, 1024, out(4), (2, 2), (2, 1), 4, a, (2, 1500), (1500, 1), 1, 0.0)
    rows = a.reshape(2, 1500)
    np.testing.assert_array_equal(
        report.arrays["out"], [rows[0, :1024].sum(), rows[0, 1024:].sum(), rows[1, :1024].sum(), rows[1, 1024:].sum()]
    )
    assert (report.count_cells("a_storage") == 1).all()


def test_sum_practice_sums_blocks_of_32():
    a = np.arange(70.0)
    report = run(cuda_ops._sum_practice, 3, 32, out(3), a, 70)
    np.testing.assert_array_equal(report.arrays["out"], [a[:32].sum(), a[32:64].sum(), a[64:].sum()])


def test_mm_practice_multiplies():
    rng = np.random.default_rng(0)
    a, b = rng.random((20, 20)), rng.random((20, 20))
    report = run(cuda_ops._mm_practice, 1, (32, 32), out(400), a.reshape(-1), b.reshape(-1), 20)
    np.testing.assert_allclose(report.arrays["out"].reshape(20, 20), a @ b, rtol=1e-12)
    assert (report.count_cells("a") == 1).all()
    assert (report.count_cells("b") == 1).all()


def product_arguments(dtype, n=2, rows=45, inner=37, columns=50):
    rng = np.random.default_rng(1)
    a, b = rng.random((n, rows, inner)).astype(dtype), rng.random((n, inner, columns)).astype(dtype)
    sizes = out(n * rows * columns, dtype), (n, rows, columns), (rows * columns, columns, 1), n * rows * columns
    operands = a.reshape(-1), a.shape, (rows * inner, inner, 1), b.reshape(-1), b.shape, (inner * columns, columns, 1)
    return (a @ b), (*sizes, *operands)


def test_the_textbook_product_reads_each_element_once_per_block():
    expected, args = product_arguments(np.float64)
    report = run(cuda_ops._tensor_matrix_multiply, (2, 2, 2), (32, 32), *args)
    np.testing.assert_allclose(report.arrays["out"].reshape(expected.shape), expected, rtol=1e-12)
    assert (report.count_cells("a_storage") == 2).all()
    assert (report.count_cells("b_storage") == 2).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_optimized_product_multiplies(dtype):
    expected, args = product_arguments(dtype)
    tiles = matmul.SMALL[np.dtype(dtype)]
    report = run(matmul.product_kernel(tiles), (2 * 2, 1, 2), tiles.threads, *args)
    np.testing.assert_allclose(report.arrays["out"].reshape(expected.shape), expected, rtol=1e-5)
    assert (report.count_cells("out", "write") == 1).all()


def test_the_optimized_map_and_zip_compute_each_element_once():
    mapped = elementwise.map_kernel(number_function(operators.sigmoid, single=True))
    report = run(mapped, 1, 256, out(dtype=np.float32), SHAPE, STRIDES, SIZE, X.astype(np.float32), SHAPE, STRIDES)
    np.testing.assert_allclose(report.arrays["out"], 1 / (1 + np.exp(-X.astype(np.float32))), rtol=1e-6)
    zipped = elementwise.zip_kernel(number_function(operators.add))
    report = run(zipped, 1, 256, out(), SHAPE, STRIDES, SIZE, X, SHAPE, STRIDES, Y, SHAPE, BROADCAST)
    np.testing.assert_array_equal(report.arrays["out"], (X.reshape(SHAPE) + Y.reshape(5, 40)).reshape(-1))


@pytest.mark.parametrize("layout", [elementwise.ROW, elementwise.SHORT_ROW, elementwise.COLUMN, elementwise.SHORT_COLUMN])
def test_the_optimized_reduction_sums_rows(layout):
    a = np.arange(2800.0).reshape(7, 400)
    kernel = elementwise.reduce_kernel(number_function(operators.add), layout)
    grid = -(-7 // layout.outputs), 1
    report = run(kernel, grid, layout.outputs * layout.lanes, out(7), (7, 1), (1, 1), 7, a.reshape(-1), (7, 400), (400, 1), 1, 0.5)
    np.testing.assert_array_equal(report.arrays["out"], a.sum(1) + 0.5)
    assert (report.count_cells("a") == 1).all()


def convolved(a, weight):
    """The course's convolution: the window reaches down and to the right, and beyond the image is 0."""
    padded = np.pad(a, ((0, 0), (0, 0), (0, weight.shape[2] - 1), (0, weight.shape[3] - 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    return np.einsum("bchwij,ocij->bohw", windows, weight)


def layout(array):
    return array.reshape(-1), array.shape, tuple(stride // array.itemsize for stride in array.strides)


SMALL, LARGE = (5, 3, 2, 3), (3, 3, 5, 6)


@pytest.mark.parametrize(
    ("kernel", "blocks", "block", "window", "sized", "last"),
    [
        (conv_kernels.convolution_kernel(), (2, 1), conv_kernels.THREADS, SMALL, False, [1]),
        (conv_kernels.long_sums_kernel(), (2 * 2 * 2, 1), conv_kernels.THREADS, LARGE, False, []),
        (cuda_conv._tensor_conv2d, None, cuda_conv.CONV_BLOCK, SMALL, True, [False]),
    ],
    ids=["optimized", "optimized, with a large window", "of the textbook"],
)
def test_convolutions_convolve(kernel, blocks, block, window, sized, last):
    rng = np.random.default_rng(2)
    a, weight = rng.random((2, 3, 6, 7)), rng.random(window)
    expected = convolved(a, weight)[(slice(None), slice(None), *[slice(2)] * 2 * (window is LARGE))]
    result = np.zeros(expected.shape)
    size = [result.size] if sized else []
    report = run(kernel, blocks or -(-result.size // block), block, *layout(result), *size, *layout(a), *layout(weight), *last)
    np.testing.assert_allclose(report.arrays["out"].reshape(expected.shape), expected, rtol=1e-12)
