"""Stage 6 - Convolution layers, windows as columns, upsampling and padding."""

from __future__ import annotations

from typing import Any, ClassVar

import minitorch.nn as engine
from minitorch.nn.init import init_uniformly
from minitorch.nn.options import refuse_unless
from minitorch.nn.parameter import Parameter
from minitorch.nn.transposed import conv_transpose1d, conv_transpose2d
from minitorch.torch.creation import empty
from minitorch.torch.nn.functional import conv3d, pad
from minitorch.torch.nn.module import Module, adapt
from minitorch.torch.tensor import Tensor

PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}
"""The mode of `functional.pad` for each padding_mode."""


def as_tuple(sizes: Any, dims: int) -> Any:
    """Sizes as a tuple with one number for each dimension; a string stays."""
    if isinstance(sizes, str):
        return sizes
    return tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,) * dims


def describe(layer: Any, options: dict[str, tuple[Any, Any]]) -> str:
    """The sizes of a convolution layer, and those of the options, given as (value, default), that differ from their defaults."""
    kernel_size, stride = (as_tuple(size, layer.dims) for size in (layer.kernel_size, layer.stride))
    parts = [f"{layer.in_channels}, {layer.out_channels}, kernel_size={kernel_size}, stride={stride}"]
    parts += [f"{name}={value}" for name, (value, default) in options.items() if value != default]
    return ", ".join(parts + (["bias=False"] if layer.bias is None else []))


class _Conv:
    """What Conv1d, Conv2d and Conv3d have beyond the engine's layers.

    Args:
        in_channels: Number of input channels.
        out_channels: Number of output channels.
        kernel_size: Kernel size, one number or one for each dimension.
        stride: Step between windows.
        padding: Width of the border, or "same" or "valid".
        dilation: Step between taps.
        groups: Number of channel groups.
        bias: Whether to learn a bias. Weight and bias are initialized uniformly in ±1 / √fan_in.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    Raises:
        ValueError: If padding_mode is unknown, or a size is out of range.
    """

    dims: ClassVar[int]
    padding_mode = "zeros"  # of a layer that is adapted

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"{type(self).__name__} expected a padding_mode of {sorted(PADDING_MODES)}, got {padding_mode!r}")
        sizes = (kernel_size, stride, padding, dilation)
        kernel_size, stride, padding, dilation = (as_tuple(size, self.dims) for size in sizes)
        args = (in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        super().__init__(*args, device=device, dtype=dtype)  # type: ignore[call-arg]  # of the adapted class
        self.padding_mode = padding_mode

    def reset_parameters(self) -> None:
        """Initialize the parameters."""
        init_uniformly(self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, and the options that differ from their defaults."""
        layer: Any = self
        padding, dilation = (as_tuple(size, self.dims) for size in (layer.padding, layer.dilation))
        zeros, ones = (0,) * self.dims, (1,) * self.dims
        text = describe(self, {"padding": (padding, zeros), "dilation": (dilation, ones), "groups": (layer.groups, 1)})
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, in_channels, …) to (B, out_channels, …); the batch dimension may be missing."""
        layer: Any = self
        if input.dims == self.dims + 1:
            return self.forward(input[None])[0]  # type: ignore[index]  # a Tensor has it
        if self.padding_mode == "zeros":
            return super().forward(input)  # type: ignore[misc]  # of the adapted class
        widths = self._border()
        padded = pad(input, widths, PADDING_MODES[self.padding_mode])
        given, layer.padding = layer.padding, (0,) * self.dims
        try:
            return super().forward(padded)  # type: ignore[misc]
        finally:
            layer.padding = given

    def _border(self) -> list[int]:
        """The widths of the border, in the order of `functional.pad`."""
        layer: Any = self
        if not isinstance(layer.padding, str):
            return [width for size in reversed(layer.padding) for width in (size, size)]
        totals = [gap * (k - 1) if layer.padding == "same" else 0 for gap, k in zip(layer.dilation, layer.kernel_size, strict=True)]
        return [width for total in reversed(totals) for width in (total // 2, total - total // 2)]


class Conv1d(_Conv, adapt(engine.Conv1d)):
    """Convolution of sequences; for the arguments see its first base class."""

    dims = 1


class Conv2d(_Conv, adapt(engine.Conv2d)):
    """Convolution of images; for the arguments see its first base class."""

    dims = 2


class _Volumes(Module):
    """A convolution of volumes, for which the engine has no layer."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        groups: int,
        bias: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(f"Conv3d expected groups that divide the channels {in_channels} and {out_channels}, got {groups}")
        self.in_channels, self.out_channels, self.kernel_size, self.stride = in_channels, out_channels, kernel_size, stride
        self.padding, self.dilation, self.groups = padding, dilation, groups
        self.weight = Parameter(Tensor._of(empty(out_channels, in_channels // groups, *kernel_size, device=device, dtype=dtype)))
        self.bias = Parameter(Tensor._of(empty(out_channels, device=device, dtype=dtype))) if bias else None
        init_uniformly(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d(_Conv, _Volumes):
    """Convolution of volumes (B, C, D, H, W); for the arguments see its first base class."""

    dims = 3


class _ConvTranspose:
    """What ConvTranspose1d and ConvTranspose2d have beyond the engine's layers.

    Args:
        in_channels: Number of input channels.
        out_channels: Number of output channels.
        kernel_size: Kernel size, one number or one for each dimension.
        stride: Step between the kernels in the output.
        padding: Width that is removed on each side.
        output_padding: Rows and columns added on one side.
        groups: Number of channel groups.
        bias: Whether to learn a bias. Weight and bias are initialized uniformly in ±1 / √fan_in.
        dilation: Step between taps.
        padding_mode: "zeros".
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
    """

    dims: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'{type(self).__name__} expected padding_mode "zeros", got {padding_mode!r}')
        sizes = (kernel_size, stride, padding, output_padding, dilation)
        kernel_size, stride, padding, output_padding, dilation = (as_tuple(size, self.dims) for size in sizes)
        args = (in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation)
        super().__init__(*args, device=device, dtype=dtype)  # type: ignore[call-arg]  # of the adapted class
        self.in_channels, self.out_channels, self.kernel_size, self.padding_mode = in_channels, out_channels, kernel_size, padding_mode

    def reset_parameters(self) -> None:
        """Initialize the parameters."""
        init_uniformly(self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, and the options that differ from their defaults."""
        layer: Any = self
        zeros, ones = (0,) * self.dims, (1,) * self.dims
        options = {"padding": (layer.padding, zeros), "dilation": (layer.dilation, ones), "output_padding": (layer.output_padding, zeros)}
        return describe(self, options | {"groups": (layer.groups, 1)})

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Map shape (B, in_channels, …) to (B, out_channels, …); output_size is not supported, use output_padding."""
        refuse_unless(type(self).__name__, output_size=(output_size, None))
        layer: Any = self
        function = conv_transpose1d if self.dims == 1 else conv_transpose2d
        options = (layer.stride, layer.padding, layer.output_padding, layer.groups, layer.dilation)
        return function(input, layer.weight, layer.bias, *options)


class ConvTranspose1d(_ConvTranspose, adapt(engine.ConvTranspose1d)):
    """Transposed convolution of sequences; for the arguments see its first base class."""

    dims = 1


class ConvTranspose2d(_ConvTranspose, adapt(engine.ConvTranspose2d)):
    """Transposed convolution of images; for the arguments see its first base class."""

    dims = 2


Upsample = adapt(engine.Upsample)


class UpsamplingNearest2d(Upsample):
    """Resize images; every pixel takes the nearest one.

    Args:
        size: Size of the output.
        scale_factor: Factor of the size instead.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images by bilinear interpolation; the outermost pixels keep their place. For the arguments see `UpsamplingNearest2d`."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


Unfold, Fold = adapt(engine.Unfold), adapt(engine.Fold)
