"""A term: its policy and roster, which attempt counts, penalties for lateness, and reasons for changed marks."""

import csv
import json
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from course.manifest import course
from course.staff import RequestError, StaffError
from course.staff.grading.journal import Journal
from course.staff.grading.results import FAIL, PASS, Result, TaskResult, write_result
from course.staff.grading.submissions import read
from course.staff.term import roster
from course.staff.term.attempts import choose, days_late, find_attempts, free_days
from course.staff.term.history import History
from course.staff.term.policy import FILE, parse_policy
from course.staff.term.term import mark

from .staff_commands import assert_policy_refused, command_in_folder, replace_grading

TERM = """
[course]
title = "Autumn"
timezone = "Europe/Berlin"

[late]
days = 2
percent = 10
most = 4
grace = 10

[[deadline]]
name = "First"
tasks = ["0.1"]
due = 2026-10-05T18:00:00
attempts = 3

[[deadline]]
name = "Second"
tasks = ["0.3", "0.4"]
due = 2026-10-19
weight = 60

[[student]]
id = "ada"
name = "Ada Lovelace"
email = "ada@example.org"
canvas = "11"

[[student]]
id = "bob"
name = "=Bob"
[student.extensions]
First = 2
"""


def policy(text=TERM):
    return parse_policy(text, Path(FILE), course())


# The policy


def test_a_policy_has_the_values_of_its_file_and_a_module_is_expanded_to_its_tasks():
    found = policy()
    first, second = found.deadlines
    assert (first.name, first.tasks, first.attempts, first.due.isoformat()) == ("First", ("0.1",), 3, "2026-10-05T18:00:00+02:00")
    assert (second.tasks, second.due.isoformat(), second.weight) == (("0.3", "0.4"), "2026-10-19T23:59:59+02:00", 60.0)
    assert first.weight == course().task("0.1").points, "without a weight, what its tasks are worth"
    assert found.students["bob"].extensions == {"First": 2.0}
    assert (found.late.days, found.late.percent, found.late.most, found.late.grace) == (2, 10.0, 4, 10)
    tasks = policy(TERM.replace('["0.3", "0.4"]', '["1"]')).deadlines[1].tasks
    assert tasks == tuple(task.id for task in course().tasks if task.stage == 1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("percent = 10", 'percent = "ten"', "[late]: percent expected a number, got 'ten'"),
        ("percent = 10", "percent = 110", "[late]: percent expected a number from 0 to 100, got 110.0"),
        ("percent = 10", "percents = 10", "percents expected one of days, percent, most, grace, got 'percents'; did you mean 'percent'?"),
        ("most = 4", "most = -1", "[late]: most expected an integer of at least 0, got -1"),
        ("Europe/Berlin", "Atlantis", "[course]: timezone expected a name such as Europe/Berlin, got Atlantis"),
        ('title = "Autumn"', 'profile = "half"', "[course]: profile expected full or published, got half"),
        ('["0.1"]', '["0.9"]', "[[deadline]] First: tasks expected tasks (0.1,"),
        ('["0.1"]', "[0.1]", "got 0.1"),
        ('["0.1"]', "[]", "tasks expected at least one task, got none"),
        ('["0.1"]', '["0.3"]', "[[deadline]] Second: tasks expected tasks that are not in First, got 0.3"),
        ('name = "Second"', 'name = "first"', "name expected a unique name, got first"),
        ("due = 2026-10-05T18:00:00", 'due = "soon"', "[[deadline]] First: due expected a date, got 'soon'"),
        ("due = 2026-10-05T18:00:00", "", "[[deadline]] First: due expected a date, got nothing"),
        ("attempts = 3", "attempts = 0", "attempts expected an integer of at least 1, got 0"),
        ('id = "bob"', 'id = "ADA"', "id expected a unique id, got ADA"),
        ('id = "bob"', 'id = "../bob"', "id expected a string without @ and slashes that does not begin with one of . = + -, got '../bob'"),
        ('id = "bob"', "id = 7", "[[student]] 2: id expected a string, got 7"),
        ("First = 2", "Frist = 2", "extensions of bob: Frist expected a deadline (First, Second), got 'Frist'"),
        ("[late]", "[late", "is not valid TOML"),
        ("\n[course]", "\npupil = 1\n[course]", "term.toml: pupil expected one of course, late, deadline, student, variants, got 'pupil'"),
        ("[late]", "[[late]]", "term.toml: late expected a table, got"),
    ],
)
def test_an_invalid_policy_is_refused_with_the_entry(old, new, says):
    assert_policy_refused(TERM, old, new, says)


def test_unknown_names_are_reported_with_the_closest_match():
    with pytest.raises(RequestError, match="no deadline 'Frst'; did you mean 'First'"):
        policy().select(["Frst"])
    with pytest.raises(RequestError, match=r"Task 4\.1 has no deadline; the tasks of this term are 0\.1, 0\.3, 0\.4"):
        policy().deadline_of("4.1")
    assert [deadline.name for deadline in policy().select(["second"])] == ["Second"]


# The roster

LISTS = {
    "canvas": "Student,ID,SIS User ID,SIS Login ID,Section,HW (1)\n    Points Possible,,,,,10\n"
    '"Hopper, Grace",21,s1,grace@example.org,S1,7\n"Curie, Marie",22,s2,marie@example.org,S1,\n"Student, Test",23,,x,S1,\n',
    "moodle": '\ufeff"First name",Surname,"ID number",Email address\nGrace,Hopper,s1,grace@example.org\nMarie,Curie,s2,marie@example.org\n',
    "gradescope": "First Name;Last Name;SID;Email;Sections\nGrace;Hopper;s1;grace@example.org;S1\nMarie;Curie;s2;marie@example.org;S1\n",
    "github": '"identifier","github_username","github_id","name"\n"s1","hopper","1","Grace Hopper"\n"s2","","",""\n',
}


@pytest.fixture
def folder(tmp_path):
    """The folder of a term, without submissions."""
    (tmp_path / FILE).write_text(TERM)
    for name in ("first", "second"):
        (tmp_path / "submissions" / name).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("source", LISTS)
def test_student_lists_of_every_lms_are_accepted(source, folder):
    table = folder / "list.csv"
    table.write_text(LISTS[source], encoding="utf-8")
    assert roster.import_roster(folder, table, course()) == roster.ImportResult(2, 0, ())
    students = parse_policy((folder / FILE).read_text(), folder, course()).students
    assert list(students) == ["ada", "bob", "s1", "s2"]
    assert students["s1"].name in ("Grace Hopper", "Hopper, Grace")
    assert students["s1"].canvas == ("21" if source == "canvas" else "")
    assert roster.import_roster(folder, table, course()) == roster.ImportResult(0, 2, ()), "again, nobody is new"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("colour,size\nred,7\n", "expected a column of ids (sis user id,"),
        ("id\ns1\ns1\n", "expected each id once, got s1 2 times"),
        ("id\n", "expected students, got none"),
        ("id\na/b\n", "[[student]] 3: id expected a string without @ and slashes"),
        ("", "got: no heading"),
    ],
)
def test_an_invalid_list_changes_nothing(text, says, folder):
    table = folder / "list.csv"
    table.write_text(text)
    with pytest.raises(RequestError) as error:
        roster.import_roster(folder, table, course())
    assert says in str(error.value)
    assert (folder / FILE).read_text() == TERM


def test_a_list_in_an_unknown_encoding_is_refused(folder):
    (folder / "list.csv").write_bytes(b"id,name\ns1,G\x81del\n")  # not a letter in Windows-1252 either
    with pytest.raises(RequestError, match="expected a CSV table in UTF-8, got another encoding; save it as UTF-8"):
        roster.import_roster(folder, folder / "list.csv", course())


def test_a_new_term_has_a_deadline_for_every_module(tmp_path):
    path = roster.create_term(tmp_path / "term", course(), "2027-01-31")
    tasks = [tuple(task.id for task in course().tasks if task.stage == stage) for stage in range(5)]
    assert [deadline.tasks for deadline in parse_policy(path.read_text(), path, course()).deadlines] == tasks
    assert sorted(entry.name for entry in (tmp_path / "term" / "submissions").iterdir()) == [f"module-{stage}" for stage in range(5)]


# Attempts

DUE = datetime(2026, 10, 5, 16, tzinfo=UTC)


@pytest.mark.parametrize(("minutes", "days"), [(-1000, 0), (0, 0), (10, 0), (11, 1), (10 + 24 * 60, 1), (11 + 24 * 60, 2)])
def test_each_started_day_counts_after_the_grace_period(minutes, days):
    assert days_late(DUE + timedelta(minutes=minutes), DUE, 10) == days


@pytest.mark.parametrize(("late", "free"), [({"First": 1, "Second": 3}, (1, 1)), ({"First": 4}, (2, 0)), ({}, (0, 0))])
def test_free_days_are_used_in_the_order_of_the_deadlines(late, free):
    assert free_days(late, policy()) == dict(zip(("First", "Second"), free, strict=True))


def submit(folder, name, deadline="first", code="x = 1"):
    """Write a submission."""
    path = folder / "submissions" / deadline / name / "minitorch"
    path.mkdir(parents=True)
    (path / "operators.py").write_text(code + "\n")
    return path.parent


def test_the_name_of_a_submission_gives_its_student_and_time(folder):
    for name in ("ada@2026-10-05T17.00.00", "ADA@20261005T1900", "ada@2026-10-05T16.30.00Z", "lovelaceada_LATE_11_5_me", "eve", "bob@soon"):
        submit(folder, name)
    submit(folder, "=Bob_99_assignsubmission_file_")
    seconds = datetime(2026, 10, 4, 10, tzinfo=UTC).timestamp()
    for path in (folder / "submissions" / "first").iterdir():
        os.utime(path, (seconds, seconds))
    found, strangers = find_attempts(folder / "submissions" / "first", policy())
    assert [(attempt.path.name, attempt.time.astimezone(UTC).strftime("%d %H:%M"), attempt.is_named) for attempt in found["ada"]] == [
        ("lovelaceada_LATE_11_5_me", "04 10:00", False),
        ("ada@2026-10-05T17.00.00", "05 15:00", True),
        ("ada@2026-10-05T16.30.00Z", "05 16:30", True),
        ("ADA@20261005T1900", "05 17:00", True),
    ]
    assert sorted(attempt.path.name for attempt in found["bob"]) == ["=Bob_99_assignsubmission_file_", "bob@soon"]
    assert strangers == ["eve"]
    with pytest.raises(RequestError, match="there is no folder"):
        find_attempts(folder / "submissions" / "third", policy())


def test_the_last_accepted_attempt_counts_unless_it_is_too_late(folder):
    for time in ("10-01T10.00", "10-02T10.00", "10-06T10.00", "10-07T10.00"):
        submit(folder, f"ada@2026-{time}")
    (first, _), student = policy().deadlines, policy().students["ada"]
    attempts = find_attempts(folder / "submissions" / "first", policy())[0]["ada"]
    choice = choose(attempts, first, student, policy())
    assert (choice.attempt, choice.days) == (attempts[2], 1)
    assert choice.notes == ("4 submissions were handed in; only the first 3 are accepted.",)
    strict = policy(TERM.replace("most = 4", "most = 0"))
    choice = choose(attempts[:3], first, student, strict)
    assert (choice.attempt, choice.days) == (attempts[1], 0)
    assert choice.notes == ("The submission of 2026-10-06 10:00 is 1 day late; submissions are accepted up to 0 days late.",)
    assert choose(attempts[2:], first, student, strict).attempt is None
    assert choose([], first, student, policy()).attempt is None
    assert choose(attempts[:3], first, policy().students["bob"], policy()).days == 0, "two days more"


# Marks


class Grader:
    """Replaces grading: the file of a submission contains its mark, to which the current probes add a bonus."""

    def __init__(self):
        self.graded = []
        self.bonus = 0.0

    def grade(self, submissions, out, tasks, profile, **options):
        self.graded += submissions
        return [self.grade_one(name, path, out, tasks, profile) for name, path in submissions.items()]

    def grade_one(self, name, path, out, tasks, profile):
        earned = float((path / "minitorch" / "operators.py").read_text().partition("=")[2]) + self.bonus
        made = tuple(TaskResult(id, PASS if earned >= 10 else FAIL, float(course().task(id).points), earned) for id in tasks)
        result = Result(name, read(name, path, course()).hash, "", made, (), "none", 1, 1.0, profile)
        write_result(out / "results" / f"{name}.json", result)
        return result


@pytest.fixture
def grader(monkeypatch):
    grader = Grader()
    replace_grading(monkeypatch, grader.grade)
    return grader


@pytest.fixture
def marked(folder, grader):
    """Ada's submission with four points is marked."""
    submit(folder, "ada@2026-10-01T10.00", code="x = 4")
    mark(folder)


@pytest.fixture
def run(monkeypatch, capsys, folder):
    """Runs the command line in the term's folder; returns its exit code and all of its output."""
    return command_in_folder(folder, monkeypatch, capsys)


def read_table(folder):
    """The table of marks, as one dictionary a student."""
    with (folder / "marks" / "marks.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def scores(folder):
    """From the table: mark, days late and percent lost, by student and deadline."""
    columns, names = ("mark", "days late", "percent lost"), ("First", "Second")
    return {(row["id"], name): tuple(row[f"{name} {column}"] for column in columns) for row in read_table(folder) for name in names}


def test_marks_follow_from_the_counted_attempt_and_the_lateness_penalty(folder, grader):
    submit(folder, "ada@2026-10-01T10.00", code="x = 4")
    submit(folder, "ada@2026-10-08T10.00", code="x = 10")  # 3 days late, 2 of them free
    submit(folder, "bob@2026-10-07T10.00", code="x = 10")  # extended
    submit(folder, "ada@2026-10-21T10.00", "second", "x = 5")  # 2 days late, none free
    marked = mark(folder)
    assert scores(folder) == {
        ("ada", "First"): ("9", "3", "10"),
        ("ada", "Second"): ("8", "2", "20"),
        ("bob", "First"): ("10", "0", "0"),
        ("bob", "Second"): ("", "0", "0"),
    }
    assert sorted(grader.graded) == ["ada@2026-10-08T10.00.00", "ada@2026-10-21T10.00.00", "bob@2026-10-07T10.00.00"], "only what counts"
    assert [event.student for event in marked.changed] == ["ada", "ada", "bob"]
    assert mark(folder).changed == ()
    assert len(grader.graded) == 3, "once"


def test_the_final_mark_weighs_deadlines_and_missed_ones_count_as_zero(folder, grader):
    text = TERM.replace("2026-10-19", "2096-10-19").replace("due = 2026-10-05T18:00:00", "due = 2026-10-05T18:00:00\nweight = 20")
    (folder / FILE).write_text(text)
    points = {"First": course().task("0.1").points, "Second": course().task("0.3").points + course().task("0.4").points}
    submit(folder, "ada@2026-10-01T10.00", code="x = 5")

    def final():
        mark(folder)
        return [row["final percent"] for row in read_table(folder)]

    assert final() == [f"{100 * 5 / points['First']:g}", "0"], "Bob's first deadline is closed, the second one is not"
    submit(folder, "ada@2096-10-01T10.00", "second", "x = 10")
    assert final()[0] == f"{round(100 * (20 * 5 / points['First'] + 60 * 20 / points['Second']) / 80, 2):g}"


def test_a_mark_cannot_become_negative(folder, grader):
    (folder / FILE).write_text(TERM.replace("percent = 10", "percent = 60"))
    submit(folder, "ada@2026-10-09T10.00", code="x = 4")  # 4 days late, 2 of them free
    mark(folder)
    assert scores(folder)["ada", "First"] == ("0", "4", "100")


def test_every_cause_of_a_change_is_recorded(folder, grader, run):
    submit(folder, "ada@2026-10-09T10.00", code="x = 4")  # 4 days late
    run("mark")
    submit(folder, "ada@2026-10-09T12.00", code="x = 8")
    run("mark", "First")
    (folder / FILE).write_text(TERM.replace('canvas = "11"', 'canvas = "11"\nextensions = {First = 3}'))
    run("mark")
    (folder / FILE).write_text(TERM.replace("percent = 10", "percent = 5"))
    run("regrade")
    run("override", "ada", "0.1", "9", "--reason", "a good reason")
    run("override", "ada", "0.1", "--reason", "not so good")
    code, printed = run("history", "ada")
    lines = printed.splitlines()
    assert code == 0
    marks = [f"mark First {score} of 10" for score in ("3.2", "6.4", "8", "7.2", "8.1", "7.2")]
    assert [line.split("  ", 2)[1] for line in lines] == [*marks[:4], "override 0.1 9", marks[4], "override 0.1 withdrawn", marks[5]]
    assert "first mark; 4 days late (2 free): 20 % penalty" in lines[0]
    assert "another submission counts: ada@2026-10-09T12.00.00; Task 0.1: 4 → 8" in lines[1]
    assert "lateness: before 4 days late (2 free): 20 % penalty, now 1 day late (1 free): 0 % penalty" in lines[2]
    assert "now 4 days late (2 free): 10 % penalty" in lines[3]
    assert "Task 0.1: 8 → 9, by hand: a good reason" in lines[5]
    assert "Task 0.1: 9 → 8, no longer by hand" in lines[7]


@pytest.mark.usefixtures("marked")
def test_an_override_survives_a_regrade_and_needs_no_submission_and_a_comment_is_on_the_student_s_page(folder, grader, run):
    run("override", "ada", "0.1", "9", "--reason", "its idea is right")
    run("override", "bob", "0.3", "7.5", "--reason", "shown in the lesson")
    grader.bonus = 1.0
    run("regrade")
    assert (scores(folder)["ada", "First"][0], scores(folder)["bob", "Second"][0]) == ("9", "7.5")
    page = (folder / "marks" / "students" / "ada.md").read_text()
    assert "## First: 9 of 10 points" in page
    assert "0.1 9 (by hand)" in page
    assert "Task 0.1, by hand: its idea is right" in page
    assert run("comment", "ada", "See <me> on Monday")[0] == 0
    assert run("comment", "ada", "Read PEP 8", "--task", "0.1")[0] == 0
    page = (folder / "marks" / "students" / "ada.md").read_text()
    assert "## Comments\n\n- See \\<me\\> on Monday" in page
    assert "- Task 0.1: Read PEP 8" in page
    assert "PEP 8" not in (folder / "marks" / "students" / "bob.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("override", "ada", "0.1", "5"), "an override expected a reason, got none"),
        (("override", "ada", "0.1", "11", "--reason", "x"), "Task 0.1 expected a mark from 0 to 10, got 11"),
        (("override", "ada", "0.1", "nan", "--reason", "x"), "expected a mark from 0 to 10, got nan"),
        (("override", "ada", "4.1", "1", "--reason", "x"), "Task 4.1 has no deadline"),
        (("override", "adda", "0.1", "1", "--reason", "x"), "there is no student 'adda'; did you mean 'ada'?"),
        (("comment", "ada", " "), "a comment expected some text, got none"),
        (("history", "eve"), "there is no student 'eve'"),
        (("mark", "Third"), "there is no deadline 'Third'"),
        (("mark", "--term", "elsewhere"), "there is no elsewhere/term.toml; use the folder of a term"),
        (("roster", "nothing.csv"), "there is no nothing.csv; pass a CSV table"),
        (("term", "."), "term.toml already exists; edit it"),
    ],
)
def test_wrong_requests_are_reported(arguments, says, run, folder):
    code, printed = run(*arguments)
    assert code == 2
    assert says in " ".join(printed.split())
    assert not (folder / "history.jsonl").exists()


def test_unknown_students_and_names_without_a_time_are_reported(folder, grader, run):
    submit(folder, "eve@2026-10-01T10.00")
    submit(folder, "ada")
    code, printed = run("mark")
    assert code == 0
    assert "First: no student on the roster matches eve@2026-10-01T10.00; name submissions ID@TIME" in printed
    assert "1 submission has no time in its name (ada): the modification time of the file was used" in printed


def test_anonymous_submissions_are_graded_and_shown_under_pseudonyms(folder, grader):
    (folder / FILE).write_text(TERM.replace('title = "Autumn"', "anonymous = true"))
    submit(folder, "ada@2026-10-01T10.00", code="x = 4")
    mark(folder)
    (name,) = grader.graded
    assert name.startswith("student-")
    shown = "".join(
        path.read_text() for path in (folder / "graded" / "first").rglob("*.*") if path.suffix in (".md", ".html", ".csv", ".json")
    )
    assert name in shown
    assert "ada@" not in shown
    assert scores(folder)["ada", "First"][0] == "4"
    assert mark(folder).changed == (), "the names stay the same"


@pytest.fixture
def reads(monkeypatch):
    """Submissions are read as grading reads them; each task of one that can be read earns all its points."""

    def grade(submissions, out, tasks, profile, **options):
        results = []
        for name, path in submissions.items():
            taken = read(name, path, course())
            verdicts = () if taken.refused else tuple(TaskResult(id, PASS, 10, 10) for id in tasks)
            results.append(Result(name, taken.hash, taken.refused, verdicts, taken.left_out, "none", 1, 1.0, profile))
            write_result(out / "results" / f"{name}.json", results[-1])
        return results

    replace_grading(monkeypatch, grade)


def test_no_output_for_graders_names_a_student_of_an_anonymous_term(folder, reads):
    (folder / FILE).write_text(TERM.replace('title = "Autumn"', "anonymous = true").replace('"=Bob"', '"Bob Smith"'))
    place = folder / "submissions" / "first"
    (place / "ada@2026-10-01T10.00.zip").write_bytes(b"PK\x03\x04 damaged")
    inside = submit(folder, "bob@2026-10-01T10.00/bob-smith-workspace")
    (inside / "setup.py").write_text("x = 1\n")
    marked = mark(folder)
    files = [path for path in (folder / "graded").rglob("*") if path.is_file()]
    shown = "\n".join(f"{path.relative_to(folder)}\n{path.read_text(encoding='utf-8')}" for path in files)
    assert "is damaged or truncated" in shown
    assert "setup.py" in shown
    for name in ("ada", "lovelace", "bob", "smith"):
        assert not re.search(rf"(?i)\b{name}", shown), name
    assert {event.student for event in marked.changed} == {"ada", "bob"}, "the teacher sees who it is"
    assert mark(folder).changed == ()


# For the LMS


def read_rows(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_the_files_for_canvas_and_moodle_have_their_columns(folder, grader):
    submit(folder, "ada@2026-10-06T10.00", code="x = 4")
    mark(folder)
    head, points, ada, bob = read_rows(folder / "marks" / "canvas.csv")
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "First", "Second"]
    assert points == ["    Points Possible", "", "", "", "", "10", str(course().task("0.3").points + course().task("0.4").points)]
    assert ada == ["Ada Lovelace", "11", "ada", "", "", "4", ""]
    assert bob[0] == "'=Bob", "no formula"
    head, ada, _ = read_rows(folder / "marks" / "moodle.csv")
    assert head == ["ID number", "Email address", "Full name", "First", "First feedback", "Second", "Second feedback"]
    assert ada == ["ada", "ada@example.org", "Ada Lovelace", "4", "1 day late (1 free): 0 % penalty", "", ""]


@pytest.mark.usefixtures("marked")
def test_the_worksheet_command_fills_in_marks_and_names_unknown_students(folder, grader, run):
    sheet = "Identifier,Full name,Grade,Last modified (grade)\nParticipant 1,Ada Lovelace,,-\nParticipant 2,Eve [red],,-\n"
    (folder / "sheet.csv").write_text(sheet)
    code, printed = run("worksheet", "sheet.csv", "--deadline", "first")
    assert code == 0
    assert "no unique match on the roster, left unchanged: Eve [red]" in printed
    assert str(Path("marks", "moodle-first.csv")) in printed.splitlines()
    rows = read_rows(folder / "marks" / "moodle-first.csv")[1:]
    assert rows == [["Participant 1", "Ada Lovelace", "4", "-"], ["Participant 2", "Eve [red]", "", "-"]]
    assert len(grader.graded) == 1


def test_the_roster_command_warns_about_a_guessed_encoding(folder, run):
    (folder / "list.csv").write_bytes("id,name\ns1,Gödel\n".encode("cp1252"))
    code, printed = run("roster", "list.csv")
    assert code == 0
    assert "list.csv is not UTF-8 and was read as Windows-1252; check the names, such as Gödel" in printed
    assert "1 added, 0 already on the roster" in printed


# What goes wrong


@pytest.mark.usefixtures("marked")
def test_an_unreadable_line_of_the_history_is_kept_and_reported(folder, run):
    path = folder / "history.jsonl"
    before = path.read_bytes()
    path.write_bytes(b'{"kind": "mark", "stu\n' + before + b'{"half a li')
    submit(folder, "bob@2026-10-01T10.00", code="x = 3")
    code, printed = run("mark")
    assert code == 0
    assert "line 1 cannot be read and was ignored" in printed
    assert "line 3 cannot be read" in printed
    assert path.read_bytes().startswith(b'{"kind": "mark", "stu\n' + before + b'{"half a li\n')
    assert [event.student for event in History(folder).events] == ["ada", "bob"]


def test_a_full_disk_loses_nothing_and_is_reported(folder, grader, monkeypatch):
    submit(folder, "ada@2026-10-01T10.00", code="x = 4")
    sync = os.fsync

    def raise_disk_full(number):
        if os.readlink(f"/proc/self/fd/{number}").endswith("history.jsonl"):
            raise OSError(28, "No space left on device")
        sync(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", raise_disk_full)
        with pytest.raises(StaffError, match=r"history\.jsonl could not be written \(No space left on device\)"):
            mark(folder)
    (folder / "history.jsonl").unlink()  # as it never reached the disk
    assert [event.score for event in mark(folder).changed] == [4.0]
    assert len(grader.graded) == 1, "what was graded is kept"


def test_concurrent_commands_are_reported(folder, grader):
    with Journal(folder / "graded").lock(), pytest.raises(RequestError, match="another run is writing to"):
        mark(folder)


@pytest.mark.usefixtures("marked")
def test_the_history_has_an_object_a_line_for_another_submission_and_a_regrade_and_none_for_an_unchanged_mark(folder, grader):
    (entry,) = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    assert (entry["kind"], entry["student"], entry["about"], entry["score"]) == ("mark", "ada", "First", 4.0)
    assert datetime.fromisoformat(entry["time"]) <= datetime.now(UTC)
    submit(folder, "ada@2026-10-02T10.00", code="x = 4")
    (event,) = mark(folder).changed
    assert (event.score, event.why) == (4.0, ("another submission counts: ada@2026-10-02T10.00.00",))
    grader.bonus = 2.0
    assert mark(folder).changed == ()
    (event,) = mark(folder, again=True).changed
    assert (event.score, event.why) == (6.0, ("Task 0.1: 4 → 6, regraded with other probes, tasks or versions",))
