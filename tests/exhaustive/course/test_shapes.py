"""Near copies of solutions are found despite other names, another order or another kind of loop: `course.staff.handout.shapes`."""

from course.manifest import ROOT, course
from course.staff.handout import shapes
from course.staff.handout.generate import left_out_modules
from course.staff.handout.library import library_files
from course.staff.handout.shapes import find_near_copies
from tests.course.prepared import course_files
from tests.course.test_shapes import LAST, solutions


def test_the_handout_shows_no_solution_and_every_exception_is_needed(monkeypatch):
    library = library_files(ROOT, course(), LAST, left_out_modules(course(), LAST))  # in the handout it is one zip file
    searched = {**library, **course_files(LAST)}
    assert find_near_copies(solutions(), searched) == []
    reviewed = dict(shapes.REVIEWED)
    monkeypatch.setattr(shapes, "REVIEWED", {})
    found = {(copy.name, copy.shape.path, copy.shape.name) for copy in find_near_copies(solutions(), searched)}
    assert found == set(reviewed)
