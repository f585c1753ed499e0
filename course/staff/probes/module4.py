"""Probes of Module 4: compiled and CUDA convolutions."""

from __future__ import annotations

import math

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, check_all_equal, check_equal
from course.staff.probes.convolutions import convolution_gradients, convolve
from course.staff.probes.module2 import rng
from course.staff.probes.module3 import COMPILE_SECONDS, NONCONTIGUOUS, CompiledKernel, check_sums, random_output, repeated_range, sums
from course.staff.probes.module3_cuda import SIMULATOR_SECONDS, DeviceArray, cuda_arguments, gpu_output, with_guards
from course.staff.probes.program import Program
from course.staff.probes.tensors import EXACT, StridedArray, kernel_arguments, numbers, random_strided, seeds, tensor

# Tasks 4.1 and 4.2


def conv_cases(seed: int, dims: int) -> list[tuple[StridedArray, StridedArray, tuple[int, ...], bool]]:
    """Inputs, weights, output shapes, and whether to reverse; some kernels are wider than the input, some outputs smaller."""
    cases = []
    for n in range(36):
        draw = rng(seed + n)
        batch, inputs, outputs = (int(size) for size in draw.integers(1, 4, 3))
        sizes = tuple(int(size) for size in draw.integers(1, 7 if dims == 1 else 5, dims))
        kernel = tuple(int(size) for size in draw.integers(1, 5 if dims == 1 else 4, dims))
        smaller = tuple(int(draw.integers(1, size + 1)) for size in sizes) if n % 3 == 2 else sizes
        x, w = (
            random_strided((batch, inputs, *sizes), draw, gaps=n % 2 == 1),
            random_strided((outputs, inputs, *kernel), draw, gaps=n % 2 == 1),
        )
        cases.append((x, w, (batch, outputs, *smaller), n % 4 > 1))
    draw, sizes = rng(seed), (60,) if dims == 1 else (12, 9)
    large = random_strided((5, 3, *sizes), draw, gaps=False), random_strided((6, 3, *(3, 2)[:dims]), draw, gaps=False)
    return [*cases, (*large, (5, 6, *sizes), False)]


def conv_kernel(task: str, dims: int) -> None:
    """Register the probes of a compiled convolution."""

    def kernel(p: Program, seed: int) -> Check:
        run = CompiledKernel(p, p.find(f"minitorch.fast_conv:tensor_conv{dims}d"))
        outs, expected = [], []
        for n, (x, w, shape, reverse) in enumerate(conv_cases(seed, dims)):
            out, label = random_output(shape, rng(seed + n), n % 5 > 2)
            target = kernel_arguments(p, out)
            run(*target, math.prod(shape), *kernel_arguments(p, x), *kernel_arguments(p, w), reverse)
            outs.append(target[0])
            expected.append((out.with_values(convolve(x.array, w.array, reverse, shape[2:])).storage[out.offset :], label))
        check_all_equal((yield outs), expected, EXACT)

    def gradients(p: Program, seed: int) -> Check:
        draw, fast = rng(seed), p.find("minitorch:FastBackend")
        x, w = random_strided((2, 2, *(5, 4)[:dims]), draw), random_strided((3, 2, *(3, 2)[:dims]), draw)
        a, b = tensor(p, x, fast, grad=True), tensor(p, w, fast, grad=True)
        out = p.find(f"minitorch:conv{dims}d")(a, b)
        grad_output = numbers((2, 3, *x.shape[2:]), draw)
        out.backward(tensor(p, grad_output, fast))
        got = yield [out, a.grad, b.grad]
        for one, right in zip(got, [convolve(x.array, w.array), *convolution_gradients(x.array, w.array, grad_output)], strict=True):
            check_equal(one, right, EXACT)

    def races(p: Program) -> Check:
        (off,) = yield [p.find("minitorch.kernels.jit:compiler_is_off")()]
        batch, inputs, outputs, *sizes = (1, 2, 3, 4, 3)[: 3 + dims] if off is True else (3, 24, 10, 40, 25)[: 3 + dims]
        q, kernel = Program(), (3, 2)[:dims]
        run = CompiledKernel(q, q.find(f"minitorch.fast_conv:tensor_conv{dims}d"))
        shapes = [(batch, outputs, *sizes), (batch, inputs, *sizes), (outputs, inputs, *kernel)]
        strides = [tuple(math.prod(shape[n + 1 :]) for n in range(len(shape))) for shape in shapes]
        x, w = repeated_range(q, math.prod(shapes[1]), 13), repeated_range(q, math.prod(shapes[2]), 7)
        size, requests = math.prod(shapes[0]), []
        for _ in range(5):
            out = q.find("numpy:zeros")(size)
            run(out, shapes[0], strides[0], size, x, shapes[1], strides[1], w, shapes[2], strides[2], False)
            requests += sums(q, out, size)
        got = yield requests
        a, b = ((np.arange(math.prod(shape), dtype=float) % cycle).reshape(shape) for shape, cycle in zip(shapes[1:], (13, 7), strict=True))
        check_sums(got, [convolve(a, b)] * 5)

    tests = (
        "test_conv1d_simple; test_conv1d; test_conv1d_channel" if dims == 1 else "test_conv; test_conv_batch; test_conv_channel; test_conv2"
    )
    says = "the compiled convolution is correct for inputs and kernels of any size and layout, in both directions"
    probe(
        task,
        says,
        weight=4,
        count=1,
        seconds=COMPILE_SECONDS,
        labels=[NONCONTIGUOUS],
        seed=seeds,
        source=f"docstring of _tensor_conv{dims}d; {tests}",
    )(kernel)
    says = "the convolution has no race conditions between threads"
    probe(task, says, weight=2, seconds=COMPILE_SECONDS, source=f"Task {task}: the outer loop is parallel")(races)
    probe(
        task, f"conv{dims}d of tensors and its gradients are correct", weight=2, count=1, seconds=COMPILE_SECONDS, seed=seeds, source=tests
    )(gradients)


conv_kernel("4.1", 1)
conv_kernel("4.2", 2)


# Task 4.4b


def gpu_conv(dims: int) -> None:
    """Register the probe of a CUDA convolution."""

    def check(p: Program, seed: int) -> Check:
        kernel = p.find("minitorch.kernels.cuda.device:jit")(p.find(f"minitorch.cuda_conv:_tensor_conv{dims}d"))
        block, blocks_for = p.find("minitorch.cuda_conv:CONV_BLOCK"), p.find("minitorch.kernels.cuda.device:blocks_for")
        outs, expected = [], []
        for n, (x, w, shape, reverse) in enumerate(conv_cases(seed, dims)[:18]):
            for one in (x, w):
                one.storage[:] += 0.125
            out, label = gpu_output(shape, rng(seed + n), n % 3 == 2)
            target, size = DeviceArray(p, out.storage[out.offset :]), math.prod(shape)
            arguments = target.array, out.shape, out.strides, size, *cuda_arguments(p, x), *cuda_arguments(p, w), reverse
            p.find("minitorch.kernels.cuda.device:launch")(kernel, blocks_for(size, block) + 1, block, *arguments)
            out.array[...] = convolve(x.array, w.array, reverse, shape[2:])
            outs.append(target.copy_to_host())
            expected.append((with_guards(out.storage[out.offset :]), label))
        check_all_equal((yield outs), expected, EXACT)

    probe(
        "4.4b",
        f"the CUDA conv{dims}d writes every element, and nothing else",
        weight=3,
        count=1,
        labels=[NONCONTIGUOUS],
        seconds=SIMULATOR_SECONDS,
        seed=seeds,
    )(check)


gpu_conv(1)
gpu_conv(2)
