"""Stage 6 - Layers that treat whole channels: their normalization and shuffling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from minitorch.core.creation import cat, ones
from minitorch.nn.module import Module, Parameter, value_of
from minitorch.nn.normalization import group_norm
from minitorch.nn.options import layer
from minitorch.ops.checks import check_float_tensor, positive_ints
from minitorch.tensor import zeros
from minitorch.torch.placement import placement

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def instance_norm(input: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalize each channel of each sample by its own mean and standard deviation.

    Args:
        input: Shape (N, C, …) with more than one element per channel.
        weight: Scale of each channel, shape (C,).
        bias: Shift of each channel, shape (C,).
        eps: Added to the biased variance for numerical stability.

    Raises:
        TypeError: If an argument is not a floating-point Tensor.
        ValueError: If a shape does not match.

    Source: Ulyanov et al. 2016, arXiv:1607.08022, eq. 4.
    """
    if check_float_tensor("instance_norm", input).dims < 3 or math.prod(input.shape[2:]) < 2:
        raise ValueError(f"instance_norm expected input of shape (N, C, …) with more than one element per channel, got {input.shape}")
    return group_norm(input, input.shape[1], weight, bias, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 3 / 4, k: float = 1.0) -> Tensor:
    """Divide by (k + alpha · mean square of the channels around)^beta.

    Args:
        input: Shape (N, C, …).
        size: Number of channels in the mean; those outside count as 0.
        alpha: Factor of the mean square.
        beta: The exponent.
        k: Added to the mean square.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If it has fewer than three dimensions, or size is less than 1.

    Source: Krizhevsky et al. 2012, NIPS, section 3.3; with the mean in place of the sum, as in PyTorch.
    """
    (size,) = positive_ints((size,), "local_response_norm", "size")
    if check_float_tensor("local_response_norm", input).dims < 3:
        raise ValueError(f"local_response_norm expected input of shape (N, C, …) with three dimensions or more, got {input.shape}")
    count = input.shape[1]
    squares, before = input * input, size // 2
    borders = [input.zeros((input.shape[0], width, *input.shape[2:])) for width in (before, size - 1 - before)]
    padded = cat([borders[0], squares, borders[1]], 1)
    total = padded[:, :count]
    for shift in range(1, size):
        total = total + padded[:, shift : shift + count]
    return input * (k + total * (alpha / size)) ** -beta


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave groups of channels: the first of every group, then the second of every group, and so on.

    Args:
        input: Shape (N, C, …).
        groups: Number of groups; must divide C.

    Raises:
        ValueError: If it does not, or input has fewer than two dimensions.

    Source: Zhang et al. 2018, arXiv:1707.01083, section 3.1.
    """
    if input.dims < 2 or groups < 1 or input.shape[1] % groups:
        raise ValueError(f"channel_shuffle expected input of shape (N, C, …) and groups that divide C, got {input.shape} and {groups}")
    N, C, *rest = input.shape
    return input.reshape(N, groups, C // groups, *rest).transpose(1, 2).reshape(N, C, *rest)


# Layers


LocalResponseNorm = layer(
    "LocalResponseNorm", local_response_norm, "size", "alpha", "beta", "k", shown="{size}, alpha={alpha}, beta={beta}, k={k}"
)
ChannelShuffle = layer("ChannelShuffle", channel_shuffle, "groups")


class _InstanceNorm(Module):
    """Base class of InstanceNorm1d and InstanceNorm2d.

    Args:
        num_features: Number of channels C.
        eps: Added to the variance for numerical stability.
        affine: Whether to learn a weight (initially ones) and a bias (initially zeros).

    Raises:
        ValueError: If num_features is less than 1.
    """

    dims: ClassVar[int]

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        shape = positive_ints((num_features,), type(self).__name__, "num_features")
        self.num_features, self.eps, self.affine = shape[0], eps, affine
        self.weight = Parameter(ones(shape, **placement(device, dtype))) if affine else None
        self.bias = Parameter(zeros(shape, **placement(device, dtype))) if affine else None

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        return f"{self.num_features}, eps={self.eps}, affine={self.affine}"

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (N, C, …)."""
        if input.dims != self.dims or input.shape[1] != self.num_features:
            sizes = "L" if self.dims == 3 else "H, W"
            raise ValueError(f"{type(self).__name__} expected input of shape (N, {self.num_features}, {sizes}), got {input.shape}")
        return instance_norm(input, value_of(self.weight), value_of(self.bias), self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of sequences (N, C, L); see `instance_norm`."""

    dims = 3


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of images (N, C, H, W); see `instance_norm`."""

    dims = 4
