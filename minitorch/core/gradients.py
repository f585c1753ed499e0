"""Stage 2 - How a Tensor takes part in backpropagation: leaves, the chain rule, hooks, `backward` and its check."""

# self is the Tensor that inherits these methods:
# pyright: reportGeneralTypeIssues=false

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.autodiff import History, backpropagate, central_difference
from minitorch.core.context import grad_mode, no_grad
from minitorch.core.dtypes import compute_dtype, float64, is_float, promote_to_float
from minitorch.tensor_data import IndexingError, cached_broadcast

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

LEAF = History()
"""The history of every leaf."""

RECORDED: dict[str, Callable[..., None]] = {}
"""What passes backward while it is recorded, for create_graph; the room that can enters it here."""


class Hook:
    """A registered hook.

    Args:
        hooks: Those of the tensor, among which it is.
        key: Under which it is found there.
    """

    def __init__(self, hooks: dict[object, Callable[[Tensor], Tensor | None]], key: object) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        """Call it no more."""
        self._hooks.pop(self._key, None)


class Differentiable:
    """The methods of Tensor that backpropagation and its users call."""

    __slots__ = ()

    @property
    def requires_grad(self: Tensor) -> bool:
        """Whether gradients flow into it: it is a leaf that keeps them, or was computed from one."""
        return self.history is not None

    def requires_grad_(self: Tensor, flag: bool = True) -> Tensor:
        """Make it a leaf, which keeps its gradient, or (False) a constant; either way it forgets how it was computed.

        Raises:
            TypeError: If it is to be a leaf and holds no floats.
        """
        if flag and not is_float(self.dtype):
            raise TypeError(f"only tensors of floats keep gradients, got {self.dtype.name}; convert it first: x.to(float64)")
        self.history = LEAF if flag else None
        return self

    def is_leaf(self: Tensor) -> bool:
        """Whether it keeps its gradient."""
        return self.history is not None and self.history.last_fn is None

    def is_constant(self: Tensor) -> bool:
        """Whether no gradient flows into it."""
        return self.history is None

    @property
    def parents(self: Tensor) -> Sequence[Tensor]:
        """The tensors that it was computed from; none for a leaf or a constant."""
        return self.history.inputs if self.history is not None else ()

    def detach(self: Tensor) -> Tensor:
        """The same numbers in the same storage, as a constant."""
        return self._like(self._tensor)

    def zero_grad_(self: Tensor) -> None:
        """Forget the gradient that has been gathered."""
        self.grad = None

    def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> Hook:
        """Have a function called with the gradient of this tensor when backward has found it.

        Args:
            hook: Gets the gradient; what it returns takes the gradient's place, unless that is None.

        Returns:
            A handle whose `remove()` ends it.

        Raises:
            RuntimeError: If no gradient flows into this tensor.
        """
        if self.history is None:
            raise RuntimeError("register_hook expected a tensor that requires gradients, got a constant; call requires_grad_() first")
        if self._hooks is None:
            self._hooks = {}
        key = object()
        self._hooks[key] = hook
        return Hook(self._hooks, key)

    def _hooked(self: Tensor, grad: Tensor) -> Tensor:
        """The gradient after this tensor's hooks."""
        if self._hooks is None:
            return grad
        for hook in list(self._hooks.values()):
            changed = hook(grad)
            grad = grad if changed is None else unbroadcast(changed, self, "a hook returned")
        return grad

    def accumulate_derivative(self: Tensor, x: Tensor) -> None:
        """Add a gradient to that of this leaf.

        Raises:
            RuntimeError: If it is not a leaf.
        """
        if not self.is_leaf():
            raise RuntimeError("only a leaf keeps its gradient, and this tensor was computed or is a constant; see register_hook")
        x = self._hooked(unbroadcast(x, self, "accumulate_derivative got"))
        self.grad = x.f.id_map(x) if self.grad is None else self.grad + x  # a copy: others may hold the same storage

    def chain_rule(self: Tensor, d_output: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
        """Pass the gradient of this tensor on to the inputs of the function that made it.

        Args:
            d_output: Gradient of the final output by this tensor.

        Returns:
            One pair (input, gradient in the input's own shape and dtype) for every tensor it was computed from, constants left out.

        Raises:
            RuntimeError: If no function made it, or backward has passed here before.
            ValueError: If the function's backward returns more or fewer gradients than it has arguments, or one that does not fit.
        """
        if self.history is None or self.history.last_fn is None:
            raise RuntimeError("chain_rule expected a tensor made by a function, got a leaf or a constant, which has no inputs")
        history = self.history
        fn, inputs = history.last_fn, history.inputs
        ctx: Any = history.ctx  # a TensorContext
        if ctx is None:
            raise RuntimeError(
                f"backward has passed through {fn.__name__} before, and what it had saved is freed; "
                "call backward(retain_graph=True) the first time, or compute the output again"
            )
        gradients = fn._backward(ctx, d_output if self._hooks is None else self._hooked(d_output))
        if len(gradients) != len(inputs):
            gradients = select_tensor_gradients(gradients, inputs, ctx)
        if not grad_mode.retain_graph:
            history.ctx, history.inputs = None, ()
        pairs = []
        for x, gradient in zip(inputs, gradients, strict=True):
            if x.history is not None:
                needed, got = x._tensor, getattr(gradient, "_tensor", None)
                if got is None or got.shape != needed.shape or got.dtype is not needed.dtype:
                    gradient = unbroadcast(gradient, x, f"{fn.__name__}.backward returned")
                pairs.append((x, gradient))
        return pairs

    def backward(
        self: Tensor, grad_output: Tensor | float | None = None, retain_graph: bool | None = None, create_graph: bool = False
    ) -> None:
        """Compute the gradient of this tensor by every leaf it was computed from, and add it to each leaf's `grad`.

        Args:
            grad_output: Gradient of something further by this tensor, in its shape; left out for a tensor of one element: 1.
            retain_graph: Whether backward can pass here again; else what the functions have saved is freed. Left out: if create_graph.
            create_graph: Whether the gradients are recorded, so that they can be differentiated themselves.

        Raises:
            RuntimeError: If it records no gradients, has several elements and grad_output is missing, or backward has passed here before.
            ValueError: If grad_output has another shape.
        """
        if self.history is None:
            raise RuntimeError(
                "backward expected a tensor that was computed from leaves, got a constant; make leaves with requires_grad=True"
            )
        if grad_output is None:
            if self.size != 1:
                raise RuntimeError(
                    f"backward expected a tensor of one element, got shape {self.shape}; sum it first, or pass grad_output of that shape"
                )
            grad_output = 1.0
        given = self._ensure_tensor(grad_output)
        if given.shape != self.shape and not given.size == self.size == 1:
            raise ValueError(f"backward expected grad_output of shape {self.shape}, that of the tensor, got {given.shape}")
        if create_graph:
            if not RECORDED:
                raise RuntimeError("create_graph=True needs minitorch.autograd, which this package does not have; leave it out")
            RECORDED["backward"](self, given.reshape(self.shape).to(promote_to_float(self.dtype)), retain_graph)
            return
        given = given._like(given._tensor if given.shape == self.shape else given._tensor.reshaped(self.shape))
        before = grad_mode.enabled, grad_mode.retain_graph
        grad_mode.enabled, grad_mode.retain_graph = False, bool(retain_graph)
        try:
            backpropagate(self, given.to(promote_to_float(self.dtype)))
        finally:
            grad_mode.enabled, grad_mode.retain_graph = before


def select_tensor_gradients(gradients: Sequence[Any], inputs: Sequence[Tensor], ctx: Any) -> Sequence[Any]:
    """Of the gradients of all arguments those of the tensors among them.

    Raises:
        ValueError: If there are more or fewer than arguments.
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

    Where x was broadcast, each element of x was used many times: their gradients are summed.

    Args:
        gradient: A Tensor in the shape that x was broadcast to, or in one that broadcasts to x's; a number; None for zeros.
        x: What it flows into.
        source: Where it comes from, for the message.

    Raises:
        ValueError: If the shape fits neither way.
    """
    if gradient is None:
        return x.zeros()
    if not hasattr(gradient, "_tensor"):
        gradient = x.zeros() + gradient
    shape = x.shape
    if gradient.shape != shape:
        try:
            common = cached_broadcast(gradient.shape, shape)
        except IndexingError:
            raise ValueError(
                f"{source} a gradient of shape {gradient.shape} for a tensor of shape {shape}; it must have that shape, "
                "or the one that the tensor was broadcast to"
            ) from None
        gradient = sum_to_shape(gradient if gradient.shape == common else gradient.expand(*common), shape)
    return gradient if gradient.dtype == x.dtype or not is_float(x.dtype) else gradient.to(x.dtype)


def sum_to_shape(gradient: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor summed over the dimensions in which `shape` was broadcast to the tensor's shape."""
    missing = gradient.dims - len(shape)
    dims = tuple([d for d, size in enumerate(gradient.shape) if size != 1 and (d < missing or shape[d - missing] == 1)])
    gradient = gradient.to(compute_dtype(gradient.dtype)) if len(dims) > 1 else gradient  # halves are rounded when all are summed
    if grad_mode.enabled:
        return (gradient.sum(dims) if dims else gradient).reshape(*shape)
    for dim in (dims,) if len(dims) > 1 and gradient.backend.folds_several else dims:
        gradient = gradient.f.add_reduce(gradient, dim)
    return gradient._like(gradient.contiguous()._tensor.reshaped(shape)) if missing else gradient


# Checking gradients


def grad_central_difference(f: Callable[..., Tensor], *vals: Tensor, arg: int = 0, epsilon: float = 1e-6, ind: Sequence[int]) -> float:
    """Numerical derivative of the sum of f's output with respect to one entry of one input.

    Args:
        f: Function of len(vals) tensors.
        vals: The point.
        arg: Which input.
        epsilon: Half the width of the step.
        ind: Index of the entry.
    """

    def total(entry: float) -> float:
        probe = vals[arg].detach().clone()
        probe[tuple(ind)] = entry
        return f(*vals[:arg], probe, *vals[arg + 1 :]).sum().item()

    with no_grad():
        return central_difference(total, vals[arg][tuple(ind)], epsilon=epsilon)


def grad_check(f: Callable[..., Tensor], *vals: Tensor) -> None:
    """Compare the gradients that backward gives with central differences, at every entry of every input.

    Args:
        f: Function of len(vals) tensors, with a result of any shape, whose elements are summed.
        vals: The point; they become leaves, and what gradients they had is forgotten. float64, for the differences are as small as 1e-6.

    Raises:
        TypeError: If one of them is no float64.
        AssertionError: If one differs by more than 1e-2 + 1e-2 · |central difference|, naming input, index and both values.
    """
    for i, x in enumerate(vals):
        if x.dtype != float64:
            raise TypeError(
                f"grad_check expected inputs of float64, got {x.dtype.name} for input {i}; differences of 1e-6 drown in its rounding"
            )
        x.requires_grad_(True)
        x.zero_grad_()
    f(*vals).sum().backward()
    for i, x in enumerate(vals):
        if x.grad is None:
            raise AssertionError(f"no gradient reached input {i} of grad_check; is every step between it and the result differentiable?")
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
