"""Stage 5 - Gradients kept within bounds, between backward and the optimizer's step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import minitorch.operators as operators
from minitorch.module import Parameter
from minitorch.optim.elements import each
from minitorch.optim.optimizer import Setting
from minitorch.tensor import Tensor


def clip_grad_norm_(
    parameters: Parameter | Iterable[Parameter], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> float:
    """Scale all gradients by one factor, so that the norm of all their elements together is at most max_norm. Shorter ones stay.

    The factor is max_norm / (norm + 1e-6), as PyTorch has it.

    Args:
        parameters: Whose gradients; those that have none are left out.
        max_norm: How long the vector of all elements may be; not negative. With math.inf the norm is found, and nothing changed.
        norm_type: Which norm: 2 for the Euclidean length, 1 for the sum of the sizes, math.inf for the largest; above 0.
        error_if_nonfinite: Whether a norm that is infinite or NaN is an error; else the gradients become 0 or NaN.

    Returns:
        The norm before.

    Raises:
        TypeError: If one is not a Parameter, or a number is of another kind.
        ValueError: If a number is out of its range.
        RuntimeError: If the norm is infinite or NaN, and error_if_nonfinite says so; the gradients are left as they were.

    Source: Pascanu et al. 2013, arXiv:1211.5063, algorithm 1.
    """
    longest = max_norm
    if max_norm != math.inf:
        longest = Setting("max_norm >= 0", "try 1.0").checked(max_norm, "clip_grad_norm_")
    if norm_type != math.inf:
        norm_type = Setting("norm_type above 0, or math.inf", "try 2.0", low=math.ulp(0.0)).checked(norm_type, "clip_grad_norm_")
    found = list(_gradients(parameters, "clip_grad_norm_"))
    norm = _norm([_size(gradient, norm_type) for _, _, gradient in found], norm_type)
    if error_if_nonfinite and not math.isfinite(norm):
        raise RuntimeError(
            f"clip_grad_norm_ expected a finite norm, got {norm}; find out which gradient is infinite or NaN, "
            "or pass error_if_nonfinite=False"
        )
    factor = longest / (norm + 1e-6)
    if longest < math.inf and not factor >= 1:  # also of NaN
        for value, kept, gradient in found:
            setattr(value, kept, each(operators.mul, gradient, factor, out=gradient))
    return norm


def clip_grad_value_(parameters: Parameter | Iterable[Parameter], clip_value: float) -> None:
    """Bring every element of all gradients between -clip_value and clip_value. NaN stays NaN.

    Args:
        parameters: Whose gradients; those that have none are left out.
        clip_value: The largest size; not negative.

    Raises:
        TypeError: If one is not a Parameter, or clip_value is no number.
        ValueError: If clip_value is out of its range.
    """
    most = Setting("clip_value >= 0", "try 1.0").checked(clip_value, "clip_grad_value_")
    for value, kept, gradient in _gradients(parameters, "clip_grad_value_"):
        setattr(value, kept, each(within, gradient, most, out=gradient))


def within(x: float, most: float) -> float:
    """x, but no less than -most and no more than most."""
    return most if x > most else -most if x < -most else x


def _gradients(parameters: Any, name: str) -> Iterator[tuple[Any, str, Any]]:
    """Of every parameter that has one, each once: the value, the attribute that holds the gradient, and that."""
    seen: set[int] = set()
    if isinstance(parameters, Tensor) or not isinstance(parameters, (Parameter, Iterable)):
        raise TypeError(f"{name} expected Parameters, got {type(parameters).__name__}; pass module.parameters()")
    for parameter in [parameters] if isinstance(parameters, Parameter) else parameters:
        if not isinstance(parameter, Parameter):
            raise TypeError(f"{name} expected Parameters, got {type(parameter).__name__}; pass module.parameters()")
        if id(parameter) in seen:
            continue
        seen.add(id(parameter))
        for kept in ("derivative", "grad"):
            if getattr(parameter.value, kept, None) is not None:
                yield parameter.value, kept, getattr(parameter.value, kept)


def _size(gradient: Any, norm_type: float) -> float:
    """The norm of one gradient."""
    if not hasattr(gradient, "f"):
        return abs(gradient)
    if not gradient.size:
        return 0.0
    sizes = abs(gradient.detach())
    if norm_type == math.inf:
        return sizes.max().item()
    norm = _power_norm(sizes, norm_type)
    if math.isinf(norm) and math.isfinite(largest := sizes.max().item()):  # a power has left the range of the dtype
        norm = largest * _power_norm(sizes * (1 / largest), norm_type)
    return norm


def _power_norm(sizes: Any, norm_type: float) -> float:
    """The root of the sum of powers."""
    if norm_type == 2:
        return math.sqrt((sizes * sizes).sum().item())
    return (sizes**norm_type).sum().item() ** (1 / norm_type) if norm_type != 1 else sizes.sum().item()


def _norm(sizes: list[float], norm_type: float) -> float:
    """The norm of norms."""
    if any(map(math.isnan, sizes)):
        return math.nan
    largest = max(sizes, default=0.0)
    if norm_type == math.inf or not 0 < largest < math.inf:
        return largest
    return largest * math.fsum((size / largest) ** norm_type for size in sizes) ** (1 / norm_type)
