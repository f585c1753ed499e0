"""Every rewrite that must not hide a copy."""

from __future__ import annotations

import pytest

from course.staff.similarity.compare import Scores, groups
from course.staff.similarity.typical import ordinary_runs
from tests.course.similarity.corpus import honest_class, reader
from tests.course.similarity.disguises import DISGUISES
from tests.course.similarity.test_measured import SAMPLE, check_rewrite, mistaken_copies


@pytest.mark.parametrize("name", sorted(DISGUISES.keys() - {*SAMPLE}))
def test_every_copy_is_found_after_every_rewrite(name):
    check_rewrite(name)


def test_works_copied_from_one_source_form_a_group_despite_different_mistakes():
    works = [*honest_class(), *mistaken_copies(6)]
    pairs = Scores(works, ordinary_runs(reader())).pairs()
    assert len(pairs) == 15
    assert min(pair.score for pair in pairs) > 0.9
    assert groups(pairs, works) == [[20, 21, 22, 23, 24, 25]]
