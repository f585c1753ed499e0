"""Stage 7 - Weight initialization. All functions write into their argument in place and return it, as in PyTorch.

`manual_seed` makes the random ones reproducible. fan_in is the number of inputs of each output of a layer, fan_out the number of outputs
that each input contributes to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.context import no_grad
from minitorch.module import Parameter
from minitorch.tensor import Tensor, generator

GAINS = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
"""Recommended gain for each nonlinearity: it keeps the variance constant from layer to layer."""


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended gain for the weights before a nonlinearity.

    Args:
        nonlinearity: One of `GAINS`, or "leaky_relu".
        param: Negative slope of "leaky_relu"; 0.01 by default.

    Raises:
        ValueError: If the nonlinearity is unknown.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise ValueError(f"calculate_gain expected one of {', '.join(GAINS)}, leaky_relu, got {nonlinearity!r}")
    return GAINS[nonlinearity]


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Return fan_in and fan_out of weights of shape (out, in, …), such as (out_features, in_features) or (O, C, KH, KW).

    Raises:
        ValueError: If the shape has fewer than two dimensions or is empty.
    """
    if len(shape) < 2 or not math.prod(shape):
        raise ValueError(f"a fan expected weights of shape (out, in, …), got {tuple(shape)}; for a bias use zeros_ or uniform_")
    taps = math.prod(shape[2:])
    return shape[1] * taps, shape[0] * taps


# Basic initializers


def uniform_(tensor: Tensor | Parameter, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill a tensor, of any shape, with samples of the uniform distribution on [a, b).

    Raises:
        TypeError: If tensor is not a Tensor.
        ValueError: If b is less than a.
    """
    target = _tensor_of(tensor)
    if not a <= b:
        raise ValueError(f"uniform_ expected a of at most b, got {a} and {b}")
    return _assign(target, a + (b - a) * generator.random(target.shape))


def normal_(tensor: Tensor | Parameter, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill a tensor, of any shape, with samples of the normal distribution.

    Raises:
        TypeError: If tensor is not a Tensor.
        ValueError: If std is negative.
    """
    target = _tensor_of(tensor)
    if not std >= 0:
        raise ValueError(f"normal_ expected std of at least 0, got {std}")
    return _assign(target, mean + std * generator.standard_normal(target.shape))


def constant_(tensor: Tensor | Parameter, val: float) -> Tensor:
    """Fill a tensor, of any shape, with a constant.

    Raises:
        TypeError: If tensor is not a Tensor.
    """
    return _assign(_tensor_of(tensor), val)


def zeros_(tensor: Tensor | Parameter) -> Tensor:
    """Fill a tensor, of any shape, with 0."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor | Parameter) -> Tensor:
    """Fill a tensor, of any shape, with 1."""
    return constant_(tensor, 1.0)


def trunc_normal_(tensor: Tensor | Parameter, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Fill a tensor, of any shape, with samples of the normal distribution that lie from a to b; others are drawn again.

    Raises:
        TypeError: If tensor is not a Tensor.
        ValueError: If b is not above a, or std is not above 0.
    """
    target = _tensor_of(tensor)
    if not a < b or not std > 0:
        raise ValueError(f"trunc_normal_ expected a below b and std above 0, got {a}, {b} and {std}")
    low, high = ((limit - mean) / std for limit in (a, b))
    shares = [0.5 * math.erfc(-limit / math.sqrt(2)) for limit in (low, high)]
    if shares[1] - shares[0] < 1e-3:
        raise ValueError(
            f"trunc_normal_ expected limits near mean {mean} with std {std}, got {a} and {b}; the range has next to no samples"
        )
    values = generator.standard_normal(target.shape)
    while (outside := (values < low) | (values > high)).any():
        values = np.where(outside, generator.standard_normal(target.shape), values)
    return _assign(target, mean + std * values)


def eye_(tensor: Tensor | Parameter) -> Tensor:
    """Fill a matrix with the identity.

    Raises:
        TypeError: If tensor is neither a Tensor nor a Parameter.
        ValueError: If tensor does not have two dimensions.
    """
    target = _tensor_of(tensor)
    if target.dims != 2:
        raise ValueError(f"eye_ expected a matrix, got shape {target.shape}")
    return _assign(target, np.eye(*target.shape))  # type: ignore


def dirac_(tensor: Tensor | Parameter, groups: int = 1) -> Tensor:
    """Fill the weights of a convolution so that it returns its input, as far as there are output channels.

    Args:
        tensor: Weights, shape (O, C / groups, K) or (O, C / groups, KH, KW).
        groups: Number of channel groups.

    Raises:
        TypeError: If tensor is neither a Tensor nor a Parameter.
        ValueError: If tensor has another number of dimensions, or groups does not divide O.
    """
    target = _tensor_of(tensor)
    if target.dims not in (3, 4) or target.shape[0] % groups:
        raise ValueError(f"dirac_ expected weights of shape (O, C, K) or (O, C, KH, KW) with O a multiple of {groups}, got {target.shape}")
    values, out = np.zeros(target.shape), target.shape[0] // groups
    for group in range(groups):
        for channel in range(min(out, target.shape[1])):
            values[(group * out + channel, channel, *(size // 2 for size in target.shape[2:]))] = 1
    return _assign(target, values)


def orthogonal_(tensor: Tensor | Parameter, gain: float = 1.0) -> Tensor:
    """Fill a tensor, seen as a matrix of shape (out, rest), with orthonormal rows or columns, times gain.

    Raises:
        TypeError: If tensor is neither a Tensor nor a Parameter.
        ValueError: If tensor has fewer than two dimensions.

    Source: Saxe et al. 2014, arXiv:1312.6120.
    """
    target = _tensor_of(tensor)
    if target.dims < 2:
        raise ValueError(f"orthogonal_ expected at least two dimensions, got shape {target.shape}")
    rows, columns = target.shape[0], math.prod(target.shape[1:])
    q, r = np.linalg.qr(generator.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))  # makes the distribution uniform
    return _assign(target, gain * (q if rows >= columns else q.T).reshape(target.shape))


# Initializers of layer weights


def xavier_uniform_(tensor: Tensor | Parameter, gain: float = 1.0) -> Tensor:
    """Fill a tensor uniformly in ±gain · √(6 / (fan_in + fan_out)), which roughly preserves the variance of activations and gradients.

    Args:
        tensor: Weights, shape (out, in, …).
        gain: See `calculate_gain`.

    Raises:
        ValueError: If tensor has fewer than two dimensions.

    Source: Glorot and Bengio 2010, Proceedings of Machine Learning Research 9, eq. 16.
    """
    bound = gain * math.sqrt(6 / sum(fans(_tensor_of(tensor).shape)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor | Parameter, gain: float = 1.0) -> Tensor:
    """Fill a tensor from a normal distribution with standard deviation gain · √(2 / (fan_in + fan_out)); see `xavier_uniform_`."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(_tensor_of(tensor).shape))))


def kaiming_uniform_(tensor: Tensor | Parameter, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill a tensor uniformly in ±gain · √(3 / fan).

    Args:
        tensor: Weights, shape (out, in, …).
        a: Negative slope of the leaky relu after this layer; 0 for relu.
        mode: "fan_in" preserves the variance of activations, "fan_out" that of gradients.
        nonlinearity: See `calculate_gain`.

    Raises:
        ValueError: If mode or nonlinearity is unknown, or tensor has fewer than two dimensions.

    Source: He et al. 2015, arXiv:1502.01852, eq. 10 and 14.
    """
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor | Parameter, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill a tensor from a normal distribution with standard deviation gain / √fan; see `kaiming_uniform_`."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity))


def _kaiming_std(tensor: Tensor | Parameter, a: float, mode: str, nonlinearity: str) -> float:
    """Return gain / √fan."""
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f'Kaiming weights expected mode "fan_in" or "fan_out", got {mode!r}')
    fan_in, fan_out = fans(_tensor_of(tensor).shape)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


def init_uniformly(weight: Tensor, bias: Tensor | None) -> None:
    """Fill weight, shape (out, in, …), and bias, shape (out,), uniformly in ±1 / √fan_in, as PyTorch's layers; with 0 without inputs."""
    if weight.numel():
        kaiming_uniform_(weight, math.sqrt(5))
    if bias is not None:
        inputs = math.prod(weight.shape[1:])
        bound = 1 / math.sqrt(inputs) if inputs else 0.0
        uniform_(bias, -bound, bound)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """fan_in and fan_out of weights, under the name that programs know."""
    return fans(tensor.shape)


# Helpers


def _tensor_of(x: Any) -> Tensor:
    """Return the Tensor to write into. Raises TypeError if tensor is neither a Tensor nor a Parameter of one."""
    x = x.value if isinstance(x, Parameter) else x
    if not isinstance(x, Tensor):
        raise TypeError(f"initial weights expected a Tensor or a Parameter of one, got {type(x).__name__}; pass layer.weight")
    return x


def _assign(x: Tensor, values: np.ndarray | float) -> Tensor:
    """Overwrite x in place and return it."""
    with no_grad():
        x[...] = values
    return x
