"""The proof that the probes see through the wrong answers, as far as these can be seen from outside."""

from __future__ import annotations

import itertools
import py_compile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest
from course.staff.probes.check import run_probes, share
from course.staff.probes.remote import Launcher, plain_launcher
from course.staff.proofs.answers import WrongAnswer, patched
from course.staff.proofs.prove import COMPILED, PLAIN, without_kernels
from course.staff.proofs.runs import copy

UNSEEN = {
    "0.1/inv_back_through_inv": "compiled kernels find it out",
    "3.1/map_is_not_parallel": "the result is right",
    "3.1/zip_is_not_parallel": "the result is right",
    "3.1/reduce_is_not_parallel": "the result is right",
    "3.1/reduce_shares_its_index_buffer": "threads seldom meet so closely that the result is wrong",
    "3.2/has_an_index_buffer": "the result is right",
    "3.3/map_has_no_guard": "threads beyond the end write what others have written",
    "3.3/map_guards_one_too_many": "threads beyond the end write what others have written",
    "3.3/zip_has_no_guard": "threads beyond the end write what others have written",
    "3.3/sum_practice_waits_in_a_branch": "the simulator lets it pass",
    "3.3/sum_practice_writes_from_every_thread": "the last to write is the right one",
    "3.3/sum_practice_adds_in_one_thread": "the result is right",
    "3.3/reduce_waits_in_a_branch": "the simulator lets it pass",
    "3.3/reduce_writes_from_every_thread": "the last to write is the right one",
    "3.4/mm_practice_waits_in_a_branch": "the simulator lets it pass",
    "3.4/mm_practice_reads_from_global_memory": "the result is right",
    "3.4/the_edge_of_a_is_not_zeroed": "what is left there is multiplied by 0",
    "3.4/the_edge_of_b_is_not_zeroed": "what is left there is multiplied by 0",
    "3.4/tiles_are_read_from_global_memory": "the result is right",
    "3.4/out_is_written_for_every_tile": "the result is right",
    "3.5/broadcast_product": "the result is right",
    "3.5/a_product_for_every_point": "the result is right",
    "3.5/moved_to_the_simple_backend": "the result is right, and moved back",
    "4.1/no_loop_is_parallel": "the result is right",
    "4.2/no_loop_is_parallel": "the result is right",
    "4.4b/sums_in_out": "the result is right",
}
"""Wrong answers that no call from outside tells from right ones, with the reason; the visible tests catch them."""


@dataclass(frozen=True)
class Met:
    """How the probes of its task met a wrong answer.

    Attributes:
        answer: The wrong answer.
        by: The probe that it failed first; empty if it passed all.
        reason: Why it failed.
        share: The share of the points that it got from the probes that were put.
    """

    answer: WrongAnswer
    by: str
    reason: str
    share: float


def answers_in_code(answers: Sequence[WrongAnswer]) -> list[WrongAnswer]:
    """Those that are no mistakes in tests: a test that a student writes is graded by wrong answers, not by probes."""
    return [answer for answer in answers if not any(full.startswith("tests.") for full in answer.patch)]


def meet(
    answers: Sequence[WrongAnswer],
    manifest: Manifest,
    files: Mapping[str, str | bytes],
    done: Callable[[Met], object] = lambda met: None,
    stop: bool = True,
) -> list[Met]:
    """Put the probes of its task to every answer, each in a child without a sandbox and, as in the handout, without the optimized kernels.

    Args:
        answers: The wrong answers, those of a task together.
        manifest: The course.
        files: The reference, as `course.staff.proofs.prove.needed_files` gives it.
        done: Called after each.
        stop: Whether the first probe that an answer fails is the last for it.
    """
    found = []
    for task_id, group in itertools.groupby(answers, key=lambda answer: answer.task):
        task = manifest.task(task_id)
        with copy(without_kernels(files, manifest, task)) as folder:
            for path in folder.rglob("*.py"):  # by content: a patch and what it takes the place of may be equally long and equally old
                py_compile.compile(str(path), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
            for answer in group:
                wrong = {path: content for path, content in patched(answer, files).items() if content != files[path]}
                right = {path: (folder / path).read_bytes() for path in wrong}
                try:
                    _write(folder, wrong)
                    outcomes = run_probes(task, _launcher(folder, answer.compiled), stop=stop)
                finally:
                    _write(folder, right)
                failed = [outcome for outcome in outcomes if not outcome.passed]
                found.append(Met(answer, failed[0].says if failed else "", failed[0].reason if failed else "", share(outcomes)))
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
