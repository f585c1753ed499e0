"""Stage 6 - torch.nn.functional: PyTorch's names and arguments over the engine's functions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minitorch.nn as engine
from minitorch.core.creation import full, stack
from minitorch.core.dtypes import int64, is_float
from minitorch.core.math_functions import ExactLog
from minitorch.nn import (
    activations,
    channels,
    distances,
    dropouts,
    embeddings,
    linears,
    normalization,
    resizing,
    transposed,
    window_options,
)
from minitorch.nn.options import refuse_unless, resolve_reduction
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor import rand
from minitorch.tensor_data import TensorData
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.nn import sampling
from minitorch.torch.tensor import Tensor, as_torch, lift

NAMES = {
    activations: """
        celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_softmax logsigmoid mish prelu relu relu6 rrelu selu
        sigmoid silu softmax softmin softplus softshrink softsign tanh tanhshrink threshold""",
    channels: "channel_shuffle local_response_norm",
    distances: "bilinear cosine_similarity normalize pairwise_distance",
    dropouts: "alpha_dropout dropout dropout1d dropout2d dropout3d",
    embeddings: "embedding",
    linears: "linear",
    normalization: "group_norm layer_norm rms_norm",
    resizing: "pixel_shuffle pixel_unshuffle",
    transposed: "conv_transpose1d conv_transpose2d",
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


# Convolution and pooling


def _batched(fn: Callable[..., EngineTensor], dims: int) -> Callable[..., EngineTensor]:
    """A function of input (B, C, …) with `dims` dimensions that accepts input without B."""

    def function(input: EngineTensor, *args: Any, **kwargs: Any) -> EngineTensor:
        return fn(input.unsqueeze(0), *args, **kwargs).squeeze(0) if input.dims == dims - 1 else fn(input, *args, **kwargs)

    function.__name__, function.__doc__ = fn.__name__, fn.__doc__
    return function


conv1d, conv2d = lift(_batched(engine.conv1d, 3)), lift(_batched(engine.conv2d, 4))
unfold, fold = lift(_batched(engine.unfold, 4)), lift(_batched(engine.fold, 3))


def max_pool2d_with_indices(
    input: EngineTensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Max pooling of images (B, C, H, W) with all options; a pair with the positions of the maxima if return_indices."""
    if dilation not in (1, (1, 1), [1, 1]) or ceil_mode or return_indices:
        values, indices = window_options.max_pool2d_with_indices(input, kernel_size, stride or None, padding, dilation, ceil_mode)
        return (values, indices) if return_indices else values
    return engine.max_pool2d(input, kernel_size, stride or None, padding)


@lift
def max_pool2d(
    input: EngineTensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of images; see `minitorch.nn.max_pool2d` and `minitorch.nn.window_options`."""
    args = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    if input.dims != 3:
        return max_pool2d_with_indices(input, *args)
    return _first(max_pool2d_with_indices(input.unsqueeze(0), *args), 0)


@lift
def max_pool1d(
    input: EngineTensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of sequences; see `max_pool2d`."""
    sizes = [_one(size) for size in (kernel_size, stride or kernel_size, padding, dilation)]
    pairs = [(own, size) for own, size in zip((1, 1, 0, 1), sizes, strict=True)]
    sequences = input.unsqueeze(0) if input.dims == 2 else input
    out = _first(max_pool2d_with_indices(sequences.unsqueeze(2), *pairs, ceil_mode=ceil_mode, return_indices=return_indices), 2)
    return _first(out, 0) if input.dims == 2 else out


def _first(x: Any, dim: int) -> Any:
    """A tensor, or each of several, without a dimension of size 1."""
    return tuple(each.squeeze(dim) for each in x) if isinstance(x, tuple) else x.squeeze(dim)


@lift
def max_unpool2d(
    input: EngineTensor, indices: EngineTensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> EngineTensor:
    """Images of zeros with maxima at their positions; see `minitorch.nn.window_options.max_unpool2d`.

    Args:
        input: The maxima, shape (B, C, H', W') or (C, H', W').
        indices: Their positions, same shape.
        kernel_size: Window size of the pooling.
        stride: Its step; kernel_size by default.
        padding: Its padding.
        output_size: Size of the result, whose last two numbers count; computed from the others by default.
    """
    given = (kernel_size, stride or kernel_size, padding)
    kernel, step, border = (size if isinstance(size, (tuple, list)) else (size, size) for size in given)
    sizes = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-2:], step, border, kernel, strict=True)]
    height, width = sizes if output_size is None else tuple(output_size)[-2:]
    if input.dims == 3:
        return window_options.max_unpool2d(input.unsqueeze(0), indices.unsqueeze(0), (height, width)).squeeze(0)
    return window_options.max_unpool2d(input, indices, (height, width))


@lift
def avg_pool1d(
    input: EngineTensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> EngineTensor:
    """Mean over windows of a sequence; see `avg_pool2d`."""
    sizes = [_one(size) for size in (kernel_size, stride or kernel_size, padding)]
    kernel, step, zeros = ((own, size) for own, size in zip((1, 1, 0), sizes, strict=True))
    return _batched(lambda x: _mean_pool(x.unsqueeze(2), kernel, step, zeros, ceil_mode, count_include_pad).squeeze(2), 3)(input)


@lift
def avg_pool2d(
    input: EngineTensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> EngineTensor:
    """Mean over windows of an image; see `minitorch.nn.avg_pool2d` and `minitorch.nn.window_options`.

    Raises:
        NotImplementedError: With divisor_override together with ceil_mode or without count_include_pad.
    """
    if divisor_override is not None:
        refuse_unless("avg_pool2d with divisor_override", ceil_mode=(ceil_mode, False), count_include_pad=(count_include_pad, True))
    out = _batched(_mean_pool, 4)(input, kernel_size, stride, padding, ceil_mode, count_include_pad)
    if divisor_override is None:
        return out
    height, width = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
    return out * (height * width / divisor_override)


def _mean_pool(input: EngineTensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool) -> EngineTensor:
    """Means of images (B, C, H, W), by the faster function where it suffices."""
    padded = any(padding) if isinstance(padding, (tuple, list)) else padding != 0
    if ceil_mode or (padded and not count_include_pad):
        return window_options.avg_pool2d_with_options(input, kernel_size, stride or None, padding, ceil_mode, count_include_pad)
    return engine.avg_pool2d(input, kernel_size, stride or None, padding)


def _one(sizes: Any) -> Any:
    """The only element of a sequence of one."""
    return sizes[0] if isinstance(sizes, (tuple, list)) else sizes


@lift
def adaptive_avg_pool1d(input: EngineTensor, output_size: Any) -> EngineTensor:
    """Average pooling of sequences to a given length."""
    return _batched(lambda x: engine.adaptive_avg_pool2d(x.unsqueeze(2), (1, _one(output_size))).squeeze(2), 3)(input)


adaptive_avg_pool2d = lift(_batched(engine.adaptive_avg_pool2d, 4))


@lift
def adaptive_max_pool2d(input: EngineTensor, output_size: Any, return_indices: bool = False) -> EngineTensor:
    """Max pooling of images to a given size.

    Raises:
        NotImplementedError: With return_indices.
    """
    refuse_unless("adaptive_max_pool2d", return_indices=(return_indices, False))
    return _batched(engine.adaptive_max_pool2d, 4)(input, output_size)


@lift
def adaptive_max_pool1d(input: EngineTensor, output_size: Any, return_indices: bool = False) -> EngineTensor:
    """Max pooling of sequences to a given length.

    Raises:
        NotImplementedError: With return_indices.
    """
    refuse_unless("adaptive_max_pool1d", return_indices=(return_indices, False))
    return _batched(lambda x: engine.adaptive_max_pool2d(x.unsqueeze(2), (1, _one(output_size))).squeeze(2), 3)(input)


@lift
def interpolate(
    input: EngineTensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> EngineTensor:
    """Resize sequences or images; see `minitorch.nn.interpolate`."""
    if recompute_scale_factor and scale_factor is not None:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * (input.dims - 2)
        size, scale_factor = [math.floor(n * f) for n, f in zip(input.shape[2:], factors, strict=True)], None
    return engine.interpolate(input, size, scale_factor, mode, bool(align_corners), antialias)


upsample = interpolate


@lift
def pad(input: EngineTensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> EngineTensor:
    """Add elements at both ends of the last dimensions; see `minitorch.nn.pad`."""
    return engine.pad(input, pad, mode, 0.0 if value is None else value)


# Volumes: images one after the other, with kernels that also reach along their order


@lift
def conv3d(
    input: EngineTensor,
    weight: EngineTensor,
    bias: EngineTensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> EngineTensor:
    """Convolve volumes with a kernel: convolutions of images, for which the kernel's planes are further channels.

    Args:
        input: Volumes, shape (B, C, D, H, W) or (C, D, H, W).
        weight: Shape (O, C / groups, KD, KH, KW).
        bias: Shape (O,).
        stride: Step between windows; one number, or one for each of D, H and W.
        padding: Zeros on each side; "same" and "valid" as in `conv2d`.
        dilation: Step between taps.
        groups: See `conv2d`.

    Returns:
        Shape (B, O, D', H', W').

    Raises:
        ValueError: If the numbers of dimensions differ from these, a kernel is larger than the padded volume, or as for `conv2d`.
    """
    if input.dims not in (4, 5) or weight.dims != 5 or input.shape[-4] != weight.shape[1] * groups:
        raise ValueError(
            "conv3d expected input of shape (B, C, D, H, W) and weight of shape (O, C / groups, KD, KH, KW), "
            f"got {input.shape}, {weight.shape} and {groups} groups"
        )
    volumes = input if input.dims == 5 else input.unsqueeze(0)
    (step, *steps), (gap, *gaps) = _three(stride), _three(dilation)
    planes = weight.shape[2]
    if isinstance(padding, str):
        total, edges = (gap * (planes - 1) if padding == "same" else 0), padding
        before = total // 2
    else:
        before, *edges = _three(padding)  # type: ignore[assignment]
        total = 2 * before
    depth = (volumes.shape[2] + total - gap * (planes - 1) - 1) // step + 1
    if depth < 1:
        raise ValueError(f"conv3d expected a depth of at least {gap * (planes - 1) + 1} with its padding, got {volumes.shape[2] + total}")
    padded = engine.pad(volumes, (0, 0, 0, 0, before, total - before)) if total else volumes
    taps = [padded[:, :, k * gap : k * gap + (depth - 1) * step + 1 : step] for k in range(planes)]
    batch, channels, _, *sizes = volumes.shape
    images = stack(taps, 2).permute(0, 3, 1, 2, 4, 5).reshape(batch * depth, channels * planes, *sizes)
    kernel = weight.reshape(weight.shape[0], weight.shape[1] * planes, *weight.shape[3:])
    out = engine.conv2d(images, kernel, bias, tuple(steps), edges if isinstance(edges, str) else tuple(edges), tuple(gaps), groups)
    out = out.view(batch, depth, *out.shape[1:]).permute(0, 2, 1, 3, 4)
    return out if input.dims == 5 else out.squeeze(0)


@lift
def max_pool3d(
    input: EngineTensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> EngineTensor:
    """Maximum over windows of volumes (B, C, D, H, W) or (C, D, H, W): over each image, then from image to image."""
    refuse_unless("max_pool3d", return_indices=(return_indices, False))
    sizes = (kernel_size, stride or kernel_size, padding, dilation)
    return _in_two_steps(lambda x, *sizes: max_pool2d_with_indices(x, *sizes, ceil_mode=ceil_mode), input, sizes, (1, 1, 0, 1))


@lift
def avg_pool3d(
    input: EngineTensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> EngineTensor:
    """Mean over windows of volumes (B, C, D, H, W) or (C, D, H, W): over each image, then from image to image."""
    refuse_unless("avg_pool3d", divisor_override=(divisor_override, None))
    sizes = (kernel_size, stride or kernel_size, padding)
    return _in_two_steps(
        lambda x, *sizes: _mean_pool(x, *sizes, ceil_mode=ceil_mode, count_include_pad=count_include_pad), input, sizes, (1, 1, 0)
    )


def _in_two_steps(pool: Callable[..., EngineTensor], input: EngineTensor, sizes: Sequence[Any], neutral: Sequence[int]) -> EngineTensor:
    """Pooling of volumes by pooling of images, with sizes for D, H and W, and those that change nothing.

    Raises:
        ValueError: If the input has neither four nor five dimensions.
    """
    if input.dims not in (4, 5):
        raise ValueError(f"pooling expected volumes of shape (B, C, D, H, W) or (C, D, H, W), got {input.shape}")
    depths, *others = zip(*map(_three, sizes), strict=True)
    *outer, _, _ = input.shape
    out = pool(input.reshape(1, math.prod(outer), *input.shape[-2:]), *zip(*others, strict=True))
    height, width = out.shape[-2:]
    out = pool(out.view(1, math.prod(outer[:-1]), outer[-1], height * width), *zip(depths, neutral, strict=True))
    return out.view(*outer[:-1], out.shape[2], height, width)


def _three(sizes: Any) -> tuple[int, ...]:
    """Sizes for D, H and W."""
    return tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,) * 3


# Grids

affine_grid, grid_sample = lift(sampling.affine_grid), lift(sampling.grid_sample)


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
