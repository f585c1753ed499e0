"""Suggestions for the next lecture: `course.staff.lecture`, computed from records and results written by hand."""

import json
import re
import shutil
import zipfile
from dataclasses import replace

import pytest

from course.manifest import course
from course.staff import RequestError
from course.staff.grading.results import FAIL, PASS, Nearest, Result, TaskResult, write_result
from course.staff.grading.submissions import read
from course.staff.handout.generate import write_files
from course.staff.lecture import statistics
from course.staff.lecture.page import write_lecture
from course.staff.lecture.records import Material, read_material, read_record
from course.staff.lecture.statistics import FailingTest, Help, Mistake, Quartiles, hidden, quartiles, summarize, topics
from course.workspace.activity import HANDED_IN, OpenedHint, TaskActivity, TestRun, encode
from tests.errors import raises

from .staff_commands import command_in_folder
from .test_class_page import Page

RELU, SUM = "tests/test_operators.py::test_relu", "tests/test_operators.py::test_sum[2]"


def run(after, *failed, total=3):
    """A run in which these tests fail."""
    return TestRun(after, "failing" if failed else "passed", total - len(failed), total, list(failed))


def work(*runs, active=None, **more):
    """A student's activity on a task."""
    return TaskActivity("2026-10-05", active if active is not None else max((run.after for run in runs), default=0), list(runs), **more)


def no_mistake(task, failed):
    """Find no similar wrong answer."""


def report_on(*activities, task="0.1", **options):
    """The report on a class in which each student has worked on one task."""
    records = [{task: about} for about in activities]
    return summarize(Material(records=records, submissions=len(records)), course(), **({"nearest": no_mistake} | options))


# Statistics


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (1, None), (4, None), (5, 5), (40, 40)])
def test_groups_of_fewer_than_five_are_hidden(count, shown):
    assert hidden(count) == shown


def test_quartiles_are_those_of_the_sorted_values():
    assert quartiles([5, 1, 3, 2, 4]) == Quartiles(2, 3, 4)
    assert quartiles([1, 2, 3, 4]) is None


def test_time_and_tries_count_until_the_first_pass():
    def progress_of(task):
        return statistics.first_pass(task), statistics.minutes_needed(task), statistics.tries_needed(task)

    passed = work(run(60, RELU), run(300), run(900, RELU), active=1200)
    assert progress_of(passed) == (1, 5.0, 2)
    stuck = work(run(60, RELU), run(300, RELU), active=1200)
    assert progress_of(stuck) == (None, 20.0, 2)


def test_a_task_has_quartiles_of_minutes_and_tries_and_the_progress_of_the_class():
    report = report_on(*(work(*[run(60 * place, RELU) for place in range(1, number + 1)]) for number in range(1, 6)), *[work(run(600))] * 5)
    (task,) = report.tasks
    assert (task.id, task.title, task.page) == ("0.1", "Operators", course().task("0.1").page)
    assert task.records == 10
    assert task.minutes == Quartiles(3.2, 7.5, 10)  # 1 2 3 4 5 10 10 10 10 10
    assert task.tries == Quartiles(1, 1, 2.8)  # 1 1 1 1 1 1 2 3 4 5
    assert task.standing == {"passed": 5, "not yet": 5}
    assert task.not_passed == 0.5


def test_four_records_give_no_statistics():
    about = work(run(60, RELU), run(600), hints=[OpenedHint(60, 1, 1)])
    report = report_on(*[about] * 4, nearest=lambda task, failed: Nearest("k", "m", 1.0))
    (task,) = report.tasks
    assert (report.records, task.records, task.minutes, task.tries, task.standing, task.not_passed) == (None, None, None, None, {}, None)
    assert (task.mistakes, task.tests, task.help, report.topics) == ((), (), (), ())


def test_fewer_than_five_open_students_are_not_distinguished_from_none():
    report = report_on(*[work(run(60))] * 8, *[work(run(60, RELU))] * 4)
    (task,) = report.tasks
    assert task.standing == {"passed": 8, "not yet": None}
    assert task.not_passed == 0
    assert "%" not in report.topics[0].reason


def test_a_mistake_counts_once_per_student_and_only_in_runs_with_all_failing_tests():
    def nearest(task, failed):
        return Nearest("0.1/relu", "Is wrong at 0.", 0.9) if RELU in failed else Nearest("0.1/sum", "Starts at 1.", 0.9)

    often = work(run(60, RELU), run(90, RELU), run(120, SUM))
    partial = work(TestRun(60, "failing", 0, 3, [SUM]), run(90, RELU))
    report = report_on(*[often] * 5, partial, nearest=nearest)
    assert report.tasks[0].mistakes == (Mistake("0.1/relu", "Is wrong at 0.", 6, 0), Mistake("0.1/sum", "Starts at 1.", 5, 0))


def test_mistakes_in_submissions_are_counted_from_the_results():
    near = Nearest("0.1/relu", "Is wrong at 0.", 0.9)
    failed = [Result(f"s{number}", "", "", (TaskResult("0.1", FAIL, 10, 0, nearest=near),), (), "", 1, 1.0) for number in range(6)]
    passed = [Result(f"t{number}", "", "", (TaskResult("0.1", PASS, 10, 10),), (), "", 1, 1.0) for number in range(6)]
    report = summarize(Material(results=failed + passed), course(), no_mistake)
    (task,) = report.tasks
    assert task.graded == {"passed": 6, "part": 0, "failed": 6, "not run": 0}
    assert task.mistakes == (Mistake("0.1/relu", "Is wrong at 0.", 0, 6),)
    assert report.topics[0].reason == "50% of the class have not passed it. The most common mistake, made by 6: Is wrong at 0."
    few = summarize(Material(results=failed[:4]), course(), no_mistake)
    assert (few.tasks[0].graded, few.tasks[0].mistakes, few.topics) == ({}, (), ())


def test_a_test_has_a_count_of_failures_and_a_median_time_until_it_passed():
    students = [work(run(60, RELU, SUM), run(60 + 60 * minutes, SUM), run(1260)) for minutes in range(1, 6)]
    never = work(run(0, RELU), active=1200)
    assert report_on(*students, never).tasks[0].tests == (
        FailingTest("tests/test_operators.py::test_relu", 6, 3.5),  # 1 2 3 4 5 20
        FailingTest("tests/test_operators.py::test_sum", 5, 20.0),
    )
    four = report_on(*students[:4], work(run(60)))
    assert four.tasks[0].tests == (), "four students are too few"


def test_a_hint_or_the_first_use_of_explain_helped_if_the_tests_passed_within_three_runs_of_it():
    def student(before, after, passes=True):
        runs = [run(60 * place, RELU) for place in range(before + after)] + ([run(3600)] if passes else [])
        return work(*runs, hints=[OpenedHint(0, 1, before)])

    helped = [student(2, after) for after in (0, 1, 2, 2, 2)]
    late = [student(2, 3), student(2, 9), student(2, 0, passes=False)]
    passed_before = work(run(60), run(90), hints=[OpenedHint(60, 1, 2)])
    assert report_on(*helped, *late, passed_before).tasks[0].help == (Help("Hint 1", 8, 5),)
    assert report_on(*helped[:4], *late[:2]).tasks[0].help == (Help("Hint 1", 6, None),)
    explained = work(run(60, RELU), run(90, RELU), run(120), explains=[1, 2])
    assert report_on(*[explained] * 5).tasks[0].help == (Help("course explain", 5, 5),)


def test_topics_are_ranked_by_open_students_and_time():
    report = report_on(*[work(run(600, RELU))] * 5)
    (task,) = report.tasks
    slow = replace(task, id="1.4", not_passed=0.0, minutes=Quartiles(10, 40, 50))
    stuck = replace(task, id="2.2", not_passed=0.9, minutes=Quartiles(1, 20, 30))
    unknown = replace(task, id="2.3", not_passed=None, minutes=None)
    easy = [replace(task, id=f"3.{number}", not_passed=0.0, minutes=Quartiles(1, number, 3)) for number in range(1, 6)]
    found = topics([slow, stuck, unknown, *easy])
    assert [(topic.task, topic.score) for topic in found] == [("2.2", 1.4), ("1.4", 1.0), ("3.5", 0.125), ("3.4", 0.1), ("3.3", 0.075)]
    assert found[0].reason == (
        "90% of the class have not passed it. Half of the students needed more than 20 min and 1 test run. 5 students saw test_relu fail."
    )


# Reading records and results

TASKS = {"0.1": work(run(60, RELU), run(120))}


def hand_in(folder, name, record, packed=False):
    """Write a submission with a record."""
    path = folder / name
    files = {"minitorch/operators.py": b"x = 1\n"} | ({} if record is None else {HANDED_IN: record})
    if packed:
        with zipfile.ZipFile(path, "w") as archive:
            for file, data in files.items():
                archive.writestr(file, data)
    else:
        write_files(path, files)
    return path


def test_records_are_read_from_folders_and_archives_with_or_without_a_top_folder(tmp_path):
    hand_in(tmp_path, "ada", encode(TASKS))
    hand_in(tmp_path / "bob", "workspace", encode(TASKS))
    hand_in(tmp_path, "cy.zip", encode(TASKS), packed=True)
    with zipfile.ZipFile(tmp_path / "di.zip", "w") as archive:
        archive.writestr(f"workspace/{HANDED_IN}", encode(TASKS))
    hand_in(tmp_path, "eve", None)
    material = read_material([tmp_path], course())
    assert (material.records, material.submissions, material.warnings) == ([TASKS] * 4, 5, [])
    (tmp_path / "fay.zip").write_bytes(b"PK\x03\x04 and no more")
    assert "fay.zip is damaged or truncated" in read_material([tmp_path], course()).warnings[0]


def test_the_attempt_with_the_longest_record_counts(tmp_path):
    longer = {"0.1": work(run(60, RELU), run(600))}
    hand_in(tmp_path, "ada@2026-10-01T10.00", encode(TASKS))
    hand_in(tmp_path, "ada@2026-10-02T10.00", encode(longer))
    hand_in(tmp_path, "ADA@2026-10-03T10.00", None)
    hand_in(tmp_path, "ada@2026-10-04T10.00", encode(TASKS))  # written on another machine
    material = read_material([tmp_path], course())
    assert (material.records, material.submissions) == ([longer], 1)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{", "Expecting property name"),
        (b"[" * 300_000, "deeper nesting"),
        (b" " * 2_000_000, "expected at most 1000000 bytes"),
        (b'{"schema": 1, "tasks": {"<script>": {}}}', "task id: expected text"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_hostile_record_is_ignored_with_a_reason_and_the_others_count(tmp_path, data, says, packed):
    hand_in(tmp_path, "ada", encode(TASKS))
    hand_in(tmp_path, "eve.zip" if packed else "eve", data, packed)
    material = read_material([tmp_path], course())
    assert material.records == [TASKS]
    (warning,) = material.warnings
    assert warning.startswith("eve: its record was ignored: ")
    assert says in warning


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "secret.json").write_bytes(encode(TASKS))
    path = hand_in(tmp_path / "class", "eve", b"")
    (path / HANDED_IN).unlink()
    (path / HANDED_IN).symlink_to(tmp_path / "secret.json")
    assert read_record(path) == {}
    shutil.rmtree(path / "reports")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "activity.json").write_bytes(encode(TASKS))
    (path / "reports").symlink_to(tmp_path / "reports")
    assert read_record(path) == {}


def test_a_graded_folder_gives_results_and_grading_ignores_records(tmp_path):
    path = hand_in(tmp_path / "class", "ada", encode(TASKS))
    with_record, without = read("ada", path, course()), read("ada", hand_in(tmp_path / "other", "ada", None), course())
    assert (with_record.files, with_record.left_out, with_record.hash) == (without.files, (), without.hash)
    result = Result("ada", "", "", (TaskResult("0.1", PASS, 10, 10),), (), "", 1, 1.0)
    write_result(tmp_path / "graded" / "results" / "ada.json", result)
    material = read_material([tmp_path / "class", tmp_path / "graded"], course())
    assert (material.records, material.results) == ([TASKS], [result])


def test_without_records_and_results_the_error_says_what_to_do(tmp_path):
    hand_in(tmp_path, "ada", None)
    with raises(RequestError, "expected records or results, got none; students include theirs by course submit --with-record"):
        read_material([tmp_path], course())


# The page

EVIL = '<img src=x onerror="alert(1)">'


def full_report():
    """A report with all of its parts, and with hostile names in it."""
    test = f"tests/test_operators.py::test_{EVIL.replace(' ', '_')}"
    students = [work(run(60, RELU, test), run(60 * n, test), run(600), hints=[OpenedHint(60, 1, 1)], explains=[1]) for n in range(2, 9)]
    return report_on(*students, nearest=lambda task, failed: Nearest("0.1/x", EVIL, 1.0))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page and the data of the full report, with a hostile title; tests only read them."""
    page, data = write_lecture(full_report(), tmp_path_factory.mktemp("lecture") / "lecture.html", title=EVIL)
    return page.read_text(encoding="utf-8"), json.loads(data.read_text(encoding="utf-8"))


def test_the_page_lists_topics_with_chapter_and_reason(written):
    text, document = written
    assert "<h3>0.1 Operators</h3>" in text
    assert f"Chapter: docs/{course().task('0.1').page}.md" in text
    assert "Half of the students needed more than 10 min and 3 test runs." in text
    assert (document["schema"], document["records"], document["tasks"][0]["minutes"]["median"]) == (1, 7, 10.0)
    assert not Page(text).open


def test_the_page_escapes_names_and_loads_and_runs_nothing(written):
    page = Page(written[0])
    assert {tag for tag, _ in page.tags} & {"script", "img", "link", "iframe", "object", "base", "form"} == set()
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert any(EVIL in cell for row in page.rows for cell in row)
    assert not re.search(r"https?://|@import|url\(", written[0])
    policy = next(attributes["content"] for _, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_every_chart_has_a_text_alternative_and_every_table_has_scopes(written):
    page = Page(written[0])
    labels = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
    assert labels == ["A quarter needed at most 10.0 minutes, half at most 10.0, three quarters at most 10.0", "0 % have not passed"]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all(attributes["scope"] in ("col", "row") for tag, attributes in page.tags if tag == "th")
    assert all(attributes["aria-labelledby"] in ids for _, attributes in page.tags if "aria-labelledby" in attributes)


def test_the_page_of_a_class_that_is_too_small_says_so(tmp_path):
    text = write_lecture(report_on(*[work(run(60))] * 4), tmp_path / "lecture.html")[0].read_text(encoding="utf-8")
    assert "No task has data from 5 or more students" in text
    assert "<dd>&lt; 5</dd>" in text


def test_no_student_s_name_appears_in_the_page_or_the_data(tmp_path):
    for number in range(6):
        hand_in(tmp_path / "class", f"lovelace{number}", encode(TASKS))
        task = TaskResult("0.1", FAIL, 10, 0, reason="lovelace", nearest=Nearest("0.1/x", "Is wrong.", 1.0))
        write_result(tmp_path / "graded/results" / f"{number}.json", Result(f"lovelace{number}", "", "", (task,), (), "", 1, 1.0))
    report = summarize(read_material([tmp_path / "class", tmp_path / "graded"], course()), course(), no_mistake)
    assert all("lovelace" not in path.read_text(encoding="utf-8") for path in write_lecture(report, tmp_path / "lecture.html"))


# The command


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Runs the command line in a temporary folder; returns its exit code and its output."""
    return command_in_folder(tmp_path, monkeypatch, capsys)


def test_the_command_writes_the_page_and_lists_the_topics(command, tmp_path):
    for number in range(6):
        hand_in(tmp_path / "class", f"s{number}", encode(TASKS))
    hand_in(tmp_path / "class", "eve", b"{}")
    code, printed = command("lecture", "class", "--out", "lecture.html")
    assert code == 0
    assert sorted(printed.splitlines()) == [
        "1. Task 0.1 Operators: Half of the students needed more than 2 min and 2 test runs. 6 students saw test_relu fail.",
        "6 records, 0 results",
        "eve: its record was ignored: the record: expected an object with schema, tasks",
        "lecture.html",
        "lecture.json",
    ]


@pytest.mark.parametrize(
    ("out", "says"),
    [("lecture.txt", "--out expected a name that ends with .html, got lecture.txt"), ("lecture.html", "there is no nowhere")],
)
def test_wrong_requests_are_refused(out, says, command):
    code, printed = command("lecture", "nowhere", "--out", out)
    assert (code, says in printed) == (2, True)
