"""Stage 6 - Max and average pooling with stride and padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.creation import cat, full, stack
from minitorch.kernels.loop import accepts, flat
from minitorch.kernels.window_pool import COMMON, avg_backward, avg_forward, max_backward, max_forward
from minitorch.nn.module import Module
from minitorch.ops.checks import Sizes, as_pair, check_float_tensor
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

Pair = tuple[int, int]
"""Height and width."""


def max_pool2d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> Tensor:
    """Maximum over windows of an image.

    Args:
        input: Images, shape (B, C, H, W).
        kernel_size: Window size, an int or a pair (height, width).
        stride: Step between windows; kernel_size by default, so that windows do not overlap.
        padding: Rows and columns of -∞ on each side, at most half of kernel_size.

    Returns:
        Shape (B, C, ⌊(H + 2 · padding - kernel_size) / stride⌋ + 1, …). The gradient flows to the maximum, or to
            the first of several in row-major order; NaN counts as larger than any number.

    Raises:
        TypeError: If input is not a floating-point Tensor, or a size is not an integer.
        ValueError: If input has the wrong number of dimensions, a size is out of range, or no window fits.
    """
    geometry = PoolGeometry.of(input, kernel_size, stride, padding, "max_pool2d")
    if accepts(input):
        return MaxPool.apply(input, geometry)
    return Tensor.max(stack(geometry.window_elements(input, -math.inf)), 0, keepdim=False).clone()  # never a view of another result


def avg_pool2d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> Tensor:
    """Mean over windows of an image.

    Args:
        input: Images, shape (B, C, H, W).
        kernel_size: Window size, an int or a pair (height, width).
        stride: Step between windows; kernel_size by default, so that windows do not overlap.
        padding: Rows and columns of zeros on each side, at most half of kernel_size. They are included in the mean.

    Returns:
        Shape (B, C, ⌊(H + 2 · padding - kernel_size) / stride⌋ + 1, …).

    Raises:
        TypeError: If input is not a floating-point Tensor, or a size is not an integer.
        ValueError: If input has the wrong number of dimensions, a size is out of range, or no window fits.
    """
    geometry = PoolGeometry.of(input, kernel_size, stride, padding, "avg_pool2d")
    if accepts(input):
        return AvgPool.apply(input, geometry)
    first, *others = geometry.window_elements(input, 0.0)
    return sum(others, first) * (1 / math.prod(geometry.kernel))


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Average pooling to a given output size: window i of n covers rows ⌊i · H / n⌋ to ⌈(i + 1) · H / n⌉ - 1, and likewise columns.

    Args:
        input: Images, shape (B, C, H, W).
        output_size: Height and width of the output; None keeps the size of the input.

    Returns:
        Shape (B, C, *output_size).

    Raises:
        TypeError: If input is not a floating-point Tensor, or a size is not an integer.
        ValueError: If input has the wrong number of dimensions or is empty, or a size is less than 1.
    """
    op = "adaptive_avg_pool2d"
    _check_images(input, op)
    height, width = input.shape[2:]
    if not height * width:
        raise ValueError(f"{op} expected non-empty images, got input of shape {input.shape}")
    rows, columns = _output_size(op, output_size, (height, width))
    if not (height % rows or width % columns):
        return avg_pool2d(input, (height // rows, width // columns))
    return _adaptive_mean(_adaptive_mean(input, 2, rows), 3, columns)


def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Max pooling to a given output size; windows, shapes and errors as for `adaptive_avg_pool2d`.

    Raises:
        TypeError: If input is not a floating-point Tensor, or a size is not an integer.
        ValueError: If input has the wrong number of dimensions or is empty, or a size is less than 1.
    """
    op = "adaptive_max_pool2d"
    _check_images(input, op)
    own = (input.shape[2], input.shape[3])
    if not own[0] * own[1]:
        raise ValueError(f"{op} expected non-empty images, got input of shape {input.shape}")
    out = _output_size(op, output_size, own)
    if not (own[0] % out[0] or own[1] % out[1]):
        return max_pool2d(input, (own[0] // out[0], own[1] // out[1]))
    rows, columns = (
        [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)] for size, count in zip(own, out, strict=True)
    )
    cells = [Tensor.max(input[:, :, row, column].reshape(*input.shape[:2], -1), 2, keepdim=False) for row in rows for column in columns]
    return stack(cells, 2).reshape(*input.shape[:2], *out)


def _output_size(op: str, output_size: Any, own: Pair) -> Pair:
    """Return the output size, with None replaced by the size of the input."""
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    filled = [size if each is None else each for each, size in zip(given, own, strict=False)] if len(given) == 2 else given
    return as_pair(op, "output_size", tuple(filled), 1)


def _adaptive_mean(x: Tensor, dim: int, count: int) -> Tensor:
    """Return the means of count windows that cover a dimension."""
    length, before = x.shape[dim], (slice(None),) * dim
    windows = [slice(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
    return cat([Tensor.mean(x[(*before, window)], dim) for window in windows], dim)


def max_pool1d(input: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0) -> Tensor:
    """Maximum over windows of a sequence, shape (B, C, L); see `max_pool2d`.

    Raises:
        TypeError: If input is not floating-point.
        ValueError: If input has the wrong number of dimensions, or a size is out of range.
    """
    return max_pool2d(_as_images(input, "max_pool1d"), (1, kernel_size), None if stride is None else (1, stride), (0, padding)).squeeze(2)


def avg_pool1d(input: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0) -> Tensor:
    """Mean over windows of a sequence, shape (B, C, L); see `avg_pool2d`.

    Raises:
        TypeError: If input is not floating-point.
        ValueError: If input has the wrong number of dimensions, or a size is out of range.
    """
    return avg_pool2d(_as_images(input, "avg_pool1d"), (1, kernel_size), None if stride is None else (1, stride), (0, padding)).squeeze(2)


def _as_images(input: Any, op: str) -> Tensor:
    """View sequences as images with a single row."""
    if getattr(input, "dims", 0) != 3:
        raise ValueError(f"{op} expected input of shape (B, C, L), got {getattr(input, 'shape', input)}")
    return input.unsqueeze(2)


def _check_images(input: Any, op: str) -> None:
    """Check that input is a floating-point tensor of shape (B, C, H, W)."""
    if check_float_tensor(op, input).dims != 4:
        raise ValueError(f"{op} expected input of shape (B, C, H, W), got {input.shape}")


class MaxPool(Function):
    """`max_pool2d` by compiled kernels."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, geometry: PoolGeometry) -> Tensor:
        out = TensorData.empty((*input.shape[:2], *geometry.out), input.dtype)
        argmax = np.empty(out.size, np.int32)
        max_forward(geometry.has_special_kernel()).run(
            out._storage, (flat(input), argmax), geometry.kernel_args(), math.prod(input.shape[:2])
        )
        ctx.save_for_backward(input.shape, argmax, geometry)
        return input._like(out)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        shape, argmax, geometry = ctx.saved_values
        grad = TensorData.empty(shape, grad_output.dtype)
        max_backward().run(grad._storage, (flat(grad_output), argmax), geometry.kernel_args(), math.prod(shape[:2]))
        return grad_output._like(grad)


class AvgPool(Function):
    """`avg_pool2d` by compiled kernels."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, geometry: PoolGeometry) -> Tensor:
        out = TensorData.empty((*input.shape[:2], *geometry.out), input.dtype)
        avg_forward(geometry.has_special_kernel()).run(out._storage, (flat(input),), geometry.kernel_args(), math.prod(input.shape[:2]))
        ctx.save_for_backward(input.shape, geometry)
        return input._like(out)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        shape, geometry = ctx.saved_values
        grad = TensorData.empty(shape, grad_output.dtype)
        avg_backward(geometry.has_special_kernel()).run(grad._storage, (flat(grad_output),), geometry.kernel_args(), math.prod(shape[:2]))
        return grad_output._like(grad)


class PoolGeometry(NamedTuple):
    """Geometry of a pooling; every field is a pair (height, width).

    Attributes:
        size: Size of an image.
        out: Number of windows.
        kernel: Size of a window.
        step: Step between windows.
        padding: Padding on each side.
    """

    size: Pair
    out: Pair
    kernel: Pair
    step: Pair
    padding: Pair

    @staticmethod
    def of(input: Tensor, kernel_size: Sizes, stride: Sizes | None, padding: Sizes, op: str) -> PoolGeometry:
        """Check the arguments of a pooling function and return the geometry.

        Raises:
            TypeError: If input is not a floating-point Tensor, or a size is not an integer.
            ValueError: If input has the wrong number of dimensions, a size is out of range, or no window fits.
        """
        _check_images(input, op)
        kernel, step, pad = check_window_sizes(op, kernel_size, stride, padding)
        height, width = input.shape[2:]
        slack = height + 2 * pad[0] - kernel[0], width + 2 * pad[1] - kernel[1]
        if min(slack) < 0:
            raise ValueError(
                f"{op} expected images no smaller than a window of {kernel} with padding {pad}, got input of shape {input.shape}; "
                "take smaller windows"
            )
        return PoolGeometry((height, width), (slack[0] // step[0] + 1, slack[1] // step[1] + 1), kernel, step, pad)

    def kernel_args(self) -> tuple[int, ...]:
        """Return the sizes in the order that the kernels expect."""
        return (*self.size, *self.out, *self.padding, *self.kernel, *self.step)

    def has_special_kernel(self) -> bool:
        """Return whether a specialized kernel exists for this geometry."""
        return (self.kernel, self.step) == COMMON

    def window_elements(self, input: Tensor, fill: float) -> list[Tensor]:
        """Return, for every position in a window in row-major order, the elements of all windows at it, shape (B, C, *out).

        Args:
            input: The images.
            fill: Padding value.
        """
        x = input
        for dim, width in zip((2, 3), self.padding, strict=True):
            if width:
                border = full((*x.shape[:dim], width, *x.shape[dim + 1 :]), fill, x.backend, dtype=x.dtype)
                x = cat([border, x, border], dim)
        rows, columns = (
            [slice(i, i + (count - 1) * step + 1, step) for i in range(length)]
            for count, step, length in zip(self.out, self.step, self.kernel, strict=True)
        )
        return [x[:, :, row, column] for row in rows for column in columns]


def check_window_sizes(op: str, kernel_size: Sizes, stride: Sizes | None, padding: Sizes) -> tuple[Pair, Pair, Pair]:
    """Check and return kernel size, stride and padding as pairs (height, width).

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is out of range.
    """
    kernel = as_pair(op, "kernel_size", kernel_size, 1)
    pad = as_pair(op, "padding", padding, 0)
    if 2 * pad[0] > kernel[0] or 2 * pad[1] > kernel[1]:
        raise ValueError(f"{op} expected padding of at most half of kernel_size {kernel}, got {pad}; windows may not lie in the padding")
    return kernel, kernel if stride is None else as_pair(op, "stride", stride, 1), pad


# Layers


class _Pool(Module):
    """Base class of MaxPool2d and AvgPool2d.

    Args:
        kernel_size: Window size, an int or a pair (height, width).
        stride: Step between windows; kernel_size by default, so that windows do not overlap.
        padding: Padding on each side, at most half of kernel_size.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is out of range.
    """

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        check_window_sizes(type(self).__name__, kernel_size, stride, padding)
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        return f"kernel_size={self.kernel_size}, stride={self.kernel_size if self.stride is None else self.stride}, padding={self.padding}"


class MaxPool2d(_Pool):
    """Max pooling layer; see `max_pool2d`. Invalid arguments raise when the layer is created."""

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, H, W) to (B, C, H', W')."""
        return max_pool2d(input, self.kernel_size, self.stride, self.padding)


class AvgPool2d(_Pool):
    """Average pooling layer; see `avg_pool2d`. Invalid arguments raise when the layer is created."""

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, H, W) to (B, C, H', W')."""
        return avg_pool2d(input, self.kernel_size, self.stride, self.padding)


class AdaptiveAvgPool2d(Module):
    """Average pooling to a given output size; see `adaptive_avg_pool2d`.

    Args:
        output_size: Height and width of the output; None keeps the size of the input.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is less than 1.
    """

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        _output_size("AdaptiveAvgPool2d", output_size, (1, 1))
        self.output_size = output_size

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        return f"output_size={self.output_size}"

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, H, W) to (B, C, *output_size)."""
        return adaptive_avg_pool2d(input, self.output_size)
