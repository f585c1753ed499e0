"""Stage 2 - Gradients: hooks, and the shape and dtype in which a gradient flows into a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.core.context import grad_mode
from minitorch.core.dtypes import compute_dtype, is_float
from minitorch.core.recording import refuse
from minitorch.core.tensor_base import Tensor, TensorBase
from minitorch.tensor_data import IndexingError, cached_broadcast
from minitorch.tensor_functions import Sum


class Hook:
    """Handle of a registered hook.

    Args:
        hooks: The hooks of the tensor.
        key: The key of this one.
    """

    def __init__(self, hooks: dict[object, Callable[[Tensor], Tensor | None]], key: object) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        """Unregister the hook."""
        self._hooks.pop(self._key, None)


def register_hook(x: Tensor, hook: Callable[[Tensor], Tensor | None]) -> Hook:
    """Call a function with the gradient of a tensor when the backward pass has computed it.

    Args:
        x: The tensor.
        hook: Takes the gradient; returns its replacement, or None to keep it.

    Returns:
        A handle; its `remove()` unregisters the hook.

    Raises:
        RuntimeError: If no gradient flows into the tensor.
    """
    refuse("a hook, which is Python,")
    if x.history is None:
        raise RuntimeError("register_hook expected a tensor that requires gradients, got a constant; call requires_grad_() first")
    if x._hooks is None:
        x._hooks = {}
    key = object()
    x._hooks[key] = hook
    return Hook(x._hooks, key)


def apply_hooks(x: Tensor, grad: Tensor) -> Tensor:
    """The gradient of a tensor after its hooks."""
    if x._hooks is None:
        return grad
    for hook in list(x._hooks.values()):
        replacement = hook(grad)
        grad = grad if replacement is None else unbroadcast(replacement, x, "a hook returned")
    return grad


def select_tensor_gradients(gradients: Sequence[Any], inputs: Sequence[Tensor], ctx: Any) -> Sequence[Any]:
    """Of the gradients of all arguments, those of the tensors.

    Raises:
        ValueError: If their number differs from that of the arguments.
    """
    if len(gradients) == len(ctx.args):
        gradients = [gradient for gradient, is_tensor in zip(gradients, ctx.is_tensor, strict=True) if is_tensor]
    if len(gradients) != len(inputs):
        raise ValueError(
            f"{ctx.fn.__name__}.backward expected to return {len(ctx.args)} gradients, one for each argument, got {len(gradients)}"
        )
    return gradients


def unbroadcast(gradient: Any, x: Tensor, source: str) -> Tensor:
    """A gradient in the shape and dtype of the tensor it flows into.

    Where x was broadcast, each of its elements was used several times, and the gradients of all uses are summed.

    Args:
        gradient: A Tensor in the shape that x was broadcast to, or in one that broadcasts to x's; a number; None for zeros.
        x: The tensor it flows into.
        source: Its origin, for the message.

    Raises:
        ValueError: If the shapes are incompatible.
    """
    if gradient is None:
        return x.zeros()
    if not isinstance(gradient, TensorBase):
        gradient = x.zeros() + gradient
    own, shape = gradient._tensor.shape, x._tensor.shape
    if own != shape:
        try:
            common = cached_broadcast(own, shape)
        except IndexingError:
            raise ValueError(
                f"{source} a gradient of shape {own} for a tensor of shape {shape}; it must have that shape, "
                "or the one that the tensor was broadcast to"
            ) from None
        gradient = sum_to_shape(gradient if own == common else gradient.expand(*common), shape)
    return gradient if gradient.dtype == x.dtype or not is_float(x.dtype) else gradient.to(x.dtype)


def sum_to_shape(gradient: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor summed over the dimensions in which `shape` was broadcast to the tensor's shape."""
    missing = gradient.dims - len(shape)
    dims = tuple([d for d, size in enumerate(gradient._tensor.shape) if size != 1 and (d < missing or shape[d - missing] == 1)])
    gradient = gradient.to(compute_dtype(gradient.dtype)) if len(dims) > 1 else gradient  # half precision is rounded once, after all sums
    if grad_mode.enabled:
        for dim in dims:
            gradient = Sum.apply(gradient, dim)
        return gradient.reshape(*shape)
    for dim in (dims,) if len(dims) > 1 and gradient.backend.reduces_many else dims:
        gradient = gradient.f.add_reduce(gradient, dim)
    return gradient._like(gradient.contiguous()._tensor.reshape(shape)) if missing else gradient
