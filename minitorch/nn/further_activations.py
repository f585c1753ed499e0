"""Stage 6 - Activations along a dimension, with a weight or with random slopes: softmin, glu, prelu and rrelu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minitorch.core.creation import full
from minitorch.core.math_functions import MaskedSelect
from minitorch.nn.functional import softmax
from minitorch.nn.module import Module, Parameter
from minitorch.nn.sizes import check_float_tensor, positive_ints
from minitorch.tensor import rand
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend
    from minitorch.tensor import Tensor


def softmin(input: Tensor, dim: int) -> Tensor:
    """softmax(-input) along a dimension."""
    return softmax(-input, dim)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension, times sigmoid of the second half.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If the dimension has an odd size.

    Source: Dauphin et al. 2017, arXiv:1612.08083, section 2.
    """
    size = check_float_tensor("glu", input).shape[input._normalize_dim(dim)]
    if size % 2:
        raise ValueError(f"glu expected an even size in dimension {dim}, got {size} (input {input.shape})")
    a, b = input.split(size // 2, dim)
    return a * b.sigmoid()


def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """x for positive x, else slope · x with a random slope for each element.

    Args:
        input: Any shape.
        lower: Smallest slope.
        upper: Largest slope.
        training: Whether slopes are random; otherwise each is the mean of the two.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If lower is above upper.

    Source: Xu et al. 2015, arXiv:1505.00853, section 2.4.
    """
    check_float_tensor("rrelu", input)
    if lower > upper:
        raise ValueError(f"rrelu expected lower of at most upper, got {lower} and {upper}")
    slope: Any = (lower + upper) / 2
    if training:
        slope = rand(input.shape, input.backend, dtype=input.dtype) * (upper - lower) + lower
    positive = input.detach() > 0
    return MaskedSelect.apply(input, positive) + MaskedSelect.apply(input, ~positive) * slope


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x for positive x, else weight · x with a learned weight.

    Args:
        input: Any shape; (N, C, …) for a weight for each channel.
        weight: Shape (1,), or (C,).

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If the weight does not fit.

    Source: He et al. 2015, arXiv:1502.01852, eq. 1.
    """
    check_float_tensor("prelu", input)
    channels = input.shape[1] if input.dims > 1 else 1
    if weight.shape not in ((1,), (), (channels,)):
        raise ValueError(f"prelu expected weight of shape (1,) or ({channels},) for input of shape {input.shape}, got {weight.shape}")
    slope = weight if weight.numel() == 1 else weight.reshape(channels, *[1] * (input.dims - 2))
    positive = input.detach() > 0
    return MaskedSelect.apply(input, positive) + MaskedSelect.apply(input, ~positive) * slope


class Softmin(Module):
    """See `softmin`."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"

    def forward(self, input: Tensor) -> Tensor:
        """Apply it along dim; shape and dtype are kept."""
        return softmin(input, self.dim)


class GLU(Module):
    """See `glu`."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"

    def forward(self, input: Tensor) -> Tensor:
        """Halve the dimension."""
        return glu(input, self.dim)


class PReLU(Module):
    """See `prelu`.

    Args:
        num_parameters: 1, or the number of channels.
        init: Initial weight.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, backend: TensorBackend = SimpleBackend, dtype: Any = None) -> None:
        super().__init__()
        (self.num_parameters,) = positive_ints((num_parameters,), "PReLU", "num_parameters")
        self.init = init
        self.weight = Parameter(full((num_parameters,), init, backend, dtype=dtype))

    def extra_repr(self) -> str:
        """The number of weights."""
        return f"num_parameters={self.num_parameters}"

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to every element; shape and dtype are kept."""
        return prelu(input, self.weight.value)


class RReLU(Module):
    """See `rrelu`; slopes are random during training."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower, self.upper = lower, upper

    def extra_repr(self) -> str:
        """The slopes."""
        return f"lower={self.lower}, upper={self.upper}"

    def forward(self, input: Tensor) -> Tensor:
        """Return the activations, same shape."""
        return rrelu(input, self.lower, self.upper, self.training)
