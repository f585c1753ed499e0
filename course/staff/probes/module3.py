"""Probes of Module 3: compiled kernels, the matrix product, and a network on a compiled backend.

Every program compiles its kernels again, which takes seconds, so one program runs a kernel on many inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import integers

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, check_all_equal, check_equal, is_published, number
from course.staff.probes.layers import linear_layer_probe, network_probes, source_of, write
from course.staff.probes.module2 import ZERO_DIM, rng
from course.staff.probes.networks import Perceptron, labelled_points
from course.staff.probes.own_package import in_own_package
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import (
    EXACT,
    StridedArray,
    broadcastable_shape,
    contiguous,
    kernel_arguments,
    numbers,
    random_strided,
    seeds,
    tensor,
)

COMPILE_SECONDS = 240.0
"""Time limit for an answer that requires compilation."""

SHAPES: list[tuple[int, ...]] = [(2, 3), (3, 2), (4,), (2, 3, 2), (3, 1, 2), (1,), (2, 2), (3, 3)]

NONCONTIGUOUS = "non-contiguous outputs"


def operator(p: Program, name: str) -> Value:
    """A function of operators.py, in the form that kernels take."""
    return p.find("minitorch.fast_ops:callable_from_kernels")(p.find(f"minitorch.operators:{name}"))


class CompiledKernel:
    """A kernel in the child, compiled by Numba and called with storages, shapes, strides and plain values.

    Args:
        p: The program.
        kernel: The value that the function under test retransposed.
    """

    def __init__(self, p: Program, kernel: Value) -> None:
        self.call = p.find("minitorch.fast_ops:TextbookKernel")(kernel)
        self.data = None if in_own_package() else p.find("minitorch.tensor_data:TensorData")

    def __call__(self, *operands: Any) -> None:
        """Run the kernel; each array is followed by its shape and strides."""
        arguments, rest = [], list(operands)
        if self.data is None:
            self.call(*operands)
            return
        while rest:
            is_array = isinstance(rest[0], Value)
            arguments.append(self.data(*rest[:3]) if is_array else rest[0])
            del rest[: 3 if is_array else 1]
        self.call(*arguments)


def layouts(seed: int, count: int = 3) -> list[tuple[tuple[int, ...], np.random.Generator, bool]]:
    """Output shapes, each with a random generator and whether inputs have gaps."""
    return [(shape, rng(seed + 10 * n + m), m > 0) for n, shape in enumerate(SHAPES) for m in range(count)]


def random_output(shape: Sequence[int], draw: np.random.Generator, noncontiguous: bool) -> tuple[StridedArray, str]:
    """An output array and its edge-case label: contiguous, or non-contiguous with or without gaps of NaN."""
    if not noncontiguous or is_published():
        return contiguous(shape), ""
    while True:
        out = random_strided(shape, draw, gaps=draw.random() < 0.5)
        if math.prod(shape) < 2 or _steps(out) != _steps(contiguous(shape)):
            return out.with_values(math.nan), NONCONTIGUOUS


def _steps(x: StridedArray) -> list[int]:
    """The strides of dimensions with more than one element."""
    return [stride for size, stride in zip(x.shape, x.strides, strict=True) if size > 1]


def expand(small: StridedArray, shape: Sequence[int]) -> StridedArray:
    """Broadcast an array to a shape, with stride 0 along broadcast dimensions."""
    strides = [stride if size > 1 else 0 for size, stride in zip(small.shape, small.strides, strict=True)]
    return StridedArray(small.storage, tuple(shape), (*[0] * (len(shape) - len(strides)), *strides), small.offset)


# Task 3.1


@probe(
    "3.1",
    "the compiled map writes f of every element, for tensors in any layout",
    weight=3,
    count=1,
    seconds=COMPILE_SECONDS,
    labels=[NONCONTIGUOUS],
    seed=seeds,
    source="docstring of tensor_map; test_one_args",
)
def compiled_map(p: Program, seed: int) -> Check:
    """Inputs with the layout of the output and others, and inputs that broadcast."""
    kernel = CompiledKernel(p, p.find("minitorch.fast_ops:tensor_map")(operator(p, "relu")))
    outs, expected = [], []
    for n, (shape, draw, gaps) in enumerate(layouts(seed)):
        x = random_strided(broadcastable_shape(shape, draw) or (1,) if draw.random() < 0.6 else shape, draw, gaps)
        out, label = random_output(shape, draw, n % 3 == 2)
        target = kernel_arguments(p, out)
        kernel(*target, *kernel_arguments(p, x))
        outs.append(target[0])
        expected.append((out.with_values(np.maximum(x.array, 0)).storage[out.offset :], label))
    for shape, wide in (((2, 3), (1, 3)), ((3, 2, 2), (3, 1, 2))):  # the same strides, but other shapes
        x = StridedArray(numbers((12,), rng(seed)), wide, tuple(int(stride) for stride in np.cumprod([1, *shape[:0:-1]])[::-1]), 0)
        out = StridedArray(np.full(math.prod(shape), math.nan), shape, x.strides, 0)
        target = kernel_arguments(p, out)
        kernel(*target, *kernel_arguments(p, x))
        outs.append(target[0])
        expected.append((out.with_values(np.maximum(x.array, 0)).storage, ""))
    check_all_equal((yield outs), expected)


@probe(
    "3.1",
    "the compiled zip writes f of each pair of elements, for tensors in any layout",
    weight=3,
    count=1,
    seconds=COMPILE_SECONDS,
    labels=[NONCONTIGUOUS],
    seed=seeds,
    source="docstring of tensor_zip; test_two_args",
)
def compiled_zip(p: Program, seed: int) -> Check:
    """With relu_back, which is not commutative."""
    kernel = CompiledKernel(p, p.find("minitorch.fast_ops:tensor_zip")(operator(p, "relu_back")))
    outs, expected = [], []
    for n, (shape, draw, gaps) in enumerate(layouts(seed, 5)):
        out, label = random_output(shape, draw, n % 5 > 2)
        a, b = (random_strided(broadcastable_shape(shape, draw) or (1,) if draw.random() < 0.5 else shape, draw, gaps) for _ in "ab")
        same_layout = StridedArray(numbers(out.storage.shape, draw), shape, out.strides, out.offset)  # the layout of out
        if n % 4 == 1:
            a = same_layout
        elif n % 4 == 2:
            b = same_layout
        elif n % 4 == 3:
            a = b = random_strided(shape, draw, gaps)
        target = kernel_arguments(p, out)
        kernel(*target, *kernel_arguments(p, a), *kernel_arguments(p, b))
        outs.append(target[0])
        expected.append((out.with_values(np.where(a.array > 0, b.array, 0)).storage[out.offset :], label))
    for first in (True, False):  # one input has the strides of out, but another shape
        row, full = StridedArray(numbers((3,), rng(seed)), (1, 3), (3, 1), 0), StridedArray(numbers((6,), rng(seed + 1)), (2, 3), (3, 1), 0)
        a, b = (row, full) if first else (full, row)
        target = kernel_arguments(p, full.with_values(math.nan))
        kernel(*target, *kernel_arguments(p, a), *kernel_arguments(p, b))
        outs.append(target[0])
        expected.append((np.where(a.array > 0, b.array, 0).reshape(-1), ""))
    check_all_equal((yield outs), expected)


@probe("3.1", ZERO_DIM, edge=True, seconds=COMPILE_SECONDS, examples=[(1,)])
def compiled_zero_dim(p: Program, seed: int) -> Check:
    """With one element, for map and zip."""
    x = random_strided((), rng(seed))
    mapped, zipped = (kernel_arguments(p, contiguous(())) for _ in range(2))
    CompiledKernel(p, p.find("minitorch.fast_ops:tensor_map")(operator(p, "neg")))(*mapped, *kernel_arguments(p, x))
    CompiledKernel(p, p.find("minitorch.fast_ops:tensor_zip")(operator(p, "add")))(
        *zipped, *kernel_arguments(p, x), *kernel_arguments(p, x)
    )
    got = yield [mapped[0], zipped[0]]
    for one, right in zip(got, (-x.array, x.array + x.array), strict=True):
        check_equal(one, right.reshape(1))


@probe(
    "3.1",
    "the compiled reduce reduces the dimension in order, starting from the values in out",
    weight=3,
    count=1,
    labels=[NONCONTIGUOUS],
    seconds=COMPILE_SECONDS,
    seed=seeds,
    source="docstring of tensor_reduce; test_reduce",
)
def compiled_reduce(p: Program, seed: int) -> Check:
    """With inv_back, -d / x², which is not commutative; with sums from 0 for the original course, which specifies neither."""
    kernel = CompiledKernel(p, p.find("minitorch.fast_ops:tensor_reduce")(operator(p, "add" if is_published() else "inv_back")))
    outs, expected = [], []
    for n, (shape, draw, gaps) in enumerate(layouts(seed)):
        for dim in range(len(shape)):
            a, kept = random_strided(shape, draw, gaps), (*shape[:dim], 1, *shape[dim + 1 :])
            starts = np.zeros(kept) if is_published() else numbers(kept, draw)
            out, label = random_output(kept, draw, n % 3 == 2)
            out = out.with_values(starts)
            target = kernel_arguments(p, out)
            kernel(*target, *kernel_arguments(p, a), dim)
            outs.append(target[0])
            for i in range(shape[dim]):
                taken = np.take(a.array, [i], axis=dim)
                starts = taken + starts if is_published() else -taken / starts**2
            expected.append((out.with_values(starts).storage[out.offset :], label))
    check_all_equal((yield outs), expected, 1e-6)


@probe(
    "3.1",
    "tensors on the compiled backend give the same results as those of Module 2",
    count=1,
    seconds=COMPILE_SECONDS,
    seed=seeds,
    source="test_two_grad; test_two_grad_broadcast; test_permute",
)
def compiled_tensors(p: Program, seed: int) -> Check:
    """A product that broadcasts, and its sums."""
    x, y = random_strided((3, 4), rng(seed)), random_strided((4,), rng(seed + 1))
    fast = p.find("minitorch:FastBackend")
    a, b = tensor(p, x, fast), tensor(p, y, fast)
    got = yield [a * b, (a * b).sum(0), (a * b).sum(1)]
    for one, right in zip(
        got, [x.array * y.array, (x.array * y.array).sum(0, keepdims=True), (x.array * y.array).sum(1, keepdims=True)], strict=True
    ):
        check_equal(one, right, EXACT)


def repeated_range(p: Program, size: int, cycle: int) -> Value:
    """The numbers 0.0, 1.0, … below cycle, repeated, as an array in the child: there are too many to send."""
    return p.find("operator:mod")(p.find("numpy:arange")(size, dtype="float64"), cycle)


def sums(p: Program, array: Value, size: int) -> list[Value]:
    """The sum of an array in the child, and a sum weighted by position; all values are integers, so both are exact."""
    return [array.sum().item(), p.find("numpy:dot")(array, repeated_range(p, size, 17)).item()]


def check_sums(got: Sequence[Any], arrays: Sequence[np.ndarray]) -> None:
    """Check that these are the sums of arrays."""
    for n, array in enumerate(arrays):
        flat = array.reshape(-1)
        check_equal(list(got[2 * n : 2 * n + 2]), [float(flat.sum()), float(flat @ (np.arange(flat.size) % 17))], of="sums of the output")


@probe(
    "3.1",
    "map, zip and reduce have no race conditions between threads",
    weight=2,
    seconds=COMPILE_SECONDS,
    source="Task 3.1: the main loop is parallel",
)
def kernel_races(p: Program) -> Check:
    """Half a million elements whose layout differs from the output, three times."""
    (off,) = yield [p.find("minitorch.kernels.jit:compiler_is_off")()]
    shape = (6, 5, 4) if off is True else (300, 200, 8)  # without the compiler, there is only one thread
    first, second, size = shape[0], shape[1], math.prod(shape)
    rows, columns = first * 2, size // (first * 4)  # many reductions of two numbers
    transposed, rotated, row_major = (1, first, first * second), (shape[2], size // second, 1), (size // first, shape[2], 1)
    q = Program()
    x, zeros = repeated_range(q, size, 1009), q.find("numpy:zeros")
    kernels = [
        CompiledKernel(q, q.find(f"minitorch.fast_ops:tensor_{kind}")(operator(q, name)))
        for kind, name in (("map", "neg"), ("zip", "add"), ("reduce", "add"))
    ]
    requests: list[Value] = []
    for _ in range(3):
        mapped, zipped, reduced = zeros(size), zeros(size), zeros(size // 2)
        kernels[0](mapped, shape, row_major, x, shape, transposed)
        kernels[1](zipped, shape, row_major, x, shape, transposed, x, shape, rotated)
        kernels[2](reduced, (rows, columns, 1), (columns, 1, 1), x, (rows, columns, 2), (1, rows, size // 2), 2)
        requests += [*sums(q, mapped, size), *sums(q, zipped, size), *sums(q, reduced, size // 2)]
    got = yield requests
    numbers = np.arange(size, dtype=float) % 1009
    a, b = StridedArray(numbers, shape, transposed, 0).array, StridedArray(numbers, shape, rotated, 0).array
    pairs = StridedArray(numbers, (rows, columns, 2), (1, rows, size // 2), 0).array
    check_sums(got, [-a, a + b, pairs.sum(2)] * 3)


# Task 3.2

PRODUCTS = [(1, 1, 1), (2, 3, 4), (4, 3, 2), (3, 3, 3), (1, 5, 2), (5, 1, 3), (2, 6, 1), (7, 4, 5)]
"""Rows, inner size and columns."""


@probe(
    "3.2",
    "the compiled matrix product is correct for batches of any size and layout",
    weight=4,
    count=1,
    seconds=COMPILE_SECONDS,
    labels=[NONCONTIGUOUS],
    seed=seeds,
    source="docstring of _tensor_matrix_multiply; test_mm2; test_bmm",
)
def compiled_product(p: Program, seed: int) -> Check:
    """A batch of one broadcasts over the other; the initial values of out must not matter."""
    kernel = CompiledKernel(p, p.find("minitorch.fast_ops:tensor_matrix_multiply"))
    outs, expected = [], []
    cases = [(size, batch, gaps) for size in PRODUCTS for batch in ((1, 1), (2, 2), (1, 3), (3, 1)) for gaps in (False, True)]
    for n, ((rows, inner, columns), (left, right), gaps) in enumerate(cases):
        draw = rng(seed + n)
        a, b = random_strided((left, rows, inner), draw, gaps), random_strided((right, inner, columns), draw, gaps)
        out, label = random_output((max(left, right), rows, columns), draw, n // 2 % 2 == 1)
        target = kernel_arguments(p, out)
        kernel(*target, *kernel_arguments(p, a), *kernel_arguments(p, b))
        outs.append(target[0])
        expected.append((out.with_values(a.array @ b.array).storage[out.offset :], label))
    check_all_equal((yield outs), expected, EXACT)


@probe(
    "3.2",
    "the matrix product has no race conditions between threads",
    seconds=COMPILE_SECONDS,
    source="Task 3.2: the outer loop is parallel",
)
def product_races(p: Program) -> Check:
    """With matrices of about a hundred rows and columns, three times."""
    (off,) = yield [p.find("minitorch.kernels.jit:compiler_is_off")()]
    batch, rows, inner, columns = (1, 3, 4, 5) if off is True else (2, 90, 300, 110)
    q = Program()
    kernel = CompiledKernel(q, q.find("minitorch.fast_ops:tensor_matrix_multiply"))
    a, b = (repeated_range(q, batch * inner * size, cycle) for size, cycle in ((rows, 13), (columns, 7)))
    size, requests = batch * rows * columns, []
    for _ in range(3):
        out = q.find("numpy:zeros")(size)
        shapes = [(out, batch, rows, columns), (a, batch, rows, inner), (b, batch, inner, columns)]
        kernel(*[part for array, n, i, j in shapes for part in (array, (n, i, j), (i * j, j, 1))])
        requests += sums(q, out, size)
    got = yield requests
    left, right = (np.arange(batch * inner * size) % cycle for size, cycle in ((rows, 13), (columns, 7)))
    check_sums(got, [left.reshape(batch, rows, inner).astype(float) @ right.reshape(batch, inner, columns)] * 3)


@probe(
    "3.2",
    "x @ y and its gradients are correct on the compiled backend",
    weight=2,
    count=1,
    seconds=COMPILE_SECONDS,
    seed=seeds,
    source="test_mm2; test_bmm",
)
def product_of_tensors(p: Program, seed: int) -> Check:
    """The gradients are matrix products with the transposes."""
    x, y, w = random_strided((3, 4), rng(seed)), random_strided((4, 2), rng(seed + 1)), numbers((3, 2), rng(seed + 2))
    fast = p.find("minitorch:FastBackend")
    a, b = tensor(p, x, fast, grad=True), tensor(p, y, fast, grad=True)
    out = a @ b
    out.backward(tensor(p, w, fast))
    got = yield [out, a.grad, b.grad]
    for one, right in zip(got, [x.array @ y.array, w @ y.array.T, x.array.T @ w], strict=True):
        check_equal(one, right, EXACT)


# Task 3.5

BACKENDS = ["minitorch:FastBackend", "minitorch:SimpleBackend"]

linear_layer_probe("3.5", "project.run_fast_tensor", BACKENDS)
network_probes("3.5", "project.run_fast_tensor", BACKENDS)


@probe(
    "3.5",
    "after training, the probabilities of unseen points match those of gradient descent in NumPy",
    weight=3,
    seconds=COMPILE_SECONDS,
    examples=[("Xor", 6, 1)],
    dataset=integers(0, 1).map(["Split", "Simple"].__getitem__),
    hidden=integers(2, 8),
    seed=seeds,
    count=1,
    own_package=False,
    source=source_of("3.5", "project.run_fast_tensor"),
)
def training(p: Program, dataset: str, hidden: int, seed: int) -> Check:
    """Ten epochs of one batch of ten points, compared with gradient descent in NumPy."""
    known = Perceptron(hidden, seed)
    setting = p.find("project.lab.training.fast_trainer:FastSetting")(
        dataset=dataset, points=10, hidden=hidden, rate=0.5, epochs=10, seed=seed
    )
    trainer = p.find("project.lab.training.fast_trainer:FastTrainer")(setting, p.find("project.run_fast_tensor:Network"))
    write(p, trainer.network, known.parameters(), p.find("minitorch:FastBackend"))
    for _ in range(10):
        trainer.run_epoch()
    hidden_points = rng(seed).uniform(0, 1, (5, 2))
    (got,) = yield [trainer.probabilities(hidden_points)]
    points, labels = labelled_points(dataset, 10, seed)
    for _ in range(10):
        known.descend(points, labels, 0.5)
    check_equal([number(one) for one in got], known(hidden_points).tolist(), 1e-6)
