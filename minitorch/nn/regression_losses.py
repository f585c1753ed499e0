"""Stage 7 - Losses of numbers: squared, absolute, smooth L1 and Huber."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from minitorch.core.dtypes import is_float
from minitorch.core.errors import DtypeError
from minitorch.nn.losses import ElementLoss, LossFunction, check_reduction, loss_layer, reduce_losses
from minitorch.nn.options import resolve_reduction
from minitorch.ops.checks import check_float_tensor, check_tensor
from minitorch.tensor import Tensor
from minitorch.tensor_functions import Function
from minitorch.torch.promotion import cast, require_numbers, result_type


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared error (input - target)².

    Args:
        input: Predictions, any shape.
        target: Targets, same shape as input; another one broadcasts, with a warning.
        reduction: "mean", "sum" or "none"; size_average and reduce are PyTorch's older forms of it.
        weight: Weight of each element, shape of input. The mean is divided by the sum of the weights.

    Returns:
        Shape (), or the shape of input if reduction is "none", in the dtype that both promote to.

    Raises:
        TypeError: If an argument is not a Tensor, or neither input nor target holds floating-point numbers.
        ValueError: If weight has another shape than input, or reduction is unknown.
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    losses = _losses("mse_loss", SquaredError.apply, input, target, reduction, weight)
    return _weighted_mean(losses, weight) if reduction == "mean" else reduce_losses(losses, reduction)


def _losses(
    op: str, fn: Callable[..., Tensor], input: Tensor, target: Tensor, reduction: str, weight: Tensor | None, *options: float
) -> Tensor:
    """The loss of each element, in the dtype that input and target promote to, times its weight; with a warning if they broadcast."""
    for name, x in (("input", input), ("target", target)):
        check_tensor(op, x, name)
        if weight is not None or op == "l1_loss":  # where PyTorch subtracts
            require_numbers(op, x)
    check_reduction(reduction, op)
    dtype = result_type(input, target)
    if not is_float(dtype) and (op != "l1_loss" or reduction == "mean"):
        names = f"{input.dtype.name} and {target.dtype.name}"
        raise DtypeError(f"{op} expected input or target of floating-point numbers, got {names}; convert one: input.to(float32)")
    if input.shape != target.shape:
        warnings.warn(
            f"a loss of input {tuple(input.shape)} and target {tuple(target.shape)} broadcasts them; give both the same shape", stacklevel=3
        )
    losses = fn(cast(input, dtype), cast(target, dtype), *options)
    if weight is not None and weight.shape != input.shape:
        raise ValueError(f"{op} expected weight of the shape of input, {tuple(input.shape)}, got {tuple(weight.shape)}; expand it")
    return losses if weight is None else losses * weight


def _weighted_mean(losses: Tensor, weight: Tensor | None) -> Tensor:
    """The mean of losses that are multiplied by weights."""
    return reduce_losses(losses, "mean") if weight is None else reduce_losses(losses, "sum") / reduce_losses(weight, "sum")


def squared_error(x: float, t: float) -> float:
    """(x - t)²."""
    return (x - t) * (x - t)


def squared_error_grad_x(x: float, t: float) -> float:
    """Its derivative with respect to x."""
    return 2.0 * (x - t)


def squared_error_grad_t(x: float, t: float) -> float:
    """Its derivative with respect to t."""
    return 2.0 * (t - x)


class SquaredError(ElementLoss):
    """(x - t)²."""

    loss, grad_input, grad_target = squared_error, squared_error_grad_x, squared_error_grad_t


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute error |input - target|; its derivative is 0 where the two are equal. For the arguments and errors see `mse_loss`.

    Integers are refused by the mean only.
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    losses = _losses("l1_loss", AbsoluteError.apply, input, target, reduction, weight)
    return _weighted_mean(losses, weight) if reduction == "mean" else reduce_losses(losses, reduction)


def absolute_error(x: float, t: float) -> float:
    """|x - t|."""
    return x - t if x >= t else t - x if x < t else x - t  # the last case is NaN


def absolute_error_grad_x(x: float, t: float) -> float:
    """Its derivative with respect to x; 0 for NaN, as in PyTorch."""
    return 1.0 if x > t else -1.0 if x < t else 0.0


def absolute_error_grad_t(x: float, t: float) -> float:
    """Its derivative with respect to t."""
    return -1.0 if x > t else 1.0 if x < t else 0.0


class AbsoluteError(ElementLoss):
    """|x - t|."""

    loss, grad_input, grad_target = absolute_error, absolute_error_grad_x, absolute_error_grad_t
    composed = staticmethod(lambda input, target: (input - target).abs())


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Smooth L1 loss: with d = |input - target|, d² / (2 beta) where d < beta, else d - beta / 2.

    Args:
        input: For this, the other arguments, the result and the errors see `mse_loss`.
        beta: Threshold between the quadratic and the linear part, at least 0, or a ValueError is raised; 0 gives `l1_loss`.

    Source: Girshick 2015, arXiv:1504.08083, eq. 3.
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if not beta >= 0:
        raise ValueError(f"smooth_l1_loss expected beta of at least 0, got {beta}")
    fn, options = (SmoothL1.apply, (float(beta),)) if beta else (AbsoluteError.apply, ())
    return reduce_losses(_losses("smooth_l1_loss", fn, input, target, reduction, None, *options), reduction)


@cache
def smooth_l1_functions(beta: float) -> tuple[LossFunction, LossFunction]:
    """Return the element-wise loss and its derivative with respect to the input."""

    def smooth_l1(x: float, t: float) -> float:
        d = x - t if x >= t else t - x
        return 0.5 * d * d / beta if d < beta else d - 0.5 * beta

    def smooth_l1_grad_x(x: float, t: float) -> float:
        d = x - t
        return 1.0 if d >= beta else -1.0 if d <= -beta else d / beta

    return smooth_l1, smooth_l1_grad_x


class SmoothL1(Function):
    """Element-wise smooth L1 loss: with d = |x - t|, d² / (2 beta) where d < beta, else d - beta / 2."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, target: Tensor, beta: float) -> Tensor:
        ctx.save_for_backward(input, target, beta)
        return input.f.zip(smooth_l1_functions(beta)[0])(input, target)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor, None]:
        input, target, beta = ctx.saved_values
        grad_input = grad_output * input.f.zip(smooth_l1_functions(beta)[1])(input, target)
        return grad_input, -grad_input, None

    @staticmethod
    def composed(input: Tensor, target: Tensor, beta: float) -> Tensor:
        """The same loss composed of differentiable tensor operations."""
        d = (input - target).abs()
        near = ~(d.detach() >= beta)
        inner = d.where(near, 0.0)  # no square of a large number
        return (inner * inner * (0.5 / beta)).where(near, d - 0.5 * beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Huber loss: with d = |input - target|, d² / 2 where d <= delta, else delta · (d - delta / 2).

    Args:
        input: See `mse_loss` for this and the other arguments.
        delta: Threshold between the quadratic and the linear part, above 0.
        weight: Weight of each element, shape of input; the mean is divided by the number of elements.

    Returns:
        Shape (), or the shape of input if reduction is "none", in the dtype of input.

    Raises:
        TypeError: If an argument is not a Tensor, or input does not hold floating-point numbers.
        ValueError: If weight has another shape than input, reduction is unknown, or delta is not above 0.

    Source: Huber 1964, The Annals of Mathematical Statistics 35, pages 73 to 101.
    """
    if not delta > 0:
        raise ValueError(f"huber_loss expected delta above 0, got {delta}")
    dtype = check_float_tensor("huber_loss", input, "input").dtype
    labels = cast(check_tensor("huber_loss", target, "target"), dtype)
    losses = _losses("huber_loss", SmoothL1.apply, input, labels, reduction, weight, float(delta))
    return reduce_losses(losses * delta, reduction)


# Layers


OLDER = ("size_average", "reduce", "reduction")

MSELoss, L1Loss = loss_layer("MSELoss", mse_loss, *OLDER), loss_layer("L1Loss", l1_loss, *OLDER)
SmoothL1Loss, HuberLoss = loss_layer("SmoothL1Loss", smooth_l1_loss), loss_layer("HuberLoss", huber_loss, "reduction", "delta")
