"""Hidden probes: what they ask and how they judge; the reference passes them, and wrong answers and forgers do not."""

import math
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis.strategies import floats, integers

from course.manifest import ROOT, course
from course.staff.probes import Outcome, check, compare, edges_of, plain_launcher, probes_of, run_probes, share, weights_of
from course.staff.probes.bank import UNSEEN
from course.staff.probes.compare import Wrong, check_equal, check_raises, number, printable
from course.staff.probes.plain import Number, OtherObject, TensorSnapshot
from course.staff.probes.program import Program
from course.staff.probes.remote import NoReply, PlainChild
from course.staff.proofs.answers import FOLDER, load_answers
from tests.errors import raises

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

FORGERS = Path(__file__).parent / "forgers"

TASKS = [task for task in course().tasks if any(not full.startswith("tests.") for full in task.write)]
"""The tasks with code to write."""

EARLY = [task for task in TASKS if task.stage < 3]


def ids(tasks):
    return [task.id for task in tasks]


# Coverage of the course


def test_every_task_with_code_to_write_has_probes_and_each_has_a_unique_description_and_a_weight():
    assert [task.id for task in course().tasks if probes_of(task.id)] == ids(TASKS)
    for task in TASKS:
        says = [probe.says for probe in probes_of(task.id) if not probe.edge]
        assert len(set(says)) == len(says), task.id
        assert not set(says) & set(edges_of(task.id)), task.id
        assert all(probe.weight > 0 and probe.seconds > 0 for probe in probes_of(task.id))


@pytest.mark.parametrize("task", TASKS, ids=ids(TASKS))
def test_edge_cases_have_their_own_inputs_and_a_small_total_weight(task):
    few = [replace(probe, count=min(probe.count, 4)) for probe in probes_of(task.id)]
    assert [probe.edge or probe.says for probe in few if not check._cases(probe, 0)] == []
    weights, edges = weights_of(task.id), edges_of(task.id)
    assert sum(weights[edge] for edge in edges) <= 0.2 * sum(weights.values()) + 1e-9
    assert all(0 < weights[edge] <= 0.04 * sum(weights.values()) + 1e-9 for edge in edges)


@pytest.mark.parametrize("task", TASKS, ids=ids(TASKS))
def test_the_chapter_of_a_task_lists_its_edge_cases(task):
    page = " ".join((ROOT / "docs" / f"{task.page}.md").read_text(encoding="utf-8").replace("`", "").split())
    assert [edge for edge in edges_of(task.id) if edge not in page] == []


def test_the_first_page_of_the_book_states_the_share_of_edge_cases():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"at least {100 * (1 - check.MAX_EDGE_SHARE):.0f} % of a task's points are for what the chapter" in text


def test_the_undetectable_answers_exist_among_the_wrong_answers_and_there_are_at_least_47_forgers():
    assert set(UNSEEN) <= {answer.key for answer in load_answers(FOLDER, course().tasks)}
    assert len(forgers()) >= 47


# How probes judge


@pytest.mark.parametrize(
    ("got", "expected", "close"),
    [
        *((1.0, 1.0, 0.0), (1.0, 1.0 + 1e-10, 1e-9), (math.nan, math.nan, 0.0), (math.inf, math.inf, 1e-9)),
        ([1.0, (True, None)], [1.0, (True, None)], 0.0),
        (np.array([1.0, math.nan]), np.array([1.0, math.nan]), 0.0),
        (TensorSnapshot(np.array([[1.0]]), (1, 1), 0, False), np.array([[1.0]]), 0.0),
        *((np.array(2.0), np.float64(2.0), 0.0), (np.array([True]), np.array([True]), 0.0)),
    ],
)
def test_a_right_answer_is_accepted(got, expected, close):
    check_equal(got, expected, close)


@pytest.mark.parametrize(
    ("got", "expected", "message"),
    [
        (1, 1.0, "expected 1.0, got 1"),
        (True, 1.0, "expected 1.0, got True"),
        (1.0, True, "expected True, got 1.0"),
        (Number("Odd", 1.0), 1.0, "expected 1.0, got Odd 1.0"),
        (OtherObject("list"), [], "expected [], got a list"),
        (math.nan, 1.0, "expected 1.0, got nan"),
        (1.0, math.nan, "expected nan, got 1.0"),
        ((1.0,), [1.0], "expected [1.0], got [1.0]"),
        ([1.0], [1.0, 2.0], "expected [1.0, 2.0], got [1.0]"),
        (2.0, np.array(2.0), "expected shape (): 2.0, got 2.0"),
        (np.array([2.0]), np.array([[2.0]]), "expected shape (1, 1): [[2.0]], got shape (1,): [2.0]"),
        (TensorSnapshot(np.array([1.0]), (1,), 0, False), np.array([2.0]), "expected shape (1,): [2.0], got a tensor of shape (1,): [1.0]"),
    ],
)
def test_an_answer_with_a_wrong_value_or_type_is_rejected(got, expected, message):
    with raises(Wrong, message):
        check_equal(got, expected, 1e-9)


def test_a_number_may_be_an_integer_but_not_a_boolean():
    assert number(3) == 3.0
    for other in (True, None, Number("Odd", 1.0), "3"):
        with raises(Wrong, f"expected a number, got {printable(other)}"):
            number(other)


# How probes run


@contextmanager
def task_with_probes(*probes):
    """Task 0.1 with these probes instead of its own."""
    own = check._probes["0.1"]
    check._probes["0.1"] = list(probes)
    try:
        yield course().task("0.1")
    finally:
        check._probes["0.1"] = own


def probe(function, *, count=5, seconds=10.0, examples=(), **inputs):
    return check.Probe("0.1", function.__name__, 1, function, inputs, examples, count, seconds)


@pytest.fixture(scope="module")
def submission(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submission")
    lines = ["import os, time", "def double(x): return 2 * x if x < 7 else 0.0", "def ends(): os._exit(0)", "def hangs(): time.sleep(60)"]
    (folder / "minitorch.py").write_text("\n".join(lines), encoding="utf-8")
    return folder


def doubles(p, x):
    (got,) = yield [p.find("minitorch:double")(x)]
    check_equal(got, 2 * x)


def ends(p):
    yield [p.find("minitorch:ends")()]


def hangs(p):
    yield [p.find("minitorch:hangs")()]


def misreads(p):
    (got,) = yield [p.find("minitorch:double")(1.0)]
    check_equal(got["there is"]["no such thing"], 1.0)


def asks_twice(p):
    (first,) = yield [p.find("minitorch:double")(1.0)]
    (second,) = yield [Program().find("minitorch:double")(first)]
    check_equal(second, 4.0)
    yield from check_raises(Program().find("minitorch:double")("x"), "TypeError")


def test_a_failing_probe_names_the_shortest_failing_input(submission):
    with task_with_probes(probe(doubles, x=floats(0, 100), count=30, examples=[(1.0,), (88.5,), (9.0,)])) as task:
        (outcome,) = run_probes(task, plain_launcher(submission))
    assert outcome == Outcome("doubles", 1, False, "double(9.0): expected 18.0, got 0.0")


def test_a_child_that_ends_or_hangs_fails_its_probe_and_the_next_probe_gets_a_new_child(submission):
    tried = [probe(ends), probe(hangs, seconds=0.3), probe(misreads), probe(asks_twice), probe(doubles, x=integers(0, 6))]
    with task_with_probes(*tried) as task:
        outcomes = run_probes(task, plain_launcher(submission))
    gone, hung = "ends(): it exited before it answered", "hangs(): it gave no answer within 0.3 s"
    misread = "double(1.0): expected a different kind of answer, got [2.0]"
    assert [outcome.reason for outcome in outcomes] == [gone, hung, misread, "", ""]
    assert (share(outcomes), share([])) == (2 / 5, 0.0)


def test_a_submission_that_cannot_be_imported_is_started_once(tmp_path):
    starts = []

    def launch(environment):
        starts.append(environment)
        raise NoReply("could not be imported: it raised SyntaxError")

    with task_with_probes(probe(ends), probe(hangs)) as task:
        outcomes = run_probes(task, launch)
    assert [outcome.reason for outcome in outcomes] == ["could not be imported: it raised SyntaxError"] * 2
    assert len(starts) == 1


def test_the_seed_determines_the_inputs(submission):
    rng = []

    def notes(p, x):
        rng[-1].append(x)
        yield [p.find("minitorch:double")(x)]

    with task_with_probes(probe(notes, x=floats(0, 1), count=10)) as task:
        for seed in (1, 1, 2):
            rng.append([])
            run_probes(task, plain_launcher(submission), seed)
    assert rng[0] == rng[1] != rng[2]
    assert len(rng[0]) == 10


def doubles_small_ones(p, x):
    """A check of small numbers and, through labels, of edge cases."""
    (got,) = yield [p.find("minitorch:double")(x)]
    compare.check_all_equal([got, "float"], [(2 * x, "" if x < 7 else "large"), (type(x).__name__, "kind")])


def test_edge_cases_are_distinguished_by_input_or_label_and_have_one_outcome_each(submission):
    with task_with_probes() as task:
        edges = {"large": lambda x: x >= 7}
        check.probe("0.1", "doubles", weight=3, examples=[(1.0,), (9.0,)], edges=edges)(doubles)
        check.probe("0.1", "labelled", examples=[(1.0,), (8.0,)], labels=["large", "kind"])(doubles_small_ones)
        check.probe("0.1", "hangs", edge=True, seconds=0.3)(hangs)
        outcomes = {outcome.says: outcome for outcome in run_probes(task, plain_launcher(submission))}
        weights = weights_of("0.1")
    passed = {"doubles": True, "labelled": True, "large": False, "kind": True, "hangs": False}
    assert {says: outcome.passed for says, outcome in outcomes.items()} == passed
    assert outcomes["large"].reason == "double(9.0): expected 18.0, got 0.0"
    assert {says: outcome.weight for says, outcome in outcomes.items()} == weights
    assert weights["doubles"] == 3 * weights["labelled"]
    assert weights["large"] / sum(weights.values()) == pytest.approx(0.04)


def test_probes_give_the_same_outcomes_in_the_sandbox(submission):
    """A call that hangs or ends its process there fails its probe with the same message."""
    from course.staff.probes.sandboxed import sandbox_launcher
    from course.staff.sandbox.sandbox import Sandbox, best_level

    level = best_level().level
    if level == "none":
        pytest.skip("this machine has no sandbox: neither bubblewrap nor Landlock")
    submission.chmod(0o755)
    with task_with_probes(probe(doubles, x=integers(0, 6)), probe(ends), probe(hangs, seconds=0.5), probe(asks_twice)) as task:
        outcomes = run_probes(task, sandbox_launcher(Sandbox(level), submission))
    reasons = ["", "ends(): it exited before it answered", "hangs(): it gave no answer in time", ""]
    assert [outcome.reason for outcome in outcomes] == reasons


# The reference, the wrong answers and the forgers


class SharedChild(PlainChild):
    """The reference, which imports the package once for all tasks."""

    def end(self):
        """Stay for the next task."""


@pytest.fixture(scope="module")
def shared_child(forked_processes):
    child = SharedChild(ROOT, {})
    yield lambda environment: child
    PlainChild.end(child)


@pytest.mark.parametrize("task", EARLY, ids=ids(EARLY))
def test_the_reference_passes_all_probes(shared_child, task, monkeypatch):
    few = [replace(probe, count=min(probe.count, 5)) for probe in check.probes_of(task.id)]
    monkeypatch.setitem(check._probes, task.id, few)
    check_reference(task, shared_child)


def check_reference(task, launch):
    outcomes = run_probes(task, launch)
    assert [(outcome.says, outcome.reason) for outcome in outcomes if not outcome.passed] == []


def forgers():
    return load_answers(FORGERS, course().tasks)
