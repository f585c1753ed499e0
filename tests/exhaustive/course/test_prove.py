"""Wrong answers, and proofs that the tests catch them: `course.staff.proofs`."""

import pytest

from course.manifest import course
from course.staff.proofs import answers, prove, runs
from course.staff.proofs.prove import needed_files, without_kernels
from tests.course.prepared import reference_files
from tests.course.test_prove import check_kernels, check_patches, repository, wrong_answer


def test_a_wrong_answer_that_does_not_end_is_killed_by_the_time_limit(repository):
    root, manifest = repository
    (verdict,) = prove.prove([wrong_answer("while True: pass")], manifest, needed_files(root, manifest), limit=4)
    assert (verdict.state, verdict.by) == ("killed", "the limit of 4 s of computing")


def test_a_run_that_only_waits_proves_nothing(repository, monkeypatch):
    root, manifest = repository
    for module in (runs, prove):
        monkeypatch.setattr(module, "PATIENCE", 1)
    (verdict,) = prove.prove([wrong_answer("__import__('time').sleep(60)")], manifest, needed_files(root, manifest), limit=4)
    assert (verdict.state, verdict.by) == ("broken", "no answer after 4 s by the clock; try again on a machine that is less busy")


@pytest.mark.parametrize("task", [task for task in course().tasks if task.leave_out], ids=lambda task: task.id)
def test_the_kernels_of_a_task_can_be_left_out(task):
    check_kernels(task)


def test_every_patch_applies_to_the_reference_and_changes_it():
    check_patches(answers.load_answers(answers.FOLDER, course().tasks))


def test_a_proof_runs_without_later_stages_of_extra_tasks():
    files = reference_files()
    for task in (course().task("0.1"), course().task("4.4b")):
        remaining = without_kernels(files, course(), task)
        assert not any(path.startswith("minitorch/compiler/") for path in remaining)
        assert "compiler" not in str(remaining["minitorch/__init__.py"])
    whole = without_kernels(files, course(), course().task("5.1"))
    assert "minitorch/compiler/program.py" in whole
    assert "compiler" in str(whole["minitorch/__init__.py"])
