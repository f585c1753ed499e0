"""The teacher's command line: its calls of grading and its output; grading itself is tested elsewhere."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from course.staff import StaffError, cli
from course.staff.grading.results import FAIL, PASS, Result, TaskResult, write_result

from .staff_commands import replace_grading


@dataclass
class Grader:
    """Replaces grading: keeps the arguments of the last call, and returns the results or raises the error."""

    results: list[Result] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    error: Exception | None = None

    def grade(self, submissions, out, progress, **asked):
        self.asked = asked | {"submissions": submissions, "out": out}
        progress(SimpleNamespace(done=0, total=2, left=None, now="", warning="no sandbox [here]"))
        progress(SimpleNamespace(done=1, total=2, left=100.0, now="ann: Task 0.1", warning=""))
        if self.error:
            raise self.error
        return self.results


@pytest.fixture
def grader(monkeypatch):
    grader = Grader()
    replace_grading(monkeypatch, grader.grade)
    return grader


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs the command line; returns its exit code and its output."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["course-staff", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out.splitlines(), printed.err.splitlines()

    return run


def result(name, refused="", **flags):
    tasks = () if refused else (TaskResult("0.1", PASS, 10, 10), TaskResult("0.2", FAIL, 10, 0, **flags))
    return Result(name, "0" * 64, refused, tasks, (), "bubblewrap", 1, 1.0)


def test_grade_prints_the_numbers_of_graded_refused_and_flagged_submissions(grader, run, tmp_path):
    grader.results = [result("ann"), result("ben", disagrees=True), result("cem", flaky=True), result("dan", "not a zip file")]
    code, printed, errors = run("grade", "a", "b", "--out", str(tmp_path), "--task", "0", "--task", "1.1", "--seed", "5", "--workers", "1")
    assert code == 1
    assert printed == [
        "3 graded, 1 refused, 2 to look at",
        "  look at: ben, cem",
        f"feedback    {tmp_path}/feedback",
        f"page        {tmp_path}/class.html",
        f"table       {tmp_path}/class.csv",
    ]
    assert errors == ["no sandbox [here]", "1 of 2: ann: Task 0.1", "refused: dan: not a zip file"]
    options = {"workers": 1, "seed": 5, "no_sandbox": False, "scale": "", "profile": "full"}
    tasks = ["0.1", "0.2", "0.3", "0.4", "0.5", "1.1"]
    assert grader.asked == {"submissions": [Path("a"), Path("b")], "out": tmp_path, "tasks": tasks, **options}
    assert (tmp_path / "class.csv").is_file()


def test_outputs_are_rewritten_from_the_results(run, tmp_path):
    write_result(tmp_path / "results" / "ann.json", result("ann"))
    assert run("outputs", str(tmp_path), "--format", "junit") == (0, [f"junit       {tmp_path}/junit.xml"], [])
    assert "ann" in (tmp_path / "junit.xml").read_text(encoding="utf-8")


def test_a_stopped_run_names_the_command_that_continues(grader, run, tmp_path):
    grader.error = StaffError("stopped; 1 of 2 are graded, and their results are kept")
    grader.error.code, grader.error.next = 130, "course-staff grade a --out b"
    code, printed, errors = run("grade", "a", "--out", str(tmp_path))
    assert (code, printed) == (130, [])
    assert errors[-2:] == ["error: stopped; 1 of 2 are graded, and their results are kept", "next: course-staff grade a --out b"]


UNKNOWN = "there is no task 9{}; the tasks are 0.1, 0.2"
OUTPUTS = "there is no output pdf; the outputs are feedback, page, table, junit, gradescope, classroom"
RANGE = "--modules expected a range from 0, such as 0-1, got '{}'"
LATER = "--staff 1 expected a module of the workspace, which ends with Module 0"


@pytest.mark.parametrize(
    ("arguments", "error", "next_command"),
    [
        ("grade a --out OUT --task 9", UNKNOWN.format(""), "grade --help"),
        ("grade a --out OUT --format pdf", OUTPUTS, "outputs --help"),
        ("outputs OUT", "OUT holds no results", "grade SUBMISSIONS --out OUT"),
        ("classroom OUT --github", "OUT is not a handout; create one first", "handout OUT"),
        ("prove 9.9", UNKNOWN.format(".9"), "prove"),
        ("handout --modules 1-2 OUT", RANGE.format("1-2"), "handout --modules 0-1 DIR"),
        ("handout --modules 1 OUT", RANGE.format("1"), "handout --modules 0-1 DIR"),
        ("handout --modules 0-9 OUT", "there is no stage 9; the stages are 0, 1", "--help"),
        ("patterns 9.9", UNKNOWN.format(".9"), "patterns"),
        ("handout OUT --modules 0 --staff 1", LATER, "--help"),
    ],
)
def test_an_impossible_request_ends_with_one_line_and_the_next_command(grader, run, tmp_path, arguments, error, next_command):
    code, printed, errors = run(*(str(tmp_path / "out") if word == "OUT" else word for word in arguments.split()))
    assert (code, printed) == (2, [])
    expected = [line.replace("OUT", str(tmp_path / "out")) for line in (f"error: {error}", f"next: course-staff {next_command}")]
    assert [line[: len(start)] for line, start in zip(errors, expected, strict=True)] == expected
