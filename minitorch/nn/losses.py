"""Stage 7 - Losses of classes and of binary labels, and what all losses share: argument checks, reductions, and layers.

A loss compares a prediction with a target. Its `reduction` is "mean", "sum" or "none" (one loss per sample or element); PyTorch's older
arguments size_average and reduce select one, too. The mean and the sum have no dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.dtypes import int64, is_float, uint8
from minitorch.core.errors import ArgumentError, DtypeError
from minitorch.core.math_functions import MaskedSelect
from minitorch.core.recording import active, call, copy
from minitorch.kernels.loop import accepts, flat
from minitorch.kernels.losses import cross_entropy_kernels
from minitorch.nn.functional import logsoftmax
from minitorch.nn.module import Module
from minitorch.nn.options import layer, resolve_reduction
from minitorch.ops.checks import check_tensor
from minitorch.ops.smooth_activations import logsigmoid
from minitorch.tensor import Tensor, tensor
from minitorch.tensor_data import IndexingError, TensorData
from minitorch.tensor_functions import Function
from minitorch.torch.promotion import cast, require_numbers, require_one_dtype, result_type
from minitorch.torch.saved import saves

REDUCTIONS = ("mean", "sum", "none")


# Argument checks


def check_reduction(reduction: Any, op: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """Return the reduction, which PyTorch's older arguments replace if they are given. Raises ValueError if it is unknown."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    if reduction not in REDUCTIONS:
        raise ValueError(f'{op} expected reduction "mean", "sum" or "none", got {reduction!r}')
    return reduction


def check_tensors(input: Any, target: Any, reduction: str, op: str) -> None:
    """Check that both arguments are tensors, that input is floating-point, and that the reduction is known."""
    for name, x in (("input", input), ("target", target)):
        check_tensor(op, x, name)
    if not is_float(input.dtype):
        raise DtypeError(f"{op} expected input of float64 or float32, got {input.dtype.name}; convert it: input.to(float64)")
    check_reduction(reduction, op)


def check_class_weight(classes: int, weight: Any, op: str) -> None:
    """Check that weight is None or has one element per class."""
    if weight is not None and (not isinstance(weight, Tensor) or weight.shape != (classes,)):
        raise _weight_error(op, f"as weight a Tensor of shape {(classes,)}, one element per class", weight)


def check_element_weight(input: Tensor, factor: Any, name: str, op: str) -> None:
    """Check that a per-element weight is None or broadcasts to the shape of input."""
    if factor is None:
        return
    given, own = getattr(factor, "shape", ()), input.shape
    fits = isinstance(factor, Tensor) and len(given) <= len(own)
    if not fits or any(n not in (1, m) for n, m in zip(reversed(given), reversed(own), strict=False)):
        raise _weight_error(op, f"as {name} a Tensor whose shape broadcasts to that of input, {tuple(own)}", factor)


def _weight_error(op: str, expected: str, given: Any) -> ValueError:
    """Return the error for a weight of the wrong type or shape."""
    got = tuple(given.shape) if isinstance(given, Tensor) else repr(given)
    remedy = f"; pass it by keyword: reduction={given!r}" if isinstance(given, str) else ""
    return ValueError(f"{op} expected {expected}, got {got}{remedy}")


def included_classes(numbers: np.ndarray, classes: int, op: str, ignore_index: int) -> np.ndarray:
    """The mask of samples that are not ignored. Raises IndexingError if one of them has a class out of range."""
    included = numbers != ignore_index
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < classes):
        wrong = included & ((numbers < 0) | (numbers >= classes))
        if wrong.any():
            sample = int(wrong.argmax())
            raise IndexingError(f"{op} expected classes from 0 to {classes - 1}, of {classes}, got {numbers[sample]} for sample {sample}")
    return included


def require_included(numbers: np.ndarray, op: str, ignore_index: int) -> None:
    """Raise ValueError if a compiled step meets an ignored sample, of which there was none when it was recorded."""
    if (numbers == ignore_index).any():
        raise ValueError(f"{op} got a sample to ignore, {ignore_index}, in a compiled step that was recorded without; leave it uncompiled")


def check_probabilities(x: Tensor, name: str, op: str) -> None:
    """Raise ValueError unless every element lies in [0, 1]."""
    call(require_probabilities, x._tensor.array(), name, op)


def require_probabilities(values: np.ndarray, name: str, op: str) -> None:
    """Raise ValueError unless every number lies in [0, 1]."""
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        wrong = values[~((values >= 0) & (values <= 1))][0].item()
        raise ValueError(f"{op} expected probabilities from 0 to 1 as {name}, got {wrong}")


# What losses share


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
    """Reduce the losses to their mean or sum, without dimensions, or return them unchanged."""
    if reduction == "none":
        return losses
    return (Tensor.mean if reduction == "mean" else Tensor.sum)(losses, None, False)


class Loss(Module):
    """Base class of losses.

    Args:
        size_average: Older form of reduction: False stands for "sum".
        reduce: Older form of reduction: False stands for "none".
        reduction: What is returned, as an attribute for `forward`.
    """

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = resolve_reduction(reduction, size_average, reduce)


class WeightedLoss(Loss):
    """Base class of losses with a weight, a buffer of any shape, or None; for the other arguments see `Loss`."""

    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def loss_layer(name: str, fn: Callable[..., Tensor], *arguments: str, reductions: tuple[str, ...] = REDUCTIONS, **options: Any) -> Any:
    """Make the layer of a loss; see `layer`. It refuses reductions that the loss does not have."""

    def check(reduction: str, **_: Any) -> None:
        if reduction not in reductions:
            check_reduction(reduction, name)

    base = WeightedLoss if "weight" in options.get("buffers", ()) else Loss
    return layer(name, fn, *arguments, shown="", check=check, base=base, **options)


# Classification


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross-entropy between softmax(input) and the target: -ln of the probability of the target class.

    Equivalent to `nll_loss(log_softmax(input, 1), target)`, so numerically stable for logits of any magnitude.

    Args:
        input: Logits, shape (C,), (N, C) or (N, C, d1, …).
        target: Class indices from 0 to C - 1, int64 or uint8 of shape (), (N,) or (N, d1, …); or class probabilities, shaped like input.
        weight: Weight of each class, shape (C,). With class indices, the mean is divided by the sum of the targets' weights.
        ignore_index: Class index that marks samples to ignore.
        reduction: "mean", "sum" or "none"; size_average and reduce are PyTorch's older forms of it.
        label_smoothing: Share of the target distribution, from 0 to 1, that is spread evenly over all classes.

    Returns:
        Shape (), or that of the class indices if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor, or the class indices are not int64 or uint8.
        ValueError: If a shape does not match, a probability or label_smoothing is outside [0, 1], or reduction is unknown.
        IndexingError: If a class index is out of range.

    Source: label smoothing: Szegedy et al. 2016, arXiv:1512.00567, section 7.
    """
    op, reduction = "cross_entropy", resolve_reduction(reduction, size_average, reduce)
    check_tensors(input, target, reduction, op)
    rows = _rows(input, op)
    check_class_weight(rows.shape[1], weight, op)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{op} expected label_smoothing from 0 to 1, got {label_smoothing}, the share that is spread over all classes")
    if target.shape == input.shape and is_float(target.dtype):
        check_probabilities(target, "target", op)
        distribution = _rows(target, op)
        if label_smoothing:
            distribution = distribution * (1 - label_smoothing) + label_smoothing / rows.shape[1]
        dtype, logs = result_type(rows, distribution), logsoftmax(rows, 1)
        weighted = cast(distribution, dtype) * cast(logs if weight is None else logs * cast(weight, logs.dtype), dtype)
        return _shaped(reduce_losses(-Tensor.sum(weighted, 1, keepdim=False), reduction), input)
    labels, included = _labels(input, target, op, ignore_index)
    require_one_dtype(op, input, weight)
    if weight is not None or label_smoothing or not included.all():
        return _shaped(_weighted_nll(logsoftmax(rows, 1), labels, reduction, weight, included, label_smoothing), input)
    if accepts(rows):
        return _shaped(CrossEntropy.apply(rows, labels, reduction), input)
    return _shaped(reduce_losses(_nll_per_sample(logsoftmax(rows, 1), labels), reduction), input)


class CrossEntropy(Function):
    """nll_loss(logsoftmax(input, 1), target, reduction) fused for the compiled backend: one kernel per direction."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, target: Tensor, reduction: str) -> Tensor:
        rows, classes = input.shape
        share = {"mean": 1 / rows if rows else math.nan, "sum": 1.0, "none": 0.0}[reduction]
        losses = TensorData.empty(() if share else (rows,), input.dtype)
        probabilities, chosen = np.empty(rows * classes, input.dtype), np.empty(rows, np.int64)
        call(copy, chosen, target._tensor.array())
        call(cross_entropy_kernels().forward, losses._storage, probabilities, flat(input), chosen, rows, classes, share)
        ctx.save_for_backward(probabilities, chosen, rows, classes, share, target)  # which must not be written into, as in PyTorch
        return input._like(losses)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None]:
        probabilities, chosen, rows, classes, share, _ = ctx.saved_values
        grad = TensorData.empty((rows, classes), probabilities.dtype)
        call(cross_entropy_kernels().backward, grad._storage, probabilities, chosen, flat(grad_output), rows, classes, share)
        return grad_output._like(grad), None


@saves(0)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood: minus the log-probability of each sample's target class.

    Args:
        input: Log-probabilities, as returned by `log_softmax`, shape (C,), (N, C) or (N, C, d1, …).
        target: Class indices. For these, the other arguments, the result and the errors see `cross_entropy`.
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    check_tensors(input, target, reduction, "nll_loss")
    rows = _rows(input, "nll_loss")
    check_class_weight(rows.shape[1], weight, "nll_loss")
    labels, included = _labels(input, target, "nll_loss", ignore_index)
    require_one_dtype("nll_loss", input, weight)
    if weight is not None or not included.all():
        return _shaped(_weighted_nll(rows, labels, reduction, weight, included, 0.0), input)
    return _shaped(reduce_losses(_nll_per_sample(rows, labels), reduction), input)


def _rows(x: Tensor, op: str) -> Tensor:
    """Scores (C,), (N, C) or (N, C, d1, …) as rows (samples, C); raise if there is no class."""
    if not x.dims or not x.shape[min(x.dims - 1, 1)]:
        expected = "(C,), (N, C) or (N, C, d1, …) with at least one class"
        raise ValueError(f"{op} expected input of shape {expected}, got {tuple(x.shape)}")
    if x.dims == 1:
        return x.unsqueeze(0)
    return x if x.dims == 2 else x.permute(0, *range(2, x.dims), 1).reshape(-1, x.shape[1])


def _labels(input: Tensor, target: Tensor, op: str, ignore_index: int) -> tuple[Tensor, np.ndarray]:
    """The class of each sample, and the mask of samples that are not ignored; raise if one of them has a class out of range."""
    shape, classes = input.shape[:1] + input.shape[2:] if input.dims > 1 else (), input.shape[min(input.dims - 1, 1)]
    expected = f"{op} expected as target class indices, int64 of shape {tuple(shape)}, for input of shape {tuple(input.shape)}"
    if target.shape != shape and (shape or target.shape != (1,)):
        raise ArgumentError(f"{expected}, got {target.dtype.name} of shape {tuple(target.shape)}")
    if target.dtype is not int64 and (target.dtype is not uint8 or input.dims > 2):
        raise DtypeError(f"{expected}, got {target.dtype.name}; convert it: target.to(int64)")
    labels = target if target.dims == 1 else target.reshape(-1)
    included = call(included_classes, labels._tensor.array(), classes, op, ignore_index)
    if active.recorder is not None and included.all():  # a program for ignored samples would be another one
        call(require_included, labels._tensor.array(), op, ignore_index)
    return labels, included


def _shaped(loss: Tensor, input: Tensor) -> Tensor:
    """The losses of the rows, or their reduction, in the shape that the samples of input have."""
    return loss if input.dims == 2 or not loss.dims else loss.reshape(input.shape[:1] + input.shape[2:] if input.dims > 1 else ())


@saves((1, 0))
def _composed_nll(logs: Tensor, target: Tensor) -> Tensor:
    """Return minus the log-probability of each sample's target class."""
    classes = logs.shape[1]
    class_indices = logs._like(TensorData(np.arange(classes), (1, classes)))
    return -Tensor.sum(MaskedSelect.apply(logs, class_indices == target.unsqueeze(1)), 1, keepdim=False)


class NegativeLogLikelihood(Function):
    """`_composed_nll` for the compiled backend: one call of NumPy per direction."""

    composed = staticmethod(_composed_nll)

    @staticmethod
    def forward(ctx: Context, logs: Tensor, target: Tensor) -> Tensor:
        losses = TensorData.empty(logs.shape[:1], logs.dtype)
        call(negate_chosen, losses._storage, logs._tensor.array(), target._tensor.array())
        ctx.save_for_backward(logs.shape, target)
        return logs._like(losses)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None]:
        shape, target = ctx.saved_values
        grad = grad_output.zeros(shape)
        call(scatter_negated, grad._tensor.array(), target._tensor.array(), grad_output._tensor.array())
        return grad, None


def negate_chosen(losses: np.ndarray, logs: np.ndarray, chosen: np.ndarray) -> None:
    """Write -logs[i, chosen[i]] into losses."""
    np.negative(logs[np.arange(len(chosen)), chosen], out=losses)


def scatter_negated(grad: np.ndarray, chosen: np.ndarray, grad_losses: np.ndarray) -> None:
    """Its gradient, written into zeros."""
    grad[np.arange(len(chosen)), chosen] = -grad_losses


def _nll_per_sample(logs: Tensor, target: Tensor) -> Tensor:
    """Return minus the log-probability of each sample's target class."""
    return (NegativeLogLikelihood.apply if accepts(logs) else _composed_nll)(logs, target)


@saves((1, 0), 3)
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
    return reduce_losses(losses, "sum") * (1 / total if total else math.nan)


# Binary classification


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross-entropy: -(t · ln p + (1 - t) · ln(1 - p)), with the logarithms clamped at -100.

    Args:
        input: Probabilities in [0, 1], any shape. For logits, `binary_cross_entropy_with_logits` is more accurate.
        target: 0, 1 or a probability in between, same shape and dtype as input.
        weight: Weight of each element; must broadcast to the shape of input.
        reduction: "mean", "sum" or "none"; size_average and reduce are PyTorch's older forms of it.

    Returns:
        Shape (), or the shape of input if reduction is "none".

    Raises:
        TypeError: If an argument is not a Tensor, or target has another dtype than input.
        ValueError: If the shapes differ, weight does not broadcast, a probability is outside [0, 1], or reduction is unknown.
    """
    op, reduction = "binary_cross_entropy", resolve_reduction(reduction, size_average, reduce)
    _check_binary(input, target, weight, reduction, op, promotes=False)
    check_probabilities(input, "input", op)
    check_probabilities(target, "target", op)
    losses = BinaryCrossEntropy.apply(input, target)
    return reduce_losses(losses if weight is None else losses * cast(weight, losses.dtype), reduction)


def _check_binary(input: Tensor, target: Tensor, weight: Any, reduction: str, op: str, promotes: bool) -> None:
    """Check that both have the same shape, and target the dtype of input or, if it promotes, a floating-point one; and the weight."""
    check_tensors(input, target, reduction, op)
    if input.shape != target.shape:
        raise ValueError(
            f"{op} expected input and target of the same shape, got {tuple(input.shape)} and {tuple(target.shape)}; view one as the other"
        )
    if not (is_float(target.dtype) if promotes else target.dtype == input.dtype):
        raise DtypeError(f"{op} expected target of {input.dtype.name}, got {target.dtype.name}; convert it: target.to(input.dtype)")
    check_element_weight(input, weight, "weight", op)


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
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy(input.sigmoid(), target)`, numerically stable for logits of any magnitude.

    Args:
        input: Logits, any shape; for the result and the arguments that are not described here see `binary_cross_entropy`.
        target: 0, 1 or a probability in between as floating-point numbers, same shape as input.
        pos_weight: Weight of the positive class; must broadcast to the shape of input.

    Raises:
        TypeError: If an argument is not a Tensor, or target does not hold floating-point numbers.
        ValueError: If the shapes differ, a weight does not broadcast, a target is outside [0, 1], or reduction is unknown.
    """
    op, reduction = "binary_cross_entropy_with_logits", resolve_reduction(reduction, size_average, reduce)
    _check_binary(input, target, weight, reduction, op, promotes=True)
    check_probabilities(target, "target", op)
    check_element_weight(input, pos_weight, "pos_weight", op)
    losses = losses_of_logits(input, target, pos_weight)
    return reduce_losses(losses if weight is None else losses * cast(weight, losses.dtype), reduction)


def losses_of_logits(input: Tensor, target: Tensor, pos_weight: Tensor | None = None) -> Tensor:
    """The binary cross-entropy of each logit."""
    dtype = result_type(input, target)
    logits, labels = cast(input, dtype), cast(target, dtype)
    if pos_weight is None:
        return BinaryCrossEntropyWithLogits.apply(logits, labels)
    require_numbers("pos_weight", pos_weight)
    return (1.0 - labels) * logits - logsigmoid(logits) * ((cast(pos_weight, dtype) - 1.0) * labels + 1.0)


def bce_with_logits(x: float, t: float) -> float:
    """ln(1 + e^x) - t · x; the exponent is never positive, so exp cannot overflow."""
    return (1.0 - t) * x - (x if x < 0 else 0.0) + math.log1p(math.exp(-abs(x)))


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


# Layers


CrossEntropyLoss, NLLLoss = (
    loss_layer(name, fn, buffers=("weight",)) for name, fn in (("CrossEntropyLoss", cross_entropy), ("NLLLoss", nll_loss))
)
BCELoss = loss_layer("BCELoss", binary_cross_entropy, buffers=("weight",))
BCEWithLogitsLoss = loss_layer("BCEWithLogitsLoss", binary_cross_entropy_with_logits, buffers=("weight", "pos_weight"))
