"""Stage 7 - Functions and layers of whole channels: normalization by their neighbors, and shuffling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.core.creation import cat
from minitorch.nn.options import layer
from minitorch.ops.checks import check_float_tensor, positive_ints

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


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
