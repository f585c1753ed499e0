"""How long the inspection of a CUDA kernel takes on a CPU: minitorch.cuda.inspect_kernel on kernels of known size.

python -m benchmarks.cuda_inspect --repeats 5
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.machine import processor
from minitorch import cuda_ops, operators
from minitorch.cuda import KernelReport, inspect_kernel
from minitorch.kernels.cuda.device import number_function


def product(size: int) -> KernelReport:
    """The course's tiled product of two matrices with size rows and columns, in blocks of 32 × 32 threads."""
    a = np.random.default_rng(0).random(size * size, np.float32)
    layout = (1, size, size), (size * size, size, 1)
    blocks = -(-size // cuda_ops.BLOCK_DIM)
    block = cuda_ops.BLOCK_DIM, cuda_ops.BLOCK_DIM
    kernel = cuda_ops._tensor_matrix_multiply
    return inspect_kernel(kernel, (blocks, blocks), block, np.zeros_like(a), *layout, size * size, a, *layout, a[::-1].copy(), *layout)


def elementwise(size: int) -> KernelReport:
    """The course's map of the sigmoid over a vector."""
    a = np.random.default_rng(0).random(size)
    kernel, threads = cuda_ops.tensor_map(number_function(operators.sigmoid)), cuda_ops.THREADS_PER_BLOCK
    return inspect_kernel(kernel, -(-size // threads), threads, np.zeros(size), (size,), (1,), size, a, (size,), (1,))


def reduction(size: int) -> KernelReport:
    """The course's sum of a vector, in blocks of 1024 elements."""
    a, cells = np.random.default_rng(0).random(size), -(-size // cuda_ops.REDUCE_BLOCK)
    kernel, threads = cuda_ops.tensor_reduce(number_function(operators.add)), cuda_ops.REDUCE_BLOCK
    return inspect_kernel(kernel, cells, threads, np.zeros(cells), (1, cells), (cells, 1), cells, a, (1, size), (size, 1), 1, 0.0)


WORK: tuple[tuple[str, Callable[[int], Any], int], ...] = (
    ("tiled product of 64 × 64", product, 64),
    ("tiled product of 128 × 128", product, 128),
    ("sigmoid of 100,000 elements", elementwise, 100_000),
    ("sum of 100,000 elements", reduction, 100_000),
)


def main(arguments: list[str] | None = None) -> int:
    """Print the median time of each inspection; returns 1 if one has findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args(arguments).repeats
    print(f"{processor()}, NumPy {np.__version__}, median of {repeats} after one run to warm up")
    wrong = 0
    for name, work, size in WORK:
        report = work(size)
        wrong += bool(report.findings)
        times = []
        for _ in range(repeats):
            begin = perf_counter()
            work(size)
            times.append(perf_counter() - begin)
        accesses = sum(access.elements for access in report.accesses)
        threads = report.threads * report.grid[0] * report.grid[1] * report.grid[2]
        print(f"{name:30} {1000 * median(times):9.1f} ms  {threads:9,} threads  {accesses:11,} accesses")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
