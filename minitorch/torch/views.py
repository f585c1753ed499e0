"""Stage 7 - Views: tensors over the memory of another, their base. A write into one gives all of them another history.

As in PyTorch, a write into a view is recorded as a write into a part of its base, and every other view then depends on the base as it has
become. A base knows its views by weak references.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import ref

import numpy as np

from minitorch.autodiff import LEAF, History
from minitorch.autograd.in_place import keep_past, record, snapshot
from minitorch.core.context import grad_mode
from minitorch.core.layout_functions import Expand, Select
from minitorch.ops.indexing import Put
from minitorch.ops.views import AsStrided, StridedView, elements
from minitorch.tensor_functions import Function, Permute, View

VIEWS = frozenset((View, Permute, Expand, Select, StridedView, AsStrided))
"""The functions whose results share memory with their input."""

NO_GRAD = "was made within no_grad; make it and write into it both within no_grad, or both outside"
SEVERAL = "is one of several that one function returned; take it by an index, such as x[0], or compute a new tensor"

DEAD = 64  # after so many more views, a base forgets those that no longer exist


def relate(view: Any, x: Any) -> None:
    """Note that a new tensor is a view of another, or of its base."""
    view._why = None if grad_mode.enabled else NO_GRAD
    try:
        base, views = x._base, x._views
    except AttributeError:  # it comes from a pickle, for example
        base = x._base = views = x._views = None
    if base is None:
        base = x
    else:
        views = base._views
        view._why = view._why or x._why
    view._base = base
    if base.history is LEAF:  # no write into it will be recorded
        return
    if views is None:
        base._views = [ref(view)]
        return
    views.append(ref(view))
    if len(views) % DEAD == 0:
        views[:] = [each for each in views if each() is not None]


def several(views: Iterable[Any]) -> tuple[Any, ...]:
    """The views that one function returns, into which no write is recorded."""
    found = tuple(views)
    for view in found:
        if base_of(view) is not view and view._why is not NO_GRAD:
            view._why = SEVERAL
    return found


def base_of(x: Any) -> Any:
    """The tensor whose memory a view shows; of another tensor, itself."""
    base = getattr(x, "_base", None)
    return x if base is None else base


def requires_grad(x: Any) -> bool:
    """Whether gradients flow into a tensor or, for a view made within no_grad, into its base."""
    return x.history is not None or base_of(x).history is not None


def check_writable(x: Any, name: str) -> None:
    """Check that a write into a tensor can be recorded.

    Raises:
        RuntimeError: If it is a leaf that requires gradients, a view of one, or a view whose write PyTorch refuses.
    """
    base = base_of(x)
    if base is not x and x._why is not None:
        raise RuntimeError(f"{name}: this view cannot be changed in place, because it {x._why}")
    if x.history is not None and base.history is LEAF:
        which = "a leaf that requires gradients" if base is x else "a view of a leaf that requires gradients"
        raise RuntimeError(f"{name}: {which} cannot be changed in place; do it within torch.no_grad()")


def rebase(x: Any, before: Any, history: History | None) -> None:
    """Give a tensor that was written into the history of its new numbers; its base and their views follow.

    Args:
        x: The tensor.
        before: Its snapshot from before the write.
        history: That of the new numbers.
    """
    base = base_of(x)
    if base is x:
        keep_past(x, before, history)
    else:
        whole, part = snapshot(base), snapshot(x)
        part.history = history
        index = np.unravel_index(elements(base._tensor, x._tensor), base._tensor.shape) if base._tensor.shape else ()
        keep_past(base, whole, record(Put, (whole, index, part), (index, part._tensor.shape)))
    for each in getattr(base, "_views", None) or ():
        view = each()
        if view is not None:
            keep_past(view, snapshot(view), history_of(view, base))


def history_of(view: Any, base: Any) -> History:
    """The history of a view of a base that was written into."""
    if view._why is not None:
        return record(Refused, (base, view._why), (view._why,))
    return record(Select, (base, None), (base._tensor.shape, elements(base._tensor, view._tensor)))


class Refused(Function):
    """A view whose base was written into, which has no gradient."""

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        """Not defined.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(f"the gradient of this view is not defined after a write into its base, because it {ctx.saved_values[0]}")
