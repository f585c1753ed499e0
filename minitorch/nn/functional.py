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
    """Cut images into windows that do not overlap, and lay the numbers of each window in a row.

    Args:
        input: Images, shape (B, C, H, W), in any layout.
        kernel: Window size (kh, kw); must divide (H, W).

    Returns:
        The windows, shape (B, C, H // kh, W // kw, kh · kw), the numbers of each row by row; H // kh and W // kw.

    Raises:
        ValueError: If input has not four dimensions, kh does not divide H, kw does not divide W, or one of them is below 1.
    """
    kh, kw = check_windows(input, kernel)
    batch, channels, height, width = input.shape
    rows, columns = height // kh, width // kw
    cut = input.contiguous().view(batch, channels, rows, kh, columns, kw)
    return cut.permute(0, 1, 2, 4, 3, 5).contiguous().view(batch, channels, rows, columns, kh * kw), rows, columns


@prefer_optimized
def avgpool2d(input: Tensor, kernel: tuple[int, int]) -> Tensor:
    """Mean over windows that do not overlap.

    Args:
        input: Images, shape (B, C, H, W), in any layout.
        kernel: Window size (kh, kw); must divide (H, W).

    Returns:
        Shape (B, C, H // kh, W // kw).

    Raises:
        ValueError: As `tile`.
    """
    tiles, rows, columns = tile(input, kernel)
    return tiles.mean(4).view(input.shape[0], input.shape[1], rows, columns)


# The maximum


class Max(Function):
    """The largest element along one dimension, which keeps size 1. Of equal ones each gets the whole gradient."""

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
    """The largest element along dim; NaN if there is one.

    Where several are equally large, each of them gets the whole gradient of the maximum: it is multiplied with `argmax`. So does the
    course have it; `Tensor.max` gives it to the first of them alone.

    Args:
        input: Of any shape and layout.
        dim: The dimension; None for all elements.

    Returns:
        Shape of input with size 1 in dim; (1,) for all elements.

    Raises:
        IndexingError: If there is no such dimension.
        ValueError: If there are no elements along it.
    """
    if dim is None:
        return Max.apply(input.contiguous().view(input.size), 0)
    return Max.apply(input, input._normalize_dim(dim))


def argmax(input: Tensor, dim: int | None = None) -> Tensor:
    """Where the largest element along dim stands, as a mask. Where several are equally large, at each of them; at NaN never.

    `Tensor.argmax` gives its number instead. No gradient flows through either.

    Args:
        input: Of any shape and layout.
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
    """Maximum over windows that do not overlap. Where several elements of a window are equally large, each gets the whole gradient.

    Args:
        input: Images, shape (B, C, H, W), in any layout.
        kernel: Window size (kh, kw); must divide (H, W).

    Returns:
        Shape (B, C, H // kh, W // kw).

    Raises:
        ValueError: As `tile`.
    """
    tiles, rows, columns = tile(input, kernel)
    return max(tiles, 4).view(input.shape[0], input.shape[1], rows, columns)


# Softmax


@prefer_optimized
def softmax(input: Tensor, dim: int) -> Tensor:
    """e^x of every element, divided by the sum of them along dim: numbers from 0 to 1 with the sum 1.

    The largest element is subtracted first, which changes nothing in the quotient but keeps e^x from overflowing.

    Args:
        input: Of any shape and layout.
        dim: Along which dimension.

    Returns:
        Shape of input.

    Raises:
        IndexingError: If there is no such dimension.
        ValueError: If there are no elements along it.
    """
    powers = (input - max(input, dim)).exp()
    return powers / powers.sum(dim)


@prefer_optimized
def logsoftmax(input: Tensor, dim: int) -> Tensor:
    """The logarithm of softmax, x - ln Σ e^x, right also where softmax is too small for a float.

    With m the largest element, ln Σ e^x = m + ln Σ e^(x - m), in which nothing overflows and the sum is at least 1.

    Args:
        input: Of any shape and layout.
        dim: Along which dimension.

    Returns:
        Shape of input, all numbers at most 0.

    Raises:
        IndexingError: If there is no such dimension.
        ValueError: If there are no elements along it.
    """
    shifted = input - max(input, dim)
    return shifted - ExactLog.apply(shifted.exp().sum(dim))


# Dropout


def dropout(input: Tensor, rate: float, ignore: bool = False) -> Tensor:
    """Set elements to 0 at random, each with the probability rate, and leave the others as they are.

    What is left is not made larger in exchange: the mean of the result is 1 - rate times that of input.

    Args:
        input: Of any shape.
        rate: From 0 (nothing is dropped) to 1 (everything is).
        ignore: Whether to return input as it is, as one does when a network is not being trained.

    Returns:
        Shape of input. The gradient flows through the elements that were kept. Unless it is ignored, one number is drawn as by `rand` for
        every element, whatever the rate, so that `manual_seed` decides which are dropped.

    Raises:
        ValueError: If rate is not between 0 and 1.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"dropout expected a rate from 0 to 1, got {rate}; it is the share of the elements that become 0")
    if ignore:
        return input
    return MaskedSelect.apply(input, rand(input.shape, input.backend) >= rate)
