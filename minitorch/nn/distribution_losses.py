"""Stage 7 - Losses between distributions: Kullback-Leibler divergence, Poisson and Gaussian likelihood."""

from __future__ import annotations

import math

from minitorch.core import creation
from minitorch.core.math_functions import ExactLog
from minitorch.nn.losses import REDUCTIONS, check_reduction, loss_layer, reduce_losses
from minitorch.nn.options import resolve_reduction
from minitorch.ops.checks import check_float_tensor
from minitorch.ops.pairs import XLogY
from minitorch.tensor import Tensor
from minitorch.torch.promotion import require_floats


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence target · (ln target - input), element by element.

    Args:
        input: Log-probabilities, any shape.
        target: Probabilities, a shape that broadcasts with it; log-probabilities if log_target.
        reduction: "mean", over all elements; "batchmean", the sum divided by the size of the first dimension; "sum" or "none";
            size_average and reduce are PyTorch's older forms of it.
        log_target: Whether target holds logarithms.

    Returns:
        Shape (), or that of the losses if reduction is "none". Where a probability in target is 0, so is the loss.

    Raises:
        TypeError: If an argument is not a floating-point Tensor.
        ValueError: If reduction is unknown.
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if reduction != "batchmean":
        check_reduction(reduction, "kl_div")
    for name, x in (("input", input), ("target", target)):
        check_float_tensor("kl_div", x, name)
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = XLogY.apply(target, target) - target * input
    if reduction == "batchmean":
        return reduce_losses(losses, "sum") * (1 / (input.shape[0] if input.dims else 1))
    return reduce_losses(losses, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts under a Poisson distribution, without the term that does not depend on input.

    Args:
        input: The rate, or its logarithm if log_input; any shape.
        target: The counts, same shape.
        log_input: Whether input is the logarithm of the rate.
        full: Whether to add Stirling's approximation of ln(target!) for targets above 1.
        eps: Added to the rate before the logarithm.
        reduction: "mean", "sum" or "none"; size_average and reduce are PyTorch's older forms of it.

    Returns:
        Shape (), or the shape of input if reduction is "none".

    Raises:
        ValueError: If reduction is unknown.
    """
    reduction = check_reduction(reduction, "poisson_nll_loss", size_average, reduce)
    losses = input.exp() - target * input if log_input else input - target * ExactLog.apply(input + eps)
    if full:
        stirling = target * ExactLog.apply(target) - target + 0.5 * ExactLog.apply(target * (2 * math.pi))
        losses = losses + stirling.where(~(target.detach() <= 1), 0.0)
    return reduce_losses(losses, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood under a normal distribution: (ln var + (input - target)² / var) / 2.

    Args:
        input: Expected values, any shape.
        target: Observations, a shape that broadcasts with it.
        var: Variances, not negative: a number, the shape of input, or that shape without the last dimension or with size 1 in one.
        full: Whether to add the constant ln(2π) / 2.
        eps: Smallest variance; no gradient flows to smaller ones.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (), or that of the losses if reduction is "none".

    Raises:
        ValueError: If a variance is negative, var has another shape, or reduction is unknown.

    Source: Nix and Weigend 1994, ICNN, eq. 3.
    """
    check_reduction(reduction, "gaussian_nll_loss")
    if not isinstance(var, Tensor):
        var = creation.full(input.shape, var, input.backend, dtype=input.dtype)
    elif var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    elif var.dims != input.dims or [n for n, m in zip(var.shape, input.shape, strict=True) if n != m] not in ([], [1]):
        sizes = f"{tuple(input.shape)}, {tuple(input.shape[:-1])} or the first with size 1 in one dimension"
        raise ValueError(f"gaussian_nll_loss expected var of shape {sizes}, got {tuple(var.shape)}")
    require_floats("gaussian_nll_loss", var)
    if (var.detach() < 0).any().item():
        raise ValueError("gaussian_nll_loss expected variances of at least 0, got a negative one; pass exp(x) or softplus(x) as var")
    bounded = (var - var.detach() + eps).where(var.detach() < eps, var)  # like PyTorch's, the gradient passes as if it were var
    losses = 0.5 * (ExactLog.apply(bounded) + (input - target) * (input - target) / bounded)
    return reduce_losses(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


# Layers


KLDivLoss = loss_layer("KLDivLoss", kl_div, reductions=(*REDUCTIONS, "batchmean"))
PoissonNLLLoss, GaussianNLLLoss = loss_layer("PoissonNLLLoss", poisson_nll_loss), loss_layer("GaussianNLLLoss", gaussian_nll_loss)
