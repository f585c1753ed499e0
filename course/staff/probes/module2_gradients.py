"""Probes of Module 2: the gradients of operations."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from hypothesis.strategies import booleans, floats, integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, is_published, same, shown
from course.staff.probes.module2 import BARE, drawn
from course.staff.probes.module2_operations import is_bare, sigmoid
from course.staff.probes.plain import Seen
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, laid, numbers, seeds, shapes, shrunk, summed_to, tensor

# Task 2.4

ZEROS = "backward of LT and EQ returns a tensor of zeros for each side"

SLOPES: dict[str, tuple[Callable[[Value], Value], Callable[[np.ndarray], np.ndarray]]] = {
    "Sigmoid": (lambda x: x.sigmoid(), lambda x: sigmoid(x) * sigmoid(-x)),
    "ReLU": (lambda x: x.relu(), lambda x: (x > 0).astype(float)),
    "Log": (lambda x: x.log(), lambda x: 1 / (x + 1e-6)),
    "Exp": (lambda x: x.exp(), np.exp),
}
"""Functions of one tensor, with their derivatives."""


def gradient_of_one(name: str, there: Callable[[Value], Value], here: Callable[[np.ndarray], np.ndarray]) -> None:
    """Enter the probe of a gradient."""

    def check(p: Program, shape: tuple[int, ...], seed: int) -> Check:
        x, w = laid(shape, drawn(seed)), numbers(shape, drawn(seed + 1))
        if name == "Log":
            x.array[...] = np.abs(x.array)
        elif name == "ReLU" and not is_published():
            x.array[...] = np.where(drawn(seed).random(shape) < 0.3, 0.0, x.array)
        made = tensor(p, x, grad=True)
        there(made).backward(tensor(p, w))
        (got,) = yield [made.grad]
        same(got, here(x.array) * w, EXACT)

    examples, edges = [((2, 3), 1), ((), 2), ((3,), 4)], {BARE: lambda shape, seed: not shape}
    probe("2.4", f"the gradient that flows through {name}", count=15, examples=examples, edges=edges, shape=shapes, seed=seeds)(check)


for _name, _pair in SLOPES.items():
    gradient_of_one(_name, *_pair)


@probe("2.4", "the gradient that flows through Log close to 0 is that of the shifted logarithm", edge=True, x=floats(0, 1e-5), count=5)
def log_close_to_zero(p: Program, x: float) -> Check:
    """There the shift is most of it."""
    made = tensor(p, np.array([x, 1.0]), grad=True)
    made.log().backward(tensor(p, np.array([2.0, 2.0])))
    (got,) = yield [made.grad]
    same(got, 2 / (np.array([x, 1.0]) + 1e-6), EXACT)


@probe(
    "2.4",
    "the gradients that flow through Mul to both factors, summed where one was broadcast",
    weight=2,
    examples=[((2, 3), 1, False), ((3, 2), 5, True), ((), 2, False)],
    edges={BARE: lambda shape, seed, swap: is_bare(shape, seed + 1)},
    shape=shapes,
    seed=seeds,
    swap=booleans(),
)
def gradient_of_mul(p: Program, shape: tuple[int, ...], seed: int, swap: bool) -> Check:
    """Either factor may be the smaller one; one tensor may be both."""
    x, y, w = laid(shape, drawn(seed)), laid(shrunk(shape, drawn(seed + 1)), drawn(seed + 2)), numbers(shape, drawn(seed + 3))
    a, b, square = tensor(p, x, grad=True), tensor(p, y, grad=True), tensor(p, x, grad=True)
    (b * a if swap else a * b).backward(tensor(p, w))
    (square * square).backward(tensor(p, w))
    by_a, by_b, by_square = yield [a.grad, b.grad, square.grad]
    same(by_a, w * y.array, EXACT, of="by the larger factor")
    same(by_b, summed_to(w * x.array, y.shape), EXACT, of="by the smaller factor")
    same(by_square, 2 * w * x.array, EXACT)


@probe(
    "2.4",
    "no gradient but zeros flows through LT and EQ, to both sides in their shapes",
    examples=[(n, m) for n in ("lt", "eq") for m in (1, 2)],
    labels=[ZEROS],
    name=sampled_from(["lt", "eq"]),
    seed=seeds,
    count=6,
)
def gradient_of_comparisons(p: Program, name: str, seed: int) -> Check:
    """Beside a sum through which one does."""
    x = numbers((2, 3), drawn(seed))
    y = numbers(shrunk((2, 3), drawn(seed + 1)), drawn(seed + 2))
    a, b = tensor(p, x, grad=True), tensor(p, y, grad=True)
    p.find(f"operator:{name}")(a, b).backward(tensor(p, numbers((2, 3), drawn(seed + 3))))
    by_a, by_b = yield [a.grad, b.grad]
    same(by_a, np.zeros(x.shape))
    same(by_b, np.zeros(y.shape))
    q = Program()
    result = q.find(f"operator:{name}")(tensor(q, x, grad=True), tensor(q, y, grad=True))
    flows = result.history.last_fn._backward(result.history.ctx, tensor(q, numbers((2, 3), drawn(seed))))
    got = yield [q.find("builtins:list")(flows)]
    if [isinstance(one, Seen) and not one.array.any() for one in got[0]] != [True, True]:
        raise Wrong("", {ZEROS: f"expected backward to return two tensors of zeros, got {shown(got[0])}"})


@probe(
    "2.4",
    "the gradient that flows through Sum reaches every element along the dimension",
    weight=2,
    examples=[((2, 3), 1, 0), ((2, 3), 1, 1), ((3, 2, 2), 4, 1)],
    shape=shapes,
    seed=seeds,
    dim=integers(0, 2),
    count=12,
)
def gradient_of_sum(p: Program, shape: tuple[int, ...], seed: int, dim: int) -> Check:
    """A gradient that differs from result to result."""
    x, dim = laid(shape, drawn(seed)), dim % len(shape)
    w = numbers((*shape[:dim], 1, *shape[dim + 1 :]), drawn(seed + 1))
    made = tensor(p, x, grad=True)
    made.sum(dim).backward(tensor(p, w))
    (got,) = yield [made.grad]
    same(got, np.broadcast_to(w, shape), EXACT)


@probe(
    "2.4",
    "the gradient that flows through Permute goes back to the dimensions that it came from",
    weight=2,
    examples=[(order, 1) for order in itertools.permutations(range(3))] + [((3, 0, 1, 2), 2)],
)
def gradient_of_permute(p: Program, order: tuple[int, ...], seed: int) -> Check:
    """Every order of three dimensions, and one of four."""
    x = laid((2, 3, 4, 5)[: len(order)], drawn(seed))
    w = numbers([x.shape[dim] for dim in order], drawn(seed + 1))
    made = tensor(p, x, grad=True)
    made.permute(*order).backward(tensor(p, w))
    (got,) = yield [made.grad]
    same(got, w.transpose(np.argsort(order)), EXACT)


@probe("2.4", "gradients of a formula of many functions agree with finite differences", seed=seeds, count=6)
def formula(p: Program, seed: int) -> Check:
    """Σ sigmoid(xᵀ · y) · log(x² + 1) + relu(x - y), of which each part is used twice."""
    x, y = numbers((3, 3), drawn(seed)), numbers((1, 3), drawn(seed + 1))

    def here(x: np.ndarray, y: np.ndarray) -> float:
        return float((sigmoid(x.T * y) * np.log(x * x + 1 + 1e-6) + np.maximum(x - y, 0)).sum())

    y = np.where(np.abs(x - y).min(0) < 0.01, y + 0.11, y)  # away from the kink
    a, b = tensor(p, x, grad=True), tensor(p, y, grad=True)
    ((a.permute(1, 0) * b).sigmoid() * (a * a + 1.0).log() + (a - b).relu()).sum().backward()
    got = yield [a.grad, b.grad]
    for one, (n, array) in zip(got, enumerate((x, y)), strict=True):
        slopes = np.zeros(array.shape)
        for place in np.ndindex(*array.shape):
            step = np.zeros(array.shape)
            step[place] = 1e-5
            above, below = ((x + s * step, y) if n == 0 else (x, y + s * step) for s in (1, -1))
            slopes[place] = (here(*above) - here(*below)) / 2e-5
        same(one, slopes, 1e-6)
