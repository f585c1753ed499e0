"""Stage 6 - Losses with a margin: for rankings, embeddings and triplets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.core.creation import where
from minitorch.nn.distances import pairwise_distance
from minitorch.nn.losses import check_reduction, reduce_losses
from minitorch.nn.module import Module
from minitorch.nn.smooth_activations import softplus

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """max(0, -target · (input1 - input2) + margin): target is 1 if input1 should be larger, -1 if input2 should.

    Args:
        input1: Any shape.
        input2: Same shape.
        target: 1 or -1, same shape.
        margin: Difference from which on the loss is 0.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or the shape of the inputs if reduction is "none".

    Raises:
        ValueError: If reduction is unknown.
    """
    check_reduction(reduction, "margin_ranking_loss")
    return reduce_losses((margin - target * (input1 - input2)).clip(0.0), reduction)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1. Works elementwise.

    Raises:
        ValueError: If reduction is unknown.
    """
    check_reduction(reduction, "hinge_embedding_loss")
    zero = input.detach() * 0
    far = where(target == 1, zero, (margin - input).clip(0.0))
    return reduce_losses(far + where(target == -1, zero, input), reduction)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """1 - cosine of the two vectors where target is 1, max(0, cosine - margin) where it is -1.

    Args:
        input1: Shape (N, D), or (D,) for a single pair.
        input2: Same shape.
        target: 1 or -1, shape (N,), or ().
        margin: Cosine up to which dissimilar vectors cost nothing.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: If reduction is unknown.
    """
    check_reduction(reduction, "cosine_embedding_loss")
    products = [(a * b).sum(-1, False) for a, b in ((input1, input2), (input1, input1), (input2, input2))]
    cosine = products[0] / ((products[1] + 1e-12) * (products[2] + 1e-12)).sqrt()
    zero = cosine.detach() * 0
    losses = where(target == 1, 1.0 - cosine, zero) + where(target == -1, (cosine - margin).clip(0.0), zero)
    return reduce_losses(losses, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin).

    Args:
        anchor: Shape (N, D) or (D,).
        positive: Same shape.
        negative: Same shape.
        margin: Difference of the distances from which on the loss is 0.
        p: Order of the norm.
        eps: Added to the differences.
        swap: Whether distance(positive, negative) counts for the negative one if it is smaller.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: If reduction is unknown.

    Source: Balntas et al. 2016, BMVC, section 2.
    """
    check_reduction(reduction, "triplet_margin_loss")
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        other = pairwise_distance(positive, negative, p, eps)
        far = where(other.detach() < far.detach(), other, far)
    return reduce_losses((near - far + margin).clip(0.0), reduction)


def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """ln(1 + e^(-target · input)) with target 1 or -1. Works elementwise.

    Raises:
        ValueError: If reduction is unknown.
    """
    check_reduction(reduction, "soft_margin_loss")
    return reduce_losses(softplus(-(target * input), 1.0, 1e4), reduction)


# Layers


class _Margin(Module):
    """Base class of losses with a margin and a reduction.

    Raises:
        ValueError: If reduction is unknown.
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction(reduction, type(self).__name__)
        self.margin, self.reduction = margin, reduction


class MarginRankingLoss(_Margin):
    """See `margin_ranking_loss`."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `margin_ranking_loss`."""
        return margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(_Margin):
    """See `hinge_embedding_loss`."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(margin, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `hinge_embedding_loss`."""
        return hinge_embedding_loss(input, target, self.margin, self.reduction)


class CosineEmbeddingLoss(_Margin):
    """See `cosine_embedding_loss`."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `cosine_embedding_loss`."""
        return cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class TripletMarginLoss(_Margin):
    """See `triplet_margin_loss`."""

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean") -> None:
        super().__init__(margin, reduction)
        self.p, self.eps, self.swap = p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Return the loss. See `triplet_margin_loss`."""
        return triplet_margin_loss(anchor, positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction)


class SoftMarginLoss(Module):
    """See `soft_margin_loss`."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction(reduction, "SoftMarginLoss")
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `soft_margin_loss`."""
        return soft_margin_loss(input, target, self.reduction)
