"""Stage 2 - Gradients: hooks, the shape and dtype in which a gradient flows into a tensor, and the comparison with central differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autodiff import central_difference
from minitorch.core.context import grad_mode, no_grad
from minitorch.core.dtypes import compute_dtype, float64, is_float
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
    missing = len(gradient._tensor.shape) - len(shape)
    dims = tuple([d for d, size in enumerate(gradient._tensor.shape) if size != 1 and (d < missing or shape[d - missing] == 1)])
    gradient = gradient.to(compute_dtype(gradient.dtype)) if len(dims) > 1 else gradient  # half precision is rounded once, after all sums
    if grad_mode.enabled:
        for dim in dims:
            gradient = Sum.apply(gradient, dim)
        return gradient.reshape(*shape)
    for dim in (dims,) if len(dims) > 1 and gradient.backend.reduces_many else dims:
        gradient = gradient.f.add_reduce(gradient, dim)
    return gradient._like(gradient.contiguous()._tensor.reshape(shape)) if missing else gradient


# Checking gradients


def grad_central_difference(f: Callable[..., Tensor], *vals: Tensor, arg: int = 0, epsilon: float = 1e-6, ind: Sequence[int]) -> float:
    """Numerical derivative of the sum of f's output with respect to one element of one input.

    Args:
        f: Function of len(vals) tensors.
        vals: The point.
        arg: Which input.
        epsilon: Half the width of the step.
        ind: Index of the element.
    """

    def output_sum(element: float) -> float:
        probe = vals[arg].detach().clone()
        probe[tuple(ind)] = element
        return f(*vals[:arg], probe, *vals[arg + 1 :]).sum().item()

    with no_grad():
        return central_difference(output_sum, vals[arg][tuple(ind)], epsilon=epsilon)


def grad_check(f: Callable[..., Tensor], *vals: Tensor) -> None:
    """Compare the gradients of backpropagation with central differences, for every element of every input.

    Args:
        f: Function of len(vals) tensors, with an output of any shape, whose elements are summed.
        vals: The point, in float64, because the differences are as small as 1e-6. The tensors become leaves; earlier gradients are lost.

    Raises:
        TypeError: If an input is not float64.
        AssertionError: If a gradient differs by more than 1e-2 + 1e-2 · |central difference|; names the input, the index and both values.
    """
    for i, x in enumerate(vals):
        if x.dtype != float64:
            raise TypeError(
                f"grad_check expected inputs of float64, got {x.dtype.name} for input {i}; its rounding errors exceed differences of 1e-6"
            )
        x.requires_grad_(True)
        x.zero_grad_()
    f(*vals).sum().backward()
    for i, x in enumerate(vals):
        if x.grad is None:
            raise AssertionError(f"no gradient reached input {i} of grad_check; is every function on the way to the result differentiable?")
        if x.grad.shape != x.shape:
            raise AssertionError(
                f"input {i} of grad_check has shape {x.shape} and a gradient of shape {x.grad.shape}; they must be the same"
            )
        for ind in x._tensor.indices():
            expected, got = grad_central_difference(f, *vals, arg=i, ind=ind), x.grad[ind]
            same = got == expected or (math.isnan(got) and math.isnan(expected))
            if not same and not math.fabs(got - expected) <= 1e-2 + 1e-2 * math.fabs(expected):
                raise AssertionError(
                    f"at input {i}, index {ind}, where it is {x[ind]}: backward gave {got}, expected {expected} (central difference)"
                )
