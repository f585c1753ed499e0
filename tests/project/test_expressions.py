"""Typed expressions: which are accepted, which are refused and where, and their values."""

import math

import pytest

from minitorch import Scalar
from project.lab.cards import WrongResult
from project.lab.typed.expressions import MOST_CHARACTERS, parse
from project.lab.typed.source import Refused
from tests.errors import raises

XYZ = ("x", "y", "z")


def constant(value):
    return Scalar(value, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y * z", 2 + 3 * 0.5),
        ("(x + y) * z", (2 + 3) * 0.5),
        ("-x ** 2", -4.0),
        ("x / y - 1", 2 / 3 - 1),
        ("2 ** x", 4.0),
        ("x ** -2", 0.25),
        *[("x < y", 1.0), ("x > y", 0.0), ("x == 2", 1.0)],
        ("log(x)", math.log(2 + 1e-6)),
        ("exp(x)", math.exp(2)),
        ("sigmoid(x)", 1 / (1 + math.exp(-2))),
        ("relu(-x) + relu(y)", 3.0),
        ("sin(x) + cos(x) + tanh(x)", math.sin(2) + math.cos(2) + math.tanh(2)),
        ("sqrt(z)", math.sqrt(0.5)),
        ("abs(-x)", 2.0),
        *[("  x", 2.0), ("+x", 2.0), ("7", 7.0)],
        ("x ** (1 / 2)", math.sqrt(2)),
        ("9 ** 9 ** 2", 9.0**81),
    ],
)
def test_values_equal_python_s_on_floats_and_scalars(text, expected):
    expression = parse(text, XYZ)
    assert math.isclose(expression.function(XYZ, float)(2.0, 3.0, 0.5), expected, rel_tol=1e-9)
    on_scalars = expression.function(XYZ, constant)(Scalar(2.0), Scalar(3.0), Scalar(0.5))
    assert math.isclose(on_scalars.data, expected, rel_tol=1e-9)


def test_the_variables_of_an_expression_are_listed_in_order():
    assert parse("z + x * x", XYZ).names == ("x", "z")
    assert parse("(x * y).sum(0).view(2, 3) + z.mean()", XYZ, methods=True).names == ("x", "y", "z")


def test_a_scalar_expression_can_be_differentiated():
    x = Scalar(2.0)
    parse("x ** 3", ("x",)).function(("x",), constant)(x).backward()
    assert x.derivative == pytest.approx(12.0)


@pytest.mark.parametrize(("text", "error"), [("9 ** 9 ** 9 ** x", OverflowError), ("(-x) ** 0.5", ValueError)])
def test_a_number_that_no_float_represents_is_an_error(text, error):
    with pytest.raises(error):
        parse(text, ["x"]).function(["x"], float)(9.0)


FUNCTION_NAMES = "log, exp, sigmoid, relu, sin, cos, tanh, sqrt, abs"
METHOD_NAMES = "sum, mean, max, min, prod, view, permute, expand, transpose, flatten, squeeze, unsqueeze, contiguous"
NO_DOTS = "dots and calls of results are not allowed; use only numbers, variables, operators and functions"
NOT_ALLOWED = "not allowed here; use only numbers, variables, + - * / ** < > == and functions"
REFUSALS = {
    '__import__("os")': f"column 1: unknown function '__import__'; the functions are {FUNCTION_NAMES}",
    "eval(x)": f"column 1: unknown function 'eval'; the functions are {FUNCTION_NAMES}",
    "1 + x.real": f"column 5: {NO_DOTS}",
    **dict.fromkeys(["x.sum()", "log(x)(y)"], f"column 1: {NO_DOTS}"),
    "x + q": f"column 5: unknown name 'q'; the variables are x, y, z, the functions {FUNCTION_NAMES}",
    "  x + q": f"column 7: unknown name 'q'; the variables are x, y, z, the functions {FUNCTION_NAMES}",
    "x ^ 2": "column 1: ^ is not the power operator; write **",
    "x % 2": "column 1: unknown operator; use + - * / **",
    "x <= y": "column 1: unknown comparison; use <, > or ==",
    "x < y < z": "column 1: expected a single comparison; write (x < y) * (y < z)",
    "x + log": "column 5: log is a function; write log(x)",
    **dict.fromkeys(["log(x, y)", "log(x=y)"], "column 1: log expected one argument; write log(x)"),
    "x + 'a'": "column 5: expected a number, got 'a'",
    **{text: f"column 1: expected a number, got {text}" for text in ("True", "1j")},
    **dict.fromkeys(["1e999", "9" * 400], "column 1: expected a number that a float can represent"),
    **dict.fromkeys(["lambda: 1", "[x for x in y]", "x if y else z", "f'{x}'"], f"column 1: {NOT_ALLOWED}"),
    "(x := 2)": f"column 2: {NOT_ALLOWED}",
    "": "column 1: expected an expression in x, y, z, got nothing; write x * x + 1",
}
METHOD_REFUSALS = {
    "y + x.foo()": f"column 5: unknown method 'foo'; the methods are {METHOD_NAMES}, {FUNCTION_NAMES}",
    "x.__class__()": f"column 1: unknown method '__class__'; the methods are {METHOD_NAMES}, {FUNCTION_NAMES}",
    **{f"x.{name}": f"column 1: expected a call after the dot, got .{name}; write x.sum()" for name in ("T", "sum")},
    **{
        f"x.sum({given})": f"column 1: sum expected at most 1 integer, got 'x.sum({given})'"
        for given in ("1, 2", "dim=1", "True", "-True", "1.5")
    },
    **{f"x.view({given})": f"column 1: view expected 1 to 6 integers, got 'x.view({given})'" for given in ("", "y", "*y")},
    "x.transpose(1)": "column 1: transpose expected 2 integers, got 'x.transpose(1)'",
    "x.exp(1)": "column 1: exp expected no arguments, got 'x.exp(1)'",
    **{
        f"x.expand({sizes})": "column 1: expand expected a shape of at most 1000 elements; write smaller sizes"
        for sizes in ("1001", "100, 100, 0")
    },
    "sum(x)": "column 1: sum is a method; write x.sum(…)",
    "q.sum()": f"column 1: unknown name 'q'; the variables are x, y, z, the functions {FUNCTION_NAMES}",
    "x.sum()()": f"column 1: {NO_DOTS}",
}


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [*((text, {}, REFUSALS[text]) for text in REFUSALS), *((text, {"methods": True}, METHOD_REFUSALS[text]) for text in METHOD_REFUSALS)],
)
def test_anything_but_arithmetic_and_wrong_calls_of_methods_are_refused_with_their_column(text, options, message):
    with raises(Refused, message):
        parse(text, XYZ, **options)


@pytest.mark.parametrize("text", ["2x", "x +", "((x)", "x;y", "import os", "x = 2", "x\0", "é é", "print x"])
def test_invalid_python_is_refused_in_one_line_with_a_column(text):
    with pytest.raises(Refused, match=r"^column \d+: expected an expression such as 2 \* x \+ x \*\* 2, got [^\n]*$"):
        parse(text, XYZ)


@pytest.mark.parametrize(("text", "start"), [("é + x", "column 1: unknown name 'é'"), ("x + x+ü", "column 7: unknown name 'ü'")])
def test_columns_count_characters_not_bytes(text, start):
    with pytest.raises(Refused, match=f"^{start}"):
        parse(text, XYZ)


def test_the_longest_expression_is_accepted_and_one_character_more_is_not():
    longest = "1" + " " * (MOST_CHARACTERS - 1)
    assert parse(longest, XYZ).names == ()
    with pytest.raises(Refused, match=f"expected at most {MOST_CHARACTERS} characters, got {MOST_CHARACTERS + 1}"):
        parse(longest + " ", XYZ)


@pytest.mark.parametrize("text", ["-" * 500 + "x", "x" + " + x" * 149 + "+x", "(" * 150 + "x" + ")" * 150 + "+" + "-" * 151 + "x"])
def test_deep_expressions_are_refused_and_the_deepest_accepted_one_can_be_evaluated(text):
    with pytest.raises(Refused, match="expected at most 150 nested operations; write a shorter expression"):
        parse(text, XYZ)
    assert parse("x" + " + x" * 149, XYZ).function(XYZ, float)(1.0, 0.0, 0.0) == 150.0


class CallRecorder(str):
    """Describes the last method call."""

    def __getattr__(self, name):
        return lambda *args: CallRecorder(f"{name}{args}")


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("x.sum()", "sum()"),
        ("x.sum(1)", "sum(1,)"),
        ("x.sum(-1)", "sum(-1,)"),
        ("x.view(2, -1)", "view(2, -1)"),
        ("x.permute(1, 0, 2)", "permute(1, 0, 2)"),
        ("x.sigmoid()", "sigmoid()"),
        ("x.expand(10, 100)", "expand(10, 100)"),
    ],
)
def test_a_method_is_called_with_integer_arguments(text, called):
    assert parse(text, XYZ, methods=True).function(("x",), float)(CallRecorder()) == called


@pytest.mark.parametrize(("returned", "got"), [(1.0, "float"), (None, "NoneType; is the return missing?")])
def test_an_operator_that_returns_another_type_is_reported(monkeypatch, returned, got):
    monkeypatch.setattr(Scalar, "__mul__", lambda self, other: returned)
    with raises(WrongResult, f"x * y expected to return a Scalar, got {got}"):
        parse("x * y", XYZ).function(("x", "y"), constant)(Scalar(1.0), Scalar(2.0))
