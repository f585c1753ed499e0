"""The compiled code of a right answer that grading caches: `course.staff.grading.grading_env`."""

from pathlib import Path

import pytest

from course.manifest import course
from course.staff.grading.grading_env import GradingEnv, write_tree
from course.staff.probes.program import Program
from course.staff.probes.remote import Remote
from course.staff.probes.sandboxed import RecordingChild, sandbox_launcher
from course.staff.sandbox import sandbox
from course.staff.sandbox.sandbox import Sandbox

PACKAGE = '''
"""A package with two kernels, which says how often numba had one on disk."""

import numba


@numba.njit(cache=True)
def double(x):
    return 2.0 * x


@numba.njit(cache=True)
def half(x):
    return 0.5 * x


def found(name):
    return sum(globals()[name].stats.cache_hits.values())
'''


TEST = """
import pytest

from minitorch import double


@pytest.mark.task3_1
def test_double():
    assert double(1.0) == 2.0
"""


@pytest.fixture
def env() -> GradingEnv:
    if reason := sandbox.missing_reason("bubblewrap"):
        pytest.skip(f"no bubblewrap on this machine: {reason}")
    return GradingEnv(Sandbox("bubblewrap"), 7)


def call(remote: Remote, name: str) -> tuple[float, int]:
    """The value of a function at 3, and how often its machine code was found on disk."""
    p = Program()
    ((value, found),) = remote.ask([[p.find(f"minitorch:{name}")(3.0), p.find("minitorch:found")(name)]], 120.0)
    return value, found


def test_code_compiled_by_tests_and_probes_of_a_right_answer_is_found_on_disk(env: GradingEnv, tmp_path: Path) -> None:
    task, tree, cache, asked = course().task("3.1"), tmp_path / "tree", tmp_path / "numba", list[bytes]()
    settings = f'[tool.pytest.ini_options]\nmarkers = ["{task.mark}: a task"]\n'
    plugin = 'def pytest_addoption(parser):\n    parser.addoption("--course-report")\n    parser.addoption("--course-limit")\n'
    files = {"minitorch/__init__.py": PACKAGE, "tests/test_kernels.py": TEST, "tests/conftest.py": plugin, "pyproject.toml": settings}
    write_tree(tree, files)
    env.fill_cache_with_tests(tree, {}, task, ["tests/test_kernels.py"], 120.0, cache)
    with env.workspace(tree, {}) as folder:
        launch = sandbox_launcher(env.sandbox, folder, cache)
        with Remote(launch) as remote:
            assert call(remote, "double") == (6.0, 1)
        with Remote(lambda environment: RecordingChild(launch(environment), asked)) as remote:
            assert call(remote, "half") == (1.5, 0)
    assert len(asked) == 2  # including the import
    env.fill_cache_with_probes(tree, {}, task, asked, cache)
    with env.workspace(tree, {}) as folder, Remote(sandbox_launcher(env.sandbox, folder, cache)) as remote:
        assert call(remote, "double") == (6.0, 1)
        assert call(remote, "half") == (1.5, 1)
    assert not list(tmp_path.glob(".numba-*"))
