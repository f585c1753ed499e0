"""Workspaces for students: what they contain, what is cut, and where they may be written: `course.staff.handout`."""

import hashlib
import os
import subprocess
import sys

import pytest

from benchmarks.course_class import solve
from course.manifest import ROOT, course
from course.staff.handout.generate import BARE, GUIDED, write_files, write_names
from tests.course.conftest import clean_environment
from tests.course.handouts import handout
from tests.course.test_handout import STAGES, check_links

FINGERPRINT = """
import hashlib
from course.manifest import ROOT, course
from course.staff.handout.generate import handout_files
files = handout_files(ROOT, course(), course().tasks[-1].stage)
print(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())
"""


@pytest.mark.parametrize(("last", "style"), [*((stage, GUIDED) for stage in STAGES), (STAGES[-1], BARE)])
def test_the_course_s_handouts_leak_no_solution(last, style):
    stubs = sum("Need to implement for Task" in str(content) for content in handout(last, style).values())
    assert stubs >= len(write_names(course(), last))


def test_the_course_s_handout_is_reproducible():
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    made = subprocess.run([sys.executable, "-c", FINGERPRINT], env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert made == hashlib.sha256(repr(sorted(handout(STAGES[-1]).items())).encode()).hexdigest()


def test_a_bare_handout_differs_only_in_the_files_of_the_tasks():
    guided, bare = handout(STAGES[-1]), handout(STAGES[-1], BARE)
    different = {path for path in guided if guided[path] != bare[path]}
    library = {path for path in write_names(course(), STAGES[-1]) if not path.startswith("tests/")}
    assert different == {*library, "course/pristine.zip"}
    assert set(guided) == set(bare)
    assert "# - mul: x · y.\n" in str(bare["minitorch/operators.py"])
    assert '"""x · y."""' not in str(bare["minitorch/operators.py"])


def test_modules_0_and_1_need_no_package_of_later_modules_or_of_the_app(tmp_path):
    write_files(tmp_path, dict(handout(1)))
    tasks = [task for task in course().tasks if task.stage <= 1]
    for task in tasks:
        solve(tmp_path, task)
    without = """import sys

LATER = ("numpy", "numba", "streamlit", "altair", "pandas", "safetensors", "h5py")


class Without:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in LATER:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Without)
"""
    (tmp_path / "without.py").write_text(without, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "without", "--course-stage=1", "-m", " or ".join(task.mark for task in tasks)]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("last", STAGES[1:-1])
def test_the_course_s_handouts_have_no_broken_links(last):
    check_links(last)
