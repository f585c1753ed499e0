"""Stage 5 - Convolution as networks use it: with bias, steps, zeros around the picture, gaps between taps, and groups of channels."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.dtypes import compute_dtype, promote_to_float
from minitorch.core.gradients import sum_to_shape
from minitorch.kernels.conv import Axis, Channels, Operand, axis, correlate
from minitorch.kernels.conv_matmul import products
from minitorch.kernels.losses import fusible
from minitorch.nn.init import kaiming_uniform_
from minitorch.nn.module import Module, Parameter
from minitorch.nn.sizes import Sizes, a_tensor, at_least_1, sizes_of
from minitorch.tensor import zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function, transpose_last_two
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend
    from minitorch.tensor import Tensor

NARROW = 8
"""A result with at most so many columns,"""

LONG, LONG_OF_ONE_TAP = 512, 64
"""and windows of at least so many numbers: there a product is faster than the loops. Windows of one tap hold no number twice."""


def suits(input: Tensor, weight: Tensor, geometry: Geometry, columns: int) -> bool:
    """Whether a convolution is to be a product.

    Args:
        input: Shape (B, C, H, W), or (B, C, W).
        weight: Shape (O, C / groups, KH, KW), or (O, C / groups, K).
        geometry: How windows lie.
        columns: Of the result.
    """
    least = LONG_OF_ONE_TAP if math.prod(weight.shape[2:]) == 1 else LONG
    fits = input.dims == 4 and geometry.groups == 1 and columns <= NARROW and math.prod(weight.shape[1:]) >= least
    return fits and input.size > 0 and fusible(input)


def product_of_windows(input: Tensor, weight: Tensor, bias: Tensor | None, geometry: Geometry, sizes: tuple[int, int]) -> Tensor:
    """The convolution.

    Args:
        input: Shape (B, C, H, W).
        weight: Shape (O, C, KH, KW), of the same dtype.
        bias: Shape (O,).
        geometry: How windows lie.
        sizes: Height and width of the result.
    """
    batch, outer = input.shape[0], weight.shape[0]
    windows = windows_of(input._tensor.array(), weight.shape[2:], geometry, sizes)
    columns = transpose_last_two(input._like(TensorData(windows.reshape(-1), (batch * math.prod(sizes), math.prod(weight.shape[1:])))))
    flat = weight.contiguous()
    flat = flat._like(flat._tensor.reshape((outer, columns.shape[0])))
    sums = input.f.matrix_multiply(flat, columns)._tensor.array()
    if bias is not None:
        sums += bias._tensor.array()[:, None]
    out = np.ascontiguousarray(sums.reshape(outer, batch, *sizes).transpose(1, 0, 2, 3))
    return input._like(TensorData(out.reshape(-1), out.shape))


def windows_of(pictures: np.ndarray, taps: tuple[int, ...], geometry: Geometry, sizes: tuple[int, int]) -> np.ndarray:
    """Every window of pictures (B, C, H, W), shape (B, height, width, C, KH, KW), copied."""
    around = [(0, 0), (0, 0), *zip(geometry.before, geometry.behind, strict=True)]
    padded = np.pad(pictures, around) if any(map(any, around)) else pictures
    batch, channel, *steps = padded.strides
    shape = (*padded.shape[:1], *sizes, padded.shape[1], *taps)
    down = [step * stride for step, stride in zip(steps, geometry.stride, strict=True)]
    within = [step * gap for step, gap in zip(steps, geometry.dilation, strict=True)]
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(padded, shape, (batch, *down, channel, *within), writeable=False))


class Geometry(NamedTuple):
    """How a convolution goes through pictures; one number for rows and one for columns each.

    Attributes:
        stride: From one window to the next.
        before: Rows and columns of zeros above and to the left.
        behind: Rows and columns of zeros below and to the right.
        dilation: From one tap to the next.
        groups: In how many parts the channels fall.
    """

    stride: tuple[int, int]
    before: tuple[int, int]
    behind: tuple[int, int]
    dilation: tuple[int, int]
    groups: int

    def out_size(self, dim: int, size: int, taps: int) -> int:
        """How many windows there are; below 1 if the first does not fit."""
        covered = self.dilation[dim] * (taps - 1) + 1
        return (size + self.before[dim] + self.behind[dim] - covered) // self.stride[dim] + 1

    def shifts(self, dim: int, taps: int) -> list[int]:
        """Where each tap of the first window looks."""
        return [k * self.dilation[dim] - self.before[dim] for k in range(taps)]


class Convolution(Function):
    """The convolution of pictures (B, C, H, W), or rows (B, C, W), with weights (O, C / groups, …), and a bias (O) or None."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, weight: Tensor, bias: Tensor | None, geometry: Geometry) -> Tensor:
        kept = promote_to_float(*(x.dtype for x in (input, weight, bias) if x is not None))
        dtype = compute_dtype(kept)
        input, weight = input.to(dtype), weight.to(dtype)
        ctx.save_for_backward(input, weight, geometry)
        pictures, kernel = in_rows_and_columns(input, 1), in_rows_and_columns(weight, 1)
        axes = [
            axis(geometry.out_size(dim, size, taps), size, geometry.shifts(dim, taps), geometry.stride[dim])
            for dim, (size, taps) in enumerate(zip(pictures[2:], kernel[2:], strict=True))
        ]
        if suits(input, weight, geometry, axes[1].out):
            added = None if bias is None else bias.to(dtype)
            return product_of_windows(input, weight, added, geometry, (axes[0].out, axes[1].out)).to(kept)
        sizes = [one.out for one in axes][4 - input.dims :]
        out = input._like(TensorData.empty((input.shape[0], weight.shape[0], *sizes), dtype))
        added = None if bias is None else bias.to(dtype).contiguous().tuple()[0]
        correlate(operand(out), operand(input), operand(weight), axes[0], axes[1], channels_of(input, weight, geometry), added)
        return out.to(kept)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        input, weight, geometry = ctx.saved_values
        grad_output = grad_output.to(input.dtype)  # that of halves, which are computed with in float32
        needed = [*ctx.needs_input_grad]
        by_input = input_gradient(grad_output, input, weight, geometry) if needed[0] else None
        by_weight = weight_gradient(grad_output, input, weight, geometry) if needed[1] else None
        by_bias = None
        if needed[2]:
            by_bias = sum_to_shape(grad_output, (weight.shape[0], *(1 for _ in weight.shape[2:])))
            by_bias = by_bias._like(by_bias._tensor.reshape((weight.shape[0],)))
        return by_input, by_weight, by_bias, None


def input_gradient(grad_output: Tensor, input: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """That of a convolution's input: a convolution of the gradient, in which taps look back.

    With a stride s, the places p, p + s, p + 2s, … of the input meet one part of the taps, and those between them others: each part is a
    convolution of its own, that writes every s-th place.
    """
    out = input._like(TensorData.empty(input.shape, input.dtype))
    whole, gradient, kernel = operand(out), operand(grad_output), operand(weight)
    batch, groups, outer, inner, step = channels_of(input, weight, geometry)
    w_out, w_in, *w_steps = kernel.strides
    phases = [
        [phase(geometry, dim, place, size, windows, taps) for place in range(min(geometry.stride[dim], size))]
        for dim, (size, windows, taps) in enumerate(
            zip(*(in_rows_and_columns(x, 1)[2:] for x in (input, grad_output, weight)), strict=True)
        )
    ]
    *steps, o_row, o_column = whole.strides
    strides = (*steps, o_row * geometry.stride[0], o_column * geometry.stride[1])
    for y, rows in enumerate(phases[0]):
        for x, columns in enumerate(phases[1]):
            part = Operand(whole.storage[y * o_row + x * o_column :], strides)
            turned = Operand(kernel.storage, (w_in, w_out, *w_steps))
            correlate(part, gradient, turned, rows, columns, Channels(batch, groups, inner, outer, step))
    return out


def phase(geometry: Geometry, dim: int, place: int, size: int, windows: int, taps: int) -> Axis:
    """The axis of the gradients of every stride-th place of the input, from one place on."""
    stride = geometry.stride[dim]
    back = [(k, place - shift) for k, shift in enumerate(geometry.shifts(dim, taps)) if (place - shift) % stride == 0]
    return axis(-(-(size - place) // stride), windows, [shift // stride for _, shift in back], 1, [k for k, _ in back])


def weight_gradient(grad_output: Tensor, input: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """That of a convolution's weights: for each, the sum of the gradients, each times what that weight met there."""
    out = weight._like(TensorData.empty(weight.shape, weight.dtype))
    axes = [
        Axis(windows, size, geometry.stride[dim], tuple(geometry.shifts(dim, taps)), tuple(range(taps)))
        for dim, (size, windows, taps) in enumerate(
            zip(*(in_rows_and_columns(x, 1)[2:] for x in (input, grad_output, weight)), strict=True)
        )
    ]
    channels = channels_of(input, weight, geometry)._replace(weight_step=weight.shape[0] // geometry.groups * out._tensor.strides[0])
    products(operand(out), operand(grad_output), operand(input), axes[0], axes[1], channels)
    return out


def channels_of(input: Tensor, weight: Tensor, geometry: Geometry) -> Channels:
    """How the channels of input and output belong together."""
    out = weight.shape[0] // geometry.groups
    return Channels(input.shape[0], geometry.groups, out, weight.shape[1], out * weight._tensor.strides[0])


def in_rows_and_columns(x: Tensor, filling: int) -> tuple[int, ...]:
    """The shape of pictures; that of rows with a height of one."""
    return x.shape if x.dims == 4 else (*x.shape[:2], filling, x.shape[2])


def operand(x: Tensor) -> Operand:
    """A tensor as the kernels take it."""
    storage, _, strides = x.tuple()
    return Operand(storage, strides if x.dims == 4 else (*strides[:2], 0, strides[2]))


# The functions


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Sums of windows of rows, weighted.

    out[b, o, w] = bias[o] + Σ_c Σ_k input[b, c, w · stride + k · dilation - padding] · weight[o, c, k]

    Args:
        input: Rows, shape (B, C, W).
        weight: Shape (O, C / groups, K).
        bias: Shape (O,).
        stride: From one window to the next.
        padding: So many zeros are put at either end; "same": so many that the result is as wide as the input (one more at the right
            if their number is odd); "valid": none.
        dilation: From one tap to the next.
        groups: The channels of input and output fall into so many parts; each output channel sees the input channels of its part.

    Returns:
        Shape (B, O, (W + 2 · padding - dilation · (K - 1) - 1) // stride + 1), same backend as input.

    Raises:
        TypeError: If a number is not whole.
        ValueError: If a shape or a number does not fit.
        RuntimeError: If the tensors lie on a GPU.
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
    """Sums of windows of pictures, weighted; as `conv1d`, with a height before each width.

    Args:
        input: Pictures, shape (B, C, H, W).
        weight: Shape (O, C / groups, KH, KW).
        bias: Shape (O,).
        stride: From one window to the next; one number, or a pair for rows and columns.
        padding: So many rows and columns of zeros are put around the pictures; "same" and "valid" as in `conv1d`.
        dilation: From one tap to the next.
        groups: See `conv1d`.

    Returns:
        Shape (B, O, (H + 2 · padding - dilation · (KH - 1) - 1) // stride + 1, likewise with W and KW), same backend as input.

    Raises:
        TypeError: If a number is not whole.
        ValueError: If a shape or a number does not fit.
        RuntimeError: If the tensors lie on a GPU.
    """
    return convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def convolve(
    op: str, dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    """`conv1d` or `conv2d`, what it is given checked."""
    if a_tensor(op, input, "input").backend.cuda:
        raise RuntimeError(f'{op} expected tensors on the CPU, got them on {input.backend.name}; move them: x.to("cpu")')
    axes, kernel = (("W", "K"), ("H, W", "KH, KW"))[dims - 1]
    if input.dims != dims + 2 or weight.dims != dims + 2:
        raise ValueError(
            f"{op} expected an input of shape (B, C, {axes}) and a weight of shape (O, C, {kernel}), "
            f"got {input.shape} and {weight.shape}; view puts in a dimension of size 1"
        )
    groups = operator.index(groups)
    out, inner = weight.shape[:2]
    if groups < 1 or out % groups or input.shape[1] != inner * groups:
        raise ValueError(
            f"{op} expected input with {inner * max(groups, 1)} channels and a multiple of {groups} output channels "
            f"(weight {weight.shape}, groups {groups}), got {input.shape[1]} channels (input {input.shape}) and {out}; "
            f"a weight for groups={groups} has shape (O, C / groups, {kernel})"
        )
    if bias is not None and bias.shape != (out,):
        raise ValueError(f"{op} expected a bias of shape ({out},), one number for each output channel, got {bias.shape}")
    if min(weight.shape[2:]) < 1:
        raise ValueError(f"{op} expected a kernel of at least one tap, got weight {weight.shape}")
    steps, gaps = sizes_of(op, "stride", stride, 1, dims), sizes_of(op, "dilation", dilation, 1, dims)
    before, behind = zeros_around(op, padding, dims, steps, gaps, weight.shape[2:])
    geometry = Geometry(steps, before, behind, gaps, groups)
    for dim in range(2 - dims, 2):
        size, taps = input.shape[dim + dims], weight.shape[dim + dims]
        if geometry.out_size(dim, size, taps) < 1:
            raise ValueError(
                f"{op} expected an input no smaller than its windows of {gaps[dim] * (taps - 1) + 1}, "
                f"got {size} and {before[dim] + behind[dim]} zeros around it (input {input.shape}, weight {weight.shape}); "
                "pass more padding"
            )
    return Convolution.apply(input, weight, bias, geometry)


def zeros_around(op: str, padding: Any, dims: int, stride: tuple[int, int], gaps: tuple[int, int], taps: Sequence[int]) -> Any:
    """So many zeros before and behind rows and columns.

    Raises:
        TypeError: If a number is not whole.
        ValueError: If padding is another word or negative, or "same" meets a stride.
    """
    if not isinstance(padding, str):
        both = sizes_of(op, "padding", padding, 0, dims)
        return both, both
    if padding not in ("same", "valid"):
        raise ValueError(f'{op} expected padding as a number, "same" or "valid", got {padding!r}')
    if padding == "same" and stride != (1, 1):
        raise ValueError(f'{op} expected a stride of 1 with padding="same", got {stride[2 - dims :]}; give padding as a number')
    kernel = (1,) * (2 - dims) + tuple(taps)
    zeros = [gap * (k - 1) if padding == "same" else 0 for gap, k in zip(gaps, kernel, strict=True)]
    return tuple(n // 2 for n in zeros), tuple(n - n // 2 for n in zeros)


# The layers


class _Conv(Module):
    """What Conv1d and Conv2d share.

    Attributes:
        dims: Of a picture.
    """

    dims: ClassVar[int]

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
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        kernel, steps, gaps = (
            sizes_of(name, part, given, 1, self.dims)
            for part, given in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation))
        )
        zeros_around(name, padding, self.dims, steps, gaps, kernel[2 - self.dims :])
        in_channels, out_channels, groups = at_least_1((in_channels, out_channels, groups), name, "in_channels, out_channels and groups")
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{name} expected groups that divide {in_channels} and {out_channels} channels, got {groups}")
        shape = (out_channels, in_channels // groups, *kernel[2 - self.dims :])
        self.weight = Parameter(zeros(shape, backend, dtype=dtype))
        kaiming_uniform_(self.weight)
        self.bias = Parameter(zeros(shape[:1], backend, dtype=dtype)) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def extra_repr(self) -> str:
        """Its sizes, and what is not as it would be if it were left out."""
        out_channels, inner, *kernel = self.weight.value.shape
        shown = [str(inner * self.groups), str(out_channels), f"kernel_size={_shown(kernel)}", f"stride={_shown(self.stride)}"]
        usual = {"padding": (0, (0, 0)), "dilation": (1, (1, 1)), "groups": (1,)}
        shown += [f"{name}={_shown(value)}" for name in usual if (value := getattr(self, name)) not in usual[name]]
        return ", ".join([*shown, *(["bias=False"] if self.bias is None else [])])

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two for each tap and element of the result."""
        return 2 * output.size * math.prod(self.weight.value.shape[1:])


def _shown(sizes: Any) -> str:
    """Sizes as a layer's text has them: (3, 3) as 3."""
    if isinstance(sizes, (list, tuple)):
        return str(sizes[0] if len(set(sizes)) == 1 else tuple(sizes))
    return str(sizes)


class Conv1d(_Conv):
    """`conv1d`: sums of windows of sequences.

    Args:
        in_channels: Channels of what comes in.
        out_channels: Channels of what goes out.
        kernel_size: Length of a window.
        stride: Step between windows.
        padding: How many zeros stand at each end; "same" for a result as long as the input, "valid" for none.
        dilation: Step between the elements of a window.
        groups: Into how many parts the channels are split, each with weights of its own.
        bias: Whether there is one; it begins as zeros, the weight as `init.kaiming_uniform_`.

    Raises:
        TypeError: If a size is not whole.
        ValueError: If one is out of range, groups do not divide the channels, or "same" meets a stride.
    """

    dims = 1

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, in_channels, L) to (B, out_channels, L')."""
        bias = self.bias and self.bias.value
        return conv1d(input, self.weight.value, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """`conv2d`: sums of windows of images.

    Args:
        in_channels: Channels of what comes in.
        out_channels: Channels of what goes out.
        kernel_size: Height and width of a window, here as below one number for both, or two.
        stride: Steps between windows.
        padding: How many rows and columns of zeros stand at each edge; "same" for a result as large as the input, "valid" for none.
        dilation: Steps between the elements of a window.
        groups: Into how many parts the channels are split, each with weights of its own.
        bias: Whether there is one; it begins as zeros, the weight as `init.kaiming_uniform_`.

    Raises:
        TypeError: If a size is not whole.
        ValueError: If one is out of range, groups do not divide the channels, or "same" meets a stride.
    """

    dims = 2

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, in_channels, H, W) to (B, out_channels, H', W')."""
        bias = self.bias and self.bias.value
        return conv2d(input, self.weight.value, bias, self.stride, self.padding, self.dilation, self.groups)
