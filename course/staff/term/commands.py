"""`course-staff` for a term: `term`, `roster`, `mark`, `regrade`, `override`, `comment` and `history`."""

from __future__ import annotations

import math
import shlex
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from course.manifest import course
from course.staff import RequestError

if TYPE_CHECKING:
    from course.staff.term.term import Marked

PANEL = "A term of a class"
LINES = 20
"""So many changes are printed; the history has them all."""

Term = Annotated[Path, typer.Option("--term", metavar="DIR", help="The folder of the term.")]
Deadlines = Annotated[list[str] | None, typer.Argument(metavar="[DEADLINE]…", help="Deadlines by their names; all if left out.")]
Workers = Annotated[int | None, typer.Option(metavar="N", help="Processes that grade; one a core if left out.")]
NoSandbox = Annotated[bool, typer.Option("--no-sandbox", help="Go on where this machine has no sandbox.")]
Scale = Annotated[str, typer.Option(metavar="dask://HOST:PORT", help="A cluster that grades instead of this machine.")]
StudentId = Annotated[str, typer.Argument(metavar="STUDENT", help="A student's id.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the student reads it.")]


def add_commands(app: typer.Typer, out: Console, err: Console, shown: Any) -> None:
    """Add the commands to an app.

    Args:
        app: The app.
        out: Where they print.
        err: Where warnings go.
        shown: Makes a context that shows the progress of grading.
    """

    @app.command(rich_help_panel=PANEL)
    def term(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to.")]) -> None:
        """Begin a term: write term.toml, with a deadline for every module, to be changed by hand."""
        from course.staff.term.policy import read_policy
        from course.staff.term.roster import make_term

        path = make_term(folder, course(), str(date.today() + timedelta(weeks=16)))
        out.print(f"{escape(str(path))}: {len(read_policy(folder, course()).deadlines)} deadlines", soft_wrap=True)
        out.print(f"next: set the dates, then course-staff roster STUDENTS.csv --term {escape(str(folder))}", soft_wrap=True)

    @app.command(rich_help_panel=PANEL)
    def roster(table: Annotated[Path, typer.Argument(metavar="CSV", help="As an LMS exports it.")], folder: Term = Path()) -> None:
        """Add the students of a table from Canvas, Moodle, Gradescope or GitHub Classroom to term.toml."""
        from course.staff.term.roster import import_roster

        added, known = import_roster(folder, table, course())
        out.print(f"{added} added, {known} were there")

    def run(names: list[str] | None, folder: Path, again: bool, workers: int | None, no_sandbox: bool, scale: str) -> None:
        from course.staff.grading.journal import Interrupted
        from course.staff.term.term import mark

        try:
            with shown() as bar:
                marked = mark(folder, names or (), again=again, workers=workers, no_sandbox=no_sandbox, scale=scale, progress=bar.show)
        except Interrupted as stopped:  # not by the command grade, which knows neither names nor variants of the term
            options = [*(["--no-sandbox"] if no_sandbox else []), *(["--scale", scale] if scale else [])]
            command = "regrade" if again else "mark"
            stopped.next = shlex.join(["course-staff", command, *(names or ()), "--term", str(folder), *options])
            raise
        _print(marked, out, err)

    @app.command("mark", rich_help_panel=PANEL)
    def mark_command(
        names: Deadlines = None, folder: Term = Path(), workers: Workers = None, no_sandbox: NoSandbox = False, scale: Scale = ""
    ) -> None:
        """Grade what was handed in, and write marks, pages for students and tables for the LMS; what is graded keeps its mark."""
        run(names, folder, False, workers, no_sandbox, scale)

    @app.command(rich_help_panel=PANEL)
    def regrade(
        names: Deadlines = None, folder: Term = Path(), workers: Workers = None, no_sandbox: NoSandbox = False, scale: Scale = ""
    ) -> None:
        """Grade again what other probes or versions have graded, and say what changed and why."""
        run(names, folder, True, workers, no_sandbox, scale)

    @app.command(rich_help_panel=PANEL)
    def override(
        student: StudentId,
        task: Annotated[str, typer.Argument(metavar="TASK", help="A task, such as 1.4.")],
        points: Annotated[float | None, typer.Argument(metavar="[POINTS]", help="Its mark, before lateness; none takes it back.")] = None,
        reason: Reason = "",
        folder: Term = Path(),
    ) -> None:
        """Set a student's mark of a task by hand; it holds until it is taken back, whatever is graded again."""
        from course.staff.term.history import OVERRIDE, Event
        from course.staff.term.term import decide, mark

        if not reason.strip():
            raise RequestError("an override expected a reason, got none", f'course-staff override {student} {task} … --reason "…"')
        if points is not None and not (math.isfinite(points) and 0 <= points <= course().task(task).points):
            raise RequestError(
                f"Task {task} expected a mark from 0 to {course().task(task).points}, got {points:g}", "course-staff override --help"
            )
        decide(folder, Event(OVERRIDE, student, task, score=points, why=(reason.strip(),)))
        _print(mark(folder, grades=False), out, err)

    @app.command(rich_help_panel=PANEL)
    def comment(
        student: StudentId,
        text: Annotated[str, typer.Argument(metavar="TEXT", help="What the student's page shall say.")],
        task: Annotated[str, typer.Option(metavar="ID", help="The task that it is about.")] = "",
        folder: Term = Path(),
    ) -> None:
        """Say something to a student, on the page of marks."""
        from course.staff.term.history import COMMENT, Event
        from course.staff.term.term import decide, mark

        if not text.strip():
            raise RequestError("a comment expected a text, got none", "course-staff comment --help")
        decide(folder, Event(COMMENT, student, task, why=(text.strip(),)))
        _print(mark(folder, grades=False), out, err)

    @app.command("history", rich_help_panel=PANEL)
    def history_command(student: StudentId, folder: Term = Path()) -> None:
        """Print every mark that a student has had, and why it changed."""
        from course.staff.term.exports import told
        from course.staff.term.history import History
        from course.staff.term.policy import read_policy

        read_policy(folder, course()).student(student)
        history = History(folder)
        for warning in history.warnings:
            err.print(f"[yellow]{escape(warning)}[/yellow]")
        lines = told(history.of(student))
        out.print("\n".join(lines) if lines else f"nothing has been marked for {student} yet", markup=False, soft_wrap=True)


def _print(marked: Marked, out: Console, err: Console) -> None:
    """What changed, and what the teacher must look at."""
    from course.staff.outputs.words import number

    for warning in marked.warnings:
        err.print(f"[yellow]{escape(warning)}[/yellow]")
    for name, strangers in marked.strangers.items():
        some = f"{', '.join(strangers[:5])}{f' and {len(strangers) - 5} more' if len(strangers) > 5 else ''}"
        err.print(f"[yellow]{escape(f'{name}: nobody on the roster has handed in {some}; name them ID@TIME')}[/yellow]")
    out.print(f"{len(marked.changed)} {'mark' if len(marked.changed) == 1 else 'marks'} changed")
    for event in marked.changed[:LINES]:
        value = "–" if event.score is None else number(event.score)
        points = number(event.details["points"])
        out.print(f"  {event.student}  {event.about}  {value} of {points}  {'; '.join(event.why)}", markup=False, soft_wrap=True)
    if len(marked.changed) > LINES:
        out.print(f"  and {len(marked.changed) - LINES} more; course-staff history STUDENT tells")
    for name, path in marked.files.items():
        out.print(f"{name:<9} {escape(str(path))}", soft_wrap=True)
