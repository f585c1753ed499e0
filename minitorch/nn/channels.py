"""Stage 6 - Layers that treat whole channels: normalization, dropout and shuffling of channels; and Unflatten and Identity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from minitorch.core.creation import cat, ones
from minitorch.core.math_functions import MaskedSelect
from minitorch.nn.module import Module, Parameter, value_of
from minitorch.nn.normalization import group_norm
from minitorch.nn.sizes import check_float_tensor, check_probability, check_tensor, positive_ints
from minitorch.tensor import rand, zeros
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend
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


def feature_dropout(input: Tensor, p: float = 0.5) -> Tensor:
    """Set whole channels to 0 with probability p, and scale the others by 1 / (1 - p).

    Args:
        input: Shape (N, C, …).
        p: The probability, from 0 to 1.

    Raises:
        TypeError: If input is not a Tensor, or p is not a number.
        ValueError: If input has fewer than two dimensions, or p is outside [0, 1].
    """
    p = check_probability("feature_dropout", "p", p, "a channel")
    if check_tensor("feature_dropout", input, "input").dims < 2:
        raise ValueError(f"feature_dropout expected input of shape (N, C, …), got {input.shape}")
    kept = rand((*input.shape[:2], *[1] * (input.dims - 2)), input.backend) >= p
    out = MaskedSelect.apply(input, kept)
    return out * (1 / (1 - p)) if p < 1 else out


ALPHA = -1.7580993408473766
"""The limit of selu for small numbers, -scale · alpha."""


def alpha_dropout(input: Tensor, p: float = 0.5) -> Tensor:
    """Set elements to the limit of `selu` with probability p, then scale and shift all, so that mean 0 and variance 1 are kept.

    Args:
        input: Any shape.
        p: The probability, from 0 to 1; 1 gives zeros.

    Raises:
        TypeError: If input is not a Tensor, or p is not a number.
        ValueError: If p is outside [0, 1].

    Source: Klambauer et al. 2017, arXiv:1706.02515, section 3.
    """
    p = check_probability("alpha_dropout", "p", p, "an element")
    check_tensor("alpha_dropout", input, "input")
    if p == 1:
        return input * 0.0
    scale = ((1 - p) * (1 + p * ALPHA**2)) ** -0.5
    return input.where(rand(input.shape, input.backend) >= p, ALPHA) * scale - scale * ALPHA * p


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


class AlphaDropout(Module):
    """See `alpha_dropout`; active during training.

    Raises:
        TypeError: If p is not a number.
        ValueError: If p is outside [0, 1].
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = check_probability(type(self).__name__, "p", p, "an element")

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"

    def forward(self, input: Tensor) -> Tensor:
        """Return input with elements dropped, in training mode."""
        return alpha_dropout(input, self.p) if self.training and self.p else input


class LocalResponseNorm(Module):
    """See `local_response_norm`."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 3 / 4, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def extra_repr(self) -> str:
        """The arguments."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, same shape (N, C, …)."""
        return local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class ChannelShuffle(Module):
    """See `channel_shuffle`."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def extra_repr(self) -> str:
        """The number of groups."""
        return f"groups={self.groups}"

    def forward(self, input: Tensor) -> Tensor:
        """Return input with its channels shuffled, same shape (N, C, …)."""
        return channel_shuffle(input, self.groups)


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

    def __init__(
        self, num_features: int, eps: float = 1e-5, affine: bool = False, backend: TensorBackend = SimpleBackend, dtype: Any = None
    ) -> None:
        super().__init__()
        shape = positive_ints((num_features,), type(self).__name__, "num_features")
        self.num_features, self.eps, self.affine = shape[0], eps, affine
        self.weight = Parameter(ones(shape, backend, dtype=dtype)) if affine else None
        self.bias = Parameter(zeros(shape, backend, dtype=dtype)) if affine else None

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


class _FeatureDropout(Module):
    """Base class of Dropout1d and Dropout2d; see `feature_dropout`.

    Raises:
        TypeError: If p is not a number.
        ValueError: If p is outside [0, 1].
    """

    dims: ClassVar[tuple[int, ...]]

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = check_probability(type(self).__name__, "p", p, "a channel")

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"

    def forward(self, input: Tensor) -> Tensor:
        """Return input with channels dropped, in training mode."""
        if input.dims not in self.dims:
            raise ValueError(f"{type(self).__name__} expected input of {' or '.join(map(str, self.dims))} dimensions, got {input.shape}")
        if not self.training or not self.p:
            return input
        return feature_dropout(input, self.p) if input.dims == self.dims[-1] else feature_dropout(input.unsqueeze(0), self.p).squeeze(0)


class Dropout1d(_FeatureDropout):
    """Dropout of channels of sequences (N, C, L) or (C, L).

    Source: Tompson et al. 2015, arXiv:1411.4280, section 3.2.
    """

    dims = (2, 3)


class Dropout2d(_FeatureDropout):
    """Dropout of channels of images (N, C, H, W) or (C, H, W); see `Dropout1d`."""

    dims = (3, 4)


class Unflatten(Module):
    """Divide one dimension into several.

    Args:
        dim: The dimension.
        unflattened_size: Its sizes; one may be -1.
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def extra_repr(self) -> str:
        """The dimension and the sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (…, N, …) to (…, *unflattened_size, …)."""
        dim = input._normalize_dim(self.dim)
        return input.reshape(*input.shape[:dim], *self.unflattened_size, *input.shape[dim + 1 :])


class Identity(Module):
    """Returns its input. Arguments of the constructor are ignored, so that it can replace any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return input."""
        return input
