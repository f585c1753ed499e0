"""Stage 7 - Losses with a margin: for rankings, embeddings and triplets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.creation import where
from minitorch.core.dtypes import int64
from minitorch.core.errors import DtypeError
from minitorch.core.math_functions import MaskedSelect
from minitorch.nn.distances import pairwise_distance
from minitorch.nn.losses import check_class_weight, check_reduction, loss_layer, losses_of_logits, reduce_losses
from minitorch.nn.options import resolve_reduction
from minitorch.ops.checks import check_float_tensor
from minitorch.ops.smooth_activations import softplus
from minitorch.tensor import Tensor
from minitorch.tensor_data import IndexingError, TensorData
from minitorch.torch.arithmetic import clamp_min
from minitorch.torch.promotion import cast, require_numbers
from minitorch.torch.saved import saves


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target · (input1 - input2) + margin): target is 1 if input1 should be larger, -1 if input2 should.

    Args:
        input1: Any shape.
        input2: A shape that broadcasts with it, as many dimensions.
        target: 1 or -1, the same.
        margin: Difference from which on the loss is 0.
        reduction: "mean", "sum" or "none"; size_average and reduce are PyTorch's older forms of it.

    Returns:
        Shape (), or the shape of the inputs if reduction is "none".

    Raises:
        ValueError: If the numbers of dimensions differ, or reduction is unknown.
    """
    reduction = check_reduction(reduction, "margin_ranking_loss", size_average, reduce)
    _check_dims("margin_ranking_loss", input1=input1, input2=input2, target=target)
    require_numbers("margin_ranking_loss", target)
    return reduce_losses(clamp_min(margin - target * (input1 - input2), 0.0), reduction)


def _check_dims(op: str, **tensors: Tensor) -> None:
    """Raise ValueError unless all tensors have as many dimensions."""
    if len({x.dims for x in tensors.values()}) > 1:
        shapes = ", ".join(f"{name} {tuple(x.shape)}" for name, x in tensors.items())
        raise ValueError(f"{op} expected tensors with the same number of dimensions, got {shapes}; view one as the other")


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1. Works elementwise.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If reduction is unknown.
    """
    reduction = check_reduction(reduction, "hinge_embedding_loss", size_average, reduce)
    check_float_tensor("hinge_embedding_loss", input, "input")
    far, near = MaskedSelect.apply(clamp_min(margin - input, 0.0), target != 1), MaskedSelect.apply(input, target != -1)
    return reduce_losses(far + near, reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cosine of the two vectors where target is 1, max(0, cosine - margin) where it is -1.

    Args:
        input1: Shape (N, D), or (D,) for a single pair.
        input2: Same shape.
        target: 1 or -1, shape (N,) or (1,), or () for a single pair.
        margin: Cosine up to which dissimilar vectors cost nothing.
        reduction: "mean", "sum" or "none"; size_average and reduce are PyTorch's older forms of it.

    Raises:
        ValueError: If the numbers of dimensions differ from these, or reduction is unknown.
    """
    reduction = check_reduction(reduction, "cosine_embedding_loss", size_average, reduce)
    if target.dims > 1 or {input1.dims, input2.dims} != {target.dims + 1}:
        shapes = f"inputs {tuple(input1.shape)} and {tuple(input2.shape)} and target {tuple(target.shape)}"
        raise ValueError(f"cosine_embedding_loss expected inputs (N, D) and target (N,), or (D,) and (), got {shapes}")
    products = [Tensor.sum(a * b, -1, False) for a, b in ((input1, input2), (input1, input1), (input2, input2))]
    cosine = products[0] / ((products[1] + 1e-12) * (products[2] + 1e-12)).sqrt()
    near, far = MaskedSelect.apply(1.0 - cosine, target == 1), MaskedSelect.apply(clamp_min(cosine - margin, 0.0), target == -1)
    return reduce_losses(near + far, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
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
        reduction: "mean", "sum" or "none"; size_average and reduce are PyTorch's older forms of it.

    Raises:
        ValueError: If the numbers of dimensions differ, margin is not above 0, or reduction is unknown.

    Source: Balntas et al. 2016, BMVC, section 2.
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    distance = lambda x, y: pairwise_distance(x, y, p, eps)  # noqa: E731
    return _triplets("triplet_margin_loss", distance, anchor, positive, negative, margin, swap, reduction)


def _triplets(
    op: str,
    distance: Callable[[Any, Any], Any],
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin)."""
    check_reduction(reduction, op)
    if not margin > 0:
        raise ValueError(f"{op} expected margin above 0, got {margin}")
    _check_dims(op, anchor=anchor, positive=positive, negative=negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        other = distance(positive, negative)
        far = where(other.detach() < far.detach(), other, far)
    return reduce_losses(clamp_min(near + margin - far, 0.0), reduction)


@saves(0)
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """ln(1 + e^(-target · input)) with target 1 or -1. Works elementwise, in the dtype of input.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If reduction is unknown.
    """
    reduction = check_reduction(reduction, "soft_margin_loss", size_average, reduce)
    check_float_tensor("soft_margin_loss", input, "input")
    return reduce_losses(softplus(-(cast(target, input.dtype) * input), 1.0, 1e4), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of two batches of vectors, shape (N, D) each; by default `pairwise_distance`.

    Raises:
        ValueError: If the numbers of dimensions differ, margin is not above 0, or reduction is unknown.
    """
    distance = distance_function or pairwise_distance
    return _triplets("triplet_margin_with_distance_loss", distance, anchor, positive, negative, margin, swap, reduction)


@saves(0, 1, 4)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the classes of max(0, margin - input[target] + input[j])^p, where j is not the target.

    Args:
        input: Scores, shape (N, C), or (C,) for a single sample.
        target: Class indices, int64 of shape (N,), or () or (1,).
        p: 1 or 2.
        margin: Difference of the scores from which on the loss is 0.
        weight: Weight of each class, shape (C,): the loss is multiplied by that of the target.
        reduction: "mean", "sum" or "none"; size_average and reduce are PyTorch's older forms of it.

    Raises:
        TypeError: If input does not hold floating-point numbers, or target other numbers than int64.
        ValueError: If p is neither, a shape does not match, or reduction is unknown.
        IndexingError: If a class index is out of range.

    Source: Weston and Watkins 1999, ESANN, eq. 3.
    """
    reduction = check_reduction(reduction, "multi_margin_loss", size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss expected p=1 or p=2, got {p}")
    check_float_tensor("multi_margin_loss", input, "input")
    scores, labels = input if input.dims == 2 else input.unsqueeze(0), target.reshape(-1)
    if scores.dims != 2 or target.dims > 1 or labels.shape != scores.shape[:1]:
        raise ValueError(f"multi_margin_loss expected input (N, C) and target (N,), got {tuple(input.shape)} and {tuple(target.shape)}")
    if target.dtype != int64:
        raise DtypeError(f"multi_margin_loss expected target of int64, got {target.dtype.name}; convert it: target.to(int64)")
    chosen, count, classes = labels.to_numpy(), *scores.shape
    if count and not (chosen.min() >= 0 and chosen.max() < classes):
        raise IndexingError(f"multi_margin_loss expected class indices from 0 to {classes - 1}, got {chosen.min()} to {chosen.max()}")
    check_class_weight(classes, weight, "multi_margin_loss")
    others = np.ones((count, classes), bool)
    others[np.arange(count), chosen] = False
    terms = margin - scores[np.arange(count), chosen].unsqueeze(1) + scores
    terms = MaskedSelect.apply(terms, terms.detach() > 0)  # 0 for NaN
    terms = terms if p == 1 else terms * terms
    losses = Tensor.sum(terms.where(scores._like(TensorData(others.reshape(-1), others.shape)), 0.0), 1, keepdim=False) * (1 / classes)
    losses = losses if weight is None else losses * cast(weight, losses.dtype)[chosen]
    return losses.squeeze(0) if reduction == "none" and input.dims == 1 else reduce_losses(losses, reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the classes of the binary cross-entropy of logits, for samples that belong to several classes.

    Args:
        input: Logits, shape (N, C) or (C,).
        target: 1 for the classes of a sample, else 0; a shape that broadcasts with it.
        weight: Weight of each class, shape (C,).
        reduction: "mean", "sum" or "none", over the samples; size_average and reduce are PyTorch's older forms of it.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If reduction is unknown.
    """
    reduction = check_reduction(reduction, "multilabel_soft_margin_loss", size_average, reduce)
    check_float_tensor("multilabel_soft_margin_loss", input, "input")
    losses = losses_of_logits(input, require_numbers("multilabel_soft_margin_loss", target))
    losses = losses if weight is None else losses * cast(weight, losses.dtype)
    return reduce_losses(Tensor.mean(losses, losses.dims - 1, keepdim=False), reduction)


# Layers


MarginRankingLoss = loss_layer("MarginRankingLoss", margin_ranking_loss, margin=0.0)
HingeEmbeddingLoss = loss_layer("HingeEmbeddingLoss", hinge_embedding_loss)
CosineEmbeddingLoss = loss_layer("CosineEmbeddingLoss", cosine_embedding_loss, margin=0.0)
SoftMarginLoss = loss_layer("SoftMarginLoss", soft_margin_loss)
TripletMarginLoss = loss_layer("TripletMarginLoss", triplet_margin_loss, p=2.0)
TripletMarginWithDistanceLoss = loss_layer("TripletMarginWithDistanceLoss", triplet_margin_with_distance_loss)
MultiMarginLoss = loss_layer("MultiMarginLoss", multi_margin_loss, buffers=("weight",))
MultiLabelSoftMarginLoss = loss_layer("MultiLabelSoftMarginLoss", multilabel_soft_margin_loss, buffers=("weight",))
