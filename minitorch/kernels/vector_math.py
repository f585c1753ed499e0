"""Stage 3 - exp, sigmoid and tanh as polynomials that the compiler can vectorize.

`math.exp` calls a library function for a single number. A function that consists only of additions, multiplications and bit operations
computes eight or sixteen numbers in the time of one.

Let n be the integer nearest to x / ln 2, and r = x - n · ln 2, within ±0.35. Then e^x = 2^n · e^r. The first factor is computed by
writing n into the exponent bits of a float, the second with the first terms of the series 1 + r + r²/2! + r³/3! + …
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

import minitorch.operators as operators
from minitorch.core import math_operators
from minitorch.kernels.jit import jitable


def exp(x: float) -> float:
    """Exponential function; infinity on overflow."""
    return operators.exp(x)


def sigmoid(x: float) -> float:
    """1 / (1 + e^-x)."""
    return operators.sigmoid(x)


def tanh(x: float) -> float:
    """Hyperbolic tangent."""
    return math_operators.tanh(x)


def power(x: float, y: float) -> float:
    """x to the power y. Squares, the most common case, are a multiplication; for a constant y the test is hoisted out of the loop."""
    return x * x if y == 2 else math.pow(1.0 * x, 1.0 * y)


fast_equivalents: dict[Any, Callable[..., float]] = {
    operators.exp: exp,
    operators.sigmoid: sigmoid,
    math_operators.tanh: tanh,
    math_operators.power: power,
}
"""Scalar functions with a faster form that the optimized kernels compile instead."""


@cache
def vectorizable_functions(dtype: Any) -> dict[Callable[[float], float], Callable[[Any], Any]]:
    """Make the implementations of exp, sigmoid and tanh for one dtype, float32 or float64.

    Every constant has this dtype, because a single float64 constant would promote the whole computation.

    Returns:
        The implementation of each function.
    """
    info = np.finfo(dtype)
    integer = np.int32 if dtype is np.float32 else np.int64
    mantissa, bias, bit = integer(info.nmant), integer(info.maxexp - 1), integer(1)
    one, half = dtype(1), dtype(0.5)
    lowest, highest = dtype((info.minexp - info.nmant - 2) * math.log(2)), dtype((info.maxexp + 1) * math.log(2))
    # Adding it to a float rounds the sum to an integer; the lowest bits of the sum then hold 2 · bias + n
    magic = dtype(1.5 * 2.0**info.nmant + 2 * bias)

    def parts(scale):
        """Make the two steps of e^(scale · x): x to n and r, and r to (e^(scale · r) - 1) / scale."""
        per_ln2 = dtype(scale / math.log(2))
        # ln 2 as the sum of two parts, the first with few enough digits that its product with n is exact
        ln2_high = dtype((355 / 512 if dtype is np.float32 else float.fromhex("0x1.62e42feep-1")) / scale)
        ln2_low = dtype((-2.12194440054690583e-4 if dtype is np.float32 else float.fromhex("0x1.a39ef35793c76p-33")) / scale)
        terms = [1 / math.factorial(k) for k in range(14)]
        if dtype is np.float32:
            # The last term needed is that of r⁷. Within ±end, r⁵ ≈ (20 end² r³ - 5 end⁴ r) / 16 (Chebyshev), so the term of r⁷ is
            # replaced by corrections to those of r⁵ and r³
            end = math.log(2) / 2
            terms[5] += terms[7] * 20 * end**2 / 16
            terms[3] -= terms[7] * 5 * end**4 / 16
        c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13 = (dtype(terms[k] * scale ** (k - 1)) for k in range(2, 14))

        @jitable
        def split(x):
            """Return an integer whose lowest bits are 2 · bias + n, and r."""
            rounded = x * per_ln2 + magic
            n = rounded - magic
            return dtype(rounded).view(integer), x - n * ln2_high - n * ln2_low

        if dtype is np.float32:

            @jitable
            def series(r):
                """Evaluate the terms in independent pairs."""
                square = r * r
                return r + square * ((c2 + r * c3) + square * ((c4 + r * c5) + square * c6))

        else:

            @jitable
            def series(r):
                """Evaluate the series; the first omitted term is below the rounding error."""
                high = c8 + r * (c9 + r * (c10 + r * (c11 + r * (c12 + r * c13))))
                return r + r * r * (c2 + r * (c3 + r * (c4 + r * (c5 + r * (c6 + r * (c7 + r * high))))))

        return split, series

    split, series = parts(1)
    split_twice, series_twice = parts(2)

    # numba promotes 32-bit integer arithmetic to 64 bits; without the conversions, a vector would hold half as many numbers

    @jitable
    def power_of_2(biased):
        """Return 2^(biased - bias) by shifting the exponent above the mantissa bits; higher bits are dropped."""
        return integer(biased << mantissa).view(dtype)

    @jitable
    def exp_in_range(x):
        biased, r = split(x)
        first = integer(biased >> bit)  # as two factors, because 2^n alone can overflow or underflow where e^x does not
        return (one + series(r)) * power_of_2(first) * power_of_2(integer(biased - first))

    def fast_exp(x):
        x = lowest if x < lowest else x  # propagates NaN
        return exp_in_range(highest if x > highest else x)

    def fast_sigmoid(x):
        y = -math.fabs(x)  # only negative exponents, so that nothing overflows
        z = exp_in_range(lowest if y < lowest else y)
        return (z if x < 0 else one) / (one + z)

    smallest = dtype(-20)  # below it, e^2x - 1 rounds to -1

    def fast_tanh(x):
        y = -math.fabs(x)
        biased, r = split_twice(smallest if y < smallest else y)
        power = power_of_2(integer(biased - bias))
        z = power * series_twice(r) + (power * half - half)  # (e^-2|x| - 1) / 2, accurate for small x as well
        return math.copysign(z / (one + z), x)

    jitable(fast_exp)
    return {exp: fast_exp, sigmoid: fast_sigmoid, tanh: fast_tanh}


def _overload(fn: Callable[[float], float]) -> None:
    """Make numba compile the polynomial for fn of a float; an integer argument is converted to float64."""

    def choose(x):
        if x in (types.float32, types.float64):
            return vectorizable_functions(np.float32 if x is types.float32 else np.float64)[fn]
        of_float64 = jitable(vectorizable_functions(np.float64)[fn])
        return lambda x: of_float64(np.float64(x))

    overload(fn)(choose)


for _fn in (exp, sigmoid, tanh):
    _overload(_fn)
