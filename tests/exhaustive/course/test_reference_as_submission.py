"""A teacher's first experiment: the repository itself as a submission, packed in several ways."""

from course.manifest import course
from course.staff.grading.grade import grade
from tests.course.test_reference_as_submission import repository_files, write_zip


def test_the_repository_earns_all_points_without_being_flagged(tmp_path):
    (result,) = grade([write_zip(tmp_path / "repository.zip", repository_files())], tmp_path / "graded", workers=1, seed=7)
    assert [(task.task, task.verdict, task.reason) for task in result.tasks if not task.passed] == []
    assert [(task.task, task.note) for task in result.tasks if task.disagrees or task.flaky] == []
    assert result.mark == sum(task.points for task in course().tasks)
