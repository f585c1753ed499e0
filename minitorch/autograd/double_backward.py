"""Stage 5 - Backwards of unknown make: they are watched while they are recorded, so that no derivative is lost unseen.

A backward can be differentiated again if it is made of operations on tensors, and works on what forward was given or returned. Whether it
is, nobody can tell by looking at it. So it gets tensors that complain when somebody reads their numbers outside an operation: a kernel,
NumPy, `item()`. What it saved is compared with the arguments and the result.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context, History
from minitorch.core.context import TensorContext, grad_mode
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend


class NotDifferentiable(Exception):
    """Why a backward cannot be recorded."""


class TraceState(threading.local):
    """Whether a backward is being watched in this thread.

    Attributes:
        on: Whether it is.
    """

    on = False


trace_state = TraceState()

STORAGE: Any = TensorData._storage
"""Where every TensorData keeps its numbers, watched or not."""


class TracedData(TensorData):
    """The same numbers, which only operations may read while a backward is watched."""

    __slots__ = ()

    @property
    def _storage(self) -> Any:  # type: ignore[override]  # there a slot
        if trace_state.on and grad_mode.enabled:  # within a recorded operation recording is off
            raise NotDifferentiable("its backward reads the numbers of a tensor outside of operations on tensors")
        return STORAGE.__get__(self)

    @_storage.setter
    def _storage(self, storage: Any) -> None:
        STORAGE.__set__(self, storage)


def share_storage(kind: type[TensorData], data: TensorData) -> TensorData:
    """Another object over the same storage in the same layout."""
    made = kind.__new__(kind)
    made._storage, made._version, made.dtype = STORAGE.__get__(data), data._version, data.dtype
    made._set_layout(data.shape, data.strides, data.offset)
    return made


class TracedTensor(Tensor):
    """A tensor in a watched backward; what is computed from it is one, too. Constants may be read."""

    __slots__ = ()

    def _like(self, data: TensorData, history: History | None = None, backend: TensorBackend | None = None) -> Tensor:
        """As that of Tensor."""
        made = TracedTensor(data, history, None, backend or self.backend)
        if history is not None:
            made._tensor = share_storage(TracedData, made._tensor)
        return made


class Alias(Function):
    """The same tensor under another name: a node of its own in the graph."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        return a.detach()

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        return grad_output


def trace_tensor(x: Any) -> Tensor:
    """An alias that is watched."""
    history = Alias.apply(x).history
    return TracedTensor._like(x, x._tensor, history)


def untrace_tensor(x: Any) -> Any:
    """An alias that is not; plain values as they are."""
    if not isinstance(x, TracedTensor):
        return x
    history = None if x.history is None else History(Alias, TensorContext(Alias, (x,), False), [x])
    return Tensor(share_storage(TensorData, x._tensor), history, None, x.backend)


def trace_backward(fn: type[Function], ctx: TensorContext, out: Tensor, grad_output: Tensor) -> tuple[Any, ...]:
    """What a function's backward returns, recorded.

    Args:
        fn: The function.
        ctx: What it kept.
        out: What it returned.
        grad_output: The gradient of that.

    Raises:
        Unrecorded: If a derivative would be lost.
    """
    if out.backend.cuda:
        raise NotDifferentiable("on a GPU it cannot be seen whether its backward is made of operations on tensors")
    known = [(x, trace_tensor(x)) for x in (out, *[arg for arg in ctx.args if isinstance(arg, Tensor)])]
    args = [next((twin for x, twin in known if x is arg), arg) for arg in ctx.args]
    shadow = TensorContext(fn, args, False)
    shadow._saved, shadow._saved_at = tuple(replace_saved(ctx.saved_values, known)), getattr(ctx, "_saved_at", 0)
    shadow.__dict__.update(replace_saved(ctx.__dict__, known))
    given = trace_tensor(grad_output)
    trace_state.on, before = True, trace_state.on
    try:
        gradients = fn._backward(shadow, given)
    finally:
        trace_state.on = before
    gradients = tuple(map(untrace_tensor, gradients))
    if grad_output.history is not None and any(map(is_independent, gradients)):
        raise NotDifferentiable("its backward returns a gradient that no operation on tensors has computed")
    return gradients


def replace_saved(value: Any, known: Sequence[tuple[Tensor, Tensor]]) -> Any:
    """What a function saved, with the aliases in place of its arguments and its result.

    Raises:
        Unrecorded: If there are numbers in it that are neither.
    """
    if type(value) in (tuple, list):
        return type(value)(replace_saved(part, known) for part in value)
    if type(value) is dict:
        return {name: replace_saved(part, known) for name, part in value.items()}
    is_tensor = isinstance(value, Tensor)
    for x, twin in known if is_tensor else ():
        if value is x or value._tensor is x._tensor:
            return twin
    if (is_tensor or isinstance(value, np.ndarray)) and value.dtype.kind not in "iub":  # whole numbers and truth values change in steps
        raise NotDifferentiable(f"it saved numbers of shape {tuple(value.shape)} that are neither an argument nor the result")
    return trace_tensor(value) if isinstance(value, Tensor) else value


def is_independent(gradient: Any) -> bool:
    """Whether a gradient is not 0 and depends on nothing."""
    if isinstance(gradient, Tensor):
        return gradient.history is None and bool(gradient._tensor.array().any())
    return gradient is not None and gradient != 0


class OnceDifferentiable(Function):
    """A gradient that cannot be differentiated again: whoever tries is told why."""

    @staticmethod
    def forward(ctx: Context, gradient: Tensor, fn: type[Function], reason: str, *sources: Tensor) -> Tensor:
        """The gradient; sources is all that it may depend on."""
        ctx.save_for_backward(fn, reason)
        return gradient.detach()

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Any:
        """There is none.

        Raises:
            RuntimeError: Always.
        """
        fn, reason = ctx.saved_values
        raise RuntimeError(
            f"the gradient of {fn.__name__} cannot be differentiated again: {reason}; write its backward with operations on tensors, "
            "from arguments and result alone, or give the class a static method composed(*args) that computes the same with such operations"
        )
