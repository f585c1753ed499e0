"""Stage 5 - Initial weights: what parameters are before the first step. All write into the tensor that they are given, as PyTorch's do.

Where numbers are drawn, `manual_seed` makes them the same in every run. A layer's fan is how many numbers each of its outputs is made
from (fan_in), or how many outputs each of its inputs goes into (fan_out).
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
"""By how much a function's input may vary more than its output, so that numbers neither grow nor fade from layer to layer."""


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor for the standard deviation of weights in front of a nonlinearity.

    Args:
        nonlinearity: One of `GAINS`, or "leaky_relu".
        param: For "leaky_relu", its slope below 0; left out: 0.01.

    Raises:
        ValueError: If it is unknown.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise ValueError(f"calculate_gain expected one of {', '.join(GAINS)}, leaky_relu, got {nonlinearity!r}")
    return GAINS[nonlinearity]


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """fan_in and fan_out of weights of shape (out, in, …), such as (out_features, in_features) or (O, C, KH, KW).

    Raises:
        ValueError: If there are fewer than two dimensions, or no weights.
    """
    if len(shape) < 2 or not math.prod(shape):
        raise ValueError(f"a fan expected weights of shape (out, in, …), got {tuple(shape)}; for a bias use zeros_ or uniform_")
    taps = math.prod(shape[2:])
    return shape[1] * taps, shape[0] * taps


# Any numbers


def uniform_(x: Tensor | Parameter, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Numbers drawn uniformly from [a, b), for x of any shape.

    Raises:
        TypeError: If x is no tensor.
        ValueError: If b is below a.
    """
    target = _tensor_of(x)
    if not a <= b:
        raise ValueError(f"uniform_ expected a of at most b, got {a} and {b}")
    return _written(target, a + (b - a) * generator.random(target.shape))


def normal_(x: Tensor | Parameter, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Numbers drawn from the normal distribution, for x of any shape.

    Raises:
        TypeError: If x is no tensor.
        ValueError: If std is negative.
    """
    target = _tensor_of(x)
    if not std >= 0:
        raise ValueError(f"normal_ expected std of at least 0, got {std}")
    return _written(target, mean + std * generator.standard_normal(target.shape))


def constant_(x: Tensor | Parameter, val: float) -> Tensor:
    """One number everywhere, for x of any shape.

    Raises:
        TypeError: If x is no tensor.
    """
    return _written(_tensor_of(x), val)


def zeros_(x: Tensor | Parameter) -> Tensor:
    """0 everywhere, for x of any shape."""
    return constant_(x, 0.0)


def ones_(x: Tensor | Parameter) -> Tensor:
    """1 everywhere, for x of any shape."""
    return constant_(x, 1.0)


# Weights of layers


def xavier_uniform_(x: Tensor | Parameter, gain: float = 1.0) -> Tensor:
    """Uniform in ±gain · √(6 / (fan_in + fan_out)): values keep their variance forward, gradients theirs backward, about.

    Args:
        x: Weights, shape (out, in, …).
        gain: See `calculate_gain`.

    Raises:
        ValueError: If x has fewer than two dimensions.

    Source: Glorot and Bengio 2010, Proceedings of Machine Learning Research 9, eq. 16.
    """
    bound = gain * math.sqrt(6 / sum(fans(_tensor_of(x).shape)))
    return uniform_(x, -bound, bound)


def xavier_normal_(x: Tensor | Parameter, gain: float = 1.0) -> Tensor:
    """Normal with the standard deviation gain · √(2 / (fan_in + fan_out)); see `xavier_uniform_`."""
    return normal_(x, 0.0, gain * math.sqrt(2 / sum(fans(_tensor_of(x).shape))))


def kaiming_uniform_(x: Tensor | Parameter, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Uniform in ±gain · √(3 / fan).

    Args:
        x: Weights, shape (out, in, …).
        a: Slope below 0 of the leaky relu behind them; 0 for a relu.
        mode: "fan_in" keeps the variance of values, "fan_out" that of gradients.
        nonlinearity: See `calculate_gain`.

    Raises:
        ValueError: If mode or nonlinearity is unknown, or x has fewer than two dimensions.

    Source: He et al. 2015, arXiv:1502.01852, eq. 10 and 14.
    """
    bound = math.sqrt(3) * _kaiming(x, a, mode, nonlinearity)
    return uniform_(x, -bound, bound)


def kaiming_normal_(x: Tensor | Parameter, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Normal with the standard deviation gain / √fan; see `kaiming_uniform_`."""
    return normal_(x, 0.0, _kaiming(x, a, mode, nonlinearity))


def _kaiming(x: Tensor | Parameter, a: float, mode: str, nonlinearity: str) -> float:
    """gain / √fan."""
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f'Kaiming weights expected mode "fan_in" or "fan_out", got {mode!r}')
    fan_in, fan_out = fans(_tensor_of(x).shape)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# What they share


def _tensor_of(x: Any) -> Tensor:
    """The tensor to write into.

    Raises:
        TypeError: If it is none.
    """
    x = x.value if isinstance(x, Parameter) else x
    if not isinstance(x, Tensor):
        raise TypeError(f"initial weights expected a Tensor or a Parameter of one, got {type(x).__name__}; pass layer.weight")
    return x


def _written(x: Tensor, values: np.ndarray | float) -> Tensor:
    """The tensor with these numbers in its storage."""
    with no_grad():
        x[...] = values
    return x
