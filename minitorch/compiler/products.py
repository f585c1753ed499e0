"""Stage 5 - Products: a matrix product that was written as a broadcast multiplication and a sum becomes one operation.

Before, of a linear layer as in Module 2, x: (50, 2), W: (2, 10):

    t8: float64[50, 2, 10] = mul(x, W)
    t9: float64[50, 1, 10] = add(t8, dims=1)

After:

    t9: float64[50, 10] = matmul(x, W)

A loop over both would read and write each sum once for every number; a product adds several numbers to a row of sums at once, in vectors.
For that, the columns of the second factor must lie side by side: if they do not, the product is transposed, or the factor copied.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from minitorch import operators
from minitorch.compiler.fuse import kind_of
from minitorch.compiler.rewriting import is_whole, nodes_by_buffer, read, written
from minitorch.compiler.trace import TEMPORARY, Buffer, Launch, Node, Slice, View
from minitorch.core.recording import copy
from minitorch.tensor_data import broadcast_strides


class Dims(NamedTuple):
    """The roles of a multiplication's dimensions in a product.

    Attributes:
        row: That of the rows: only the first factor varies along it.
        inner: That of the sum.
        column: That of the columns: only the second factor varies along it.
    """

    row: int
    inner: int
    column: int


def find_products(nodes: list[Node], kept: Collection[Buffer]) -> list[Node]:
    """Replace each multiplication that only one sum reads by a product, where it is one of two matrices."""
    writers, readers = nodes_by_buffer(written, nodes), nodes_by_buffer(read, nodes)
    dropped: set[Node] = set()
    remaining = []
    for number, node in enumerate(nodes):
        product = None
        if node.kind == "reduce" and node.fn is operators.add and node.attrs["start"] == 0.0:
            times = writers.get(node.inputs[0].buffer, [])
            if len(times) == 1 and readers[node.inputs[0].buffer] == [number] and node.inputs[0].buffer not in kept:
                source = nodes[times[0]]
                changed = any(times[0] < time < number for view in source.inputs for time in writers.get(view.buffer, ()))
                product = None if changed else as_product(source, node)
                dropped |= {source} if product else set()
        remaining.append(product or node)
    found = [node for node in remaining if node not in dropped]
    return [part for node in found for part in (arrange(node) if kind_of(node) == "matmul" else [node])]


def as_product(mul: Node, total: Node) -> Node | None:
    """A multiplication and the sum of its result as a matrix product; None if they do not compute one."""
    if mul.fn is not operators.mul or mul.kind != "zip" or mul.out is None or total.out is None or not is_whole(mul.out):
        return None
    if mul.out.dtype.kind != "f":
        return None
    if mul.out != total.inputs[0] or mul.out.dtype != total.out.dtype or any(view.dtype != mul.out.dtype for view in mul.inputs):
        return None
    shape = mul.out.shape
    strides = [broadcast_strides(view.shape, view.strides, shape) for view in mul.inputs]
    for first, second in ((0, 1), (1, 0)):
        dims = roles(shape, total.out.shape, strides[first], strides[second])
        if dims is not None:
            a = matrix(mul.inputs[first], shape, strides[first], dims.row, dims.inner)
            b = matrix(mul.inputs[second], shape, strides[second], dims.inner, dims.column)
            out = matrix(total.out, shape, total.out.strides, dims.row, dims.column)
            return replace(
                total, kind="matmul", name="matmul", fn=None, out=out, inputs=(a, b), attrs={}, launches=mul.launches + total.launches
            )
    return None


def roles(shape: tuple[int, ...], result: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> Dims | None:
    """The roles of the dimensions, if the columns come last; None if it is no product.

    Args:
        shape: Of the multiplication.
        result: Of the sum, of the same number of dimensions: 1 where it is summed.
        a: Strides of the first factor in that shape.
        b: Strides of the second.
    """
    dims = [dim for dim, size in enumerate(shape) if size != 1]
    inner = [dim for dim in dims if result[dim] == 1]
    row = [dim for dim in dims if result[dim] != 1 and a[dim] and not b[dim]]
    column = [dim for dim in dims if result[dim] != 1 and b[dim] and not a[dim]]
    if len(dims) != 3 or not len(inner) == len(row) == len(column) == 1 or row > column:
        return None
    return Dims(row[0], inner[0], column[0])


WIDE = 4
"""Number of columns from which on several are summed at once in a vector."""


def arrange(node: Node) -> list[Node]:
    """A product such that numbers that are read one after the other lie side by side: transposed, or after a copy of its second factor.

    The columns of the result are summed at once, so that a row of the second factor is read as vectors.
    """
    out, (a, b) = node.out, node.inputs
    assert out is not None
    rows, columns = out.shape
    if b.strides[1] == 1 and columns >= WIDE:
        return [node]
    if rows >= WIDE and (a.strides[0] == 1 or columns < WIDE):
        return [replace(node, out=transposed(out), inputs=(transposed(b), transposed(a)))]
    if b.strides[1] == 1 or rows < WIDE:
        return [node]
    buffer = Buffer(f"{b}_copy", np.empty(math.prod(b.shape), b.dtype), TEMPORARY)
    made = View(buffer, b.shape, (b.shape[1], 1))
    launch = Launch(copy, (Slice(buffer, 0, b.shape, (b.shape[1] * b.dtype.itemsize, b.dtype.itemsize), b.dtype), slice_of(b)))
    copied = Node("map", "id", operators.id, made, (b,), launches=[launch], phase=node.phase, line=node.line)
    return [copied, replace(node, inputs=(a, made))]


def transposed(view: View) -> View:
    """The transpose of a matrix."""
    return replace(view, shape=view.shape[::-1], strides=view.strides[::-1])


def slice_of(view: View) -> Slice:
    """A view as the argument of a launch."""
    size = view.dtype.itemsize
    return Slice(view.buffer, view.offset * size, view.shape, tuple([stride * size for stride in view.strides]), view.dtype)


def matrix(view: View, shape: tuple[int, ...], strides: tuple[int, ...], row: int, column: int) -> View:
    """A view as a matrix of two of the dimensions."""
    return replace(view, shape=(shape[row], shape[column]), strides=(strides[row], strides[column]))
