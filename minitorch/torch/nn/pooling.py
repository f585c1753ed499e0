"""Stage 6 - Pooling layers."""

from __future__ import annotations

from typing import Any

from minitorch.torch.nn import functional
from minitorch.torch.nn.module import Module
from minitorch.torch.tensor import Tensor


class _MaxPool(Module):
    """Base class of the max pooling layers.

    Args:
        kernel_size: Window size.
        stride: Step between windows; kernel_size by default.
        padding: Padding on each side, at most half of kernel_size.
        dilation: Step between the elements of a window.
        return_indices: Whether to return the positions of the maxima, too.
        ceil_mode: Whether the last windows may reach past the end.
    """

    dilation, return_indices, ceil_mode = 1, False, False  # of a layer that is adapted

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.dilation, self.return_indices, self.ceil_mode = dilation, return_indices, ceil_mode

    def extra_repr(self) -> str:
        """The arguments."""
        sizes = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return f"{sizes}, dilation={self.dilation}, ceil_mode={self.ceil_mode}"

    def _options(self) -> tuple[Any, ...]:
        """The arguments of the functions."""
        return self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices


class MaxPool1d(_MaxPool):
    """Maximum over windows of sequences."""

    def forward(self, input: Tensor) -> Any:
        """Map shape (B, C, L) to (B, C, L')."""
        return functional.max_pool1d(input, *self._options())


class MaxPool2d(_MaxPool):
    """Maximum over windows of images."""

    def forward(self, input: Tensor) -> Any:
        """Map shape (B, C, H, W) to (B, C, H', W')."""
        return functional.max_pool2d(input, *self._options())


class MaxPool3d(_MaxPool):
    """Maximum over windows of volumes."""

    def forward(self, input: Tensor) -> Any:
        """Map shape (B, C, D, H, W) to (B, C, D', H', W')."""
        return functional.max_pool3d(input, *self._options())


class MaxUnpool2d(Module):
    """Images of zeros with maxima at their positions; see `functional.max_unpool2d`.

    Args:
        kernel_size: Window size of the pooling.
        stride: Its step; kernel_size by default.
        padding: Its padding.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        sizes = (kernel_size, kernel_size if stride is None else stride, padding)
        self.kernel_size, self.stride, self.padding = (size if isinstance(size, (tuple, list)) else (size, size) for size in sizes)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Map shape (B, C, H', W') to (B, C, H, W)."""
        return functional.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPool(Module):
    """Base class of the average pooling layers.

    Args:
        kernel_size: Window size.
        stride: Step between windows; kernel_size by default.
        padding: Zeros on each side, at most half of kernel_size.
        ceil_mode: Whether the last windows may reach past the end.
        count_include_pad: Whether the padding counts in the mean.
        divisor_override: What the sums are divided by, in place of the number of elements of a window; for images only.
    """

    ceil_mode, count_include_pad, divisor_override = False, True, None  # of a layer that is adapted

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def extra_repr(self) -> str:
        """The sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    def _options(self) -> tuple[Any, ...]:
        """The arguments of the functions."""
        return self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad


class AvgPool1d(_AvgPool):
    """Mean over windows of sequences."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
    ) -> None:
        super().__init__(*[functional_size(x) for x in (kernel_size, stride, padding)], ceil_mode, count_include_pad)  # type: ignore

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, L) to (B, C, L')."""
        return functional.avg_pool1d(input, *self._options())


class AvgPool2d(_AvgPool):
    """Mean over windows of images."""

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, H, W) to (B, C, H', W')."""
        return functional.avg_pool2d(input, *self._options(), self.divisor_override)


class AvgPool3d(_AvgPool):
    """Mean over windows of volumes."""

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, D, H, W) to (B, C, D', H', W')."""
        return functional.avg_pool3d(input, *self._options(), self.divisor_override)


def functional_size(size: Any) -> Any:
    """A size of one dimension as PyTorch shows it: a tuple of one number."""
    return size if size is None or isinstance(size, (tuple, list)) else (size,)


class _Adaptive(Module):
    """Base class of the layers that pool to a given size.

    Args:
        output_size: Size of the output; None keeps the size of the input.
    """

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """The size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """Average pooling of sequences to a given length."""

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, L) to (B, C, output_size)."""
        return functional.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """Average pooling of images to a given size."""

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, H, W) to (B, C, *output_size)."""
        return functional.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveMaxPool1d(_Adaptive):
    """Max pooling of sequences to a given length."""

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, L) to (B, C, output_size)."""
        return functional.adaptive_max_pool1d(input, self.output_size)


class AdaptiveMaxPool2d(_Adaptive):
    """Max pooling of images to a given size."""

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, H, W) to (B, C, *output_size)."""
        return functional.adaptive_max_pool2d(input, self.output_size)
