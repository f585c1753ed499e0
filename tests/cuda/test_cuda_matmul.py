"""The matrix product on the GPU: register tiles, the textbook kernel's tiles, batches and layouts."""

import numpy as np
import pytest

import minitorch
from minitorch import cuda_ops, mm_practice, tensor
from minitorch.kernels.cuda import matmul as cuda_matmul
from minitorch.kernels.cuda.device import launch
from minitorch.kernels.cuda.storage import DeviceData

from ..op_table import tensor_in
from ..tensor_strategies import assert_close_tensor

rng = np.random.default_rng(3)
EDGES = [(1, 1, 1), (2, 3, 4), (7, 8, 9), (8, 8, 8), (9, 7, 8), (8, 4, 8), (8, 5, 8), (16, 3, 17), (17, 16, 15), (1, 20, 1), (3, 1, 9)]


def array_and_tensor(*shape, dtype=np.float64):
    """An array and its tensor on the GPU."""
    values = rng.standard_normal(shape).astype(dtype)
    return values, tensor(values).to("cuda")


BATCHES = [
    ((3, 2, 4), (3, 4, 2)), ((3, 2, 4), (1, 4, 2)), ((2, 4), (3, 4, 2)), ((2, 1, 3, 4), (3, 4, 2)), ((2, 3, 2, 2), (2, 1, 2, 3)),
    ((4,), (4, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [*(((n, k), (k, m)) for n, k, m in EDGES), *BATCHES])
def test_a_product_equals_numpy_at_every_tile_edge_and_the_dimensions_before_the_last_two_broadcast(first, second):
    (a, x), (b, y) = array_and_tensor(*first), array_and_tensor(*second)
    assert_close_tensor(x @ y, a @ b)


@pytest.mark.parametrize("layout", ["contiguous", "offset", "permuted", "sliced", "expanded"])
@pytest.mark.parametrize("other", ["contiguous", "permuted"])
def test_a_product_reads_any_layout(layout, other):
    for first, second in ((layout, other), (other, layout)):
        (x, a), (y, b) = tensor_in(rng.standard_normal((9, 6)), first), tensor_in(rng.standard_normal((6, 11)), second)
        assert_close_tensor(x.to("cuda") @ y.to("cuda"), a @ b)


def test_a_batch_larger_than_a_grid_is_split(monkeypatch):
    monkeypatch.setattr(cuda_ops, "MAX_BATCH", 2)
    (a, x), (b, y) = array_and_tensor(5, 2, 3), array_and_tensor(1, 3, 2)
    assert_close_tensor(x @ y, a @ b)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32])
def test_a_product_keeps_its_dtype(dtype):
    a, b = np.arange(30).reshape(5, 6).astype(dtype), np.arange(42).reshape(6, 7).astype(dtype)
    out = tensor(a).to("cuda") @ tensor(b).to("cuda")
    assert out.dtype == dtype
    assert (out.to_numpy() == a @ b).all()


def test_a_product_over_no_elements_is_zero_and_one_without_rows_is_empty(cuda):
    a, b = minitorch.zeros((2, 0), backend=cuda), minitorch.zeros((0, 3), backend=cuda)
    assert (a @ b).tolist() == [[0, 0, 0]] * 2
    assert (b @ minitorch.zeros((3, 2), backend=cuda)).shape == (0, 2)


def test_the_gradients_of_a_product_need_no_copies_of_the_transposes(cuda):
    (a, _), (b, _) = array_and_tensor(4, 5), array_and_tensor(5, 3)
    x, y = (tensor(values, backend=cuda, requires_grad=True) for values in (a, b))
    (x @ y).sum().backward()
    assert_close_tensor(x.grad, np.ones((4, 3)) @ b.T)
    assert_close_tensor(y.grad, a.T @ np.ones((4, 3)))


TILES = [cuda_matmul.Tiles(8, 8, 8, 2, 4), cuda_matmul.Tiles(4, 8, 4, 2, 1), cuda_matmul.Tiles(4, 4, 4, 1, 1)]


@pytest.mark.parametrize("tiles", TILES, ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_the_tile_sizes_do_not_affect_the_result(tiles, turned):
    (a, x), (b, y) = array_and_tensor(9, 10), array_and_tensor(10, 5)
    if turned:
        x, y = tensor(a.T.copy()).to("cuda").permute(1, 0), tensor(b.T.copy()).to("cuda").permute(1, 0)
    out = DeviceData.zeros((9, 5), np.float64)
    kernel = cuda_matmul.Product(tiles)
    sizes = (1, 9, 10), (0, *x.stride()), (1, 10, 5), (0, *y.stride())
    operands = x._tensor.source(), *sizes[:2], y._tensor.source(), *sizes[2:]
    launch(kernel, kernel.grid(9, 5, 1), kernel.threads, out.target(), (1, 9, 5), (45, 5, 1), 45, *operands)
    np.testing.assert_allclose(out.array(), a @ b, 1e-12, 1e-12)


def test_a_product_with_millions_of_rows_or_columns_fits_into_a_grid():
    """A grid may have 2^31 - 1 blocks in its first dimension, and 65,535 in the others."""
    kernel = cuda_matmul.Product(cuda_matmul.Tiles(32, 32, 16, 2, 2))
    assert kernel.grid(10_000_000, 40, 3) == (625_000, 1, 3)
    assert kernel.grid(40, 10_000_000, 3) == (625_000, 1, 3)


def test_tiles_that_the_threads_cannot_divide_are_refused():
    with pytest.raises(
        ValueError, match=r"Tiles expected a number of threads that rows, columns and depth divide, .* got 4 threads for Tiles\(rows=4"
    ):
        cuda_matmul.Tiles(4, 8, 2, 2, 4)


def test_mm_practice_refuses_matrices_larger_than_one_block():
    message = r"mm_practice expected two square matrices of one size of at most 32, got \(33, 33\) and \(33, 33\); use a @ b"
    with pytest.raises(ValueError, match=message):
        mm_practice(minitorch.zeros((33, 33)), minitorch.zeros((33, 33)))
    with pytest.raises(ValueError, match=r"got \(2, 3\) and \(3, 2\)"):
        mm_practice(minitorch.zeros((2, 3)), minitorch.zeros((3, 2)))
