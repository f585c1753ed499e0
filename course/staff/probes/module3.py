"""Probes of Module 3: compiled kernels, the matrix product, and a network on a compiled backend.

A kernel is compiled anew in every program that makes it, which takes seconds: so one program runs it on many inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import integers

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, all_same, is_published, number, same
from course.staff.probes.layers import linear_layer, network, write
from course.staff.probes.module2 import BARE, drawn
from course.staff.probes.networks import Perceptron, labelled_points
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, Laid, dense, for_kernel, laid, numbers, seeds, shrunk, tensor

COMPILING = 240.0
"""Seconds for an answer in which kernels are compiled."""

SHAPES: list[tuple[int, ...]] = [(2, 3), (3, 2), (4,), (2, 3, 2), (3, 1, 2), (1,), (2, 2), (3, 3)]

ANY_OUT = "results that do not lie row by row"


def operator(p: Program, name: str) -> Value:
    """A function of operators.py, as kernels are given it."""
    return p.find("minitorch.fast_ops:callable_from_kernels")(p.find(f"minitorch.operators:{name}"))


class CompiledKernel:
    """A kernel of the child, compiled by numba, that is called with storages, shapes, strides and plain values.

    Args:
        p: The program.
        kernel: What the function under test returned.
    """

    def __init__(self, p: Program, kernel: Value) -> None:
        self.call, self.data = p.find("minitorch.fast_ops:TextbookKernel")(kernel), p.find("minitorch.tensor_data:TensorData")

    def __call__(self, *operands: Any) -> None:
        """Run it; an array is followed by its shape and its strides."""
        arguments, rest = [], list(operands)
        while rest:
            is_array = isinstance(rest[0], Value)
            arguments.append(self.data(*rest[:3]) if is_array else rest[0])
            del rest[: 3 if is_array else 1]
        self.call(*arguments)


def layouts(seed: int, count: int = 3) -> list[tuple[tuple[int, ...], np.random.Generator, bool]]:
    """Shapes of results with what the rest is drawn from, and whether there are gaps."""
    return [(shape, drawn(seed + 10 * n + m), m > 0) for n, shape in enumerate(SHAPES) for m in range(count)]


def result(shape: Sequence[int], draw: np.random.Generator, anyhow: bool) -> tuple[Laid, str]:
    """Where a result goes, and the label of that: row by row, or anyhow, with NaN around it or without gaps."""
    if not anyhow or is_published():
        return dense(shape), ""
    while True:
        out = laid(shape, draw, gaps=draw.random() < 0.5)
        if math.prod(shape) < 2 or _steps(out) != _steps(dense(shape)):
            return out.filled(math.nan), ANY_OUT


def _steps(x: Laid) -> list[int]:
    """The strides along which an array has more than one element."""
    return [stride for size, stride in zip(x.shape, x.strides, strict=True) if size > 1]


def stretched(small: Laid, shape: Sequence[int]) -> Laid:
    """A smaller array as one of this shape, with stride 0 where it is stretched."""
    strides = [stride if size > 1 else 0 for size, stride in zip(small.shape, small.strides, strict=True)]
    return Laid(small.storage, tuple(shape), (*[0] * (len(shape) - len(strides)), *strides), small.offset)


# Task 3.1


@probe(
    "3.1",
    "the compiled map writes f of every element, of tensors of any layout",
    weight=3,
    count=1,
    seconds=COMPILING,
    labels=[ANY_OUT],
    seed=seeds,
)
def compiled_map(p: Program, seed: int) -> Check:
    """Aligned and not, and with a smaller input."""
    kernel = CompiledKernel(p, p.find("minitorch.fast_ops:tensor_map")(operator(p, "relu")))
    outs, expected = [], []
    for n, (shape, draw, gaps) in enumerate(layouts(seed)):
        x = laid(shrunk(shape, draw) or (1,) if draw.random() < 0.6 else shape, draw, gaps)
        out, label = result(shape, draw, n % 3 == 2)
        target = for_kernel(p, out)
        kernel(*target, *for_kernel(p, x))
        outs.append(target[0])
        expected.append((out.filled(np.maximum(x.array, 0)).storage[out.offset :], label))
    for shape, wide in (((2, 3), (1, 3)), ((3, 2, 2), (3, 1, 2))):  # the same strides, and other shapes
        x = Laid(numbers((12,), drawn(seed)), wide, tuple(int(stride) for stride in np.cumprod([1, *shape[:0:-1]])[::-1]), 0)
        out = Laid(np.full(math.prod(shape), math.nan), shape, x.strides, 0)
        target = for_kernel(p, out)
        kernel(*target, *for_kernel(p, x))
        outs.append(target[0])
        expected.append((out.filled(np.maximum(x.array, 0)).storage, ""))
    all_same((yield outs), expected)


@probe(
    "3.1",
    "the compiled zip writes f of both elements, of tensors of any layout",
    weight=3,
    count=1,
    seconds=COMPILING,
    labels=[ANY_OUT],
    seed=seeds,
)
def compiled_zip(p: Program, seed: int) -> Check:
    """By relu_back, in which the order of the two matters."""
    kernel = CompiledKernel(p, p.find("minitorch.fast_ops:tensor_zip")(operator(p, "relu_back")))
    outs, expected = [], []
    for n, (shape, draw, gaps) in enumerate(layouts(seed, 5)):
        out, label = result(shape, draw, n % 5 > 2)
        a, b = (laid(shrunk(shape, draw) or (1,) if draw.random() < 0.5 else shape, draw, gaps) for _ in "ab")
        alike = Laid(numbers(out.storage.shape, draw), shape, out.strides, out.offset)  # lies as out does
        if n % 4 == 1:
            a = alike
        elif n % 4 == 2:
            b = alike
        elif n % 4 == 3:
            a = b = laid(shape, draw, gaps)
        target = for_kernel(p, out)
        kernel(*target, *for_kernel(p, a), *for_kernel(p, b))
        outs.append(target[0])
        expected.append((out.filled(np.where(a.array > 0, b.array, 0)).storage[out.offset :], label))
    for first in (True, False):  # one of them has the strides of out, and another shape
        row, full = Laid(numbers((3,), drawn(seed)), (1, 3), (3, 1), 0), Laid(numbers((6,), drawn(seed + 1)), (2, 3), (3, 1), 0)
        a, b = (row, full) if first else (full, row)
        target = for_kernel(p, full.filled(math.nan))
        kernel(*target, *for_kernel(p, a), *for_kernel(p, b))
        outs.append(target[0])
        expected.append((np.where(a.array > 0, b.array, 0).reshape(-1), ""))
    all_same((yield outs), expected)


@probe("3.1", BARE, edge=True, seconds=COMPILING, examples=[(1,)])
def compiled_bare(p: Program, seed: int) -> Check:
    """Of one element, by map and by zip."""
    x = laid((), drawn(seed))
    mapped, zipped = (for_kernel(p, dense(())) for _ in range(2))
    CompiledKernel(p, p.find("minitorch.fast_ops:tensor_map")(operator(p, "neg")))(*mapped, *for_kernel(p, x))
    CompiledKernel(p, p.find("minitorch.fast_ops:tensor_zip")(operator(p, "add")))(*zipped, *for_kernel(p, x), *for_kernel(p, x))
    got = yield [mapped[0], zipped[0]]
    for one, right in zip(got, (-x.array, x.array + x.array), strict=True):
        same(one, right.reshape(1))


@probe(
    "3.1",
    "the compiled reduce folds the dimension in order, beginning with what stands in out",
    weight=3,
    count=1,
    labels=[ANY_OUT],
    seconds=COMPILING,
    seed=seeds,
)
def compiled_reduce(p: Program, seed: int) -> Check:
    """By inv_back, -d / x², in which the order matters."""
    kernel = CompiledKernel(p, p.find("minitorch.fast_ops:tensor_reduce")(operator(p, "inv_back")))
    outs, expected = [], []
    for n, (shape, draw, gaps) in enumerate(layouts(seed)):
        for dim in range(len(shape)):
            a, kept = laid(shape, draw, gaps), (*shape[:dim], 1, *shape[dim + 1 :])
            starts = numbers(kept, draw)
            out, label = result(kept, draw, n % 3 == 2)
            out = out.filled(starts)
            target = for_kernel(p, out)
            kernel(*target, *for_kernel(p, a), dim)
            outs.append(target[0])
            for i in range(shape[dim]):
                starts = -np.take(a.array, [i], axis=dim) / starts**2
            expected.append((out.filled(starts).storage[out.offset :], label))
    all_same((yield outs), expected, 1e-6)


@probe("3.1", "tensors of the compiled backend compute what those of Module 2 do", count=1, seconds=COMPILING, seed=seeds)
def compiled_tensors(p: Program, seed: int) -> Check:
    """A product that broadcasts, and its sum."""
    x, y = laid((3, 4), drawn(seed)), laid((4,), drawn(seed + 1))
    fast = p.find("minitorch:FastBackend")
    a, b = tensor(p, x, fast), tensor(p, y, fast)
    got = yield [a * b, (a * b).sum(0), (a * b).sum(1)]
    for one, right in zip(
        got, [x.array * y.array, (x.array * y.array).sum(0, keepdims=True), (x.array * y.array).sum(1, keepdims=True)], strict=True
    ):
        same(one, right, EXACT)


def counted(p: Program, size: int, cycle: int) -> Value:
    """The numbers 0.0, 1.0, … below cycle, again and again, as an array in the child: too many to be sent there."""
    return p.find("operator:mod")(p.find("numpy:arange")(size, dtype="float64"), cycle)


def sums(p: Program, array: Value, size: int) -> list[Value]:
    """The sum of an array in the child and one in which places differ: whole numbers, which are added without rounding."""
    return [array.sum().item(), p.find("numpy:dot")(array, counted(p, size, 17)).item()]


def same_sums(got: Sequence[Any], arrays: Sequence[np.ndarray]) -> None:
    """That these are the sums of arrays."""
    for n, array in enumerate(arrays):
        flat = array.reshape(-1)
        same(list(got[2 * n : 2 * n + 2]), [float(flat.sum()), float(flat @ (np.arange(flat.size) % 17))], of="for their sums")


@probe("3.1", "threads that work at the same time do not disturb each other in map, zip and reduce", weight=2, seconds=COMPILING)
def threads_apart(p: Program) -> Check:
    """Half a million elements that lie in other orders than those of the result, three times over."""
    (off,) = yield [p.find("minitorch.kernels.jit:compiler_is_off")()]
    shape = (6, 5, 4) if off is True else (300, 200, 8)  # without the compiler there is one thread
    first, second, size = shape[0], shape[1], math.prod(shape)
    rows, columns = first * 2, size // (first * 4)  # of many folds of two numbers
    turned, twisted, packed = (1, first, first * second), (shape[2], size // second, 1), (size // first, shape[2], 1)
    q = Program()
    x, zeros = counted(q, size, 1009), q.find("numpy:zeros")
    kernels = [
        CompiledKernel(q, q.find(f"minitorch.fast_ops:tensor_{kind}")(operator(q, name)))
        for kind, name in (("map", "neg"), ("zip", "add"), ("reduce", "add"))
    ]
    asked: list[Value] = []
    for _ in range(3):
        mapped, zipped, reduced = zeros(size), zeros(size), zeros(size // 2)
        kernels[0](mapped, shape, packed, x, shape, turned)
        kernels[1](zipped, shape, packed, x, shape, turned, x, shape, twisted)
        kernels[2](reduced, (rows, columns, 1), (columns, 1, 1), x, (rows, columns, 2), (1, rows, size // 2), 2)
        asked += [*sums(q, mapped, size), *sums(q, zipped, size), *sums(q, reduced, size // 2)]
    got = yield asked
    numbers = np.arange(size, dtype=float) % 1009
    a, b = Laid(numbers, shape, turned, 0).array, Laid(numbers, shape, twisted, 0).array
    pairs = Laid(numbers, (rows, columns, 2), (1, rows, size // 2), 0).array
    same_sums(got, [-a, a + b, pairs.sum(2)] * 3)


# Task 3.2

PRODUCTS = [(1, 1, 1), (2, 3, 4), (4, 3, 2), (3, 3, 3), (1, 5, 2), (5, 1, 3), (2, 6, 1), (7, 4, 5)]
"""Rows, inner size and columns."""


@probe(
    "3.2",
    "the compiled matrix product of batches of any size and layout",
    weight=4,
    count=1,
    seconds=COMPILING,
    labels=[ANY_OUT],
    seed=seeds,
)
def compiled_product(p: Program, seed: int) -> Check:
    """A batch of one serves all matrices of the other; what stands in out does not count."""
    kernel = CompiledKernel(p, p.find("minitorch.fast_ops:tensor_matrix_multiply"))
    outs, expected = [], []
    cases = [(size, batch, gaps) for size in PRODUCTS for batch in ((1, 1), (2, 2), (1, 3), (3, 1)) for gaps in (False, True)]
    for n, ((rows, inner, columns), (left, right), gaps) in enumerate(cases):
        draw = drawn(seed + n)
        a, b = laid((left, rows, inner), draw, gaps), laid((right, inner, columns), draw, gaps)
        out, label = result((max(left, right), rows, columns), draw, n // 2 % 2 == 1)
        target = for_kernel(p, out)
        kernel(*target, *for_kernel(p, a), *for_kernel(p, b))
        outs.append(target[0])
        expected.append((out.filled(a.array @ b.array).storage[out.offset :], label))
    all_same((yield outs), expected, EXACT)


@probe("3.2", "threads that work at the same time do not disturb each other in a product", seconds=COMPILING)
def products_apart(p: Program) -> Check:
    """Of matrices with some hundred rows and columns, three times over."""
    (off,) = yield [p.find("minitorch.kernels.jit:compiler_is_off")()]
    batch, rows, inner, columns = (1, 3, 4, 5) if off is True else (2, 90, 300, 110)
    q = Program()
    kernel = CompiledKernel(q, q.find("minitorch.fast_ops:tensor_matrix_multiply"))
    a, b = (counted(q, batch * inner * size, cycle) for size, cycle in ((rows, 13), (columns, 7)))
    size, asked = batch * rows * columns, []
    for _ in range(3):
        out = q.find("numpy:zeros")(size)
        shapes = [(out, batch, rows, columns), (a, batch, rows, inner), (b, batch, inner, columns)]
        kernel(*[part for array, n, i, j in shapes for part in (array, (n, i, j), (i * j, j, 1))])
        asked += sums(q, out, size)
    got = yield asked
    left, right = (np.arange(batch * inner * size) % cycle for size, cycle in ((rows, 13), (columns, 7)))
    same_sums(got, [left.reshape(batch, rows, inner).astype(float) @ right.reshape(batch, inner, columns)] * 3)


@probe("3.2", "x @ y on the compiled backend, with its gradients", weight=2, count=1, seconds=COMPILING, seed=seeds)
def product_of_tensors(p: Program, seed: int) -> Check:
    """The gradients are products with the transposes."""
    x, y, w = laid((3, 4), drawn(seed)), laid((4, 2), drawn(seed + 1)), numbers((3, 2), drawn(seed + 2))
    fast = p.find("minitorch:FastBackend")
    a, b = tensor(p, x, fast, grad=True), tensor(p, y, fast, grad=True)
    out = a @ b
    out.backward(tensor(p, w, fast))
    got = yield [out, a.grad, b.grad]
    for one, right in zip(got, [x.array @ y.array, w @ y.array.T, x.array.T @ w], strict=True):
        same(one, right, EXACT)


# Task 3.5

BACKENDS = ["minitorch:FastBackend", "minitorch:SimpleBackend"]

linear_layer("3.5", "project.run_fast_tensor", BACKENDS)
network("3.5", "project.run_fast_tensor", BACKENDS)


@probe(
    "3.5",
    "a network that is trained gives hidden points the probabilities that gradient descent leads to",
    weight=3,
    seconds=COMPILING,
    examples=[("Xor", 6, 1)],
    dataset=integers(0, 1).map(["Split", "Simple"].__getitem__),
    hidden=integers(2, 8),
    seed=seeds,
    count=1,
)
def training(p: Program, dataset: str, hidden: int, seed: int) -> Check:
    """Ten epochs of one batch of ten points, beside the same descent in NumPy."""
    known = Perceptron(hidden, seed)
    setting = p.find("project.lab.training.fast_trainer:FastSetting")(
        dataset=dataset, points=10, hidden=hidden, rate=0.5, epochs=10, seed=seed
    )
    trainer = p.find("project.lab.training.fast_trainer:FastTrainer")(setting, p.find("project.run_fast_tensor:Network"))
    write(p, trainer.network, known.named(), p.find("minitorch:FastBackend"))
    for _ in range(10):
        trainer.run_epoch()
    hidden_points = drawn(seed).uniform(0, 1, (5, 2))
    (got,) = yield [trainer.probabilities(hidden_points)]
    points, labels = labelled_points(dataset, 10, seed)
    for _ in range(10):
        known.descend(points, labels, 0.5)
    same([number(one) for one in got], known(hidden_points).tolist(), 1e-6)
