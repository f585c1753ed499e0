"""Tasks 4.3 and 4.4: pooling, the maximum, softmax and dropout, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call, Judge, Layout
from course.explain.divergence import Difference, format_number
from course.oracles.strided import Strided, equal, first_difference, grid
from course.oracles.tensors import NUMPY, array, unbroadcast, value

MASK = "numpy.argmax: every element that equals the maximum receives the whole gradient"


def windows(images: Any, kernel: tuple[int, int]) -> Any:
    """Non-overlapping windows, the elements of each in the last dimension.

    Raises:
        ValueError: If the kernel does not divide the images.
    """
    if np.remainder(images.shape[2:], kernel).any():
        raise ValueError
    found = np.lib.stride_tricks.sliding_window_view(images, kernel, axis=(2, 3))[:, :, :: kernel[0], :: kernel[1]]
    return found.reshape(*found.shape[:4], -1)


def tile(call: Call) -> Difference | None:
    """Compare the windows of tile."""
    images, kernel = call.before[0], tuple(call.before[1])
    expected = windows(images.array, kernel)
    rows = [("Call", f"tile(input of shape {images.shape}, {kernel})")]
    if not isinstance(call.result, tuple) or len(call.result) != 3:
        rows += [("Expected", "a tuple: windows, new height, new width"), ("Yours", repr(call.result)[:60])]
        return Difference(NOTHING if call.result is None else "the type of the result", tuple(rows), NUMPY)
    got, *sizes = array(call.result[0]), *call.result[1:]
    if got.shape != expected.shape:
        rows += [("Expected", f"{expected.shape}: batch, channels, new height, new width, elements of a window"), ("Yours", str(got.shape))]
        return Difference("the shape of the windows", tuple(rows), NUMPY)
    if tuple(sizes) != expected.shape[2:4]:
        rows += [("Expected", f"{expected.shape[2:4]}, new height and width"), ("Yours", str(tuple(sizes)))]
        return Difference("the new height and width", tuple(rows), NUMPY)
    index = first_difference(expected, got)
    if index is None:
        return None
    batch, channel, row, column, place = index
    source = (batch, channel, row * kernel[0] + place // kernel[1], column * kernel[1] + place % kernel[1])
    x = Strided("input", images.storage, images.shape, images.strides, images.offset)
    others = [other for other in x.indices_of(got[index], source) if other != source]
    rows += [
        ("Expected", f"{format_number(expected[index])}, element {place} of window ({row}, {column}): input{list(source)}"),
        (
            "Yours",
            f"{format_number(got[index])}" + (f", which is input{list(others[0])}" if others else ", which is no element of input"),
        ),
        ("Windows", "\n".join(grid(got, {index: "><"}))),
        ("input", x.diagram({source: "[]"} | ({others[0]: "()"} if others else {}))),
        ("", ">wrong<  [should be there]  (is there)"),
    ]
    return Difference(f"element {index} of the windows", tuple(rows), NUMPY)


def pooling(call: Call) -> Difference | None:
    """Compare the mean or the maximum of every window."""
    kernel = tuple(call.before[1])
    reduction = np.mean if call.outer == "avgpool2d" else np.max
    words = "the mean of every window" if reduction is np.mean else "the maximum of every window"
    return value(call, call.outer, words, lambda images, size: reduction(windows(images, tuple(size)), axis=-1), [call.before[0], kernel])


def maximum(call: Call) -> Difference | None:
    """Compare the maximum along a dimension."""
    values = call.before[1:] if call.owner else call.before
    return value(call, f"{call.owner}.forward" if call.owner else "max", "the maximum along dim, which keeps size 1", _maximum, values)


def _maximum(a: Any, dim: Any = None) -> Any:
    return a.reshape(-1).max(keepdims=True) if dim is None else a.max(_axes(dim), keepdims=True)


def _axes(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list | tuple) else int(dim)


def maximum_mask(call: Call) -> Difference | None:
    """Compare the positions of the maximum, including ties."""

    def oracle(a: Any, dim: Any = None) -> Any:
        return _ties(a.reshape(-1), 0).reshape(a.shape) if dim is None else _ties(a, int(dim))

    return value(call, "argmax", "1 where an element equals the maximum, at ties as well, else 0", oracle, call.before)


def _ties(a: Any, dim: int) -> Any:
    """A mask of the elements that equal the maximum along a dimension."""
    return np.apply_along_axis(lambda line: np.isin(line, line[line.argmax()]), dim, a)


def maximum_gradient(call: Call) -> Difference | None:
    """Compare the gradient of Max, which goes to the maximum and, at ties, to each of the equal elements."""
    forward = call.recorder.forwards[id(call.arguments[0])]
    x, dim = forward.before[1].array, int(array(forward.before[2]))
    grad_output = array(call.before[1])
    mask = _ties(x, dim)
    expected = np.where(mask, grad_output, 0.0)
    rows = [("At", f"Max of a tensor of shape {x.shape} along {dim}, grad_output of shape {grad_output.shape}")]
    result = call.result[0] if isinstance(call.result, list | tuple) else call.result
    if result is None:
        return Difference(NOTHING, (*rows, ("Expected", f"a gradient of shape {x.shape}")), MASK)
    got = unbroadcast(array(result), x.shape)
    if got is None:
        more = (("Expected", f"shape {x.shape}"), ("Yours", f"shape {array(result).shape}"))
        return Difference("the shape of the gradient", (*rows, *more), MASK)
    index = first_difference(expected, got)
    if index is None:
        return None
    line = x[(*index[:dim], slice(None), *index[dim + 1 :])]
    ties = int((line == line.max()).sum())
    rows += [
        ("Expected", f"{format_number(expected[index])}" + (f": one of {ties} equal maxima" if mask[index] and ties > 1 else "")),
        ("Yours", format_number(got[index])),
        ("Its gradient", "\n".join(grid(got, {index: "><"}))),
        ("input", "\n".join([f"shape {x.shape}", *grid(x, {index: "[]"})])),
        ("grad_output", "\n".join(grid(grad_output, {}))),
    ]
    where = ", at a tie" if ties > 1 and mask[index] else ""
    return Difference(f"entry {index} of the gradient{where}", tuple(rows), MASK)


def softmax(call: Call) -> Difference | None:
    """Compare softmax or logsoftmax; for softmax, show the sum as well."""
    log = call.outer == "logsoftmax"

    def oracle(a: Any, dim: int) -> Any:
        a = a - np.amax(a, axis=dim, keepdims=True)  # beside -1e30, a logarithm of a sum has no digits left
        logs = a - np.logaddexp.reduce(a, axis=dim, keepdims=True)
        return logs if log else np.exp(logs)

    words = "x - ln Σ e^x along dim" if log else "e^x / Σ e^x along dim"
    wrong = value(call, call.outer, words, oracle, call.before)
    if wrong is None or log or not hasattr(call.result, "_tensor") or "element" not in wrong.place:
        return wrong
    total = float(array(call.result).sum(call.before[1]).reshape(-1)[0])
    return Difference(
        wrong.place, (*wrong.rows, ("Its sum", f"{format_number(total)} along dimension {call.before[1]}, expected 1")), wrong.oracle
    )


def dropout(call: Call) -> Difference | None:
    """Compare dropout: every element is unchanged or 0, and of many elements about the right share is 0."""
    x, rate = call.before[0], call.before[1]
    assert isinstance(x, Layout)
    ignore = call.closure["ignore"]
    rows = [("Call", f"dropout(tensor of shape {x.shape}, {rate}, ignore={ignore})")]
    if isinstance(rate, bool) or not isinstance(rate, float | int) or not 0 <= rate <= 1:
        return None
    if call.result is None:
        return Difference(NOTHING, tuple(rows), NUMPY)
    before, got = x.array, array(call.result)
    if got.shape != before.shape:
        return Difference("the shape of the result", (*rows, ("Expected", str(before.shape)), ("Yours", str(got.shape))), NUMPY)
    kept, dropped = equal(got, before), equal(got, 0.0)
    if ignore or rate == 0 or rate == 1:
        right = dropped if rate == 1 and not ignore else kept
        words = "0" if rate == 1 and not ignore else "the unchanged element of the input"
    else:
        right, words = kept | dropped, "the element of the input, or 0"
    if not right.all():
        index = tuple(map(int, np.argwhere(~right)[0]))
        rows += [("Expected", f"{words}: {format_number(before[index])}"), ("Yours", format_number(got[index])), *_both(before, got, index)]
        return Difference(f"element {index} of the result", tuple(rows), NUMPY)
    count = int((before != 0).sum())
    share = float((dropped & (before != 0)).sum()) / max(count, 1)
    apart = 5 * (rate * (1 - rate) / max(count, 1)) ** 0.5  # five standard deviations
    if not ignore and count >= 20 and abs(share - rate) > apart:
        rows += [("Expected", f"about {rate:g} of {count} elements, give or take {apart:.2g}"), ("Yours", f"{share:.3g} of them")]
        return Difference("the share of the elements that are 0", tuple(rows), "the expected share, give or take five standard deviations")
    return None


def _both(before: Any, got: Any, index: tuple[int, ...]) -> list[tuple[str, str]]:
    return [("input", "\n".join(grid(before, {index: "[]"}))), ("Result", "\n".join(grid(got, {index: "><"})))]


MODULE = "minitorch.nn.functional"

NAMED: dict[str, Callable[[Call], Difference | None]] = {
    "tile": tile,
    "avgpool2d": pooling,
    "maxpool2d": pooling,
    "Max.forward": maximum,
    "Max.backward": maximum_gradient,
    "max": maximum,
    "argmax": maximum_mask,
    "softmax": softmax,
    "logsoftmax": softmax,
    "dropout": dropout,
}

JUDGES: dict[str, Judge] = {f"{MODULE}:{name}": judge for name, judge in NAMED.items()}
