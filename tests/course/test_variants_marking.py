"""Marking submissions by their students' variants, and reporting copies to the teacher: `course-staff mark` and `grade --term`."""

import csv
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from course.manifest import course
from course.staff.grading.bases import complete_workspace
from course.staff.grading.grader import ClassRun
from course.staff.grading.grading_env import GradingEnv
from course.staff.grading.journal import Interrupted, Journal
from course.staff.grading.marking import mark_task
from course.staff.grading.reference import Reference
from course.staff.grading.results import FAIL, PART, PASS, Result, TaskResult, read_result, write_result
from course.staff.grading.submissions import Submission, read, stem
from course.staff.outputs.class_page import collect_flags
from course.staff.outputs.feedback import feedback
from course.staff.outputs.words import flags
from course.staff.probes import check
from course.staff.sandbox.sandbox import Sandbox
from course.staff.term.policy import FILE
from course.staff.term.term import mark
from course.staff.variants import registry
from course.staff.variants.family import Family, Question, close_to
from course.staff.variants.grading import matching_students
from course.staff.variants.variant import Variant, draw_variant

from . import miniature
from .staff_commands import command_in_folder, replace_grading

OPERATORS = "minitorch/operators.py"

TESTS = """import pytest

from minitorch.operators import scaled


@pytest.mark.task0_1
def test_scaled():
    assert scaled(2.0) == 2 * $factor
"""


def judge(own, arguments, answer):
    """Judge an answer of scaled."""
    close_to(own["factor"] * arguments[0], answer)


SCALED = Family(
    name="scaled",
    task="0.1",
    choices={"factor": [2.5, 3.5]},
    after="minitorch.operators:relu",
    solution='\n\ndef scaled(x: float) -> float:\n    """$factor · x."""\n    return $factor * x\n',
    tests=TESTS,
    about={},
    questions=(Question("minitorch.operators:scaled", "scaled(x) has your factor", judge, [(1.0,), (-2.0,)]),),
)

MINE, THEIRS = (Variant({"scaled": {"factor": factor}}, 25) for factor in (2.5, 3.5))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The reference of the miniature course, whose Task 0.1 has one probe, of weight 3."""

    def relu(p):
        (got,) = yield [p.find("minitorch.operators:relu")(2.0)]
        close_to(2.0, got)

    own = check._probes.copy()
    check._probes.clear()
    check._probes["0.1"] = [check.Probe("0.1", "relu(x) is x where x > 0", 3, relu, {}, (), 0, 5.0)]
    registry.FAMILIES["scaled"] = SCALED
    root, manifest = miniature.write(tmp_path_factory.mktemp("miniature"))
    yield Reference(root, manifest, GradingEnv(Sandbox(), 7), tmp_path_factory.mktemp("home"))
    del registry.FAMILIES["scaled"]
    check._probes.clear()
    check._probes.update(own)


@pytest.fixture
def mark_added(reference):
    """Marks a student's operators.py, which consists of a right relu and the code of the test."""
    task = reference.manifest.task("0.1")
    right = str(complete_workspace(reference.root, reference.manifest, task)[OPERATORS])

    def mark_added(added, variant=MINE):
        return mark_task(reference, Submission("ann", {OPERATORS: (right + added).encode()}), task, [], variant)

    return mark_added


def solution(factor):
    """A solution with this factor."""
    return SCALED.fill(SCALED.solution, {"factor": factor})


def test_the_student_s_own_variant_earns_all_points(mark_added):
    result = mark_added(solution(2.5))
    assert (result.verdict, result.mark, result.note) == (PASS, 10.0, "")
    assert [test.id for test in result.visible] == ["tests/test_operators.py::test_relu", "tests/test_variant_scaled.py::test_scaled"]
    assert [(probe.says, probe.weight) for probe in result.probes] == [("relu(x) is x where x > 0", 3), ("scaled(x) has your factor", 1.0)]
    assert result.variant["answers"] == {"minitorch.operators:scaled": [[[1.0], 2.5], [[-2.0], -5.0]]}
    assert matching_students(result, {"ann": MINE, "ben": THEIRS}) == ()


def test_an_unwritten_submission_earns_nothing_and_lists_the_variant_s_probe(reference):
    task = reference.manifest.task("0.1")
    result = mark_task(reference, Submission("ann", {}), task, [], MINE)
    assert (result.verdict, result.mark) == (FAIL, 0.0)
    assert [probe.says for probe in result.probes] == ["relu(x) is x where x > 0", "scaled(x) has your factor"]


def test_a_changed_variant_is_graded_again(tmp_path):
    submission = Submission("ann", {OPERATORS: b"x = 1\n"})

    def place(variants):
        return ClassRun({}, course(), Journal(tmp_path), ["course"], "none", 7, print, variants).path(submission)

    plain = Journal(tmp_path).path(submission, ["course"])
    assert place({}) == place({"ben": MINE}) == plain
    assert len({plain, place({"ann": MINE}), place({"ann": THEIRS}), place({"ann": replace(MINE, percent=30)})}) == 4


# A term in which a stub replaces grading

VARIANTS = '[variants]\nseed = "0123456789abcdef"\nfamilies = ["activation"]\n'
STUDENT = '[[student]]\nid = "{}"\nname = "{}"\n'
ADA, BOB, CID = (STUDENT.format(name.lower(), name) for name in ("Ada", "Bob", "Cid"))
TERM = f"""
[course]
anonymous = false

{VARIANTS}
[[deadline]]
name = "First"
tasks = ["0.1"]
due = 2026-10-05T18:00:00

{ADA}{BOB}{CID}"""

ACTIVATION = registry.FAMILIES["activation"]


def variant_of(student):
    return draw_variant("0123456789abcdef", student, ["activation"], 30.0)


def submit(path, solver):
    """Write a submission that solves the variant of a student."""
    (path / "minitorch").mkdir(parents=True)
    (path / OPERATORS).write_text(solver)


@pytest.fixture
def requested_variants(monkeypatch):
    """Replaces grading: the file of a submission names the student whose variant it solves; gives the variants that were requested."""
    asked = {}

    def grade_one(name, path, out, variant):
        solver, question = variant_of((path / OPERATORS).read_text()), ACTIVATION.questions[0]
        slope, ceiling = solver.parameters["activation"].values()
        answers = {question.name: [[list(each), min(max(each[0], slope * each[0]), ceiling)] for each in question.examples]}
        kept, mark = {}, 10.0
        if variant is not None:
            asked[name] = variant
            kept, mark = {**variant.document, "answers": answers}, 10.0 if variant == solver else 7.0
        task = TaskResult("0.1", PASS if mark == 10 else PART, 10.0, mark, variant=json.loads(json.dumps(kept)))
        result = Result(name, read(name, path, course()).hash, "", (task,), (), "none", 1, 1.0)
        write_result(out / "results" / f"{name}.json", result)
        return read_result(out / "results" / f"{name}.json")

    def grade(submissions, out, variants=None, **options):
        found = submissions if isinstance(submissions, Mapping) else {stem(path): path for path in submissions}
        if any(name.startswith("stop") for name in found):
            raise Interrupted("stopped", "course-staff grade stop")
        return [grade_one(name, path, out, (variants or {}).get(name)) for name, path in found.items()]

    replace_grading(monkeypatch, grade)
    return asked


@pytest.fixture
def folder(tmp_path):
    """A term with three students; Cid has submitted Bob's solution."""
    (tmp_path / FILE).write_text(TERM)
    for student, solver in {"ada": "ada", "bob": "bob", "cid": "bob"}.items():
        submit(tmp_path / "submissions" / "first" / f"{student}@2026-10-01T10.00", solver)
    return tmp_path


CID = "cid@2026-10-01T10.00.00"


def test_mark_names_the_copied_student_to_the_teacher_and_not_to_students(folder, requested_variants):
    outcome = mark(folder)
    assert requested_variants == {f"{id}@2026-10-01T10.00.00": variant_of(id) for id in ("ada", "bob", "cid")}
    assert outcome.warnings == (f"{CID}: Task 0.1 carries the variant of bob",)
    assert {event.student: event.score for event in outcome.changed} == {"ada": 10.0, "bob": 10.0, "cid": 7.0}
    out = folder / "graded" / "first"
    assert read_result(out / "results" / f"{CID}.json").tasks[0].carries == ("bob",)
    with (out / "class.csv").open(encoding="utf-8-sig", newline="") as file:
        assert {row["submission"]: row["flags"] for row in csv.DictReader(file)}[CID] == "0.1 carries the variant of bob"
    assert "carries the variant of bob" in (out / "class.html").read_text()
    for page in (out / "feedback" / f"{CID}.md", folder / "marks" / "students" / "cid.md"):
        assert "carries" not in page.read_text(), page
        assert "bob" not in page.read_text(), page


def test_a_copy_is_recognized_without_regrading_when_the_roster_changes(folder, requested_variants):
    (folder / FILE).write_text(TERM.replace(BOB, ""))
    assert mark(folder).warnings == ()
    (folder / FILE).write_text(TERM)
    requested_variants.clear()
    outcome = mark(folder)
    assert outcome.warnings == (f"{CID}: Task 0.1 carries the variant of bob",)
    assert list(requested_variants) == ["bob@2026-10-01T10.00.00"]
    assert read_result(folder / "graded" / "first" / "results" / f"{CID}.json").tasks[0].carries == ("bob",)


def test_an_anonymous_term_names_no_student(folder, requested_variants):
    (folder / FILE).write_text(TERM.replace("anonymous = false", "anonymous = true"))
    (warning,) = mark(folder).warnings
    copier, copied = warning.split("@")[0], warning.rsplit(" ", 1)[1]
    assert copier.startswith("student-")
    assert copied.startswith("student-")
    assert sorted(requested_variants)[0].startswith("student-")
    pages = [*(folder / "graded").rglob("*.html"), *(folder / "graded").rglob("*.csv"), *(folder / "graded").rglob("*.json")]
    assert pages
    assert not any(name in page.read_text() for page in pages for name in ('"bob"', "of bob", "bob@", "cid@"))


def test_a_term_without_variants_is_marked_as_before(folder, requested_variants):
    (folder / FILE).write_text(TERM.replace(VARIANTS, ""))
    outcome = mark(folder)
    assert (requested_variants, outcome.warnings) == ({}, ())
    assert {event.score for event in outcome.changed} == {10.0}


@pytest.fixture
def run(monkeypatch, capsys, folder):
    """Runs the command line in the term's folder; returns its exit code and all of its output."""
    return command_in_folder(folder, monkeypatch, capsys)


def test_grade_uses_the_variants_of_a_term(run, folder, requested_variants):
    ada, cid = (folder / "submissions" / "first" / f"{name}@2026-10-01T10.00" for name in ("ada", "cid"))
    cid.rename(folder / "cid@x")
    submit(folder / "eve", "ada")
    code, printed = run("grade", str(ada), "cid@x", "eve", "--out", "graded-alone", "--term", ".")
    assert code == 0
    assert requested_variants == {ada.name: variant_of("ada"), "cid@x": variant_of("cid")}
    assert "eve matches no student and is graded without a variant; name it ID@TIME" in printed
    assert "3 graded, 0 refused, 1 to look at\n  look at: cid@x\n" in printed
    assert "cid@x: Task 0.1 carries the variant of bob" in printed
    assert read_result(folder / "graded-alone" / "results" / "cid@x.json").tasks[0].carries == ("bob",)


def test_the_command_to_continue_a_stopped_run_names_the_term(run, folder, requested_variants):
    submit(folder / "stop", "ada")
    code, printed = run("grade", "stop", "--out", "out", "--term", ".")
    assert code == 130
    assert "next: course-staff grade stop --term .\n" in printed


@pytest.mark.parametrize("command", ["mark", "regrade"])
def test_stopped_marking_continues_with_the_same_command(command, run, folder, requested_variants):
    (folder / FILE).write_text(TERM.replace('id = "ada"', 'id = "stop"'))
    (folder / "submissions" / "first" / "ada@2026-10-01T10.00").rename(folder / "submissions" / "first" / "stop@2026-10-01T10.00")
    code, printed = run(command, "First", "--term", ".", "--no-sandbox")
    assert code == 130
    assert f"next: course-staff {command} First --term . --no-sandbox\n" in printed


def test_feedback_does_not_mention_copies_and_the_class_page_lists_each_pair():
    tasks = [TaskResult("0.1", PART, 10, 7, carries=names) for names in (("bob",), ("bob", "ben"), ())]
    results = [Result(name, "0", "", (task,), (), "none", 1, 1.0) for name, task in zip(("ada", "cid", "dan"), tasks, strict=True)]
    assert [flags(task) for task in tasks] == [["variant"], ["variant"], []]
    assert "bob" not in feedback(results[0])
    assert "carries" not in feedback(results[0])
    assert [(flag.kind, flag.task, flag.reason, flag.names) for flag in collect_flags(results)] == [
        ("variant", "0.1", "carries the variant of bob", ("ada",)),
        ("variant", "0.1", "carries the variant of bob or ben", ("cid",)),
    ]
