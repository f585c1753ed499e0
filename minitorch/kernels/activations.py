"""Stage 7 - Activation functions and their derivatives as scalar functions, accurate for large arguments as well.

Every backend can compute them. The fast backend replaces some by equivalents that the compiler vectorizes (`fast_equivalents`).
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
from minitorch.kernels.loop import Loop, loop
from minitorch.kernels.vector_math import exp, fast_equivalents, sigmoid

ROOT_HALF = math.sqrt(0.5)
NORMAL_PDF_AT_0 = 1 / math.sqrt(2 * math.pi)
GELU_SCALE = 2 * math.sqrt(2 / math.pi)
GELU_CUBIC = 0.044715
"""Constants of the tanh approximation of GELU: Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2."""

Activation = Callable[[float], float]
Derivative = Callable[[float, float], float]
"""Returns the gradient of the input from the input (or the output) and d, the gradient of the output."""

# At ±∞, 0 · ∞ is NaN, as in PyTorch.


# Derivatives computed from the output


def sigmoid_back(y: float, d: float) -> float:
    """d times the derivative of sigmoid, from its output y."""
    return d * (y * (1.0 - y))


def tanh_back(y: float, d: float) -> float:
    """d times the derivative of tanh, from its output y."""
    return d * (1.0 - y * y)


# ReLU


def relu(x: float) -> float:
    """x if x > 0, else 0; propagates NaN, unlike the course's relu."""
    return 0.0 if x < 0 else x  # -0.0 stays as it is


def relu_back(x: float, d: float) -> float:
    """d times the derivative of relu, which is 0 at 0."""
    return 0.0 if x <= 0 else d


# Leaky ReLU


@cache
def leaky_relu_functions(negative_slope: float) -> tuple[Activation, Derivative]:
    """Make leaky ReLU, x if x > 0, else negative_slope · x, and its derivative."""

    def leaky_relu(x: float) -> float:
        return x if x > 0 else negative_slope * x

    def leaky_relu_back(x: float, d: float) -> float:
        return d if x > 0 else negative_slope * d

    return leaky_relu, leaky_relu_back


# SiLU


def silu(x: float) -> float:
    """x · sigmoid(x)."""
    z = math.exp(-abs(x))
    return x * ((1.0 if x >= 0 else z) / (1.0 + z))


def silu_back(x: float, d: float) -> float:
    """d · s · (1 + x · sigmoid(-x)) with s = sigmoid(x)."""
    z = math.exp(-abs(x))
    s = (1.0 if x >= 0 else z) / (1.0 + z)
    return d * (s * (1.0 + x * ((z if x >= 0 else 1.0) / (1.0 + z))))


# GELU


def normal_cdf(x: float) -> float:
    """Cumulative distribution function of the standard normal distribution, accurate in the left tail as well."""
    return 0.5 * math.erfc(-ROOT_HALF * x)


def gelu(x: float) -> float:
    """x · `normal_cdf`(x)."""
    return x * (0.5 * math.erfc(-ROOT_HALF * x))


def gelu_back(x: float, d: float) -> float:
    """d · (cdf(x) + x · pdf(x)) of the standard normal distribution."""
    return d * (0.5 * math.erfc(-ROOT_HALF * x) + x * (NORMAL_PDF_AT_0 * math.exp(-0.5 * x * x)))


def gelu_tanh(x: float) -> float:
    """x · sigmoid(2 u), which is x · (1 + tanh(u)) / 2, with u = √(2/π) · (x + 0.044715 x³)."""
    v = GELU_SCALE * (x + GELU_CUBIC * x * x * x)
    z = math.exp(-abs(v))
    return x * ((1.0 if v >= 0 else z) / (1.0 + z))


def gelu_tanh_back(x: float, d: float) -> float:
    """d times the derivative of `gelu_tanh`."""
    v = GELU_SCALE * (x + GELU_CUBIC * x * x * x)
    z = math.exp(-abs(v))
    s = (1.0 if v >= 0 else z) / (1.0 + z)
    ds = s * ((z if v >= 0 else 1.0) / (1.0 + z))
    return d * (s + x * ds * (GELU_SCALE * (1.0 + 3.0 * GELU_CUBIC * x * x)))


# Equivalents for the fast backend


def erfcx(z: float) -> float:
    """Scaled complementary error function e^(z²) · erfc(z), for z >= 0."""
    if z < 25:
        return math.exp(z * z) * math.erfc(z)
    u = 1 / (z * z)
    return (1 - u / 2 + 3 * u * u / 4) / (z * math.sqrt(math.pi))


def erfcx_polynomial() -> np.ndarray:
    """Coefficients of a polynomial p with t · p(2t - 1) ≈ `erfcx`(2 / t - 2) for t from 0 to 1, to about float32 precision.

    It interpolates at Chebyshev points, so that the error is nearly uniform.
    """

    def ratio(s):
        t = (s + 1) / 2
        return erfcx(2 / t - 2) / t

    return np.polynomial.chebyshev.cheb2poly(np.polynomial.chebyshev.chebinterpolate(np.vectorize(ratio), 10))


BLOCK = 1 << 10
"""Number of elements processed twice while they are in the cache."""


@cache
def gelu_loops() -> tuple[Loop, Loop]:
    """Make `gelu` and `gelu_back` for float32, in blocks; sizes are the number of elements.

    The exponential and the polynomial are separate loops, because the compiler does not vectorize a loop with both.
    """
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 = (np.float32(c / 2) for c in erfcx_polynomial())
    one, two, minus_half = np.float32(1), np.float32(2), np.float32(-0.5)
    root_half, pdf_at_0 = np.float32(ROOT_HALF), np.float32(NORMAL_PDF_AT_0)

    @jitable
    def write_gaussian(line, x):
        """Write e^(-x² / 2) into line."""
        for j in range(len(x)):
            line[j] = exp(minus_half * x[j] * x[j])

    @jitable
    def cdf(x, gaussian):
        """`normal_cdf`, given e^(-x² / 2)."""
        t = two / (two + math.fabs(x) * root_half)
        s = two * t - one
        p = c5 + s * (c6 + s * (c7 + s * (c8 + s * (c9 + s * c10))))
        tail = t * (c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * p))))) * gaussian
        return tail if x < 0 else one - tail

    def forward(out, x, unused, unused2, sizes, start, stop):
        line = np.empty(BLOCK, x.dtype)
        for task in range(start, stop):
            block, target = x[task * BLOCK : (task + 1) * BLOCK], out[task * BLOCK : (task + 1) * BLOCK]
            write_gaussian(line, block)
            for j in range(len(block)):
                target[j] = block[j] * cdf(block[j], line[j])

    def backward(out, x, d, unused, sizes, start, stop):
        line = np.empty(BLOCK, x.dtype)
        for task in range(start, stop):
            block, target = x[task * BLOCK : (task + 1) * BLOCK], out[task * BLOCK : (task + 1) * BLOCK]
            grad = d[task * BLOCK : (task + 1) * BLOCK]
            write_gaussian(line, block)
            for j in range(len(block)):
                target[j] = grad[j] * (cdf(block[j], line[j]) + line[j] * pdf_at_0 * block[j])

    return loop(forward, 3, (write_gaussian, cdf)), loop(backward, 3, (write_gaussian, cdf))


def vectorizable(dtype: Any) -> dict[Callable[..., float], Callable[..., Any]]:
    """Make the implementations of the functions above for one dtype; all constants have that dtype."""
    one, scale, cubic, three_cubic = dtype(1), dtype(GELU_SCALE), dtype(GELU_CUBIC), dtype(3 * GELU_CUBIC)

    def fast_silu(x):
        return x * sigmoid(x)

    def fast_silu_back(x, d):
        return d * (sigmoid(x) * (one + x * sigmoid(-x)))

    def fast_gelu_tanh(x):
        return x * sigmoid(scale * (x + cubic * x * x * x))

    def fast_gelu_tanh_back(x, d):
        v = scale * (x + cubic * x * x * x)
        s = sigmoid(v)
        ds = s * sigmoid(-v)
        return d * (s + x * ds * (scale * (one + three_cubic * x * x)))

    return {silu: fast_silu, silu_back: fast_silu_back, gelu_tanh: fast_gelu_tanh, gelu_tanh_back: fast_gelu_tanh_back}


IMPLEMENTATIONS = {types.float32: vectorizable(np.float32), types.float64: vectorizable(np.float64)}


def _vectorized_activation(fn: Activation) -> Activation:
    """Make a function that compiles to the vectorizable form of fn."""

    def fast(x):
        return fn(x)

    overload(fast)(lambda x: IMPLEMENTATIONS[x][fn])
    return fast


def _vectorized_derivative(derivative: Derivative) -> Derivative:
    """Make a function that compiles to the vectorizable form of a derivative."""

    def fast(x, d):
        return derivative(x, d)

    overload(fast)(lambda x, d: IMPLEMENTATIONS[x][derivative])
    return fast


fast_equivalents |= {fn: _vectorized_activation(fn) for fn in (silu, gelu_tanh)}
fast_equivalents |= {derivative: _vectorized_derivative(derivative) for derivative in (silu_back, gelu_tanh_back)}
