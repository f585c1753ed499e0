"""Probes of Module 6: quantization."""

from __future__ import annotations

import math

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, check_raises
from course.staff.probes.module2 import rng
from course.staff.probes.module3 import COMPILE_SECONDS
from course.staff.probes.module6_generation import array
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, SINGLE, seeds, tensor

QUANTIZATION = "minitorch.language.quantization"

SMALLEST = float(np.finfo(np.float32).tiny)


def rows_of(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The integers and the scales of each row."""
    scales = np.array([max(max(map(abs, row), default=0.0) / 127, SMALLEST) for row in weight.tolist()])
    return np.rint(weight / scales[:, None]), scales


@probe("6.8", "quantize_rows rounds each row to multiples of its own scale", weight=3, seed=seeds)
def rounds(p: Program, seed: int) -> Check:
    """No number lies halfway between two integers."""
    draw = rng(seed)
    shape = tuple(draw.integers(1, 5, 2).tolist())
    whole = draw.integers(-126, 127, shape) + draw.uniform(-0.45, 0.45, shape)
    whole[:, 0] = np.where(draw.random(shape[0]) < 0.5, -127, 127)
    weight = whole * 10.0 ** draw.integers(-6, 7, shape[0])[:, None]
    (got,) = yield [p.find(f"{QUANTIZATION}:quantize_rows")(array(p, weight))]
    check_pair(got, *rows_of(weight))


@probe("6.8", "a number halfway between two integers becomes the even one", weight=1)
def halves(p: Program) -> Check:
    """With the scale 1."""
    weight = np.array([[127, 0.5, 1.5, -0.5, -1.5, 2.5]], np.float32)
    (got,) = yield [p.find(f"{QUANTIZATION}:quantize_rows")(array(p, weight))]
    check_pair(got, np.array([[127, 0, 2, 0, -2, 2]]), np.array([1.0]))


@probe("6.8", "rows of zeros and of very small numbers have the smallest scale", weight=1)
def small(p: Program) -> Check:
    """Also without columns."""
    quantize_rows = p.find(f"{QUANTIZATION}:quantize_rows")
    weight = np.array([[0.0, 0.0], [3e-38, -5 * SMALLEST]])
    got, empty = yield [quantize_rows(array(p, weight)), quantize_rows(p.find("numpy:zeros")((2, 0)))]
    check_pair(got, np.array([[0, 0], [3, -5]]), np.array([SMALLEST, SMALLEST]))
    check_pair(empty, np.zeros((2, 0)), np.array([SMALLEST, SMALLEST]))


def check_pair(got: object, quantized: np.ndarray, scales: np.ndarray) -> None:
    """Check integers and scales: exact integers of int8, and scales of float32 up to its last digits."""
    if not isinstance(got, tuple) or len(got) != 2:
        raise Wrong("expected a tuple of integers and scales")
    for found, expected, name, dtype in zip(got, (quantized, scales), ("integers", "scales"), ("int8", "float32"), strict=True):
        if isinstance(found, np.ndarray) and found.dtype != dtype:
            raise Wrong(f"{name}: expected {dtype}, got {found.dtype}")
        ones = scales if name == "scales" else 1.0
        check_equal(
            found / ones if isinstance(found, np.ndarray) and found.shape == expected.shape else found, expected / ones, 1e-6, of=name
        )


@probe("6.8", "quantize_rows refuses NaN and infinity", weight=1)
def refuses(p: Program) -> Check:
    """With a ValueError."""
    for wrong in (math.nan, math.inf):
        yield from check_raises(p.find(f"{QUANTIZATION}:quantize_rows")(array(p, np.array([[1.0, wrong]]))), "ValueError")


@probe("6.8", "dequantize multiplies each row by its scale, in float32", weight=1, seed=seeds)
def back(p: Program, seed: int) -> Check:
    """The scales are powers of two, so that products are exact."""
    draw = rng(seed)
    quantized, scales = draw.integers(-127, 128, (3, 4)).astype(np.int8), (2.0 ** draw.integers(-8, 8, 3)).astype(np.float32)
    (got,) = yield [p.find(f"{QUANTIZATION}:dequantize")(array(p, quantized), array(p, scales))]
    check_equal(got, quantized.astype(float) * scales[:, None], EXACT)
    if got.dtype != np.float32:
        raise Wrong(f"expected float32, got {got.dtype}")


@probe("6.8", "int_product is exact, up to the largest sums", weight=3, seed=seeds, count=1, seconds=COMPILE_SECONDS)
def multiplies(p: Program, seed: int) -> Check:
    """Random matrices, and rows of ±127; what was in the memory does not matter."""
    draw, pairs = rng(seed), list[tuple[np.ndarray, np.ndarray]]()
    for size in (0, 1, 7, 64, 65):
        n, r = draw.integers(1, 5, 2).tolist()
        pairs.append((draw.integers(-127, 128, (n, size)).astype(np.int8), draw.integers(-127, 128, (r, size)).astype(np.int8)))
    calls, outs = [], []
    for left, right in pairs:
        out = p.find("numpy:full")((len(left), len(right)), 77, dtype="int32")
        given = [p.find("numpy:array")(x.tolist(), dtype="int8").reshape(x.shape) for x in (left, right)]
        calls.append(p.find(f"{QUANTIZATION}:int_product")(out, *given))
        outs.append(out)
    full, out = p.find("numpy:full"), p.find("numpy:full")((1, 2), 77, dtype="int32")
    signs = p.find("numpy:array")([[127], [-127]], dtype="int8")
    calls.append(
        p.find(f"{QUANTIZATION}:int_product")(out, full((1, 133_144), 127, dtype="int8"), p.find("numpy:repeat")(signs, 133_144, 1))
    )
    answers = yield [*calls, *outs, out]
    found = answers[len(calls) :]
    for got, (left, right) in zip(found, pairs, strict=False):
        check_equal(got, left.astype(int) @ right.astype(int).T)
    check_equal(found[-1], np.array([[127 * 127 * 133_144, -127 * 127 * 133_144]]), of="rows of 127 and of -127")


def make_layer(p: Program, weight: np.ndarray, bias: np.ndarray) -> Value:
    """A quantized layer in the child."""
    layer = p.find("minitorch.language.layers:Linear")(*weight.shape, p.find("minitorch:SimpleBackend"))
    values = p.find("builtins:dict")([("weight", array(p, weight)), ("bias", array(p, bias))])
    p.find("minitorch.language.weights:load_weights")(layer, values)
    return p.find(f"{QUANTIZATION}:QuantizedLinear")(layer)


@probe(
    "6.8",
    "a quantized layer multiplies rounded numbers, adds the bias, and keeps the shape",
    weight=4,
    seed=seeds,
    count=4,
    seconds=COMPILE_SECONDS,
)
def layers(p: Program, seed: int) -> Check:
    """One scale for each vector of x, whose magnitudes differ."""
    draw = rng(seed)
    weight, bias = draw.normal(0, 0.5, (6, 3)).round(4), draw.normal(size=3).round(4)
    x = draw.normal(0, 10.0 ** np.arange(3)[:, None], (2, 3, 6)).round(4)
    (got,) = yield [make_layer(p, weight, bias)(tensor(p, x))]
    (rows, x_scales), (columns, w_scales) = rows_of(x.reshape(6, 6)), rows_of(weight.T)
    out = rows @ columns.T * x_scales[:, None] * w_scales + bias
    check_equal(got, out.reshape(2, 3, 3), SINGLE)


@probe("6.8", "a quantized layer refuses an input that needs a gradient", weight=1, seconds=COMPILE_SECONDS)
def trains(p: Program) -> Check:
    """With a RuntimeError."""
    x = tensor(p, np.ones((2, 3)))
    x = p.find("operator:methodcaller")("requires_grad_", True)(x)
    yield from check_raises(make_layer(p, np.ones((3, 2)), np.zeros(2))(x), "RuntimeError")
