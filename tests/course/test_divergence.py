"""`course explain`: its output for small workspaces, and where it finds the mistakes of the wrong answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import minitorch
from course.explain.divergence import format_number, same
from course.explain.replay import first_wrong_call
from course.manifest import ROOT, course
from course.oracles.finite_differences import agrees, numerical_derivative
from course.oracles.strided import Strided, grid
from course.staff.handout.generate import write_files
from course.staff.proofs.answers import apply_patch, graded_files, load_answers, read_ledger
from course.staff.proofs.prove import needed_files
from minitorch import Scalar, Tensor, fast_ops, scalar_functions, tensor_data, tensor_functions, tensor_ops
from minitorch.tensor_data import MAX_DIMS, broadcast_index, index_to_position, to_index

from .conftest import Workspace

RELU = '''"""The code of the tiny course."""


def relu(x):
    """x above 0, else 0.0."""
    return x if x > 0 else 0.5 * x
'''

RELU_TEST = '''"""The tests of the tiny course."""

import pytest
from hypothesis import example, given
from hypothesis.strategies import floats

from minitorch.operators import relu


@pytest.mark.task0_1
@example(-4.0)
@given(floats(-9, -1))
def test_relu_is_0_below_0(x):
    """relu(x) is 0 where x is negative."""
    assert relu(x) == 0.0
'''

PAGE = """\
✗ Task 0.1 Sums: failing. Of 1 test, 1 fails.

The test says   relu(x) is 0 where x is negative.
Smallest input  x = -4.0
First wrong     relu: the value of relu(-4)
Your code       minitorch/operators.py:4  relu
Call            relu(-4)
It should be    x above 0, else 0.0
Expected        0
Yours           -2
Oracle          Python's standard library and NumPy
Run again       course explain 0.1
                pytest tests/test_sums.py::test_relu_is_0_below_0
"""


POSITION = '''"""The code of the tiny course."""


def index_to_position(index, strides):
    """The position of an index in storage."""
    return sum(i * stride for i, stride in zip(index, strides, strict=True))
'''

POSITION_TEST = '''"""The tests of the tiny course."""

import pytest

from minitorch.tensor_data import index_to_position


@pytest.mark.task0_1
def test_an_index_may_be_longer():
    assert index_to_position((1, 2, 9), (3, 1)) == 5
'''


@pytest.fixture(scope="module")
def relu(new_workspace: Callable[[], Workspace]) -> Workspace:
    """A workspace whose first task is a leaky relu; tests must not edit it."""
    workspace = new_workspace()
    workspace.write("minitorch/operators.py", RELU)
    workspace.write("tests/test_sums.py", RELU_TEST)
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:add"]', 'write = ["minitorch.operators:relu"]')
    return workspace


@pytest.fixture(scope="module")
def sums(new_workspace: Callable[[], Workspace]) -> Workspace:
    """The tiny course, none of whose functions has an oracle; tests must not edit it."""
    return new_workspace()


def test_the_first_wrong_call_is_shown_on_a_page(relu: Workspace) -> None:
    done = relu.course("explain", "0.1")
    assert (done.returncode, done.stdout) == (1, PAGE)


def test_programs_get_json(relu: Workspace) -> None:
    done = relu.course("explain", "0.1", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert {key: document[key] for key in ("task", "test", "says", "inputs", "reason")} == {
        "task": "0.1",
        "test": "tests/test_sums.py::test_relu_is_0_below_0",
        "says": "relu(x) is 0 where x is negative.",
        "inputs": {"x": "-4.0"},
        "reason": "",
    }
    finding = document["finding"]
    assert [finding[key] for key in ("task", "function", "file", "line")] == ["0.1", "relu", "minitorch/operators.py", 4]
    assert finding["wrong"]["place"] == "the value of relu(-4)"


@pytest.mark.exhaustive
def test_without_an_oracle_the_card_is_shown_and_the_reason(sums: Workspace) -> None:
    done = sums.course("explain", "0.2")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[2] == "The test calls no function that has an oracle. This is what the test checks:"
    assert "Smallest input  x = 7" in lines
    assert lines[-1] == "Traceback: course test 0.2 -v"


def test_a_call_that_raises_an_error_has_no_result(new_workspace: Callable[[], Workspace]) -> None:
    workspace = new_workspace()
    workspace.write("minitorch/operators.py", RELU.replace("0.5 * x", "math.sqrt(x)").replace("\n\n\ndef", "\n\nimport math\n\n\ndef"))
    workspace.write("tests/test_sums.py", RELU_TEST)
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:add"]', 'write = ["minitorch.operators:relu"]')
    lines = workspace.course("explain", "0.1").stdout.splitlines()
    at = lines.index("Expected        0")
    assert lines[at + 1].startswith("It raises       ValueError: ")


def test_an_index_in_a_longer_buffer_is_shown_whole(new_workspace: Callable[[], Workspace]) -> None:
    workspace = new_workspace()
    workspace.write("minitorch/tensor_data.py", POSITION)
    workspace.write("tests/test_sums.py", POSITION_TEST)
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:add"]', 'write = ["minitorch.tensor_data:index_to_position"]')
    assert "\nIndex           (1, 2), followed by 9, to be ignored\n" in workspace.course("explain", "0.1").stdout


def test_an_endless_loop_is_shown_with_its_variables_over_three_iterations(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    while x != 0.5:\n        x += y\n    return x")
    done = workspace.course("explain", "0.1", "--time-limit", "1")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    at = lines.index("The test did not end. It was still running minitorch/sums.py:6, in add:")
    assert lines[at + 1 : at + 3] == ["    while x != 0.5:", "3 consecutive iterations:"]
    values = [re.fullmatch(rf"  {number}  y = 2, x = (\d+)", lines[at + 2 + number]) for number in (1, 2, 3)]
    first, second, third = [int(value[1]) for value in values if value]
    assert (second, third) == (first + 2, first + 4)
    assert "No variable changes" not in done.stdout


@pytest.mark.exhaustive
def test_a_loop_in_which_no_variable_changes_is_reported(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    while x == x:\n        pass\n    return x")
    document = json.loads(workspace.course("explain", "0.1", "--time-limit", "1", "--json").stdout)
    assert document["finding"] is None
    assert document["reason"].endswith("\nNo variable changes from one iteration to the next. What should end the loop?")


def test_a_passing_task_needs_no_explanation(sums: Workspace) -> None:
    done = sums.course("explain", "0.1")
    assert (done.returncode, done.stdout) == (
        0,
        "✓ Task 0.1 Sums: passed. Of 1 test, 1 passes.\nNo test fails, so there is nothing to explain. Next: course next\n",
    )


def test_an_unwritten_task_is_not_explained(sums: Workspace) -> None:
    done = sums.course("explain", "0.3")
    assert done.returncode == 1
    assert "Write           minitorch/sums.py:16  square" in done.stdout
    document = json.loads(sums.course("explain", "0.3", "--json").stdout)
    assert (document["finding"], document["reason"]) == (None, "the task is todo")


def test_an_unknown_task_is_a_usage_error(sums: Workspace) -> None:
    done = sums.course("explain", "9.9")
    assert (done.returncode, done.stderr) == (2, "there is no task '9.9'; the tasks are 0.1, 0.2, 0.3, 1.1, 1.2; run: course list\n")


# The failure card names the function that an oracle finds wrong

TWO = '''"""The code of the tiny course."""


def neg(x):
    """-x."""
    return -x


def inv(x):
    """1 / x."""
    return x
'''

TWO_TEST = '''"""The tests of the tiny course."""

import pytest
from hypothesis import example, given
from hypothesis.strategies import floats

from minitorch.operators import inv, neg


@pytest.mark.task0_1
def test_values():
    """The values are right."""
    negative, inverse = neg(4.0), inv(4.0)
    assert [negative, inverse] == [-4.0, 0.25]


@pytest.mark.task0_1
@example(4.0)
@given(floats(2, 9))
def test_values_of_any_number(x):
    """The values are right for any number."""
    negative, inverse = neg(x), inv(x)
    assert [negative, inverse] == [-x, 1 / x]
'''


@pytest.mark.parametrize("test", ["test_values", "test_values_of_any_number"])
def test_the_card_names_the_wrong_one_of_two_functions(workspace: Workspace, test: str) -> None:
    workspace.write("minitorch/operators.py", TWO)
    workspace.write("tests/test_sums.py", TWO_TEST)
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:add"]', 'write = ["minitorch.operators:neg", "minitorch.operators:inv"]')
    workspace.python("pytest", f"tests/test_sums.py::{test}", "--course-report=report.json")
    (row,) = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))["tests"]
    assert [place["function"] for place in row["card"]["called"]] == ["inv"]


def test_the_card_of_a_students_own_wrong_test_names_no_other_function(workspace: Workspace) -> None:
    workspace.write("minitorch/operators.py", TWO)
    workspace.write("tests/test_sums.py", TWO_TEST.replace("neg(4.0), inv(4.0)", "neg(4.0), 0.25").replace("[-4.0, 0.25]", "[4.0, 0.25]"))
    write = 'write = ["minitorch.operators:neg", "tests.test_sums:test_values"]'
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:add"]', write)
    workspace.python("pytest", "tests/test_sums.py::test_values", "--course-report=report.json")
    (row,) = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))["tests"]
    assert (row["card"]["place"]["function"], row["card"]["called"]) == ("test_values", [])


def swap_operands(function: type) -> Callable[..., Any]:
    """A method that calls a function with its operands swapped."""
    return lambda self, b: function.apply(b if isinstance(b, type(self)) else type(self)(b), self)  # type: ignore[attr-defined]


def keep_operands(function: type) -> Callable[..., Any]:
    """A method that calls a function with its operands in order."""
    return lambda self, b: function.apply(self, b)  # type: ignore[attr-defined]


SCALAR_MISTAKES: dict[str, tuple[Callable[..., Any], Callable[[Any, Any], Any]]] = {
    "__add__": (keep_operands(scalar_functions.Mul), lambda x, y: x + y),
    "__sub__": (keep_operands(scalar_functions.Add), lambda x, y: x - y),
    "__neg__": (lambda self: scalar_functions.Mul.apply(self, 1.0), lambda x, y: -x),
    "__lt__": (swap_operands(scalar_functions.LT), lambda x, y: x < y),
    "__gt__": (keep_operands(scalar_functions.LT), lambda x, y: x > y),
    "__eq__": (keep_operands(scalar_functions.LT), lambda x, y: y == x),
}
"""For each operator of Scalar, a wrong method, and an expression that calls it."""

REFLECTED = {"__gt__": lambda x: 2.0 < x, "__lt__": lambda x: 2.0 > x, "__eq__": lambda x: 9.0 == x}  # noqa: SIM300 - what is tested
"""Expressions in which Python calls the method because the left operand is a plain number."""


def blamed_function(expression: Callable[[], Any]) -> str:
    """The function that the explanation names when a test that evaluates the expression fails."""

    def test() -> None:
        expression()
        raise AssertionError("the value is wrong")

    found = first_wrong_call(ROOT, test)
    return found[0].name if found else "nothing"


def wrong_method(name: str, method: Callable[..., Any]) -> Any:
    """A function with this name that makes a mistake."""
    code = method.__code__.replace(co_name=name, co_qualname=name)
    return FunctionType(code, method.__globals__, name, None, method.__closure__)


@pytest.mark.parametrize("name", SCALAR_MISTAKES)
def test_a_wrong_operator_of_scalar_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, expression = SCALAR_MISTAKES[name]
    assert blamed_function(lambda: expression(Scalar(6.0), Scalar(2.0))) == "nothing"
    monkeypatch.setattr(Scalar, name, wrong_method(name, method))
    assert blamed_function(lambda: expression(Scalar(6.0), Scalar(2.0))) == name
    if name in REFLECTED:
        assert blamed_function(lambda: REFLECTED[name](Scalar(6.0))) == name


TENSOR_MISTAKES: dict[str, tuple[Callable[..., Any], Callable[[Any, Any], Any]]] = {
    "__add__": (lambda self, b: self * b, lambda x, y: x + y),
    "__radd__": (lambda self, b: self * b, lambda x, y: 3.0 + x),
    "__sub__": (lambda self, b: self + b, lambda x, y: x - y),
    "__mul__": (lambda self, b: self + b, lambda x, y: x * y),
    "__rmul__": (lambda self, b: self + b, lambda x, y: 3.0 * x),
    "__neg__": (lambda self: self + 0.0, lambda x, y: -x),
    "__lt__": (lambda self, b: tensor_functions.LT.apply(b, self), lambda x, y: x < y),
    "__gt__": (lambda self, b: tensor_functions.LT.apply(self, self._ensure_tensor(b)), lambda x, y: x > y),
    "__eq__": (lambda self, b: tensor_functions.LT.apply(self, b), lambda x, y: x == y),
}
"""The same for Tensor."""


@pytest.mark.parametrize("name", TENSOR_MISTAKES)
def test_a_wrong_operator_of_tensor_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, expression = TENSOR_MISTAKES[name]
    x, y = minitorch.tensor([6.0, 1.0]), minitorch.tensor([2.0, 4.0])
    assert blamed_function(lambda: expression(x, y)) == "nothing"
    monkeypatch.setattr(Tensor, name, wrong_method(name, method))
    assert blamed_function(lambda: expression(x, y)) == name
    if name == "__gt__":
        assert blamed_function(lambda: 2.0 < x) == name  # noqa: SIM300 - the left operand is a number


# A correct function is not blamed when its caller passes one array twice


def map_with_one_index(fn: Callable[[float], float]) -> Callable[..., None]:
    """A map that uses one array as the index of out and as the index of the input."""

    def _map(out: Any, out_shape: Any, out_strides: Any, in_storage: Any, in_shape: Any, in_strides: Any) -> None:
        index = np.zeros(MAX_DIMS, np.int32)
        for ordinal in range(len(out)):
            to_index(ordinal, out_shape, index)
            broadcast_index(index, out_shape, in_shape, index)
            out[index_to_position(index, out_strides)] = fn(in_storage[index_to_position(index, in_strides)])

    return _map


def map_with_two_views(fn: Callable[[float], float]) -> Callable[..., None]:
    """The same with two array objects that share memory."""

    def _map(out: Any, out_shape: Any, out_strides: Any, in_storage: Any, in_shape: Any, in_strides: Any) -> None:
        index = np.zeros(MAX_DIMS, np.int32)
        for ordinal in range(len(out)):
            to_index(ordinal, out_shape, index)
            broadcast_index(index[:], out_shape, in_shape, index[:])
            out[index_to_position(index, out_strides)] = fn(in_storage[index_to_position(index, in_strides)])

    return _map


SAME_INDEX = (
    "In a call of broadcast_index, both index arguments are the same array: writing out_index changes big_index while it is read. "
    "Use two arrays."
)


@pytest.mark.parametrize("wrong", [map_with_one_index, map_with_two_views])
@pytest.mark.parametrize("module", [tensor_ops, fast_ops])
def test_a_kernel_that_passes_one_array_twice_is_blamed_instead_of_broadcast_index(
    wrong: Callable[..., Any], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "tensor_map", wrong)

    def test() -> None:
        out = np.zeros(6)
        shape, strides = np.array([2, 3]), np.array([3, 1])
        wrong(lambda x: 2 * x)(out, shape, strides, np.array([1.0, 5.0]), np.array([2, 1]), np.array([1, 1]))
        assert out.tolist() == [2.0, 2.0, 2.0, 10.0, 10.0, 10.0]

    found = first_wrong_call(ROOT, test)
    assert found is not None
    call, difference = found
    assert call.name == f"{wrong.__name__}._map"
    assert ("Note", SAME_INDEX) in difference.rows


def test_a_test_that_passes_one_array_twice_blames_no_function() -> None:
    def test() -> None:
        index, shape = np.array([1, 2]), np.array([2, 3])
        broadcast_index(index, shape, np.array([2, 1]), index)
        to_index(4, shape, shape)
        raise AssertionError("the mistake is in the test")

    assert first_wrong_call(ROOT, test) is None


def test_a_test_whose_program_exits_is_a_failed_test() -> None:
    def test() -> None:
        raise SystemExit(2)

    assert first_wrong_call(ROOT, test) is None


def test_two_columns_of_one_array_count_as_two_arrays() -> None:
    """Their memory interleaves without sharing an element, so a wrong index is still found."""

    def test() -> None:
        buffer = np.zeros((2, 2), np.int32)
        to_index(4, np.array([2, 3]), buffer[:, 0])
        wrong_index(buffer[:, 0], np.array([2, 3]), np.array([2, 1]), buffer[:, 1])
        raise AssertionError("the index is wrong")

    def wrong_index(big_index: Any, big_shape: Any, shape: Any, out_index: Any) -> None:
        out_index[:] = big_index[:]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensor_data, "broadcast_index", wrong_index)
        found = first_wrong_call(ROOT, test)
    assert found is not None
    assert found[1].place == "the index in the smaller tensor for (1, 1): dimension 1"


# Building blocks of oracles


@pytest.mark.parametrize(("f", "x", "expected"), [(lambda x: x**3, 2.0, 12.0), (lambda x: 1 / x, 1e-3, -1e6), (abs, -5.0, -1.0)])
def test_the_step_of_a_numerical_derivative_adapts(f: Callable[[float], float], x: float, expected: float) -> None:
    found = numerical_derivative(f, x)
    assert found is not None
    assert agrees(expected, found)


def test_a_pole_has_no_derivative() -> None:
    assert numerical_derivative(lambda x: 1 / x, 0.0) is None


def test_a_derivative_lost_in_rounding_is_unknown() -> None:
    """The derivative of 1e-5 x - 4777.8 is 1e-5, but with a small step both values are the same float."""
    found = numerical_derivative(lambda x: 1e-5 * x - 4777.777683059897, 9.6e-31)
    assert found is None or agrees(1e-5, found)
    assert numerical_derivative(lambda x: x + 1e15, 1.0) is None


@pytest.mark.parametrize("x", [1e-9, -1e-9, 0.0, 1e-5])
def test_the_derivative_near_a_kink_is_unknown_or_one_sided(x: float) -> None:
    found = numerical_derivative(lambda x: max(x, 0.0) + 0.5, x)
    assert found is None or (x and agrees(float(x > 0), found))


def test_a_constant_function_has_derivative_0() -> None:
    assert numerical_derivative(lambda x: 3.0, 2.0) == 0.0
    assert numerical_derivative(lambda x: x * x, 0.0) == 0.0


def test_numbers_are_compared_with_the_tolerance_of_float_arithmetic() -> None:
    assert same(0.1 + 0.2, 0.3)
    assert same(float("nan"), float("nan"))
    assert not same(0.0, -1e-302)
    assert not same(0.0, "0")
    assert [format_number(x) for x in (0.1, 1e-300, 0.1234567891, True)] == ["0.1", "1e-300", "0.1234567891", "True"]


def test_a_strided_operand_is_drawn_with_its_storage_and_marks() -> None:
    operand = Strided("a", np.arange(6.0), (2, 3), (1, 2))
    assert operand.diagram({(1, 0): "><", (0, 2): "[]"}) == (
        "shape (2, 3), strides (1, 2)\n 0   2  [4]\n>1<  3   5\nstorage 0 >1< 2 3 [4] 5"
    )


def test_a_large_grid_is_cropped_around_the_mark() -> None:
    lines = grid(np.arange(200.0).reshape(10, 20), {(9, 19): "[]"})
    assert lines[0] == "…"
    assert len(lines) == 7
    assert lines[-1].endswith("[199]")
    assert max(map(len, lines)) <= 64


def test_an_operand_that_does_not_fit_into_its_storage_is_not_read() -> None:
    with pytest.raises(IndexError, match=r"shape \(2, 3\) with strides \(3, 1\) does not fit into a storage of 5"):
        _ = Strided("a", np.arange(5.0), (2, 3), (3, 1)).array


# Where the mistakes of the wrong answers are found

PLACES = {
    0: {
        "0.1/relu_leaks": ("relu", "the value of relu("),
        "0.1/lt_gives_a_bool": ("lt", "the type of lt(2, 3)"),
        "0.1/sigmoid_overflows": ("sigmoid", "the error that it raises"),
        "0.1/inv_of_0_is_0": ("inv", "the value of inv(0)"),
        "0.3/map_overwrites_its_input": ("map.apply", "the list ls, which the call changed"),
        "0.3/zipwith_arguments_swapped": ("zipWith.apply", "element 0"),
        "0.3/zipwith_keeps_the_rest": ("zipWith.apply", "the length, 3 instead of 1"),
        "0.3/reduce_ignores_the_start": ("reduce.apply", "the total"),
        "0.3/neglist_turns_around": ("negList", "element 1"),
        "0.4/eval_one_level": ("Module.eval", "the module branch.right"),
        "0.4/named_parameters_sorted": ("Module.named_parameters", "entry 0, weight"),
        "0.4/parameters_skips_zeros": ("Module.parameters", "entry 0, zero"),
    },
    1: {
        "1.1/forward_difference": ("central_difference", "the points at which it calls f"),
        "1.1/divides_by_epsilon": ("central_difference", "the value computed from the two values of f"),
        "1.1/one_list_for_both_points": ("central_difference", "the points at which it calls f"),
        "1.2/mul_adds": ("Mul.forward", "the value of Mul.forward(2, 7)"),
        "1.2/lt_returns_bool": ("LT.forward", "the type of LT.forward(1, 2)"),
        "1.2/add_forgets_history": ("Scalar.__add__", "the left operand, to which the history of the result does not lead"),
        "1.2/sub_wrong_way_round": ("Scalar.__sub__", "the value of Scalar.__sub__("),
        "1.3/leaves_constants_out": ("Scalar.chain_rule", "input 0"),
        "1.3/ignores_d_output": ("Scalar.chain_rule", "the derivative passed to Mixed.backward"),
        "1.4/leaves_first": ("topological_sort", "position 0: x comes before Triple1"),
        "1.4/includes_constants": ("topological_sort", "position 2: 1, a constant"),
        "1.4/diamond_visited_once": ("backpropagate", "the derivative of x"),
        "1.4/no_order": ("backpropagate", "Double9, which is visited 2 times"),
        "1.4/mul_swapped": ("Mul.backward", "the derivative of input 0"),
        "1.4/computed_variables_keep_derivatives": ("backpropagate", "Add1, which is not a leaf and must not keep a derivative"),
    },
    2: {
        "2.1/strides_from_the_other_end": ("index_to_position", "the position of index (1, 2)"),
        "2.1/forgets_to_divide": ("to_index", "the index of ordinal 1: dimension 0"),
        "2.1/permutes_the_strides_alone": ("TensorData.permute", "the shape"),
        "2.2/aligned_at_the_left": ("shape_broadcast", "the size of dimension -3"),
        "2.2/never_refuses": ("shape_broadcast", "shapes that do not broadcast"),
        "2.2/forgets_the_ones": ("broadcast_index", "the index in the smaller tensor for (1, 2): dimension 0"),
        "2.3/map_forgets_out_strides": ("tensor_map._map", "cell (0, 1) of out, position 2"),
        "2.3/map_stops_before_the_last": ("tensor_map._map", "cell (1, 2) of out, position 5"),
        "2.3/zip_swaps_its_arguments": ("tensor_zip._zip", "cell (0, 0) of out, position 0"),
        "2.3/reduce_skips_the_first": ("tensor_reduce._reduce", "cell (0, 0) of out, position 0"),
        "2.3/mul_adds": ("Mul.forward", "element (0,) of the result"),
        "2.4/mul_swapped": ("Mul.backward", "entry (0,) of the gradient of a"),
        "2.4/sum_divides": ("Sum.backward", "entry (0, 0) of the gradient of a"),
        "2.4/permute_same_order": ("Permute.backward", "the shape of the gradient of a"),
    },
    3: {
        "3.1/map_forgets_broadcasting": ("tensor_map._map", "cell (1, 0) of out"),
        "3.1/zip_reads_b_by_the_strides_of_a": ("tensor_zip._zip", "cell (0, 1) of out"),
        "3.1/reduce_leaves_the_last_out": ("tensor_reduce._reduce", "cell (0, 0) of out"),
        "3.2/the_last_product_is_left_out": ("_tensor_matrix_multiply", "cell (0, 0, 0) of out"),
        "3.2/b_is_transposed": ("_tensor_matrix_multiply", "cell (0, 0, 0) of out"),
    },
    4: {
        "4.1/reverse_is_ignored": ("_tensor_conv1d", "cell (0, 0, 0) of out"),
        "4.1/the_window_is_centred": ("_tensor_conv1d", "cell (0, 0, 0) of out"),
        "4.2/rows_of_the_weights_turned_round": ("_tensor_conv2d", "cell (0, 0, 0, 0) of out"),
        "4.3/windows_hold_their_numbers_column_by_column": ("tile", "element (0, 0, 0, 0, 1) of the windows"),
        "4.4/the_smallest": ("Max.forward", "element (0,) of the result"),
        "4.4/the_sum_of_all": ("softmax", "element (0, 0, 0) of the result"),
        "4.4/what_is_left_is_made_larger": ("dropout", "element (0, 0) of the result"),
    },
}
"""By module: for a wrong answer, the function with the mistake, and the first wrong place in its answer, determined by hand."""

ON_THE_GPU = {
    "3.3/map_writes_in_order": ("tensor_map._map", "cell (0, 1) of out, position 2"),
    "3.3/sum_practice_stops_a_round_early": ("_sum_practice", "out[0], of block 0"),
    "3.3/reduce_misses_the_last_element": ("tensor_reduce._reduce", "cell (0, 0) of out, position 0"),
    "3.4/the_last_tile_is_dropped": ("_tensor_matrix_multiply", "cell (0, 0, 0) of out"),
    "3.4/mm_practice_misses_the_last_k": ("_mm_practice", "cell (0, 0, 0) of out"),
    "3.3/map_has_no_guard": ("tensor_map._map", "what its threads do"),
    "3.4/tiles_are_read_from_global_memory": ("_tensor_matrix_multiply", "how often its threads read global memory"),
    "3.6/no_barrier": ("transpose_kernel", "what its threads do"),
    "3.7/one_element_per_thread": ("sum_kernel", "out[0], of block 0"),
    "4.4b/reverse_is_ignored": ("_tensor_conv1d", "cell (0, 0, 0) of out"),
}
"""The same for GPU kernels, which run in the simulator."""

SOON = ("0.1/relu_leaks", "1.4/leaves_first", "2.3/map_forgets_out_strides")
"""These run every time; the others are marked exhaustive."""


def find_mistakes(answers: Sequence[str], folder: Path, **environment: str) -> Mapping[str, tuple[str, str]]:
    """For each wrong answer, the function and place that the replay of its failing test finds."""
    places = {}
    for key, document in replay_answers(answers, folder, **environment).items():
        finding = document["finding"]
        places[key] = (finding["function"], finding["wrong"]["place"]) if finding else ("nothing", f"{document['calls']} right")
    return places


def replay_answers(
    answers: Sequence[str], folder: Path, own: Mapping[str, Mapping[str, str]] | None = None, **environment: str
) -> Mapping[str, Mapping[str, Any]]:
    """For each wrong answer, the document that the replay of its failing test writes.

    Args:
        answers: Keys of wrong answers; the test is the one that the ledger names.
        folder: The folder in which they run.
        own: Functions that replace those of an answer, by its key.
        environment: Additional environment variables.
    """
    manifest = course()
    files = needed_files(ROOT, manifest)
    ledger = read_ledger(ROOT / "course" / "staff" / "wrong_answers" / "ledger.json")
    tasks = {manifest.task(key.split("/")[0]) for key in answers}
    jobs = []
    for answer in load_answers(ROOT / "course" / "staff" / "wrong_answers", tasks):
        if answer.key in answers:
            answer = replace(answer, patch=own[answer.key]) if own else answer
            place = folder / answer.key.replace("/", "_")
            write_files(place, apply_patch(answer, files))
            job = {"folder": str(place), "test": ledger[answer.key]["killed_by"], "stage": manifest.task(answer.task).stage}
            jobs.append(job | {"answer": answer.key})
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    around = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "HYPOTHESIS_"))}
    around |= {"CI": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-m", "tests.course.replays", str(folder / "jobs.json")]
    subprocess.run(command, cwd=ROOT, env=around, check=True)
    return {job["answer"]: json.loads((Path(job["folder"]) / "divergence.json").read_text(encoding="utf-8")) for job in jobs}


def assert_found(expected: Mapping[str, tuple[str, str]], places: Mapping[str, tuple[str, str]]) -> None:
    """Fail unless each mistake was found in its function, at a place that starts as expected."""
    wrong = {
        key: (places[key], (function, place))
        for key, (function, place) in expected.items()
        if places[key][0] != function or not places[key][1].startswith(place)
    }
    assert not wrong, "\n".join(f"{key}: found {got}, expected {want}" for key, (got, want) in wrong.items())


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork, by which many tests share what they load")


@pytest.mark.exhaustive
@needs_fork
def test_mistakes_are_found_where_they_are(tmp_path: Path) -> None:
    """One of each of the first three modules."""
    expected = {key: place for places in PLACES.values() for key, place in places.items() if key in SOON}
    assert_found(expected, find_mistakes(SOON, tmp_path))


@needs_fork
@pytest.mark.exhaustive
@pytest.mark.parametrize("module", PLACES)
def test_all_mistakes_of_the_wrong_answers_are_found_where_they_are(module: int, tmp_path: Path) -> None:
    """Each is found in its function, at the first wrong place."""
    expected = PLACES[module]
    assert_found(expected, find_mistakes(list(expected), tmp_path, NUMBA_DISABLE_JIT="1"))


@needs_fork
@pytest.mark.exhaustive
def test_mistakes_in_gpu_kernels_are_found_in_the_simulator(tmp_path: Path) -> None:
    """This works with or without a GPU."""
    assert_found(ON_THE_GPU, find_mistakes(list(ON_THE_GPU), tmp_path, NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="1"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("module", [0, 1, 2])
def test_no_oracle_contradicts_the_reference(module: int, tmp_path: Path) -> None:
    """In all graded tests of a module, every call that an oracle can check is right."""
    manifest = course()
    marks = [task.mark for task in manifest.tasks if task.stage == module]
    files = {path for task in manifest.tasks if task.stage == module for path in graded_files(task, needed_files(ROOT, manifest))}
    arguments = ["-q", "-p", "tests.course.wrong_calls", f"--wrong-calls={tmp_path / 'wrong_calls.json'}", "-m", " or ".join(marks)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "HYPOTHESIS_"))}
    environment |= {"NUMBA_DISABLE_JIT": "1", "CI": "1"}
    subprocess.run([sys.executable, "-m", "pytest", *arguments, *sorted(files)], cwd=ROOT, env=environment, check=True)
    document = json.loads((tmp_path / "wrong_calls.json").read_text(encoding="utf-8"))
    assert document["wrong"] == []
    assert document["compared"] > 1000
