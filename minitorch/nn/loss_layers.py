"""Stage 5 - Losses by the distance of numbers, and all losses as layers. A layer has what its function takes besides input and target."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from minitorch.nn.loss_checks import check_pairs, check_reduction
from minitorch.nn.losses import (
    ElementLoss,
    OfTwo,
    _reduced,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    mse_loss,
    nll_loss,
)
from minitorch.nn.module import Module
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The distance |input - target|; its slope where they are equal is 0.

    Args:
        input: Of any shape.
        target: In the same shape.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or that of input without a reduction.

    Raises:
        TypeError: If one is no Tensor.
        ValueError: If the shapes differ, or reduction is unknown.
    """
    check_pairs(input, target, reduction, "l1_loss")
    return _reduced(Distance.apply(input, target.to(input.dtype)), reduction)


def distance(x: float, t: float) -> float:
    """|x - t|."""
    return x - t if x >= t else t - x if x < t else x - t  # the last for NaN


def distance_by_x(x: float, t: float) -> float:
    """Its derivative by x."""
    return 1.0 if x > t else -1.0 if x < t else 0.0 * (x - t)


def distance_by_t(x: float, t: float) -> float:
    """Its derivative by t."""
    return -1.0 if x > t else 1.0 if x < t else 0.0 * (x - t)


class Distance(ElementLoss):
    """|x - t|."""

    loss, by_input, by_target = distance, distance_by_x, distance_by_t

    @staticmethod
    def composed(input: Tensor, target: Tensor) -> Tensor:
        """The same of operations on tensors."""
        return (input - target).abs()


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d² / 2 beta where the distance d = |input - target| is less than beta, d - beta / 2 elsewhere: without a kink at 0.

    Args:
        input: Of any shape.
        target: In the same shape.
        reduction: "mean", "sum" or "none".
        beta: Where the parabola ends, at least 0; with 0 it is `l1_loss`.

    Returns:
        Shape (1,), or that of input without a reduction.

    Raises:
        TypeError: If one is no Tensor.
        ValueError: If the shapes differ, reduction is unknown, or beta is negative.

    Source: Girshick 2015, arXiv:1504.08083, eq. 3.
    """
    check_pairs(input, target, reduction, "smooth_l1_loss")
    if not beta >= 0:
        raise ValueError(f"smooth_l1_loss expected beta of at least 0, got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction)
    return _reduced(SmoothDistance.apply(input, target.to(input.dtype), float(beta)), reduction)


@cache
def smooth_distance_curve(beta: float) -> tuple[OfTwo, OfTwo]:
    """The loss of two numbers, and its derivative by the first."""

    def smooth_distance(x: float, t: float) -> float:
        d = x - t if x >= t else t - x
        return 0.5 * d * d / beta if d < beta else d - 0.5 * beta

    def smooth_distance_by_x(x: float, t: float) -> float:
        d = x - t
        return 1.0 if d >= beta else -1.0 if d <= -beta else d / beta

    return smooth_distance, smooth_distance_by_x


class SmoothDistance(Function):
    """d² / 2 beta where d = |x - t| is less than beta, d - beta / 2 elsewhere."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, target: Tensor, beta: float) -> Tensor:
        ctx.save_for_backward(input, target, beta)
        return input.f.zip(smooth_distance_curve(beta)[0])(input, target)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor, None]:
        input, target, beta = ctx.saved_values
        by_input = grad_output * input.f.zip(smooth_distance_curve(beta)[1])(input, target)
        return by_input, -by_input, None

    @staticmethod
    def composed(input: Tensor, target: Tensor, beta: float) -> Tensor:
        """The same of operations on tensors."""
        d = (input - target).abs()
        return (d * d * (0.5 / beta)).where(d < beta, d - 0.5 * beta)


# The layers


class _Loss(Module):
    """What all layers of losses share.

    Args:
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: If it is another word.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction(reduction, type(self).__name__)
        self.reduction = reduction

    def extra_repr(self) -> str:
        """How it is reduced, unless to the mean."""
        return "" if self.reduction == "mean" else f"reduction={self.reduction!r}"


class MSELoss(_Loss):
    """`mse_loss`, the squared difference."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Of two of one shape."""
        return mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    """`l1_loss`, the distance."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Of two of one shape."""
        return l1_loss(input, target, self.reduction)


class SmoothL1Loss(_Loss):
    """`smooth_l1_loss`, the distance without a kink.

    Args:
        reduction: "mean", "sum" or "none".
        beta: Where the parabola ends.
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Of two of one shape."""
        return smooth_l1_loss(input, target, self.reduction, self.beta)


class BCELoss(_Loss):
    """`binary_cross_entropy` of probabilities.

    Args:
        weight: By how much each element counts; a buffer.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Of two of one shape."""
        return binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """`binary_cross_entropy_with_logits`.

    Args:
        weight: By how much each element counts; a buffer.
        reduction: "mean", "sum" or "none".
        pos_weight: By how much a 1 counts more than a 0; a buffer.
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Of two of one shape."""
        return binary_cross_entropy_with_logits(input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight)


class NLLLoss(_Loss):
    """`nll_loss`, of logarithms of probabilities.

    Args:
        weight: By how much each class counts, shape (C,); a buffer.
        ignore_index: A number in place of a class, for samples that do not count.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.ignore_index = ignore_index
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Of rows (N, C) and classes (N,)."""
        return nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_Loss):
    """`cross_entropy`, of logits.

    Args:
        weight: By how much each class counts, shape (C,); a buffer.
        ignore_index: A number in place of a class, for samples that do not count.
        reduction: "mean", "sum" or "none".
        label_smoothing: Which part of the truth is spread evenly over all classes.
    """

    def __init__(
        self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Of rows (N, C), and classes (N,) or probabilities (N, C)."""
        settings: dict[str, Any] = {"ignore_index": self.ignore_index, "label_smoothing": self.label_smoothing}
        return cross_entropy(input, target, self.weight, reduction=self.reduction, **settings)
