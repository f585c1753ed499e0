"""Per-student variants: how they are drawn, what a workspace contains, and how copies are recognized: `course.staff.variants`."""

import importlib
import json
import re
import sys
import zipfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis.strategies import text

from course.manifest import ROOT, course
from course.staff import StaffError
from course.staff.grading.results import PART, PASS, TaskResult
from course.staff.handout.generate import handout_files, write_files
from course.staff.probes.check import run_probes
from course.staff.probes.remote import plain_launcher
from course.staff.term.policy import FILE, parse_policy
from course.staff.variants import batch, registry, variant
from course.staff.variants.family import _choose
from course.staff.variants.grading import matching_students, probe_of
from course.staff.variants.order import ORDERS
from course.staff.variants.roster import roster_of
from course.staff.variants.variant import RECORD, Variant, draw_variant

from .prepared import course_files
from .staff_commands import assert_policy_refused, command_in_folder

SEED = "a secret of the course"

FAMILIES = list(registry.FAMILIES.values())
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)

ids = text("abcdefghij0123456789", min_size=1, max_size=8)


def variant_of(student):
    """A student's variant of all families."""
    return draw_variant(SEED, student, list(registry.FAMILIES), 30)


def module_of(family, parameters):
    """The namespace of the module that a family extends, with its solution for these parameters."""
    names = dict(vars(importlib.import_module(family.after.partition(":")[0])))
    exec(family.fill(family.solution, parameters), names)
    return names


def data_sets(family, parameters):
    """The data sets of a workspace, including those that the family inserts into minitorch/datasets.py."""
    names = dict(vars(sys.modules["minitorch.datasets"]))
    for template in family.insertions.values():
        if "def " in template:
            exec(family.fill(template, parameters), names)
    return {**names["datasets"], **({"Own": names["own"]} if "own" in names else {})}


def failing_tests(family, tests_of, solution_of):
    """The generated tests of one student that fail for the solution of another student."""
    source = re.sub(r"(?m)^from (minitorch|project).*\n", "", family.fill(family.tests, tests_of))
    names = {**module_of(family, solution_of), "datasets": data_sets(family, tests_of)}
    exec(source, names)
    failed = []
    for name in [name for name in names if name.startswith("test_")]:
        try:
            names[name]()
        except AssertionError:
            failed.append(name)
    return failed


def answers_of(family, parameters):
    """The answers of a student's solution to the examples, in the form of a result."""
    names = module_of(family, parameters)
    return {
        question.name: [[list(each), names[question.name.partition(":")[2]](*each)] for each in question.examples]
        for question in family.questions
    }


# Drawing variants


def test_parameters_are_an_hmac_of_seed_and_student():
    """The digest is that of: printf 'order\\0step\\0ada' | openssl dgst -sha256 -hmac 'a secret of the course'."""
    digest = "0ff422f394193b5b88f20992b9cda23111061472df495184cacd5de24719df51"
    assert _choose(range(16), SEED, "order", "step", "ada") == int(digest[-1], 16)
    assert registry.FAMILIES["order"].draw(SEED, "ada") == {"order": [0, 3, 2, 1], "step": 3, "offset": 61}
    assert registry.FAMILIES["activation"].draw(SEED, "ada") == {"slope": 0.369, "ceiling": 4.5}


@each_family
def test_different_students_and_seeds_get_different_parameters(family):
    draws = [json.dumps(family.draw(SEED, f"student-{n}")) for n in range(300)]
    assert len(set(draws)) > 250
    assert sum(family.draw("another secret!!", f"student-{n}") != family.draw(SEED, f"student-{n}") for n in range(300)) > 290


@each_family
def test_the_document_of_a_variant_round_trips_through_json(family):
    assert variant.from_document(json.loads(json.dumps(variant_of("ada").document))) == variant_of("ada")


# Families


@each_family
@settings(max_examples=20)
@given(student=ids)
def test_the_solution_passes_the_tests_and_gives_the_answers(family, student):
    parameters = family.draw(SEED, student)
    assert failing_tests(family, parameters, parameters) == []
    answers = answers_of(family, parameters)
    for question in family.questions:
        for arguments, answer in answers[question.name]:
            question.judge(parameters, arguments, answer)


@each_family
@settings(max_examples=20)
@given(one=ids, other=ids)
def test_the_solution_of_another_student_fails_the_tests_and_the_examples(family, one, other):
    mine, theirs = family.draw(SEED, one), family.draw(SEED, other)
    assume(family.distinct(mine, theirs))
    assert failing_tests(family, mine, theirs)
    answers = answers_of(family, theirs)
    assert not all(q.accepts(mine, arguments, answer) for q in family.questions for arguments, answer in answers[q.name])


def neighbors(family):
    """Pairs of parameters that differ by one step in one parameter."""
    first = {name: values[0] for name, values in family.choices.items()}
    return [({**first, name: one}, {**first, name: other}) for name, values in family.choices.items() for one, other in pairwise(values)]


@pytest.mark.parametrize("name", ["activation", "reduction", "order"])
def test_neighboring_parameters_answer_the_examples_differently(name):
    family = registry.FAMILIES[name]
    for mine, theirs in neighbors(family):
        assert family.distinct(mine, theirs)
        assert failing_tests(family, mine, theirs), (mine, theirs)
        answers = answers_of(family, theirs)
        assert not all(q.accepts(mine, arguments, answer) for q in family.questions for arguments, answer in answers[q.name])


@pytest.mark.parametrize(("angle", "shift", "distinct"), [(12, 0.1, False), (40, 0.1, True), (10, -0.1, True)])
def test_lines_that_differ_little_are_not_distinguished(angle, shift, distinct):
    """Two lines that cross in the middle at 2° label about 2/180 of the square differently, at 30° about 30/180."""
    assert registry.FAMILIES["points"].distinct({"angle": 10, "shift": 0.1}, {"angle": angle, "shift": shift}) == distinct


def test_a_reversed_or_inverted_order_belongs_to_no_student():
    assert len(ORDERS) == 9
    for order in ORDERS:
        inverse = [order.index(dim) for dim in range(4)]
        for mistake in (order[::-1], inverse, inverse[::-1], [0, 1, 2, 3], [3, 2, 1, 0]):
            assert mistake == order or mistake not in ORDERS


@pytest.mark.parametrize(
    ("name", "function", "arguments", "answer"),
    [
        ("activation", 0, (-2.0,), -0.25),
        ("activation", 0, (7.0,), 4.5),
        ("activation", 1, (-2.0, 3.0), 0.375),
        ("activation", 1, (4.5, 3.0), 0.0),
        ("reduction", 0, ([8.0, 4.0],), 4.5),  # 2 → (2 + 8) / 2 = 5 → (5 + 4) / 2
        ("order", 0, ([1, 2, 3, 4], [2, 3, 4, 5]), 3 + 10 * 119),
    ],
)
def test_solutions_give_the_values_computed_by_hand(name, function, arguments, answer):
    values = {"slope": 0.125, "ceiling": 4.5, "decay": 0.5, "start": 2.0, "order": [3, 2, 1, 0], "step": 10, "offset": 3}
    parameters = {name: values[name] for name in registry.FAMILIES[name].choices}
    question = registry.FAMILIES[name].questions[function]
    question.judge(parameters, arguments, answer)
    for wrong in (answer + 0.001, float("nan"), "no number"):
        assert not question.accepts(parameters, arguments, wrong)


@pytest.mark.parametrize("answer", [(-10.0, 0.0, 5.0), (0.0, 0.0, 1.0), (1.0, 2.0), 3.0])
def test_a_line_that_mislabels_a_point_is_wrong(answer):
    (question,) = registry.FAMILIES["points"].questions
    assert question.accepts({"angle": 30, "shift": 0.1}, (), (0.866, 0.5, -0.783))  # (0.866 + 0.5) / 2 + 0.1 = 0.783
    assert not question.accepts({"angle": 30, "shift": 0.1}, (), answer)


# Probes and copies

HELPERS = """
from collections.abc import Iterable, Sequence

Index = Shape = Sequence[int]


def reduce(fn, start):
    def apply(ls):
        total = start
        for x in ls:
            total = fn(total, x)
        return total

    return apply
"""


def run_family_probes(family, own, solution_of, folder):
    """Run a family's probes on a student's solution: whether all passed, and the result with the answers."""
    packages = ("minitorch", family.file.partition("/")[0])
    solution = HELPERS + family.fill(family.solution, solution_of)
    write_files(folder, dict.fromkeys((f"{package}/__init__.py" for package in packages), "") | {family.file: solution})
    answers = {}
    probes = [probe_of("9.9", question, own, 1.0, answers) for question in family.questions]
    outcomes = run_probes(replace(course().task("0.1"), id="9.9"), plain_launcher(folder), more=probes)
    assert [outcome.says for outcome in outcomes] == [question.says for question in family.questions]
    passed = all(outcome.passed for outcome in outcomes)
    return passed, result_of(family, own, json.loads(json.dumps(answers)))


def result_of(family, own, answers):
    """A result with these answers."""
    return TaskResult(family.task, PART, 10, 7, variant={**Variant({family.name: own}, 30).document, "answers": answers})


@each_family
def test_the_probes_accept_the_own_solution_and_recognize_a_neighboring_one(family, tmp_path):
    own, theirs = ({name: values[place] for name, values in family.choices.items()} for place in (0, -1))
    others = {"me": Variant({family.name: own}, 30), "bob": Variant({family.name: theirs}, 30), "cid": Variant({}, 30)}
    passed, result = run_family_probes(family, own, own, tmp_path / "own")
    assert passed
    assert matching_students(result, others) == ()
    passed, result = run_family_probes(family, own, theirs, tmp_path / "copied")
    assert not passed
    assert matching_students(result, others) == ("bob",)


ACTIVATION = registry.FAMILIES["activation"]
MINE, THEIRS, THIRD = ({"slope": slope, "ceiling": 4.5} for slope in (0.111, 0.222, 0.333))
CLASS = {name: Variant({"activation": each}, 30) for name, each in (("me", MINE), ("twin", MINE), ("bob", THEIRS), ("cid", THIRD))}


MY_ANSWERS, THEIR_ANSWERS = (answers_of(ACTIVATION, parameters) for parameters in (MINE, THEIRS))


@pytest.mark.parametrize(
    ("answers", "students"),
    [
        (MY_ANSWERS, CLASS),
        (THEIR_ANSWERS, {name: CLASS[name] for name in ("me", "twin")}),
        ({name: [[arguments, 0.0] for arguments, _ in asked] for name, asked in MY_ANSWERS.items()}, CLASS),
        ({name: [[arguments, None] for arguments, _ in asked] for name, asked in THEIR_ANSWERS.items()}, CLASS),
        ({}, CLASS),
    ],
    ids=["own answers", "nobody has them", "a mistake", "every answer is missing", "nothing was asked"],
)
def test_answers_that_are_not_those_of_another_student_name_nobody(answers, students):
    assert matching_students(result_of(ACTIVATION, MINE, answers), students) == ()


def test_a_result_without_a_variant_names_nobody():
    assert matching_students(TaskResult("0.1", PASS, 10, 10), CLASS) == ()


def test_an_imprecise_line_that_separates_a_similar_data_set_names_no_student():
    points = registry.FAMILIES["points"]
    own, near, far = ({"angle": angle, "shift": 0.1} for angle in (10, 12, 40))
    others = {name: Variant({"points": each}, 30) for name, each in (("near", near), ("far", far))}
    for solver, names in ((near, ()), (far, ("far",))):
        answers = answers_of(points, solver)
        assert not any(question.accepts(own, (), answers[question.name][0][1]) for question in points.questions)
        assert matching_students(result_of(points, own, answers), others) == names


def test_all_students_with_the_parameters_of_the_answers_are_named():
    result = result_of(ACTIVATION, MINE, THEIR_ANSWERS)
    assert matching_students(result, {**CLASS, "ben": CLASS["bob"]}) == ("bob", "ben")


def test_a_copy_of_one_function_of_two_is_recognized():
    first, second = (question.name for question in ACTIVATION.questions)
    answers = {**THEIR_ANSWERS, second: [[arguments, None] for arguments, _ in THEIR_ANSWERS[second]]}
    assert matching_students(result_of(ACTIVATION, MINE, answers), CLASS) == ("bob",)
    mixed = {first: THEIR_ANSWERS[first], second: MY_ANSWERS[second]}
    assert matching_students(result_of(ACTIVATION, MINE, mixed), CLASS) == (), "no single student's"


# Workspaces

CHANGED = {
    "course/tasks.toml", "course/pristine.zip", "docs/module0/functional.md", "docs/module0/operators.md",
    "docs/module0/visualization.md", "minitorch/datasets.py", "minitorch/operators.py", "project/run_manual.py",
}  # fmt: skip
ADDED = {RECORD, "tests/test_variant_activation.py", "tests/test_variant_reduction.py", "tests/test_variant_points.py"}


@pytest.fixture(scope="module")
def adas_workspace():
    """Ada's workspace of Module 0."""
    return handout_files(ROOT, course(), 0, variant=variant_of("ada"), search=False)


def test_a_variant_changes_only_its_tasks(adas_workspace):
    plain = course_files(0)
    assert set(adas_workspace) - set(plain) == ADDED
    assert {path for path in plain if adas_workspace[path] != plain[path]} == CHANGED
    assert not any("bounded_leaky_relu" in str(text) or '"Own"' in str(text) for text in plain.values())


def test_a_workspace_has_stubs_tests_and_texts_of_the_variant(adas_workspace):
    error = '    raise NotImplementedError("Need to implement for Task {}")\n'
    meaning = '    """0.369 · x where x < 0, x where 0 <= x < 4.5, and 4.5 elsewhere."""\n'
    names = ("minitorch.operators:relu_back", "minitorch.operators:bounded_leaky_relu", "minitorch.operators:bounded_leaky_relu_back")
    for path, shown in {
        "minitorch/operators.py": f"def bounded_leaky_relu(x: float) -> float:\n{meaning}{error.format('0.1')}",
        "project/run_manual.py": f"{error.format('0.5')}\n\nclass Network",
        "minitorch/datasets.py": '    "Spiral": spiral,\n    "Own": own,\n}',
        "docs/module0/operators.md": "```{task} 0.1\n```\n\n```{admonition} Your variant\n",
        "course/tasks.toml": ", ".join(f'"{name}"' for name in names) + ",\n]",
    }.items():
        assert shown in str(adas_workspace[path]), path
    assert 'write = ["project.run_manual:separating_line", "project.run_manual:own_line"]' in str(adas_workspace["course/tasks.toml"])


def test_a_workspace_contains_its_own_parameters_and_no_secret(adas_workspace):
    record = json.loads(str(adas_workspace[RECORD]))
    assert record["parameters"] == {name: variant_of("ada").parameters[name] for name in registry.FAMILIES}
    assert set(record) == {"schema", "percent", "parameters"}
    for path, content in adas_workspace.items():
        assert SEED not in str(content), path
        assert "variants" not in path, path


def test_a_bare_workspace_lists_the_functions_of_the_variant():
    files = handout_files(ROOT, course(), 0, style="bare", variant=variant_of("ada"), search=False)
    assert "# - bounded_leaky_relu: 0.369 · x where x < 0" in str(files["minitorch/operators.py"])


def test_a_text_that_shows_a_solution_stops_the_handout(monkeypatch):
    check_leak(ACTIVATION, monkeypatch)


def check_leak(family, monkeypatch):
    page = course().task(family.task).page
    monkeypatch.setitem(registry.FAMILIES, family.name, replace(family, about={family.task: family.solution}))
    name = family.write[0].replace(".", r"\.")
    with pytest.raises(StaffError, match=rf"docs/{page}\.md:\d+ shows the solution of {name}"):
        handout_files(ROOT, course(), int(family.task[0]), variant=draw_variant(SEED, "ada", [family.name], 30))


def test_a_reference_without_the_insertion_point_of_a_family_is_refused(monkeypatch):
    gone = {"after": "minitorch.operators:gone"}, r"a function minitorch\.operators:gone, found none; change `after`"
    often = {"insertions": {("minitorch/datasets.py", "import "): "x"}}, r"once in minitorch/datasets\.py, found \d+ times: import; change"
    for changed, message in (gone, often):
        monkeypatch.setitem(registry.FAMILIES, "activation", replace(ACTIVATION, **changed))
        with pytest.raises(StaffError, match=f"family activation expected {message}"):
            handout_files(ROOT, course(), 0, variant=variant_of("ada"))


# The policy

TERM = """
[variants]
seed = "0123456789abcdef"
families = ["activation", "order"]
percent = 40

[[deadline]]
name = "Module 0"
tasks = ["0"]
due = 2026-10-05

[[student]]
id = "ada"

[[student]]
id = "bob"
"""


def policy(text=TERM):
    return parse_policy(text, Path(FILE), course())


def test_the_policy_says_which_tasks_differ_if_any():
    rules = policy().variants
    assert (rules.seed, rules.families, rules.percent) == ("0123456789abcdef", ("activation", "order"), 40.0)
    roster = roster_of(policy(), lambda id: id.upper())
    assert set(roster.shown) == {"ADA", "BOB"}
    assert roster.variants["ada"] == draw_variant("0123456789abcdef", "ada", ["activation", "order"], 40.0)
    shortest = policy(TERM.replace('families = ["activation", "order"]\npercent = 40\n', "")).variants
    assert shortest == replace(rules, families=tuple(registry.FAMILIES), percent=30.0)
    without = policy(TERM[TERM.index("[[deadline]]") :])
    assert (without.variants, roster_of(without, str)) == (None, None)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('seed = "0123456789abcdef"', 'seed = "short"', "term.toml, [variants]: seed expected a secret of at least 16 characters, such as"),
        ('seed = "0123456789abcdef"', "", "got nothing"),
        ('"order"', '"ordre"', "families expected some of activation, reduction, points, order, got 'ordre'"),
        ("percent = 40", "percent = 95", "percent expected a number from 0 to 90, got 95"),
        ("percent = 40", "percent = 0", "percent expected a number above 0, got 0"),
        ("percent = 40", "share = 40", "share expected one of seed, families, percent"),
    ],
)
def test_an_invalid_table_is_refused(old, new, says):
    assert_policy_refused(TERM, old, new, says)


def test_students_with_the_same_variant_are_listed(monkeypatch):
    monkeypatch.setitem(registry.FAMILIES, "activation", replace(ACTIVATION, choices={"slope": [0.123], "ceiling": [4.5]}))
    roster = roster_of(policy(), str)
    assert roster.indistinguishable_pairs() == [("activation", "ada", "bob")]


# Handouts of a class


def test_an_interrupted_batch_continues(tmp_path, monkeypatch):
    made = []

    def files(root, manifest, last, style, variant):
        if stop and len(made) == stop:
            raise KeyboardInterrupt
        made.append(variant)
        return {"a.txt": json.dumps(variant.document), "b.bin": b"\0"}

    monkeypatch.setattr(batch, "handout_files", files)
    monkeypatch.setattr(batch, "select", lambda root, manifest, last: {"course.py": source})
    variants, source, stop = {id: variant_of(id) for id in ("ada", "bob", "cid")}, "1", 2

    def run():
        done = batch.make_handouts(ROOT, course(), 0, tmp_path / "out", variants)
        return done.written, done.kept

    with pytest.raises(KeyboardInterrupt):
        run()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["ada.zip", "bob.zip"]
    stop = 0
    assert run() == (1, 2)
    assert run() == (0, 3)
    with zipfile.ZipFile(tmp_path / "out" / "bob.zip") as archive:
        assert archive.testzip() is None
        assert json.loads(archive.read("minitorch/a.txt")) == variant_of("bob").document
        assert archive.namelist() == ["minitorch/a.txt", "minitorch/b.bin", "minitorch/.handout.json"]
    (tmp_path / "out" / "bob.zip").write_bytes(b"half of a zip")
    assert run() == (1, 2)
    variants["ada"] = variant_of("another")
    assert run() == (1, 2)
    source = "2"
    assert run() == (3, 0)


# Commands


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs the command line in a term's folder; returns its exit code and all of its output."""
    (tmp_path / FILE).write_text(TERM)
    return command_in_folder(tmp_path, monkeypatch, capsys)


def test_the_command_prints_the_variants_of_a_class(run):
    ada = draw_variant("0123456789abcdef", "ada", ["activation", "order"], 40.0).parameters
    code, printed = run("variants", ".")
    assert (code, [line.split()[0] for line in printed.splitlines()]) == (0, ["ada", "bob"])
    code, printed = run("variants", ".", "--show", "ada")
    assert code == 0
    assert f"Task 0.1  activation: slope {ada['activation']['slope']}, ceiling {ada['activation']['ceiling']}\n" in printed
    assert "`stored_position`, for a storage whose order of dimensions is" in printed
    assert "0123456789abcdef" not in printed


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("variants . --show adda", "there is no student 'adda'; did you mean 'ada'?"),
        ("variants . --out x --modules 1-2", "--modules expected a range from 0, such as 0-1, got '1-2'"),
        ("variants . --out x --modules 0-", "--modules expected a range from 0, such as 0-1, got '0-'"),
        ("variants . --out x --style rich", "--style expected guided or bare, got 'rich'"),
        ("variants plain", "term.toml has no table [variants]; add one with a seed"),
        ("handout x --variant-of ada", "expected both --variant-of STUDENT and --term DIR, got --variant-of alone"),
        ("handout x --term .", "expected both --variant-of STUDENT and --term DIR, got --term alone"),
    ],
)
def test_invalid_requests_are_refused(arguments, says, run, tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / FILE).write_text("[[student]]\nid = 'ada'\n")
    code, printed = run(*arguments.split())
    assert code == 2
    assert says in printed
