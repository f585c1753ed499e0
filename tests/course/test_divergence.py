"""`course explain`: its output for small workspaces, and where it finds the mistakes of the wrong answers."""

import json
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import minitorch
from course.explain.divergence import format_number, same
from course.explain.replay import first_wrong_call
from course.manifest import ROOT
from course.oracles.finite_differences import agrees, numerical_derivative
from course.oracles.strided import Strided, grid
from minitorch import Scalar, Tensor, fast_ops, scalar_functions, tensor_data, tensor_functions, tensor_ops
from minitorch.tensor_data import MAX_DIMS, broadcast_index, index_to_position, to_index

from .conftest import Workspace

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

RELU = '''"""The code of the tiny course."""


def relu(x):
    """x above 0, else 0.0."""
    return x if x > 0 else 0.5 * x
'''

RELU_TEST = '''
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

INDEX = "def index_to_position(index, strides):\n    return sum(i * stride for i, stride in zip(index, strides, strict=True))\n"
INDEX_TEST = """
@pytest.mark.task0_1
def test_an_index_may_be_longer():
    assert index_to_position((1, 2, 9), (3, 1)) == 5
"""


def write_task(workspace: Workspace, code: str, tests: str, *functions: str) -> Workspace:
    """Replace the first task of the tiny course by these functions of one module, with these tests."""
    module, names = functions[0].split(":")[0], ", ".join(name.split(":")[1] for name in functions if name.startswith("minitorch"))
    workspace.write(f"{module.replace('.', '/')}.py", code)
    imports = "import pytest\nfrom hypothesis import example, given\nfrom hypothesis.strategies import floats\n"
    workspace.write("tests/test_sums.py", f"{imports}\nfrom {module} import {names}\n\n{tests}")
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:add"]', f"write = {json.dumps(functions)}")
    return workspace


@pytest.fixture(scope="module")
def relu(new_workspace: Callable[[], Workspace]) -> Workspace:
    """A workspace whose first task is a leaky relu; tests must not edit it."""
    return write_task(new_workspace(), RELU, RELU_TEST, "minitorch.operators:relu")


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
    expected = ["0.1", "tests/test_sums.py::test_relu_is_0_below_0", "relu(x) is 0 where x is negative.", {"x": "-4.0"}, ""]
    assert [document[key] for key in ("task", "test", "says", "inputs", "reason")] == expected
    finding = document["finding"]
    assert [finding[key] for key in ("task", "function", "file", "line")] == ["0.1", "relu", "minitorch/operators.py", 4]
    assert finding["wrong"]["place"] == "the value of relu(-4)"


def test_a_call_that_raises_an_error_has_no_result(workspace: Workspace) -> None:
    code = RELU.replace("0.5 * x", "math.sqrt(x)").replace("\n\n\ndef", "\n\nimport math\n\n\ndef")
    lines = write_task(workspace, code, RELU_TEST, "minitorch.operators:relu").course("explain", "0.1").stdout.splitlines()
    assert lines[lines.index("Expected        0") + 1].startswith("It raises       ValueError: ")


def test_an_index_in_a_longer_buffer_is_shown_whole(workspace: Workspace) -> None:
    done = write_task(workspace, INDEX, INDEX_TEST, "minitorch.tensor_data:index_to_position").course("explain", "0.1")
    assert "\nIndex           (1, 2), followed by 9, to be ignored\n" in done.stdout


def test_a_passing_task_needs_no_explanation(sums: Workspace) -> None:
    done = sums.course("explain", "0.1")
    message = "✓ Task 0.1 Sums: passed. Of 1 test, 1 passes.\nNo test fails, so there is nothing to explain. Next: course next\n"
    assert (done.returncode, done.stdout) == (0, message)


def test_an_unwritten_task_is_not_explained(sums: Workspace) -> None:
    done = sums.course("explain", "0.3")
    assert done.returncode == 1
    assert "Write           minitorch/sums.py:16  square" in done.stdout
    document = json.loads(sums.course("explain", "0.3", "--json").stdout)
    assert (document["finding"], document["reason"]) == (None, "the task is todo")


# The failure card names the function that an oracle finds wrong

TWO = "def neg(x):\n    return -x\n\n\ndef inv(x):\n    return x\n"
TWO_TESTS = """
@pytest.mark.task0_1
def test_values():
    negative, inverse = neg(4.0), inv(4.0)
    assert [negative, inverse] == [-4.0, 0.25]


@pytest.mark.task0_1
@example(4.0)
@given(floats(2, 9))
def test_values_of_any_number(x):
    negative, inverse = neg(x), inv(x)
    assert [negative, inverse] == [-x, 1 / x]


@pytest.mark.task0_1
def test_own():
    negative, inverse = neg(4.0), 0.25
    assert [negative, inverse] == [4.0, 0.25]


TABLE = [lambda x: inv(x)]


@pytest.mark.task0_1
def test_the_wrong_function_is_in_a_table():
    inverse = TABLE[0](4.0)
    assert [inverse, neg(2.0)] == [0.25, -2.0]
"""


def test_the_card_names_the_wrong_one_of_two_functions_and_none_in_a_students_own_wrong_test(workspace: Workspace) -> None:
    write_task(workspace, TWO, TWO_TESTS, "minitorch.operators:neg", "minitorch.operators:inv", "tests.test_sums:test_own")
    workspace.python("pytest", "tests/test_sums.py", "--course-report=report.json")
    rows = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))["tests"]
    assert [[place["function"] for place in row["card"]["called"]] for row in rows] == [["inv"], ["inv"], [], ["inv"]]
    assert rows[2]["card"]["place"]["function"] == "test_own"


def swapped(function: Any) -> Callable[..., Any]:
    """A method that calls a function with its operands swapped."""
    return lambda self, b: function.apply(b if isinstance(b, type(self)) else type(self)(b), self)


def in_order(function: Any) -> Callable[..., Any]:
    """A method that calls a function with its operands in order."""
    return lambda self, b: function.apply(self, b)


MISTAKES: list[tuple[type, str, Callable[..., Any], Callable[[Any, Any], Any]]] = [
    (Scalar, "__add__", in_order(scalar_functions.Mul), lambda x, y: x + y),
    (Scalar, "__sub__", in_order(scalar_functions.Add), lambda x, y: x - y),
    (Scalar, "__neg__", lambda self: scalar_functions.Mul.apply(self, 1.0), lambda x, y: -x),
    (Scalar, "__lt__", swapped(scalar_functions.LT), lambda x, y: x < y),
    (Scalar, "__gt__", in_order(scalar_functions.LT), lambda x, y: x > y),
    (Scalar, "__eq__", in_order(scalar_functions.LT), lambda x, y: y == x),
    # Python calls the method because the left operand is a plain number.
    (Scalar, "__lt__", swapped(scalar_functions.LT), lambda x, y: 2.0 > x),  # noqa: SIM300
    (Scalar, "__gt__", in_order(scalar_functions.LT), lambda x, y: 2.0 < x),  # noqa: SIM300
    (Scalar, "__eq__", in_order(scalar_functions.LT), lambda x, y: 9.0 == x),  # noqa: SIM300
    (Tensor, "__add__", lambda self, b: self * b, lambda x, y: x + y),
    (Tensor, "__radd__", lambda self, b: self * b, lambda x, y: 3.0 + x),
    (Tensor, "__sub__", lambda self, b: self + b, lambda x, y: x - y),
    (Tensor, "__mul__", lambda self, b: self + b, lambda x, y: x * y),
    (Tensor, "__rmul__", lambda self, b: self + b, lambda x, y: 3.0 * x),
    (Tensor, "__neg__", lambda self: self + 0.0, lambda x, y: -x),
    (Tensor, "__lt__", lambda self, b: tensor_functions.LT.apply(b, self), lambda x, y: x < y),
    (Tensor, "__gt__", lambda self, b: tensor_functions.LT.apply(self, self._ensure_tensor(b)), lambda x, y: x > y),
    (Tensor, "__gt__", lambda self, b: tensor_functions.LT.apply(self, self._ensure_tensor(b)), lambda x, y: 2.0 < x),  # noqa: SIM300
    (Tensor, "__eq__", lambda self, b: tensor_functions.LT.apply(self, b), lambda x, y: x == y),
]
"""Wrong operators: the class, the method's name, a wrong method, and an expression that calls it."""


def blamed_function(expression: Callable[[], Any]) -> str:
    """The function that the explanation names when a test that evaluates the expression fails."""

    def test() -> None:
        expression()
        raise AssertionError("the value is wrong")

    found = first_wrong_call(ROOT, test)
    return found[0].name if found else "nothing"


@pytest.mark.parametrize(("kind", "name", "method", "expression"), MISTAKES)
def test_a_wrong_operator_is_named(
    kind: type, name: str, method: Any, expression: Callable[[Any, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = (Scalar(6.0), Scalar(2.0)) if kind is Scalar else (minitorch.tensor([6.0, 1.0]), minitorch.tensor([2.0, 4.0]))
    assert blamed_function(lambda: expression(x, y)) == "nothing"
    code = method.__code__.replace(co_name=name, co_qualname=name)
    monkeypatch.setattr(kind, name, FunctionType(code, method.__globals__, name, None, method.__closure__))
    assert blamed_function(lambda: expression(x, y)) == name


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

    call, difference = first_wrong_call(ROOT, test) or (None, None)
    assert call.name == f"{wrong.__name__}._map"
    assert ("Note", SAME_INDEX) in difference.rows


def passes_one_array_twice() -> None:
    index, shape = np.array([1, 2]), np.array([2, 3])
    broadcast_index(index, shape, np.array([2, 1]), index)
    to_index(4, shape, shape)
    raise AssertionError("the mistake is in the test")


@pytest.mark.parametrize("test", [passes_one_array_twice, lambda: sys.exit(2)], ids=["passes one array twice", "its program exits"])
def test_a_failing_test_whose_functions_are_right_blames_none(test: Callable[[], None]) -> None:
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
        _, difference = first_wrong_call(ROOT, test) or (None, None)
    assert difference.place == "the index in the smaller tensor for (1, 1): dimension 1"


# Building blocks of oracles


@pytest.mark.parametrize(("f", "x", "expected"), [(lambda x: x**3, 2.0, 12.0), (lambda x: 1 / x, 1e-3, -1e6), (abs, -5.0, -1.0)])
def test_the_step_of_a_numerical_derivative_adapts(f: Callable[[float], float], x: float, expected: float) -> None:
    found = numerical_derivative(f, x)
    assert found is not None
    assert agrees(expected, found)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [(lambda x: 1 / x, 0.0, None), (lambda x: x + 1e15, 1.0, None), (lambda x: 3.0, 2.0, 0.0), (lambda x: x * x, 0.0, 0.0)],
    ids=["a pole", "lost in rounding", "a constant", "a minimum"],
)
def test_a_numerical_derivative_is_exactly_0_or_unknown(f: Callable[[float], float], x: float, expected: float | None) -> None:
    assert numerical_derivative(f, x) == expected


def test_a_derivative_lost_in_rounding_is_unknown() -> None:
    """The derivative of 1e-5 x - 4777.8 is 1e-5, but with a small step both values are the same float."""
    found = numerical_derivative(lambda x: 1e-5 * x - 4777.777683059897, 9.6e-31)
    assert found is None or agrees(1e-5, found)


@pytest.mark.parametrize("x", [1e-9, -1e-9, 0.0, 1e-5])
def test_the_derivative_near_a_kink_is_unknown_or_one_sided(x: float) -> None:
    found = numerical_derivative(lambda x: max(x, 0.0) + 0.5, x)
    assert found is None or (x and agrees(float(x > 0), found))


def test_numbers_are_compared_with_the_tolerance_of_float_arithmetic() -> None:
    assert same(0.1 + 0.2, 0.3)
    assert same(float("nan"), float("nan"))
    assert not same(0.0, -1e-302)
    assert not same(0.0, "0")
    assert [format_number(x) for x in (0.1, 1e-300, 0.1234567891, True)] == ["0.1", "1e-300", "0.1234567891", "True"]
    assert format_number(np.float64(0.1) + np.float64(0.2)) == "0.3"
    assert format_number(np.float64(1.692238767314802)) == "1.692238767314802"


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
