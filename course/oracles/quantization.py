"""Task 6.8: rows of integers, their products, and quantized layers, compared with Python's rounding and with 64-bit integers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference
from course.oracles.parts import Part, compare_parts, compare_result, refusal
from course.oracles.tensors import array

MODULE = "minitorch.language.quantization"

NEAR = 1e-4
"""A quotient as close as this to a half, but not equal to it, may be rounded up or down."""

ROUNDING = 3e-7
"""The relative difference that the rounding of float32 may make in a scale, and in each product with it."""


def rows(call: Call) -> Difference | None:
    """Compare the integers and the scales of rows."""
    (weight,) = call.before
    if weight.ndim != 2 or not (np.abs(weight) <= 1e38).all():
        return refusal(call, "a ValueError", "not a matrix of numbers up to 1e38")

    def parts() -> Iterator[Part]:
        yield "the number of results", 2, len(call.result)
        integers, scales = call.result
        yield "the number of scales", len(weight), len(scales)
        for row, (expected, found) in enumerate(zip(_scales(weight).tolist(), scales.tolist(), strict=True)):
            yield f"the scale of row {row}", expected, expected if abs(found - expected) <= ROUNDING * expected else found
        yield "the dtype of the scales", "float32", scales.dtype.name
        yield "the integers", _integers(weight, scales, integers), integers
        yield "the dtype of the integers", "int8", integers.dtype.name
        yield "whether the integers are contiguous", True, bool(integers.flags.c_contiguous)
        yield "the weight, which must not change", weight, call.arguments[0]

    words = "for each row, the scale largest magnitude / 127, at least 1.2e-38, and the integers nearest to number / scale, halves to even"
    return compare_result(call, words, parts(), "a tuple: integers, scales")


def _scales(weight: Any) -> Any:
    largest = [max(map(abs, row), default=0.0) / 127 for row in weight.tolist()]
    return np.array([max(scale, float(np.finfo(np.float32).tiny)) for scale in largest], np.float32)


def _integers(weight: Any, scales: Any, found: Any) -> Any:
    """The nearest integers; where rounding decides between two, the one that was found, if it is one of them."""
    quotients = weight.astype(np.float64) / np.asarray(scales, np.float64)[:, None]
    nearest = np.array([[round(number) for number in row] for row in quotients.tolist()], np.int64).reshape(weight.shape)
    if np.shape(found) != weight.shape:
        return nearest
    return np.where(_is_near_half(quotients) & (np.abs(found - quotients) < 0.5 + NEAR), found, nearest)


def _is_near_half(quotients: Any) -> Any:
    distance = np.abs(np.abs(quotients - np.trunc(quotients)) - 0.5)
    return (distance > 0) & (distance < NEAR)


def numbers(call: Call) -> Difference | None:
    """Compare the numbers that integers represent."""
    integers, scales = call.before

    def parts() -> Iterator[Part]:
        yield "the result", np.einsum("rc,r->rc", integers.astype(np.float64), scales).astype(np.float32), call.result
        yield "the dtype of the result", "float32", call.result.dtype.name

    return compare_result(call, "each integer times the scale of its row", parts())


def product(call: Call) -> Difference | None:
    """Compare a product of integers."""
    _, left, right = call.before
    expected = np.einsum("nc,rc->nr", left.astype(np.int64), right.astype(np.int64))
    return compare_parts(call, "the sum of left[n, c] · right[r, c] over c, exact", [("out", expected, call.arguments[0])])


def layer(call: Call) -> Difference | None:
    """Compare the output of a quantized layer."""
    made, x = call.before
    if call.arguments[1].requires_grad and _records():
        return refusal(call, "a RuntimeError", "x needs a gradient")
    if not x.shape or x.shape[-1] != made.weight.shape[1]:
        return refusal(call, "a ValueError", f"x has the shape {x.shape}, and the layer the inputs {made.weight.shape[1]}")
    vectors = np.reshape(x.array, (x.array.size // made.weight.shape[1], made.weight.shape[1]))
    if not (np.abs(vectors) <= 1e38).all():
        return refusal(call, "a ValueError", "a number of x is not finite")
    scales = _scales(vectors).astype(np.float64)
    if _is_near_half(vectors / scales[:, None]).any():
        raise ArithmeticError  # rounding decides
    integers = _integers(vectors, scales, None)
    left, right = integers * scales[:, None], made.weight * made.scales.astype(np.float64)[:, None]
    out = np.einsum("nc,rc->nr", left, right) + made.bias
    rounding = ROUNDING * (np.einsum("nc,rc->nr", np.abs(left), np.abs(right)) + np.abs(made.bias))

    def parts() -> Iterator[Part]:
        shape, found = [*x.shape[:-1], len(made.scales)], array(call.result)
        yield "the shape of the result", tuple(shape), found.shape
        close = np.abs(found.reshape(out.shape) - out) <= rounding
        yield "the result", np.reshape(np.where(close, found.reshape(out.shape), out), shape), found
        yield "the dtype of the result", x.storage.dtype.name, call.result.dtype.name
        yield "whether the backend is that of x", True, call.result.backend is call.arguments[1].backend

    words = "Σ (integer · scale of x) · (integer · scale of weight) + bias, each vector of x with a scale of its own"
    return compare_result(call, words, parts())


def _records() -> bool:
    """Whether gradients are recorded."""
    return sys.modules["minitorch.core.context"].grad_mode.enabled


JUDGES: dict[str, Judge] = {
    f"{MODULE}:quantize_rows": rows,
    f"{MODULE}:dequantize": numbers,
    f"{MODULE}:_int_product": product,
    f"{MODULE}:QuantizedLinear.forward": layer,
}
