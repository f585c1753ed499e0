"""Task 3.4: the tiled matrix product on the GPU, and practice with one block."""

import numpy as np
import pytest

from minitorch import CudaOps, grad_check, mm_practice, tensor
from minitorch.cuda_ops import BLOCK_DIM, PRACTICE_BLOCK, _mm_practice, _tensor_matrix_multiply
from minitorch.kernels.cuda.device import SIMULATED, blocks_for, jit

from ..tensor_strategies import assert_close_tensor
from .machine import assert_holds, only_the_simulator_counts, run


@pytest.fixture(autouse=True)
def students_kernel(monkeypatch):
    """Compute `@` with the kernel of this task, not with an optimized kernel."""
    monkeypatch.setattr(CudaOps, "optimized", False)


def random(*shape):
    return np.random.default_rng(shape).standard_normal(shape)


def product(a, b, out_strides=None, spare=0):
    """Launch the kernel on two arrays of three dimensions with a few surplus blocks; returns the memory of out, a and b."""
    n, rows, columns = shape = (*a.shape[:2], b.shape[2])
    strides = out_strides or (rows * columns, columns, 1)
    grid = blocks_for(rows, BLOCK_DIM) + spare, blocks_for(columns, BLOCK_DIM) + spare, n
    out = np.zeros(n * rows * columns, a.dtype)
    layouts = [(x.reshape(-1), x.shape, (x.shape[1] * x.shape[2], x.shape[2], 1)) for x in (a, b)]
    return run(jit(_tensor_matrix_multiply), grid, (BLOCK_DIM, BLOCK_DIM), out, shape, strides, out.size, *layouts[0], *layouts[1])


# Practice


@pytest.mark.task3_4
@pytest.mark.parametrize("size", [1, 2, 5, 32])
def test_mm_practice_multiplies_square_matrices(size, cuda):
    """out is row-major: element i · size + j is the one in row i and column j."""
    a, b = random(size, size), random(size, size) + 1
    out = mm_practice(tensor(a, backend=cuda), tensor(b, backend=cuda))
    for i, expected in enumerate((a @ b).reshape(-1).tolist()):
        assert float(out._storage[i]) == pytest.approx(expected, 1e-9, 1e-9)


@pytest.mark.task3_4
@only_the_simulator_counts
def test_mm_practice_brings_each_element_into_shared_memory_once():
    """Every thread reads at most one element of a and one of b, and writes one of out once."""
    size = 3
    a, b = random(size, size), random(size, size) + 1
    out, first, second = run(
        jit(_mm_practice), 1, (PRACTICE_BLOCK, PRACTICE_BLOCK), np.zeros(9), a.reshape(-1), b.reshape(-1), size
    )  # fmt: skip
    assert_holds(out, a @ b)
    for memory in (first, second):
        assert set(memory.reads.values()) == {1}, "expected each element to be read from global memory once, got one that is read again"
    assert dict(out.writes) == dict.fromkeys(range(9), 1)
    assert not out.reads


# The kernel

T = BLOCK_DIM
SIZES = [
    (1, 1, 1),
    (2, 2, 2),
    (T, T, T),
    (T - 1, T - 1, T - 1),
    (T + 1, T + 1, T + 1),
    (2 * T, T + 1, 3),
    (3, 2 * T + 1, T + 2),
    (1, 3 * T, 1),
]


@pytest.mark.task3_4
@pytest.mark.parametrize(("rows", "inner", "columns"), SIZES)
def test_a_product_is_numpys_at_every_edge_of_the_tiles(rows, inner, columns):
    """One row, column or k fewer than a tile has, exactly as many, one more: positions past the edges add nothing and are not written."""
    a, b = random(1, rows, inner), random(1, inner, columns) + 1
    out, _, _ = product(a, b)
    assert_holds(out, a @ b)


@pytest.mark.task3_4
def test_blocks_beyond_the_edges_write_nothing():
    """A grid may have more blocks than out has tiles."""
    a, b = random(1, T, 2), random(1, 2, T + 1)
    out, _, _ = product(a, b, spare=1)
    assert_holds(out, a @ b)


@pytest.mark.task3_4
def test_out_is_written_by_its_strides():
    """Each matrix of out is column-major."""
    a, b = random(2, 3, 4), random(2, 4, 2)
    out, _, _ = product(a, b, out_strides=(6, 1, 3))
    assert_holds(out, (a @ b).transpose(0, 2, 1))


@pytest.mark.task3_4
def test_a_product_does_not_begin_with_what_stands_in_out():
    """The old contents of out do not matter."""
    a, b = random(1, 2, 3), random(1, 3, 2)
    args = (1, 2, 2), (4, 2, 1), 4, a.reshape(-1), (1, 2, 3), (6, 3, 1), b.reshape(-1), (1, 3, 2), (6, 2, 1)
    out, _, _ = run(jit(_tensor_matrix_multiply), (1, 1, 1), (T, T), np.full(4, 100.0), *args)
    assert_holds(out, a @ b)


@pytest.mark.task3_4
@only_the_simulator_counts
def test_a_block_reads_each_element_of_a_and_b_once_and_writes_each_of_out_once():
    """Elements that several threads of a block need go through shared memory: one thread reads each from global memory."""
    rows, inner, columns = 2 * T, T + 2, T + 1
    out, a, b = product(random(2, rows, inner), random(2, inner, columns))
    for name, memory in (("a", a), ("b", b)):
        most = max(memory.reads.values())
        assert most == 1, f"expected a block to read each element of {name} once, got one that it reads {most} times"
    assert len(a.reads) == 2 * rows * inner * 2, "expected each row of a to be read by the blocks of 2 tiles"
    assert len(b.reads) == 2 * inner * columns * 2, "expected each column of b to be read by the blocks of 2 tiles"
    assert dict(out.writes) == dict.fromkeys(range(2 * rows * columns), 1)
    assert not out.reads, "expected the sum to be made in the thread, got one that is made in out"


# @, which runs on it


@pytest.mark.task3_4
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((2, 2), (2, 2)),
        ((T + 1, T + 1), (T + 1, T + 1)),
        ((2, T + 1, T + 1), (2, T + 1, T + 1)),
        ((2, T + 3, T + 1), (2, T + 1, 2 * T)),
        ((3, 2, 5), (1, 5, 2)),
        ((1, 2, 5), (3, 5, 2)),
        ((2, 4), (3, 4, 2)),
        *([] if SIMULATED else [((2, 45, 33), (2, 33, 40)), ((130, 70), (70, 100))]),
    ],
)
def test_a_matmul_b_is_numpys(first, second, cuda):
    """Two matrices, two batches of matrices, and a batch with one matrix that is used for all."""
    a, b = random(*first), random(*second) + 1
    assert_close_tensor(tensor(a, backend=cuda) @ tensor(b, backend=cuda), a @ b)


@pytest.mark.task3_4
@pytest.mark.parametrize("turned", ["a", "b", "both"])
def test_a_product_reads_permuted_matrices(turned, cuda):
    """Rows and columns are swapped in memory."""
    a, b = random(2, T + 1, 3), random(2, 3, 2)
    x, y = tensor(a, backend=cuda), tensor(b, backend=cuda)
    if turned in ("a", "both"):
        x = tensor(a.transpose(0, 2, 1).copy(), backend=cuda).permute(0, 2, 1)
    if turned in ("b", "both"):
        y = tensor(b.transpose(2, 0, 1).copy(), backend=cuda).permute(1, 2, 0)
    assert_close_tensor(x @ y, a @ b)


@pytest.mark.task3_4
def test_a_product_of_views_reads_no_more_than_these(cuda):
    """Every second row of a part of a larger tensor."""
    a, b = random(7, 6), random(6, 5)
    assert_close_tensor(tensor(a, backend=cuda)[1:6:2, 2:] @ tensor(b, backend=cuda)[2:, 1:3], a[1:6:2, 2:] @ b[2:, 1:3])


@pytest.mark.task3_4
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_a_product_keeps_its_dtype(dtype, cuda):
    """float32 and integers."""
    a, b = np.arange(10).reshape(2, 5).astype(dtype), np.arange(15).reshape(5, 3).astype(dtype)
    out = tensor(a, backend=cuda) @ tensor(b, backend=cuda)
    assert out.dtype == dtype
    assert out.tolist() == (a @ b).tolist()


@pytest.mark.task3_4
@pytest.mark.parametrize("shapes", [((2, 3), (3, 4)), ((2, 2, 3), (1, 3, 2))], ids=str)
def test_gradients_of_a_product_agree_with_differences(shapes, cuda):
    """The gradient of each factor is a product with the other, transposed."""
    a, b = (tensor(random(*shape), backend=cuda) for shape in shapes)
    grad_check(lambda x, y: (x @ y).sigmoid(), a, b)
