"""Kernels in the ways that students write them: the simulator computes what a GPU computes."""

import math

import numba
import numpy as np
import pytest

from minitorch import operators
from minitorch.kernels.cuda.device import SIMULATED, cuda, jit, launch, number_function

NUMBERS = np.array([0.5, -1.5, -2.5, -3.5])


def run(kernel, threads, *args):
    out = np.zeros(4)
    launch(jit(kernel), 1, threads, out, *args)
    return out.tolist()


# numba.cuda by other names than a global `cuda`


def reverse_written_out(out, a):
    tile = numba.cuda.shared.array(4, numba.float64)
    i = numba.cuda.threadIdx.x
    tile[i] = a[i]
    numba.cuda.syncthreads()
    out[i] = tile[3 - i]


def double_with_local_import():
    from numba import cuda as gpu

    def double(out, a):
        i = gpu.grid(1)
        out[i] = 2 * a[i]

    return double


def test_numba_cuda_may_be_written_out():
    assert run(reverse_written_out, 4, NUMBERS) == [-3.5, -2.5, -1.5, 0.5]


def test_cuda_may_be_imported_in_a_function():
    assert run(double_with_local_import(), 4, NUMBERS) == [1, -3, -5, -7]


@pytest.mark.skipif(not SIMULATED, reason="NOT RUN: on a GPU, numba.cuda has the attributes of kernels everywhere")
@pytest.mark.parametrize("name", ["syncthreads", "no_such_name"])
def test_outside_of_kernels_numba_cuda_has_no_attribute_of_kernels(name):
    with pytest.raises(AttributeError, match=f"^module 'numba.cuda' has no attribute '{name}'$"):
        getattr(cuda, name)


# Numbers of Python as arguments of the functions that kernels call


def reduce_shared(fn):
    def kernel(out, a, start):
        cache = cuda.shared.array(4, numba.float64)
        i = cuda.threadIdx.x
        cache[i] = a[i]
        cuda.syncthreads()
        if i == 0:
            so_far = start
            for k in range(4):
                so_far = fn(so_far, cache[k])
            out[0] = so_far

    return kernel


def sum_from_a_literal(add):
    def kernel(out, a):
        total = 0
        for k in range(4):
            total = add(total, a[k])
        out[0] = add(total, 0.25)

    return kernel


def apply_both(add, relu):
    def kernel(out, a):
        i = cuda.grid(1)
        out[i] = add(relu(a[i]), 0.5)  # as Python, relu may return a float

    return kernel


@pytest.mark.parametrize(("start", "expected"), [(-math.inf, 0.5), (-2.5, 0.5), (0.75, 0.75), (0, 0.5), (1, 1)])
def test_a_start_value_keeps_its_fraction(start, expected):
    assert run(reduce_shared(number_function(operators.max)), 4, NUMBERS, start)[0] == expected


def test_the_largest_of_negative_numbers_is_negative():
    assert run(reduce_shared(number_function(operators.max)), 4, NUMBERS - 1, -math.inf)[0] == -0.5


def test_a_sum_may_start_from_the_literal_0():
    assert run(sum_from_a_literal(number_function(operators.add)), 1, NUMBERS)[0] == -6.75


def test_a_function_may_take_the_result_of_another():
    assert run(apply_both(number_function(operators.add), number_function(operators.relu)), 4, NUMBERS) == [1, 0.5, 0.5, 0.5]


# The limits of a GPU and its compiler


def shared_of_the_size_of_the_block(out):
    cuda.shared.array(cuda.blockDim.x, numba.float64)


def too_much_shared_memory(out):
    cuda.shared.array(6145, numba.float64)


def too_much_local_memory(out):
    cuda.local.array(65537, numba.float64)


@pytest.mark.skipif(not SIMULATED, reason="NOT RUN: on a GPU, the compiler and the driver have their own messages")
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (shared_of_the_size_of_the_block, "cuda.shared.array expected a size that is known when the kernel is compiled"),
        (too_much_shared_memory, "the shared arrays of a block expected at most 49152 bytes, got 49160"),
        (too_much_local_memory, "the local arrays of a thread expected at most 524288 bytes, got 524296"),
    ],
)
def test_a_kernel_that_a_gpu_would_refuse_is_an_error(kernel, message):
    with pytest.raises(ValueError, match=message):
        run(kernel, 1)
