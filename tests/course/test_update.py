"""A newer release replaces an older one and keeps everything that the student wrote."""

import shutil
import subprocess
import zipfile

import pytest

from course.cli.problem import Problem
from course.manifest import ROOT, course
from course.staff.handout import rewriter
from course.workspace import backups, merge, pristine, release, update
from tests.errors import raises

from .releases import FILES, SUMS, TESTS, Student, tasks_toml, write
from .releases import release as make_release
from .test_reset import ADD, DOUBLE

NEWER_SUMS = (
    SUMS.replace('"""Sums."""', '"""Sums and more."""')
    .replace('"""x + y."""', '"""The sum of x and y."""')
    .replace("import math\n", "import math\nimport os\n")
    .replace("def given(x):", "def given(x, z=0):")
)
NEWER = FILES | {"minitorch/sums.py": NEWER_SUMS, "minitorch/new.py": "NEW = 1\n", "README.md": "# Read me again\n"}
del NEWER["minitorch/other.py"]

MINE = """\
# My helper.
@functools.cache
def helper(x):
    return 2 * x


"""


MY_ADD = (ADD, "    # mine\n    return x + y\n    # end\n")
MY_DOUBLE = (DOUBLE, "        return helper(x) + self._own\n\n    _own = 0\n\n    def half")
MY_HELPER = ("def given", MINE + "def given")


@pytest.fixture
def student(tmp_path):
    student = Student(tmp_path / "work space")
    imports = ("import math\n", "import functools\nimport math\nfrom os import path\n\nLIMIT = 7\n")
    student.edit("minitorch/sums.py", MY_ADD, MY_DOUBLE, imports, MY_HELPER)
    student.edit("tests/test_sums.py", ("def test_own():", "@pytest.mark.parametrize('x', [1])\ndef test_own(x):"))
    student.edit("tests/test_sums.py", ('    raise NotImplementedError("Need to implement for Task 0.3")\n', "    assert x\n"))
    write(student.root, {"minitorch/mine.py": b"MINE = 1\n", "notes/ideen für später.txt": "ä".encode()})
    return student


def test_a_signature_changed_by_the_student_is_kept_and_one_changed_by_the_release_is_updated(tmp_path):
    old = 'def f(x):\n    """f."""\n    pass\n\n\ndef g(x):\n    pass\n'
    yours = "def f(x, seen=None):\n    return seen\n\n\ndef g(x):\n    return 1\n"
    new = old.replace("def g(x):", "def g(x, y=0):")
    merged = merge.merge(old, yours, new, ({"f", "g"}, {"f", "g"}))
    assert merged.text == "def f(x, seen=None):\n    return seen\n\n\ndef g(x, y=0):\n    return 1\n"
    assert (merged.taken, merged.lost) == (["f", "g"], [])


def run(student, tmp_path, files=NEWER):
    """Update to a release in a folder; returns the output."""
    shutil.rmtree(tmp_path / "release", ignore_errors=True)
    write(tmp_path / "release", make_release(files))
    assert update.run(student.root, student.manifest, student.console, tmp_path / "release") == 0
    return student.output


def test_an_update_keeps_functions_helpers_imports_and_files(student, tmp_path):
    tests = student.text("tests/test_sums.py")
    output = run(student, tmp_path)
    name = backups.names(student.root)[0]
    merged = NEWER_SUMS.replace(*MY_ADD).replace(*MY_DOUBLE).replace(*MY_HELPER)
    imports = "import functools\nimport math\nfrom os import path\n\nLIMIT = 7\nimport os\n"
    assert student.text("minitorch/sums.py") == merged.replace("import math\nimport os\n", imports)
    assert student.text("tests/test_sums.py") == tests
    others = {"minitorch/new.py": "NEW = 1\n", "README.md": "# Read me again\n", "minitorch/mine.py": "MINE = 1\n"}
    for path, text in {**others, "notes/ideen für später.txt": "ä"}.items():
        assert student.text(path) == text
    assert not (student.root / "minitorch/other.py").exists()
    assert output == (
        "Updated 3 files, removed 1; kept 2 functions of yours.\n"
        f"Your files are backed up. To restore them: course reset --restore {name}\nNext: course status\n"
    )


def test_the_same_release_twice_changes_nothing_and_restoring_the_backup_undoes_it(student, tmp_path):
    before = student.snapshot()
    run(student, tmp_path)
    after, made = student.snapshot(), backups.names(student.root)
    assert run(student, tmp_path) == "This workspace has this release already; nothing was changed.\n"
    assert (student.snapshot(), backups.names(student.root)) == (after, made)
    backups.restore(student.root, made[0])
    assert student.snapshot() == before


def test_given_code_changed_by_both_is_taken_from_the_release_and_named(student, tmp_path):
    student.edit("minitorch/sums.py", ("    return x\n", "    return x + 1\n"))
    student.edit("README.md", ("Read me", "My notes"))
    output = run(student, tmp_path)
    assert 'def given(x, z=0):\n    """x."""\n    return x\n' in student.text("minitorch/sums.py")
    changed = "Changed by you and by the release; the release's version is in place, yours is in the backup"
    assert f"{changed}: README.md, minitorch/sums.py:given\n" in output
    kept = backups.read(student.root, backups.names(student.root)[0]).files
    assert b"return x + 1" in (kept["minitorch/sums.py"] or b"")
    assert kept["README.md"] == b"# My notes\n"


def test_a_mistake_that_both_fixed_in_the_same_way_is_not_a_conflict(student, tmp_path):
    student.edit("minitorch/sums.py", ("    return x\n", "    return float(x)\n"))
    output = run(student, tmp_path, NEWER | {"minitorch/sums.py": NEWER_SUMS.replace("    return x\n", "    return float(x)\n")})
    assert "Changed by you" not in output
    assert student.text("minitorch/sums.py").count("return float(x)") == 1


def test_a_removed_function_is_named(student, tmp_path):
    toml = tasks_toml(t0_1="minitorch.sums:plus", t0_2="minitorch.sums:Box.double minitorch.sums:Box.half", t0_3="tests.test_sums:test_own")
    output = run(student, tmp_path, NEWER | {"minitorch/sums.py": NEWER_SUMS.replace("def add", "def plus"), "course/tasks.toml": toml})
    assert "No longer in the course; yours is only in the backup: minitorch/sums.py:add\n" in output
    assert "return x + y" not in student.text("minitorch/sums.py")


def test_a_removed_file_is_kept_if_the_student_wrote_in_it(student, tmp_path):
    files = {path: text for path, text in NEWER.items() if path != "tests/test_sums.py"}
    output = run(student, tmp_path, files | {"course/tasks.toml": tasks_toml(t0_1="minitorch.sums:add")})
    assert "No longer in the course; kept because you changed it: tests/test_sums.py\n" in output
    assert "tests/test_sums.py:test_own" in output
    assert "assert x" in student.text("tests/test_sums.py")


def test_a_file_that_the_student_deleted_is_restored_and_one_at_the_path_of_a_new_one_is_named(student, tmp_path):
    (student.root / "tests/test_sums.py").unlink()
    write(student.root, {"minitorch/new.py": b"MY = 1\n"})
    output = run(student, tmp_path)
    assert "Deleted by you, and restored: tests/test_sums.py\n" in output
    assert student.text("tests/test_sums.py") == TESTS
    assert "yours is in the backup: minitorch/new.py\n" in output
    assert backups.read(student.root, backups.names(student.root)[0]).files["minitorch/new.py"] == b"MY = 1\n"


def test_windows_line_endings_and_a_byte_order_mark_are_kept(student, tmp_path):
    for path in FILES:
        file = student.root / path
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    sums = student.root / "minitorch/sums.py"
    sums.write_bytes(b"\xef\xbb\xbf" + sums.read_bytes())
    output = run(student, tmp_path)
    assert "Changed by you" not in output
    data = sums.read_bytes()
    assert data.startswith(b'\xef\xbb\xbf"""Sums and more."""\r\n')
    assert data.count(b"\n") == data.count(b"\r\n")
    assert b"    return x + y\r\n" in data


def test_an_invalid_python_file_stops_the_update(student, tmp_path):
    student.edit("minitorch/sums.py", ("    return x + y\n", "    return (\n"))
    before = student.snapshot()
    write(tmp_path / "release", make_release(NEWER))
    why = "minitorch/sums.py, line 15: not valid Python: '(' was never closed"
    with raises(Problem, f"{why}; the release changes this file and needs your functions in it: fix it, and run course update again"):
        update.run(student.root, student.manifest, student.console, tmp_path / "release")
    assert student.snapshot() == before
    assert backups.names(student.root) == []


def test_additions_to_given_code_are_kept_or_named(student, tmp_path):
    student.edit(
        "minitorch/sums.py",
        ("from os import path\n", "from os import path, sep\nfrom math import (\n    pi,\n)\n"),
        ('class Box:\n    """A box."""\n', 'class Box:\n    """A box."""\n\n    class Inner:\n        one = 1\n'),
    )
    end = "\n\nclass Mine(Box):\n    pass\n\n\nprint('debug')\n\n\ndef theirs():\n    return 'my own'\n"
    path = student.root / "minitorch/sums.py"
    path.write_text(path.read_text(encoding="utf-8") + end, encoding="utf-8")
    kept_text = student.text("minitorch/sums.py")
    newer = NEWER_SUMS.replace("import os\n", "from os import path\n") + "\n\ndef theirs():\n    return 'of the release'\n"
    output = run(student, tmp_path, NEWER | {"minitorch/sums.py": newer})
    text = student.text("minitorch/sums.py")
    assert "import math\nfrom os import sep\nfrom math import (\n    pi,\n)\n" in text
    assert '    """A box."""\n\n    class Inner:\n        one = 1\n\n    def double' in text
    assert text.count("class Mine(Box):\n    pass\n") == 1
    assert "debug" not in text
    assert "of the release" in text
    assert "my own" not in text
    debug = 1 + kept_text[: kept_text.index("print('debug')")].count("\n")
    assert f"yours is in the backup: minitorch/sums.py, line {debug}, minitorch/sums.py:theirs\n" in output


@pytest.mark.parametrize("path", ["minitorch/operators.py", "minitorch/tensor_ops.py", "tests/test_operators.py", "project/run_scalar.py"])
def test_a_newer_release_of_every_course_file_keeps_the_written_functions(path):
    tasks = pristine.task_functions(course())[path]
    reference, is_test = (ROOT / path).read_text(encoding="utf-8"), path.startswith("tests/")
    first, rest = rewriter.stub(reference, tasks, is_test).split("\n", 1)
    new = f"{first}\n# Of the newer release.\n{rest}\n\nNEWER = 1\n"
    merged = merge.merge(f"{first}\n{rest}", reference, new, (set(tasks), set(tasks)), is_test)
    assert merged.text == reference.replace("\n", "\n# Of the newer release.\n", 1) + "\n\nNEWER = 1\n"
    assert sorted(merged.taken) == sorted(tasks)
    assert merged.gone == merged.lost == []


def test_a_release_may_be_a_zip_file(student, tmp_path):
    with zipfile.ZipFile(tmp_path / "release.zip", "w") as archive:
        for path, data in make_release(NEWER).items():
            archive.writestr(f"release-2/{path}", data)
        archive.writestr("release-2/notes.txt", "not of the release")
    assert update.run(student.root, student.manifest, student.console, tmp_path / "release.zip") == 0
    assert student.text("minitorch/new.py") == "NEW = 1\n"
    assert not (student.root / "notes.txt").exists()


def test_a_release_may_be_a_git_bundle(student, tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = write(tmp_path / "release", make_release(NEWER))
    for command in (
        ["init", "--quiet", "--initial-branch=main", "--template="],
        ["add", "--all"],
        ["-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "--message", "x"],
        ["bundle", "create", "--quiet", str(tmp_path / "release.bundle"), "HEAD", "main"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    assert update.run(student.root, student.manifest, student.console, tmp_path / "release.bundle") == 0
    assert student.text("minitorch/new.py") == "NEW = 1\n"


def test_anything_but_a_release_is_refused(student, tmp_path):
    def message(source):
        with pytest.raises(Problem) as error:
            release.read(source)
        return str(error.value)

    nowhere, text, folder = tmp_path / "nowhere", tmp_path / "a.txt", tmp_path / "folder"
    assert message(nowhere) == f"there is no {nowhere}; name the folder, zip file or git bundle of a release: course update SOURCE"
    text.write_text("text", encoding="utf-8")
    assert message(text) == f"{text} is not a folder, zip file or git bundle; name one of a release: course update SOURCE"
    folder.mkdir()
    assert message(folder) == f"{folder} is not a release: it has no course/pristine.zip; name one: course update SOURCE"
    write(folder, make_release(NEWER))
    (folder / "README.md").write_text("changed", encoding="utf-8")
    again = "fetch the release again: course update SOURCE"
    assert message(folder) == f"{folder} is not as it was handed out: it has changes in README.md; {again}"
    (folder / "README.md").unlink()
    assert message(folder) == f"{folder} is not as it was handed out: it lacks README.md; {again}"
    (folder / pristine.PATH).write_bytes(b"PK")
    assert message(folder) == f"{folder} is damaged: course/pristine.zip: File is not a zip file; {again}"
    bundle = tmp_path / "x.bundle"
    bundle.write_bytes(b"# v2 git bundle\nnothing\n")
    assert message(bundle).startswith(f"git cannot read {bundle}: ") or "git is not installed" in message(bundle)
