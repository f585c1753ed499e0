"""The tables of functions, compared with the math module, and a restriction on their source."""

import ast
import math
from itertools import product
from pathlib import Path

import pytest

import minitorch
from minitorch import MathTest, MathTestVariable, Scalar
from minitorch.operators import EPS

GRID = [-100.0, -7.25, -5.5, -5.25, -1.0, -0.75, 0.0, 0.25, 1.0, 4.5, 5.5, 6.75, 100.0]


def sigmoid(a):
    return 1 / (1 + math.exp(-a))


def log(a):
    return math.log(a + EPS)


FUNCTIONS = {
    "addConstant": lambda a: a + 5,
    "complex": lambda a: log(sigmoid(10 * max(6 * max(10 * a + 7, 0) + 5, 0))) / 50,
    "cube": lambda a: a**3,
    "div": lambda a: a / 5,
    "exp": lambda a: math.exp(a - 200),
    "explog": lambda a: log(a + 100000) + math.exp(a - 200),
    "inv": lambda a: 1 / (a + 3.5),
    "log": lambda a: log(a + 100000),
    "multConstant": lambda a: 5 * a,
    "neg": lambda a: -a,
    "relu": lambda a: max(a + 5.5, 0),
    "sig": sigmoid,
    "square": lambda a: a**2,
    "subConstant": lambda a: a - 5,
    "add2": lambda a, b: a + b,
    "div2": lambda a, b: a / (b + 5.5),
    "eq2": lambda a, b: float(a == b + 5.5),
    "gt2": lambda a, b: float(a + 1.2 > b),
    "lt2": lambda a, b: float(a + 1.2 < b),
    "mul2": lambda a, b: a * b,
}
RED = {"mean_full_red": lambda a: sum(a) / len(a), "mean_red": lambda a: sum(a) / len(a), "sum_red": sum}


@pytest.mark.parametrize("cls", [MathTest, MathTestVariable])
def test_the_tables_contain_14_6_and_3_functions_by_name(cls):
    tables = cls._tests()
    assert [len(table) for table in tables] == [14, 6, 3]
    assert [name for table in tables for name, _ in table] == [*FUNCTIONS, *RED]
    assert all(function is getattr(cls, name) for table in tables for name, function in table)


def test_the_comparison_pairs_floats_with_variables():
    triples = [triple for table in MathTestVariable._comp_testing() for triple in table]
    assert triples == [(name, getattr(MathTest, name), getattr(MathTestVariable, name)) for name in [*FUNCTIONS, *RED]]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_compute_what_the_math_module_does(name):
    for xs in product(GRID, repeat=1 + name.endswith("2")):
        if name == "div2" and xs[1] == -5.5:
            continue  # the pole
        expected = pytest.approx(FUNCTIONS[name](*xs), rel=1e-12)
        assert getattr(MathTest, name)(*xs) == expected
        assert getattr(MathTestVariable, name)(*map(Scalar, xs)).data == expected


@pytest.mark.parametrize(("name", "xs"), [("inv", (-3.5,)), ("div2", (1.0, -5.5))])
def test_poles_are_where_the_table_says(name, xs):
    with pytest.raises(ZeroDivisionError):
        getattr(MathTest, name)(*xs)


@pytest.mark.parametrize("name", RED)
@pytest.mark.parametrize("kind", [list, iter])
def test_reductions_take_any_iterable_of_floats(name, kind):
    assert getattr(MathTest, name)(kind([1.5, -2.0, 4.0])) == pytest.approx(RED[name]([1.5, -2.0, 4.0]))


def test_reductions_of_variables_call_the_variable_s_method():
    class Recorder:
        def sum(self, *dims):
            return ("sum", *dims)

        def mean(self, *dims):
            return ("mean", *dims)

    assert [function(Recorder()) for _, function in MathTestVariable._tests()[2]] == [("mean",), ("mean", 0), ("sum", 0)]


@pytest.mark.parametrize("module", ["testing.py", "datasets.py"])
def test_steps_and_poles_are_not_decimal_literals(module):
    """Hypothesis uses decimals in local files as inputs, and no derivative check can pass exactly on a step."""
    tree = ast.parse((Path(minitorch.__file__).parent / module).read_text(encoding="utf-8"))
    found = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, float)]
    assert [value for value in found if value != 1.0] == []  # 1.0 / x has its pole at 0, which Hypothesis tries in any case
