"""Stage 7 - Pooling of sequences and images: maxima with their positions and their inverse, and means."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.creation import cat, stack
from minitorch.core.dtypes import int64
from minitorch.core.errors import DtypeError
from minitorch.core.recording import constant
from minitorch.kernels.loop import accepts, flat
from minitorch.kernels.window_pool import COMMON, avg_backward, avg_forward, max_backward, max_forward
from minitorch.nn.module import Module
from minitorch.nn.options import layer
from minitorch.nn.padding import pad
from minitorch.ops.checks import Sizes, as_sizes, check_float_tensor
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.torch.saved import needing, saves

Pair = tuple[int, int]
"""Height and width."""

AXES = ("L", "H, W")
"""The spatial dimensions of sequences and images."""


class PoolGeometry(NamedTuple):
    """Geometry of a pooling; every field is a pair (height, width).

    Attributes:
        size: Size of an image.
        out: Number of windows.
        kernel: Size of a window.
        step: Step between windows.
        padding: Padding on each side.
        dilation: Step between the elements of a window.
    """

    size: Pair
    out: Pair
    kernel: Pair
    step: Pair
    padding: Pair
    dilation: Pair = (1, 1)

    @staticmethod
    def of(
        op: str, images: Tensor, dims: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1, ceil_mode: bool = False
    ) -> PoolGeometry:
        """Check the arguments of a pooling function and return the geometry.

        Args:
            op: Name of the function, for the error message.
            images: Shape (B, C, H, W); sequences are images with one row.
            dims: 1 for sequences, 2 for images.
            kernel_size: Window size.
            stride: Step between windows; None for kernel_size.
            padding: Padding on each side.
            dilation: Step between the elements of a window.
            ceil_mode: Whether the last windows may reach past the end; they begin before it.

        Raises:
            TypeError: If a size is not an integer.
            ValueError: If a size is out of range, or no window fits.
        """
        sizes = check_window_sizes(op, dims, kernel_size, stride, padding, dilation)
        if dims == 1:
            sizes = [(own, *size) for own, size in zip((1, 1, 0, 1), sizes, strict=True)]
        kernel, step, border, gaps = sizes
        size, counts = images.shape[2:], []
        for length, k, s, p, gap in zip(size, *sizes, strict=True):
            slack = length + 2 * p - gap * (k - 1) - 1
            count = (-(-slack // s) if ceil_mode else slack // s) + 1
            counts.append(count - 1 if ceil_mode and (count - 1) * s >= length + p else count)
        if min(counts) < 1:
            raise ValueError(
                f"{op} expected input no smaller than a window of {kernel[2 - dims :]} with padding {border[2 - dims :]}, "
                f"got size {tuple(size[2 - dims :])}; take smaller windows"
            )
        return PoolGeometry(*map(tuple, (size, counts, kernel, step, border, gaps)))  # type: ignore[arg-type]  # pairs

    def kernel_args(self) -> tuple[int, ...]:
        """Return the sizes in the order that the kernels expect."""
        return (*self.size, *self.out, *self.padding, *self.kernel, *self.step)

    def has_special_kernel(self) -> bool:
        """Return whether a specialized kernel exists for this geometry."""
        return (self.kernel, self.step) == COMMON

    def window_elements(self, images: Tensor, fill: float) -> list[Tensor]:
        """Return, for every position in a window in row-major order, the elements of all windows at it, shape (B, C, *out).

        Args:
            images: Shape (B, C, H, W).
            fill: Padding value.
        """
        taps, ends = [], []
        for size, count, k, s, p, gap in zip(*self, strict=True):
            taps.append([slice(i * gap, i * gap + (count - 1) * s + 1, s) for i in range(k)])
            ends.append(max((count - 1) * s + gap * (k - 1) + 1 - size - p, 0))
        padded = pad(images, (self.padding[1], ends[1], self.padding[0], ends[0]), "constant", fill)
        return [padded[:, :, row, column] for row in taps[0] for column in taps[1]]

    def positions(self, numbers: np.ndarray) -> np.ndarray:
        """Return the positions in a flattened image of the elements with these numbers in their windows, both of shape (B, C, *out).

        If all elements of a window are -∞, the first one may lie in the padding; then it is the first one within the image.
        """
        found = []
        for dim, number in enumerate(np.divmod(numbers, self.kernel[1])):
            starts = np.arange(self.out[dim]) * self.step[dim] - self.padding[dim]
            place = number * self.dilation[dim] + starts.reshape(-1, *[1] * (1 - dim))
            found.append(np.where(place < 0, place % self.dilation[dim], place))
        return found[0] * self.size[1] + found[1]

    def factors(self, ceil_mode: bool, count_include_pad: bool, divisor: int | None) -> np.ndarray | None:
        """Return the factors by which means differ from sums divided by the number of elements of a window; None if all are 1."""
        if divisor is not None:
            return np.array(math.prod(self.kernel) / divisor).reshape(1, 1)
        if not ceil_mode and (count_include_pad or not any(self.padding)):
            return None
        shares = []
        for size, count, k, s, p, _ in zip(*self, strict=True):
            starts, counted = np.arange(count) * s - p, p if count_include_pad else 0
            shares.append(k / (np.minimum(starts + k, size + counted) - np.maximum(starts, -counted)))
        return np.multiply.outer(*shares)


def check_window_sizes(op: str, dims: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1) -> list[tuple[int, ...]]:
    """Check and return kernel size, stride, padding and dilation with one integer for each of dims dimensions.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is out of range.
    """
    kernel = as_sizes(op, "kernel_size", kernel_size, 1, dims)
    border = as_sizes(op, "padding", padding, 0, dims)
    if any(2 * p > k for p, k in zip(border, kernel, strict=True)):
        raise ValueError(f"{op} expected padding of at most half of kernel_size {kernel}, got {border}; windows may not lie in the padding")
    step = kernel if stride is None else as_sizes(op, "stride", stride, 1, dims)
    return [kernel, step, border, as_sizes(op, "dilation", dilation, 1, dims)]


def as_images(op: str, input: Any, dims: int) -> Tensor:
    """View sequences (dims = 1) or images (dims = 2), with or without a batch dimension, as images (B, C, H, W).

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If it has another number of dimensions.
    """
    given = check_float_tensor(op, input).dims
    if given not in (dims + 1, dims + 2):
        raise ValueError(f"{op} expected input of shape (B, C, {AXES[dims - 1]}) or (C, {AXES[dims - 1]}), got {input.shape}")
    batch = input if given == dims + 2 else input.unsqueeze(0)
    return batch if dims == 2 else batch.unsqueeze(2)


def restore(out: Any, input: Tensor, dims: int) -> Any:
    """The inverse of `as_images` for a result, or for each of a pair, of an input."""
    if isinstance(out, tuple):
        return tuple([restore(each, input, dims) for each in out])
    out = out if dims == 2 else out.squeeze(2)
    return out if input.dims == dims + 2 else out.squeeze(0)


# Maximum


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


def max_pool(
    op: str, dims: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, return_indices: bool
) -> Any:
    """Max pooling of sequences or images; see `max_pool2d`."""
    images = as_images(op, input, dims)
    geometry = PoolGeometry.of(op, images, dims, kernel_size, stride, padding, dilation, ceil_mode)
    if accepts(images) and geometry.dilation == (1, 1) and not return_indices:
        return restore(MaxPool.apply(images, geometry), input, dims)
    elements = stack(geometry.window_elements(images, -math.inf))
    values = Tensor.max(elements, 0, keepdim=False).clone()  # never a view of another result
    if not return_indices:
        return restore(values, input, dims)
    numbers = Tensor.argmax(elements.detach(), 0, keepdim=False).to_numpy().astype(np.int64)
    return restore((values, as_indices(geometry.positions(numbers), input)), input, dims)


def as_indices(positions: np.ndarray, like: Tensor) -> Tensor:
    """Positions as a tensor of int64 of the class and the backend of another."""
    return like._like(TensorData(np.ascontiguousarray(positions, np.int64).reshape(-1), positions.shape))


@saves(0)
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of an image.

    Args:
        input: Images, shape (B, C, H, W), or a single one, shape (C, H, W).
        kernel_size: Window size, an int or a pair (height, width).
        stride: Step between windows; kernel_size by default, so that windows do not overlap.
        padding: Rows and columns of -∞ on each side, at most half of kernel_size.
        dilation: Step between the elements of a window.
        ceil_mode: Whether the last windows may reach past the end; they begin before it.
        return_indices: Whether to return the positions of the maxima, too.

    Returns:
        Shape (B, C, ⌊(H + 2 · padding - dilation · (kernel_size - 1) - 1) / stride⌋ + 1, …), rounded up with ceil_mode. The gradient
            flows to the maximum, or to the first of several in row-major order; NaN counts as larger than any number. With
            return_indices, a pair with the positions in the flattened image, int64.

    Raises:
        TypeError: If input is not a floating-point Tensor, or a size is not an integer.
        ValueError: If input has the wrong number of dimensions, a size is out of range, or no window fits.
    """
    return max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@saves(0)
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of a sequence, shape (B, C, L) or (C, L); for the arguments and errors see `max_pool2d`."""
    return max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@saves(1)
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Images of zeros with the maxima at their positions: a partial inverse of max pooling.

    Args:
        input: The maxima, shape (B, C, H', W') or (C, H', W').
        indices: Their positions, as from `max_pool2d` with return_indices; of several for one element, the last one counts.
        kernel_size: Window size of the pooling.
        stride: Its step; kernel_size by default.
        padding: Its padding.
        output_size: Size of the result, whose last two numbers count; the smallest one that the pooling shrinks to input by default.

    Returns:
        Shape (B, C, H, W) or (C, H, W).

    Raises:
        TypeError: If input is not a floating-point Tensor, or a size is not an integer.
        ValueError: If the shapes differ, or a position or size is out of range.
    """
    op = "max_unpool2d"
    maxima = as_images(op, input, 2)
    if indices.shape != input.shape:
        raise ValueError(f"{op} expected input and indices of the same shape, got {input.shape} and {indices.shape}")
    if indices.dtype is not int64:
        raise DtypeError(f"{op} expected indices of int64, got {indices.dtype.name}; convert them: indices.to(int64)")
    kernel, step, border, _ = check_window_sizes(op, 2, kernel_size, stride, padding)
    B, C, H, W = maxima.shape
    height, width = ((n - 1) * s - 2 * p + k for n, s, p, k in zip((H, W), step, border, kernel, strict=True))
    if output_size is not None:
        given = tuple(output_size)[-2:]
        if any(abs(n - own) >= s for n, own, s in zip(given, (height, width), step, strict=True)):
            raise ValueError(f"{op} expected output_size less than stride {step} away from {(height, width)}, got {given}")
        height, width = given
    places = indices.to_numpy().reshape(B * C, H * W)
    if places.size and not (places.min() >= 0 and places.max() < height * width):
        raise ValueError(f"{op} expected positions from 0 to {height * width - 1}, got {places.min()} to {places.max()}")
    source = np.full((B * C, height * width), maxima.numel())  # that of the zero
    source[np.arange(B * C)[:, None], places] = np.arange(maxima.numel()).reshape(places.shape)
    return restore(cat([maxima.reshape(-1), maxima.zeros((1,))])[source].reshape(B, C, height, width), input, 2)


# Mean


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


def check_divisor(op: str, divisor_override: int | None) -> None:
    """Raise ValueError for a divisor of 0."""
    if divisor_override == 0:
        raise ValueError(f"{op} expected divisor_override other than 0, got 0; leave it out to divide by the number of elements")


def avg_pool(
    op: str,
    dims: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Tensor:
    """Average pooling of sequences or images; see `avg_pool2d`."""
    images = as_images(op, input, dims)
    geometry = PoolGeometry.of(op, images, dims, kernel_size, stride, padding, 1, ceil_mode)
    check_divisor(op, divisor_override)
    if accepts(images):
        means = AvgPool.apply(images, geometry)
    else:
        first, *others = geometry.window_elements(images, 0.0)
        means = sum(others, first) * (1 / math.prod(geometry.kernel))
    factors = geometry.factors(ceil_mode, count_include_pad, divisor_override)
    if factors is not None:
        means = means * images._like(TensorData(constant(factors.astype(images.dtype).reshape(-1)), factors.shape))
    return restore(means, input, dims)


@saves(0)
def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean over windows of an image.

    Args:
        input: Images, shape (B, C, H, W), or a single one, shape (C, H, W).
        kernel_size: See `max_pool2d` for this, stride and the errors.
        padding: Rows and columns of zeros on each side, at most half of kernel_size.
        ceil_mode: Whether the last windows may reach past the end; what lies beyond the padding does not count.
        count_include_pad: Whether the padding counts in the mean.
        divisor_override: What the sums are divided by, in place of the number of elements that count.

    Returns:
        Shape (B, C, ⌊(H + 2 · padding - kernel_size) / stride⌋ + 1, …), rounded up with ceil_mode.
    """
    return avg_pool("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@saves(0)
def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean over windows of a sequence, shape (B, C, L) or (C, L); for the arguments and errors see `avg_pool2d`."""
    return avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


# Windows that cover the input


def output_sizes(op: str, output_size: Any, own: Sequence[int]) -> tuple[int, ...]:
    """Return the output size of an adaptive pooling, with None replaced by the size of the input.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If the input is empty, a size is less than 1, or their number is wrong.
    """
    if not math.prod(own):
        raise ValueError(f"{op} expected input with elements in every channel, got size {tuple(own)}")
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * len(own)
    filled = tuple([size if each is None else each for each, size in zip(given, own, strict=False)])
    return as_sizes(op, "output_size", filled if len(given) == len(own) else given, 1, len(own))


def adaptive_windows(size: int, count: int) -> list[slice]:
    """Return the windows of an adaptive pooling along a dimension: window i of n covers ⌊i · size / n⌋ to ⌈(i + 1) · size / n⌉ - 1."""
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive_avg_pool(op: str, dims: int, input: Tensor, output_size: Any) -> Tensor:
    """Adaptive average pooling of sequences or images; see `adaptive_avg_pool2d`."""
    x = as_images(op, input, dims)
    own = x.shape[2:]
    out = (1,) * (2 - dims) + output_sizes(op, output_size, own[2 - dims :])
    if not any(size % count for size, count in zip(own, out, strict=True)):
        x = avg_pool(op, 2, x, tuple([size // count for size, count in zip(own, out, strict=True)]), None, 0, False, True)
    else:
        for dim, (size, count) in enumerate(zip(own, out, strict=True), 2):
            x = adaptive_mean(x, dim, count) if size != count else x
    result = restore(x, input, dims)
    return result if set(out) == {1} else needing(result, input)  # one mean needs nothing


def adaptive_mean(x: Tensor, dim: int, count: int) -> Tensor:
    """Return the means of count windows that cover a dimension."""
    before = (slice(None),) * dim
    return cat([Tensor.mean(x[(*before, window)], dim, keepdim=True) for window in adaptive_windows(x.shape[dim], count)], dim)


def adaptive_max_pool(op: str, dims: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    """Adaptive max pooling of sequences or images; see `adaptive_max_pool2d`."""
    x = as_images(op, input, dims)
    height, width = x.shape[2:]
    rows, columns = (1,) * (2 - dims) + output_sizes(op, output_size, x.shape[4 - dims :])
    if not (height % rows or width % columns):
        return restore(max_pool(op, 2, x, (height // rows, width // columns), None, 0, 1, False, return_indices), input, dims)
    x, right = _adaptive_maxima(x, 3, columns, return_indices)
    x, down = _adaptive_maxima(x, 2, rows, return_indices)
    if right is None or down is None:
        return restore(x, input, dims)
    return restore((x, as_indices(down * width + np.take_along_axis(right, down, 2), input)), input, dims)


def _adaptive_maxima(x: Tensor, dim: int, count: int, return_indices: bool) -> tuple[Tensor, np.ndarray | None]:
    """Return the maxima of count windows that cover a dimension and, with return_indices, their positions along it."""
    before = (slice(None),) * dim
    windows = [(window.start, x[(*before, window)]) for window in adaptive_windows(x.shape[dim], count)]
    maxima = cat([Tensor.max(each, dim, keepdim=True) for _, each in windows], dim)
    if not return_indices:
        return maxima, None
    found = [start + Tensor.argmax(each.detach(), dim, keepdim=True).to_numpy().astype(np.int64) for start, each in windows]
    return maxima, np.concatenate(found, dim)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Average pooling to a given output size: window i of n covers rows ⌊i · H / n⌋ to ⌈(i + 1) · H / n⌉ - 1, and likewise columns.

    Args:
        input: Images, shape (B, C, H, W), or a single one, shape (C, H, W).
        output_size: Height and width of the output; None keeps the size of the input.

    Returns:
        Shape (B, C, *output_size).

    Raises:
        TypeError: If input is not a floating-point Tensor, or a size is not an integer.
        ValueError: If input has the wrong number of dimensions or is empty, or a size is less than 1.
    """
    return adaptive_avg_pool("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Average pooling of sequences, shape (B, C, L) or (C, L), to a given length; see `adaptive_avg_pool2d`."""
    return adaptive_avg_pool("adaptive_avg_pool1d", 1, input, output_size)


@saves(0)
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Any:
    """Max pooling to a given output size; windows, shapes and errors as for `adaptive_avg_pool2d`.

    With return_indices, a pair with the positions of the maxima in the flattened image, int64.
    """
    return adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size, return_indices)


@saves(0)
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Any:
    """Max pooling of sequences, shape (B, C, L) or (C, L), to a given length; see `adaptive_max_pool2d`."""
    return adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size, return_indices)


# Layers


class _Pool(Module):
    """Base class of the pooling layers.

    Attributes:
        dims: Number of spatial dimensions.
        function: The function that the layer calls.
    """

    dims: ClassVar[int]
    function: ClassVar[Callable[..., Any]]

    def _set_sizes(self, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1) -> None:
        """Check and set the sizes."""
        check_window_sizes(type(self).__name__, self.dims, kernel_size, stride, padding, dilation)
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPoolNd(_Pool):
    """Base class of the max pooling layers. Invalid sizes raise when the layer is created.

    For the arguments see `max_pool2d`.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is out of range.
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self._set_sizes(kernel_size, stride, padding, dilation)
        self.dilation, self.return_indices, self.ceil_mode = dilation, return_indices, ceil_mode

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, dilation={self.dilation}, ceil_mode={self.ceil_mode}"

    def forward(self, input: Tensor) -> Any:
        """Return the maxima, and with return_indices their positions."""
        sizes = self.kernel_size, self.stride, self.padding, self.dilation
        return self.function(input, *sizes, self.ceil_mode, self.return_indices)


class AvgPoolNd(_Pool):
    """Base class of the average pooling layers. Invalid sizes raise when the layer is created.

    For the arguments see `avg_pool2d`.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is out of range.
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self._set_sizes(kernel_size, stride, padding)
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        sizes = self.kernel_size, self.stride, self.padding
        return self.function(input, *sizes, self.ceil_mode, self.count_include_pad, self.divisor_override)


class MaxPool1d(MaxPoolNd):
    """Maximum over windows of sequences. See `max_pool1d`; for the arguments see `MaxPoolNd`."""

    dims, function = 1, staticmethod(max_pool1d)


class MaxPool2d(MaxPoolNd):
    """Maximum over windows of images. See `max_pool2d`; for the arguments see `MaxPoolNd`."""

    dims, function = 2, staticmethod(max_pool2d)


class AvgPool2d(AvgPoolNd):
    """Mean over windows of images. See `avg_pool2d`; for the arguments see `AvgPoolNd`."""

    dims, function = 2, staticmethod(avg_pool2d)


class AvgPool1d(AvgPoolNd):
    """Mean over windows of sequences. See `avg_pool1d`; for the arguments see `AvgPoolNd`."""

    dims, function = 1, staticmethod(avg_pool1d)

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False, count_include_pad: bool = True
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.kernel_size, self.stride, self.padding, _ = check_window_sizes("AvgPool1d", 1, kernel_size, stride, padding)

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, L) to (B, C, L')."""
        return avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class MaxUnpool2d(_Pool):
    """Images of zeros with maxima at their positions; for the arguments see `max_unpool2d`.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is out of range.
    """

    dims = 2

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding, _ = check_window_sizes("MaxUnpool2d", 2, kernel_size, stride, padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Map shape (B, C, H', W') to (B, C, H, W)."""
        return max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


def adaptive_layer(name: str, dims: int, fn: Callable[..., Any]) -> Any:
    """Make a layer of adaptive pooling of its function."""

    def check(output_size: Any, return_indices: bool = False) -> None:
        output_sizes(name, output_size, (1,) * dims)

    return layer(name, fn, shown="output_size={output_size}", check=check, output_size=inspect.Parameter.empty)


AdaptiveAvgPool1d = adaptive_layer("AdaptiveAvgPool1d", 1, adaptive_avg_pool1d)
AdaptiveAvgPool2d = adaptive_layer("AdaptiveAvgPool2d", 2, adaptive_avg_pool2d)
AdaptiveMaxPool1d = adaptive_layer("AdaptiveMaxPool1d", 1, adaptive_max_pool1d)
AdaptiveMaxPool2d = adaptive_layer("AdaptiveMaxPool2d", 2, adaptive_max_pool2d)
