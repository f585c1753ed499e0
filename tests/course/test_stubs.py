"""Proofs about the course: unwritten code fails as such and breaks nothing else, and with all solutions restored every test passes."""

import ast
import subprocess
import sys
from dataclasses import dataclass

import pytest

from course.manifest import ROOT, course
from course.runner.gpu import environment
from course.staff.handout.generate import BARE
from course.staff.proofs.answers import graded_files
from course.staff.proofs.prove import COMPILED, PLAIN
from course.staff.proofs.runs import copy, run_tests

from .handouts import handout
from .prepared import course_files, reference_files

pytest_plugins = "tests.course.forks"

STAGES = sorted({task.stage for task in course().tasks})

IMPORT_ALL = f"""
import importlib, pathlib, sys
sys.path[:] = ["", *(path for path in sys.path[1:] if path != {str(ROOT)!r})]
for file in sorted(file for pattern in ("*/*.py", "minitorch/*/*.py", "project/lab/*.py") for file in pathlib.Path().glob(pattern)):
    if file.parts[0] in ("minitorch", "course", "project") and file.name != "app.py" and file.stem != "__main__":
        module = importlib.import_module(".".join(file.with_suffix("").parts).removesuffix(".__init__"))
        assert pathlib.Path(module.__file__).is_relative_to(pathlib.Path.cwd()), module.__file__
"""


FEW_EXAMPLES = '''"""These runs ask which stub a test meets, not whether a function is right: few random inputs are enough.

With 10 a student's test may not notice a wrong function, and then the test of that test fails.
"""


def pytest_configure(config):
    from hypothesis import Phase, settings

    profile = settings.get_profile("course-ci")
    settings.register_profile("few", profile, max_examples=40, phases=[Phase.explicit, Phase.generate])
    settings.load_profile("few")
'''


@dataclass
class Result:
    """The states of the course's tests: for each task, the number of tests by state and by the task that they need."""

    states: dict[str, dict[tuple[str, str | None], int]]

    def tasks_in(self, state):
        return {task for task, states in self.states.items() for found, _ in states if found == state}

    def needs(self, task):
        return {needed for state, needed in self.states[task] if state != "passed"}


SIMULATED = {name: value for task in course().tasks for name, value in environment(task).items()}
"""Environment variables that make tests for the GPU run in the simulator."""


def run(files, *arguments, compiled=False):
    """The states of the tests; with the compiler off, tests that need it are left out."""
    with copy({**files, "conftest.py": FEW_EXAMPLES}) as folder:
        rows = run_tests(folder, arguments, limit=300, environment=SIMULATED | (COMPILED if compiled else PLAIN)).rows
    assert rows
    states = {}
    for row in rows:
        if row["state"] == "skipped" and not compiled:
            continue
        found = states.setdefault(row["task"], {})
        key = (row["state"], row["needs"])
        found[key] = found.get(key, 0) + 1
    return Result(states)


@pytest.mark.usefixtures("forked_processes")
def test_the_tests_of_a_handout_are_collected_by_themselves():
    with copy(course_files(STAGES[0])) as folder:
        check_collection(folder)


def check_collection(folder):
    collected = run_tests(folder, ["--collect-only"])
    assert collected.rows == [], collected.output
    assert " tests collected" in collected.output


def check_handout(last, style):
    asked = ["--extend-ignore=D102,D103"] if style == BARE else []  # students write the docstrings
    with copy(handout(last, style)) as folder:
        imported = subprocess.run([sys.executable, "-c", IMPORT_ALL], cwd=folder, capture_output=True, text=True, check=False)
        assert imported.returncode == 0, imported.stderr
        for command in (["check", "--no-cache", *asked], ["format", "--check", "--no-cache"]):
            styled = subprocess.run([sys.executable, "-m", "ruff", *command, "."], cwd=folder, capture_output=True, text=True, check=False)
            assert styled.returncode == 0, styled.stdout
        check_collection(folder)


def test_every_graded_test_has_one_task_mark():
    files = reference_files()
    known = {task.mark for task in course().tasks}
    for path in sorted({path for task in course().tasks for path in graded_files(task, files)}):
        tree = ast.parse(str(files[path]))
        assert not [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"], path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = [line.attr for line in node.decorator_list if isinstance(line, ast.Attribute) and line.attr in known]
                assert len(marks) == 1, f"{path}:{node.lineno} {node.name}"


def test_every_task_with_code_lists_its_functions_and_has_tests():
    files = reference_files()
    for task in course().tasks:
        assert graded_files(task, files), task.id
        assert set(task.files) <= set(files), task.id
