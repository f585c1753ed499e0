"""Variants from end to end, through the commands: the handouts of three students are solved, updated and marked; one is a copy."""

import shutil
import subprocess
import sys
import zipfile

import pytest

from course.manifest import ROOT, course
from course.staff.grading.bases import right_answer
from course.staff.handout.generate import write_files
from course.staff.variants.roster import read_roster
from course.staff.variants.variant import insert_functions
from course.workspace import pristine
from tests.course.conftest import clean_environment
from tests.course.staff_commands import command_in_process

POLICY = """
[variants]
seed = "0123456789abcdef"

[[deadline]]
name = "Variants"
tasks = ["0.1", "0.3", "0.5", "2.1"]
due = 2026-10-05

[[student]]
id = "ada"

[[student]]
id = "bob"

[[student]]
id = "cid"
"""


@pytest.fixture(scope="module")
def right():
    """A submission in which all tasks are correct; file contents by path."""
    return right_answer(ROOT, course())


@pytest.fixture(scope="module")
def staff(tmp_path_factory):
    """Runs `course-staff`; returns its output."""
    return command_in_process(ROOT, tmp_path_factory.mktemp("cache"))


def run_course(workspace, *arguments):
    """Run `course` in a workspace; returns its exit code and its output."""
    environment = clean_environment() | {"NO_COLOR": "1", "COLUMNS": "200", "PYTHONPATH": str(workspace)}
    command = [sys.executable, "-m", "course", *arguments]
    done = subprocess.run(command, cwd=workspace, env=environment, text=True, capture_output=True, timeout=600, check=False)
    return done.returncode, done.stdout + done.stderr


def solve(workspace, variant, right):
    """Write right answers into a workspace of Modules 0 to 2, including those of a variant."""
    files = {path: text.decode() for path, text in right.items() if (workspace / path).is_file()}
    for family, parameters in variant.families:
        files[family.file] = insert_functions(files[family.file], family, family.fill(family.solution, parameters))
    write_files(workspace, files)


def write_newer_release(workspace, folder):
    """Write a release into a folder; it differs from the workspace's own in one word of operators.py."""
    old = pristine.read(workspace)
    files = {path: old.files.get(path) or (workspace / path).read_bytes() for path in old.hashes}
    files["minitorch/operators.py"] = files["minitorch/operators.py"].replace(b"Stage 0 - Scalar", b"Stage 0 - Newer scalar", 1)
    write_files(folder, {**files, pristine.PATH: pristine.pack(files, old.files)})


def test_of_three_students_the_one_who_copies_is_reported(staff, right, tmp_path):
    term = tmp_path / "autumn"
    (term / "submissions" / "variants").mkdir(parents=True)
    (term / "term.toml").write_text(POLICY)
    roster = read_roster(term)
    zips = tmp_path / "handouts"
    assert "3 handouts written, 0 kept" in staff("variants", str(term), "--out", str(zips), "--modules", "0-2")
    assert "0 handouts written, 3 kept" in staff("variants", str(term), "--out", str(zips), "--modules", "0-2")
    for id in roster.variants:
        with zipfile.ZipFile(zips / f"{id}.zip") as archive:
            archive.extractall(tmp_path / id)
    workspaces = {id: tmp_path / id / "minitorch" for id in roster.variants}
    alone = tmp_path / "alone"
    assert "functions to write" in staff("handout", str(alone), "--modules", "0-2", "--variant-of", "ada", "--term", str(term))
    ours, theirs = (
        {p.relative_to(top) for p in top.rglob("*") if p.is_file() and ".git" not in p.parts} for top in (alone, workspaces["ada"])
    )
    assert ours == theirs
    assert all((alone / path).read_bytes() == (workspaces["ada"] / path).read_bytes() for path in ours if path.name != ".handout.json")

    code, output = run_course(workspaces["ada"], "test", "0.1")
    assert (code, "0.1" in output) == (1, True), output
    for id, workspace in workspaces.items():
        solve(workspace, roster.variants["bob" if id == "cid" else id], right)
    for task in ("0.1", "0.3", "0.5", "2.1"):
        code, output = run_course(workspaces["ada"], "test", task)
        assert code == 0, output
        code, output = run_course(workspaces["cid"], "test", task)
        assert code == 1, output
        assert "variant" in output or "own_line" in output or "stored_position" in output, output

    write_newer_release(workspaces["ada"], tmp_path / "newer")
    code, output = run_course(workspaces["ada"], "update", str(tmp_path / "newer"))
    assert code == 0, output
    assert "Updated" in output, output
    text = (workspaces["ada"] / "minitorch" / "operators.py").read_text()
    assert text.startswith('"""Stage 0 - Newer scalar')
    assert f"return {roster.variants['ada'].parameters['activation']['slope']} * x" in text
    assert run_course(workspaces["ada"], "test", "0.1")[0] == 0

    for id, workspace in workspaces.items():
        target = term / "submissions" / "variants" / f"{id}@2026-10-01T10.00.00"
        for path in right:
            if (workspace / path).is_file():
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(workspace / path, target / path)
    output = staff("mark", "--term", str(term), "--workers", "2")
    whole = sum(course().task(id).points for id in ("0.1", "0.3", "0.5", "2.1"))
    assert f"ada  Variants  {whole} of {whole}" in output, output
    assert f"bob  Variants  {whole} of {whole}" in output
    assert f"cid  Variants  {0.7 * whole:g} of {whole}" in output
    for task in ("0.1", "0.3", "0.5", "2.1"):
        assert f"cid@2026-10-01T10.00.00: Task {task} carries the variant of bob\n" in output
    assert output.count("carries the variant") == 4
    out = term / "graded" / "variants"
    assert "bob" not in (out / "feedback" / "cid@2026-10-01T10.00.00.md").read_text()
    assert "carries the variant of bob" in (out / "class.html").read_text()
