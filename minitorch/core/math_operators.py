"""Stage 1 - Scalar operators beyond the course: elementary functions, comparisons and selections, of scalars and of tensors.

As in operators.py, every function calls no other of this file, so that Python can run the source and Numba can compile it.
"""

import math

# Elementary functions


def sin(x: float) -> float:
    """Sine of x in radians."""
    return math.sin(x)


def cos(x: float) -> float:
    """Cosine of x in radians."""
    return math.cos(x)


def tanh(x: float) -> float:
    """Hyperbolic tangent, in (-1, 1)."""
    return math.tanh(x)


def sqrt(x: float) -> float:
    """Square root.

    Raises:
        ValueError: If x < 0.
    """
    return math.sqrt(x)


def power(x: float, y: float) -> float:
    """x to the power y, as a real number.

    Raises:
        ValueError: If x < 0 and y is not whole, or x is 0 and y < 0.
        OverflowError: If the result exceeds the range of a float.
    """
    return math.pow(x, y)


def exact_log(x: float) -> float:
    """ln x for x above 0, without the shift by EPS of `log`."""
    return math.log(x)


def integer_power(x: float, y: float) -> float:
    """x to the power y, for Python integers: exact where a float has too few digits.

    Raises:
        OverflowError: If no integer dtype can represent the result.
    """
    if abs(x) > 1 and y > 63:  # otherwise Python would compute all digits
        raise OverflowError(f"{x} ** {y} has more than 63 bits")
    return x**y


def absolute(x: float) -> float:
    """|x|."""
    return math.fabs(x)


def magnitude(x: float) -> float:
    """|x|, an integer if x is one; 0.0 for -0.0."""
    return x if x > 0 else 0 - x


def div(x: float, y: float) -> float:
    """x / y.

    Raises:
        ZeroDivisionError: If y is 0.
    """
    return x / y


# Comparisons and selections


def le(x: float, y: float) -> float:
    """1.0 if x <= y, else 0.0."""
    return 1.0 if x <= y else 0.0


def ne(x: float, y: float) -> float:
    """1.0 if x != y, else 0.0 (NaN differs from everything)."""
    return 1.0 if x != y else 0.0


def logical_and(x: float, y: float) -> float:
    """1.0 if neither is 0, else 0.0."""
    return 1.0 if x != 0 and y != 0 else 0.0


def maximum(x: float, y: float) -> float:
    """The larger of two numbers; NaN if one is NaN."""
    return x if x >= y or x != x else y


def minimum(x: float, y: float) -> float:
    """The smaller of two numbers; NaN if one is NaN."""
    return x if x <= y or x != x else y


def select_if(condition: float, x: float) -> float:
    """x if the condition is true, else 0."""
    return x if condition else 0 * condition


# Derivatives


def abs_back(x: float, d: float) -> float:
    """d · d/dx |x|, taken as 0 at 0."""
    return d if x > 0 else -d if x < 0 else 0.0 * d


def log_base(a: float, b: float) -> float:
    """ln a, the factor of a^b in its derivative with respect to b; taken as 0 for a = 0 and b >= 0."""
    if a == 0:
        return 0.0 if b >= 0 else -math.inf
    return math.log(a) if a > 0 else math.nan
