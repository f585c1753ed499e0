"""Tests that students write, graded by code: they must pass with right code and fail with wrong code.

Each run is a process of its own in which all else is right. A test could tell a lie about its own outcome, but it would have to know
which code it runs with, and then it has found out what it was to find out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.manifest import Manifest, Task
from course.staff import StaffError
from course.staff.grading.results import HiddenProbe, VisibleTest
from course.staff.proofs import answers
from course.staff.proofs.answers import WrongAnswer

FILE = Path(__file__).with_name("own_tests.toml")


@dataclass(frozen=True, eq=False)
class OwnTest:
    """A test that a task has the student write.

    Attributes:
        task: The task's id.
        name: As in the manifest, "tests.test_operators:test_sigmoid".
        weight: What it counts beside the probes of the task.
        notices: The wrong code that it must fail with.
        enough: Whether it is enough to fail with one of them.
    """

    task: str
    name: str
    weight: float
    notices: tuple[WrongAnswer, ...]
    enough: bool = False

    @property
    def file(self) -> str:
        """Its file."""
        return self.name.partition(":")[0].replace(".", "/") + ".py"

    @property
    def id(self) -> str:
        """As pytest calls it."""
        return f"{self.file}::{self.name.partition(':')[2]}"


Run = Callable[[Mapping[str, str], Sequence[str]], Mapping[str, VisibleTest]]
"""Runs tests by their ids in the graft with these files changed, and gives their outcomes."""


def load_own_tests(manifest: Manifest, file: Path = FILE) -> list[OwnTest]:
    """The tests that students write.

    Raises:
        StaffError: If an entry does not say what it must, or names wrong code that there is not.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise StaffError(f"{file} is not valid TOML: {error}") from None
    known = {task.id: task for task in manifest.tasks}
    wrong = {entry["name"]: _wrong(entry, known) for entry in document.get("wrong", [])}
    bank = {answer.key: answer for answer in answers.load_answers(answers.FOLDER, manifest.tasks)}
    tests = []
    for entry in document.get("test", []):
        if entry["task"] not in known:
            continue  # of a course with other tasks
        if lost := [name for name in entry["notices"] if name not in {**wrong, **bank}]:
            raise StaffError(
                f"{file}: {entry['name']} is to notice {lost[0]}, which is neither in the file nor in the bank of wrong answers"
            )
        notices = tuple({**wrong, **bank}[name] for name in entry["notices"])
        tests.append(OwnTest(entry["task"], entry["name"], float(entry["weight"]), notices, entry.get("enough", False)))
    return [test for test in tests if test.name in known[test.task].write]


def _wrong(entry: Mapping[str, Any], tasks: Mapping[str, Task]) -> WrongAnswer:
    """An entry of wrong code: a patch, or one value for every function of a task."""
    patch = dict(entry.get("patch", {}))
    for full in tasks[entry["every"]].write if entry.get("every") in tasks else ():
        name = full.partition(":")[2]
        patch[full] = f"def {name}(*args):\n    return {entry['gives']}\n"
    return WrongAnswer("own", entry["name"], entry["mistake"], patch)


def grade_own_tests(tests: Sequence[OwnTest], unwritten: Sequence[str], right: Mapping[str, str | bytes], run: Run) -> list[HiddenProbe]:
    """Meet the student's tests with right and wrong code.

    Args:
        tests: Those of one task.
        unwritten: Functions that are still stubs; nothing is run for them.
        right: The files of the graft in which the code is right, by path.
        run: See `Run`.
    """
    written = [test for test in tests if test.name.partition(":")[2] not in unwritten]
    with_right = run({}, [test.id for test in written]) if written else {}
    passing = [test for test in written if test.id in with_right and with_right[test.id].outcome == "passed"]
    noticed: dict[tuple[str, str], bool] = {}
    left = [(test, answer) for test in passing for answer in test.notices]
    while left:
        met = _together(left)
        changed: dict[str, str | bytes] = dict(right)
        for _, answer in met:
            changed = answers.apply_patch(answer, changed)
        outcomes = run({path: str(text) for path, text in changed.items() if text != right[path]}, [test.id for test, _ in met])
        noticed |= {(test.name, answer.key): test.id in outcomes and outcomes[test.id].outcome == "failed" for test, answer in met}
        enough = {test for test, answer in met if test.enough and noticed[test.name, answer.key]}
        left = [pair for pair in left if pair not in met and pair[0] not in enough]
    return [probe for test in tests for probe in _probes(test, test in written, with_right.get(test.id), noticed)]


def _together(left: Sequence[tuple[OwnTest, WrongAnswer]]) -> list[tuple[OwnTest, WrongAnswer]]:
    """Tests, each with its wrong code, that can meet it in one run: no test is in it twice, and no function wrong in two ways."""
    met: list[tuple[OwnTest, WrongAnswer]] = []
    for test, answer in left:
        functions = {full for _, other in met for full in other.patch}
        if test not in [other for other, _ in met] and not functions & set(answer.patch):
            met.append((test, answer))
    return met


def _probes(test: OwnTest, written: bool, right: VisibleTest | None, noticed: Mapping[tuple[str, str], bool]) -> list[HiddenProbe]:
    """What a test has earned, as probes."""
    name = test.name.partition(":")[2]
    reason = "" if right and right.outcome == "passed" else f"it fails with right code: {right.message if right else 'it did not end'}"
    reason = reason if written else "it is not written"
    found = [noticed.get((test.name, answer.key), False) for answer in test.notices]
    if not test.notices:
        return [HiddenProbe(f"{name} passes with right code", test.weight, not reason, reason)]
    if test.enough:
        says = f"{name} notices wrong code, such as: {test.notices[0].mistake}"
        return [HiddenProbe(says, test.weight, any(found), reason or ("" if any(found) else "it passes with all of it"))]
    return [
        HiddenProbe(f"{name} notices: {answer.mistake}", test.weight / len(found), hit, reason or ("" if hit else "it passes"))
        for answer, hit in zip(test.notices, found, strict=True)
    ]
