"""`course-staff`: the command line for teachers."""

from __future__ import annotations

import enum
import re
import secrets
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from course.manifest import ROOT, ManifestError, Task, course
from course.staff import RequestError, StaffError
from course.staff.adopt.commands import add_adopt
from course.staff.exam.commands import add_commands as add_exam
from course.staff.lecture.commands import add_commands as add_lecture
from course.staff.outputs.words import line
from course.staff.similarity.commands import add_commands as add_similarity
from course.staff.slides.commands import add_commands as add_slides
from course.staff.term.commands import add_commands
from course.staff.variants.commands import VariantTerm, add_variants, find_variant

if TYPE_CHECKING:
    from course.staff.grading.grader import Progress as State
    from course.staff.grading.results import Result

ABOUT = "Create workspaces for students, prove that the tests catch known mistakes, and grade submissions."


class Style(enum.StrEnum):
    """The form of stubs: signatures and docstrings, or signatures and a comment list."""

    guided = "guided"
    bare = "bare"


class Profile(enum.StrEnum):
    """The requirements to grade: those of this course, or those of the original MiniTorch course for the same functions."""

    full = "full"
    published = "published"


app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=ABOUT)
out = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
err = Console(stderr=True, highlight=False, soft_wrap=True)


@app.command()
def handout(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder; must not exist yet.")],
    modules: Annotated[str | None, typer.Option(help="Modules to include, such as 0 or 0-1. Default: all.")] = None,
    style: Annotated[Style, typer.Option(help="Stubs with docstrings, or bare stubs and a list of what to write.")] = Style.guided,
    staff: Annotated[int | None, typer.Option(metavar="N", help="Include solutions up to Module N for students who are stuck.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier handout, if it is unchanged.")] = False,
    variant_of: Annotated[str, typer.Option("--variant-of", metavar="STUDENT", help="Include this student's variant from --term.")] = "",
    term: VariantTerm = None,
) -> None:
    """Write a student's workspace: the package with stubs, the tests, the app, the book, and a new git history."""
    from course.staff.handout.generate import make_handout

    match = re.fullmatch(r"0(?:-(\d+))?", modules or f"0-{course().tasks[-1].stage}")
    if match is None:
        raise RequestError(f"--modules expected a range from 0, such as 0-1, got {modules!r}", "course-staff handout --modules 0-1 DIR")
    variant = find_variant(term, variant_of) if variant_of or term else None
    made = make_handout(ROOT, course(), int(match[1] or 0), folder, force, style.value, staff, variant)
    history = "one commit" if made.commit else "no git history, as git is not installed"
    out.print(f"{escape(str(folder))}: {made.files} files, {made.stubs} functions to write, {history}", soft_wrap=True)
    if staff is not None:
        out.print(
            f"released: the solutions up to Module {staff}; students fill them in with course start TASK --staff {staff}", soft_wrap=True
        )
    out.print(f"next: cd {escape(shlex.quote(str(folder)))} && make course", soft_wrap=True)


@app.command("grade-doctor")
def grade_doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False) -> None:
    """Attack the sandbox of this machine, and print the result of each attack."""
    from course.staff.sandbox.attacks import doctor

    raise typer.Exit(doctor(out, as_json))


@app.command()
def prove(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="[TASK]…", help="Tasks, such as 0.1. Default: all.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Prove all again, not only those that changed and a fiftieth of the others.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Write nothing, and fail if the ledger is not up to date.")] = False,
    seed: Annotated[int | None, typer.Option(help="Seed that selects the fiftieth. Default: random.")] = None,
) -> None:
    """Check that the tests of every task catch its known wrong answers."""
    from rich.progress import Progress

    from course.staff.proofs import answers as wrong
    from course.staff.proofs import prove as proofs

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
    changed, sample = proofs.choose(answers, hashes, ledger, seed)
    todo = answers if everything else [answer for answer in answers if answer in changed or answer in sample]
    if not everything:
        out.print(f"{len(answers)} wrong answers: {len(changed)} new or changed, {len(sample)} of the others at random (--seed {seed})")

    def keep(verdict: proofs.Verdict) -> None:
        """Write a verdict into the ledger at once, so that an interrupted run goes on where it was."""
        progress.advance(bar)
        if verdict.state == "killed" and not check:
            entries[verdict.answer.key] = {"hash": hashes[verdict.answer.key], "killed_by": verdict.by}
            wrong.write_ledger(wrong.LEDGER, entries, manifest)

    with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as progress:
        right = proofs.textbook_solutions(todo if everything else changed, manifest)
        bar = progress.add_task("proving", total=len(right) + len(todo))
        for verdict in proofs.prove(right, manifest, files, done=lambda _: progress.advance(bar)):
            if verdict.state != "survived":
                raise StaffError(
                    f"the published functions of Task {verdict.answer.task} fail its tests without the optimized kernels, "
                    f"so its wrong answers prove nothing: {verdict.by}; fix the functions"
                )
        verdicts = proofs.prove(todo, manifest, files, done=keep)
    _show(verdicts)
    if not check and entries != ledger:  # without answers that are gone
        wrong.write_ledger(wrong.LEDGER, entries, manifest)
    if bad := [verdict for verdict in verdicts if verdict.state != "killed"]:
        err.print(
            f"[red]{len(bad)} of {len(verdicts)} wrong answers were not caught[/red]{'' if check else '; the others are in the ledger'}"
        )
        err.print(f"next: fix the tests or the patch, then course-staff prove {bad[0].answer.task}")
        raise typer.Exit(1)
    out.print(f"all {len(verdicts)} caught")
    if check and (changed or entries != ledger):
        err.print("[red]the ledger is not up to date[/red]")
        err.print("next: course-staff prove, and commit course/staff/wrong_answers/ledger.json")
        raise typer.Exit(1)


def _show(verdicts: list) -> None:
    """Print a row for every wrong answer, and the patches of those that were not caught."""
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


Formats = Annotated[list[str] | None, typer.Option("--format", metavar="NAME", help="An output. Default: feedback, page and table.")]
NoSandbox = Annotated[bool, typer.Option("--no-sandbox", help="Continue if this machine has no sandbox.")]


@app.command()
def grade(
    submissions: Annotated[
        list[Path], typer.Argument(metavar="SUBMISSION…", help="Folders, archives, git bundles, or folders that contain them.")
    ],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the results; an existing one continues an earlier run.")],
    tasks: Annotated[
        list[str] | None, typer.Option("--task", metavar="ID", help="A task such as 0.1, or a module such as 0. Default: all.")
    ] = None,
    formats: Formats = None,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Number of processes. Default: one per core.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="The secret number of the class. Default: generated once.")] = None,
    no_sandbox: NoSandbox = False,
    scale: Annotated[str, typer.Option(metavar="dask://HOST:PORT", help="A Dask cluster to grade on instead of this machine.")] = "",
    profile: Annotated[
        Profile, typer.Option(help="Grade all requirements of this course, or only those of the original MiniTorch course.")
    ] = Profile.full,
    term: VariantTerm = None,
) -> None:
    """Grade submissions, and write feedback, a class page and a table. After an interruption, the same command continues."""
    from course.staff.grading.grade import grade
    from course.staff.grading.journal import Interrupted
    from course.staff.grading.submissions import find
    from course.staff.variants.roster import describe_copies, note_copies, read_roster

    kinds = _kinds(formats)
    ids = [task.id for name in tasks or () for task in _tasks_of(name)]
    roster = read_roster(term) if term else None
    with _ProgressDisplay() as display:
        options = {"tasks": ids, "workers": workers, "seed": seed, "no_sandbox": no_sandbox, "scale": scale, "profile": profile.value}
        options |= {"variants": roster.for_submissions(find(submissions, course()), err)} if roster else {}
        try:
            results = grade(submissions, folder, **options, progress=display.show)
        except Interrupted as stopped:
            stopped.next += f" --term {shlex.quote(str(term))}" if term else ""
            raise
    if roster:
        results = note_copies(folder, results, roster.shown)
        for copy in describe_copies(results):
            err.print(f"[yellow]{escape(copy)}[/yellow]")
    complete = _summarize(results)
    _write_outputs(results, folder, kinds)
    if not complete:
        raise typer.Exit(1)


def _tasks_of(name: str) -> list[Task]:
    """The task with this id, or all tasks of a module."""
    tasks = [task for task in course().tasks if name in (task.id, str(task.stage))]
    if not tasks:
        known = ", ".join(task.id for task in course().tasks)
        raise RequestError(f"there is no task {name}; the tasks are {known}", "course-staff grade --help")
    return tasks


class _ProgressDisplay:
    """The progress of grading: a bar on a terminal, else a line for every finished submission."""

    def __enter__(self) -> _ProgressDisplay:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")
        self.progress = Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty())
        self.bar = self.progress.add_task("grading", total=None, left="")
        self.done = 0
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def show(self, state: State) -> None:
        """Show the current state."""
        if state.warning:
            err.print(f"[yellow]{escape(state.warning)}[/yellow]")
        left = (
            ""
            if state.left is None
            else f"{max(1, round(state.left / 60))} min left"
            if state.left >= 90
            else f"{round(state.left)} s left"
        )
        self.progress.update(self.bar, completed=state.done, total=state.total, description=escape(state.now)[:60] or "grading", left=left)
        if state.done > self.done and self.progress.disable:
            err.print(f"{state.done} of {state.total}: {escape(state.now)}")
        self.done = state.done


def _summarize(results: list[Result]) -> bool:
    """Print how many submissions were graded, refused, and flagged, and why; returns whether none was refused."""
    refused = {result.submission: result.refused for result in results if result.refused}
    flagged = [result.submission for result in results if any(task.flagged for task in result.tasks)]
    out.print(f"{len(results) - len(refused)} graded, {len(refused)} refused, {len(flagged)} to look at")
    if flagged:
        more = f" and {len(flagged) - 8} more" if len(flagged) > 8 else ""
        out.print(f"  look at: {escape(', '.join(flagged[:8]))}{more}", soft_wrap=True)
    for name, why in refused.items():
        err.print(f"[red]refused:[/red] {escape(f'{name}: {line(why)}')}", soft_wrap=True)
    return not refused


@app.command()
def outputs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The output folder of grade.")],
    formats: Formats = None,
) -> None:
    """Write outputs for graded submissions: feedback, page, table, junit, gradescope, classroom."""
    from course.staff.grading.results import read_result

    kinds = _kinds(formats)
    results = [read_result(path) for path in sorted((folder / "results").glob("*.json"))]
    if not results:
        raise RequestError(f"{folder} holds no results", f"course-staff grade SUBMISSIONS --out {folder}")
    _write_outputs(results, folder, kinds)


def _kinds(formats: list[str] | None) -> tuple[str, ...]:
    """The requested outputs; an unknown name is an error before anything is graded."""
    from course.staff.outputs.kinds import FILES, USUAL

    if unknown := [name for name in formats or () if name not in FILES]:
        raise RequestError(f"there is no output {', '.join(unknown)}; the outputs are {', '.join(FILES)}", "course-staff outputs --help")
    return tuple(formats or USUAL)


def _write_outputs(results: list[Result], folder: Path, kinds: tuple[str, ...]) -> None:
    """Write outputs, and print their paths."""
    from course.staff.outputs.kinds import write_outputs

    for name, path in write_outputs(results, folder, kinds, {task.id: task.title for task in course().tasks}).items():
        out.print(f"{name:<10}  {escape(str(path))}", soft_wrap=True)


@app.command()
def patterns(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="[TASK]…", help="Tasks, such as 0.1. Default: all.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Rerun known patterns, too.")] = False,
) -> None:
    """Collect which tests fail under each known wrong answer, and list those that look alike."""
    from course.staff.grading.nearest import run

    raise typer.Exit(run(out, err, tasks or (), again))


@app.command()
def classroom(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A handout.")],
    github: Annotated[bool, typer.Option("--github", help="Add a workflow that runs the tests on every push.")] = False,
    gradescope: Annotated[bool, typer.Option("--gradescope", help="Write a bundle for Gradescope next to it.")] = False,
    no_sandbox: NoSandbox = False,
    force: Annotated[bool, typer.Option("--force", help="Replace workflow files that were changed.")] = False,
) -> None:
    """Write the files that GitHub Classroom and Gradescope need to run a handout's tests."""
    from course.staff.classroom.files import run

    raise typer.Exit(run(out, folder, github, gradescope, no_sandbox, force))


add_adopt(app, out, err)
add_similarity(app, out, err)
add_commands(app, out, err, lambda: _ProgressDisplay())
add_lecture(app, out, err)
add_exam(app, out, err)
add_slides(app, out)
add_variants(app, out, err)


def main() -> None:
    """The entry point. Exit codes: 0 success, 1 a proof or an attack found a fault or a submission was refused, 2 an invalid request,
    3 an unusable repository or machine, 130 interrupted by Ctrl-C."""
    try:
        app()
    except ModuleNotFoundError as error:
        if error.name not in ("jinja2", "libcst"):  # what only these commands need
            raise
        err.print(f"[red]error:[/red] this command needs {error.name}, which {sys.executable} does not have")
        err.print(f"next: {escape(sys.executable)} -m pip install -c constraints.txt -r requirements.dev.txt")
        sys.exit(StaffError.code)
    except (StaffError, ManifestError, OSError) as error:
        err.print(f"[red]error:[/red] {escape(str(error))}")
        err.print(f"next: {escape(getattr(error, 'next', StaffError.next))}")
        sys.exit(getattr(error, "code", StaffError.code))
