"""Stage 6 - Gradient clipping, between backward and the optimizer's step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minitorch.optim import clipping
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor import tensor
from minitorch.torch.nn.parameter import Parameter
from minitorch.torch.placement import placement
from minitorch.torch.tensor import Tensor, as_torch


def as_parameters(parameters: Any) -> list[Parameter]:
    """One or several Tensors as parameters of the engine, around the same tensors.

    Raises:
        TypeError: If one is not a Tensor.
    """
    found = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    for x in found:
        if not isinstance(x, Tensor):
            raise TypeError(f"expected parameters, got {type(x).__name__}; pass module.parameters()")
    return [x if isinstance(x, Parameter) else Parameter._of(x) for x in found]


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients by max_norm / (norm + 1e-6) if their total norm exceeds max_norm.

    Args:
        parameters: One or more parameters; those without a gradient are skipped.
        max_norm: Largest total norm.
        norm_type: Order of the norm; math.inf for the maximum norm.
        error_if_nonfinite: Whether an infinite or NaN norm raises an error.
        foreach: Has no effect on the result.

    Returns:
        The total norm before clipping, without dimensions.

    Raises:
        RuntimeError: If the norm is infinite or NaN and error_if_nonfinite is set; the gradients are unchanged.
    """
    return _as_tensor(clipping.clip_grad_norm_(as_parameters(parameters), float(max_norm), float(norm_type), error_if_nonfinite))


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """The norm of one vector of all elements of several tensors.

    Args:
        tensors: One or more tensors.
        norm_type: Order of the norm; math.inf for the maximum norm.
        error_if_nonfinite: Whether an infinite or NaN norm raises an error.
        foreach: Has no effect on the result.

    Raises:
        RuntimeError: If the norm is infinite or NaN and error_if_nonfinite is set.
    """
    carriers = []
    for x in as_parameters(tensors):
        carriers.append(Parameter._of(x.detach()))
        carriers[-1].grad = x.detach()
    return _as_tensor(clipping.clip_grad_norm_(carriers, math.inf, float(norm_type), error_if_nonfinite))


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of all gradients to the range from -clip_value to clip_value.

    Args:
        parameters: One or more parameters; those without a gradient are skipped.
        clip_value: Largest absolute value.
        foreach: Has no effect on the result.
    """
    clipping.clip_grad_value_(as_parameters(parameters), float(clip_value))


def _as_tensor(norm: Any) -> Tensor:
    """A norm without dimensions; in a step that is compiled it is a tensor already."""
    return as_torch(norm.reshape(()) if isinstance(norm, EngineTensor) else tensor(norm, **placement()))
