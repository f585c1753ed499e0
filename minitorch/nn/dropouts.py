"""Stage 7 - Dropout of elements and of channels, as functions with PyTorch's arguments and as layers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from minitorch.core.errors import ArgumentError
from minitorch.core.math_functions import MaskedSelect
from minitorch.nn.functional import dropout as zero_elements
from minitorch.nn.module import Module
from minitorch.nn.options import layer, replace
from minitorch.ops.checks import check_probability, check_tensor
from minitorch.tensor import Tensor, rand

ALPHA = -1.7580993408473766
"""The limit of selu for small numbers, -scale · alpha."""


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """During training, set elements to 0 at random and scale the others by 1 / (1 - p) to preserve the mean.

    Args:
        input: Any shape.
        p: Probability of an element to be zeroed, from 0 to 1.
        training: Whether it has an effect.
        inplace: Whether input becomes the result.

    Raises:
        TypeError: If p is not a number.
        ValueError: If p is outside [0, 1].

    Source: Srivastava et al. 2014, Journal of Machine Learning Research 15, section 10 (which scales during evaluation instead).
    """
    p = check_probability("dropout", "p", p, "an element")
    if not training or not p:
        return input
    out = zero_elements(input, p)
    return replace(input, out * (1 / (1 - p)) if p < 1 else out, inplace)


SHAPES = {
    1: "The input is of shape (C, L) or (N, C, L).",
    2: "The input is of shape (N, C, H, W). As in PyTorch, one of another number of dimensions gives a warning; its first two are N and C.",
    3: "The input is of shape (C, D, H, W) or (N, C, D, H, W). As in PyTorch, others give a warning; their first dimension is C.",
}
"""What the docstrings say of shapes, by the number of spatial dimensions."""


def _of_channels(name: str, spatial: int) -> Callable[..., Tensor]:
    """Dropout of whole channels of inputs with a number of spatial dimensions."""
    usual = (4,) if spatial == 2 else (spatial + 1, spatial + 2)

    def function(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        p = check_probability(name, "p", p, "a channel")
        dims = check_tensor(name, input, "input").dims
        channels = {1: dims - 1, 2: 2, 3: 2 if dims == 5 else 1}[spatial]
        if dims not in usual:
            expected = f"{name} expected input of {' or '.join(map(str, usual))} dimensions, got {tuple(input.shape)}"
            if spatial == 1 or dims < channels:
                raise ArgumentError(f"{expected}; x.reshape(...) changes their number")
            warnings.warn(f"{expected}; whole channels are chosen along its first {channels}", stacklevel=2)
        if not training or not p:
            return input
        kept = rand((*input.shape[:channels], *[1] * (dims - channels)), input.backend) >= p
        out = MaskedSelect.apply(input, kept)
        return replace(input, out * (1 / (1 - p)) if p < 1 else out, inplace)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""During training, set whole channels to 0 with probability p and scale the others by 1 / (1 - p).

    {SHAPES[spatial]}

    Raises:
        TypeError: If input is not a Tensor, or p is not a number.
        ValueError: If input has too few dimensions{"" if spatial > 1 else " or too many"}, or p is outside [0, 1].

    Source: Tompson et al. 2015, arXiv:1411.4280, section 3.2.
    """
    return function


dropout1d, dropout2d, dropout3d = (_of_channels(f"dropout{dims}d", dims) for dims in (1, 2, 3))


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """During training, set elements to the limit of `selu`, then scale and shift all, so that mean 0 and variance 1 are kept.

    Args:
        input: Any shape.
        p: Probability of an element to be set, from 0 to 1; 1 gives zeros.
        training: Whether it has an effect.
        inplace: Whether input becomes the result.

    Raises:
        TypeError: If input is not a Tensor, or p is not a number.
        ValueError: If p is outside [0, 1].

    Source: Klambauer et al. 2017, arXiv:1706.02515, section 3.
    """
    p = check_probability("alpha_dropout", "p", p, "an element")
    if not training or not p:
        return check_tensor("alpha_dropout", input, "input")
    scale = ((1 - p) * (1 + p * ALPHA**2)) ** -0.5 if p < 1 else 0.0
    out = input.where(rand(input.shape, input.backend) >= p, ALPHA) * scale - scale * ALPHA * p if p < 1 else input * 0.0
    return replace(input, out, inplace)


class DropoutNd(Module):
    """Base class of the dropout layers, for those of your own.

    Args:
        p: Probability that `forward` sets an element to 0.
        inplace: Whether it changes its input.
    """

    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p, self.inplace = check_probability(type(self).__name__, "p", p, "an element"), inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


def _layer(name: str, fn: Callable[..., Tensor], what: str) -> Any:
    """A dropout layer, which has an effect in training mode."""

    def check(p: Any, inplace: bool) -> None:
        check_probability(name, "p", p, what)

    return layer(name, fn, "p", "inplace", shown="p={p}, inplace={inplace}", check=check, base=DropoutNd, inplace=False)


Dropout, AlphaDropout = _layer("Dropout", dropout, "an element"), _layer("AlphaDropout", alpha_dropout, "an element")
Dropout1d, Dropout2d = _layer("Dropout1d", dropout1d, "a channel"), _layer("Dropout2d", dropout2d, "a channel")
Dropout3d = _layer("Dropout3d", dropout3d, "a channel")
