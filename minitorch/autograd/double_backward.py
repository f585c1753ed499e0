"""Stage 7 - Double backward of user-defined functions: trace a backward pass, and detect what cannot be differentiated.

A backward pass can be differentiated if it consists of tensor operations on the arguments and the result of forward. This
cannot be read off its code. So backward runs on traced tensors, which raise when a kernel, NumPy or `item()` reads their
elements outside an operation, and its saved values are compared with the arguments and the result.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context, History
from minitorch.core.context import TensorContext, grad_mode
from minitorch.core.tensor_base import Tensor, TensorBase, blank
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend


class NotDifferentiable(Exception):
    """A backward pass that cannot be recorded, with the reason."""


class TraceState(threading.local):
    """State of the current thread.

    Attributes:
        on: Whether a backward pass is being traced.
    """

    on = False


trace_state = TraceState()

STORAGE: Any = TensorData._storage
"""The slot in which every TensorData keeps its storage."""


class TracedData(TensorData):
    """TensorData whose storage only operations may read while a backward pass is traced."""

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
    """A new object with the same storage and layout."""
    made = kind.__new__(kind)
    made._storage, made._version, made.dtype = STORAGE.__get__(data), data._version, data.dtype
    made._set_layout(data.shape, data.strides, data.offset)
    return made


class Traced(TensorBase):
    """Mixin of a tensor in a traced backward pass; results computed from it are traced too. Constants may be read."""

    __slots__ = ()

    def _like(self, data: TensorData, history: History | None = None, backend: TensorBackend | None = None) -> Tensor:
        """See `Tensor._like`."""
        made = super()._like(data, history, backend)  # type: ignore[misc]  # it stands before a Tensor among the bases
        if history is not None:
            made._tensor = share_storage(TracedData, made._tensor)
        return made


@cache
def traced_class(kind: type[Tensor]) -> type[Tensor]:
    """`Tensor`, or a subclass of it, with `Traced`."""
    made: Any = type(f"Traced{kind.__name__}", (Traced, kind), {"__slots__": ()})
    made._plain = made
    return made


class Alias(Function):
    """The same tensor as a separate node of the graph."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        return a.detach()

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        return grad_output


def trace_tensor(x: Any) -> Tensor:
    """A traced alias of x."""
    kind = type(x) if isinstance(x, Traced) else traced_class(x._plain)
    return blank(x, kind)._like(x._tensor, Alias.apply(x).history)


def untrace_tensor(x: Any) -> Any:
    """An untraced alias of x; other values unchanged."""
    if not isinstance(x, Traced):
        return x
    history = None if x.history is None else History(Alias, TensorContext(Alias, (x,), False), [x])
    kind: Any = type(x).__bases__[1]
    return blank(x, kind)._like(share_storage(TensorData, x._tensor), history)


def trace_backward(fn: type[Function], ctx: TensorContext, out: Tensor, grad_output: Tensor) -> tuple[Any, ...]:
    """The gradients that the backward of a function returns, recorded. Raises NotDifferentiable if a derivative would be lost."""
    if out.backend.cuda:
        raise NotDifferentiable("on a GPU it cannot be seen whether its backward is made of operations on tensors")
    known = [(x, trace_tensor(x)) for x in (out, *[arg for arg in ctx.args if isinstance(arg, TensorBase)])]
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
    """Saved values with the arguments and the result replaced by their aliases.

    Raises:
        NotDifferentiable: If floating-point values are neither an argument nor the result.
    """
    if type(value) in (tuple, list):
        return type(value)(replace_saved(part, known) for part in value)
    if type(value) is dict:
        return {name: replace_saved(part, known) for name, part in value.items()}
    is_tensor = isinstance(value, TensorBase)
    for x, twin in known if is_tensor else ():
        if value is x or value._tensor is x._tensor:
            return twin
    if (is_tensor or isinstance(value, np.ndarray)) and value.dtype.kind not in "iub":  # integers and booleans have no derivative
        raise NotDifferentiable(f"it saved numbers of shape {tuple(value.shape)} that are neither an argument nor the result")
    return trace_tensor(value) if isinstance(value, TensorBase) else value


def is_independent(gradient: Any) -> bool:
    """Whether a gradient is not zero and depends on no tensor."""
    if isinstance(gradient, TensorBase):
        return gradient.history is None and bool(gradient._tensor.array().any())
    return gradient is not None and gradient != 0


class OnceDifferentiable(Function):
    """A gradient that cannot be differentiated again; differentiating it raises an error with the reason."""

    @staticmethod
    def forward(ctx: Context, gradient: Tensor, fn: type[Function], reason: str, *sources: Tensor) -> Tensor:
        """The gradient; sources are all tensors that it may depend on."""
        ctx.save_for_backward(fn, reason)
        return gradient.detach()

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Any:
        """Not defined.

        Raises:
            RuntimeError: Always.
        """
        fn, reason = ctx.saved_values
        raise RuntimeError(
            f"the gradient of {fn.__name__} cannot be differentiated again: {reason}; write its backward with operations on tensors, "
            "from arguments and result alone, or give the class a static method composed(*args) that computes the same with such operations"
        )
