"""Stage 7 - torch.autograd: gradients as values, and their check by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.autograd.engine import grad as grad
from minitorch.autograd.functional import as_tuple
from minitorch.core.context import no_grad
from minitorch.core.dtypes import float64
from minitorch.torch.creation import randn_like
from minitorch.torch.modes import enable_grad
from minitorch.torch.tensor import Tensor, as_torch


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: None = None
) -> None:
    """Add the gradients of tensors with respect to every leaf to the leaf's `grad`.

    Args:
        tensors: Tensors to differentiate.
        grad_tensors: For each a gradient of its shape; None means 1, for one element.
        retain_graph: Whether to keep the graph for another backward pass.
        create_graph: Whether to record the gradients.
        inputs: None; use `grad` for the gradients of some tensors.

    Raises:
        NotImplementedError: If inputs are given.
    """
    if inputs is not None:
        raise NotImplementedError("backward supports inputs=None only; use torch.autograd.grad")
    ends = as_tuple(tensors)
    given = (None,) * len(ends) if grad_tensors is None else as_tuple(grad_tensors)
    for number, (x, gradient) in enumerate(zip(ends, given, strict=True)):
        keep = True if number + 1 < len(ends) else retain_graph  # they may share a graph
        x.backward(gradient, keep, create_graph)


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare gradients with central differences, for every element.

    Args:
        func: Function of the inputs; returns a Tensor or several.
        inputs: Tensors, of float64 where they require gradients, and other values.
        eps: Half the width of a difference.
        atol: Tolerance.
        rtol: Tolerance relative to the difference.
        raise_exception: Whether a mismatch raises an error; otherwise the result says so.
        nondet_tol: No effect.
        check_undefined_grad: No effect.
        fast_mode: No effect: every element is checked.

    Returns:
        True, or False at a mismatch if raise_exception is not set.

    Raises:
        ValueError: If no input requires gradients.
        RuntimeError: If a gradient differs by more than atol + rtol · |difference|.
    """
    args = as_tuple(inputs)
    checked = [i for i, x in enumerate(args) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError("gradcheck expected an input that requires gradients, got none; call x.requires_grad_()")
    for i in checked:
        if args[i].dtype is not float64:
            raise ValueError(f"gradcheck expected inputs of float64, got {args[i].dtype.name} for input {i}; convert it: x.double()")
    for number, y in enumerate(_tensors(func(*args))):
        for i in checked if y.requires_grad else ():
            numeric, analytic = _differences(func, args, number, i, eps), _jacobian(y, args[i])
            if not np.allclose(analytic, numeric, rtol, atol):
                if not raise_exception:
                    return False
                raise RuntimeError(
                    f"gradcheck found two derivatives of result {number} by input {i}: by differences\n{numeric}\nby backward\n{analytic}"
                )
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare second derivatives with central differences of the first: `gradcheck` of the gradients of func.

    Args:
        func: See `gradcheck` for this, the other arguments, the result and the errors.
        inputs: Tensors, of float64 where they require gradients, and other values.
        grad_outputs: For each result that requires gradients a tensor of its shape, or a ValueError is raised; None draws them.
    """
    args = as_tuple(inputs)
    checked = [i for i, x in enumerate(args) if isinstance(x, Tensor) and x.requires_grad]
    results = [y for y in _tensors(func(*args)) if y.requires_grad]
    if grad_outputs is None:
        seeds = tuple(randn_like(y).requires_grad_() for y in results)
    else:
        seeds = tuple(as_torch(seed.detach()).requires_grad_() for seed in as_tuple(grad_outputs))
    if len(seeds) != len(results):
        raise ValueError(f"gradgradcheck expected {len(results)} grad_outputs, one for each differentiable result, got {len(seeds)}")

    @enable_grad()
    def gradients(*values: Any) -> tuple[Tensor, ...]:
        points = list(values[: len(args)])
        for i in checked:
            points[i] = points[i] if points[i].requires_grad else points[i].requires_grad_()
        outputs = [y for y in _tensors(func(*points)) if y.requires_grad]
        found = grad(outputs, [points[i] for i in checked], values[len(args) :], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(gradients, (*args, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)


def _tensors(results: Any) -> list[Tensor]:
    return [y for y in as_tuple(results) if isinstance(y, Tensor)]


def _differences(func: Callable[..., Any], args: tuple[Any, ...], number: int, i: int, eps: float) -> np.ndarray:
    """The Jacobian of an output with respect to an input by central differences, shape (input size, output size)."""

    def value(values: np.ndarray) -> np.ndarray:
        probe = as_torch(args[i].detach().clone())
        probe[...] = values
        return _tensors(func(*args[:i], probe, *args[i + 1 :]))[number].detach().to_numpy().reshape(-1)

    point, rows = args[i].detach().to_numpy(), []
    with no_grad():
        for index in np.ndindex(point.shape):
            above, below = point.copy(), point.copy()
            above[index] += eps
            below[index] -= eps
            rows.append((value(above) - value(below)) / (2 * eps))
    return np.array(rows)


def _jacobian(y: Tensor, x: Tensor) -> np.ndarray:
    """The Jacobian by backpropagation, shape (input size, output size)."""
    columns = []
    for number in range(y.numel()):
        seed = y.zeros()
        seed.reshape(-1)[number] = 1.0
        (found,) = grad(y, x, seed, retain_graph=True, allow_unused=True)
        columns.append(np.zeros(x.numel()) if found is None else found.to_numpy().reshape(-1))
    return np.array(columns).T


def Variable(data: Tensor, requires_grad: bool = False) -> Tensor:
    """A Tensor over the same memory: PyTorch's older name for what every Tensor is."""
    made = as_torch(data.detach())
    made.requires_grad_(requires_grad)
    return made
