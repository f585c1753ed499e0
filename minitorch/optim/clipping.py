"""Stage 7 - Gradient clipping, as in torch.nn.utils: between backward and the optimizer's step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import minitorch.operators as operators
from minitorch.core.dtypes import is_half
from minitorch.core.recording import call
from minitorch.module import Parameter
from minitorch.optim.arithmetic import apply_elementwise, is_tensor, state_dtype, value_of
from minitorch.optim.optimizer import Setting
from minitorch.tensor import Tensor, tensor
from minitorch.tensor_data import TensorData

Parameters = Parameter | Tensor | Iterable[Any]
"""One or more Parameters, or Tensors that keep their gradients."""


def clip_grad_norm_(
    parameters: Parameters, max_norm: Any, norm_type: Any = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """Scale all gradients by max_norm / (norm + 1e-6) if their total norm exceeds max_norm.

    The total norm is that of one vector of all gradients' elements.

    Args:
        parameters: One or more parameters; those without a gradient are skipped.
        max_norm: Largest total norm; not negative. With math.inf the norm is only computed.
        norm_type: Order p of the p-norm, above 0; math.inf for the maximum norm.
        error_if_nonfinite: Whether an infinite or NaN norm raises an error. Otherwise the gradients become 0 or NaN.
        foreach: No effect.

    Returns:
        The total norm before clipping: a tensor without dimensions; a number for Scalars.

    Raises:
        TypeError: If one is neither a Parameter nor a Tensor, or a number has the wrong type.
        ValueError: If a number is out of range.
        RuntimeError: If the norm is infinite or NaN and error_if_nonfinite is set; the gradients are unchanged.

    Source: Pascanu et al. 2013, arXiv:1211.5063, algorithm 1.
    """
    limit = _number(max_norm, Setting("max_norm >= 0", "try 1.0"), "clip_grad_norm_")
    return _clip(list(_gradients(parameters, "clip_grad_norm_")), limit, norm_type, error_if_nonfinite, "clip_grad_norm_")


def get_total_norm(tensors: Any, norm_type: Any = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """The norm of one vector of all elements of several tensors.

    Args:
        tensors: One or more tensors.
        norm_type: See `clip_grad_norm_`.
        error_if_nonfinite: Whether an infinite or NaN norm raises an error.
        foreach: No effect.

    Raises:
        TypeError: If one is not a Tensor, or norm_type not a number.
        ValueError: If norm_type is out of range.
        RuntimeError: If the norm is infinite or NaN and error_if_nonfinite is set.
    """
    listed = [value_of(x) for x in _as_list(tensors, "get_total_norm")]
    return _clip([(x, "", x.detach()) for x in listed], math.inf, norm_type, error_if_nonfinite, "get_total_norm")


def _clip(gradients: list[tuple[Any, str, Any]], limit: float, norm_type: Any, error_if_nonfinite: bool, name: str) -> Any:
    """Clip the gradients that `_gradients` yields; returns their total norm."""
    norm_type = _number(norm_type, Setting("norm_type above 0, or math.inf", "try 2.0", low=math.ulp(0.0)), name)
    first = gradients[0][2] if gradients else tensor(0.0)
    if gradients and all(is_tensor(gradient) and _is_array(gradient) for _, _, gradient in gradients):
        arrays = tuple([gradient._tensor.array() for _, _, gradient in gradients])
        total = np.empty(1, arrays[0].dtype)
        call(clip_arrays, total, arrays, limit, norm_type, error_if_nonfinite)
        return first._like(TensorData(total, ()))
    norm = _total_norm([_gradient_norm(gradient, norm_type) for _, _, gradient in gradients], norm_type)
    factor = _clipping_factor(norm, limit, error_if_nonfinite)
    if factor is not None:
        for value, attribute, gradient in gradients:
            setattr(value, attribute, apply_elementwise(operators.mul, gradient, factor, out=gradient))
    return first.zeros((), dtype=state_dtype(first)) + norm if is_tensor(first) else norm


def clip_arrays(total: np.ndarray, gradients: tuple[np.ndarray, ...], limit: float, norm_type: float, error_if_nonfinite: bool) -> None:
    """`clip_grad_norm_` of arrays, in place; writes the norm into total. In a compiled step it runs at every replay.

    Raises:
        RuntimeError: See there.
    """
    with np.errstate(all="ignore"):  # infinity and NaN are results
        norm = _total_norm([_array_norm(np.abs(gradient), norm_type) for gradient in gradients], norm_type)
        total[0] = norm
        factor = _clipping_factor(norm, limit, error_if_nonfinite)
        for gradient in gradients if factor is not None else ():
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


def clip_grad_value_(parameters: Parameters, clip_value: Any, foreach: bool | None = None) -> None:
    """Clamp every element of all gradients to the range from -clip_value to clip_value. NaN stays NaN.

    Args:
        parameters: One or more parameters; those without a gradient are skipped.
        clip_value: Largest absolute value; not negative.
        foreach: No effect.

    Raises:
        TypeError: If one is neither a Parameter nor a Tensor, or clip_value is not a number.
        ValueError: If clip_value is out of range.
    """
    limit = _number(clip_value, Setting("clip_value >= 0", "try 1.0"), "clip_grad_value_")
    for value, attribute, gradient in _gradients(parameters, "clip_grad_value_"):
        setattr(value, attribute, apply_elementwise(clamp, gradient, limit, out=gradient))


def clamp(x: float, limit: float) -> float:
    """x limited to the range from -limit to limit."""
    return limit if x > limit else -limit if x < -limit else x


def _number(value: Any, setting: Setting, name: str) -> float:
    """A validated number, which a tensor may hold; infinity is allowed."""
    value = value.item() if isinstance(value, Tensor) else value
    return math.inf if value == math.inf else setting.validate(value, name)


def _as_list(parameters: Any, name: str) -> list[Any]:
    """One or several parameters as a list without duplicates."""
    listed = [parameters] if isinstance(parameters, (Parameter, Tensor)) or not isinstance(parameters, Iterable) else list(parameters)
    for parameter in listed:
        if not isinstance(parameter, (Parameter, Tensor)):
            raise TypeError(f"{name} expected Parameters, got {type(parameter).__name__}; pass module.parameters()")
    return list({id(parameter): parameter for parameter in listed}.values())


def _gradients(parameters: Any, name: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield (value, name of the gradient's attribute, gradient) for each distinct parameter that has a gradient."""
    for value in map(value_of, _as_list(parameters, name)):
        for attribute in ("derivative", "grad"):  # of a Scalar, of a Tensor
            if getattr(value, attribute, None) is not None:
                yield value, attribute, getattr(value, attribute)


def _is_array(gradient: Tensor) -> bool:
    """Whether NumPy can compute with a gradient's elements in place: they are on the host, and not in half precision."""
    return not gradient.backend.cuda and not is_half(gradient.dtype)


def _array_norm(magnitudes: np.ndarray, norm_type: float) -> float:
    """The norm of one gradient from its absolute values."""
    if not magnitudes.size:
        return 0.0
    if norm_type == math.inf:
        return float(magnitudes.max())
    norm = float(np.add.reduce(magnitudes**norm_type, None)) ** (1 / norm_type)
    if math.isinf(norm) and math.isfinite(largest := float(magnitudes.max())):  # a power overflowed
        norm = largest * float(np.add.reduce((magnitudes * (1 / largest)) ** norm_type, None)) ** (1 / norm_type)
    return norm


def _gradient_norm(gradient: Any, norm_type: float) -> float:
    """The norm of one gradient."""
    if not is_tensor(gradient):
        return abs(gradient)
    if not gradient.numel():
        return 0.0
    magnitudes = abs(gradient.detach())
    if norm_type == math.inf:
        return Tensor.max(magnitudes).item()
    norm = _p_norm(magnitudes, norm_type)
    if math.isinf(norm) and math.isfinite(largest := Tensor.max(magnitudes).item()):  # a power overflowed
        norm = largest * _p_norm(magnitudes * (1 / largest), norm_type)
    return norm


def _p_norm(magnitudes: Any, norm_type: float) -> float:
    """The p-norm of absolute values."""
    if norm_type == 2:
        return math.sqrt(Tensor.sum(magnitudes * magnitudes).item())
    return Tensor.sum(magnitudes if norm_type == 1 else magnitudes**norm_type).item() ** (1 / norm_type)


def _total_norm(norms: list[float], norm_type: float) -> float:
    """The norm of all gradients from their norms, without overflow."""
    if any(map(math.isnan, norms)):
        return math.nan
    largest = max(norms, default=0.0)
    if norm_type == math.inf or not 0 < largest < math.inf:
        return largest
    return largest * math.fsum((norm / largest) ** norm_type for norm in norms) ** (1 / norm_type)
