"""Probes of Module 4: pooling, the maximum, softmax and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, check_raises, is_published
from course.staff.probes.convolutions import windows
from course.staff.probes.module2 import rng
from course.staff.probes.module3 import COMPILE_SECONDS
from course.staff.probes.own_package import in_own_package
from course.staff.probes.plain import TensorSnapshot
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, StridedArray, numbers, random_strided, seeds, shapes, tensor

NN = "minitorch.nn.functional"

SHIFTED = 1e-5
"""Tolerance if the logarithm may be that of x + 1e-6."""


# Task 4.3

BACKENDS = ["minitorch:SimpleBackend", "minitorch:FastBackend"]


def pick(p: Program, seed: int) -> Value:
    """One of two backends; that of Module 2 for a hand-in in its own package, as in the tests of the original course."""
    return p.find(BACKENDS[0 if in_own_package() else seed % 2])


def upstream(shape: Sequence[int], seed: int) -> np.ndarray:
    """A gradient of an output; of ones for a hand-in in its own package, because its given View.backward mixes up others."""
    return np.ones(shape) if in_own_package() else numbers(shape, rng(seed))


POOLS = [
    ((1, 1, 4, 4), (2, 2)),
    ((2, 3, 4, 6), (2, 3)),
    ((2, 1, 3, 4), (3, 1)),
    ((1, 2, 6, 2), (1, 2)),
    ((2, 2, 2, 2), (2, 2)),
    ((1, 1, 6, 6), (3, 2)),
]
"""Image shapes and window sizes."""


def make_images(p: Program, shape: Sequence[int], seed: int, alike: bool = False) -> tuple[StridedArray, Value]:
    """Images in any layout, here and in the child, on one of two backends."""
    x = random_strided(shape, rng(seed))
    if alike:
        x.array[...] = np.round(x.array / 4)
    return x, tensor(p, x, pick(p, seed), grad=True)


@probe(
    "4.3",
    "tile collects the elements of each window in the last dimension, for images in any layout",
    weight=2,
    examples=[(pool, n) for n, pool in enumerate(POOLS)],
    pool=sampled_from(POOLS),
    seed=seeds,
    count=6,
    seconds=COMPILE_SECONDS,
    own_package=False,  # its arguments differ between editions, and no test calls it
    source="docstring of tile",
)
def tile(p: Program, pool: Any, seed: int) -> Check:
    """With the gradient, which returns to the original positions."""
    shape, kernel = pool
    x, made = make_images(p, shape, seed)
    tiled = p.find(f"{NN}:tile")(made, kernel)
    right = windows(x.array, kernel)
    grad_output = upstream(right.shape, seed + 1)
    grad_output[...] = grad_output[..., :1] if is_published() else grad_output
    tiled[0].backward(tensor(p, grad_output, pick(p, seed)))
    tiles, height, width, grad = yield [tiled[0], tiled[1], tiled[2], made.grad]
    if is_published():  # the original course does not specify the order within a window
        tiles, right = TensorSnapshot(np.sort(tiles.array), tiles.strides, tiles.offset, tiles.has_history), np.sort(right)
    check_equal(tiles, right)
    check_equal((height, width), right.shape[2:4], of="height and width")
    positions = windows(np.arange(math.prod(shape)).reshape(shape), kernel)
    expected = np.zeros(math.prod(shape))
    expected[positions.reshape(-1)] = grad_output.reshape(-1)
    check_equal(grad, expected.reshape(shape))


@probe(
    "4.3",
    "avgpool2d returns the mean of each window, and spreads the gradient equally over the window",
    weight=2,
    examples=[(pool, n) for n, pool in enumerate(POOLS)],
    pool=sampled_from(POOLS),
    seed=seeds,
    count=6,
    seconds=COMPILE_SECONDS,
    source="test_avg",
)
def avgpool2d(p: Program, pool: Any, seed: int) -> Check:
    """Returns a 4D tensor."""
    shape, kernel = pool
    x, made = make_images(p, shape, seed)
    right = windows(x.array, kernel).mean(-1)
    grad_output = upstream(right.shape, seed + 1)
    out = p.find(f"{NN}:avgpool2d")(made, kernel)
    out.backward(tensor(p, grad_output, pick(p, seed)))
    got, grad = yield [out, made.grad]
    check_equal(got, right, EXACT)
    check_equal(grad, np.repeat(np.repeat(grad_output, kernel[0], 2), kernel[1], 3) / math.prod(kernel), EXACT)


@probe(
    "4.3",
    "tile rejects window sizes that do not divide the image size",
    edge=True,
    examples=[((1, 1, 4, 4), (3, 2)), ((1, 1, 4, 4), (2, 3)), ((1, 1, 4, 6), (4, 4))],
)
def wrong_windows(p: Program, shape: tuple[int, ...], kernel: tuple[int, int]) -> Check:
    """In either dimension."""
    yield from check_raises(p.find(f"{NN}:tile")(tensor(p, np.ones(shape)), kernel), "ValueError")


# Task 4.4: the maximum


def distinct_numbers(shape: Sequence[int], seed: int) -> np.ndarray:
    """Distinct numbers: the original course does not specify which of equal maxima receives the gradient."""
    return rng(seed).permutation(math.prod(shape)).reshape(shape) / 2 - 3.0


MASK = "argmax returns a bool mask"


@probe(
    "4.4",
    "max returns the largest element along a dimension or of all, and passes the full gradient to every maximum",
    weight=3,
    examples=[((2, 3), 1, 0), ((2, 3), 2, 1), ((2, 3), 3, None), ((3, 2, 4), 4, 1), ((3, 2), 6, -1)],
    labels=[MASK],
    published=lambda shape, seed, dim: dim is not None,
    edges={"max along a negative dimension": lambda shape, seed, dim: dim == -1},
    shape=shapes,
    seed=seeds,
    dim=sampled_from([0, 0, 1, 2, None]),
    count=15,
    seconds=COMPILE_SECONDS,
    source="Task 4.4: the test test_max, which students write",
)
def max_probe(p: Program, shape: tuple[int, ...], seed: int, dim: int | None) -> Check:
    """Some elements are equal; all may be negative, and of large magnitude."""
    dim = None if dim is None else dim % len(shape) if dim >= 0 else dim
    x, made = make_images(p, shape, seed, alike=True)
    if is_published():
        x.array[...] = distinct_numbers(shape, seed)
    elif seed % 3 == 1:
        x.array[...] -= 1e12
    if seed % 3 == 0:
        x.array[...] -= 5.0
    backend = pick(p, seed)
    made = tensor(p, x, backend, grad=True)
    right = x.array.max(dim, keepdims=True) if dim is not None else x.array.max().reshape(1)
    grad_output = numbers(right.shape, rng(seed + 1))
    out = p.find(f"{NN}:max")(made, dim)
    out.backward(tensor(p, grad_output, backend))
    masks = [] if is_published() else [p.find(f"{NN}:argmax")(made, dim)]  # no test of the original course calls argmax
    got, grad, *found = yield [out, made.grad, *masks]
    is_largest = x.array == (x.array.max(dim, keepdims=True) if dim is not None else x.array.max())
    check_equal(got, right)
    check_equal(
        grad, is_largest * np.broadcast_to(grad_output.reshape([1] * len(shape)) if dim is None else grad_output, shape), of="gradient"
    )
    for mask in found:
        check_equal(mask, is_largest, of="argmax")
        if str(mask.array.dtype) != "bool":  # with or without a history: a comparison propagates no gradient
            raise Wrong("", {MASK: f"expected a bool tensor, got {mask.array.dtype}"})


@probe(
    "4.4",
    "Max.forward and Max.backward are correct on their own",
    examples=[(0, 1), (1, 2)],
    source="docstring of Max.forward; docstring of Max.backward",
)
def max_function(p: Program, dim: int, seed: int) -> Check:
    """Called through Max.apply along a dimension."""
    x = distinct_numbers((3, 4), seed) if is_published() else np.round(numbers((3, 4), rng(seed)) / 4)
    made = tensor(p, x, grad=True)
    out = p.find(f"{NN}:Max.apply")(made, dim)
    grad_output = numbers(x.max(dim, keepdims=True).shape, rng(seed + 1))
    out.backward(tensor(p, grad_output))
    got, grad = yield [out, made.grad]
    check_equal(got, x.max(dim, keepdims=True))
    check_equal(grad, (x == x.max(dim, keepdims=True)) * grad_output)


@probe(
    "4.4",
    "maxpool2d returns the maximum of each window, and passes the full gradient to every maximum",
    weight=2,
    examples=[(pool, n) for n, pool in enumerate(POOLS)],
    pool=sampled_from(POOLS),
    seed=seeds,
    count=6,
    seconds=COMPILE_SECONDS,
    source="test_max_pool",
)
def maxpool2d(p: Program, pool: Any, seed: int) -> Check:
    """Also if all numbers are negative."""
    shape, kernel = pool
    x = random_strided(shape, rng(seed))
    x.array[...] = distinct_numbers(shape, seed) if is_published() else np.round(x.array / 2)
    x.array[...] -= 9.0 if seed % 3 == 0 else 0.0
    backend = pick(p, seed)
    made = tensor(p, x, backend, grad=True)
    right = windows(x.array, kernel).max(-1)
    grad_output = numbers(right.shape, rng(seed + 1))
    out = p.find(f"{NN}:maxpool2d")(made, kernel)
    out.backward(tensor(p, grad_output, backend))
    got, grad = yield [out, made.grad]
    check_equal(got, right)
    if in_own_package():
        return  # its given View.backward mixes up the gradient
    spread = [np.repeat(np.repeat(one, kernel[0], 2), kernel[1], 3) for one in (right, grad_output)]
    check_equal(grad, (x.array == spread[0]) * spread[1], of="gradient")


# Task 4.4: softmax and dropout


def softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """e^x divided by its sum along a dimension."""
    exponentials = np.exp(x - x.max(dim, keepdims=True))
    return exponentials / exponentials.sum(dim, keepdims=True)


def logsoftmax(x: np.ndarray, dim: int) -> np.ndarray:
    """The logarithm of softmax."""
    shifted = x - x.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


def softmax_gradient(x: np.ndarray, dim: int, grad_output: np.ndarray) -> np.ndarray:
    """The gradient of softmax."""
    y = softmax(x, dim)
    return y * (grad_output - (y * grad_output).sum(dim, keepdims=True))


def logsoftmax_gradient(x: np.ndarray, dim: int, grad_output: np.ndarray) -> np.ndarray:
    """The gradient of logsoftmax."""
    return grad_output - softmax(x, dim) * grad_output.sum(dim, keepdims=True)


def softmax_probes(name: str, numpy_fn: Callable[..., np.ndarray], gradient_fn: Callable[..., np.ndarray], far: float) -> None:
    """Register the probes of softmax or logsoftmax."""

    def check(p: Program, shape: tuple[int, ...], seed: int, dim: int) -> Check:
        dim %= len(shape)
        x, grad_output, backend = random_strided(shape, rng(seed)), numbers(shape, rng(seed + 1)), pick(p, seed)
        made = tensor(p, x, backend, grad=True)
        out = p.find(f"{NN}:{name}")(made, dim)
        out.backward(tensor(p, grad_output, backend))
        got, grad = yield [out, made.grad]
        check_equal(got, numpy_fn(x.array, dim), SHIFTED)
        check_equal(grad, gradient_fn(x.array, dim, grad_output), SHIFTED, of="gradient")

    def extremes(p: Program, at: int, dim: int) -> Check:
        x = np.array([[1000.0, 999.0, far], [-2000.0, -2001.0, -2000.0], [0.0, 0.5, far / 2]])
        x = x if dim else x.T
        (got,) = yield [p.find(f"{NN}:{name}")(tensor(p, x, p.find(BACKENDS[at])), dim)]
        check_equal(got, numpy_fn(x, dim), SHIFTED)

    inputs: Any = {"shape": shapes, "seed": seeds, "dim": integers(0, 2)}
    examples = [((2, 3), 1, 0), ((2, 3), 2, 1), ((3, 2, 4), 3, 1), ((4,), 4, 0)]
    probe(
        "4.4",
        f"{name} and its gradient are correct along any dimension",
        weight=2,
        examples=examples,
        count=10,
        seconds=COMPILE_SECONDS,
        source="test_softmax" if name == "softmax" else "test_log_softmax",
        **inputs,
    )(check)
    says = f"{name} does not overflow for large inputs, even if rows differ widely"
    probe("4.4", says, edge=True, examples=[(at, dim) for at in (0, 1) for dim in (0, 1)], seconds=COMPILE_SECONDS)(extremes)


softmax_probes("softmax", softmax, softmax_gradient, -1000.0)
softmax_probes("logsoftmax", logsoftmax, logsoftmax_gradient, -1000.0)


@probe(
    "4.4",
    "dropout drops each element with probability rate, and does not change the others",
    weight=2,
    examples=[(0.25, 1), (0.5, 2), (0.9, 4)],
    rate=sampled_from([0.1, 0.3, 0.7]),
    seed=seeds,
    count=3,
    seconds=COMPILE_SECONDS,
    source="docstring of dropout",
)
def dropout(p: Program, rate: float, seed: int) -> Check:
    """Independently, as determined by manual_seed; the gradient passes through the kept elements."""
    x, reseed, drop = numbers((40, 50), rng(seed)), p.find("minitorch:manual_seed"), p.find(f"{NN}:dropout")
    backend = pick(p, seed)
    made = tensor(p, x, backend, grad=True)
    reseed(seed)
    out = drop(made, rate)
    again = drop(made, rate)
    reseed(seed)
    repeated = drop(made, rate)
    out.backward(tensor(p, x, backend))
    first, second, third, grad = yield [out, again, repeated, made.grad]
    kept = first.array != 0
    check_equal(first, np.where(kept, x, 0.0))
    if not is_published():
        check_equal(third, first.array, of="output with the same seed")
    check_equal(grad, np.where(kept, x, 0.0), of="gradient")
    if abs(kept.mean() - (1 - rate)) > 0.06:
        raise Wrong(f"expected about {1 - rate:.0%} of 2,000 elements to be kept, got {kept.mean():.0%}")
    if (kept == (second.array != 0)).all():
        raise Wrong("expected the next call to drop other elements, got the same")
    for dim, what in ((0, "column"), (1, "row")):
        if (kept.all(dim) | ~kept.any(dim)).mean() > 0.5:
            raise Wrong(f"expected elements to be dropped independently, got each {what} kept or dropped as a whole")


@probe(
    "4.4",
    "dropout drops nothing at rate 0 and everything at rate 1, and draws no random numbers with ignore=True",
    edge=True,
    required=True,
    seconds=COMPILE_SECONDS,
    source="test_drop",
)
def dropout_ends(p: Program) -> Check:
    """With `ignore=True`, the state of the random generator must not change."""
    x, drop, reseed, rand = numbers((3, 4), rng(1)), p.find(f"{NN}:dropout"), p.find("minitorch:manual_seed"), p.find("minitorch:rand")
    made = tensor(p, x)
    reseed(3)
    ignored = drop(made, 0.5, ignore=True)
    after = rand((4,))
    reseed(3)
    fresh = rand((4,))
    none, every, unchanged, drawn_after, drawn_fresh = yield [drop(made, 0.0), drop(made, 1.0), ignored, after, fresh]
    check_equal(none, x)
    check_equal(every, np.zeros(x.shape))
    check_equal(unchanged, x)
    if not is_published():
        check_equal(drawn_after, drawn_fresh.array, of="random numbers after an ignored dropout")


@probe("4.4", "dropout rejects a rate outside [0, 1]", edge=True, examples=[(-0.1,), (1.1,), (math.nan,)], seconds=COMPILE_SECONDS)
def wrong_rates(p: Program, rate: float) -> Check:
    """With a ValueError."""
    yield from check_raises(p.find(f"{NN}:dropout")(tensor(p, numbers((3, 4), rng(1))), rate), "ValueError")
