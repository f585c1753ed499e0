"""Stage 5 - Normalization of each sample by itself: groups of its channels, or its last dimensions, brought to mean 0 and variance 1.

What is normalized is then multiplied by a weight and shifted by a bias, if there are any. A layer's begin as ones and as zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core.creation import ones
from minitorch.core.dtypes import is_float
from minitorch.core.number_formats import finfo
from minitorch.nn.module import Module, Parameter
from minitorch.nn.norm_functions import PlaneNorm, Planes, RowNorm, fits_loops
from minitorch.nn.sizes import at_least_1
from minitorch.tensor import Tensor, zeros
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Groups of channels of each sample, less the mean of all their numbers, divided by the standard deviation of these.

    Args:
        input: Shape (N, C) or (N, C, …).
        num_groups: In how many groups of equally many channels one after the other; must divide C.
        weight: Factor of each channel, shape (C,).
        bias: What is added to each channel, shape (C,).
        eps: Added to the variance (divided by n), so that nothing is divided by 0.

    Returns:
        Shape of input.

    Raises:
        TypeError: If one is no Tensor of floats.
        ValueError: If a shape does not fit, or num_groups does not divide C.

    Source: Wu and He 2018, arXiv:1803.08494, eq. 1 to 3 and 7.
    """
    check_input("group_norm", input, 2, "(N, C) or (N, C, …)")
    samples, channels = input.shape[:2]
    _check_groups("group_norm", num_groups, channels)
    for name, x in (("weight", weight), ("bias", bias)):
        check_fits("group_norm", name, x, (channels,), input)
    planes = Planes((samples, num_groups, channels // num_groups), 2, math.prod(input.shape[2:]))
    run = PlaneNorm.apply if fits_loops(input, weight, bias) else PlaneNorm.composed
    return run(input, weight, bias, planes, np.empty(2 * planes.units), eps, True)


def layer_norm(
    input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """What lies along the last dimensions, less its mean, divided by its standard deviation.

    Args:
        input: Shape (…, *normalized_shape).
        normalized_shape: The sizes of the last dimensions; a number for the last one.
        weight: Factor of each element, shape normalized_shape.
        bias: What is added to each element, shape normalized_shape.
        eps: Added to the variance (divided by n), so that nothing is divided by 0.

    Returns:
        Shape of input.

    Raises:
        TypeError: If one is no Tensor of floats.
        ValueError: If a shape does not fit.

    Source: Ba et al. 2016, arXiv:1607.06450, eq. 3 and 4.
    """
    shape = _check_last("layer_norm", input, normalized_shape, weight, bias)
    run = RowNorm.apply if fits_loops(input, weight, bias) else RowNorm.composed
    return run(input, weight, bias, shape, eps, True)


def rms_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """What lies along the last dimensions, divided by the root of its mean square.

    Args:
        input: Shape (…, *normalized_shape).
        normalized_shape: The sizes of the last dimensions; a number for the last one.
        weight: Factor of each element, shape normalized_shape.
        eps: Added to the mean square, so that nothing is divided by 0; left out: the distance of 1 to the next number in input's dtype.

    Returns:
        Shape of input.

    Raises:
        TypeError: If one is no Tensor of floats.
        ValueError: If a shape does not fit.

    Source: Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4.
    """
    shape = _check_last("rms_norm", input, normalized_shape, weight, None)
    eps = finfo(input.dtype).eps if eps is None else eps
    run = RowNorm.apply if fits_loops(input, weight) else RowNorm.composed
    return run(input, weight, None, shape, eps, False)


# What they share


def check_input(op: str, input: Any, dims: int, shape: str) -> None:
    """That the input is a tensor of floats with enough dimensions."""
    if not isinstance(input, Tensor) or not is_float(input.dtype):
        got = input.dtype.name if isinstance(input, Tensor) else type(input).__name__
        raise TypeError(f"{op} expected a Tensor of floats as input, got {got}; make one with tensor(...)")
    if input.dims < dims or not input.shape[dims - 1]:
        raise ValueError(f"{op} expected input of shape {shape}, got {input.shape}")


def check_fits(op: str, name: str, x: Any, shape: tuple[int, ...], input: Tensor) -> None:
    """That what comes with the input is None, or a tensor of floats of the right shape."""
    if x is None:
        return
    if not isinstance(x, Tensor) or not is_float(x.dtype):
        got = x.dtype.name if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{op} expected a Tensor of floats as {name}, got {got}; make one with tensor(...)")
    if x.shape != shape:
        raise ValueError(f"{op} expected {name} of shape {shape} for input of shape {input.shape}, got {x.shape}")


def _check_groups(op: str, num_groups: Any, channels: int) -> None:
    """That channels can be put into so many groups."""
    (groups,) = at_least_1((num_groups,), op, "num_groups")
    if channels % groups:
        raise ValueError(f"{op} expected num_groups that divides the number of channels, {channels}, got {groups}")


def _check_last(op: str, input: Any, normalized_shape: int | Sequence[int], weight: Any, bias: Any) -> tuple[int, ...]:
    """The last sizes of the input, if they are what was said, and weight and bias fit."""
    shape = _shape_of(op, normalized_shape)
    check_input(op, input, 0, "")
    if input.shape[-len(shape) :] != shape:
        expected = f"(…, {', '.join(map(str, shape))})"
        raise ValueError(f"{op} expected input of shape {expected} for normalized_shape {shape}, got {input.shape}")
    for name, x in (("weight", weight), ("bias", bias)):
        check_fits(op, name, x, shape, input)
    return shape


def _shape_of(op: str, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    """The sizes of the last dimensions."""
    sizes = tuple(normalized_shape) if isinstance(normalized_shape, Sequence) else (normalized_shape,)
    if not sizes:
        raise ValueError(f"{op} expected normalized_shape as the sizes of at least one dimension, got {normalized_shape!r}")
    return at_least_1(sizes, op, "sizes")


# The layers


class _OneSample(Module):
    """What GroupNorm, LayerNorm and RMSNorm share."""

    def __init__(self, shape: tuple[int, ...], eps: float | None, weight: bool, bias: bool, backend: TensorBackend, dtype: Any) -> None:
        super().__init__()
        self.eps = eps
        self.weight = Parameter(ones(shape, backend, dtype=dtype)) if weight else None
        self.bias = Parameter(zeros(shape, backend, dtype=dtype)) if bias else None

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """For each element its part of the two sums, a difference, a square and a factor; another one of the weight."""
        return (5 + (self.weight is not None)) * output.size

    def _weights(self) -> tuple[Tensor | None, Tensor | None]:
        """Weight and bias."""
        return self.weight and self.weight.value, self.bias and self.bias.value


class GroupNorm(_OneSample):
    """`group_norm`, over groups of channels.

    Args:
        num_groups: In how many groups; must divide num_channels.
        num_channels: C.
        eps: Added to the variance, so that nothing is divided by 0.
        affine: Whether there are a weight, which begins as ones, and a bias, which begins as zeros.

    Raises:
        ValueError: If a number is less than 1, or num_groups does not divide num_channels.

    Source: Wu and He 2018, arXiv:1803.08494.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        shape = at_least_1((num_channels,), "GroupNorm", "num_channels")
        _check_groups("GroupNorm", num_groups, num_channels)
        super().__init__(shape, eps, affine, affine, backend, dtype)
        self.num_groups, self.num_channels = num_groups, num_channels

    def extra_repr(self) -> str:
        """Its settings."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.weight is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Of shape (N, C, …), which stays."""
        return group_norm(input, self.num_groups, *self._weights(), self.eps or 0.0)


class LayerNorm(_OneSample):
    """`layer_norm`, over the last dimensions.

    Args:
        normalized_shape: The sizes of the last dimensions; a number for the last one.
        eps: Added to the variance, so that nothing is divided by 0.
        elementwise_affine: Whether there is a weight, which begins as ones.
        bias: Whether there is a bias beside the weight; it begins as zeros.

    Raises:
        ValueError: If a size is less than 1.

    Source: Ba et al. 2016, arXiv:1607.06450.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        self.normalized_shape = _shape_of("LayerNorm", normalized_shape)
        super().__init__(self.normalized_shape, eps, elementwise_affine, elementwise_affine and bias, backend, dtype)

    def extra_repr(self) -> str:
        """Its settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}, bias={self.bias is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Of shape (…, *normalized_shape), which stays."""
        return layer_norm(input, self.normalized_shape, *self._weights(), self.eps or 0.0)


class RMSNorm(_OneSample):
    """`rms_norm`, over the last dimensions.

    Args:
        normalized_shape: The sizes of the last dimensions; a number for the last one.
        eps: Added to the mean square, so that nothing is divided by 0; None: the distance of 1 to the next number in the input's dtype.
        elementwise_affine: Whether there is a weight, which begins as ones.

    Raises:
        ValueError: If a size is less than 1.

    Source: Zhang and Sennrich 2019, arXiv:1910.07467.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        self.normalized_shape = _shape_of("RMSNorm", normalized_shape)
        super().__init__(self.normalized_shape, eps, elementwise_affine, False, backend, dtype)

    def extra_repr(self) -> str:
        """Its settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Of shape (…, *normalized_shape), which stays."""
        return rms_norm(input, self.normalized_shape, self._weights()[0], self.eps)
