"""The lecture page: one HTML file that opens offline, and the same statistics as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from course.staff.lecture.statistics import SMALL, SOON, Report
from course.staff.outputs.class_page import render_page
from course.workspace.atomic_files import write_bytes

HERE = Path(__file__).parent

SCHEMA = 1
"""Version of the JSON document."""


def write_lecture(report: Report, path: Path, title: str = "MiniTorch") -> tuple[Path, Path]:
    """Write the page, and the statistics next to it; returns both paths.

    Args:
        report: The statistics.
        path: The HTML file; the JSON file has the same name with another suffix.
        title: Title of the course.
    """
    filters = {"count": _count, "percent": lambda share: f"{100 * share:.0f} %"}
    longest = max((task.minutes.high for task in report.tasks if task.minutes), default=0.0)
    text = render_page(HERE / "lecture.html", filters, title=title, report=report, longest=longest or 1.0, small=SMALL, soon=SOON)
    data = path.with_suffix(".json")
    write_bytes(path, text.encode("utf-8", "replace"))
    write_bytes(data, (json.dumps({"schema": SCHEMA, **asdict(report)}, indent=1) + "\n").encode())
    return path, data


def _count(count: int | None) -> str:
    """A count in words; those of small groups are hidden."""
    return f"< {SMALL}" if count is None else str(count)
