"""Stage 4 - Pooling, the maximum, softmax and dropout, composed of tensor operations.

These are the textbook solutions of Tasks 4.3 and 4.4, for every backend. Where a backend has a fused kernel
of the same name in `kernels/`, `@prefer_optimized` calls it instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.autodiff import Context
from minitorch.core.kernel import prefer_optimized
from minitorch.core.math_functions import ExactLog, MaskedSelect, mask_select
from minitorch.core.reductions import reduce_extreme
from minitorch.core.windows import check_windows
from minitorch.tensor import rand
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


# Pooling


def tile(input: Tensor, kernel: tuple[int, int]) -> tuple[Tensor, int, int]:
    """Split images into non-overlapping windows and flatten each window.

    Args:
        input: Images, shape (B, C, H, W), in any layout.
        kernel: Window size (kh, kw); must divide (H, W).

    Returns:
        The windows, shape (B, C, H // kh, W // kw, kh · kw), each row by row; H // kh; and W // kw.

    Raises:
        ValueError: If input has not four dimensions, kh does not divide H, kw does not divide W, or one of them is less than 1.
    """
    kh, kw = check_windows(input, kernel)
    batch, channels, height, width = input.shape
    rows, columns = height // kh, width // kw
    cut = input.contiguous().view(batch, channels, rows, kh, columns, kw)
    return cut.permute(0, 1, 2, 4, 3, 5).contiguous().view(batch, channels, rows, columns, kh * kw), rows, columns


@prefer_optimized
def avgpool2d(input: Tensor, kernel: tuple[int, int]) -> Tensor:
    """Mean over non-overlapping windows.

    Args:
        input: Images, shape (B, C, H, W), in any layout.
        kernel: Window size (kh, kw); must divide (H, W).

    Returns:
        Shape (B, C, H // kh, W // kw).

    Raises:
        ValueError: See `tile`.
    """
    tiles, rows, columns = tile(input, kernel)
    return tiles.mean(4).view(input.shape[0], input.shape[1], rows, columns)


# The maximum


class Max(Function):
    """Maximum along one dimension, which keeps size 1. Every element equal to the maximum gets the whole gradient."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, dim: int) -> Tensor:
        largest = reduce_extreme(input, dim, largest=True)
        ctx.save_for_backward(input, largest)
        return largest

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        input, largest = ctx.saved_values
        return mask_select(input == largest, grad_output)


@prefer_optimized
def max(input: Tensor, dim: int | None = None) -> Tensor:
    """Maximum along dim; NaN if there is one.

    If several elements equal the maximum, each gets the whole gradient, which is multiplied by `argmax`. This is the course's
    definition; `Tensor.max` gives the gradient to the first of them only.

    Args:
        input: Any shape and layout.
        dim: The dimension; None for all elements.

    Returns:
        Shape of input with size 1 in dim; (1,) for all elements.

    Raises:
        IndexingError: If there is no such dimension.
        ValueError: If there are no elements along it.
    """
    if dim is None:
        return Max.apply(input.contiguous().view(input.numel()), 0)
    return Max.apply(input, input._normalize_dim(dim))


def argmax(input: Tensor, dim: int | None = None) -> Tensor:
    """Mask of the elements that equal the maximum along dim, several if they are equal; never true for NaN.

    `Tensor.argmax` returns an index instead. Neither has a gradient.

    Args:
        input: Any shape and layout.
        dim: The dimension; None for all elements.

    Returns:
        Shape of input, bool.

    Raises:
        IndexingError: If there is no such dimension.
        ValueError: If there are no elements along it.
    """
    return input == max(input, dim)


@prefer_optimized
def maxpool2d(input: Tensor, kernel: tuple[int, int]) -> Tensor:
    """Maximum over non-overlapping windows. Every element equal to the maximum of its window gets the whole gradient.

    Args:
        input: Images, shape (B, C, H, W), in any layout.
        kernel: Window size (kh, kw); must divide (H, W).

    Returns:
        Shape (B, C, H // kh, W // kw).

    Raises:
        ValueError: See `tile`.
    """
    tiles, rows, columns = tile(input, kernel)
    return max(tiles, 4).view(input.shape[0], input.shape[1], rows, columns)


# Softmax


@prefer_optimized
def softmax(input: Tensor, dim: int) -> Tensor:
    """Softmax along dim: e^x divided by the sum of e^x. The results are from 0 to 1 and sum to 1.

    The maximum is subtracted first: the quotient stays the same, and e^x cannot overflow.

    Args:
        input: Any shape and layout.
        dim: The dimension.

    Returns:
        Shape of input.

    Raises:
        IndexingError: If there is no such dimension.
        ValueError: If there are no elements along it.
    """
    powers = (input - max(input, dim)).exp()
    return powers / powers.sum(dim, keepdim=True)


@prefer_optimized
def logsoftmax(input: Tensor, dim: int) -> Tensor:
    """Logarithm of softmax along dim, x - ln Σ e^x, accurate even where softmax underflows.

    With the maximum m, ln Σ e^x = m + ln Σ e^(x - m), where nothing overflows and the sum is at least 1.

    Args:
        input: Any shape and layout.
        dim: The dimension.

    Returns:
        Shape of input; values are at most 0.

    Raises:
        IndexingError: If there is no such dimension.
        ValueError: If there are no elements along it.
    """
    shifted = input - max(input, dim)
    return shifted - ExactLog.apply(shifted.exp().sum(dim, keepdim=True))


# Dropout


def dropout(input: Tensor, rate: float, ignore: bool = False) -> Tensor:
    """Set each element to 0 with probability rate and keep the others unchanged.

    The remaining elements are not rescaled: the expected mean of the result is 1 - rate times that of input.

    Args:
        input: Any shape.
        rate: Probability, from 0 to 1.
        ignore: Whether to return input unchanged, as in evaluation mode.

    Returns:
        Shape of input. The gradient flows through the elements that were kept. Unless ignored, `rand` generates one number for every
        element at any rate, so that `manual_seed` determines which are dropped.

    Raises:
        ValueError: If rate is outside of [0, 1].
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"dropout expected a rate from 0 to 1, got {rate}; it is the share of the elements that become 0")
    if ignore:
        return input
    return MaskedSelect.apply(input, rand(input.shape, input.backend) >= rate)
