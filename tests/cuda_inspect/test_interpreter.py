"""The language of kernels: each construct computes what Python computes for each thread, and an unsupported one is an error."""

import math
import re

import numba
import numpy as np
import pytest
from numba import cuda
from numba.cuda import blockDim, blockIdx, threadIdx

from minitorch.cuda import KernelError, inspect_kernel

N = 48
I = np.arange(N)  # noqa: E741  # the number of a thread
OTHER = np.ones(3)
ONE = np.zeros(1)


def clamp(x, low, high=10):
    """Returns in three places."""
    if x < low:
        return low
    if x > high:
        return high
    return x


def fill(values, start):
    for k in range(len(values)):
        values[k] = start + k


double = cuda.jit(device=True)(lambda x: 2 * x)

# Values

COMPUTED = []


def computes(expected, *args, block=N, size=N, rtol=0.0):
    """The kernel below computes these values of `out`; its name says what it shows."""

    def register(kernel):
        COMPUTED.append(pytest.param(kernel, expected, args, block, size, rtol, id=kernel.__name__))
        return kernel

    return register


@computes(np.clip(I, 5, 20))
def a_device_function_returns_different_values_to_different_threads(out):
    i = cuda.grid(1)
    out[i] = clamp(i, 5, high=20)


@computes(np.where(I % 3 == 0, I * 1.5, np.where(I % 3 == 1, -I, 0)))
def both_sides_of_a_branch_keep_their_values(out):
    i = cuda.grid(1)
    x = 0
    if i % 3 == 0:
        x = i * 1.5
    elif i % 3 == 1:
        x = -i
    out[i] = x


@computes(np.where(I < 7, 1, np.where(I < 20, 2.5, 3)))
def a_variable_that_each_branch_assigns_has_a_value_everywhere(out):
    i = cuda.grid(1)
    if i < 7:
        x = 1
    elif i < 20:
        x = 2.5
    else:
        x = 3
    out[i] = x


# findings would name accesses past the end of the 10 elements of a
@computes(np.where(I < 10, (I > 3) + 2 * (I > 8), 2), np.arange(10.0))
def and_evaluates_its_second_operand_only_where_the_first_is_true(out, a):
    i = cuda.grid(1)
    if i < 10 and a[i] > 3:
        out[i] = 1
    if i >= 10 or a[i] > 8:
        out[i] += 2


@computes(I < 5, np.arange(10.0) + 5)
def a_chained_comparison_ends_at_the_first_that_is_false(out, a):
    i = cuda.grid(1)
    out[i] = i < 10 > a[i]


@computes(~((I >= 3) & (I < 7)))
def a_chained_comparison_and_not(out):
    i = cuda.grid(1)
    out[i] = 1 if not 3 <= i < 7 else 0


@computes([sum(range(i, 100, 7)) - sum(range(i, 0, -2)) for i in range(N)])
def a_loop_whose_range_differs_between_threads(out):
    i = cuda.grid(1)
    for k in range(i, 100, 7):
        out[i] += k
    for k in range(i, 0, -2):
        out[i] -= k


@computes(I >= 5)
def else_of_a_loop_runs_where_no_break_did(out):
    i = cuda.grid(1)
    for k in range(5):
        if k == i:
            break
    else:
        out[i] = 1


@computes(np.ones(N))
def threads_that_left_a_loop_go_on_after_it(out):
    i = cuda.grid(1)
    for k in range(5):
        if k == i:
            break
    out[i] = 1


@computes(2 * I + 3)
def local_arrays_belong_to_one_thread_and_can_be_passed(out):
    i = cuda.grid(1)
    values = cuda.local.array(4, numba.int32)
    fill(values, i)
    out[i] = values[0] + values[3]


Q, R = np.divmod(I, 7)


@computes(
    np.minimum(I, 20) + np.maximum(np.maximum(3, I), 2 * Q) + abs(R - 3) + I // 2 + np.sqrt(I) + I // 4 + (I > 3) + 8 - I % 5 + (I & 6),
    rtol=1e-15,
)
def functions_of_python_and_math(out):
    i = cuda.grid(1)
    q, r = divmod(i, 7)
    out[i] = min(i, 20) + max(3, i, 2 * q) + abs(r - 3) + int(i / 2) + math.sqrt(i) + math.floor(i / 4) + float(i > 3) + 2**3
    out[i] += (i & 6) - i % 5


TENTHS = np.full(1000, 0.1, np.float32)


@computes([np.cumsum(TENTHS, dtype=np.float32)[-1], TENTHS.astype(np.float64).sum()], TENTHS, block=1, size=2)
def float32_rounds_at_every_step_and_float64_does_not(out, a):
    i = cuda.grid(1)
    single = numba.float32(0.0)
    double = numba.float64(0.0)
    for k in range(a.size):
        single += a[k]
        double += a[k]
    out[2 * i] = single
    out[2 * i + 1] = double


@computes([3.0 * 0.1], np.array([3], np.float32), block=1, size=1)
def float32_times_a_python_float_is_float64_as_in_numba(out, a):
    out[0] = a[0] * 0.1


@computes(
    [2**32 - 2, 8 * 10**9, -(10**9), 8 * 10**9 - 2**32], np.array([2**31 - 1], np.int32), np.array([4 * 10**9], np.uint32), block=1, size=4
)
def integers_are_computed_with_64_bits_as_in_numba(out, small, unsigned):
    out[0] = small[0] + small[0]
    out[1] = unsigned[0] + unsigned[0]
    out[2] = unsigned[0] * 2 - 9 * 10**9
    out[3] = np.uint32(unsigned[0] + unsigned[0])


@computes(np.where(I < 40, I + 1, 0))
def threads_that_have_returned_do_not_keep_a_variable_from_changing_its_type(out):
    i = cuda.grid(1)
    x = 1
    if i >= 40:
        return
    x = (x, i)
    out[i] = x[0] + x[1]


@computes([np.inf, np.nan, np.inf], np.array([0.0, -1.0, 1e4]), block=1, size=3)
def infinity_and_nan_appear_as_on_a_gpu(out, a):
    out[0] = 1.0 / a[0]
    out[1] = math.log(a[1])
    out[2] = math.exp(a[2])


@computes(I)
def the_names_of_numba_cuda_can_be_imported_one_by_one(out):
    i = blockIdx.x * blockDim.x + threadIdx.x
    out[i] = i


@computes(2 * I)
@cuda.jit
def a_compiled_kernel_calls_compiled_and_lambda_functions(out):
    i = cuda.grid(1)
    out[i] = double(i)


@pytest.mark.parametrize(("kernel", "expected", "args", "block", "size", "rtol"), COMPUTED)
def test_a_kernel_computes_what_python_does(kernel, expected, args, block, size, rtol):
    report = inspect_kernel(kernel, 1, block, np.zeros(size), *args)
    assert report.findings == [], "\n".join(map(str, report.findings))
    np.testing.assert_allclose(report.arrays["out"], expected, rtol=rtol)


def test_an_atomic_addition_of_floats_is_a_floating_point_operation():
    def kernel(out, count):
        cuda.atomic.add(out, 0, 1.0)
        cuda.atomic.add(count, 0, 1)

    assert inspect_kernel(kernel, 1, 7, np.zeros(1), np.zeros(1, np.int64)).flops == 7


def test_arrays_of_three_dimensions_and_tuples():
    def kernel(out, a):
        x, y, z = cuda.grid(3)
        _depth, rows, columns = a.shape
        out[(z * rows + y) * columns + x] = a[z, y, x] + len(a.shape) + a.ndim + a.size

    a = np.arange(24.0).reshape(2, 3, 4)
    result = inspect_kernel(kernel, (1, 1, 2), (4, 3, 1), np.zeros(24), a).arrays["out"]
    np.testing.assert_array_equal(result, a.reshape(-1) + 3 + 3 + 24)


def test_atomic_functions_return_the_old_value():
    def kernel(out, counter, extremes):
        i = cuda.grid(1)
        out[i] = cuda.atomic.add(counter, 0, 2)
        cuda.atomic.max(extremes, 0, i)
        cuda.atomic.min(extremes, 1, -i)

    report = inspect_kernel(kernel, 1, N, np.zeros(N), np.zeros(1, np.int64), np.zeros(2, np.int64))
    assert sorted(report.arrays["out"]) == [*range(0, 2 * N, 2)]
    assert (report.arrays["counter"].tolist(), report.arrays["extremes"].tolist()) == ([2 * N], [N - 1, 1 - N])
    assert report.findings == []


def test_shuffles_exchange_values_within_a_warp():
    def kernel(out, a):
        i = cuda.grid(1)
        value = a[i]
        offset = 16
        while offset > 0:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
            offset //= 2
        out[i] = value

    a = np.arange(64.0)
    report = inspect_kernel(kernel, 1, 64, np.zeros(64), a)
    assert report.findings == []
    assert report.arrays["out"][[0, 32]].tolist() == [a[:32].sum(), a[32:].sum()]


def test_syncwarp_orders_the_threads_of_a_warp_only():
    def kernel(out):
        cache = cuda.shared.array(64, numba.float64)
        i = cuda.threadIdx.x
        cache[i] = i
        cuda.syncwarp()
        out[i] = cache[(i + 1) % 32 + i // 32 * 32]
        cuda.syncwarp()
        out[i] += cache[(i + 1) % 64]

    report = inspect_kernel(kernel, 1, 64, np.zeros(64))
    assert sorted((race.first.thread[0], race.second.thread[0]) for race in report.races) == [(0, 63)]
    (race,) = report.races
    assert race.count == 2  # elements 0 and 32 are read by the other warp


def test_an_array_that_is_passed_twice_is_one_array():
    def shift(out, a):
        i = cuda.threadIdx.x
        out[i] = a[i] + 1

    a = np.zeros(4)
    report = inspect_kernel(shift, 1, 4, a, a)
    assert report.arrays["out"].tolist() == report.arrays["a"].tolist() == [1, 1, 1, 1]
    assert a.tolist() == [0, 0, 0, 0]


# Findings


def test_a_negative_index_is_out_of_bounds_and_reads_0():
    def kernel(out, a):
        i = cuda.threadIdx.x
        out[i] = a[i - 1]

    report = inspect_kernel(kernel, 1, 3, np.zeros(3), np.array([5.0, 6.0, 7.0]))
    (found,) = report.out_of_bounds
    assert (found.index, found.access.thread, found.count) == ((-1,), (0, 0, 0), 1)
    assert str(found).endswith("thread (0, 0, 0) of block (0, 0, 0) reads a[-1], but a has 3 elements")
    assert report.arrays["out"].tolist() == [0, 5, 6]


def test_each_index_of_a_matrix_is_checked():
    def kernel(out, a):
        out[0] = a[1, cuda.threadIdx.x]

    report = inspect_kernel(kernel, 1, 4, np.zeros(1), np.zeros((3, 3)))
    assert str(report.out_of_bounds[0]).endswith("thread (3, 0, 0) of block (0, 0, 0) reads a[1, 3], but a has shape (3, 3)")
    assert [race.kind for race in report.races] == ["write-write"]


def test_a_local_array_that_is_read_before_it_is_written_is_reported():
    def kernel(out):
        values = cuda.local.array(2, numba.int64)
        values[0] = 1
        out[cuda.threadIdx.x] = values[cuda.threadIdx.x]

    report = inspect_kernel(kernel, 1, 2, np.zeros(2))
    (found,) = report.uninitialized
    assert (found.space, found.index, found.access.thread) == ("local", (1,), (1, 0, 0))
    assert report.arrays["out"].tolist() == [1, 77]


# The trace


def test_the_trace_lists_statements_with_masks_intervals_and_cells():
    def kernel(out, a):
        i = cuda.grid(1)
        if i % 2 == 1:
            out[i] = clamp(a[i], 0)
        cuda.syncthreads()
        out[i] = a[i]

    report = inspect_kernel(kernel, 2, 4, np.zeros(8), np.arange(8.0), trace=(1,))
    steps = [(step.kind, step.active.astype(int).tolist(), step.interval) for step in report.trace]
    all_of_them, odd = [1, 1, 1, 1], [0, 1, 0, 1]
    assert steps[:3] == [("assign", all_of_them, 0), ("if", all_of_them, 0), ("assign", odd, 0)]
    assert steps[-2:] == [("barrier", all_of_them, 0), ("assign", all_of_them, 1)]
    assert [step.kind for step in report.trace[3:-2]] == ["if", "if", "return"]  # of clamp
    accesses = [(access.memory, access.kind, access.lanes.tolist(), access.cells.tolist()) for access in report.trace[2].accesses]
    assert accesses == [("a", "read", [1, 3], [5, 7]), ("out", "write", [1, 3], [5, 7])]
    assert inspect_kernel(kernel, 2, 4, np.zeros(8), np.zeros(8)).trace == []


# Errors


MISTAKES = []


def raises(message, *args, line=None):
    """The kernel below is an error, whose message ends so; `line` counts from its first."""

    def register(kernel):
        where = "" if line is None else f"line {kernel.__code__.co_firstlineno + line}: "
        MISTAKES.append(pytest.param(kernel, args, where + message, id=kernel.__name__))
        return kernel

    return register


@raises("a kernel expected no list, got 'out[0] = sum([1, 2])'; use cuda.local.array(size, dtype)", line=2)
def a_comprehension(out):
    out[0] = sum([1, 2])


@raises("numba.cuda cannot compile with, got 'with out:': a thread cannot enter a context; enter it around the launch", line=2)
def a_context(out):
    with out:
        pass


@raises("thread (0, 0, 0) of block (0, 0, 0) executes \"raise NotImplementedError('Task 3.9')\"; write the kernel, or remove the raise")
def not_written(out):
    raise NotImplementedError("Task 3.9")


@raises("missing has no value here; assign it before")
def unknown_name(out):
    out[0] = missing  # noqa: F821  # that is the mistake


@raises("the interpreter does not know cuda.cbrt; it knows cuda.atomic.add, ")
def unknown_function(out):
    out[0] = cuda.cbrt(out[0])


@raises("clamp(x, low, high=10) does not accept these arguments: missing a required argument: 'low'")
def wrong_call(out):
    out[0] = clamp(1)


@raises("OTHER is an array outside of the kernel; pass it as an argument")
def array_outside(out):
    out[0] = OTHER[0]


@raises("a has 2 dimensions, got 1 indices in 'a[0]'; give one index per dimension", np.zeros((2, 2)))
def half_an_index(out, a):
    out[0] = a[0]


@raises("out expected integers as indices, got 1.0 in 'out[1.0]'")
def float_index(out):
    out[1.0] = 0


@raises("numba.cuda cannot compile hash, got 'hash': it has no version for a GPU; compute it before the launch, or write a loop")
def not_a_python_function(out):
    out[0] = hash(1)


@raises("x is a number or a tuple of 2, and for numba.cuda a variable has one type: give each type a variable of its own")
def mixed_types(out):
    x = 1
    if cuda.threadIdx.x > 0:
        x = (1, 2)
    out[0] = x


@raises("total has no value here; assign it before")
def unassigned(out):
    total += out[0]  # noqa: F821, F841  # that is the mistake


@raises("x has no value in thread (2, 0, 0); assign it in every branch, or before")
def assigned_by_some(out):
    if cuda.threadIdx.x < 2:
        x = 1
    out[cuda.threadIdx.x] = x


@raises("recursive calls itself without end")
def recursive(out):
    recursive(out)


@raises("'1 // 0' divides an integer by 0")
def divided(out):
    out[0] = 1 // 0


@raises(
    "the size of 'cuda.shared.array(0, numba.float32)' is given at the launch, and inspect_kernel launches with none; give the array a "
)
def dynamic_shared(out):
    cuda.shared.array(0, numba.float32)


@raises("an array expected .shape, .dtype, .size or .ndim, got .T")
def wrong_attribute(out):
    out[0] = out.T


@pytest.mark.parametrize(("kernel", "args", "message"), MISTAKES)
def test_mistakes_are_errors_with_a_remedy(kernel, args, message):
    with pytest.raises(KernelError, match=re.escape(message)):
        inspect_kernel(kernel, 1, 4, np.zeros(4), *args)


def simple(out):
    out[cuda.threadIdx.x] = 1


NAMES = "names expected a different name for each of the"


@pytest.mark.parametrize(
    ("error", "message", "args", "options"),
    [
        (TypeError, "simple expected 1 arguments (out), got 2", (simple, 1, 1, ONE, 3), {}),
        (TypeError, "inspect_kernel expected a kernel, a Python function or what cuda.jit makes of one; got 3", (3, 1, 1), {}),
        (TypeError, "argument out expected a number, a tuple of numbers, or a NumPy array of numbers", (simple, 1, 1, [1.0]), {}),
        (TypeError, "one to three dimensions; got 4 dimensions of float64", (simple, 1, 1, np.zeros((1, 1, 1, 1))), {}),
        (TypeError, "one to three dimensions; got 1 dimensions of complex128", (simple, 1, 1, np.zeros(1, complex)), {}),
        (ValueError, "block expected at most 1024 threads and 64 along z, got (1025, 1, 1): 1025 threads", (simple, 1, 1025, ONE), {}),
        (ValueError, "block expected at most 1024 threads and 64 along z, got (1, 1, 65): 65 threads", (simple, 1, (1, 1, 65), ONE), {}),
        (ValueError, "grid expected one to three integers of at least 1, got 0", (simple, 0, 1, ONE), {}),
        (ValueError, "grid expected one to three integers of at least 1, got (1, 1, 1, 1)", (simple, (1,) * 4, 1, ONE), {}),
        (ValueError, "trace expected the position of a block in the grid (2, 1, 1), got (2,)", (simple, 2, 1, ONE), {"trace": (2,)}),
        (ValueError, f"{NAMES} 1 arguments, got ['x', 'y']", (simple, 1, 1, ONE), {"names": ["x", "y"]}),
        (ValueError, f"{NAMES} 2 arguments, got ['x', 'x']", (half_an_index, 1, 1, ONE, ONE), {"names": ["x", "x"]}),
    ],
)
def test_wrong_arguments_are_errors(error, message, args, options):
    with pytest.raises(error, match=re.escape(message)):
        inspect_kernel(*args, **options)


def test_names_rename_the_arguments_of_the_report():
    report = inspect_kernel(simple, 1, 1, ONE, names=["x"])
    assert report.count_cells("x", "write").tolist() == [1]
    with pytest.raises(ValueError, match="expected the name of an argument that is an array, one of x; got 'out'"):
        report.count_cells("out")


def test_the_largest_block_is_accepted():
    assert inspect_kernel(simple, 1, 1024, np.zeros(1024)).threads == 1024
