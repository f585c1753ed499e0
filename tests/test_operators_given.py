"""The given scalar operators, errors and limits of all operators, and their compilation by numba."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import floats

from minitorch import operators

from .strategies import assert_close, small_floats

EXACT = 1e-9


# The operators beyond the course


@given(small_floats)
@example(x=0.0)
def test_sin_cos_and_tanh_equal_the_math_module(x: float) -> None:
    assert operators.sin(x) == math.sin(x)
    assert operators.cos(x) == math.cos(x)
    assert operators.tanh(x) == math.tanh(x)


@given(floats(min_value=0, max_value=100))
@example(x=0.0)
@example(x=1e-300)
def test_sqrt_squared_is_the_number(x: float) -> None:
    assert_close(operators.sqrt(x) * operators.sqrt(x), x, EXACT)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (2.0, 3.0, 8.0),
        (2.0, -1.0, 0.5),
        (-2.0, 3.0, -8.0),
        (-2.0, 2.0, 4.0),
        (9.0, 0.5, 3.0),
        (0.0, 0.0, 1.0),
        (0.0, 2.0, 0.0),
        (5.0, 0.0, 1.0),
    ],
)
def test_pow_has_its_values(x: float, y: float, expected: float) -> None:
    assert operators.power(x, y) == expected
    assert type(operators.power(x, y)) is float


@pytest.mark.parametrize(("x", "expected"), [(3.0, 3.0), (-3.0, 3.0), (0.0, 0.0), (-1e-300, 1e-300)])
def test_abs_has_its_values(x: float, expected: float) -> None:
    assert operators.absolute(x) == expected


@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "sqrt", "absolute"])
def test_the_given_operators_return_a_float_for_integers(name: str) -> None:
    assert type(getattr(operators, name)(1)) is float


# Extreme inputs and inputs outside the domain


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("sigmoid", 1000.0, 1.0),
        ("sigmoid", -1000.0, 0.0),
        ("tanh", 1000.0, 1.0),
        ("tanh", -1000.0, -1.0),
        ("relu", 1000.0, 1000.0),
        ("relu", -1000.0, 0.0),
        ("exp", -1000.0, 0.0),
        ("log", 1000.0, 6.907755279982137),
        ("inv", -1000.0, -0.001),
    ],
)
def test_operators_do_not_overflow_at_a_thousand(name: str, x: float, expected: float) -> None:
    assert_close(getattr(operators, name)(x), expected, EXACT)


@pytest.mark.parametrize(
    ("name", "args", "error"),
    [
        ("log", (-1e-6,), ValueError),
        ("log", (-1.0,), ValueError),
        ("exp", (1000.0,), OverflowError),
        ("inv", (0.0,), ZeroDivisionError),
        ("sqrt", (-1.0,), ValueError),
        ("power", (-1.0, 0.5), ValueError),
        ("power", (0.0, -1.0), ValueError),
        ("power", (10.0, 1000.0), OverflowError),
    ],
)
def test_an_undefined_value_is_an_error(name: str, args: tuple[float, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        getattr(operators, name)(*args)


@pytest.mark.parametrize("name", ["mul", "add", "max"])
def test_nan_propagates(name: str) -> None:
    assert math.isnan(getattr(operators, name)(1.0, math.nan))


# Under numba

GRID = np.array([-1000.0, -30.0, -1.0, -0.25, -1e-9, 0.0, 1e-9, 0.25, 1.0, 30.0, 1000.0])
ABOVE_0 = GRID[GRID > 0]
UP_TO_30 = GRID[GRID <= 30]
NOT_0 = GRID[GRID != 0]

ONE_ARGUMENT = {
    "id": GRID,
    "neg": GRID,
    "sigmoid": GRID,
    "relu": GRID,
    "log": ABOVE_0,
    "exp": UP_TO_30,
    "inv": NOT_0,
    "sin": GRID,
    "cos": GRID,
    "tanh": GRID,
    "sqrt": ABOVE_0,
    "absolute": GRID,
    "magnitude": GRID,
    "exact_log": ABOVE_0,
}
TWO_ARGUMENTS = {
    "mul": GRID,
    "add": GRID,
    "lt": GRID,
    "eq": GRID,
    "max": GRID,
    "is_close": GRID,
    "log_back": ABOVE_0,
    "inv_back": NOT_0,
    "relu_back": GRID,
    "power": ABOVE_0[ABOVE_0 < 1000],
    "div": GRID,
    "le": GRID,
    "ne": GRID,
    "logical_and": GRID,
    "maximum": GRID,
    "minimum": GRID,
    "select_if": GRID,
    "abs_back": GRID,
    "log_base": GRID,
}
FOR_PYTHON = {"integer_power"}
"""Functions of Python integers, which are never compiled."""


def compiled_loop(fn: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A compiled loop that calls the compiled `fn` on every element, like a kernel of stage 3."""
    from numba import njit  # imported here, because the other tests of this file need no compiler

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
    fn, xs = getattr(operators, name), ONE_ARGUMENT[name]
    np.testing.assert_allclose(compiled_loop(fn)(xs), [fn(float(x)) for x in xs], rtol=1e-14)


@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_numba_compiles_functions_of_two_arguments_unchanged(name: str) -> None:
    fn, grid = getattr(operators, name), TWO_ARGUMENTS[name]
    others = NOT_0 if name == "div" else GRID
    xs, ys = (column.ravel() for column in np.meshgrid(grid, others[np.fabs(others) <= 30]))
    np.testing.assert_allclose(compiled_loop(fn)(xs, ys), [fn(float(x), float(y)) for x, y in zip(xs, ys, strict=True)], rtol=1e-14)


def test_the_tables_for_numba_contain_every_scalar_operator() -> None:
    higher_order = {"map", "zipWith", "reduce", "negList", "addLists", "sum", "prod"}
    here = {name for name, value in vars(operators).items() if getattr(value, "__module__", "") == "minitorch.operators"}
    assert here - higher_order == {*ONE_ARGUMENT, *TWO_ARGUMENTS, *FOR_PYTHON}
