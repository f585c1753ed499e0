"""The typical answers as the submissions of a class."""

from functools import cache

from course.manifest import ROOT, course
from course.staff.grading.submissions import Submission
from course.staff.similarity.compare import Scores
from course.staff.similarity.typical import ordinary_runs, typical_answers
from course.staff.similarity.works import CLASS, Reader


@cache
def reader():
    """A reader for submissions of this course."""
    return Reader(ROOT, course())


def work(name, files, kind=CLASS):
    """A submission with these files."""
    return reader().work(Submission(name, {path: text.encode() for path, text in files.items()}), kind)


@cache
def honest_class():
    """The twenty typical answers as a class."""
    return tuple(work(name, files) for name, files in typical_answers().items())


def score(first, second, *authors):
    """The similarity of two works in a class of only these two; the typical answers of these authors do not count as ordinary code."""
    return Scores([first, second], ordinary_runs(reader(), authors)).pairs(0.0)[0].score
