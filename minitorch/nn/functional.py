"""Stage 4 - What networks are made of besides layers: pooling, the maximum, softmax and dropout.

Each is a few tensor operations, which every backend has. What the compiled backend does in one loop instead stands in `loops`, and what
the exact logarithm is in `elementwise`. The functions import them for themselves: in a workspace where a student writes them, these rooms
are not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minitorch.autodiff import Context
from minitorch.core.dtypes import promote_to_float
from minitorch.core.math_functions import mask_select
from minitorch.core.reductions import reduce_extreme
from minitorch.tensor import rand
from minitorch.tensor_data import as_shape
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Dims, Tensor


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
    new_height, new_width = height // kh, width // kw
    split = input.contiguous().view(batch, channels, new_height, kh, new_width, kw)
    windows = split.permute(0, 1, 2, 4, 3, 5).contiguous()
    return windows.view(batch, channels, new_height, new_width, kh * kw), new_height, new_width


def check_windows(input: Tensor, kernel: Sequence[int]) -> tuple[int, int]:
    """The window size, if the windows fill the images.

    Raises:
        ValueError: If they do not.
    """
    if not isinstance(kernel, Sequence) or len(kernel) != 2 or min(kernel) < 1:
        raise ValueError(f"pooling expected a window of two sizes of at least 1, got {kernel}; write it as (2, 2)")
    if input.dims != 4:
        raise ValueError(f"pooling expected images of shape (B, C, H, W), got input of shape {input.shape}; add dimensions by view")
    (kh, kw), (height, width) = as_shape(kernel, "a pooling window"), input.shape[2:]
    if height % kh or width % kw:
        raise ValueError(
            f"pooling expected a height and width that the window {kh, kw} divides, got {height} and {width} (input {input.shape}); "
            f"cut the images to {height - height % kh} and {width - width % kw}, or take another window"
        )
    return kh, kw


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
    from minitorch.kernels.pool import MeanPool, takes

    if takes(input):
        return MeanPool.apply(input, check_windows(input, kernel))
    windows, _, _ = tile(input, kernel)
    return windows.mean(4, keepdim=False)


# The maximum


class Max(Function):
    """The largest element along one dimension, which keeps size 1. Of equal ones each gets the whole gradient."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, dim: int) -> Tensor:
        from minitorch.kernels.pool import largest_along, takes

        dim = input._dim(dim)
        largest = largest_along(input, dim) if takes(input) else reduce_extreme(input, dim, largest=True)
        ctx.save_for_backward(input, largest, dim)
        return largest

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        from minitorch.kernels.pool import takes, to_largest

        input, largest, dim = ctx.saved_values
        if takes(input):
            return to_largest(input, largest, dim, grad_output)
        return mask_select(input == largest, grad_output)


def max(input: Tensor, dim: Dims = None) -> Tensor:
    """The largest element along dim; NaN if there is one.

    Where several are equally large, each of them gets the whole gradient of the maximum: it is multiplied with `argmax`. So does the
    course have it; `Tensor.max` gives it to the first of them alone.

    Args:
        input: Of any shape and layout.
        dim: Along which dimension, or several; None for all elements.

    Returns:
        Shape of input with size 1 in dim; (1,) for all elements.

    Raises:
        IndexingError: If there is no such dimension.
        ValueError: If there are no elements along it.
    """
    return input._reduce(Max.apply, dim, keepdim=True)


def argmax(input: Tensor, dim: Dims = None) -> Tensor:
    """Where the largest element along dim stands, as a mask. Where several are equally large, at each of them; at NaN never.

    `Tensor.argmax` gives its number instead. No gradient flows through either.

    Args:
        input: Of any shape and layout.
        dim: Along which dimension, or several; None for all elements.

    Returns:
        Shape of input, bool.

    Raises:
        IndexingError: If there is no such dimension.
        ValueError: If there are no elements along it.
    """
    input = input.detach()
    largest = max(input, dim)
    return input == (largest if input.dims else largest.squeeze(0))


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
    from minitorch.kernels.pool import MaxPool, takes

    if takes(input):
        return MaxPool.apply(input, check_windows(input, kernel))
    windows, new_height, new_width = tile(input, kernel)
    return max(windows, 4).view(*input.shape[:2], new_height, new_width)


# Softmax


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
    from minitorch.kernels.pool import Softmax, takes

    dim = input._dim(dim)
    if takes(input) and dim == input.dims - 1:
        return Softmax.apply(input)
    powers = (input - max(input.detach(), dim)).exp()
    return powers / powers.sum(dim)


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
    from minitorch.kernels.dropout import Ln
    from minitorch.kernels.pool import LogSoftmax, takes

    dim = input._dim(dim)
    if takes(input) and dim == input.dims - 1:
        return LogSoftmax.apply(input)
    shifted = input - max(input.detach(), dim)
    return shifted - Ln.apply(shifted.exp().sum(dim))


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
    from minitorch.kernels.dropout import Keep

    if not 0 <= rate <= 1:
        raise ValueError(f"dropout expected a rate from 0 to 1, got {rate}; it is the share of the elements that become 0")
    if ignore:
        return input
    drawn = rand(input.shape, input.backend, dtype=promote_to_float(input.dtype))  # at least 0 and less than 1
    return Keep.apply(input, drawn >= rate)
