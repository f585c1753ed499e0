"""Stage 6 - Gradient clipping, between backward and the optimizer's step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import minitorch.operators as operators
from minitorch.core.dtypes import is_half
from minitorch.core.recording import active, call
from minitorch.module import Parameter
from minitorch.optim.arithmetic import apply_elementwise, is_tensor
from minitorch.optim.optimizer import Setting
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData


def clip_grad_norm_(
    parameters: Parameter | Iterable[Parameter], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Any:
    """Scale all gradients by max_norm / (norm + 1e-6) if their total norm exceeds max_norm.

    The total norm is that of one vector of all gradients' elements.

    Args:
        parameters: One or more parameters; those without a gradient are skipped.
        max_norm: Largest total norm; not negative. With math.inf the norm is only computed.
        norm_type: Order p of the p-norm, above 0; math.inf for the maximum norm.
        error_if_nonfinite: Whether an infinite or NaN norm raises an error. Otherwise the gradients become 0 or NaN.

    Returns:
        The total norm before clipping; in a step that is compiled, as a tensor of shape (1,).

    Raises:
        TypeError: If one is not a Parameter, or a number has the wrong type.
        ValueError: If a number is out of range.
        RuntimeError: If the norm is infinite or NaN and error_if_nonfinite is set; the gradients are unchanged.

    Source: Pascanu et al. 2013, arXiv:1211.5063, algorithm 1.
    """
    limit = max_norm
    if max_norm != math.inf:
        limit = Setting("max_norm >= 0", "try 1.0").validate(max_norm, "clip_grad_norm_")
    if norm_type != math.inf:
        norm_type = Setting("norm_type above 0, or math.inf", "try 2.0", low=math.ulp(0.0)).validate(norm_type, "clip_grad_norm_")
    gradients = list(_gradients(parameters, "clip_grad_norm_"))
    if gradients and all(is_tensor(gradient) and _is_array(gradient) for _, _, gradient in gradients):
        norm_array, arrays = np.empty(1), tuple([gradient._tensor.array() for _, _, gradient in gradients])
        call(clip_arrays, norm_array, arrays, limit, norm_type, error_if_nonfinite)
        return gradients[0][2]._like(TensorData(norm_array, (1,))) if active.recorder is not None else float(norm_array[0])
    norm = _total_norm([_gradient_norm(gradient, norm_type) for _, _, gradient in gradients], norm_type)
    factor = _clipping_factor(norm, limit, error_if_nonfinite)
    if factor is not None:
        for value, attribute, gradient in gradients:
            setattr(value, attribute, apply_elementwise(operators.mul, gradient, factor, out=gradient))
    return norm


def clip_arrays(total: np.ndarray, gradients: tuple[np.ndarray, ...], limit: float, norm_type: float, error_if_nonfinite: bool) -> None:
    """`clip_grad_norm_` of arrays, in place; writes the norm into total. In a compiled step it runs at every replay.

    Raises:
        RuntimeError: See there.
    """
    norm = _total_norm([_array_norm(np.abs(gradient), norm_type) for gradient in gradients], norm_type)
    total[0] = norm
    factor = _clipping_factor(norm, limit, error_if_nonfinite)
    if factor is not None:
        with np.errstate(all="ignore"):
            for gradient in gradients:
                gradient *= factor


def _clipping_factor(norm: float, limit: float, error_if_nonfinite: bool) -> float | None:
    """What gradients are multiplied by; None if they stay.

    Raises:
        RuntimeError: If the norm is infinite or NaN and error_if_nonfinite is set.
    """
    if error_if_nonfinite and not math.isfinite(norm):
        raise RuntimeError(
            f"clip_grad_norm_ expected a finite norm, got {norm}; find out which gradient is infinite or NaN, "
            "or pass error_if_nonfinite=False"
        )
    factor = limit / (norm + 1e-6)
    return factor if limit < math.inf and not factor >= 1 else None  # a factor for NaN


def clip_grad_value_(parameters: Parameter | Iterable[Parameter], clip_value: float) -> None:
    """Clamp every element of all gradients to the range from -clip_value to clip_value. NaN stays NaN.

    Args:
        parameters: One or more parameters; those without a gradient are skipped.
        clip_value: Largest absolute value; not negative.

    Raises:
        TypeError: If one is not a Parameter, or clip_value is not a number.
        ValueError: If clip_value is out of range.
    """
    limit = Setting("clip_value >= 0", "try 1.0").validate(clip_value, "clip_grad_value_")
    for value, attribute, gradient in _gradients(parameters, "clip_grad_value_"):
        setattr(value, attribute, apply_elementwise(clamp, gradient, limit, out=gradient))


def clamp(x: float, limit: float) -> float:
    """x limited to the range from -limit to limit."""
    return limit if x > limit else -limit if x < -limit else x


def _gradients(parameters: Any, name: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield (value, name of the gradient's attribute, gradient) for each distinct parameter that has a gradient."""
    seen: set[int] = set()
    if isinstance(parameters, Tensor) or not isinstance(parameters, (Parameter, Iterable)):
        raise TypeError(f"{name} expected Parameters, got {type(parameters).__name__}; pass module.parameters()")
    for parameter in [parameters] if isinstance(parameters, Parameter) else parameters:
        if not isinstance(parameter, Parameter):
            raise TypeError(f"{name} expected Parameters, got {type(parameter).__name__}; pass module.parameters()")
        if id(parameter) in seen:
            continue
        seen.add(id(parameter))
        for attribute in ("derivative", "grad"):  # of a Scalar, of a Tensor
            if getattr(parameter.value, attribute, None) is not None:
                yield parameter.value, attribute, getattr(parameter.value, attribute)


def _is_array(gradient: Tensor) -> bool:
    """Whether NumPy can compute with a gradient's elements in place: they are on the host, and not in half precision."""
    return not gradient.backend.cuda and not is_half(gradient.dtype)


def _array_norm(magnitudes: np.ndarray, norm_type: float) -> float:
    """The norm of one gradient from its absolute values."""
    if not magnitudes.size:
        return 0.0
    largest = float(magnitudes.max())
    if norm_type == math.inf:
        return largest
    with np.errstate(all="ignore"):  # infinity and NaN are results
        norm = float(np.sum(magnitudes**norm_type)) ** (1 / norm_type)
        if math.isinf(norm) and math.isfinite(largest):  # a power overflowed
            norm = largest * float(np.sum((magnitudes * (1 / largest)) ** norm_type)) ** (1 / norm_type)
    return norm


def _gradient_norm(gradient: Any, norm_type: float) -> float:
    """The norm of one gradient."""
    if not is_tensor(gradient):
        return abs(gradient)
    if not gradient.numel():
        return 0.0
    magnitudes = abs(gradient.detach())
    if norm_type == math.inf:
        return magnitudes.max().item()
    norm = _p_norm(magnitudes, norm_type)
    if math.isinf(norm) and math.isfinite(largest := magnitudes.max().item()):  # a power overflowed
        norm = largest * _p_norm(magnitudes * (1 / largest), norm_type)
    return norm


def _p_norm(magnitudes: Any, norm_type: float) -> float:
    """The p-norm of absolute values."""
    if norm_type == 2:
        return math.sqrt((magnitudes * magnitudes).sum().item())
    return (magnitudes**norm_type).sum().item() ** (1 / norm_type) if norm_type != 1 else magnitudes.sum().item()


def _total_norm(norms: list[float], norm_type: float) -> float:
    """The norm of all gradients from their norms, without overflow."""
    if any(map(math.isnan, norms)):
        return math.nan
    largest = max(norms, default=0.0)
    if norm_type == math.inf or not 0 < largest < math.inf:
        return largest
    return largest * math.fsum((norm / largest) ** norm_type for norm in norms) ** (1 / norm_type)
