"""`course-staff similarity`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from course.manifest import course
from course.staff import RequestError

if TYPE_CHECKING:
    from course.staff.similarity.report import Report

MAX_LISTED = 20
"""Number of pairs that are printed; the page lists all."""

Folders = list[Path] | None


def add_commands(app: typer.Typer, out: Console, err: Console) -> None:
    """Add the command to an app.

    Args:
        app: The app.
        out: The console for results.
        err: The console for warnings.
    """

    @app.command()
    def similarity(
        submissions: Annotated[
            list[Path], typer.Argument(metavar="SUBMISSION…", help="Folders, archives, git bundles, or folders of them.")
        ],
        folder: Annotated[
            Path, typer.Option("--out", metavar="DIR", help="Where to write the report, such as the folder of a graded class.")
        ],
        earlier: Annotated[
            Folders, typer.Option("--earlier", metavar="DIR", help="Submissions of an earlier year; may be repeated.")
        ] = None,
        public: Annotated[
            Folders, typer.Option("--public", metavar="DIR", help="Solutions that students can find; may be repeated.")
        ] = None,
        threshold: Annotated[float | None, typer.Option(metavar="SCORE", help="The smallest score to report, from 0 to 1.")] = None,
    ) -> None:
        """Find pairs of submissions that share unusual code, and write a report that shows them side by side."""
        from rich.progress import Progress

        from course.staff.similarity.compare import THRESHOLD
        from course.staff.similarity.report import make_report, write_report

        if threshold is not None and not 0 < threshold <= 1:
            raise RequestError(f"--threshold expected a score above 0 and up to 1, got {threshold:g}", "course-staff similarity --help")
        with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as progress:
            bar = progress.add_task("reading", total=None)
            report = make_report(
                submissions,
                earlier or (),
                public or (),
                threshold=THRESHOLD if threshold is None else threshold,
                manifest=course(),
                done=lambda name: progress.advance(bar),
            )
        files = write_report(report, folder)
        _print(report, out, err)
        for name, path in (files | _class_page(folder)).items():
            out.print(f"{name:<10}  {escape(str(path))}", soft_wrap=True)


def _class_page(folder: Path) -> dict[str, Path]:
    """If the folder is that of a graded class, rewrite its page so that it links to the report; returns the path of the page by name."""
    from course.staff.grading.results import read_result
    from course.staff.outputs.kinds import FILES, write_outputs

    if not (folder / FILES["page"][0]).is_file():
        return {}
    results = [read_result(path) for path in sorted((folder / "results").glob("*.json"))]
    written = write_outputs(results, folder, ["page"], {task.id: task.title for task in course().tasks})
    return {"class page": written["page"]}


def _print(report: Report, out: Console, err: Console) -> None:
    """Print the pairs with the largest scores, and what was not compared."""
    from course.staff.outputs.words import line
    from course.staff.similarity.works import CLASS

    for work in report.works:
        for reason in [work.refused] if work.refused else work.troubles:
            err.print(f"[yellow]{escape(line(f'not compared: {work.name}: {reason}'))}[/yellow]")
    count = sum(work.kind == CLASS and not work.refused for work in report.works)
    pairs = len(report.pairs)
    out.print(f"{count} submissions compared, {pairs} {'pair' if pairs == 1 else 'pairs'} with a score of {report.threshold:g} or more")
    table = Table("score", "first", "second", "tasks", "shared by no other", box=None, pad_edge=False)
    for pair in report.pairs[:MAX_LISTED]:
        names = [escape(line(report.works[place].name)) for place in (pair.first, pair.second)]
        kinds = [kind for kind, _ in pair.texts]
        texts = [f"{n} {kind}{'s' if n > 1 else ''}" for kind in ("name", "comment", "string") if (n := kinds.count(kind))]
        table.add_row(f"{pair.score:.2f}", *names, ", ".join(pair.tasks), ", ".join(texts))
    if report.pairs:
        out.print(table)
    if pairs > MAX_LISTED:
        out.print(f"and {pairs - MAX_LISTED} more")
    for group in report.groups[:MAX_LISTED]:
        out.print(f"group of {len(group)}: {escape(', '.join(line(report.works[place].name) for place in group))}", soft_wrap=True)
    out.print("A score does not prove copying: read both programs and talk to both students.", soft_wrap=True)
