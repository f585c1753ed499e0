"""The claims of docs/teachers/similarity.md: independent answers raise no false alarm, and these rewrites do not hide a copy."""

from itertools import combinations

import pytest

from course.manifest import ROOT, course
from course.staff.grading.submissions import student_files
from course.staff.proofs.answers import FOLDER, apply_patch, load_answers
from course.staff.similarity.compare import THRESHOLD, Scores
from course.staff.similarity.typical import ordinary_runs, typical_answers
from course.staff.similarity.works import PUBLIC

from .corpus import honest_class, reader, score, work
from .disguises import disguise

SMALLER = {"loops": 0.86, "dead code": 0.64, "split": 0.95, "everything": 0.53}
"""The smallest score of twenty copies after a rewrite; it is 1 after the others."""


def test_no_two_independent_answers_are_reported():
    works = {one.name: one for one in honest_class()}
    scores = [score(works[a], works[b], a, b) for a, b in combinations(works, 2)]
    assert len(scores) == 190
    assert max(scores) == pytest.approx(0.3, abs=0.005)
    assert max(scores) < THRESHOLD


SAMPLE = ("everything",)


@pytest.mark.parametrize("name", SAMPLE)
def test_every_copy_is_found_after_every_rewrite(name):
    check_rewrite(name)


def check_rewrite(name):
    scores = []
    for author, files in typical_answers().items():
        copy = work(f"{author}'s copy", disguise(files, name))
        scores.append(score(work(author, files), copy, author))
    assert min(scores) == pytest.approx(SMALLER.get(name, 1.0), abs=0.005)
    assert min(scores) >= THRESHOLD


@pytest.mark.parametrize(
    ("file", "found"), [("autodiff", 18), ("tensor_data", 17), ("tensor_ops", 10), ("fast_conv", 17), ("operators", 4)]
)
def test_a_copy_of_a_single_file_is_found_if_it_is_long_and_unusual(file, found):
    path = f"minitorch/{file}.py"
    scores = []
    for author, files in typical_answers().items():
        copy = work(f"{author}'s copy", disguise({path: files[path]}, "rename"))
        scores.append(score(work(author, {path: files[path]}), copy, author))
    assert sum(one >= THRESHOLD for one in scores) == found


def test_without_typical_answers_the_common_form_of_a_task_looks_copied_in_a_small_class():
    pairs = Scores(honest_class(), reader().given).pairs()
    assert [list(pair.tasks) for pair in pairs] == [["2.3"]] * 3


def reference():
    """The course's own solution as a public work."""
    return work("reference", {path: (ROOT / path).read_text(encoding="utf-8") for path in student_files(course())}, PUBLIC)


def mistaken_copies(count):
    """Copies of the reference, each with a known mistake in another task."""
    files = {path: (ROOT / path).read_text(encoding="utf-8") for path in student_files(course())}
    answers = [load_answers(FOLDER, [task])[0] for task in course().tasks[:count]]
    return [work(answer.key, {path: str(text) for path, text in apply_patch(answer, files).items()}) for answer in answers]


def test_code_from_a_public_solution_is_matched_only_with_it_even_if_all_copied_it():
    copies = [*mistaken_copies(6), reference()]
    for honest in (honest_class(), ()):
        works = [*honest, *copies]
        pairs = Scores(works, ordinary_runs(reader())).pairs()
        assert sorted((pair.first, pair.second) for pair in pairs) == [(len(honest) + i, len(works) - 1) for i in range(6)]


def test_code_that_the_whole_class_shares_does_not_count():
    assert Scores(mistaken_copies(20), ordinary_runs(reader())).pairs() == []
