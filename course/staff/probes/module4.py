"""Probes of Module 4: convolutions, compiled and on the GPU."""

from __future__ import annotations

import math

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, all_same, same
from course.staff.probes.convolutions import convolved, flows
from course.staff.probes.module2 import drawn
from course.staff.probes.module3 import ANY_OUT, COMPILING, CompiledKernel, counted, result, same_sums, sums
from course.staff.probes.module3_cuda import SIMULATING, OnDevice, gpu_result, guarded, on_gpu
from course.staff.probes.program import Program
from course.staff.probes.tensors import EXACT, Laid, for_kernel, laid, numbers, seeds, tensor

# Tasks 4.1 and 4.2


def conv_cases(seed: int, dims: int) -> list[tuple[Laid, Laid, tuple[int, ...], bool]]:
    """Inputs and weights, shapes of results, and whether it is reversed: windows wider than the input too, and results smaller than it."""
    cases = []
    for n in range(36):
        draw = drawn(seed + n)
        batch, inputs, outputs = (int(size) for size in draw.integers(1, 4, 3))
        sizes = tuple(int(size) for size in draw.integers(1, 7 if dims == 1 else 5, dims))
        kernel = tuple(int(size) for size in draw.integers(1, 5 if dims == 1 else 4, dims))
        smaller = tuple(int(draw.integers(1, size + 1)) for size in sizes) if n % 3 == 2 else sizes
        x, w = laid((batch, inputs, *sizes), draw, gaps=n % 2 == 1), laid((outputs, inputs, *kernel), draw, gaps=n % 2 == 1)
        cases.append((x, w, (batch, outputs, *smaller), n % 4 > 1))
    draw, sizes = drawn(seed), (60,) if dims == 1 else (12, 9)
    large = laid((5, 3, *sizes), draw, gaps=False), laid((6, 3, *(3, 2)[:dims]), draw, gaps=False)
    return [*cases, (*large, (5, 6, *sizes), False)]


def conv_kernel(task: str, dims: int) -> None:
    """Enter the probes of a compiled convolution."""

    def kernel(p: Program, seed: int) -> Check:
        run = CompiledKernel(p, p.find(f"minitorch.fast_conv:tensor_conv{dims}d"))
        outs, expected = [], []
        for n, (x, w, shape, reverse) in enumerate(conv_cases(seed, dims)):
            out, label = result(shape, drawn(seed + n), n % 5 > 2)
            target = for_kernel(p, out)
            run(*target, math.prod(shape), *for_kernel(p, x), *for_kernel(p, w), reverse)
            outs.append(target[0])
            expected.append((out.filled(convolved(x.array, w.array, reverse, shape[2:])).storage[out.offset :], label))
        all_same((yield outs), expected, EXACT)

    def gradients(p: Program, seed: int) -> Check:
        draw, fast = drawn(seed), p.find("minitorch:FastBackend")
        x, w = laid((2, 2, *(5, 4)[:dims]), draw), laid((3, 2, *(3, 2)[:dims]), draw)
        a, b = tensor(p, x, fast, grad=True), tensor(p, w, fast, grad=True)
        out = p.find(f"minitorch:conv{dims}d")(a, b)
        arriving = numbers((2, 3, *x.shape[2:]), draw)
        out.backward(tensor(p, arriving, fast))
        got = yield [out, a.grad, b.grad]
        for one, right in zip(got, [convolved(x.array, w.array), *flows(x.array, w.array, arriving)], strict=True):
            same(one, right, EXACT)

    def threads_apart(p: Program) -> Check:
        (off,) = yield [p.find("minitorch.kernels.jit:compiler_is_off")()]
        batch, inputs, outputs, *sizes = (1, 2, 3, 4, 3)[: 3 + dims] if off is True else (3, 24, 10, 40, 25)[: 3 + dims]
        q, kernel = Program(), (3, 2)[:dims]
        run = CompiledKernel(q, q.find(f"minitorch.fast_conv:tensor_conv{dims}d"))
        shapes = [(batch, outputs, *sizes), (batch, inputs, *sizes), (outputs, inputs, *kernel)]
        strides = [tuple(math.prod(shape[n + 1 :]) for n in range(len(shape))) for shape in shapes]
        x, w = counted(q, math.prod(shapes[1]), 13), counted(q, math.prod(shapes[2]), 7)
        size, asked = math.prod(shapes[0]), []
        for _ in range(5):
            out = q.find("numpy:zeros")(size)
            run(out, shapes[0], strides[0], size, x, shapes[1], strides[1], w, shapes[2], strides[2], False)
            asked += sums(q, out, size)
        got = yield asked
        a, b = ((np.arange(math.prod(shape), dtype=float) % cycle).reshape(shape) for shape, cycle in zip(shapes[1:], (13, 7), strict=True))
        same_sums(got, [convolved(a, b)] * 5)

    says = "the compiled convolution of inputs and windows of any size and layout, in both directions"
    probe(task, says, weight=4, count=1, seconds=COMPILING, labels=[ANY_OUT], seed=seeds)(kernel)
    says = "threads that work at the same time do not disturb each other in a convolution"
    probe(task, says, weight=2, seconds=COMPILING)(threads_apart)
    probe(task, f"conv{dims}d of tensors, with its gradients", weight=2, count=1, seconds=COMPILING, seed=seeds)(gradients)


conv_kernel("4.1", 1)
conv_kernel("4.2", 2)


# Task 4.4b


def gpu_conv(dims: int) -> None:
    """Enter the probe of a convolution of the GPU."""

    def check(p: Program, seed: int) -> Check:
        kernel = p.find("minitorch.kernels.cuda.device:jit")(p.find(f"minitorch.cuda_conv:_tensor_conv{dims}d"))
        block, blocks_for = p.find("minitorch.cuda_conv:CONV_BLOCK"), p.find("minitorch.kernels.cuda.device:blocks_for")
        backs, expected = [], []
        for n, (x, w, shape, reverse) in enumerate(conv_cases(seed, dims)[:18]):
            for one in (x, w):
                one.storage[:] += 0.125
            out, label = gpu_result(shape, drawn(seed + n), n % 3 == 2)
            target, size = OnDevice(p, out.storage[out.offset :]), math.prod(shape)
            arguments = target.given, out.shape, out.strides, size, *on_gpu(p, x), *on_gpu(p, w), reverse
            p.find("minitorch.kernels.cuda.device:launch")(kernel, blocks_for(size, block) + 1, block, *arguments)
            out.array[...] = convolved(x.array, w.array, reverse, shape[2:])
            backs.append(target.back())
            expected.append((guarded(out.storage[out.offset :]), label))
        all_same((yield backs), expected, EXACT)

    probe(
        "4.4b",
        f"the GPU's convolution of {dims} dimensions writes every element, and nothing else",
        weight=3,
        count=1,
        labels=[ANY_OUT],
        seconds=SIMULATING,
        seed=seeds,
    )(check)


gpu_conv(1)
gpu_conv(2)
