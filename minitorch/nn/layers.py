"""Stage 5 - Layers: functions of this folder with the parameters that they are trained by, under PyTorch's names.

Parameters are tensors of the default dtype on the simple backend unless dtype and backend say otherwise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from minitorch.creation import randn
from minitorch.module import Module, Parameter
from minitorch.nn.convolution import conv1d, conv2d
from minitorch.nn.embedding import embedding
from minitorch.nn.functional import dropout
from minitorch.nn.linear import linear
from minitorch.nn.pooling import avg_pool2d, max_pool2d
from minitorch.nn.sizes import Sizes, sizes_of
from minitorch.tensor import rand, zeros
from minitorch.tensor_data import as_shape
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.tensor import Tensor
    from minitorch.tensor_backend import TensorBackend


def he_uniform(shape: tuple[int, ...], fan_in: int, backend: TensorBackend, dtype: Any) -> Tensor:
    """Initial weights in front of a relu, that let numbers neither grow nor fade from layer to layer: uniform in ±√(6 / fan_in).

    Their variance is 2 / fan_in: each of fan_in inputs brings half of its square through the relu before it.

    Args:
        shape: Of the weights.
        fan_in: How many inputs each output is made from.
        backend: Where they lie.
        dtype: float64 or float32; None for the default.

    Source: He et al. 2015, arXiv:1502.01852, eq. 10.
    """
    return (rand(shape, backend, dtype=dtype) - 0.5) * (2 * math.sqrt(6 / fan_in))


class Linear(Module):
    """`linear`, x @ weight.t() + bias.

    Args:
        in_features: Size of the last dimension of what comes in.
        out_features: Size of the last dimension of what goes out.
        bias: Whether there is one; it begins as zeros, the weight as `he_uniform`.

    Raises:
        ValueError: If a size is less than 1.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, backend: TensorBackend = SimpleBackend, dtype: Any = None
    ) -> None:
        super().__init__()
        shape = _at_least_1((out_features, in_features), "Linear", "out_features and in_features")
        self.weight = Parameter(he_uniform(shape, shape[1], backend, dtype))
        self.bias = Parameter(zeros(shape[:1], backend, dtype=dtype)) if bias else None

    def forward(self, input: Tensor) -> Tensor:
        """From shape (…, in_features) to (…, out_features)."""
        return linear(input, self.weight.value, self.bias and self.bias.value)


class _Conv(Module):
    """What Conv1d and Conv2d share."""

    def __init__(
        self, channels: tuple[int, int], kernel: tuple[int, ...], groups: int, bias: bool, backend: TensorBackend, dtype: Any
    ) -> None:
        super().__init__()
        name = type(self).__name__
        in_channels, out_channels, groups = _at_least_1((*channels, groups), name, "in_channels, out_channels and groups")
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{name} expected groups that divide {in_channels} and {out_channels} channels, got {groups}")
        shape = (out_channels, in_channels // groups, *kernel)
        self.weight = Parameter(he_uniform(shape, math.prod(shape[1:]), backend, dtype))
        self.bias = Parameter(zeros(shape[:1], backend, dtype=dtype)) if bias else None


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
        bias: Whether there is one; it begins as zeros, the weight as `he_uniform`.

    Raises:
        ValueError: If a size is out of range, or groups do not divide the channels.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int | str = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        kernel = _at_least_1((kernel_size,), "Conv1d", "kernel_size")
        super().__init__((in_channels, out_channels), kernel, groups, bias, backend, dtype)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

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
        bias: Whether there is one; it begins as zeros, the weight as `he_uniform`.

    Raises:
        ValueError: If a size is out of range, or groups do not divide the channels.
    """

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
        super().__init__((in_channels, out_channels), sizes_of("Conv2d", "kernel_size", kernel_size, 1), groups, bias, backend, dtype)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, in_channels, H, W) to (B, out_channels, H', W')."""
        bias = self.bias and self.bias.value
        return conv2d(input, self.weight.value, bias, self.stride, self.padding, self.dilation, self.groups)


class Embedding(Module):
    """`embedding`: a row of a table for each word. It begins with numbers of the normal distribution of mean 0 and variance 1.

    Args:
        num_embeddings: How many words there are.
        embedding_dim: Numbers for each.
        padding_idx: A row that is no word: it begins as zeros and stays as it is.

    Raises:
        ValueError: If a size is less than 1.
        IndexingError: If there is no row padding_idx.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = _at_least_1((num_embeddings, embedding_dim), "Embedding", "num_embeddings and embedding_dim")
        weight = randn(shape, backend, dtype=dtype)
        if padding_idx is not None:
            weight[padding_idx] = 0.0
        self.weight, self.padding_idx = Parameter(weight), padding_idx

    def forward(self, indices: Tensor) -> Tensor:
        """From any shape to that shape with embedding_dim behind it."""
        return embedding(indices, self.weight.value, self.padding_idx)


class Dropout(Module):
    """In training, set elements to 0 at random and divide the others by what share is left, so that the mean stays; in evaluation, nothing.

    Args:
        p: With which probability an element becomes 0, from 0 to 1.

    Raises:
        ValueError: If p is out of range.

    Source: Srivastava et al. 2014, Journal of Machine Learning Research 15, section 10 (there scaled in evaluation instead).
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"Dropout expected p from 0 to 1, got {p}; it is the share of the elements that become 0")
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        if not self.training or not self.p:
            return input
        kept = dropout(input, self.p)
        return kept * (1 / (1 - self.p)) if self.p < 1 else kept


class ReLU(Module):
    """What is positive, else 0."""

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return input.relu()


class Flatten(Module):
    """The dimensions from start_dim to end_dim made one; unless told otherwise all but that of the samples."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, …) to (B, product of the others)."""
        return input.flatten(self.start_dim, self.end_dim)


class _Pool(Module):
    """What MaxPool2d and AvgPool2d share."""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding


class MaxPool2d(_Pool):
    """`max_pool2d`, the largest element of each window."""

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, C, H, W) to (B, C, H', W')."""
        return max_pool2d(input, self.kernel_size, self.stride, self.padding)


class AvgPool2d(_Pool):
    """`avg_pool2d`, the mean of each window."""

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, C, H, W) to (B, C, H', W')."""
        return avg_pool2d(input, self.kernel_size, self.stride, self.padding)


class Sequential(Module):
    """Modules one after the other, named "0", "1", …

    Raises:
        TypeError: If one is no Module.
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for number, module in enumerate(modules):
            if not isinstance(module, Module):
                raise TypeError(f"Sequential expected Modules, got {type(module).__name__} as number {number}; functions go into a forward")
            setattr(self, str(number), module)

    def forward(self, input: Any) -> Any:
        """What the last module makes of what the one before it made …; without any, what came in."""
        for module in self.modules():
            input = module(input)
        return input


def _at_least_1(sizes: tuple[int, ...], layer: str, names: str) -> tuple[int, ...]:
    """Sizes that are whole numbers of at least 1."""
    found = as_shape(sizes, layer)
    if min(found) < 1:
        raise ValueError(f"{layer} expected {names} of at least 1, got {', '.join(map(str, sizes))}")
    return found
