"""Stage 6 - Losses with a margin: for rankings, embeddings and triplets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minitorch.core.creation import where
from minitorch.nn.distances import pairwise_distance
from minitorch.nn.losses import binary_cross_entropy_with_logits, check_reduction, reduce_losses
from minitorch.nn.module import Module
from minitorch.ops.smooth_activations import softplus
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData


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
    products = [Tensor.sum(a * b, -1, False) for a, b in ((input1, input2), (input1, input1), (input2, input2))]
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


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of two batches of vectors, shape (N, D) each; by default `pairwise_distance`.

    Raises:
        ValueError: If reduction is unknown.
    """
    check_reduction(reduction, "triplet_margin_with_distance_loss")
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        other = distance(positive, negative)
        far = where(other.detach() < far.detach(), other, far)
    return reduce_losses((near - far + margin).clip(0.0), reduction)


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Mean over the classes of max(0, margin - input[target] + input[j])^p, where j is not the target.

    Args:
        input: Scores, shape (N, C), or (C,) for a single sample.
        target: Class indices, shape (N,), or ().
        p: 1 or 2.
        margin: Difference of the scores from which on the loss is 0.
        weight: Weight of each class, shape (C,): the loss is multiplied by that of the target.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: If p is neither, a shape does not match, a class index is out of range, or reduction is unknown.

    Source: Weston and Watkins 1999, ESANN, eq. 3.
    """
    check_reduction(reduction, "multi_margin_loss")
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss expected p=1 or p=2, got {p}")
    scores, labels = (input, target) if input.dims == 2 else (input.unsqueeze(0), target.reshape(1))
    if scores.dims != 2 or labels.shape != scores.shape[:1]:
        raise ValueError(f"multi_margin_loss expected input (N, C) and target (N,), got {input.shape} and {target.shape}")
    chosen, count, classes = labels.to_numpy(), *scores.shape
    if count and not (chosen.min() >= 0 and chosen.max() < classes):
        raise ValueError(f"multi_margin_loss expected class indices from 0 to {classes - 1}, got {chosen.min()} to {chosen.max()}")
    others = np.ones((count, classes), bool)
    others[np.arange(count), chosen] = False
    terms = (margin - scores[np.arange(count), chosen].unsqueeze(1) + scores).clip(0.0)
    terms = terms if p == 1 else terms * terms
    losses = Tensor.sum(terms.where(scores._like(TensorData(others.reshape(-1), others.shape)), 0.0), 1, keepdim=False) * (1 / classes)
    losses = losses if weight is None else losses * weight[chosen]
    return losses.squeeze(0) if reduction == "none" and input.dims == 1 else reduce_losses(losses, reduction)


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """Mean over the classes of the binary cross-entropy of logits, for samples that belong to several classes.

    Args:
        input: Logits, shape (N, C) or (C,).
        target: 1 for the classes of a sample, else 0; same shape.
        weight: Weight of each class, shape (C,).
        reduction: "mean", "sum" or "none", over the samples.

    Raises:
        ValueError: If the shapes differ, or reduction is unknown.
    """
    check_reduction(reduction, "multilabel_soft_margin_loss")
    losses = binary_cross_entropy_with_logits(input, target, weight, reduction="none")
    return reduce_losses(Tensor.mean(losses, losses.dims - 1, keepdim=False), reduction)


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


class TripletMarginWithDistanceLoss(_Margin):
    """See `triplet_margin_with_distance_loss`."""

    def __init__(
        self,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, reduction)
        self.distance_function, self.swap = distance_function, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Return the loss. See `triplet_margin_with_distance_loss`."""
        options = {"distance_function": self.distance_function, "margin": self.margin, "swap": self.swap, "reduction": self.reduction}
        return triplet_margin_with_distance_loss(anchor, positive, negative, **options)


class MultiMarginLoss(_Margin):
    """See `multi_margin_loss`; weight is registered as a buffer."""

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(margin, reduction)
        self.p = p
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `multi_margin_loss`."""
        return multi_margin_loss(input, target, self.p, self.margin, self.weight, self.reduction)


class MultiLabelSoftMarginLoss(Module):
    """See `multilabel_soft_margin_loss`; weight is registered as a buffer."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction(reduction, "MultiLabelSoftMarginLoss")
        self.reduction = reduction
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `multilabel_soft_margin_loss`."""
        return multilabel_soft_margin_loss(input, target, self.weight, self.reduction)


class SoftMarginLoss(Module):
    """See `soft_margin_loss`."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction(reduction, "SoftMarginLoss")
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss. See `soft_margin_loss`."""
        return soft_margin_loss(input, target, self.reduction)
