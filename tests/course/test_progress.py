"""Progress: the states that a test run gives, and their cache."""

import importlib.util
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from course.manifest import ManifestError
from course.runner import progress
from course.runner.packages import CannotRun, packages
from course.runner.progress import TaskState, cached_states, run_tasks
from course.staff.grading.reading import decode_source
from course.workspace.atomic_files import write_json
from course.workspace.function_source import Unreadable
from tests.errors import raises

from .conftest import EDITS, TASK, tasks_toml

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("clean_process_environment", "forked_processes")

ALL = ("0.1", "0.2", "0.3", "1.1", "1.2")


@pytest.fixture(scope="module")
def workspace_with_results(clean_process_environment, forked_processes, new_workspace):
    """A workspace whose tests have all run."""
    workspace = new_workspace()
    workspace.write("tests/test_signs.py", "import pytest\n\n\n@pytest.mark.task1_2\ndef test_sign():\n    pytest.skip('later')\n")
    workspace.write("minitorch/__init__.py", "import os, pathlib\npathlib.Path('imported_by').write_text(str(os.getpid()))\n")
    return workspace, run_tasks(ALL, workspace.root)


def state_of(workspace, task, **limits):
    return run_tasks([task], workspace.root, **limits)[task]


def remember(workspace, state):
    """Write a state of Task 0.1 into the cache; the files stay as they are now."""
    fingerprint = progress._fingerprints(workspace.root, progress._manifest(workspace.root))["0.1"]
    progress._write_cache(workspace.root, {"0.1": (fingerprint, TaskState("0.1", state, passed=1, total=1))})


@pytest.mark.parametrize(
    ("task", "attributes"),
    [
        ("0.1", {"state": "passed", "passed": 1, "total": 1, "card": None, "blocked_by": ()}),
        ("0.2", {"state": "failing", "passed": 1, "failing": 1, "blocked": 1, "total": 3, "blocked_by": ("0.3",)}),
        ("0.3", {"state": "todo", "todo": 2, "total": 2}),
        ("1.1", {"state": "blocked", "blocked_by": ("0.3",)}),  # it needs unwritten code of another task
        ("1.2", {"state": "failing", "total": 0}),  # its tests are all skipped
    ],
)
def test_the_tests_of_a_task_decide_its_state(workspace_with_results, task, attributes):
    state = asdict(workspace_with_results[1][task])
    assert state | attributes == state


def test_the_card_is_that_of_the_first_test_that_did_not_pass(workspace_with_results):
    states = workspace_with_results[1]
    assert (states["0.2"].card.nodeid, states["0.2"].card.inputs) == ("tests/test_sums.py::test_double", {"x": "7"})
    place = states["0.3"].card.place
    assert (place.file, place.line, place.function) == ("minitorch/sums.py", 16, "square")
    assert states["1.2"].card.error == "all of its tests were skipped: later"


def test_student_code_runs_in_another_process(workspace_with_results):
    assert int((workspace_with_results[0].root / "imported_by").read_text()) != os.getpid()


def test_results_are_remembered_in_plain_json(workspace_with_results):
    workspace, states = workspace_with_results
    assert cached_states(workspace.root) == states
    assert sorted(path.name for path in (workspace.root / ".course").glob("*.json*")) == ["activity.json", "record.json", "results.json"]
    document = json.loads((workspace.root / ".course" / "results.json").read_text(encoding="utf-8"))
    assert (document["schema"], document["states"]["0.1"]["state"]["passed"]) == (4, 1)


def test_a_task_without_tests_is_failing(workspace):
    state = state_of(workspace, "1.2")
    assert (state.state, state.card.error) == ("failing", "no test under tests/ carries the mark task1_2")


def test_nothing_is_known_before_the_first_run(workspace):
    assert cached_states(workspace.root) == {id: TaskState(id) for id in ALL}
    assert TaskState("0.1").state == "unknown"


def test_results_are_added_to_those_that_are_still_valid(workspace):
    remember(workspace, "passed")
    run_tasks(["0.3"], workspace.root)
    assert [state.state for state in cached_states(workspace.root).values()] == ["passed", "unknown", "todo", "unknown", "unknown"]


@pytest.mark.parametrize("file", ["minitorch/sums.py", "tests/test_sums.py", "course/tasks.toml", "tests/conftest.py"])
@pytest.mark.parametrize(("state", "outdated"), [("passed", "stale"), ("failing", "unknown"), ("todo", "unknown")])
def test_an_edit_makes_a_result_outdated_and_its_reversal_valid_again(workspace, file, state, outdated):
    remember(workspace, state)
    path = workspace.root / file
    before = path.read_bytes() if path.exists() else None
    workspace.write(file, (before or b"").decode() + "\n")
    assert cached_states(workspace.root)["0.1"] == TaskState("0.1", outdated)
    path.unlink() if before is None else path.write_bytes(before)
    assert cached_states(workspace.root)["0.1"].state == state


@pytest.mark.parametrize("file", ["minitorch/new.py", "project/run_new.py", "tests/test_signs.py", "tests/helpers.py"])
def test_a_result_does_not_depend_on_files_that_the_task_does_not_import(workspace, file):
    remember(workspace, "passed")
    workspace.write(file, "# task1_2\n" if file.startswith("tests/test_") else "")
    assert cached_states(workspace.root)["0.1"].state == "passed"


def test_the_tests_of_a_module_load_nothing_of_a_later_one(workspace):
    workspace.write("minitorch/__init__.py", '"""Tiny."""\n\n# Stage 0\nfirst = 1\n\n# Stage 1\nfrom minitorch.module1 import broken\n')
    workspace.write("minitorch/module1.py", "def broken(:\n")
    assert state_of(workspace, "0.1").state == "passed"
    assert state_of(workspace, "1.1").card.error == "SyntaxError: invalid syntax"


def test_a_task_whose_file_changed_during_the_run_is_unknown_and_the_reason_is_given(workspace):
    workspace.write("tests/test_signs.py", EDITS)
    state = state_of(workspace, "0.1")
    assert (state.state, state.card and state.card.error) == ("unknown", "a file changed while the tests ran; run: course test 0.1")
    assert cached_states(workspace.root)["0.1"] == TaskState("0.1")
    assert state_of(workspace, "0.1").state == "passed"


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", '{"schema": 99}'),
        '{"schema": 3, "states": {"0.1": {"fingerprint": "FINGERPRINT", "state": {"task": "0.1", "colour": 1}}}}',
        '{"schema": 2, "states": {"0.1": {"fingerprint": "FINGERPRINT", "state": {"task": "0.1"}}}}',
    ],
)
def test_a_damaged_cache_is_ignored(workspace, text):
    fingerprint = progress._fingerprints(workspace.root, progress._manifest(workspace.root))["0.1"]
    workspace.write(".course/results.json", text.replace("FINGERPRINT", fingerprint))
    assert cached_states(workspace.root)["0.1"] == TaskState("0.1")


def test_tests_run_in_a_read_only_workspace(workspace):
    workspace.write(".course", "a file where the folder should be")
    assert state_of(workspace, "0.1").state == "passed"


@pytest.mark.parametrize(
    ("new", "error", "line", "source"),
    [
        ("def square(x)", "SyntaxError: expected ':'", 14, "def square(x)"),
        ("squares = undefined\n\n\ndef square(x):", "NameError: name 'undefined' is not defined", 14, "squares = undefined"),
    ],
)
def test_an_error_at_import_of_student_code_is_shown_with_its_line(workspace, new, error, line, source):
    workspace.edit("minitorch/sums.py", "def square(x):", new)
    state = state_of(workspace, "0.1")
    assert (state.state, state.card.error) == ("failing", error)
    assert (state.card.place.file, state.card.place.line, state.card.place.source) == ("minitorch/sums.py", line, source)


def test_a_byte_of_another_encoding_fails_the_tasks_of_its_file_as_in_grading(workspace):
    path = workspace.root / "minitorch" / "sums.py"
    path.write_bytes(path.read_bytes() + b"\n# caf\xe9\n")  # some versions of Python accept it in a comment
    state = state_of(workspace, "0.1")
    error = "minitorch/sums.py, line 23: expected text in utf-8, got the byte 0xe9; save the file in the encoding UTF-8"
    assert (state.state, state.passed, state.card.error) == ("failing", 0, error)
    assert (state.card.place.file, state.card.place.line) == ("minitorch/sums.py", 23)
    assert cached_states(workspace.root)["0.1"] == state
    with pytest.raises(Unreadable) as refused:
        decode_source(path.read_bytes())
    assert f"minitorch/sums.py, {refused.value}" == error


def test_a_declared_encoding_is_accepted(workspace):
    path = workspace.root / "minitorch" / "sums.py"
    path.write_bytes(b"# coding: latin-1\n" + path.read_bytes() + b"\n# caf\xe9\n")
    assert state_of(workspace, "0.1").state == "passed"


def test_a_broken_file_counts_once_in_its_task_however_many_processes_fail_to_import_it_and_in_no_other(workspace):
    workspace.write("tests/test_signs.py", "# task1_2\nimport nothing_of_that_name\n")
    states = run_tasks(["0.1", "1.2"], workspace.root, shares=2)
    assert states["0.1"].state == "passed"
    assert (states["1.2"].state, states["1.2"].failing, states["1.2"].total) == ("failing", 1, 1)


@pytest.mark.parametrize("files", [["one", "two"], ["two", "one"]])
def test_the_first_failing_test_is_in_the_file_that_students_write_first(workspace, files):
    names = ", ".join(f'"minitorch.{file}:f"' for file in files)
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:sign"]', f"write = [{names}]")
    for name in ("all_together", "one", "two"):  # the first in alphabetical order builds on the others
        workspace.write(f"tests/test_{name}.py", "import pytest\n\n\n@pytest.mark.task1_2\ndef test_f():\n    assert 1 == 2\n")
    assert state_of(workspace, "1.2").card.nodeid == f"tests/test_{files[0]}.py::test_f"


FAILS_IN_ORDER = """import pytest

@pytest.mark.task1_2
def test_simple():
    assert 1 == 2

@pytest.mark.task1_2
def test_hard():
    assert 1 == 3
"""
HARD = "tests/test_signs.py::test_hard"


@pytest.mark.parametrize(("first", "shares"), [(None, 1), (HARD, 1), (HARD, 2), ("tests/test_signs.py::test_that_is_gone", 1)])
def test_the_card_shows_the_first_failing_test_in_definition_order(workspace, first, shares):
    workspace.write("tests/test_signs.py", FAILS_IN_ORDER)
    state = run_tasks(["1.2"], workspace.root, first=first, shares=shares)["1.2"]
    assert state.card.nodeid == "tests/test_signs.py::test_simple"
    assert [nodeid for nodeid, _ in state.failures] == ["tests/test_signs.py::test_simple", HARD]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("import os\n    os._exit(0)", "the run ended during this test; a call such as os._exit, or a crash"),
        ("return int(input())", "OSError: pytest: reading from stdin while output is captured!"),
    ],
)
def test_code_that_ends_the_process_or_asks_for_input_fails(workspace, body, error):
    workspace.edit("minitorch/sums.py", "return x + y", body)
    state = state_of(workspace, "0.1")
    assert state.state == "failing"
    assert state.card.error.startswith(error)


@pytest.mark.parametrize(("package", "task"), [("pytest", "0.1"), ("hypothesis", "0.1"), ("numpy", "2.1"), ("numba", "2.1")])
def test_a_missing_package_is_reported_with_the_remedy(workspace, monkeypatch, package, task):
    text = tasks_toml()
    for number in (2, 3):
        text += f'[[stage]]\nnumber = {number}\ntitle = "Later"\nmodules = []\n'
        about = {"id": f"{number}.1", "mark": f"{number}_1", "module": number}
        text += TASK.format(**about, title="Later", requires=[], write="minitorch.sums:sign", page="later")
    workspace.write("course/tasks.toml", text)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find_spec(name))
    message = f"the tests need {package}, which {sys.executable} does not have; run: {sys.executable} -m pip install "
    with raises(CannotRun, message + "pytest hypothesis"):
        run_tasks([task], workspace.root)
    workspace.write("requirements.txt", "numpy\n")
    workspace.write("requirements.extra.txt", "pytest\nhypothesis\n")
    with raises(CannotRun, message + "-r requirements.txt -r requirements.extra.txt"):
        run_tasks([task], workspace.root)


def test_the_first_modules_need_no_packages_of_later_ones():
    assert (packages(1), packages(2)) == (["pytest", "hypothesis"], ["pytest", "hypothesis", "numpy", "numba"])


def test_the_tests_of_the_course_itself_belong_to_no_task(workspace):
    for path in ("tests/course/test_x.py", "tests/test_y.py"):
        workspace.write(path, "# task0_1, in a file that the test writes\n")
    task = progress._manifest(workspace.root).task("0.1")
    assert progress._test_files([task], workspace.root) == {"0.1": ["tests/test_sums.py", "tests/test_y.py"]}


def test_an_unknown_task_is_refused(workspace):
    with raises(ManifestError, "there is no task '9.9'; the tasks are 0.1, 0.2, 0.3, 1.1, 1.2"):
        run_tasks(["9.9"], workspace.root)


def test_a_file_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "new" / "results.json"
    write_json(path, {"old": 1})

    def write_half(self, target):
        self.write_bytes(self.read_bytes()[:5])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", write_half)
    with pytest.raises(OSError, match="disk full"):
        write_json(path, {"new": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"old": 1}
    assert [file.name for file in path.parent.iterdir()] == ["results.json"]


def test_two_threads_may_write_one_file(tmp_path):
    path = tmp_path / "results.json"
    with ThreadPoolExecutor(2) as pool:
        for writing in [pool.submit(write_json, path, list(range(1000))) for _ in range(60)]:
            writing.result()
    assert json.loads(path.read_text(encoding="utf-8")) == list(range(1000))


def test_an_editor_s_lock_file_is_ignored(new_workspace):
    root = new_workspace().root
    (root / "minitorch" / ".#sums.py").symlink_to("user@host.1:2")  # as an editor leaves it while a file is unsaved
    assert cached_states(root)["0.1"].state == "unknown"
