"""Stage 7 - Layers of batch, instance, group, layer and RMS normalization, with a weight of ones and a bias of zeros, initially."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from minitorch.core.creation import ones
from minitorch.core.recording import call
from minitorch.nn.init import ones_, zeros_
from minitorch.nn.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.ops.checks import positive_ints
from minitorch.ops.normalization import (
    batch_norm,
    check_groups,
    check_input,
    group_norm,
    instance_norm,
    is_writable,
    layer_norm,
    normalized_sizes,
    rms_norm,
)
from minitorch.tensor import Tensor, tensor, zeros
from minitorch.torch.placement import placement


class _Norm(Module):
    """Base class of the layers: a weight and a bias of a shape, or None."""

    weight: Parameter | None
    bias: Parameter | None

    def __init__(self, shape: tuple[int, ...], weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        super().__init__()
        self.weight = Parameter(ones(shape, **placement(device, dtype))) if weight else None
        self.bias = Parameter(zeros(shape, **placement(device, dtype))) if weight and bias else None

    def reset_parameters(self) -> None:
        """Initialize the weight to ones and the bias to zeros."""
        if self.weight is not None:
            ones_(self.weight)
        if self.bias is not None:
            zeros_(self.bias)


# Batches and instances


class _NormBase(_Norm):
    """Base class of batch and instance normalization: running statistics of each channel."""

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    sizes: ClassVar[tuple[str, ...]]
    """The dimensions after N and C that an input may have, one letter each."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        shape = positive_ints((num_features,), type(self).__name__, "num_features", minimum=0)
        super().__init__(shape, affine, bias, device, dtype)
        self.num_features, self.eps, self.momentum = shape[0], eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        place = placement(device, dtype)
        self.register_buffer("running_mean", zeros(shape, **place) if track_running_stats else None)
        self.register_buffer("running_var", ones(shape, **place) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(np.array(0), place["backend"]) if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Reset the running statistics to mean 0 and variance 1."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            zeros_(self.running_mean)
            ones_(self.running_var)
            self.num_batches_tracked[...] = 0

    def reset_parameters(self) -> None:
        """Initialize the parameters and the running statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def extra_repr(self) -> str:
        options = f"affine={self.affine}, bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {options}"

    def _shapes(self, channels: str) -> str:
        """The shapes that an input may have, for messages."""
        return " or ".join(f"({', '.join([channels, *sizes])})" for sizes in self.sizes)


class _BatchNorm(_NormBase):
    """Base class of BatchNorm1d, BatchNorm2d and BatchNorm3d."""

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """A multiplication and an addition per element, as in evaluation."""
        return 2 * output.numel()

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (N, C, …); in training the buffers are updated in place."""
        name, expected = type(self).__name__, self._shapes(f"N, {self.num_features}")
        check_input(name, input, 2, expected)
        if input.dims - 2 not in map(len, self.sizes) or input.shape[1] != self.num_features:
            raise ValueError(f"{name} expected input of shape {expected}, got {tuple(input.shape)}")
        tracked = self.track_running_stats or not self.training
        running_mean, running_var = (self.running_mean, self.running_var) if tracked else (None, None)
        batches, momentum = self.num_batches_tracked if self.training and tracked else None, self.momentum
        if momentum is None and batches is not None:
            momentum = 1 / (int(batches.item()) + 1)
        out = batch_norm(input, running_mean, running_var, self.weight, self.bias, self.training, momentum or 0.0, self.eps)
        if batches is not None:
            if is_writable(batches):
                call(count_up, batches._tensor.array())
                batches._tensor.bump_version()
            else:
                batches[...] = int(batches.item()) + 1
        return out


def count_up(number: np.ndarray) -> None:
    """Add 1 in place."""
    number += 1


class BatchNorm1d(_BatchNorm):
    """Batch normalization of inputs of shape (N, C) or (N, C, L); see `batch_norm`.

    Args:
        num_features: Number of channels C.
        eps: Added to the variance for numerical stability.
        momentum: Weight of the batch in the update of the running statistics; None for the cumulative average over all batches.
        affine: Whether to learn a weight (initially ones) and a bias (initially zeros).
        track_running_stats: Whether to keep a running mean (initially zeros) and variance (initially ones) for evaluation. Otherwise
            evaluation uses the statistics of the batch, too.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
        bias: Whether to learn a bias along with the weight.

    Raises:
        TypeError: If num_features is not an integer.
        ValueError: If num_features is less than 1.

    Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2.
    """

    sizes = ("", "L")


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images of shape (N, C, H, W); for the arguments see `BatchNorm1d`."""

    sizes = ("HW",)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of volumes of shape (N, C, D, H, W); for the arguments see `BatchNorm1d`."""

    sizes = ("DHW",)


class _InstanceNorm(_NormBase):
    """Base class of InstanceNorm1d, InstanceNorm2d and InstanceNorm3d."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (N, C, …) or (C, …); in training, running statistics are updated in place."""
        name, dims = type(self).__name__, len(self.sizes[0])
        expected = f"{self._shapes(f'N, {self.num_features}')} or {self._shapes(str(self.num_features))}"
        check_input(name, input, 0, expected)
        channels = input.shape[-1 - dims] if input.dims in (dims + 1, dims + 2) else None
        if channels is None or (channels != self.num_features and self.affine):
            raise ValueError(f"{name} expected input of shape {expected}, got {tuple(input.shape)}")
        if channels != self.num_features:
            given = f"{name} got {channels} channels, not num_features, {self.num_features}"
            warnings.warn(f"{given}, which has no effect without affine; make it the number of channels", stacklevel=3)
        own_stats, momentum = self.training or not self.track_running_stats, self.momentum or 0.0
        options = self.running_mean, self.running_var, self.weight, self.bias, own_stats, momentum, self.eps
        return instance_norm(input, *options) if input.dims == dims + 2 else instance_norm(input.unsqueeze(0), *options).squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of sequences of shape (N, C, L) or (C, L); see `instance_norm`.

    For the arguments and errors see `BatchNorm1d`; by default there are neither parameters nor running statistics.

    Source: Ulyanov et al. 2016, arXiv:1607.08022, eq. 4.
    """

    sizes = ("L",)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of images of shape (N, C, H, W) or (C, H, W); for the arguments see `InstanceNorm1d`."""

    sizes = ("HW",)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of volumes of shape (N, C, D, H, W) or (C, D, H, W); for the arguments see `InstanceNorm1d`."""

    sizes = ("DHW",)


# Single samples


class _SampleNorm(_Norm):
    """Base class of GroupNorm, LayerNorm and RMSNorm."""

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Per element: two additions into sums, a subtraction, a square and a multiplication, and another multiplication with a weight."""
        return (5 + (self.weight is not None)) * output.numel()


class GroupNorm(_SampleNorm):
    """Group normalization; see `group_norm`.

    Args:
        num_groups: Number of groups; must divide num_channels.
        num_channels: Number of channels C.
        eps: See `BatchNorm1d` for this and the other arguments.

    Raises:
        TypeError: If a number is not an integer.
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
        *,
        bias: bool = True,
    ) -> None:
        shape = positive_ints((num_channels,), "GroupNorm", "num_channels")
        check_groups("GroupNorm", num_groups, num_channels)
        super().__init__(shape, affine, bias, device, dtype)
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (N, C, …)."""
        return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class LayerNorm(_SampleNorm):
    """Layer normalization; see `layer_norm`.

    Args:
        normalized_shape: Sizes of the last dimensions; an int for only the last one.
        eps: Added to the variance for numerical stability.
        elementwise_affine: Whether to learn a weight (initially ones).
        bias: Whether to learn a bias (initially zeros) along with the weight.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    Raises:
        TypeError: If a size is not an integer.
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
        self.normalized_shape = normalized_sizes("LayerNorm", normalized_shape)
        super().__init__(self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.eps, self.elementwise_affine = eps, elementwise_affine

    def extra_repr(self) -> str:
        options = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {options}"

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (…, *normalized_shape)."""
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_SampleNorm):
    """RMS normalization; see `rms_norm`.

    Args:
        normalized_shape: See `LayerNorm` for this, the other arguments and the errors.
        eps: Added to the mean square for numerical stability; None for the machine epsilon of the input's dtype.

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
        self.normalized_shape = normalized_sizes("RMSNorm", normalized_shape)
        super().__init__(self.normalized_shape, elementwise_affine, False, device, dtype)
        self.eps, self.elementwise_affine = eps, elementwise_affine

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (…, *normalized_shape)."""
        return rms_norm(input, self.normalized_shape, self.weight, self.eps)
