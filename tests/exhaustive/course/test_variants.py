"""Per-student variants: how they are drawn, what a workspace contains, and how copies are recognized: `course.staff.variants`."""

import pytest

from course.staff.variants import registry
from tests.course.test_variants import check_leak


@pytest.mark.parametrize("name", ["reduction", "order"])
def test_a_text_that_shows_a_solution_stops_the_handout(name, monkeypatch):
    check_leak(registry.FAMILIES[name], monkeypatch)
