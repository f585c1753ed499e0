"""Stage 7 - Normal and Uniform of torch.distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minitorch.torch import creation
from minitorch.torch.distributions.distribution import Distribution, parameters
from minitorch.torch.tensor import Tensor, as_torch


class Normal(Distribution):
    """The normal distribution.

    Args:
        loc: Mean, a tensor or a number.
        scale: Standard deviation, above 0.
        validate_args: See `Distribution`.

    Raises:
        ValueError: If a mean is NaN, or a standard deviation not above 0.

    Example:
        >>> torch.distributions.Normal(0.0, 2.0).cdf(torch.tensor(0.0))
        tensor(0.5000)
    """

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = parameters(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        self.require("loc", "that is a number", self.loc, self.loc == self.loc)
        self.require("scale", "above 0", self.scale, self.scale > 0)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """loc + scale · ε with standard normal ε, shape (*sample_shape, *batch_shape)."""
        x = self.loc
        noise = as_torch(creation.randn(self.shape_of(sample_shape), dtype=x.dtype, device=x.backend))
        return self.loc + self.scale * noise

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, elementwise.

        Raises:
            ValueError: If a value is NaN.
        """
        self.require("values", "that are numbers", value, value == value)
        return -0.5 * ((value - self.loc) / self.scale) ** 2 - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def entropy(self) -> Tensor:
        """½ ln(2πe σ²), elementwise."""
        return self.scale.log() + 0.5 * (1 + math.log(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a smaller number, elementwise."""
        return 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf())

    @property
    def mean(self) -> Tensor:
        """loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """scale²."""
        return self.scale**2

    @property
    def stddev(self) -> Tensor:
        """scale."""
        return self.scale


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    Args:
        low: Lower limit, a tensor or a number.
        high: Upper limit, above low.
        validate_args: See `Distribution`.

    Raises:
        ValueError: If an upper limit is not above the lower one.

    Example:
        >>> torch.distributions.Uniform(0.0, 4.0).cdf(torch.tensor([1.0, 3.0]))
        tensor([0.2500, 0.7500])
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = parameters(low, high)
        super().__init__(self.low.shape, (), validate_args)
        self.require("high", "above low", self.high, self.low < self.high)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """low + (high - low) · u with u uniform on [0, 1), shape (*sample_shape, *batch_shape)."""
        x = self.low
        uniform = as_torch(creation.rand(self.shape_of(sample_shape), dtype=x.dtype, device=x.backend))
        return self.low + (self.high - self.low) * uniform

    def log_prob(self, value: Tensor) -> Tensor:
        """-ln(high - low), elementwise; without checks -∞ outside of the range.

        Raises:
            ValueError: If a value is outside of the range.
        """
        low, high = self.low, self.high
        self.require("values", "from low to high", value, (value >= low) & (value <= high))
        inside = (value >= low) & (value < high)
        return (-(high - low).log()).expand(inside.shape).masked_fill(~inside, -math.inf)

    def entropy(self) -> Tensor:
        """ln(high - low), elementwise."""
        return (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a smaller number, elementwise."""
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Tensor:
        """(high - low)² / 12."""
        return (self.high - self.low) ** 2 / 12
