"""What the results of a task depend on: its files, its tests, and what they import in any way."""

import pytest

from course.manifest import ROOT, course, load
from course.runner.dependencies import _Files, fingerprints

from .miniature import write


def affected(root, file, text):
    """The tasks whose results depend on a file, which gets other contents."""
    manifest = load(root / "course" / "tasks.toml")
    before = fingerprints(root, manifest)
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    after = fingerprints(root, manifest)
    return [id for id in before if before[id] != after[id]]


@pytest.fixture
def repository(tmp_path):
    """A small course: Tasks 0.1 and 0.2 in operators.py and its tests, 1.1 in scalar.py."""
    return write(tmp_path)[0]


@pytest.mark.parametrize(
    ("file", "tasks"),
    [
        ("minitorch/operators.py", ["0.1", "0.2"]),
        ("minitorch/scalar.py", ["1.1"]),
        ("minitorch/later.py", []),
        ("tests/strategies.py", ["0.1", "0.2"]),
        ("tests/test_scalar.py", ["1.1"]),
        ("tests/conftest.py", ["0.1", "0.2", "1.1"]),
        ("pyproject.toml", ["0.1", "0.2", "1.1"]),
        ("project/run_scalar.py", []),
    ],
)
def test_a_file_affects_the_tasks_that_import_it(repository, file, tasks):
    text = "# of task1_1\n" if file == "tests/test_scalar.py" else "# changed\n"
    assert affected(repository, file, text) == tasks


def test_the_table_of_contents_affects_the_tasks_of_its_stage_and_later_ones(repository):
    text = (repository / "minitorch" / "__init__.py").read_text(encoding="utf-8")
    assert affected(repository, "minitorch/__init__.py", text.replace("# Stage 1 - Scalars\n", "# Stage 1 - Numbers\n")) == ["1.1"]


@pytest.mark.parametrize(
    "source",
    [
        "from minitorch.extra import f\n",
        "from minitorch import extra\n",
        "import minitorch.extra\n",
        "import minitorch.extra as extra\n",
        "from . import extra\n",
        "from .extra import (\n    f,  # first\n)\n",
        "from minitorch import f\n",
        "from minitorch import (  # several\n    Scalar,\n    f as g,\n)\n",
        "from minitorch import Scalar, \\\n    f\n",
        "def h():\n    from .extra import f\n",
        "import minitorch\n\n\ndef h():\n    minitorch.f(1)\n",
        "import minitorch\n\nf = getattr(minitorch, 'f', None)\n",
        "import minitorch as mt\n",
        "from minitorch import *\n",
        "from importlib import import_module\n\nextra = import_module('minitorch.extra')\n",
    ],
)
def test_every_way_to_import_counts(repository, source):
    contents = repository / "minitorch" / "__init__.py"
    contents.write_text(contents.read_text(encoding="utf-8") + "\nfrom minitorch.extra import f as f\n", encoding="utf-8")
    (repository / "minitorch" / "operators.py").write_text(source, encoding="utf-8")
    (repository / "minitorch" / "extra.py").write_text("def f(x):\n    return x\n", encoding="utf-8")
    assert affected(repository, "minitorch/extra.py", "def f(x):\n    return -x\n")[:2] == ["0.1", "0.2"]


def test_a_package_as_a_whole_is_all_that_it_contains(repository):
    (repository / "minitorch" / "nn").mkdir()
    (repository / "minitorch" / "nn" / "__init__.py").write_text("from minitorch.nn.pool import pool\n", encoding="utf-8")
    (repository / "minitorch" / "operators.py").write_text("from minitorch import nn\n\nx = nn.pool\n", encoding="utf-8")
    assert affected(repository, "minitorch/nn/pool.py", "pool = 1\n") == ["0.1", "0.2"]


def test_the_course_s_tasks_import_a_file_of_each_task_that_they_require():
    files, manifest = _Files(ROOT), course()
    for task in manifest.tasks:
        marked = {path for path in files.paths if path.startswith("tests/") and task.mark in files.text(path)}
        imported = files.closure({*marked, *task.files})
        for required in map(manifest.task, task.requires):
            assert imported & {*required.files}, f"{task.id} imports nothing of {required.id}"
