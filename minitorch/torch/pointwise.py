"""Stage 7 - Functions of one tensor, element by element, with PyTorch's dtypes, on tensors of the engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np

from minitorch.core.dtypes import as_dtype, bool_, float32, int64, is_float
from minitorch.core.math_functions import Abs, Cos, ExactLog, Sin, Sqrt, Tanh
from minitorch.ops import pointwise as ops
from minitorch.ops import special
from minitorch.ops.activations import Relu
from minitorch.ops.pairs import Choose
from minitorch.tensor import Tensor
from minitorch.tensor_functions import Exp, Function, Sigmoid
from minitorch.torch.promotion import cast, get_default_dtype, require_floats, require_numbers


def as_float(x: Tensor) -> Tensor:
    """A tensor of floating-point numbers; integers and bools in the default dtype."""
    return x if is_float(x._tensor.dtype) else x.to(get_default_dtype())


def of_floats(function: type[Function], name: str) -> Callable[[Tensor], Tensor]:
    """A function that gives floating-point numbers for integers and bools, too."""

    def apply(input: Tensor) -> Tensor:
        return function.apply(input if input._tensor.dtype is float32 else as_float(input))

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = function.__doc__
    return apply


def of_numbers(function: type[Function], name: str) -> Callable[[Tensor], Tensor]:
    """A function that returns integers unchanged, such as floor, and refuses bools."""

    def apply(input: Tensor) -> Tensor:
        return function.apply(input) if is_float(input._tensor.dtype) else require_numbers(name, input).clone()

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = function.__doc__
    return apply


exp, log, sqrt, sin, cos = (
    of_floats(function, name) for function, name in ((Exp, "exp"), (ExactLog, "log"), (Sqrt, "sqrt"), (Sin, "sin"), (Cos, "cos"))
)
tanh, sigmoid, reciprocal = of_floats(Tanh, "tanh"), of_floats(Sigmoid, "sigmoid"), of_floats(ops.Reciprocal, "reciprocal")
tan, asin, acos, atan = (of_floats(getattr(ops, name.capitalize()), name) for name in ("tan", "asin", "acos", "atan"))
sinh, cosh, erf, expm1, log1p = (of_floats(getattr(ops, name.capitalize()), name) for name in ("sinh", "cosh", "erf", "expm1", "log1p"))
asinh, acosh, atanh, erfc, rsqrt = (of_floats(getattr(ops, x.capitalize()), x) for x in ("asinh", "acosh", "atanh", "erfc", "rsqrt"))
floor, ceil, trunc = (of_numbers(getattr(ops, name.capitalize()), name) for name in ("floor", "ceil", "trunc"))
exp2, sinc, erfinv, lgamma = (of_floats(getattr(special, x.capitalize()), x) for x in ("exp2", "sinc", "erfinv", "lgamma"))
digamma, i0, i1 = of_floats(special.polygamma_of_order(0), "digamma"), of_floats(special.I0, "i0"), of_floats(special.I1, "i1")


def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of `digamma`, itself for n = 0.

    Raises:
        ValueError: If n is negative.
    """
    if n < 0:
        raise ValueError(f"polygamma expected n from 0 on, got {n}")
    return special.polygamma_of_order(int(n)).apply(as_float(input))


def log2(input: Tensor) -> Tensor:
    """Logarithm to base 2."""
    return log(input) / math.log(2)


def log10(input: Tensor) -> Tensor:
    """Logarithm to base 10."""
    return log(input) / math.log(10)


def square(input: Tensor) -> Tensor:
    """input²; of bools as int64."""
    x = input if input._tensor.dtype is not bool_ else input.to(int64)
    return x * x


def abs(input: Tensor) -> Tensor:
    """|input|; its derivative at 0 is 0.

    Raises:
        TypeError: If it holds bools.
    """
    return Abs.apply(require_numbers("abs", input))


def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1, in the dtype of input; 0 for NaN."""
    return cast(ops.Sign.apply(as_float(input)), input.dtype)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Rounded to a number of decimals, a half to the even neighbor.

    Raises:
        TypeError: If it holds bools, or decimals is not an integer.

    Example:
        >>> torch.round(torch.tensor([0.5, 1.5, 2.5]))
        tensor([0., 2., 2.])
        >>> torch.round(torch.tensor([3.14159]), decimals=2)
        tensor([3.1400])
    """
    if not isinstance(decimals, int):
        raise TypeError(f"round expected an integer as decimals, got {decimals!r}")
    if not is_float(input.dtype):
        return require_numbers("round", input).clone()
    return ops.Round.apply(input * 10.0**decimals) / 10.0**decimals if decimals else ops.Round.apply(input)


def frac(input: Tensor) -> Tensor:
    """The fraction, with the sign of input.

    Raises:
        TypeError: If it holds integers or bools.
    """
    return require_floats("frac", input) - trunc(input)


def relu(input: Tensor) -> Tensor:
    """max(input, 0); NaN stays NaN. Its derivative at 0 is 0. Errors as for `abs`."""
    return Relu.apply(input) if is_float(input._tensor.dtype) else cast(input * (require_numbers("relu", input) > 0), input.dtype)


def isnan(input: Tensor) -> Tensor:
    """Whether each element is NaN."""
    return input != input


def isinf(input: Tensor) -> Tensor:
    """Whether each element is infinite."""
    return ops.apply_ufunc(np.isinf, bool_, input)


def isfinite(input: Tensor) -> Tensor:
    """Whether each element is neither infinite nor NaN."""
    return ops.apply_ufunc(np.isfinite, bool_, input)


def signbit(input: Tensor) -> Tensor:
    """Whether each element is negative; of zeros and NaN, whether the sign is.

    Example:
        >>> torch.signbit(torch.tensor([1.0, 0.0, -0.0]))
        tensor([False, False,  True])
    """
    return ops.apply_ufunc(np.signbit, bool_, input)


@cache
def functional() -> ModuleType:
    """Module 4's functions, imported when they are used: their package has the layers, which import this module."""
    return import_module("minitorch.nn.functional")


def softmax(input: Tensor, dim: int, dtype: np.dtype | None = None) -> Tensor:
    """Positive numbers with sum 1 along dim, proportional to e^input, computed in dtype.

    Raises:
        TypeError: If they are not floating-point numbers.

    Example:
        >>> torch.softmax(torch.tensor([[0.0, 0.0], [0.0, 1000.0]]), dim=1)
        tensor([[0.5000, 0.5000],
                [0.0000, 1.0000]])
    """
    return _along(functional().softmax, require_floats("softmax", input if dtype is None else cast(input, as_dtype(dtype))), dim)


def log_softmax(input: Tensor, dim: int, dtype: np.dtype | None = None) -> Tensor:
    """The logarithm of `softmax`, without overflow; errors as for `softmax`.

    Example:
        >>> torch.log_softmax(torch.tensor([0.0, -1000.0]), dim=0)
        tensor([    0., -1000.])
    """
    return _along(functional().logsoftmax, require_floats("log_softmax", input if dtype is None else cast(input, as_dtype(dtype))), dim)


def _along(function: Callable[[Tensor, int], Tensor], x: Tensor, dim: int) -> Tensor:
    """A function along a dimension; 0 and -1 stand for that of a tensor without any."""
    if not x.dims:
        return function(x.view(1), dim).squeeze(0)
    return function(x, dim) if x.shape[x._normalize_dim(dim)] else x.clone()


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """ln(x / (1 - x)); with eps of x limited to the range from eps to 1 - eps, where the gradient flows up to the limits."""
    x = as_float(input)
    if eps is not None:
        value = x.detach()
        x = Choose.apply((value >= eps) & (value <= 1 - eps), x, value.clip(eps, 1 - eps))
    return ops.Logit.apply(x)


def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians."""
    return as_float(input) * (math.pi / 180)


def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees."""
    return as_float(input) * (180 / math.pi)
