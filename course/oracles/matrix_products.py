"""Tasks 3.2 and 3.4: matrix products, compared with NumPy's; what is missing in a wrong element, or counted twice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Wrong, shown_number
from course.oracles.kernels import LEGEND, beside, cell_name, operands, wrong_cell
from course.oracles.strided import Strided, equal, operand, row_by_row

ORACLE = "numpy.matmul"

SMALL = 8
"""For so many products every choice of them is tried."""


def matrix_product(call: Call) -> Wrong | None:
    """Whether a kernel of tensors of three dimensions is right."""
    out, (a, b), after, _ = operands(call, ["a", "b"], len(call.before) == 10)
    return judged(out, a, b, after)


def square_product(call: Call) -> Wrong | None:
    """Whether the practice with square matrices is right."""
    size = int(call.before[3])
    shape, strides = (1, size, size), (size * size, *row_by_row((size, size)))
    out, a, b = (operand(name, value, shape, strides) for name, value in zip(("out", "a", "b"), call.before, strict=False))
    return judged(out, a, b, np.asarray(call.after[0]))


def judged(out: Strided, a: Strided, b: Strided, after: Any) -> Wrong | None:
    """Whether out holds the products of the matrices of a and b."""
    expected = np.matmul(a.array.astype(np.float64), b.array.astype(np.float64))
    expected = np.broadcast_to(expected, out.shape)
    index = wrong_cell(out, expected, after)
    if index is None:
        return beside(out, after)
    n, i, j = index
    lines = [(a.source((n, i, k)), b.source((n, k, j))) for k in range(a.shape[2])]
    terms = [float(a.array[left]) * float(b.array[right]) for left, right in lines]
    got = float(after[out.position(index)])
    words = " + ".join(f"{shown_number(a.array[left])}·{shown_number(b.array[right])}" for left, right in lines[:6])
    rows = (
        ("Expected", f"{shown_number(expected[index])} = {words}{' + …' if len(lines) > 6 else ''}"),
        ("Yours", f"{shown_number(got)}, {_origin(out, a, b, index, terms, got)}"),
        ("out", Strided("out", after, out.shape, out.strides).drawn({index: "><"})),
        ("a", a.drawn({left: "[]" for left, _ in lines})),
        ("b", b.drawn({right: "[]" for _, right in lines})),
        (LEGEND[0], ">wrong<  [multiplied and added up]"),
    )
    return Wrong(cell_name(out, index), rows, ORACLE)


def _origin(out: Strided, a: Strided, b: Strided, index: tuple[int, ...], terms: Sequence[float], got: float) -> str:
    """What a wrong element is, as far as that can be told."""
    n, i, j = index
    before = float(out.array[index])
    if equal(before, got):
        return "which stood there before: nothing was written"
    if before and equal(before + sum(terms), got):
        return "which is that and what stood there before"
    if (fit := weights(terms, got)) is not None:
        missing = [str(k) for k, weight in enumerate(fit) if weight == 0]
        double = [str(k) for k, weight in enumerate(fit) if weight == 2]
        parts = [f"without the product of k = {', '.join(missing)}"] if missing else []
        parts += [f"with that of k = {', '.join(double)} twice"] if double else []
        return "which is the sum " + " and ".join(parts)
    for place in np.ndindex(*out.shape):
        m, r, c = place
        left, right = a.array[a.source((m, 0, 0))[0]], b.array[b.source((m, 0, 0))[0]]
        if place != index and equal(float(left[r] @ right[:, c]), got, 1e-7):
            return f"which belongs into cell ({m}, {r}, {c})"
    for words, other in (("a", (a.array.swapaxes(1, 2), b.array)), ("b", (a.array, b.array.swapaxes(1, 2)))):
        left, right = other
        fits = left.shape[2] == right.shape[1] and i < left.shape[1] and j < right.shape[2]
        if fits and equal(float(left[min(n, len(left) - 1), i] @ right[min(n, len(right) - 1), :, j]), got, 1e-7):
            return f"which comes out if {words} is transposed"
    return "which is no sum of these products"


def weights(terms: Sequence[float], got: float) -> tuple[int, ...] | None:
    """How often each product is in a sum, 0 to 2 times, with as few changes as possible; None if no choice gives it."""
    if len(terms) > SMALL:
        for k, term in enumerate(terms):
            for weight in (0, 2):
                if equal(sum(terms) + (weight - 1) * term, got, 1e-7):
                    return tuple(weight if i == k else 1 for i in range(len(terms)))
        return None
    fits = [w for w in product((0, 1, 2), repeat=len(terms)) if equal(float(np.dot(w, terms)), got, 1e-7)]
    return min(fits, key=lambda w: (sum(x != 1 for x in w), sum(x == 2 for x in w)), default=None)


CUDA: dict[str, tuple[Judge, bool]] = {"_tensor_matrix_multiply": (matrix_product, False), "_mm_practice": (square_product, False)}

JUDGES: dict[str, Judge] = {"minitorch.fast_ops:_tensor_matrix_multiply": matrix_product}

LATER = tuple(JUDGES)
"""Those that are compared with what they have written, after the test."""
