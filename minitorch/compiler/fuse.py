"""Stage 5 - Fusion: which nodes of a program become one loop.

Before, of relu(x @ W + b) and the sum of its gradient over the rows:

    t1: float64[50, 10] = matmul(x, W)
    t2: float64[50, 10] = add(t1, b)
    t3: float64[50, 10] = relu(t2)
    ...
    t8: float64[50, 10] = relu_back(t2, t7)
    t9: float64[1, 10] = add(t8, dims=0)

After: `add` and `relu` are one loop over the elements, in which t2 is a variable; `relu_back` and the sum are another, in which the sums
grow row by row. A result is written to memory only if a node outside of the loop reads it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitorch.compiler.rewriting import is_whole
from minitorch.compiler.trace import Buffer, Node, Slice, View
from minitorch.core.recording import copy, fill
from minitorch.tensor_data import broadcast_strides, strides_from_shape

MATMUL_LIMIT = 1 << 21
"""The largest number of multiplications of a product that is compiled into the program; the blocked kernel is faster for larger ones."""

SIZE_LIMIT = 1 << 14
"""The largest number of elements of an operation that is compiled into the program; larger ones may be divided among threads."""


@dataclass(eq=False)
class Group:
    """Nodes that become one loop, or one node.

    Attributes:
        kind: "loop", "matmul", "fill", "kernel" (a loop over tasks with a body that can be called), or "call" (launched as it is).
        nodes: The nodes, in order.
        space: Sizes of the loop's dimensions, those of size 1 left out.
        stored: The results that are written to memory; all others are variables.
    """

    kind: str
    nodes: list[Node]
    space: tuple[int, ...] = ()
    stored: set[Buffer] = field(default_factory=set)

    def buffers(self) -> list[Buffer]:
        """The buffers in memory that the group touches."""
        if self.kind == "matmul":  # not what its launches need in between
            return list(dict.fromkeys(view.buffer for node in self.nodes for view in (node.out, *node.inputs) if view is not None))
        found = dict.fromkeys(buffer for node in self.nodes for buffer in node.buffers())
        local = {node.out.buffer for node in self.nodes if node.out is not None} - self.stored if self.kind == "loop" else set()
        return [buffer for buffer in found if buffer not in local]


def group_nodes(nodes: list[Node], kept: Collection[Buffer], boundary: Node | None = None) -> list[Group]:
    """Divide a program into groups.

    Args:
        nodes: The program.
        kept: The buffers that are needed at the end.
        boundary: The first node of the backward pass, if that runs on its own; no loop crosses it.
    """
    groups: list[Group] = []
    for node in nodes:
        kind = kind_of(node)
        if kind == "loop" and groups and node is not boundary and _joins(groups[-1], node):
            groups[-1].nodes.append(node)
        else:
            groups.append(Group(kind, [node], _space(node) if kind == "loop" else ()))
    for number, group in enumerate(groups):
        if group.kind == "loop":
            group.stored = _stored(group, groups[number + 1 :], kept)
    return groups


def kind_of(node: Node) -> str:
    """The kind of a node's group."""
    if any(not isinstance(buffer.array, np.ndarray) or buffer.array.dtype.kind not in "fiub" for buffer in node.buffers()):
        return "call"
    if node.kind in ("map", "zip", "reduce"):
        views = [view for view in (node.out, *node.inputs) if view is not None]
        small = math.prod(views[0].shape) > 0 and max(math.prod(view.shape) for view in views) <= SIZE_LIMIT
        fits = node.kind == "reduce" or is_dense(views[0])
        return "loop" if small and fits and _is_compiled(node) else "call"
    if node.kind == "matmul":
        out, (a, _) = node.out, node.inputs
        small = out is not None and 0 < math.prod(out.shape) * a.shape[-1] <= MATMUL_LIMIT and len(out.shape) == len(a.shape) == 2
        floats = all(view.dtype.kind == "f" and view.dtype == a.dtype for view in (out, *node.inputs) if view is not None)
        return "matmul" if small and floats and _is_compiled(node) else "call"
    launch = node.launches[0]
    if launch.fn is fill and launch.rest is None:
        return "fill"
    small = all(math.prod(part.shape) <= SIZE_LIMIT for part in launch.slices())
    writable = small and hasattr(launch.fn, "body") and hasattr(launch.fn, "py_func") and len(node.launches) == 1
    return "kernel" if writable and all(map(_has_source, launch.args)) else "call"


def _has_source(arg: Any) -> bool:
    """Whether an argument of a launch can be written as source: part of a buffer, a number, or a tuple of these."""
    if isinstance(arg, tuple):
        return all(map(_has_source, arg))
    return type(arg) in (Slice, bool, int) or (type(arg) is float and math.isfinite(arg))


def is_dense(view: View) -> bool:
    """Whether a view has no gaps and no repeated elements, in the order of its dimensions."""
    return is_whole(view) or view.strides == strides_from_shape(view.shape)


def _is_compiled(node: Node) -> bool:
    """Whether compiled kernels launched it, so that a compiled program may compute it."""
    return bool(node.launches) and all(hasattr(launch.fn, "py_func") or launch.fn in (fill, copy) for launch in node.launches)


def loop_shape(node: Node) -> tuple[int, ...]:
    """The shape that a node loops over: that of its result, or of what it reduces."""
    view = node.inputs[0] if node.kind == "reduce" else node.out
    return () if view is None else view.shape


def loop_strides(view: View, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a view in a loop over a shape that it broadcasts to, without the dimensions of size 1."""
    return tuple([stride for stride, size in zip(broadcast_strides(view.shape, view.strides, shape), shape, strict=True) if size != 1])


def _space(node: Node) -> tuple[int, ...]:
    return tuple([size for size in loop_shape(node) if size != 1])


Places = tuple[int, tuple[int, ...]]
"""Where a view's elements lie at every step of a loop: offset and strides."""


def _joins(group: Group, node: Node) -> bool:
    """Whether a node can be computed in the loop of a group."""
    if group.kind != "loop" or group.space != _space(node):
        return False
    made: dict[Buffer, Places] = {}
    reads: dict[Buffer, set[Places]] = {}
    sums: set[Buffer] = set()
    for each in group.nodes:
        for view in each.inputs:
            reads.setdefault(view.buffer, set()).add(_places(view, each))
        out: Any = each.out
        if each.kind == "reduce":
            sums.add(out.buffer)
        else:
            made[out.buffer] = _places(out, each)
    for view in node.inputs:
        if view.buffer in sums or made.get(view.buffer, _places(view, node)) != _places(view, node):
            return False
    out = node.out
    if out.buffer in sums:
        return False
    if node.kind == "reduce":
        return out.buffer not in made and out.buffer not in reads
    places = _places(out, node)
    return made.get(out.buffer, places) == places and reads.get(out.buffer, {places}) == {places}


def _places(view: View, node: Node) -> Places:
    return view.offset, loop_strides(view, loop_shape(node))


def _stored(group: Group, later: Iterable[Group], kept: Collection[Buffer]) -> set[Buffer]:
    """The results of a loop that are needed outside of it; sums, and what is no temporary buffer of its own, always are."""
    results = {node.out.buffer for node in group.nodes if node.out is not None}
    needed = {node.out.buffer for node in group.nodes if node.out is not None and (node.kind == "reduce" or not is_whole(node.out))}
    for other in later:
        needed |= {buffer for node in other.nodes for buffer in node.buffers()}
    return results & (needed | set(kept))
