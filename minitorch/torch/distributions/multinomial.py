"""Stage 7 - Multinomial of torch.distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.torch import creation
from minitorch.torch.distributions.discrete import Categorical
from minitorch.torch.distributions.distribution import Distribution
from minitorch.torch.tensor import Tensor, as_torch


class Multinomial(Distribution):
    """How often each of n classes is drawn in a number of draws.

    Args:
        total_count: The number of draws.
        probs: Weights of the classes, shape (..., n), which are divided by their sum; or
        logits: logarithms of weights.
        validate_args: See `Distribution`.

    Raises:
        NotImplementedError: If the number of draws is no integer.
        ValueError: If it is negative, or the weights are those that `Categorical` refuses.

    Example:
        >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).mean
        tensor([1., 3.])
    """

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(f"Multinomial expected one number of draws, an int, got {total_count!r}")
        if total_count < 0:
            raise ValueError(f"Multinomial expected total_count from 0 on, got {total_count}")
        self.total_count, self._categorical = total_count, Categorical(probs, logits, validate_args)
        self.probs, self.logits = self._categorical.probs, self._categorical.logits
        super().__init__(self.probs.shape[:-1], self.probs.shape[-1:], validate_args)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Counts of the classes in the dtype of probs, shape (*sample_shape, *batch_shape, n)."""
        drawn = self._categorical.sample((self.total_count, *sample_shape)).numpy()
        counts = [(drawn == each).sum(0) for each in range(self.event_shape[0])]
        return as_torch(creation.tensor(np.stack(counts, -1), dtype=self.probs.dtype, device=self.probs.backend))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of counts, ln n! - Σ ln kᵢ! + Σ kᵢ ln pᵢ; no gradient flows into the counts of the factorials.

        Args:
            value: Counts, shape (..., n).

        Raises:
            ValueError: If the counts are not whole numbers from 0 on with the sum total_count.
        """
        whole = (value >= 0) & (value.long() == value)
        self.require("values", "of whole numbers from 0 on", value, whole)
        sums = value.sum(-1)
        self.require("values", f"with the sum {self.total_count}", sums, sums == self.total_count)
        numbers = value.detach().numpy().astype(float)
        ways = np.vectorize(math.lgamma, otypes=[float])(numbers.sum(-1) + 1) - np.vectorize(math.lgamma, otypes=[float])(numbers + 1).sum(
            -1
        )
        logits = self.logits.expand(np.broadcast_shapes(tuple(value.shape), tuple(self.logits.shape)))
        logits = logits.masked_fill((logits == -math.inf) & (value == 0), 0.0)
        return (logits * value).sum(-1) + as_torch(creation.tensor(ways, dtype=logits.dtype, device=logits.backend))

    @property
    def mean(self) -> Tensor:
        """total_count · probs."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """total_count · probs · (1 - probs)."""
        return self.probs * (1 - self.probs) * self.total_count
