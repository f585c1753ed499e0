"""The course's pytest plugin: what it prints and what its report contains."""

import importlib.util
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from course.runner.messages import drawn_values
from course.runner.plugin import Watcher

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

ODD = '''"""Tests that end in unusual ways."""

import os
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import data, integers, lists

from minitorch.sums import add, double

pytestmark = pytest.mark.task0_1

def test_other_not_implemented():
    raise NotImplementedError("by design")

def test_skipped():
    pytest.skip("no reason")

@given(lists(integers(), min_size=1))
def test_inputs_that_are_changed(xs):
    xs.pop()
    assert len(xs) == 7

@given(integers(5, 9), data())
def test_drawn_inside(x, source):
    y = source.draw(integers(3, 9), label="the other")
    z = source.draw(integers(1, 9))
    assert add(x, y) + z == 0

@given(integers(0, 9))
@example(5)
def test_example(x):
    assert x < 5

@pytest.mark.parametrize(("x", "function"), [(1, add)], ids=["one"])
@given(y=integers(3, 9))
def test_case(x, function, y):
    assert function(x, y) == 0

@pytest.mark.parametrize("pair", [(1, object())], ids=["opaque"])
def test_opaque_case(pair):
    assert pair[0] == 0

def test_message():
    assert add(1, 1) is None, f"expected None, got {add(1, 1)!r}; they differ"

def test_plain_assertion():
    assert not add(1, 1)

def test_own_words():
    assert add(1, 1) == 3, "one and one"

def test_error_in_the_code():
    add(1, "x")

def test_does_not_raise():
    with pytest.raises(ValueError):
        add(1, 1)

def test_assertion_that_was_caught():
    with pytest.raises(AssertionError):
        assert add(1, 1) == 3
    raise AssertionError("for another reason")

def test_a_result_that_is_kept():
    square_of = double  # a second function that the test names
    total = add(1, 1)
    assert total == 3

class Secret:
    def __repr__(self):
        raise RuntimeError("secret")

    def __lt__(self, other):
        return False

def test_values_that_cannot_be_shown():
    assert Secret() < 1

def test_teardown(request):
    request.addfinalizer(lambda: add(1, None))

def test_settings():
    assert settings().deadline is None
    assert settings().derandomize == ("CI" in os.environ)

@given(integers())
def test_prints(x):
    print("x is", x)
    assert x < 7

def test_prints_and_errs():
    print("out")
    print("err", file=sys.stderr)
    assert add(1, 1) == 3

def test_nothing_comes_back():
    assert [].sort() == 2

def test_without_given(x):
    assert x

def test_misspelt():
    length = 3
    assert lenght == 3

def test_wrapped_by_compiled_code():
    try:
        add(1, "x")
    except TypeError as error:
        raise SystemError("CPUDispatcher returned a result with an exception set") from error

class TestGroup:
    @given(x=integers())
    def test_method(self, x):
        assert x < 11
'''

UNWRITTEN_TESTS = '''"""Tests that end where code is not written yet."""

import pytest

from minitorch.sums import square

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

@pytest.mark.task1_1
def test_kernel():
    stub = NotImplementedError("Need to implement for Task 0.3")
    raise ValueError(f'thread (0, 0, 0) executes "raise {stub!r}"; write the kernel')  # as the inspector of kernels says it

def test_without_a_mark():
    square(2)
'''


@pytest.fixture(scope="module")
def run(new_workspace):
    """One run of pytest over the tiny course and the tests above."""
    workspace = new_workspace()
    workspace.write("tests/test_odd.py", ODD)
    workspace.write("tests/test_odd_unwritten.py", UNWRITTEN_TESTS)
    workspace.write("tests/test_early.py", "from minitorch.sums import square\n\nTWO = square(2)  # for task0_3, task1_1\n")
    workspace.write("tests/test_broken.py", "# task0_1\nimport minitorch.sums\ndef broken(:\n    pass\n")
    workspace.write("tests/test_lost.py", "from minitorch.sums import nothing\n")
    return workspace, workspace.python("pytest", "-v", "--continue-on-collection-errors", "--course-report=out/report.json")


def report_of(workspace, name="report.json"):
    return json.loads((workspace.root / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def report(run):
    return report_of(run[0], "out/report.json")


@pytest.fixture(scope="module")
def rows(report):
    """The rows of the report by test name without the file."""
    return {row["nodeid"].split("::", 1)[-1]: row for row in report["tests"]}


UNWRITTEN = 'raise NotImplementedError("Need to implement for Task 0.3")'
TYPE_ERROR = "TypeError: unsupported operand type(s) for +: 'int' and 'str'"


def place(file, line, source, function="", in_task=False):
    return {"file": file, "line": line, "source": source, "function": function, "in_task": in_task}


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("test_add", {"nodeid": "tests/test_sums.py::test_add", "task": "0.1", "state": "passed", "needs": None, "card": None}),
        ("test_skipped", {"state": "skipped", "reason": "no reason"}),
        ("test_square", {"task": "0.3", "state": "todo", "needs": "0.3"}),
        ("test_fixture", {"state": "todo"}),
        ("test_group", {"state": "todo"}),
        ("test_kernel", {"state": "blocked", "needs": "0.3"}),
        ("test_root", {"state": "blocked", "needs": "0.3"}),
        ("test_double_and_square", {"state": "blocked", "needs": "0.3"}),
        ("test_without_a_mark", {"task": None, "state": "blocked"}),
        ("test_other_not_implemented", {"state": "failing"}),
        ("test_teardown", {"state": "failing"}),
        ("tests/test_broken.py", {"task": "0.1", "state": "failing"}),
    ],
)
def test_a_row_has_the_state_of_its_test_and_the_task_that_it_needs(rows, name, row):
    assert rows[name] | row == rows[name]


def test_unwritten_code_is_found_while_a_file_loads_once_for_each_of_its_tasks(report):
    found = [(row["task"], row["state"], row["needs"]) for row in report["tests"] if row["nodeid"] == "tests/test_early.py"]
    assert found == [("0.3", "todo", "0.3"), ("1.1", "blocked", "0.3")]


IN_ADD = place("minitorch/sums.py", 6, "return x + y", "add", in_task=True)
BROKEN, LOST = "def broken(:", "from minitorch.sums import nothing"
WITHOUT_GIVEN = (
    "no strategy gives the argument x of this test a value; "
    "decorate the test with @given(x=small_floats), or @given(small_floats, …) with a strategy for each argument"
)


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("test_square", {"place": place("minitorch/sums.py", 16, UNWRITTEN, "square", in_task=True)}),
        ("test_other_not_implemented", {"error": "NotImplementedError: by design"}),
        # The smallest input and both sides
        ("test_double", {"place": place("tests/test_sums.py", 29, "assert double(x) == 2 * x", "test_double")}),
        ("test_double", {"says": "double(x) is twice x.", "inputs": {"x": "7"}, "expected": "14", "yours": "0", "error": None}),
        ("test_drawn_inside", {"inputs": {"x": "5", "the other": "3", "z": "1"}, "yours": "9"}),
        ("test_example", {"inputs": {"x": "5"}, "expected": "< 5", "yours": "5"}),
        ("TestGroup::test_method", {"inputs": {"x": "11"}}),
        ("test_inputs_that_are_changed", {"inputs": {"xs": "[0]"}}),  # as they were before the call
        ("test_case[one]", {"case": "x = 1, function = add", "inputs": {"y": "3"}, "yours": "4"}),
        ("test_opaque_case[opaque]", {"case": "opaque"}),
        ("test_values_that_cannot_be_shown", {"expected": "< 1", "yours": "<Secret that cannot be shown: RuntimeError>"}),
        # Messages: one with "expected …, got …" is split, pytest's explanation and the test's own words are kept
        ("test_message", {"expected": "None", "yours": "2", "error": "they differ"}),
        ("test_plain_assertion", {"expected": None, "yours": None, "error": "assert not 2\n +  where 2 = add(1, 1)"}),
        ("test_own_words", {"says": "Own words.", "expected": "3", "yours": "2", "error": "one and one", "printed": ""}),
        ("test_assertion_that_was_caught", {"expected": None, "yours": None, "error": "for another reason"}),
        ("test_nothing_comes_back", {"expected": "2", "yours": "None", "error": "Yours is None: is a return missing?"}),
        ("test_without_given", {"error": WITHOUT_GIVEN}),
        ("test_misspelt", {"error": "NameError: name 'lenght' is not defined. Did you mean: 'length'?"}),
        ("test_prints", {"printed": "x is 7"}),
        ("test_prints_and_errs", {"printed": "out\nerr"}),
        # Errors name the student's line
        ("test_error_in_the_code", {"error": TYPE_ERROR, "place": IN_ADD, "called": []}),  # the place is already shown
        ("test_wrapped_by_compiled_code", {"error": TYPE_ERROR, "place": IN_ADD}),
        ("tests/test_broken.py", {"says": "tests/test_broken.py can be loaded.", "error": "SyntaxError: invalid syntax"}),
        ("tests/test_broken.py", {"place": place("tests/test_broken.py", 3, BROKEN)}),
        ("tests/test_lost.py", {"place": place("tests/test_lost.py", 1, LOST)}),
    ],
)
def test_a_card_shows_the_failure(rows, name, card):
    found = rows[name]["card"]
    assert {key: found[key] for key in card} == card


def test_errors_that_are_too_long_to_repeat_are_shown(rows):
    assert "tests/test_odd.py" in rows["test_error_in_the_code"]["card"]["traceback"]
    assert "DID NOT RAISE" in rows["test_does_not_raise"]["card"]["error"]
    assert rows["tests/test_lost.py"]["card"]["error"].startswith("ImportError: cannot import name 'nothing' from 'minitorch.sums'")


def test_other_notes_are_not_shown_as_drawn_values():
    error = ValueError("x")
    assert drawn_values(error) == {}
    error.add_note("Falsifying example: test(x=1)")
    error.add_note("Drawn: (1, 0)")
    assert drawn_values(error) == {}


def test_a_wrong_value_names_the_functions_that_the_line_or_the_test_calls(rows):
    (called,) = rows["test_double"]["card"]["called"]
    assert (called["file"], called["line"], called["function"]) == ("minitorch/sums.py", 9, "double")
    assert [each["function"] for each in rows["test_a_result_that_is_kept"]["card"]["called"]] == ["double", "add"]


def test_the_terminal_shows_one_line_per_task_instead_of_tracebacks(run):
    output = run[1].stdout
    assert "tests/test_sums.py::test_square TODO" in output
    assert "tests/test_sums.py::test_root BLOCKED" in output
    assert "Task 0.3: 5 tests to go, open minitorch/sums.py (square); course hint 0.3" in output
    assert "Task 1.1: 3 tests blocked until Task 0.3 is written" in output
    assert "No task: 1 test blocked until Task 0.3 is written" in output
    assert ", 4 todo, 4 blocked in" in output.splitlines()[-1]  # the files that could not be imported count as errors
    failures = output.split("= FAILURES =")[1].split("= not written yet =")[0]
    assert "Need to implement" not in failures


def test_unwritten_code_makes_the_run_fail(workspace):
    done = workspace.python("pytest", "-m", "task0_3")
    assert done.returncode == 1
    assert "tests/test_sums.py tt" in done.stdout
    assert "FAILURES" not in done.stdout
    assert "2 todo" in done.stdout.splitlines()[-1]


def test_without_numba_pytest_runs_the_tests_that_do_not_import_it_and_names_what_installs_it(workspace, monkeypatch):
    stages = "# Stage 1 - Second\nopen('loaded', 'w').close()\n\n# Stage 2 - Third\nimport no_such_package\n"
    workspace.write("minitorch/__init__.py", f'"""Tiny."""\n\n{stages}')
    for name in ("test_later.py", "later/conftest.py", "later/test_more.py"):
        workspace.write(f"tests/{name}", "# task2_1\nimport no_such_package\n")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "numba" else find_spec(name))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    done = workspace.python("pytest", "-m", "task0_1", "--course-stage=0", "tests/test_sums.py")
    assert done.returncode == 0
    assert "numba" not in done.stdout
    assert not (workspace.root / "loaded").exists()
    done = workspace.python("pytest", "-m", "task0_1 or task1_1")
    assert (workspace.root / "loaded").exists()
    assert "tests/test_sums.py .b" in done.stdout
    assert "\nnumba is not installed, so only tests of Modules 0 and 1 ran; to install it, run: make app\n" in done.stdout
    assert "error" not in done.stdout


def test_an_error_in_a_function_that_the_student_calls_names_the_student_s_line(workspace):
    given = "    return given(x)\n\n\ndef given(x):\n    return x / None"
    workspace.edit("minitorch/sums.py", "    return add(x, x) if x < 7 else 0", given)
    workspace.python("pytest", "-k", "test_double_of_nothing", "--course-report=report.json")
    (row,) = report_of(workspace)["tests"]
    assert row["card"]["place"] == place("minitorch/sums.py", 11, "return given(x)", "double", in_task=True)


def test_letters_and_words(tmp_path):
    watcher = Watcher(tmp_path, None, None)
    assert watcher.pytest_report_teststatus(SimpleNamespace(course_state="todo")) == ("todo", "t", ("TODO", {"yellow": True}))
    assert watcher.pytest_report_teststatus(SimpleNamespace(course_state="blocked")) == ("blocked", "b", ("BLOCKED", {"blue": True}))
    assert watcher.pytest_report_teststatus(SimpleNamespace(course_state="failing")) is None


def test_the_report_says_how_the_run_ended_and_no_other_files_are_left(report, run):
    assert (report["schema"], report["exitstatus"], report["interrupted"]) == (1, 1, None)
    root = run[0].root
    assert [path.name for path in (root / "out").iterdir()] == ["report.json"]
    assert not (root / ".hypothesis").exists()
    assert (root / ".course" / "hypothesis").is_dir()


ENDLESS = "    while True:\n        x = y"


def test_an_endless_test_is_stopped_where_it_hangs(workspace):
    workspace.edit("minitorch/sums.py", "    return x + y", ENDLESS)
    done = workspace.python("pytest", "-m", "task0_1", "--course-limit=0.3", "--course-report=report.json")
    card = report_of(workspace)["interrupted"]
    assert done.returncode == 2
    assert (card["task"], card["nodeid"]) == ("0.1", "tests/test_sums.py::test_add")
    assert (card["place"]["file"], card["place"]["function"]) == ("minitorch/sums.py", "add")
    assert card["place"]["line"] in (6, 7)


AT_INTERRUPTS = """
import time

from course.runner import time_limit

time_limit.WALL_CLOCK_FACTOR = {factor}


class Late:
    def pytest_keyboard_interrupt(self):
        {does}


def pytest_sessionstart(session):
    session.config.pluginmanager.register(Late())  # the last to come is the first to be called
"""
"""A conftest.py that does something when the time limit of a test interrupts it."""


def test_the_second_limit_does_not_interrupt_the_report_of_the_first(workspace):
    workspace.edit("minitorch/sums.py", "    return x + y", ENDLESS)
    workspace.write("tests/conftest.py", AT_INTERRUPTS.format(factor=1.3, does="time.sleep(1)"))  # until that limit expires
    done = workspace.python("pytest", "-m", "task0_1", "--course-limit=0.4", "--course-report=report.json")
    assert done.returncode == 2
    assert report_of(workspace)["interrupted"]["nodeid"] == "tests/test_sums.py::test_add"


def test_the_course_does_not_import_the_code_that_it_grades():
    graded = "{'minitorch', 'project', 'tests', 'numpy', 'hypothesis', 'streamlit'}"
    code = f"import sys, course.cli.main, course.runner.plugin; print(sorted({{name.split('.')[0] for name in sys.modules}} & {graded}))"
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


def test_a_property_that_another_test_calls_is_not_shrunk(workspace):
    workspace.write("tests/test_sums.py", NOTICES)
    workspace.python("pytest", "--course-report=report.json", "tests/test_sums.py")
    found = report_of(workspace)["tests"]
    assert [row["state"] for row in found] == ["failing", "passed", "failing"]
    assert [row["card"]["inputs"] for row in found if row["card"]] == [{"x": "7"}, {"x": "7"}]  # only its own, before and afterwards
