"""Probes of Module 3: CUDA kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_all_equal, check_equal, is_published
from course.staff.probes.module2 import UNTOUCHED, rng
from course.staff.probes.module3 import NONCONTIGUOUS, expand, random_output
from course.staff.probes.own_package import in_own_package
from course.staff.probes.plain import Raised
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, StridedArray, broadcastable_shape, numbers, random_strided, seeds, tensor

SIMULATOR_SECONDS = 120.0
"""Time limit for an answer that requires the simulator."""


# Task 3.3

GUARDS = 4
"""How many guard values surround an array on each side."""


class DeviceArray:
    """An array in GPU memory, surrounded by guard values that no kernel may change.

    Args:
        p: The program that copies it to the device.
        values: Its elements.
        past_end: How many zeros after its end a kernel may read and write, as those of the original course do unnoticed.
    """

    def __init__(self, p: Program, values: np.ndarray, past_end: int = 0) -> None:
        self._p = p
        around = np.concatenate([np.full(GUARDS, float(UNTOUCHED)), values, np.zeros(past_end), np.full(GUARDS, float(UNTOUCHED))])
        self.buffer = p.find("numba.cuda:to_device")(p.find("numpy:array")(around.tolist(), dtype="float64"))
        self.array = self.buffer[p.find("builtins:slice")(GUARDS, -GUARDS)]
        self.size = len(values) + 2 * GUARDS if not past_end else len(values) + GUARDS

    def copy_to_host(self) -> Value:
        """Copy the array with its guard values to the host; without those after an end that a kernel may exceed."""
        return self.buffer.copy_to_host()[self._p.find("builtins:slice")(0, self.size)]


def with_guards(expected: np.ndarray) -> np.ndarray:
    """Surround an array with guard values."""
    guard = np.full(GUARDS, float(UNTOUCHED))
    return np.concatenate([guard, expected, guard])


def check_device_array(got: Any, expected: np.ndarray, close: float = EXACT) -> None:
    """Check the elements of a device array, and that its guard values are unchanged."""
    check_equal(got, with_guards(expected), close)


def gpu_output(shape: Sequence[int], draw: np.random.Generator, noncontiguous: bool) -> tuple[StridedArray, str]:
    """An output array for GPU memory and its edge-case label: contiguous, or non-contiguous with gaps of guard values."""
    out, label = random_output(shape, draw, noncontiguous)
    out.storage[np.isnan(out.storage)] = UNTOUCHED
    return out, label


def cuda_arguments(p: Program, x: StridedArray) -> tuple[Value, tuple[int, ...], tuple[int, ...]]:
    """The arguments of a CUDA kernel for a tensor."""
    return DeviceArray(p, x.storage[x.offset :]).array, x.shape, x.strides


def compiled_for_gpu(p: Program, maker: str, name: str) -> Value:
    """A kernel of cuda_ops for a function of operators.py."""
    number_function = p.find("minitorch.kernels.cuda.device:number_function")(p.find(f"minitorch.operators:{name}"))
    return p.find(f"minitorch.cuda_ops:{maker}")(number_function)


def small_layouts(seed: int) -> list[tuple[tuple[int, ...], np.random.Generator]]:
    """Shapes with fewer elements than a block has threads, as many, and more."""
    return [(shape, rng(seed + n)) for n, shape in enumerate([(2, 3), (4, 2), (9,), (3, 2, 2), (1,)])]


def launch(p: Program, kernel: Value, size: int, *arguments: Any) -> None:
    """Launch a map or zip kernel with one thread per element and one extra block."""
    threads = p.find("minitorch.cuda_ops:THREADS_PER_BLOCK")
    blocks = p.find("minitorch.kernels.cuda.device:blocks_for")(size, threads) + 1
    p.find("minitorch.kernels.cuda.device:launch")(kernel, blocks, threads, *arguments)


def elementwise_probe(maker: str, name: str, arity: int, numpy_fn: Callable[..., np.ndarray]) -> None:
    """Register the probe of the CUDA map or zip."""

    def check(p: Program, seed: int) -> Check:
        kernel = compiled_for_gpu(p, maker, name)
        backs, expected = [], []
        for n, (shape, draw) in enumerate(small_layouts(seed)):
            inputs = [expand(random_strided(broadcastable_shape(shape, draw), draw), shape) for _ in range(arity)]
            out, label = gpu_output(shape, draw, n % 2 == 1)
            target = DeviceArray(p, out.storage[out.offset :])
            size = math.prod(shape)
            parts = [part for x in inputs for part in cuda_arguments(p, x)]
            launch(p, kernel, size, target.array, out.shape, out.strides, size, *parts)
            out.array[...] = numpy_fn(*(x.array for x in inputs))
            backs.append(target.copy_to_host())
            expected.append((with_guards(out.storage[out.offset :]), label))
        check_all_equal((yield backs), expected, EXACT)

    says = f"the CUDA {maker.removeprefix('tensor_')} writes f of every element, and nothing outside the output"
    probe(
        "3.3",
        says,
        weight=2,
        count=1,
        seconds=SIMULATOR_SECONDS,
        labels=[NONCONTIGUOUS],
        seed=seeds,
        source=f"docstring of {maker}; {'test_one_args' if arity == 1 else 'test_two_args'}",
    )(check)


elementwise_probe("tensor_map", "neg", 1, np.negative)
elementwise_probe("tensor_zip", "relu_back", 2, lambda x, y: np.where(x > 0, y, 0))


def launch_sum_practice(p: Program, size: int, out: DeviceArray, a: DeviceArray) -> None:
    """Launch sum_practice as both courses do: with one extra block if the numbers fill all blocks."""
    kernel = p.find("minitorch.kernels.cuda.device:jit")(p.find("minitorch.cuda_ops:_sum_practice"))
    p.find("minitorch.kernels.cuda.device:launch")(kernel, size // 32 + 1, 32, out.array, a.array, size)


@probe(
    "3.3",
    "sum_practice sums each block of 32 numbers, and writes nothing else",
    weight=2,
    examples=[(1, 0), (31, 1), (32, 2), (33, 3), (100, 4)],
    seconds=SIMULATOR_SECONDS,
    source="docstring of _sum_practice; test_sum_practice",
)
def sum_practice(p: Program, size: int, seed: int) -> Check:
    """The extra block has no element in out."""
    values = numbers((size,), rng(seed))
    cells, past_end = -(-size // 32), 32 if is_published() else 0
    out, a = DeviceArray(p, np.full(cells, float(UNTOUCHED)), past_end), DeviceArray(p, values, past_end)
    launch_sum_practice(p, size, out, a)
    (got,) = yield [out.copy_to_host()]
    check_equal(got, with_guards(np.array([values[32 * n : 32 * n + 32].sum() for n in range(cells)]))[: out.size], EXACT)


UNGUARDED = (
    "a thread of sum_practice accesses an element past the end of its arrays. For 33 numbers the last block has threads without a number; "
    "for 64 numbers an extra block has only such threads. They need a guard such as if i < size. The tests of the original course do not "
    "show it, but with other sizes the kernel changes other arrays of the GPU, adds what happens to be there, or ends with an error"
)
"""What students are told who forget a guard."""


@probe("3.3", UNGUARDED, weight=0, examples=[(33, 3), (64, 4)], seconds=SIMULATOR_SECONDS, published="only")
def sum_practice_stays_inside(p: Program, size: int, seed: int) -> Check:
    """Told, because no published test shows it. What else is wrong with the kernel is the matter of the other probe."""
    out, a = DeviceArray(p, np.full(-(-size // 32), float(UNTOUCHED))), DeviceArray(p, numbers((size,), rng(seed)))
    launch_sum_practice(p, size, out, a)
    try:
        yield [out.copy_to_host()]
    except Raised as error:
        if "IndexError" in error.kinds:
            raise Wrong(str(error)) from None


REDUCTIONS: list[tuple[str, float, Callable[[np.ndarray], np.ndarray]]] = [
    ("add", 0.0, lambda x: x.sum(1)),
    ("mul", 1.0, lambda x: x.prod(1)),
    ("max", -math.inf, lambda x: x.max(1)),
]


@probe(
    "3.3",
    "the CUDA reduce reduces the last dimension, for any function and layout",
    weight=3,
    examples=[
        (reduction, length, noncontiguous, 7)
        for reduction in REDUCTIONS
        for length, noncontiguous in ((1, False), (3, True), (15, False), (16, False))
    ],
    edges={NONCONTIGUOUS: lambda reduction, length, noncontiguous, seed: noncontiguous},
    seconds=SIMULATOR_SECONDS,
    own_package=lambda reduction, length, noncontiguous, seed: length == 16 and reduction[0] != "mul",  # its blocks have 1024 threads
    source="docstring of tensor_reduce; test_reduce",
)
def gpu_reduce(p: Program, reduction: Any, length: int, noncontiguous: bool, seed: int) -> Check:
    """One block per row. The numbers are negative, so that a thread without an element must not contribute a 0."""
    name, start, numpy_fn = reduction
    a = random_strided((2, length), rng(seed))
    a.array[...] = -np.abs(a.array) / 2
    out, _ = gpu_output((2, 1), rng(seed + 1), noncontiguous)
    target, block = DeviceArray(p, out.storage[out.offset :]), p.find("minitorch.cuda_ops:REDUCE_BLOCK")
    kernel = compiled_for_gpu(p, "tensor_reduce", name)
    p.find("minitorch.kernels.cuda.device:launch")(
        kernel, 2, block, target.array, out.shape, out.strides, 2, *cuda_arguments(p, a), 1, start
    )
    (got,) = yield [target.copy_to_host()]
    out.array[...] = numpy_fn(a.array).reshape(2, 1)
    check_device_array(got, out.storage[out.offset :])


@probe(
    "3.3",
    "tensors on the CUDA backend give the same results as on other backends, including rows longer than a block",
    weight=2,
    seed=seeds,
    count=1,
    seconds=SIMULATOR_SECONDS,
    source="test_two_grad_broadcast; test_reduce",
)
def gpu_tensors(p: Program, seed: int) -> Check:
    """Reductions of rows of 1, 17, 33 and 100 numbers in any layout and of columns, products, and broadcasting."""
    gpu = p.find("minitorch:cuda_backend")()
    requests, expected = [], []
    for length in (100,) if in_own_package() else (1, 17, 33, 100):  # the original course reduces with blocks of 1024 threads
        x = random_strided((2, length), rng(seed + length), gaps=False)
        x.array[...] += 1e-9 * np.arange(length)  # float32 would lose these digits
        made = tensor(p, x).to(gpu)
        requests += [made.sum(1), gpu.reduce(p.find("minitorch.operators:max"), -math.inf)(made, 1)]
        expected += [x.array.sum(1, keepdims=True), x.array.max(1, keepdims=True)]
    x, y = random_strided((3, 4), rng(seed)), random_strided((4,), rng(seed + 1))
    a, b = tensor(p, x).to(gpu), tensor(p, y).to(gpu)
    requests += [a * b, -a, a - b]
    expected += [x.array * y.array, -x.array, x.array - y.array]
    if not in_own_package():
        requests += [a.sum(0), gpu.mul_reduce(a, 1)]
        expected += [x.array.sum(0, keepdims=True), x.array.prod(1, keepdims=True)]
    got = yield requests
    for one, right in zip(got, expected, strict=True):
        check_equal(one, right, 1e-13)


# Task 3.4


@probe(
    "3.4",
    "mm_practice multiplies square matrices that fit in a block, and writes nothing else",
    weight=2,
    examples=[(1, 0), (2, 1), (3, 2), (5, 3), (32, 4)],
    seconds=SIMULATOR_SECONDS,
    source="docstring of _mm_practice; test_mul_practice1",
)
def mm_practice(p: Program, size: int, seed: int) -> Check:
    """With one block of 32 · 32 threads."""
    x, y = numbers((size, size), rng(seed)), numbers((size, size), rng(seed + 1))
    out, a, b = DeviceArray(p, np.full(size * size, float(UNTOUCHED))), DeviceArray(p, x.reshape(-1)), DeviceArray(p, y.reshape(-1))
    kernel = p.find("minitorch.kernels.cuda.device:jit")(p.find("minitorch.cuda_ops:_mm_practice"))
    p.find("minitorch.kernels.cuda.device:launch")(kernel, 1, (32, 32), out.array, a.array, b.array, size)
    (got,) = yield [out.copy_to_host()]
    check_device_array(got, (x @ y).reshape(-1))


TILES = [(1, 1, 1), (2, 3, 4), (4, 4, 4), (5, 4, 3), (3, 5, 6), (4, 9, 2), (6, 2, 5)]
"""Rows, inner size and columns, smaller and larger than a tile of the simulator."""


@probe(
    "3.4",
    "the CUDA matrix product is correct for batches of any size and layout",
    weight=4,
    examples=[
        (size, batch, n) for n, (size, batch) in enumerate((size, batch) for size in TILES for batch in ((1, 1), (2, 2), (1, 2), (2, 1)))
    ],
    edges={NONCONTIGUOUS: lambda size, batch, seed: seed % 3 == 2},
    seconds=SIMULATOR_SECONDS,
    own_package=False,
    source="docstring of _tensor_matrix_multiply; test_bmm",
)
@probe(
    "3.4",
    "the CUDA matrix product is correct for batches of matrices smaller and larger than a tile of 32",
    weight=4,
    examples=[((5, 4, 3), (1, 1), 0), ((3, 5, 6), (2, 1), 1), ((33, 40, 34), (1, 2), 3)],
    seconds=SIMULATOR_SECONDS,
    own_package="only",
    source="docstring of _tensor_matrix_multiply; test_bmm",
)
def gpu_product(p: Program, size: tuple[int, int, int], batch: tuple[int, int], seed: int) -> Check:
    """A batch of one has stride 0, the storages have gaps, and the initial values of out must not matter."""
    rows, inner, columns = size
    count = max(batch)
    a = expand_batch(random_strided((batch[0], rows, inner), rng(seed)), count)
    b = expand_batch(random_strided((batch[1], inner, columns), rng(seed + 1)), count)
    a.storage[:] += 1e-9 * np.arange(len(a.storage))  # float32 would lose these digits
    out, _ = gpu_output((count, rows, columns), rng(seed + 2), seed % 3 == 2)
    target, block = DeviceArray(p, out.storage[out.offset :]), p.find("minitorch.cuda_ops:BLOCK_DIM")
    kernel = p.find("minitorch.kernels.cuda.device:jit")(p.find("minitorch.cuda_ops:_tensor_matrix_multiply"))
    blocks_for = p.find("minitorch.kernels.cuda.device:blocks_for")
    grid = (blocks_for(rows, block), blocks_for(columns, block), count)
    total = count * rows * columns
    p.find("minitorch.kernels.cuda.device:launch")(
        kernel, grid, (block, block), target.array, out.shape, out.strides, total, *cuda_arguments(p, a), *cuda_arguments(p, b)
    )
    (got,) = yield [target.copy_to_host()]
    out.array[...] = a.array @ b.array
    check_device_array(got, out.storage[out.offset :], 1e-13)


def expand_batch(x: StridedArray, count: int) -> StridedArray:
    """Broadcast a batch of one to several matrices with stride 0."""
    return StridedArray(x.storage, (count, *x.shape[1:]), (x.strides[0] if x.shape[0] == count else 0, *x.strides[1:]), x.offset)
