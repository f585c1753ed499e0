"""Tasks 4.1, 4.2 and 4.4b: convolutions, compared with NumPy's; which taps of the window are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Wrong, shown_number
from course.oracles.kernels import beside, cell_name, operands, wrong_cell
from course.oracles.matrix_products import weights
from course.oracles.strided import Index, Strided, equal

ORACLE = "sums of products in NumPy, a tap of the window at a time"

Tap = tuple[Index, Index]
"""An index of the input and one of the weights, which are multiplied."""


def convolution(call: Call) -> Wrong | None:
    """Whether a kernel of one dimension or of two is right."""
    out, (x, weight), after, rest = operands(call, ["input", "weight"], sized=True)
    reverse = bool(rest[0])
    expected = np.zeros(out.shape)
    for place in np.ndindex(*weight.shape[2:]):  # one tap for all elements at once
        for index, source in _shifted(out, x, place, reverse):
            expected[(slice(None), slice(None), *index)] += np.einsum(
                "bc,oc->bo", x.array[(slice(None), slice(None), *source)], weight.array[(slice(None), slice(None), *place)]
            )
    index = wrong_cell(out, expected, after)
    if index is None:
        return beside(out, after)
    taps = [tap for tap in _taps(x, weight, index, reverse) if _inside(tap[0], x.shape)]
    terms = [float(x.array[source]) * float(weight.array[place]) for source, place in taps]
    got = float(after[out.position(index)])
    words = " + ".join(f"{shown_number(x.array[source])}·{shown_number(weight.array[place])}" for source, place in taps[:5])
    rows = (
        ("Expected", f"{shown_number(expected[index])} = {words or 'nothing in the window'}{' + …' if len(taps) > 5 else ''}"),
        ("Yours", f"{shown_number(got)}, {_origin(out, x, weight, index, reverse, taps, terms, got)}"),
        (
            "Window",
            f"begins at {index[2:]}, reaches {'back' if reverse else 'on'} (reverse is {reverse}), {len(taps)} taps inside the input",
        ),
        ("out", Strided("out", after, out.shape, out.strides).drawn({index: "><"})),
        ("input", x.drawn({source: "[]" for source, _ in taps})),
        ("weight", weight.drawn({place: "[]" for _, place in taps})),
    )
    return Wrong(cell_name(out, index), rows, ORACLE)


def _shifted(out: Strided, x: Strided, place: Index, reverse: bool) -> Iterator[tuple[Index, Index]]:
    """For every place of out that of the input which a tap multiplies."""
    for index in np.ndindex(*out.shape[2:]):
        source = tuple(i - k if reverse else i + k for i, k in zip(index, place, strict=True))
        if _inside(source, x.shape[2:]):
            yield index, source


def _taps(x: Strided, weight: Strided, index: Index, reverse: bool, start: Callable[[int, int], int] | None = None) -> list[Tap]:
    """All taps of the window of an element, those beyond the edge too; `start` says where a window begins, given the place and size."""
    batch, channel, *place = index
    taps = []
    for c, *tap in np.ndindex(*weight.shape[1:]):
        begin = [start(i, size) for i, size in zip(place, weight.shape[2:], strict=True)] if start else place
        source = [i - k if reverse else i + k for i, k in zip(begin, tap, strict=True)]
        taps.append(((batch, c, *source), (channel, c, *tap)))
    return taps


def _inside(source: Index, shape: Index) -> bool:
    return all(0 <= i < size for i, size in zip(source, shape, strict=True))


def _origin(out: Strided, x: Strided, weight: Strided, index: Index, reverse: bool, taps: list[Tap], terms: list[float], got: float) -> str:
    """What a wrong element is, as far as that can be told: another window, or this one with taps left out."""
    before = float(out.array[index])
    if equal(before, got) and terms:
        return "which stood there before: nothing was written"
    if before and equal(before + sum(terms), got):
        return "which is that and what stood there before"
    guesses: list[tuple[str, list[Tap]]] = [
        ("the window reaches the other way", _taps(x, weight, index, not reverse)),
        ("the weights are turned round", [(source, _turned(weight, place)) for source, place in _taps(x, weight, index, reverse)]),
        ("the window is centred", _taps(x, weight, index, reverse, lambda i, size: i + size // 2 if reverse else i - size // 2)),
        (
            "the window ends where it should begin",
            _taps(x, weight, index, reverse, lambda i, size: i + size - 1 if reverse else i - size + 1),
        ),
        ("the window begins one place further", _taps(x, weight, index, reverse, lambda i, size: i + 1)),
        ("the window begins one place before", _taps(x, weight, index, reverse, lambda i, size: i - 1)),
    ]
    for words, guess in guesses:
        if equal(_total(x, weight, guess), got, 1e-7):
            return f"which comes out if {words}"
    beyond = [tap for tap in _taps(x, weight, index, reverse) if not _inside(tap[0], x.shape)]
    sizes = np.array(x.shape[2:])
    edges: list[tuple[str, Callable[[Any], Any]]] = [
        ("the number at the edge is repeated", lambda place: np.clip(place, 0, sizes - 1)),
        ("the window goes on at the other end", lambda place: np.remainder(place, sizes)),
    ]
    for words, edge in edges:
        moved = [((*source[:2], *map(int, edge(source[2:]))), place) for source, place in beyond]
        if beyond and equal(sum(terms) + _total(x, weight, moved), got, 1e-7):
            return f"which comes out if beyond the edge {words}"
    if beyond and (extra := _read_beyond(x, weight, beyond, got - sum(terms))):
        return extra
    if (fit := weights(terms, got)) is not None:
        parts = [f"{_tap(taps[k])} {'left out' if weight == 0 else 'twice'}" for k, weight in enumerate(fit) if weight != 1]
        return f"which comes out with {', '.join(parts[:3])}{', …' if len(parts) > 3 else ''}"
    return "which is no sum of the products of this window"


def _turned(weight: Strided, place: Index) -> Index:
    """The weight at the other end of the window, in every direction."""
    return (*place[:2], *(size - 1 - k for k, size in zip(place[2:], weight.shape[2:], strict=True)))


def _read_beyond(x: Strided, weight: Strided, beyond: list[Tap], rest: float) -> str:
    """Whether what is too much is what stands in storage where a tap beyond the edge would lead."""
    value = 0.0
    for source, place in beyond:
        position = x.position(source)
        if -len(x.storage) <= position < len(x.storage):
            value += float(x.storage[position]) * float(weight.array[place])
    return "which comes out if beyond the edge is read what stands next in the storage" if equal(value, rest, 1e-7) and rest else ""


def _total(x: Strided, weight: Strided, taps: list[Tap]) -> float:
    return sum(float(x.array[source]) * float(weight.array[place]) for source, place in taps if _inside(source, x.shape))


def _tap(tap: Tap) -> str:
    source, place = tap
    return f"input[{', '.join(map(str, source))}]·weight[{', '.join(map(str, place))}]"


CUDA: dict[str, tuple[Judge, bool]] = {"_tensor_conv1d": (convolution, False), "_tensor_conv2d": (convolution, False)}

JUDGES: dict[str, Judge] = {f"minitorch.fast_conv:_tensor_conv{dims}d": convolution for dims in (1, 2)}

LATER = tuple(JUDGES)
"""Those that are compared with what they have written, after the test."""
