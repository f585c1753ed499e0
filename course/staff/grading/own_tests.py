"""Grades the tests that students write: they must pass with correct code and fail with wrong code.

Each run is a separate process in which all other code is correct. A test could lie about its own outcome, but to do so it would have to
detect wrong code, which is what the task asks for.
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
    """A test that a task asks the student to write.

    Attributes:
        task: The task's id.
        name: The name in the manifest, such as "tests.test_operators:test_sigmoid".
        weight: The weight, relative to the probes of the task.
        notices: The wrong code that the test must detect.
        enough: Whether detecting one of them is enough.
    """

    task: str
    name: str
    weight: float
    notices: tuple[WrongAnswer, ...]
    enough: bool = False

    @property
    def file(self) -> str:
        """The path of the file that contains it."""
        return self.name.partition(":")[0].replace(".", "/") + ".py"

    @property
    def id(self) -> str:
        """The test id in pytest."""
        return f"{self.file}::{self.name.partition(':')[2]}"


Run = Callable[[Mapping[str, str], Sequence[str]], Mapping[str, VisibleTest]]
"""Runs tests in the graft with these files changed; takes the files and test ids, and returns outcomes by id."""


def load_own_tests(manifest: Manifest, file: Path = FILE) -> list[OwnTest]:
    """The tests that students write.

    Raises:
        StaffError: If the file is not valid TOML, or names wrong code that does not exist.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise StaffError(f"{file} is not valid TOML: {error}") from None
    known = {task.id: task for task in manifest.tasks}
    wrong = {entry["name"]: _parse_wrong(entry, known) for entry in document.get("wrong", [])}
    bank = {answer.key: answer for answer in answers.load_answers(answers.FOLDER, manifest.tasks)}
    tests = []
    for entry in document.get("test", []):
        if entry["task"] not in known:
            continue  # the course does not have this task
        if lost := [name for name in entry["notices"] if name not in {**wrong, **bank}]:
            raise StaffError(
                f"{file}: {entry['name']} must notice {lost[0]}, which is neither in this file nor in the bank of wrong answers"
            )
        notices = tuple({**wrong, **bank}[name] for name in entry["notices"])
        tests.append(OwnTest(entry["task"], entry["name"], float(entry["weight"]), notices, entry.get("enough", False)))
    return [test for test in tests if test.name in known[test.task].write]


def _parse_wrong(entry: Mapping[str, Any], tasks: Mapping[str, Task]) -> WrongAnswer:
    """Parse an entry of wrong code: a patch, or one return value for every function of a task."""
    patch = dict(entry.get("patch", {}))
    for full in tasks[entry["every"]].write if entry.get("every") in tasks else ():
        name = full.partition(":")[2]
        patch[full] = f"def {name}(*args):\n    return {entry['gives']}\n"
    return WrongAnswer("own", entry["name"], entry["mistake"], patch)


def grade_own_tests(tests: Sequence[OwnTest], unwritten: Sequence[str], right: Mapping[str, str | bytes], run: Run) -> list[HiddenProbe]:
    """Run the student's tests with correct and with wrong code.

    Args:
        tests: The tests of one task.
        unwritten: Functions that are still stubs; they are not run.
        right: The files of the graft with correct code, by path.
        run: See `Run`.

    Returns:
        The outcomes as probes.
    """
    written = [test for test in tests if test.name.partition(":")[2] not in unwritten]
    with_right = run({}, [test.id for test in written]) if written else {}
    passing = [test for test in written if test.id in with_right and with_right[test.id].outcome == "passed"]
    noticed: dict[tuple[str, str], bool] = {}
    left = [(test, answer) for test in passing for answer in test.notices]
    while left:
        batch = _next_batch(left)
        changed: dict[str, str | bytes] = dict(right)
        for _, answer in batch:
            changed = answers.apply_patch(answer, changed)
        outcomes = run({path: str(text) for path, text in changed.items() if text != right[path]}, [test.id for test, _ in batch])
        noticed |= {(test.name, answer.key): test.id in outcomes and outcomes[test.id].outcome == "failed" for test, answer in batch}
        enough = {test for test, answer in batch if test.enough and noticed[test.name, answer.key]}
        left = [pair for pair in left if pair not in batch and pair[0] not in enough]
    return [probe for test in tests for probe in _probes(test, test in written, with_right.get(test.id), noticed)]


def _next_batch(left: Sequence[tuple[OwnTest, WrongAnswer]]) -> list[tuple[OwnTest, WrongAnswer]]:
    """Tests with wrong code that can share one run: each test occurs once, and no function is wrong in two ways."""
    batch: list[tuple[OwnTest, WrongAnswer]] = []
    for test, answer in left:
        functions = {full for _, other in batch for full in other.patch}
        if test not in [other for other, _ in batch] and not functions & set(answer.patch):
            batch.append((test, answer))
    return batch


def _probes(test: OwnTest, written: bool, right: VisibleTest | None, noticed: Mapping[tuple[str, str], bool]) -> list[HiddenProbe]:
    """The outcome of a test as probes."""
    name = test.name.partition(":")[2]
    reason = "" if right and right.outcome == "passed" else f"it fails with correct code: {right.message if right else 'it did not end'}"
    reason = reason if written else "it is not written"
    found = [noticed.get((test.name, answer.key), False) for answer in test.notices]
    if not test.notices:
        return [HiddenProbe(f"{name} passes with correct code", test.weight, not reason, reason)]
    if test.enough:
        says = f"{name} detects wrong code, such as: {test.notices[0].mistake}"
        return [HiddenProbe(says, test.weight, any(found), reason or ("" if any(found) else "it also passes with all wrong code"))]
    return [
        HiddenProbe(
            f"{name} detects: {answer.mistake}",
            test.weight / len(found),
            hit,
            reason or ("" if hit else "it also passes with this mistake"),
        )
        for answer, hit in zip(test.notices, found, strict=True)
    ]
