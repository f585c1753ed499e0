"""Tasks 2.1 and 2.2: positions, indices, permuted layouts and broadcasting, compared with NumPy."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call, Judge, Layout, as_array
from course.explain.divergence import Difference
from course.explain.unwritten_memory import MARK, NEVER_WRITTEN
from course.oracles.strided import memory_offset

ADDRESSES = "NumPy's own addressing of an array with these strides"
UNRAVEL = "numpy.unravel_index"
BROADCAST = "NumPy's broadcasting"
TRANSPOSE = "numpy.transpose"
ARGUMENT = "the argument as it was before the call"


def numbers(values: Any) -> tuple[int, ...]:
    """A shape, strides or an index as Python integers."""
    return tuple(map(int, values))


def _is_integer(value: Any) -> bool:
    """Whether a value may be an index: True and 2.0 may not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _typed(value: Any) -> tuple[str, str]:
    """The row of a value of a wrong type."""
    kind = type(value).__name__
    return "Yours", f"{value!r}, {'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def position(call: Call) -> Difference | None:
    """Compare index_to_position."""
    index, strides = numbers(call.before[0]), numbers(call.before[1])
    index, rest = index[: len(strides)], index[len(strides) :]
    if _is_unwritten(call, "index_to_position", index):
        return None
    expected = memory_offset(index, strides)
    if call.result is not None and call.result == expected:
        rows = (("Index", str(index)), ("Strides", str(strides)), ("Expected", f"{expected}, an int"), _typed(call.result))
        return _changed_argument(call, 0) if _is_integer(call.result) else Difference("the type of the position", rows, ADDRESSES)
    terms = " + ".join(f"{i}·{stride}" for i, stride in zip(index, strides, strict=True)) or "0"
    more = f", followed by {', '.join(map(str, rest))}, to be ignored" if rest else ""
    rows = (("Index", f"{index}{more}"), ("Strides", str(strides)), ("Expected", f"{terms} = {expected}"), ("Yours", str(call.result)))
    return Difference(NOTHING if call.result is None else f"the position of index {index}", rows, ADDRESSES)


def to_index(call: Call) -> Difference | None:
    """Compare the index that to_index writes."""
    if _are_shared(call, "to_index", {2: "out_index"}, {1: "shape"}):
        return None
    ordinal, shape = int(call.before[0]), numbers(call.before[1])
    expected = tuple(int(i) for i in np.unravel_index(ordinal, shape)) if shape else ()
    rows = [("Ordinal", f"{ordinal} of {int(np.prod(shape))}"), ("Shape", str(shape))]
    return _written_index(call, 2, expected, rows, f"the index of ordinal {ordinal}", UNRAVEL) or _changed_argument(call, 1)


def broadcast_index(call: Call) -> Difference | None:
    """Compare the index that broadcast_index writes."""
    if _are_shared(call, "broadcast_index", {3: "out_index"}, {0: "big_index", 1: "big_shape", 2: "shape"}):
        return None
    big_shape, shape = numbers(call.before[1]), numbers(call.before[2])
    index = numbers(call.before[0])[: len(big_shape)]
    if _is_unwritten(call, "broadcast_index", index) or any(not 0 <= i < size for i, size in zip(index, big_shape, strict=True)):
        return None
    ordinals = np.broadcast_to(np.arange(int(np.prod(shape))).reshape(shape), big_shape)
    expected = tuple(int(i) for i in np.unravel_index(ordinals[index], shape)) if shape else ()
    rows = [("Index", f"{index} in a tensor of shape {big_shape}"), ("Shape", f"{shape}, the shape of the smaller tensor")]
    return _written_index(call, 3, expected, rows, f"the index in the smaller tensor for {index}", BROADCAST) or _changed_argument(call, 0)


def same_array(function: str, read: str, written: str) -> str:
    """The warning for a caller that passes one array both to be read and to be written."""
    both = "both index arguments are" if (read, written) == ("big_index", "out_index") else f"{read} and {written} are"
    return f"In a call of {function}, {both} the same array: writing {written} changes {read} while it is read. Use two arrays."


def _are_shared(call: Call, function: str, written: dict[int, str], read: dict[int, str]) -> bool:
    """Whether a caller passes the same memory for reading and writing. That is a mistake of the caller, so it gets a warning."""
    names = written | read
    shared = [
        (a, b) for a, b in combinations(sorted(names), 2) if {a, b} & set(written) and _shares_memory(call.arguments[a], call.arguments[b])
    ]
    for a, b in shared:
        call.recorder.warn(same_array(function, names[a] if b in written else names[b], names[b] if b in written else names[a]))
    return bool(shared)


def _is_unwritten(call: Call, function: str, index: tuple[int, ...]) -> bool:
    """Whether an index is in a buffer to which nothing has been written. That is a mistake of the caller, so it gets a warning."""
    if MARK in index:
        call.recorder.warn(f"In a call of {function}, {NEVER_WRITTEN}.")
    return MARK in index


def _shares_memory(first: Any, second: Any) -> bool:
    """Whether writing to one of two values changes the other."""
    if first is second:
        return not isinstance(first, tuple | int)
    first, second = as_array(first), as_array(second)
    return first is not None and second is not None and np.shares_memory(first, second)


def _written_index(
    call: Call, place: int, expected: tuple[int, ...], rows: list[tuple[str, str]], what: str, oracle: str
) -> Difference | None:
    """Compare the index that was written into a buffer, and the rest of the buffer, which must not change."""
    before, got = numbers(call.before[place]), numbers(call.arguments[place])
    for dim, value in enumerate(list(call.arguments[place])[: len(expected)]):
        if not _is_integer(value):
            rows = [*rows, ("Expected", f"{expected[dim]}, an int"), _typed(value)]
            return Difference(f"{what}: dimension {dim}, which is no integer", tuple(rows), oracle)
    if got[: len(expected)] != expected:
        rows = [*rows, ("Expected", str(expected)), ("Yours", str(got[: len(expected)]))]
        if call.result is not None:
            rows.append(("Returned", f"{call.result!r}, but the function must write the index into out_index"[:200]))
        elif got == before:
            rows.append(("Which is", "the old content of out_index"))
        dim = next((d for d, (e, g) in enumerate(zip(expected, got, strict=False)) if e != g), 0)
        return Difference(f"{what}: dimension {dim}", tuple(rows), oracle)
    if got[len(expected) :] != before[len(expected) :]:
        rows = [*rows, ("Expected", f"{expected}, followed by {before[len(expected) :]} as before"), ("Yours", str(got))]
        return Difference(f"{what}: the rest of the buffer", tuple(rows), oracle)
    return None


def _changed_argument(call: Call, place: int) -> Difference | None:
    """Compare an argument with its value before the call."""
    before, after = numbers(call.before[place]), numbers(call.arguments[place])
    if before == after:
        return None
    name = call.code.co_varnames[place]
    return Difference(f"{name}, which the call changed", (("Before", str(before)), ("After", str(after))), ARGUMENT)


def shape_broadcast(call: Call) -> Difference | None:
    """Compare shape_broadcast, which must reject shapes that do not broadcast."""
    oracle = "numpy.broadcast_shapes"
    first, second = numbers(call.before[0]), numbers(call.before[1])
    try:
        expected = np.broadcast_shapes(first, second)
    except ValueError:
        if call.result is None:
            return None
        return Difference("shapes that do not broadcast", _shapes(first, second, "an IndexingError", str(call.result)), oracle)
    rows = _shapes(first, second, str(expected), str(call.result))
    if call.result is None:
        return Difference(NOTHING, rows, oracle)
    got = numbers(call.result)
    if got == expected and not (isinstance(call.result, tuple) and all(map(_is_integer, call.result))):
        return Difference("the type of the shape", (rows[0], ("Expected", f"{expected}, a tuple of ints"), _typed(call.result)), oracle)
    if got == expected:
        return _changed_argument(call, 0) or _changed_argument(call, 1)
    from_right = next((d for d, (e, g) in enumerate(zip(reversed(expected), reversed(got), strict=False), 1) if e != g), None)
    place = f"the size of dimension -{from_right}" if from_right else f"the number of dimensions, {len(got)} instead of {len(expected)}"
    return Difference(place, rows, oracle)


def _shapes(first: Any, second: Any, expected: str, got: str) -> tuple[tuple[str, str], ...]:
    """Two shapes on separate lines, aligned on the right."""
    words = [str(shape).replace(",)", ")") for shape in (first, second)]
    width = max(map(len, words))
    return (("Shapes", "\n".join(f"{word:>{width}}" for word in words)), ("Expected", expected), ("Yours", got))


def permute(call: Call) -> Difference | None:
    """Compare TensorData.permute, which must return a view of the same storage."""
    data, order = call.before[0], tuple(call.before[1:])
    assert isinstance(data, Layout)
    rows = [("Given", f"shape {data.shape}, strides {data.strides}, offset {data.offset}"), ("Order", str(order))]
    if sorted(order) != list(range(len(data.shape))):
        if call.result is None:
            return None
        expected = f"an IndexingError: the order must contain each of {tuple(range(len(data.shape)))} once"
        return Difference("an order that is not a permutation", (*rows, ("Expected", expected), ("Yours", "a tensor")), TRANSPOSE)
    view = data.array.transpose(order)
    expected = view.shape, numbers(np.array(view.strides, np.int64) // view.itemsize), data.offset
    words = "shape {}, strides {}, offset {}, the same storage"
    if call.result is None:
        return Difference(NOTHING, (*rows, ("Expected", words.format(*expected))), TRANSPOSE)
    got = tuple(call.result.shape), tuple(call.result.strides), call.result.offset
    name = "cell" if hasattr(data.itself, "cell") else "_storage"  # on a GPU, a cell holds the storage
    same = getattr(call.result, name) is getattr(data.itself, name)
    rows += [
        ("Expected", words.format(*expected)),
        ("Yours", words.format(*got) if same else words.format(*got).replace("the same", "another")),
    ]
    for name, e, g in zip(("shape", "strides", "offset"), expected, got, strict=True):
        if e != g:
            return Difference(f"the {name}", tuple(rows), TRANSPOSE)
    if not same:
        return Difference("the storage, which is a different one", tuple(rows), TRANSPOSE)
    if (tuple(data.itself.shape), tuple(data.itself.strides)) != (data.shape, data.strides):
        return Difference("the layout of the tensor itself, which the call changed", tuple(rows), "the tensor as it was before the call")
    return None


JUDGES: dict[str, Judge] = {
    "minitorch.tensor_data:index_to_position": position,
    "minitorch.tensor_data:to_index": to_index,
    "minitorch.tensor_data:TensorData.permute": permute,
    "minitorch.tensor_data:shape_broadcast": shape_broadcast,
    "minitorch.tensor_data:broadcast_index": broadcast_index,
}
