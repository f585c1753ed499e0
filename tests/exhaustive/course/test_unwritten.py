"""Tasks that are known to be todo without running tests: the shortcut agrees with a run."""

import random

import pytest

from benchmarks.course_class import solve
from course.manifest import course
from course.runner import progress
from course.workspace.unwritten import untouched_tasks
from tests.course.handouts import handout
from tests.course.test_unwritten import check_random_subset, new_handout, states_by_running

pytestmark = pytest.mark.usefixtures("clean_process_environment")


@pytest.mark.parametrize(("last", "seed"), [(4, None), (2, 0), (2, 1)])
def test_the_shortcut_agrees_with_a_run_in_a_handout(tmp_path, monkeypatch, last, seed):
    for path, content in handout(last).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    tasks = [task for task in course().tasks if task.stage <= last]
    for task in random.Random(seed).sample(tasks, len(tasks) // 3) if seed is not None else ():
        solve(tmp_path, task)
    ids = [task.id for task in tasks]
    untouched = untouched_tasks(tmp_path, progress._manifest(tmp_path))
    assert untouched
    assert {state.state for id, state in states_by_running(tmp_path, ids, monkeypatch).items() if id in untouched} == {"todo"}


@pytest.mark.parametrize("seed", [seed for seed in range(16) if seed != 3])
def test_the_shortcut_agrees_with_a_run(new_handout, monkeypatch, seed):
    check_random_subset(new_handout, monkeypatch, seed)
