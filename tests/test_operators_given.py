"""The given scalar operators, and errors and limits of all operators."""

import math

import pytest
from hypothesis import example, given
from hypothesis.strategies import floats

from minitorch import operators
from minitorch.core import math_operators

from .strategies import assert_close, small_floats

EXACT = 1e-9
FUNCTIONS = vars(operators) | vars(math_operators)


@given(small_floats)
@example(x=0.0)
def test_sin_cos_and_tanh_equal_the_math_module(x: float) -> None:
    assert math_operators.sin(x) == math.sin(x)
    assert math_operators.cos(x) == math.cos(x)
    assert math_operators.tanh(x) == math.tanh(x)


@given(floats(min_value=0, max_value=100))
@example(x=0.0)
@example(x=1e-300)
def test_sqrt_squared_is_the_number(x: float) -> None:
    assert_close(math_operators.sqrt(x) * math_operators.sqrt(x), x, EXACT)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        *(("power", (2.0, 3.0), 8.0), ("power", (2.0, -1.0), 0.5), ("power", (-2.0, 3.0), -8.0), ("power", (-2.0, 2.0), 4.0)),
        *(("power", (9.0, 0.5), 3.0), ("power", (0.0, 0.0), 1.0), ("power", (0.0, 2.0), 0.0), ("power", (5.0, 0.0), 1.0)),
        *(("absolute", (3.0,), 3.0), ("absolute", (-3.0,), 3.0), ("absolute", (0.0,), 0.0), ("absolute", (-1e-300,), 1e-300)),
        *(("sigmoid", (1000.0,), 1.0), ("sigmoid", (-1000.0,), 0.0), ("tanh", (1000.0,), 1.0), ("tanh", (-1000.0,), -1.0)),
        *(("relu", (1000.0,), 1000.0), ("relu", (-1000.0,), 0.0), ("exp", (-1000.0,), 0.0), ("inv", (-1000.0,), -0.001)),
        ("log", (1000.0,), pytest.approx(6.907755279982137, rel=1e-9)),
        *((name, (1.0, math.nan), pytest.approx(math.nan, nan_ok=True)) for name in ("mul", "add", "max")),
    ],
)
def test_an_operator_has_its_values_and_does_not_overflow_at_a_thousand(name: str, args: tuple[float, ...], expected: float) -> None:
    result = FUNCTIONS[name](*args)
    assert result == expected
    assert type(result) is float


@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "sqrt", "absolute"])
def test_the_given_operators_return_a_float_for_integers(name: str) -> None:
    assert type(FUNCTIONS[name](1)) is float


@pytest.mark.parametrize(
    ("name", "args", "error"),
    [
        *(
            ("log", (-1e-6,), ValueError),
            ("log", (-1.0,), ValueError),
            ("exp", (1000.0,), OverflowError),
            ("inv", (0.0,), ZeroDivisionError),
        ),
        *(("sqrt", (-1.0,), ValueError), ("power", (-1.0, 0.5), ValueError), ("power", (0.0, -1.0), ValueError)),
        ("power", (10.0, 1000.0), OverflowError),
    ],
)
def test_an_undefined_value_is_an_error(name: str, args: tuple[float, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        FUNCTIONS[name](*args)
