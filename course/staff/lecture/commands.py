"""`course-staff lecture`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from course.manifest import course
from course.staff import RequestError


def add_commands(app: typer.Typer, out: Console, err: Console) -> None:
    """Add the command to an app.

    Args:
        app: The app.
        out: Where it prints.
        err: Where warnings go.
    """

    @app.command()
    def lecture(
        paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Submissions with records, output folders of grade, or both.")],
        page: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="The page; the numbers go to FILE.json.")],
    ) -> None:
        """Show what to explain next: time, mistakes and hints of the class as a whole, from records that students handed in."""
        from course.staff.lecture.page import write_lecture
        from course.staff.lecture.records import read_material
        from course.staff.lecture.statistics import summarize

        if page.suffix != ".html":
            raise RequestError(f"--out expected a name that ends with .html, got {page}", "course-staff lecture PATH --out lecture.html")
        material = read_material(paths, course())
        for warning in material.warnings:
            err.print(f"[yellow]{escape(warning)}[/yellow]")
        report = summarize(material, course())
        written = write_lecture(report, page, course().title)
        for place, topic in enumerate(report.topics, 1):
            out.print(f"{place}. Task {topic.task} {topic.title}: {topic.reason}", markup=False, soft_wrap=True)
        out.print(f"{len(material.records)} records, {len(material.results)} results", soft_wrap=True)
        for path in written:
            out.print(escape(str(path)), soft_wrap=True)
