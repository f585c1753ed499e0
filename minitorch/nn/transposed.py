"""Stage 6 - Transposed convolution: the convolution's gradient with respect to its input, as a function and as layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from minitorch.autodiff import Context
from minitorch.nn.convolution import Convolution, Geometry, input_gradient, is_optimized, weight_gradient
from minitorch.nn.init import uniform_
from minitorch.nn.module import Module, Parameter, value_of
from minitorch.nn.resizing import Fold2d, window_positions
from minitorch.ops.checks import Sizes, as_pair, check_float_tensor, positive_ints
from minitorch.tensor import zeros
from minitorch.tensor_functions import Function
from minitorch.torch.placement import placement

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class TransposedConvolution(Function):
    """Transposed convolution of input (B, C, H, W) or (B, C, W) with weight (C, O / groups, …)."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, weight: Tensor, geometry: Geometry, sizes: tuple[int, ...]) -> Tensor:
        ctx.save_for_backward(input, weight, geometry)
        out_shape = (input.shape[0], weight.shape[1] * geometry.groups, *sizes)
        return input_gradient(input, input.zeros(out_shape), weight, geometry)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        input, weight, geometry = ctx.saved_values
        grad_input = Convolution.apply(grad_output, weight, None, geometry) if ctx.needs_input_grad[0] else None
        grad_weight = weight_gradient(input, grad_output, weight, geometry) if ctx.needs_input_grad[1] else None
        return grad_input, grad_weight, None, None

    @staticmethod
    def composed(input: Tensor, weight: Tensor, geometry: Geometry, sizes: tuple[int, ...]) -> Tensor:
        """The same function composed of differentiable tensor operations: a matrix product, and the sum of windows at their places."""
        taps, groups = (weight.shape[2:] if weight.dims == 4 else (1, weight.shape[2])), geometry.groups
        size = sizes if weight.dims == 4 else (1, sizes[0])
        borders = zip(size, geometry.before, geometry.after, strict=True)
        padded = tuple([n + before + after for n, before, after in borders])
        positions = window_positions("conv_transpose2d", (padded[0], padded[1]), taps, geometry.dilation, geometry.stride)
        batch, channels = input.shape[:2]
        rows = input.reshape(batch, groups, channels // groups, -1)
        columns = weight.reshape(groups, channels // groups, -1).transpose(1, 2) @ rows
        out = weight.shape[1] * groups
        image = Fold2d.apply(columns.reshape(batch, -1, columns.shape[3]), (batch, out, *padded), positions)
        (above, left), (height, width) = geometry.before, size
        cut = image[:, :, above : above + height, left : left + width]
        return (cut if weight.dims == 4 else cut.squeeze(2)).clone()  # never a view of another result


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution of images: every element of input adds the kernel, times itself, to the output.

    Args:
        input: Images, shape (B, C, H, W), or a single one, shape (C, H, W).
        weight: Shape (C, O / groups, KH, KW).
        bias: Shape (O,).
        stride: Step between the kernels in the output; an int, or a pair for rows and columns.
        padding: Rows and columns that are removed on each side of the output.
        output_padding: Rows and columns added below and on the right, less than stride or dilation.
        groups: Number of groups of input and output channels.
        dilation: Step between taps.

    Returns:
        Shape (B, O, (H - 1) · stride - 2 · padding + dilation · (KH - 1) + output_padding + 1, and likewise for W and KW).

    Raises:
        TypeError: If input is not a floating-point Tensor, or an option is not an integer.
        ValueError: If a shape does not match or an option is out of range.
    """
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution of sequences (B, C, W), or of one (C, W), with weight (C, O / groups, K); see `conv_transpose2d`.

    Raises:
        TypeError: If input is not a floating-point Tensor, or an option is not an integer.
        ValueError: If a shape does not match or an option is out of range.
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _transposed(
    op: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    """Check the arguments and apply the transposed convolution."""
    if check_float_tensor(op, input).dims == dims + 1:
        return _transposed(op, dims, input.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation).squeeze(0)
    axes, kernel = (("W", "K"), ("H, W", "KH, KW"))[dims - 1]
    if input.dims != dims + 2 or weight.dims != dims + 2 or input.shape[1] != weight.shape[0]:
        raise ValueError(
            f"{op} expected an input of shape (B, C, {axes}) and a weight of shape (C, O / groups, {kernel}), "
            f"got {input.shape} and {weight.shape}"
        )
    (groups,) = positive_ints((groups,), op, "groups")
    out = weight.shape[1] * groups
    if input.shape[1] % groups:
        raise ValueError(f"{op} expected groups that divide {input.shape[1]} input channels, got {groups}")
    if bias is not None and bias.shape != (out,):
        raise ValueError(f"{op} expected a bias of shape ({out},), one element per output channel, got {bias.shape}")
    steps, gaps = as_pair(op, "stride", stride, 1, dims), as_pair(op, "dilation", dilation, 1, dims)
    removed, added = as_pair(op, "padding", padding, 0, dims), as_pair(op, "output_padding", output_padding, 0, dims)
    first = 2 - dims
    removed, added = ((0,) * first + pair[first:] for pair in (removed, added))
    if any(extra >= max(step, gap) for extra, step, gap in list(zip(added, steps, gaps, strict=True))[first:]):
        raise ValueError(f"{op} expected output_padding less than stride or dilation, got {output_padding} with stride {stride}")
    sizes = []
    for dim in range(first, 2):
        size, taps = input.shape[dim + dims], weight.shape[dim + dims]
        sizes.append((size - 1) * steps[dim] - 2 * removed[dim] + gaps[dim] * (taps - 1) + added[dim] + 1)
    if min(sizes) < 1:
        raise ValueError(f"{op} expected an output of at least one element, got the size {tuple(sizes)}; pass less padding")
    before = (removed[0], removed[1])
    run = TransposedConvolution.apply if is_optimized() else TransposedConvolution.composed
    y = run(input, weight, Geometry(steps, before, before, gaps, groups), tuple(sizes))
    return y if bias is None else y + bias.reshape(out, *[1] * dims)


# Layers


class _ConvTranspose(Module):
    """Base class of ConvTranspose1d and ConvTranspose2d.

    Args:
        in_channels: Number of input channels.
        out_channels: Number of output channels.
        kernel_size: Kernel size.
        stride: Step between the kernels in the output.
        padding: Rows and columns that are removed on each side.
        output_padding: Rows and columns added on one side.
        groups: Number of channel groups.
        bias: Whether to learn a bias. Weight and bias are initialized uniformly in ±1 / √(O / groups · KH · KW).
        dilation: Step between taps.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is out of range, or groups does not divide the channels.
    """

    dims: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        kernel = as_pair(name, "kernel_size", kernel_size, 1, self.dims)[2 - self.dims :]
        in_channels, out_channels, groups = positive_ints((in_channels, out_channels, groups), name, "in_channels, out_channels and groups")
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{name} expected groups that divide {in_channels} and {out_channels} channels, got {groups}")
        self.stride, self.padding, self.output_padding = stride, padding, output_padding
        self.groups, self.dilation = groups, dilation
        self.weight = Parameter(zeros((in_channels, out_channels // groups, *kernel), **placement(device, dtype)))
        self.bias = Parameter(zeros((out_channels,), **placement(device, dtype))) if bias else None
        bound = 1 / math.sqrt(out_channels // groups * math.prod(kernel))
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes and the step."""
        in_channels, inner, *kernel = self.weight.value.shape
        return f"{in_channels}, {inner * self.groups}, kernel_size={tuple(kernel)}, stride={self.stride}"

    def _options(self) -> tuple[Any, ...]:
        """The arguments of the function after the input."""
        geometry = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return (self.weight.value, value_of(self.bias), *geometry)


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution layer for sequences; see `conv_transpose1d`."""

    dims = 1

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, in_channels, W) to (B, out_channels, W')."""
        return conv_transpose1d(input, *self._options())


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution layer for images; see `conv_transpose2d`."""

    dims = 2

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, in_channels, H, W) to (B, out_channels, H', W')."""
        return conv_transpose2d(input, *self._options())
