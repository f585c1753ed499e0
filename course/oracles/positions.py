"""Tasks 2.1 and 2.2: positions, indices, permuted layouts and broadcasting, compared with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call, Judge, Layout
from course.explain.divergence import Wrong

SUMS = "the sum of index times stride, in Python's own arithmetic"
UNRAVEL = "numpy.unravel_index"
BROADCAST = "NumPy's broadcasting"
TRANSPOSE = "numpy.transpose"

ONE_BUFFER = "broadcast_index was given one buffer as big_index and as out_index: what it writes changes what it reads; make a second one"
"""What to say of a kernel that calls it so."""


def numbers(values: Any) -> tuple[int, ...]:
    """A shape, strides or an index as Python's numbers."""
    return tuple(map(int, values))


def position(call: Call) -> Wrong | None:
    """Whether index_to_position is right."""
    index, strides = numbers(call.before[0]), numbers(call.before[1])
    index = index[: len(strides)]
    expected = sum(i * stride for i, stride in zip(index, strides, strict=True))
    if call.result is not None and int(call.result) == expected and call.result == int(call.result):
        return _untouched(call, 0)
    terms = " + ".join(f"{i}·{stride}" for i, stride in zip(index, strides, strict=True)) or "0"
    rows = (("Index", str(index)), ("Strides", str(strides)), ("Expected", f"{terms} = {expected}"), ("Yours", str(call.result)))
    return Wrong(NOTHING if call.result is None else f"the position of index {index}", rows, SUMS)


def index_of(call: Call) -> Wrong | None:
    """Whether to_index writes the index of an ordinal."""
    ordinal, shape = int(call.before[0]), numbers(call.before[1])
    expected = tuple(int(i) for i in np.unravel_index(ordinal, shape)) if shape else ()
    rows = [("Ordinal", f"{ordinal} of {int(np.prod(shape))}"), ("Shape", str(shape))]
    return _written(call, 2, expected, rows, f"the index of ordinal {ordinal}", UNRAVEL) or _untouched(call, 1)


def smaller_index(call: Call) -> Wrong | None:
    """Whether broadcast_index writes the index in the smaller tensor."""
    if _is_one_buffer(call.arguments[0], call.arguments[3]):  # whoever calls it so is wrong, not broadcast_index
        for kernel in ("tensor_map", "tensor_zip"):
            call.recorder.note(f"minitorch.tensor_ops:{kernel}", ONE_BUFFER)
        return None
    big_shape, shape = numbers(call.before[1]), numbers(call.before[2])
    index = numbers(call.before[0])[: len(big_shape)]
    if any(not 0 <= i < size for i, size in zip(index, big_shape, strict=True)):
        return None
    ordinals = np.broadcast_to(np.arange(int(np.prod(shape))).reshape(shape), big_shape)
    expected = tuple(int(i) for i in np.unravel_index(ordinals[index], shape)) if shape else ()
    rows = [("Index", f"{index} in a tensor of shape {big_shape}"), ("Shape", f"{shape}, the smaller tensor's")]
    return _written(call, 3, expected, rows, f"the smaller tensor's index for {index}", BROADCAST) or _untouched(call, 0)


def _is_one_buffer(first: Any, second: Any) -> bool:
    """Whether writing into one of two buffers changes the other."""
    return first is second or (isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and np.may_share_memory(first, second))


def _written(call: Call, place: int, expected: tuple[int, ...], rows: list[tuple[str, str]], what: str, oracle: str) -> Wrong | None:
    """Whether an index was written into the buffer that was given for it, and nothing behind it."""
    before, got = numbers(call.before[place]), numbers(call.arguments[place])
    if got[: len(expected)] != expected:
        rows = [*rows, ("Expected", str(expected)), ("Yours", str(got[: len(expected)]))]
        if call.result is not None:
            rows.append(("Returned", f"{call.result!r}, but the index is to be written into out_index"[:200]))
        elif got == before:
            rows.append(("Which is", "what stood there before: nothing was written into the out_index that was given"))
        dim = next((d for d, (e, g) in enumerate(zip(expected, got, strict=False)) if e != g), 0)
        return Wrong(f"{what}: dimension {dim}", tuple(rows), oracle)
    if got[len(expected) :] != before[len(expected) :]:
        rows = [*rows, ("Expected", f"{expected}, and behind it {before[len(expected) :]} as before"), ("Yours", str(got))]
        return Wrong(f"{what}: the buffer behind it", tuple(rows), oracle)
    return None


def _untouched(call: Call, place: int) -> Wrong | None:
    """Whether an argument is as it was."""
    before, after = numbers(call.before[place]), numbers(call.arguments[place])
    if before == after:
        return None
    name = call.code.co_varnames[place]
    return Wrong(f"{name}, which has changed", (("It was", str(before)), ("It is", str(after))), "the argument as it was before the call")


def shapes_together(call: Call) -> Wrong | None:
    """Whether shape_broadcast is right, or refuses what does not go together."""
    first, second = numbers(call.before[0]), numbers(call.before[1])
    try:
        expected = np.broadcast_shapes(first, second)
    except ValueError:
        if call.result is None:
            return None
        return Wrong(
            "shapes that do not go together", _shapes(first, second, "an IndexingError", str(call.result)), "numpy.broadcast_shapes"
        )
    rows = _shapes(first, second, str(expected), str(call.result))
    if call.result is None:
        return Wrong(NOTHING, rows, "numpy.broadcast_shapes")
    got = numbers(call.result)
    if got == expected:
        return _untouched(call, 0) or _untouched(call, 1)
    from_right = next((d for d, (e, g) in enumerate(zip(reversed(expected), reversed(got), strict=False), 1) if e != g), None)
    place = f"the size of dimension -{from_right}" if from_right else f"the number of dimensions, {len(got)} for {len(expected)}"
    return Wrong(place, rows, "numpy.broadcast_shapes")


def _shapes(first: Any, second: Any, expected: str, got: str) -> tuple[tuple[str, str], ...]:
    """Two shapes above each other, matched from the right."""
    words = [str(shape).replace(",)", ")") for shape in (first, second)]
    width = max(map(len, words))
    return (("Shapes", "\n".join(f"{word:>{width}}" for word in words)), ("Expected", expected), ("Yours", got))


def permuted(call: Call) -> Wrong | None:
    """Whether TensorData.permute is the same storage with shape and strides in the new order."""
    data, order = call.before[0], tuple(call.before[1:])
    assert isinstance(data, Layout)
    rows = [("Given", f"shape {data.shape}, strides {data.strides}, offset {data.offset}"), ("Order", str(order))]
    if sorted(order) != list(range(len(data.shape))):
        if call.result is None:
            return None
        expected = f"an IndexingError: each of the dimensions {tuple(range(len(data.shape)))} once"
        return Wrong("an order that is none", (*rows, ("Expected", expected), ("Yours", "a tensor")), TRANSPOSE)
    expected = tuple(data.shape[d] for d in order), tuple(data.strides[d] for d in order), data.offset
    words = "shape {}, strides {}, offset {}, the same storage"
    if call.result is None:
        return Wrong(NOTHING, (*rows, ("Expected", words.format(*expected))), TRANSPOSE)
    got = tuple(call.result.shape), tuple(call.result.strides), call.result.offset
    name = "cell" if hasattr(data.itself, "cell") else "_storage"  # on a GPU the storage lies in a cell
    same = getattr(call.result, name) is getattr(data.itself, name)
    rows += [
        ("Expected", words.format(*expected)),
        ("Yours", words.format(*got) if same else words.format(*got).replace("the same", "another")),
    ]
    for name, e, g in zip(("shape", "strides", "offset"), expected, got, strict=True):
        if e != g:
            return Wrong(f"the {name}", tuple(rows), TRANSPOSE)
    if not same:
        return Wrong("the storage, which is another", tuple(rows), TRANSPOSE)
    if (tuple(data.itself.shape), tuple(data.itself.strides)) != (data.shape, data.strides):
        return Wrong("the tensor itself, whose layout has changed", tuple(rows), "the tensor as it was before the call")
    return None


JUDGES: dict[str, Judge] = {
    "minitorch.tensor_data:index_to_position": position,
    "minitorch.tensor_data:to_index": index_of,
    "minitorch.tensor_data:TensorData.permute": permuted,
    "minitorch.tensor_data:shape_broadcast": shapes_together,
    "minitorch.tensor_data:broadcast_index": smaller_index,
}
