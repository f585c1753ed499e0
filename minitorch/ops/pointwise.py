"""Stage 7 - Elementwise functions that PyTorch has and the course does not need: forward in a kernel, backward from other functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minitorch.autodiff import Context
from minitorch.autograd.engine import RULES
from minitorch.core.dtypes import is_float, promote_to_float
from minitorch.core.math_functions import Div
from minitorch.core.recording import call
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_functions import LT, Function, Inv


def apply_ufunc(ufunc: Callable[..., Any], dtype: np.dtype, *inputs: Tensor) -> Tensor:
    """NumPy's function of the elements of tensors that broadcast, as a constant of a dtype; recorded like a kernel."""
    arrays = [x._tensor.array() for x in inputs]
    values = np.empty(np.broadcast_shapes(*(array.shape for array in arrays)), dtype)
    call(ufunc, *arrays, values)
    return inputs[0]._like(type(inputs[0]._tensor)(values.reshape(-1), values.shape))


class Elementwise(Function):
    """Base class of functions of one tensor.

    Attributes:
        number: The function of a number.
        of_result: Whether the derivative is a function of the result, so that the tensor may be overwritten.
    """

    number: ClassVar[Callable[[float], float]]
    of_result: ClassVar[bool] = False
    _slope: ClassVar[Callable[[Tensor], Tensor]]
    """The derivative at every element of a tensor or, with `of_result`, at every element of the result."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        out = a.f.map(ctx.fn.number, promote_to_float)(a)
        ctx.save_for_backward(out if ctx.fn.of_result else a)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_values
        return grad_output * ctx.fn._slope(x)


class Step(Elementwise):
    """Base class of functions that are piecewise constant: their derivative is 0 wherever it exists."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        return a.f.map(ctx.fn.number, promote_to_float)(a)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return grad_output.zeros()


def elementwise(
    name: str, doc: str, number: Callable[[float], float], slope: Callable[[Any], Any] | None = None, of_result: bool = False
) -> type[Elementwise]:
    """The Function of a scalar function with its derivative; without one, of a function that is piecewise constant."""
    members: dict[str, Any] = {"number": staticmethod(number), "of_result": of_result, "__doc__": doc, "__module__": number.__module__}
    return type(name, (Elementwise,), members | {"_slope": staticmethod(slope)}) if slope else type(name, (Step,), members)


def expm1(x: float) -> float:
    """eˣ - 1, exact near 0."""
    return math.expm1(x)


def log1p(x: float) -> float:
    """ln(1 + x), exact near 0; -∞ at -1, NaN below."""
    if x == -1.0:
        return -math.inf
    return math.log1p(x) if x > -1.0 else math.nan


def logit(x: float) -> float:
    """ln(x / (1 - x)); ±∞ at the ends of the range from 0 to 1, NaN outside of it."""
    if 0.0 < x < 1.0:
        return math.log(x / (1.0 - x))
    return -math.inf if x == 0.0 else math.inf if x == 1.0 else math.nan


def tan(x: float) -> float:
    """Tangent, in radians; NaN for infinite x."""
    return math.tan(x) if -math.inf < x < math.inf else math.nan


def asin(x: float) -> float:
    """Arcsine, in radians; NaN outside of -1 to 1."""
    return math.asin(x) if -1.0 <= x <= 1.0 else math.nan


def acos(x: float) -> float:
    """Arccosine, in radians; NaN outside of -1 to 1."""
    return math.acos(x) if -1.0 <= x <= 1.0 else math.nan


def atan(x: float) -> float:
    """Arctangent, in radians."""
    return math.atan(x)


def sinh(x: float) -> float:
    """Hyperbolic sine; infinite where it exceeds the largest number."""
    if x > 710.4 or x < -710.4:
        return math.copysign(math.inf, x)
    return math.sinh(x)


def cosh(x: float) -> float:
    """Hyperbolic cosine; infinite where it exceeds the largest number."""
    if x > 710.4 or x < -710.4:
        return math.inf
    return math.cosh(x)


def erf(x: float) -> float:
    """The error function, 2/√π times the integral of e^(-t²) from 0 to x."""
    return math.erf(x)


def asinh(x: float) -> float:
    """Inverse of the hyperbolic sine."""
    return math.asinh(x)


def acosh(x: float) -> float:
    """Inverse of the hyperbolic cosine; NaN below 1."""
    return math.acosh(x) if x >= 1.0 else math.nan


def atanh(x: float) -> float:
    """Inverse of the hyperbolic tangent; ±∞ at ±1, NaN beyond."""
    if x == 1.0 or x == -1.0:
        return math.copysign(math.inf, x)
    return math.atanh(x) if -1.0 < x < 1.0 else math.nan


def erfc(x: float) -> float:
    """1 - erf(x), exact for large x."""
    return math.erfc(x)


def floor(x: float) -> float:
    """The largest whole number up to x."""
    return math.copysign(float(math.floor(x)), x) if abs(x) < 2.0**52 else x


def ceil(x: float) -> float:
    """The smallest whole number from x on."""
    return math.copysign(float(math.ceil(x)), x) if abs(x) < 2.0**52 else x


def trunc(x: float) -> float:
    """x without its fraction."""
    return math.copysign(float(math.trunc(x)), x) if abs(x) < 2.0**52 else x


def round_half_even(x: float) -> float:
    """The nearest whole number, the even one of two."""
    return math.copysign(float(round(x)), x) if abs(x) < 2.0**52 else x


def sign(x: float) -> float:
    """-1, 0 or 1; 0 for NaN, as in PyTorch."""
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0


def rsqrt(x: float) -> float:
    """1 / √x; ∞ at 0, NaN below."""
    if x > 0.0:
        return 1.0 / math.sqrt(x)
    return math.copysign(math.inf, x) if x == 0.0 else math.nan


class Reciprocal(Inv):
    """1 / x."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        y = a.f.inv_map(a)
        ctx.save_for_backward(y)  # not a, which may be overwritten
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return -grad_output * y * y


Rsqrt = elementwise("Rsqrt", "1 / √x.", rsqrt, lambda y: y * y * y * -0.5, of_result=True)
Expm1 = elementwise("Expm1", "eˣ - 1.", expm1, lambda y: y + 1.0, of_result=True)
Log1p = elementwise("Log1p", "ln(1 + x).", log1p, lambda a: 1.0 / (1.0 + a))


class Logit(Elementwise):
    """ln(x / (1 - x))."""

    number = staticmethod(logit)

    @staticmethod
    def _slope(a: Tensor) -> Tensor:
        """1 / (x (1 - x)); NaN outside of the range from 0 to 1."""
        product = a * (1.0 - a)
        return 1.0 / product.where(product.detach() >= 0, math.nan)


RULES[Logit] = lambda ctx, out, grad: Logit.backward(ctx, grad)

Tan = elementwise("Tan", "Tangent.", tan, lambda y: 1.0 + y * y, of_result=True)
Asin = elementwise("Asin", "Arcsine.", asin, lambda a: 1.0 / (1.0 - a * a).sqrt())
Acos = elementwise("Acos", "Arccosine.", acos, lambda a: -1.0 / (1.0 - a * a).sqrt())
Atan = elementwise("Atan", "Arctangent.", atan, lambda a: 1.0 / (1.0 + a * a))
Sinh = elementwise("Sinh", "Hyperbolic sine.", sinh, lambda a: Cosh.apply(a))
Cosh = elementwise("Cosh", "Hyperbolic cosine.", cosh, lambda a: Sinh.apply(a))
Erf = elementwise("Erf", "The error function.", erf, lambda a: (-(a * a)).exp() * (2.0 / math.sqrt(math.pi)))
Asinh = elementwise("Asinh", "Inverse of the hyperbolic sine.", asinh, lambda a: 1.0 / (a * a + 1.0).sqrt())
Acosh = elementwise("Acosh", "Inverse of the hyperbolic cosine.", acosh, lambda a: 1.0 / (a * a - 1.0).sqrt())
Atanh = elementwise("Atanh", "Inverse of the hyperbolic tangent.", atanh, lambda a: 1.0 / (1.0 - a * a))
Erfc = elementwise("Erfc", "1 - erf(x).", erfc, lambda a: (a * a * -1.0).exp() * (-2.0 / math.sqrt(math.pi)))
Floor = elementwise("Floor", "Rounded down.", floor)
Ceil = elementwise("Ceil", "Rounded up.", ceil)
Trunc = elementwise("Trunc", "Rounded towards 0.", trunc)
Round = elementwise("Round", "Rounded to the nearest whole number.", round_half_even)
Sign = elementwise("Sign", "The sign.", sign)


def floor_quotient(a: float, b: float) -> float:
    """a / b rounded down; infinite or NaN for b = 0."""
    if b == 0.0:
        return math.nan if a == 0.0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a // b


def modulo(a: float, b: float) -> float:
    """a - floor(a / b) · b: the remainder with the sign of b, a zero with that of a; NaN for b = 0."""
    if b == 0.0:
        return math.nan
    rest = a % b
    return rest if rest != 0.0 else math.copysign(0.0, a)


def whole_quotient(a: int, b: int) -> int:
    """a / b of integers, rounded down."""
    return a // b


def whole_modulo(a: int, b: int) -> int:
    """a - floor(a / b) · b of integers."""
    return a % b


class FloorDivide(LT):
    """a / b rounded down; its derivative is 0, like that of a comparison."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return a.f.zip(floor_quotient if is_float(a.dtype) else whole_quotient)(a, b)


class TruncDivide(LT):
    """a / b rounded towards 0; its derivative is 0."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return Trunc.apply(Div.apply(a, b))


class Remainder(Function):
    """a - floor(a / b) · b."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(*(a, b) if ctx.needs_input_grad[1] else ())
        return a.f.zip(modulo if is_float(a.dtype) else whole_modulo)(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor | None]:
        return grad_output, -grad_output * FloorDivide.apply(*ctx.saved_values) if ctx.saved_values else None
