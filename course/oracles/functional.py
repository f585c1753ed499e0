"""Tasks 4.3 and 4.4: pooling, the maximum, softmax and dropout, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call, Judge, Layout
from course.explain.divergence import Wrong, shown_number
from course.oracles.strided import Strided, equal, first_difference, grid
from course.oracles.tensors import NUMPY, array, summed_back, value

MASK = "the elements that are equal to the largest: each has the whole gradient"


def windows(images: Any, kernel: tuple[int, int]) -> Any:
    """Windows that do not overlap, the numbers of each row by row; an error if they do not fill the images."""
    (batch, channels, height, width), (kh, kw) = images.shape, kernel
    if height % kh or width % kw:
        raise ValueError
    cut = images.reshape(batch, channels, height // kh, kh, width // kw, kw)
    return np.moveaxis(cut, 3, 4).reshape(batch, channels, height // kh, width // kw, kh * kw)


def tile(call: Call) -> Wrong | None:
    """Whether every number stands in its window."""
    images, kernel = call.before[0], tuple(call.before[1])
    expected = windows(images.array, kernel)
    rows = [("Call", f"tile(input of shape {images.shape}, {kernel})")]
    if not isinstance(call.result, tuple) or len(call.result) != 3:
        rows += [("Expected", "a tuple: windows, new height, new width"), ("Yours", repr(call.result)[:60])]
        return Wrong(NOTHING if call.result is None else "what is returned", tuple(rows), NUMPY)
    got, *sizes = array(call.result[0]), *call.result[1:]
    if got.shape != expected.shape:
        rows += [("Expected", f"{expected.shape}: batch, channels, new height, new width, numbers of a window"), ("Yours", str(got.shape))]
        return Wrong("the shape of the windows", tuple(rows), NUMPY)
    if tuple(sizes) != expected.shape[2:4]:
        rows += [("Expected", f"{expected.shape[2:4]}, new height and width"), ("Yours", str(tuple(sizes)))]
        return Wrong("the new height and width", tuple(rows), NUMPY)
    index = first_difference(expected, got)
    if index is None:
        return None
    batch, channel, row, column, place = index
    source = (batch, channel, row * kernel[0] + place // kernel[1], column * kernel[1] + place % kernel[1])
    x = Strided("input", images.storage, images.shape, images.strides, images.offset)
    others = [other for other in x.places(got[index], source) if other != source]
    rows += [
        ("Expected", f"{shown_number(expected[index])}, number {place} of window ({row}, {column}): input{list(source)}"),
        (
            "Yours",
            f"{shown_number(got[index])}" + (f", which stands at input{list(others[0])}" if others else ", which stands nowhere in it"),
        ),
        ("Windows", "\n".join(grid(got, {index: "><"}))),
        ("input", x.drawn({source: "[]"} | ({others[0]: "()"} if others else {}))),
        ("", ">wrong<  [should stand there]  (stands there)"),
    ]
    return Wrong(f"element {index} of the windows", tuple(rows), NUMPY)


def pooled(call: Call) -> Wrong | None:
    """Whether every window has its mean, or its largest number."""
    kernel = tuple(call.before[1])
    fold = np.mean if call.outer == "avgpool2d" else np.max
    words = "the mean of every window" if fold is np.mean else "the largest number of every window"
    return value(call, call.outer, words, lambda images, size: fold(windows(images, tuple(size)), axis=-1), [call.before[0], kernel])


def largest(call: Call) -> Wrong | None:
    """Whether the largest elements are found."""
    values = call.before[1:] if call.owner else call.before
    return value(call, f"{call.owner}.forward" if call.owner else "max", "the largest along dim, which keeps size 1", _largest, values)


def _largest(a: Any, dim: Any = None) -> Any:
    return a.reshape(-1).max(keepdims=True) if dim is None else a.max(_axes(dim), keepdims=True)


def _axes(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list | tuple) else int(dim)


def largest_mask(call: Call) -> Wrong | None:
    """Whether the largest elements are marked, all of them."""

    def oracle(a: Any, dim: Any = None) -> Any:
        return a == (a.max() if dim is None else a.max(_axes(dim), keepdims=True))

    return value(call, "argmax", "where the largest elements stand, all of equal ones", oracle, call.before)


def largest_gradient(call: Call) -> Wrong | None:
    """Whether the gradient goes to the largest elements, and to each of equal ones."""
    forward = call.recorder.forwards[id(call.arguments[0])]
    x, dim = forward.before[1].array, int(array(forward.before[2]))
    grad_output = array(call.before[1])
    mask = x == x.max(dim, keepdims=True)
    expected = np.where(mask, grad_output, 0.0)
    rows = [("At", f"Max of a tensor of shape {x.shape} along {dim}, grad_output of shape {grad_output.shape}")]
    result = call.result[0] if isinstance(call.result, list | tuple) else call.result
    if result is None:
        return Wrong(NOTHING, (*rows, ("Expected", f"a gradient of shape {x.shape}")), MASK)
    got = summed_back(array(result), x.shape)
    if got is None:
        more = (("Expected", f"shape {x.shape}"), ("Yours", f"shape {array(result).shape}"))
        return Wrong("the shape of the gradient", (*rows, *more), MASK)
    index = first_difference(expected, got)
    if index is None:
        return None
    line = x[(*index[:dim], slice(None), *index[dim + 1 :])]
    ties = int((line == line.max()).sum())
    rows += [
        ("Expected", f"{shown_number(expected[index])}" + (f": one of {ties} that are equally large" if mask[index] and ties > 1 else "")),
        ("Yours", shown_number(got[index])),
        ("Its gradient", "\n".join(grid(got, {index: "><"}))),
        ("input", "\n".join([f"shape {x.shape}", *grid(x, {index: "[]"})])),
        ("grad_output", "\n".join(grid(grad_output, {}))),
    ]
    where = ", where several are equally large" if ties > 1 and mask[index] else ""
    return Wrong(f"entry {index} of the gradient{where}", tuple(rows), MASK)


def softmax(call: Call) -> Wrong | None:
    """Whether softmax or its logarithm is right; of softmax the sum, too."""
    log = call.outer == "logsoftmax"

    def oracle(a: Any, dim: int) -> Any:
        shifted = a - a.max(dim, keepdims=True)
        sums = np.exp(shifted).sum(dim, keepdims=True)
        return shifted - np.log(sums) if log else np.exp(shifted) / sums

    words = "x - ln Σ e^x along dim" if log else "e^x / Σ e^x along dim"
    wrong = value(call, call.outer, words, oracle, call.before)
    if wrong is None or log or not hasattr(call.result, "_tensor") or "element" not in wrong.place:
        return wrong
    total = float(array(call.result).sum(call.before[1]).reshape(-1)[0])
    return Wrong(
        wrong.place, (*wrong.rows, ("Its sum", f"{shown_number(total)} along dimension {call.before[1]}, expected 1")), wrong.oracle
    )


def dropout(call: Call) -> Wrong | None:
    """Whether every element is kept as it is or 0, and about the right share of many is 0."""
    x, rate = call.before[0], call.before[1]
    assert isinstance(x, Layout)
    ignore = call.closure["ignore"]
    rows = [("Call", f"dropout(tensor of shape {x.shape}, {rate}, ignore={ignore})")]
    if isinstance(rate, bool) or not isinstance(rate, float | int) or not 0 <= rate <= 1:
        return None
    if call.result is None:
        return Wrong(NOTHING, tuple(rows), NUMPY)
    before, got = x.array, array(call.result)
    if got.shape != before.shape:
        return Wrong("the shape of the result", (*rows, ("Expected", str(before.shape)), ("Yours", str(got.shape))), NUMPY)
    kept, dropped = equal(got, before), equal(got, 0.0)
    if ignore or rate == 0 or rate == 1:
        right = dropped if rate == 1 and not ignore else kept
        words = "0" if rate == 1 and not ignore else "the element of the input, which is given back as it is"
    else:
        right, words = kept | dropped, "the element of the input, or 0"
    if not right.all():
        index = tuple(map(int, np.argwhere(~right)[0]))
        rows += [("Expected", f"{words}: {shown_number(before[index])}"), ("Yours", shown_number(got[index])), *_both(before, got, index)]
        return Wrong(f"element {index} of the result", tuple(rows), NUMPY)
    count = int((before != 0).sum())
    share = float((dropped & (before != 0)).sum()) / max(count, 1)
    apart = 5 * (rate * (1 - rate) / max(count, 1)) ** 0.5  # five standard deviations
    if not ignore and count >= 20 and abs(share - rate) > apart:
        rows += [("Expected", f"about {rate:g} of {count} elements, give or take {apart:.2g}"), ("Yours", f"{share:.3g} of them")]
        return Wrong(
            "the share of the elements that are 0", tuple(rows), "the share that chance allows, five standard deviations on either side"
        )
    return None


def _both(before: Any, got: Any, index: tuple[int, ...]) -> list[tuple[str, str]]:
    return [("input", "\n".join(grid(before, {index: "[]"}))), ("Result", "\n".join(grid(got, {index: "><"})))]


ROOM = "minitorch.nn.functional"

NAMED: dict[str, Callable[[Call], Wrong | None]] = {
    "tile": tile,
    "avgpool2d": pooled,
    "maxpool2d": pooled,
    "Max.forward": largest,
    "Max.backward": largest_gradient,
    "max": largest,
    "argmax": largest_mask,
    "softmax": softmax,
    "logsoftmax": softmax,
    "dropout": dropout,
}

JUDGES: dict[str, Judge] = {f"{ROOM}:{name}": judge for name, judge in NAMED.items()}
