"""Files for other systems: each is checked against the published format, and imported again."""

import base64
import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from course.manifest import course
from course.staff import RequestError
from course.staff.classroom import autograder
from course.staff.grading.results import FAIL, Result, TaskResult, VisibleTest
from course.staff.outputs import classroom, gradescope, junit, table
from course.staff.term.exports import fill_worksheet, write_exports
from course.staff.term.gradebook import Standing
from course.staff.term.history import History
from course.staff.term.policy import FILE, Policy, read_policy
from course.staff.term.roster import import_roster

from .formats import CLASSROOM, GRADESCOPE, import_as_canvas, import_as_moodle_worksheet, junit_errors, rows_of
from .sample_results import ADA, BEN, CLASS, EVE, NOT_DONE, PARTLY

NASTY = "Zoë 🦆 \"quoted\", 'single'; <b>&amp;\x00\x1b[31m\ud800\r\n=1+1"
"""Characters that may occur in a name or a message."""

NASTY_TEST = VisibleTest(f"t.py::{NASTY}", "failed", NASTY)

EXTREMES = [
    *CLASS,
    replace(ADA, tasks=(NOT_DONE,)),
    replace(EVE, refused=NASTY),
    replace(ADA, submission=NASTY, tasks=(replace(PARTLY, reason=NASTY, visible=(NASTY_TEST,)),), left_out=(NASTY,)),
    Result("big", "h", "", (TaskResult("0.1", FAIL, 1e6, 1 / 3, seconds=123456.789),), (), "", 7, 1e6),
    Result("none", "h", "", (), (), "", 7, 0.0),
]
"""Results with extreme values."""


every_result = pytest.mark.parametrize("result", EXTREMES, ids=range(len(EXTREMES)))


@every_result
def test_gradescope_accepts_every_results_json(result: Result, tmp_path: Path) -> None:
    gradescope.write_gradescope([result], tmp_path)
    [file] = tmp_path.rglob("results.json")
    jsonschema.validate(json.loads(file.read_text(encoding="utf-8")), GRADESCOPE)


def test_gradescope_accepts_the_result_of_a_submission_that_could_not_be_graded() -> None:
    jsonschema.validate(autograder.failure_document(), GRADESCOPE)


@pytest.mark.parametrize(
    "document",
    [
        *({}, {"tests": []}, {"tests": [{"name": "no score"}]}, {"score": "10"}),
        *({"score": 1, **more} for more in ({"tests": [{"status": "error"}]}, {"visibility": "public"}, {"tests": [{"number": 1.1}]})),
        {"score": 1, "leaderboard": [{"name": "Time"}]},
    ],
)
def test_our_gradescope_schema_rejects_what_gradescope_rejects(document: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, GRADESCOPE)


@every_result
def test_the_github_classroom_reporter_accepts_every_line(result: Result) -> None:
    line = classroom.line_of_output(result)
    key, _, encoded = line.partition("=")
    assert (key, line.count("\n"), line[-1]) == ("result", 1, "\n")
    document = json.loads(base64.b64decode(encoded))
    jsonschema.validate(document, CLASSROOM)
    assert sum(test["score"] for test in document["tests"]) == pytest.approx(result.mark, abs=0.01)


def test_a_result_with_long_messages_fits_into_the_reporter_s_environment() -> None:
    """An environment variable on Linux holds at most 128 KiB."""
    tasks = tuple(replace(PARTLY, task=f"0.{number}", visible=(VisibleTest("t.py::t", "failed", "x" * 5000),)) for number in range(30))
    assert len(classroom.line_of_output(replace(ADA, tasks=tasks))) < 128 * 1024 - len("COURSE_RESULTS=")


@every_result
def test_jenkins_accepts_every_junit_file(result: Result, tmp_path: Path) -> None:
    junit.write_junit([BEN, result], tmp_path / "junit.xml")
    assert junit_errors(ElementTree.parse(tmp_path / "junit.xml").getroot()) == []


def test_our_junit_schema_rejects_what_jenkins_rejects() -> None:
    text = '<testsuites skipped="0"><testsuite name="a" tests="1"><testcase time="1e3"/>text<case/></testsuite></testsuites>'
    assert junit_errors(ElementTree.fromstring(text)) == [
        "<testsuites> may not have skipped",
        "<testsuite> lacks failures",
        "<testsuite> lacks errors",
        "<testsuite> may not hold <case>",
        "<testcase> lacks name",
        "<testcase> has the time 1e3",
        "<case> is unknown",
    ]


# Canvas and Moodle

TERM = """
[course]
title = "Autumn"

[[deadline]]
name = "First"
tasks = ["0.1"]
due = 2026-10-05

[[deadline]]
name = "Second; with, \\"signs\\""
tasks = ["0.3"]
due = 2026-10-19
canvas = 102
"""

CANVAS = (
    'Student,ID,SIS User ID,SIS Login ID,Section,"First, a warm-up; easy (101)","Second; with, ""signs"" (102)",First Final Score\r\n'
    ",,,,,Manual Posting,,(read only)\r\n"
    "    Points Possible,,,,,10.00,10.00,(read only)\r\n"
    '"Hopper, Grace",21,0012345,grace@example.org,S1 and S2,7.00,,70.0\r\n'
    '"Gödel, Kurt  ""K""",22,,kurt@example.org,S1,,,\r\n'
    '"Ω, Ada",23,17/ENG/004,ada,S1,,,\r\n'
    '"Student, Test",24,,a1b2c3,S1,,,\r\n'
)
"""A gradebook as Canvas exports it: a row about posting, a read-only column, a student without SIS ids, and the test student."""

MOODLE = (
    '\ufeff"First name",Surname,"ID number",Institution,Department,"Email address","Assignment: First (Real)",'
    '"Last downloaded from this course"\n'
    'Grace,Hopper,0012345,,,grace@example.org,-,1790000000\nKurt,Gödel,,,,"kurt@example.org",-,1790000000\n'
)

GRADESCOPE_ROSTER = (
    "First Name,Last Name,SID,Email,Role,Sections\n"
    "Grace,Hopper,0012345,grace@example.org,Student,S1\nKurt,Gödel,,kurt@example.org,Student,S1\nAlan,Turing,,alan@example.org,Instructor,\n"
)

CLASSROOM_ROSTER = (
    '"identifier","github_username","github_id","name"\n"grace@example.org","hopper","1","Grace Hopper"\n'
    '"kurt@example.org","","",""\n"i02-cesar acebal (a02)","","",""\n'
)


@pytest.fixture
def term(tmp_path: Path) -> Path:
    """The folder of a term without students."""
    (tmp_path / FILE).write_text(TERM, encoding="utf-8")
    return tmp_path


def policy(term: Path) -> Policy:
    return read_policy(term, course())


def import_as(term: Path, data: bytes) -> tuple[int, int, tuple[str, ...]]:
    """Import a roster from these bytes: the numbers of added and known students, and the warnings."""
    (term / "roster.csv").write_bytes(data)
    done = import_roster(term, term / "roster.csv", course())
    return done.added, done.known, done.warnings


def export(term: Path, marks: Mapping[str, float]) -> Path:
    """Write the exports, with marks for the first deadline; returns their folder."""
    found = policy(term)
    first, second = found.deadlines
    standings = {
        id: [Standing(id, first, first.due, marks.get(id), 10.0, {}), Standing(id, second, second.due, None, 10.0, {})]
        for id in found.students
    }
    write_exports(found, standings, History(term), term / "marks", datetime(2026, 11, 1, tzinfo=UTC))
    return term / "marks"


def rows_of_students(text: str, columns: int) -> list[list[str]]:
    """The columns about students in a Canvas file, without the test student."""
    return [row[:columns] for row in list(csv.reader(io.StringIO(text)))[3:] if row[0] != "Student, Test"]


def test_a_canvas_gradebook_round_trips_students_and_ids(term: Path) -> None:
    assert import_as(term, CANVAS.encode()) == (3, 0, ())
    assert list(policy(term).students) == ["0012345", "22", "ada"]
    assert (policy(term).students["22"].lms_id, policy(term).students["0012345"].lms_id) == ("", None)
    file = export(term, {"0012345": 7.5}) / "canvas.csv"
    assert [row[:5] for row in rows_of(file)[2:]] == rows_of_students(CANVAS, 5)
    taken = import_as_canvas(file.read_bytes())
    assert taken.assignments == [("First", None), ('Second; with, "signs"', 102)]
    assert taken.points == ["10", "10"]
    assert taken.grades == {("id", "21"): ["7.5", ""], ("id", "22"): ["", ""], ("id", "23"): ["", ""]}


def test_gradebooks_with_semicolons_and_those_saved_by_excel_are_read(term: Path) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=";").writerows(csv.reader(io.StringIO(CANVAS)))
    import_as(term, CANVAS.encode())
    expected = policy(term).students
    for data in (text.getvalue().encode("utf-8-sig"), text.getvalue().replace("Ω", "O").encode("cp1252"), text.getvalue().encode("utf-16")):
        (term / FILE).write_text(TERM, encoding="utf-8")
        message = 'roster.csv is not UTF-8 and was read as Windows-1252; check the names, such as Gödel, Kurt  "K"'
        assert import_as(term, data) == (3, 0, (message,) if data[:1] == b"S" else ())
        found = policy(term).students
        assert [replace(student, name="") for student in found.values()] == [replace(student, name="") for student in expected.values()]
        assert found["22"].name == 'Gödel, Kurt  "K"'


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (MOODLE, ["0012345", "kurt"]),
        (GRADESCOPE_ROSTER, ["0012345", "kurt"]),
        (CLASSROOM_ROSTER, ["grace", "kurt", "i02-cesar acebal (a02)"]),
    ],
    ids=["moodle", "gradescope", "github"],
)
def test_students_without_an_id_are_identified_by_another_unique_name(term: Path, data: str, ids: list[str]) -> None:
    import_as(term, data.encode())
    assert list(policy(term).students) == ids
    assert import_as(term, data.encode()) == (0, len(ids), ()), "the same students again"


def test_two_students_who_would_get_the_same_id_are_refused(term: Path) -> None:
    with pytest.raises(RequestError, match="expected each id once, got kurt 2 times"):
        import_as(term, b"identifier,name\nkurt@a.org,K\nkurt@b.org,K\n")


def test_a_moodle_gradebook_round_trips_ids_and_addresses(term: Path) -> None:
    import_as(term, MOODLE.encode())
    head, grace, kurt = rows_of(export(term, {"0012345": 7.5}) / "moodle.csv")
    assert head[:3] == ["ID number", "Email address", "Full name"]
    assert grace[:4] == ["0012345", "grace@example.org", "Grace Hopper", "7.5"]
    assert kurt[:4] == ["", "kurt@example.org", "Kurt Gödel", ""]


@pytest.mark.parametrize("name", ["=1+1", "=1+1 ", " =1+1", "\t=1+1", "\r\n=1+1", "+1", "-1", "@SUM(A1)", "＝1+1", "a\n=1+1"])
def test_no_cell_of_a_table_is_a_formula(term: Path, name: str) -> None:
    (term / FILE).write_text(
        f"{TERM}\n[[student]]\nid = 'ada'\nname = {json.dumps(name)}\nsection = {json.dumps(name)}\n", encoding="utf-8"
    )
    folder = export(term, {"ada": 1})
    table.write_table([replace(ADA, submission=name)], folder / "class.csv")
    for file in sorted(folder.glob("*.csv")):
        for cell in (cell for row in rows_of(file) for cell in row):
            assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝"))
            assert not set(cell) & set("\t\r\n")


@pytest.mark.parametrize("sign", ["=", "+", "-"])
@pytest.mark.parametrize("field", ["id", "email", "login", "canvas", "lms_id"])
def test_an_id_that_a_spreadsheet_would_evaluate_is_refused_and_left_unchanged(term: Path, field: str, sign: str) -> None:
    entries = {"id": "ada"} | {field: f"{sign}1"}
    (term / FILE).write_text(TERM + "\n[[student]]\n" + "".join(f"{key} = {value!r}\n" for key, value in entries.items()), encoding="utf-8")
    with pytest.raises(RequestError, match=rf"{field} expected a string.*got '\{sign}1'"):
        policy(term)


def test_exports_hold_any_name_and_begin_with_a_utf_8_byte_order_mark(term: Path) -> None:
    name = "Zoë 🦆 \"Z\", 'q'; Ω"
    (term / FILE).write_text(f"{TERM}\n[[student]]\nid = 'z'\nname = {json.dumps(name, ensure_ascii=False)}\n", encoding="utf-8")
    folder = export(term, {})
    for file in folder.glob("*.csv"):
        assert file.read_bytes().startswith(b"\xef\xbb\xbf")
        assert any(name in row for row in rows_of(file))


# Moodle's grading worksheet

WORKSHEET = (
    '\ufeffIdentifier,"Full name","Email address",Status,Grade,"Maximum grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    '"Participant 501","Grace Hopper",grace@example.org,"Submitted for grading - ",,10.00,Yes,"Monday, 5 October 2026, 3:00 PM",-,\n'
    '"Participant 502","Kurt Gödel",kurt@example.org,"No submission - ",,10.00,Yes,-,-,"as it was"\n'
    '"Participant 503","Alan Turing",alan@example.org,"No submission - ",3.00,10.00,Yes,-,-,"=kept"\n'
)


def fill(term: Path, text: str, marks: Mapping[str, float] = {"0012345": 7.5}) -> tuple[bytes, list[str]]:
    """Fill a worksheet for the first deadline: the file, and the people in it who are not on the roster."""
    (term / "sheet.csv").write_bytes(text.encode())
    found = policy(term)
    standings = {id: Standing(id, found.deadlines[0], found.deadlines[0].due, marks.get(id), 10.0, {}, days=1) for id in found.students}
    strangers = fill_worksheet(term / "sheet.csv", found, standings, term / "filled.csv")
    return (term / "filled.csv").read_bytes(), strangers


def test_a_moodle_worksheet_receives_grades_and_feedback_and_is_otherwise_unchanged(term: Path) -> None:
    import_as(term, MOODLE.encode())
    data, strangers = fill(term, WORKSHEET)
    assert import_as_moodle_worksheet(data) == {501: ("7.5", "1 day late: 0 % penalty"), 502: ("", "as it was"), 503: ("3.00", "=kept")}
    assert strangers == ["Alan Turing"]
    before, after = (list(csv.reader(io.StringIO(text))) for text in (WORKSHEET[1:], data.decode("utf-8-sig")))
    for place in sorted((before[0].index("Grade"), before[0].index("Feedback comments")), reverse=True):
        for row in (*before, *after):
            del row[place]
    assert after == before


def test_worksheet_students_are_found_by_id_address_or_unique_name(term: Path) -> None:
    roster = b"id,name,email\n0012345,Grace Hopper,other@example.org\nk1,Kurt G,kurt@example.org\na1,Alan Turing,\na2,Alan Turing,\n"
    import_as(term, roster)
    text = WORKSHEET.replace('"Full name"', '"Full name","ID number"').replace('"Grace Hopper"', '"G. Hopper",0012345')
    text = text.replace('"Kurt Gödel"', '"Kurt Gödel",').replace('"Alan Turing"', '"Alan Turing",')
    data, strangers = fill(term, text, {"0012345": 1, "k1": 2, "a1": 3})
    assert [grade for grade, _ in import_as_moodle_worksheet(data).values()] == ["1", "2", "3.00"]
    assert strangers == ["Alan Turing"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Identifier", "Kennung", "the columns Identifier, Grade and Last modified (grade) of a grading worksheet; missing Identifier"),
        ("10.00", "100.00", "the maximum grade 10, as First is worth 10 points, got 100.00; change it in Moodle"),
        ('"Participant 501"', '"501"', "an identifier such as Participant 501, got 501"),
    ],
)
def test_a_worksheet_that_moodle_would_reject_is_refused(term: Path, old: str, new: str, says: str) -> None:
    import_as(term, MOODLE.encode())
    with pytest.raises(RequestError, match=re.escape(f"expected {says}")):
        fill(term, WORKSHEET.replace(old, new))
    assert not (term / "filled.csv").exists()
