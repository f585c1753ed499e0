"""Tasks 3.3, 3.4, 3.6, 3.7 and 6.5b: values of the transpose and the sum, and how often kernels need to read global memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference, format_number
from course.explain.unwritten_memory import old_content
from course.oracles.kernels import first_wrong_cell
from course.oracles.strided import Strided, contiguous_strides, equal, operand, tolerance

# Values


def transpose(call: Call) -> Difference | None:
    """Compare a transpose, whose arguments are out, a, rows and columns."""
    rows, columns = int(call.before[2]), int(call.before[3])
    a = np.asarray(call.before[1]).reshape(rows, columns)
    out = Strided("out", np.asarray(call.after[0]), (columns, rows), contiguous_strides((columns, rows)))
    index = first_wrong_cell(out, a.T, out.storage)
    if index is None:
        return None
    i, j = index
    got, elsewhere = out.array[index], np.argwhere(equal(a, out.array[index]))
    origin = old_content(got) if equal(got, np.asarray(call.before[0])[out.position(index)]) else ""
    if not origin and len(elsewhere) == 1:
        origin = f"which is a[{elsewhere[0][0]}, {elsewhere[0][1]}]"
    details = (
        ("Expected", f"a[{j}, {i}] = {format_number(a[j, i])}"),
        ("Yours", f"{format_number(got)}{', ' if origin else ''}{origin}"),
        ("a", f"{rows} rows, {columns} columns"),
    )
    return Difference(f"out[{i}, {j}], position {out.position(index)} of its storage", details, "numpy.transpose")


def block_sums(call: Call) -> Difference | None:
    """Compare the sums of blocks, of the arguments out, a and size."""
    import sys

    length, size = sys.modules["minitorch.cuda_kernels"].SUM_ELEMENTS, int(call.before[2])
    a, after = np.asarray(call.before[1]), np.asarray(call.after[0])
    for block in range(len(after)):
        first, last = block * length, min((block + 1) * length, size)
        expected = float(np.sum(a[first:last], dtype=np.float64))
        if equal(expected, after[block], tolerance(after)):
            continue
        got, origin = after[block], ""
        for end in np.flatnonzero(equal(np.cumsum(a[first:], dtype=np.float64), got))[:1]:
            origin = f", which is the sum of {_range(first, first + int(end) + 1)}"
        terms = f"the sum of {_range(first, last)}"
        rows = (("Expected", f"{format_number(expected)}, {terms}"), ("Yours", f"{format_number(got)}{origin}"))
        return Difference(f"out[{block}], of block {block}", rows, f"numpy.sum of every {length} elements")
    return None


def _range(first: int, last: int) -> str:
    """Elements of a, the last one excluded, in words."""
    return f"a[{first}] to a[{last - 1}]" if last - first > 1 else f"a[{first}] alone" if last > first else "no elements"


CUDA: dict[str, tuple[Judge, bool]] = {"transpose_kernel": (transpose, False), "sum_kernel": (block_sums, False)}


# Reads

Reads = dict[int, Any]
"""How often each element of an array has to be read from global memory, by the position of the array among a kernel's arguments."""


def _once(storage: Any, shape: Any, strides: Any, times: int = 1) -> Any:
    """The counts if every element is read the same number of times; an element that is broadcast counts as several."""
    x = operand("", storage, shape, strides)
    positions = Strided("", np.arange(len(x.storage)), x.shape, x.strides).array
    return times * np.bincount(positions.reshape(-1), minlength=len(x.storage))


def _map(args: Sequence[Any]) -> Reads:
    return {4: _once(*args[4:7])}


def _zip(args: Sequence[Any]) -> Reads:
    return {4: _once(*args[4:7]), 7: _once(*args[7:10])}


def _square(args: Sequence[Any]) -> Reads:
    return {i: np.ones(len(args[i]), int) for i in (1, 2)}


def _first(args: Sequence[Any]) -> Reads:
    return {1: np.ones(len(args[1]), int)}


def _product(args: Sequence[Any]) -> Reads:
    """Each row of a is needed by the blocks of all tiles side by side, each column of b by those one below the other."""
    import sys

    tile, (batch, rows, columns) = sys.modules["minitorch.cuda_ops"].BLOCK_DIM, map(int, args[1])
    reads = {}
    for place, blocks in ((4, -(-columns // tile)), (7, -(-rows // tile))):
        storage, shape, strides = args[place : place + 3]
        whole = (batch, *shape[1:]), (strides[0] if shape[0] > 1 else 0, *strides[1:])
        reads[place] = _once(storage, *whole, times=blocks)
    return reads


def _attention(args: Sequence[Any]) -> Reads:
    """Each query is needed once, and each key and value by the tiles of queries that need a key of its tile."""
    import sys

    tile, (queries, keys) = sys.modules["minitorch.language.cuda_attention"].TILE, (args[1].shape[1], args[2].shape[1])
    ends = [min(first + tile + keys - queries, keys) if args[5] else keys for first in range(0, queries, tile)]
    needed = [sum(key // tile * tile < end for end in ends) for key in range(keys)]
    times = np.array(needed)[:, None]
    return {1: 1, **{place: np.broadcast_to(times, args[place].shape).reshape(-1) for place in (2, 3)}}


READS: dict[str, Callable[[Sequence[Any]], Reads]] = {
    "minitorch.cuda_ops:tensor_map": _map,
    "minitorch.cuda_ops:tensor_zip": _zip,
    "minitorch.cuda_ops:tensor_reduce": _map,
    "minitorch.cuda_ops:_sum_practice": _first,
    "minitorch.cuda_ops:_mm_practice": _square,
    "minitorch.cuda_ops:_tensor_matrix_multiply": _product,
    "minitorch.cuda_kernels:transpose_kernel": _first,
    "minitorch.cuda_kernels:sum_kernel": _first,
    "minitorch.language.cuda_attention:attention_kernel": _attention,
}
