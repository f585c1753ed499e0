"""How far a run of tests has got, as a student who waits sees it: the tests that have ended, and what is being compiled."""

import io
import json
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from course.cli import common
from course.manifest import load
from course.runner.compilations import name_of, note_compilations
from course.runner.report_file import Progress, ReportFile, journal_of, read_progress, read_report, report_in

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("clean_process_environment", "forked_processes")


def row(nodeid):
    return {"nodeid": nodeid, "task": "0.1", "state": "passed", "needs": None, "card": None, "order": 0}


def test_the_progress_of_several_processes_is_added_up(tmp_path):
    reports = [ReportFile(tmp_path / f"{number}.json") for number in range(2)]
    journals = [journal_of(report.path) for report in reports]
    assert read_progress(journals) == Progress(0, 0, "")
    for number, report in enumerate(reports):
        report.begin([(f"test_{number}{part}", "0.1", part) for part in "ab"])
    reports[0].add(row("test_0a"))
    reports[1].add({"compiling": "tensor_map"})
    assert read_progress(journals) == Progress(1, 4, "tensor_map")
    reports[1].add({"compiling": ""})
    assert read_progress(journals) == Progress(1, 4, "")
    with journals[0].open("a", encoding="utf-8") as file:
        file.write('{"nodeid": "test_0')  # being written
    assert read_progress(journals) == Progress(1, 4, "")


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(), "loading"),
        (Progress(3, 32), "3 of 32 tests"),
        (Progress(3, 32, "tensor_zip"), "3 of 32 tests, compiling tensor_zip"),
    ],
)
def test_progress_in_words(progress, text):
    assert str(progress) == text


def test_what_was_compiled_is_no_result_of_a_test(tmp_path):
    report = ReportFile(tmp_path / "report.json")
    report.begin([("test_a", "0.1", 0)])
    report.add({"compiling": "tensor_map"})
    report.add({"compiling": ""})
    report.add(row("test_a"))
    assert [each["nodeid"] for each in read_report(report.path)["tests"]] == ["test_a"]


def test_the_report_is_found_among_the_arguments(tmp_path):
    assert report_in(["-q", f"--course-report={tmp_path}/a=b.json"]) == tmp_path / "a=b.json"


def test_compiled_functions_are_noted_once_without_those_that_they_call():
    import numba

    @numba.njit
    def inner(x):
        return x + 1

    def maker():
        @numba.njit
        def kernel(x):
            return inner(x)

        return kernel

    notes = []
    listener = note_compilations(notes.append)
    try:
        maker()(1.0)
        maker()(1.0)
    finally:
        numba.core.event.unregister("numba:compile", listener)
    name = test_compiled_functions_are_noted_once_without_those_that_they_call.__name__
    assert notes in ([name, "", name, ""], [])  # nothing if the compiler is off


def test_a_kernel_has_the_name_of_the_function_that_makes_it():
    def tensor_map():
        def _map():
            pass

        return _map

    name = name_of(SimpleNamespace(py_func=tensor_map()))
    assert name == test_a_kernel_has_the_name_of_the_function_that_makes_it.__name__


def test_without_numba_nothing_is_noted(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert note_compilations(print) is None


def test_a_terminal_shows_how_many_tests_have_ended(workspace, monkeypatch):
    screen, shown = io.StringIO(), []
    monkeypatch.setattr(common, "Console", lambda **_: Console(file=screen, force_terminal=True, width=100))
    monkeypatch.setattr(common, "TICK", 0.01)
    monkeypatch.setattr(common, "read_progress", lambda journals: shown.append(read_progress(journals)) or shown[-1])
    workspace.edit("minitorch/sums.py", "    return x + y", "    import time\n    time.sleep(0.5)\n    return x + y")
    common.run(workspace.root, [load(workspace.root / "course" / "tasks.toml").task("0.1")], None)
    assert Progress(0, 1) in shown
    assert "Running the tests of Task 0.1: 0 of 1 tests" in screen.getvalue()


def test_a_run_writes_its_compilations_into_the_journal(workspace):
    workspace.write("tests/conftest.py", "import pathlib, sys, types\n" + FAKE)
    workspace.python("pytest", "-p", "course.runner.plugin", "-m", "task0_1", f"--course-report={workspace.root}/report.json")
    journal = (workspace.root / "report.json.journal").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["compiling"] for line in journal if "compiling" in line] == ["add", ""]


FAKE = """
numba, core = types.ModuleType("numba"), types.ModuleType("numba.core")
event = types.ModuleType("numba.core.event")
listeners = []
event.Listener = object
event.register = lambda kind, listener: listeners.append(listener)
numba.core, core.event = core, event
sys.modules |= {"numba": numba, "numba.core": core, "numba.core.event": event}


def pytest_runtest_call(item):
    from minitorch.sums import add
    started = types.SimpleNamespace(data={"dispatcher": types.SimpleNamespace(py_func=add)})
    listeners[0].on_start(started)
    listeners[0].on_end(started)
"""
"""A conftest.py with a compiler that compiles add."""
