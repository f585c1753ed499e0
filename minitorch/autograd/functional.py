"""Stage 6 - Derivatives of functions: vector-Jacobian and Jacobian-vector products, Jacobian, and Hessian.

The Jacobian J of f at x holds the derivative of every element of f(x) with respect to every element of x. Backpropagation
computes vᵀJ for a vector v. This is linear in v, so the gradient of (vᵀJ)·t with respect to v is Jt: two backward passes
compute a forward-mode product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.autograd.double_backward import Alias
from minitorch.autograd.engine import as_tensor_list, grad
from minitorch.core.dtypes import promote_to_float
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData

Pull = Callable[[Tensor], tuple[Tensor, ...]]
"""Maps a gradient of the result to the gradients of the arguments."""


def vjp(f: Callable[..., Tensor], *xs: Tensor) -> tuple[Tensor, Pull]:
    """The value of a function, and the products of vectors with its Jacobian (reverse mode).

    Args:
        f: Function of len(xs) tensors that returns one.
        xs: The point. Where one of them records gradients, so do the value and the products.

    Returns:
        f(*xs), and a function pull(v) that gives for each of xs the gradient of the sum of v · f(*xs), zeros for an unused one;
        v has the shape of the value. pull may be called any number of times.

    Raises:
        TypeError: If one of xs is not floating-point, or f does not return a Tensor.
    """
    leaves, recorded = _leaves("vjp", xs)
    out = _value("vjp", f, leaves)

    def pull(v: Tensor) -> tuple[Tensor, ...]:
        """The gradients of the arguments.

        Raises:
            TypeError: If v is not a Tensor.
            ValueError: If its shape is not that of the value.
        """
        as_tensor_list(v, "vjp expected a vector that is a Tensor")
        if v.shape != out.shape:
            raise ValueError(f"vjp expected a vector of shape {out.shape}, that of the value, got {v.shape}")
        found = [None] * len(leaves)
        if out.history is not None:
            found = grad(out, leaves, v, retain_graph=True, create_graph=recorded or v.requires_grad, allow_unused=True)
        return tuple([x.zeros() if g is None else g for x, g in zip(leaves, found, strict=True)])

    return out if recorded else out.detach(), pull


def jvp(f: Callable[..., Tensor], xs: Tensor | Sequence[Tensor], tangents: Tensor | Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The value of a function, and the product of its Jacobian with a vector (forward mode): how the value changes in a direction.

    Args:
        f: Function of len(xs) tensors that returns one. Every function in it must be one whose gradient can be differentiated.
        xs: The point, one tensor or several. Where one of them records gradients, so do the results.
        tangents: The direction: for each of xs a tensor of its shape.

    Returns:
        f(*xs), and the sum over i of ∂f/∂x_i · tangents_i, in the same shape. For Scalars see `minitorch.jvp`.

    Raises:
        TypeError: If one of xs is not floating-point, a tangent is no Tensor, or f returns none.
        ValueError: If point and direction differ in number or shape.
        RuntimeError: If a gradient in f cannot be differentiated.
    """
    xs, tangents = as_tensor_list(xs, "jvp expected tensors as the point"), as_tensor_list(tangents, "jvp expected tensors as tangents")
    shapes, others = [x.shape for x in xs], [t.shape for t in tangents]
    if shapes != others:
        raise ValueError(f"jvp expected tangents of the shapes of the point, {shapes}, got {others}")
    leaves, recorded = _leaves("jvp", xs)
    recorded = recorded or any(t.requires_grad for t in tangents)
    out = _value("jvp", f, leaves)
    v = (out.detach().zeros(dtype=promote_to_float(out.dtype)) + 1.0).requires_grad_()
    found = [None] * len(leaves)
    if out.history is not None:
        found = grad(out, leaves, v, create_graph=True, allow_unused=True)
    parts: list[Tensor] = [(g * t).sum() for g, t in zip(found, tangents, strict=True) if g is not None and g.requires_grad]
    (tangent,) = grad(sum(parts[1:], parts[0]), v, create_graph=recorded, allow_unused=True) if parts else [None]
    return out if recorded else out.detach(), v.detach() * 0.0 if tangent is None else tangent


def jacobian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The derivative of every element of f(x) with respect to every element of x, by one backward pass per element of f(x).

    Args:
        f: Function of one tensor that returns one.
        x: The point.

    Returns:
        Shape (*f(x).shape, *x.shape).

    Raises:
        TypeError: If x is not floating-point, or f does not return a Tensor.
    """
    out, pull = vjp(f, x)
    jac = np.zeros((out.numel(), x.numel()), x.dtype)
    for i in range(out.numel()):
        v = np.zeros(out.numel(), promote_to_float(out.dtype))
        v[i] = 1
        (row,) = pull(out._like(TensorData(v, out.shape)))
        jac[i] = row.to_numpy().reshape(-1)
    return x._like(TensorData(jac.reshape(-1), (*out.shape, *x.shape)))


def hessian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The second derivatives of a function with one number as its value: the Jacobian of its gradient.

    Args:
        f: Function of one tensor that returns one of one element. Every function in it must be one whose gradient can be differentiated.
        x: The point.

    Returns:
        Shape (*x.shape, *x.shape).

    Raises:
        TypeError: If x is not floating-point, or f does not return a Tensor.
        ValueError: If f returns several elements.
        RuntimeError: If a gradient in f cannot be differentiated.
    """

    def gradient(x: Tensor) -> Tensor:
        out = _value("hessian", f, [x])
        if out.numel() != 1:
            raise ValueError(f"hessian expected a function with one number as its value, got shape {out.shape}; sum it")
        (g,) = grad(out, x, create_graph=True, allow_unused=True) if out.history is not None else (None,)
        return x.zeros() if g is None else g

    return jacobian(gradient, x)


def _leaves(op: str, xs: Sequence[Any]) -> tuple[list[Tensor], bool]:
    """The point as tensors whose gradients can be asked for; and whether one of them recorded gradients before.

    Raises:
        TypeError: If one is no tensor of floats.
    """
    xs = as_tensor_list(xs, f"{op} expected tensors as the point")
    return [Alias.apply(x) if x.requires_grad else x.detach().requires_grad_() for x in xs], any(x.requires_grad for x in xs)


def _value(op: str, f: Callable[..., Tensor], xs: Sequence[Tensor]) -> Tensor:
    """f(*xs).

    Raises:
        TypeError: If it is no Tensor.
    """
    out: Any = f(*xs)
    if not isinstance(out, Tensor):
        raise TypeError(f"{op} expected a function that returns a Tensor, got {type(out).__name__}")
    return out
