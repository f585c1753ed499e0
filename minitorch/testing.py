"""Stage 0 - Small functions for property tests and the app, once for floats and once for Scalars and Tensors.

Steps and poles are at integer fractions (11 / 2, not a decimal): Hypothesis tries the decimals that it finds in local files, and exactly
on a step no derivative check can pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import minitorch.operators as operators

A = TypeVar("A")


class MathTest(Generic[A]):
    """The functions on floats (the reductions on lists of floats).

    Names ending in "2" take two arguments, names ending in "red" a list, all others one.
    """

    # One argument

    @staticmethod
    def neg(a: A) -> A:
        "Negate the argument"
        return -a  # type: ignore[operator]  # A is any type with the operators

    @staticmethod
    def addConstant(a: A) -> A:
        "Add 5"
        return 5 + a  # type: ignore[operator]

    @staticmethod
    def square(a: A) -> A:
        "Multiply the argument by itself"
        return a * a  # type: ignore[operator]

    @staticmethod
    def cube(a: A) -> A:
        "Third power, as products"
        return a * a * a  # type: ignore[operator]

    @staticmethod
    def subConstant(a: A) -> A:
        "Subtract 5"
        return a - 5  # type: ignore[operator]

    @staticmethod
    def multConstant(a: A) -> A:
        "Multiply by 5"
        return 5 * a  # type: ignore[operator]

    @staticmethod
    def div(a: A) -> A:
        "Divide by 5"
        return a / 5  # type: ignore[operator]

    @staticmethod
    def inv(a: A) -> A:
        "Invert after a shift of 7 / 2"
        return operators.inv(a + 7 / 2)  # type: ignore[operator]

    @staticmethod
    def sig(a: A) -> A:
        "Sigmoid"
        return operators.sigmoid(a)  # type: ignore[arg-type]

    @staticmethod
    def log(a: A) -> A:
        "Logarithm, far from its pole"
        return operators.log(a + 100000)  # type: ignore[operator]

    @staticmethod
    def relu(a: A) -> A:
        "ReLU with its kink at -11 / 2"
        return operators.relu(a + 11 / 2)  # type: ignore[operator]

    @staticmethod
    def exp(a: A) -> A:
        "Exponential, shifted down by 200"
        return operators.exp(a - 200)  # type: ignore[operator]

    @staticmethod
    def explog(a: A) -> A:
        "Sum of a logarithm and an exponential"
        return operators.log(a + 100000) + operators.exp(a - 200)  # type: ignore[operator]

    @staticmethod
    def complex(a: A) -> A:
        "Five nested functions"
        return operators.log(operators.sigmoid(operators.relu(operators.relu(a * 10 + 7) * 6 + 5) * 10)) / 50  # type: ignore[operator]

    # Two arguments

    @staticmethod
    def add2(a: A, b: A) -> A:
        "Sum"
        return a + b  # type: ignore[operator]

    @staticmethod
    def mul2(a: A, b: A) -> A:
        "Product"
        return a * b  # type: ignore[operator]

    @staticmethod
    def div2(a: A, b: A) -> A:
        "Quotient, with its pole at b = -11 / 2"
        return a / (b + 11 / 2)  # type: ignore[operator]

    @staticmethod
    def gt2(a: A, b: A) -> A:
        "a + 6 / 5 > b"
        return operators.lt(b, a + 6 / 5)  # type: ignore[operator]

    @staticmethod
    def lt2(a: A, b: A) -> A:
        "a + 6 / 5 < b"
        return operators.lt(a + 6 / 5, b)  # type: ignore[operator]

    @staticmethod
    def eq2(a: A, b: A) -> A:
        "a == b + 11 / 2"
        return operators.eq(a, b + 11 / 2)  # type: ignore[operator]

    # A list

    @staticmethod
    def sum_red(a: Iterable[A]) -> A:
        "Sum of all elements"
        return operators.sum(a)  # type: ignore[arg-type]

    @staticmethod
    def mean_red(a: Iterable[A]) -> A:
        "Mean along one dimension (of a list: the only one)"
        values = list(a)
        return operators.sum(values) / len(values)  # type: ignore[arg-type]

    @staticmethod
    def mean_full_red(a: Iterable[A]) -> A:
        "Mean over all dimensions"
        values = list(a)
        return operators.sum(values) / len(values)  # type: ignore[arg-type]

    @classmethod
    def _tests(cls) -> tuple[list[tuple[str, Callable]], list[tuple[str, Callable]], list[tuple[str, Callable]]]:
        """The functions as (name, function), sorted by name.

        Returns:
            Three lists: one argument, two arguments, reductions.
        """
        one: list[tuple[str, Callable]] = []
        two: list[tuple[str, Callable]] = []
        red: list[tuple[str, Callable]] = []
        for name in dir(MathTest):
            function = getattr(cls, name)
            if name.startswith("_") or not callable(function):
                continue
            (two if name.endswith("2") else red if name.endswith("red") else one).append((name, function))
        return one, two, red

    @classmethod
    def _comp_testing(cls) -> tuple[list[tuple[str, Callable, Callable]], ...]:
        """The functions as (name, on floats, on variables), for comparing the two.

        Returns:
            Three lists: one argument, two arguments, reductions.
        """
        return tuple(
            [(name, on_floats, on_variables) for (name, on_floats), (_, on_variables) in zip(floats, variables, strict=True)]
            for floats, variables in zip(MathTest._tests(), cls._tests(), strict=True)
        )


class MathTestVariable(MathTest[Any]):
    """The same functions on Scalars and Tensors; those that need methods instead of functions of floats are overridden."""

    @staticmethod
    def inv(a: Any) -> Any:
        "Invert after a shift of 7 / 2"
        return 1.0 / (a + 7 / 2)

    @staticmethod
    def sig(a: Any) -> Any:
        "Sigmoid"
        return a.sigmoid()

    @staticmethod
    def log(a: Any) -> Any:
        "Logarithm, far from its pole"
        return (a + 100000).log()

    @staticmethod
    def relu(a: Any) -> Any:
        "ReLU with its kink at -11 / 2"
        return (a + 11 / 2).relu()

    @staticmethod
    def exp(a: Any) -> Any:
        "Exponential, shifted down by 200"
        return (a - 200).exp()

    @staticmethod
    def explog(a: Any) -> Any:
        "Sum of a logarithm and an exponential"
        return (a + 100000).log() + (a - 200).exp()

    @staticmethod
    def complex(a: Any) -> Any:
        "Five nested functions"
        return (((a * 10 + 7).relu() * 6 + 5).relu() * 10).sigmoid().log() / 50

    @staticmethod
    def gt2(a: Any, b: Any) -> Any:
        "a + 6 / 5 > b"
        return a + 6 / 5 > b

    @staticmethod
    def lt2(a: Any, b: Any) -> Any:
        "a + 6 / 5 < b"
        return a + 6 / 5 < b

    @staticmethod
    def eq2(a: Any, b: Any) -> Any:
        "a == b + 11 / 2"
        return a == (b + 11 / 2)

    @staticmethod
    def sum_red(a: Any) -> Any:
        "Sum along the first dimension"
        return a.sum(0)

    @staticmethod
    def mean_red(a: Any) -> Any:
        "Mean along the first dimension"
        return a.mean(0)

    @staticmethod
    def mean_full_red(a: Any) -> Any:
        "Mean over all dimensions"
        return a.mean()
