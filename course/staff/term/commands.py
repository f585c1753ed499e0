"""`course-staff` for a term: `term`, `roster`, `mark`, `regrade`, `override`, `comment`, `history` and `worksheet`."""

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
    from course.staff.term.term import Outcome

PANEL = "A term of a class"
LINES = 20
"""How many changes are printed; the history has all of them."""

Term = Annotated[Path, typer.Option("--term", metavar="DIR", help="The folder of the term.")]
Deadlines = Annotated[list[str] | None, typer.Argument(metavar="[DEADLINE]…", help="Names of deadlines; all if left out.")]
Workers = Annotated[int | None, typer.Option(metavar="N", help="Number of grading processes; one per core if left out.")]
NoSandbox = Annotated[bool, typer.Option("--no-sandbox", help="Continue even if this machine has no sandbox.")]
Scale = Annotated[str, typer.Option(metavar="dask://HOST:PORT", help="Grade on a cluster instead of this machine.")]
StudentId = Annotated[str, typer.Argument(metavar="STUDENT", help="The id of a student.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the student will read it.")]


def add_commands(app: typer.Typer, out: Console, err: Console, shown: Any) -> None:
    """Add the commands to an app.

    Args:
        app: The app.
        out: Console for output.
        err: Console for warnings.
        shown: Creates a context manager that shows the progress of grading.
    """

    @app.command(rich_help_panel=PANEL)
    def term(folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to create.")]) -> None:
        """Create a term: write term.toml with a deadline for every module, to be edited by hand."""
        from course.staff.term.policy import read_policy
        from course.staff.term.roster import create_term

        path = create_term(folder, course(), str(date.today() + timedelta(weeks=16)))
        out.print(f"{escape(str(path))}: {len(read_policy(folder, course()).deadlines)} deadlines", soft_wrap=True)
        out.print(f"next: set the dates, then course-staff roster STUDENTS.csv --term {escape(str(folder))}", soft_wrap=True)

    @app.command(rich_help_panel=PANEL)
    def roster(table: Annotated[Path, typer.Argument(metavar="CSV", help="A table that an LMS exported.")], folder: Term = Path()) -> None:
        """Add students to term.toml from a table that Canvas, Moodle, Gradescope or GitHub Classroom exported."""
        from course.staff.term.roster import import_roster

        done = import_roster(folder, table, course())
        for warning in done.warnings:
            err.print(f"[yellow]{escape(warning)}[/yellow]")
        out.print(f"{done.added} added, {done.known} already on the roster")

    @app.command(rich_help_panel=PANEL)
    def worksheet(
        sheet: Annotated[Path, typer.Argument(metavar="CSV", help="The grading worksheet of an assignment, exported from Moodle.")],
        name: Annotated[str, typer.Option("--deadline", metavar="DEADLINE", help="The deadline of the assignment.")],
        folder: Term = Path(),
    ) -> None:
        """Fill in the marks of a deadline in a grading worksheet from Moodle; nothing is graded."""
        from course.staff.term.exports import fill_worksheet
        from course.staff.term.policy import read_policy
        from course.staff.term.term import mark

        policy = read_policy(folder, course())
        (deadline,) = policy.select([name])
        marked = mark(folder, grades=False)
        standings = {id: standing for id, each in marked.standings.items() for standing in each if standing.deadline.name == deadline.name}
        path = folder / "marks" / f"moodle-{deadline.slug}.csv"
        unknown = fill_worksheet(sheet, policy, standings, path)
        if unknown:
            many = f"{', '.join(unknown[:5])}{f' and {len(unknown) - 5} more' if len(unknown) > 5 else ''}"
            err.print(f"[yellow]{escape(f'no unique match on the roster, left unchanged: {many}')}[/yellow]", soft_wrap=True)
        out.print(escape(str(path)), soft_wrap=True)

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
        if not _print(marked, out, err):
            raise typer.Exit(1)

    @app.command("mark", rich_help_panel=PANEL)
    def mark_command(
        names: Deadlines = None, folder: Term = Path(), workers: Workers = None, no_sandbox: NoSandbox = False, scale: Scale = ""
    ) -> None:
        """Grade new submissions, and write marks, pages for students and tables for the LMS; graded submissions keep their marks."""
        run(names, folder, False, workers, no_sandbox, scale)

    @app.command(rich_help_panel=PANEL)
    def regrade(
        names: Deadlines = None, folder: Term = Path(), workers: Workers = None, no_sandbox: NoSandbox = False, scale: Scale = ""
    ) -> None:
        """Regrade submissions that were graded with other probes or versions, and print what changed and why."""
        run(names, folder, True, workers, no_sandbox, scale)

    @app.command(rich_help_panel=PANEL)
    def override(
        student: StudentId,
        task: Annotated[str, typer.Argument(metavar="TASK", help="A task, such as 1.4.")],
        points: Annotated[
            float | None,
            typer.Argument(metavar="[POINTS]", help="The mark before the late penalty; leave it out to withdraw the override."),
        ] = None,
        reason: Reason = "",
        folder: Term = Path(),
    ) -> None:
        """Set a student's mark for a task by hand; it survives regrades until it is withdrawn."""
        from course.staff.term.history import OVERRIDE, Event
        from course.staff.term.term import mark, record_decision

        if not reason.strip():
            raise RequestError("an override expected a reason, got none", f'course-staff override {student} {task} … --reason "…"')
        if points is not None and not (math.isfinite(points) and 0 <= points <= course().task(task).points):
            raise RequestError(
                f"Task {task} expected a mark from 0 to {course().task(task).points}, got {points:g}", "course-staff override --help"
            )
        record_decision(folder, Event(OVERRIDE, student, task, score=points, why=(reason.strip(),)))
        _print(mark(folder, grades=False), out, err)

    @app.command(rich_help_panel=PANEL)
    def comment(
        student: StudentId,
        text: Annotated[str, typer.Argument(metavar="TEXT", help="The text for the student's page.")],
        task: Annotated[str, typer.Option(metavar="ID", help="The task that the comment is about.")] = "",
        folder: Term = Path(),
    ) -> None:
        """Add a comment to a student's page of marks."""
        from course.staff.term.history import COMMENT, Event
        from course.staff.term.term import mark, record_decision

        if not text.strip():
            raise RequestError("a comment expected some text, got none", "course-staff comment --help")
        record_decision(folder, Event(COMMENT, student, task, why=(text.strip(),)))
        _print(mark(folder, grades=False), out, err)

    @app.command("history", rich_help_panel=PANEL)
    def history_command(student: StudentId, folder: Term = Path()) -> None:
        """Print all marks that a student has had, and why they changed."""
        from course.staff.term.exports import format_history
        from course.staff.term.history import History
        from course.staff.term.policy import read_policy

        read_policy(folder, course()).student(student)
        history = History(folder)
        for warning in history.warnings:
            err.print(f"[yellow]{escape(warning)}[/yellow]")
        lines = format_history(history.of(student))
        out.print("\n".join(lines) if lines else f"{student} has no marks yet", markup=False, soft_wrap=True)


def _print(outcome: Outcome, out: Console, err: Console) -> bool:
    """Print what changed, and what needs the teacher's attention; returns whether every submission that counts could be graded."""
    from course.staff.outputs.words import line, number

    for warning in outcome.warnings:
        err.print(f"[yellow]{escape(warning)}[/yellow]")
    for name, unknown in outcome.unknown.items():
        some = f"{', '.join(unknown[:5])}{f' and {len(unknown) - 5} more' if len(unknown) > 5 else ''}"
        err.print(f"[yellow]{escape(f'{name}: no student on the roster matches {some}; name submissions ID@TIME')}[/yellow]")
    out.print(f"{len(outcome.changed)} {'mark' if len(outcome.changed) == 1 else 'marks'} changed")
    for event in outcome.changed[:LINES]:
        value = "–" if event.score is None else number(event.score)
        points = number(event.details["points"])
        out.print(f"  {event.student}  {event.about}  {value} of {points}  {'; '.join(event.why)}", markup=False, soft_wrap=True)
    if len(outcome.changed) > LINES:
        out.print(f"  and {len(outcome.changed) - LINES} more; see course-staff history STUDENT")
    for name, path in outcome.files.items():
        out.print(f"{name:<9} {escape(str(path))}", soft_wrap=True)
    refused = [standing for each in outcome.standings.values() for standing in each if standing.refused and not standing.by_hand]
    for standing in refused:
        why = f"{standing.student}, {standing.deadline.name}: {line(standing.refused)}"
        err.print(f"[red]refused, so without a mark:[/red] {escape(why)}", soft_wrap=True)
    if refused:
        err.print("next: ask for another submission, or set the marks by hand: course-staff override STUDENT TASK POINTS --reason WHY")
    return not refused
