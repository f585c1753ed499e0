"""Progress: the states that a test run gives, and their cache."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from course.manifest import ManifestError
from course.runner import progress
from course.runner.packages import CannotRun, packages
from course.runner.progress import TaskState, cached_states, run_tasks
from course.workspace.atomic_files import write_json

from .conftest import EDITS, TASK, Workspace, tasks_toml

pytestmark = pytest.mark.usefixtures("clean_process_environment")

ALL = ("0.1", "0.2", "0.3", "1.1", "1.2")


@pytest.fixture(scope="module")
def workspace_with_results(
    clean_process_environment: None, new_workspace: Callable[[], Workspace]
) -> tuple[Workspace, dict[str, TaskState]]:
    """A workspace whose tests have all run."""
    workspace = new_workspace()
    workspace.write("tests/test_signs.py", "import pytest\n\n\n@pytest.mark.task1_2\ndef test_sign():\n    pytest.skip('later')\n")
    workspace.write("minitorch/__init__.py", "import os, pathlib\npathlib.Path('imported_by').write_text(str(os.getpid()))\n")
    return workspace, run_tasks(ALL, workspace.root)


def state_of(workspace: Workspace, task: str, **limits: float) -> TaskState:
    return run_tasks([task], workspace.root, **limits)[task]


def test_a_task_whose_tests_pass_is_passed(workspace_with_results: tuple[Workspace, dict[str, TaskState]]) -> None:
    assert workspace_with_results[1]["0.1"] == TaskState("0.1", "passed", passed=1, total=1)


def test_a_task_with_a_failing_test_is_failing_whatever_its_other_tests_do(
    workspace_with_results: tuple[Workspace, dict[str, TaskState]],
) -> None:
    state = workspace_with_results[1]["0.2"]
    assert (state.state, state.passed, state.failing, state.blocked, state.total) == ("failing", 1, 1, 1, 3)
    assert state.blocked_by == ("0.3",)
    assert state.card is not None
    assert (state.card.nodeid, state.card.inputs) == ("tests/test_sums.py::test_double", {"x": "7"})


def test_a_task_that_is_not_written_is_todo(workspace_with_results: tuple[Workspace, dict[str, TaskState]]) -> None:
    state = workspace_with_results[1]["0.3"]
    assert (state.state, state.todo, state.total) == ("todo", 2, 2)
    assert state.card is not None
    assert state.card.place is not None
    assert (state.card.place.file, state.card.place.line, state.card.place.function) == ("minitorch/sums.py", 16, "square")


def test_a_task_that_needs_unwritten_code_of_another_is_blocked_by_it(
    workspace_with_results: tuple[Workspace, dict[str, TaskState]],
) -> None:
    assert (workspace_with_results[1]["1.1"].state, workspace_with_results[1]["1.1"].blocked_by) == ("blocked", ("0.3",))


def test_a_task_whose_tests_are_all_skipped_is_not_passed(workspace_with_results: tuple[Workspace, dict[str, TaskState]]) -> None:
    state = workspace_with_results[1]["1.2"]
    assert (state.state, state.total) == ("failing", 0)
    assert state.card is not None
    assert state.card.error == "all of its tests were skipped: later"


def test_student_code_runs_in_another_process(workspace_with_results: tuple[Workspace, dict[str, TaskState]]) -> None:
    assert int((workspace_with_results[0].root / "imported_by").read_text()) != os.getpid()


def test_results_are_remembered(workspace_with_results: tuple[Workspace, dict[str, TaskState]]) -> None:
    workspace, states = workspace_with_results
    assert cached_states(workspace.root) == states
    assert sorted(path.name for path in (workspace.root / ".course").glob("*.json*")) == ["activity.json", "record.json", "results.json"]


def test_a_task_without_tests_is_failing(workspace: Workspace) -> None:
    state = state_of(workspace, "1.2")
    assert state.state == "failing"
    assert state.card is not None
    assert state.card.error == "no test under tests/ carries the mark task1_2"


def test_nothing_is_known_before_the_first_run(workspace: Workspace) -> None:
    assert cached_states(workspace.root) == {id: TaskState(id) for id in ALL}
    assert TaskState("0.1").state == "unknown"


def test_results_are_added_to_those_that_are_still_valid(workspace: Workspace) -> None:
    run_tasks(["0.1"], workspace.root)
    run_tasks(["0.3"], workspace.root)
    assert [state.state for state in cached_states(workspace.root).values()] == ["passed", "unknown", "todo", "unknown", "unknown"]


@pytest.mark.parametrize("file", ["minitorch/sums.py", "tests/test_sums.py", "course/tasks.toml", "minitorch/new.py", "project/run_new.py"])
@pytest.mark.parametrize(("state", "outdated"), [("passed", "stale"), ("failing", "unknown"), ("todo", "unknown")])
def test_an_edit_makes_a_result_outdated_and_its_reversal_valid_again(workspace: Workspace, file: str, state: str, outdated: str) -> None:
    root = workspace.root
    fingerprint = progress._fingerprints(root, progress._manifest(root))["0.1"]
    progress._write_cache(root, {"0.1": (fingerprint, TaskState("0.1", state, passed=1, total=1))})
    before = (root / file).read_bytes() if (root / file).exists() else None
    workspace.write(file, (before or b"").decode() + "\n")
    assert cached_states(root)["0.1"] == TaskState("0.1", outdated)
    if before is None:
        (root / file).unlink()
    else:
        (root / file).write_bytes(before)
    assert cached_states(root)["0.1"].state == state


@pytest.mark.parametrize(
    ("file", "state"),
    [
        ("minitorch/module1.py", "passed"),  # a module of Module 1
        ("tests/test_signs.py", "passed"),  # its tests
        ("minitorch/module0.py", "stale"),
        ("tests/helpers.py", "stale"),
    ],
)
def test_a_result_does_not_depend_on_what_belongs_to_a_later_module(workspace: Workspace, file: str, state: str) -> None:
    root = workspace.root
    fingerprint = progress._fingerprints(root, progress._manifest(root))["0.1"]
    progress._write_cache(root, {"0.1": (fingerprint, TaskState("0.1", "passed", passed=1, total=1))})
    workspace.write(file, "# task1_2\n" if file.startswith("tests/test_") else "")
    assert cached_states(root)["0.1"].state == state


def test_the_tests_of_a_module_load_nothing_of_a_later_one(workspace: Workspace) -> None:
    workspace.write("minitorch/__init__.py", '"""Tiny."""\n\n# Stage 0\nfirst = 1\n\n# Stage 1\nfrom minitorch.module1 import broken\n')
    workspace.write("minitorch/module1.py", "def broken(:\n")
    assert state_of(workspace, "0.1").state == "passed"
    card = state_of(workspace, "1.1").card
    assert card is not None
    assert card.error == "SyntaxError: invalid syntax"


def test_a_task_whose_file_changed_during_the_run_is_unknown_and_the_reason_is_given(workspace: Workspace) -> None:
    workspace.write("tests/test_signs.py", EDITS)
    state = state_of(workspace, "0.1")
    assert (state.state, state.card and state.card.error) == ("unknown", "a file changed while the tests ran; run: course test 0.1")
    assert cached_states(workspace.root)["0.1"] == TaskState("0.1")
    assert state_of(workspace, "0.1").state == "passed"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"schema": 99}',
        '{"schema": 3, "states": {"0.1": {"fingerprint": "FINGERPRINT", "state": {"task": "0.1", "colour": 1}}}}',
        '{"schema": 2, "states": {"0.1": {"fingerprint": "FINGERPRINT", "state": {"task": "0.1"}}}}',
    ],
)
def test_a_damaged_cache_is_ignored(workspace: Workspace, text: str) -> None:
    fingerprint = progress._fingerprints(workspace.root, progress._manifest(workspace.root))["0.1"]
    workspace.write(".course/results.json", text.replace("FINGERPRINT", fingerprint))
    assert cached_states(workspace.root)["0.1"] == TaskState("0.1")


def test_tests_run_in_a_read_only_workspace(workspace: Workspace) -> None:
    workspace.write(".course", "a file where the folder should be")
    assert state_of(workspace, "0.1").state == "passed"


def test_a_syntax_error_in_student_code_is_shown_with_its_line(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "def square(x):", "def square(x)")
    state = state_of(workspace, "0.1")
    assert state.state == "failing"
    assert state.card is not None
    assert state.card.error == "SyntaxError: expected ':'"
    assert state.card.place is not None
    assert (state.card.place.file, state.card.place.line, state.card.place.source) == ("minitorch/sums.py", 14, "def square(x)")


def test_an_error_at_import_of_student_code_is_shown_with_its_line(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "def square(x):", "squares = undefined\n\n\ndef square(x):")
    state = state_of(workspace, "0.1")
    assert state.card is not None
    assert state.card.error == "NameError: name 'undefined' is not defined"
    assert state.card.place is not None
    assert (state.card.place.file, state.card.place.source) == ("minitorch/sums.py", "squares = undefined")


def test_a_broken_file_does_not_affect_tasks_in_other_files(workspace: Workspace) -> None:
    workspace.write("tests/test_signs.py", "# task1_2\nimport nothing_of_that_name\n")
    states = run_tasks(["0.1", "1.2"], workspace.root)
    assert (states["0.1"].state, states["1.2"].state) == ("passed", "failing")


def test_a_broken_file_counts_once_however_many_processes_fail_to_import_it(workspace: Workspace) -> None:
    workspace.write("tests/test_signs.py", "# task1_2\nimport nothing_of_that_name\n")
    states = run_tasks(["1.2"], workspace.root, shares=3)
    assert (states["1.2"].state, states["1.2"].failing, states["1.2"].total) == ("failing", 1, 1)


@pytest.mark.parametrize("files", [["one", "two"], ["two", "one"]])
def test_the_first_failing_test_is_in_the_file_that_students_write_first(workspace: Workspace, files: list[str]) -> None:
    names = ", ".join(f'"minitorch.{file}:f"' for file in files)
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:sign"]', f"write = [{names}]")
    for name in ("all_together", "one", "two"):  # the first in alphabetical order builds on the others
        workspace.write(f"tests/test_{name}.py", "import pytest\n\n\n@pytest.mark.task1_2\ndef test_f():\n    assert 1 == 2\n")
    card = state_of(workspace, "1.2").card
    assert card is not None
    assert card.nodeid == f"tests/test_{files[0]}.py::test_f"


FAILS_IN_ORDER = """import pytest


@pytest.mark.task1_2
def test_simple():
    assert 1 == 2


@pytest.mark.task1_2
def test_hard():
    assert 1 == 3
"""


def card_of(state: TaskState) -> str:
    assert state.card is not None
    return state.card.nodeid


@pytest.mark.parametrize("shares", [1, 2])
@pytest.mark.parametrize("first", [None, "", "tests/test_signs.py::test_hard", "tests/test_signs.py::test_that_is_gone"])
def test_the_card_shows_the_first_failing_test_in_definition_order(workspace: Workspace, first: str | None, shares: int) -> None:
    workspace.write("tests/test_signs.py", FAILS_IN_ORDER)
    state = run_tasks(["1.2"], workspace.root, first=first, shares=shares)["1.2"]
    assert card_of(state) == "tests/test_signs.py::test_simple"
    assert [nodeid for nodeid, _ in state.failures] == ["tests/test_signs.py::test_simple", "tests/test_signs.py::test_hard"]


def test_code_that_ends_the_process_fails_and_shows_what_was_printed(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    import os\n    os.write(2, b'last words')\n    os._exit(0)")
    state = state_of(workspace, "0.1")
    assert state.state == "failing"
    assert state.card is not None
    assert state.card.error is not None
    assert state.card.error.startswith("none of its tests ran; pytest ended with:\n")


def test_code_that_asks_for_input_does_not_wait_for_it(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    return int(input())")
    card = state_of(workspace, "0.1").card
    assert card is not None
    assert card.error is not None
    assert "reading from stdin" in card.error


@pytest.mark.parametrize(("package", "task"), [("pytest", "0.1"), ("hypothesis", "0.1"), ("numpy", "2.1"), ("numba", "3.1")])
def test_a_missing_package_is_reported_with_the_remedy(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, package: str, task: str
) -> None:
    text = tasks_toml()
    for number in (2, 3):
        text += f'[[stage]]\nnumber = {number}\ntitle = "Later"\nmodules = []\n'
        about = {"id": f"{number}.1", "mark": f"{number}_1", "module": number}
        text += TASK.format(**about, title="Later", requires=[], write="minitorch.sums:sign", page="later")
    workspace.write("course/tasks.toml", text)
    find_spec = importlib.util.find_spec

    def find_other_spec(name: str) -> ModuleSpec | None:
        return None if name == package else find_spec(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_other_spec)
    with pytest.raises(CannotRun) as caught:
        run_tasks([task], workspace.root)
    install = f"run: {sys.executable} -m pip install"
    assert str(caught.value) == f"the tests need {package}, which {sys.executable} does not have; {install} pytest hypothesis"
    workspace.write("requirements.txt", "numpy\n")
    workspace.write("requirements.extra.txt", "pytest\nhypothesis\n")
    with pytest.raises(CannotRun) as caught:
        run_tasks([task], workspace.root)
    assert str(caught.value).endswith(f"{install} -r requirements.txt -r requirements.extra.txt")


def test_the_first_modules_need_no_packages_of_later_ones() -> None:
    assert (packages(1), packages(2)) == (["pytest", "hypothesis"], ["pytest", "hypothesis", "numpy"])


def test_an_unknown_task_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ManifestError) as caught:
        run_tasks(["9.9"], workspace.root)
    assert str(caught.value) == "there is no task '9.9'; the tasks are 0.1, 0.2, 0.3, 1.1, 1.2"


def test_a_file_is_written_completely_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / "results.json"
    write_json(path, {"old": 1})

    def write_half(self: Path, target: Path) -> None:
        self.write_bytes(self.read_bytes()[:5])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", write_half)
    with pytest.raises(OSError, match="disk full"):
        write_json(path, {"new": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"old": 1}
    assert [file.name for file in path.parent.iterdir()] == ["results.json"]


def test_two_threads_may_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    with ThreadPoolExecutor(2) as pool:
        for writing in [pool.submit(write_json, path, list(range(1000))) for _ in range(200)]:
            writing.result()
    assert json.loads(path.read_text(encoding="utf-8")) == list(range(1000))


def test_an_editor_s_lock_file_is_ignored(new_workspace: Callable[[], Workspace]) -> None:
    root = new_workspace().root
    (root / "minitorch" / ".#sums.py").symlink_to("user@host.1:2")  # as an editor leaves it while a file is unsaved
    assert cached_states(root)["0.1"].state == "unknown"


def test_the_cache_is_plain_json(workspace_with_results: tuple[Workspace, dict[str, TaskState]]) -> None:
    document = json.loads((workspace_with_results[0].root / ".course" / "results.json").read_text(encoding="utf-8"))
    assert document["schema"] == 4
    assert document["states"]["0.1"]["state"]["passed"] == 1
