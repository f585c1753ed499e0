"""What `benchmarks.ops` measures in each library: ours, NumPy, PyTorch and the textbook kernels.

As a program, this is the process of one library: for a name on standard input, it prepares that row of the table; for an empty line, it
answers with the seconds of one call. See `benchmarks.rivals.Library`.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[[], Any]

CHAIN = 20
"""Number of operations in a chain, all of them small."""

POINTS, BATCH, HIDDEN, RATE = 50, 10, 100, 0.05
"""The settings for the network of Task 3.5, which is trained on the data set Split in mini-batches."""


def operands(name: str) -> tuple[str, Any, Any]:
    """The operation of a row, and its two arrays.

    Args:
        name: Operation, dtype and size, as in "add float32 1e5".
    """
    op, dtype, size = name.split()
    random = np.random.default_rng(0)
    if op == "matmul":
        shape = (32, 64, 64) if size == "32x64" else (int(size), int(size))
        shapes = shape, shape
    else:
        rows = {"1e5": 100, "1e7": 4000}.get(size, 1)
        shape = (rows, int(float(size)) // rows)
        shapes = shape, shape[1:] if op == "add_row" else shape
    first, second = (random.standard_normal(shape).astype(dtype) for shape in shapes)
    return op, first, second


def split_points(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The data set Split: points, shape (POINTS, 2), and labels, 1 in the outer stripes."""
    points = np.random.default_rng(0).random((POINTS, 2)).astype(dtype)
    return points, (abs(points[:, 0] - 0.5) > 0.3).astype(dtype)


# From the name of a row to the function to measure; None if a library lacks the operation


def of_numpy(name: str) -> Run | None:
    """Return a row in NumPy."""
    op, a, b = operands(name)
    out = np.empty_like(a)
    runs: dict[str, Run] = {
        "matmul": lambda: np.matmul(a, b, out=out),
        "add": lambda: np.add(a, b, out=out),
        "add_row": lambda: np.add(a, b, out=out),
        "mul": lambda: np.multiply(a, b, out=out),
        "relu": lambda: np.maximum(a, 0, out=out),
        "exp": lambda: np.exp(a, out=out),
        "tanh": lambda: np.tanh(a, out=out),
        "sigmoid": lambda: np.divide(1, np.add(1, np.exp(np.negative(a, out=out), out=out), out=out), out=out),
        "sum_last": lambda: a.sum(1),
        "sum_first": lambda: a.sum(0),
        "sum_all": lambda: a.sum(),
    }
    return runs.get(op)


def of_torch(name: str) -> Run | None:
    """Return a row in PyTorch."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    op, *arrays = operands(name)
    if op == "network":
        return torch_network(name.split()[1])
    a, b = map(torch.from_numpy, arrays)
    out = torch.empty_like(a)

    def chain() -> None:
        x = y = a.detach().requires_grad_()
        for _ in range(CHAIN):
            y = y * b
        y.sum().backward()
        x.grad = None

    runs: dict[str, Run] = {
        "matmul": lambda: torch.matmul(a, b, out=out),
        "add": lambda: torch.add(a, b, out=out),
        "add_row": lambda: torch.add(a, b, out=out),
        "mul": lambda: torch.mul(a, b, out=out),
        "relu": lambda: torch.clamp_min(a, 0, out=out),
        "exp": lambda: torch.exp(a, out=out),
        "tanh": lambda: torch.tanh(a, out=out),
        "sigmoid": lambda: torch.sigmoid(a, out=out),
        "sum_last": lambda: a.sum(1),
        "sum_first": lambda: a.sum(0),
        "sum_all": lambda: a.sum(),
        "chain": chain,
    }
    return runs.get(op)


def torch_network(dtype: str) -> Run:
    """Return an epoch of the network of Task 3.5, with PyTorch's layers and optimizer."""
    import torch

    sizes = [(2, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1)]
    first, second, third = (torch.nn.Linear(*size, dtype=getattr(torch, dtype)) for size in sizes)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters(), *third.parameters()], lr=RATE)
    points, labels = map(torch.from_numpy, split_points(dtype))

    def epoch() -> float:
        last = math.nan
        for start in range(0, POINTS, BATCH):
            x, y = points[start : start + BATCH], labels[start : start + BATCH]
            output = third(second(first(x).relu()).relu()).sigmoid().view(BATCH)
            loss = -(output * y + (1 - output) * (1 - y)).log().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            last = loss.item()
        return last

    return epoch


def of_minitorch(name: str) -> Run | None:
    """Return a row in our library."""
    from minitorch import FastBackend, from_numpy
    from minitorch.core import math_operators
    from minitorch.core.kernel import find_kernel

    op, *arrays = operands(name)
    if op == "network":
        return minitorch_network(name.split()[1])
    a, b = (from_numpy(array, backend=FastBackend) for array in arrays)
    f = FastBackend
    out = f.id_map(a)
    tanh = f.map(math_operators.tanh)
    matrix_multiply = find_kernel("matrix_multiply", f.ops)

    def chain() -> None:
        x = y = a.detach().requires_grad_()
        for _ in range(CHAIN):
            y = y * b
        y.sum().backward()
        x.grad = None

    runs: dict[str, Run] = {
        "matmul": lambda: matrix_multiply(out._tensor, a._tensor, b._tensor),
        "add": lambda: f.add_zip(a, b, out),
        "add_row": lambda: f.add_zip(a, b, out),
        "mul": lambda: f.mul_zip(a, b, out),
        "relu": lambda: f.relu_map(a, out),
        "exp": lambda: f.exp_map(a, out),
        "tanh": lambda: tanh(a, out),
        "sigmoid": lambda: f.sigmoid_map(a, out),
        "sum_last": lambda: a.sum(1),
        "sum_first": lambda: a.sum(0),
        "sum_all": lambda: a.sum(),
        "chain": chain,
    }
    return runs.get(op)


def minitorch_network(dtype: str) -> Run:
    """Return an epoch of the network of Task 3.5, as in `project/run_fast_tensor.py`, with the same operations as in PyTorch."""
    import minitorch
    from project.run_fast_tensor import Network

    minitorch.set_default_dtype(dtype)
    try:
        network = Network(HIDDEN, minitorch.FastBackend)
    finally:
        minitorch.set_default_dtype("float64")
    optimizer = minitorch.SGD(network.parameters(), RATE)
    points, labels = (minitorch.from_numpy(array, backend=minitorch.FastBackend) for array in split_points(dtype))

    def epoch() -> float:
        last = math.nan
        for start in range(0, POINTS, BATCH):
            x, y = points[start : start + BATCH], labels[start : start + BATCH]
            output = network(x)
            loss = -(output * y + (1 - output) * (1 - y)).log().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            last = loss.item()
        return last

    return epoch


def of_textbook(name: str) -> Run | None:
    """Return a row with the textbook kernels of `minitorch.fast_ops`."""
    from minitorch import fast_ops, operators

    op, *arrays = operands(name)

    def parts(array: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        array = array if op != "matmul" or array.ndim == 3 else array[None]
        return array.reshape(-1), np.array(array.shape, np.int32), np.array(array.strides, np.int32) // array.itemsize

    a, b = map(parts, arrays)
    out = parts(np.zeros_like(arrays[0]))
    if op == "matmul":
        return lambda: fast_ops.tensor_matrix_multiply(*out, *a, *b)
    if op == "add_row":
        kernel = fast_ops.tensor_zip(fast_ops.callable_from_kernels(operators.add))
        return lambda: kernel(*out, *a, *b)
    return None


LIBRARIES: dict[str, Callable[[str], Run | None]] = {
    "minitorch": of_minitorch,
    "numpy": of_numpy,
    "torch": of_torch,
    "textbook": of_textbook,
}


def work(make: Callable[[str], Run | None]) -> None:
    """The main loop of one library's process, which prepares rows with `make`."""
    run: Run | None = None
    calls = 1
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip():
            run = make(line.strip())
            if run is not None:
                run()
                start = time.perf_counter()
                run()
                calls = max(1, math.ceil(5e-3 / (time.perf_counter() - start)))
            print("none" if run is None else "ready", flush=True)
        elif run is not None:
            start = time.perf_counter()
            for _ in range(calls):
                run()
            print((time.perf_counter() - start) / calls, flush=True)


if __name__ == "__main__":
    work(LIBRARIES[sys.argv[1]])
