"""Stage 7 - Transposed convolution: the convolution's gradient with respect to its input, as a function and as layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minitorch.autodiff import Context
from minitorch.core.dtypes import float32, is_half
from minitorch.nn.convolution import ConvNd, Convolution, Geometry, input_gradient, is_optimized, weight_gradient
from minitorch.nn.padding import pad
from minitorch.nn.resizing import Fold2d, fold, window_positions
from minitorch.ops.checks import Sizes, as_sizes, check_float_tensor, positive_ints
from minitorch.tensor_functions import Function
from minitorch.torch.promotion import require_one_dtype

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
    """Transposed convolution of sequences (B, C, W), or of one (C, W), with weight (C, O / groups, K); see `conv_transpose2d`."""
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
    require_one_dtype(op, check_float_tensor(op, input), weight, bias)
    if is_half(input.dtype):
        x, kernel, shift = input.to(float32), weight.to(float32), bias if bias is None else bias.to(float32)
        return _transposed(op, dims, x, kernel, shift, stride, padding, output_padding, groups, dilation).to(input.dtype)
    if input.dims == dims + 1:
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
    steps, gaps = as_sizes(op, "stride", stride, 1, dims), as_sizes(op, "dilation", dilation, 1, dims)
    removed, added = as_sizes(op, "padding", padding, 0, dims), as_sizes(op, "output_padding", output_padding, 0, dims)
    if any(extra >= max(step, gap) for extra, step, gap in zip(added, steps, gaps, strict=True)):
        raise ValueError(f"{op} expected output_padding less than stride or dilation, got {output_padding} with stride {stride}")
    least = smallest_sizes(input.shape[2:], weight.shape[2:], steps, removed, gaps)
    sizes = tuple([size + extra for size, extra in zip(least, added, strict=True)])
    if min(sizes) < 1:
        raise ValueError(f"{op} expected an output of at least one element, got the size {sizes}; pass less padding")
    beyond = [extra // step for extra, step in zip(added, steps, strict=True)]
    if any(beyond):  # more windows fit into the output than there are inputs: zeros for them, also in the backward pass
        input = pad(input, [width for number in reversed(beyond) for width in (0, number)])
    run = TransposedConvolution.apply if is_optimized() else TransposedConvolution.composed
    y = run(input, weight, Geometry.of(steps, removed, removed, gaps, groups), sizes)
    return y if bias is None else y + bias.reshape(out, *[1] * dims)


def smallest_sizes(sizes: Sequence[int], taps: Sequence[int], stride: Any, padding: Any, dilation: Any) -> list[int]:
    """Return the spatial sizes of the output without output_padding."""
    each = zip(sizes, taps, stride, padding, dilation, strict=True)
    return [(size - 1) * step - 2 * removed + gap * (k - 1) + 1 for size, k, step, removed, gap in each]


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution of volumes: that of images, with the kernel's planes as further channels, and then a sum over these in depth.

    Args:
        input: Volumes, shape (B, C, D, H, W), or a single one, shape (C, D, H, W).
        weight: Shape (C, O / groups, KD, KH, KW).
        bias: See `conv_transpose2d` for this, the other arguments and the errors.
        stride: Step between the kernels in the output; one number, or one for each of D, H and W, like the other sizes.

    Returns:
        Shape (B, O, (D - 1) · stride - 2 · padding + dilation · (KD - 1) + output_padding + 1, and likewise for H and W).
    """
    op = "conv_transpose3d"
    if check_float_tensor(op, input).dims == 4:
        return conv_transpose3d(input.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation).squeeze(0)
    if input.dims != 5 or weight.dims != 5 or input.shape[1] != weight.shape[0]:
        raise ValueError(
            f"{op} expected an input of shape (B, C, D, H, W) and a weight of shape (C, O / groups, KD, KH, KW), "
            f"got {tuple(input.shape)} and {tuple(weight.shape)}"
        )
    step, *steps = as_sizes(op, "stride", stride, 1, 3)
    cut, *borders = as_sizes(op, "padding", padding, 0, 3)
    added, *extra = as_sizes(op, "output_padding", output_padding, 0, 3)
    gap, *gaps = as_sizes(op, "dilation", dilation, 1, 3)
    if added >= max(step, gap):
        raise ValueError(f"{op} expected output_padding less than stride or dilation, got {output_padding} with stride {stride}")
    batch, channels, depth, *size = input.shape
    out, planes, *taps = weight.shape[1:]
    full = (depth - 1) * step + gap * (planes - 1) + 1  # without padding
    if full + added - 2 * cut < 1:
        raise ValueError(f"{op} expected an output of at least one plane, got {full + added - 2 * cut}; pass less padding")
    images = input.permute(0, 2, 1, 3, 4).reshape(batch * depth, channels, *size)
    kernel = weight.reshape(channels, out * planes, *taps)
    y = conv_transpose2d(images, kernel, None, tuple(steps), tuple(borders), tuple(extra), groups, tuple(gaps))
    *_, height, width = y.shape
    columns = y.reshape(batch, depth, out * groups, planes, height * width).permute(0, 2, 4, 3, 1)
    summed = fold(columns.reshape(batch, out * groups * height * width * planes, depth), (full, 1), (planes, 1), (gap, 1), 0, (step, 1))
    volumes = pad(summed.reshape(batch, out * groups, height, width, full), (0, added))
    y = volumes[..., cut : full + added - cut].permute(0, 1, 4, 2, 3)
    if bias is not None and bias.shape != (out * groups,):
        raise ValueError(f"{op} expected a bias of shape ({out * groups},), one element per output channel, got {tuple(bias.shape)}")
    return y.contiguous() if bias is None else y + bias.reshape(out * groups, 1, 1, 1)


# Layers


class ConvTransposeNd(ConvNd):
    """Base class of the layers of transposed convolutions.

    Args:
        in_channels: See `ConvNd` for the arguments that are not described here.
        stride: Step between the kernels in the output.
        padding: Rows and columns that are removed on each side.
        output_padding: Rows and columns added on one side.
        bias: Whether to learn a bias. Weight and bias are initialized uniformly in ±1 / √(O / groups · KH · KW).
        padding_mode: "zeros".

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is out of range, groups does not divide the channels, or padding_mode is not "zeros".
    """

    transposed = True

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
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        name = type(self).__name__
        if padding_mode != "zeros":
            raise ValueError(f'{name} expected padding_mode "zeros", got {padding_mode!r}')
        padding, added = (as_sizes(name, *given, 0, self.dims) for given in (("padding", padding), ("output_padding", output_padding)))
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype)
        self.output_padding = added

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two operations per tap and input element."""
        return 2 * args[0].numel() * math.prod(self.weight.shape[1:])

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Map shape (B, in_channels, …) to (B, out_channels, …); the batch dimension may be missing.

        Args:
            input: The input.
            output_size: Size of the output, whose last numbers count; it replaces output_padding.

        Raises:
            ValueError: If output_padding cannot give this size.
        """
        added = self.output_padding
        if output_size is not None:
            name, given, sizes = type(self).__name__, tuple(output_size), input.shape[-self.dims :]
            if len(given) not in (self.dims, input.dims):
                raise ValueError(f"{name} expected output_size of {self.dims} or {input.dims} numbers, got {given}")
            wanted = given[-self.dims :]
            least = smallest_sizes(sizes, self.kernel_size, self.stride, self.padding, self.dilation)
            most = [n + max(step, gap) - 1 for n, step, gap in zip(least, self.stride, self.dilation, strict=True)]
            if not all(low <= n <= high for low, n, high in zip(least, wanted, most, strict=True)):
                limits = f"from {tuple(least)} to {tuple(most)}"
                raise ValueError(f"{name} expected output_size {limits} for input of size {tuple(sizes)}, got {wanted}")
            added = tuple([n - low for n, low in zip(wanted, least, strict=True)])
        return self.function(input, self.weight, self.bias, self.stride, self.padding, added, self.groups, self.dilation)


class ConvTranspose1d(ConvTransposeNd):
    """Transposed convolution of sequences. See `conv_transpose1d`; for the arguments see `ConvTransposeNd`."""

    dims, function = 1, staticmethod(conv_transpose1d)


class ConvTranspose2d(ConvTransposeNd):
    """Transposed convolution of images. See `conv_transpose2d`; for the arguments see `ConvTransposeNd`."""

    dims, function = 2, staticmethod(conv_transpose2d)


class ConvTranspose3d(ConvTransposeNd):
    """Transposed convolution of volumes. See `conv_transpose3d`; for the arguments see `ConvTransposeNd`."""

    dims, function = 3, staticmethod(conv_transpose3d)
