"""Stage 5 - Losses: how far from the truth a network's answers are, as one number to go downhill on.

All take what the network answers, then the truth, and by its name `reduction`: "mean" (over all losses), "sum", or "none" (each by itself).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.math_functions import MaskedSelect
from minitorch.kernels.losses import cross_entropy_kernels, fusible
from minitorch.kernels.pool import flat
from minitorch.nn.functional import logsoftmax
from minitorch.nn.loss_checks import check_classes, check_factor, check_pairs, check_probabilities, check_rows, check_weight
from minitorch.tensor import tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

OfTwo = Callable[[float, float], float]
"""What a loss is of two numbers, or its derivative by one of them."""


class ElementLoss(Function):
    """The loss of each element by itself, from what was answered there and what is true.

    Attributes:
        loss: Of the two numbers.
        by_input: Its derivative by the first.
        by_target: Its derivative by the second.
    """

    loss: ClassVar[OfTwo]
    by_input: ClassVar[OfTwo]
    by_target: ClassVar[OfTwo]

    @classmethod
    def forward(cls, ctx: Context, input: Tensor, target: Tensor) -> Tensor:
        ctx.save_for_backward(input, target)
        return input.f.zip(cls.loss)(input, target)

    @classmethod
    def backward(cls, ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        input, target = ctx.saved_values
        slopes = zip((cls.by_input, cls.by_target), ctx.needs_input_grad, strict=True)
        by_input, by_target = (grad_output * input.f.zip(slope)(input, target) if needed else None for slope, needed in slopes)
        return by_input, by_target


# Several classes


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """How surprised softmax of the logits is by the truth: -ln of the probability that it gives to the right class.

    The same as `nll_loss(logsoftmax(input, 1), target)`, so exact for logits of any size.

    Args:
        input: Logits, shape (N, C): a row of C numbers of any size for each sample.
        target: The right classes, int64 or int32 of shape (N,) from 0 to C - 1; or probabilities of shape (N, C), then the surprises
            at all classes count, each by its probability.
        weight: By how much each class counts, shape (C,); with right classes the mean is divided by the sum of theirs.
        ignore_index: A number in place of a class, for samples that do not count.
        reduction: "mean", "sum" or "none".
        label_smoothing: Which part of the truth, from 0 to 1, is spread evenly over all classes.

    Returns:
        Shape (1,), or (N,) without a reduction.

    Raises:
        TypeError: If one is no Tensor, or the classes are no whole numbers.
        ValueError: If a shape does not fit, a class is out of range, a probability or label_smoothing is not from 0 to 1, or reduction is
            unknown.

    Source: label smoothing: Szegedy et al. 2016, arXiv:1512.00567, section 7.
    """
    op = "cross_entropy"
    check_rows(input, target, reduction, op)
    check_weight(input, weight, op)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{op} expected label_smoothing from 0 to 1, got {label_smoothing}, the part that is spread over all classes")
    if target.shape == input.shape:
        check_probabilities(target, "target", op)
        truth = target.to(input.dtype)
        if label_smoothing:
            truth = truth * (1 - label_smoothing) + label_smoothing / input.shape[1]
        logs = logsoftmax(input, 1)
        return _reduced(-(truth * (logs if weight is None else logs * weight.to(input.dtype))).sum(1, keepdim=False), reduction)
    counts = check_classes(input, target, op, ignore_index)
    if weight is not None or label_smoothing or not counts.all():
        return _weighted(logsoftmax(input, 1), target, reduction, weight, counts, label_smoothing)
    if fusible(input):
        return CrossEntropy.apply(input, target, reduction)
    return _reduced(_at_classes(logsoftmax(input, 1), target), reduction)


class CrossEntropy(Function):
    """nll_loss(logsoftmax(input, 1), target, reduction) on the compiled backend, in one pass forward and one backward."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, target: Tensor, reduction: str) -> Tensor:
        rows, classes = input.shape
        share = {"mean": 1 / rows if rows else math.nan, "sum": 1.0, "none": 0.0}[reduction]
        losses = TensorData.empty((1,) if share else (rows,), input.dtype)
        probabilities, chosen = np.empty(rows * classes, input.dtype), flat(target).astype(np.int64)
        forward = cross_entropy_kernels().forward
        forward(losses._storage, probabilities, flat(input), chosen, rows, classes, share)
        ctx.save_for_backward(probabilities, chosen, rows, classes, share)
        return input._like(losses)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None]:
        probabilities, chosen, rows, classes, share = ctx.saved_values
        grad = TensorData.empty((rows, classes), probabilities.dtype)
        cross_entropy_kernels().backward(grad._storage, probabilities, chosen, flat(grad_output), rows, classes, share)
        return grad_output._like(grad), None


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """The negative of the logarithm that stands at the right class of each sample.

    Args:
        input: Logarithms of probabilities, shape (N, C), as `logsoftmax` gives them.
        target: The right classes, int64 or int32 of shape (N,), from 0 to C - 1.
        weight: By how much each class counts, shape (C,); the mean is divided by the sum of those of the right classes.
        ignore_index: A number in place of a class, for samples that do not count.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or (N,) without a reduction.

    Raises:
        TypeError: If one is no Tensor, or the classes are no whole numbers.
        ValueError: If a shape does not fit, a class is out of range, or reduction is unknown.
    """
    check_rows(input, target, reduction, "nll_loss")
    check_weight(input, weight, "nll_loss")
    counts = check_classes(input, target, "nll_loss", ignore_index)
    if weight is not None or not counts.all():
        return _weighted(input, target, reduction, weight, counts, 0.0)
    return _reduced(_at_classes(input, target), reduction)


def _at_classes(logs: Tensor, target: Tensor) -> Tensor:
    """The loss of each sample."""
    classes = logs.shape[1]
    numbers = logs._like(TensorData(np.arange(classes), (1, classes)))
    return -MaskedSelect.apply(logs, numbers == target.unsqueeze(1)).sum(1, keepdim=False)


def _weighted(logs: Tensor, target: Tensor, reduction: str, weight: Tensor | None, counts: np.ndarray, smoothing: float) -> Tensor:
    """The loss where classes have weights, samples do not count, or a part of the truth is spread over all classes."""
    rows, classes = np.flatnonzero(counts), logs.shape[1]
    chosen = target.to_numpy()[rows]
    weights = np.ones(classes) if weight is None else weight.detach().to_numpy().astype(float)
    shares = np.zeros(logs.shape)  # of the surprise at each class
    shares[rows] = weights * (smoothing / classes)
    shares[rows, chosen] += weights[chosen] * (1 - smoothing)
    given = tensor(shares, logs.backend, dtype=logs.dtype)
    losses = -(MaskedSelect.apply(logs, given != 0) * given).sum(1, keepdim=False)
    if reduction != "mean":
        return _reduced(losses, reduction)
    total = weights[chosen].sum()
    return losses.sum() * (1 / total if total else math.nan)


# Yes or no


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean") -> Tensor:
    """How surprised probabilities are by the truth: -ln p where it is 1, -ln(1 - p) where it is 0, no more than 100.

    Args:
        input: Probabilities from 0 to 1, of any shape. From logits, `binary_cross_entropy_with_logits` is more exact.
        target: 1 or 0, or a probability between, in the same shape.
        weight: By how much each element counts; a shape that broadcasts to that of input.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or that of input without a reduction.

    Raises:
        TypeError: If one is no Tensor.
        ValueError: If the shapes differ, weight does not fit, a probability is not from 0 to 1, or reduction is unknown.
    """
    check_pairs(input, target, reduction, "binary_cross_entropy")
    check_probabilities(input, "input", "binary_cross_entropy")
    check_probabilities(target, "target", "binary_cross_entropy")
    check_factor(input, weight, "weight", "binary_cross_entropy")
    losses = BinaryCrossEntropy.apply(input, target.to(input.dtype))
    return _reduced(losses if weight is None else losses * weight, reduction)


def surprise(p: float, t: float) -> float:
    """-(t · ln p + (1 - t) · ln(1 - p)), with logarithms of at least -100."""
    yes = math.log(p) if p > 0 else -100.0
    no = math.log1p(-p) if p < 1 else -100.0
    return (t - 1) * (no if no > -100 else -100.0) - t * (yes if yes > -100 else -100.0)


def surprise_by_p(p: float, t: float) -> float:
    """Its derivative by p, without a pole at 0 and 1."""
    spread = p * (1 - p)
    return (p - t) / (spread if spread > 1e-12 else 1e-12)


def surprise_by_t(p: float, t: float) -> float:
    """Its derivative by t."""
    yes = math.log(p) if p > 0 else -100.0
    no = math.log1p(-p) if p < 1 else -100.0
    return (no if no > -100 else -100.0) - (yes if yes > -100 else -100.0)


class BinaryCrossEntropy(ElementLoss):
    """-(t · ln p + (1 - t) · ln(1 - p)), with logarithms of at least -100."""

    loss, by_input, by_target = surprise, surprise_by_p, surprise_by_t


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None
) -> Tensor:
    """`binary_cross_entropy(input.sigmoid(), target)`, exact for logits of any size.

    Args:
        input: Logits, numbers of any size, of any shape.
        target: 1 or 0, or a probability between, in the same shape.
        weight: By how much each element counts; a shape that broadcasts to that of input.
        reduction: "mean", "sum" or "none".
        pos_weight: By how much a 1 counts more than a 0; a shape that broadcasts to that of input.

    Returns:
        Shape (1,), or that of input without a reduction.

    Raises:
        TypeError: If one is no Tensor.
        ValueError: If the shapes differ, a weight does not fit, a target is not from 0 to 1, or reduction is unknown.
    """
    check_pairs(input, target, reduction, "binary_cross_entropy_with_logits")
    check_probabilities(target, "target", "binary_cross_entropy_with_logits")
    check_factor(input, weight, "weight", "binary_cross_entropy_with_logits")
    check_factor(input, pos_weight, "pos_weight", "binary_cross_entropy_with_logits")
    truth = target.to(input.dtype)
    if pos_weight is None:
        losses = BinaryCrossEntropyWithLogits.apply(input, truth)
    else:
        of_yes, of_no = (BinaryCrossEntropyWithLogits.apply(input, truth.detach() * 0 + answer) for answer in (1.0, 0.0))
        losses = of_yes * truth * pos_weight + of_no * (1.0 - truth)
    return _reduced(losses if weight is None else losses * weight, reduction)


def logit_surprise(x: float, t: float) -> float:
    """ln(1 + e^x) - t · x; e is only raised to a negative power."""
    return (x if x > 0 else 0.0 * x) - t * x + math.log1p(math.exp(-abs(x)))


def logit_surprise_by_x(x: float, t: float) -> float:
    """Its derivative by x, sigmoid(x) - t."""
    z = math.exp(-abs(x))
    return (1.0 if x >= 0 else z) / (1.0 + z) - t


def minus_first(x: float, t: float) -> float:
    """Its derivative by t, -x."""
    return -x


class BinaryCrossEntropyWithLogits(ElementLoss):
    """ln(1 + e^x) - t · x: with p = 1 / (1 + e^-x), ln p is x - ln(1 + e^x) and ln(1 - p) is -ln(1 + e^x)."""

    loss, by_input, by_target = logit_surprise, logit_surprise_by_x, minus_first


# Numbers


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The squared difference.

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
    check_pairs(input, target, reduction, "mse_loss")
    return _reduced(SquaredError.apply(input, target.to(input.dtype)), reduction)


def squared_error(x: float, t: float) -> float:
    """(x - t)²."""
    return (x - t) * (x - t)


def squared_error_by_x(x: float, t: float) -> float:
    """Its derivative by x."""
    return 2.0 * (x - t)


def squared_error_by_t(x: float, t: float) -> float:
    """Its derivative by t."""
    return 2.0 * (t - x)


class SquaredError(ElementLoss):
    """(x - t)²."""

    loss, by_input, by_target = squared_error, squared_error_by_x, squared_error_by_t


# What they share


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    """All losses as one number, or as they are."""
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses
