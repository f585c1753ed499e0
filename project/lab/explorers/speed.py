"""The speed of the backends: map, zip, reduce and matrix product for inputs of increasing size, timed in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

import minitorch
from minitorch.kernels.cuda import device as cuda_device

Run = Callable[[], Any]

SIZES = {
    "matmul": (64, 128, 256, 512, 1024),
    "map": (1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    "zip": (1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    "reduce": (1_000, 10_000, 100_000, 1_000_000, 10_000_000),
}
"""By operation, the sizes to measure: rows of square matrices, or elements."""

BATCH = 2
"""Matrix products per call."""

BACKENDS = ("simple", "textbook", "fast", "cuda", "numpy")
"""The backends to measure: the three of the library, the textbook kernels if the repository has them, and NumPy."""

COMPILED = ("textbook", "fast", "cuda")
"""The backends whose kernels Numba compiles at their first call."""

ROUNDS = 5
"""Calls per backend, in turns; the median is reported."""

BUDGET = 2.0
"""Seconds per backend and size. A slow backend is called less often, and not at all if one call would exceed the budget."""


@dataclass(frozen=True)
class Measurement:
    """One backend at one size.

    Attributes:
        op: The operation.
        size: An element of `SIZES`.
        backend: An element of `BACKENDS`.
        seconds: The median time of a call, or an estimate.
        runs: The number of timed calls; 0 for an estimate, which is extrapolated from the last measured size.
        compiling: Seconds by which the first call was slower.
        transfer: Seconds to copy the inputs to the GPU; 0 on the CPU.
    """

    op: str
    size: int
    backend: str
    seconds: float
    runs: int
    compiling: float = 0.0
    transfer: float = 0.0


@dataclass(frozen=True)
class Parts:
    """Where the time of one backend goes.

    Attributes:
        backend: An element of `BACKENDS`.
        size: The largest measured size, of which `transfer` and `compute` are.
        compiling: Seconds by which the first call was slower, once in a process or once on a machine; 0 if nothing is compiled.
        launch: Seconds of a call that do not depend on the size: what remains at the smallest size after its share of the work.
        transfer: Seconds to copy the inputs to the GPU; 0 on the CPU.
        compute: Seconds of a call without the launch.
    """

    backend: str
    size: int
    compiling: float
    launch: float
    transfer: float
    compute: float


def parts(found: Sequence[Measurement]) -> list[Parts]:
    """Split the time of each backend that was measured at two sizes or more, in the order of the backends."""
    split = []
    for backend in dict.fromkeys(each.backend for each in found):
        own = [each for each in found if each.backend == backend and each.runs]
        if len(own) < 2:
            continue
        small, large = own[0], own[-1]
        scale = work(small.op, small.size) / work(large.op, large.size)
        launch = max(0.0, (small.seconds - large.seconds * scale) / (1 - scale))  # t(n) = launch + n · rate through both points
        compiling = max(each.compiling for each in own) if backend in COMPILED else 0.0
        split.append(Parts(backend, large.size, compiling, launch, large.transfer, large.seconds - launch))
    return split


def in_words(split: Parts) -> str:
    """Return where the time of one backend goes, as one line."""
    copied = f"transfer {duration(split.transfer)}, " if split.transfer else ""
    compiled = f"compile {duration(split.compiling)}, " if split.compiling else ""
    return f"{split.backend}: {compiled}launch {duration(split.launch)}, {copied}compute {duration(split.compute)} at size {split.size:,}"


def duration(seconds: float) -> str:
    """Return a duration in a suitable unit."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def work(op: str, size: int) -> float:
    """Return the work of a call: floating-point operations of a matrix product, or elements of other operations."""
    return 2.0 * BATCH * size**3 if op == "matmul" else float(size)


def missing(backend: str) -> str:
    """Return why a backend cannot be measured here; "" if it can."""
    if backend == "cuda" and cuda_device.SIMULATED:
        return "the speed of the simulator says nothing about a GPU"
    if backend == "cuda" and not cuda_device.available():
        return "numba found no GPU"
    return ""


def measure(op: str, sizes: Sequence[int], backends: Sequence[str], dtype: str, budget: float = BUDGET) -> Iterator[Measurement]:
    """Measure all sizes in order; at each size the backends take turns.

    Args:
        op: A key of `SIZES`.
        sizes: In increasing order.
        backends: Available backends.
        dtype: "float32" or "float64".
        budget: See `BUDGET`.

    Yields:
        The measurements, size by size in the order of the backends.
    """
    last: dict[str, Measurement] = {}
    for size in sizes:
        found: dict[str, Measurement] = {}
        runs: dict[str, Run] = {}
        first: dict[str, float] = {}
        for name in backends:
            estimate = last[name].seconds * work(op, size) / work(op, last[name].size) if name in last else 0.0
            if estimate > budget:
                found[name] = Measurement(op, size, name, estimate, 0)
            else:
                runs[name] = prepare(op, size, name, dtype)
                first[name] = _seconds(runs[name])  # compiles, and warms the caches
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                if sum(times[name]) < budget:
                    times[name].append(_seconds(run))
        for name in backends:
            if name in runs:
                seconds = median(times[name])
                compiling = max(0.0, first[name] - seconds)
                copied = transfer(op, size, name, dtype)
                found[name] = last[name] = Measurement(op, size, name, seconds, len(times[name]), compiling, copied)
            yield found[name]


def _seconds(run: Run) -> float:
    """Return the time of a call, after a pause in which the threads of the previous backend go to sleep."""
    time.sleep(0.01)
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def operands(op: str, size: int, dtype: str) -> list[np.ndarray]:
    """Return two arrays of random numbers."""
    random = np.random.default_rng(0)
    shape = (BATCH, size, size) if op == "matmul" else (size // 100, 100)
    return [random.standard_normal(shape).astype(dtype) for _ in range(2)]


def transfer(op: str, size: int, backend: str, dtype: str) -> float:
    """Return the median time in which the inputs are copied to the GPU; 0 for other backends, which share the memory of the CPU."""
    if backend != "cuda":
        return 0.0
    on = minitorch.cuda_backend()
    tensors = [minitorch.from_numpy(array) for array in operands(op, size, dtype)][: 2 if op in ("matmul", "zip") else 1]
    return median(_seconds(_synchronized(lambda: [x.to(on) for x in tensors])) for _ in range(ROUNDS))


def prepare(op: str, size: int, backend: str, dtype: str) -> Run:
    """Return a function that runs the operation once on random numbers."""
    a, b = operands(op, size, dtype)
    if backend == "numpy":
        return {"matmul": lambda: a @ b, "map": lambda: -a, "zip": lambda: a * b, "reduce": lambda: a.sum(1)}[op]
    if backend == "textbook":
        return _textbook(op, a, b)
    on = {"simple": lambda: minitorch.SimpleBackend, "fast": lambda: minitorch.FastBackend, "cuda": minitorch.cuda_backend}[backend]()
    x, y = (minitorch.from_numpy(array).to(on) for array in (a, b))
    if backend == "simple":  # its operations may not have gradients, which are not needed here
        x, y = x.detach(), y.detach()
    run: Run = {
        "matmul": lambda: on.matrix_multiply(x, y),
        "map": lambda: on.neg_map(x),
        "zip": lambda: on.mul_zip(x, y),
        "reduce": lambda: on.add_reduce(x, 1),
    }[op]
    return _synchronized(run) if backend == "cuda" else run


def _synchronized(run: Run) -> Run:
    """Return a function that also waits for the GPU."""

    def run_and_wait() -> None:
        run()
        cuda_device.cuda.synchronize()

    return run_and_wait


def _textbook(op: str, a: np.ndarray, b: np.ndarray) -> Run:
    """Return a function that runs the kernel of the textbook on two arrays."""
    from minitorch import fast_ops, operators
    from minitorch.fast_ops import callable_from_kernels as compiled

    def parts(array: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return array.reshape(-1), np.array(array.shape, np.int32), np.array(array.strides, np.int32) // array.itemsize

    kernel: Any = {
        "matmul": lambda: fast_ops.tensor_matrix_multiply,
        "map": lambda: fast_ops.tensor_map(compiled(operators.neg)),
        "zip": lambda: fast_ops.tensor_zip(compiled(operators.mul)),
        "reduce": lambda: fast_ops.tensor_reduce(compiled(operators.add)),
    }[op]()
    out_shape = (a.shape[0], 1) if op == "reduce" else a.shape
    inputs = {"map": parts(a), "reduce": (*parts(a), 1)}.get(op, (*parts(a), *parts(b)))

    def run() -> np.ndarray:
        out = np.zeros(out_shape, a.dtype)
        kernel(*parts(out), *inputs)
        return out

    return run
