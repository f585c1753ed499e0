"""`course explain` on mistakes of students and all wrong answers of Module 6: the function it names has the mistake, if it names one."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from course.manifest import ROOT, Task, course
from course.staff.handout.generate import write_files
from course.staff.proofs.answers import FOLDER, LEDGER, apply_patch, load_answers, read_ledger
from course.staff.proofs.prove import needed_files
from tests.course.replays import replay
from tests.exhaustive.course.test_divergence import needs_fork

MISTAKES = tomllib.loads((Path(__file__).parent / "mistakes.toml").read_text(encoding="utf-8"))["mistake"]
"""Each has a name, the task whose test fails, this test, the change of a file, and the function that explain must name ("" for none)."""

UNSEEN = {
    "6.1": ("reads_every_word", "counts_anew_for_each_merge", "every_merge_for_every_word", "negative_tokens_count_from_the_end"),
    "6.2": ("normalizes_a_composition",),
    "6.4": ("the_output_layer_is_a_copy",),
    "6.5": ("all_scores_at_once", "all_weights_at_once"),
    "6.6": (
        "reads_the_whole_text_each_time",
        "reads_the_whole_text_into_the_cache",
        "one_cache_for_all_blocks_of_the_model",
        "returns_the_text_when_it_is_complete",
        "reads_the_last_token_too",
    ),
    "6.7": ("one_graph_for_all_parts",),
    "6.8": ("quantizes_without_a_check", "sums_in_float32", "numpy_multiplies"),
    "6.9": ("multiplies_by_delta", "adds_delta_to_the_weight", "a_is_detached"),
}
"""Wrong answers of Module 6 that no oracle finds: their results are right, but cost too much or lose a gradient, or are too large."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the reference, with their bytecode."""
    folder = tmp_path_factory.mktemp("reference")
    write_files(folder, needed_files(ROOT, course()))
    subprocess.run([sys.executable, "-m", "compileall", "-q", "minitorch"], cwd=folder, check=True)
    return folder


@needs_fork
@pytest.mark.parametrize("module", range(5))
def test_explain_names_the_function_with_the_mistake(module: int, folder: Path) -> None:
    jobs, expected = [], {}
    for mistake in MISTAKES:
        stage = course().task(mistake["task"]).stage
        if stage == module:
            name = f"{mistake['task']} {mistake['name']}"
            result = f"{len(jobs)}.json"
            change = [mistake["file"], mistake["before"], mistake["after"]]
            jobs.append({"folder": str(folder), "test": mistake["test"], "stage": stage, "change": change, "result": result})
            expected[name] = mistake["function"]
    documents = dict(zip(expected, replay(jobs, folder), strict=True))
    wrong = []
    for name, function in expected.items():
        document = documents[name]
        found = document["finding"]["function"] if document["finding"] else ""
        if document["passed"]:
            wrong.append(f"{name}: the test passes")
        elif found != function:
            wrong.append(f"{name}: expected {function or 'no function'}, got {found or 'none'}")
    assert not wrong, "\n".join(wrong)


@needs_fork
@pytest.mark.parametrize("task", [task for task in course().tasks if task.stage == 6 and task.id != "6.5b"], ids=lambda task: task.id)
def test_explain_names_the_functions_of_the_wrong_answers_of_module_6(task: Task, folder: Path) -> None:
    """Of a CUDA kernel, as in Task 6.5b, the card has the inspector's findings instead."""
    ledger, jobs, answers = read_ledger(LEDGER), [], load_answers(FOLDER, [task])
    for number, answer in enumerate(answers):
        file = str(next(iter(answer.patch))).partition(":")[0].replace(".", "/") + ".py"
        source = (folder / file).read_text(encoding="utf-8")
        change = [file, source, str(apply_patch(answer, {file: source})[file])]
        jobs.append(
            {
                "folder": str(folder),
                "test": ledger[answer.key]["killed_by"],
                "stage": 6,
                "change": change,
                "result": f"{task.id}-{number}.json",
            }
        )
    found = {}
    for answer, document in zip(answers, replay(jobs, folder), strict=True):
        finding = document and document["finding"]
        found[answer.name] = finding["function"] if finding else ""
    owners = {answer.name: {name.partition(":")[2] for name in answer.patch} for answer in answers}
    accused = {name: function for name, function in found.items() if function and function not in owners[name]}
    unseen = [name for name, function in found.items() if not function]
    assert not accused
    assert set(unseen) <= set(UNSEEN.get(task.id, ()))
