"""Stage 5 - Losses: how far from the truth a network's answers are, as one number to go downhill on.

All take what the network answers, then the truth, and by its name `reduction`: "mean" (over all losses), "sum", or "none" (each by itself).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.dtypes import is_float
from minitorch.core.math_functions import MaskedSelect
from minitorch.kernels.losses import cross_entropy_kernels, fusible
from minitorch.kernels.pool import flat
from minitorch.nn.functional import logsoftmax
from minitorch.nn.module import Module
from minitorch.nn.sizes import a_tensor
from minitorch.tensor import Tensor, tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: Any, op: str) -> None:
    """That a reduction is known."""
    if reduction not in REDUCTIONS:
        raise ValueError(f'{op} expected reduction "mean", "sum" or "none", got {reduction!r}')


def check_both(input: Any, target: Any, reduction: str, op: str) -> None:
    """That both are tensors, input one of floats, and the reduction is known."""
    for name, x in (("input", input), ("target", target)):
        a_tensor(op, x, name)
    if not is_float(input.dtype):
        raise TypeError(f"{op} expected input of float64 or float32, got {input.dtype.name}; convert it: input.to(float64)")
    check_reduction(reduction, op)


def check_rows(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """That input has a row of classes for each sample."""
    check_both(input, target, reduction, op)
    if input.dims != 2 or not input.shape[1]:
        raise ValueError(f"{op} expected input of shape (N, C), a row of C classes for each sample, got {input.shape}")


def check_weight(input: Tensor, weight: Any, op: str) -> None:
    """That every class has a weight, if there are weights."""
    if weight is not None and (not isinstance(weight, Tensor) or weight.shape != input.shape[1:]):
        raise _unfit(op, f"as weight a Tensor of shape {input.shape[1:]}, a number for each class", weight)


def check_factor(input: Tensor, factor: Any, name: str, op: str) -> None:
    """That every element has a factor, if there are factors."""
    if factor is None:
        return
    given, own = getattr(factor, "shape", ()), input.shape
    fits = isinstance(factor, Tensor) and len(given) <= len(own)
    if not fits or any(n not in (1, m) for n, m in zip(reversed(given), reversed(own), strict=False)):
        raise _unfit(op, f"as {name} a Tensor whose shape broadcasts to that of input, {own}", factor)


def _unfit(op: str, wanted: str, given: Any) -> ValueError:
    """What to say of a weight."""
    got = given.shape if isinstance(given, Tensor) else repr(given)
    remedy = f"; a reduction goes by its name: reduction={given!r}" if isinstance(given, str) else ""
    return ValueError(f"{op} expected {wanted}, got {got}{remedy}")


def check_classes(input: Tensor, target: Tensor, op: str, ignore_index: int) -> np.ndarray:
    """Which samples count; that every one of them has one of the classes."""
    samples, classes = input.shape
    if target.dtype.kind != "i" or target.shape != (samples,):
        error = TypeError if target.shape == (samples,) else ValueError
        raise error(
            f"{op} expected as target the classes of {samples} samples, int64 of shape ({samples},), for input of shape {input.shape}, "
            f"got {target.dtype.name} of shape {target.shape}"
        )
    numbers = target._tensor.array()
    counts = numbers != ignore_index
    if samples and not (numbers.min() >= 0 and numbers.max() < classes):
        wrong = counts & ((numbers < 0) | (numbers >= classes))
        if wrong.any():
            sample = int(wrong.argmax())
            raise ValueError(f"{op} expected classes from 0 to {classes - 1}, of {classes}, got {numbers[sample]} for sample {sample}")
    return counts


def check_pairs(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """That every element has its target."""
    check_both(input, target, reduction, op)
    if input.shape != target.shape:
        raise ValueError(f"{op} expected input and target of one shape, got {input.shape} and {target.shape}; view one as the other")


def check_probabilities(x: Tensor, name: str, op: str) -> None:
    """That all elements are from 0 to 1."""
    values = x._tensor.array()
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        wrong = values[~((values >= 0) & (values <= 1))][0].item()
        raise ValueError(f"{op} expected probabilities from 0 to 1 as {name}, got {wrong}")


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
