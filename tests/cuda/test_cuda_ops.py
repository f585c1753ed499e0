"""Task 3.3: map, zip and reduce on the GPU, and practice with shared memory."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings

from minitorch import Tensor, cuda_backend, grad_check, operators, sum_practice, tensor, zeros
from minitorch.cuda_ops import PRACTICE_BLOCK, REDUCE_BLOCK, THREADS_PER_BLOCK, _sum_practice, tensor_map, tensor_reduce, tensor_zip
from minitorch.kernels.cuda.device import SIMULATED, blocks_for, jit, number_function

from ..tensor_strategies import assert_close_tensor, broadcast_pairs, laid_out, tensors, tensors_and_dims
from .machine import assert_holds, only_the_simulator_counts, run

few = settings(max_examples=20)

MATRIX = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

TURNED = Tensor(laid_out(np.arange(30.0).reshape(2, 3, 5), (3, 1, 6)))
"""Its last dimension is the slowest in storage."""


def minus(x, y):
    """A function in which the order of the arguments matters."""
    return x - y


def assert_once(counts, deed):
    assert set(counts) == {1}, (
        f"expected each element to be {deed} once, got one that is {deed} {max(counts)} times; has every thread a guard?"
    )


# Map


@pytest.mark.task3_3
def test_map_reads_and_writes_by_strides():
    """-x of a row-major matrix, into a column-major out: each element goes to its own index."""
    kernel = tensor_map(number_function(operators.neg))
    out, _ = run(kernel, 1, THREADS_PER_BLOCK, np.zeros(6), (2, 3), (1, 2), 6, MATRIX.reshape(-1), (2, 3), (3, 1))
    assert out.numbers().tolist() == [-1, -4, -2, -5, -3, -6]


@pytest.mark.task3_3
def test_map_reads_an_input_again_where_its_stride_is_0():
    """A column (1, 5) expanded to shape (2, 3): each of its elements fills a whole row."""
    kernel = tensor_map(number_function(operators.neg))
    out, _ = run(kernel, 1, THREADS_PER_BLOCK, np.zeros(6), (2, 3), (3, 1), 6, np.array([1.0, 5.0]), (2, 3), (1, 0))
    assert out.numbers().tolist() == [-1, -1, -1, -5, -5, -5]


@pytest.mark.task3_3
@pytest.mark.parametrize("spare", [0, 1], ids=["as many blocks as it takes", "a block too many"])
def test_map_writes_no_more_than_the_elements_of_out(spare):
    """There are more threads than elements: surplus threads read and write nothing."""
    size = THREADS_PER_BLOCK + 1
    blocks = blocks_for(size, THREADS_PER_BLOCK) + spare
    x = np.arange(float(size))
    out, _ = run(
        tensor_map(number_function(operators.neg)), blocks, THREADS_PER_BLOCK, np.zeros(size), (size,), (1,), size, x, (size,), (1,)
    )
    assert_holds(out, -x)


@pytest.mark.task3_3
@only_the_simulator_counts
def test_map_reads_and_writes_each_element_once():
    """The threads of a kernel share the work: none repeats what another has done."""
    size = 3 * THREADS_PER_BLOCK + 1
    layout = (size,), (1,)
    kernel = tensor_map(number_function(operators.neg))
    out, a = run(
        kernel, blocks_for(size, THREADS_PER_BLOCK), THREADS_PER_BLOCK, np.zeros(size), *layout, size, np.arange(float(size)), *layout
    )
    assert_once(out.writes.values(), "written")
    assert_once(a.reads.values(), "read")
    assert not out.reads


@pytest.mark.task3_3
@few
@given(tensors())
@example(tensor([3.0]))
@example(tensor(-2.0))
@example(TURNED)
def test_map_applies_a_function_to_every_element(x):
    """x may have any memory order, with gaps."""
    assert_close_tensor(cuda_backend().neg_map(x.to("cuda")), -x.to_numpy())


@pytest.mark.task3_3
def test_map_writes_all_of_a_view_and_nothing_else(cuda):
    """out is every second column of the two middle rows of a larger tensor."""
    whole = zeros((4, 5), backend=cuda)
    cuda.map(operators.id)(tensor(np.ones((2, 3)), backend=cuda), whole[1:3, ::2])
    expected = np.zeros((4, 5))
    expected[1:3, ::2] = 1
    assert_close_tensor(whole, expected)


# Zip


@pytest.mark.task3_3
def test_zip_takes_its_arguments_in_order():
    """a - b, where b is column-major."""
    kernel = tensor_zip(number_function(minus))
    b = 10 * MATRIX.T.reshape(-1)
    out, _, _ = run(
        kernel, 1, THREADS_PER_BLOCK, np.zeros(6), (2, 3), (3, 1), 6, MATRIX.reshape(-1), (2, 3), (3, 1), b, (2, 3), (1, 2)
    )  # fmt: skip
    assert out.numbers().tolist() == [-9, -18, -27, -36, -45, -54]


@pytest.mark.task3_3
def test_zip_reads_each_input_and_writes_by_its_own_strides():
    """A row (1, 2, 3) and a column (10, 20), each expanded to shape (2, 3), into a column-major out."""
    kernel = tensor_zip(number_function(operators.add))
    row, column = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0])
    out, _, _ = run(kernel, 1, THREADS_PER_BLOCK, np.zeros(6), (2, 3), (1, 2), 6, row, (2, 3), (0, 1), column, (2, 3), (1, 0))
    assert out.numbers().tolist() == [11, 21, 12, 22, 13, 23]


@pytest.mark.task3_3
@pytest.mark.parametrize("spare", [0, 1], ids=["as many blocks as it takes", "a block too many"])
def test_zip_writes_no_more_than_the_elements_of_out(spare):
    """There are more threads than elements: surplus threads read and write nothing."""
    size = THREADS_PER_BLOCK + 1
    x, y, layout = np.arange(float(size)), np.ones(size), ((size,), (1,))
    blocks = blocks_for(size, THREADS_PER_BLOCK) + spare
    kernel = tensor_zip(number_function(operators.add))
    out, _, _ = run(kernel, blocks, THREADS_PER_BLOCK, np.zeros(size), *layout, size, x, *layout, y, *layout)
    assert_holds(out, x + 1)


@pytest.mark.task3_3
@only_the_simulator_counts
def test_zip_reads_and_writes_each_element_once():
    """The threads of a kernel share the work: none repeats what another has done."""
    size = 3 * THREADS_PER_BLOCK + 1
    x, layout = np.arange(float(size)), ((size,), (1,))
    kernel = tensor_zip(number_function(operators.add))
    blocks = blocks_for(size, THREADS_PER_BLOCK)
    out, a, b = run(kernel, blocks, THREADS_PER_BLOCK, np.zeros(size), *layout, size, x, *layout, x, *layout)
    assert_once(out.writes.values(), "written")
    for memory in (a, b):
        assert_once(memory.reads.values(), "read")
    assert not out.reads


@pytest.mark.task3_3
@few
@given(broadcast_pairs())
@example((tensor([[1.0], [2.0]]), tensor([3.0, 4.0, 5.0])))
@example((TURNED, tensor([[3.0], [4.0], [5.0]])))
def test_zip_combines_tensors_whose_shapes_broadcast(pair):
    """Each tensor may have any memory order."""
    x, y = pair
    assert_close_tensor(x.to("cuda") * y.to("cuda"), x.to_numpy() * y.to_numpy())


@pytest.mark.task3_3
@pytest.mark.parametrize("size", [1, THREADS_PER_BLOCK - 1, THREADS_PER_BLOCK, THREADS_PER_BLOCK + 1, 5 * THREADS_PER_BLOCK + 1])
def test_map_and_zip_are_whole_at_the_edges_of_blocks(size, cuda):
    """One element fewer than a block has threads, exactly as many, one more, and several blocks."""
    x = np.arange(size, dtype=float)
    assert_close_tensor(-tensor(x, backend=cuda), -x)
    assert_close_tensor(tensor(x, backend=cuda) + tensor(2 * x, backend=cuda), 3 * x)


# Practice


@pytest.mark.task3_3
@pytest.mark.parametrize("size", [1, 16, 32, 48, 64, 100])
def test_sum_practice_sums_blocks_of_32(size, cuda):
    """Element i of out is the sum of the i-th 32 numbers, or of those that are left."""
    values = np.arange(size, dtype=float) + 1
    out = sum_practice(tensor(values, backend=cuda))
    for i in range(math.ceil(size / PRACTICE_BLOCK)):
        assert float(out._storage[i]) == sum(values.tolist()[PRACTICE_BLOCK * i : PRACTICE_BLOCK * (i + 1)])


@pytest.mark.task3_3
@pytest.mark.parametrize("size", [16, 48, 64])
def test_sum_practice_writes_nothing_for_a_block_without_numbers(size):
    """64 numbers fill two blocks, and a third is launched: out has no element for it."""
    cells = blocks_for(size, PRACTICE_BLOCK)
    out, _ = run(jit(_sum_practice), size // PRACTICE_BLOCK + 1, PRACTICE_BLOCK, np.zeros(cells), np.ones(size), size)
    assert out.numbers().tolist() == [32.0] * (size // 32) + [16.0] * (size % 32 > 0)


@pytest.mark.task3_3
@only_the_simulator_counts
def test_sum_practice_brings_each_number_into_shared_memory_once():
    """Every thread reads at most one number; the block sums its numbers in shared memory and writes the sum once."""
    out, a = run(jit(_sum_practice), 2, PRACTICE_BLOCK, np.zeros(2), np.ones(48), 48)
    assert max(map(len, a.readers.values())) == 1, "expected every thread to read one number, got one that reads several"
    assert sum(a.reads.values()) == 48
    assert dict(out.writes) == {0: 1, 1: 1}
    assert not out.reads, "expected sums to be made in shared memory, got some that are read again from out"


# Reduce


@pytest.mark.task3_3
def test_reduce_folds_the_last_dimension_by_strides():
    """The row sums of a column-major matrix, into an out whose elements are two apart."""
    kernel = tensor_reduce(number_function(operators.add))
    out, _ = run(kernel, 2, REDUCE_BLOCK, np.zeros(3), (2, 1), (2, 1), 2, MATRIX.T.reshape(-1), (2, 3), (1, 2), 1, 0.0)
    assert out.numbers().tolist() == [6, 0, 15]


@pytest.mark.task3_3
@pytest.mark.parametrize("length", [1, 3, REDUCE_BLOCK - 1, REDUCE_BLOCK])
def test_reduce_takes_in_nothing_that_is_not_there(length):
    """The maximum of negative numbers, and a product: threads without an element must not contribute a 0."""
    values = -1 - np.arange(2.0 * length).reshape(2, length) % 3 / 4
    for fn, start, expected in ((operators.max, -math.inf, values.max(1)), (operators.mul, 1.0, values.prod(1))):
        kernel = tensor_reduce(number_function(fn))
        out, _ = run(kernel, 2, REDUCE_BLOCK, np.zeros(2), (2, 1), (1, 1), 2, values.reshape(-1), (2, length), (length, 1), 1, start)
        assert_holds(out, expected)


@pytest.mark.task3_3
@only_the_simulator_counts
def test_reduce_reads_each_element_once_and_writes_each_result_once():
    """A block copies its elements to shared memory and reduces them there; one thread writes the result."""
    length = REDUCE_BLOCK - 1
    layout = (3, length), (length, 1)
    kernel = tensor_reduce(number_function(operators.add))
    out, a = run(kernel, 3, REDUCE_BLOCK, np.zeros(3), (3, 1), (1, 1), 3, np.ones(3 * length), *layout, 1, 0.0)
    assert out.numbers().tolist() == [length] * 3
    assert sum(a.reads.values()) == 3 * length
    assert dict(out.writes) == {0: 1, 1: 1, 2: 1}
    assert not out.reads, "expected elements to be folded in shared memory, got some that are read again from out"


@pytest.mark.task3_3
@only_the_simulator_counts
def test_the_threads_of_a_block_share_a_reduction():
    """Every thread reads only a part of the elements."""
    kernel = tensor_reduce(number_function(operators.add))
    length = REDUCE_BLOCK
    _, a = run(kernel, 1, REDUCE_BLOCK, np.zeros(1), (1, 1), (1, 1), 1, np.ones(length), (1, length), (length, 1), 1, 0.0)
    assert max(map(len, a.readers.values())) <= length // 4, "expected the threads to share the elements, got one that reads most of them"


@pytest.mark.task3_3
@few
@given(tensors_and_dims())
@example((tensor(np.arange(24.0).reshape(2, 3, 4)), 0))
@example((TURNED, 1))
def test_reduce_folds_any_dimension(drawn):
    """The tensor may have any memory order; the reduced dimension keeps size 1."""
    x, dim = drawn
    assert_close_tensor(cuda_backend().add_reduce(x.to("cuda"), dim), x.to_numpy().sum(dim, keepdims=True))


@pytest.mark.task3_3
@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 32, 33, 500, 1024, 1100, *([] if SIMULATED else [1_100_000])])
def test_a_sum_of_any_length_is_whole(length, cuda):
    """Beyond REDUCE_BLOCK elements, every block reduces a part, and further launches reduce the partial results."""
    values = np.random.default_rng(length).standard_normal(length)
    out = cuda.add_reduce(tensor(values, backend=cuda), 0)
    assert_close_tensor(out, values.sum(keepdims=True))


@pytest.mark.task3_3
@pytest.mark.parametrize("shape", [(16, 32), (3, 50), (3, 17)])
@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_every_row_is_summed_on_its_own(shape, turned, cuda):
    """Rows with more elements than a block, also if a row's elements are not adjacent in memory."""
    values = np.random.default_rng(1).standard_normal(shape)
    x = tensor(values.T.copy(), backend=cuda).permute(1, 0) if turned else tensor(values, backend=cuda)
    assert_close_tensor(cuda.add_reduce(x, 1), values.sum(1, keepdims=True))
    assert_close_tensor(cuda.mul_reduce(x, 1), values.prod(1, keepdims=True))


@pytest.mark.task3_3
def test_a_long_maximum_of_negative_numbers_is_not_0(cuda):
    """The last block has fewer elements than threads."""
    values = -1 - np.random.default_rng(2).random((2, 2 * REDUCE_BLOCK + 5))
    out = cuda.reduce(operators.max, -math.inf)(tensor(values, backend=cuda), 1)
    assert_close_tensor(out, values.max(1, keepdims=True))


@pytest.mark.task3_3
def test_a_reduction_into_a_view_leaves_the_rest(cuda):
    """out is the second column of a larger tensor."""
    whole = zeros((3, 2), backend=cuda)
    cuda.add_reduce(tensor(np.ones((3, 40)), backend=cuda), 1, whole[:, 1:])
    assert whole.tolist() == [[0, 40]] * 3


# All of them together


@pytest.mark.task3_3
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_tensors_of_other_dtypes_keep_them(dtype, cuda):
    """float32 and integers."""
    values = np.arange(6).reshape(2, 3).astype(dtype)
    x = tensor(values, backend=cuda)
    for out, expected in ((-x, -values), (x + x, 2 * values), (x.sum(1), values.sum(1, keepdims=True))):
        assert out.dtype == dtype
        assert out.to_numpy().reshape(expected.shape).tolist() == expected.tolist()


CHAINS = {
    "a zip that broadcasts": lambda x, y: x * y.sum(0) + x,
    "a map of a permuted tensor": lambda x, y: x.permute(1, 0).sigmoid() * y.permute(1, 0),
    "a reduction of a product": lambda x, y: (x * y).sum(1),
}


@pytest.mark.task3_3
@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS.keys())
def test_gradients_through_the_gpu_agree_with_differences(chain, cuda):
    """Forward and backward passes use the kernels of this task, through views and broadcasting."""
    x, y = np.random.default_rng(4).random((2, 2, 3))
    grad_check(chain, tensor(x, backend=cuda), tensor(y, backend=cuda))
