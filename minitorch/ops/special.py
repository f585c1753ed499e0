"""Stage 7 - Special functions, element by element: erfinv, sinc, the gamma function's logarithm and derivatives, and Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from minitorch.autograd.engine import RULES
from minitorch.core.tensor_base import Tensor
from minitorch.ops.pointwise import Elementwise, elementwise

# Scalar functions


def exp2(x: float) -> float:
    """2ˣ; infinite where it exceeds the largest number."""
    return 2.0**x if x < 1024.0 else x * math.inf


def sinc(x: float) -> float:
    """sin(πx) / (πx), and 1 at 0; NaN for infinite x."""
    y = math.pi * x
    if not -math.inf < y < math.inf:
        return math.nan
    return math.sin(y) / y if y != 0.0 else 1.0


def erfinv(x: float) -> float:
    """Inverse of the error function; ±∞ at ±1, NaN beyond.

    Two steps of Halley's method from an approximation to 0.2 %. Source of it: Winitzki 2008, "A handy approximation for the error function
    and its inverse".
    """
    a = abs(x)
    if not a < 1.0:
        return math.copysign(math.inf, x) if a == 1.0 else math.nan
    log = math.log1p(-a * a)
    b = 2.0 / (math.pi * 0.147) + 0.5 * log
    y = math.sqrt(abs(math.sqrt(b * b - log / 0.147) - b))
    for _ in range(2):
        error = math.erf(y) - a if a < 0.5 else (1.0 - a) - math.erfc(y)  # of a near 1, erfc has the digits
        step = error * math.exp(y * y) * (0.5 * math.sqrt(math.pi))
        y -= step / (1.0 + y * step)
    return math.copysign(y, x)


def lgamma(x: float) -> float:
    """ln |Γ(x)|; ∞ at 0 and at negative integers."""
    if x == -math.inf or (x <= 0.0 and -x % 1.0 == 0.0):
        return math.inf
    return math.lgamma(x) if x < 1e300 else x * (math.log(x) - 1.0)


def digamma(x: float) -> float:
    """The derivative of ln Γ(x); ∓∞ at ±0, NaN at negative integers.

    Sources: Abramowitz, Stegun 1964, equations 6.3.5 (recurrence), 6.3.7 (reflection) and 6.3.18 (asymptotic series).
    """
    if x == 0.0:
        return math.copysign(math.inf, -x)
    total = 0.0
    if x < 0.0:
        near = -x % 1.0
        if not near > 0.0:
            return math.nan
        total = math.pi / math.tan(math.pi * near)
        x = 1.0 - x
    while x < 12.0:
        total -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    return total + math.log(x) - 0.5 / x - series


BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)
"""Bernoulli numbers of even order 2k, divided by (2k)!: the coefficients of the Euler-Maclaurin formula."""


@cache
def polygamma_function(n: int) -> Callable[[float], float]:
    """Make the n-th derivative of digamma, for n from 1 on: (-1)ⁿ⁺¹ n! Σ (x + k)⁻⁽ⁿ⁺¹⁾ over all k from 0 on; infinite at 0, -1, -2, …"""
    s, sign, first = n + 1.0, -1.0 if n % 2 == 0 else 1.0, n + 12.0
    scale = sign * math.factorial(n)

    def polygamma(x: float) -> float:
        """The n-th derivative of digamma."""
        if not x > -math.inf:
            return math.nan
        near = min(x, 1.0) if x > 0.0 else -(-x % 1.0)  # of the terms x + k, the last one up to 0, or x itself
        if abs(near) ** s < 1e-307:  # its power is infinite
            return scale * math.inf * (sign if near < 0.0 else 1.0)
        total = sign / (-near) ** s if x < 0.0 else 0.0
        for i in range(1 if x > 0.0 else 3):  # for negative x also the terms from -1 + near down to x, as the difference of two such sums
            q = (x if x > 0.0 else 1.0 + near) if i == 0 else 1.0 - near if i == 1 else 1.0 - x
            weight = 1.0 if i == 0 else sign if i == 1 else -sign
            while q < first:
                total += weight / q**s
                q += 1.0
            power = weight * (1.0 / q) ** n
            total += power / n + 0.5 * power / q
            factor = power * s / (q * q)
            for k in range(len(BERNOULLI)):
                total += BERNOULLI[k] * factor
                factor *= (s + 2 * k + 1.0) * (s + 2 * k + 2.0) / (q * q)
        return scale * total

    return polygamma


@cache
def bessel_function(order: int) -> Callable[[float], float]:
    """Make the modified Bessel function of the first kind of order 0 or 1.

    Sources: Abramowitz, Stegun 1964, equations 9.6.10 (power series) and 9.7.1 (asymptotic series).
    """

    def bessel(x: float) -> float:
        """The modified Bessel function; infinite where it exceeds the largest number."""
        a = abs(x)
        if a > 720.0:
            value = math.inf
        elif a < 25.0:
            term = 0.5 * a if order else 1.0
            value = term
            for k in range(1, 60):
                term *= 0.25 * a * a / (k * (k + order))
                value += term
        else:
            value = term = 1.0
            for k in range(1, 26):
                term *= ((2 * k - 1) ** 2 - 4 * order) / (8 * k * a)
                value += term
            root = math.exp(0.5 * a)
            value *= root / math.sqrt(2 * math.pi * a) * root
        return math.copysign(value, x) if order else value

    return bessel


# Functions


Exp2 = elementwise("Exp2", "2ˣ.", exp2, lambda y: y * math.log(2), of_result=True)


class Sinc(Elementwise):
    """sin(πx) / (πx), and 1 at 0."""

    number = staticmethod(sinc)

    @staticmethod
    def _slope(a: Tensor) -> Tensor:
        """(cos(πx) - sinc(x)) / x; near 0 the first terms of its series, which keep their digits."""
        is_small = abs(a.detach()) < 1e-3
        series = a * (-(math.pi**2) / 3) * (1.0 - a * a * (math.pi**2 / 10))
        return (((a * math.pi).cos() - Sinc.apply(a)) / a.where(~is_small, 1.0)).where(~is_small, series)


class Erfinv(Elementwise):
    """Inverse of the error function."""

    number = staticmethod(erfinv)

    @staticmethod
    def _slope(a: Tensor) -> Tensor:
        """√π/2 e^(y²), where y is the result."""
        y = Erfinv.apply(a)
        return (y * y).exp() * (0.5 * math.sqrt(math.pi))


Lgamma = elementwise("Lgamma", "The logarithm of |Γ(x)|.", lgamma, lambda a: polygamma_of_order(0).apply(a))


@cache
def polygamma_of_order(n: int) -> type[Elementwise]:
    """The n-th derivative of digamma, itself for n = 0, as a Function."""

    class Polygamma(Elementwise):
        """The derivative of ln Γ(x) of order n + 1."""

        number = staticmethod(polygamma_function(n) if n else digamma)
        _slope = staticmethod(lambda a: polygamma_of_order(n + 1).apply(a))

    return Polygamma


I0 = elementwise("I0", "The modified Bessel function of the first kind of order 0.", bessel_function(0), lambda a: I1.apply(a))


class I1(Elementwise):
    """The modified Bessel function of the first kind of order 1."""

    number = staticmethod(bessel_function(1))

    @staticmethod
    def _slope(a: Tensor) -> Tensor:
        """I₀(x) - I₁(x) / x, and 1/2 at 0."""
        is_zero = a.detach() == 0
        return (I0.apply(a) - I1.apply(a) / a.where(~is_zero, 1.0)).where(~is_zero, 0.5)


RULES[Sinc] = lambda ctx, out, grad: Sinc.backward(ctx, grad)
RULES[I1] = lambda ctx, out, grad: I1.backward(ctx, grad)
