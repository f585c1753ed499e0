"""Probes of Module 6: layer normalization, GELU and embedding."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from hypothesis.strategies import sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal
from course.staff.probes.module2 import rng
from course.staff.probes.plain import TensorSnapshot
from course.staff.probes.program import Program
from course.staff.probes.tensors import EXACT, contiguous, numbers, random_strided, seeds, tensor

FUNCTIONS = "minitorch.language.functions"

CLOSE = 1e-6

NEAR = 1e-5
"""Tolerance of a gradient by finite differences."""

SHAPES = [(4,), (2, 3), (3, 1), (2, 2, 5), (1, 2, 2, 3)]


def normalize(x: np.ndarray, eps: float) -> np.ndarray:
    """Each row of the last dimension with mean 0 and variance 1."""
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def gelu(x: np.ndarray) -> np.ndarray:
    """x · (1 + tanh(…)) / 2."""
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def differences(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, grad_output: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The gradient of x by central differences."""
    gradient = np.zeros(x.shape)
    for index in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = ((f(up) - f(down)) * grad_output).sum() / (2 * step)
    return gradient


@probe(
    "6.2", "Normalize normalizes each row, and its gradient is that of finite differences", weight=4, seed=seeds, shape=sampled_from(SHAPES)
)
def normalizes(p: Program, seed: int, shape: tuple[int, ...]) -> Check:
    """In any layout, with a small and a large eps."""
    draw = rng(seed)
    eps = 1e-5 if seed % 2 else 0.8
    x = random_strided(shape, draw)
    grad_output = numbers(shape, draw)
    made = tensor(p, x, grad=True)
    out = p.find(f"{FUNCTIONS}:Normalize").apply(made, eps)
    out.backward(tensor(p, grad_output))
    got, gradient = yield [out, made.grad]
    check_equal(got, normalize(x.array, eps), CLOSE)
    if shape[-1] > 1:
        check_equal(gradient, differences(lambda x: normalize(x, eps), x.array.copy(), grad_output), 1e-3, of="gradient")
    else:
        check_equal(gradient, np.zeros(shape), CLOSE, of="gradient")


@probe("6.2", "Normalize turns rows of equal numbers into zeros, and keeps the digits of large numbers", weight=2)
def normalizes_extremes(p: Program) -> Check:
    """Equal numbers, and numbers near 10⁸."""
    rows = np.array([[1e8, 1e8 + 1, 1e8 + 3], [7.0, 7.0, 7.0]])
    made = tensor(p, np.array([[7.0, 7.0]]), grad=True)
    apply = p.find(f"{FUNCTIONS}:Normalize").apply
    apply(made, 1e-4).backward(tensor(p, np.array([[1.0, 3.0]])))
    got, gradient = yield [apply(tensor(p, rows), 1e-5), made.grad]
    check_equal(got, normalize(rows - rows[:, :1], 1e-5), CLOSE)
    check_equal(gradient, np.array([[-100.0, 100.0]]), CLOSE, of="gradient")


@probe("6.2", "layer_norm multiplies by weight and adds bias, and both receive their gradients", weight=2, count=10, seed=seeds)
def layer_norms(p: Program, seed: int) -> Check:
    """With an eps of its own."""
    draw = rng(seed)
    x, weight, bias, grad_output = (numbers(shape, draw) for shape in ((2, 3, 4), (4,), (4,), (2, 3, 4)))
    made = [tensor(p, each, grad=True) for each in (x, weight, bias)]
    eps = 1e-5 if seed % 2 else 0.5
    out = p.find(f"{FUNCTIONS}:layer_norm")(*made, eps)
    out.backward(tensor(p, grad_output))
    got, d_x, d_weight, d_bias = yield [out, *(each.grad for each in made)]
    check_equal(got, normalize(x, eps) * weight + bias, CLOSE)
    check_equal(d_weight, (normalize(x, eps) * grad_output).sum((0, 1)), CLOSE, of="gradient of weight")
    check_equal(d_bias, grad_output.sum((0, 1)), CLOSE, of="gradient of bias")
    check_equal(d_x, differences(lambda x: normalize(x, eps) * weight + bias, x, grad_output), 1e-3, of="gradient of input")


@probe("6.2", "gelu is the function of the docstring, and its gradient that of finite differences", weight=3, seed=seeds)
def gelus(p: Program, seed: int) -> Check:
    """In any layout."""
    draw = rng(seed)
    x = random_strided((2, 5), draw)
    grad_output = numbers((2, 5), draw)
    made = tensor(p, x, grad=True)
    out = p.find(f"{FUNCTIONS}:gelu")(made)
    out.backward(tensor(p, grad_output))
    got, gradient = yield [out, made.grad]
    check_equal(got, gelu(x.array), CLOSE)
    check_equal(gradient, differences(gelu, x.array.copy(), grad_output), NEAR, of="gradient")


@probe("6.2", "embedding looks up the row of each token, and adds the gradients of repeated ones", weight=3, seed=seeds)
def embeds(p: Program, seed: int) -> Check:
    """For a table in any layout and tokens of two dimensions, which change before the backward pass."""
    draw = rng(seed)
    tokens = draw.integers(0, 4, (2, 3))
    table = random_strided((4, 3), draw) if seed % 2 else contiguous((4, 3))
    grad_output = numbers((2, 3, 3), draw)
    made, given = tensor(p, table, grad=True), tensor(p, tokens)
    out = p.find(f"{FUNCTIONS}:embedding")(given, made)
    p.find("operator:setitem")(given, (0, 0), int(3 - tokens[0, 0]))
    out.backward(tensor(p, grad_output))
    got, gradient = yield [out, made.grad]
    check_equal(got, table.array[tokens], EXACT)
    expected = np.zeros((4, 3))
    for index in np.ndindex(2, 3):
        expected[tokens[index]] += grad_output[index]
    check_equal(gradient, expected, CLOSE, of="gradient")


@probe("6.2", "the gradient of a table has its dtype")
def keeps_dtype(p: Program) -> Check:
    """A table of float32."""
    table = tensor(p, np.ones((3, 2), np.float32), grad=True)
    p.find(f"{FUNCTIONS}:embedding")(tensor(p, np.array([1, 1])), table).sum().backward()
    (got,) = yield [table.grad]
    check_equal(got, np.array([[0, 0], [2, 2], [0, 0]]), EXACT)
    if isinstance(got, TensorSnapshot) and str(got.array.dtype) != "float32":
        raise Wrong(f"expected a gradient of float32, got {got.array.dtype}")
