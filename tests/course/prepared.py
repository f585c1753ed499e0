"""The course's own files, each computed once for all tests that read them."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from course.manifest import ROOT, course
from course.staff.handout.generate import handout_files
from course.staff.handout.selection import select
from course.staff.proofs.prove import needed_files

LAST = course().tasks[-1].stage
"""The last stage with tasks."""


@cache
def selection(last: int = LAST) -> Mapping[str, str | bytes]:
    """The files of the reference that a handout up to a stage is made from, by path."""
    return MappingProxyType(select(ROOT, course(), last))


@cache
def course_files(last: int) -> Mapping[str, str | bytes]:
    """All files of the handout that ends with a stage, by path; without the search for solutions, which takes most of the time."""
    return MappingProxyType(handout_files(ROOT, course(), last, search=False))


@cache
def reference_files() -> Mapping[str, str | bytes]:
    """The files of the reference that its tests need, by path."""
    return MappingProxyType(needed_files(ROOT, course()))
