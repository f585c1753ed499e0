"""Stage 7 - Batch, instance, group, layer and RMS normalization.

Values are normalized, then multiplied by a weight and shifted by a bias, if there are any. The compiled backend runs the kernels of
`kernels.norm`; other backends compose the same formulas of tensor operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch.core.dtypes import float32, is_half
from minitorch.core.errors import DtypeError
from minitorch.core.number_formats import finfo
from minitorch.core.recording import call, concatenate, constant
from minitorch.kernels.loop import Loop, accepts, flat
from minitorch.kernels.norm import column_gradient, column_norm, plane_gradient, plane_norm, row_gradient, row_norm
from minitorch.ops.checks import check_float_tensor, positive_ints
from minitorch.tensor import Tensor, tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

GRADIENT_CHUNKS = 8
"""Number of partial sums of a gradient over rows; constant, so that results do not depend on the number of threads."""

MIN_PLANE_LENGTH = 16
"""Planes with fewer elements are processed side by side, as columns."""

COLUMN_BLOCK = 1 << 8
"""Number of columns processed at once."""


class Planes(NamedTuple):
    """The layout of planes and which of them share their statistics.

    Attributes:
        shape: The dimensions that index the planes; all but the first index the channels.
        dim: The dimension over which statistics are shared, the first or the last.
        length: Number of elements of a plane.
    """

    shape: tuple[int, ...]
    dim: int
    length: int

    @property
    def count(self) -> int:
        """Number of elements that share one mean."""
        return self.shape[self.dim] * self.length

    @property
    def channels(self) -> int:
        """Number of channels."""
        return math.prod(self.shape[1:])

    @property
    def num_means(self) -> int:
        """Number of means."""
        return math.prod(self.shape) // self.shape[self.dim]

    @property
    def as_columns(self) -> bool:
        """Whether planes are processed as columns."""
        return self.dim == 0 and self.length < MIN_PLANE_LENGTH

    def run(self, planes: Loop, columns: Loop, out: np.ndarray, operands: tuple[Any, ...], own_stats: bool) -> None:
        """Run the kernel for planes or the one for columns, whichever suits the layout."""
        shared, channels = self.shape[self.dim], self.channels
        step, unit_step = (channels, 1) if self.dim == 0 else (1, shared)
        sizes = shared, step, unit_step, channels, self.length, self.num_means, int(own_stats)
        if self.as_columns:
            span = max(1, COLUMN_BLOCK // self.length)
            columns.run(out, operands, (*sizes, span), -(-channels // span))
        else:
            planes.run(out, operands, sizes, self.num_means)

    def moments(self, x: Tensor) -> np.ndarray:
        """Return all means followed by all biased variances, computed by tensor operations."""
        grouped, dims = x.detach().reshape(*self.shape, self.length), (self.dim, -1)
        centered = grouped - Tensor.mean(grouped, dims)
        moments = Tensor.mean(grouped, dims), Tensor.mean(centered * centered, dims)
        joined = np.empty(2 * self.num_means)
        call(concatenate, joined, *[x._tensor.array().reshape(-1) for x in moments])
        return joined


def can_fuse(*tensors: Tensor | None) -> bool:
    """Return whether the compiled kernels apply: the first tensor is not empty, and all tensors have the same dtype."""
    first = tensors[0]
    return first is not None and accepts(first) and first.numel() > 0 and all(x is None or x.dtype == first.dtype for x in tensors)


class PlaneNorm(Function):
    """(x - mean) / √(var + eps) · weight + bias, with statistics shared by planes.

    moments holds all means followed by all variances, in float64. If own_stats, the kernel computes them and writes them there.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, planes: Planes, moments: np.ndarray, eps: float, own_stats: bool
    ) -> Tensor:
        out = TensorData.empty(x.shape, x.dtype)
        workspace = np.empty(2 * planes.channels + 1)
        call(concatenate, workspace, _per_channel(weight, planes, 1.0), _per_channel(bias, planes, 0.0), (eps,))
        planes.run(plane_norm(), column_norm(), out._storage, (flat(x), workspace, moments), own_stats)
        ctx.save_for_backward(x, weight, planes, moments, eps, own_stats)
        return x._like(out)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, planes, moments, eps, own_stats = ctx.saved_values
        needed, num_means, channels = ctx.needs_input_grad, planes.num_means, planes.channels
        out = TensorData.empty(x.shape if needed[0] else (0,), x.dtype)
        sums = 2 * (channels if planes.as_columns else math.prod(planes.shape))
        workspace = np.empty(channels + 2 * num_means + sums)
        call(begin_gradient, workspace, _per_channel(weight, planes, 1.0), moments, eps)
        planes.run(plane_gradient(), column_gradient(), out._storage, (flat(grad_output), flat(x), workspace), own_stats)
        grads = np.empty((2, channels), x.dtype)
        call(sum_rows, grads, workspace[-sums:].reshape(2, -1, channels))
        return (
            x._like(out) if needed[0] else None,
            x._like(TensorData(grads[1], (channels,))) if needed[1] else None,
            x._like(TensorData(grads[0], (channels,))) if needed[2] else None,
            *(None,) * 4,
        )

    @staticmethod
    def composed(
        x: Tensor, weight: Tensor | None, bias: Tensor | None, planes: Planes, moments: np.ndarray, eps: float, own_stats: bool
    ) -> Tensor:
        """The same computation composed of differentiable tensor operations."""
        grouped = x.reshape(*planes.shape, planes.length)
        if own_stats:
            centered = grouped - Tensor.mean(grouped, (planes.dim, -1))
            var = Tensor.mean(centered * centered, (planes.dim, -1))
        else:
            mean, var = (tensor(values, x.backend, dtype=x.dtype) for values in moments.reshape(2, planes.channels, 1))
            centered = grouped - mean
        return scale_and_shift(centered / (var + eps).sqrt(), weight, bias, (*planes.shape[1:], 1)).reshape(*x.shape).clone()


def scale_and_shift(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """Return x · weight + bias, with weight and bias reshaped to broadcast; half precision stays half precision."""
    out = x if weight is None else x * weight.reshape(*shape)
    out = out if bias is None else out + bias.reshape(*shape)
    return out.to(x.dtype) if is_half(x.dtype) else out


def begin_gradient(workspace: np.ndarray, weight: np.ndarray, moments: np.ndarray, eps: float) -> None:
    """Write weights, means and inverse standard deviations into the workspace of a backward pass, and zeros for its sums."""
    means, variances = moments.reshape(2, -1)
    concatenate(workspace, weight, means, 1 / np.sqrt(variances + eps))
    workspace[len(weight) + 2 * len(means) :] = 0


def sum_rows(sums: np.ndarray, parts: np.ndarray) -> None:
    """Sum the second of three dimensions; the sums are rounded once."""
    sums[...] = parts.sum(1)


def _per_channel(x: Tensor | None, planes: Planes, default: float) -> np.ndarray:
    """Return the value of each channel, or the default for each if x is None."""
    return constant(np.full(planes.channels, default)) if x is None else flat(x)


def sum_parts(sums: np.ndarray, parts: np.ndarray) -> None:
    """Sum the first dimension."""
    sums[...] = parts.sum(0)


class RowNorm(Function):
    """Rows minus their means (if centered), divided by their root mean square, times weight plus bias; weight and bias are rows."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], eps: float, centered: bool
    ) -> Tensor:
        length, dtype = math.prod(shape), x.dtype
        rows = x.numel() // length
        scale = constant(np.ones(length, dtype)) if weight is None else flat(weight)
        shift = constant(np.zeros(length, dtype)) if bias is None else flat(bias)
        settings, moments = np.empty(2 * length + 1, dtype), np.empty(3 * rows, dtype)
        call(concatenate, settings, scale, shift, (eps,))
        out = TensorData.empty(x.shape, dtype)
        row_norm().run(out._storage, (flat(x), settings, moments), (length, rows, int(centered)), rows)
        ctx.save_for_backward(x, weight, moments, shape, centered)
        return x._like(out)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, moments, shape, centered = ctx.saved_values
        length, dtype = math.prod(shape), x.dtype
        rows, chunks = x.numel() // length, min(GRADIENT_CHUNKS, x.numel() // length)
        scale = constant(np.ones(length, dtype)) if weight is None else flat(weight)
        workspace = np.empty(length + len(moments) + 2 * length * chunks, dtype)
        call(concatenate, workspace, scale, moments, constant(np.zeros(2 * length * chunks, dtype)))
        out = TensorData.empty(x.shape, dtype)
        row_gradient().run(out._storage, (flat(grad_output), flat(x), workspace), (length, rows, int(centered), chunks), chunks)
        grads = np.empty((2, length), dtype)
        call(sum_parts, grads, workspace[length + 3 * rows :].reshape(chunks, 2, length))
        needed = ctx.needs_input_grad
        return (
            x._like(out) if needed[0] else None,
            x._like(TensorData(grads[0], shape)) if needed[1] else None,
            x._like(TensorData(grads[1], shape)) if needed[2] else None,
            *(None, None, None),
        )

    @staticmethod
    def composed(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], eps: float, centered: bool) -> Tensor:
        """The same computation composed of differentiable tensor operations."""
        dims = tuple(range(-len(shape), 0))
        x = x - Tensor.mean(x, dims) if centered else x
        return scale_and_shift(x / (Tensor.mean(x * x, dims) + eps).sqrt(), weight, bias, shape)


# Functions


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize every channel by the statistics of the batch (in training) or by the running statistics.

    Args:
        input: Shape (N, C) or (N, C, …).
        running_mean: Running mean of each channel, shape (C,), updated in place during training; or None.
        running_var: Running unbiased variance (divided by n - 1), shape (C,), updated in place during training; or None.
        weight: Scale of each channel, shape (C,).
        bias: Shift of each channel, shape (C,).
        training: Whether to use the batch's mean and biased variance (divided by n); always so without running statistics.
        momentum: Weight of the batch in the update of the running statistics, from 0 to 1.
        eps: Added to the variance for numerical stability.

    Returns:
        Shape of input.

    Raises:
        TypeError: If an argument is not a floating-point Tensor.
        ValueError: If a shape does not match, only one of the running statistics is given, or a batch that needs its own statistics has
            one element per channel.

    Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2.
    """
    check_input("batch_norm", input, 2, "(N, C) or (N, C, …)")
    samples, channels = input.shape[:2]
    for name, x in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        check_parameter("batch_norm", name, x, (channels,), input)
    if (running_mean is None) != (running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise ValueError(f"batch_norm expected running_mean and running_var, or neither, got no {missing}; pass both, or None for both")
    batch = training or running_mean is None
    if batch and input.numel() <= channels:
        raise ValueError(
            f"batch_norm expected more than one number for each channel in training, got input of shape {tuple(input.shape)}; "
            "take larger batches, or call eval()"
        )
    planes, fused = Planes((samples, channels), 0, math.prod(input.shape[2:])), can_fuse(input, weight, bias)
    running_stats = None if running_mean is None or running_var is None else (running_mean, running_var)
    if not batch and running_stats:
        moments = np.empty(2 * channels)
        call(concatenate, moments, *[x._tensor.array() for x in running_stats])
    else:
        moments = np.empty(2 * channels) if fused else planes.moments(input)  # the kernel fills the empty array
    y = (PlaneNorm.apply if fused else PlaneNorm.composed)(input, weight, bias, planes, moments, eps, batch)
    if batch and running_stats:
        _update_running_stats(running_stats, moments, momentum, planes.count)
    return y


def _update_running_stats(running_stats: tuple[Tensor, Tensor], moments: np.ndarray, momentum: float, count: int) -> None:
    """Move a running mean and variance towards the means and variances of a batch, each computed from `count` elements."""
    factors = 1.0, count / (count - 1)  # the running variance is unbiased
    for running, values, factor in zip(running_stats, moments.reshape(2, -1), factors, strict=True):
        if is_writable(running):
            call(update_average, running._tensor.array(), values, momentum, factor)
            running._tensor.bump_version()
        else:
            average = running.to_numpy().astype(float)
            update_average(average, values, momentum, factor)
            running[...] = average


def is_writable(x: Tensor) -> bool:
    """Whether NumPy can write into a tensor's elements: they are on the host, and not in half precision."""
    return not x.backend.cuda and not is_half(x.dtype)


def update_average(average: np.ndarray, values: np.ndarray, momentum: float, factor: float) -> None:
    """Move running averages in place towards factor · values, of which there is one or one per sample."""
    average[...] = (1 - momentum) * average + momentum * (values.reshape(-1, len(average)).mean(0) * factor)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of each sample by its own mean and standard deviation, or by the running statistics.

    Args:
        input: Shape (N, C, …) with more than one element per channel.
        running_mean: See `batch_norm` for the arguments that are not described here, the result and the errors.
        use_input_stats: Whether to use the mean and biased variance of each sample, and to update the running statistics, if there are
            any; otherwise these are used, and a ValueError is raised if they are missing.

    Source: Ulyanov et al. 2016, arXiv:1607.08022, eq. 4.
    """
    if (running_mean is None) != (running_var is None) or (running_mean is None and not use_input_stats):
        raise ValueError("instance_norm expected running_mean and running_var, or neither and use_input_stats; pass both")
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if check_float_tensor("instance_norm", input, "input").dims < 3 or math.prod(input.shape[2:]) < 2:
        expected = "(N, C, …) with more than one element per channel"
        raise ValueError(f"instance_norm expected input of shape {expected}, got {tuple(input.shape)}")
    samples, channels = input.shape[:2]
    for name, x in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        check_parameter("instance_norm", name, x, (channels,), input)
    planes, fused = Planes((samples, channels, 1), 2, math.prod(input.shape[2:])), can_fuse(input, weight, bias)
    moments = planes.moments(input) if running_mean is not None and not fused else np.empty(2 * planes.num_means)
    y = (PlaneNorm.apply if fused else PlaneNorm.composed)(input, weight, bias, planes, moments, eps, True)
    if running_mean is not None and running_var is not None and samples:
        _update_running_stats((running_mean, running_var), moments, momentum, planes.count)
    return y


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalize each group of channels of each sample by its mean and standard deviation.

    Args:
        input: Shape (N, C) or (N, C, …).
        num_groups: Number of groups of consecutive channels; must divide C.
        weight: Scale of each channel, shape (C,).
        bias: Shift of each channel, shape (C,).
        eps: Added to the biased variance for numerical stability.

    Returns:
        Shape of input.

    Raises:
        TypeError: If an argument is not a floating-point Tensor.
        ValueError: If a shape does not match, or num_groups does not divide C.

    Source: Wu and He 2018, arXiv:1803.08494, eq. 1 to 3 and 7.
    """
    check_input("group_norm", input, 2, "(N, C) or (N, C, …)")
    samples, channels = input.shape[:2]
    check_groups("group_norm", num_groups, channels)
    for name, x in (("weight", weight), ("bias", bias)):
        check_parameter("group_norm", name, x, (channels,), input)
    planes = Planes((samples, num_groups, channels // num_groups), 2, math.prod(input.shape[2:]))
    run = PlaneNorm.apply if can_fuse(input, weight, bias) else PlaneNorm.composed
    return run(input, weight, bias, planes, np.empty(2 * planes.num_means), eps, True)


def layer_norm(
    input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize over the last dimensions by the mean and standard deviation.

    Args:
        input: Shape (…, *normalized_shape).
        normalized_shape: Sizes of the last dimensions; an int for only the last one.
        weight: Scale of each element, shape normalized_shape.
        bias: Shift of each element, shape normalized_shape.
        eps: Added to the biased variance for numerical stability.

    Returns:
        Shape of input.

    Raises:
        TypeError: If an argument is not a floating-point Tensor.
        ValueError: If a shape does not match.

    Source: Ba et al. 2016, arXiv:1607.06450, eq. 3 and 4.
    """
    shape = _check_normalized_shape("layer_norm", input, normalized_shape, weight, bias)
    run = RowNorm.apply if can_fuse(input, weight, bias) else RowNorm.composed
    return run(input, weight, bias, shape, eps, True)


def rms_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide by the root mean square over the last dimensions.

    Args:
        input: Shape (…, *normalized_shape).
        normalized_shape: See `layer_norm` for this, weight, the result and the errors.
        eps: Added to the mean square for numerical stability; the machine epsilon of input's dtype by default.

    Source: Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4.
    """
    shape = _check_normalized_shape("rms_norm", input, normalized_shape, weight, None)
    eps = finfo(input.dtype).eps if eps is None else eps
    run = RowNorm.apply if can_fuse(input, weight) else RowNorm.composed
    return run(input, weight, None, shape, eps, False)


# Argument checks


def check_input(op: str, input: Any, dims: int, shape: str) -> None:
    """Check that the input is a floating-point tensor with enough dimensions."""
    check_float_tensor(op, input, "input")
    if input.dims < dims or not input.shape[dims - 1]:
        raise ValueError(f"{op} expected input of shape {shape}, got {tuple(input.shape)}")


def check_parameter(op: str, name: str, x: Any, shape: tuple[int, ...], input: Tensor) -> None:
    """Check that a weight, bias or statistic is None, or of the expected shape and the dtype of input; float32 for half precision."""
    if x is None:
        return
    dtype = check_float_tensor(op, x, name)._tensor.dtype
    mixed = (dtype is float32 and is_half(input._tensor.dtype)) or op == "rms_norm"  # which PyTorch composes of functions that promote
    if dtype is not input._tensor.dtype and not mixed:
        expected = f"{op} expected {name} of {input.dtype.name}, like the input"
        raise DtypeError(f"{expected}, got {dtype.name}; convert the input: input.to({dtype.name})")
    if x.shape != shape:
        raise ValueError(f"{op} expected {name} of shape {shape} for input of shape {tuple(input.shape)}, got {tuple(x.shape)}")


def check_groups(op: str, num_groups: Any, channels: int) -> None:
    """Check that num_groups divides the number of channels."""
    (groups,) = positive_ints((num_groups,), op, "num_groups")
    if channels % groups:
        raise ValueError(f"{op} expected num_groups that divides the number of channels, {channels}, got {groups}")


def _check_normalized_shape(op: str, input: Any, normalized_shape: int | Sequence[int], weight: Any, bias: Any) -> tuple[int, ...]:
    """Check input, weight and bias against normalized_shape and return it as a tuple."""
    shape = normalized_sizes(op, normalized_shape)
    check_input(op, input, 0, "")
    if input.shape[-len(shape) :] != shape:
        expected = f"(…, {', '.join(map(str, shape))})"
        raise ValueError(f"{op} expected input of shape {expected} for normalized_shape {shape}, got {tuple(input.shape)}")
    for name, x in (("weight", weight), ("bias", bias)):
        check_parameter(op, name, x, shape, input)
    return shape


def normalized_sizes(op: str, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return normalized_shape as a tuple of sizes."""
    sizes = tuple(normalized_shape) if isinstance(normalized_shape, Sequence) else (normalized_shape,)
    if not sizes:
        raise ValueError(f"{op} expected normalized_shape as the sizes of at least one dimension, got {normalized_shape!r}")
    return positive_ints(sizes, op, "sizes")
