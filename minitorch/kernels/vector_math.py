"""Stage 3 - e^x, sigmoid and tanh as polynomials, which the compiler can turn into vector instructions.

`math.exp` is a call of a library function for one number. Eight or sixteen numbers at once are no more work for the processor than one, if
the function is made of additions, multiplications and moves of bits only.

With n the whole number nearest to x / ln 2 and r = x - n · ln 2, which lies within ±0.35, e^x = 2^n · e^r. The first factor is n written
into the exponent bits of a float; the second is the beginning of the series 1 + r + r²/2! + r³/3! + …
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

import minitorch.operators as operators
from minitorch.kernels.jit import jitable


def exp(x: float) -> float:
    """e^x; infinity where that is too large."""
    return operators.exp(x)


def sigmoid(x: float) -> float:
    """1 / (1 + e^-x)."""
    return operators.sigmoid(x)


def tanh(x: float) -> float:
    """Hyperbolic tangent."""
    return operators.tanh(x)


def power(x: float, y: float) -> float:
    """x to the power y. Squares, most often wanted, are a multiplication; the compiler decides before the loop, if y stays the same."""
    return x * x if y == 2 else math.pow(1.0 * x, 1.0 * y)


fast_equivalents: dict[Any, Callable[..., float]] = {
    operators.exp: exp,
    operators.sigmoid: sigmoid,
    operators.tanh: tanh,
    operators.power: power,
}
"""Scalar functions with a faster form that the optimized kernels compile instead."""


def vectorisable(dtype: Any) -> dict[Callable[[float], float], Callable[[Any], Any]]:
    """What the compiler takes for exp, sigmoid and tanh, for numbers of one dtype, float32 or float64.

    Every constant has that dtype: one of another would turn the whole computation into float64.
    """
    info = np.finfo(dtype)
    integer = np.int32 if dtype is np.float32 else np.int64
    mantissa, bias, bit = integer(info.nmant), integer(info.maxexp - 1), integer(1)
    one, half = dtype(1), dtype(0.5)
    lowest, highest = dtype((info.minexp - info.nmant - 2) * math.log(2)), dtype((info.maxexp + 1) * math.log(2))
    # Added to a float, it leaves no digits behind the point: the sum is rounded to a whole number, 2 · bias + n, in its lowest bits
    magic = dtype(1.5 * 2.0**info.nmant + 2 * bias)

    def parts(scale):
        """Two functions, of which e^(scale · x) is made: x to n and r, and r to (e^(scale · r) - 1) / scale."""
        per_ln2 = dtype(scale / math.log(2))
        # ln 2 in two parts, the first with so few digits that n times it is exact
        ln2_high = dtype((355 / 512 if dtype is np.float32 else float.fromhex("0x1.62e42feep-1")) / scale)
        ln2_low = dtype((-2.12194440054690583e-4 if dtype is np.float32 else float.fromhex("0x1.a39ef35793c76p-33")) / scale)
        terms = [1 / math.factorial(k) for k in range(14)]
        if dtype is np.float32:
            # The last term needed is that of r⁷. Within ±end, r⁵ is nearly (20 end² r³ - 5 end⁴ r) / 16 (Chebyshev), which makes
            # of it terms of r⁵ and r³, that are there already
            end = math.log(2) / 2
            terms[5] += terms[7] * 20 * end**2 / 16
            terms[3] -= terms[7] * 5 * end**4 / 16
        c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13 = (dtype(terms[k] * scale ** (k - 1)) for k in range(2, 14))

        @jitable
        def split(x):
            """A whole number whose lowest bits are 2 · bias + n, and r."""
            rounded = x * per_ln2 + magic
            n = rounded - magic
            return dtype(rounded).view(integer), x - n * ln2_high - n * ln2_low

        if dtype is np.float32:

            @jitable
            def series(r):
                """Terms in pairs, which need not wait for each other."""
                square = r * r
                return r + square * ((c2 + r * c3) + square * ((c4 + r * c5) + square * c6))

        else:

            @jitable
            def series(r):
                """The first term left out is below the last digit."""
                high = c8 + r * (c9 + r * (c10 + r * (c11 + r * (c12 + r * c13))))
                return r + r * r * (c2 + r * (c3 + r * (c4 + r * (c5 + r * (c6 + r * (c7 + r * high))))))

        return split, series

    split, series = parts(1)
    split_twice, series_twice = parts(2)

    # numba makes 64 bits of what is computed from 32: without the conversions half as many numbers fit into a vector

    @jitable
    def power_of_2(biased):
        """2^(biased - bias), by its bits: the exponent stands above the mantissa, and what does not fit drops out."""
        return integer(biased << mantissa).view(dtype)

    @jitable
    def exp_in_range(x):
        biased, r = split(x)
        first = integer(biased >> bit)  # 2^n alone may be too large or too small for a float where e^x is not
        return (one + series(r)) * power_of_2(first) * power_of_2(integer(biased - first))

    def fast_exp(x):
        x = lowest if x < lowest else x  # NaN stays
        return exp_in_range(highest if x > highest else x)

    def fast_sigmoid(x):
        y = -math.fabs(x)  # e is only raised to a negative power
        z = exp_in_range(lowest if y < lowest else y)
        return (z if x < 0 else one) / (one + z)

    smallest = dtype(-20)  # where e^2x - 1 has long been -1

    def fast_tanh(x):
        y = -math.fabs(x)
        biased, r = split_twice(smallest if y < smallest else y)
        power = power_of_2(integer(biased - bias))
        z = power * series_twice(r) + (power * half - half)  # (e^-2|x| - 1) / 2, all of its digits right for a small x, too
        return math.copysign(z / (one + z), x)

    jitable(fast_exp)
    return {exp: fast_exp, sigmoid: fast_sigmoid, tanh: fast_tanh}


VECTORISABLE = {types.float32: vectorisable(np.float32), types.float64: vectorisable(np.float64)}


def _tell_compiler(fn: Callable[[float], float]) -> None:
    """Let numba take the vectorisable form of fn for floats, and what Python has for whole numbers."""

    def choose(x):
        if x in VECTORISABLE:
            return VECTORISABLE[x][fn]
        of_float64 = jitable(VECTORISABLE[types.float64][fn])
        return lambda x: of_float64(np.float64(x))

    overload(fn)(choose)


for _fn in (exp, sigmoid, tanh):
    _tell_compiler(_fn)
