"""`course-staff exam`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from course.manifest import course
from course.staff import RequestError

if TYPE_CHECKING:
    from course.staff.exam.question import Question

QUESTIONS = 10
"""Default number of questions."""

SHORT = 16
"""Length of a safe seed in characters. The questions are public, so anyone who guesses a shorter seed knows the exam."""

HELP = "course-staff exam --help"


def add_commands(app: typer.Typer, out: Console, err: Console) -> None:
    """Add the command to an app.

    Args:
        app: The app.
        out: Where it prints.
        err: Where warnings go.
    """

    @app.command()
    def exam(
        seed: Annotated[str, typer.Option(help="Your secret. The same seed gives the same exam.")] = "",
        student: Annotated[str, typer.Option(metavar="ID", help="The exam of one student.")] = "",
        roster: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Exams of a class: a CSV table from an LMS, or a term's term.toml.")
        ] = None,
        modules: Annotated[str, typer.Option(metavar="LIST", help="Modules, such as 0,1 or 0-2. Default: all.")] = "",
        questions: Annotated[int | None, typer.Option(metavar="N", help=f"The number of questions. Default: {QUESTIONS}.")] = None,
        ask: Annotated[list[str] | None, typer.Option(metavar="QUESTION", help="Ask this question instead; may be repeated.")] = None,
        folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="The folder to write to.")] = None,
        space: Annotated[bool, typer.Option("--space", help="Leave blank space for the answers on the printed sheets.")] = False,
        show: Annotated[bool, typer.Option("--list", help="List the questions, and write nothing.")] = False,
    ) -> None:
        """Write an exam: a sheet for each student, with different numbers, and the solutions."""
        from course.staff.exam.bank import QUESTIONS as BANK
        from course.staff.exam.bank import choose, find
        from course.staff.exam.sheets import SHEETS, SOLUTIONS, draw_exam, write_exam

        covered = read_modules(modules)
        if show:
            out.print(_table([question for question in BANK if question.module in covered]))
            return
        if not seed:
            raise RequestError("an exam expected --seed, got none; its numbers follow from it", f"course-staff exam --seed {_suggestion()}")
        if folder is None:
            raise RequestError("an exam expected --out DIR, got none", "course-staff exam --seed SEED --student ID --out DIR")
        if ask and (questions is not None or modules):
            got = "--modules" if questions is None else "--questions"
            raise RequestError(f"--ask expected neither --questions nor --modules beside it, got {got}", HELP)
        chosen = find(ask) if ask else choose(seed, covered, QUESTIONS if questions is None else questions)
        students = _students(student, roster, err)
        if len(seed) < SHORT:
            size = f"{len(seed)} character{'' if len(seed) == 1 else 's'}"
            err.print(f"[yellow]a seed of {size} can be guessed; for an exam use one such as {_suggestion()}[/yellow]")
        written = draw_exam(course().title, seed, chosen, students)
        write_exam(written, folder, space)
        many = f"{len(students)} {'student' if len(students) == 1 else 'students'}"
        out.print(f"{many}, {len(chosen)} questions, {written.points} points", soft_wrap=True)
        out.print(f"sheets     {escape(str(folder / SHEETS))}", soft_wrap=True)
        out.print(f"solutions  {escape(str(folder / f'{SOLUTIONS}.html'))}", soft_wrap=True)


def _suggestion() -> str:
    """A seed that cannot be guessed."""
    import secrets

    return secrets.token_hex(SHORT // 2)


def read_modules(text: str, next: str = HELP) -> list[int]:
    """The modules of a list such as 0,1 or 0-2; all for an empty one.

    Args:
        text: The list.
        next: The next step after an error.

    Raises:
        RequestError: If it is not such a list.
    """
    known = list(course().required_stages)
    if not text:
        return known
    ranges = [re.fullmatch(r"(\d+)(?:-(\d+))?", each.strip()) for each in text.split(",")]
    found = sorted({number for each in ranges if each for number in range(int(each[1]), int(each[2] or each[1]) + 1)})
    if None in ranges or not found or not set(found) <= set(known):
        raise RequestError(f"--modules expected modules from {known[0]} to {known[-1]}, such as 0,1 or 0-2, got {text!r}", next)
    return found


def _students(student: str, roster: Path | None, err: Console) -> dict[str, str]:
    """The names of the students by id. A warning asks to check names in an uncertain encoding.

    Raises:
        RequestError: If neither a student nor a roster is given, or both, or an id cannot be part of a file name.
    """
    from course.staff.term.policy import is_id, parse_policy
    from course.staff.term.roster import read_rows, read_text

    if bool(student) == (roster is not None):
        raise RequestError(f"an exam expected either --student ID or --roster FILE, got {'both' if student else 'neither'}", HELP)
    if roster is None:
        found = {student: ""}
    elif roster.suffix == ".toml":
        found = {id: each.name for id, each in parse_policy(read_text(roster)[0], roster, course()).students.items()}
    else:
        rows, warnings = read_rows(roster)
        for warning in warnings:
            err.print(f"[yellow]{escape(warning)}[/yellow]")
        found = {row["id"]: row["name"] for row in rows}
    if not found:
        raise RequestError(
            f"{roster} expected students, got none", f"course-staff roster STUDENTS.csv --term {roster.parent if roster else ''}"
        )
    for id in found:
        if not is_id(id):
            where = "--student" if roster is None else str(roster)
            raise RequestError(f"{where} expected an id without @ and slashes that does not begin with one of . = + -, got {id!r}", HELP)
    return found


def _table(questions: Sequence[Question]) -> Table:
    """The questions of the bank."""
    table = Table("question", "tasks", "kind", "points", "topic", box=None, pad_edge=False)
    table.columns[3].justify = "right"
    for question in questions:
        table.add_row(question.id, ", ".join(question.tasks), question.kind, str(question.points), escape(question.topic))
    return table
