"""The record of a student's activity: what it stores about time, runs and hints, what it does not, and what a submitted one may contain."""

import itertools
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course.cli.hints import open_hint
from course.manifest import Task, load
from course.runner.progress import TaskState, run_tasks
from course.workspace import activity, pristine
from course.workspace.activity import (
    ACTIVITY,
    IDLE,
    MAX_BYTES,
    OpenedHint,
    TaskActivity,
    TestRun,
    active_time,
    decode,
    elapsed,
    encode,
    make_current,
    note_explain,
    note_hint,
    note_runs,
    note_start,
    read_activity,
)

from .conftest import Workspace

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

FAILING = TaskState("0.1", "failing", passed=2, failing=1, total=3, failures=(("tests/test_sums.py::test_add", "expected 3, got 4"),))
PASSED = TaskState("0.1", "passed", passed=3, total=3)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that the test sets, by its attribute `now`."""
    clock = SimpleNamespace(now=1_790_000_000.0, time=lambda: clock.now)
    monkeypatch.setattr(activity, "time", clock)
    return clock


@pytest.fixture
def handout_workspace(workspace: Workspace) -> Workspace:
    """A workspace that knows which of its files were handed out."""
    files = {path.relative_to(workspace.root).as_posix(): path.read_bytes() for path in workspace.root.rglob("*.py")}
    (workspace.root / pristine.PATH).write_bytes(pristine.pack(files, ["tests/test_sums.py"]))
    return workspace


def task_of(workspace: Workspace, id: str = "0.1") -> Task:
    return load(workspace.root / "course" / "tasks.toml").task(id)


def write_code(workspace: Workspace, number: int) -> None:
    """Write another version of the code of Task 0.1."""
    workspace.write("minitorch/sums.py", f"def add(x, y):\n    return x + y + {number}\n")


# Active time


@pytest.mark.parametrize(("gap", "seconds"), [(0, 0), (1, 1), (IDLE, IDLE), (IDLE + 1, 0), (-1, 0), (-1e9, 0), (1e12, 0), (59.9, 59)])
def test_a_gap_counts_unless_it_exceeds_ten_minutes_or_the_clock_was_set_back(gap: float, seconds: int) -> None:
    assert IDLE == 600
    assert elapsed(1_000_000_000, 1_000_000_000 + gap) == seconds


@given(st.lists(st.integers(-5000, 5000), min_size=1, max_size=40), st.integers(-(10**9), 10**9))
@example([0, IDLE, 2 * IDLE + 1, -1], 0)
def test_active_time_is_the_sum_of_short_gaps_wherever_the_clock_starts(steps: list[int], start: int) -> None:
    moments = list(itertools.accumulate(steps, initial=start))
    assert active_time(moments) == sum(step for step in steps if 0 <= step <= 600)


# What is recorded


def test_a_task_records_its_date_active_time_runs_hints_and_uses_of_explain(handout_workspace: Workspace, clock: Any) -> None:
    root, task = handout_workspace.root, task_of(handout_workspace)
    note_start(root, "0.1")
    clock.now += 100
    note_runs(root, [(task, FAILING)])
    clock.now += 601  # a break
    note_hint(root, "0.1", 1)
    clock.now += 60
    note_explain(root, "0.1")
    clock.now += 40
    note_runs(root, [(task, PASSED)])
    runs = [TestRun(100, "failing", 2, 3, ["tests/test_sums.py::test_add"]), TestRun(200, "passed", 3, 3)]
    assert read_activity(root) == {"0.1": TaskActivity("2026-09-21", 200, runs, [OpenedHint(100, 1, 1)], [1])}


def test_the_time_before_a_change_of_task_counts_for_the_earlier_task(workspace: Workspace, clock: Any) -> None:
    make_current(workspace.root, task_of(workspace, "0.1"))
    clock.now += 50
    make_current(workspace.root, task_of(workspace, "0.2"))
    clock.now += 7
    make_current(workspace.root, task_of(workspace, "0.1"))
    assert {id: about.active for id, about in read_activity(workspace.root).items()} == {"0.1": 50, "0.2": 7}


def test_a_run_of_all_tasks_counts_for_the_current_task(workspace: Workspace, clock: Any) -> None:
    note_start(workspace.root, "0.2")
    clock.now += 30
    stub = TaskState("0.3", "todo", passed=1, todo=1, total=2)
    note_runs(workspace.root, [(task_of(workspace, id), PASSED) for id in ("0.1", "0.2")] + [(task_of(workspace, "0.3"), stub)])
    found = read_activity(workspace.root)
    assert {id: about.active for id, about in found.items()} == {"0.1": 0, "0.2": 30}, "nothing of 0.3 is written"


def test_a_repeated_run_of_the_same_code_with_the_same_result_is_recorded_once(workspace: Workspace, clock: Any) -> None:
    task = task_of(workspace)
    for _ in range(3):
        clock.now += 10
        note_runs(workspace.root, [(task, FAILING)])
    write_code(workspace, 1)
    note_runs(workspace.root, [(task, FAILING)])  # other code, the same outcome
    note_runs(workspace.root, [(task, PASSED)])  # the same code, another outcome, because a file that it needs has changed
    about = read_activity(workspace.root)["0.1"]
    assert ([run.state for run in about.runs], about.active) == (["failing", "failing", "passed"], 20)


@pytest.mark.parametrize("state", ["unknown", "not run"])
def test_tests_that_did_not_run_are_not_recorded(workspace: Workspace, state: str) -> None:
    note_runs(workspace.root, [(task_of(workspace), TaskState("0.1", state))])
    assert not (workspace.root / ACTIVITY).exists()


@pytest.mark.usefixtures("clean_process_environment")
def test_the_commands_record_runs_and_hints(handout_workspace: Workspace) -> None:
    root = handout_workspace.root
    handout_workspace.course("start", "0.2")
    for last, bound in ((7, 6), (6, 8)):
        handout_workspace.edit("minitorch/sums.py", f"if x < {last} else 0", f"if x < {bound} else 0")
        run_tasks(["0.2"], root)
    open_hint(root, task_of(handout_workspace, "0.2"))
    about = read_activity(root)["0.2"]
    assert [(run.state, run.failed) for run in about.runs] == [("failing", ["tests/test_sums.py::test_double"])] * 2
    assert [(hint.level, hint.runs) for hint in about.hints] == [(1, 2)]
    assert handout_workspace.course("explain", "0.2").returncode == 1
    assert read_activity(root)["0.2"].explains == [2]


# What is not recorded


def test_neither_code_nor_paths_outside_the_course_nor_names_are_recorded(handout_workspace: Workspace, clock: Any) -> None:
    failures = (
        ("tests/test_sums.py::test_add", "minitorch/sums.py: return x + SECRET"),
        ("tests/test_mine_alice.py::test_alice", "a test of the student's own"),
        ("/home/alice/tests/test_sums.py::test_add", "another place"),
        ("tests/../../home/alice/test_x.py::test_add", "another place"),
        ("tests/test_sums.py::test_é\n", "no name of ours"),
    )
    handout_workspace.write("minitorch/sums.py", "def add(x, y):\n    return SECRET\n")
    note_start(handout_workspace.root, "0.1")
    note_runs(handout_workspace.root, [(task_of(handout_workspace), TaskState("0.1", "failing", failing=5, total=5, failures=failures))])
    text = (handout_workspace.root / ACTIVITY).read_text(encoding="utf-8")
    assert read_activity(handout_workspace.root)["0.1"].runs[0].failed == ["tests/test_sums.py::test_add"]
    for word in ("SECRET", "alice", "home", str(handout_workspace.root), os.path.basename(handout_workspace.root), os.uname().nodename):
        assert word not in text


def test_a_submitted_record_has_no_times_of_day_and_no_hashes_of_code(workspace: Workspace, clock: Any) -> None:
    note_runs(workspace.root, [(task_of(workspace), FAILING)])
    document = json.loads(encode(read_activity(workspace.root)))
    assert set(document) == {"schema", "tasks"}
    assert "codes" in json.loads((workspace.root / ACTIVITY).read_text(encoding="utf-8"))["last"]
    assert "1790000000" not in json.dumps(document)


# Limits and damage


def test_the_record_stays_small_and_keeps_whether_each_task_was_passed(workspace: Workspace, clock: Any, monkeypatch: Any) -> None:
    names = tuple((f"tests/test_sums.py::test_{'x' * 140}_{number}", "") for number in range(41))
    monkeypatch.setattr(activity, "_given_tests", lambda root: lambda name: True)
    task = task_of(workspace)
    for number in range(activity.MAX_RUNS + 5):
        write_code(workspace, number)
        note_runs(workspace.root, [(task, TaskState("0.1", "failing", failing=41, total=41, failures=names))])
        note_hint(workspace.root, "0.1", 1)
        note_explain(workspace.root, "0.1")
    note_runs(workspace.root, [(task, PASSED)])
    about = read_activity(workspace.root)["0.1"]
    assert (len(about.runs), len(about.hints), len(about.explains)) == (60, 10, 40)
    assert about.runs[-1] == TestRun(0, "passed", 3, 3)
    assert len(about.runs[0].failed) == 40
    assert decode(encode({"0.1": about})) == {"0.1": about}


def test_a_record_that_is_too_large_drops_names_of_tests_first(workspace: Workspace, clock: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(activity, "_given_tests", lambda root: lambda name: True)
    for number in range(6):
        write_code(workspace, number)
        note_runs(workspace.root, [(task_of(workspace), FAILING)])
    size = (workspace.root / ACTIVITY).stat().st_size
    monkeypatch.setattr(activity, "MAX_BYTES", size)
    note_start(workspace.root, "0.2")
    found = read_activity(workspace.root)
    assert [len(run.failed) for run in found["0.1"].runs] == [0, 0, 0, 0, 0, 1]
    assert list(found) == ["0.1", "0.2"]
    before = (workspace.root / ACTIVITY).read_bytes()
    monkeypatch.setattr(activity, "MAX_BYTES", len(before))
    note_start(workspace.root, "1.1")
    assert (workspace.root / ACTIVITY).read_bytes() == before, "a full record is kept as it is"


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b"[]", b"\xff\xfe", b'{"schema": 99, "tasks": {}}'),
        b'{"schema": 1, "tasks": {}}',
        b'{"schema": 1, "tasks": {}, "last": {"task": "", "time": 1e999, "codes": []}}',
        b'{"schema": 1, "tasks": {}, "last": {"task": "", "time": 1' + b"0" * 400 + b', "codes": {}}}',
        b'{"schema": 1, "tasks": {"0.1": 5}, "last": {"task": "", "time": 1, "codes": {}}}',
        b"[" * 100_000,
        b"0" * (MAX_BYTES + 1),
    ],
)
def test_a_damaged_record_is_replaced_and_breaks_no_command(workspace: Workspace, clock: Any, data: bytes) -> None:
    (workspace.root / ACTIVITY).parent.mkdir(exist_ok=True)
    (workspace.root / ACTIVITY).write_bytes(data)
    assert read_activity(workspace.root) == {}
    note_start(workspace.root, "0.1")
    assert list(read_activity(workspace.root)) == ["0.1"]


def test_a_read_only_workspace_records_nothing(workspace: Workspace) -> None:
    workspace.write(".course", "a file where the folder should be")
    note_start(workspace.root, "0.1")
    note_runs(workspace.root, [(task_of(workspace), FAILING)])
    assert read_activity(workspace.root) == {}


def test_concurrent_threads_of_a_command_lose_no_event(workspace: Workspace, clock: Any) -> None:
    """The watcher opens hints while a thread runs tests."""
    tasks = [f"0.{number}" for number in range(1, 9)]
    threads = [threading.Thread(target=note_hint, args=(workspace.root, id, 1)) for id in tasks for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {id: len(about.hints) for id, about in read_activity(workspace.root).items()} == dict.fromkeys(tasks, 3)


def test_setting_the_clock_back_loses_only_that_gap(workspace: Workspace, clock: Any) -> None:
    note_start(workspace.root, "0.1")
    clock.now -= 10_000_000
    note_hint(workspace.root, "0.1", 1)
    clock.now += 5
    note_hint(workspace.root, "0.1", 2)
    assert read_activity(workspace.root)["0.1"].active == 5


# What a submitted record may contain


def submitted_record(run: Mapping[str, Any] = {}, **changes: Any) -> dict[str, Any]:
    """The document of a submitted record whose only task has these changes, and whose only run those of `run`."""
    one = {"after": 10, "state": "failing", "passed": 1, "total": 2, "failed": ["tests/test_sums.py::test_add"], **run}
    task = {"started": "2026-10-05", "active": 20, "runs": [one], "hints": [{"after": 15, "level": 1, "runs": 1}], "explains": [1]}
    return {"schema": 1, "tasks": {"0.1": task | changes}}


def test_a_record_that_a_workspace_writes_is_read_back() -> None:
    tasks = decode(json.dumps(submitted_record()).encode())
    assert tasks["0.1"].runs == [TestRun(10, "failing", 1, 2, ["tests/test_sums.py::test_add"])]
    assert decode(encode(tasks)) == tasks


EARLY_HINT = submitted_record(hints=[{"after": 1, "level": 1, "runs": 2}])

HOSTILE: list[tuple[str, object, str]] = [
    ("no object", [], "expected an object"),
    ("another schema", submitted_record() | {"schema": 2}, "expected schema 1"),
    ("true for one", submitted_record() | {"schema": True}, "expected schema 1"),
    ("more entries", submitted_record() | {"last": {}}, "the record: expected an object with schema, tasks"),
    ("too many tasks", {"schema": 1, "tasks": {f"9.{number}": {} for number in range(65)}}, "at most 64 tasks"),
    ("HTML as a task", {"schema": 1, "tasks": {"<b>": {}}}, "task id: expected text that matches"),
    ("an unknown entry", submitted_record(note="<script>"), "Task 0.1: expected an object with"),
    ("no date", submitted_record(started="yesterday"), "Task 0.1, started: expected text"),
    ("an impossible date", submitted_record(started="2026-13-45"), "month"),
    ("negative time", submitted_record(active=-1), "Task 0.1, active: expected a whole number from 0 to 10000000"),
    ("a fraction", submitted_record(active=1.5), "Task 0.1, active: expected a whole number"),
    ("true as a time", submitted_record(active=True), "Task 0.1, active: expected a whole number"),
    ("text as a time", submitted_record(active="20"), "Task 0.1, active: expected a whole number"),
    ("a huge number", submitted_record(active=10**300), "Task 0.1, active: expected a whole number"),
    ("too many runs", submitted_record(runs=[{}] * 61), "Task 0.1, runs: expected a list of at most 60 entries"),
    ("no list", submitted_record(hints={}), "Task 0.1, hints: expected a list"),
    ("a run after the end", submitted_record({"after": 21}), "Task 0.1: expected events in order of active time, up to 20 s"),
    ("another state", submitted_record({"state": "<b>"}), "Task 0.1, run 1: state expected one of passed, failing, todo, blocked"),
    ("a list as a state", submitted_record({"state": []}), "Task 0.1, run 1: state expected one of"),
    ("more passed than there are", submitted_record({"passed": 3}), "Task 0.1, run 1, passed: expected a whole number from 0 to 2"),
    ("a name that is no test", submitted_record({"failed": ["tests/x.py::a\nb"]}), "Task 0.1, run 1, failed: expected text that matches"),
    ("a name beyond Unicode", submitted_record({"failed": ["tests/x.py::\ud800"]}), "Task 0.1, run 1, failed: expected text that matches"),
    ("a name of HTML", submitted_record({"failed": ["<img src=x>"]}), "Task 0.1, run 1, failed: expected text that matches"),
    ("too many names", submitted_record({"failed": ["tests/x.py::a"] * 41}), "Task 0.1, run 1, failed: expected a list of at most 40"),
    ("a hint of no run", EARLY_HINT, "Task 0.1, hint, runs: expected a whole number from 0 to 1"),
    ("explain after no run", submitted_record(explains=[2]), "Task 0.1, explains: expected a whole number from 0 to 1"),
]


@pytest.mark.parametrize(("document", "says"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_a_record_that_no_workspace_writes_is_refused(document: object, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        decode(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"[" * 500_000, "expected a few levels, got deeper nesting"),
        (b'{"a":' * 150_000, "expected a few levels, got deeper nesting"),
        (b" " * (MAX_BYTES + 1), "expected at most 1000000 bytes, got more"),
        (json.dumps(submitted_record(active=float("nan"))).encode(), "expected numbers, got NaN"),
        (json.dumps(submitted_record(active=float("-inf"))).encode(), "expected numbers, got -Infinity"),
        (b'{"schema": 1, "tasks": {"0.1": {"active": ' + b"9" * 5000 + b"}}}", "4300 digits"),
        (b"\xff", "codec can't decode"),
        (b"", "Expecting value"),
    ],
)
def test_data_that_is_not_small_json_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        decode(data)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
anything = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@settings(max_examples=30)
@given(st.sampled_from(["started", "active", "runs", "hints", "explains"]), anything)
def test_any_entry_is_either_read_or_refused(name: str, value: Any) -> None:
    try:
        tasks = decode(json.dumps(submitted_record(**{name: value})).encode())
    except ValueError:
        return
    assert decode(encode(tasks)) == tasks


def test_the_file_is_written_once_for_each_run_and_not_for_an_empty_run(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Path] = []
    monkeypatch.setattr(activity, "write_bytes", lambda path, data: counted.append(path))
    note_runs(workspace.root, [])
    assert counted == []
    note_runs(workspace.root, [(task_of(workspace, id), FAILING) for id in ("0.1", "0.2")])
    assert len(counted) == 1
