"""Stage 7 - Convolution with bias, stride, padding, dilation and groups.

Two algorithms compute it: the loops of `kernels.conv`, and one matrix product over all windows (im2col). The loops vectorize along the
width of the output, so the matrix product is faster for narrow images with many channels.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from minitorch import fast_conv
from minitorch.autodiff import Context
from minitorch.core.creation import cat
from minitorch.core.dtypes import compute_dtype, promote_to_float
from minitorch.core.gradients import sum_to_shape
from minitorch.core.kernel import find_kernel
from minitorch.core.recording import call, constant
from minitorch.kernels.conv import Axis, Channels, Operand, axis, correlate
from minitorch.kernels.conv_matmul import accumulate_weight_gradient
from minitorch.kernels.loop import accepts
from minitorch.nn.init import init_uniformly
from minitorch.nn.module import Module
from minitorch.nn.padding import pad
from minitorch.nn.parameter import Parameter
from minitorch.ops.checks import Sizes, as_sizes, check_tensor, positive_ints
from minitorch.tensor import zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function, transpose_last_two
from minitorch.torch.placement import placement
from minitorch.torch.promotion import require_numbers, require_one_dtype

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


PADDING_MODES = ("zeros", "reflect", "replicate", "circular")
"""What the border of a convolution layer may hold."""


class Geometry(NamedTuple):
    """The geometry of a convolution; pairs are (rows, columns).

    Attributes:
        stride: Step between windows.
        before: Rows of zero padding above and columns to the left.
        after: Rows of zero padding below and columns to the right.
        dilation: Step between taps.
        groups: Number of channel groups.
    """

    stride: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]
    dilation: tuple[int, int]
    groups: int

    @staticmethod
    def of(stride: Sequence[int], before: Sequence[int], after: Sequence[int], dilation: Sequence[int], groups: int) -> Geometry:
        """The geometry of a convolution of sequences or images; a sequence is an image with one row."""
        fields = ((own, *size)[-2:] for own, size in zip((1, 0, 0, 1), (stride, before, after, dilation), strict=True))
        return Geometry(*fields, groups)  # type: ignore[arg-type]  # pairs

    def out_size(self, dim: int, size: int, taps: int) -> int:
        """Number of windows along a dimension; less than 1 if not even one fits."""
        covered = self.dilation[dim] * (taps - 1) + 1
        return (size + self.before[dim] + self.after[dim] - covered) // self.stride[dim] + 1

    def shifts(self, dim: int, taps: int) -> list[int]:
        """Input position of each tap of the first window."""
        return [k * self.dilation[dim] - self.before[dim] for k in range(taps)]


class Convolution(Function):
    """Convolution of input (B, C, H, W) or (B, C, W) with weight (O, C / groups, …) and an optional bias (O,)."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, weight: Tensor, bias: Tensor | None, geometry: Geometry) -> Tensor:
        out_dtype = input.dtype
        dtype = compute_dtype(promote_to_float(out_dtype))
        input, weight = input.to(dtype), weight.to(dtype)
        ctx.save_for_backward(input, weight, geometry)
        image_shape, kernel_shape = shape_4d(input), shape_4d(weight)
        axes = [
            axis(geometry.out_size(dim, size, taps), size, geometry.shifts(dim, taps), geometry.stride[dim])
            for dim, (size, taps) in enumerate(zip(image_shape[2:], kernel_shape[2:], strict=True))
        ]
        if use_matmul(input, weight, geometry, axes[1].out):
            bias_data = None if bias is None else bias.to(dtype)
            return conv_matmul(input, weight, bias_data, geometry, (axes[0].out, axes[1].out)).to(out_dtype)
        sizes = [ax.out for ax in axes][4 - input.dims :]
        out = input._like(TensorData.empty((input.shape[0], weight.shape[0], *sizes), dtype))
        bias_data = None if bias is None else bias.to(dtype).contiguous().tuple()[0]
        correlate(operand(out), operand(input), operand(weight), axes[0], axes[1], channel_layout(input, weight, geometry), bias_data)
        return out.to(out_dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        input, weight, geometry = ctx.saved_values
        grad_output = grad_output.to(input.dtype)  # half precision is computed in float32
        needed = [*ctx.needs_input_grad]
        grad_input = input_gradient(grad_output, input, weight, geometry) if needed[0] else None
        grad_weight = weight_gradient(grad_output, input, weight, geometry) if needed[1] else None
        grad_bias = None
        if needed[2]:
            grad_bias = sum_to_shape(grad_output, (weight.shape[0], *(1 for _ in weight.shape[2:])))
            grad_bias = grad_bias._like(grad_bias._tensor.reshape((weight.shape[0],)))
        return grad_input, grad_weight, grad_bias, None

    @staticmethod
    def composed(input: Tensor, weight: Tensor, bias: Tensor | None, geometry: Geometry) -> Tensor:
        """The same function composed of the course's convolution, which has neither padding nor stride nor dilation nor groups."""
        course_convolution, windows = fast_conv.conv2d if input.dims == 4 else fast_conv.conv1d, []
        for dim in range(2, input.dims):
            each = dim + 2 - input.dims  # a sequence is a row: its width has the second of each pair
            count = geometry.out_size(each, input.shape[dim], weight.shape[dim])
            windows.append(slice(0, (count - 1) * geometry.stride[each] + 1, geometry.stride[each]))
            input = add_zeros(input, dim, geometry.before[each], geometry.after[each])
            weight = spread_taps(weight, dim, geometry.dilation[each])
        inputs, weights = (x.split([x.shape[dim] // geometry.groups] * geometry.groups, dim) for x, dim in ((input, 1), (weight, 0)))
        parts = [course_convolution(x, w)[(slice(None), slice(None), *windows)] for x, w in zip(inputs, weights, strict=True)]
        out = (parts[0] if len(parts) == 1 else cat(parts, 1)).to(input.dtype)  # the course's convolution computes integers as floats
        return out.clone() if bias is None else out + bias.reshape(-1, *[1] * (input.dims - 2))  # never a view of another result


def add_zeros(x: Tensor, dim: int, before: int, after: int) -> Tensor:
    """Add zeros at both ends of a dimension."""
    borders = [x.zeros((*x.shape[:dim], width, *x.shape[dim + 1 :])) for width in (before, after)]
    return cat([borders[0], x, borders[1]], dim) if before or after else x


def spread_taps(weight: Tensor, dim: int, dilation: int) -> Tensor:
    """Put dilation - 1 zeros between the taps of a dimension."""
    if dilation == 1:
        return weight
    before, taps, after = weight.shape[:dim], weight.shape[dim], weight.shape[dim + 1 :]
    gaps = weight.zeros((*before, taps, dilation - 1, *after))
    spread = cat([weight.unsqueeze(dim + 1), gaps], dim + 1).reshape(*before, taps * dilation, *after)
    return spread[(*[slice(None)] * dim, slice(0, (taps - 1) * dilation + 1))]


def is_optimized() -> bool:
    """Return whether the optimized convolutions are present and switched on; otherwise the course's textbook kernels compute everything."""
    return find_kernel("conv2d", fast_conv.FastOps) is not None


def input_gradient(grad_output: Tensor, input: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """Gradient with respect to the input: a convolution of the output gradient with the transposed kernel.

    With stride s, the input positions p, p + s, p + 2s, … meet the same subset of the taps. Each of the s phases is a separate convolution
    that writes every s-th position.
    """
    out = input._like(TensorData.empty(input.shape, input.dtype))
    grad_operand, gradient, kernel = operand(out), operand(grad_output), operand(weight)
    batch, groups, outer, inner, step = channel_layout(input, weight, geometry)
    w_out, w_in, *w_steps = kernel.strides
    phases = [
        [phase(geometry, dim, offset, size, windows, taps) for offset in range(min(geometry.stride[dim], size))]
        for dim, (size, windows, taps) in enumerate(zip(*(shape_4d(x)[2:] for x in (input, grad_output, weight)), strict=True))
    ]
    *steps, o_row, o_column = grad_operand.strides
    strides = (*steps, o_row * geometry.stride[0], o_column * geometry.stride[1])
    for y, rows in enumerate(phases[0]):
        for x, columns in enumerate(phases[1]):
            part = Operand(grad_operand.storage[y * o_row + x * o_column :], strides)
            transposed_kernel = Operand(kernel.storage, (w_in, w_out, *w_steps))
            correlate(part, gradient, transposed_kernel, rows, columns, Channels(batch, groups, inner, outer, step))
    return out


def phase(geometry: Geometry, dim: int, offset: int, size: int, windows: int, taps: int) -> Axis:
    """Return the axis of one phase: every stride-th input position, starting at offset."""
    stride = geometry.stride[dim]
    taps_of_phase = [(k, offset - shift) for k, shift in enumerate(geometry.shifts(dim, taps)) if (offset - shift) % stride == 0]
    return axis(-(-(size - offset) // stride), windows, [shift // stride for _, shift in taps_of_phase], 1, [k for k, _ in taps_of_phase])


def weight_gradient(grad_output: Tensor, input: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """Gradient with respect to the weights: the correlation of input and output gradient."""
    out = weight._like(TensorData.empty(weight.shape, weight.dtype))
    axes = [
        Axis(windows, size, geometry.stride[dim], tuple(geometry.shifts(dim, taps)), tuple(range(taps)))
        for dim, (size, windows, taps) in enumerate(zip(*(shape_4d(x)[2:] for x in (input, grad_output, weight)), strict=True))
    ]
    channels = channel_layout(input, weight, geometry)._replace(weight_step=weight.shape[0] // geometry.groups * out._tensor.strides[0])
    accumulate_weight_gradient(operand(out), operand(grad_output), operand(input), axes[0], axes[1], channels)
    return out


def channel_layout(input: Tensor, weight: Tensor, geometry: Geometry) -> Channels:
    """Return the channel layout for the kernels."""
    out = weight.shape[0] // geometry.groups
    return Channels(input.shape[0], geometry.groups, out, weight.shape[1], out * weight._tensor.strides[0])


def shape_4d(x: Tensor) -> tuple[int, ...]:
    """Return the shape as (B, C, H, W), with H = 1 for sequences."""
    return x.shape if x.dims == 4 else (*x.shape[:2], 1, x.shape[2])


def operand(x: Tensor) -> Operand:
    """Return storage and 4-D strides for the kernels."""
    storage, _, strides = x.tuple()
    return Operand(storage, strides if x.dims == 4 else (*strides[:2], 0, strides[2]))


# Convolution as a matrix product

MAX_MATMUL_WIDTH = 8
"""Widest output that is computed as a matrix product."""

MIN_MATMUL_WINDOW, MIN_MATMUL_WINDOW_1X1 = 512, 64
"""Smallest window, in elements, for which the matrix product is faster than the loops. 1 x 1 windows do not copy any element twice."""


def use_matmul(input: Tensor, weight: Tensor, geometry: Geometry, columns: int) -> bool:
    """Return whether to compute a convolution, whose output has this number of columns, as a matrix product."""
    min_window = MIN_MATMUL_WINDOW_1X1 if math.prod(weight.shape[2:]) == 1 else MIN_MATMUL_WINDOW
    eligible = input.dims == 4 and geometry.groups == 1 and columns <= MAX_MATMUL_WIDTH and math.prod(weight.shape[1:]) >= min_window
    return eligible and input.numel() > 0 and accepts(input)


def conv_matmul(input: Tensor, weight: Tensor, bias: Tensor | None, geometry: Geometry, sizes: tuple[int, int]) -> Tensor:
    """Compute a convolution as one matrix product of the weights with all windows.

    Args:
        input: Shape (B, C, H, W).
        weight: Shape (O, C, KH, KW), same dtype.
        bias: Shape (O,).
        geometry: Stride, padding and dilation; groups must be 1.
        sizes: Height and width of the output.
    """
    batch, outer = input.shape[0], weight.shape[0]
    windows = TensorData.empty((batch * math.prod(sizes), math.prod(weight.shape[1:])), input.dtype)
    call(extract_windows, windows._storage, input._tensor.array(), weight.shape[2:], geometry, sizes)
    columns = transpose_last_two(input._like(windows))
    matrix = weight.contiguous()
    matrix = matrix._like(matrix._tensor.reshape((outer, columns.shape[0])))
    sums = input.f.matrix_multiply(matrix, columns)._tensor.array()
    out = TensorData.empty((batch, outer, *sizes), input.dtype)
    call(gather_images, out.array(), sums, constant(np.zeros(outer, input.dtype)) if bias is None else bias._tensor.array())
    return input._like(out)


def gather_images(images: np.ndarray, sums: np.ndarray, bias: np.ndarray) -> None:
    """Write products of weights and windows, shape (O, B · height · width), plus bias, shape (O,), into images (B, O, height, width)."""
    batch, outer, *sizes = images.shape
    np.add(sums.reshape(outer, batch, *sizes).transpose(1, 0, 2, 3), bias[:, None, None], out=images)


def extract_windows(windows: np.ndarray, images: np.ndarray, taps: tuple[int, ...], geometry: Geometry, sizes: tuple[int, int]) -> None:
    """Copy every window of images (B, C, H, W) into an array of B · height · width · C · KH · KW elements."""
    pad_widths = [(0, 0), (0, 0), *zip(geometry.before, geometry.after, strict=True)]
    padded = np.pad(images, pad_widths) if any(map(any, pad_widths)) else images
    batch_stride, channel_stride, *steps = padded.strides
    shape = (*padded.shape[:1], *sizes, padded.shape[1], *taps)
    window_strides = [step * stride for step, stride in zip(steps, geometry.stride, strict=True)]
    tap_strides = [step * gap for step, gap in zip(steps, geometry.dilation, strict=True)]
    strides = (batch_stride, *window_strides, channel_stride, *tap_strides)
    windows.reshape(shape)[...] = np.lib.stride_tricks.as_strided(padded, shape, strides, writeable=False)


# Functions


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve sequences with a kernel.

    out[b, o, w] = bias[o] + Σ_c Σ_k input[b, c, w · stride + k · dilation - padding] · weight[o, c, k]

    Args:
        input: Sequences, shape (B, C, W), or a single one, shape (C, W).
        weight: Shape (O, C / groups, K).
        bias: Shape (O,).
        stride: Step between windows.
        padding: Number of zeros at both ends; "same" keeps the width (an odd total puts the extra zero on the right), "valid" adds none.
        dilation: Step between taps.
        groups: Number of groups of input and output channels; an output channel sees only the input channels of its group.

    Returns:
        Shape (B, O, (W + 2 · padding - dilation · (K - 1) - 1) // stride + 1), same backend as input.

    Raises:
        TypeError: If an option is not an integer.
        ValueError: If a shape does not match or an option is out of range.
        RuntimeError: If the tensors are on a GPU.
    """
    return convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve images with a kernel.

    Args:
        input: Images, shape (B, C, H, W), or a single one, shape (C, H, W).
        weight: Shape (O, C / groups, KH, KW).
        bias: See `conv1d` for this, the other arguments and the errors.
        stride: Step between windows; an int, or a pair for rows and columns, like padding and dilation.

    Returns:
        Shape (B, O, (H + 2 · padding - dilation · (KH - 1) - 1) // stride + 1, and likewise for W and KW), same backend as input.
    """
    return convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def convolve(
    op: str, dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    """Check the arguments of `conv1d` or `conv2d` and apply the convolution."""
    if check_tensor(op, input, "input").backend.cuda:
        raise RuntimeError(f'{op} expected tensors on the CPU, got them on {input.backend.name}; move them: x.to("cpu")')
    axes, kernel = (("W", "K"), ("H, W", "KH, KW"))[dims - 1]
    if input.dims not in (dims + 1, dims + 2) or weight.dims != dims + 2:
        raise ValueError(
            f"{op} expected an input of shape (B, C, {axes}) or (C, {axes}) and a weight of shape (O, C, {kernel}), "
            f"got {input.shape} and {weight.shape}"
        )
    require_one_dtype(op, require_numbers(op, input), weight, bias)
    if input.dims == dims + 1:
        return convolve(op, dims, input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    groups = operator.index(groups)
    out, inner = weight.shape[:2]
    if groups < 1 or out % groups or input.shape[1] != inner * groups:
        raise ValueError(
            f"{op} expected input with {inner * max(groups, 1)} channels and a multiple of {groups} output channels "
            f"(weight {weight.shape}, groups {groups}), got {input.shape[1]} channels (input {input.shape}) and {out}; "
            f"a weight for groups={groups} has shape (O, C / groups, {kernel})"
        )
    if bias is not None and bias.shape != (out,):
        raise ValueError(f"{op} expected a bias of shape ({out},), one element per output channel, got {bias.shape}")
    if min(weight.shape[2:]) < 1:
        raise ValueError(f"{op} expected a kernel of at least one tap, got weight {weight.shape}")
    steps, gaps = as_sizes(op, "stride", stride, 1, dims), as_sizes(op, "dilation", dilation, 1, dims)
    before, after = resolve_padding(op, padding, steps, gaps, weight.shape[2:])
    geometry = Geometry.of(steps, before, after, gaps, groups)
    for dim, (size, taps, gap) in enumerate(zip(input.shape[2:], weight.shape[2:], gaps, strict=True)):
        border = before[dim] + after[dim]
        if size + border < gap * (taps - 1) + 1:
            raise ValueError(
                f"{op} expected an input no smaller than its windows of {gap * (taps - 1) + 1}, "
                f"got {size} and {border} zeros around it (input {input.shape}, weight {weight.shape}); pass more padding"
            )
    return (Convolution.apply if is_optimized() else Convolution.composed)(input, weight, bias, geometry)


def resolve_padding(
    op: str, padding: Any, stride: tuple[int, ...], dilation: tuple[int, ...], taps: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding before and after each dimension.

    Raises:
        TypeError: If padding is neither an integer nor a string.
        ValueError: If padding is negative or an unknown string, or "same" is combined with a stride.
    """
    if not isinstance(padding, str):
        both = as_sizes(op, "padding", padding, 0, len(taps))
        return both, both
    if padding not in ("same", "valid"):
        raise ValueError(f'{op} expected padding as a number, "same" or "valid", got {padding!r}')
    if padding == "same" and max(stride) > 1:
        raise ValueError(f'{op} expected a stride of 1 with padding="same", got {stride}; give padding as a number')
    zeros = [gap * (k - 1) if padding == "same" else 0 for gap, k in zip(dilation, taps, strict=True)]
    return tuple([n // 2 for n in zeros]), tuple([n - n // 2 for n in zeros])


# Layers


class ConvNd(Module):
    """Base class of the convolution layers.

    Args:
        in_channels: Number of input channels.
        out_channels: Number of output channels.
        kernel_size: Kernel size; this and the next options are an int for all dimensions, or one for each.
        stride: Step between windows.
        padding: Width of the border on each side; "same" keeps the size, "valid" adds none.
        dilation: Step between taps.
        groups: Number of channel groups, each with its own weights.
        bias: Whether to learn a bias. Weight and bias are initialized uniformly in ±1 / √fan_in.
        padding_mode: What the border holds: "zeros", or what `pad` adds with mode "reflect", "replicate" or "circular".
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is out of range, groups does not divide the channels, padding_mode is unknown, or "same" is combined with a
            stride.

    Attributes:
        dims: Number of spatial dimensions.
        transposed: Whether the convolution is transposed.
        function: The function that the layer calls.
    """

    dims: ClassVar[int]
    transposed: ClassVar[bool] = False
    function: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"{name} expected padding_mode {', '.join(PADDING_MODES)}, got {padding_mode!r}")
        self.output_padding = (0,) * self.dims
        self.kernel_size, self.stride, self.dilation = (
            as_sizes(name, part, given, 1, self.dims)
            for part, given in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation))
        )
        self.in_channels, self.out_channels = positive_ints((in_channels, out_channels), name, "in_channels and out_channels", minimum=0)
        (self.groups,) = positive_ints((groups,), name, "groups")
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{name} expected groups that divide {in_channels} and {out_channels} channels, got {groups}")
        self.padding_mode = padding_mode
        outer, inner = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        place = placement(device, dtype)
        self.weight = Parameter(zeros((outer, inner // groups, *self.kernel_size), **place))
        self.bias = Parameter(zeros((out_channels,), **place)) if bias else None
        self.reset_parameters()
        before, after = resolve_padding(name, padding, self.stride, self.dilation, self.kernel_size)
        self.padding = padding if isinstance(padding, str) else before
        self._border = tuple([width for pair in zip(reversed(before), reversed(after), strict=True) for width in pair])

    def reset_parameters(self) -> None:
        """Initialize the parameters."""
        init_uniformly(self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, and the options that differ from their defaults."""
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        zeros, ones = (0,) * self.dims, (1,) * self.dims
        defaults: dict[str, Any] = {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1}
        parts += [f"{name}={getattr(self, name)}" for name, default in defaults.items() if getattr(self, name) != default]
        parts += ["bias=False"] if self.bias is None else []
        return ", ".join(parts + ([f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []))

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two operations per tap and output element."""
        return 2 * output.numel() * math.prod(self.weight.shape[1:])

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, in_channels, …) to (B, out_channels, …); the batch dimension may be missing."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = pad(input, self._border, self.padding_mode), 0
        return self.function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(ConvNd):
    """Convolution of sequences. See `conv1d`; for the arguments see `ConvNd`."""

    dims, function = 1, staticmethod(conv1d)


class Conv2d(ConvNd):
    """Convolution of images. See `conv2d`; for the arguments see `ConvNd`."""

    dims, function = 2, staticmethod(conv2d)
