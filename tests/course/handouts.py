"""The course's own handouts, each generated once for all tests that read it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from course.manifest import ROOT, course
from course.staff.handout.generate import GUIDED, handout_files


@cache
def handout(last: int, style: str = GUIDED, staff: int | None = None) -> Mapping[str, str | bytes]:
    """All files of the handout that ends with a stage, by path; read-only."""
    return MappingProxyType(handout_files(ROOT, course(), last, style, staff))
