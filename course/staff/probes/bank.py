"""The proof that the probes see through the wrong answers, as far as these can be seen from outside."""

from __future__ import annotations

import py_compile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest
from course.staff.answers import WrongAnswer, patched
from course.staff.probes.check import run_probes
from course.staff.probes.remote import Launcher, plain_launcher
from course.staff.prove import COMPILED, PLAIN
from course.staff.runs import copy


@dataclass(frozen=True)
class Met:
    """How the probes of its task met a wrong answer.

    Attributes:
        answer: The wrong answer.
        by: The probe that it failed first; empty if it passed all.
        reason: Why it failed.
    """

    answer: WrongAnswer
    by: str
    reason: str


def answers_in_code(answers: Sequence[WrongAnswer]) -> list[WrongAnswer]:
    """Those that are no mistakes in tests: a test that a student writes is graded by wrong answers, not by probes."""
    return [answer for answer in answers if not any(full.startswith("tests.") for full in answer.patch)]


def meet(
    answers: Sequence[WrongAnswer],
    manifest: Manifest,
    files: Mapping[str, str | bytes],
    done: Callable[[Met], object] = lambda met: None,
) -> list[Met]:
    """Put the probes of its task to every answer, each in one child without a sandbox, until one fails.

    Args:
        answers: The wrong answers.
        manifest: The course.
        files: The reference, as `course.staff.prove.needed_files` gives it.
        done: Called after each.
    """
    found = []
    with copy(files) as folder:
        for path in folder.rglob("*.py"):  # by content: a patch and what it takes the place of may be equally long and equally old
            py_compile.compile(str(path), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
        for answer in answers:
            wrong = {path: content for path, content in patched(answer, files).items() if content != files[path]}
            try:
                _write(folder, wrong)
                outcomes = run_probes(manifest.task(answer.task), _launcher(folder, answer.compiled), stop=True)
            finally:
                _write(folder, {path: files[path] for path in wrong})
            failed = [outcome for outcome in outcomes if not outcome.passed]
            found.append(Met(answer, failed[0].says if failed else "", failed[0].reason if failed else ""))
            done(found[-1])
    return found


def _write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files in place of those that stand there."""
    for path, content in files.items():
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)


def _launcher(folder: Path, compiled: bool) -> Launcher:
    """A plain one, in which numba compiles only where the mistake shows in compiled code alone."""
    launch = plain_launcher(folder)
    return lambda environment: launch({**(COMPILED if compiled else PLAIN), **environment})
