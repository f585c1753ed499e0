"""Proves that the tests of every task catch its wrong answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest, Task
from course.runner.gpu import environment
from course.staff.handout.generate import leave_out_modules
from course.staff.handout.selection import contents, select
from course.staff.proofs.answers import WrongAnswer, apply_patch, content_hash, graded_files
from course.staff.proofs.runs import LIMIT, PATIENCE, copy, each, run_tests
from course.workspace.tables_of_contents import cut_after

COMPILED = {"NUMBA_DISABLE_JIT": "0", "NUMBA_NUM_THREADS": "2"}
"""The environment for compiled code; a race needs two threads."""

PLAIN = {"NUMBA_DISABLE_JIT": "1"}
"""The environment for all other proofs: compiling every kernel in every copy of the repository would take long and change nothing."""

BROKEN = ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError")
"""Errors that mean that the patch is broken, not that a test caught the mistake."""


@dataclass(frozen=True)
class Verdict:
    """The result of the tests of a wrong answer.

    Attributes:
        answer: The wrong answer.
        state: "killed", "survived" or "broken".
        by: The test that killed it, or the reason why it is broken.
    """

    answer: WrongAnswer
    state: str
    by: str


def needed_files(root: Path, manifest: Manifest) -> dict[str, str | bytes]:
    """The files that the tests of all tasks need, with the solutions of the reference."""
    files = select(root, manifest, max(task.stage for task in manifest.tasks))
    folders = (f"{manifest.package}/", "course/", "tests/", "project/run_", "project/lab/", "pyproject.toml")
    return {path: content for path, content in files.items() if path.startswith(folders)}


def choose(
    answers: list[WrongAnswer], hashes: Mapping[str, str], ledger: Mapping[str, Mapping[str, str]], seed: int
) -> tuple[list[WrongAnswer], list[WrongAnswer]]:
    """The answers whose entry in the ledger is out of date, and a random fiftieth of the others."""
    changed = [answer for answer in answers if ledger.get(answer.key, {}).get("hash") != hashes[answer.key]]
    rest = [answer for answer in answers if answer not in changed]
    sample = random.Random(seed).sample(rest, -(-len(rest) // 50))
    return changed, sample


def textbook_solutions(answers: Iterable[WrongAnswer], manifest: Manifest) -> list[WrongAnswer]:
    """An empty patch for every task of these answers that has optimized kernels, compiled if its answers are.

    The textbook functions must pass without these kernels; otherwise a wrong answer may fail for the lack of a kernel.
    """
    settings = dict.fromkeys((answer.task, answer.compiled) for answer in answers if manifest.task(answer.task).leave_out)
    return [WrongAnswer(task, "textbook solution", "None.", {}, compiled) for task, compiled in settings]


def hash_all(answers: list[WrongAnswer], manifest: Manifest, root: Path, files: Mapping[str, str | bytes]) -> dict[str, str]:
    """The content hash of every answer by its key."""
    trees = {last: cut_files(files, manifest, last) for last in {_last_stage(task, manifest) for task in manifest.tasks}}
    hashes = {}
    for task in manifest.tasks:
        absent = {manifest.path(module.partition(".")[2]) for module in _left_out(task, manifest)}
        tree = {path: content for path, content in trees[_last_stage(task, manifest)].items() if path not in absent}
        run = _run_files(task, manifest, tree)
        hashes |= {answer.key: content_hash(answer, root, tree, run) for answer in answers if answer.task == task.id}
    return hashes


def _run_files(task: Task, manifest: Manifest, files: Mapping[str, str | bytes]) -> list[str]:
    """The files that run in a proof about a task: `from package import name` may lead to any module."""
    package = [path for path in files if path.startswith(f"{manifest.package}/") and path.endswith(".py")]
    return [*graded_files(task, files), *package]


def _last_stage(task: Task, manifest: Manifest) -> int:
    """The last stage in a proof about a task: a stage of extra tasks is there only for its own, and changes no other proof."""
    return max(task.stage, *manifest.required_stages)


def cut_files(files: Mapping[str, str | bytes], manifest: Manifest, last: int) -> dict[str, str | bytes]:
    """The files without the modules of the package that come after a stage."""
    later = {manifest.path(module) for stage in manifest.stages if stage.number > last for module in stage.modules}
    tables = contents(manifest, last)
    later |= {*contents(manifest, manifest.stages[-1].number)} - {*tables}
    return {path: cut_after(str(content), last) if path in tables else content for path, content in files.items() if path not in later}


def in_order(tests: list[str], answer: WrongAnswer) -> list[str]:
    """Test files, those of the changed modules first, because they catch the mistake sooner."""
    changed = {full.partition(":")[0].rpartition(".")[2] for full in answer.patch}
    return sorted(tests, key=lambda path: Path(path).stem.removeprefix("test_") not in changed)


def without_kernels(files: Mapping[str, str | bytes], manifest: Manifest, task: Task) -> dict[str, str | bytes]:
    """The repository as students have it at a task: without its optimized kernels, those of later tasks, and later extra stages."""
    return leave_out_modules(cut_files(files, manifest, _last_stage(task, manifest)), _left_out(task, manifest))


def _left_out(task: Task, manifest: Manifest) -> dict[str, str]:
    """The modules that a proof about a task lacks though their stage is there, each with the task that leaves it out."""
    last = _last_stage(task, manifest)
    later = [each for each in manifest.tasks[manifest.tasks.index(task) :] if each.stage <= last]
    return {module: each.id for each in later for module in each.leave_out if ":" not in module}


def prove(
    answers: list[WrongAnswer],
    manifest: Manifest,
    files: Mapping[str, str | bytes],
    done: Callable[[Verdict], object] = lambda verdict: None,
    limit: float = LIMIT,
) -> list[Verdict]:
    """Run the tests of its task on every answer.

    Args:
        answers: The wrong answers.
        manifest: The course.
        files: The result of `needed_files`.
        done: Called with every verdict, as soon as it is there.
        limit: Processor time limit of the tests of one answer in seconds; an answer that exceeds it counts as killed.
    """

    def judge(answer: WrongAnswer) -> Verdict:
        task = manifest.task(answer.task)
        with copy(without_kernels(apply_patch(answer, files), manifest, task)) as folder:
            around = environment(task) | (COMPILED if answer.compiled else PLAIN)
            run = run_tests(folder, ["-x", "-m", task.mark, *in_order(graded_files(task, files), answer)], limit, around)
        if run.timed_out:
            return Verdict(answer, "killed", f"the limit of {limit:g} s of computing")
        if run.stopped:
            waited = f"{PATIENCE * limit:g} s by the clock"
            return Verdict(answer, "broken", f"no answer after {waited}; try again on a machine that is less busy")
        if run.rows is None:
            return Verdict(answer, "broken", f"pytest did not finish: {run.output.strip()[-500:]}")
        for row in run.rows:
            error = (row["card"] or {}).get("error") or ""
            if row["state"] in ("todo", "blocked") or (
                row["state"] == "failing" and ("::" not in row["nodeid"] or error.startswith(BROKEN))
            ):
                return Verdict(answer, "broken", f"{row['nodeid']}: {error}")
            if row["state"] == "failing":
                return Verdict(answer, "killed", row["nodeid"])
        if not run.rows:
            return Verdict(answer, "broken", f"no test carries the mark {task.mark}")
        return Verdict(answer, "survived", "")

    return each(judge, answers, done)
