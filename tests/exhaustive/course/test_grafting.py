"""The graft: a student's functions of one task, placed in a workspace in which everything else is right."""

import pytest

from course.manifest import ROOT, Task, course
from course.staff.grading.bases import complete_workspace
from tests.course.test_grafting import SAMPLE, check_reference


def test_a_base_has_the_reference_for_earlier_modules_and_required_tasks() -> None:
    manifest = course()
    elementwise = ("kernels/elementwise", "kernels/reduce", "kernels/matmul")
    for id, there, lacking in (
        ("3.1", (), elementwise),
        ("4.3", elementwise, ("kernels/pool", "kernels/conv")),  # the task requires nothing of Module 3
        ("4.5", ("kernels/elementwise", "kernels/conv", "kernels/pool"), ("kernels/cuda/conv",)),
    ):
        files = complete_workspace(ROOT, manifest, manifest.task(id))
        assert [module for module in there if f"minitorch/{module}.py" not in files] == []
        assert [module for module in lacking if f"minitorch/{module}.py" in files] == []


@pytest.mark.parametrize("task", [task for task in course().tasks if task.id not in SAMPLE], ids=lambda task: task.id)
def test_the_reference_s_own_files_stay_unchanged(task: Task) -> None:
    check_reference(task)
