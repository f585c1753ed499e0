"""Which tests fail for which wrong answer, and which wrong answer a submission resembles most: `course.staff.grading`."""

import json
from dataclasses import replace

import pytest

from course.manifest import ROOT, course
from course.staff import StaffError
from course.staff.grading import nearest, patterns
from course.staff.grading.nearest import group_by_failures, most_like
from course.staff.grading.patterns import Patterns, collect_patterns, hash_of, hash_of_tests, read_patterns, write_patterns
from course.staff.grading.results import Nearest
from course.staff.proofs.answers import FOLDER, WrongAnswer, load_answers
from course.staff.proofs.prove import needed_files
from course.staff.proofs.runs import Run
from tests.errors import raises

from . import miniature

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

TESTS = '''"""Stage 0."""

import pytest
from hypothesis import given

from minitorch.operators import relu

from .strategies import small

@pytest.mark.task0_1
def test_above() -> None:
    assert relu(2.0) == 2.0

@pytest.mark.task0_1
@pytest.mark.parametrize("x", [-1.0, 0.0])
def test_below(x: float) -> None:
    assert relu(x) == 0.0

@pytest.mark.task0_1
@pytest.mark.skip(reason="needs a machine that is not here")
def test_elsewhere() -> None:
    pass

@pytest.mark.task0_1
@given(small)
def test_all(x: float) -> None:
    assert relu(x) >= 0

@pytest.mark.task0_2
@given(small)
def test_own(x: float) -> None:
    assert relu(x) >= 0
'''

HERE = "tests/test_operators.py"
IDS = [f"{HERE}::{name}" for name in ("test_above", "test_below[-1.0]", "test_below[0.0]", "test_all")]


def wrong_answer(body, name, task="0.1", mistake="Is wrong."):
    return WrongAnswer(task, name, mistake, {"minitorch.operators:relu": f"def relu(x):\n    {body}\n"})


class GradingEnv:
    """Collects the patterns of the miniature course; `runs` names what has run since the last access, with "" for the reference."""

    def __init__(self, root, manifest, monkeypatch):
        (root / HERE).write_text(TESTS, encoding="utf-8")
        self.root, self.manifest = root, manifest
        self.path = root / "patterns.json"
        self._runs = []
        self.stop_at = ""
        failing = patterns._failures

        def record_run(answer, *rest):
            if answer.name == self.stop_at:
                raise KeyboardInterrupt
            self._runs.append(answer.name)
            return failing(answer, *rest)

        monkeypatch.setattr(patterns, "_failures", record_run)
        monkeypatch.setattr("os.cpu_count", lambda: 1)  # one after the other

    def collect(self, *answers, again=False):
        files = needed_files(self.root, self.manifest)
        return collect_patterns(answers, self.manifest, self.root, files, self.path, again=again)

    @property
    def runs(self):
        runs, self._runs = self._runs, []
        return runs


@pytest.fixture
def env(tmp_path, monkeypatch):
    return GradingEnv(*miniature.write(tmp_path / "reference"), monkeypatch)


IDENTITY, ZERO = wrong_answer("return x", "identity"), wrong_answer("return 0.0", "zero")


# Collecting patterns


def test_a_reference_that_fails_its_own_tests_is_an_error(env):
    (env.root / "minitorch" / "operators.py").write_text("def relu(x):\n    return x\n", encoding="utf-8")
    with raises(StaffError, f"the reference itself does not pass {IDS[1]} of task 0.1, so no pattern of failures can be collected"):
        env.collect(ZERO)
    assert not env.path.exists()


# The file of patterns


def test_patterns_are_compact_and_round_trip(tmp_path):
    _, manifest = miniature.write(tmp_path / "reference")
    ids = [
        f"tests/{name}" for name in ("test_a.py::test_a[1-2]", "test_a.py::test_b", *(f"test_b.py::{n}" for n in ("test_a", "test_c", "d")))
    ]
    tests = {"tests/test_a.py": "ab12", "tests/test_b.py": "cd34"}
    kept = {"0.1": Patterns(tests, ids, {"a": ("1f", (0, 1, 2, 4)), "b": ("2e", ()), "c": ("3d", (3,))})}
    write_patterns(tmp_path / "patterns.json", kept, manifest)
    assert json.loads((tmp_path / "patterns.json").read_text(encoding="utf-8"))["tasks"]["0.1"] == {
        "tests": {
            "tests/test_a.py": {"hash": "ab12", "ids": ["test_a[1-2]", "test_b"]},
            "tests/test_b.py": {"hash": "cd34", "ids": ["test_a", "test_c", "d"]},
        },
        "answers": {"a": "1f 0-2 4", "b": "2e", "c": "3d 3"},
    }
    assert read_patterns(tmp_path / "patterns.json") == kept


@pytest.mark.parametrize("text", [None, "{", "[]", '{"schema": 0, "tasks": {}}', '{"schema": 1, "tasks": {"0.1": {"tests": 3}}}'])
def test_an_unreadable_file_of_patterns_counts_as_none(tmp_path, text):
    if text is not None:
        (tmp_path / "patterns.json").write_text(text, encoding="utf-8")
    assert read_patterns(tmp_path / "patterns.json") == {}


# The nearest wrong answer


def make_patterns(**answers):
    """Patterns of a task with the tests a to h; each answer is the letters of the tests that it fails."""
    ids = list("abcdefgh")
    return Patterns({}, ids, {name: ("", tuple(ids.index(letter) for letter in letters)) for name, letters in answers.items()})


def find(failed, **answers):
    return most_like("0.1", list(failed), make_patterns(**answers), {name: f"Does {name}." for name in answers})


@pytest.mark.parametrize(
    ("failed", "answers", "nearest"),
    [
        ("abc", {"one": "ab", "two": "abc", "three": "abcd"}, Nearest("0.1/two", "Does two.", 1.0)),
        # the shared failures divided by all; each test is failed by one answer of two, so all have the same weight
        ("abce", {"one": "abcd", "two": "efgh"}, Nearest("0.1/one", "Does one.", 0.6)),
        # three of four answers fail a, which weighs ln(1 + 4/3); one fails c, which weighs ln(1 + 4): 1.609 of 2.457
        ("ac", {"x": "abd", "y": "abe", "z": "abf", "rare": "c"}, Nearest("0.1/rare", "Does rare.", 0.655)),
        ("abc", {"one": "cdefg", "two": "gh"}, None),  # similar to none
        ("", {"one": "ab"}, None),
        ("abcdefgh", {"one": "abcdefgh"}, None),  # everything fails
        ("ab", {"two": "ab", "one": "ab", "three": "c"}, Nearest("0.1/one", "Does one. Or: Does two.", 1.0)),
        ("ab", {"two": "ab", "one": "ab", "three": "ab", "four": "ab"}, None),  # too many fail the same tests
        ("ab", {"z": "abc", "y": "abd"}, Nearest("0.1/y", "Does y.", 0.558)),  # as similar as z: 2 ln 2 / (2 ln 2 + ln 3)
    ],
)
def test_the_nearest_answer_is_that_with_the_most_similar_failures(failed, answers, nearest):
    assert find(failed, **answers) == nearest


def test_failures_outside_the_tests_of_the_task_and_outdated_patterns_do_not_count():
    known, mistakes = make_patterns(one="ab", two="c"), {"one": "Does one.", "two": "Does two."}
    assert most_like("0.1", ["a", "b", "sums lists of any length"], known, mistakes) == Nearest("0.1/one", "Does one.", 1.0)
    assert most_like("0.1", ["a"], make_patterns(one="a", two="ab"), {"two": "Does two."}) == Nearest("0.1/two", "Does two.", 0.5)


def test_wrong_answers_with_similar_patterns_are_listed():
    assert group_by_failures(make_patterns(one="ab", two="c", three="ab", four="c", five="d")) == [("four", "two"), ("one", "three")]


# The course's wrong answers


@pytest.fixture
def saved_patterns(tmp_path, monkeypatch):
    """Task 1.1 with two wrong answers, one of which is up to date."""
    today, other = load_answers(FOLDER, [course().task("1.1")])[:2]
    tests = hash_of_tests(["tests/test_autodiff.py"], ROOT)
    ids = [f"tests/test_autodiff.py::{name}" for name in "abc"]
    kept = Patterns(tests, ids, {today.name: (hash_of(today), (0, 1)), other.name: ("older", (2,))})
    write_patterns(tmp_path / "patterns.json", {"1.1": kept}, course())
    monkeypatch.setattr(nearest, "PATTERNS", tmp_path / "patterns.json")
    nearest._load_known.cache_clear()
    monkeypatch.setattr(nearest, "_load_known", nearest._load_known.__wrapped__)
    return kept


def test_the_failures_of_a_submission_lead_to_the_sentence_about_its_mistake(saved_patterns):
    today = load_answers(FOLDER, [course().task("1.1")])[0]
    assert nearest.nearest("1.1", saved_patterns.ids[:2]) == Nearest(today.key, today.mistake, 1.0)


def test_an_outdated_pattern_a_task_without_patterns_and_one_that_does_not_exist_have_no_nearest(saved_patterns):
    assert nearest.nearest("1.1", saved_patterns.ids[2:]) is None
    assert nearest.nearest("1.2", ["a"]) is None
    assert nearest.nearest("9.9", ["a"]) is None


def test_patterns_of_another_version_of_the_tests_are_ignored(saved_patterns, monkeypatch, tmp_path):
    monkeypatch.setattr(nearest, "ROOT", tmp_path)
    assert nearest.nearest("1.1", saved_patterns.ids[:2]) is None


def test_tests_about_compiled_code_count_if_the_compiler_is_on(env, monkeypatch):
    states = {"1": {"t.py::plain": "passed", "t.py::loops": "skipped"}, "0": {"t.py::plain": "passed", "t.py::loops": "passed"}}

    def run(folder, task, files, mode):
        found = dict(states[mode["NUMBA_DISABLE_JIT"]])
        if "return -2" in (folder / "minitorch" / "operators.py").read_text(encoding="utf-8"):
            found = {id: "failing" if state == "passed" else state for id, state in found.items()}
        return Run([{"nodeid": id, "state": state} for id, state in found.items()], False, "")

    monkeypatch.setattr(patterns, "_run", run)
    found = env.collect(replace(wrong_answer("return -2", "a"), compiled=True), wrong_answer("return -2", "b"))["0.1"]
    assert {name: found.failures(name) for name in ("a", "b")} == {"a": {"t.py::plain", "t.py::loops"}, "b": {"t.py::plain"}}
    assert env.collect(wrong_answer("return -2", "b"), again=True)["0.1"].ids == ["t.py::plain", "t.py::loops"]
