"""Every rewrite that must not hide a copy."""

import pytest

from tests.course.similarity.disguises import DISGUISES
from tests.course.similarity.test_measured import SAMPLE, check_rewrite


@pytest.mark.parametrize("name", sorted(DISGUISES.keys() - {*SAMPLE}))
def test_every_copy_is_found_after_every_rewrite(name: str) -> None:
    check_rewrite(name)
