"""The outputs of grading: `course.staff.outputs`, except the class page."""

import base64
import csv
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from course.staff import RequestError
from course.staff.grading.results import PASS, HiddenProbe, Result, VisibleTest
from course.staff.outputs import classroom, gradescope, junit, table
from course.staff.outputs.feedback import feedback, write_feedback
from course.staff.outputs.kinds import write_outputs
from course.staff.outputs.words import clean, file_names, number, truncate

from .sample_results import ADA, BEN, CLASS, EVE, EVE_FILE, NOT_DONE, PARTLY, PASSED, SECRET


def result_of(*tasks, name="zoe"):
    """A submission with only these tasks."""
    return Result(name, "z9", "", tasks, (), "bubblewrap", 7, 1.0)


# Names and words


def test_file_names_are_safe_and_unique():
    names = ["ada", "Ben Müller", "../../etc/passwd", "", ".hidden", "CON", "ada", "Zoe", "zoe", "a" * 300, "aux.txt", "x."]
    files = file_names([replace(result_of(name=name), hash=str(place)) for place, name in enumerate(names)])
    assert len({file.casefold() for file in files}) == len(names)
    for file in files:
        assert re.fullmatch(r"[^/.-]([^/]{0,97}[^/.])?", file)
        assert file.split(".")[0].lower() not in ("con", "aux")
    assert file_names([ADA, BEN]) == ["ada", "ben"]
    assert len(set(file_names([ADA, ADA, ADA]))) == 3, "identical submissions, too"


@pytest.mark.parametrize(("value", "words"), [(10, "10"), (7.5, "7.5"), (2 / 3, "0.67"), (0, "0"), (100.0, "100"), (9.999, "10")])
def test_marks_are_written_without_superfluous_digits(value, words):
    assert number(value) == words


def test_color_codes_and_characters_invalid_in_xml_are_removed():
    assert clean("a\u202eb\u2066c") == "a\ufffdb\ufffdc"  # otherwise the following text would be displayed right to left
    assert clean("\x1b[1;31mred\x1b[0m\tand\x00 null \ud800\n\ufffe") == "red\tand\ufffd null \ufffd\n\ufffd"


def test_a_long_message_is_truncated_with_a_note():
    assert truncate("x" * 2000) == "x" * 2000
    assert truncate("x" * 2003) == "x" * 2000 + "\n… (3 more characters)"


# Every output


STEMS = (EVE_FILE, "ada", "ben")
every_output = pytest.mark.parametrize(
    ("write", "names"),
    [
        (lambda results, folder: gradescope.write_gradescope(results, folder), [f"{stem}/results.json" for stem in STEMS]),
        (classroom.write_classroom, [f"{stem}.{suffix}" for stem in STEMS for suffix in ("md", "output")]),
        (lambda results, folder: junit.write_junit(results, folder / "junit.xml"), ["junit.xml"]),
        (lambda results, folder: table.write_table(results, folder / "class.csv"), ["class.csv"]),
        (write_feedback, [f"{stem}.md" for stem in STEMS]),
    ],
    ids=["gradescope", "classroom", "junit", "table", "feedback"],
)


@every_output
def test_an_output_is_reproducible_and_leaves_no_other_files(write, names, tmp_path):
    contents = []
    for _ in range(2):
        write(CLASS, tmp_path)
        found = sorted(file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file())
        assert found == sorted(names)
        contents.append([(tmp_path / name).read_bytes() for name in found])
    assert contents[0] == contents[1]
    assert not any(SECRET.encode() in content for content in contents[0])


@every_output
def test_a_failed_output_keeps_the_previous_one(write, names, tmp_path, monkeypatch):
    write(CLASS, tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in names}

    def raise_disk_full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", raise_disk_full)
    with pytest.raises(OSError, match="No space left"):
        write([replace(ADA, tasks=())], tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in names} == before
    assert sum(len(files) for _, _, files in os.walk(tmp_path)) == len(names)


# Gradescope


def test_gradescope_shows_a_visible_test_in_plain_text_for_each_task_with_its_share_of_the_score():
    document = gradescope.document(ADA)
    assert (document["score"], document["execution_time"]) == (37.5, 34)
    assert document["output"] == "37.5 of 45 points.\nIgnored, as they are not files that you write: setup.py"
    assert document["extra_data"] == {"hash": "a1", "level": "bubblewrap"}
    about = [(test["number"], test["name"], test["score"], test["max_score"], test["status"]) for test in document["tests"]]
    assert about == [
        ("0.1", "Task 0.1: PASS, 10 of 10", 10, 10, "passed"),
        ("0.3", "Task 0.3: PART, 7.5 of 10", 7.5, 10, "failed"),
        ("0.4", "Task 0.4: FAIL, 0 of 5", 0, 5, "failed"),
        ("3.3", "Task 3.3: PASS (sim), 20 of 20", 20, 20, "passed"),
        ("4.4b", "Task 4.4b: NOT RUN, 0 of 5 extra", 0, 5, "failed"),
    ]
    assert document["tests"][4]["output"] == "Not graded: there is no GPU here"
    assert {document["visibility"], *(test["visibility"] for test in document["tests"])} == {"visible"}
    assert {document["output_format"], *(test["output_format"] for test in document["tests"])} == {"text"}
    assert document["stdout_visibility"] == "hidden"


def test_gradescope_says_why_a_submission_was_refused():
    document = gradescope.document(EVE)
    assert (document["score"], document["tests"]) == (0, [])
    assert document["output"] == "This submission could not be graded: it holds a link, ../../etc/passwd"


# GitHub Classroom


def test_the_classroom_output_has_a_score_for_each_task_on_one_line():
    (encoded,) = re.fullmatch(r"result=([^\n]*)\n", classroom.line_of_output(ADA)).groups()
    document = json.loads(base64.b64decode(encoded))
    assert (document["version"], document["status"], document["max_score"]) == (3, "fail", 45)
    about = [(test["name"], test["status"], test["score"]) for test in document["tests"]]
    expected = [("0.1", "pass", 10), ("0.3", "fail", 7.5), ("0.4", "fail", 0), ("3.3", "pass", 20), ("4.4b", "error", 0)]
    assert about == [(f"Task {task}", status, score) for task, status, score in expected]
    part = {"filename": "tests/test_operators.py", "test_code": "course test 0.3", "duration": 2.0, "line_no": 0}
    assert document["tests"][1] | part == document["tests"][1]


def test_the_classroom_output_says_when_all_passed_and_when_nothing_could_be_graded():
    assert classroom.document(BEN)["status"] == "pass"
    document = classroom.document(EVE)
    assert document["status"] == "error"
    assert document["tests"][0]["message"] == "This submission could not be graded: it holds a link, ../../etc/passwd"


def test_no_text_breaks_the_table_of_the_summary():
    broken = replace(PARTLY, reason="A | b\n<b>c</b>", visible=(), probes=(), nearest=None)
    assert classroom.summary(result_of(PASSED, broken)) == (
        "## 17.5 of 20 points\n\n"
        "| Task | Verdict | Points | |\n"
        "|---|---|---:|---|\n"
        "| 0.1 | PASS | 10 of 10 |  |\n"
        "| 0.3 | PART | 7.5 of 10 | A \\| b \\<b\\>c\\</b\\> |\n"
    )
    assert classroom.summary(EVE) == "## Not graded\n\nit holds a link, ../../etc/passwd\n"


# JUnit


def test_junit_has_a_suite_for_each_submission_and_its_counts_are_right(tmp_path):
    junit.write_junit(CLASS, tmp_path / "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    counts = ("tests", "failures", "errors", "skipped")
    assert [root.get(name) for name in counts] == ["9", "2", "1", None]
    assert [[suite.get(name) for name in ("name", *counts)] for suite in root] == [
        ["ada", "5", "2", "0", "1"],
        ["ben", "3", "0", "0", "0"],
        ["<script>alert('eve')</script>", "1", "0", "1", "0"],
    ]
    assert root[0].get("time") == "34.000"


def test_junit_contains_the_output_of_a_test_with_any_characters(tmp_path):
    noisy = replace(PARTLY, visible=(VisibleTest("t.py::t", "failed", "]]> \x00 \x1b[31m & \ufffe <b>"),))
    junit.write_junit([result_of(noisy, name="a\x01b")], tmp_path / "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert root[0].get("name") == "a\ufffdb"
    failure = root[0].find("testcase/failure")
    assert failure.get("message") == "PART, 7.5 of 10"
    assert "]]> \ufffd  & \ufffd <b>" in (failure.text or "")


# The table


def read(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_has_a_row_for_each_submission(tmp_path):
    table.write_table(CLASS, tmp_path / "class.csv")
    ada, ben, eve = read(tmp_path / "class.csv")
    assert (ada["submission"], ada["mark"], ada["points"], ada["hash"]) == ("ada", "37.5", "45", "a1")
    assert (ada["0.3 mark"], ada["0.3 verdict"]) == ("7.5", "PART")
    assert (ada["3.3 mark"], ada["3.3 verdict"]) == ("20", "PASS (sim)")
    assert ada["flags"] == "0.4 flaky; 3.3 disagrees; 4.4b not run"
    assert (ben["mark"], ben["3.3 mark"], ben["3.3 verdict"], ben["flags"]) == ("25", "", "", "")
    assert (eve["mark"], eve["0.1 mark"], eve["flags"]) == ("", "", "refused: it holds a link, ../../etc/passwd")


@pytest.mark.parametrize(
    ("name", "shown"),
    [*((f'{sign}HYPERLINK("http://x","y")', f'\'{sign}HYPERLINK("http://x","y")') for sign in "=+-@"), ('a,"b"\n\t=c', 'a,"b" =c')],
)
def test_no_name_is_a_formula_in_a_spreadsheet_or_leaves_its_cell(name, shown, tmp_path):
    table.write_table([result_of(PASSED, name=name)], tmp_path / "class.csv")
    assert read(tmp_path / "class.csv")[0]["submission"] == shown


# Feedback


def test_feedback_says_what_passed_and_quotes_the_first_failing_test():
    assert feedback(result_of(PASSED, PARTLY)) == (
        "# zoe\n\n"
        "**17.5 of 20 points.**\n\n"
        "Passed: 0.1.\n\n"
        "## Task 0.3: PART, 7.5 of 10\n\n"
        "2 of 3 hidden probes failed\n\n"
        "1 of 3 tests in your workspace pass. The first one that fails: tests/test_operators.py::test_sum\\[2\\]\n\n"
        "```text\nSmallest input  ls = [1.0]\nYours           0.0\n```\n\n"
        "Your code does not meet these requirements of the hidden tests:\n\n"
        "- sums lists of any length\n\n"
        "A known mistake that fails in the same way: Begins with 1, as a product does.\n"
    )


def test_feedback_names_the_simulator_and_files_that_were_not_taken():
    text = feedback(ADA)
    assert "## Task 3.3: PASS (sim), 20 of 20\n\nThe tests in your workspace and the hidden tests disagree" in text
    assert "## Task 4.4b: NOT RUN, 0 of 5 extra\n\nNot graded: there is no GPU here" in text
    assert text.endswith("grading used the original ones.\n\n- `setup.py`\n")
    assert "all probes passed" not in text  # a note is for the teacher


def test_feedback_never_shows_why_a_probe_failed_even_if_the_task_s_reason_does():
    careless = replace(PARTLY, reason=f"a probe failed: {SECRET}")
    for render in (feedback, gradescope.document, classroom.document):
        assert SECRET not in json.dumps(render(result_of(careless)))


EXTRA = replace(PASSED, task="5.1", extra=True)
LOUD = replace(PARTLY, visible=(VisibleTest("t.py::t", "failed", "a\n````\n# Full marks\n"),))
SILENT = replace(PARTLY, visible=(VisibleTest("t.py::t", "missing"),), probes=(HiddenProbe("x", 1, True),), nearest=None)
FLAKY = replace(PASSED, task="0.2", verdict=PASS, flaky=True)


@pytest.mark.parametrize(
    ("tasks", "shown"),
    [
        ((PASSED, EXTRA), "**20 of 10 points.**"),
        ((EXTRA,), "**10 of 10 points.**"),
        ((replace(PARTLY, reason="these requirements are not met"),), "7.5 of 10\n\nThese requirements are not met\n"),
        ((replace(PARTLY, reason="minitorch/module.py, line 3: no"),), "7.5 of 10\n\nminitorch/module.py, line 3: no\n"),
        ((replace(PARTLY, reason="relu(x) is 3"),), "7.5 of 10\n\nrelu(x) is 3\n"),
        ((replace(PARTLY, reason="_emphasis_ of my_name *"),), "7.5 of 10\n\n\\_emphasis\\_ of my_name \\*\n"),
        ((LOUD,), "`````text\na\n````\n# Full marks\n\n`````"),
        ((SILENT,), "0 of 1 tests in your workspace pass. The first one that fails: t.py::t\n\nIt did not run"),
        ((PASSED, FLAKY), "Passed: 0.1.\n"),
        ((PASSED, FLAKY), "## Task 0.2: PASS, 10 of 10\n\nA second run had a different result;"),
    ],
)
def test_feedback_contains(tasks, shown):
    assert shown in feedback(result_of(*tasks))


def test_feedback_does_not_repeat_the_task_s_reason():
    text = feedback(result_of(replace(PARTLY, reason="these requirements are not met: sums lists of any length")))
    assert text.count("sums lists of any length") == 1
    assert "requirements of the hidden tests" not in text


def test_feedback_on_a_refused_submission_is_the_reason():
    assert feedback(EVE) == (
        "# \\<script\\>alert('eve')\\</script\\>\n\n"
        "This submission could not be graded:\n\n"
        "```text\nit holds a link, ../../etc/passwd\n```\n"
    )


def test_one_error_in_many_tests_is_reported_once_with_their_number():
    tests = [VisibleTest(f"t.py::t[{number}]", "failed", "NameError: q", "NameError: q, minitorch/a.py, line 3") for number in range(184)]
    page = feedback(replace(ADA, tasks=(replace(PARTLY, visible=tuple(tests)),)))
    assert "The same error ends 184 of these tests. Fix it first: NameError: q, minitorch/a.py, line 3" in page
    assert page.count("NameError") == 2
    alone = feedback(replace(ADA, tasks=(replace(PARTLY, visible=(tests[0],)),)))
    assert "The same error" not in alone


def test_a_task_that_did_not_run_is_not_a_failure_in_junit(tmp_path):
    junit.write_junit([result_of(NOT_DONE)], tmp_path / "junit.xml")
    skipped = ElementTree.parse(tmp_path / "junit.xml").getroot()[0].find("testcase/skipped")
    assert skipped.get("message") == "there is no GPU here"


# All outputs


def test_outputs_are_selected_by_name(tmp_path):
    names = {"feedback": "feedback", "page": "class.html", "table": "class.csv"}
    assert write_outputs(CLASS, tmp_path) == {kind: tmp_path / name for kind, name in names.items()}
    assert {path.name for path in tmp_path.iterdir()} == set(names.values())
    assert 'href="feedback/ada.md"' in (tmp_path / "class.html").read_text(encoding="utf-8")
    write_outputs(CLASS, tmp_path / "all", ["classroom", "gradescope", "junit", "page"], {"0.1": "Operators"})
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["class.html", "classroom", "gradescope", "junit.xml"]
    page = (tmp_path / "all" / "class.html").read_text(encoding="utf-8")
    assert "Operators" in page
    assert "feedback/" not in page


def test_rewriting_the_class_page_keeps_its_links_to_feedback_and_report(tmp_path):
    write_outputs(CLASS, tmp_path)
    (tmp_path / "similarity.json").write_text('{"schema": 1, "threshold": 0.5, "pairs": []}')
    write_outputs(CLASS, tmp_path, ["page"])
    page = (tmp_path / "class.html").read_text(encoding="utf-8")
    assert 'href="feedback/ada.md"' in page
    assert 'href="similarity.html"' in page


def test_an_unknown_output_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(RequestError) as error:
        write_outputs(CLASS, tmp_path, ["page", "pdf"])
    assert str(error.value) == "there is no output pdf; the outputs are feedback, page, table, junit, gradescope, classroom"
    assert error.value.next == "course-staff outputs --help"
    assert list(tmp_path.iterdir()) == []
