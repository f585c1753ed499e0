"""Stage 5 - Passes that make a program shorter: each takes its nodes and returns fewer that compute the same results.

Before, of loss = -(p.log().sum() / 50) and its backward pass:

    t1 = neg(c0)             a number of the program, negated
    t2 = log(p)
    t3 = add(t2, dims=0)
    t4 = neg(t3)
    t5 = mul(t4, c6)
    t7 = neg(c0)             the same again
    t8 = id(t7)              a copy
    sgd(W, t8)

`fold_constants` computes t1 and t7 now, because c0 is the same in every replay; of two equal operations on tensors, `reuse_results`
keeps the first; `skip_copies` lets sgd read t7 itself; `drop_unused` removes what nobody reads, here t1:

    t2 = log(p)
    t3 = add(t2, dims=0)
    t4 = neg(t3)
    t5 = mul(t4, c6)
    sgd(W, t7)
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from minitorch import operators
from minitorch.compiler.rewriting import is_whole, moved, nodes_by_buffer, read, written
from minitorch.compiler.trace import CONSTANT, EXTERNAL, INPUT, Buffer, Node

Pass = Callable[[list[Node], Collection[Buffer]], list[Node]]
"""Takes the nodes, and the buffers whose numbers are needed at the end."""


def fold_constants(nodes: list[Node], kept: Collection[Buffer]) -> list[Node]:
    """Remove operations whose inputs are the same in every replay: their results were computed while the program was recorded."""
    writers, remaining = nodes_by_buffer(written, nodes), []
    moves: dict[Buffer, tuple[Buffer, int]] = {}
    for node in nodes:
        node = moved(node, moves)
        out = node.out
        if (
            out is None
            or not is_whole(out)
            or len(writers[out.buffer]) > 1
            or out.buffer in kept
            or not _has_constant_inputs(node, writers)
        ):
            remaining.append(node)
        else:
            moves[out.buffer] = Buffer(out.buffer.name, out.buffer.array.copy(), CONSTANT, pinned=True), 0
    return remaining


def _has_constant_inputs(node: Node, writers: dict[Buffer, list[int]]) -> bool:
    return bool(node.inputs) and all(view.buffer.role == CONSTANT and view.buffer not in writers for view in node.inputs)


def reuse_results(nodes: list[Node], kept: Collection[Buffer]) -> list[Node]:
    """Compute equal operations on equal inputs once (common subexpressions)."""
    writers = nodes_by_buffer(written, nodes)
    kernels = {buffer for node in nodes if node.out is None for buffer in node.buffers()}
    first: dict[object, tuple[int, Node]] = {}
    moves: dict[Buffer, tuple[Buffer, int]] = {}
    remaining = []
    for number, node in enumerate(nodes):
        node = moved(node, moves)
        out = node.out
        if out is None or not is_whole(out) or len(writers[out.buffer]) != 1 or out.buffer in kernels:
            remaining.append(node)
            continue
        key = (node.kind, node.fn or node.name, out.shape, out.dtype, node.inputs, tuple(node.attrs.items()))
        since, twin = first.setdefault(key, (number, node))
        changed = any(since < time < number for view in node.inputs for time in writers.get(view.buffer, ()))
        if twin is node or changed or out.buffer in kept or twin.out is None:
            first[key] = (number, node)
            remaining.append(node)
        else:
            moves[out.buffer] = twin.out.buffer, twin.out.offset - out.offset
    return remaining


def skip_copies(nodes: list[Node], kept: Collection[Buffer]) -> list[Node]:
    """Read the original where a copy of it is read, as long as neither is written in between."""
    writers, readers = nodes_by_buffer(written, nodes), nodes_by_buffer(read, nodes)
    moves: dict[Buffer, tuple[Buffer, int]] = {}
    remaining = []
    for number, node in enumerate(nodes):
        node = moved(node, moves)
        if _is_skippable(number, node, kept, writers, readers):
            copy, (original,) = node.out, node.inputs
            moves[copy.buffer] = original.buffer, original.offset - copy.offset  # type: ignore[union-attr] - skippable
            for times in (writers, readers):  # what happens to the copy happens to the original now
                times[original.buffer] = sorted({*times.get(original.buffer, ()), *times.pop(copy.buffer, ())} - {number})  # type: ignore[union-attr]
        else:
            remaining.append(node)
    return remaining


def _is_skippable(
    number: int, node: Node, kept: Collection[Buffer], writers: dict[Buffer, list[int]], readers: dict[Buffer, list[int]]
) -> bool:
    if node.out is None or node.fn is not operators.id or not is_whole(node.out) or node.out.buffer in kept:
        return False
    (original,) = node.inputs
    if original.buffer.role in (EXTERNAL, INPUT, CONSTANT) or not is_whole(original) or original.dtype != node.out.dtype:
        return False
    of_copy = [time for time in (*writers[node.out.buffer], *readers.get(node.out.buffer, ())) if time > number]
    of_original = [time for time in (*writers.get(original.buffer, ()), *readers.get(original.buffer, ())) if time > number]
    if original.buffer in kept or set(of_copy) & set(of_original):  # a kernel that got both would get one array twice
        return False
    written_later = [time for time in (*writers[node.out.buffer], *writers.get(original.buffer, ())) if time > number]
    return not written_later or max(of_copy + of_original) <= min(written_later)


def drop_unused(nodes: list[Node], kept: Collection[Buffer]) -> list[Node]:
    """Remove operations whose results nobody reads (dead code)."""
    needed, remaining = set(kept), []
    for node in reversed(nodes):
        results = written(node)
        if node.out is not None and is_whole(node.out) and not needed.intersection(results):
            continue
        needed.update(node.buffers())
        remaining.append(node)
    return remaining[::-1]


PASSES: tuple[Pass, ...] = (fold_constants, reuse_results, skip_copies, drop_unused)
"""In the order in which they run."""
