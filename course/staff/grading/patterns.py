"""Collects once which tests of its task fail for each wrong answer, so that a submission's failures can be recognized."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.manifest import Manifest, Task
from course.runner.gpu import environment
from course.staff import StaffError
from course.staff.proofs.answers import WrongAnswer, apply_patch, executable_source, graded_files
from course.staff.proofs.prove import COMPILED, PLAIN, without_kernels
from course.staff.proofs.runs import LIMIT, Run, copy, each, run_tests
from course.workspace.atomic_files import write_json

PATTERNS = Path(__file__).with_name("patterns.json")

SCHEMA = 1
"""Version of the file's format."""

TEST_SECONDS = 30
"""Computing time after which a test is considered to hang; it and all later tests count as failed."""

PLUGIN = """
import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(trylast=True)
def pytest_configure():
    settings.register_profile("unshrunk", settings.get_profile("course-ci"), phases=[Phase.explicit, Phase.generate], max_examples=30)
    settings.load_profile("unshrunk")
"""
"""A pytest plugin for the collection. Hypothesis does not shrink and tries few examples, because only the outcome of a test matters."""


@dataclass
class Patterns:
    """The failures of the wrong answers to one task.

    Attributes:
        tests: Hashes of the test files, by path.
        ids: Test ids in the order in which the tests run.
        answers: For each wrong answer its hash and the failing tests, as positions in `ids`.
    """

    tests: dict[str, str]
    ids: list[str]
    answers: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)

    def failures(self, name: str) -> frozenset[str]:
        """The tests that fail for a wrong answer."""
        return frozenset(self.ids[position] for position in self.answers[name][1])


def hash_of(answer: WrongAnswer) -> str:
    """A hash of a wrong answer's code without comments and docstrings."""
    patch = sorted((full, executable_source(definition)) for full, definition in answer.patch.items())
    return _hash(json.dumps([patch, answer.compiled]))


def hash_of_tests(paths: Iterable[str], root: Path) -> dict[str, str]:
    """Hashes of the code of test files, without comments and docstrings; an empty string for a file that does not exist."""
    return {path: _hash(executable_source((root / path).read_text(encoding="utf-8"))) if (root / path).is_file() else "" for path in paths}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def collect_patterns(
    answers: Sequence[WrongAnswer],
    manifest: Manifest,
    root: Path,
    files: Mapping[str, str | bytes],
    path: Path = PATTERNS,
    done: Callable[[], object] = lambda: None,
    again: bool = False,
) -> dict[str, Patterns]:
    """Run the tests of its task on every wrong answer, and record which of them fail.

    An answer is run only if it, or the tests of its task, changed since the last run. The file is written after each answer, so that an
    interrupted run can be resumed.

    Args:
        answers: The wrong answers. Known patterns of other answers to their tasks are dropped; those of other tasks are kept.
        manifest: The course.
        root: The repository.
        files: The result of `prove.needed_files`.
        path: The file of the patterns.
        done: Called once for each answer.
        again: Whether to run all answers.

    Returns:
        The patterns of the answers' tasks, by task.

    Raises:
        StaffError: If the reference itself fails the tests of a task, or tests took too long.
    """
    known = read_patterns(path)
    by_task: dict[str, list[WrongAnswer]] = {}
    for answer in answers:
        by_task.setdefault(answer.task, []).append(answer)
    todo: list[WrongAnswer] = []
    for id, of_task in by_task.items():
        task = manifest.task(id)
        now = hash_of_tests(graded_files(task, files), root)
        before = known.get(id)
        if before is None or before.tests != now or again:
            known[id] = before = Patterns(now, trusted_ids(task, without_kernels(files, manifest, task)))
        before.answers = {
            answer.name: before.answers[answer.name]
            for answer in of_task
            if answer.name in before.answers and before.answers[answer.name][0] == hash_of(answer)
        }
        todo += [answer for answer in of_task if answer.name not in before.answers]
    for _ in range(len(answers) - len(todo)):
        done()
    lock = threading.Lock()
    with ExitStack() as folders:
        compiled: dict[str, Path] = {}
        tasks = [manifest.task(id) for id in dict.fromkeys(answer.task for answer in todo if not answer.compiled)]
        textbook = {task: without_kernels(files, manifest, task) for task in tasks}
        for task, passes in zip(tasks, each(lambda task: _passes_uncompiled(task, textbook[task], known[task.id].ids), tasks), strict=True):
            if not passes:
                compiled[task.id] = folders.enter_context(copy(textbook[task]))
                _run(compiled[task.id], task, files, COMPILED)

        def run_answer(answer: WrongAnswer) -> None:
            of_task, warm = known[answer.task], compiled.get(answer.task)
            mode = COMPILED if answer.compiled or warm else PLAIN
            task = manifest.task(answer.task)
            failing = _failures(answer, task, without_kernels(apply_patch(answer, files), manifest, task), of_task.ids, mode, warm)
            with lock:
                of_task.answers[answer.name] = (hash_of(answer), failing)
                write_patterns(path, known, manifest)

        each(run_answer, todo, lambda _: done())
    write_patterns(path, known, manifest)
    return {id: known[id] for id in by_task}


def trusted_ids(task: Task, files: Mapping[str, str | bytes]) -> list[str]:
    """The test ids of a task, after checking that the reference passes them with the compiler on, as some tests are about compiled code.

    Raises:
        StaffError: If the reference fails a test, or no test ran.
    """
    with copy(files) as folder:
        run = _run(folder, task, files, COMPILED)
    states = {row["nodeid"]: row["state"] for row in run.rows or ()}
    if bad := [id for id, state in states.items() if state not in ("passed", "skipped")]:
        raise StaffError(f"the reference itself does not pass {bad[0]} of task {task.id}, so no pattern of failures can be collected")
    ids = [id for id, state in states.items() if state == "passed"]
    if not ids:
        raise StaffError(f"no test of task {task.id} ran on the reference: {run.output.strip()[-500:]}")
    return ids


def _passes_uncompiled(task: Task, files: Mapping[str, str | bytes], ids: Sequence[str]) -> bool:
    """Whether the reference passes the tests with the compiler off; training may then take too long."""
    with copy(files) as folder:
        run = _run(folder, task, files, PLAIN)
    return not _failing_positions(run, ids)


def _failures(
    answer: WrongAnswer,
    task: Task,
    files: Mapping[str, str | bytes],
    ids: Sequence[str],
    mode: Mapping[str, str],
    warm: Path | None,
) -> tuple[int, ...]:
    """The positions of the tests that fail for a wrong answer."""
    with copy(files, warm) as folder:
        run = _run(folder, task, files, mode)
    if run.stopped:
        raise StaffError(f"the tests of wrong answer {answer.key} took too long; run it again on a machine that is less busy")
    return _failing_positions(run, ids)


def _failing_positions(run: Run, ids: Sequence[str]) -> tuple[int, ...]:
    """The positions of the tests that fail. Skipped tests, such as some with the compiler off, do not count as failed."""
    harmless = {row["nodeid"] for row in run.rows or () if row["state"] in ("passed", "skipped")}
    return tuple(position for position, id in enumerate(ids) if id not in harmless)


def _run(folder: Path, task: Task, files: Mapping[str, str | bytes], mode: Mapping[str, str]) -> Run:
    """Run the tests of a task in a copy of the repository, each up to its first failing input."""
    (folder / "unshrunk.py").write_text(PLUGIN, encoding="utf-8")
    arguments = ["-p", "unshrunk", f"--course-limit={TEST_SECONDS}", f"--course-stage={task.stage}", "-m", task.mark]
    return run_tests(folder, [*arguments, *graded_files(task, files)], 4 * LIMIT, {**environment(task), **mode})


# The file


def read_patterns(path: Path = PATTERNS) -> dict[str, Patterns]:
    """The patterns by task; empty if the file does not exist or has another format."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            return {}
        return {id: _from_json(entry) for id, entry in document["tasks"].items()}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_patterns(path: Path, patterns: Mapping[str, Patterns], manifest: Manifest) -> None:
    """Write the patterns in the order of the tasks, atomically."""
    tasks = {task.id: _to_json(patterns[task.id]) for task in manifest.tasks if task.id in patterns}
    write_json(path, {"schema": SCHEMA, "tasks": tasks})


def _to_json(patterns: Patterns) -> dict[str, Any]:
    """A task's entry: tests by file, and each answer as its hash and the positions of tests, such as "0-3 7"."""
    tests = {
        path: {"hash": hash, "ids": [id.removeprefix(f"{path}::") for id in patterns.ids if id.startswith(f"{path}::")]}
        for path, hash in patterns.tests.items()
    }
    answers = {name: f"{hash} {_ranges(positions)}".strip() for name, (hash, positions) in sorted(patterns.answers.items())}
    return {"tests": tests, "answers": answers}


def _from_json(entry: Mapping[str, Any]) -> Patterns:
    tests = {path: about["hash"] for path, about in entry["tests"].items()}
    ids = [f"{path}::{name}" for path, about in entry["tests"].items() for name in about["ids"]]
    answers = {}
    for name, text in entry["answers"].items():
        hash, *ranges = text.split()
        ends = [tuple(map(int, piece.split("-"))) for piece in ranges]
        answers[name] = (hash, tuple(position for end in ends for position in range(end[0], end[-1] + 1)))
    return Patterns(tests, ids, answers)


def _ranges(positions: Sequence[int]) -> str:
    """Numbers in ascending order as ranges, such as "0-3 7"."""
    pieces: list[list[int]] = []
    for position in positions:
        if pieces and position == pieces[-1][-1] + 1:
            pieces[-1] = [pieces[-1][0], position]
        else:
            pieces.append([position])
    return " ".join("-".join(map(str, piece)) for piece in pieces)
