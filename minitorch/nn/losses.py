"""Stage 5 - Losses: how far from the truth a network's answers are, as one number to go downhill on.

All of them take what the network answers, then the truth, and `reduction`: "mean" (over all losses), "sum", or "none" (each by itself).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minitorch.autodiff import Context
from minitorch.dtypes import is_float
from minitorch.nn.elementwise import Keep
from minitorch.nn.functional import logsoftmax
from minitorch.nn.fused import cross_entropy_kernels, fusible
from minitorch.nn.loops import flat
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

REDUCTIONS = ("mean", "sum", "none")

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


def cross_entropy(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """How surprised softmax of the logits is by the truth: -ln of the probability that it gives to the right class.

    The same as `nll_loss(logsoftmax(input, 1), target)`, so exact for logits of any size.

    Args:
        input: Logits, shape (N, C): a row of C numbers of any size for each sample.
        target: The right classes, int64 or int32 of shape (N,) from 0 to C - 1; or probabilities of shape (N, C), then the surprises
            at all classes count, each by its probability.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or (N,) without a reduction.

    Raises:
        TypeError: If one is no Tensor, or the classes are no whole numbers.
        ValueError: If a shape does not fit, a class is out of range, a probability is not from 0 to 1, or reduction is unknown.
    """
    _check_rows(input, target, reduction, "cross_entropy")
    if target.shape == input.shape:
        _check_probabilities(target, "target", "cross_entropy")
        return _reduced(-(target.to(input.dtype) * logsoftmax(input, 1)).sum(1, keepdim=False), reduction)
    _check_classes(input, target, "cross_entropy")
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


def nll_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The negative of the logarithm that stands at the right class of each sample.

    Args:
        input: Logarithms of probabilities, shape (N, C), as `logsoftmax` gives them.
        target: The right classes, int64 or int32 of shape (N,), from 0 to C - 1.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or (N,) without a reduction.

    Raises:
        TypeError: If one is no Tensor, or the classes are no whole numbers.
        ValueError: If a shape does not fit, a class is out of range, or reduction is unknown.
    """
    _check_rows(input, target, reduction, "nll_loss")
    _check_classes(input, target, "nll_loss")
    return _reduced(_at_classes(input, target), reduction)


def _at_classes(logs: Tensor, target: Tensor) -> Tensor:
    """The loss of each sample."""
    classes = logs.shape[1]
    numbers = logs._like(TensorData(np.arange(classes), (1, classes)))
    return -Keep.apply(logs, numbers == target.unsqueeze(1)).sum(1, keepdim=False)


# Yes or no


def binary_cross_entropy(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """How surprised probabilities are by the truth: -ln p where it is 1, -ln(1 - p) where it is 0, no more than 100.

    Args:
        input: Probabilities from 0 to 1, of any shape. From logits, `binary_cross_entropy_with_logits` is more exact.
        target: 1 or 0, or a probability between, in the same shape.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or that of input without a reduction.

    Raises:
        TypeError: If one is no Tensor.
        ValueError: If the shapes differ, a probability is not from 0 to 1, or reduction is unknown.
    """
    _check_pairs(input, target, reduction, "binary_cross_entropy")
    _check_probabilities(input, "input", "binary_cross_entropy")
    _check_probabilities(target, "target", "binary_cross_entropy")
    return _reduced(BinaryCrossEntropy.apply(input, target.to(input.dtype)), reduction)


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


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """`binary_cross_entropy(input.sigmoid(), target)`, exact for logits of any size.

    Args:
        input: Logits, numbers of any size, of any shape.
        target: 1 or 0, or a probability between, in the same shape.
        reduction: "mean", "sum" or "none".

    Returns:
        Shape (1,), or that of input without a reduction.

    Raises:
        TypeError: If one is no Tensor.
        ValueError: If the shapes differ, a target is not from 0 to 1, or reduction is unknown.
    """
    _check_pairs(input, target, reduction, "binary_cross_entropy_with_logits")
    _check_probabilities(target, "target", "binary_cross_entropy_with_logits")
    return _reduced(BinaryCrossEntropyWithLogits.apply(input, target.to(input.dtype)), reduction)


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
    _check_pairs(input, target, reduction, "mse_loss")
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


def _check(input: Any, target: Any, reduction: str, op: str) -> None:
    """That both are tensors, input one of floats, and the reduction is known."""
    for name, x in (("input", input), ("target", target)):
        if not hasattr(x, "_tensor"):
            raise TypeError(f"{op} expected a Tensor as {name}, got {type(x).__name__}; make one with tensor(...)")
    if not is_float(input.dtype):
        raise TypeError(f"{op} expected input of float64 or float32, got {input.dtype.name}; convert it: input.to(float64)")
    if reduction not in REDUCTIONS:
        raise ValueError(f'{op} expected reduction "mean", "sum" or "none", got {reduction!r}')


def _check_rows(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """That input has a row of classes for each sample."""
    _check(input, target, reduction, op)
    if input.dims != 2 or not input.shape[1]:
        raise ValueError(f"{op} expected input of shape (N, C), a row of C classes for each sample, got {input.shape}")


def _check_classes(input: Tensor, target: Tensor, op: str) -> None:
    """That every sample has one of the classes."""
    samples, classes = input.shape
    if target.dtype.kind != "i" or target.shape != (samples,):
        error = TypeError if target.shape == (samples,) else ValueError
        raise error(
            f"{op} expected as target the classes of {samples} samples, int64 of shape ({samples},), for input of shape {input.shape}, "
            f"got {target.dtype.name} of shape {target.shape}"
        )
    numbers = target._tensor.array()
    if samples and not (numbers.min() >= 0 and numbers.max() < classes):
        sample = int(((numbers < 0) | (numbers >= classes)).argmax())
        raise ValueError(f"{op} expected classes from 0 to {classes - 1}, of {classes}, got {numbers[sample]} for sample {sample}")


def _check_pairs(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """That every element has its target."""
    _check(input, target, reduction, op)
    if input.shape != target.shape:
        raise ValueError(f"{op} expected input and target of one shape, got {input.shape} and {target.shape}; view one as the other")


def _check_probabilities(x: Tensor, name: str, op: str) -> None:
    """That all elements are from 0 to 1."""
    values = x._tensor.array()
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        wrong = values[~((values >= 0) & (values <= 1))][0].item()
        raise ValueError(f"{op} expected probabilities from 0 to 1 as {name}, got {wrong}")
