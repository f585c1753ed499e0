"""The GPU backend on a GPU: first whether every op is correct, then how close it comes to the limits of the hardware.

    python -m benchmarks.gpu --repeats 20

Times are measured with GPU events around each kernel, and are medians of the repeats; fractions of the limits can be compared between GPUs.
Without a GPU, the program says NOT RUN and the reason.
"""

from __future__ import annotations

import argparse
import platform
import sys
import warnings
from collections.abc import Callable
from datetime import date
from functools import cache
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import numba
import numpy as np

import minitorch
from minitorch import Tensor, cuda_ops, tensor
from minitorch.kernels.cuda import device as cuda_device
from minitorch.kernels.cuda import matmul as cuda_matmul
from minitorch.kernels.cuda.device import cuda

NOT_RUN = 2
"""The exit status if nothing was measured."""


def main(argv: list[str] | None = None) -> int:
    """Print the tables; returns 1 if an op is wrong, 2 if nothing can run here."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description="the GPU backend: correctness and speed")
    parser.add_argument("--repeats", type=int, default=20, help="measurements for every number (20)")
    parser.add_argument("--elements", type=int, default=2**26, help="elements of the arrays for map, zip and sum (2^26)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096], help="sizes of the matrices (1024 2048 4096)")
    parser.add_argument("--tiles", action="store_true", help="also try the matrix product with other tile sizes")
    parser.add_argument("--simulator", action="store_true", help="run in numba's simulator, to try this program; the times are meaningless")
    args = parser.parse_args(argv)
    if args.repeats < 1:
        parser.error(f"--repeats expected at least 1, got {args.repeats}")
    if not cuda_device.available():
        print("NOT RUN: no NVIDIA GPU here")
        return NOT_RUN
    if args.simulator != cuda_device.SIMULATED:
        print("NOT RUN: times in the simulator are meaningless" if cuda_device.SIMULATED else "NOT RUN: NUMBA_ENABLE_CUDASIM is not set")
        return NOT_RUN

    print(f"python -m benchmarks.gpu {' '.join(sys.argv[1:] if argv is None else argv)}")
    versions = f"Python {platform.python_version()}, numba {numba.__version__}, NumPy {np.__version__}"
    print(f"{date.today()}, {cuda_device.device_name()}, {versions}\n")
    wrong = print_correctness(quick=args.simulator)
    print_bandwidth(args.elements, args.repeats)
    print_products(args.sizes, args.repeats, args.tiles)
    print_steps(args.repeats)
    return int(wrong > 0)


# Correctness


def print_correctness(quick: bool) -> int:
    """Compare every op of the tests' table with NumPy; returns the number of wrong ones."""
    from tests.op_table import OPS, samples

    backend, wrong, tried = minitorch.cuda_backend(), 0, 0
    for op in OPS[::40] if quick else OPS:
        for shapes in op.shapes:
            arrays = samples(op, shapes)
            with warnings.catch_warnings(action="ignore"):  # NumPy's warnings about infinity and NaN
                expected = np.asarray(op.numpy(*arrays), dtype=float)
                out = op.ours(*[tensor(array, backend=backend) for array in arrays])
            found = out.to_numpy() if isinstance(out, Tensor) else np.asarray(out)
            tried += 1
            if found.shape != expected.shape or not np.allclose(found.astype(float), expected, 1e-9, 1e-9, equal_nan=True):
                wrong += 1
                print(f"WRONG: {op.name} of {shapes}")
    print(f"{tried - wrong} of {tried} results of {len(OPS)} ops equal NumPy's\n")
    return wrong


# Speed


def event() -> Any:
    """An event in the GPU's stream; in the simulator it records no time."""
    return cuda.event() if cuda_device.SIMULATED else cuda.event(timing=True)


def between(start: Any, end: Any) -> float:
    """GPU seconds between two events; in the simulator 1."""
    return 1.0 if cuda_device.SIMULATED else cuda.event_elapsed_time(start, end) / 1e3


@cache
def buffers(size: int) -> tuple[Any, Any]:
    """Two arrays of this many bytes each on the GPU."""
    return cuda.device_array(size, np.int8), cuda.device_array(size, np.int8)


def timed(work: Callable[[], Any]) -> tuple[Any, Any]:
    """Run some work on the GPU between two events, and return the events.

    A copy before the first event keeps the GPU busy while Python prepares the work; otherwise the GPU would wait between the events.
    """
    source, target = buffers(2**6 if cuda_device.SIMULATED else 2**28)
    target.copy_to_device(source)
    start, end = event(), event()
    start.record()
    work()
    end.record()
    return start, end


def time_of(work: Callable[[], Any], repeats: int) -> float:
    """GPU seconds for the work of another library, the median of the repeats; the first one is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start, end = timed(work)
        end.synchronize()
        times.append(between(start, end))
    return max(median(times), 1e-12)


def kernel_time(work: Callable[[], Any]) -> tuple[float, int]:
    """Seconds that our kernels take, measured with events around each of them, and their number; allocation is not included."""
    marks = []
    launch = cuda_ops.launch
    cuda_ops.launch = lambda *args: marks.append(timed(lambda: launch(*args)))
    try:
        work()
    finally:
        cuda_ops.launch = launch
    cuda.synchronize()
    return sum(between(start, end) for start, end in marks), len(marks)


def device_time(work: Callable[[], Any], repeats: int) -> float:
    """Return the seconds that the kernels of some work take, the median of the repeats; the first one, which compiles, is not counted."""
    work()
    cuda.synchronize()
    return max(median(kernel_time(work)[0] for _ in range(repeats)), 1e-12)


def random(*shape: int, seed: int = 0) -> Tensor:
    """A float32 tensor on the GPU."""
    return tensor(np.random.default_rng(seed).random(shape, dtype=np.float32), backend=minitorch.cuda_backend())


def print_bandwidth(elements: int, repeats: int) -> None:
    """Print how close map, zip and sum come to the GPU's copy bandwidth."""
    side = int(elements**0.5)
    x, y = random(side, side, seed=1), random(side, side, seed=2)
    row, number = random(1, side, seed=3), 4 * side * side
    source, target = buffers(number)
    copied = 2 * number / time_of(lambda: target.copy_to_device(source), repeats)
    print(f"copy of {number / 1e6:.0f} MB: {copied / 1e9:.0f} GB/s")
    print(f"{'float32':24} {'GB/s':>7} {'of copy':>8} {'goal':>6}")
    rows: list[tuple[str, Callable[[], Any], int, str]] = [
        ("-x", lambda: -x, 2 * number, "0.85"),
        ("relu(x)", x.relu, 2 * number, "0.85"),
        ("sigmoid(x)", x.sigmoid, 2 * number, "0.85"),
        ("x + y", lambda: x + y, 3 * number, "0.85"),
        ("x * y", lambda: x * y, 3 * number, "0.85"),
        ("x + row", lambda: x + row, 2 * number, "0.85"),
        ("x + y transposed", lambda: x + y.permute(1, 0), 3 * number, "-"),
        ("sum of all", lambda: x.sum(), number, "0.70"),
        ("sum of each row", lambda: x.sum(1), number, "0.70"),
        ("sum of each column", lambda: x.sum(0), number, "0.70"),
    ]
    for name, work, moved, asked in rows:
        speed = moved / device_time(work, repeats)
        print(f"{name:24} {speed / 1e9:7.0f} {speed / copied:8.2f} {asked:>6}")
    print()


def rival() -> tuple[str, Callable[[np.ndarray, np.ndarray], Callable[[], Any]]] | None:
    """Return the matrix product of CuPy or PyTorch, whichever is installed, without tf32. Both use the same stream as ours."""
    try:
        import cupy  # type: ignore[import-not-found]

        def in_cupy(a: np.ndarray, b: np.ndarray) -> Callable[[], Any]:
            x, y = cupy.asarray(a), cupy.asarray(b)
            return lambda: cupy.matmul(x, y)

        return "CuPy", in_cupy
    except ImportError:
        pass
    try:
        import torch  # type: ignore[import-not-found]
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = False

    def in_torch(a: np.ndarray, b: np.ndarray) -> Callable[[], Any]:
        x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        return lambda: x @ y

    return "torch", in_torch


def print_products(sizes: list[int], repeats: int, tiles: bool) -> None:
    """Print the matrix product in TFLOP/s against another library's."""
    other = rival()
    if other is None:
        print("neither CuPy nor torch with CUDA is here: the comparison is NOT RUN")
    print(f"{'matmul, TFLOP/s':24} {'ours':>7} {other[0] if other else 'other':>8} {'ratio':>6} {'goal':>6} {'transposed':>11}")
    for dtype in (np.float32, np.float64):
        for n in sizes:
            a, b = (np.random.default_rng(i).standard_normal((n, n)).astype(dtype) for i in (1, 2))
            x, y = (tensor(array, backend=minitorch.cuda_backend()) for array in (a, b))
            ours = 2e-12 * n**3 / device_time(lambda x=x, y=y: x @ y, repeats)
            turned = 2e-12 * n**3 / device_time(lambda x=x, y=y: x.permute(1, 0) @ y.permute(1, 0), repeats)
            theirs = 2e-12 * n**3 / time_of(other[1](a, b), repeats) if other else None
            beside = f"{theirs:8.2f} {ours / theirs:6.2f}" if theirs else f"{'-':>8} {'-':>6}"
            asked = "0.40" if dtype == np.float32 else "-"
            print(f"{np.dtype(dtype).name + ' ' + str(n):24} {ours:7.2f} {beside} {asked:>6} {turned:11.2f}")
    if tiles:
        print_tiles(max(sizes), repeats)
    print()


def print_tiles(n: int, repeats: int) -> None:
    """Print the float32 product with other tile sizes."""
    x, y = random(n, n, seed=1), random(n, n, seed=2)
    large = cuda_matmul.LARGE[x.dtype]
    for sizes in ((128, 128, 8, 8, 8), (128, 128, 16, 8, 8), (128, 64, 8, 8, 4), (64, 64, 16, 4, 4), (64, 64, 8, 4, 4), (32, 32, 16, 2, 2)):
        cuda_matmul.LARGE[x.dtype] = cuda_matmul.Tiles(*sizes)
        print(f"{'tiles ' + '×'.join(map(str, sizes)):24} {2e-12 * n**3 / device_time(lambda: x @ y, repeats):7.2f}")
    cuda_matmul.LARGE[x.dtype] = large


# Training steps


def network(sizes: list[int]) -> list[Tensor]:
    """Weights and biases of linear layers on the GPU, in float32."""
    made = []
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        values = np.random.default_rng(i).standard_normal((inputs, outputs)) / inputs**0.5
        made += [values.astype(np.float32), np.zeros((1, outputs), np.float32)]
    return [tensor(values, backend=minitorch.cuda_backend(), requires_grad=True) for values in made]


def step(parameters: list[Tensor], x: Tensor, y: Tensor) -> list[Tensor]:
    """Forward pass, backward pass and one step of gradient descent; returns the new parameters."""
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i] + parameters[i + 1]
        x = x.relu() if i + 2 < len(parameters) else x.sigmoid()
    error = x - y
    (error * error).mean().backward()
    return [(p.detach() - 0.05 * p.grad).requires_grad_() for p in parameters if p.grad is not None]


def print_steps(repeats: int) -> None:
    """Print the time of a training step of the network of Task 3.5 and of a larger one, divided into transfer, launches and compute."""
    print(f"{'training step, ms':24} {'wall':>7} {'transfer':>9} {'issue':>7} {'compute':>8} {'launches':>9}")
    for name, sizes, batch in (("2-100-100-1, batch 10", [2, 100, 100, 1], 10), ("784-512-10, batch 128", [784, 512, 10], 128)):
        if cuda_device.SIMULATED:
            sizes, batch = [2, 3, 1], 2
        a = np.random.default_rng(1).random((batch, sizes[0]), dtype=np.float32)
        b = np.random.default_rng(2).random((batch, sizes[-1]), dtype=np.float32)
        parameters = network(sizes)
        rows = [measured_step(parameters, a, b) for _ in range(repeats + 1)][1:]
        compute, launches = kernel_time(lambda p=parameters, a=a, b=b: step(p, *moved(a, b)))
        wall, transfer, issue = (median(column) * 1e3 for column in zip(*rows, strict=True))
        print(f"{name:24} {wall:7.3f} {transfer:9.3f} {issue:7.3f} {compute * 1e3:8.3f} {launches:9}")


def moved(*arrays: np.ndarray) -> list[Tensor]:
    """Copy a batch to the GPU."""
    return [tensor(values, backend=minitorch.cuda_backend()) for values in arrays]


def measured_step(parameters: list[Tensor], a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Return the seconds of one step: total, transfer of the batch, and the time that Python takes to launch its kernels."""
    for p in parameters:
        p.zero_grad_()
    start = perf_counter()
    x, y = moved(a, b)
    cuda.synchronize()
    there = perf_counter()
    step(parameters, x, y)
    issued = perf_counter()
    cuda.synchronize()
    return perf_counter() - start, there - start, issued - there


if __name__ == "__main__":
    sys.exit(main())
