"""Stage 6 - Normalization layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minitorch.nn as engine
from minitorch.nn.init import ones_, zeros_
from minitorch.nn.normalization import _BatchNorm as EngineBatchNorm
from minitorch.nn.options import refuse_unless
from minitorch.torch.nn.module import adapt
from minitorch.torch.tensor import Tensor


def remove_bias(layer: Any, bias: bool) -> None:
    """Remove the bias of a layer that shall have none."""
    if not bias:
        layer.bias = None


normalize = EngineBatchNorm._normalize


class _BatchNorm:
    """What BatchNorm1d and BatchNorm2d have beyond the engine's layers.

    Args:
        num_features: Number of channels C.
        eps: Added to the variance for numerical stability.
        momentum: Weight of the batch in the update of the running statistics; None for the cumulative average over all batches.
        affine: Whether to learn a weight (initially ones) and a bias (initially zeros).
        track_running_stats: Whether to keep a running mean and variance for evaluation.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
        bias: Whether to learn a bias along with the weight.
    """

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
        args = (num_features, eps, momentum, affine, track_running_stats)
        super().__init__(*args, device=device, dtype=dtype)  # type: ignore[call-arg]  # of the adapted class
        remove_bias(self, bias)

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        layer: Any = self
        options = f"affine={layer.affine}, bias={layer.bias is not None}, track_running_stats={layer.track_running_stats}"
        return f"{layer.num_features}, eps={layer.eps}, momentum={layer.momentum}, {options}"

    def reset_running_stats(self) -> None:
        """Reset the running statistics to mean 0 and variance 1."""
        layer: Any = self
        if layer.track_running_stats:
            zeros_(layer.running_mean)
            ones_(layer.running_var)
            layer.num_batches_tracked[...] = 0

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (N, C, …)."""
        layer: Any = self
        return normalize(self, input, layer.running_mean, layer.running_var, layer.num_batches_tracked)


class BatchNorm1d(_BatchNorm, adapt(engine.BatchNorm1d)):
    """Batch normalization of inputs (N, C) or (N, C, L); for the arguments see its first base class."""


class BatchNorm2d(_BatchNorm, adapt(engine.BatchNorm2d)):
    """Batch normalization of images (N, C, H, W); for the arguments see its first base class."""


class BatchNorm3d(BatchNorm2d):
    """Batch normalization of volumes (N, C, D, H, W); for the arguments see the first base class of BatchNorm2d."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (N, C, D, H, W).

        Raises:
            ValueError: If it has another number of dimensions.
        """
        if input.dim() != 5:
            raise ValueError(f"BatchNorm3d expected input of shape (N, C, D, H, W), got {tuple(input.shape)}")
        return super().forward(input.flatten(2, 3)).view(*input.shape)


class LayerNorm(adapt(engine.LayerNorm)):
    """Normalization over the last dimensions.

    Args:
        normalized_shape: Sizes of the last dimensions; an int for only the last one.
        eps: Added to the variance for numerical stability.
        elementwise_affine: Whether to learn a weight (initially ones).
        bias: Whether to learn a bias (initially zeros) along with the weight.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
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
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device=device, dtype=dtype)


class GroupNorm(adapt(engine.GroupNorm)):
    """Normalization of groups of channels of each sample.

    Args:
        num_groups: Number of groups; must divide num_channels.
        num_channels: Number of channels C.
        eps: Added to the variance for numerical stability.
        affine: Whether to learn a weight (initially ones) and a bias (initially zeros).
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
        bias: Whether to learn a bias along with the weight.
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
        super().__init__(num_groups, num_channels, eps, affine, device=device, dtype=dtype)
        remove_bias(self, bias)

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(adapt(engine.RMSNorm)):
    """Division by the root mean square over the last dimensions; for the arguments see `LayerNorm`."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, device=device, dtype=dtype)


class _InstanceNorm:
    """What InstanceNorm1d and InstanceNorm2d have beyond the engine's layers.

    Args:
        num_features: Number of channels C.
        eps: Added to the variance for numerical stability.
        momentum: Without effect, as there are no running statistics.
        affine: Whether to learn a weight (initially ones) and a bias (initially zeros).
        track_running_stats: False.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
        bias: Whether to learn a bias along with the weight.

    Raises:
        NotImplementedError: If track_running_stats is set.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        refuse_unless(type(self).__name__, track_running_stats=(track_running_stats, False))
        super().__init__(num_features, eps, affine, device=device, dtype=dtype)  # type: ignore[call-arg]  # of the adapted class
        self.momentum, self.track_running_stats = momentum, track_running_stats
        remove_bias(self, bias)

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        layer: Any = self
        options = f"affine={layer.affine}, bias={layer.bias is not None}, track_running_stats={self.track_running_stats}"
        return f"{layer.num_features}, eps={layer.eps}, momentum={self.momentum}, {options}"


class InstanceNorm1d(_InstanceNorm, adapt(engine.InstanceNorm1d)):
    """Normalization of each channel of sequences (N, C, L); for the arguments see its first base class."""


class InstanceNorm2d(_InstanceNorm, adapt(engine.InstanceNorm2d)):
    """Normalization of each channel of images (N, C, H, W); for the arguments see its first base class."""
