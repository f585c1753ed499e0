"""Stage 0 - Scalar operators and higher-order functions: the arithmetic of everything else.

Every scalar function takes and returns Python floats and calls no other function of this file, so that Python can run the source
(stages 0 to 2) and Numba can compile it (stage 3).
"""

import math
from collections.abc import Callable, Iterable

EPS = 1e-6
"""Shift inside `log`, so that log(0) is about -13.8 instead of an error."""


# Arithmetic


def mul(x: float, y: float) -> float:
    """x · y."""
    return x * y


def id(x: float) -> float:
    """x itself."""
    return x


def add(x: float, y: float) -> float:
    """x + y."""
    return x + y


def neg(x: float) -> float:
    """-x."""
    return -x


# Comparisons: 1.0 for true, 0.0 for false, so that they stay numbers


def lt(x: float, y: float) -> float:
    """1.0 if x < y, else 0.0."""
    return 1.0 if x < y else 0.0


def eq(x: float, y: float) -> float:
    """1.0 if x == y, else 0.0 (NaN equals nothing)."""
    return 1.0 if x == y else 0.0


def max(x: float, y: float) -> float:
    """The larger of x and y; x when they are equal."""
    return x if x >= y else y


def is_close(x: float, y: float) -> bool:
    """Whether |x - y| < 1e-2, the tolerance of the course."""
    return x - y < 1e-2 and y - x < 1e-2


# Activations and elementary functions


def sigmoid(x: float) -> float:
    """1 / (1 + e^-x), in [0, 1].

    The exponent of e is never positive, so no x overflows: sigmoid(-1e3) is 0.0 and sigmoid(1e3) is 1.0.
    """
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    z = math.exp(x)
    return z / (1.0 + z)


def relu(x: float) -> float:
    """x if x > 0, else 0.0."""
    return x if x > 0 else 0.0


def log(x: float) -> float:
    """ln(x + EPS).

    Raises:
        ValueError: If x <= -EPS.
    """
    return math.log(x + EPS)


def exp(x: float) -> float:
    """e^x, the exponential.

    Raises:
        OverflowError: If x > 709.78, where e^x exceeds the range of a float.
    """
    return math.exp(x)


def inv(x: float) -> float:
    """1 / x.

    Raises:
        ZeroDivisionError: If x is 0.
    """
    return 1.0 / x


# Derivatives: f_back(x, d) = d · f'(x)


def log_back(x: float, d: float) -> float:
    """d · d/dx ln(x + EPS) = d / (x + EPS)."""
    return d / (x + EPS)


def inv_back(x: float, d: float) -> float:
    """d · d/dx (1 / x) = -d / x²."""
    return -d / x / x  # not x · x, which is 0 for a tiny x


def relu_back(x: float, d: float) -> float:
    """d if x > 0, else 0.0: the derivative at 0 is taken as 0."""
    return d if x > 0 else 0.0


# Higher-order functions


def map(fn: Callable[[float], float]) -> Callable[[Iterable[float]], list[float]]:
    """The function that applies `fn` to every element: map(f)([a, b]) = [f(a), f(b)]."""

    def apply(ls: Iterable[float]) -> list[float]:
        return [fn(x) for x in ls]

    return apply


def zipWith(fn: Callable[[float, float], float]) -> Callable[[Iterable[float], Iterable[float]], list[float]]:
    """The function that combines two lists pairwise: zipWith(f)([a, b], [c, d]) = [f(a, c), f(b, d)].

    Elements without a partner are dropped, as by `zip`.
    """

    def apply(ls1: Iterable[float], ls2: Iterable[float]) -> list[float]:
        return [fn(x, y) for x, y in zip(ls1, ls2, strict=False)]

    return apply


def reduce(fn: Callable[[float, float], float], start: float) -> Callable[[Iterable[float]], float]:
    """The function that reduces a list from the left: reduce(f, s)([a, b]) = f(f(s, a), b); s for an empty list."""

    def apply(ls: Iterable[float]) -> float:
        total = start
        for x in ls:
            total = fn(total, x)
        return total

    return apply


def negList(ls: Iterable[float]) -> list[float]:
    """Every element negated."""
    return map(neg)(ls)


def addLists(ls1: Iterable[float], ls2: Iterable[float]) -> list[float]:
    """Two lists added element by element."""
    return zipWith(add)(ls1, ls2)


def sum(ls: Iterable[float]) -> float:
    """Sum of the elements; 0 for an empty list."""
    return reduce(add, 0.0)(ls)


def prod(ls: Iterable[float]) -> float:
    """Product of the elements; 1 for an empty list."""
    return reduce(mul, 1.0)(ls)
