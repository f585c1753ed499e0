"""Hand-ins of the original course in their own package: every style and every mistake, and a teacher who brings last year's class."""

from __future__ import annotations

import csv
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.course.original_styles import MISTAKES, Change, write_style
from tests.course.own_packages import lost, outcomes
from tests.course.staff_commands import command_in_folder

COMPILED = {
    "plain": "0.1 0.3 0.4 1.1 1.2 1.3 1.4 1.5 2.1 2.2 2.3 2.3b 2.4 2.5 3.1 3.2 4.3 4.4",
    "convolution_adds": "4.1 4.2",
    "numba_cuda_names": "3.3 3.4",
    "sum_practice_unguarded": "3.3",
    "dropout_default_backend": "4.4",
    "max_in_backend": "4.3 4.4",
    "max_tensor_only": "4.4",
    "max_int_or_tensor": "4.4",
    "matmul_exported": "3.5",
    "layer_names": "4.5",
}
"""Styles, and the tasks in which they differ from others."""


@pytest.mark.parametrize("style", COMPILED)
def test_a_right_hand_in_earns_everything_in_its_own_package(style: str, tmp_path: Path) -> None:
    assert lost(write_style(style, tmp_path), *COMPILED[style].split()) == {}


@pytest.mark.parametrize("task", MISTAKES)
def test_a_mistake_costs_something_in_its_task(task: str, tmp_path: Path) -> None:
    graded = "2.3b" if task == "2.3" else task  # one task of the original course, in which methods are written, too
    assert list(lost(write_style("plain", tmp_path, MISTAKES[task]), graded)) == [graded]


SHARED = "the shared arrays of a block expected at most 49152 bytes"


WRITES = Change("minitorch/cuda_ops.py", "    if pos == 0 and i < size:\n", "    if pos == 0:\n")
READS = Change("minitorch/cuda_ops.py", "cache[pos] = a[i] if i < size else 0.0", "cache[pos] = a[i]")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ([], []),
        ([WRITES], ["index 2 is out of bounds for axis 0 with size 2"]),
        ([READS], ["is out of bounds for axis 0 with size"]),
        ([MISTAKES["3.3"]], []),
    ],
    ids=["guarded", "writes without a guard", "reads without a guard", "wrong in another way"],
)
def test_a_missing_guard_of_sum_practice_is_told(change: list[Change], told: list[str], tmp_path: Path) -> None:
    found = [one.reason for one in outcomes(write_style("plain", tmp_path, *change), "3.3") if not one.weight and not one.passed]
    assert len(found) == len(told)
    assert all(part in reason for part, reason in zip(told, found, strict=True))


CONSTANT = "expected a size that is known when the kernel is compiled"


@pytest.mark.parametrize(
    ("task", "before", "after", "message"),
    [
        ("3.3", "cache = cuda.shared.array(BLOCK_DIM, ", "cache = cuda.shared.array(cuda.blockDim.x, ", CONSTANT),
        ("3.4", "a_tile = cuda.shared.array((BLOCK_DIM, BLOCK_DIM), ", "a_tile = cuda.shared.array((size, size), ", CONSTANT),
        (
            "3.4",
            "a_tile = cuda.shared.array((BLOCK_DIM, BLOCK_DIM), ",
            "a_tile = cuda.shared.array((BLOCK_DIM, 256), ",
            "the shared arrays of a block expected at most 49152 bytes",
        ),
    ],
    ids=["the size of a block", "an argument", "too much memory"],
)
def test_a_kernel_that_no_gpu_runs_costs_something_and_says_why(task: str, before: str, after: str, message: str, tmp_path: Path) -> None:
    text = (write_style("plain", tmp_path / "right") / "minitorch/cuda_ops.py").read_text()
    hand_in = write_style("plain", tmp_path / "wrong")
    (hand_in / "minitorch/cuda_ops.py").write_text(text.replace(before, after, 1))
    assert text.replace(before, after, 1) != text
    (reasons,) = lost(hand_in, task).values()
    assert any(message in reason for reason in reasons)


# A teacher's first day

RIGHT = ["plain", "reduce_list", "functional", "chain_rule_by_hand", "layer_names", "numpy"]
WRONG = {"wrong-0.1": MISTAKES["0.1"], "wrong-1.3": MISTAKES["1.3"], "wrong-2.1": MISTAKES["2.1"]}
TASKS = ["0.1", "0.3", "1.3", "2.1"]


def write_class(folder: Path) -> None:
    """Ten hand-ins: a folder with one repository, a folder with the repositories of two modules, an archive, and what Moodle exports."""
    made = {name: write_style(name, folder.parent / "made") for name in [*RIGHT, "edition_2020"]}
    for name, mistake in WRONG.items():
        made[name] = write_style("plain", folder.parent / "made" / name, mistake)
    for place, (name, source) in enumerate(made.items()):
        if place % 4 == 0:
            shutil.copytree(source, folder / name)
        elif place % 4 == 1:
            shutil.copytree(source, folder / name / f"mod4-{name}")
            first = folder / name / f"mod0-{name}" / "minitorch"
            first.mkdir(parents=True)
            for module in ("operators.py", "module.py"):
                shutil.copy(source / "minitorch" / module, first)
            (first / "__init__.py").write_text("from . import operators\nfrom .module import *\n")
        else:
            archive = folder / f"{name}.zip" if place % 4 == 2 else folder / f"{name}_71_assignsubmission_file_" / "submission.zip"
            archive.parent.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(archive, "w") as file:
                for path in sorted(source.rglob("*.py")):
                    file.write(path, Path("work") / path.relative_to(source))


def test_a_class_of_the_original_course_is_adopted_and_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = command_in_folder(tmp_path, monkeypatch, capsys)
    write_class(tmp_path / "class")
    code, printed = run("adopt", "class", "--out", "submissions")
    assert (code, "9 converted, 1 refused" in printed) == (1, True)
    assert "refused: edition_2020" in printed
    assert "the edition of 2020" in printed

    code, printed = run("grade", "submissions", "--out", "graded", "--profile", "published", *[f"--task={task}" for task in TASKS])
    assert code == 0, printed
    with (tmp_path / "graded" / "class.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["submission"].partition("_71_")[0]: row for row in csv.DictReader(file)}
    below = {name: [task for task in TASKS if "PASS" not in row[f"{task} verdict"]] for name, row in rows.items()}
    assert below == {name: [] for name in RIGHT} | {name: [name.partition("-")[2]] for name in WRONG}
    assert (tmp_path / "graded" / "class.html").is_file()


def test_a_network_that_needs_a_gpu_is_not_run_and_not_wrong(tmp_path: Path) -> None:
    gpu = Change("project/run_tensor.py", "import minitorch\n", "import minitorch\nfrom numba import cuda\n\ncuda.to_device([1.0])\n")
    (reasons,) = lost(write_style("plain", tmp_path, gpu), "2.5").values()
    assert all("CudaSupportError" in reason for reason in reasons)
