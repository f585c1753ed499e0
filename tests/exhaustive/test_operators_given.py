"""Scalar operators compiled by numba compute what they compute in Python."""

from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

from minitorch import operators
from minitorch.core import math_operators

FUNCTIONS = vars(operators) | vars(math_operators)
GRID = np.array([-1000.0, -30.0, -1.0, -0.25, -1e-9, 0.0, 1e-9, 0.25, 1.0, 30.0, 1000.0])
ABOVE_0 = GRID[GRID > 0]
UP_TO_30 = GRID[GRID <= 30]
NOT_0 = GRID[GRID != 0]

ONE_ARGUMENT = {
    **dict.fromkeys(["id", "neg", "sigmoid", "relu", "sin", "cos", "tanh", "absolute", "magnitude"], GRID),
    **dict.fromkeys(["log", "sqrt", "exact_log"], ABOVE_0),
    "exp": UP_TO_30,
    "inv": NOT_0,
}
EVERYWHERE = "mul add lt eq max is_close relu_back div le ne logical_and maximum minimum select_if abs_back log_base"
TWO_ARGUMENTS = {
    **dict.fromkeys(EVERYWHERE.split(), GRID),
    "log_back": ABOVE_0,
    "inv_back": NOT_0,
    "power": ABOVE_0[ABOVE_0 < 1000],
}
FOR_PYTHON = {"integer_power"}
"""Functions of Python integers, which are never compiled."""


def compiled_loop(fn: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A compiled loop that calls the compiled `fn` on every element, like a kernel of stage 3."""
    compiled = njit(fn)

    @njit
    def loop(*columns):
        out = np.empty(len(columns[0]))
        for i in range(len(out)):
            if len(columns) == 1:
                out[i] = compiled(columns[0][i])
            else:
                out[i] = compiled(columns[0][i], columns[1][i])
        return out

    return loop


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_numba_compiles_functions_of_one_argument_unchanged(name: str) -> None:
    fn, xs = FUNCTIONS[name], ONE_ARGUMENT[name]
    np.testing.assert_allclose(compiled_loop(fn)(xs), [fn(float(x)) for x in xs], rtol=1e-14)


@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_numba_compiles_functions_of_two_arguments_unchanged(name: str) -> None:
    fn, grid = FUNCTIONS[name], TWO_ARGUMENTS[name]
    others = NOT_0 if name == "div" else GRID
    xs, ys = (column.ravel() for column in np.meshgrid(grid, others[np.fabs(others) <= 30]))
    np.testing.assert_allclose(compiled_loop(fn)(xs, ys), [fn(float(x), float(y)) for x, y in zip(xs, ys, strict=True)], rtol=1e-14)


def test_the_tables_for_numba_contain_every_scalar_operator() -> None:
    higher_order = {"map", "zipWith", "reduce", "negList", "addLists", "sum", "prod"}
    modules = "minitorch.operators", "minitorch.core.math_operators"
    here = {name for name, value in FUNCTIONS.items() if getattr(value, "__module__", "") in modules}
    assert here - higher_order == {*ONE_ARGUMENT, *TWO_ARGUMENTS, *FOR_PYTHON}
