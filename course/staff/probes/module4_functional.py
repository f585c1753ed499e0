"""Probes of Module 4: pooling, the maximum, softmax and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, is_published, raises, same
from course.staff.probes.convolutions import windows
from course.staff.probes.module2 import drawn
from course.staff.probes.module3 import COMPILING
from course.staff.probes.plain import Seen
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, Laid, laid, numbers, seeds, shapes, tensor

NN = "minitorch.nn.functional"

SHIFTED = 1e-5
"""Tolerance where the logarithm may be that of x + 1e-6."""


# Task 4.3

BACKENDS = ["minitorch:SimpleBackend", "minitorch:FastBackend"]

POOLS = [
    ((1, 1, 4, 4), (2, 2)),
    ((2, 3, 4, 6), (2, 3)),
    ((2, 1, 3, 4), (3, 1)),
    ((1, 2, 6, 2), (1, 2)),
    ((2, 2, 2, 2), (2, 2)),
    ((1, 1, 6, 6), (3, 2)),
]
"""Images and windows."""


def images(p: Program, shape: Sequence[int], seed: int, alike: bool = False) -> tuple[Laid, Value]:
    """Images in any layout, here and in the child, on one of two backends."""
    x = laid(shape, drawn(seed))
    if alike:
        x.array[...] = np.round(x.array / 4)
    return x, tensor(p, x, p.find(BACKENDS[seed % 2]), grad=True)


@probe(
    "4.3",
    "tile lays the numbers of each window in a row, of images in any layout",
    weight=2,
    examples=[(pool, n) for n, pool in enumerate(POOLS)],
    pool=sampled_from(POOLS),
    seed=seeds,
    count=6,
    seconds=COMPILING,
)
def tile(p: Program, pool: Any, seed: int) -> Check:
    """With the gradient, which goes back to where the numbers stood."""
    shape, kernel = pool
    x, made = images(p, shape, seed)
    found = p.find(f"{NN}:tile")(made, kernel)
    right = windows(x.array, kernel)
    arriving = numbers(right.shape, drawn(seed + 1))
    arriving[...] = arriving[..., :1] if is_published() else arriving
    found[0].backward(tensor(p, arriving, p.find(BACKENDS[seed % 2])))
    tiles, height, width, grad = yield [found[0], found[1], found[2], made.grad]
    if is_published():  # the order of the numbers of a window is open there
        tiles, right = Seen(np.sort(tiles.array), tiles.strides, tiles.offset, tiles.recorded), np.sort(right)
    same(tiles, right)
    same((height, width), right.shape[2:4], of="rows and columns of windows")
    places = windows(np.arange(math.prod(shape)).reshape(shape), kernel)
    expected = np.zeros(math.prod(shape))
    expected[places.reshape(-1)] = arriving.reshape(-1)
    same(grad, expected.reshape(shape))


@probe(
    "4.3",
    "avgpool2d gives the mean of each window, and each number its share of the gradient",
    weight=2,
    examples=[(pool, n) for n, pool in enumerate(POOLS)],
    pool=sampled_from(POOLS),
    seed=seeds,
    count=6,
    seconds=COMPILING,
)
def avgpool2d(p: Program, pool: Any, seed: int) -> Check:
    """In four dimensions."""
    shape, kernel = pool
    x, made = images(p, shape, seed)
    right = windows(x.array, kernel).mean(-1)
    arriving = numbers(right.shape, drawn(seed + 1))
    out = p.find(f"{NN}:avgpool2d")(made, kernel)
    out.backward(tensor(p, arriving, p.find(BACKENDS[seed % 2])))
    got, grad = yield [out, made.grad]
    same(got, right, EXACT)
    same(grad, np.repeat(np.repeat(arriving, kernel[0], 2), kernel[1], 3) / math.prod(kernel), EXACT)


@probe(
    "4.3",
    "tile refuses windows that do not fill the images",
    edge=True,
    examples=[((1, 1, 4, 4), (3, 2)), ((1, 1, 4, 4), (2, 3)), ((1, 1, 4, 6), (4, 4))],
)
def wrong_windows(p: Program, shape: tuple[int, ...], kernel: tuple[int, int]) -> Check:
    """In either direction."""
    yield from raises(p.find(f"{NN}:tile")(tensor(p, np.ones(shape)), kernel), "ValueError")


# Task 4.4: the maximum


def distinct(shape: Sequence[int], seed: int) -> np.ndarray:
    """Numbers of which no two are equal: the original course does not say which of equal ones gets the gradient of max."""
    return drawn(seed).permutation(math.prod(shape)).reshape(shape) / 2 - 3.0


MASK = "argmax gives a mask of bool"


@probe(
    "4.4",
    "max gives the largest element along a dimension, or of all, and each of equal ones the whole gradient",
    weight=3,
    examples=[((2, 3), 1, 0), ((2, 3), 2, 1), ((2, 3), 3, None), ((3, 2, 4), 4, 1), ((3, 2), 6, -1)],
    labels=[MASK],
    published=lambda shape, seed, dim: dim is not None,
    edges={"max along a dimension that counts from the end": lambda shape, seed, dim: dim == -1},
    shape=shapes,
    seed=seeds,
    dim=sampled_from([0, 0, 1, 2, None]),
    count=15,
    seconds=COMPILING,
)
def largest(p: Program, shape: tuple[int, ...], seed: int, dim: int | None) -> Check:
    """Some elements are equal; all may be below 0, and far below."""
    dim = None if dim is None else dim % len(shape) if dim >= 0 else dim
    x, made = images(p, shape, seed, alike=True)
    if is_published():
        x.array[...] = distinct(shape, seed)
    elif seed % 3 == 1:
        x.array[...] -= 1e12
    if seed % 3 == 0:
        x.array[...] -= 5.0
    backend = p.find(BACKENDS[seed % 2])
    made = tensor(p, x, backend, grad=True)
    right = x.array.max(dim, keepdims=True) if dim is not None else x.array.max().reshape(1)
    arriving = numbers(right.shape, drawn(seed + 1))
    out = p.find(f"{NN}:max")(made, dim)
    out.backward(tensor(p, arriving, backend))
    mask = p.find(f"{NN}:argmax")(made, dim)
    got, grad, marked = yield [out, made.grad, mask]
    is_largest = x.array == (x.array.max(dim, keepdims=True) if dim is not None else x.array.max())
    same(got, right)
    same(grad, is_largest * np.broadcast_to(arriving.reshape([1] * len(shape)) if dim is None else arriving, shape), of="the gradient")
    same(marked, is_largest, of="argmax to mark")
    if str(marked.array.dtype) != "bool":  # with a history or without: equality passes no gradient on
        raise Wrong("", {MASK: f"expected a tensor of bool, got {marked.array.dtype}"})


@probe("4.4", "Max.forward and Max.backward do so by themselves", examples=[(0, 1), (1, 2)])
def max_function(p: Program, dim: int, seed: int) -> Check:
    """Applied along a dimension."""
    x = distinct((3, 4), seed) if is_published() else np.round(numbers((3, 4), drawn(seed)) / 4)
    made = tensor(p, x, grad=True)
    out = p.find(f"{NN}:Max.apply")(made, dim)
    arriving = numbers(x.max(dim, keepdims=True).shape, drawn(seed + 1))
    out.backward(tensor(p, arriving))
    got, grad = yield [out, made.grad]
    same(got, x.max(dim, keepdims=True))
    same(grad, (x == x.max(dim, keepdims=True)) * arriving)


@probe(
    "4.4",
    "maxpool2d gives the largest number of each window, and each of equal ones the whole gradient",
    weight=2,
    examples=[(pool, n) for n, pool in enumerate(POOLS)],
    pool=sampled_from(POOLS),
    seed=seeds,
    count=6,
    seconds=COMPILING,
)
def maxpool2d(p: Program, pool: Any, seed: int) -> Check:
    """Also where all are below 0."""
    shape, kernel = pool
    x = laid(shape, drawn(seed))
    x.array[...] = distinct(shape, seed) if is_published() else np.round(x.array / 2)
    x.array[...] -= 9.0 if seed % 3 == 0 else 0.0
    backend = p.find(BACKENDS[seed % 2])
    made = tensor(p, x, backend, grad=True)
    right = windows(x.array, kernel).max(-1)
    arriving = numbers(right.shape, drawn(seed + 1))
    out = p.find(f"{NN}:maxpool2d")(made, kernel)
    out.backward(tensor(p, arriving, backend))
    got, grad = yield [out, made.grad]
    same(got, right)
    spread = [np.repeat(np.repeat(one, kernel[0], 2), kernel[1], 3) for one in (right, arriving)]
    same(grad, (x.array == spread[0]) * spread[1], of="the gradient")


# Task 4.4: softmax and dropout


def softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """e^x over its sum along a dimension."""
    powers = np.exp(x - x.max(dim, keepdims=True))
    return powers / powers.sum(dim, keepdims=True)


def logsoftmax(x: np.ndarray, dim: int) -> np.ndarray:
    """Its logarithm."""
    shifted = x - x.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


def by_softmax(x: np.ndarray, dim: int, arriving: np.ndarray) -> np.ndarray:
    """What flows back through softmax."""
    y = softmax(x, dim)
    return y * (arriving - (y * arriving).sum(dim, keepdims=True))


def by_logsoftmax(x: np.ndarray, dim: int, arriving: np.ndarray) -> np.ndarray:
    """What flows back through logsoftmax."""
    return arriving - softmax(x, dim) * arriving.sum(dim, keepdims=True)


def exponential(name: str, here: Callable[..., np.ndarray], back: Callable[..., np.ndarray], far: float) -> None:
    """Enter the probes of softmax or logsoftmax."""

    def check(p: Program, shape: tuple[int, ...], seed: int, dim: int) -> Check:
        dim %= len(shape)
        x, arriving, backend = laid(shape, drawn(seed)), numbers(shape, drawn(seed + 1)), p.find(BACKENDS[seed % 2])
        made = tensor(p, x, backend, grad=True)
        out = p.find(f"{NN}:{name}")(made, dim)
        out.backward(tensor(p, arriving, backend))
        got, grad = yield [out, made.grad]
        same(got, here(x.array, dim), SHIFTED)
        same(grad, back(x.array, dim, arriving), SHIFTED, of="the gradient")

    def extremes(p: Program, at: int, dim: int) -> Check:
        x = np.array([[1000.0, 999.0, far], [-2000.0, -2001.0, -2000.0], [0.0, 0.5, far / 2]])
        x = x if dim else x.T
        (got,) = yield [p.find(f"{NN}:{name}")(tensor(p, x, p.find(BACKENDS[at])), dim)]
        same(got, here(x, dim), SHIFTED)

    inputs: Any = {"shape": shapes, "seed": seeds, "dim": integers(0, 2)}
    examples = [((2, 3), 1, 0), ((2, 3), 2, 1), ((3, 2, 4), 3, 1), ((4,), 4, 0)]
    probe("4.4", f"{name} along any dimension, with its gradient", weight=2, examples=examples, count=10, seconds=COMPILING, **inputs)(
        check
    )
    says = f"{name} of numbers so large that their powers would overflow, in rows far apart"
    probe("4.4", says, edge=True, examples=[(at, dim) for at in (0, 1) for dim in (0, 1)], seconds=COMPILING)(extremes)


exponential("softmax", softmax, by_softmax, -1000.0)
exponential("logsoftmax", logsoftmax, by_logsoftmax, -1000.0)


@probe(
    "4.4",
    "dropout drops each element with the probability rate, and leaves the others as they are",
    weight=2,
    examples=[(0.25, 1), (0.5, 2), (0.9, 4)],
    rate=sampled_from([0.1, 0.3, 0.7]),
    seed=seeds,
    count=3,
    seconds=COMPILING,
)
def dropout(p: Program, rate: float, seed: int) -> Check:
    """As manual_seed decides, each for itself; the gradient flows through what was kept."""
    x, reseed, drop = numbers((40, 50), drawn(seed)), p.find("minitorch:manual_seed"), p.find(f"{NN}:dropout")
    backend = p.find(BACKENDS[seed % 2])
    made = tensor(p, x, backend, grad=True)
    reseed(seed)
    out = drop(made, rate)
    again = drop(made, rate)
    reseed(seed)
    repeated = drop(made, rate)
    out.backward(tensor(p, x, backend))
    first, second, third, grad = yield [out, again, repeated, made.grad]
    kept = first.array != 0
    same(first, np.where(kept, x, 0.0))
    if not is_published():
        same(third, first.array, of="the same with the same seed,")
    same(grad, np.where(kept, x, 0.0), of="the gradient")
    if abs(kept.mean() - (1 - rate)) > 0.06:
        raise Wrong(f"expected about {1 - rate:.0%} of 2,000 elements to be kept, got {kept.mean():.0%}")
    if (kept == (second.array != 0)).all():
        raise Wrong("expected other elements to be dropped at the next call, got the same")
    for dim, what in ((0, "column"), (1, "row")):
        if (kept.all(dim) | ~kept.any(dim)).mean() > 0.5:
            raise Wrong(f"expected each element to be dropped for itself, got every {what} kept or dropped as a whole")


@probe("4.4", "dropout with a rate of 0 or 1 and ignored draws nothing and drops none or all", edge=True, seconds=COMPILING)
def dropout_ends(p: Program) -> Check:
    """What is ignored draws nothing."""
    x, drop, reseed, rand = numbers((3, 4), drawn(1)), p.find(f"{NN}:dropout"), p.find("minitorch:manual_seed"), p.find("minitorch:rand")
    made = tensor(p, x)
    reseed(3)
    ignored = drop(made, 0.5, ignore=True)
    after = rand((4,))
    reseed(3)
    fresh = rand((4,))
    none, every, left, drawn_after, drawn_fresh = yield [drop(made, 0.0), drop(made, 1.0), ignored, after, fresh]
    same(none, x)
    same(every, np.zeros(x.shape))
    same(left, x)
    same(drawn_after, drawn_fresh.array, of="nothing to be drawn where it is ignored,")


@probe("4.4", "dropout refuses a rate outside of 0 to 1", edge=True, examples=[(-0.1,), (1.1,), (math.nan,)], seconds=COMPILING)
def wrong_rates(p: Program, rate: float) -> Check:
    """With a ValueError."""
    yield from raises(p.find(f"{NN}:dropout")(tensor(p, numbers((3, 4), drawn(1))), rate), "ValueError")
