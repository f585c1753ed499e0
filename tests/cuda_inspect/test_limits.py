"""The limits of a GPU and of the compiler for it: launches, memory, and the arrays of kernels. The compiler itself confirms the table."""

import contextlib
import re

import numba
import numpy as np
import pytest
from numba import cuda, float32
from numba.core.errors import NumbaError

from minitorch.cuda import KernelError, inspect_kernel
from minitorch.cuda_limits import check_arrays, check_launch
from minitorch.kernels.cuda.device import SIMULATED
from tests.cuda_inspect import kernels as module

N, PAIR, SIZES = 32, (8, 9), [4]
NUMPY_INT, TRUE = np.int32(8), True
DTYPE = np.dtype("float32")

ACCEPTED, REFUSED = [], []
CONSTANT = "array expected a size that is known when the kernel is compiled"
TYPE = "array expected a type of Numba or NumPy as dtype"


def accepted(kernel):
    """The compiler accepts the arrays of the kernel below."""
    ACCEPTED.append(pytest.param(kernel, id=kernel.__name__))
    return kernel


def refused(expected):
    """The compiler refuses an array of the kernel below, which its last line creates."""

    def register(kernel):
        REFUSED.append(pytest.param(kernel, expected, id=kernel.__name__))
        return kernel

    return register


# Sizes


@accepted
def a_number(out, n):
    cuda.shared.array(4 * 8, float32)


@accepted
def a_global_variable(out, n):
    cuda.local.array(shape=(N, N), dtype=float32)


@accepted
def a_variable_of_a_number(out, n):
    size = 32
    size = N
    a, b = rows, columns = size, 33
    cuda.shared.array((rows, columns), float32)
    cuda.shared.array((a, b), float32)


@accepted
def a_variable_that_changes_later(out, n):
    size = 4
    cuda.shared.array(size, float32)
    size = n
    out[0] = size


@accepted
def one_number_in_both_branches(out, n):
    if n > 3:
        size = 32
    else:
        size = N
    cuda.shared.array(size, float32)


@accepted
def a_tuple_and_its_elements(out, n):
    cuda.shared.array(PAIR, float32)
    cuda.shared.array(PAIR[1], float32)
    cuda.shared.array(PAIR[-1:], float32)
    rows, columns = PAIR
    cuda.shared.array((columns, rows), float32)


@accepted
def the_number_of_dimensions(out, n):
    cuda.shared.array(out.ndim, float32)


def made_for(size):
    def a_variable_of_the_function_around(out, n):
        cuda.shared.array(size, float32)

    return a_variable_of_the_function_around


accepted(made_for(16))


@refused(CONSTANT)
def the_size_of_a_block(out, n):
    cuda.shared.array(cuda.blockDim.x, float32)


@refused(CONSTANT)
def a_variable_of_the_size_of_a_block(out, n):
    size = cuda.blockDim.x
    cuda.local.array((4, size), float32)


@refused(CONSTANT)
def an_argument(out, n):
    cuda.shared.array(n, float32)


@refused(CONSTANT)
def the_length_of_an_argument(out, n):
    cuda.local.array(len(out), float32)


@refused(CONSTANT)
def the_shape_of_an_argument(out, n):
    cuda.local.array(out.shape, float32)


@refused(CONSTANT)
def a_sum(out, n):
    cuda.shared.array((N, N + 1), float32)


@refused(CONSTANT)
def a_product_in_a_variable(out, n):
    size = N * 2
    cuda.shared.array(size, float32)


@refused(CONSTANT)
def an_increased_number(out, n):
    size = 32
    size += 1
    cuda.shared.array(size, float32)


@refused(CONSTANT)
def two_numbers_in_two_branches(out, n):
    size = 32
    if n > 3:
        size = 64
    cuda.shared.array(size, float32)


@refused(CONSTANT)
def the_variable_of_a_loop(out, n):
    for size in range(1, 4):
        cuda.shared.array(size, float32)


@refused(CONSTANT)
def a_list_outside(out, n):
    cuda.shared.array(SIZES[0], float32)


@refused(CONSTANT)
def a_number_of_numpy(out, n):
    cuda.shared.array(NUMPY_INT, float32)


@refused(CONSTANT)
def a_truth_value(out, n):
    cuda.shared.array(TRUE, float32)


@refused(CONSTANT)
def a_float(out, n):
    cuda.shared.array(32.0, float32)


@refused(CONSTANT)
def a_variable_of_another_module(out, n):
    cuda.shared.array(module.TILE, float32)


@refused("cuda.local.array expected sizes of at least 1")
def no_elements(out, n):
    cuda.local.array((4, 0), float32)


# Types of elements


@accepted
def types_of_numba_and_numpy(out, n):
    cuda.shared.array(N, numba.boolean)
    cuda.shared.array(N, numba.types.int8)
    cuda.shared.array(N, np.float64)
    cuda.local.array(N, np.bool_)


@accepted
def the_type_of_an_argument(out, n):
    dtype = out.dtype
    cuda.shared.array(N, dtype)
    cuda.shared.array(N, DTYPE)


@accepted
def a_type_by_name(out, n):
    cuda.shared.array(N, "float32")


@refused(TYPE)
def pythons_float(out, n):
    cuda.shared.array(N, float)


@refused(TYPE)
def pythons_int(out, n):
    cuda.local.array(N, int)


@refused(TYPE)
def pythons_bool(out, n):
    cuda.local.array(N, dtype=bool)


@refused(TYPE)
def text(out, n):
    cuda.shared.array(N, str)


@refused(TYPE)
def a_name_of_no_type(out, n):
    cuda.shared.array(N, "float33")


@refused(TYPE)
def a_long_double(out, n):
    cuda.shared.array(N, np.longdouble)


@refused(TYPE)
def no_type(out, n):
    cuda.shared.array(N)


# Other arrays


@refused("a kernel expected no list")
def a_list(out, n):
    out[0] = [1, 2, 3][n]


@refused("a kernel expected no list")
def a_repeated_list(out, n):
    out[0] = ([0] * 3)[n]


@refused("a kernel expected no new NumPy array")
def zeros_of_numpy(out, n):
    out[0] = np.zeros(4)[n]


@pytest.mark.parametrize("kernel", ACCEPTED)
def test_what_the_compiler_accepts_is_accepted(kernel):
    check_arrays(kernel)


@pytest.mark.parametrize(("kernel", "expected"), REFUSED)
def test_what_the_compiler_refuses_is_refused_with_its_line(kernel, expected):
    line = max(line for _, _, line in kernel.__code__.co_lines() if line)
    with pytest.raises(ValueError, match=rf"^test_limits.py, line {line}: .*{re.escape(expected)}, got '.*'; (write|use) "):
        check_arrays(kernel)
    with pytest.raises(KernelError, match=re.escape(expected)):
        inspect_kernel(kernel, 1, 1, np.zeros(4), 1)


@pytest.mark.skipif(SIMULATED, reason="NOT RUN: the simulator replaces the compiler")
@pytest.mark.skipif(not hasattr(cuda, "compiler"), reason="NOT RUN: numba.cuda cannot be imported")
@pytest.mark.parametrize(
    ("kernel", "accepts"), [pytest.param(*case.values[:1], case in ACCEPTED, id=case.id) for case in [*ACCEPTED, *REFUSED]]
)
def test_the_compiler_confirms_it(kernel, accepts, monkeypatch):
    """It infers types and writes LLVM's code; only assembling that would need CUDA's libraries."""
    compile_cuda = getattr(cuda.compiler, "compile_cuda", None)
    nvvm = getattr(cuda.cudadrv, "nvvm", None)
    if compile_cuda is None or nvvm is None or kernel is zeros_of_numpy:  # for which it asks the GPU
        pytest.skip("NOT RUN: this compiler needs CUDA's libraries")
    layout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
    monkeypatch.setattr(nvvm, "NVVM", lambda: type("Library", (), {"data_layout": layout, "get_ir_version": lambda self: (2, 0, 3, 1)})())
    with contextlib.nullcontext() if accepts else pytest.raises((NumbaError, AttributeError, ValueError)):
        compile_cuda(kernel, numba.void, (numba.float64[::1], numba.int64), cc=(8, 0))


# Functions that a kernel calls


@cuda.jit(device=True)
def reads_a_list(n):
    return [1, 2, 3][n]


@cuda.jit(device=True)
def adds_in_shared_memory(size, value):
    numbers = cuda.shared.array(4096, numba.float64)
    again = cuda.local.array(size, numba.float64)
    numbers[0] = again[0] = value
    return numbers[0] + again[0]


def test_functions_that_a_kernel_calls_are_checked_but_may_get_constants():
    def wrong(out):
        out[0] = reads_a_list(1)

    def right(out):
        out[0] = adds_in_shared_memory(32, 1.0)

    with pytest.raises(ValueError, match=r"^test_limits.py, line \d+: a kernel expected no list, got 'return \[1, 2, 3\]\[n\]'"):
        check_arrays(wrong)
    check_arrays(right)


# Memory


def test_all_calls_of_a_function_share_its_shared_memory():
    def calls_it_twice(out):
        out[0] = adds_in_shared_memory(4, 1.0) + adds_in_shared_memory(4, 2.0)

    report = inspect_kernel(calls_it_twice, 1, 1, np.zeros(1))
    assert (report.arrays["out"].tolist(), report.shared_bytes) == ([6.0], 4096 * 8)


def test_the_shared_arrays_of_a_block_have_48_kilobytes_together():
    def fits(out):
        a = cuda.shared.array(6143, numba.float64)
        b = cuda.shared.array(1, "float64")
        a[0] = b[0] = out[0]

    def does_not(out):
        a = cuda.shared.array(6143, numba.float64)
        b = cuda.shared.array(2, numba.float64)
        a[0] = b[0] = out[0]

    assert inspect_kernel(fits, 2, 1, np.zeros(1)).shared_bytes == 48 * 1024
    line = does_not.__code__.co_firstlineno + 2
    message = rf"line {line}: the shared arrays of a block expected at most 49152 bytes, got 49160; use smaller tiles$"
    with pytest.raises(KernelError, match=message):
        inspect_kernel(does_not, 1, 1, np.zeros(1))


def test_a_local_array_has_512_kilobytes():
    def fits(out):
        cuda.local.array((512, 128), numba.float64)[0, 0] = out[0]

    def does_not(out):
        cuda.local.array((512, 129), numba.float64)[0, 0] = out[0]

    assert inspect_kernel(fits, 1, 1, np.zeros(1)).findings == []
    with pytest.raises(KernelError, match=r": the local arrays of a thread expected at most 524288 bytes, got 528384; use smaller tiles$"):
        inspect_kernel(does_not, 1, 1, np.zeros(1))


# Launches

THREADS = "block expected at most 1024 threads and 64 along z, got "
BLOCKS = "grid expected at most 2147483647 blocks along x and 65535 along y and z, got "


def ends_at_once(out):
    return


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        (1, 1025, THREADS + "(1025, 1, 1): 1025 threads; use more blocks"),
        (1, (1, 1025), THREADS + "(1, 1025, 1): 1025 threads; use more blocks"),
        (1, (32, 33), THREADS + "(32, 33, 1): 1056 threads; use more blocks"),
        (1, (1, 1, 65), THREADS + "(1, 1, 65): 65 threads; use more blocks"),
        ((2**31), 1, BLOCKS + "(2147483648, 1, 1); put the longest side along x, or let a block do more"),
        ((1, 65536), 1, BLOCKS + "(1, 65536, 1); put the longest side along x, or let a block do more"),
        ((1, 1, 65536), 1, BLOCKS + "(1, 1, 65536); put the longest side along x, or let a block do more"),
    ],
)
def test_a_launch_that_no_gpu_accepts_is_refused(grid, block, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        inspect_kernel(ends_at_once, grid, block, np.zeros(1))


def test_a_launch_has_blocks_and_threads_and_may_be_as_large_as_a_gpu_allows():
    check_launch((2**31 - 1, 65535, 65535), (16, 1, 64))
    with pytest.raises(ValueError, match=r"^grid expected sizes of at least 1, got \(0, 1, 1\); do not launch a kernel without work$"):
        check_launch((0, 1, 1), (32, 1, 1))
    with pytest.raises(ValueError, match=r"^block expected sizes of at least 1, got \(32, 0, 1\); "):
        check_launch((1, 1, 1), (32, 0, 1))


@pytest.mark.parametrize(("grid", "block"), [(1, 1024), (1, (1, 1024)), (1, (4, 4, 64)), ((1, 2, 2), (32, 32))])
def test_the_largest_blocks_are_launched(grid, block):
    assert inspect_kernel(ends_at_once, grid, block, np.zeros(1)).findings == []
