"""Stage 7 - Activation layers, and the functions along a dimension: softmax, log_softmax and softmin."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from minitorch.core.creation import full
from minitorch.core.dtypes import as_dtype
from minitorch.core.errors import DtypeError
from minitorch.core.math_functions import MaskedSelect
from minitorch.nn.functional import logsoftmax
from minitorch.nn.functional import softmax as softmax_along
from minitorch.nn.module import Module
from minitorch.nn.options import layer, with_inplace
from minitorch.nn.parameter import Parameter
from minitorch.ops import activations, hard_activations, smooth_activations
from minitorch.ops.activations import gelu, glu, sigmoid, tanh
from minitorch.ops.checks import check_float_tensor, positive_ints
from minitorch.ops.hard_activations import hardshrink, softshrink
from minitorch.ops.smooth_activations import logsigmoid, softplus, softsign, tanhshrink
from minitorch.tensor import Tensor
from minitorch.torch.placement import placement
from minitorch.torch.promotion import require_floats
from minitorch.torch.saved import saves

REQUIRED: Any = inspect.Parameter.empty

# Functions

relu, leaky_relu, silu = map(with_inplace, (activations.relu, activations.leaky_relu, activations.silu))
rrelu = with_inplace(activations.rrelu)
hardtanh, relu6, hardsigmoid = map(with_inplace, (hard_activations.hardtanh, hard_activations.relu6, hard_activations.hardsigmoid))
hardswish, threshold = with_inplace(hard_activations.hardswish), with_inplace(hard_activations.threshold)
elu, selu, celu = map(with_inplace, (smooth_activations.elu, smooth_activations.selu, smooth_activations.celu))
mish = with_inplace(smooth_activations.mish)


@saves(0, 1)
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
    if check_float_tensor("prelu", input)._tensor.dtype is not weight._tensor.dtype:
        raise DtypeError(f"prelu expected weight of {input.dtype.name}, got {weight.dtype.name}; convert it: weight.to(input.dtype)")
    channels = input.shape[1] if input.dims > 1 else 1
    if weight.shape not in ((1,), (), (channels,)):
        raise ValueError(f"prelu expected weight of shape (1,) or ({channels},) for input of shape {input.shape}, got {weight.shape}")
    slope = weight if weight.numel() == 1 else weight.reshape(channels, *[1] * (input.dims - 2))
    positive = input.detach() > 0
    return input.where(positive, MaskedSelect.apply(input, ~positive) * slope)


def _implicit_dim(op: str, dims: int) -> int:
    """The dimension that softmax takes when none is given, with PyTorch's warning."""
    warnings.warn(f"{op} without dim chooses one by the number of dimensions; name it: dim=-1", stacklevel=4)
    return 0 if dims in (0, 1, 3) else 1


def _along(fn: Callable[..., Any], op: str, x: Tensor, dim: int | None, dtype: Any) -> Tensor:
    """A function along a dimension; of a tensor without dimensions as of one with a single element."""
    x = require_floats(op, x if dtype is None else x.to(as_dtype(dtype)))
    dim = _implicit_dim(op, x.dims) if dim is None else dim
    return fn(x, dim) if x.dims else fn(x.reshape(1), dim).reshape(())


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Softmax along a dimension, in another dtype if one is given.

    Args:
        input: Any shape.
        dim: The dimension; if it is left out, one is chosen with a warning, as in PyTorch.
        _stacklevel: Has no effect.
        dtype: The dtype of the result.
    """
    return _along(softmax_along, "softmax", input, dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Logarithm of softmax along a dimension, in another dtype if one is given; for the arguments see `softmax`."""
    return _along(logsoftmax, "log_softmax", input, dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-input) along a dimension, in another dtype if one is given; for the arguments see `softmax`."""
    return _along(lambda x, dim: softmax_along(-x, dim), "softmin", input, dim, dtype)


# Layers


def _check_approximate(approximate: str) -> None:
    """Raise ValueError for an unknown approximation of gelu."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f'GELU expected approximate "none" or "tanh", got {approximate!r}')


def _check_limits(min_val: float, max_val: float, inplace: bool) -> None:
    """Raise ValueError for an empty range of hardtanh."""
    if not min_val < max_val:
        raise ValueError(f"Hardtanh expected max_val above min_val, got {min_val} and {max_val}; swap them")


ReLU, ReLU6, LeakyReLU = layer("ReLU", relu), layer("ReLU6", relu6), layer("LeakyReLU", leaky_relu)
SiLU, Sigmoid, Tanh, Mish = layer("SiLU", silu), layer("Sigmoid", sigmoid), layer("Tanh", tanh), layer("Mish", mish)
GELU, GLU = layer("GELU", gelu, check=_check_approximate), layer("GLU", glu)
ELU, CELU, SELU = layer("ELU", elu), layer("CELU", celu), layer("SELU", selu)
Hardtanh, Hardsigmoid = layer("Hardtanh", hardtanh, check=_check_limits), layer("Hardsigmoid", hardsigmoid)
Hardswish, Threshold = layer("Hardswish", hardswish), layer("Threshold", threshold, threshold=REQUIRED, value=REQUIRED)
Hardshrink, Softshrink = layer("Hardshrink", hardshrink, shown="{lambd}"), layer("Softshrink", softshrink, shown="{lambd}")
Softplus, Softsign = layer("Softplus", softplus), layer("Softsign", softsign)
LogSigmoid, Tanhshrink = layer("LogSigmoid", logsigmoid), layer("Tanhshrink", tanhshrink)
RReLU = layer("RReLU", rrelu)
Softmax, LogSoftmax, Softmin = layer("Softmax", softmax, "dim"), layer("LogSoftmax", log_softmax, "dim"), layer("Softmin", softmin, "dim")


class Softmax2d(Module):
    """Softmax over the channels of images (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it; shape and dtype are kept."""
        return softmax(input, -3)


class PReLU(Module):
    """x for positive x, else weight · x with a learned weight; see `prelu`.

    Args:
        num_parameters: 1, or the number of channels.
        init: Initial weight.
        device: Where the weight is stored.
        dtype: Dtype of the weight; the default dtype if left out.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        (self.num_parameters,) = positive_ints((num_parameters,), "PReLU", "num_parameters", minimum=0)
        self.init = init
        self.weight = Parameter(full((num_parameters,), init, **placement(device, dtype)))

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to every element; shape and dtype are kept."""
        return prelu(input, self.weight)
