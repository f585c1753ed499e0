"""Probes of Module 2: the gradients of operations."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from hypothesis.strategies import booleans, floats, integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, is_published, printable
from course.staff.probes.module2 import ZERO_DIM, rng
from course.staff.probes.module2_operations import is_zero_dim, sigmoid
from course.staff.probes.plain import TensorSnapshot
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, broadcastable_shape, numbers, random_strided, seeds, shapes, tensor, unbroadcast

# Task 2.4

ZEROS = "backward of LT and EQ returns a tensor of zeros for each input"

DERIVATIVES: dict[str, tuple[Callable[[Value], Value], Callable[[np.ndarray], np.ndarray]]] = {
    "Sigmoid": (lambda x: x.sigmoid(), lambda x: sigmoid(x) * sigmoid(-x)),
    "ReLU": (lambda x: x.relu(), lambda x: (x > 0).astype(float)),
    "Log": (lambda x: x.log(), lambda x: 1 / (x + 1e-6)),
    "Exp": (lambda x: x.exp(), np.exp),
}
"""Functions of one tensor, with their derivatives."""


def gradient_probe(name: str, child_fn: Callable[[Value], Value], derivative: Callable[[np.ndarray], np.ndarray]) -> None:
    """Register the probe of a gradient."""

    def check(p: Program, shape: tuple[int, ...], seed: int) -> Check:
        x, w = random_strided(shape, rng(seed)), numbers(shape, rng(seed + 1))
        if name == "Log":
            x.array[...] = np.abs(x.array)
        elif name == "ReLU" and not is_published():
            x.array[...] = np.where(rng(seed).random(shape) < 0.3, 0.0, x.array)
        made = tensor(p, x, grad=True)
        child_fn(made).backward(tensor(p, w))
        (got,) = yield [made.grad]
        check_equal(got, derivative(x.array) * w, EXACT)

    examples, edges = [((2, 3), 1), ((), 2), ((3,), 4)], {ZERO_DIM: lambda shape, seed: not shape}
    probe(
        "2.4",
        f"the gradient of {name} is correct",
        count=15,
        examples=examples,
        edges=edges,
        shape=shapes,
        seed=seeds,
        source="test_one_derivative",
    )(check)


for _name, _pair in DERIVATIVES.items():
    gradient_probe(_name, *_pair)


@probe("2.4", "the gradient of Log near 0 is that of the shifted logarithm", edge=True, x=floats(0, 1e-5), count=5)
def log_close_to_zero(p: Program, x: float) -> Check:
    """Where the shift dominates."""
    made = tensor(p, np.array([x, 1.0]), grad=True)
    made.log().backward(tensor(p, np.array([2.0, 2.0])))
    (got,) = yield [made.grad]
    check_equal(got, 2 / (np.array([x, 1.0]) + 1e-6), EXACT)


@probe(
    "2.4",
    "Mul propagates gradients to both factors, summed over broadcast dimensions",
    weight=2,
    examples=[((2, 3), 1, False), ((3, 2), 5, True), ((), 2, False)],
    edges={ZERO_DIM: lambda shape, seed, swap: is_zero_dim(shape, seed + 1)},
    shape=shapes,
    seed=seeds,
    swap=booleans(),
    source="test_two_grad; test_two_grad_broadcast",
)
def gradient_of_mul(p: Program, shape: tuple[int, ...], seed: int, swap: bool) -> Check:
    """Either factor may be broadcast; both factors may be the same tensor."""
    x, y, w = (
        random_strided(shape, rng(seed)),
        random_strided(broadcastable_shape(shape, rng(seed + 1)), rng(seed + 2)),
        numbers(shape, rng(seed + 3)),
    )
    a, b, square = tensor(p, x, grad=True), tensor(p, y, grad=True), tensor(p, x, grad=True)
    (b * a if swap else a * b).backward(tensor(p, w))
    (square * square).backward(tensor(p, w))
    grad_a, grad_b, grad_square = yield [a.grad, b.grad, square.grad]
    check_equal(grad_a, w * y.array, EXACT, of="gradient of the larger factor")
    check_equal(grad_b, unbroadcast(w * x.array, y.shape), EXACT, of="gradient of the smaller factor")
    check_equal(grad_square, 2 * w * x.array, EXACT)


@probe(
    "2.4",
    "LT and EQ propagate a gradient of zeros to both inputs, in the shape of each",
    examples=[(n, m) for n in ("lt", "eq") for m in (1, 2)],
    labels=[ZEROS],
    published=lambda name, seed: broadcastable_shape((2, 3), rng(seed + 1)) != (),
    name=sampled_from(["lt", "eq"]),
    seed=seeds,
    count=6,
    source="test_two_grad",
)
def gradient_of_comparisons(p: Program, name: str, seed: int) -> Check:
    """For both inputs, and from backward itself."""
    x = numbers((2, 3), rng(seed))
    y = numbers(broadcastable_shape((2, 3), rng(seed + 1)), rng(seed + 2))
    a, b = tensor(p, x, grad=True), tensor(p, y, grad=True)
    p.find(f"operator:{name}")(a, b).backward(tensor(p, numbers((2, 3), rng(seed + 3))))
    grad_a, grad_b = yield [a.grad, b.grad]
    check_equal(grad_a, np.zeros(x.shape))
    check_equal(grad_b, np.zeros(y.shape))
    if is_published():
        return
    q = Program()
    result = q.find(f"operator:{name}")(tensor(q, x, grad=True), tensor(q, y, grad=True))
    convolution_gradients = result.history.last_fn._backward(result.history.ctx, tensor(q, numbers((2, 3), rng(seed))))
    got = yield [q.find("builtins:list")(convolution_gradients)]
    if [isinstance(one, TensorSnapshot) and not one.array.any() for one in got[0]] != [True, True]:
        raise Wrong("", {ZEROS: f"expected backward to return two tensors of zeros, got {printable(got[0])}"})


@probe(
    "2.4",
    "Sum propagates its gradient to every element along the dimension",
    weight=2,
    examples=[((2, 3), 1, 0), ((2, 3), 1, 1), ((3, 2, 2), 4, 1)],
    shape=shapes,
    seed=seeds,
    dim=integers(0, 2),
    count=12,
    source="test_grad_reduce",
)
def gradient_of_sum(p: Program, shape: tuple[int, ...], seed: int, dim: int) -> Check:
    """With a gradient that differs between outputs."""
    x, dim = random_strided(shape, rng(seed)), dim % len(shape)
    w = numbers((*shape[:dim], 1, *shape[dim + 1 :]), rng(seed + 1))
    made = tensor(p, x, grad=True)
    made.sum(dim).backward(tensor(p, w))
    (got,) = yield [made.grad]
    check_equal(got, np.broadcast_to(w, shape), EXACT)


@probe(
    "2.4",
    "Permute propagates its gradient with the dimensions in their original order",
    weight=2,
    examples=[(order, 1) for order in itertools.permutations(range(3))] + [((3, 0, 1, 2), 2)],
    source="test_permute",
)
def gradient_of_permute(p: Program, order: tuple[int, ...], seed: int) -> Check:
    """Every order of three dimensions, and one of four."""
    x = random_strided((2, 3, 4, 5)[: len(order)], rng(seed))
    w = numbers([x.shape[dim] for dim in order], rng(seed + 1))
    made = tensor(p, x, grad=True)
    made.permute(*order).backward(tensor(p, w))
    (got,) = yield [made.grad]
    check_equal(got, w.transpose(np.argsort(order)), EXACT)


@probe("2.4", "gradients of a formula with many functions agree with finite differences", seed=seeds, count=6, source="test_one_derivative")
def formula(p: Program, seed: int) -> Check:
    """Σ sigmoid(xᵀ · y) · log(x² + 1) + relu(x - y), where each part is used twice."""
    x, y = numbers((3, 3), rng(seed)), numbers((1, 3), rng(seed + 1))

    def derivative(x: np.ndarray, y: np.ndarray) -> float:
        return float((sigmoid(x.T * y) * np.log(x * x + 1 + 1e-6) + np.maximum(x - y, 0)).sum())

    y = np.where(np.abs(x - y).min(0) < 0.01, y + 0.11, y)  # not at the kink of relu
    a, b = tensor(p, x, grad=True), tensor(p, y, grad=True)
    ((a.permute(1, 0) * b).sigmoid() * (a * a + 1.0).log() + (a - b).relu()).sum().backward()
    got = yield [a.grad, b.grad]
    for one, (n, array) in zip(got, enumerate((x, y)), strict=True):
        gradient = np.zeros(array.shape)
        for index in np.ndindex(*array.shape):
            step = np.zeros(array.shape)
            step[index] = 1e-5
            above, below = ((x + s * step, y) if n == 0 else (x, y + s * step) for s in (1, -1))
            gradient[index] = (derivative(*above) - derivative(*below)) / 2e-5
        check_equal(one, gradient, 1e-6)
