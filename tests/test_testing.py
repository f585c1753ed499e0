"""The tables of functions, compared with the math module, and a restriction on their source."""

import ast
import math
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


ONE = {
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
}
TWO = {
    "add2": lambda a, b: a + b,
    "div2": lambda a, b: a / (b + 5.5),
    "eq2": lambda a, b: float(a == b + 5.5),
    "gt2": lambda a, b: float(a + 1.2 > b),
    "lt2": lambda a, b: float(a + 1.2 < b),
    "mul2": lambda a, b: a * b,
}
RED = {"mean_full_red": lambda a: sum(a) / len(a), "mean_red": lambda a: sum(a) / len(a), "sum_red": sum}


def test_the_tables_contain_14_6_and_3_functions_by_name():
    for cls in (MathTest, MathTestVariable):
        one, two, red = cls._tests()
        assert [name for name, _ in one] == list(ONE)
        assert [name for name, _ in two] == list(TWO)
        assert [name for name, _ in red] == list(RED)
        for name, function in one + two + red:
            assert function is getattr(cls, name)


def test_the_comparison_pairs_floats_with_variables():
    triples = [triple for table in MathTestVariable._comp_testing() for triple in table]
    assert [name for name, _, _ in triples] == [*ONE, *TWO, *RED]
    for name, on_floats, on_variables in triples:
        assert on_floats is getattr(MathTest, name)
        assert on_variables is getattr(MathTestVariable, name)


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_argument_compute_what_the_math_module_does(name):
    for a in GRID:
        expected = pytest.approx(ONE[name](a), rel=1e-12)
        assert getattr(MathTest, name)(a) == expected
        assert getattr(MathTestVariable, name)(Scalar(a)).data == expected


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arguments_compute_what_the_math_module_does(name):
    for a in GRID:
        for b in GRID:
            if name == "div2" and b == -5.5:
                continue  # the pole
            expected = pytest.approx(TWO[name](a, b), rel=1e-12)
            assert getattr(MathTest, name)(a, b) == expected
            assert getattr(MathTestVariable, name)(Scalar(a), Scalar(b)).data == expected


def test_poles_are_where_the_table_says():
    for pole in (lambda: MathTest.inv(-3.5), lambda: MathTest.div2(1.0, -5.5)):
        with pytest.raises(ZeroDivisionError):
            pole()


@pytest.mark.parametrize("name", RED)
def test_reductions_take_any_iterable_of_floats(name):
    values = [1.5, -2.0, 4.0]
    assert getattr(MathTest, name)(values) == pytest.approx(RED[name](values))
    assert getattr(MathTest, name)(iter(values)) == pytest.approx(RED[name](values))


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
