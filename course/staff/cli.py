"""`course-staff`: what a teacher runs."""

from __future__ import annotations

import enum
import re
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from course.manifest import ROOT, ManifestError, course
from course.staff import RequestError, StaffError

ABOUT = "Make workspaces for students, and prove that the tests catch what they must."


class Style(enum.StrEnum):
    """What is left of the functions that students write: signatures and docstrings, or signatures and a comment list."""

    guided = "guided"
    bare = "bare"


app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=ABOUT)
out = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
err = Console(stderr=True, highlight=False, soft_wrap=True)


@app.command()
def handout(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; must not exist yet.")],
    modules: Annotated[str | None, typer.Option(help="The modules that it holds: 0, or 0-1; all if left out.")] = None,
    style: Annotated[Style, typer.Option(help="Stubs with their docstrings, or bare ones and a list of what to write.")] = Style.guided,
    staff: Annotated[int | None, typer.Option(metavar="N", help="Release the bodies up to Module N to those who are stuck.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier handout in which nothing was changed.")] = False,
) -> None:
    """Write a student's workspace: the package with stubs, the tests, the app, the book, and a new git history."""
    from course.staff.handout import make_handout

    match = re.fullmatch(r"0(?:-(\d+))?", modules or f"0-{course().tasks[-1].stage}")
    if match is None:
        raise RequestError(f"--modules expected a range from 0, such as 0-1, got {modules!r}", "course-staff handout --modules 0-1 DIR")
    made = make_handout(ROOT, course(), int(match[1] or 0), folder, force, style.value, staff)
    history = "one commit" if made.commit else "no git history, as git is not installed"
    out.print(f"{escape(str(folder))}: {made.files} files, {made.stubs} functions to write, {history}", soft_wrap=True)
    if staff is not None:
        out.print(f"released: the bodies up to Module {staff}, which students take by course start TASK --staff {staff}", soft_wrap=True)
    out.print(f"next: cd {escape(str(folder))} && make app", soft_wrap=True)


@app.command("grade-doctor")
def grade_doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False) -> None:
    """Attack the sandbox of this machine, and print what became of each attack."""
    from course.staff.attacks import doctor

    raise typer.Exit(doctor(out, as_json))


@app.command()
def prove(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="[TASK]…", help="Tasks, such as 0.1; all if left out.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Prove all again, not only what changed and a tenth of the rest.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Write nothing, and fail if the ledger is not up to date.")] = False,
    seed: Annotated[int | None, typer.Option(help="Chooses the tenth; random if left out.")] = None,
) -> None:
    """Put every known wrong answer into the reference and see that the tests of its task catch it."""
    from rich.progress import Progress

    from course.staff import answers as wrong
    from course.staff import prove as proofs

    manifest = course()
    chosen = [task for task in manifest.tasks if not tasks or task.id in tasks]
    if unknown := set(tasks or ()) - {task.id for task in chosen}:
        known = ", ".join(task.id for task in manifest.tasks)
        raise RequestError(f"there is no task {', '.join(sorted(unknown))}; the tasks are {known}", "course-staff prove")
    files = proofs.needed_files(ROOT, manifest)
    answers = wrong.load_answers(wrong.FOLDER, chosen)
    hashes = proofs.hash_all(answers, manifest, ROOT, files)
    ledger = wrong.read_ledger(wrong.LEDGER)
    ids = {task.id for task in chosen}
    entries = {key: entry for key, entry in ledger.items() if key in hashes or key.split("/")[0] not in ids}
    seed = secrets.randbelow(10**6) if seed is None else seed
    changed, tenth = proofs.choose(answers, hashes, ledger, seed)
    todo = answers if everything else [answer for answer in answers if answer in changed or answer in tenth]
    if not everything:
        out.print(f"{len(answers)} wrong answers: {len(changed)} new or changed, {len(tenth)} of the others at random (--seed {seed})")
    with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("proving", total=len(todo))
        verdicts = proofs.prove(todo, manifest, files, done=lambda: progress.advance(bar))
    _show(verdicts)
    if bad := [verdict for verdict in verdicts if verdict.state != "killed"]:
        err.print(f"[red]{len(bad)} of {len(verdicts)} wrong answers were not caught[/red]; the ledger stays as it was")
        err.print(f"next: mend the tests or the patch, then course-staff prove {bad[0].answer.task}")
        raise typer.Exit(1)
    out.print(f"all {len(verdicts)} caught")
    if check:
        if changed or entries != ledger:
            err.print("[red]the ledger is not up to date[/red]")
            err.print("next: course-staff prove, and commit course/staff/wrong_answers/ledger.json")
            raise typer.Exit(1)
        return
    entries |= {verdict.answer.key: {"hash": hashes[verdict.answer.key], "killed_by": verdict.by} for verdict in verdicts}
    if entries != ledger:
        wrong.write_ledger(wrong.LEDGER, entries, manifest)


def _show(verdicts: list) -> None:
    """A row for every wrong answer, and the patches of those that were not caught."""
    table = Table("task", "wrong answer", "caught by", box=None, pad_edge=False)
    for verdict in verdicts:
        by = verdict.by if verdict.state == "killed" else f"[red]{verdict.state.upper()}[/red] {escape(verdict.by)}"
        table.add_row(verdict.answer.task, verdict.answer.name, by)
    out.print(table)
    for verdict in verdicts:
        if verdict.state == "survived":
            out.print(f"\n[red]SURVIVED[/red] {verdict.answer.key}: {escape(verdict.answer.mistake)}")
            for name, definition in verdict.answer.patch.items():
                out.print(f"  {name}", definition.strip().replace("\n", "\n  "), sep="\n  ", markup=False)


def main() -> None:
    """The entry point. Exit codes: 0 done, 1 a proof failed, 2 a wrong request, 3 a repository that does not fit together."""
    try:
        app()
    except (StaffError, ManifestError, OSError) as error:
        err.print(f"[red]error:[/red] {escape(str(error))}")
        err.print(f"next: {getattr(error, 'next', StaffError.next)}")
        sys.exit(getattr(error, "code", StaffError.code))
