"""Stage 6 - Activation layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch.nn as engine
from minitorch.torch.nn import functional
from minitorch.torch.nn.module import Module, adapt, adapts
from minitorch.torch.tensor import Tensor


def _with_inplace(layer: type, fn: Callable[..., Any], *options: str) -> Any:
    """An activation layer with the argument `inplace`.

    Args:
        layer: The engine's layer.
        fn: The function of `functional`.
        options: Attributes of the layer that are arguments of the function.
    """
    base = adapt(layer)

    def __init__(self: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> None:
        if len(args) == len(options) + 1:
            *args, inplace = args  # type: ignore[assignment]  # a list is as good
        base.__init__(self, *args, **kwargs)
        self.inplace = inplace

    def extra_repr(self: Any) -> str:
        own = [base.extra_repr(self)] if options else []
        return ", ".join(own + (["inplace=True"] if self.inplace else []))

    def forward(self: Any, input: Tensor) -> Tensor:
        return fn(input, *[getattr(self, option) for option in options], inplace=self.inplace)

    members = {
        "inplace": False,
        "__init__": __init__,
        "extra_repr": extra_repr,
        "forward": forward,
        "__doc__": layer.__doc__,
        "__module__": base.__module__,
    }
    return adapts(layer)(type(layer.__name__, (base,), members))


ReLU = _with_inplace(engine.ReLU, functional.relu)
LeakyReLU = _with_inplace(engine.LeakyReLU, functional.leaky_relu, "negative_slope")
SiLU = _with_inplace(engine.SiLU, functional.silu)
ReLU6 = _with_inplace(engine.ReLU6, functional.relu6)
Hardtanh = _with_inplace(engine.Hardtanh, functional.hardtanh, "min_val", "max_val")
Hardsigmoid = _with_inplace(engine.Hardsigmoid, functional.hardsigmoid)
Hardswish = _with_inplace(engine.Hardswish, functional.hardswish)
Threshold = _with_inplace(engine.Threshold, functional.threshold, "threshold", "value")
ELU = _with_inplace(engine.ELU, functional.elu, "alpha")
SELU = _with_inplace(engine.SELU, functional.selu)
CELU = _with_inplace(engine.CELU, functional.celu, "alpha")
Mish = _with_inplace(engine.Mish, functional.mish)

GELU, Sigmoid, Tanh, Softsign = adapt(engine.GELU), adapt(engine.Sigmoid), adapt(engine.Tanh), adapt(engine.Softsign)
Softplus, LogSigmoid, Tanhshrink, GLU = adapt(engine.Softplus), adapt(engine.LogSigmoid), adapt(engine.Tanhshrink), adapt(engine.GLU)
Hardshrink, Softshrink = adapt(engine.Hardshrink), adapt(engine.Softshrink)


class PReLU(adapt(engine.PReLU)):
    """x for positive x, else weight · x with a learned weight.

    Args:
        num_parameters: 1, or the number of channels.
        init: Initial weight.
        device: Where the weight is stored.
        dtype: Dtype of the weight; the default dtype if left out.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__(num_parameters, init, device=device, dtype=dtype)


class RReLU(Module):
    """x for positive x, else slope · x with slopes that are random during training; see `minitorch.nn.rrelu`.

    Args:
        lower: Smallest slope.
        upper: Largest slope.
        inplace: Whether the input becomes the result.
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def extra_repr(self) -> str:
        """The arguments."""
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")

    def forward(self, input: Tensor) -> Tensor:
        """Apply it; shape and dtype are kept."""
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class _Along(Module):
    """Base class of the softmax layers: a function along a dimension, which is implied if it is None."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmax(_Along):
    """Softmax along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it; shape and dtype are kept."""
        return functional.softmax(input, self.dim)


class LogSoftmax(_Along):
    """Logarithm of softmax along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it; shape and dtype are kept."""
        return functional.log_softmax(input, self.dim)


class Softmin(_Along):
    """softmax(-input) along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it; shape and dtype are kept."""
        return functional.softmin(input, self.dim)


class Softmax2d(Module):
    """Softmax over the channels of images (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it; shape and dtype are kept."""
        return functional.softmax(input, -3)


class _Drop(Module):
    """Base class of the dropout layers.

    Args:
        p: Probability of an element or channel to be zeroed, from 0 to 1.
        inplace: Whether the input becomes the result.

    Raises:
        ValueError: If p is outside [0, 1].
    """

    inplace = False  # of a layer that is adapted

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout expected a probability from 0 to 1, got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        """The arguments."""
        return f"p={self.p}, inplace={self.inplace}"


@adapts(engine.Dropout)
class Dropout(_Drop):
    """During training, set elements to 0 with probability p and scale the others by 1 / (1 - p)."""

    def forward(self, input: Tensor) -> Tensor:
        """Return input with dropout applied, same shape."""
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Drop):
    """During training, set channels of sequences to 0 with probability p and scale the others by 1 / (1 - p)."""

    def forward(self, input: Tensor) -> Tensor:
        """Return input with dropout applied, same shape (N, C, L) or (C, L)."""
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Drop):
    """During training, set channels of images to 0 with probability p and scale the others by 1 / (1 - p)."""

    def forward(self, input: Tensor) -> Tensor:
        """Return input with dropout applied, same shape (N, C, H, W) or (C, H, W)."""
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Drop):
    """During training, set channels of volumes to 0 with probability p and scale the others by 1 / (1 - p)."""

    def forward(self, input: Tensor) -> Tensor:
        """Return input with dropout applied, same shape (N, C, D, H, W) or (C, D, H, W)."""
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Drop):
    """During training, dropout that keeps mean 0 and variance 1, for networks with SELU; see `minitorch.nn.alpha_dropout`."""

    def forward(self, input: Tensor) -> Tensor:
        """Return input with dropout applied, same shape."""
        return functional.alpha_dropout(input, self.p, self.training, self.inplace)
