"""The course's pytest plugin: what it prints and what its report contains."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from course.runner.plugin import Watcher, _draws

from .conftest import Workspace

ODD = '''"""Tests that end in unusual ways."""

import os
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import data, integers, lists

from minitorch.sums import add, double, square


@pytest.fixture
def squared():
    return square(3)


@pytest.mark.task0_3
def test_fixture(squared):
    assert squared == 9


@pytest.mark.task0_3
def test_group():
    with_two = ExceptionGroup("two", [ValueError("x"), NotImplementedError("Need to implement for Task 0.3")])
    raise ExceptionGroup("one", [with_two])


@pytest.mark.task0_1
def test_other_not_implemented():
    raise NotImplementedError("by design")


@pytest.mark.task0_1
def test_skipped():
    pytest.skip("no reason")


@pytest.mark.task0_1
@given(lists(integers(), min_size=1))
def test_inputs_that_are_changed(xs):
    xs.pop()
    assert len(xs) == 7


@pytest.mark.task0_1
@given(integers(5, 9), data())
def test_drawn_inside(x, source):
    y = source.draw(integers(3, 9), label="the other")
    z = source.draw(integers(1, 9))
    assert add(x, y) + z == 0


@pytest.mark.task0_1
@given(integers(0, 9))
@example(5)
def test_example(x):
    assert x < 5


@pytest.mark.task0_1
@pytest.mark.parametrize(("x", "function"), [(1, add)], ids=["one"])
@given(y=integers(3, 9))
def test_case(x, function, y):
    assert function(x, y) == 0


@pytest.mark.task0_1
@pytest.mark.parametrize("pair", [(1, object())], ids=["opaque"])
def test_opaque_case(pair):
    assert pair[0] == 0


@pytest.mark.task0_1
def test_message():
    assert add(1, 1) is None, f"expected None, got {add(1, 1)!r}; they differ"


@pytest.mark.task0_1
def test_plain_assertion():
    assert not add(1, 1)


@pytest.mark.task0_1
def test_own_words():
    assert add(1, 1) == 3, "one and one"


@pytest.mark.task0_1
def test_error_in_the_code():
    add(1, "x")


@pytest.mark.task0_1
def test_does_not_raise():
    with pytest.raises(ValueError):
        add(1, 1)


@pytest.mark.task0_1
def test_assertion_that_was_caught():
    with pytest.raises(AssertionError):
        assert add(1, 1) == 3
    raise AssertionError("for another reason")


@pytest.mark.task0_1
def test_a_result_that_is_kept():
    square_of = double  # a second function that the test names
    total = add(1, 1)
    assert total == 3


class Secret:
    def __repr__(self):
        raise RuntimeError("secret")

    def __lt__(self, other):
        return False


@pytest.mark.task0_1
def test_values_that_cannot_be_shown():
    assert Secret() < 1


@pytest.mark.task0_1
def test_teardown(request):
    request.addfinalizer(lambda: add(1, None))


def test_without_a_mark():
    square(2)


def test_settings():
    assert settings().deadline is None
    assert settings().derandomize == ("CI" in os.environ)


@pytest.mark.task0_1
@given(integers())
def test_prints(x):
    print("x is", x)
    assert x < 7


@pytest.mark.task0_1
def test_prints_and_errs():
    print("out")
    print("err", file=sys.stderr)
    assert add(1, 1) == 3


@pytest.mark.task0_1
def test_nothing_comes_back():
    assert [].sort() == 2


@pytest.mark.task0_1
def test_without_given(x):
    assert x


@pytest.mark.task0_1
def test_misspelt():
    length = 3
    assert lenght == 3


@pytest.mark.task0_1
def test_wrapped_by_compiled_code():
    try:
        add(1, "x")
    except TypeError as error:
        raise SystemError("CPUDispatcher returned a result with an exception set") from error


class TestGroup:
    @pytest.mark.task0_1
    @given(x=integers())
    def test_method(self, x):
        assert x < 11
'''


@pytest.fixture(scope="module")
def run(new_workspace: Callable[[], Workspace]) -> tuple[Workspace, subprocess.CompletedProcess[str]]:
    """One run of pytest over the tiny course and the tests above."""
    workspace = new_workspace()
    workspace.write("tests/test_odd.py", ODD)
    workspace.write("tests/test_early.py", "from minitorch.sums import square\n\nTWO = square(2)  # for task0_3, task1_1\n")
    workspace.write("tests/test_broken.py", "# task0_1\nimport minitorch.sums\ndef broken(:\n    pass\n")
    workspace.write("tests/test_lost.py", "from minitorch.sums import nothing\n")
    return workspace, workspace.python("pytest", "-v", "--continue-on-collection-errors", "--course-report=out/report.json")


@pytest.fixture(scope="module")
def report(run: tuple[Workspace, Any]) -> dict[str, Any]:
    return json.loads((run[0].root / "out" / "report.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def rows(report: dict[str, Any]) -> dict[str, Any]:
    """The rows of the report by test name without the file."""
    return {row["nodeid"].split("::", 1)[-1]: row for row in report["tests"]}


def test_unwritten_code_is_todo(rows: dict[str, Any]) -> None:
    row = rows["test_square"]
    assert (row["task"], row["state"], row["needs"]) == ("0.3", "todo", "0.3")
    place = {"file": "minitorch/sums.py", "line": 16, "function": "square"}
    assert row["card"]["place"] == place | {"source": 'raise NotImplementedError("Need to implement for Task 0.3")', "in_task": True}


def test_unwritten_code_of_another_task_blocks(rows: dict[str, Any]) -> None:
    assert (rows["test_root"]["state"], rows["test_root"]["needs"]) == ("blocked", "0.3")
    assert (rows["test_double_and_square"]["state"], rows["test_double_and_square"]["needs"]) == ("blocked", "0.3")


def test_unwritten_code_blocks_a_test_of_no_task(rows: dict[str, Any]) -> None:
    assert (rows["test_without_a_mark"]["task"], rows["test_without_a_mark"]["state"]) == (None, "blocked")


@pytest.mark.parametrize("name", ["test_fixture", "test_group"])
def test_unwritten_code_is_found_in_fixtures_and_groups(rows: dict[str, Any], name: str) -> None:
    assert rows[name]["state"] == "todo"


def test_unwritten_code_is_found_while_a_file_loads_once_for_each_of_its_tasks(report: dict[str, Any]) -> None:
    found = [(row["task"], row["state"], row["needs"]) for row in report["tests"] if row["nodeid"] == "tests/test_early.py"]
    assert found == [("0.3", "todo", "0.3"), ("1.1", "blocked", "0.3")]


def test_other_not_implemented_errors_are_failures(rows: dict[str, Any]) -> None:
    assert rows["test_other_not_implemented"]["state"] == "failing"
    assert rows["test_other_not_implemented"]["card"]["error"] == "NotImplementedError: by design"


def test_passed_and_skipped_tests_are_recorded(rows: dict[str, Any]) -> None:
    assert rows["test_add"] | {"order": 0} == {
        "nodeid": "tests/test_sums.py::test_add", "task": "0.1", "state": "passed", "needs": None, "card": None, "order": 0
    }  # fmt: skip
    assert (rows["test_skipped"]["state"], rows["test_skipped"]["reason"]) == ("skipped", "no reason")


def test_a_failing_property_shows_the_smallest_input_and_both_sides(rows: dict[str, Any]) -> None:
    card = rows["test_double"]["card"]
    assert card["says"] == "double(x) is twice x."
    assert (card["inputs"], card["expected"], card["yours"], card["error"]) == ({"x": "7"}, "14", "0", None)
    assert card["place"]["source"] == "assert double(x) == 2 * x"
    assert card["place"]["file"] == "tests/test_sums.py"


def test_values_drawn_inside_a_property_are_shown_with_its_inputs(rows: dict[str, Any]) -> None:
    card = rows["test_drawn_inside"]["card"]
    assert (card["inputs"], card["yours"]) == ({"x": "5", "the other": "3", "draw 2": "1"}, "9")


def test_other_notes_are_not_shown_as_drawn_values() -> None:
    error = ValueError("x")
    assert _draws(error) == {}
    error.add_note("Falsifying example: test(x=1)")
    error.add_note("Drawn: (1, 0)")
    assert _draws(error) == {}


def test_a_failing_example_shows_its_input(rows: dict[str, Any]) -> None:
    card = rows["test_example"]["card"]
    assert (card["inputs"], card["expected"], card["yours"]) == ({"x": "5"}, "< 5", "5")


def test_a_failing_method_shows_its_input(rows: dict[str, Any]) -> None:
    assert rows["TestGroup::test_method"]["card"]["inputs"] == {"x": "11"}


def test_inputs_are_shown_as_they_were_before_the_call(rows: dict[str, Any]) -> None:
    assert rows["test_inputs_that_are_changed"]["card"]["inputs"] == {"xs": "[0]"}


def test_a_parametrized_test_shows_its_parameters(rows: dict[str, Any]) -> None:
    card = rows["test_case[one]"]["card"]
    assert (card["case"], card["inputs"], card["yours"]) == ("x = 1, function = add", {"y": "3"}, "4")
    assert rows["test_opaque_case[opaque]"]["card"]["case"] == "opaque"


def test_a_message_with_expected_and_got_is_split(rows: dict[str, Any]) -> None:
    card = rows["test_message"]["card"]
    assert (card["expected"], card["yours"], card["error"]) == ("None", "2", "they differ")


def test_a_plain_assertion_shows_pytests_explanation(rows: dict[str, Any]) -> None:
    card = rows["test_plain_assertion"]["card"]
    assert (card["expected"], card["yours"]) == (None, None)
    assert card["error"] == "assert not 2\n +  where 2 = add(1, 1)"


def test_an_assertion_s_own_message_is_kept(rows: dict[str, Any]) -> None:
    card = rows["test_own_words"]["card"]
    assert (card["says"], card["expected"], card["yours"], card["error"]) == ("Own words.", "3", "2", "one and one")


def test_a_caught_comparison_is_not_shown(rows: dict[str, Any]) -> None:
    card = rows["test_assertion_that_was_caught"]["card"]
    assert (card["expected"], card["yours"], card["error"]) == (None, None, "for another reason")


def test_the_output_of_a_test_and_of_a_property_s_smallest_example_is_kept(rows: dict[str, Any]) -> None:
    assert rows["test_prints"]["card"]["printed"] == "x is 7"
    assert rows["test_prints_and_errs"]["card"]["printed"] == "out\nerr"
    assert rows["test_own_words"]["card"]["printed"] == ""


def test_none_instead_of_a_value_asks_for_a_return(rows: dict[str, Any]) -> None:
    card = rows["test_nothing_comes_back"]["card"]
    assert (card["expected"], card["yours"], card["error"]) == ("2", "None", "Yours is None: is a return missing?")
    assert rows["test_message"]["card"]["error"] == "they differ"


def test_a_property_without_given_says_what_is_missing(rows: dict[str, Any]) -> None:
    assert rows["test_without_given"]["card"]["error"] == (
        "no strategy gives the argument x of this test a value; "
        "decorate the test with @given(x=small_floats), or @given(small_floats, …) with a strategy for each argument"
    )


def test_a_misspelled_name_comes_with_a_suggestion(rows: dict[str, Any]) -> None:
    assert rows["test_misspelt"]["card"]["error"] == "NameError: name 'lenght' is not defined. Did you mean: 'length'?"


def test_an_error_wrapped_by_compiled_code_is_unwrapped(rows: dict[str, Any]) -> None:
    card = rows["test_wrapped_by_compiled_code"]["card"]
    assert card["error"] == "TypeError: unsupported operand type(s) for +: 'int' and 'str'"
    assert card["place"]["file"] == "minitorch/sums.py"


def test_an_error_names_the_students_line(rows: dict[str, Any]) -> None:
    card = rows["test_error_in_the_code"]["card"]
    assert card["error"] == "TypeError: unsupported operand type(s) for +: 'int' and 'str'"
    assert card["place"] == {"file": "minitorch/sums.py", "line": 6, "source": "return x + y", "function": "add", "in_task": True}
    assert "tests/test_odd.py" in card["traceback"]


def test_a_wrong_value_names_the_functions_that_the_line_calls(rows: dict[str, Any]) -> None:
    called = rows["test_double"]["card"]["called"]
    assert [(place["file"], place["line"], place["function"]) for place in called] == [("minitorch/sums.py", 9, "double")]
    assert rows["test_error_in_the_code"]["card"]["called"] == []  # the place is already shown


def test_a_stored_wrong_value_names_the_functions_that_the_test_calls(rows: dict[str, Any]) -> None:
    called = rows["test_a_result_that_is_kept"]["card"]["called"]
    assert [place["function"] for place in called] == ["double", "add"]


def test_a_missing_exception_is_reported(rows: dict[str, Any]) -> None:
    assert "DID NOT RAISE" in rows["test_does_not_raise"]["card"]["error"]


def test_values_whose_repr_fails_are_handled(rows: dict[str, Any]) -> None:
    card = rows["test_values_that_cannot_be_shown"]["card"]
    assert (card["expected"], card["yours"]) == ("< 1", "<Secret that cannot be shown: RuntimeError>")


def test_a_failing_teardown_fails_the_test(rows: dict[str, Any]) -> None:
    assert rows["test_teardown"]["state"] == "failing"


def test_a_file_with_a_syntax_error_fails_its_tasks(rows: dict[str, Any]) -> None:
    row = rows["tests/test_broken.py"]
    assert (row["task"], row["state"]) == ("0.1", "failing")
    assert row["card"]["says"] == "tests/test_broken.py can be loaded."
    assert row["card"]["error"] == "SyntaxError: invalid syntax"
    assert row["card"]["place"] == {"file": "tests/test_broken.py", "line": 3, "source": "def broken(:", "function": "", "in_task": False}


def test_an_import_error_names_its_line(rows: dict[str, Any]) -> None:
    card = rows["tests/test_lost.py"]["card"]
    assert card["error"].startswith("ImportError: cannot import name 'nothing' from 'minitorch.sums'")
    assert card["place"] == {
        "file": "tests/test_lost.py",
        "line": 1,
        "source": "from minitorch.sums import nothing",
        "function": "",
        "in_task": False,
    }


def test_the_terminal_shows_one_line_per_task_instead_of_tracebacks(run: tuple[Workspace, Any]) -> None:
    output = run[1].stdout
    assert "tests/test_sums.py::test_square TODO" in output
    assert "tests/test_sums.py::test_root BLOCKED" in output
    assert "Task 0.3: 5 tests to go, open minitorch/sums.py (square); course hint 0.3" in output
    assert "Task 1.1: 2 tests blocked until Task 0.3 is written" in output
    assert "No task: 1 test blocked until Task 0.3 is written" in output
    assert ", 4 todo, 3 blocked in" in output.splitlines()[-1]  # the files that could not be imported count as errors
    failures = output.split("= FAILURES =")[1].split("= not written yet =")[0]
    assert "Need to implement" not in failures


def test_unwritten_code_makes_the_run_fail(workspace: Workspace) -> None:
    done = workspace.python("pytest", "-m", "task0_3")
    assert done.returncode == 1
    assert "tests/test_sums.py tt" in done.stdout
    assert "FAILURES" not in done.stdout
    assert "2 todo" in done.stdout.splitlines()[-1]


def test_an_error_in_a_function_that_the_student_calls_names_the_student_s_line(workspace: Workspace) -> None:
    workspace.edit(
        "minitorch/sums.py", "    return add(x, x) if x < 7 else 0", "    return given(x)\n\n\ndef given(x):\n    return x / None"
    )
    workspace.python("pytest", "-k", "test_double_of_nothing", "--course-report=report.json")
    rows = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))["tests"]
    assert rows[0]["card"]["place"] == {
        "file": "minitorch/sums.py",
        "line": 11,
        "source": "return given(x)",
        "function": "double",
        "in_task": True,
    }


def test_letters_and_words(tmp_path: Path) -> None:
    watcher = Watcher(tmp_path, None, None)
    assert watcher.pytest_report_teststatus(SimpleNamespace(course_state="todo")) == ("todo", "t", ("TODO", {"yellow": True}))
    assert watcher.pytest_report_teststatus(SimpleNamespace(course_state="blocked")) == ("blocked", "b", ("BLOCKED", {"blue": True}))
    assert watcher.pytest_report_teststatus(SimpleNamespace(course_state="failing")) is None


def test_the_report_says_how_the_run_ended(report: dict[str, Any]) -> None:
    assert (report["schema"], report["exitstatus"], report["interrupted"]) == (1, 1, None)


def test_no_files_are_left_except_the_report_and_the_course_s_own_folder(run: tuple[Workspace, Any]) -> None:
    root = run[0].root
    assert [path.name for path in (root / "out").iterdir()] == ["report.json"]
    assert not (root / ".hypothesis").exists()
    assert (root / ".course" / "hypothesis").is_dir()


def test_an_endless_test_is_stopped_where_it_hangs(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    while True:\n        x = y")
    done = workspace.python("pytest", "-m", "task0_1", "--course-limit=3", "--course-report=report.json")
    document = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))
    card = document["interrupted"]
    assert done.returncode == 2
    assert (card["task"], card["nodeid"]) == ("0.1", "tests/test_sums.py::test_add")
    assert (card["place"]["file"], card["place"]["function"]) == ("minitorch/sums.py", "add")
    assert card["place"]["line"] in (6, 7)


SLOW_AT_INTERRUPTS = """
import time

from course.runner import plugin

plugin.WALL_CLOCK_FACTOR = 1.3


class Slow:
    def pytest_keyboard_interrupt(self):
        time.sleep(1)  # the limit on wall-clock time expires


def pytest_sessionstart(session):
    session.config.pluginmanager.register(Slow())
"""


def test_the_second_limit_does_not_interrupt_the_report_of_the_first(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    while True:\n        x = y")
    workspace.write("tests/conftest.py", SLOW_AT_INTERRUPTS)
    done = workspace.python("pytest", "-m", "task0_1", "--course-limit=1", "--course-report=report.json")
    document = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))
    assert done.returncode == 2
    assert document["interrupted"]["nodeid"] == "tests/test_sums.py::test_add"


def test_the_course_does_not_import_the_code_that_it_grades() -> None:
    code = (
        "import sys, course.cli.main, course.runner.plugin; "
        "graded = {'minitorch', 'project', 'tests', 'numpy', 'hypothesis', 'streamlit'}; "
        "print(sorted({name.split('.')[0] for name in sys.modules} & graded))"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    assert done.stdout == "[]\n"


NOTICES = '''"""A property, and a test that asks whether it fails."""

import pytest
from hypothesis import given
from hypothesis.strategies import integers

seen = []


@pytest.mark.task0_1
@given(integers(0, 10**9))
def test_property(x):
    seen.append(x)
    assert x < 7


@pytest.mark.task0_1
def test_the_property_notices():
    seen.clear()
    with pytest.raises(AssertionError):
        test_property()
    first = next(index for index, x in enumerate(seen) if x >= 7)
    assert len(seen) - first < 5


@pytest.mark.task0_1
@given(integers(0, 10**9))
def test_another_property(x):
    assert x < 7
'''


def test_a_property_that_another_test_calls_is_not_shrunk(workspace: Workspace) -> None:
    workspace.write("tests/test_sums.py", NOTICES)
    workspace.python("pytest", "--course-report=report.json", "tests/test_sums.py")
    found = json.loads((workspace.root / "report.json").read_text(encoding="utf-8"))["tests"]
    assert [row["state"] for row in found] == ["failing", "passed", "failing"]
    assert [row["card"]["inputs"] for row in found if row["card"]] == [{"x": "7"}, {"x": "7"}]  # only its own, before and afterwards
