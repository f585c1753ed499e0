"""Stage 5 - What passes know about a program: who writes and reads a buffer, and how a node is rewritten to use another one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from minitorch.compiler.program import map_leaves
from minitorch.compiler.trace import TEMPORARY, Buffer, Node, Slice, View
from minitorch.tensor_data import LARGE

Moves = Mapping[Buffer, tuple[Buffer, int]]
"""For a buffer the one to use instead, and how many elements later the same element lies there."""


def written(node: Node) -> list[Buffer]:
    """The buffers that a node may write: its result; all that a kernel touches, of which more is not known."""
    return [node.out.buffer] if node.out is not None else node.buffers()


def read(node: Node) -> list[Buffer]:
    """The buffers that a node may read."""
    return [view.buffer for view in node.inputs] if node.out is not None else node.buffers()


def nodes_by_buffer(buffers: Callable[[Node], list[Buffer]], nodes: Iterable[Node]) -> dict[Buffer, list[int]]:
    """For each buffer the numbers of the nodes that may write it, or read it: with `written` or `read` as buffers."""
    found: dict[Buffer, list[int]] = {}
    for number, node in enumerate(nodes):
        for buffer in buffers(node):
            found.setdefault(buffer, []).append(number)
    return found


def is_whole(view: View) -> bool:
    """Whether a view is a new, contiguous result: all of a temporary buffer of the program that nothing else refers to."""
    if view.buffer.pinned or view.buffer.role != TEMPORARY:
        return False
    step = 1
    for size, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    unused = view.buffer.array.size - step  # a large array begins at a cache line, with less than one unused before or after it
    return unused == 0 or (step >= LARGE and 0 < unused * view.dtype.itemsize <= 64)


def extents(nodes: Iterable[Node]) -> dict[Buffer, tuple[int, int]]:
    """The first element of each buffer that a program uses, and the one after the last.

    A large array begins at a cache line, so that the number of unused elements before it is another one in every process.
    """
    found: dict[Buffer, tuple[int, int]] = {}
    for node in nodes:
        views = [(view.buffer, view.offset, view.shape, view.strides, 1) for view in (node.out, *node.inputs) if view is not None]
        slices = [part for launch in node.launches for part in launch.slices()]
        views += [(part.buffer, part.start, part.shape, part.strides, part.dtype.itemsize) for part in slices]
        for buffer, start, shape, strides, size in views:
            end = start + size + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
            first, last = found.get(buffer, (start // size, 0))
            found[buffer] = min(first, start // size), max(last, -(-end // size))
    return found


def trim(nodes: list[Node], kept: Collection[Buffer]) -> list[Node]:
    """Replace temporary buffers by such without unused elements at either end."""
    moves = {}
    for buffer, (first, last) in extents(nodes).items():
        ours = buffer.role == TEMPORARY and not buffer.pinned and buffer not in kept and isinstance(buffer.array, np.ndarray)
        if ours and last - first < buffer.array.size:
            moves[buffer] = Buffer(buffer.name, buffer.array[first:last], TEMPORARY), -first
    return [moved(node, moves) for node in nodes]


def moved(node: Node, moves: Moves) -> Node:
    """The node with other buffers in the place of those that moved."""
    if not any(buffer in moves for buffer in node.buffers()):
        return node
    return replace(
        node,
        out=None if node.out is None else _moved_view(node.out, moves),
        inputs=tuple([_moved_view(view, moves) for view in node.inputs]),
        launches=[replace(launch, args=_moved_args(launch.args, moves)) for launch in node.launches],
    )


def _moved_view(view: View, moves: Moves) -> View:
    if view.buffer not in moves:
        return view
    buffer, shift = moves[view.buffer]
    return replace(view, buffer=buffer, offset=view.offset + shift)


def _moved_args(args: tuple[Any, ...], moves: Moves) -> tuple[Any, ...]:
    def move(arg: Any) -> Any:
        if not isinstance(arg, Slice) or arg.buffer not in moves:
            return arg
        buffer, shift = moves[arg.buffer]
        return replace(arg, buffer=buffer, start=arg.start + shift * arg.dtype.itemsize)

    return map_leaves(args, move)
