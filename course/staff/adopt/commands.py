"""`course-staff adopt`: convert the work of a student, or of a class, in the original MiniTorch course."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from course.manifest import course
from course.staff import RequestError

if TYPE_CHECKING:
    from course.staff.adopt.class_folder import AdoptedStudent


def add_adopt(app: typer.Typer, out: Console, err: Console) -> None:
    """Add the command to an app.

    Args:
        app: The app.
        out: Console for output.
        err: Console for warnings.
    """

    @app.command()
    def adopt(
        folder: Annotated[
            Path, typer.Argument(metavar="FOLDER", help="One student's repositories of the original MiniTorch course, or a class.")
        ],
        out_folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder; must not exist yet.")],
        workspace: Annotated[bool, typer.Option("--workspace", help="Create a workspace to continue in, instead of a submission.")] = False,
    ) -> None:
        """Convert work for the original MiniTorch course into a submission or a workspace, or that of a class into submissions."""
        from course.staff.adopt.adopt import adopt, write_submission, write_workspace
        from course.staff.adopt.class_folder import students_in

        if students := students_in(folder, course()):
            if workspace:
                raise RequestError(
                    f"{folder} holds a class, {len(students)} students; name one student's folder", "course-staff adopt --help"
                )
            _adopt_class(students, out_folder, out, err)
            return
        adopted = adopt(folder, course())
        for place, module in sorted(adopted.original.modules.items(), key=lambda one: one[1]):
            out.print(f"{escape(str(place))}: the original course, Module {module}", soft_wrap=True)
        table = Table("task", "written", "not written", box=None, pad_edge=False)
        for task in course().tasks:
            if task.id in adopted.written:
                missing = adopted.missing.get(task.id, ())
                table.add_row(task.id, f"{len(adopted.written[task.id])} of {len(task.write)}", escape(", ".join(missing)))
        out.print(table)
        for error in adopted.errors:
            err.print(f"[yellow]{escape(error)}[/yellow]")
        if not adopted.written:
            raise RequestError(
                f"nothing in {folder} is written; name the folder that holds the student's work", "course-staff adopt --help"
            )
        if workspace:
            write_workspace(adopted, course(), out_folder)
            out.print(f"next: cd {shlex.quote(str(out_folder))} && make course", soft_wrap=True, markup=False)
        else:
            write_submission(adopted, out_folder)
            out.print(
                f"next: course-staff grade {shlex.quote(str(out_folder))} --out graded --profile published", soft_wrap=True, markup=False
            )


def _adopt_class(students: dict[str, Path], out_folder: Path, out: Console, err: Console) -> None:
    """Convert the work of a class, and print a row for each student."""
    from course.staff.adopt.class_folder import adopt_class

    def progress(student: AdoptedStudent) -> None:
        err.print(f"{student.name}: {'refused' if student.refused else 'converted'}", markup=False)

    done = adopt_class(students, course(), out_folder, progress)
    table = Table("student", "modules", "tasks", "absent", box=None, pad_edge=False)
    for student in done:
        if student.work is not None:
            modules = ", ".join(map(str, sorted(student.work.original.modules.values())))
            table.add_row(escape(student.name), modules, str(len(student.work.written)), ", ".join(student.absent(course())))
    out.print(table)
    for student in done:
        for error in student.work.errors if student.work is not None else ():
            err.print(f"[yellow]{escape(f'{student.name}: {error}')}[/yellow]", soft_wrap=True)
    refused = [student for student in done if student.refused]
    out.print(f"{len(done) - len(refused)} converted, {len(refused)} refused")
    for student in refused:
        err.print(f"[red]refused:[/red] {escape(f'{student.name}: {student.refused}')}", soft_wrap=True)
    if len(refused) < len(done):
        out.print(f"next: course-staff grade {shlex.quote(str(out_folder))} --out graded --profile published", soft_wrap=True, markup=False)
    if refused:
        raise typer.Exit(1)
