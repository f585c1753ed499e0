"""Stage 6 - Batch, group, layer and RMS normalization, as functions and as layers.

Values are normalized, then multiplied by a weight and shifted by a bias, if there are any. In a layer the weight is initialized to ones and
the bias to zeros. The compiled backend runs the kernels of `kernels.norm`; other backends compose the same formulas of tensor operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch.core.creation import ones
from minitorch.core.dtypes import is_float, is_half
from minitorch.core.number_formats import finfo
from minitorch.core.recording import call, concatenate, constant
from minitorch.kernels.loop import Loop, accepts, flat
from minitorch.kernels.norm import column_gradient, column_norm, plane_gradient, plane_norm, row_gradient, row_norm
from minitorch.nn.module import Module, Parameter, value_of
from minitorch.ops.checks import positive_ints
from minitorch.tensor import Tensor, tensor, zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.torch.placement import placement

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
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        planes: Planes,
        moments: np.ndarray,
        eps: float,
        own_stats: bool,
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
    """Return x · weight + bias, with weight and bias reshaped to broadcast."""
    x = x if weight is None else x * weight.reshape(*shape)
    return x if bias is None else x + bias.reshape(*shape)


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
            f"batch_norm expected more than one number for each channel in training, got input of shape {input.shape}; "
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
        factors = 1.0, planes.count / (planes.count - 1)  # the running variance is unbiased
        for running, values, factor in zip(running_stats, moments.reshape(2, channels), factors, strict=True):
            if is_writable(running):
                call(update_average, running._tensor.array(), values, momentum, factor)
                running._tensor.bump_version()
            else:
                running[...] = (1 - momentum) * running.to_numpy() + momentum * (values * factor)
    return y


def is_writable(x: Tensor) -> bool:
    """Whether NumPy can write into a tensor's elements: they are on the host, and not in half precision."""
    return not x.backend.cuda and not is_half(x.dtype)


def update_average(average: np.ndarray, values: np.ndarray, momentum: float, factor: float) -> None:
    """Move a running average towards factor · values, in place."""
    average[...] = (1 - momentum) * average + momentum * (values * factor)


def count_up(number: np.ndarray) -> None:
    """Add 1 in place."""
    number += 1


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
    _check_groups("group_norm", num_groups, channels)
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
        normalized_shape: Sizes of the last dimensions; an int for only the last one.
        weight: Scale of each element, shape normalized_shape.
        eps: Added to the mean square for numerical stability; the machine epsilon of input's dtype by default.

    Returns:
        Shape of input.

    Raises:
        TypeError: If an argument is not a floating-point Tensor.
        ValueError: If a shape does not match.

    Source: Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4.
    """
    shape = _check_normalized_shape("rms_norm", input, normalized_shape, weight, None)
    eps = finfo(input.dtype).eps if eps is None else eps
    run = RowNorm.apply if can_fuse(input, weight) else RowNorm.composed
    return run(input, weight, None, shape, eps, False)


# Argument checks


def check_input(op: str, input: Any, dims: int, shape: str) -> None:
    """Check that the input is a floating-point tensor with enough dimensions."""
    if not isinstance(input, Tensor) or not is_float(input.dtype):
        got = input.dtype.name if isinstance(input, Tensor) else type(input).__name__
        raise TypeError(f"{op} expected a Tensor of floats as input, got {got}; make one with tensor(...)")
    if input.dims < dims or not input.shape[dims - 1]:
        raise ValueError(f"{op} expected input of shape {shape}, got {input.shape}")


def check_parameter(op: str, name: str, x: Any, shape: tuple[int, ...], input: Tensor) -> None:
    """Check that a weight, bias or statistic is None or a floating-point tensor of the expected shape."""
    if x is None:
        return
    if not isinstance(x, Tensor) or not is_float(x.dtype):
        got = x.dtype.name if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{op} expected a Tensor of floats as {name}, got {got}; make one with tensor(...)")
    if x.shape != shape:
        raise ValueError(f"{op} expected {name} of shape {shape} for input of shape {input.shape}, got {x.shape}")


def _check_groups(op: str, num_groups: Any, channels: int) -> None:
    """Check that num_groups divides the number of channels."""
    (groups,) = positive_ints((num_groups,), op, "num_groups")
    if channels % groups:
        raise ValueError(f"{op} expected num_groups that divides the number of channels, {channels}, got {groups}")


def _check_normalized_shape(op: str, input: Any, normalized_shape: int | Sequence[int], weight: Any, bias: Any) -> tuple[int, ...]:
    """Check input, weight and bias against normalized_shape and return it as a tuple."""
    shape = _shape_of(op, normalized_shape)
    check_input(op, input, 0, "")
    if input.shape[-len(shape) :] != shape:
        expected = f"(…, {', '.join(map(str, shape))})"
        raise ValueError(f"{op} expected input of shape {expected} for normalized_shape {shape}, got {input.shape}")
    for name, x in (("weight", weight), ("bias", bias)):
        check_parameter(op, name, x, shape, input)
    return shape


def _shape_of(op: str, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return normalized_shape as a tuple of sizes."""
    sizes = tuple(normalized_shape) if isinstance(normalized_shape, Sequence) else (normalized_shape,)
    if not sizes:
        raise ValueError(f"{op} expected normalized_shape as the sizes of at least one dimension, got {normalized_shape!r}")
    return positive_ints(sizes, op, "sizes")


# Layers


class _BatchNorm(Module):
    """Base class of BatchNorm1d and BatchNorm2d."""

    dims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = positive_ints((num_features,), type(self).__name__, "num_features")
        self.num_features, self.eps, self.momentum = shape[0], eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = Parameter(ones(shape, **placement(device, dtype))) if affine else None
        self.bias = Parameter(zeros(shape, **placement(device, dtype))) if affine else None
        self.register_buffer("running_mean", zeros(shape, **placement(device, dtype)) if track_running_stats else None)
        self.register_buffer("running_var", ones(shape, **placement(device, dtype)) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(np.array(0), placement(device)["backend"]) if track_running_stats else None)

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        tracked = self.num_batches_tracked is not None
        settings = f"eps={self.eps}, momentum={self.momentum}, affine={self.weight is not None}, track_running_stats={tracked}"
        return f"{self.num_features}, {settings}"

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """A multiplication and an addition per element, as in evaluation."""
        return 2 * output.numel()

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (N, C, …)."""
        return self._normalize(input, self.running_mean, self.running_var, self.num_batches_tracked)

    def _normalize(self, input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, batches: Tensor | None) -> Tensor:
        """Return the normalized input; in training the buffers are updated in place."""
        name = type(self).__name__
        sizes = [f"(N, {self.num_features}{', L' * (dims == 3)}{', H, W' * (dims == 4)})" for dims in self.dims]
        check_input(name, input, self.dims[0], " or ".join(sizes))
        if input.dims not in self.dims or input.shape[1] != self.num_features:
            raise ValueError(f"{name} expected input of shape {' or '.join(sizes)}, got {input.shape}")
        momentum = self.momentum
        if momentum is None and batches is not None:
            momentum = 1 / (int(batches.item()) + 1)
        weight, bias = value_of(self.weight), value_of(self.bias)
        out = batch_norm(input, running_mean, running_var, weight, bias, self.training, momentum or 0.0, self.eps)
        if self.training and batches is not None:
            if is_writable(batches):
                call(count_up, batches._tensor.array())
                batches._tensor.bump_version()
            else:
                batches[...] = int(batches.item()) + 1
        return out


class BatchNorm1d(_BatchNorm):
    """Batch normalization of inputs of shape (N, C) or (N, C, L); see `batch_norm`.

    Args:
        num_features: Number of channels C.
        eps: Added to the variance for numerical stability.
        momentum: Weight of the batch in the update of the running statistics; None for the cumulative average over all batches.
        affine: Whether to learn a weight (initially ones) and a bias (initially zeros).
        track_running_stats: Whether to keep a running mean (initially zeros) and variance (initially ones) for evaluation. Otherwise
            evaluation uses the statistics of the batch, too.

    Raises:
        ValueError: If num_features is less than 1.

    Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2.
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images of shape (N, C, H, W); for the arguments see `BatchNorm1d`."""

    dims = (4,)


class _SampleNorm(Module):
    """Base class of GroupNorm, LayerNorm and RMSNorm."""

    def __init__(self, shape: tuple[int, ...], eps: float | None, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        super().__init__()
        self.eps = eps
        self.weight = Parameter(ones(shape, **placement(device, dtype))) if weight else None
        self.bias = Parameter(zeros(shape, **placement(device, dtype))) if bias else None

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Per element: two additions into sums, a subtraction, a square and a multiplication, and another multiplication with a weight."""
        return (5 + (self.weight is not None)) * output.numel()

    def _weights(self) -> tuple[Tensor | None, Tensor | None]:
        """Return the values of weight and bias, or None."""
        return value_of(self.weight), value_of(self.bias)


class GroupNorm(_SampleNorm):
    """Group normalization; see `group_norm`.

    Args:
        num_groups: Number of groups; must divide num_channels.
        num_channels: Number of channels C.
        eps: Added to the variance for numerical stability.
        affine: Whether to learn a weight (initially ones) and a bias (initially zeros).

    Raises:
        ValueError: If an argument is less than 1, or num_groups does not divide num_channels.

    Source: Wu and He 2018, arXiv:1803.08494.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        shape = positive_ints((num_channels,), "GroupNorm", "num_channels")
        _check_groups("GroupNorm", num_groups, num_channels)
        super().__init__(shape, eps, affine, affine, device, dtype)
        self.num_groups, self.num_channels, self.affine = num_groups, num_channels, affine

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.weight is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (N, C, …)."""
        return group_norm(input, self.num_groups, *self._weights(), self.eps or 0.0)


class LayerNorm(_SampleNorm):
    """Layer normalization; see `layer_norm`.

    Args:
        normalized_shape: Sizes of the last dimensions; an int for only the last one.
        eps: Added to the variance for numerical stability.
        elementwise_affine: Whether to learn a weight (initially ones).
        bias: Whether to learn a bias (initially zeros) along with the weight.

    Raises:
        ValueError: If a size is less than 1.

    Source: Ba et al. 2016, arXiv:1607.06450.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self.normalized_shape = _shape_of("LayerNorm", normalized_shape)
        super().__init__(self.normalized_shape, eps, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.elementwise_affine = elementwise_affine

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}, bias={self.bias is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (…, *normalized_shape)."""
        return layer_norm(input, self.normalized_shape, *self._weights(), self.eps or 0.0)


class RMSNorm(_SampleNorm):
    """RMS normalization; see `rms_norm`.

    Args:
        normalized_shape: Sizes of the last dimensions; an int for only the last one.
        eps: Added to the mean square for numerical stability; None for the machine epsilon of the input's dtype.
        elementwise_affine: Whether to learn a weight (initially ones).

    Raises:
        ValueError: If a size is less than 1.

    Source: Zhang and Sennrich 2019, arXiv:1910.07467.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self.normalized_shape = _shape_of("RMSNorm", normalized_shape)
        super().__init__(self.normalized_shape, eps, elementwise_affine, False, device, dtype)
        self.elementwise_affine = elementwise_affine

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (…, *normalized_shape)."""
        return rms_norm(input, self.normalized_shape, self._weights()[0], self.eps)
