"""The task that `course` opens: the one that was chosen or whose file was saved last."""

import os
import time

import pytest

from course.cli.common import current_task, keep_current_task, task_to_open
from course.manifest import load
from course.runner import progress
from course.runner.progress import TaskState, cached_states
from course.workspace.activity import make_current
from course.workspace.record import note_tries, read_record


class Student:
    """A student of the tiny course, whose Tasks 1.1 and 1.2 have files of their own."""

    def __init__(self, workspace):
        self.workspace, self.root = workspace, workspace.root
        for task, name in (("1.1", "root"), ("1.2", "sign")):
            workspace.edit("course/tasks.toml", f"minitorch.sums:{name}", f"minitorch.{name}s:{name}")
            workspace.write(f"minitorch/{name}s.py", f"def {name}(x):\n    return x\n")
            workspace.write(f"tests/test_{name}s.py", f"# task{task.replace('.', '_')}\nfrom minitorch.{name}s import {name}\n")
        self.manifest = load(self.root / "course" / "tasks.toml")

    def states(self, **states):
        """Note the states of tasks, such as t1_1="passed"; the files stay as they are now."""
        fingerprints = progress._fingerprints(self.root, self.manifest)
        known = {id[1:].replace("_", "."): state for id, state in states.items()}
        progress._write_cache(self.root, {id: (fingerprints[id], TaskState(id, state, total=1)) for id, state in known.items()})

    def choose(self, id):
        """Choose a task, as with `course start`."""
        make_current(self.root, self.manifest.task(id))

    def save(self, name, seconds=1):
        """Save a file some time after now."""
        os.utime(self.root / name, (time.time() + seconds, time.time() + seconds))

    def current(self):
        """The id of the current task."""
        task = current_task(self.root, self.manifest, cached_states(self.root))
        return task and task.id

    def opened(self):
        """The id of the task that `course` opens."""
        task = task_to_open(self.root, self.manifest)
        return task and task.id


@pytest.fixture
def student(workspace):
    """A student who has saved nothing yet."""
    return Student(workspace)


def test_without_a_choice_there_is_none(student):
    student.save("minitorch/sums.py")
    assert (student.current(), student.opened()) == (None, None)


def test_the_chosen_task_stays_even_if_it_has_passed(student):
    student.states(t0_1="passed")
    student.choose("0.1")
    assert (student.current(), student.opened()) == ("0.1", "0.1")


def test_a_task_whose_file_was_saved_after_the_choice_is_the_current_one(student):
    student.states(t1_1="failing", t0_1="failing")
    student.choose("0.1")
    student.save("minitorch/roots.py")
    assert (student.current(), student.opened()) == ("1.1", "1.1")
    student.save("minitorch/signs.py", seconds=2)
    assert student.current() == "1.2"


def test_a_later_choice_wins(student):
    student.choose("0.1")
    student.save("minitorch/roots.py", seconds=-0.5)
    student.choose("1.2")
    student.save("minitorch/roots.py", seconds=-60)
    assert student.current() == "1.2"


def test_the_first_run_of_tests_counts_as_a_choice_of_no_task(student):
    note_tries(student.root, [student.manifest.task("0.1")])
    assert student.current() is None
    student.save("minitorch/signs.py")
    assert student.current() == "1.2"


def test_of_the_tasks_in_a_file_it_is_the_chosen_one_else_the_first_that_has_not_passed(student):
    student.states(t0_1="passed", t0_2="failing", t0_3="failing")
    student.choose("0.3")
    student.save("minitorch/sums.py")
    assert student.current() == "0.3"
    student.choose("1.1")
    student.save("minitorch/sums.py")
    assert student.current() == "0.2"


def test_after_a_passed_task_the_next_one_opens_and_not_an_earlier_one(student):
    student.states(t0_1="failing", t0_2="failing", t0_3="failing", t1_1="passed", t1_2="failing")
    student.choose("0.3")
    student.save("minitorch/roots.py")
    assert (student.current(), student.opened()) == ("1.1", "1.2")


def test_after_the_last_task_the_first_one_that_has_not_passed_opens(student):
    student.states(t0_1="passed", t0_2="failing", t0_3="passed", t1_1="passed", t1_2="passed")
    student.choose("1.2")
    student.save("minitorch/signs.py")
    assert student.opened() == "0.2"
    student.states(t0_1="passed", t0_2="passed", t0_3="passed", t1_1="passed", t1_2="passed")
    assert student.opened() == "1.2"


def test_files_that_a_command_writes_are_not_saved_by_the_student(student):
    student.choose("0.1")
    with keep_current_task(student.root, student.manifest):
        student.save("minitorch/roots.py", seconds=0)
    assert student.current() == "0.1"


def test_choosing_the_same_task_again_is_a_choice(student):
    student.choose("0.1")
    before = read_record(student.root).since
    student.choose("0.1")
    assert read_record(student.root).since > before
