"""Where a card says to look when the error does not tell by itself."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Workspace

CODE = '''

def given(x):
    """Given with the course."""
    return x


class Step:
    """A function with a forward, as Modules 1 and 2 have many."""

    @staticmethod
    def forward(x):
        return 0


class Number:
    """A class with methods that students write."""

    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return 0

    def sign(self):
        if self.x is None:
            raise ValueError("Number.sign expected a number, got None")
        return 0

    def step(self):
        """Given with the course."""
        return Step.forward(self.x)

    def one(self):
        return 1

    two = three = one
'''

TESTS = '''"""Tests of methods."""

import operator

import pytest

from minitorch.sums import Number, Step, add, given


@pytest.mark.task1_2
def test_in_the_line():
    step = Step  # named by the test, but not by the line that fails
    assert Number(3).sign() == 1


@pytest.mark.task1_2
def test_kept():
    result = Number(3).sign()
    assert result == 1


@pytest.mark.task1_2
def test_in_a_lambda():
    results = [(lambda x: x.sign())(Number(3))]
    assert results == [1]


@pytest.mark.task1_2
@pytest.mark.parametrize("function", [Step, Number])
def test_of_a_parameter(function):
    result = function.forward(3) if function is Step else function(3).sign()
    assert result == 1


@pytest.mark.task1_2
@pytest.mark.parametrize("of", [operator.add])
def test_operator(of):
    assert of(Number(1), 2) == 3


@pytest.mark.task1_2
def test_through_a_method():
    result = Number(3).step()
    assert result == 1


@pytest.mark.task1_2
def test_four():
    x = Number(3)
    result = x.sign() + x.one() + x.two() + x.three()
    assert result == 4


@pytest.mark.task1_2
def test_five():
    x = Number(3)
    result = x.step() + x.sign() + x.one() + x.two() + x.three()
    assert result == 5


@pytest.mark.task1_2
def test_given():
    assert given(3) == 1


@pytest.mark.task1_2
def test_given_beside_what_students_write():
    assert given(add(1, 1)) == 3


@pytest.mark.task0_1
def test_of_another_task():
    result = Number(3).sign()
    assert result == 1


@pytest.mark.task1_2
def test_message():
    add(None, 1)


@pytest.mark.task1_2
def test_message_of_the_function_itself():
    Number(None).sign()


@pytest.mark.task0_1
def test_message_of_another_task():
    add(None, 1)
'''


@pytest.fixture(scope="module")
def cards(new_workspace: Callable[[], Workspace]) -> dict[str, dict[str, Any]]:
    """The cards by the test's name; Task 1.2 has methods of two classes to write."""
    workspace = new_workspace()
    workspace.mend(
        "course/tasks.toml",
        'write = ["minitorch.sums:sign"]',
        'write = ["minitorch.sums:Step.forward", "minitorch.sums:Number.__add__", "minitorch.sums:Number.sign", '
        '"minitorch.sums:Number.one", "minitorch.sums:Number.two", "minitorch.sums:Number.three"]',
    )
    refuses = '    if x is None:\n        raise ValueError("Step.forward expected a number, got None")\n    return x + y'
    workspace.mend("minitorch/sums.py", "    return x + y", refuses)
    workspace.write("minitorch/sums.py", (workspace.root / "minitorch" / "sums.py").read_text(encoding="utf-8") + CODE)
    workspace.write("tests/test_methods.py", TESTS)
    workspace.python("pytest", "tests/test_methods.py", "--course-report=report.json")
    rows = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))["tests"]
    return {row["nodeid"].split("::", 1)[-1]: row["card"] for row in rows}


def called(card: dict[str, Any]) -> list[str]:
    return [place["function"] for place in card["called"]]


@pytest.mark.parametrize("name", ["test_in_the_line", "test_kept", "test_in_a_lambda"])
def test_a_method_of_the_tests_own_task_is_named(cards: dict[str, dict[str, Any]], name: str) -> None:
    assert called(cards[name]) == ["Number.sign"]


def test_the_class_or_operator_of_a_parametrized_test_leads_to_its_method(cards: dict[str, dict[str, Any]]) -> None:
    assert called(cards["test_of_a_parameter[Step]"]) == ["Step.forward"]
    assert called(cards["test_operator[add]"]) == ["Number.__add__"]


def test_a_method_leads_to_the_class_of_its_name(cards: dict[str, dict[str, Any]]) -> None:
    assert called(cards["test_through_a_method"]) == ["Step.forward"]


def test_up_to_four_methods_are_named(cards: dict[str, dict[str, Any]]) -> None:
    assert called(cards["test_four"]) == ["Number.sign", "Number.one", "Number.two", "Number.three"]
    assert called(cards["test_five"]) == []


def test_a_place_is_the_line_of_def_below_the_decorator(cards: dict[str, dict[str, Any]]) -> None:
    (place,) = cards["test_message"]["called"]
    code = cards["test_of_a_parameter[Step]"]["called"][0]
    assert place == code
    assert (place["file"], place["line"]) == ("minitorch/sums.py", 35)


def test_what_is_given_is_not_called_the_students_code(cards: dict[str, dict[str, Any]]) -> None:
    assert called(cards["test_given"]) == []
    assert called(cards["test_given_beside_what_students_write"]) == ["add"]


def test_methods_of_other_tasks_are_not_named(cards: dict[str, dict[str, Any]]) -> None:
    assert called(cards["test_of_another_task"]) == []


def test_a_message_that_names_a_method_of_the_task_leads_there(cards: dict[str, dict[str, Any]]) -> None:
    card = cards["test_message"]
    assert (called(card), card["place"]) == (["Step.forward"], None)
    assert card["error"] == "ValueError: Step.forward expected a number, got None"


@pytest.mark.parametrize(
    ("name", "function"),
    [("test_message_of_another_task", "add"), ("test_message_of_the_function_itself", "Number.sign")],
)
def test_an_error_in_the_tasks_own_function_names_its_line(cards: dict[str, dict[str, Any]], name: str, function: str) -> None:
    assert (called(cards[name]), cards[name]["place"]["function"]) == ([], function)
