"""Tasks 2.3, 3.1 and 3.3: map, zip and reduce kernels, compared with NumPy on the same storages, shapes and strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference, format_number
from course.explain.unwritten_memory import NEVER_WRITTEN, is_unwritten, old_content
from course.oracles.strided import Index, Strided, equal, operand, tolerance

ORACLE = "NumPy on the same storages, shapes and strides"

SMALL = 12
"""For up to this many elements, every subset is tried to find which elements were reduced."""


def function(call: Call) -> Any:
    """The scalar function that a kernel applies."""
    names = call.target.function.__code__.co_varnames
    fn = call.closure["fn"] if "fn" in call.closure else call.closure[names[0]]
    return getattr(fn, "fn", getattr(fn, "py_func", fn))  # the Python function of a compiled one


def function_name(fn: Any) -> str:
    """The name of a scalar function, without the wrappers of `ieee` and of the GPU simulator."""
    while getattr(fn, "__name__", "") in ("quiet", "simulated"):
        inner = [cell.cell_contents for cell in fn.__closure__ or () if callable(cell.cell_contents)]
        if not inner:
            break
        fn = inner[0]
    name = getattr(fn, "__name__", "fn")
    return "fn" if name == "<lambda>" else name


def operands(call: Call, names: Sequence[str], sized: bool) -> tuple[Strided, list[Strided], Any, list[Any]]:
    """The operands of a kernel.

    Args:
        call: The call.
        names: The names of the inputs.
        sized: Whether the size of out follows its strides in the arguments.

    Returns:
        out before the call, the inputs, the storage of out after the call, and the other arguments.
    """
    values = list(call.before)
    out = operand("out", *values[:3])
    values = values[4 if sized else 3 :]
    inputs = [operand(name, *values[3 * i : 3 * i + 3]) for i, name in enumerate(names)]
    return out, inputs, np.asarray(call.after[0]), values[3 * len(names) :]


def map_kernel(call: Call) -> Difference | None:
    """Compare a map kernel."""
    out, inputs, after, _ = operands(call, ["in"], len(call.before) == 7)
    return elementwise(function(call), out, inputs, after)


def zip_kernel(call: Call) -> Difference | None:
    """Compare a zip kernel."""
    out, inputs, after, _ = operands(call, ["a", "b"], len(call.before) == 10)
    return elementwise(function(call), out, inputs, after)


def elementwise(fn: Callable[..., float], out: Strided, inputs: Sequence[Strided], after: Any) -> Difference | None:
    """Compare the elements of out with fn of the elements of the inputs."""
    columns = [np.broadcast_to(x.array, out.shape).reshape(-1).tolist() for x in inputs]
    with np.errstate(all="ignore"):
        expected = np.array([fn(*values) for values in zip(*columns, strict=True)], np.float64).reshape(out.shape)
    index = first_wrong_cell(out, expected, after)
    if index is None:
        return outside_elements(out, after)
    sources = [x.source(index) for x in inputs]
    terms = ", ".join(f"{x.name}[{_format_index(source)}]" for x, source in zip(inputs, sources, strict=True))
    numbers = ", ".join(format_number(x.array[source]) for x, source in zip(inputs, sources, strict=True))
    got = after[out.position(index)]
    read = _find_sources(fn, inputs, sources, got)
    rows = [
        ("Expected", f"{function_name(fn)}({terms}) = {function_name(fn)}({numbers}) = {format_number(expected[index])}"),
        ("Yours", f"{format_number(got)}, {_origin(fn, out, inputs, index, got, read)}"),
        ("out", _with_new_storage(out, after).diagram({index: "><"})),
    ]
    for x, source, other in zip(inputs, sources, read or [None] * len(inputs), strict=True):
        marks = {source: "[]"} | ({other: "()"} if other is not None and other != source else {})
        rows.append((x.name, x.diagram(marks)))
    return Difference(cell_name(out, index), (*rows, LEGEND), ORACLE)


LEGEND = ("", ">wrong<  [should be read]  (gives what was written)")


def first_wrong_cell(out: Strided, expected: Any, after: Any) -> Index | None:
    """The first element of out, last dimension fastest, that differs from the expected one."""
    with np.errstate(all="ignore"):
        expected = expected.astype(after.dtype)
    wrong = ~equal(expected, _with_new_storage(out, after).array, tolerance(after))
    places = np.argwhere(wrong)
    return tuple(map(int, places[0])) if len(places) else None


def cell_name(out: Strided, index: Index) -> str:
    """An element of out in words."""
    return f"cell ({_format_index(index)}) of out, position {out.position(index)} of its storage"


def outside_elements(out: Strided, after: Any) -> Difference | None:
    """Compare the positions of the storage of out that hold no element: a kernel must not write there."""
    positions = Strided(out.name, np.arange(len(after)), out.shape, out.strides).array
    others = [i for i in np.setdiff1d(np.arange(len(after)), positions) if not equal(after[i], out.storage[i])]
    if not others:
        return None
    rows = (
        ("Expected", f"{format_number(out.storage[others[0]])}, the old content"),
        ("Yours", format_number(after[others[0]])),
        ("out", _with_new_storage(out, after).diagram({})),
    )
    return Difference(f"position {others[0]} in the storage of out, which holds no element of out", rows, ORACLE)


def _with_new_storage(out: Strided, after: Any) -> Strided:
    return Strided(out.name, after, out.shape, out.strides)


def _format_index(index: Sequence[int]) -> str:
    return ", ".join(map(str, index))


def _find_sources(fn: Callable[..., float], inputs: Sequence[Strided], sources: Sequence[Index], got: Any) -> list[Index] | None:
    """The elements of the inputs that give a number, starting near the right ones; None if no elements do."""
    indices = [
        sorted(np.ndindex(*x.shape), key=lambda index, near=source: _distance(index, near))
        for x, source in zip(inputs, sources, strict=True)
    ]
    if len(inputs) == 2:
        pairs = [(i, j) for i in indices[0][:40] for j in indices[1][:40]]
        pairs.sort(key=lambda pair: _distance(pair[0], sources[0]) + _distance(pair[1], sources[1]))
    else:
        pairs = [(i,) for i in indices[0][:400]]
    for pair in pairs:
        if equal(_value(fn, [x.array[index] for x, index in zip(inputs, pair, strict=True)]), got):
            return list(pair)
    return None


def _distance(index: Sequence[int], other: Sequence[int]) -> int:
    return sum(abs(i - j) for i, j in zip(index, other, strict=True))


def _value(fn: Callable[..., float], values: Sequence[Any]) -> float:
    """The value of fn; NaN where fn is not defined."""
    try:
        return float(fn(*[value.item() for value in values]))
    except (ArithmeticError, ValueError):
        return float("nan")


def _origin(fn: Callable[..., float], out: Strided, inputs: Sequence[Strided], index: Index, got: Any, read: list[Index] | None) -> str:
    """Where a wrong number comes from, if that can be determined."""
    if equal(out.array[index], got):
        return old_content(got)
    sources = [x.source(index) for x in inputs]
    if len(inputs) == 2 and equal(_value(fn, [inputs[1].array[sources[1]], inputs[0].array[sources[0]]]), got):
        return f"which is {function_name(fn)}(b, a): the arguments are swapped"
    if read is None and is_unwritten(got, [x.storage for x in inputs]):
        return NEVER_WRITTEN
    if read is None:
        if len(inputs) == 2:
            gaps = [x.name for x in inputs if np.isnan(got) and np.isnan(x.storage).any() and not np.isnan(x.array).any()]
            gap = f"which a position in the storage of {gaps[0]} gives that holds no element of {gaps[0]}" if len(gaps) == 1 else ""
            return gap or "which no elements near these give"
        read_at = [i for i, number in enumerate(inputs[0].storage) if equal(_value(fn, [number]), got)]
        gap = f"which is {function_name(fn)} of position {read_at[0]} in the storage, which holds no element of in" if read_at else ""
        return gap or "which no number in the storage of in gives"
    elements = ", ".join(f"{x.name}[{_format_index(place)}]" for x, place in zip(inputs, read, strict=True))
    return f"which is {function_name(fn)}({elements})"


# Reduce


def reduce_kernel(call: Call) -> Difference | None:
    """Compare a reduce kernel: an element of out reduces a line of a, starting with its old content or, on a GPU, with an argument."""
    fn = function(call)
    on_gpu = len(call.before) == 9
    out, (a,), after, rest = operands(call, ["a"], on_gpu)
    dim, block = int(rest[0]), _block(call) if on_gpu else None
    expected = np.empty(out.shape)
    lines: dict[Index, list[Index]] = {}
    for index in np.ndindex(*out.shape):
        start = index[dim] * block if block else 0
        stop = min(start + block, a.shape[dim]) if block else a.shape[dim]
        lines[index] = [(*index[:dim], k, *index[dim + 1 :]) for k in range(start, stop)]
        first = rest[1] if on_gpu else out.array[index]
        expected[index] = reduce_values(fn, float(first), [a.array[place] for place in lines[index]])
    index = first_wrong_cell(out, expected, after)
    if index is None:
        return outside_elements(out, after)
    first = float(rest[1] if on_gpu else out.array[index])
    got = after[out.position(index)]
    values = [a.array[place] for place in lines[index]]
    rows = [
        ("Expected", f"{format_number(expected[index])}, {function_name(fn)} of {format_number(first)} and {_values(values)}"),
        ("Yours", f"{format_number(got)}, {_reduction(fn, first, a, lines[index], index, got, out)}"),
        ("out", _with_new_storage(out, after).diagram({index: "><"})),
        ("a", f"reduced along dimension {dim}\n" + a.diagram(dict.fromkeys(lines[index], "[]"))),
    ]
    return Difference(cell_name(out, index), (*rows, ("", ">wrong<  [should be reduced]")), ORACLE)


def _block(call: Call) -> int:
    """The number of elements that one block of threads reduces."""
    import sys

    return sys.modules["minitorch.cuda_ops"].REDUCE_BLOCK


def reduce_values(fn: Callable[..., float], start: float, values: Sequence[Any]) -> float:
    """The reduction of values from left to right."""
    with np.errstate(all="ignore"):
        return reduce(fn, map(float, values), start)


def _values(values: Sequence[Any]) -> str:
    words = list(map(format_number, values))
    return ", ".join(words[:8]) + (f", … ({len(words)} elements)" if len(words) > 8 else "") or "nothing"


def _reduction(fn: Callable[..., float], first: float, a: Strided, line: Sequence[Index], index: Index, got: Any, out: Strided) -> str:
    """Which reduction gives a wrong number, if that can be determined."""
    values = [float(a.array[place]) for place in line]
    if equal(got, out.array[index]) and values:
        return old_content(got)
    if is_unwritten(got, [a.storage, first]):
        return NEVER_WRITTEN
    if np.isnan(got) and not np.isnan(values).any():
        return "which no subset of these elements gives"
    if equal(reduce_values(fn, first, values[::-1]), got):
        return "which is the reduction from the last element to the first"
    if equal(reduce_values(lambda total, value: fn(value, total), first, values), got):
        return f"which is the result if {function_name(fn)} takes the element first and the total second"
    starts = {"": first, "without the old content of out": None, "starting with 0": 0.0}
    for words, start in starts.items():
        if equal(_from(fn, start, values), got) and words:
            return f"which is the reduction of all elements {words}"
    for words, start in starts.items():
        if (chosen := matching_subset(lambda kept, start=start: _from(fn, start, kept), values, got)) is not None:
            left = [f"a[{_format_index(place)}]" for i, place in enumerate(line) if i not in chosen]
            return f"which is the reduction without {', '.join(left)}{f', {words}' if words else ''}"
    for dim, size in enumerate(a.shape):
        other = [
            float(a.array[(*index[:dim], k, *index[dim + 1 :])])
            for k in range(size)
            if all(i < n for i, n in zip(index, a.shape, strict=True))
        ]
        if equal(_from(fn, first, other), got):
            return f"which is the reduction along dimension {dim}"
    return "which no subset of these elements gives"


def _from(fn: Callable[..., float], start: float | None, values: Sequence[float]) -> float:
    """A reduction; without a start, it starts with the first element."""
    if start is None:
        return reduce_values(fn, values[0], values[1:]) if values else float("nan")
    return reduce_values(fn, start, values)


def matching_subset(total: Callable[[list[float]], float], values: Sequence[float], got: Any) -> tuple[int, ...] | None:
    """The largest subset of the elements that gives a number, by their ordinals; None if no subset does or there are too many."""
    if len(values) > SMALL:
        return None
    for size in range(len(values) - 1, -1, -1):
        for chosen in combinations(range(len(values)), size):
            if equal(total([values[i] for i in chosen]), got, 1e-7):
                return chosen
    return None


# Practice on the GPU


def sum_practice(call: Call) -> Difference | None:
    """Compare the sums of 32 elements that every block writes."""
    out, a, size = np.asarray(call.before[0]), np.asarray(call.before[1]), int(call.before[2])
    after = np.asarray(call.after[0])
    blocks = -(-size // 32)
    expected = [float(np.sum(a[32 * i : min(32 * i + 32, size)])) for i in range(blocks)]
    for place in range(len(after)):
        e = expected[place] if place < blocks else out[place]
        if not equal(e, after[place], tolerance(after)):
            part = a[32 * place : min(32 * place + 32, size)]
            what = f"the sum of a[{32 * place}] to a[{min(32 * place + 32, size) - 1}]" if place < blocks else "the old content"
            rows = [("Expected", f"{format_number(e)}, {what}"), ("Yours", format_number(after[place]))]
            if place < blocks and len(part) > 1:
                halves = {f"a[{32 * place + i}]": value for i, value in enumerate(part) if equal(e - value, after[place])}
                rows += [("Which is", f"the sum without {next(iter(halves))}")] if halves else []
            return Difference(f"out[{place}], of block {place}", tuple(rows), "numpy.sum of every 32 elements")
    return None


CUDA: dict[str, tuple[Judge, bool]] = {
    "tensor_map": (map_kernel, True),
    "tensor_zip": (zip_kernel, True),
    "tensor_reduce": (reduce_kernel, True),
    "_sum_practice": (sum_practice, False),
}

INNER: dict[str, Judge] = {
    f"minitorch.{module}:{name}": judge
    for module in ("tensor_ops", "fast_ops")
    for name, judge in (("tensor_map", map_kernel), ("tensor_zip", zip_kernel), ("tensor_reduce", reduce_kernel))
}
