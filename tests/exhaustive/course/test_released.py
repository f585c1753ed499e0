"""Solutions that a teacher releases: written by `course.staff.handout.released`, read by `course.workspace.released`."""

from course.manifest import ROOT, course
from course.staff.handout.released import released_bodies, released_files
from course.staff.handout.selection import select
from course.workspace import released


def test_every_solution_of_the_course_can_be_released():
    last = course().tasks[-1].stage
    given = released_bodies(ROOT, course(), select(ROOT, course(), last), last)
    assert set(given) == {full for task in course().tasks for full in task.write}
    assert list(released_files(given, course(), last)) == [f"course/released/stage{stage}.json" for stage in range(last + 1)]
    assert not any("Need to implement" in definition for definition in given.values())
