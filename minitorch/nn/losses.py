"""Stage 5 - Losses, as functions and as layers.

The argument `reduction` is "mean" (over all losses), "sum", or "none" (one loss for each element or sample).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

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

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


ScalarLoss = Callable[[float, float], float]
"""A loss of an input and a target element, or its derivative with respect to one of them."""


class ElementLoss(Function):
    """An elementwise loss of input and target.

    Attributes:
        loss: The loss of two numbers.
        grad_input: Its derivative with respect to the input.
        grad_target: Its derivative with respect to the target.
    """

    loss: ClassVar[ScalarLoss]
    grad_input: ClassVar[ScalarLoss]
    grad_target: ClassVar[ScalarLoss]

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
    """Cross-entropy between logits and targets: -ln of the probability that softmax assigns to the target class.

    Equal to `nll_loss(logsoftmax(input, 1), target)`, therefore accurate for logits of any magnitude.

    Args:
        input: Logits, shape (N, C).
        target: Class indices, int64 or int32 of shape (N,), from 0 to C - 1; or class probabilities, shape (N, C).
        weight: Weight of each class, shape (C,). With class indices, the mean is weighted.
        ignore_index: Target value of samples that are ignored.
        reduction: "mean", "sum" or "none".
        label_smoothing: Part of each target, from 0 to 1, that is distributed uniformly over all classes.

    Returns:
        Shape (1,); (N,) if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor, or the classes are not integers.
        ValueError: If a shape does not fit, a class is out of range, a probability or label_smoothing is outside of [0, 1], or
            reduction is unknown.

    Source: label smoothing: Szegedy et al. 2016, arXiv:1512.00567, section 7.
    """
    op = "cross_entropy"
    check_logits(input, target, reduction, op)
    check_class_weight(input, weight, op)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{op} expected label_smoothing from 0 to 1, got {label_smoothing}, the part that is spread over all classes")
    if target.shape == input.shape:
        check_probabilities(target, "target", op)
        probabilities = target.to(input.dtype)
        if label_smoothing:
            probabilities = probabilities * (1 - label_smoothing) + label_smoothing / input.shape[1]
        log_probs = logsoftmax(input, 1)
        weighted = log_probs if weight is None else log_probs * weight.to(input.dtype)
        return _reduce(-(probabilities * weighted).sum(1, keepdim=False), reduction)
    included = check_classes(input, target, op, ignore_index)
    if weight is not None or label_smoothing or not included.all():
        return _weighted_nll(logsoftmax(input, 1), target, reduction, weight, included, label_smoothing)
    if fusible(input):
        return CrossEntropy.apply(input, target, reduction)
    return _reduce(_nll(logsoftmax(input, 1), target), reduction)


class CrossEntropy(Function):
    """nll_loss(logsoftmax(input, 1), target, reduction) on the compiled backend, with one pass each over the logits and gradients."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, target: Tensor, reduction: str) -> Tensor:
        rows, classes = input.shape
        scale = {"mean": 1 / rows if rows else math.nan, "sum": 1.0, "none": 0.0}[reduction]
        losses = TensorData.empty((1,) if scale else (rows,), input.dtype)
        probabilities, labels = np.empty(rows * classes, input.dtype), flat(target).astype(np.int64)
        forward = cross_entropy_kernels().forward
        forward(losses._storage, probabilities, flat(input), labels, rows, classes, scale)
        ctx.save_for_backward(probabilities, labels, rows, classes, scale)
        return input._like(losses)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None]:
        probabilities, labels, rows, classes, scale = ctx.saved_values
        grad = TensorData.empty((rows, classes), probabilities.dtype)
        cross_entropy_kernels().backward(grad._storage, probabilities, labels, flat(grad_output), rows, classes, scale)
        return grad_output._like(grad), None


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """Negative log-likelihood of the target classes.

    Args:
        input: Log-probabilities, shape (N, C), as returned by `logsoftmax`.
        target: Class indices, int64 or int32 of shape (N,), from 0 to C - 1.
        weight: Weight of each class, shape (C,); the mean is weighted.
        ignore_index: Target value of samples that are ignored.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,); (N,) if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor, or the classes are not integers.
        ValueError: If a shape does not fit, a class is out of range, or reduction is unknown.
    """
    check_logits(input, target, reduction, "nll_loss")
    check_class_weight(input, weight, "nll_loss")
    included = check_classes(input, target, "nll_loss", ignore_index)
    if weight is not None or not included.all():
        return _weighted_nll(input, target, reduction, weight, included, 0.0)
    return _reduce(_nll(input, target), reduction)


def _nll(log_probs: Tensor, target: Tensor) -> Tensor:
    """The loss of each sample."""
    classes = log_probs.shape[1]
    indices = log_probs._like(TensorData(np.arange(classes), (1, classes)))
    return -MaskedSelect.apply(log_probs, indices == target.unsqueeze(1)).sum(1, keepdim=False)


def _weighted_nll(
    log_probs: Tensor, target: Tensor, reduction: str, weight: Tensor | None, included: np.ndarray, label_smoothing: float
) -> Tensor:
    """The loss with class weights, ignored samples or label smoothing.

    Args:
        log_probs: Shape (N, C).
        target: Class indices, shape (N,).
        reduction: "mean", "sum" or "none".
        weight: Shape (C,), or None.
        included: Whether each sample is included, shape (N,).
        label_smoothing: From 0 to 1.
    """
    rows, classes = np.flatnonzero(included), log_probs.shape[1]
    labels = target.to_numpy()[rows]
    class_weights = np.ones(classes) if weight is None else weight.detach().to_numpy().astype(float)
    coefficients = np.zeros(log_probs.shape)  # of the negative log-probabilities
    coefficients[rows] = class_weights * (label_smoothing / classes)
    coefficients[rows, labels] += class_weights[labels] * (1 - label_smoothing)
    factors = tensor(coefficients, log_probs.backend, dtype=log_probs.dtype)
    losses = -(MaskedSelect.apply(log_probs, factors != 0) * factors).sum(1, keepdim=False)
    if reduction != "mean":
        return _reduce(losses, reduction)
    total = class_weights[labels].sum()
    return losses.sum() * (1 / total if total else math.nan)


# Binary classification


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean") -> Tensor:
    """Binary cross-entropy between probabilities and targets: -ln p for target 1, -ln(1 - p) for target 0, at most 100.

    Args:
        input: Probabilities from 0 to 1, any shape. For logits, `binary_cross_entropy_with_logits` is more accurate.
        target: Probabilities from 0 to 1, the same shape.
        weight: Weight of each element; broadcasts to the shape of input.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,); the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If the shapes differ, weight does not fit, a probability is outside of [0, 1], or reduction is unknown.
    """
    check_same_shape(input, target, reduction, "binary_cross_entropy")
    check_probabilities(input, "input", "binary_cross_entropy")
    check_probabilities(target, "target", "binary_cross_entropy")
    check_element_weight(input, weight, "weight", "binary_cross_entropy")
    losses = BinaryCrossEntropy.apply(input, target.to(input.dtype))
    return _reduce(losses if weight is None else losses * weight, reduction)


def bce(p: float, t: float) -> float:
    """-(t · ln p + (1 - t) · ln(1 - p)), with logarithms of at least -100."""
    log_p = math.log(p) if p > 0 else -100.0
    log_q = math.log1p(-p) if p < 1 else -100.0
    return (t - 1) * (log_q if log_q > -100 else -100.0) - t * (log_p if log_p > -100 else -100.0)


def bce_grad_input(p: float, t: float) -> float:
    """The derivative with respect to p, without a pole at 0 and 1."""
    variance = p * (1 - p)
    return (p - t) / (variance if variance > 1e-12 else 1e-12)


def bce_grad_target(p: float, t: float) -> float:
    """The derivative with respect to t."""
    log_p = math.log(p) if p > 0 else -100.0
    log_q = math.log1p(-p) if p < 1 else -100.0
    return (log_q if log_q > -100 else -100.0) - (log_p if log_p > -100 else -100.0)


class BinaryCrossEntropy(ElementLoss):
    """-(t · ln p + (1 - t) · ln(1 - p)), with logarithms of at least -100."""

    loss, grad_input, grad_target = bce, bce_grad_input, bce_grad_target


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None
) -> Tensor:
    """`binary_cross_entropy(input.sigmoid(), target)`, accurate for logits of any magnitude.

    Args:
        input: Logits, any shape.
        target: Probabilities from 0 to 1, the same shape.
        weight: Weight of each element; broadcasts to the shape of input.
        reduction: "mean", "sum" or "none".
        pos_weight: Weight of the positive class; broadcasts to the shape of input.

    Returns:
        Shape (1,); the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If the shapes differ, a weight does not fit, a target is outside of [0, 1], or reduction is unknown.
    """
    check_same_shape(input, target, reduction, "binary_cross_entropy_with_logits")
    check_probabilities(target, "target", "binary_cross_entropy_with_logits")
    check_element_weight(input, weight, "weight", "binary_cross_entropy_with_logits")
    check_element_weight(input, pos_weight, "pos_weight", "binary_cross_entropy_with_logits")
    target = target.to(input.dtype)
    if pos_weight is None:
        losses = BinaryCrossEntropyWithLogits.apply(input, target)
    else:
        positive, negative = (BinaryCrossEntropyWithLogits.apply(input, target.detach() * 0 + label) for label in (1.0, 0.0))
        losses = positive * target * pos_weight + negative * (1.0 - target)
    return _reduce(losses if weight is None else losses * weight, reduction)


def bce_with_logits(x: float, t: float) -> float:
    """ln(1 + e^x) - t · x, computed with exponentials of negative numbers only."""
    return (x if x > 0 else 0.0 * x) - t * x + math.log1p(math.exp(-abs(x)))


def bce_with_logits_grad_input(x: float, t: float) -> float:
    """The derivative with respect to x: sigmoid(x) - t."""
    z = math.exp(-abs(x))
    return (1.0 if x >= 0 else z) / (1.0 + z) - t


def bce_with_logits_grad_target(x: float, t: float) -> float:
    """The derivative with respect to t: -x."""
    return -x


class BinaryCrossEntropyWithLogits(ElementLoss):
    """ln(1 + e^x) - t · x: with p = 1 / (1 + e^-x), ln p is x - ln(1 + e^x) and ln(1 - p) is -ln(1 + e^x)."""

    loss, grad_input, grad_target = bce_with_logits, bce_with_logits_grad_input, bce_with_logits_grad_target


# Regression


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squared error (input - target)².

    Args:
        input: Any shape.
        target: The same shape.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,); the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If the shapes differ, or reduction is unknown.
    """
    check_same_shape(input, target, reduction, "mse_loss")
    return _reduce(SquaredError.apply(input, target.to(input.dtype)), reduction)


def squared_error(x: float, t: float) -> float:
    """(x - t)²."""
    return (x - t) * (x - t)


def squared_error_grad_input(x: float, t: float) -> float:
    """The derivative with respect to x."""
    return 2.0 * (x - t)


def squared_error_grad_target(x: float, t: float) -> float:
    """The derivative with respect to t."""
    return 2.0 * (t - x)


class SquaredError(ElementLoss):
    """(x - t)²."""

    loss, grad_input, grad_target = squared_error, squared_error_grad_input, squared_error_grad_target


# Reduction


def _reduce(losses: Tensor, reduction: str) -> Tensor:
    """The mean or sum of the losses, or the losses unchanged."""
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Absolute error |input - target|; its derivative at 0 is taken as 0.

    Args:
        input: Any shape.
        target: The same shape.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,); the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If the shapes differ, or reduction is unknown.
    """
    check_same_shape(input, target, reduction, "l1_loss")
    return _reduce(AbsoluteError.apply(input, target.to(input.dtype)), reduction)


def absolute_error(x: float, t: float) -> float:
    """|x - t|."""
    return x - t if x >= t else t - x if x < t else x - t  # the last case is NaN


def absolute_error_grad_input(x: float, t: float) -> float:
    """The derivative with respect to x."""
    return 1.0 if x > t else -1.0 if x < t else 0.0 * (x - t)


def absolute_error_grad_target(x: float, t: float) -> float:
    """The derivative with respect to t."""
    return -1.0 if x > t else 1.0 if x < t else 0.0 * (x - t)


class AbsoluteError(ElementLoss):
    """|x - t|."""

    loss, grad_input, grad_target = absolute_error, absolute_error_grad_input, absolute_error_grad_target

    @staticmethod
    def composed(input: Tensor, target: Tensor) -> Tensor:
        """The same as operations on tensors, for higher-order gradients."""
        return (input - target).abs()


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Smooth L1 loss: d² / (2 · beta) where d = |input - target| < beta, else d - beta / 2.

    Args:
        input: Any shape.
        target: The same shape.
        reduction: "mean", "sum" or "none".
        beta: Largest error of the quadratic part, at least 0; 0 gives `l1_loss`.

    Returns:
        Shape (1,); the shape of input if reduction is "none".

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
    return _reduce(SmoothL1.apply(input, target.to(input.dtype), float(beta)), reduction)


@cache
def smooth_l1_functions(beta: float) -> tuple[ScalarLoss, ScalarLoss]:
    """The scalar loss for a beta, and its derivative with respect to the input."""

    def smooth_l1(x: float, t: float) -> float:
        d = x - t if x >= t else t - x
        return 0.5 * d * d / beta if d < beta else d - 0.5 * beta

    def smooth_l1_grad_input(x: float, t: float) -> float:
        d = x - t
        return 1.0 if d >= beta else -1.0 if d <= -beta else d / beta

    return smooth_l1, smooth_l1_grad_input


class SmoothL1(Function):
    """d² / (2 · beta) where d = |x - t| < beta, else d - beta / 2."""

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
        """The same as operations on tensors, for higher-order gradients."""
        d = (input - target).abs()
        return (d * d * (0.5 / beta)).where(d < beta, d - 0.5 * beta)


# Layers


class _Loss(Module):
    """Base class of loss layers.

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
        """The reduction, if it is not the mean."""
        return "" if self.reduction == "mean" else f"reduction={self.reduction!r}"


class MSELoss(_Loss):
    """`mse_loss`, the squared error."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input and target have the same shape."""
        return mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    """`l1_loss`, the absolute error."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input and target have the same shape."""
        return l1_loss(input, target, self.reduction)


class SmoothL1Loss(_Loss):
    """`smooth_l1_loss`.

    Args:
        reduction: "mean", "sum" or "none".
        beta: Largest error of the quadratic part.
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input and target have the same shape."""
        return smooth_l1_loss(input, target, self.reduction, self.beta)


class BCELoss(_Loss):
    """`binary_cross_entropy`, of probabilities.

    Args:
        weight: Weight of each element; a buffer.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input and target have the same shape."""
        return binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """`binary_cross_entropy_with_logits`.

    Args:
        weight: Weight of each element; a buffer.
        reduction: "mean", "sum" or "none".
        pos_weight: Weight of the positive class; a buffer.
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input and target have the same shape."""
        return binary_cross_entropy_with_logits(input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight)


class NLLLoss(_Loss):
    """`nll_loss`, of log-probabilities.

    Args:
        weight: Weight of each class, shape (C,); a buffer.
        ignore_index: Target value of samples that are ignored.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.ignore_index = ignore_index
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input has shape (N, C), target (N,)."""
        return nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_Loss):
    """`cross_entropy`, of logits.

    Args:
        weight: Weight of each class, shape (C,); a buffer.
        ignore_index: Target value of samples that are ignored.
        reduction: "mean", "sum" or "none".
        label_smoothing: Part of each target that is distributed uniformly over all classes.
    """

    def __init__(
        self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input has shape (N, C), target (N,) for class indices or (N, C) for probabilities."""
        settings: dict[str, Any] = {"ignore_index": self.ignore_index, "label_smoothing": self.label_smoothing}
        return cross_entropy(input, target, self.weight, reduction=self.reduction, **settings)


# Checks of arguments


REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: Any, op: str) -> None:
    """Raise ValueError if the reduction is unknown."""
    if reduction not in REDUCTIONS:
        raise ValueError(f'{op} expected reduction "mean", "sum" or "none", got {reduction!r}')


def check_tensors(input: Any, target: Any, reduction: str, op: str) -> None:
    """Raise an error unless both are tensors, input has a float dtype, and the reduction is known."""
    for name, x in (("input", input), ("target", target)):
        a_tensor(op, x, name)
    if not is_float(input.dtype):
        raise TypeError(f"{op} expected input of float64 or float32, got {input.dtype.name}; convert it: input.to(float64)")
    check_reduction(reduction, op)


def check_logits(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """Raise an error unless input has shape (N, C)."""
    check_tensors(input, target, reduction, op)
    if input.dims != 2 or not input.shape[1]:
        raise ValueError(f"{op} expected input of shape (N, C), a row of C classes for each sample, got {input.shape}")


def check_class_weight(input: Tensor, weight: Any, op: str) -> None:
    """Raise an error unless weight is None or has one element for each class."""
    if weight is not None and (not isinstance(weight, Tensor) or weight.shape != input.shape[1:]):
        raise _weight_error(op, f"as weight a Tensor of shape {input.shape[1:]}, a number for each class", weight)


def check_element_weight(input: Tensor, weight: Any, name: str, op: str) -> None:
    """Raise an error unless weight is None or broadcasts to the shape of input."""
    if weight is None:
        return
    shape = getattr(weight, "shape", ())
    valid = isinstance(weight, Tensor) and len(shape) <= len(input.shape)
    if not valid or any(n not in (1, m) for n, m in zip(reversed(shape), reversed(input.shape), strict=False)):
        raise _weight_error(op, f"as {name} a Tensor whose shape broadcasts to that of input, {input.shape}", weight)


def _weight_error(op: str, expected: str, weight: Any) -> ValueError:
    """The error for an invalid weight."""
    got = weight.shape if isinstance(weight, Tensor) else repr(weight)
    remedy = f"; a reduction goes by its name: reduction={weight!r}" if isinstance(weight, str) else ""
    return ValueError(f"{op} expected {expected}, got {got}{remedy}")


def check_classes(input: Tensor, target: Tensor, op: str, ignore_index: int) -> np.ndarray:
    """Whether each sample is included, shape (N,). Raises an error if target has the wrong form or a class is out of range."""
    samples, classes = input.shape
    if target.dtype.kind != "i" or target.shape != (samples,):
        error = TypeError if target.shape == (samples,) else ValueError
        raise error(
            f"{op} expected as target the classes of {samples} samples, int64 of shape ({samples},), for input of shape {input.shape}, "
            f"got {target.dtype.name} of shape {target.shape}"
        )
    labels = target._tensor.array()
    included = labels != ignore_index
    if samples and not (labels.min() >= 0 and labels.max() < classes):
        invalid = included & ((labels < 0) | (labels >= classes))
        if invalid.any():
            sample = int(invalid.argmax())
            raise ValueError(f"{op} expected classes from 0 to {classes - 1}, of {classes}, got {labels[sample]} for sample {sample}")
    return included


def check_same_shape(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """Raise an error unless input and target have the same shape."""
    check_tensors(input, target, reduction, op)
    if input.shape != target.shape:
        raise ValueError(f"{op} expected input and target of one shape, got {input.shape} and {target.shape}; view one as the other")


def check_probabilities(x: Tensor, name: str, op: str) -> None:
    """Raise an error unless all elements are from 0 to 1."""
    values = x._tensor.array()
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        invalid = values[~((values >= 0) & (values <= 1))][0].item()
        raise ValueError(f"{op} expected probabilities from 0 to 1 as {name}, got {invalid}")
