"""Stage 7 - Bernoulli and Categorical of torch.distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.torch import creation, reductions
from minitorch.torch.distributions.distribution import Distribution, parameters
from minitorch.torch.tensor import Tensor, as_torch, lift

logsumexp = lift(reductions.logsumexp)


def require_one(name: str, probs: Any, logits: Any) -> None:
    """Check that exactly one of two parameters is given. Raises ValueError if not."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{name} expected either probs or logits, got {'neither' if probs is None else 'both'}")


def inside(probs: Tensor) -> Tensor:
    """Probabilities moved away from 0 and 1 by what rounding may do, so that their logarithms are finite."""
    eps = float(np.finfo(probs.dtype).eps)
    return probs.clamp(eps, 1 - eps)


def softplus(x: Tensor) -> Tensor:
    """ln(1 + eˣ) without overflow; its derivative at 0, of even odds, is 1/2."""
    return x.logaddexp(x.new_zeros(()))


class Bernoulli(Distribution):
    """1 with probability probs, else 0.

    Args:
        probs: Probabilities, a tensor or a number; or
        logits: their ln(p / (1 - p)).
        validate_args: See `Distribution`.

    Raises:
        ValueError: If both or neither are given, or a probability is not from 0 to 1.

    Example:
        >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor([0.0, 1.0])).exp()
        tensor([0.7500, 0.2500])
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        require_one("Bernoulli", probs, logits)
        (given,) = parameters(logits if probs is None else probs)
        super().__init__(given.shape, (), validate_args)
        if probs is None:
            self.require("logits", "that are numbers", given, given == given)
            self.logits, self.probs = given, given.sigmoid()
        else:
            self.require("probs", "from 0 to 1", given, (given >= 0) & (given <= 1))
            clamped = inside(given)
            self.probs, self.logits = given, clamped.log() - (-clamped).log1p()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Zeros and ones, shape (*sample_shape, *batch_shape)."""
        return as_torch(creation.bernoulli(self.probs.detach().expand(self.shape_of(sample_shape))))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, elementwise.

        Raises:
            ValueError: If a value is neither 0 nor 1.
        """
        self.require("values", "of 0 or 1", value, (value == 0) | (value == 1))
        return value * self.logits - softplus(self.logits)

    def entropy(self) -> Tensor:
        """-p ln p - (1 - p) ln(1 - p), elementwise."""
        return softplus(self.logits) - self.probs * self.logits

    @property
    def mean(self) -> Tensor:
        """probs."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)


class Categorical(Distribution):
    """A class 0 … n - 1.

    Args:
        probs: Weights of the classes, shape (..., n), which are divided by their sum; or
        logits: logarithms of weights.
        validate_args: See `Distribution`.

    Raises:
        ValueError: If both or neither are given, there is no dimension of classes, or weights are negative or all 0.

    Example:
        >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500])
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        require_one("Categorical", probs, logits)
        (given,) = parameters(logits if probs is None else probs)
        if not given.dim():
            raise ValueError(f"Categorical expected {'logits' if probs is None else 'probs'} of shape (..., classes), got one number")
        super().__init__(given.shape[:-1], (), validate_args)
        if probs is None:
            self.require("logits", "that are numbers", given, given == given)
            self.logits = given - logsumexp(given, -1, True)
            self.probs = self.logits.exp()
        else:
            sums = given.sum(-1, True)
            self.require("probs", "from 0 on", given, given >= 0)
            self.require("probs", "with a sum above 0", sums, sums > 0)
            self.probs = given / sums
            self.logits = inside(self.probs).log()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Numbers of classes as int64, shape (*sample_shape, *batch_shape)."""
        shape = self.shape_of(sample_shape)
        rows = self.probs.detach().reshape(-1, self.probs.shape[-1])
        count = math.prod(sample_shape)
        drawn = as_torch(creation.multinomial(rows, count, True)) if count else rows.new_zeros((len(rows), 0), dtype=np.dtype("int64"))
        return drawn.T.reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of classes.

        Args:
            value: Numbers of classes; its shape broadcasts with batch_shape.

        Raises:
            ValueError: If there is no such class.
        """
        classes = self.probs.shape[-1]
        holds = (value >= 0) & (value < classes) & (value.long() == value)
        self.require("values", f"of whole numbers from 0 to {classes - 1}", value, holds)
        shape = np.broadcast_shapes(tuple(value.shape), tuple(self.batch_shape))
        chosen = value.long().expand(shape).unsqueeze(-1)
        return self.logits.expand((*shape, classes)).gather(-1, chosen).squeeze(-1)

    def entropy(self) -> Tensor:
        """-Σ p ln p, shape batch_shape."""
        return -(self.logits.clamp(min=float(np.finfo(self.logits.dtype).min)) * self.probs).sum(-1)

    @property
    def mean(self) -> Tensor:
        """NaN: classes have no mean."""
        return self.probs.new_full(self.batch_shape, math.nan)

    @property
    def variance(self) -> Tensor:
        """NaN: classes have no variance."""
        return self.mean
