"""Stage 6 - Writing into a computed tensor: what used it before goes on with the tensor that it was.

A node of the graph refers to its inputs, which are tensors. A write in place gives a tensor another history, so a tensor that stands for it
as it was, over the same memory, takes its place in the nodes that were recorded earlier.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.autodiff import History
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import version_counter

used = False  # whether any tensor has a past


def keep_past(x: Tensor, history: History | None) -> Tensor:
    """Give a tensor another history, and return the tensor that stands for it as it was, with its hooks."""
    global used
    before = x._like(x._tensor, x.history)
    before._hooks, x._hooks = x._hooks, None
    x._past = [*getattr(x, "_past", ()), (next(version_counter), before)]
    x.history, used = history, True
    return before


def restore_past(*outputs: Tensor) -> None:
    """Replace, in the graph of these tensors, inputs that were written into after they were used by what they were."""
    if not used:
        return
    seen: set[int] = set()
    nodes = list(outputs)
    while nodes:
        history = nodes.pop().history
        if history is None or history.ctx is None or id(history) in seen:
            continue
        seen.add(id(history))
        ctx: Any = history.ctx
        recorded_at = getattr(ctx, "recorded_at", math.inf)
        history.inputs, ctx.args, ctx._saved = (_as_of(recorded_at, xs) for xs in (history.inputs, ctx.args, ctx._saved))
        nodes += history.inputs


def _as_of(time: float, values: Any) -> tuple[Any, ...]:
    """Values with the tensors among them as they were at a time."""
    return tuple([next((before for written, before in getattr(x, "_past", ()) if written > time), x) for x in values])
