"""Stage 7 - Writing into a computed tensor: what used it before goes on with the tensor that it was.

A node of the graph refers to its inputs, which are tensors. A write in place gives a tensor another history, so a tensor that stands for it
as it was, over the same memory, takes its place in the nodes that were recorded earlier.

A function in place computes from that earlier tensor. Where its nodes need the numbers that the write destroys, they get a copy.
"""

from __future__ import annotations

import math
import os
import sys
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from minitorch.autodiff import LEAF, History
from minitorch.core.context import TensorContext, bilinear, needs_value
from minitorch.core.tensor_base import TensorBase
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData, version_counter
from minitorch.tensor_functions import Function, MatMul, Mul

RETAINED = object()
"""The key of the hook that keeps the gradient of a computed tensor. It stays with the tensor, and runs after all others."""

used = False  # whether any tensor has a past

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

bilinear |= {Mul, MatMul}


# The tensor as it was


def snapshot(x: Any, data: TensorData | None = None) -> Any:
    """A tensor that stands for another as it is now, without its hooks, over the same memory or other data."""
    history = x.history
    if history is not None and history is not LEAF:
        history = History(history.last_fn, history.ctx, history.inputs)  # of its own, because backward frees each as it passes
    made: Any = Tensor._like(x, x._tensor if data is None else data, history)
    made._base = made._views = None
    return made


def keep_past(x: Any, before: Any, history: History | None) -> None:
    """Give a tensor another history; its snapshot takes its hooks and its place in the nodes recorded so far."""
    global used
    if x._hooks is not None:
        before._hooks, x._hooks = x._hooks, None
        if RETAINED in before._hooks:
            x._hooks = {RETAINED: before._hooks.pop(RETAINED)}
    past = getattr(x, "_past", None)
    if past is None:
        past = x._past = []
    past.append((next(version_counter), before))
    x.history, used = history, True


def restore_past(*outputs: Any) -> None:
    """Replace, in the graph of these tensors, inputs that were written into after they were used by what they were."""
    if not used:
        return
    for history, ctx in graph(*outputs):
        recorded_at = getattr(ctx, "recorded_at", math.inf)
        history.inputs, ctx.args, ctx._saved = (_as_of(recorded_at, xs) for xs in (history.inputs, ctx.args, ctx._saved))


def graph(*outputs: Any, since: float = 0) -> Iterator[tuple[Any, Any]]:
    """Every history that led to these tensors, once, with its context; its inputs are read after the caller has seen it.

    Args:
        outputs: The tensors.
        since: Where to stop: at calls that were recorded before this value of the version counter.
    """
    seen: set[int] = set()
    nodes = list(outputs)
    while nodes:
        history = nodes.pop().history
        if history is None or history.ctx is None or id(history) in seen or getattr(history.ctx, "recorded_at", math.inf) < since:
            continue
        seen.add(id(history))
        yield history, history.ctx
        nodes += history.inputs


def _as_of(time: float, values: Any) -> tuple[Any, ...]:
    """Values with the tensors among them as they were at a time."""
    return tuple([_at(time, x) if hasattr(x, "_past") else x for x in values])


def _at(time: float, x: Any) -> Any:
    """A tensor as it was at a time: the snapshot of the first later write."""
    number = bisect_right(x._past, time, key=lambda entry: entry[0])
    return x._past[number][1] if number < len(x._past) else x


# What the nodes of a function in place saved


def keep_saved(before: Any, out: Any, since: float) -> list[TensorContext]:
    """Give the nodes of a function in place a copy of its tensor, where their gradients need the numbers that the write destroys.

    Args:
        before: The snapshot that the function computed from.
        out: Its result.
        since: The version counter before the call.

    Returns:
        The contexts that saved the result, which is about to become the tensor.
    """
    copy, results = None, []
    for _, ctx in graph(out, since=since):
        if any(value is before and needs_value(ctx, value) for value in ctx._saved):
            if copy is None:
                copy = snapshot(before, before.f.id_map(before)._tensor)
            ctx._saved, ctx.args = (tuple([copy if x is before else x for x in values]) for values in (ctx._saved, ctx.args))
        if any(isinstance(value, TensorBase) and value._tensor is out._tensor for value in ctx._saved):
            results.append(ctx)
    return results


def record(fn: type[Function], args: tuple[Any, ...], saved: tuple[Any, ...]) -> History:
    """The history of a call of a function whose result exists already."""
    ctx: Any = TensorContext(fn, args, False)
    ctx.recorded_at = next(version_counter)
    ctx.save_for_backward(*saved)
    return History(fn, ctx, [x for x in args if isinstance(x, TensorBase)])


# Where a tensor was written into


def note_write(x: Any, name: str) -> None:
    """Note, for the message of a backward pass, which call last wrote into the memory of a tensor, and where it stands."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    version = x._tensor._version
    version[2:] = [(version[1], name, frame.f_code.co_filename, frame.f_lineno)]
