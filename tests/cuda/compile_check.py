"""Compile and assemble every CUDA kernel for several cards, on a machine without any: registers, shared memory, stack and spills.

    make check-cuda            # or, where requirements.cuda.txt is installed: python -m tests.cuda.compile_check

It fails if a kernel does not compile, or needs local memory: a stack or spilled registers are in slow global memory.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

TARGETS = ((8, 0), (9, 0))
"""Compute capabilities: A100, H100."""

PACKAGES = "numba-cuda, nvidia-nvvm, nvidia-nvjitlink: pip install -r requirements.cuda.txt, or make check-cuda"

SHARED_LIMIT = 48 * 1024
"""Bytes of shared memory that every GPU provides to a block."""


@dataclass(frozen=True)
class Kernel:
    """A kernel: its name in the table, its function, the types of its arguments, the threads of a block; index arrays need a stack."""

    name: str
    body: Callable[..., None]
    args: tuple[Any, ...]
    threads: int
    indexed: bool = False


@dataclass(frozen=True)
class Resources:
    """The resources of a multiprocessor that a kernel needs."""

    registers: int
    shared: int
    stack: int
    spills: int


def kernels() -> Iterator[Kernel]:
    """All kernels: every function of the backend for both floating dtypes, layouts of 1, 2 and 4 dimensions, every tile size.

    Last come the textbook kernels with index arrays, which need a stack.
    """
    from numba import boolean, float32, float64, int32, int64, types

    from minitorch import cuda_conv, cuda_kernels, cuda_ops, operators
    from minitorch.core import math_operators
    from minitorch.kernels.cuda import array_interface, elementwise, matmul
    from minitorch.kernels.cuda import conv as conv_kernels
    from minitorch.kernels.cuda.device import number_function
    from minitorch.language import cuda_attention

    def storage(dtype: Any) -> Any:
        return types.Array(dtype, 1, "C")

    def layout(dtype: Any, dims: int) -> tuple[Any, ...]:
        return storage(dtype), types.UniTuple(int64, dims), types.UniTuple(int64, dims)

    threads = cuda_ops.THREADS_PER_BLOCK
    scalar_functions = vars(operators) | vars(math_operators)
    maps = "neg id relu sigmoid log exp inv sin cos tanh sqrt"
    zips = "add mul lt eq is_close relu_back log_back inv_back power"
    folds = operators.add, operators.mul, math_operators.logical_and, math_operators.maximum, math_operators.minimum
    for dtype in (float32, float64):
        single = dtype is float32
        for name in maps.split():
            body = elementwise.map_kernel(number_function(scalar_functions[name], single))
            for dims in (1, 2, 4) if name == "id" else (1,):
                yield Kernel(f"map {name}, {dims}-d, {dtype}", body, (*layout(dtype, dims), int64, *layout(dtype, dims)), threads)
        for name in zips.split():
            out = boolean if name in ("lt", "eq", "is_close") else dtype
            body = elementwise.zip_kernel(number_function(scalar_functions[name], single))
            for dims in (1, 2, 4) if name == "add" else (1,):
                args = (*layout(out, dims), int64, *layout(dtype, dims), *layout(dtype, dims))
                yield Kernel(f"zip {name}, {dims}-d, {dtype}", body, args, threads)
        for fn in folds:
            for fold in (elementwise.ROW, elementwise.SHORT_ROW, elementwise.COLUMN, elementwise.SHORT_COLUMN):
                body = elementwise.reduce_kernel(number_function(fn, single), fold)
                out = boolean if fn is math_operators.logical_and else dtype
                args = (*layout(out, 2), int64, *layout(dtype, 2), int64, float64)
                shape = f"{fold.outputs}×{fold.lanes}{' along' if fold.along else ''}"
                yield Kernel(f"reduce {fn.__name__.lstrip('_')}, {shape}, {dtype}", body, args, fold.outputs * fold.lanes)
        for tiles in (matmul.LARGE, matmul.SMALL):
            size = tiles[np.dtype(str(dtype))]
            args = (*layout(dtype, 3), int64, *layout(dtype, 3), *layout(dtype, 3))
            yield Kernel(f"matmul {size.rows}×{size.columns}×{size.depth}, {dtype}", matmul.product_kernel(size), args, size.threads)
    for dtype in (float32, float64, int64, int32):
        args = (*layout(dtype, 3), int64, *layout(dtype, 3), *layout(dtype, 3))
        yield Kernel(f"matmul of the textbook, {dtype}", cuda_ops._tensor_matrix_multiply, args, cuda_ops.BLOCK_DIM**2)
    for dtype in (float32, float64):
        images = [*layout(dtype, 4)] * 3
        yield Kernel(f"convolution, {dtype}", conv_kernels.convolution_kernel(), (*images, int64), conv_kernels.THREADS)
        yield Kernel(f"convolution, large window, {dtype}", conv_kernels.long_sums_kernel(), tuple(images), conv_kernels.THREADS)
        for dims, body in ((3, cuda_conv._tensor_conv1d), (4, cuda_conv._tensor_conv2d)):
            args = (*layout(dtype, dims), int64, *layout(dtype, dims), *layout(dtype, dims), boolean)
            yield Kernel(f"convolution of {dims - 2}-d of the textbook, {dtype}", body, args, cuda_conv.CONV_BLOCK)
    whole = elementwise.zip_kernel(number_function(operators.add, False))
    for dtype in (int64, int32, boolean):
        yield Kernel(f"zip add, 1-d, {dtype}", whole, (*layout(dtype, 1), int64, *layout(dtype, 1), *layout(dtype, 1)), threads)
    for dtype in (float32, float64, int64, int32, boolean):
        yield Kernel(f"fill, {dtype}", array_interface.fill_elements, (storage(dtype), dtype, int64), array_interface.THREADS)
    for dtype in (float32, float64):
        yield Kernel(f"sum_practice, {dtype}", cuda_ops._sum_practice, (storage(dtype), storage(dtype), int64), cuda_ops.PRACTICE_BLOCK)
        args = (*[storage(dtype)] * 3, int64)
        yield Kernel(f"mm_practice, {dtype}", cuda_ops._mm_practice, args, cuda_ops.PRACTICE_BLOCK**2)
        args = (storage(dtype), storage(dtype), int64, int64)
        yield Kernel(f"transpose, {dtype}", cuda_kernels.transpose_kernel, args, cuda_kernels.TILE**2)
        yield Kernel(f"sum, {dtype}", cuda_kernels.sum_kernel, args[:3], cuda_kernels.SUM_THREADS)
    args = (*[types.Array(float32, 3, "C")] * 4, float32, boolean)
    yield Kernel("attention, float32", cuda_attention.attention_kernel, args, cuda_attention.TILE**2)
    for dtype in (float32, float64):
        for dims in (1, 3):
            out, layouts = (*layout(dtype, dims), int64), [layout(dtype, dims)] * 2
            body = textbook_kernel("tensor_map", operators.neg)
            yield Kernel(f"map of the textbook, {dims}-d, {dtype}", body, (*out, *layouts[0]), threads, indexed=True)
            body = textbook_kernel("tensor_zip", operators.add)
            yield Kernel(f"zip of the textbook, {dims}-d, {dtype}", body, (*out, *layouts[0], *layouts[1]), threads, indexed=True)
            args = (*out, *layouts[0], int64, float64)
            body = textbook_kernel("tensor_reduce", operators.add)
            yield Kernel(f"reduce of the textbook, {dims}-d, {dtype}", body, args, cuda_ops.REDUCE_BLOCK, indexed=True)


def textbook_kernel(name: str, fn: Callable[..., float]) -> Callable[..., None]:
    """The body of the kernel that a function of cuda_ops, such as `tensor_map`, creates from fn."""
    from minitorch import cuda_ops
    from minitorch.kernels.cuda.device import number_function

    return getattr(cuda_ops, name)(number_function(fn)).py_func


def compile_kernel(kernel: Kernel, target: tuple[int, int]) -> Resources:
    """Compile a kernel as numba does at its first launch, and link it to machine code for a GPU."""
    from numba import cuda, types

    code, _ = cuda.compile(kernel.body, types.void(*kernel.args), cc=target, device=False, abi="numba", output="ltoir")
    return link_code(code, target)


def link_code(code: bytes, target: tuple[int, int]) -> Resources:
    """Link the code and read the resources from the linker's output."""
    from cuda.bindings import nvjitlink

    handle = nvjitlink.create(3, [f"-arch=sm_{target[0]}{target[1]}", "-lto", "-verbose"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.LTOIR, code, len(code), "kernel")
        nvjitlink.complete(handle)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    text = log.decode(errors="replace")

    def number(pattern: str) -> int:
        return sum(map(int, re.findall(pattern, text)))

    return Resources(
        number(r"Used (\d+) registers"),
        number(r"(\d+) bytes smem"),
        number(r"(\d+) bytes stack frame"),
        number(r"(\d+) bytes spill (?:stores|loads)"),
    )


def problem(kernel: Kernel, use: Resources) -> str:
    """A problem with the kernel, or an empty string."""
    table = kernel.name.startswith(("map sin", "map cos"))  # CUDA's own sin and cos use a table in local memory
    if use.spills or (use.stack and not table and not kernel.indexed):
        return "USES LOCAL MEMORY"
    if use.registers * kernel.threads > 65536 or use.registers == 0:
        return "TOO MANY REGISTERS FOR ITS BLOCK" if use.registers else "NO REGISTERS READ"
    return "TOO MUCH SHARED MEMORY" if use.shared > SHARED_LIMIT else ""


def main() -> int:
    """Print the table; returns 1 if a kernel is bad, 2 if nothing can be compiled here."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") != "0":
        print("NOT RUN: NUMBA_ENABLE_CUDASIM is set, and the simulator has no compiler; unset it")
        return 2
    try:
        import numba.cuda.dispatcher as dispatcher
        from cuda.bindings import nvjitlink  # noqa: F401  # only whether it is there
    except ImportError as error:
        print(f"NOT RUN: {error}; it needs {PACKAGES}")
        return 2
    bad = 0
    print(f"{'kernel':44} {'target':7} {'threads':>7} {'registers':>9} {'shared':>7} {'stack':>6} {'spills':>6}")
    for target in TARGETS:
        # A function that a kernel calls asks for the current GPU's capability; without a GPU, this answers.
        dispatcher.get_current_device = lambda target=target: SimpleNamespace(compute_capability=target)
        for kernel in kernels():
            use = compile_kernel(kernel, target)
            wrong = problem(kernel, use)
            bad += bool(wrong)
            card = f"sm_{target[0]}{target[1]}"
            print(f"{kernel.name:44} {card:7} {kernel.threads:7} {use.registers:9} {use.shared:7} {use.stack:6} {use.spills:6} {wrong}")
    print("PASS: compiled and assembled, not run" if not bad else f"FAIL: {bad} kernels")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
