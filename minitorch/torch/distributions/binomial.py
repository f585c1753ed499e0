"""Stage 7 - Binomial of torch.distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.data.random_streams import random_stream
from minitorch.torch import creation
from minitorch.torch.distributions.discrete import Bernoulli, require_one, softplus
from minitorch.torch.distributions.distribution import Distribution, parameters
from minitorch.torch.tensor import Tensor, as_torch


class Binomial(Distribution):
    """How often an event occurs in a number of independent trials.

    Args:
        total_count: The number of trials, a tensor or a number.
        probs: Probabilities of the event, a tensor or a number; or
        logits: their ln(p / (1 - p)).
        validate_args: See `Distribution`.

    Raises:
        ValueError: If both or neither are given, a number of trials is not whole or negative, or a probability is not from 0 to 1.

    Example:
        >>> torch.distributions.Binomial(2, torch.tensor(0.5)).log_prob(torch.tensor([0.0, 1.0, 2.0])).exp()
        tensor([0.2500, 0.5000, 0.2500])
    """

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        require_one("Binomial", probs, logits)
        trial = Bernoulli(probs, logits, validate_args)
        self.probs, self.logits, self.total_count = parameters(trial.probs, trial.logits, total_count)
        super().__init__(self.probs.shape, (), validate_args)
        n = self.total_count
        self.require("total_count", "of whole numbers from 0 on", n, (n >= 0) & (n.floor() == n))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Counts in the dtype of probs, shape (*sample_shape, *batch_shape)."""
        n, p = self.total_count.long().numpy(), self.probs.detach().numpy()
        source = random_stream(None)
        return as_torch(
            creation.drawn(lambda shape: source.binomial(n, p, shape), self.shape_of(sample_shape), p.dtype, self.probs.backend)
        )

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of counts, ln n! - ln k! - ln (n - k)! + k ln p + (n - k) ln (1 - p).

        Raises:
            ValueError: If a count is not a whole number from 0 to total_count.
        """
        n = self.total_count
        self.require("values", "of whole numbers from 0 to total_count", value, (value >= 0) & (value <= n) & (value.floor() == value))
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * softplus(self.logits)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All counts from 0 to total_count, shape (total_count + 1, *batch_shape), or with expand=False with sizes of 1.

        Raises:
            NotImplementedError: If the numbers of trials differ.
        """
        counts = self.total_count.detach().numpy().reshape(-1)
        if not counts.size or (counts != counts[0]).any():
            raise NotImplementedError("Binomial expected one number of trials for all variables to list the counts, got several")
        values = creation.arange(int(counts[0]) + 1, dtype=self.probs.dtype, device=self.probs.backend)
        listed = as_torch(values).view(-1, *[1] * len(self.batch_shape))
        return listed.expand(-1, *self.batch_shape) if expand else listed

    def entropy(self) -> Tensor:
        """-Σ p ln p over all counts, elementwise."""
        log_probs = self.log_prob(self.enumerate_support(expand=False))
        return -(log_probs.exp() * log_probs).sum(0)

    @property
    def mean(self) -> Tensor:
        """total_count · probs."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        """total_count · probs · (1 - probs)."""
        return self.total_count * self.probs * (1 - self.probs)
