"""Stage 6 - torch.nn.functional: PyTorch's names and arguments over the engine's functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import minitorch.nn as engine
from minitorch.core.creation import full
from minitorch.core.dtypes import int64, is_float
from minitorch.core.math_functions import ExactLog
from minitorch.nn import (
    activations,
    channels,
    convolution,
    distances,
    dropouts,
    embeddings,
    linears,
    normalization,
    padding,
    pooling,
    resizing,
    sampling,
    transposed,
    volumes,
)
from minitorch.nn.options import refuse_unless, resolve_reduction
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor import rand
from minitorch.tensor_data import TensorData
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.tensor import Tensor, as_torch, lift

NAMES = {
    activations: """
        celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_softmax logsigmoid mish prelu relu relu6 rrelu selu
        sigmoid silu softmax softmin softplus softshrink softsign tanh tanhshrink threshold""",
    channels: "channel_shuffle local_response_norm",
    convolution: "conv1d conv2d",
    distances: "bilinear cosine_similarity normalize pairwise_distance",
    dropouts: "alpha_dropout dropout dropout1d dropout2d dropout3d",
    embeddings: "embedding",
    linears: "linear",
    normalization: "group_norm layer_norm rms_norm",
    padding: "pad",
    pooling: """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d avg_pool1d avg_pool2d max_pool1d max_pool2d
        max_unpool2d""",
    resizing: "fold interpolate pixel_shuffle pixel_unshuffle unfold upsample",
    sampling: "affine_grid grid_sample",
    transposed: "conv_transpose1d conv_transpose2d",
    volumes: "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d conv3d max_pool3d",
}
"""The functions of torch.nn.functional, by the module that has them."""

globals().update({name: getattr(family, name) for family, names in NAMES.items() for name in names.split()})


# Helpers


def scalar(loss: EngineTensor, reduction: str) -> EngineTensor:
    """A loss as PyTorch returns it: without dimensions unless reduction is "none"."""
    return loss if reduction == "none" else loss.reshape(())


# Activations


def _always_in_place(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """An activation whose result becomes its input."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return fn(input, *args, **kwargs, inplace=True)

    function.__name__ = function.__qualname__ = f"{fn.__name__}_"
    function.__doc__ = f"`{fn.__name__}` in place."
    return function


IN_PLACE = "relu leaky_relu hardtanh threshold elu selu celu rrelu"
globals().update({f"{name}_": _always_in_place(getattr(activations, name)) for name in IN_PLACE.split()})


@lift
def gumbel_softmax(logits: EngineTensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> EngineTensor:
    """A sample of the Gumbel-softmax distribution; with hard, a one-hot vector whose gradient is that of the sample.

    Source: Jang et al. 2017, arXiv:1611.01144, eq. 2.
    """
    uniform = rand(logits.shape, logits.backend, dtype=logits.dtype).clip(np.finfo(np.float32).tiny)  # type: ignore
    noise = -ExactLog.apply(-ExactLog.apply(uniform).clip(None, -1e-20))
    soft = activations.softmax((logits + noise) * (1 / tau), dim)
    if not hard:
        return soft
    size = soft.shape[dim]
    at_maximum = soft.detach().argmax(dim) == _numbers(soft, size).reshape(*[size if d == dim % soft.dims else 1 for d in range(soft.dims)])
    return at_maximum.to(soft.dtype) - soft.detach() + soft


# Classes as vectors


@lift
def one_hot(tensor: EngineTensor, num_classes: int = -1) -> EngineTensor:
    """1 at the index of each class, else 0, as int64 in a new last dimension.

    Args:
        tensor: Class indices, integers of any shape.
        num_classes: Number of classes; one more than the largest index by default.

    Raises:
        TypeError: If tensor does not hold integers.
        ValueError: If an index is negative or out of range.
    """
    if tensor.dtype.kind not in "iu":
        raise TypeError(f"one_hot expected class indices of int64, got {tensor.dtype.name}; convert them: x.long()")
    numbers = tensor.to_numpy()
    count = int(numbers.max()) + 1 if num_classes == -1 else num_classes
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
        raise ValueError(f"one_hot expected class indices from 0 to {count - 1}, got {numbers.min()} to {numbers.max()}")
    return (tensor.unsqueeze(-1) == _numbers(tensor, count)).to(int64)


def _numbers(like: EngineTensor, count: int) -> EngineTensor:
    """0 to count - 1 as int64 on the backend of a tensor."""
    return like._like(TensorData(np.arange(count), (count,)))


# Normalization, attention and dropout


@lift
def batch_norm(
    input: EngineTensor,
    running_mean: EngineTensor | None,
    running_var: EngineTensor | None,
    weight: EngineTensor | None = None,
    bias: EngineTensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> EngineTensor:
    """Normalize every channel; see `minitorch.nn.batch_norm`."""
    return engine.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@lift
def instance_norm(
    input: EngineTensor,
    running_mean: None = None,
    running_var: None = None,
    weight: EngineTensor | None = None,
    bias: EngineTensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> EngineTensor:
    """Normalize each channel of each sample; see `minitorch.nn.instance_norm`."""
    refuse_unless("instance_norm", use_input_stats=(use_input_stats, True))
    if running_mean is not None or running_var is not None:
        raise NotImplementedError("instance_norm supports no running statistics; pass None")
    return engine.instance_norm(input, weight, bias, eps)


@lift
def scaled_dot_product_attention(
    query: EngineTensor,
    key: EngineTensor,
    value: EngineTensor,
    attn_mask: EngineTensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> EngineTensor:
    """Attention; see `minitorch.nn.scaled_dot_product_attention`."""
    refuse_unless("scaled_dot_product_attention", enable_gqa=(enable_gqa, False))
    return engine.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)


# Losses


def _broadcast(op: str, input: EngineTensor, target: EngineTensor) -> tuple[EngineTensor, EngineTensor]:
    """Input and target in their common shape, with PyTorch's warning if they differ."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"a loss of input {tuple(input.shape)} and target {tuple(target.shape)} broadcasts them; give both the same shape",
        stacklevel=5,
    )
    shape = np.broadcast_shapes(input.shape, target.shape)
    return input.expand(*shape), target.expand(*shape)


def _regression(op: str, fn: Callable[..., EngineTensor]) -> Callable[..., Any]:
    """A loss of input and target of the same shape, with PyTorch's arguments."""

    def function(
        input: EngineTensor,
        target: EngineTensor,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        **options: Any,
    ) -> EngineTensor:
        reduction = resolve_reduction(reduction, size_average, reduce)
        input, target = _broadcast(op, input, target)
        return scalar(fn(input, target, reduction, **options), reduction)

    function.__name__, function.__doc__ = op, fn.__doc__
    return lift(function)


mse_loss, l1_loss = _regression("mse_loss", engine.mse_loss), _regression("l1_loss", engine.l1_loss)
_smooth_l1, _huber = _regression("smooth_l1_loss", engine.smooth_l1_loss), _regression("huber_loss", engine.huber_loss)
soft_margin_loss = _regression("soft_margin_loss", engine.soft_margin_loss)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Smooth L1 loss; see `minitorch.nn.smooth_l1_loss`."""
    return _smooth_l1(input, target, size_average, reduce, reduction, beta=beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: None = None) -> Tensor:
    """Huber loss; see `minitorch.nn.huber_loss`."""
    refuse_unless("huber_loss", weight=(weight, None))
    return _huber(input, target, reduction=reduction, delta=delta)


def _classes_last(x: EngineTensor) -> EngineTensor:
    """Scores (C,), (N, C) or (N, C, d1, …) as rows (rows, C)."""
    if x.dims == 1:
        return x.unsqueeze(0)
    return x if x.dims == 2 else x.permute(0, *range(2, x.dims), 1).reshape(-1, x.shape[1])


def _classification(
    fn: Callable[..., EngineTensor], input: EngineTensor, target: EngineTensor, reduction: str, **options: Any
) -> EngineTensor:
    """A loss of scores (C,), (N, C) or (N, C, d1, …) and classes (), (N,) or (N, d1, …), or probabilities shaped like the scores."""
    rows = _classes_last(input)
    probabilities = target.shape == input.shape and is_float(target.dtype)
    wanted = input.shape[:1] + input.shape[2:] if input.dims > 1 else ()
    if not probabilities and target.shape != wanted:
        raise ValueError(f"{fn.__name__} expected target of shape {wanted} for input of shape {input.shape}, got {target.shape}")
    labels = _classes_last(target) if probabilities else target.reshape(-1)
    loss = fn(rows, labels, reduction=reduction, **options)
    return loss.reshape(*wanted) if reduction == "none" and wanted else loss.reshape(()) if reduction != "none" or not wanted else loss


@lift
def cross_entropy(
    input: EngineTensor,
    target: EngineTensor,
    weight: EngineTensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> EngineTensor:
    """Cross-entropy between softmax(input) and the target; see `minitorch.nn.cross_entropy`.

    Args:
        input: Logits, shape (C,), (N, C) or (N, C, d1, …).
        target: Class indices, shape (), (N,) or (N, d1, …); or probabilities, shaped like input.
        weight: Weight of each class, shape (C,).
        size_average: PyTorch's older form of reduction.
        ignore_index: Class index that marks elements to ignore.
        reduce: PyTorch's older form of reduction.
        reduction: "mean", "sum" or "none".
        label_smoothing: Share of the target distribution that is spread evenly over all classes.
    """
    options = {"weight": weight, "ignore_index": ignore_index, "label_smoothing": label_smoothing}
    return _classification(engine.cross_entropy, input, target, resolve_reduction(reduction, size_average, reduce), **options)


@lift
def nll_loss(
    input: EngineTensor,
    target: EngineTensor,
    weight: EngineTensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> EngineTensor:
    """Negative log-likelihood of log-probabilities; for the shapes see `cross_entropy`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return _classification(engine.nll_loss, input, target, reduction, weight=weight, ignore_index=ignore_index)


@lift
def binary_cross_entropy(
    input: EngineTensor,
    target: EngineTensor,
    weight: EngineTensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> EngineTensor:
    """Binary cross-entropy of probabilities; see `minitorch.nn.binary_cross_entropy`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.binary_cross_entropy(input, target, weight, reduction=reduction), reduction)


@lift
def binary_cross_entropy_with_logits(
    input: EngineTensor,
    target: EngineTensor,
    weight: EngineTensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: EngineTensor | None = None,
) -> EngineTensor:
    """Binary cross-entropy of logits; see `minitorch.nn.binary_cross_entropy_with_logits`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.binary_cross_entropy_with_logits(input, target, weight, reduction=reduction, pos_weight=pos_weight), reduction)


@lift
def kl_div(
    input: EngineTensor,
    target: EngineTensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> EngineTensor:
    """Kullback-Leibler divergence; see `minitorch.nn.kl_div`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.kl_div(input, target, reduction, log_target), reduction)


@lift
def poisson_nll_loss(
    input: EngineTensor,
    target: EngineTensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> EngineTensor:
    """Negative log-likelihood of counts; see `minitorch.nn.poisson_nll_loss`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.poisson_nll_loss(input, target, log_input, full, eps, reduction), reduction)


@lift
def gaussian_nll_loss(
    input: EngineTensor, target: EngineTensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> EngineTensor:
    """Negative log-likelihood under a normal distribution; see `minitorch.nn.gaussian_nll_loss`."""
    if not isinstance(var, EngineTensor):
        var = full_like(input, var)
    elif var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    return scalar(engine.gaussian_nll_loss(input, target, var, full, eps, reduction), reduction)


def full_like(x: EngineTensor, value: float) -> EngineTensor:
    """A tensor of the engine, filled with a number, in the shape, dtype and backend of another."""
    return full(x.shape, value, x.backend, dtype=x.dtype)


@lift
def margin_ranking_loss(
    input1: EngineTensor,
    input2: EngineTensor,
    target: EngineTensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> EngineTensor:
    """Ranking loss; see `minitorch.nn.margin_ranking_loss`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.margin_ranking_loss(input1, input2, target, margin, reduction), reduction)


@lift
def cosine_embedding_loss(
    input1: EngineTensor,
    input2: EngineTensor,
    target: EngineTensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> EngineTensor:
    """Loss of pairs of vectors by their cosine; see `minitorch.nn.cosine_embedding_loss`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.cosine_embedding_loss(input1, input2, target, margin, reduction), reduction)


@lift
def hinge_embedding_loss(
    input: EngineTensor,
    target: EngineTensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> EngineTensor:
    """Loss of distances; see `minitorch.nn.hinge_embedding_loss`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.hinge_embedding_loss(input, target, margin, reduction), reduction)


@lift
def triplet_margin_loss(
    anchor: EngineTensor,
    positive: EngineTensor,
    negative: EngineTensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> EngineTensor:
    """Triplet loss; see `minitorch.nn.triplet_margin_loss`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction), reduction)


@lift
def ctc_loss(
    log_probs: EngineTensor,
    targets: EngineTensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> EngineTensor:
    """Loss of a sequence of labels over all its alignments to the input; see `minitorch.nn.ctc_loss`."""
    return scalar(engine.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity), reduction)


@lift
def multi_margin_loss(
    input: EngineTensor,
    target: EngineTensor,
    p: int = 1,
    margin: float = 1.0,
    weight: EngineTensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> EngineTensor:
    """Loss of scores of classes; see `minitorch.nn.multi_margin_loss`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.multi_margin_loss(input, target, p, margin, weight, reduction), reduction)


@lift
def multilabel_soft_margin_loss(
    input: EngineTensor,
    target: EngineTensor,
    weight: EngineTensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> EngineTensor:
    """Loss of samples with several classes; see `minitorch.nn.multilabel_soft_margin_loss`."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    return scalar(engine.multilabel_soft_margin_loss(input, target, weight, reduction), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Triplet loss with a distance of Tensors; see `minitorch.nn.triplet_margin_with_distance_loss`."""
    distance: Any = distance_function or distances.pairwise_distance
    options = {"margin": margin, "swap": swap, "reduction": reduction}
    loss = engine.triplet_margin_with_distance_loss(anchor, positive, negative, distance, **options)
    return as_torch(scalar(loss, reduction))


HELPERS = {"full_like", "scalar"}
"""What this file defines for itself and its neighbors."""

__getattr__ = refuse_absent(
    "torch.nn.functional", {*defined(globals()), *" ".join(NAMES.values()).split(), *(f"{name}_" for name in IN_PLACE.split())} - HELPERS
)
