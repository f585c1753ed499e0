"""The reports of the training tasks: each is written once, can be resumed, and is never left incomplete."""

import importlib

import pytest

from course.cli import report
from course.cli.problem import Problem
from course.manifest import ROOT, course
from course.workspace import backups
from tests.errors import raises

from .releases import Student, write
from .test_reset import ADD, DOUBLE

ONE = """
import pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--report") + 1])
print("epoch 1", sys.argv[1:3])
(folder / "report.md").write_text("# One")
"""

TWO = """
import pathlib, sys
flag = lambda name: pathlib.Path(sys.argv[sys.argv.index(name) + 1])
if "--resume" not in sys.argv:
    flag("--checkpoint").write_text("half")
    print("half way")
    sys.exit(int(pathlib.Path("status").read_text()))
print("gone on from", flag("--checkpoint").read_text())
(flag("--report") / "two.txt").write_text("two")
"""

HAND_INS = (report.HandIn("0.1", "one", ("run_one.py", "--set", "Xor")), report.HandIn("0.2", "two", ("run_two.py",), resumes=True))


@pytest.fixture
def student(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "HAND_INS", HAND_INS)
    student = Student(tmp_path / "mein Ördner")
    student.edit("minitorch/sums.py", (ADD, "    return x + y\n"))
    write(student.root, {"project/run_one.py": ONE.encode(), "project/run_two.py": TWO.encode(), "status": b"1"})
    return student


def run(student, id="", again=False):
    return report.run(student.root, student.manifest, student.console, id, again)


def test_written_programs_run_and_unwritten_ones_are_skipped(student):
    assert run(student) == 0
    lines = student.output.splitlines()
    assert lines[0] == "1 of 2  Task 0.1  reports/one  python project/run_one.py --set Xor --report reports/one"
    assert lines[2:] == [
        "2 of 2  Task 0.2  reports/two  left out: Task 0.2 is not written yet, in minitorch/sums.py",
        "Next: course submit",
    ]
    assert (student.root / "reports/one/report.md").read_text(encoding="utf-8") == "# One"
    assert (student.root / "reports/one/log.txt").read_text(encoding="utf-8") == "epoch 1 ['--set', 'Xor']\n"
    assert (student.root / "reports/index.md").read_text(encoding="utf-8") == (
        "# Reports\n\n| Task | Report | Command | Outcome |\n|---|---|---|---|\n"
        "| 0.1 | [one](one/) | `python project/run_one.py --set Xor --report reports/one` | epoch 1 ['--set', 'Xor'] |\n"
    )


def test_an_existing_report_is_kept_unless_again_is_requested(student):
    run(student, "0.1")
    write(student.root, {"reports/one/notes.txt": b"mine"})
    student.output  # noqa: B018  # what was printed before
    run(student, "0.1")
    assert student.output.splitlines()[0] == "1 of 1  Task 0.1  reports/one  exists"
    run(student, "0.1", again=True)
    assert not (student.root / "reports/one/notes.txt").exists()
    assert (student.root / "reports/one/report.md").exists()
    assert backups.read(student.root, backups.names(student.root)[0]).files["reports/one/notes.txt"] == b"mine"


def test_an_interrupted_run_is_resumed(student):
    student.edit("minitorch/sums.py", (DOUBLE, "        return 2 * x\n\n    def half"))
    student.edit("minitorch/sums.py", ('raise NotImplementedError("Need to implement for Task 0.2")', "return x / 2"))
    assert run(student) == 1
    output = student.output
    assert "  ended with status 1:\n  half way\n" in output
    assert output.endswith("1 could not be written. Next: course test 0.2\n")
    assert not (student.root / "reports/two").exists()
    assert run(student, "0.2") == 0
    assert (student.root / "reports/two/log.txt").read_text(encoding="utf-8") == "half way\ngone on from half\n"
    assert list((student.root / report.UNFINISHED).iterdir()) == []


def test_stopping_a_program_stops_the_command(student):
    student.edit("minitorch/sums.py", (DOUBLE, "        return 2 * x\n\n    def half"))
    student.edit("minitorch/sums.py", ('raise NotImplementedError("Need to implement for Task 0.2")', "return x / 2"))
    write(student.root, {"status": b"130"})
    with pytest.raises(KeyboardInterrupt):
        run(student, "0.2")
    assert not (student.root / "reports/two").exists()


def test_two_report_commands_cannot_run_at_once(student):
    with backups.exclusive_access(student.root, report.LOCK), pytest.raises(Problem, match=r"^another command is changing files"):
        run(student, "0.1")
    with backups.exclusive_access(student.root):  # a long report does not block a reset, and a reset does not block a report
        assert run(student, "0.1") == 0


def test_a_task_without_a_report_names_those_that_have_one(student):
    with raises(Problem, "Task 0.3 has no report; those with one are 0.1, 0.2; run: course report"):
        run(student, "0.3")
    with raises(Problem, "there is no task '0.9'; the tasks are 0.1, 0.2, 0.3; run: course list"):
        run(student, "0.9")


@pytest.mark.parametrize("hand_in", report.HAND_INS, ids=lambda hand_in: hand_in.name)
def test_the_programs_accept_the_flags_of_the_report(hand_in, tmp_path, capsys):
    """Each program rejects only the last flag, so it knows the others; without the last flag the program runs."""
    assert hand_in.task in [task.id for task in course().tasks]
    program, *flags = hand_in.command
    assert (ROOT / "project" / program).is_file()
    module = importlib.import_module(f"project.{program.removesuffix('.py')}")
    given = [*flags, "--report", str(tmp_path)] + (["--checkpoint", str(tmp_path / "c")] if hand_in.resumes else [])
    if program == "run_manual.py":
        assert module.main(given) == 0
        assert (tmp_path / "manual.md").is_file()
        return
    with pytest.raises(SystemExit):
        module.main([*given, "--log-every", "0"])
    assert "'--log-every': expected a whole number of at least 1, got 0" in capsys.readouterr().err
