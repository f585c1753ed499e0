"""Stage 5 - The curves of activations: functions of one number, with their slopes, exact also far from 0.

Every backend can compute them as they are. The compiled backend replaces them by forms that the compiler vectorizes
(`fast_equivalents`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from minitorch.kernels.jit import jitable
from minitorch.kernels.pool import Loop, loop
from minitorch.kernels.vector_math import exp, fast_equivalents, sigmoid

ROOT_HALF = math.sqrt(0.5)
DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)
"""Of the normal distribution."""
TWICE_ROOT = 2 * math.sqrt(2 / math.pi)
CUBIC = 0.044715
"""From the paper on gelu, section 2, as the root above."""

Curve = Callable[[float], float]
Slope = Callable[[float, float], float]
"""From the number and what flows into the result (d): what flows into the number."""

# A number that is 0 is returned as it is, for 0 times infinity would be NaN.


# From their results


def sigmoid_back(y: float, d: float) -> float:
    """d · the slope of sigmoid where its result is y."""
    return d * (y * (1.0 - y))


def tanh_back(y: float, d: float) -> float:
    """d · the slope of tanh where its result is y."""
    return d * (1.0 - y * y)


# Relu


def relu(x: float) -> float:
    """x above 0, 0 elsewhere; NaN stays NaN, which the course's relu makes 0 of."""
    return 0.0 if x <= 0 else x


def relu_back(x: float, d: float) -> float:
    """d · its slope, which is 0 at 0."""
    return 0.0 if x <= 0 else d


# Leaky relu


@cache
def leaky_relu_curve(negative_slope: float) -> tuple[Curve, Slope]:
    """x above 0, negative_slope · x elsewhere; and d times its slope."""

    def leaky_relu(x: float) -> float:
        return x if x > 0 else negative_slope * x

    def leaky_relu_back(x: float, d: float) -> float:
        return d if x > 0 else negative_slope * d

    return leaky_relu, leaky_relu_back


# x · sigmoid(x)


def silu(x: float) -> float:
    """x · sigmoid(x)."""
    z = math.exp(-abs(x))
    s = (1.0 if x >= 0 else z) / (1.0 + z)
    return s if s == 0 else x * s


def silu_back(x: float, d: float) -> float:
    """d · s · (1 + x · (1 - s)) with s = sigmoid(x)."""
    z = math.exp(-abs(x))
    s = (1.0 if x >= 0 else z) / (1.0 + z)
    rest = s * ((z if x >= 0 else 1.0) / (1.0 + z))
    return d * (s + (rest if rest == 0 else x * rest))


# x · the share of the normal distribution that lies below x


def normal_share(x: float) -> float:
    """The share of the normal distribution below x, all its digits right also where it is small."""
    return 0.5 * math.erfc(-ROOT_HALF * x)


def gelu(x: float) -> float:
    """x · `normal_share`(x)."""
    s = 0.5 * math.erfc(-ROOT_HALF * x)
    return s if s == 0 else x * s


def gelu_back(x: float, d: float) -> float:
    """d · (share + x · density) of the normal distribution at x."""
    density = DENSITY_AT_0 * math.exp(-0.5 * x * x)
    return d * (0.5 * math.erfc(-ROOT_HALF * x) + (density if density == 0 else x * density))


def gelu_tanh(x: float) -> float:
    """x · sigmoid(2 u), which is x · (1 + tanh(u)) / 2, with u = √(2/π) · (x + 0.044715 x³)."""
    v = TWICE_ROOT * (x + CUBIC * x * x * x)
    z = math.exp(-abs(v))
    s = (1.0 if v >= 0 else z) / (1.0 + z)
    return s if s == 0 else x * s


def gelu_tanh_back(x: float, d: float) -> float:
    """d times its slope."""
    v = TWICE_ROOT * (x + CUBIC * x * x * x)
    z = math.exp(-abs(v))
    s = (1.0 if v >= 0 else z) / (1.0 + z)
    rest = s * ((z if v >= 0 else 1.0) / (1.0 + z))
    return d * (s + (rest if rest == 0 else x * rest * (TWICE_ROOT * (1.0 + 3.0 * CUBIC * x * x))))


# What the compiled backend takes instead


def tail_ratio(z: float) -> float:
    """e^(z²) · erfc(z), for z of at least 0."""
    if z < 25:
        return math.exp(z * z) * math.erfc(z)
    u = 1 / (z * z)
    return (1 - u / 2 + 3 * u * u / 4) / (z * math.sqrt(math.pi))


def tail_series() -> np.ndarray:
    """A polynomial p with t · p(2t - 1) = `tail_ratio`(2 / t - 2) for t from 0 to 1, about as exact as float32.

    It goes through the function where Chebyshev's polynomials say, so that its error is nearly the same everywhere.
    """

    def ratio(s):
        t = (s + 1) / 2
        return tail_ratio(2 / t - 2) / t

    return np.polynomial.chebyshev.cheb2poly(np.polynomial.chebyshev.chebinterpolate(np.vectorize(ratio), 10))


BLOCK = 1 << 10
"""Numbers that are gone through twice while they are near."""


@cache
def gelu_loops() -> tuple[Loop, Loop]:
    """`gelu` and `gelu_back` of float32, by blocks; sizes are the number of elements.

    The power of e and the polynomial stand in loops of their own: in one, there would be too much for the compiler to make vector
    instructions of.
    """
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 = (np.float32(c / 2) for c in tail_series())
    one, two, minus_half = np.float32(1), np.float32(2), np.float32(-0.5)
    root_half, density_at_0 = np.float32(ROOT_HALF), np.float32(DENSITY_AT_0)

    @jitable
    def bells(line, x):
        """e^(-x² / 2)."""
        for j in range(len(x)):
            line[j] = exp(minus_half * x[j] * x[j])

    @jitable
    def share(x, bell):
        """The share of the normal distribution below x."""
        t = two / (two + math.fabs(x) * root_half)
        s = two * t - one
        p = c5 + s * (c6 + s * (c7 + s * (c8 + s * (c9 + s * c10))))
        tail = t * (c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * p))))) * bell
        return tail if x < 0 else one - tail

    def forward(out, x, unused, unused2, sizes, start, stop):
        line = np.empty(BLOCK, x.dtype)
        for task in range(start, stop):
            block, target = x[task * BLOCK : (task + 1) * BLOCK], out[task * BLOCK : (task + 1) * BLOCK]
            bells(line, block)
            for j in range(len(block)):
                s = share(block[j], line[j])
                target[j] = s if s == 0 else block[j] * s

    def backward(out, x, d, unused, sizes, start, stop):
        line = np.empty(BLOCK, x.dtype)
        for task in range(start, stop):
            block, target = x[task * BLOCK : (task + 1) * BLOCK], out[task * BLOCK : (task + 1) * BLOCK]
            given = d[task * BLOCK : (task + 1) * BLOCK]
            bells(line, block)
            for j in range(len(block)):
                slope = line[j] if line[j] == 0 else line[j] * density_at_0 * block[j]
                target[j] = given[j] * (share(block[j], line[j]) + slope)

    return loop(forward, 3, (bells, share)), loop(backward, 3, (bells, share))


def vectorisable(dtype: Any) -> dict[Callable[..., float], Callable[..., Any]]:
    """What the compiler takes for the curves above, for numbers of one dtype, whose constants all have that dtype."""
    one, twice_root, cubic, thrice_cubic = dtype(1), dtype(TWICE_ROOT), dtype(CUBIC), dtype(3 * CUBIC)

    def fast_silu(x):
        s = sigmoid(x)
        return s if s == 0 else x * s

    def fast_silu_back(x, d):
        s = sigmoid(x)
        rest = s * sigmoid(-x)
        return d * (s + (rest if rest == 0 else x * rest))

    def fast_gelu_tanh(x):
        s = sigmoid(twice_root * (x + cubic * x * x * x))
        return s if s == 0 else x * s

    def fast_gelu_tanh_back(x, d):
        v = twice_root * (x + cubic * x * x * x)
        s = sigmoid(v)
        rest = s * sigmoid(-v)
        return d * (s + (rest if rest == 0 else x * rest * (twice_root * (one + thrice_cubic * x * x))))

    return {silu: fast_silu, silu_back: fast_silu_back, gelu_tanh: fast_gelu_tanh, gelu_tanh_back: fast_gelu_tanh_back}


FAST = {types.float32: vectorisable(np.float32), types.float64: vectorisable(np.float64)}


def _of_one(curve: Curve) -> Curve:
    """A function that the compiler takes the vectorisable form of a curve for."""

    def fast(x):
        return curve(x)

    overload(fast)(lambda x: FAST[x][curve])
    return fast


def _of_two(slope: Slope) -> Slope:
    """The same of a slope."""

    def fast(x, d):
        return slope(x, d)

    overload(fast)(lambda x, d: FAST[x][slope])
    return fast


fast_equivalents |= {curve: _of_one(curve) for curve in (silu, gelu_tanh)}
fast_equivalents |= {slope: _of_two(slope) for slope in (silu_back, gelu_tanh_back)}
