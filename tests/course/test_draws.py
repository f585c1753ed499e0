"""The labels of the values that a property draws inside its test."""

from types import SimpleNamespace
from typing import Any

import pytest

from course.runner.draws import label_draws
from course.runner.items import case
from course.runner.messages import shown_apart
from minitorch import MathTest, MathTestVariable, tensor


def layouts(name: str) -> str:
    """A strategy."""
    return name


def wrapped(*values: Any) -> Any:
    """What a test computes from drawn values."""
    return values


def a_variable(data: Any) -> Any:
    order = data.draw("x")
    first, second = data.draw("a tuple")
    return order, first, second


def several_variables(data: Any) -> Any:
    a, b = (data.draw(name) for name in "ab")
    c, d = data.draw("c"), data.draw("d")
    return a, b, c, d


def a_part_of_a_variable(data: Any) -> Any:
    out = wrapped(1, *data.draw(layouts("x")))
    index = tuple(data.draw(layouts("x")) for _ in range(2))
    other = wrapped(data.draw("x"))
    return out, index, other


def no_variable(data: Any) -> Any:
    assert data.draw("x")
    given = data.draw("x", label="its own")
    return given  # noqa: RET504  # a statement that assigns


@pytest.mark.parametrize(
    ("test", "labels"),
    [
        (a_variable, ["order", "first, second"]),
        (several_variables, ["a", "b", "c", "d"]),
        (a_part_of_a_variable, ["layouts of out", "layouts of index", "layouts of index (2)", "a value for other"]),
        (no_variable, [None, "its own"]),
    ],
)
def test_a_drawn_value_is_labeled_with_the_variable_that_it_is_for(test: Any, labels: list[str | None]) -> None:
    found = []

    def draw(strategy: Any, label: Any = None) -> Any:
        found.append(label)
        return "xy"

    data = SimpleNamespace(draw=draw)
    label_draws(data)
    test(data)
    assert found == labels


@pytest.mark.parametrize(
    ("function", "expression"),
    [
        (MathTestVariable.mean_red, "a.mean(0)"),
        (MathTest.square, "a * a"),
        (MathTest.mean_red, "values = list(a); operators.sum(values) / len(values)"),
        (layouts, "layouts"),
    ],
)
def test_a_case_shows_what_a_function_of_the_package_computes(function: Any, expression: str) -> None:
    item: Any = SimpleNamespace(callspec=SimpleNamespace(id="mean_red", params={"on_tensors": function}))
    assert case(item) == f"on_tensors = {expression}"


def test_two_values_are_shown_with_the_digits_in_which_they_differ() -> None:
    assert shown_apart(1.5, 2.5) == ("1.5", "2.5")
    left, right = shown_apart(tensor([1 / 3]), tensor([1 / 3 + 1e-9]))
    assert left != right
    assert left.startswith("tensor([0.3333333333333333]")
