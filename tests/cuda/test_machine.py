"""The simulated machine for kernels: every kind of mistake is reported, and correct kernels pass."""

import numpy as np
import pytest

from minitorch.kernels.cuda.device import SIMULATED, cuda, jit

from .machine import UNTOUCHED, assert_holds, run

pytestmark = pytest.mark.skipif(not SIMULATED, reason="NOT RUN: only the simulator is watched")


def reverse(out, a, size):
    """The numbers reversed, through shared memory."""
    block = cuda.shared.array(4, out.dtype)
    i = cuda.threadIdx.x
    block[i] = a[i]
    cuda.syncthreads()
    out[i] = block[size - 1 - i]


def reverse_without_barrier(out, a, size):
    block = cuda.shared.array(4, out.dtype)
    i = cuda.threadIdx.x
    block[i] = a[i]
    out[i] = block[size - 1 - i]


def shift_in_place(out, a, size):
    block = cuda.shared.array((2, 4), out.dtype)
    i = cuda.threadIdx.x
    block[1][i] = a[i]
    cuda.syncthreads()
    block[1][i] = block[1][(i + 1) % size]
    out[i] = block[1][i]


def wait_in_a_branch(out, a, size):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()


def read_past_the_end(out, a, size):
    block, mine = cuda.shared.array(4, out.dtype), cuda.local.array(1, out.dtype)
    out[0] = block[cuda.threadIdx.x]
    out[1] = mine[0]


def count_atomically(out, a, size):
    """An atomic operation needs no barrier."""
    block = cuda.shared.array(1, out.dtype)
    if cuda.threadIdx.x == 0:
        block[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(block, 0, a[cuda.threadIdx.x])
    cuda.syncthreads()
    out[cuda.threadIdx.x] = block[0]


def write_at_negative_index(out, a, size):
    block = cuda.shared.array(4, out.dtype)
    block[cuda.threadIdx.x - 1] = 0


def launch_and_read(kernel, threads=4):
    """The contents of out after a launch."""
    return run(jit(kernel), 1, threads, np.zeros(4), np.arange(4.0), 4)[0]


@pytest.mark.parametrize(("kernel", "expected"), [(reverse, [3, 2, 1, 0]), (count_atomically, [6, 6, 6, 6])])
def test_right_kernels_pass(kernel, expected):
    assert_holds(launch_and_read(kernel), expected)


MISTAKES = [
    (reverse_without_barrier, r"^cell 2 of a shared array is read by thread 1 and written by thread 2, .* meet at cuda\.syncthreads\(\)"),
    (shift_in_place, r"^cell \(1, 1\) of a shared array is read by thread 0 and written by thread 1, and nothing says who comes first; "),
    (wait_in_a_branch, r"^thread 0 waits at cuda.syncthreads\(\), where thread 2 never comes; a barrier must stand where every thread"),
]


@pytest.mark.parametrize(("kernel", "message"), MISTAKES)
def test_a_mistake_with_barriers_is_always_found(kernel, message):
    for _ in range(3):
        with pytest.raises(AssertionError, match=message) as error:
            launch_and_read(kernel)
        assert error.value.__notes__[0].startswith("in thread (")
        assert kernel.__name__ in [entry.name for entry in error.traceback]


def test_barriers_ignore_threads_outside_the_launch():
    assert launch_and_read(wait_in_a_branch, threads=2).numbers().tolist() == [0.0] * 4


def test_uninitialized_memory_is_nan():
    out = launch_and_read(read_past_the_end, threads=1)
    assert np.isnan(out.numbers()[:2]).all()
    with pytest.raises(
        AssertionError, match=r"expected 0\.0 at position 0, got nan, which is what stands where nobody has written; 2 of 4"
    ):
        assert_holds(out, np.zeros(4))


def test_shared_arrays_have_no_cells_before_the_first():
    with pytest.raises(IndexError, match=r"index -1 of a shared array of shape \(4,\) is negative"):
        launch_and_read(write_at_negative_index)


@pytest.mark.parametrize("position", [-1, 4])
@pytest.mark.parametrize("deed", ["read", "written"])
def test_positions_past_the_end_of_a_storage_are_refused(position, deed):
    def beyond(out, a, size):
        if deed == "read":
            a[position]
        else:
            out[position] = 1.0

    with pytest.raises(IndexError, match=f"position {position} is {deed}, but this storage has positions 0 to 3"):
        launch_and_read(beyond, threads=1)


def test_writes_next_to_a_storage_are_detected():
    """A GPU would not report it."""
    out = launch_and_read(reverse)
    assert (out.around[:4] == UNTOUCHED).all()
    out.around[2] = 5.0
    with pytest.raises(AssertionError, match="expected a kernel to write into its 4 elements, got 1 written beside them"):
        out.numbers()


def test_reads_and_writes_are_counted():
    out, a = run(jit(reverse), 2, 4, np.zeros(4), np.arange(4.0), 4)
    assert dict(out.writes) == dict.fromkeys(range(4), 2)
    assert dict(a.reads) == {((block, 0, 0), i): 1 for block in range(2) for i in range(4)}
    assert a.readers[(1, 0, 0), (3, 0, 0)] == {3}
    assert not out.reads
