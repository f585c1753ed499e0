"""A student's day and a teacher's day from end to end, through the commands that they type, each in its own process.

The student works through Modules 0 and 1 and makes a mistake in each task first. The teacher generates the handout, and grades the
submission along with cheats and broken archives.
"""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchmarks.course_class import FORGERS, solution_files, solve
from course.manifest import ROOT, Task, course
from course.staff.grading.results import Result, read_result
from course.staff.proofs.answers import FOLDER, load_answers
from project.lab.registry import view
from tests.course.conftest import Workspace, clean_environment

TASKS = [task for task in course().tasks if task.stage <= 1]

MISTAKES = {
    "0.1": "relu_back_counts_the_kink",
    "0.2": "test_sigmoid_asserts_nothing",
    "0.3": "zipwith_arguments_swapped",
    "0.4": "eval_one_level",
    "0.5": "bias_sign",
    "1.1": "forward_difference",
    "1.2": "sigmoid_falls",
    "1.3": "ignores_d_output",
    "1.4": "overwrites_what_arrived",
    "1.5": "bias_forgotten",
}
"""The student's first mistake in each task: known wrong answers."""


def staff(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run the teacher's command line in the repository."""
    command = [sys.executable, "-m", "course.staff", *arguments]
    return subprocess.run(command, cwd=folder, env=clean_environment(), text=True, capture_output=True, check=False)


@pytest.fixture(scope="module")
def handout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A handout of Modules 0 and 1, as the teacher generates it."""
    folder = tmp_path_factory.mktemp("handout") / "minitorch-course"
    made = staff("handout", str(folder), "--modules", "0-1")
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module")
def student(handout: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A student's clone of the handout."""
    folder = tmp_path_factory.mktemp("student") / "mine"
    subprocess.run(["git", "clone", "--quiet", str(handout), str(folder)], check=True)
    return Workspace(folder)


@pytest.fixture(scope="module")
def submission(student: Workspace) -> Path:
    """The archive that the student submits at the end of the day."""
    first = student.python("course")
    assert first.returncode == 1
    assert set(listed_states(student).values()) == {"todo"}  # known without running tests
    for text in ("Task 0.1 Operators: todo", "minitorch/operators.py", "This is not a terminal, so the tests ran once."):
        assert text in first.stdout
    for task in TASKS:
        work_on(student, task)
    assert "stale" in listed_states(student).values()
    behind = student.python("course", "next")  # runs the stale tasks
    assert (behind.returncode, behind.stdout) == (0, "Every task has passed. Well done.\n")
    reported = student.python("course", "report", "0.5")
    assert reported.returncode == 0, reported.stderr
    submitted = student.python("course", "submit", "--json")
    assert submitted.returncode == 0, submitted.stderr
    return student.root / "submission.zip"


def listed_states(student: Workspace) -> dict[str, str]:
    return {row["id"]: row["state"] for row in json.loads(student.python("course", "list", "--json").stdout)}


def next_tasks(shown: str) -> set[str]:
    """The task that a command names as the next one, if any."""
    return set(re.findall(r"(?m)^Next: Task (\S+)", shown))


def work_on(student: Workspace, task: Task) -> None:
    """Do a task, with a mistake first, as `course` instructs."""
    next_task = student.python("course", "next")
    assert (next_task.returncode, next_task.stdout.split(":")[0]) == (0, f"Task {task.id} {task.title}, {task.worth}")
    (mistake,) = [answer for answer in load_answers(FOLDER, [task]) if answer.name == MISTAKES[task.id]]
    assert student.python("course", "hint", task.id).returncode == 2  # two tries come before the first hint
    solve(student.root, task, mistake.patch)
    failed = student.python("course", "test", task.id)
    assert failed.returncode == 1, failed.stdout
    assert f"Task {task.id} {task.title}: failing" in failed.stdout
    solve(student.root, task)
    passed = student.python("course", "test", task.id)
    assert passed.returncode == 0, passed.stdout
    assert f"Task {task.id} {task.title}: passed" in passed.stdout
    later = [other for other in TASKS if TASKS.index(other) > TASKS.index(task)]
    done = [other.id for other in TASKS if other not in later]
    states = listed_states(student)
    assert {state for id, state in states.items() if id in done} <= {"passed", "stale"}  # files that several tasks share have changed
    named = next_tasks(passed.stdout) | next_tasks(student.python("course", "list").stdout)
    assert named == ({later[0].id} if later else set())
    assert task.hints[0].split()[0] in student.python("course", "hint", task.id).stdout


def test_a_student_completes_two_modules_and_submits_them(submission: Path) -> None:
    with zipfile.ZipFile(submission) as archive:
        names = set(archive.namelist())
    assert names >= {file for task in TASKS for file in task.files}
    assert "reports/manual/log.txt" in names
    assert not [name for name in names if name.startswith(("course/", ".git"))]


@pytest.fixture(scope="module")
def class_results(submission: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Result]]:
    """The folder that grading filled, and the results in it."""
    folder = tmp_path_factory.mktemp("class")
    submissions = folder / "submissions"
    submissions.mkdir()
    (submissions / "ada.zip").write_bytes(submission.read_bytes())
    (submissions / "eve.zip").write_bytes(submission.read_bytes()[:1000])
    for name, (task, answer) in CHANGED.items():
        change(submission, submissions / f"{name}.zip", task, answer)
    done = staff("grade", str(submissions), "--out", str(folder / "out"), "--task", "0", "--task", "1", "--seed", "1")
    assert (done.returncode, (done.stdout + done.stderr).count("refused: eve")) == (1, 1), done.stderr  # a refusal is loud
    found = [read_result(path) for path in sorted((folder / "out" / "results").glob("*.json"))]
    return folder / "out", {result.submission: result for result in found}


CHANGED = {"bob": ("0.1", "wrong"), "mallory": ("1.1", "exits_with_a_forged_report"), "trudy": ("1.1", "patches_the_reports_of_pytest")}
"""Copies of the student's submission with one task changed: the task, and the name of a forger, or the student's own first mistake."""


def change(submission: Path, other: Path, id: str, name: str) -> None:
    """Write a submission that differs from another one in a single task."""
    task = course().task(id)
    folder, wanted = (FOLDER, MISTAKES[id]) if name == "wrong" else (FORGERS, name)
    (answer,) = [answer for answer in load_answers(folder, [task]) if answer.name == wanted]
    with zipfile.ZipFile(submission) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files |= {file: text.encode() for file, text in solution_files(task, answer.patch, {f: files[f].decode() for f in task.files}).items()}
    with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            archive.writestr(file, data)


def test_a_teacher_grades_the_submission_along_with_cheats_and_broken_archives(class_results: tuple[Path, dict[str, Result]]) -> None:
    _, results = class_results
    assert set(results) == {"ada", "bob", "eve", "mallory", "trudy"}
    points = sum(task.points for task in TASKS)
    assert (results["ada"].mark, results["ada"].points) == (points, points)
    assert results["eve"].refused
    for name, (id, _) in CHANGED.items():
        missed = [task for task in results[name].tasks if not task.passed]
        assert [task.task for task in missed] == [id]
        assert missed[0].mark < missed[0].points
    for name in ("mallory", "trudy"):
        assert results[name].mark == points - course().task("1.1").points


def test_the_class_page_shows_every_result(class_results: tuple[Path, dict[str, Result]]) -> None:
    folder, results = class_results
    page = (folder / "class.html").read_text(encoding="utf-8")
    for name in results:
        assert name in page
    linked = set(re.findall(r"""(?:src|href)=["']([^#"'][^"']*)["']""", page))
    assert linked == {f"feedback/{name}.md" for name in results}  # the folder needs nothing from elsewhere
    assert all((folder / path).is_file() for path in linked)


# A student with Module 6, from the first task to a small language model and the submission


LANGUAGE_TASKS = [task for task in course().tasks if task.stage == 6]

LANGUAGE_MISTAKES = {
    "6.1": ("overlapping_pairs_from_the_right", "merge_pair"),
    "6.2": ("gelu_without_the_cube", "Gelu.forward"),
    "6.3": ("a_head_has_every_other_column", "split_heads"),
    "6.4": ("no_residual", "Block.forward"),
    "6.5": ("the_sum_is_not_corrected", "add_tile"),
    "6.6": ("multiplies_by_the_temperature", "next_probabilities"),
    "6.7": ("without_correction", "AdamW.new_value"),
    "6.8": ("truncates", "quantize_rows"),
    "6.9": ("merge_subtracts", "LoRALinear.merge"),
    "6.10": ("one_step_too_few", "all_reduce"),
}
"""The student's first mistake in each task, a known wrong answer, and its function; a task without one is written at once."""

LIMIT = ("--time-limit", "120")
"""For slow machines."""

LANGUAGE_MODEL = """
import numpy as np
import minitorch
from minitorch.data.stories import Stories
from minitorch.language import GPT2, Schedule, Tokenizer, Training, add_adapters, generate, quantize
from minitorch.language.layers import Linear
from minitorch.language.lora import named_layers

minitorch.manual_seed(1)
text = "\\n".join(Stories(120).stories)
tokenizer = Tokenizer.train(text, 300)
tokens = np.array(tokenizer.encode(text))
assert tokenizer.decode(tokens.tolist()) == text
fast = minitorch.TensorBackend(minitorch.FastOps)
model = GPT2(len(tokenizer), context=16, layers=1, heads=2, width=16, backend=fast)
training = Training(model, tokens, Schedule(12, 2, 0.03, 0.003), batch=8, parts=2)
losses = [training.step().loss for _ in range(12)]
assert losses[-1] < losses[0] - 0.3, losses

prompt = tokenizer.encode("One day")
said = tokenizer.decode(list(generate(model, prompt, 8, temperature=0)))
print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}, One day{said!r}")

add_adapters(model, ["h.0.attn.c_attn"], rank=2, alpha=4.0)
adapted = Training(model, tokens, Schedule(4, 1, 0.03, 0.003), batch=4)
before = model.wte.weight.value.to_numpy().copy()
adapted.step()
assert np.array_equal(model.wte.weight.value.to_numpy(), before), "only adapters are trained"
(adapter,) = named_layers(model, type(model.h.modules()[0].attn.c_attn)).values()
adapter.merge()

other = GPT2(len(tokenizer), context=16, layers=1, heads=2, width=16, backend=fast)
large, small = quantize(other)
assert small < large
print(len(list(generate(other, prompt, 4))), "tokens of a quantized model")
"""
"""What the student runs at the end of the day."""


@pytest.fixture(scope="module")
def language_student(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A student's clone of the handout, in which the earlier modules are done."""
    folder = tmp_path_factory.mktemp("language")
    made = staff("handout", str(folder / "handout"))
    assert made.returncode == 0, made.stderr
    subprocess.run(["git", "clone", "--quiet", str(folder / "handout"), str(folder / "mine")], check=True)
    for file in {file for task in course().tasks if task.stage < 6 for file in task.files}:
        (folder / "mine" / file).write_text((ROOT / file).read_text(encoding="utf-8"), encoding="utf-8")
    return Workspace(folder / "mine")


@pytest.fixture(scope="module")
def finished(language_student: Workspace) -> Workspace:
    """The workspace at the end of the day."""
    for number, task in enumerate(LANGUAGE_TASKS):
        states = work_on_language(language_student, task)
        assert [states[other.id] for other in LANGUAGE_TASKS[: number + 1]].count("passed") + [*states.values()].count("stale") > number
        assert {states[other.id] for other in LANGUAGE_TASKS[number + 1 :]} <= {"todo"}
    return language_student


def work_on_language(language_student: Workspace, task: Task) -> dict[str, str]:
    """Do a task as `course` instructs, with a mistake first; returns the states of all tasks."""
    shown = language_student.python("course", "next", *LIMIT)
    assert (shown.returncode, shown.stdout.split(":")[0]) == (0, f"Task {task.id} {task.title}, {task.worth}"), shown.stdout + shown.stderr
    assert f"docs/{task.page}.md" in shown.stdout
    for path in (f"docs/{task.page}.md", f"project/{view(task.app).path}"):
        assert (language_student.root / path).is_file(), path
    stub = language_student.python("course", "test", task.id, *LIMIT)
    assert stub.returncode == 1
    assert f"Task {task.id} {task.title}: todo" in stub.stdout
    assert all(file in stub.stdout for file in task.files)
    if task.id in LANGUAGE_MISTAKES:
        make_a_mistake(language_student, task)
    solve(language_student.root, task)
    passed = language_student.python("course", "test", task.id, *LIMIT)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert f"Task {task.id} {task.title}: passed" in passed.stdout
    later = LANGUAGE_TASKS[LANGUAGE_TASKS.index(task) + 1 :]
    if task.id in LANGUAGE_MISTAKES:  # two tries come before the first hint
        assert task.hints[0].split()[0] in language_student.python("course", "hint", task.id).stdout
    assert next_tasks(language_student.python("course", "list").stdout) <= {other.id for other in later[:1]}
    return listed_states(language_student)


def make_a_mistake(language_student: Workspace, task: Task) -> None:
    """Write a wrong answer: the test fails with a card, and `course explain` leads to the function with the mistake."""
    name, function = LANGUAGE_MISTAKES[task.id]
    (mistake,) = [answer for answer in load_answers(FOLDER, [task]) if answer.name == name]
    solve(language_student.root, task, mistake.patch)
    failed = language_student.python("course", "test", task.id, *LIMIT)
    assert failed.returncode == 1, failed.stdout
    assert f"Task {task.id} {task.title}: failing" in failed.stdout
    assert all(row in failed.stdout for row in ("The test says", "Run again", f"course test {task.id}")), failed.stdout
    explained = json.loads(language_student.python("course", "explain", task.id, "--json", *LIMIT).stdout)
    assert explained["finding"]["function"] == function, explained


def test_a_student_completes_module_6(finished: Workspace) -> None:
    done = finished.python("course", "next", *LIMIT)
    assert done.stdout == "Every task has passed. Well done.\n"


def test_the_students_own_code_trains_a_language_model_and_continues_a_prompt(finished: Workspace) -> None:
    (finished.root / "stories.py").write_text(LANGUAGE_MODEL, encoding="utf-8")
    done = finished.python("stories")
    assert done.returncode == 0, done.stderr
    assert "loss " in done.stdout
    assert "4 tokens of a quantized model" in done.stdout


def test_the_submission_gets_all_points_of_module_6(finished: Workspace, tmp_path: Path) -> None:
    submitted = finished.python("course", "submit", "--json")
    assert submitted.returncode == 0, submitted.stdout + submitted.stderr
    with zipfile.ZipFile(finished.root / "submission.zip") as archive:
        assert {*archive.namelist()} >= {file for task in LANGUAGE_TASKS for file in task.files}
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.zip").write_bytes((finished.root / "submission.zip").read_bytes())
    graded = staff("grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--task", "6", "--seed", "1", folder=ROOT)
    assert graded.returncode == 0, graded.stdout + graded.stderr
    (path,) = (tmp_path / "out" / "results").glob("*.json")
    result, points = read_result(path), sum(task.points for task in LANGUAGE_TASKS)
    assert (result.mark, result.points) == (points, points)
