"""The lines to check that a card suggests when the error does not name one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from course.workspace.locate import _is_called

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
        return add(self.x, 1) if self.x == "a word" else 1

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


@pytest.mark.task1_2
def test_error_in_a_function_of_another_task():
    Number("a word").one()
'''


@pytest.fixture(scope="module")
def cards(new_workspace: Callable[[], Workspace]) -> dict[str, dict[str, Any]]:
    """The cards by test name; Task 1.2 asks for methods of two classes."""
    workspace = new_workspace()
    workspace.edit(
        "course/tasks.toml",
        'write = ["minitorch.sums:sign"]',
        'write = ["minitorch.sums:Step.forward", "minitorch.sums:Number.__add__", "minitorch.sums:Number.sign", '
        '"minitorch.sums:Number.one", "minitorch.sums:Number.two", "minitorch.sums:Number.three"]',
    )
    refuses = '    if x is None:\n        raise ValueError("Step.forward expected a number, got None")\n    return x + y'
    workspace.edit("minitorch/sums.py", "    return x + y", refuses)
    workspace.write("minitorch/sums.py", (workspace.root / "minitorch" / "sums.py").read_text(encoding="utf-8") + CODE)
    workspace.write("tests/test_methods.py", TESTS)
    workspace.python("pytest", "tests/test_methods.py", "--course-report=report.json")
    rows = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))["tests"]
    return {row["nodeid"].split("::", 1)[-1]: row["card"] for row in rows}


def functions_in(card: dict[str, Any]) -> list[str]:
    return [place["function"] for place in card["called"]]


@pytest.mark.parametrize("name", ["test_in_the_line", "test_kept", "test_in_a_lambda"])
def test_a_method_of_the_test_s_task_is_named(cards: dict[str, dict[str, Any]], name: str) -> None:
    assert functions_in(cards[name]) == ["Number.sign"]


def test_the_class_or_operator_in_a_parameter_leads_to_its_method(cards: dict[str, dict[str, Any]]) -> None:
    assert functions_in(cards["test_of_a_parameter[Step]"]) == ["Step.forward"]
    assert functions_in(cards["test_operator[add]"]) == ["Number.__add__"]


@pytest.mark.parametrize(("name", "method"), [("lt", "__gt__"), ("gt", "__lt__"), ("add", "__radd__"), ("mul", "__rmul__")])
def test_an_operator_with_a_number_on_its_left_leads_to_the_reflected_method(name: str, method: str) -> None:
    assert _is_called(f"Scalar.{method}", {name})
    assert not _is_called(f"Scalar.{method}", {"eq"})
    assert not _is_called("Scalar.sign", {name})


def test_a_method_call_leads_to_the_function_class_of_the_same_name(cards: dict[str, dict[str, Any]]) -> None:
    assert functions_in(cards["test_through_a_method"]) == ["Step.forward"]


def test_up_to_four_methods_are_named(cards: dict[str, dict[str, Any]]) -> None:
    assert functions_in(cards["test_four"]) == ["Number.sign", "Number.one", "Number.two", "Number.three"]
    assert functions_in(cards["test_five"]) == []


def test_the_place_of_a_function_is_its_def_line_below_the_decorators(cards: dict[str, dict[str, Any]]) -> None:
    (place,) = cards["test_message"]["called"]
    code = cards["test_of_a_parameter[Step]"]["called"][0]
    assert place == code
    assert (place["file"], place["line"]) == ("minitorch/sums.py", 35)


def test_an_error_in_an_earlier_tasks_function_leads_to_what_called_it(cards: dict[str, dict[str, Any]]) -> None:
    assert cards["test_error_in_a_function_of_another_task"]["place"]["function"] == "Number.one"


def test_given_code_is_not_labeled_as_the_student_s(cards: dict[str, dict[str, Any]]) -> None:
    assert functions_in(cards["test_given"]) == []
    assert functions_in(cards["test_given_beside_what_students_write"]) == ["add"]


def test_methods_of_other_tasks_are_not_named(cards: dict[str, dict[str, Any]]) -> None:
    assert functions_in(cards["test_of_another_task"]) == []


def test_a_message_that_names_a_method_of_the_task_leads_there(cards: dict[str, dict[str, Any]]) -> None:
    card = cards["test_message"]
    assert (functions_in(card), card["place"]) == (["Step.forward"], None)
    assert card["error"] == "ValueError: Step.forward expected a number, got None"


@pytest.mark.parametrize(
    ("name", "function"),
    [("test_message_of_another_task", "add"), ("test_message_of_the_function_itself", "Number.sign")],
)
def test_an_error_in_the_tasks_own_function_names_its_line(cards: dict[str, dict[str, Any]], name: str, function: str) -> None:
    assert (functions_in(cards[name]), cards[name]["place"]["function"]) == ([], function)


# Kernels

KERNELS = '''"""Functions that return kernels, each with a mistake of its own."""

from numba import njit


def visit_all(x) -> None:
    def visit(y):
        return y

    visit(x)


def tensor_map(fn):
    def _map(out, x):
        for i in range(len(out)):
            out[i] = fn(x[i], x[i])

    return njit(_map)


def tensor_zip(fn):
    def _zip(x, y):
        return fn(x, y)

    njit(_zip)


def tensor_reduce(fn):
    def _reduce(x):
        return 0

    return _reduce
'''

DEVICE = '''"""Given with the course."""


def launch(kernel):
    kernel[1, 2]()
'''

KERNEL_TESTS = '''"""Tests of kernels."""

from functools import cache

import numpy as np
import pytest
from numba import njit
from numba.extending import register_jitable

from minitorch.device import launch
from minitorch.kernels import tensor_map, tensor_reduce, tensor_zip
from minitorch.sums import add

reduce_kernel = cache(tensor_reduce)


@register_jitable
def negative(x):
    return -x


class Later:
    """Runs a student's code when it is asked for anything, as the kernel of the matrix product does."""

    def __getattr__(self, name):
        raise NotImplementedError(name)


later = Later()


def reduced(x):
    kernel = reduce_kernel(negative) if later else tensor_reduce(negative)
    return kernel(add(x, 0))


def twice_reduced(x):
    return reduced(reduced(x))


@pytest.mark.task1_2
def test_compiled():
    tensor_map(negative)(np.ones(3), np.ones(3))


@pytest.mark.task1_2
def test_of_what_the_test_compiles():
    njit(lambda x: negative(x, x))(1)


@pytest.mark.task1_2
def test_none():
    tensor_zip(negative)(1, 2)


@pytest.mark.task1_2
def test_none_is_launched():
    launch(tensor_zip(negative))


@pytest.mark.task1_2
def test_a_function_is_launched():
    launch(tensor_reduce(negative))


@pytest.mark.task1_2
def test_a_number_is_launched():
    launch(3)


@pytest.mark.task1_2
def test_through_helpers():
    assert twice_reduced(3) == 1


@pytest.mark.task1_2
def test_of_a_value():
    assert check(reduce_kernel(negative)(3))


def check(value):
    assert value == 1
'''


@pytest.fixture(scope="module")
def kernel_cards(new_workspace: Callable[[], Workspace]) -> dict[str, dict[str, Any]]:
    """The cards of tests of kernels, by test name; in Task 1.2 the student writes the functions that return the kernels."""
    workspace = new_workspace()
    names = [f"kernels:{name}" for name in ("visit_all", "tensor_map", "tensor_zip", "tensor_reduce")]
    names = ["lost:none", "half:none", *names]  # a missing file, and one that is being edited
    workspace.write("minitorch/half.py", "def none(:")
    write = ", ".join(f'"minitorch.{name}"' for name in names)
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:sign"]', f"write = [{write}]")
    workspace.write("minitorch/kernels.py", KERNELS)
    workspace.write("minitorch/device.py", DEVICE)
    workspace.write("tests/test_kernels.py", KERNEL_TESTS)
    workspace.python("pytest", "tests/test_kernels.py", "--course-report=report.json")
    rows = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))["tests"]
    return {row["nodeid"].split("::", 1)[-1]: row["card"] for row in rows}


def place(file: str, line: int, source: str, function: str, in_task: bool = True) -> dict[str, Any]:
    return {"file": file, "line": line, "source": source, "function": function, "in_task": in_task}


def test_a_line_in_the_message_that_no_student_writes_is_skipped(kernel_cards: dict[str, dict[str, Any]]) -> None:
    card = kernel_cards["test_of_what_the_test_compiles"]
    assert card["error"].startswith("TypingError: No implementation of function negative found")
    assert (card["place"]["function"], card["place"]["in_task"]) == ("test_of_what_the_test_compiles", False)


@pytest.mark.parametrize("name", ["test_none", "test_none_is_launched"])
def test_a_forgotten_return_is_reported_in_its_function(kernel_cards: dict[str, dict[str, Any]], name: str) -> None:
    card = kernel_cards[name]
    assert card["error"] == "tensor_zip returned None; return the kernel made from _zip"
    assert card["place"] == place("minitorch/kernels.py", 21, "def tensor_zip(fn):", "tensor_zip")


def test_a_kernel_that_is_not_compiled_is_reported_at_its_definition(kernel_cards: dict[str, dict[str, Any]]) -> None:
    card = kernel_cards["test_a_function_is_launched"]
    assert card["error"] == "tensor_reduce returned _reduce without compiling it; return jit(_reduce)"
    assert card["place"] == place("minitorch/kernels.py", 29, "def _reduce(x):", "tensor_reduce._reduce")


def test_a_given_line_of_the_package_is_not_labeled_as_the_student_s(kernel_cards: dict[str, dict[str, Any]]) -> None:
    card = kernel_cards["test_a_number_is_launched"]
    assert card["error"] == "TypeError: 'int' object is not subscriptable"
    assert card["place"] == place("minitorch/device.py", 5, "kernel[1, 2]()", "launch", in_task=False)


@pytest.mark.parametrize("name", ["test_through_helpers", "test_of_a_value"])
def test_a_function_of_the_task_is_found_through_caches_and_test_helpers(kernel_cards: dict[str, dict[str, Any]], name: str) -> None:
    assert functions_in(kernel_cards[name]) == ["tensor_reduce"]
