"""The guard: errors of student code become cards, and errors of the app stay errors."""

import json
import sys
from types import ModuleType

import pytest
from streamlit.testing.v1 import AppTest

from course.manifest import ROOT
from project.lab import cards
from project.lab.cards import WrongResult, explain, number, plain
from project.lab.training import job_errors

OPERATORS = str(ROOT / "minitorch" / "operators.py")
PROGRAM = str(ROOT / "project" / "run_scalar.py")
FAILING_REPR = "class Odd:\n    def __repr__(self):\n        raise KeyError(1)\n\n"


def run(source, file=OPERATORS, call=""):
    """The exception that running this source as the student's file raises."""
    names = {}
    try:
        exec(compile(source, file, "exec"), names)
        eval(call, names)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def stub_error(message):
    """The error of a stub, raised outside student files."""
    try:
        raise NotImplementedError(message)
    except NotImplementedError as error:
        return error


@pytest.mark.parametrize("is_open", [True, False])
def test_a_stub_names_its_task_location_command_and_the_first_available_hint(is_open, monkeypatch):
    monkeypatch.setattr(cards, "is_open", lambda root, task: is_open)
    error = run('def mul(x, y):\n    raise NotImplementedError("Need to implement for Task 0.1")', call="mul(1, 2)")
    card = explain(error)
    assert card.todo
    assert card.title == "Task 0.1 is not written yet: open minitorch/operators.py, line 2"
    assert (plain("Each function takes plain floats and needs one or two lines.") in card.body) == is_open
    assert "`module0/operators`" in card.body
    assert "`course test 0.1`" in card.body
    assert ("`course hint 0.1`" in card.body) == is_open


@pytest.mark.parametrize(
    ("task", "where"),
    [("1.4", ": open minitorch/autodiff.py"), ("9.9", "")],
    ids=["a task with files", "a task missing from this workspace"],
)
def test_a_stub_raised_elsewhere_names_the_tasks_first_file(task, where):
    assert explain(stub_error(f"Need to implement for Task {task}")).title == f"Task {task} is not written yet{where}"


def test_an_error_shows_only_student_frames_and_their_inputs():
    source = "def inv(x):\n    return 1.0 / x\n\ndef twice(x):\n    return inv(x) + inv(x)\n"
    card = explain(run(source, call="twice(0.0)"))
    assert not card.todo
    assert card.title == "minitorch/operators.py, line 2: ZeroDivisionError: float division by zero"
    assert "`minitorch/operators.py`, line 5, in `twice` with `x = 0.0`" in card.body
    assert "`minitorch/operators.py`, line 2, in `inv` with `x = 0.0`" in card.body
    assert "test_guard" not in card.body


@pytest.mark.parametrize(
    "line",
    [
        "return 1.0 / x",
        "return math.log(x - 1)",
        "return math.exp(1000 - x)",
        "raise ValueError('expected a positive input')",  # Python 3.14's message for math.log(-1)
        "raise ValueError('expected a nonnegative input, got -1.0')",  # and its message for math.sqrt(-1)
    ],
)
def test_a_math_domain_error_mentions_that_the_inputs_may_be_the_cause(line):
    card = explain(run(f"import math\n\ndef f(x):\n    {line}", call="f(0.0)"))
    assert card.body.endswith("If your function is correct, it is undefined for these inputs. Choose other inputs.")


@pytest.mark.parametrize(
    "line",
    ["return x.nothing", "raise ValueError('expected a gradient for each of 2 tensors, got 1')", "return [].index(x)"],
)
def test_other_errors_do_not_blame_the_inputs(line):
    assert "choose others" not in explain(run(f"def f(x):\n    {line}", call="f(0.0)")).body


@pytest.mark.parametrize(
    ("source", "file", "call", "title", "part", "times"),
    [
        ("def forward():\n    return {}['a']", PROGRAM, "forward()", "project/run_scalar.py, line 2: KeyError: 'a'", "in `forward`", 1),
        ("x = 1\ndef f(:\n", str(ROOT / "minitorch" / "made_up.py"), "", "minitorch/made_up.py, line 2: invalid syntax", "def f(:", 1),
        ("def f(x):\n    return f(x)", OPERATORS, "f(1)", "RecursionError", "in `f`", 4),
        (f"{FAILING_REPR}def f(a):\n    return a + 1\n", OPERATORS, "f(Odd())", "TypeError", "<Odd", 1),
    ],
    ids=["programs count as student code", "a syntax error", "endless recursion shows a few frames", "a repr that fails"],
)
def test_an_error_names_file_line_and_frames(source, file, call, title, part, times):
    card = explain(run(source, file, call))
    assert title in card.title
    assert card.body.count(part) == times


def test_a_failed_import_of_a_name_names_the_file_that_lacks_it(monkeypatch):
    module = ModuleType("minitorch.lacking")
    module.__file__ = OPERATORS
    monkeypatch.setitem(sys.modules, "minitorch.lacking", module)
    with pytest.raises(ImportError) as raised:
        from minitorch.lacking import sigmoid  # noqa: F401
    assert explain(raised.value).title.startswith("minitorch/operators.py: cannot import name 'sigmoid'")
    with pytest.raises(AttributeError) as missing:
        module.sigmoid  # noqa: B018  # the access is the test
    assert explain(missing.value).title == "minitorch/operators.py: module 'minitorch.lacking' has no attribute 'sigmoid'"


def test_an_error_without_student_frames_belongs_to_the_app():
    assert explain(ValueError("ours")) is None
    assert explain(NotImplementedError("some other text")) is None
    assert explain(run("raise ValueError('elsewhere')", "/elsewhere/minitorch/operators.py")) is None


@pytest.mark.parametrize(("value", "got"), [(None, "None; is the return missing?"), ("a", "'a'")])
def test_a_missing_return_and_another_type_than_a_number_are_named(value, got):
    with pytest.raises(WrongResult) as raised:
        number(value, "relu(2.0)")
    assert explain(raised.value).title == str(raised.value) == f"relu(2.0) expected to return a number, got {got}"
    assert number(True, "lt(1, 2)") == 1.0


def test_markdown_in_a_message_is_escaped():
    assert plain("__init__ *args* :red[x]") == r"\_\_init\_\_ \*args\* \:red\[x\]"
    assert plain("a · b … 2²") == "a · b … 2²"  # Markdown would show a backslash before these


def page(body):
    return AppTest.from_string(f"import streamlit as st\nfrom project.lab.guard import task_guard\n{body}")


@pytest.mark.parametrize(("guard", "written"), [("task_guard()", []), ("task_guard(stop=False)", ["after"])])
def test_the_page_stops_at_the_card_unless_it_may_continue(guard, written):
    stub = 'raise NotImplementedError("Need to implement for Task 1.1")'
    app = page(f"with {guard}:\n    {stub}\nst.write('after')").run()
    assert (len(app.info), [text.value for text in app.markdown], list(app.exception)) == (1, written, [])


def test_an_error_of_the_app_is_not_swallowed():
    assert page("with task_guard():\n    {}['ours']").run().exception[0].message == "'ours'"


@pytest.mark.parametrize(
    ("use", "title", "parts"),
    [
        (lambda: None.backward(), "None where a value was expected: is a return missing?", ["None.backward()"]),
        (
            lambda: tuple(1.0),
            "a value of another type than expected",
            [plain("'float' object is not iterable"), "find the function. If all tests pass, this is an error of the app."],
        ),
    ],
    ids=["None", "another type"],
)
def test_another_value_than_expected_is_not_shown_as_an_error_of_the_app(use, title, parts):
    with pytest.raises((AttributeError, TypeError)) as raised:
        use()
    card = explain(raised.value)
    assert card.title == f"A function returned {title}"
    for part in ["`tests/project/test_guard.py`, line", *parts]:
        assert part in card.body


def test_a_program_prints_the_card_of_an_error_in_student_code_and_ends(capsys):
    with pytest.raises(SystemExit) as ended, job_errors.reported():
        raise run("def inv(x):\n    return 1.0 / x\n", call="inv(0.0)")
    assert ended.value.code == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["card"]["title"] == "minitorch/operators.py, line 2: ZeroDivisionError: float division by zero"
    assert printed["card"]["todo"] is False


@pytest.mark.parametrize(("file", "active"), [(str(ROOT / "project" / "timing.py"), True), (OPERATORS, False)])
def test_errors_of_the_program_itself_and_errors_in_a_terminal_propagate(capsys, file, active):
    with pytest.raises(ZeroDivisionError), job_errors.reported(active):
        raise run("def inv(x):\n    return 1.0 / x\n", file, call="inv(0.0)")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("file", "written"), [(OPERATORS, True), (PROGRAM, True), (str(ROOT / "minitorch" / "data" / "files.py"), False)])
def test_an_error_in_a_file_of_a_task_is_the_students(file, written):
    assert cards.raised_in_task(run("def inv(x):\n    return 1.0 / x\n", file, call="inv(0.0)")) == written
