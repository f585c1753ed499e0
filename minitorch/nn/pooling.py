"""Stage 5 - Pooling with stride and padding: the largest element or the mean of each window of an image or a sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.creation import cat, full, stack
from minitorch.kernels.losses import fusible
from minitorch.kernels.pool import flat
from minitorch.kernels.window_pool import COMMON, avg_backward, avg_forward, max_backward, max_forward
from minitorch.nn.module import Module
from minitorch.nn.sizes import Sizes, as_pair, check_float_tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def max_pool2d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> Tensor:
    """The largest element of each window.

    Args:
        input: Images, shape (B, C, H, W).
        kernel_size: Height and width of a window.
        stride: Steps between windows; left out: kernel_size, so that they do not overlap.
        padding: Rows and columns on each side that windows may reach over the edge, at most half of kernel_size. They never win.

    Returns:
        Shape (B, C, ⌊(H + 2 · padding - kernel_size) / stride⌋ + 1, …). The gradient flows to the largest element, the first of several,
        row by row; NaN counts as larger than any number.

    Raises:
        TypeError: If input is no Tensor of floats, or a size is no whole number.
        ValueError: If input has another rank, a size is out of range, or no window fits.
    """
    sizes = Windows.of(input, kernel_size, stride, padding, "max_pool2d")
    if fusible(input):
        return MaxPool.apply(input, sizes)
    return stack(sizes.pieces(input, -math.inf)).max(0, keepdim=False)


def avg_pool2d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> Tensor:
    """The mean of each window.

    Args:
        input: Images, shape (B, C, H, W).
        kernel_size: Height and width of a window.
        stride: Steps between windows; left out: kernel_size, so that they do not overlap.
        padding: Rows and columns of zeros on each side, at most half of kernel_size. They count in the mean.

    Returns:
        Shape (B, C, ⌊(H + 2 · padding - kernel_size) / stride⌋ + 1, …).

    Raises:
        TypeError: If input is no Tensor of floats, or a size is no whole number.
        ValueError: If input has another rank, a size is out of range, or no window fits.
    """
    sizes = Windows.of(input, kernel_size, stride, padding, "avg_pool2d")
    if fusible(input):
        return AvgPool.apply(input, sizes)
    first, *others = sizes.pieces(input, 0.0)
    return sum(others, first) * (1 / math.prod(sizes.kernel))


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The mean of each of so many windows that they fill the images: window i of n begins at ⌊i · H / n⌋ and ends before ⌈(i + 1) · H / n⌉.

    Args:
        input: Images, shape (B, C, H, W).
        output_size: How many windows there are in height and in width; None for as many as there are rows or columns.

    Returns:
        Shape (B, C, *output_size).

    Raises:
        TypeError: If input is no Tensor of floats, or a size is no whole number.
        ValueError: If input has another rank or empty images, or a size is less than 1.
    """
    op = "adaptive_avg_pool2d"
    _check_images(input, op)
    height, width = input.shape[2:]
    if not height * width:
        raise ValueError(f"{op} expected images with rows and columns, got input of shape {input.shape}")
    rows, columns = _counts(op, output_size, (height, width))
    if not (height % rows or width % columns):
        return avg_pool2d(input, (height // rows, width // columns))
    return _means(_means(input, 2, rows), 3, columns)


def _counts(op: str, output_size: Any, own: tuple[int, int]) -> tuple[int, int]:
    """How many windows there are in height and in width, in images of their own size."""
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    filled = [size if each is None else each for each, size in zip(given, own, strict=False)] if len(given) == 2 else given
    return as_pair(op, "output_size", tuple(filled), 1)


def _means(x: Tensor, dim: int, count: int) -> Tensor:
    """The means of so many windows that they fill a dimension."""
    length, before = x.shape[dim], (slice(None),) * dim
    windows = [slice(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
    return cat([x[(*before, window)].mean(dim) for window in windows], dim)


def max_pool1d(input: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0) -> Tensor:
    """`max_pool2d` along sequences, shape (B, C, L).

    Raises:
        TypeError: If input holds no floats.
        ValueError: If input has other dimensions, or a size does not fit.
    """
    return max_pool2d(_rows(input, "max_pool1d"), (1, kernel_size), None if stride is None else (1, stride), (0, padding)).squeeze(2)


def avg_pool1d(input: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0) -> Tensor:
    """`avg_pool2d` along sequences, shape (B, C, L).

    Raises:
        TypeError: If input holds no floats.
        ValueError: If input has other dimensions, or a size does not fit.
    """
    return avg_pool2d(_rows(input, "avg_pool1d"), (1, kernel_size), None if stride is None else (1, stride), (0, padding)).squeeze(2)


def _rows(input: Any, op: str) -> Tensor:
    """Sequences as images of one row."""
    if getattr(input, "dims", 0) != 3:
        raise ValueError(f"{op} expected input of shape (B, C, L), got {getattr(input, 'shape', input)}")
    return input.unsqueeze(2)


def _check_images(input: Any, op: str) -> None:
    """That the input is a tensor of images."""
    if check_float_tensor(op, input).dims != 4:
        raise ValueError(f"{op} expected input of shape (B, C, H, W), got {input.shape}")


class MaxPool(Function):
    """`max_pool2d` on the compiled backend."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, sizes: Windows) -> Tensor:
        out = TensorData.empty((*input.shape[:2], *sizes.out), input.dtype)
        places = np.empty(out.size, np.int32)
        max_forward(sizes.are_common()).run(out._storage, (flat(input), places), sizes.numbers(), math.prod(input.shape[:2]))
        ctx.save_for_backward(input.shape, places, sizes)
        return input._like(out)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        shape, places, sizes = ctx.saved_values
        grad = TensorData.empty(shape, grad_output.dtype)
        max_backward().run(grad._storage, (flat(grad_output), places), sizes.numbers(), math.prod(shape[:2]))
        return grad_output._like(grad)


class AvgPool(Function):
    """`avg_pool2d` on the compiled backend."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, sizes: Windows) -> Tensor:
        out = TensorData.empty((*input.shape[:2], *sizes.out), input.dtype)
        avg_forward(sizes.are_common()).run(out._storage, (flat(input),), sizes.numbers(), math.prod(input.shape[:2]))
        ctx.save_for_backward(input.shape, sizes)
        return input._like(out)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        shape, sizes = ctx.saved_values
        grad = TensorData.empty(shape, grad_output.dtype)
        avg_backward(sizes.are_common()).run(grad._storage, (flat(grad_output),), sizes.numbers(), math.prod(shape[:2]))
        return grad_output._like(grad)


class Windows(NamedTuple):
    """Where the windows of an image lie; each is a pair, of height and width.

    Attributes:
        size: Of an image.
        out: How many windows.
        kernel: Of a window.
        step: From one to the next.
        padding: How far they may reach over each edge.
    """

    size: tuple[int, int]
    out: tuple[int, int]
    kernel: tuple[int, int]
    step: tuple[int, int]
    padding: tuple[int, int]

    @staticmethod
    def of(input: Tensor, kernel_size: Sizes, stride: Sizes | None, padding: Sizes, op: str) -> Windows:
        """Check what a pooling was given.

        Raises:
            TypeError: If input is no Tensor of floats, or a size is no whole number.
            ValueError: If input has another rank, a size is out of range, or no window fits.
        """
        _check_images(input, op)
        kernel, step, edge = steps(op, kernel_size, stride, padding)
        height, width = input.shape[2:]
        room = height + 2 * edge[0] - kernel[0], width + 2 * edge[1] - kernel[1]
        if min(room) < 0:
            raise ValueError(
                f"{op} expected images that hold a window of {kernel} with padding {edge}, got input of shape {input.shape}; "
                "take smaller windows"
            )
        return Windows((height, width), (room[0] // step[0] + 1, room[1] // step[1] + 1), kernel, step, edge)

    def numbers(self) -> tuple[int, ...]:
        """As the loops take them."""
        return (*self.size, *self.out, *self.padding, *self.kernel, *self.step)

    def are_common(self) -> bool:
        """Whether there are loops made for them."""
        return (self.kernel, self.step) == COMMON

    def pieces(self, input: Tensor, edge: float) -> list[Tensor]:
        """For every place in a window, row by row, the elements of all windows there, shape (B, C, *out).

        Args:
            input: The images.
            edge: What stands beyond their edges.
        """
        x = input
        for dim, width in zip((2, 3), self.padding, strict=True):
            if width:
                border = full((*x.shape[:dim], width, *x.shape[dim + 1 :]), edge, x.backend, dtype=x.dtype)
                x = cat([border, x, border], dim)
        rows, columns = (
            [slice(i, i + (count - 1) * step + 1, step) for i in range(length)]
            for count, step, length in zip(self.out, self.step, self.kernel, strict=True)
        )
        return [x[:, :, row, column] for row in rows for column in columns]


def steps(op: str, kernel_size: Sizes, stride: Sizes | None, padding: Sizes) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Kernel, stride and padding, each for height and for width.

    Raises:
        TypeError: If a size is no whole number.
        ValueError: If one is out of range.
    """
    kernel = as_pair(op, "kernel_size", kernel_size, 1)
    edge = as_pair(op, "padding", padding, 0)
    if 2 * edge[0] > kernel[0] or 2 * edge[1] > kernel[1]:
        raise ValueError(f"{op} expected padding of at most half of kernel_size {kernel}, got {edge}; else a window would be empty")
    return kernel, kernel if stride is None else as_pair(op, "stride", stride, 1), edge


# The layers


class _Pool(Module):
    """What MaxPool2d and AvgPool2d share.

    Args:
        kernel_size: Height and width of a window, here as below one number for both, or two.
        stride: Steps between windows; left out: kernel_size, so that they do not overlap.
        padding: Rows and columns on each side that windows may reach over the edge, at most half of kernel_size.

    Raises:
        TypeError: If a size is no whole number.
        ValueError: If one is out of range.
    """

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        steps(type(self).__name__, kernel_size, stride, padding)
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.kernel_size if self.stride is None else self.stride}, padding={self.padding}"


class MaxPool2d(_Pool):
    """`max_pool2d`, the largest element of each window. Takes the settings of that, and refuses at once what does not fit."""

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, C, H, W) to (B, C, H', W')."""
        return max_pool2d(input, self.kernel_size, self.stride, self.padding)


class AvgPool2d(_Pool):
    """`avg_pool2d`, the mean of each window. Takes the settings of that, and refuses at once what does not fit."""

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, C, H, W) to (B, C, H', W')."""
        return avg_pool2d(input, self.kernel_size, self.stride, self.padding)


class AdaptiveAvgPool2d(Module):
    """`adaptive_avg_pool2d`, the mean of each of so many windows that they fill the images.

    Args:
        output_size: How many windows in height and in width; None for as many as there are rows or columns.

    Raises:
        TypeError: If one is no whole number.
        ValueError: If one is less than 1.
    """

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        _counts("AdaptiveAvgPool2d", output_size, (1, 1))
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"output_size={self.output_size}"

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, C, H, W) to (B, C, *output_size)."""
        return adaptive_avg_pool2d(input, self.output_size)
