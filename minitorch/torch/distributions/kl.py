"""Stage 7 - The Kullback-Leibler divergence of two distributions of torch.distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitorch.torch.distributions.continuous import Normal
from minitorch.torch.distributions.discrete import Bernoulli, Categorical, softplus
from minitorch.torch.distributions.distribution import Distribution, Independent
from minitorch.torch.tensor import Tensor


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """E[ln p(x) - ln q(x)] for x drawn from p, in nats, shape batch_shape.

    Raises:
        NotImplementedError: If there is no formula for these two classes.
        ValueError: If two Independent distributions have different numbers of dimensions in an event.

    Example:
        >>> torch.distributions.kl_divergence(torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(1.0, 1.0))
        tensor(0.5000)
    """
    for (first, second), formula in FORMULAS.items():
        if isinstance(p, first) and isinstance(q, second):
            return formula(p, q)
    known = ", ".join(f"({first.__name__}, {second.__name__})" for first, second in FORMULAS)
    kinds = f"{type(p).__name__} and {type(q).__name__}"
    raise NotImplementedError(f"kl_divergence supports {known} only, got {kinds}; estimate it from draws with log_prob")


def between_normals(p: Normal, q: Normal) -> Tensor:
    """½ ((σ/σ')² + ((μ - μ')/σ')² - 1 - ln (σ/σ')²), elementwise."""
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def weighted_difference(probs: Any, difference: Tensor, others: Any) -> Tensor:
    """p (ln p - ln q): ∞ where only q is 0, and 0 where p is."""
    return (probs * difference).masked_fill(others == 0, math.inf).masked_fill(probs == 0, 0.0)


def between_bernoullis(p: Bernoulli, q: Bernoulli) -> Tensor:
    """p ln(p/q) + (1 - p) ln((1 - p)/(1 - q)), elementwise."""
    of_ones = weighted_difference(p.probs, softplus(-q.logits) - softplus(-p.logits), q.probs)
    of_zeros = weighted_difference(1 - p.probs, softplus(q.logits) - softplus(p.logits), 1 - q.probs)
    return of_ones + of_zeros


def between_categoricals(p: Categorical, q: Categorical) -> Tensor:
    """Σ p ln(p/q)."""
    return weighted_difference(p.probs, p.logits - q.logits, q.probs).sum(-1)


def between_independents(p: Independent, q: Independent) -> Tensor:
    """The sum of the divergences of the parts. Raises ValueError if the events have different numbers of dimensions."""
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise ValueError(
            f"kl_divergence expected Independent distributions with equal reinterpreted_batch_ndims, got {p.reinterpreted_batch_ndims} and "
            f"{q.reinterpreted_batch_ndims}"
        )
    return p.sum_events(kl_divergence(p.base_dist, q.base_dist))


FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {
    (Normal, Normal): between_normals,
    (Bernoulli, Bernoulli): between_bernoullis,
    (Categorical, Categorical): between_categoricals,
    (Independent, Independent): between_independents,
}
"""The formula for each pair of classes."""
