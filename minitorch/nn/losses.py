"""Stage 6 - Loss functions and loss layers.

Every loss compares a prediction with a target. Its `reduction` is "mean", "sum" or "none" (one loss per sample or element).
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
from minitorch.core.recording import active, call, copy
from minitorch.kernels.loop import accepts, flat
from minitorch.kernels.losses import cross_entropy_kernels
from minitorch.nn.functional import logsoftmax
from minitorch.nn.module import Module
from minitorch.ops.checks import check_tensor
from minitorch.tensor import Tensor, tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

REDUCTIONS = ("mean", "sum", "none")


# Argument checks


def check_reduction(reduction: Any, op: str) -> None:
    """Raise ValueError if the reduction is unknown."""
    if reduction not in REDUCTIONS:
        raise ValueError(f'{op} expected reduction "mean", "sum" or "none", got {reduction!r}')


def check_tensors(input: Any, target: Any, reduction: str, op: str) -> None:
    """Check that both arguments are tensors, that input is floating-point, and that the reduction is known."""
    for name, x in (("input", input), ("target", target)):
        check_tensor(op, x, name)
    if not is_float(input.dtype):
        raise TypeError(f"{op} expected input of float64 or float32, got {input.dtype.name}; convert it: input.to(float64)")
    check_reduction(reduction, op)


def check_logits(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """Check that input has shape (N, C) with at least one class."""
    check_tensors(input, target, reduction, op)
    if input.dims != 2 or not input.shape[1]:
        raise ValueError(f"{op} expected input of shape (N, C) with at least one class, got {input.shape}")


def check_class_weight(input: Tensor, weight: Any, op: str) -> None:
    """Check that weight is None or has one element per class."""
    if weight is not None and (not isinstance(weight, Tensor) or weight.shape != input.shape[1:]):
        raise _weight_error(op, f"as weight a Tensor of shape {input.shape[1:]}, one element per class", weight)


def check_element_weight(input: Tensor, factor: Any, name: str, op: str) -> None:
    """Check that a per-element weight is None or broadcasts to the shape of input."""
    if factor is None:
        return
    given, own = getattr(factor, "shape", ()), input.shape
    fits = isinstance(factor, Tensor) and len(given) <= len(own)
    if not fits or any(n not in (1, m) for n, m in zip(reversed(given), reversed(own), strict=False)):
        raise _weight_error(op, f"as {name} a Tensor whose shape broadcasts to that of input, {own}", factor)


def _weight_error(op: str, expected: str, given: Any) -> ValueError:
    """Return the error for a weight of the wrong type or shape."""
    got = given.shape if isinstance(given, Tensor) else repr(given)
    remedy = f"; pass it by keyword: reduction={given!r}" if isinstance(given, str) else ""
    return ValueError(f"{op} expected {expected}, got {got}{remedy}")


def check_classes(input: Tensor, target: Tensor, op: str, ignore_index: int) -> np.ndarray:
    """Return the mask of samples that are not ignored; raise if one of them has a class out of range."""
    samples, classes = input.shape
    if target.dtype.kind != "i" or target.shape != (samples,):
        error = TypeError if target.shape == (samples,) else ValueError
        raise error(
            f"{op} expected as target the classes of {samples} samples, int64 of shape ({samples},), for input of shape {input.shape}, "
            f"got {target.dtype.name} of shape {target.shape}"
        )
    included = call(included_classes, target._tensor.array(), classes, op, ignore_index)
    if active.recorder is not None and included.all():  # a program for ignored samples would be another one
        call(require_included, target._tensor.array(), op, ignore_index)
    return included


def included_classes(numbers: np.ndarray, classes: int, op: str, ignore_index: int) -> np.ndarray:
    """The mask of samples that are not ignored.

    Raises:
        ValueError: If one of them has a class out of range.
    """
    included = numbers != ignore_index
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < classes):
        wrong = included & ((numbers < 0) | (numbers >= classes))
        if wrong.any():
            sample = int(wrong.argmax())
            raise ValueError(f"{op} expected classes from 0 to {classes - 1}, of {classes}, got {numbers[sample]} for sample {sample}")
    return included


def require_included(numbers: np.ndarray, op: str, ignore_index: int) -> None:
    """Raise ValueError if a compiled step meets an ignored sample, of which there was none when it was recorded."""
    if (numbers == ignore_index).any():
        raise ValueError(f"{op} got a sample to ignore, {ignore_index}, in a compiled step that was recorded without; leave it uncompiled")


def check_same_shape(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """Check that input and target have the same shape."""
    check_tensors(input, target, reduction, op)
    if input.shape != target.shape:
        raise ValueError(f"{op} expected input and target of the same shape, got {input.shape} and {target.shape}; view one as the other")


def check_probabilities(x: Tensor, name: str, op: str) -> None:
    """Raise ValueError unless every element lies in [0, 1]."""
    call(require_probabilities, x._tensor.array(), name, op)


def require_probabilities(values: np.ndarray, name: str, op: str) -> None:
    """Raise ValueError unless every number lies in [0, 1]."""
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        wrong = values[~((values >= 0) & (values <= 1))][0].item()
        raise ValueError(f"{op} expected probabilities from 0 to 1 as {name}, got {wrong}")


LossFunction = Callable[[float, float], float]
"""A scalar function of (input, target): an element-wise loss or one of its partial derivatives."""


class ElementLoss(Function):
    """Base class of element-wise losses.

    Attributes:
        loss: The loss of one element, given input and target.
        grad_input: Its derivative with respect to input.
        grad_target: Its derivative with respect to target.
    """

    loss: ClassVar[LossFunction]
    grad_input: ClassVar[LossFunction]
    grad_target: ClassVar[LossFunction]

    @classmethod
    def forward(cls, ctx: Context, input: Tensor, target: Tensor) -> Tensor:
        ctx.save_for_backward(input, target)
        return input.f.zip(cls.loss)(input, target)

    @classmethod
    def backward(cls, ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        input, target = ctx.saved_values
        derivatives = zip((cls.grad_input, cls.grad_target), ctx.needs_input_grad, strict=True)
        grad_input, grad_target = (grad_output * input.f.zip(fn)(input, target) if needed else None for fn, needed in derivatives)
        return grad_input, grad_target


def reduce_losses(losses: Tensor, reduction: str) -> Tensor:
    """Reduce the losses to their mean or sum, or return them unchanged."""
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


# Classification


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross-entropy between softmax(input) and the target: -ln of the probability of the target class.

    Equivalent to `nll_loss(logsoftmax(input, 1), target)`, so numerically stable for logits of any magnitude.

    Args:
        input: Logits, shape (N, C).
        target: Class indices, int64 or int32 of shape (N,), from 0 to C - 1; or class probabilities of shape (N, C).
        weight: Weight of each class, shape (C,). With class indices, the mean is divided by the sum of the targets' weights.
        ignore_index: Class index that marks samples to ignore.
        reduction: "mean", "sum" or "none".
        label_smoothing: Share of the target distribution, from 0 to 1, that is spread evenly over all classes.

    Returns:
        Shape (1,), or (N,) if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor, or the class indices are not integers.
        ValueError: If a shape does not match, a class index is out of range, a probability or label_smoothing is outside [0, 1], or
            reduction is unknown.

    Source: label smoothing: Szegedy et al. 2016, arXiv:1512.00567, section 7.
    """
    op = "cross_entropy"
    check_logits(input, target, reduction, op)
    check_class_weight(input, weight, op)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{op} expected label_smoothing from 0 to 1, got {label_smoothing}, the share that is spread over all classes")
    if target.shape == input.shape:
        check_probabilities(target, "target", op)
        distribution = target.to(input.dtype)
        if label_smoothing:
            distribution = distribution * (1 - label_smoothing) + label_smoothing / input.shape[1]
        logs = logsoftmax(input, 1)
        weighted = distribution * (logs if weight is None else logs * weight.to(input.dtype))
        return reduce_losses(-Tensor.sum(weighted, 1, keepdim=False), reduction)
    included = check_classes(input, target, op, ignore_index)
    if weight is not None or label_smoothing or not included.all():
        return _weighted_nll(logsoftmax(input, 1), target, reduction, weight, included, label_smoothing)
    if accepts(input):
        return CrossEntropy.apply(input, target, reduction)
    return reduce_losses(_nll_per_sample(logsoftmax(input, 1), target), reduction)


class CrossEntropy(Function):
    """nll_loss(logsoftmax(input, 1), target, reduction) fused for the compiled backend: one kernel per direction."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, target: Tensor, reduction: str) -> Tensor:
        rows, classes = input.shape
        share = {"mean": 1 / rows if rows else math.nan, "sum": 1.0, "none": 0.0}[reduction]
        losses = TensorData.empty((1,) if share else (rows,), input.dtype)
        probabilities, chosen = np.empty(rows * classes, input.dtype), np.empty(rows, np.int64)
        call(copy, chosen, target._tensor.array())
        call(cross_entropy_kernels().forward, losses._storage, probabilities, flat(input), chosen, rows, classes, share)
        ctx.save_for_backward(probabilities, chosen, rows, classes, share)
        return input._like(losses)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None]:
        probabilities, chosen, rows, classes, share = ctx.saved_values
        grad = TensorData.empty((rows, classes), probabilities.dtype)
        call(cross_entropy_kernels().backward, grad._storage, probabilities, chosen, flat(grad_output), rows, classes, share)
        return grad_output._like(grad), None


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """Negative log-likelihood: minus the log-probability of each sample's target class.

    Args:
        input: Log-probabilities, shape (N, C), as returned by `logsoftmax`.
        target: Class indices, int64 or int32 of shape (N,), from 0 to C - 1.
        weight: Weight of each class, shape (C,). The mean is divided by the sum of the targets' weights.
        ignore_index: Class index that marks samples to ignore.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or (N,) if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor, or the class indices are not integers.
        ValueError: If a shape does not match, a class index is out of range, or reduction is unknown.
    """
    check_logits(input, target, reduction, "nll_loss")
    check_class_weight(input, weight, "nll_loss")
    included = check_classes(input, target, "nll_loss", ignore_index)
    if weight is not None or not included.all():
        return _weighted_nll(input, target, reduction, weight, included, 0.0)
    return reduce_losses(_nll_per_sample(input, target), reduction)


def _nll_per_sample(logs: Tensor, target: Tensor) -> Tensor:
    """Return minus the log-probability of each sample's target class."""
    classes = logs.shape[1]
    class_indices = logs._like(TensorData(np.arange(classes), (1, classes)))
    return -Tensor.sum(MaskedSelect.apply(logs, class_indices == target.unsqueeze(1)), 1, keepdim=False)


def _weighted_nll(logs: Tensor, target: Tensor, reduction: str, weight: Tensor | None, included: np.ndarray, smoothing: float) -> Tensor:
    """Return the loss with class weights, ignored samples or label smoothing."""
    rows, classes = np.flatnonzero(included), logs.shape[1]
    chosen = target.to_numpy()[rows]
    weights = np.ones(classes) if weight is None else weight.detach().to_numpy().astype(float)
    shares = np.zeros(logs.shape)  # the factor of each -log p
    shares[rows] = weights * (smoothing / classes)
    shares[rows, chosen] += weights[chosen] * (1 - smoothing)
    factors = tensor(shares, logs.backend, dtype=logs.dtype)
    losses = -Tensor.sum(MaskedSelect.apply(logs, factors != 0) * factors, 1, keepdim=False)
    if reduction != "mean":
        return reduce_losses(losses, reduction)
    total = weights[chosen].sum()
    return losses.sum() * (1 / total if total else math.nan)


# Binary classification


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean") -> Tensor:
    """Binary cross-entropy: -(t · ln p + (1 - t) · ln(1 - p)), with the logarithms clamped at -100.

    Args:
        input: Probabilities in [0, 1], any shape. For logits, `binary_cross_entropy_with_logits` is more accurate.
        target: 0, 1 or a probability in between, same shape as input.
        weight: Weight of each element; must broadcast to the shape of input.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If the shapes differ, weight does not broadcast, a probability is outside [0, 1], or reduction is unknown.
    """
    check_same_shape(input, target, reduction, "binary_cross_entropy")
    check_probabilities(input, "input", "binary_cross_entropy")
    check_probabilities(target, "target", "binary_cross_entropy")
    check_element_weight(input, weight, "weight", "binary_cross_entropy")
    losses = BinaryCrossEntropy.apply(input, target.to(input.dtype))
    return reduce_losses(losses if weight is None else losses * weight, reduction)


def bce(p: float, t: float) -> float:
    """-(t · ln p + (1 - t) · ln(1 - p)), with the logarithms clamped at -100."""
    yes = math.log(p) if p > 0 else -100.0
    no = math.log1p(-p) if p < 1 else -100.0
    return (t - 1) * (no if no > -100 else -100.0) - t * (yes if yes > -100 else -100.0)


def bce_grad_p(p: float, t: float) -> float:
    """Its derivative with respect to p; the denominator is clamped, so it is finite at 0 and 1."""
    variance = p * (1 - p)
    return (p - t) / (variance if variance > 1e-12 else 1e-12)


def bce_grad_t(p: float, t: float) -> float:
    """Its derivative with respect to t."""
    yes = math.log(p) if p > 0 else -100.0
    no = math.log1p(-p) if p < 1 else -100.0
    return (no if no > -100 else -100.0) - (yes if yes > -100 else -100.0)


class BinaryCrossEntropy(ElementLoss):
    """Element-wise binary cross-entropy of probabilities."""

    loss, grad_input, grad_target = bce, bce_grad_p, bce_grad_t


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None
) -> Tensor:
    """`binary_cross_entropy(input.sigmoid(), target)`, numerically stable for logits of any magnitude.

    Args:
        input: Logits, any shape.
        target: 0, 1 or a probability in between, same shape as input.
        weight: Weight of each element; must broadcast to the shape of input.
        reduction: "mean", "sum" or "none".
        pos_weight: Weight of the positive class; must broadcast to the shape of input.

    Returns:
        Shape (1,), or the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If the shapes differ, a weight does not broadcast, a target is outside [0, 1], or reduction is unknown.
    """
    check_same_shape(input, target, reduction, "binary_cross_entropy_with_logits")
    check_probabilities(target, "target", "binary_cross_entropy_with_logits")
    check_element_weight(input, weight, "weight", "binary_cross_entropy_with_logits")
    check_element_weight(input, pos_weight, "pos_weight", "binary_cross_entropy_with_logits")
    labels = target.to(input.dtype)
    if pos_weight is None:
        losses = BinaryCrossEntropyWithLogits.apply(input, labels)
    else:
        positive, negative = (BinaryCrossEntropyWithLogits.apply(input, labels.detach() * 0 + label) for label in (1.0, 0.0))
        losses = positive * labels * pos_weight + negative * (1.0 - labels)
    return reduce_losses(losses if weight is None else losses * weight, reduction)


def bce_with_logits(x: float, t: float) -> float:
    """ln(1 + e^x) - t · x; the exponent is never positive, so exp cannot overflow."""
    return (x if x > 0 else 0.0 * x) - t * x + math.log1p(math.exp(-abs(x)))


def bce_with_logits_grad_x(x: float, t: float) -> float:
    """Its derivative with respect to x, sigmoid(x) - t."""
    z = math.exp(-abs(x))
    return (1.0 if x >= 0 else z) / (1.0 + z) - t


def bce_with_logits_grad_t(x: float, t: float) -> float:
    """Its derivative with respect to t, -x."""
    return -x


class BinaryCrossEntropyWithLogits(ElementLoss):
    """ln(1 + e^x) - t · x: with p = 1 / (1 + e^-x), ln p is x - ln(1 + e^x) and ln(1 - p) is -ln(1 + e^x)."""

    loss, grad_input, grad_target = bce_with_logits, bce_with_logits_grad_x, bce_with_logits_grad_t


# Regression


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squared error (input - target)².

    Args:
        input: Predictions, any shape.
        target: Targets, same shape as input.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If the shapes differ, or reduction is unknown.
    """
    check_same_shape(input, target, reduction, "mse_loss")
    return reduce_losses(SquaredError.apply(input, target.to(input.dtype)), reduction)


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


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Absolute error |input - target|; its derivative is 0 where the two are equal.

    Args:
        input: Predictions, any shape.
        target: Targets, same shape as input.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If the shapes differ, or reduction is unknown.
    """
    check_same_shape(input, target, reduction, "l1_loss")
    return reduce_losses(AbsoluteError.apply(input, target.to(input.dtype)), reduction)


def absolute_error(x: float, t: float) -> float:
    """|x - t|."""
    return x - t if x >= t else t - x if x < t else x - t  # the last case is NaN


def absolute_error_grad_x(x: float, t: float) -> float:
    """Its derivative with respect to x."""
    return 1.0 if x > t else -1.0 if x < t else 0.0 * (x - t)


def absolute_error_grad_t(x: float, t: float) -> float:
    """Its derivative with respect to t."""
    return -1.0 if x > t else 1.0 if x < t else 0.0 * (x - t)


class AbsoluteError(ElementLoss):
    """|x - t|."""

    loss, grad_input, grad_target = absolute_error, absolute_error_grad_x, absolute_error_grad_t

    @staticmethod
    def composed(input: Tensor, target: Tensor) -> Tensor:
        """The same loss composed of differentiable tensor operations."""
        return (input - target).abs()


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Smooth L1 loss: with d = |input - target|, d² / (2 beta) where d < beta, else d - beta / 2.

    Args:
        input: Predictions, any shape.
        target: Targets, same shape as input.
        reduction: "mean", "sum" or "none".
        beta: Threshold between the quadratic and the linear part, at least 0; 0 gives `l1_loss`.

    Returns:
        Shape (1,), or the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If the shapes differ, reduction is unknown, or beta is negative.

    Source: Girshick 2015, arXiv:1504.08083, eq. 3.
    """
    check_same_shape(input, target, reduction, "smooth_l1_loss")
    if not beta >= 0:
        raise ValueError(f"smooth_l1_loss expected beta of at least 0, got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction)
    return reduce_losses(SmoothL1.apply(input, target.to(input.dtype), float(beta)), reduction)


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
        return (d * d * (0.5 / beta)).where(d < beta, d - 0.5 * beta)


# Layers


class _Loss(Module):
    """Base class of the loss layers.

    Args:
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: If reduction is unknown.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction(reduction, type(self).__name__)
        self.reduction = reduction

    def extra_repr(self) -> str:
        """The reduction, unless it is the default."""
        return "" if self.reduction == "mean" else f"reduction={self.reduction!r}"


class MSELoss(_Loss):
    """Mean squared error; see `mse_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of input and target, which have the same shape."""
        return mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    """Mean absolute error; see `l1_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of input and target, which have the same shape."""
        return l1_loss(input, target, self.reduction)


class SmoothL1Loss(_Loss):
    """Smooth L1 loss; see `smooth_l1_loss`.

    Args:
        reduction: "mean", "sum" or "none".
        beta: Threshold between the quadratic and the linear part.
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of input and target, which have the same shape."""
        return smooth_l1_loss(input, target, self.reduction, self.beta)


class BCELoss(_Loss):
    """Binary cross-entropy of probabilities; see `binary_cross_entropy`.

    Args:
        weight: Weight of each element; registered as a buffer.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of input and target, which have the same shape."""
        return binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross-entropy of logits; see `binary_cross_entropy_with_logits`.

    Args:
        weight: Weight of each element; registered as a buffer.
        reduction: "mean", "sum" or "none".
        pos_weight: Weight of the positive class; registered as a buffer.
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of input and target, which have the same shape."""
        return binary_cross_entropy_with_logits(input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight)


class NLLLoss(_Loss):
    """Negative log-likelihood of log-probabilities; see `nll_loss`.

    Args:
        weight: Weight of each class, shape (C,); registered as a buffer.
        ignore_index: Class index that marks samples to ignore.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.ignore_index = ignore_index
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of log-probabilities (N, C) and class indices (N,)."""
        return nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_Loss):
    """Cross-entropy of logits; see `cross_entropy`.

    Args:
        weight: Weight of each class, shape (C,); registered as a buffer.
        ignore_index: Class index that marks samples to ignore.
        reduction: "mean", "sum" or "none".
        label_smoothing: Share of the target distribution that is spread evenly over all classes.
    """

    def __init__(
        self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of logits (N, C) and class indices (N,) or probabilities (N, C)."""
        settings: dict[str, Any] = {"ignore_index": self.ignore_index, "label_smoothing": self.label_smoothing}
        return cross_entropy(input, target, self.weight, reduction=self.reduction, **settings)
