"""The lines to check that a card suggests when the error does not name one."""

import json

import pytest

from course.workspace.locate import _is_called

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

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

pytestmark = pytest.mark.task1_2

def test_in_the_line():
    step = Step  # named by the test, but not by the line that fails
    assert Number(3).sign() == 1

def test_kept():
    result = Number(3).sign()
    assert result == 1

def test_in_a_lambda():
    results = [(lambda x: x.sign())(Number(3))]
    assert results == [1]

@pytest.mark.parametrize("function", [Step, Number])
def test_of_a_parameter(function):
    result = function.forward(3) if function is Step else function(3).sign()
    assert result == 1

@pytest.mark.parametrize("of", [operator.add])
def test_operator(of):
    assert of(Number(1), 2) == 3

def test_through_a_method():
    result = Number(3).step()
    assert result == 1

def test_four():
    x = Number(3)
    result = x.sign() + x.one() + x.two() + x.three()
    assert result == 4

def test_five():
    x = Number(3)
    result = x.step() + x.sign() + x.one() + x.two() + x.three()
    assert result == 5

def test_given():
    assert given(3) == 1

def test_given_beside_what_students_write():
    assert given(add(1, 1)) == 3

def test_message():
    add(None, 1)

def test_message_of_the_function_itself():
    Number(None).sign()

def test_error_in_a_function_of_another_task():
    Number("a word").one()
'''

TESTS_OF_ANOTHER_TASK = '''"""Tests of methods that another task asks for."""

import pytest

from minitorch.sums import Number, add

pytestmark = pytest.mark.task0_1

def test_of_another_task():
    result = Number(3).sign()
    assert result == 1

def test_message_of_another_task():
    add(None, 1)
'''


def cards_of(workspace, *tests):
    """The cards of the failing tests in these files, by name."""
    workspace.python("pytest", *tests, "--course-report=report.json")
    rows = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))["tests"]
    return {row["nodeid"].split("::", 1)[-1]: row["card"] for row in rows}


@pytest.fixture(scope="module")
def cards(new_workspace):
    """The cards by test name; Task 1.2 asks for methods of two classes."""
    workspace = new_workspace()
    names = ("Step.forward", "Number.__add__", "Number.sign", "Number.one", "Number.two", "Number.three")
    write = ", ".join(f'"minitorch.sums:{name}"' for name in names)
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:sign"]', f"write = [{write}]")
    refuses = '    if x is None:\n        raise ValueError("Step.forward expected a number, got None")\n    return x + y'
    workspace.edit("minitorch/sums.py", "    return x + y", refuses)
    workspace.write("minitorch/sums.py", (workspace.root / "minitorch" / "sums.py").read_text(encoding="utf-8") + CODE)
    workspace.write("tests/test_methods.py", TESTS)
    workspace.write("tests/test_of_another_task.py", TESTS_OF_ANOTHER_TASK)
    return cards_of(workspace, "tests/test_methods.py", "tests/test_of_another_task.py")


def functions_in(card):
    return [place["function"] for place in card["called"]]


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("test_in_the_line", ["Number.sign"]),
        ("test_kept", ["Number.sign"]),
        ("test_in_a_lambda", ["Number.sign"]),
        ("test_of_a_parameter[Step]", ["Step.forward"]),
        ("test_operator[add]", ["Number.__add__"]),
        ("test_through_a_method", ["Step.forward"]),  # a function class of the same name
        ("test_four", ["Number.sign", "Number.one", "Number.two", "Number.three"]),
        ("test_five", []),  # too many
        ("test_given", []),
        ("test_given_beside_what_students_write", ["add"]),
        ("test_of_another_task", []),
        ("test_message", ["Step.forward"]),
        ("test_message_of_another_task", []),
        ("test_message_of_the_function_itself", []),
    ],
)
def test_the_functions_of_the_test_s_task_that_it_calls_are_named(cards, name, functions):
    assert functions_in(cards[name]) == functions


@pytest.mark.parametrize(("name", "method"), [("lt", "__gt__"), ("gt", "__lt__"), ("add", "__radd__"), ("mul", "__rmul__")])
def test_an_operator_with_a_number_on_its_left_leads_to_the_reflected_method(name, method):
    assert _is_called(f"Scalar.{method}", {name})
    assert not _is_called(f"Scalar.{method}", {"eq"})
    assert not _is_called("Scalar.sign", {name})


def test_a_message_that_names_a_method_of_the_task_leads_to_its_def_line_below_the_decorators_and_no_other_place(cards):
    (place,) = cards["test_message"]["called"]
    assert place == cards["test_of_a_parameter[Step]"]["called"][0]
    assert (place["file"], place["line"]) == ("minitorch/sums.py", 35)
    assert cards["test_message"]["place"] is None
    assert cards["test_message"]["error"] == "ValueError: Step.forward expected a number, got None"


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("test_message_of_another_task", "add"),
        ("test_message_of_the_function_itself", "Number.sign"),
        ("test_error_in_a_function_of_another_task", "Number.one"),  # which called it
    ],
)
def test_an_error_in_a_function_of_a_task_names_its_line(cards, name, function):
    assert cards[name]["place"]["function"] == function


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

pytestmark = pytest.mark.task1_2
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

def test_compiled():
    tensor_map(negative)(np.ones(3), np.ones(3))

def test_of_what_the_test_compiles():
    njit(lambda x: negative(x, x))(1)

def test_none():
    tensor_zip(negative)(1, 2)

def test_none_is_launched():
    launch(tensor_zip(negative))

def test_a_function_is_launched():
    launch(tensor_reduce(negative))

def test_a_number_is_launched():
    launch(3)

def test_through_helpers():
    assert twice_reduced(3) == 1

def test_of_a_value():
    assert check(reduce_kernel(negative)(3))

def check(value):
    assert value == 1
'''


@pytest.fixture(scope="module")
def kernel_cards(new_workspace):
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
    return cards_of(workspace, "tests/test_kernels.py")


def place(file, line, source, function, in_task=True):
    return {"file": file, "line": line, "source": source, "function": function, "in_task": in_task}


def test_a_line_in_the_message_that_no_student_writes_is_skipped(kernel_cards):
    card = kernel_cards["test_of_what_the_test_compiles"]
    assert card["error"].startswith("TypingError: No implementation of function negative found")
    assert (card["place"]["function"], card["place"]["in_task"]) == ("test_of_what_the_test_compiles", False)


NONE = "tensor_zip returned None; return the kernel made from _zip"
NOT_COMPILED = "tensor_reduce returned _reduce without compiling it; return jit(_reduce)"
NO_KERNEL = "TypeError: 'int' object is not subscriptable"


@pytest.mark.parametrize(
    ("name", "error", "where"),
    [
        ("test_none", NONE, place("minitorch/kernels.py", 21, "def tensor_zip(fn):", "tensor_zip")),
        ("test_none_is_launched", NONE, place("minitorch/kernels.py", 21, "def tensor_zip(fn):", "tensor_zip")),
        ("test_a_function_is_launched", NOT_COMPILED, place("minitorch/kernels.py", 29, "def _reduce(x):", "tensor_reduce._reduce")),
        # A given line of the package is not labeled as the student's
        ("test_a_number_is_launched", NO_KERNEL, place("minitorch/device.py", 5, "kernel[1, 2]()", "launch", in_task=False)),
    ],
)
def test_what_is_no_kernel_is_reported_where_the_student_made_it(kernel_cards, name, error, where):
    assert (kernel_cards[name]["error"], kernel_cards[name]["place"]) == (error, where)


@pytest.mark.parametrize("name", ["test_through_helpers", "test_of_a_value"])
def test_a_function_of_the_task_is_found_through_caches_and_test_helpers(kernel_cards, name):
    assert functions_in(kernel_cards[name]) == ["tensor_reduce"]
