"""A function, its derivative by autodiff and its central differences, for every place and every epsilon that a page can show."""

from __future__ import annotations

import traceback

import minitorch
from project.lab.cards import is_student, number
from project.lab.charts.plots import value
from project.lab.charts.vega import finite
from project.lab.typed.expressions import Expression

EPSILONS = [10.0**-k for k in range(16)]
PLACES = [i / 20 for i in range(-100, 101)]
AROUND = [i / 20 for i in range(-120, 121)]
"""As far as the largest epsilon reaches from a place."""

Numbers = list[float | None]
"""Values at PLACES; None where the function is undefined, or a value not finite."""


def heights(expression: Expression) -> Numbers:
    """Return the function at AROUND."""
    f = expression.function(("x",), float)
    return [value(f, x) for x in AROUND]


def central_differences(expression: Expression) -> list[Numbers]:
    """Return, for each of EPSILONS, what the student's `central_difference` returns."""
    f = expression.function(("x",), float)

    def differentiate(x: float, epsilon: float) -> float | None:
        call = f"central_difference(f, {x:g}, epsilon={epsilon:g})"
        try:
            return finite(number(minitorch.central_difference(f, x, epsilon=epsilon), call))
        except (ArithmeticError, ValueError) as error:
            if is_student(traceback.extract_tb(error.__traceback__)[-1].filename):
                raise
            return None  # the function is undefined at this distance from x

    return [[differentiate(x, epsilon) for x in PLACES] for epsilon in EPSILONS]


def slopes(expression: Expression) -> Numbers:
    """Return the derivatives that the student's backpropagation computes.

    Raises:
        ArithmeticError, ValueError: If it fails wherever the function is defined.
    """
    f = expression.function(("x",), lambda each: minitorch.Scalar(each, None))
    found, failure = Numbers(), None
    for x, height in zip(PLACES, heights(expression)[20:-20], strict=True):
        leaf = minitorch.Scalar(x, name="x")
        try:
            if expression.names and height is not None:
                f(leaf).backward()
            derivative = leaf.derivative if expression.names else 0.0
            found.append(None if derivative is None else finite(number(derivative, "derivative")))
        except (ArithmeticError, ValueError) as error:  # the derivative of sqrt(x) at 0
            found.append(None)
            failure = error
    if failure is not None and not any(each is not None for each in found):
        raise failure
    return found
