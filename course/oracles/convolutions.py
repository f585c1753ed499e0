"""Tasks 4.1, 4.2 and 4.4b: convolutions, compared with NumPy, and the taps of the window that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference, format_number
from course.explain.unwritten_memory import NEVER_WRITTEN, is_unwritten, old_content
from course.oracles.kernels import cell_name, first_wrong_cell, operands, outside_elements
from course.oracles.matrix_products import weights
from course.oracles.strided import Index, Strided, equal

ORACLE = "numpy.einsum of sliding windows and weights"

Tap = tuple[Index, Index]
"""An index of the input and an index of the weights whose elements are multiplied."""


def convolution(call: Call) -> Difference | None:
    """Compare a convolution kernel of one or two dimensions."""
    out, (x, weight), after, rest = operands(call, ["input", "weight"], sized=True)
    reverse = bool(rest[0])
    axes = tuple(range(2, len(x.shape)))
    sizes = weight.shape[2:]
    padded = np.pad(x.array, [(0, 0), (0, 0), *((size - 1, size - 1) for size in sizes)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, sizes, axis=axes)
    windows = windows[(..., *(slice(0 if reverse else size - 1, None) for size in sizes), *(slice(None) for _ in sizes))]
    windows = windows[(slice(None), slice(None), *(slice(length) for length in out.shape[2:]))]
    taps = np.flip(weight.array, axes) if reverse else weight.array
    expected = np.einsum("bc...k,ock->bo...", windows.reshape(*windows.shape[: 2 + len(axes)], -1), taps.reshape(*taps.shape[:2], -1))
    if not np.isfinite(weight.array).all():
        _leave_out_padding(expected, x, weight, reverse)
    index = first_wrong_cell(out, expected, after)
    if index is None:
        return outside_elements(out, after)
    inside = [tap for tap in _taps(weight, index, reverse) if _is_inside(tap[0], x.shape)]
    terms = [float(x.array[source]) * float(weight.array[place]) for source, place in inside]
    got = float(after[out.position(index)])
    words = " + ".join(f"{format_number(x.array[source])}·{format_number(weight.array[place])}" for source, place in inside[:5])
    side = "left" if reverse else "right"
    rows = (
        ("Expected", f"{format_number(expected[index])} = {words or 'nothing in the window'}{' + …' if len(inside) > 5 else ''}"),
        ("Yours", f"{format_number(got)}, {_origin(out, x, weight, index, reverse, inside, terms, got)}"),
        ("Window", f"starts at {index[2:]}, extends {side} (reverse is {reverse}), {len(inside)} taps inside the input"),
        ("out", Strided("out", after, out.shape, out.strides).diagram({index: "><"})),
        ("input", x.diagram({source: "[]" for source, _ in inside})),
        ("weight", weight.diagram({place: "[]" for _, place in inside})),
    )
    return Difference(cell_name(out, index), rows, ORACLE)


def _leave_out_padding(expected: Any, x: Strided, weight: Strided, reverse: bool) -> None:
    """Compute the elements that are NaN again from the taps inside the input: zeros outside it times NaN are NaN."""
    for index in map(tuple, np.argwhere(np.isnan(expected)).tolist()):
        expected[index] = _total(x, weight, _taps(weight, index, reverse))


def _taps(weight: Strided, index: Index, reverse: bool, start: Callable[[int, int], int] | None = None) -> list[Tap]:
    """The taps of the window of an element, including those outside the input.

    Args:
        weight: The weights.
        index: The index of the element in out.
        reverse: Whether the window extends to the left.
        start: Computes the start of a window from the position of the element and the size of the window.
    """
    batch, channel, *place = index
    begin = [start(i, size) for i, size in zip(place, weight.shape[2:], strict=True)] if start else place
    steps = np.indices(weight.shape[1:]).reshape(len(weight.shape) - 1, -1).T
    sources = np.multiply(steps, [1, *[-1 if reverse else 1] * len(begin)]) + np.array([0, *begin])
    return [((batch, *source), (channel, *step)) for source, step in zip(sources.tolist(), steps.tolist(), strict=True)]


def _is_inside(source: Index, shape: Index) -> bool:
    return all(0 <= i < size for i, size in zip(source, shape, strict=True))


def _origin(out: Strided, x: Strided, weight: Strided, index: Index, reverse: bool, taps: list[Tap], terms: list[float], got: float) -> str:
    """Which window or taps give a wrong number, if that can be determined."""
    before = float(out.array[index])
    if equal(before, got) and terms:
        return old_content(got)
    if before and equal(before + sum(terms), got):
        return "which is the sum of the right value and the old content"
    if is_unwritten(got, [x.storage, weight.storage, before]):
        return NEVER_WRITTEN
    guesses: list[tuple[str, list[Tap]]] = [
        ("the window extends in the other direction", _taps(weight, index, not reverse)),
        ("the weights are flipped", [(source, _flip(weight, place)) for source, place in _taps(weight, index, reverse)]),
        ("the window is centered", _taps(weight, index, reverse, lambda i, size: i + size // 2 if reverse else i - size // 2)),
        (
            "the window ends where it should start",
            _taps(weight, index, reverse, lambda i, size: i + size - 1 if reverse else i - size + 1),
        ),
        ("the window starts one position later", _taps(weight, index, reverse, lambda i, size: i + 1)),
        ("the window starts one position earlier", _taps(weight, index, reverse, lambda i, size: i - 1)),
    ]
    for words, guess in guesses:
        if equal(_total(x, weight, guess), got, 1e-7):
            return f"which is the result if {words}"
    beyond = [tap for tap in _taps(weight, index, reverse) if not _is_inside(tap[0], x.shape)]
    sizes = np.array(x.shape[2:])
    edges: list[tuple[str, Callable[[Any], Any]]] = [
        ("the element at the edge is repeated past the end", lambda place: np.clip(place, 0, sizes - 1)),
        ("the window wraps around at the end", lambda place: np.remainder(place, sizes)),
    ]
    for words, edge in edges:
        moved = [((*source[:2], *map(int, edge(source[2:]))), place) for source, place in beyond]
        if beyond and equal(sum(terms) + _total(x, weight, moved), got, 1e-7):
            return f"which is the result if {words}"
    if beyond and (extra := _read_beyond(x, weight, beyond, got - sum(terms))):
        return extra
    if (fit := weights(terms, got)) is not None:
        parts = [f"{'without' if weight == 0 else 'with twice'} {_tap(taps[k])}" for k, weight in enumerate(fit) if weight != 1]
        return f"which is the sum {', '.join(parts[:3])}{', …' if len(parts) > 3 else ''}"
    return "which no products of this window add up to"


def _flip(weight: Strided, place: Index) -> Index:
    """The weight at the opposite end of the window in every dimension."""
    return (*place[:2], *(size - 1 - k for k, size in zip(place[2:], weight.shape[2:], strict=True)))


def _read_beyond(x: Strided, weight: Strided, beyond: list[Tap], rest: float) -> str:
    """Whether the rest of a sum is what the taps outside of the input read from the storage."""
    value = 0.0
    for source, place in beyond:
        position = x.position(source)
        if -len(x.storage) <= position < len(x.storage):
            value += float(x.storage[position]) * float(weight.array[place])
    words = "which is the result if the window reads past the end of a row into the next numbers of the storage"
    return words if rest and equal(value, rest, 1e-7) else ""


def _total(x: Strided, weight: Strided, taps: list[Tap]) -> float:
    return sum(float(x.array[source]) * float(weight.array[place]) for source, place in taps if _is_inside(source, x.shape))


def _tap(tap: Tap) -> str:
    source, place = tap
    return f"input[{', '.join(map(str, source))}]·weight[{', '.join(map(str, place))}]"


CUDA: dict[str, tuple[Judge, bool]] = {"_tensor_conv1d": (convolution, False), "_tensor_conv2d": (convolution, False)}

JUDGES: dict[str, Judge] = {f"minitorch.fast_conv:_tensor_conv{dims}d": convolution for dims in (1, 2)}

LATER = tuple(JUDGES)
"""Compared after the test, with the arrays that they have written."""
