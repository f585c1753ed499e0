"""A report and its JSON document, similarity.json, for programs and for the class page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.staff.similarity.compare import Pair
from course.staff.similarity.matches import Region
from course.staff.similarity.works import Work

SCHEMA = 1
"""Version of the document's format."""

NAME = "similarity.json"

LIMITS = (
    "A score measures shared code. It does not say who wrote it, who copied from whom, or whether anybody did: students may have worked "
    "from the same book, the same lecture or the same released solution. Read both programs, and talk to both students, before you decide."
)
"""A caveat about scores, shown with every report."""


@dataclass(frozen=True)
class Report:
    """The outcome of a comparison.

    Attributes:
        works: All works that were read or refused.
        pairs: The pairs whose score reaches the threshold.
        groups: Groups of three or more works that pairs connect.
        matches: The shared regions of the first pairs.
        threshold: The minimum score of a reported pair.
    """

    works: tuple[Work, ...]
    pairs: tuple[Pair, ...]
    groups: tuple[tuple[int, ...], ...]
    matches: tuple[tuple[Region, ...], ...]
    threshold: float


def document(report: Report) -> dict[str, Any]:
    """The report as JSON data."""
    works = report.works
    pairs = []
    for place, pair in enumerate(report.pairs):
        entry: dict[str, Any] = {
            "first": works[pair.first].name,
            "second": works[pair.second].name,
            "kind": works[pair.second].kind,
            "score": round(pair.score, 3),
            "tasks": {id: round(score, 3) for id, score in pair.tasks.items()},
            "evidence": [{"kind": kind, "text": text} for kind, text in pair.texts],
        }
        if place < len(report.matches):
            entry["matches"] = [_match(region) for region in report.matches[place]]
        pairs.append(entry)
    return {
        "schema": SCHEMA,
        "threshold": report.threshold,
        "limits": LIMITS,
        "submissions": sum(work.kind == "class" for work in works),
        "refused": {work.name: work.refused for work in works if work.refused},
        "unreadable": {work.name: list(work.troubles) for work in works if work.troubles},
        "pairs": pairs,
        "groups": [[works[place].name for place in group] for group in report.groups],
    }


def _match(region: Region) -> dict[str, Any]:
    sides = ((region.first, region.first_lines), (region.second, region.second_lines))
    first, second = ({"file": f.path, "function": f.name, "lines": [f.first + line for line in lines]} for f, lines in sides)
    return {"task": region.first.task, "tokens": region.length, "first": first, "second": second}


def read_document(folder: Path) -> dict[str, Any] | None:
    """Read the document of a report in a folder; None if there is none, or it has another version."""
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("schema") == SCHEMA else None
