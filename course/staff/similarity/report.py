"""`course-staff similarity`: compares the submissions of a class and reports similar pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from course.manifest import ROOT, Manifest
from course.staff import RequestError
from course.staff.grading.submissions import Submission, student_files
from course.staff.outputs.class_page import SIMILARITY_PAGE
from course.staff.similarity.compare import THRESHOLD, Scores, groups
from course.staff.similarity.document import NAME, Report, document
from course.staff.similarity.matches import regions
from course.staff.similarity.page import similarity_page
from course.staff.similarity.typical import ordinary_runs
from course.staff.similarity.works import CLASS, EARLIER, PUBLIC, Reader, Work
from course.workspace.atomic_files import write_bytes, write_json

REFERENCE = "the reference solution"
"""The name of the course's reference solution among public works."""

MAX_SHOWN = 50
"""Number of pairs that are shown side by side; the document has all scores."""


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
        submissions: Folders, archives, git bundles, or folders of them.
        earlier: Submissions of earlier years.
        public: Solutions that anybody can read; the reference is always included.
        threshold: The minimum score of a reported pair.
        manifest: The course's manifest.
        root: The reference.
        done: Called with the name of every submission after it has been read.

    Returns:
        The report.

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
    reference = {path: (root / path).read_bytes() for path in student_files(manifest) if (root / path).is_file()}
    works.append(reader.work(Submission(REFERENCE, reference), PUBLIC))
    return compare(works, ordinary_runs(reader), threshold)


@cache
def _reader(root: Path, manifest: Manifest) -> Reader:
    return Reader(root, manifest)


def _read(reader: Reader, paths: Sequence[Path], kind: str, folder: str, done: Callable[[str], object]) -> list[Work]:
    """Read works; the name of the folder precedes the names of works from other years or sources."""
    try:
        works = reader.read_all(paths, kind, done)
    except RequestError as error:
        raise RequestError(str(error), "course-staff similarity --help") from None
    return [Work(f"{folder}/{work.name}" if folder else work.name, kind, work.functions, work.refused, work.troubles) for work in works]


def compare(works: Sequence[Work], ordinary: np.ndarray, threshold: float = THRESHOLD) -> Report:
    """Compare works.

    Args:
        works: All works.
        ordinary: Hashes of runs of tokens that are not evidence, sorted.
        threshold: The minimum score of a reported pair.

    Returns:
        The report.
    """
    scores = Scores(works, ordinary)
    pairs = scores.pairs(threshold)
    matches = []
    for pair in pairs[:MAX_SHOWN]:
        first, second = works[pair.first], works[pair.second]
        ignored = ordinary if second.kind == PUBLIC else np.concatenate([ordinary, scores.known])
        matches.append(tuple(regions(first, second, scores.tasks, ignored)))
    return Report(tuple(works), tuple(pairs), tuple(map(tuple, groups(pairs, works))), tuple(matches), threshold)


def write_report(report: Report, folder: Path) -> dict[str, Path]:
    """Write the page and the document to a folder; returns their paths by name."""
    page, path = folder / SIMILARITY_PAGE, folder / NAME
    text = similarity_page(report)  # an error here leaves both files unchanged
    write_bytes(page, text.encode("utf-8", "replace"))
    write_json(path, document(report))
    return {"page": page, "document": path}
