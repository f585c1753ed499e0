"""Proofs about the course: unwritten code fails as such and breaks nothing else, and with all solutions restored every test passes."""

import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from course.manifest import ROOT, course
from course.staff.handout.generate import BARE, GUIDED, stub_files, write_names
from course.staff.handout.selection import select
from course.staff.proofs.answers import graded_files
from course.staff.proofs.prove import needed_files, without_kernels
from course.staff.proofs.runs import copy, each
from course.workspace import function_source
from course.workspace.released import write_solutions
from project.lab.registry import view
from tests.course.handouts import handout
from tests.course.test_stubs import STAGES, Result, check_handout, run

SHOW_ALL = f"""
import pathlib, sys
sys.path[:] = ["", *(path for path in sys.path[1:] if path != {str(ROOT)!r})]
from streamlit.testing.v1 import AppTest
app = AppTest.from_file(str(pathlib.Path("project/app.py").absolute()), default_timeout=60).run()
for file in sorted(pathlib.Path("project/views").glob("*.py")):
    app.switch_page("views/" + file.name).run()
    assert not app.exception, (file.name, app.exception)
    assert app.title, file.name
    print(file.name)
"""


@dataclass(frozen=True)
class Case:
    """Tests of some tasks, run on a reference that ends with a stage and lacks the code of some tasks."""

    last: int
    unwritten: frozenset[str]
    tested: frozenset[str]

    def arguments(self):
        """The arguments of `run`: the files without the unwritten code, and those of pytest."""
        files = reference_files(self.last)
        written = write_names(course(), self.last)
        removed = {path: {name: id for name, id in tasks.items() if id in self.unwritten} for path, tasks in written.items()}
        stubbed = stub_files(files, {path: names for path, names in removed.items() if names})
        marks = " or ".join(course().task(id).mark for id in sorted(self.tested))
        paths = sorted({path for id in self.tested for path in graded_files(course().task(id), files)})
        complete = not self.tested & self.unwritten  # then trainings would run to their ends, which takes minutes
        return stubbed, "-m", marks, *(["-k", "not test_a_short_training"] if complete else []), *paths


@cache
def reference_files(last):
    """The files that the tests need in a package that ends with a stage, with all solutions."""
    return needed_files(ROOT, replace(course(), tasks=tuple(task for task in course().tasks if task.stage <= last)))


@dataclass(frozen=True)
class Proofs:
    """By task: its tests with only its own and required code, in a package that ends with its stage; all tests that need it, without it."""

    alone: dict[str, Result]
    without: dict[str, Result]


@pytest.fixture(scope="module")
def proofs():
    """All proofs. Tasks that no other task requires share one run, because only their own tests need their code."""
    everything = frozenset(task.id for task in course().tasks)
    requiring = {id: frozenset(task.id for task in course().tasks if id in task.requires) for id in everything}
    leaves = frozenset(id for id in everything if not requiring[id])
    alone = {task.id: Case(task.stage, everything - {task.id, *task.requires}, frozenset([task.id])) for task in course().tasks}
    without = {
        id: Case(STAGES[-1], leaves, leaves) if id in leaves else Case(STAGES[-1], frozenset([id]), requiring[id] | {id})
        for id in sorted(everything)
    }
    cases = list(dict.fromkeys([*reversed(alone.values()), *without.values()]))  # the longest first
    prepared = [case.arguments() for case in cases]  # before the threads: CPython 3.11 cannot parse in several of them at once
    results = dict(zip(cases, each(lambda arguments: run(*arguments), prepared), strict=True))
    return Proofs({id: results[case] for id, case in alone.items()}, {id: results[case] for id, case in without.items()})


@pytest.mark.parametrize("task", course().tasks, ids=lambda task: task.id)
def test_a_task_passes_if_only_it_and_its_requirements_are_written(proofs, task):
    result = proofs.alone[task.id]
    assert result.tasks_in("passed") == {task.id}
    assert result.tasks_in("failing") | result.tasks_in("todo") | result.tasks_in("blocked") == set()


@pytest.mark.parametrize("task", course().tasks, ids=lambda task: task.id)
def test_an_unwritten_task_is_todo_and_tasks_that_require_it_are_blocked(proofs, task):
    result = proofs.without[task.id]
    together = {other.id for other in course().tasks if proofs.without[other.id] is result}
    assert task.id in result.tasks_in("todo")
    assert result.tasks_in("todo") == together
    assert result.tasks_in("blocked") == {other.id for other in course().tasks if task.id in other.requires}
    assert result.tasks_in("failing") == set()
    assert {needed for id in result.tasks_in("todo") | result.tasks_in("blocked") for needed in result.needs(id)} == together
    assert len(together) == 1 or result.needs(task.id) == {task.id}


@pytest.mark.parametrize("last", STAGES)
def test_a_new_handout_is_unwritten_and_equals_the_reference_once_solutions_are_restored(last):
    reference, files = select(ROOT, course(), last), handout(last)
    fresh = run(files, compiled=True)
    tasks = {task.id for task in course().tasks if task.stage <= last}
    assert fresh.tasks_in("todo") | fresh.tasks_in("blocked") == tasks
    assert fresh.tasks_in("passed") | fresh.tasks_in("failing") | fresh.tasks_in("skipped") == set()
    for task in tasks - fresh.tasks_in("todo"):  # each of its tests calls unwritten code of an earlier task first
        assert fresh.needs(task) <= set(course().task(task).requires)
    solved = {**files, **stub_files(reference, write_names(course(), last))}  # with the helpers that only solutions call
    for path, names in write_names(course(), last).items():
        solutions = function_source.definitions(str(reference[path]))
        solved[path] = function_source.graft(str(solved[path]), {name: solutions[name] for name in names}, whole=set(names))
        assert solved[path] == reference[path]
    assert solved == {**files, **reference}  # whose tasks all pass, even with less code: see above


@pytest.mark.parametrize("task", [task for task in course().tasks if task.leave_out], ids=lambda task: task.id)
def test_the_reference_passes_without_its_optimized_kernels(task):
    """In a student's workspace, compiled as a student's kernels are."""
    files = without_kernels(needed_files(ROOT, course()), course(), task)
    assert not {full.replace(".", "/") + ".py" for full in task.leave_out} & set(files)
    result = run(files, "-m", task.mark, *graded_files(task, files), compiled=True)
    assert {id: {state for state, _ in states} for id, states in result.states.items()} == {task.id: {"passed"}}


def test_released_solutions_pass_the_tests_in_a_handout():
    last = 2  # the functions of later stages have run above
    with copy(handout(last, BARE, last)) as folder:
        write_solutions(folder, course(), last)
        files = {path: (folder / path).read_bytes() for path in handout(last, BARE, last)}
    result = run(files)
    assert result.tasks_in("passed") == {task.id for task in course().tasks if task.stage <= last}
    assert {state for states in result.states.values() for state, _ in states} == {"passed"}


@pytest.mark.parametrize("last", STAGES)
def test_the_app_of_a_new_handout_shows_every_page(last):
    with copy(handout(last)) as folder:
        shown = subprocess.run([sys.executable, "-c", SHOW_ALL], cwd=folder, capture_output=True, text=True, check=False)
        assert shown.returncode == 0, shown.stderr
        pages = shown.stdout.split()
        assert {Path(view(task.app).path).name for task in course().tasks if task.stage <= last} < set(pages)
        assert set(pages) == {file.name for file in (folder / "project" / "views").glob("*.py")}


@pytest.mark.parametrize(("last", "style"), [*((last, GUIDED) for last in STAGES), (STAGES[-1], BARE)])
def test_a_handout_imports_passes_the_linter_and_collects_by_itself(last, style):
    check_handout(last, style)
