"""Stage 5 - Normalization of each sample by itself: groups of its channels, or its last dimensions, brought to mean 0 and variance 1.

What is normalized is then multiplied by a weight and shifted by a bias, if there are any. A layer's begin as ones and as zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitorch.core.creation import ones
from minitorch.core.dtypes import is_float
from minitorch.core.number_formats import finfo
from minitorch.kernels.losses import fusible
from minitorch.kernels.norm import column_gradient, column_norm, plane_gradient, plane_norm, row_gradient, row_norm
from minitorch.kernels.pool import Loop, flat
from minitorch.nn.module import Module, Parameter
from minitorch.nn.sizes import at_least_1
from minitorch.tensor import Tensor, tensor, zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend

CHUNKS = 8
"""Into how many shares rows are dealt when all of them add to one gradient: always as many, so that sums are the same on any machine."""

SHORT = 16
"""Planes of fewer numbers are gone through side by side, as columns."""

SPAN = 1 << 8
"""Columns that are gone through at once."""


class Planes(NamedTuple):
    """Which planes share their statistics.

    Attributes:
        shape: The planes in order, numbered by several dimensions; all but the first number the channels.
        dim: The one along which they share, the first or the last.
        length: Of a plane.
    """

    shape: tuple[int, ...]
    dim: int
    length: int

    @property
    def count(self) -> int:
        """How many numbers share their statistics."""
        return self.shape[self.dim] * self.length

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return math.prod(self.shape[1:])

    @property
    def units(self) -> int:
        """How many means there are."""
        return math.prod(self.shape) // self.shape[self.dim]

    @property
    def short(self) -> bool:
        """Whether planes are gone through as columns."""
        return self.dim == 0 and self.length < SHORT

    def run(self, planes: Loop, columns: Loop, out: np.ndarray, operands: tuple[Any, ...], own: bool) -> None:
        """Have one of two loops compute."""
        together, channels = self.shape[self.dim], self.channels
        step, apart = (channels, 1) if self.dim == 0 else (1, together)
        sizes = together, step, apart, channels, self.length, self.units, int(own)
        if self.short:
            span = max(1, SPAN // self.length)
            columns.run(out, operands, (*sizes, span), -(-channels // span))
        else:
            planes.run(out, operands, sizes, self.units)

    def moments(self, x: Tensor) -> np.ndarray:
        """All means, then all variances (divided by n), of operations on tensors."""
        grouped, dims = x.detach().reshape(*self.shape, self.length), (self.dim, -1)
        centred = grouped - grouped.mean(dims)
        found = grouped.mean(dims), (centred * centred).mean(dims)
        return np.concatenate([numbers.to_numpy().astype(float).reshape(-1) for numbers in found])


def fits_loops(*tensors: Tensor | None) -> bool:
    """Whether the loops can compute with tensors: the first has numbers, and all of them have one dtype."""
    first = tensors[0]
    return first is not None and fusible(first) and first.size > 0 and all(x is None or x.dtype == first.dtype for x in tensors)


class PlaneNorm(Function):
    """(x - mean) / √(var + eps) · weight + bias, of planes.

    moments holds all means, then all variances, in float64; if they are the planes' own, they are put there.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, planes: Planes, moments: np.ndarray, eps: float, own: bool
    ) -> Tensor:
        out = TensorData.empty(x.shape, x.dtype)
        numbers = np.concatenate([_of_channels(weight, planes, 1.0), _of_channels(bias, planes, 0.0), [eps]])
        planes.run(plane_norm(), column_norm(), out._storage, (flat(x), numbers, moments), own)
        ctx.save_for_backward(x, weight, planes, moments, eps, own)
        return x._like(out)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, planes, moments, eps, own = ctx.saved_values
        needed, units, channels = ctx.needs_input_grad, planes.units, planes.channels
        out = TensorData.empty(x.shape if needed[0] else (0,), x.dtype)
        sums = np.zeros(2 * (channels if planes.short else math.prod(planes.shape)))
        factors = 1 / np.sqrt(moments[units:] + eps)
        numbers = np.concatenate([_of_channels(weight, planes, 1.0), moments[:units], factors, sums])
        planes.run(plane_gradient(), column_gradient(), out._storage, (flat(grad_output), flat(x), numbers), own)
        by_bias, by_weight = numbers[-sums.size :].reshape(2, -1, channels).sum(1).astype(x.dtype)
        return (
            x._like(out) if needed[0] else None,
            x._like(TensorData(by_weight, (channels,))) if needed[1] else None,
            x._like(TensorData(by_bias, (channels,))) if needed[2] else None,
            *(None,) * 4,
        )

    @staticmethod
    def composed(
        x: Tensor, weight: Tensor | None, bias: Tensor | None, planes: Planes, moments: np.ndarray, eps: float, own: bool
    ) -> Tensor:
        """The same of operations on tensors."""
        grouped = x.reshape(*planes.shape, planes.length)
        if own:
            centred = grouped - grouped.mean((planes.dim, -1))
            spread = (centred * centred).mean((planes.dim, -1))
        else:
            middle, spread = (tensor(numbers, x.backend, dtype=x.dtype) for numbers in moments.reshape(2, planes.channels, 1))
            centred = grouped - middle
        return scaled(centred / (spread + eps).sqrt(), weight, bias, (*planes.shape[1:], 1)).reshape(*x.shape)


def scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """x · weight + bias, which are given a shape that broadcasts."""
    x = x if weight is None else x * weight.reshape(*shape)
    return x if bias is None else x + bias.reshape(*shape)


def _of_channels(x: Tensor | None, planes: Planes, default: float) -> np.ndarray:
    """What each channel has."""
    return np.full(planes.channels, default) if x is None else flat(x)


class RowNorm(Function):
    """Rows less their means (unless not centred), divided by the root of their mean square, · weight + bias; each of these is a row."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], eps: float, centred: bool
    ) -> Tensor:
        length, dtype = math.prod(shape), x.dtype
        rows = x.size // length
        factors = np.ones(length, dtype) if weight is None else flat(weight)
        shifts = np.zeros(length, dtype) if bias is None else flat(bias)
        scale, moments = np.concatenate([factors, shifts, np.array([eps], dtype)]), np.empty(3 * rows, dtype)
        out = TensorData.empty(x.shape, dtype)
        row_norm().run(out._storage, (flat(x), scale, moments), (length, rows, int(centred)), rows)
        ctx.save_for_backward(x, weight, moments, shape, centred)
        return x._like(out)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, moments, shape, centred = ctx.saved_values
        length, dtype = math.prod(shape), x.dtype
        rows, shares = x.size // length, min(CHUNKS, x.size // length)
        factors = np.ones(length, dtype) if weight is None else flat(weight)
        numbers = np.concatenate([factors, moments, np.zeros(2 * length * shares, dtype)])
        out = TensorData.empty(x.shape, dtype)
        row_gradient().run(out._storage, (flat(grad_output), flat(x), numbers), (length, rows, int(centred), shares), shares)
        by_weight, by_bias = numbers[length + 3 * rows :].reshape(shares, 2, length).sum(0)
        needed = ctx.needs_input_grad
        return (
            x._like(out) if needed[0] else None,
            x._like(TensorData(by_weight, shape)) if needed[1] else None,
            x._like(TensorData(by_bias, shape)) if needed[2] else None,
            *(None, None, None),
        )

    @staticmethod
    def composed(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], eps: float, centred: bool) -> Tensor:
        """The same of operations on tensors."""
        dims = tuple(range(-len(shape), 0))
        x = x - x.mean(dims) if centred else x
        return scaled(x / ((x * x).mean(dims) + eps).sqrt(), weight, bias, shape)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Groups of channels of each sample, less the mean of all their numbers, divided by the standard deviation of these.

    Args:
        input: Shape (N, C) or (N, C, …).
        num_groups: In how many groups of equally many channels one after the other; must divide C.
        weight: Factor of each channel, shape (C,).
        bias: What is added to each channel, shape (C,).
        eps: Added to the variance (divided by n), so that nothing is divided by 0.

    Returns:
        Shape of input.

    Raises:
        TypeError: If one is no Tensor of floats.
        ValueError: If a shape does not fit, or num_groups does not divide C.

    Source: Wu and He 2018, arXiv:1803.08494, eq. 1 to 3 and 7.
    """
    check_input("group_norm", input, 2, "(N, C) or (N, C, …)")
    samples, channels = input.shape[:2]
    _check_groups("group_norm", num_groups, channels)
    for name, x in (("weight", weight), ("bias", bias)):
        check_fits("group_norm", name, x, (channels,), input)
    planes = Planes((samples, num_groups, channels // num_groups), 2, math.prod(input.shape[2:]))
    run = PlaneNorm.apply if fits_loops(input, weight, bias) else PlaneNorm.composed
    return run(input, weight, bias, planes, np.empty(2 * planes.units), eps, True)


def layer_norm(
    input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """What lies along the last dimensions, less its mean, divided by its standard deviation.

    Args:
        input: Shape (…, *normalized_shape).
        normalized_shape: The sizes of the last dimensions; a number for the last one.
        weight: Factor of each element, shape normalized_shape.
        bias: What is added to each element, shape normalized_shape.
        eps: Added to the variance (divided by n), so that nothing is divided by 0.

    Returns:
        Shape of input.

    Raises:
        TypeError: If one is no Tensor of floats.
        ValueError: If a shape does not fit.

    Source: Ba et al. 2016, arXiv:1607.06450, eq. 3 and 4.
    """
    shape = _check_last("layer_norm", input, normalized_shape, weight, bias)
    run = RowNorm.apply if fits_loops(input, weight, bias) else RowNorm.composed
    return run(input, weight, bias, shape, eps, True)


def rms_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """What lies along the last dimensions, divided by the root of its mean square.

    Args:
        input: Shape (…, *normalized_shape).
        normalized_shape: The sizes of the last dimensions; a number for the last one.
        weight: Factor of each element, shape normalized_shape.
        eps: Added to the mean square, so that nothing is divided by 0; left out: the distance of 1 to the next number in input's dtype.

    Returns:
        Shape of input.

    Raises:
        TypeError: If one is no Tensor of floats.
        ValueError: If a shape does not fit.

    Source: Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4.
    """
    shape = _check_last("rms_norm", input, normalized_shape, weight, None)
    eps = finfo(input.dtype).eps if eps is None else eps
    run = RowNorm.apply if fits_loops(input, weight) else RowNorm.composed
    return run(input, weight, None, shape, eps, False)


# What they share


def check_input(op: str, input: Any, dims: int, shape: str) -> None:
    """That the input is a tensor of floats with enough dimensions."""
    if not isinstance(input, Tensor) or not is_float(input.dtype):
        got = input.dtype.name if isinstance(input, Tensor) else type(input).__name__
        raise TypeError(f"{op} expected a Tensor of floats as input, got {got}; make one with tensor(...)")
    if input.dims < dims or not input.shape[dims - 1]:
        raise ValueError(f"{op} expected input of shape {shape}, got {input.shape}")


def check_fits(op: str, name: str, x: Any, shape: tuple[int, ...], input: Tensor) -> None:
    """That what comes with the input is None, or a tensor of floats of the right shape."""
    if x is None:
        return
    if not isinstance(x, Tensor) or not is_float(x.dtype):
        got = x.dtype.name if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{op} expected a Tensor of floats as {name}, got {got}; make one with tensor(...)")
    if x.shape != shape:
        raise ValueError(f"{op} expected {name} of shape {shape} for input of shape {input.shape}, got {x.shape}")


def _check_groups(op: str, num_groups: Any, channels: int) -> None:
    """That channels can be put into so many groups."""
    (groups,) = at_least_1((num_groups,), op, "num_groups")
    if channels % groups:
        raise ValueError(f"{op} expected num_groups that divides the number of channels, {channels}, got {groups}")


def _check_last(op: str, input: Any, normalized_shape: int | Sequence[int], weight: Any, bias: Any) -> tuple[int, ...]:
    """The last sizes of the input, if they are what was said, and weight and bias fit."""
    shape = _shape_of(op, normalized_shape)
    check_input(op, input, 0, "")
    if input.shape[-len(shape) :] != shape:
        expected = f"(…, {', '.join(map(str, shape))})"
        raise ValueError(f"{op} expected input of shape {expected} for normalized_shape {shape}, got {input.shape}")
    for name, x in (("weight", weight), ("bias", bias)):
        check_fits(op, name, x, shape, input)
    return shape


def _shape_of(op: str, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    """The sizes of the last dimensions."""
    sizes = tuple(normalized_shape) if isinstance(normalized_shape, Sequence) else (normalized_shape,)
    if not sizes:
        raise ValueError(f"{op} expected normalized_shape as the sizes of at least one dimension, got {normalized_shape!r}")
    return at_least_1(sizes, op, "sizes")


# The layers


class _OneSample(Module):
    """What GroupNorm, LayerNorm and RMSNorm share."""

    def __init__(self, shape: tuple[int, ...], eps: float | None, weight: bool, bias: bool, backend: TensorBackend, dtype: Any) -> None:
        super().__init__()
        self.eps = eps
        self.weight = Parameter(ones(shape, backend, dtype=dtype)) if weight else None
        self.bias = Parameter(zeros(shape, backend, dtype=dtype)) if bias else None

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """For each element its part of the two sums, a difference, a square and a factor; another one of the weight."""
        return (5 + (self.weight is not None)) * output.size

    def _weights(self) -> tuple[Tensor | None, Tensor | None]:
        """Weight and bias."""
        return self.weight and self.weight.value, self.bias and self.bias.value


class GroupNorm(_OneSample):
    """`group_norm`, over groups of channels.

    Args:
        num_groups: In how many groups; must divide num_channels.
        num_channels: C.
        eps: Added to the variance, so that nothing is divided by 0.
        affine: Whether there are a weight, which begins as ones, and a bias, which begins as zeros.

    Raises:
        ValueError: If a number is less than 1, or num_groups does not divide num_channels.

    Source: Wu and He 2018, arXiv:1803.08494.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        shape = at_least_1((num_channels,), "GroupNorm", "num_channels")
        _check_groups("GroupNorm", num_groups, num_channels)
        super().__init__(shape, eps, affine, affine, backend, dtype)
        self.num_groups, self.num_channels = num_groups, num_channels

    def extra_repr(self) -> str:
        """Its settings."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.weight is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Of shape (N, C, …), which stays."""
        return group_norm(input, self.num_groups, *self._weights(), self.eps or 0.0)


class LayerNorm(_OneSample):
    """`layer_norm`, over the last dimensions.

    Args:
        normalized_shape: The sizes of the last dimensions; a number for the last one.
        eps: Added to the variance, so that nothing is divided by 0.
        elementwise_affine: Whether there is a weight, which begins as ones.
        bias: Whether there is a bias beside the weight; it begins as zeros.

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
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        self.normalized_shape = _shape_of("LayerNorm", normalized_shape)
        super().__init__(self.normalized_shape, eps, elementwise_affine, elementwise_affine and bias, backend, dtype)

    def extra_repr(self) -> str:
        """Its settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}, bias={self.bias is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Of shape (…, *normalized_shape), which stays."""
        return layer_norm(input, self.normalized_shape, *self._weights(), self.eps or 0.0)


class RMSNorm(_OneSample):
    """`rms_norm`, over the last dimensions.

    Args:
        normalized_shape: The sizes of the last dimensions; a number for the last one.
        eps: Added to the mean square, so that nothing is divided by 0; None: the distance of 1 to the next number in the input's dtype.
        elementwise_affine: Whether there is a weight, which begins as ones.

    Raises:
        ValueError: If a size is less than 1.

    Source: Zhang and Sennrich 2019, arXiv:1910.07467.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        self.normalized_shape = _shape_of("RMSNorm", normalized_shape)
        super().__init__(self.normalized_shape, eps, elementwise_affine, False, backend, dtype)

    def extra_repr(self) -> str:
        """Its settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Of shape (…, *normalized_shape), which stays."""
        return rms_norm(input, self.normalized_shape, self._weights()[0], self.eps)


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
    """Every channel less its mean, divided by its standard deviation: in training those of the batch, else the running ones.

    Args:
        input: Shape (N, C) or (N, C, …).
        running_mean: Mean of each channel in earlier batches, shape (C,); training writes into it. None for none.
        running_var: Their variance (of a sample: divided by n - 1), shape (C,); as running_mean.
        weight: Factor of each channel, shape (C,).
        bias: What is added to each channel, shape (C,).
        training: Whether the batch's own mean and variance (divided by n) count; without running ones they do in any case.
        momentum: How far the running ones move towards the batch's, from 0 to 1.
        eps: Added to the variance, so that nothing is divided by 0.

    Returns:
        Shape of input.

    Raises:
        TypeError: If one is no Tensor of floats.
        ValueError: If a shape does not fit, one of the running ones is missing, or the batch's own count and have one number a channel.

    Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2.
    """
    check_input("batch_norm", input, 2, "(N, C) or (N, C, …)")
    samples, channels = input.shape[:2]
    for name, x in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        check_fits("batch_norm", name, x, (channels,), input)
    if (running_mean is None) != (running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise ValueError(f"batch_norm expected running_mean and running_var, or neither, got no {missing}; pass both, or None for both")
    batch = training or running_mean is None
    if batch and input.size <= channels:
        raise ValueError(
            f"batch_norm expected more than one number for each channel in training, got input of shape {input.shape}; "
            "take larger batches, or call eval()"
        )
    planes, in_loops = Planes((samples, channels), 0, math.prod(input.shape[2:])), fits_loops(input, weight, bias)
    kept = None if running_mean is None or running_var is None else (running_mean, running_var)
    if not batch and kept:
        moments = np.concatenate([running.to_numpy().astype(float) for running in kept])
    else:
        moments = np.empty(2 * channels) if in_loops else planes.moments(input)  # the loops will put them there
    y = (PlaneNorm.apply if in_loops else PlaneNorm.composed)(input, weight, bias, planes, moments, eps, batch)
    if batch and kept:
        unbiased = np.array([[1.0], [planes.count / (planes.count - 1)]])
        for running, numbers in zip(kept, moments.reshape(2, channels) * unbiased, strict=True):
            write(running, (1 - momentum) * running.to_numpy() + momentum * numbers)
    return y


def write(buffer: Tensor, numbers: Any) -> None:
    """Put other numbers into a buffer."""
    data = buffer._tensor
    if fusible(buffer) and data.is_contiguous():
        data.tuple()[0][:] = numbers
        data.bump_version()
    else:
        buffer[...] = numbers


# The layers


class _BatchNorm(Module):
    """What BatchNorm1d and BatchNorm2d share; see there."""

    dims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = at_least_1((num_features,), type(self).__name__, "num_features")
        self.num_features, self.eps, self.momentum = shape[0], eps, momentum
        self.weight = Parameter(ones(shape, backend, dtype=dtype)) if affine else None
        self.bias = Parameter(zeros(shape, backend, dtype=dtype)) if affine else None
        self.register_buffer("running_mean", zeros(shape, backend, dtype=dtype) if track_running_stats else None)
        self.register_buffer("running_var", ones(shape, backend, dtype=dtype) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(np.array(0), backend) if track_running_stats else None)

    def extra_repr(self) -> str:
        """Its settings."""
        tracked = self.num_batches_tracked is not None
        settings = f"eps={self.eps}, momentum={self.momentum}, affine={self.weight is not None}, track_running_stats={tracked}"
        return f"{self.num_features}, {settings}"

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """A factor and a sum for each element, as in evaluation."""
        return 2 * output.size

    def forward(self, input: Tensor) -> Tensor:
        """Of shape (N, C, …), which stays."""
        name = type(self).__name__
        sizes = [f"(N, {self.num_features}{', L' * (dims == 3)}{', H, W' * (dims == 4)})" for dims in self.dims]
        check_input(name, input, self.dims[0], " or ".join(sizes))
        if input.dims not in self.dims or input.shape[1] != self.num_features:
            raise ValueError(f"{name} expected input of shape {' or '.join(sizes)}, got {input.shape}")
        momentum = self.momentum
        if momentum is None and self.num_batches_tracked is not None:
            momentum = 1 / (int(self.num_batches_tracked.item()) + 1)
        weight, bias = self.weight and self.weight.value, self.bias and self.bias.value
        out = batch_norm(input, self.running_mean, self.running_var, weight, bias, self.training, momentum or 0.0, self.eps)
        if self.training and self.num_batches_tracked is not None:
            write(self.num_batches_tracked, int(self.num_batches_tracked.item()) + 1)
        return out


class BatchNorm1d(_BatchNorm):
    """`batch_norm` of rows, shape (N, C), or of sequences, shape (N, C, L).

    Args:
        num_features: C, the number of channels.
        eps: Added to the variance, so that nothing is divided by 0.
        momentum: How far the running mean and variance move towards those of the batch; None: so that they are the mean over all batches.
        affine: Whether there are a weight, which begins as ones, and a bias, which begins as zeros.
        track_running_stats: Whether a running mean and variance are kept, which begin as zeros and ones and serve in evaluation. Without
            them the batch's own serve there, too.

    Raises:
        ValueError: If num_features is less than 1.

    Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2.
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`batch_norm` of images, shape (N, C, H, W); for the rest see BatchNorm1d."""

    dims = (4,)
