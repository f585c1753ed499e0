"""The kernels of Modules 2 and 3: map, zip and reduce, on storages; compared with NumPy, which reads the same storages by their strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Wrong, shown_number
from course.oracles.strided import Index, Strided, equal, operand, tolerance

ORACLE = "NumPy, which reads and writes the same storages by their shapes and strides"

SMALL = 12
"""Of so many elements every choice is tried, to say which were folded."""


def function(call: Call) -> Any:
    """The function on numbers that a kernel was made for."""
    names = call.target.function.__code__.co_varnames
    fn = call.closure["fn"] if "fn" in call.closure else call.closure[names[0]]
    return getattr(fn, "fn", getattr(fn, "py_func", fn))  # of a compiled function, and of one for the GPU, what was compiled


def called(fn: Any) -> str:
    """Its name; of a function that `ieee` or the simulator has wrapped the inner one's."""
    while getattr(fn, "__name__", "") in ("quiet", "simulated"):
        inner = [cell.cell_contents for cell in fn.__closure__ or () if callable(cell.cell_contents)]
        if not inner:
            break
        fn = inner[0]
    name = getattr(fn, "__name__", "fn")
    return "fn" if name == "<lambda>" else name


def operands(call: Call, names: Sequence[str], sized: bool) -> tuple[Strided, list[Strided], Any, list[Any]]:
    """What a kernel was given.

    Args:
        call: Its call.
        names: Of the inputs.
        sized: Whether the size of out stands behind its strides.

    Returns:
        Out as it was, the inputs, out's storage as it is now, and the other arguments.
    """
    values = list(call.before)
    out = operand("out", *values[:3])
    values = values[4 if sized else 3 :]
    inputs = [operand(name, *values[3 * i : 3 * i + 3]) for i, name in enumerate(names)]
    return out, inputs, np.asarray(call.after[0]), values[3 * len(names) :]


def map_kernel(call: Call) -> Wrong | None:
    """Whether map is right."""
    fn = function(call)
    out, inputs, after, _ = operands(call, _input_names(call, 1), len(call.before) == 7)
    return _with_notes(call, elementwise(fn, out, inputs, after))


def zip_kernel(call: Call) -> Wrong | None:
    """Whether zip is right."""
    fn = function(call)
    out, inputs, after, _ = operands(call, ["a", "b"], len(call.before) == 10)
    return _with_notes(call, elementwise(fn, out, inputs, after))


def _with_notes(call: Call, wrong: Wrong | None) -> Wrong | None:
    """What is wrong with a kernel, with what was noted while it ran."""
    return replace(wrong, rows=(*wrong.rows, *(("Mind", note) for note in dict.fromkeys(call.inside)))) if wrong else None


def _input_names(call: Call, count: int) -> list[str]:
    return ["in"] if count == 1 else ["a", "b"]


def elementwise(fn: Callable[..., float], out: Strided, inputs: Sequence[Strided], after: Any) -> Wrong | None:
    """Whether a kernel has written fn of its inputs' elements into the elements of out."""
    columns = [np.broadcast_to(x.array, out.shape).reshape(-1).tolist() for x in inputs]
    with np.errstate(all="ignore"):
        expected = np.array([fn(*values) for values in zip(*columns, strict=True)], np.float64).reshape(out.shape)
    index = wrong_cell(out, expected, after)
    if index is None:
        return beside(out, after)
    sources = [x.source(index) for x in inputs]
    terms = ", ".join(f"{x.name}[{_shown(source)}]" for x, source in zip(inputs, sources, strict=True))
    numbers = ", ".join(shown_number(x.array[source]) for x, source in zip(inputs, sources, strict=True))
    got = after[out.position(index)]
    read = _read(fn, inputs, sources, got)
    rows = [
        ("Expected", f"{called(fn)}({terms}) = {called(fn)}({numbers}) = {shown_number(expected[index])}"),
        ("Yours", f"{shown_number(got)}, {_origin(fn, out, inputs, index, got, read)}"),
        ("out", _now(out, after).drawn({index: "><"})),
    ]
    for x, source, other in zip(inputs, sources, read or [None] * len(inputs), strict=True):
        marks = {source: "[]"} | ({other: "()"} if other is not None and other != source else {})
        rows.append((x.name, x.drawn(marks)))
    return Wrong(cell_name(out, index), (*rows, LEGEND), ORACLE)


LEGEND = ("", ">wrong<  [should be read]  (gives what was written)")


def wrong_cell(out: Strided, expected: Any, after: Any) -> Index | None:
    """The first element of out, last dimension fastest, that does not hold what is expected."""
    wrong = ~equal(expected, _now(out, after).array, tolerance(after))
    places = np.argwhere(wrong)
    return tuple(map(int, places[0])) if len(places) else None


def cell_name(out: Strided, index: Index) -> str:
    """An element in words."""
    return f"cell ({_shown(index)}) of out, position {out.position(index)} of its storage"


def beside(out: Strided, after: Any) -> Wrong | None:
    """Whether a kernel has written beside the elements of out."""
    cells = {out.position(index) for index in np.ndindex(*out.shape)}
    others = [i for i in range(len(after)) if i not in cells and not equal(after[i], out.storage[i])]
    if not others:
        return None
    rows = (
        ("Expected", f"{shown_number(out.storage[others[0]])}, which stood there before"),
        ("Yours", shown_number(after[others[0]])),
        ("out", _now(out, after).drawn({})),
    )
    return Wrong(f"position {others[0]} of out's storage, where no element of out stands", rows, ORACLE)


def _now(out: Strided, after: Any) -> Strided:
    return Strided(out.name, after, out.shape, out.strides)


def _shown(index: Sequence[int]) -> str:
    return ", ".join(map(str, index))


def _read(fn: Callable[..., float], inputs: Sequence[Strided], sources: Sequence[Index], got: Any) -> list[Index] | None:
    """From which elements of the inputs a number comes, as near as can be to those it should come from; None if from none."""
    indices = [
        sorted(np.ndindex(*x.shape), key=lambda index, near=source: _far(index, near)) for x, source in zip(inputs, sources, strict=True)
    ]
    if len(inputs) == 2:
        pairs = [(i, j) for i in indices[0][:40] for j in indices[1][:40]]
        pairs.sort(key=lambda pair: _far(pair[0], sources[0]) + _far(pair[1], sources[1]))
    else:
        pairs = [(i,) for i in indices[0][:400]]
    for pair in pairs:
        if equal(_value(fn, [x.array[index] for x, index in zip(inputs, pair, strict=True)]), got):
            return list(pair)
    return None


def _far(index: Sequence[int], other: Sequence[int]) -> int:
    return sum(abs(i - j) for i, j in zip(index, other, strict=True))


def _value(fn: Callable[..., float], values: Sequence[Any]) -> float:
    """fn of numbers; NaN where it has none."""
    try:
        return float(fn(*[value.item() for value in values]))
    except (ArithmeticError, ValueError):
        return float("nan")


def _origin(fn: Callable[..., float], out: Strided, inputs: Sequence[Strided], index: Index, got: Any, read: list[Index] | None) -> str:
    """Where a wrong number comes from, as far as that can be told."""
    if equal(out.array[index], got):
        return "which stood there before: nothing was written"
    sources = [x.source(index) for x in inputs]
    if len(inputs) == 2 and equal(_value(fn, [inputs[1].array[sources[1]], inputs[0].array[sources[0]]]), got):
        return f"which is {called(fn)}(b, a): the arguments are swapped"
    if read is None:
        if len(inputs) == 2:
            return "which comes from none of the elements near these"
        read_at = [i for i, number in enumerate(inputs[0].storage) if equal(_value(fn, [number]), got)]
        gap = f"which is {called(fn)} of position {read_at[0]} of in's storage, where no element of in stands" if read_at else ""
        return gap or "which comes from nothing in the input's storage"
    return "which is " + f"{called(fn)}(" + ", ".join(f"{x.name}[{_shown(place)}]" for x, place in zip(inputs, read, strict=True)) + ")"


# Reduce


def reduce_kernel(call: Call) -> Wrong | None:
    """Whether reduce is right: every element of out folds a line of a, from what stood in out on; on the GPU from a given number on."""
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
        expected[index] = fold(fn, float(first), [a.array[place] for place in lines[index]])
    index = wrong_cell(out, expected, after)
    if index is None:
        return beside(out, after)
    first = float(rest[1] if on_gpu else out.array[index])
    got = after[out.position(index)]
    values = [a.array[place] for place in lines[index]]
    rows = [
        ("Expected", f"{shown_number(expected[index])}, {called(fn)} of {shown_number(first)} and {_values(values)}"),
        ("Yours", f"{shown_number(got)}, {_folded(fn, first, a, lines[index], index, got, out)}"),
        ("out", _now(out, after).drawn({index: "><"})),
        ("a", f"folded along dimension {dim}\n" + a.drawn(dict.fromkeys(lines[index], "[]"))),
    ]
    return Wrong(cell_name(out, index), (*rows, ("", ">wrong<  [should be folded]")), ORACLE)


def _block(call: Call) -> int:
    """How many elements a block of threads folds."""
    import sys

    return sys.modules["minitorch.cuda_ops"].REDUCE_BLOCK


def fold(fn: Callable[..., float], total: float, values: Sequence[Any]) -> float:
    """The elements folded from the first to the last."""
    with np.errstate(all="ignore"):
        for value in values:
            total = fn(total, float(value))
    return total


def _values(values: Sequence[Any]) -> str:
    words = list(map(shown_number, values))
    return ", ".join(words[:8]) + (f", … ({len(words)} elements)" if len(words) > 8 else "") or "nothing"


def _folded(fn: Callable[..., float], first: float, a: Strided, line: Sequence[Index], index: Index, got: Any, out: Strided) -> str:
    """What was folded instead, as far as that can be told."""
    values = [float(a.array[place]) for place in line]
    if equal(got, out.array[index]) and values:
        return "which stood there before: nothing was written"
    if equal(fold(fn, first, values[::-1]), got):
        return "which comes out from the last element to the first"
    total = first
    for value in values:
        total = fn(value, total)
    if equal(total, got):
        return f"which comes out if {called(fn)} is given the element first and what was folded second"
    starts = {"": first, "without what stood in out, ": None, "from 0 on, ": 0.0}
    for words, start in starts.items():
        if equal(_from(fn, start, values), got) and words:
            return f"which comes out {words}of all elements"
    for words, start in starts.items():
        if (chosen := chosen_elements(lambda kept, start=start: _from(fn, start, kept), values, got)) is not None:
            left = [f"a[{_shown(place)}]" for i, place in enumerate(line) if i not in chosen]
            return f"which comes out {words}if {', '.join(left)} {'is' if len(left) == 1 else 'are'} left out"
    for dim, size in enumerate(a.shape):
        other = [
            float(a.array[(*index[:dim], k, *index[dim + 1 :])])
            for k in range(size)
            if all(i < n for i, n in zip(index, a.shape, strict=True))
        ]
        if equal(_from(fn, first, other), got):
            return f"which comes out along dimension {dim}"
    return "which comes from no choice of these elements"


def _from(fn: Callable[..., float], start: float | None, values: Sequence[float]) -> float:
    """A fold; without a start from its first element."""
    if start is None:
        return fold(fn, values[0], values[1:]) if values else float("nan")
    return fold(fn, start, values)


def chosen_elements(total: Callable[[list[float]], float], values: Sequence[float], got: Any) -> tuple[int, ...] | None:
    """The numbers of those elements, as many as possible, that give what was written; None if no choice does, or there are too many."""
    if len(values) > SMALL:
        return None
    for size in range(len(values) - 1, -1, -1):
        for chosen in combinations(range(len(values)), size):
            if equal(total([values[i] for i in chosen]), got, 1e-7):
                return chosen
    return None


# Practice on the GPU


def sum_practice(call: Call) -> Wrong | None:
    """Whether every block has written the sum of its 32 elements."""
    out, a, size = np.asarray(call.before[0]), np.asarray(call.before[1]), int(call.before[2])
    after = np.asarray(call.after[0])
    blocks = -(-size // 32)
    expected = [float(np.sum(a[32 * i : min(32 * i + 32, size)])) for i in range(blocks)]
    for place in range(len(after)):
        e = expected[place] if place < blocks else out[place]
        if not equal(e, after[place], tolerance(after)):
            part = a[32 * place : min(32 * place + 32, size)]
            what = f"the sum of a[{32 * place}] to a[{min(32 * place + 32, size) - 1}]" if place < blocks else "which stood there before"
            rows = [("Expected", f"{shown_number(e)}, {what}"), ("Yours", shown_number(after[place]))]
            if place < blocks and len(part) > 1:
                halves = {f"a[{32 * place + i}]": value for i, value in enumerate(part) if equal(e - value, after[place])}
                rows += [("Which is", f"the sum without {next(iter(halves))}")] if halves else []
            return Wrong(f"out[{place}], of block {place}", tuple(rows), "numpy.sum of every 32 elements")
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
