"""Stage 6 - Losses between distributions: Kullback-Leibler divergence, Poisson and Gaussian likelihood; and the Huber loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minitorch.core.math_functions import ExactLog
from minitorch.nn.losses import check_reduction, reduce_losses, smooth_l1_loss
from minitorch.nn.module import Module

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Kullback-Leibler divergence target · (ln target - input), element by element.

    Args:
        input: Log-probabilities, any shape.
        target: Probabilities, a shape that broadcasts with it; log-probabilities if log_target.
        reduction: "mean", over all elements; "batchmean", the sum divided by the size of the first dimension; "sum" or "none".
        log_target: Whether target holds logarithms.

    Returns:
        Shape (1,), or that of the losses if reduction is "none". Where a probability in target is 0, so is the loss.

    Raises:
        ValueError: If reduction is unknown.
    """
    if reduction != "batchmean":
        check_reduction(reduction, "kl_div")
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = target * (ExactLog.apply(target.where(target.detach() > 0, 1.0)) - input)
    return losses.sum() * (1 / input.shape[0]) if reduction == "batchmean" else reduce_losses(losses, reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Huber loss: with d = |input - target|, d² / 2 where d <= delta, else delta · (d - delta / 2).

    Args:
        input: Predictions, any shape.
        target: Targets, same shape as input.
        reduction: "mean", "sum" or "none".
        delta: Threshold between the quadratic and the linear part, above 0.

    Returns:
        Shape (1,), or the shape of input if reduction is "none".

    Raises:
        ValueError: If the shapes differ, reduction is unknown, or delta is not above 0.

    Source: Huber 1964, The Annals of Mathematical Statistics 35, pages 73 to 101.
    """
    if not delta > 0:
        raise ValueError(f"huber_loss expected delta above 0, got {delta}")
    return smooth_l1_loss(input, target, reduction, delta) * delta


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood of counts under a Poisson distribution, without the term that does not depend on input.

    Args:
        input: The rate, or its logarithm if log_input; any shape.
        target: The counts, same shape.
        log_input: Whether input is the logarithm of the rate.
        full: Whether to add Stirling's approximation of ln(target!) for targets above 1.
        eps: Added to the rate before the logarithm.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or the shape of input if reduction is "none".

    Raises:
        ValueError: If reduction is unknown.
    """
    check_reduction(reduction, "poisson_nll_loss")
    losses = input.exp() - target * input if log_input else input - target * ExactLog.apply(input + eps)
    if full:
        large = target.detach() > 1
        counts = target.where(large, 1.0)
        stirling = counts * ExactLog.apply(counts) - counts + 0.5 * ExactLog.apply(counts * (2 * math.pi))
        losses = losses + stirling.where(large, 0.0)
    return reduce_losses(losses, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """Negative log-likelihood under a normal distribution: (ln var + (input - target)² / var) / 2.

    Args:
        input: Expected values, any shape.
        target: Observations, a shape that broadcasts with it.
        var: Variances, not negative; a shape that broadcasts with it.
        full: Whether to add the constant ln(2π) / 2.
        eps: Smallest variance; no gradient flows to smaller ones.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or that of the losses if reduction is "none".

    Raises:
        ValueError: If a variance is negative, or reduction is unknown.

    Source: Nix and Weigend 1994, ICNN, eq. 3.
    """
    check_reduction(reduction, "gaussian_nll_loss")
    if (var.detach() < 0).any().item():
        raise ValueError("gaussian_nll_loss expected variances of at least 0, got a negative one; pass exp(x) or softplus(x) as var")
    small = var.detach() < eps
    bounded = var + (var.detach().where(~small, eps) - var.detach())  # like PyTorch's, the gradient passes as if it were var
    losses = 0.5 * (ExactLog.apply(bounded) + (input - target) * (input - target) / bounded)
    return reduce_losses(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


# Layers


class _Reduced(Module):
    """Base class of the layers: a reduction.

    Raises:
        ValueError: If reduction is unknown.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction("mean" if reduction == "batchmean" else reduction, type(self).__name__)
        self.reduction = reduction


class KLDivLoss(_Reduced):
    """See `kl_div`."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `kl_div`."""
        return kl_div(input, target, self.reduction, self.log_target)


class HuberLoss(_Reduced):
    """See `huber_loss`."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `huber_loss`."""
        return huber_loss(input, target, self.reduction, self.delta)


class PoissonNLLLoss(_Reduced):
    """See `poisson_nll_loss`."""

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `poisson_nll_loss`."""
        return poisson_nll_loss(input, target, self.log_input, self.full, self.eps, self.reduction)


class GaussianNLLLoss(_Reduced):
    """See `gaussian_nll_loss`."""

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        """Return the loss. See `gaussian_nll_loss`."""
        return gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)
