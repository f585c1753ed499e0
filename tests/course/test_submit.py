"""The submission archive: exactly the files that are graded, and a list of what it contains and what it does not."""

import hashlib
import json
import zipfile

import pytest

from course.cli import report, submit
from course.cli.problem import Problem
from course.workspace.activity import OpenedHint, TaskActivity, TestRun, decode, encode
from tests.errors import raises

from .releases import Student, write
from .test_reset import ADD


@pytest.fixture
def student(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "HAND_INS", (report.HandIn("0.2", "scalar", ("run_scalar.py",)),))
    student = Student(tmp_path / "mein Ördner")
    student.edit("minitorch/sums.py", (ADD, "    return x + y\n"))
    junk = [".git/config", "minitorch/__pycache__/a.pyc", ".course/results.json", "data/big.bin", ".venv/lib/a.py", "reports/other/a.png"]
    write(student.root, dict.fromkeys(junk, b"junk") | {"reports/scalar/report.md": b"# Report\n"})
    return student


def archive_entries(student):
    with zipfile.ZipFile(student.root / "submission.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_archive_contains_exactly_the_tasks_files_and_reports(student):
    assert submit.run(student.root, student.manifest, student.console) == 0
    paths = ["minitorch/sums.py", "reports/scalar/report.md", "tests/test_sums.py"]
    assert archive_entries(student) == {path: (student.root / path).read_bytes() for path in paths}
    size = (student.root / "submission.zip").stat().st_size
    assert student.output == (
        "Task 0.1  unknown  minitorch/sums.py\n"
        "Task 0.2  todo     minitorch/sums.py, reports/scalar/report.md\n"
        "Task 0.3  todo     tests/test_sums.py\n"
        f"{student.root / 'submission.zip'}: 3 files, {size} bytes\n"
        "Some tasks are untested: course status runs the tests.\n"
    )


def test_the_same_files_give_the_same_bytes(student):
    hashes = set()
    for _ in range(2):
        submit.run(student.root, student.manifest, student.console)
        hashes.add(hashlib.sha256((student.root / "submission.zip").read_bytes()).hexdigest())
        sums = student.root / "minitorch/sums.py"
        sums.write_bytes(sums.read_bytes())
        sums.chmod(0o600)
    assert len(hashes) == 1
    assert [path.name for path in student.root.iterdir() if "submission" in path.name] == ["submission.zip"]


def test_files_that_are_left_out_are_named_with_the_reason(student):
    student.edit("minitorch/other.py", ("OTHER = 1", "OTHER = 2"))
    student.edit("minitorch/sums.py", ("import math\n", "import math\nfrom minitorch.mine import MINE\n"))
    write(student.root, {"minitorch/mine.py": b"MINE = 1\n", "notes.txt": b"notes"})
    (student.root / "tests/test_sums.py").unlink()
    submit.run(student.root, student.manifest, student.console)
    output = student.output
    unused = (
        "minitorch/sums.py imports minitorch/mine.py, which belongs to no task and is left out; move what it needs to minitorch/sums.py"
    )
    assert (
        "Left out:\n"
        "  tests/test_sums.py: is missing; course reset restores its stubs\n"
        "  minitorch/mine.py: belongs to no task\n"
        "  minitorch/other.py: given code, graded with a fresh copy\n"
        f"Warning:\n  {unused}\n"
    ) in output
    assert "Task 0.3  unknown  nothing\n" in output
    assert "notes.txt" not in output


def test_lines_that_grading_does_not_take_are_named(student):
    mine = (
        "TABLE = {}\n\nfor n in range(3):\n    TABLE[n] = n\n\ntry:\n    import fast\nexcept ImportError:\n    fast = None\n\n\ndef given"
    )
    student.edit("minitorch/sums.py", ("def given", mine), ('"""x."""\n    return x', '"""x."""\n    return x + 0'))
    submit.run(student.root, student.manifest, student.console)
    assert (
        "Warning:\n"
        "  minitorch/sums.py, line 15: for n in range(3): runs on import and is not taken by grading\n"
        "  minitorch/sums.py, line 18: try: runs on import and is not taken by grading\n"
        "  minitorch/sums.py, line 24: given is given; what you changed in it is not taken by grading\n"
    ) in student.output


def test_an_incompatible_signature_is_named(student):
    student.edit("minitorch/sums.py", ("def double(self, x):", "def double(self):"))
    submit.run(student.root, student.manifest, student.console)
    message = "  minitorch/sums.py, line 21: the course calls double(self, x), which your double(self) does not accept; change it back, or"
    assert message in student.output


def test_a_link_out_of_the_workspace_and_a_huge_file_are_left_out(student, monkeypatch):
    secret = student.root.parent / "secret.py"
    secret.write_text("x = 1\n", encoding="utf-8")
    (student.root / "tests/test_sums.py").unlink()
    (student.root / "tests/test_sums.py").symlink_to(secret)
    monkeypatch.setattr(submit, "LARGEST", 8)
    write(student.root, {"minitorch/sums.py": b"x = 1\n"})
    submit.run(student.root, student.manifest, student.console)
    assert list(archive_entries(student)) == ["minitorch/sums.py"]
    output = student.output
    assert f"  tests/test_sums.py: tests/test_sums.py is a link that leads out of the workspace, to {secret}; put the file itself" in output
    assert "  reports/scalar/report.md: 9 bytes, the maximum is 8\n" in output


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"x = (\n", "line 1: not valid Python: '(' was never closed"),
        (b"x = '\xe4'\n", "line 1: expected text in utf-8, got the byte 0xe4; save the file in the encoding UTF-8"),
        (b"\n" * 2 + b"x = '\xe4'\n", "line 3: expected text in utf-8, got the byte 0xe4; save the file in the encoding UTF-8"),
    ],
)
def test_invalid_python_is_refused_unless_forced(student, data, why):
    write(student.root, {"minitorch/sums.py": data})
    with raises(Problem, f"minitorch/sums.py, {why}; such a file cannot be graded: fix it, or run: course submit --anyway"):
        submit.run(student.root, student.manifest, student.console)
    assert not (student.root / "submission.zip").exists()
    assert submit.run(student.root, student.manifest, student.console, anyway=True) == 0
    assert archive_entries(student)["minitorch/sums.py"] == data
    assert f"Warning:\n  minitorch/sums.py, {why}\n" in student.output


def test_a_file_that_is_not_a_zip_file_is_not_overwritten(student):
    before = student.snapshot()
    for out, message in (
        ("minitorch/sums.py", f"{student.root}/minitorch/sums.py exists and is not a zip file; choose another file"),
        ("minitorch", f"{student.root}/minitorch is a folder; choose another file"),
        ("a/b.zip", f"the folder {student.root}/a does not exist; choose a file in an existing folder"),
    ):
        with raises(Problem, f"{message}: course submit --out FILE"):
            submit.run(student.root, student.manifest, student.console, out)
    assert student.snapshot() == before


def test_programs_get_json(student, capsys):
    submit.run(student.root, student.manifest, student.console, as_json=True)
    output = json.loads(capsys.readouterr().out)
    assert output["files"] == ["minitorch/sums.py", "reports/scalar/report.md", "tests/test_sums.py"]
    assert output["states"] == {"0.1": "unknown", "0.2": "todo", "0.3": "todo"}
    assert (output["left_out"], output["broken"], output["warnings"]) == ({}, [], [])


def test_an_empty_workspace_has_nothing_to_submit(student):
    manifest = student.manifest
    for path in ("minitorch/sums.py", "tests/test_sums.py", "reports/scalar/report.md"):
        (student.root / path).unlink()
    with raises(Problem, "none of the files that you write exists; run: course doctor"):
        submit.run(student.root, manifest, student.console)


# The record of the student's activity

FAILED = ["tests/test_sums.py::test_add", "tests/test_sums.py::test_[b]"]
RUNS = [TestRun(65, "failing", 1, 2, FAILED), TestRun(3700, "passed", 2, 2)]
ACTIVITY = {"0.1": TaskActivity("2026-10-05", 3725, RUNS, [OpenedHint(600, 1, 1)], [1])}


def write_record(student):
    """Write a record into the workspace, as the commands do."""
    write(student.root, {".course/activity.json": encode(ACTIVITY, last={"task": "0.1", "time": 1.0, "codes": {"0.1": "f00d"}})})


def test_the_record_is_left_out_unless_requested_and_one_line_says_so(student):
    submit.run(student.root, student.manifest, student.console)
    assert "--with-record" not in student.output
    write_record(student)
    submit.run(student.root, student.manifest, student.console)
    assert "reports/activity.json" not in archive_entries(student)
    line = "Your record of time, test runs and hints stays on this machine. To include it: course submit --with-record\n"
    assert line in student.output


def test_with_record_the_archive_has_the_record_without_times_of_day_and_hashes_as_show_record_prints_it(student, capsys):
    write_record(student)
    submit.run(student.root, student.manifest, student.console, with_record=True)
    data = archive_entries(student)["reports/activity.json"]
    assert decode(data) == ACTIVITY
    assert b"f00d" not in data
    assert "Record    reports/activity.json, as course submit --show-record shows it\n" in student.output
    assert "stays on this machine" not in student.output
    submit.show_record(student.root, student.console, as_json=True)
    assert capsys.readouterr().out.encode() == data


def test_show_record_shows_everything_that_would_be_submitted(student):
    write_record(student)
    assert submit.show_record(student.root, student.console) == 0
    assert student.output == (
        "Task 0.1: started 2026-10-05, 62 min 05 s of work\n"
        "   1 min 05 s  failing: 1 of 2 tests passed; failed: tests/test_sums.py::test_add, tests/test_sums.py::test_[b]\n"
        "  10 min 00 s  opened hint 1\n"
        "               course explain\n"
        "  61 min 40 s  passed: 2 of 2 tests passed\n"
        "\n"
        "This is all. It is in .course/activity.json, which you may delete, and nothing is sent anywhere.\n"
        "To include it in your submission: course submit --with-record\n"
    )
    assert not (student.root / "submission.zip").exists()


def test_show_record_handles_an_empty_or_damaged_record(student):
    for files in ({}, {".course/activity.json": b"{"}):
        write(student.root, files)
        submit.show_record(student.root, student.console)
        assert student.output == "Nothing is recorded yet.\n"
