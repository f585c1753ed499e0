"""`course-staff similarity`: a class compared, and what was found as one document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from course.manifest import ROOT, Manifest
from course.staff import RequestError
from course.staff.grading.submissions import Submission, written
from course.staff.similarity.compare import THRESHOLD, Pair, Scores, groups
from course.staff.similarity.document import NAME, PAGE, document
from course.staff.similarity.matches import Region, regions
from course.staff.similarity.page import similarity_page
from course.staff.similarity.typical import ordinary_runs
from course.staff.similarity.works import CLASS, EARLIER, PUBLIC, Reader, Work
from course.workspace.atomic_files import write_bytes, write_json

REFERENCE = "the reference solution"
"""The name of the course's own solution among public works."""

SHOWN = 50
"""Pairs that are shown side by side; the document has the scores of all."""


@dataclass(frozen=True)
class Report:
    """What was found.

    Attributes:
        works: All works that were read or refused.
        pairs: The pairs whose score reaches the threshold.
        groups: Works that pairs connect, three or more.
        matches: The regions that each of the first pairs share.
        threshold: The smallest score that is reported.
    """

    works: tuple[Work, ...]
    pairs: tuple[Pair, ...]
    groups: tuple[tuple[int, ...], ...]
    matches: tuple[tuple[Region, ...], ...]
    threshold: float


def make_report(
    submissions: Sequence[Path],
    earlier: Sequence[Path] = (),
    public: Sequence[Path] = (),
    *,
    threshold: float = THRESHOLD,
    manifest: Manifest,
    root: Path = ROOT,
    done: Callable[[str], object] = lambda name: None,
) -> Report:
    """Compare the submissions of a class with each other, with those of earlier years and with public solutions.

    Args:
        submissions: Folders, archives, git bundles, or folders full of them.
        earlier: Those of earlier years.
        public: Solutions that anybody can read; the reference is always one.
        threshold: The smallest score that is reported.
        manifest: The course's manifest.
        root: The reference.
        done: Called with the name of every submission that has been read.

    Raises:
        RequestError: If a path does not exist or is an empty folder, or no submission can be read.
    """
    reader = _reader(root, manifest)
    works = _read(reader, submissions, CLASS, "", done)
    if all(work.refused for work in works):
        raise RequestError(
            f"none of {len(works)} submissions can be read; {works[0].name}: {works[0].refused}", "course-staff similarity --help"
        )
    for kind, folders in ((EARLIER, earlier), (PUBLIC, public)):
        for folder in folders:
            works += _read(reader, [folder], kind, folder.name, done)
    reference = {path: (root / path).read_bytes() for path in written(manifest) if (root / path).is_file()}
    works.append(reader.work(Submission(REFERENCE, reference), PUBLIC))
    return compare(works, ordinary_runs(reader), threshold)


@cache
def _reader(root: Path, manifest: Manifest) -> Reader:
    return Reader(root, manifest)


def _read(reader: Reader, paths: Sequence[Path], kind: str, folder: str, done: Callable[[str], object]) -> list[Work]:
    """Read works; those from a folder of another year or source carry its name."""
    try:
        works = reader.read_all(paths, kind, done)
    except RequestError as error:
        raise RequestError(str(error), "course-staff similarity --help") from None
    return [Work(f"{folder}/{work.name}" if folder else work.name, kind, work.functions, work.refused, work.troubles) for work in works]


def compare(works: Sequence[Work], ordinary: np.ndarray, threshold: float = THRESHOLD) -> Report:
    """Compare works.

    Args:
        works: All works.
        ordinary: Hashes of runs of tokens that are no evidence, sorted.
        threshold: The smallest score that is reported.
    """
    scores = Scores(works, ordinary)
    pairs = scores.pairs(threshold)
    matches = []
    for pair in pairs[:SHOWN]:
        first, second = works[pair.first], works[pair.second]
        ignored = ordinary if second.kind == PUBLIC else np.concatenate([ordinary, scores.known])
        matches.append(tuple(regions(first, second, scores.tasks, ignored)))
    return Report(tuple(works), tuple(pairs), tuple(map(tuple, groups(pairs, works))), tuple(matches), threshold)


def write_report(report: Report, folder: Path) -> dict[str, Path]:
    """Write the page and the document into a folder, and return their paths by name."""
    page, path = folder / PAGE, folder / NAME
    text = similarity_page(report)  # before anything is written
    write_bytes(page, text.encode("utf-8", "replace"))
    write_json(path, document(report))
    return {"page": page, "document": path}
