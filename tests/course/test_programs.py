"""`course programs`: the list of programs, and running one on the student's functions; with a library of two modules."""

import json
import os

import pytest

from course.manifest import load
from course.workspace.library import FOLDER, ZIP, build
from course.workspace.pristine import make_zip

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

LIBRARY = {
    "minitorch/torch.py": "from minitorch.sums import add, square\n\n__all__ = ['add', 'square']\n",
    "minitorch/__init__.py": '"""Complete."""\n\nIS_COMPLETE = True\n',
    "programs/needs.toml": 'adding = ["0.1"]\nsquaring = ["0.3"]\nrooting = ["1.1"]\n',
    "programs/adding.py": '"""Add numbers.\n\nMore."""\n\nimport sys\n\nimport torch\n\nprint(torch.add(20, 22), sys.argv[1:])\n',
    "programs/squaring.py": '"""Square a number."""\n\nfrom torch import square\n\nprint(square(7))\n',
    "programs/rooting.py": '"""Take a root."""\n\nimport torch\n',
}


def add_library(workspace, files=LIBRARY):
    (workspace.root / ZIP).write_bytes(make_zip({path: content.encode() for path, content in files.items()}))


@pytest.fixture(scope="module")
def shared_workspace(new_workspace):
    """A workspace with a library, whose states are known; tests must not edit it."""
    workspace = new_workspace()
    add_library(workspace)
    assert workspace.course("status").returncode == 0
    return workspace


def test_list_and_status_show_what_runs_and_the_list_what_each_of_the_others_waits_for(shared_workspace):
    done = shared_workspace.course("programs")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        "Your code runs 1 of 3 PyTorch programs: course programs",
        "Module 0  First",
        "✓ runs            adding    Add numbers.",
        "○ after Task 0.3  squaring  Square a number.",
        "Module 1  Second",
        "○ after Task 1.1  rooting  Take a root.",
        "To run one: course programs adding",
        "To run a PyTorch program of your own: course programs FILE.py",
    ]
    rows = json.loads(shared_workspace.course("programs", "--json").stdout)
    assert rows[1] == {"name": "squaring", "about": "Square a number.", "needs": ["0.1", "0.2", "0.3"], "missing": ["0.2", "0.3"]}
    assert shared_workspace.course("status").stdout.splitlines()[-1] == "Your code runs 1 of 3 PyTorch programs: course programs"


def test_status_mentions_no_programs_where_none_runs_or_there_is_no_library(workspace):
    assert "PyTorch" not in workspace.course("status").stdout
    add_library(workspace, LIBRARY | {"programs/needs.toml": 'squaring = ["0.3"]\n'})
    assert "PyTorch" not in workspace.course("status").stdout
    assert workspace.course("programs").stdout.splitlines()[0] == "1 PyTorch programs wait for your code."


def test_a_workspace_without_a_library_or_with_a_damaged_one_says_where_it_comes_from(workspace):
    done = workspace.course("programs")
    assert done.returncode == 3
    absent = "course/library.zip, the library after the course, is not in this workspace"
    assert done.stderr == f"{absent}; it comes with a release that has all modules: course update SOURCE\n"
    (workspace.root / ZIP).write_bytes(b"zip")
    done = workspace.course("programs")
    assert done.returncode == 3
    assert done.stderr.startswith("course/library.zip is damaged (")
    assert done.stderr.endswith("); run: git checkout -- course/library.zip\n")


def test_a_program_runs_on_the_student_s_functions(shared_workspace, capfd):
    done = shared_workspace.course("programs", "adding", "--steps", "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ".course/library/programs/adding.py runs on your functions. Each is compiled when it is first used.\n"
    assert capfd.readouterr() == ("42 ['--steps', '3']\n", "")


def test_a_program_of_the_student_runs_next_to_its_own_modules_and_reports_its_exit_code(shared_workspace, tmp_path, capfd):
    source = "import minitorch\nimport torch\nfrom other import X\n\nprint(torch.add(X, 1), minitorch.IS_COMPLETE)\n"
    (tmp_path / "mine.py").write_text(source)
    (tmp_path / "other.py").write_text("X = 6\n")
    assert shared_workspace.course("programs", str(tmp_path / "mine.py")).returncode == 0
    assert capfd.readouterr() == ("7 True\n", "")
    (tmp_path / "mine.py").write_text("raise SystemExit(7)\n")
    assert shared_workspace.course("programs", str(tmp_path / "mine.py")).returncode == 7


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("squaring", "squaring needs Tasks 0.2, 0.3, which are not done; run: course test 0.2"),
        ("none", "there is no program 'none'; to list them, run: course programs"),
        ("none.py", "cannot run none.py: [Errno 2] No such file or directory: 'none.py'; run: course programs"),
    ],
)
def test_a_program_that_cannot_run_says_why(shared_workspace, name, message):
    done = shared_workspace.course("programs", name)
    assert (done.returncode, done.stderr) == (2, f"{message}\n")


def test_a_single_missing_task_is_named_alone(workspace):
    add_library(workspace, LIBRARY | {"programs/needs.toml": 'squaring = ["0.2"]\n'})
    workspace.course("status")
    done = workspace.course("programs", "squaring")
    assert done.stderr == "squaring needs Task 0.2, which is not done; run: course test 0.2\n"


def test_an_import_that_cannot_be_replaced_is_named(shared_workspace, tmp_path):
    (tmp_path / "mine.py").write_text("import torch.nn\n")
    done = shared_workspace.course("programs", str(tmp_path / "mine.py"))
    expected = "expected `import torch`, `import torch.x as y` or `from torch.x import y`, got 'import torch.nn'; rewrite it"
    assert (done.returncode, done.stderr) == (2, f"cannot run {tmp_path / 'mine.py'}: {expected}; run: course programs\n")


def test_the_library_follows_the_workspace_and_keeps_unchanged_files(workspace):
    """Files keep their time, by which compiled code is found again."""
    add_library(workspace)
    workspace.write("minitorch/mine.py", "X = 1\n")
    manifest = load(workspace.root / "course/tasks.toml")
    folder = build(workspace.root, manifest)
    assert folder == workspace.root / FOLDER
    assert (folder / "minitorch/__init__.py").read_text() == LIBRARY["minitorch/__init__.py"]
    assert (folder / "programs/squaring.py").read_text() == LIBRARY["programs/squaring.py"].replace("from torch", "from minitorch.torch")
    os.utime(folder / "minitorch/sums.py", (1, 1))
    workspace.edit("minitorch/mine.py", "X = 1", "X = 2")
    build(workspace.root, manifest)
    assert (folder / "minitorch/mine.py").read_text() == "X = 2\n"
    assert (folder / "minitorch/sums.py").stat().st_mtime == 1
    (workspace.root / "minitorch/mine.py").unlink()
    build(workspace.root, manifest)
    assert not (folder / "minitorch/mine.py").exists()
