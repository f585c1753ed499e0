"""Tasks 3.2 and 3.4: matrix products, compared with NumPy, and the products that a wrong element lacks or counts twice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference, format_number
from course.explain.unwritten_memory import NEVER_WRITTEN, is_unwritten, old_content
from course.oracles.kernels import LEGEND, cell_name, first_wrong_cell, operands, outside_elements
from course.oracles.strided import Strided, contiguous_strides, equal, operand

ORACLE = "numpy.matmul"

SMALL = 8
"""For up to this many products, every subset is tried."""


def matrix_product(call: Call) -> Difference | None:
    """Compare a kernel of three-dimensional tensors."""
    out, (a, b), after, _ = operands(call, ["a", "b"], len(call.before) == 10)
    return compare(out, a, b, after)


def square_product(call: Call) -> Difference | None:
    """Compare the practice kernel of square matrices."""
    size = int(call.before[3])
    shape, strides = (1, size, size), (size * size, *contiguous_strides((size, size)))
    out, a, b = (operand(name, value, shape, strides) for name, value in zip(("out", "a", "b"), call.before, strict=False))
    return compare(out, a, b, np.asarray(call.after[0]))


def compare(out: Strided, a: Strided, b: Strided, after: Any) -> Difference | None:
    """Compare the elements of out with the matrix products of a and b."""
    expected = np.matmul(a.array.astype(np.float64), b.array.astype(np.float64))
    expected = np.broadcast_to(expected, out.shape)
    index = first_wrong_cell(out, expected, after)
    if index is None:
        return outside_elements(out, after)
    n, i, j = index
    lines = [(a.source((n, i, k)), b.source((n, k, j))) for k in range(a.shape[2])]
    terms = [float(a.array[left]) * float(b.array[right]) for left, right in lines]
    got = float(after[out.position(index)])
    words = " + ".join(f"{format_number(a.array[left])}·{format_number(b.array[right])}" for left, right in lines[:6])
    rows = (
        ("Expected", f"{format_number(expected[index])} = {words}{' + …' if len(lines) > 6 else ''}"),
        ("Yours", f"{format_number(got)}, {_origin(out, a, b, index, terms, got, after)}"),
        ("out", Strided("out", after, out.shape, out.strides).diagram({index: "><"})),
        ("a", a.diagram({left: "[]" for left, _ in lines})),
        ("b", b.diagram({right: "[]" for _, right in lines})),
        (LEGEND[0], ">wrong<  [factors of its products]"),
    )
    return Difference(cell_name(out, index), rows, ORACLE)


def _origin(out: Strided, a: Strided, b: Strided, index: tuple[int, ...], terms: Sequence[float], got: float, after: Any) -> str:
    """Which products give a wrong number, if that can be determined."""
    n, i, j = index
    before = float(out.array[index])
    if equal(before, got):
        return old_content(got)
    if before and equal(before + sum(terms), got):
        return "which is the sum of the right value and the old content"
    if is_unwritten(got, [a.storage, b.storage, before]):
        return NEVER_WRITTEN
    if (fit := weights(terms, got)) is not None:
        missing = [str(k) for k, weight in enumerate(fit) if weight == 0]
        double = [str(k) for k, weight in enumerate(fit) if weight == 2]
        parts = [f"without the product of k = {', '.join(missing)}"] if missing else []
        parts += [f"with twice the product of k = {', '.join(double)}"] if double else []
        return "which is the sum " + " and ".join(parts)
    if j and equal(sum(terms) + float(after[out.position((n, i, j - 1))]), got, 1e-7):
        return f"which is the right value plus that of cell ({n}, {i}, {j - 1}): the sum has to start at 0 for every cell"
    for place in np.ndindex(*out.shape):
        m, r, c = place
        left, right = a.array[a.source((m, 0, 0))[0]], b.array[b.source((m, 0, 0))[0]]
        if place != index and equal(float(left[r] @ right[:, c]), got, 1e-7):
            return f"which belongs in cell ({m}, {r}, {c})"
    for words, other in (("a", (a.array.swapaxes(1, 2), b.array)), ("b", (a.array, b.array.swapaxes(1, 2)))):
        left, right = other
        fits = left.shape[2] == right.shape[1] and i < left.shape[1] and j < right.shape[2]
        if fits and equal(float(left[min(n, len(left) - 1), i] @ right[min(n, len(right) - 1), :, j]), got, 1e-7):
            return f"which is the result if {words} is transposed"
    return "which no subset of these products adds up to"


def weights(terms: Sequence[float], got: float) -> tuple[int, ...] | None:
    """How often each product occurs in a sum, 0 to 2 times, with as few deviations from 1 as possible; None if no choice fits."""
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
"""Compared after the test, with the arrays that they have written."""
