"""Probes of Module 3: kernels of the GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, all_same, same
from course.staff.probes.module2 import UNTOUCHED, drawn
from course.staff.probes.module3 import ANY_OUT, result, stretched
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, Laid, laid, numbers, seeds, shrunk, tensor

SIMULATING = 120.0
"""Seconds for an answer in which the simulator runs threads."""


# Task 3.3

GUARDS = 4
"""Numbers before and behind those that a kernel is given."""


class OnDevice:
    """An array in the GPU's memory, with numbers around it that no kernel may touch.

    Args:
        p: The program that puts it there.
        values: What stands there.
    """

    def __init__(self, p: Program, values: np.ndarray) -> None:
        around = np.concatenate([np.full(GUARDS, float(UNTOUCHED)), values, np.full(GUARDS, float(UNTOUCHED))])
        self.whole = p.find("numba.cuda:to_device")(p.find("numpy:array")(around.tolist(), dtype="float64"))
        self.given = self.whole[p.find("builtins:slice")(GUARDS, -GUARDS)]

    def back(self) -> Value:
        """What stands there, with what is around it."""
        return self.whole.copy_to_host()


def guarded(expected: np.ndarray) -> np.ndarray:
    """These numbers, with what is around them and must be left alone."""
    guard = np.full(GUARDS, float(UNTOUCHED))
    return np.concatenate([guard, expected, guard])


def holds(got: Any, expected: np.ndarray, close: float = EXACT) -> None:
    """That these numbers stand in an array of the GPU, and what is around them was left alone."""
    same(got, guarded(expected), close)


def gpu_result(shape: Sequence[int], draw: np.random.Generator, anyhow: bool) -> tuple[Laid, str]:
    """Where a result goes in the GPU's memory, and the label of that: row by row, or anyhow, with numbers around it."""
    out, label = result(shape, draw, anyhow)
    out.storage[np.isnan(out.storage)] = UNTOUCHED
    return out, label


def on_gpu(p: Program, x: Laid) -> tuple[Value, tuple[int, ...], tuple[int, ...]]:
    """What a kernel of the GPU is given of a tensor."""
    return OnDevice(p, x.storage[x.offset :]).given, x.shape, x.strides


def compiled_for_gpu(p: Program, maker: str, name: str) -> Value:
    """A kernel of cuda_ops with a function of operators.py in it."""
    number_function = p.find("minitorch.kernels.cuda.device:number_function")(p.find(f"minitorch.operators:{name}"))
    return p.find(f"minitorch.cuda_ops:{maker}")(number_function)


def small_layouts(seed: int) -> list[tuple[tuple[int, ...], np.random.Generator]]:
    """Shapes with fewer elements than a block has threads, with as many, and with more."""
    return [(shape, drawn(seed + n)) for n, shape in enumerate([(2, 3), (4, 2), (9,), (3, 2, 2), (1,)])]


def launched(p: Program, kernel: Value, size: int, *arguments: Any) -> None:
    """Launch a kernel of map or zip with a thread for every element and a block more."""
    threads = p.find("minitorch.cuda_ops:THREADS_PER_BLOCK")
    blocks = p.find("minitorch.kernels.cuda.device:blocks_for")(size, threads) + 1
    p.find("minitorch.kernels.cuda.device:launch")(kernel, blocks, threads, *arguments)


def elementwise(maker: str, name: str, arity: int, here: Callable[..., np.ndarray]) -> None:
    """Enter the probe of the GPU's map or zip."""

    def check(p: Program, seed: int) -> Check:
        kernel = compiled_for_gpu(p, maker, name)
        backs, expected = [], []
        for n, (shape, draw) in enumerate(small_layouts(seed)):
            inputs = [stretched(laid(shrunk(shape, draw), draw), shape) for _ in range(arity)]
            out, label = gpu_result(shape, draw, n % 2 == 1)
            target = OnDevice(p, out.storage[out.offset :])
            size = math.prod(shape)
            parts = [part for x in inputs for part in on_gpu(p, x)]
            launched(p, kernel, size, target.given, out.shape, out.strides, size, *parts)
            out.array[...] = here(*(x.array for x in inputs))
            backs.append(target.back())
            expected.append((guarded(out.storage[out.offset :]), label))
        all_same((yield backs), expected, EXACT)

    says = f"the GPU's {maker.removeprefix('tensor_')} writes f of every element, and nothing beside the result"
    probe("3.3", says, weight=2, count=1, seconds=SIMULATING, labels=[ANY_OUT], seed=seeds)(check)


elementwise("tensor_map", "neg", 1, np.negative)
elementwise("tensor_zip", "relu_back", 2, lambda x, y: np.where(x > 0, y, 0))


@probe(
    "3.3",
    "sum_practice sums each 32 numbers, and writes nothing beside the sums",
    weight=2,
    examples=[(1, 0), (31, 1), (32, 2), (33, 3), (100, 4)],
    seconds=SIMULATING,
)
def sum_practice(p: Program, size: int, seed: int) -> Check:
    """Launched with a block more where the numbers fill the others, for which out has no element."""
    values = numbers((size,), drawn(seed))
    cells = -(-size // 32)
    out, a = OnDevice(p, np.full(cells, float(UNTOUCHED))), OnDevice(p, values)
    kernel = p.find("minitorch.kernels.cuda.device:jit")(p.find("minitorch.cuda_ops:_sum_practice"))
    p.find("minitorch.kernels.cuda.device:launch")(kernel, size // 32 + 1, 32, out.given, a.given, size)
    (got,) = yield [out.back()]
    holds(got, np.array([values[32 * n : 32 * n + 32].sum() for n in range(cells)]))


FOLDS: list[tuple[str, float, Callable[[np.ndarray], np.ndarray]]] = [
    ("add", 0.0, lambda x: x.sum(1)),
    ("mul", 1.0, lambda x: x.prod(1)),
    ("max", -math.inf, lambda x: x.max(1)),
]


@probe(
    "3.3",
    "the GPU's reduce folds the last dimension, whatever the function and the layout",
    weight=3,
    examples=[(fold, length, anyhow, 7) for fold in FOLDS for length, anyhow in ((1, False), (3, True), (15, False), (16, False))],
    edges={ANY_OUT: lambda fold, length, anyhow, seed: anyhow},
    seconds=SIMULATING,
)
def gpu_reduce(p: Program, fold: Any, length: int, anyhow: bool, seed: int) -> Check:
    """A block for every row. Negative numbers: a thread without an element must not bring a 0."""
    name, start, here = fold
    a = laid((2, length), drawn(seed))
    a.array[...] = -np.abs(a.array) / 2
    out, _ = gpu_result((2, 1), drawn(seed + 1), anyhow)
    target, block = OnDevice(p, out.storage[out.offset :]), p.find("minitorch.cuda_ops:REDUCE_BLOCK")
    kernel = compiled_for_gpu(p, "tensor_reduce", name)
    p.find("minitorch.kernels.cuda.device:launch")(kernel, 2, block, target.given, out.shape, out.strides, 2, *on_gpu(p, a), 1, start)
    (got,) = yield [target.back()]
    out.array[...] = here(a.array).reshape(2, 1)
    holds(got, out.storage[out.offset :])


@probe(
    "3.3", "tensors of the GPU compute what others do, rows longer than a block included", weight=2, seed=seeds, count=1, seconds=SIMULATING
)
def gpu_tensors(p: Program, seed: int) -> Check:
    """Sums of rows of 1, 17, 33 and 100 numbers in an order of their own, of columns, a product of all, and what broadcasts."""
    gpu = p.find("minitorch:cuda_backend")()
    asked, expected = [], []
    for length in (1, 17, 33, 100):
        x = laid((2, length), drawn(seed + length), gaps=False)
        x.array[...] += 1e-9 * np.arange(length)  # float32 would lose these digits
        made = tensor(p, x).to(gpu)
        asked += [made.sum(1), gpu.reduce(p.find("minitorch.operators:max"), -math.inf)(made, 1)]
        expected += [x.array.sum(1, keepdims=True), x.array.max(1, keepdims=True)]
    x, y = laid((3, 4), drawn(seed)), laid((4,), drawn(seed + 1))
    a, b = tensor(p, x).to(gpu), tensor(p, y).to(gpu)
    asked += [a.sum(0), a * b, -a, a - b, gpu.mul_reduce(a, 1)]
    expected += [x.array.sum(0, keepdims=True), x.array * y.array, -x.array, x.array - y.array, x.array.prod(1, keepdims=True)]
    got = yield asked
    for one, right in zip(got, expected, strict=True):
        same(one, right, 1e-13)


# Task 3.4


@probe(
    "3.4",
    "mm_practice multiplies square matrices that a block holds, and writes nothing beside the product",
    weight=2,
    examples=[(1, 0), (2, 1), (3, 2), (5, 3), (32, 4)],
    seconds=SIMULATING,
)
def mm_practice(p: Program, size: int, seed: int) -> Check:
    """By one block of 32 · 32 threads."""
    x, y = numbers((size, size), drawn(seed)), numbers((size, size), drawn(seed + 1))
    out, a, b = OnDevice(p, np.full(size * size, float(UNTOUCHED))), OnDevice(p, x.reshape(-1)), OnDevice(p, y.reshape(-1))
    kernel = p.find("minitorch.kernels.cuda.device:jit")(p.find("minitorch.cuda_ops:_mm_practice"))
    p.find("minitorch.kernels.cuda.device:launch")(kernel, 1, (32, 32), out.given, a.given, b.given, size)
    (got,) = yield [out.back()]
    holds(got, (x @ y).reshape(-1))


TILES = [(1, 1, 1), (2, 3, 4), (4, 4, 4), (5, 4, 3), (3, 5, 6), (4, 9, 2), (6, 2, 5)]
"""Rows, inner size and columns, within a tile of the simulator's and beyond it."""


@probe(
    "3.4",
    "the GPU's matrix product of batches of any size and layout, tile by tile",
    weight=4,
    examples=[
        (size, batch, n) for n, (size, batch) in enumerate((size, batch) for size in TILES for batch in ((1, 1), (2, 2), (1, 2), (2, 1)))
    ],
    edges={ANY_OUT: lambda size, batch, seed: seed % 3 == 2},
    seconds=SIMULATING,
)
def gpu_product(p: Program, size: tuple[int, int, int], batch: tuple[int, int], seed: int) -> Check:
    """A batch of one has stride 0; the storages have gaps, and what stands in out does not count."""
    rows, inner, columns = size
    count = max(batch)
    a = stretched_batch(laid((batch[0], rows, inner), drawn(seed)), count)
    b = stretched_batch(laid((batch[1], inner, columns), drawn(seed + 1)), count)
    a.storage[:] += 1e-9 * np.arange(len(a.storage))  # float32 would lose these digits
    out, _ = gpu_result((count, rows, columns), drawn(seed + 2), seed % 3 == 2)
    target, block = OnDevice(p, out.storage[out.offset :]), p.find("minitorch.cuda_ops:BLOCK_DIM")
    kernel = p.find("minitorch.kernels.cuda.device:jit")(p.find("minitorch.cuda_ops:_tensor_matrix_multiply"))
    blocks_for = p.find("minitorch.kernels.cuda.device:blocks_for")
    grid = (blocks_for(rows, block), blocks_for(columns, block), count)
    total = count * rows * columns
    p.find("minitorch.kernels.cuda.device:launch")(
        kernel, grid, (block, block), target.given, out.shape, out.strides, total, *on_gpu(p, a), *on_gpu(p, b)
    )
    (got,) = yield [target.back()]
    out.array[...] = a.array @ b.array
    holds(got, out.storage[out.offset :], 1e-13)


def stretched_batch(x: Laid, count: int) -> Laid:
    """Matrices with stride 0 along a batch of one that serves several."""
    return Laid(x.storage, (count, *x.shape[1:]), (x.strides[0] if x.shape[0] == count else 0, *x.strides[1:]), x.offset)
