"""A teacher's term from end to end, through the commands: roster, deadlines, lateness, regrades, a manual mark, and files for the LMS."""

import csv
import shutil

import pytest

from course.manifest import ROOT
from tests.course.formats import import_as_canvas, import_as_moodle_worksheet, rows_of
from tests.course.staff_commands import command_in_process

FOLDERS = ("course", "docs", "minitorch", "project", "tests")
POLICY = """
[course]
title = "Autumn"

[late]
days = 1
percent = 20
most = 5

[[deadline]]
name = "Operators"
tasks = ["0.1"]
due = 2026-10-05

[[deadline]]
name = "Lists"
tasks = ["0.3"]
due = 2026-10-12

[[deadline]]
name = "Derivatives"
tasks = ["1.1"]
due = 2026-10-19
canvas = 303
"""
ROSTER = """Student,ID,SIS User ID,SIS Login ID,Section
    Points Possible,,,,
"Lovelace, Ada",7001,ada,ada@example.org,A
"Boole, George",7002,george,george@example.org,B
"""
SHEET = """Identifier,Full name,Grade,Maximum grade,Last modified (grade),Feedback comments
Participant 71,"Boole, George",,POINTS,-,
"""


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """A teacher's own copy of the reference; the test changes its probes."""
    copy = tmp_path_factory.mktemp("reference") / "minitorch"
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "_build", ".*"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    return copy


@pytest.fixture(scope="module")
def staff(reference, tmp_path_factory):
    """Runs `course-staff` in that copy; returns its output."""
    return command_in_process(reference, tmp_path_factory.mktemp("cache"))


def submit(term, deadline, name, file, *changed):
    """Submit a file of the reference with some changes."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for old, new in changed:
        assert old in text
        text = text.replace(old, new)
    path = term / "submissions" / deadline / name / file
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


def marks(term):
    """The table of marks by student."""
    with (term / "marks" / "marks.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def history(staff, term):
    """George's history, one line per event."""
    return staff("history", "george", "--term", str(term)).splitlines()


def test_a_whole_term_gives_the_expected_marks(reference, staff, tmp_path):
    term = tmp_path / "autumn"
    assert "5 deadlines" in staff("term", str(term))
    (term / "term.toml").write_text(POLICY)
    shutil.rmtree(term / "submissions")
    for deadline in ("operators", "lists", "derivatives"):
        (term / "submissions" / deadline).mkdir(parents=True)
    (tmp_path / "students.csv").write_text(ROSTER)
    assert "2 added, 0 already on the roster" in staff("roster", str(tmp_path / "students.csv"), "--term", str(term))

    # The first deadline: Ada's submission is right and a day late, within her free days; George's relu is wrong
    submit(term, "operators", "ada@2026-10-06T09.00.00", "minitorch/operators.py")
    submit(term, "operators", "george@2026-10-01T09.00.00", "minitorch/operators.py", ("return x if x > 0 else 0.0", "return x"))
    output = staff("mark", "Operators", "--term", str(term), "--workers", "1")
    assert "2 marks changed" in output
    row = marks(term)
    assert [row["ada"][f"Operators {what}"] for what in ("mark", "days late", "percent lost")] == ["10", "1", "0"]
    wrong = float(row["george"]["Operators mark"])
    assert 0 < wrong < 10

    # The second deadline: George is two days late and has one free day left
    submit(term, "lists", "ada@2026-10-10T09.00.00", "minitorch/operators.py")
    submit(term, "lists", "george@2026-10-14T09.00.00", "minitorch/operators.py")
    staff("mark", "Lists", "--term", str(term), "--workers", "1")
    row = marks(term)
    points = float(row["george"]["Lists points"])
    assert float(row["george"]["Lists mark"]) == pytest.approx(0.8 * float(row["ada"]["Lists mark"]), abs=0.01)
    assert float(row["ada"]["Lists mark"]) <= points
    assert [row["george"][f"Lists {what}"] for what in ("days late", "percent lost")] == ["2", "20"]

    # The third deadline: George's step is too large in a case that the task does not ask for
    submit(term, "derivatives", "ada@2026-10-18T09.00.00", "minitorch/autodiff.py")
    submit(term, "derivatives", "george@2026-10-18T09.00.00", "minitorch/autodiff.py", ("epsilon: float = 1e-6", "epsilon: float = 0.5"))
    staff("mark", "--term", str(term), "--workers", "1")
    row = marks(term)
    assert row["ada"]["Derivatives mark"] == row["ada"]["Derivatives points"]
    before = float(row["george"]["Derivatives mark"])
    assert 0 < before < float(row["george"]["Derivatives points"])

    # A probe of Module 1 gets a lower weight: only its deadline is graded again, and only George's mark changes
    probes = reference / "course" / "staff" / "probes" / "module1.py"
    text = probes.read_text(encoding="utf-8")
    weighed = "    weight=3,\n    examples=[(1.0, 2.0, 3.0, 0, 0.5)"
    assert text.count(weighed) == 1
    probes.write_text(text.replace(weighed, weighed.replace("3", "9", 1)))
    results = {path: path.stat().st_mtime_ns for path in (term / "graded").rglob("results/*.json")}
    assert "0 marks changed" in staff("mark", "--term", str(term), "--workers", "1")
    output = staff("regrade", "--term", str(term), "--workers", "1")
    assert "1 mark changed" in output
    assert "regraded with other probes, tasks or versions" in output
    assert float(marks(term)["george"]["Derivatives mark"]) > before
    untouched = [path for path in results if path.exists() and path.stat().st_mtime_ns == results[path]]
    assert sorted({path.parts[-3] for path in untouched}) == ["lists", "operators"]
    assert len(untouched) == 4

    # A manual mark survives another change of the probes; without it, the mark is that of the latest probes
    first, graded_mark = history(staff, term), float(marks(term)["george"]["Derivatives mark"])
    output = staff("override", "george", "1.1", "9.5", "--reason", "explained it at the board", "--term", str(term))
    assert "1 mark changed" in output
    probes.write_text(text.replace(weighed, weighed.replace("3", "1", 1)))
    assert "0 marks changed" in staff("regrade", "Derivatives", "--term", str(term), "--workers", "1")
    row = marks(term)
    assert [row["george"]["Derivatives mark"], row["ada"]["Derivatives mark"]] == ["9.5", row["ada"]["Derivatives points"]]
    assert "explained it at the board" in (term / "marks" / "students" / "george.md").read_text(encoding="utf-8")
    output = staff("override", "george", "1.1", "--reason", "it was somebody else", "--term", str(term))
    assert "no longer by hand" in output
    latest = float(marks(term)["george"]["Derivatives mark"])
    assert latest < before < graded_mark
    events = history(staff, term)
    assert events[: len(first)] == first, "the history is only ever added to"
    assert [line.split("  ")[1] for line in events[len(first) :]] == [
        "override 1.1 9.5",
        "mark Derivatives 9.5 of " + row["ada"]["Derivatives points"],
        "override 1.1 withdrawn",
        f"mark Derivatives {latest:g} of {row['ada']['Derivatives points']}",
    ]

    # Exports for the LMS
    staff("override", "george", "0.1", "9", "--reason", "the idea is right", "--term", str(term))
    staff("comment", "george", "Ask me about steps", "--task", "1.1", "--term", str(term))
    assert [line.split("  ")[1] for line in history(staff, term) if "  mark Operators" in line] == [
        f"mark Operators {wrong:g} of 10",
        "mark Operators 9 of 10",
    ]
    row = marks(term)
    taken = import_as_canvas((term / "marks" / "canvas.csv").read_bytes())
    assert taken.assignments == [("Operators", None), ("Lists", None), ("Derivatives", 303)]
    assert taken.points == [row["ada"][f"{name} points"] for name in ("Operators", "Lists", "Derivatives")]
    assert taken.grades == {
        ("id", number): [row[id][f"{name} mark"] for name in ("Operators", "Lists", "Derivatives")]
        for id, number in (("ada", "7001"), ("george", "7002"))
    }
    assert [each[:5] for each in rows_of(term / "marks" / "canvas.csv")[2:]] == list(csv.reader(ROSTER.splitlines()[2:]))
    moodle = rows_of(term / "marks" / "moodle.csv")
    assert moodle[0][3:5] == ["Operators", "Operators feedback"]
    assert moodle[2][3:7] == ["9", "", row["george"]["Lists mark"], "2 days late (1 free): 20 % penalty"]
    (tmp_path / "sheet.csv").write_text(SHEET.replace("POINTS", row["george"]["Lists points"]))
    staff("worksheet", str(tmp_path / "sheet.csv"), "--deadline", "Lists", "--term", str(term))
    filled = import_as_moodle_worksheet((term / "marks" / "moodle-lists.csv").read_bytes())
    assert filled == {71: (row["george"]["Lists mark"], "2 days late (1 free): 20 % penalty")}
    page = (term / "marks" / "students" / "george.md").read_text(encoding="utf-8")
    assert "Task 0.1, by hand: the idea is right" in page
    assert "2 days late (1 free): 20 % penalty" in page
    assert "Task 1.1: Ask me about steps" in page
