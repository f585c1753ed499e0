"""Check that the probes fail every wrong answer that can be detected from outside the process."""

from __future__ import annotations

import itertools
import py_compile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest
from course.staff.probes.check import run_probes, share
from course.staff.probes.remote import Launcher, plain_launcher
from course.staff.proofs.answers import WrongAnswer, apply_patch
from course.staff.proofs.prove import COMPILED, PLAIN, without_kernels
from course.staff.proofs.runs import copy

UNSEEN = {
    "0.1/inv_back_through_inv": "compiled kernels detect it",
    "2.1/counts_down_with_reversed": "compiled kernels detect it",
    "2.1/adds_up_a_generator": "compiled kernels detect it",
    "2.2/pairs_up_reversed_shapes": "compiled kernels detect it",
    "3.1/map_is_not_parallel": "the result is right",
    "3.1/zip_is_not_parallel": "the result is right",
    "3.1/reduce_is_not_parallel": "the result is right",
    "3.1/reduce_shares_its_index_buffer": "the race condition rarely changes the result",
    "3.2/has_an_index_buffer": "the result is right",
    "3.3/map_has_no_guard": "threads past the end write the values that others have written",
    "3.3/map_guards_one_too_many": "threads past the end write the values that others have written",
    "3.3/zip_has_no_guard": "threads past the end write the values that others have written",
    "3.3/sum_practice_waits_in_a_branch": "the simulator accepts it",
    "3.3/sum_practice_writes_from_every_thread": "the last thread to write has the right value",
    "3.3/sum_practice_adds_in_one_thread": "the result is right",
    "3.3/reduce_waits_in_a_branch": "the simulator accepts it",
    "3.3/reduce_writes_from_every_thread": "the last thread to write has the right value",
    "3.4/mm_practice_waits_in_a_branch": "the simulator accepts it",
    "3.4/mm_practice_reads_from_global_memory": "the result is right",
    "3.4/the_edge_of_a_is_not_zeroed": "the remaining values are multiplied by 0",
    "3.4/the_edge_of_b_is_not_zeroed": "the remaining values are multiplied by 0",
    "3.4/tiles_are_read_from_global_memory": "the result is right",
    "3.4/out_is_written_for_every_tile": "the result is right",
    "3.5/broadcast_product": "the result is right",
    "3.5/a_product_for_every_point": "the result is right",
    "3.5/moved_to_the_simple_backend": "the result is right, and is copied back",
    "4.1/no_loop_is_parallel": "the result is right",
    "4.2/no_loop_is_parallel": "the result is right",
    "4.4b/sums_in_out": "the result is right",
    "6.1/counts_anew_for_each_merge": "the result is right",
    "6.1/every_merge_for_every_word": "the result is right",
    "6.1/the_cache_grows_without_end": "the result is right",
    "6.2/normalizes_a_composition": "the result is right",
    "6.2/saves_the_table": "the result is right",
    "6.3/the_mask_ignores_its_backend": "the probes use one backend",
    "6.3/a_float32_becomes_a_float64": "the probes compute in float64",
    "6.5/all_scores_at_once": "the result is right",
    "6.5/all_weights_at_once": "the result is right",
    "6.6/memory_of_float64": "the probes compute in float64",
    "6.6/counts_before_it_checks": "an error ends a probe",
    "6.6/reads_the_whole_text_each_time": "the result is right",
    "6.6/returns_the_text_when_it_is_complete": "the result is right",
    "6.6/records_gradients": "the result is right",
    "6.7/one_graph_for_all_parts": "the result is right",
    "6.8/changes_the_weights": "the layer's result is right",
    "6.8/the_result_is_float64": "the probes compute in float64",
    "6.8/the_result_is_on_another_backend": "the probes use one backend",
    "6.8/numpy_multiplies": "the result is right",
    "6.9/multiplies_by_delta": "the result is right",
    "6.9/adds_delta_to_the_weight": "the result is right",
    "6.9/merge_checks_at_the_end": "an error ends a probe",
    "6.9/freezes_before_it_checks": "an error ends a probe",
    "6.10/returns_the_array_of_one_process": "the result is right",
    "6.10/zeros_of_float64": "the probes compute in float64",
    "6.10/gradients_of_the_default_backend": "the probes use one backend",
    "6.10/sends_at_the_end": "the result is right",
    "6.10/received_on_the_default_backend": "the probes use one backend",
    "6.10/received_as_float64": "the probes compute in float64",
}
"""Wrong answers that calls from outside cannot distinguish from right ones, with the reason; the visible tests catch them."""


@dataclass(frozen=True)
class ProbedAnswer:
    """The outcome of the probes of a task for a wrong answer.

    Attributes:
        answer: The wrong answer.
        by: The first probe that it failed; empty if it passed all.
        reason: Why it failed.
        share: The share of the points that it earned from the probes that were run.
    """

    answer: WrongAnswer
    failed_probe: str
    reason: str
    share: float


def answers_in_code(answers: Sequence[WrongAnswer]) -> list[WrongAnswer]:
    """The wrong answers that change code, not tests: a test that a student writes is graded by wrong answers, not by probes."""
    return [answer for answer in answers if not any(full.startswith("tests.") for full in answer.patch)]


def probe_answers(
    answers: Sequence[WrongAnswer],
    manifest: Manifest,
    files: Mapping[str, str | bytes],
    done: Callable[[ProbedAnswer], object] = lambda met: None,
    stop: bool = True,
) -> list[ProbedAnswer]:
    """Run the probes of its task on every answer, each in an unsandboxed child process and, as in the handout, without optimized kernels.

    Args:
        answers: The wrong answers, grouped by task.
        manifest: The course.
        files: The reference, as `course.staff.proofs.prove.needed_files` gives it.
        done: Called after each answer.
        stop: Whether to stop probing an answer at the first probe that it fails.
    """
    results = []
    for task_id, group in itertools.groupby(answers, key=lambda answer: answer.task):
        task = manifest.task(task_id)
        with copy(without_kernels(files, manifest, task)) as folder:
            for path in folder.rglob("*.py"):  # hash-based: a patch may have the size and timestamp of the original
                py_compile.compile(str(path), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
            for answer in group:
                wrong = {path: content for path, content in apply_patch(answer, files).items() if content != files[path]}
                right = {path: (folder / path).read_bytes() for path in wrong}
                try:
                    _write(folder, wrong)
                    outcomes = run_probes(task, _launcher(folder, answer.compiled), stop=stop)
                finally:
                    _write(folder, right)
                failed = [outcome for outcome in outcomes if not outcome.passed]
                results.append(ProbedAnswer(answer, failed[0].says if failed else "", failed[0].reason if failed else "", share(outcomes)))
                done(results[-1])
    return results


def _write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Overwrite files in a folder."""
    for path, content in files.items():
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)


def _launcher(folder: Path, compiled: bool) -> Launcher:
    """A launcher without a sandbox, in which Numba compiles only if the mistake shows only in compiled code."""
    launch = plain_launcher(folder)
    return lambda environment: launch({**(COMPILED if compiled else PLAIN), **environment})
