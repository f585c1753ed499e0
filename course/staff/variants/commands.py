"""`course-staff variants`, and the options with which `handout` and `grade` use the variants of a term."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from course.manifest import ROOT, course
from course.staff import RequestError

if TYPE_CHECKING:
    from course.staff.variants.roster import Roster
    from course.staff.variants.variant import Variant

VariantTerm = Annotated[Path | None, typer.Option("--term", metavar="DIR", help="The folder of the term whose students have variants.")]

PAIRS = 5
"""Number of pairs of students listed for each family."""


def find_variant(term: Path | None, student: str) -> Variant:
    """The variant of a student of a term.

    Raises:
        RequestError: If `term` or `student` is missing, there is no such student, or the term has no variants.
    """
    from course.staff.variants.roster import read_roster

    if term is None or not student:
        got = "--term alone" if term else "--variant-of alone"
        raise RequestError(
            f"the variant of a student expected both --variant-of STUDENT and --term DIR, got {got}", "course-staff handout --help"
        )
    roster = read_roster(term)
    return roster.variants[roster.policy.student(student).id]


def add_variants(app: typer.Typer, out: Console, err: Console) -> None:
    """Add the command `variants` to an app.

    Args:
        app: The app.
        out: The console for output.
        err: The console for progress.
    """

    @app.command(rich_help_panel="A term of a class")
    def variants(
        term: Annotated[Path, typer.Argument(metavar="TERM", help="The folder of the term.")],
        folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write a handout for each student, as ID.zip.")] = None,
        show: Annotated[str, typer.Option("--show", metavar="STUDENT", help="Print the variant of this student.")] = "",
        modules: Annotated[str | None, typer.Option(help="The modules of the handouts: 0, or 0-1; all if left out.")] = None,
        style: Annotated[str, typer.Option(help="Stubs of the handouts: guided or bare.")] = "guided",
    ) -> None:
        """Print the variants of a class, or write a handout with each student's variant; a stopped run continues."""
        from course.staff.variants.roster import read_roster

        roster = read_roster(term)
        if show:
            _show(roster.variants[roster.policy.student(show).id], out)
        elif folder is None:
            _print(roster, out)
        else:
            _write(roster, folder, _last(modules), style, out, err)


def _last(modules: str | None) -> int:
    """The last module of a range that starts at 0.

    Raises:
        RequestError: If the range is invalid.
    """
    last = course().tasks[-1].stage if modules is None else None if not modules.startswith("0") else modules.removeprefix("0-")
    if not str(last).isdecimal():
        raise RequestError(f"--modules expected a range from 0, such as 0-1, got {modules!r}", "course-staff variants --help")
    return int(str(last))


def _show(variant: Variant, out: Console) -> None:
    """Print a student's parameters, and the paragraphs about them in the book."""
    for family, parameters in variant.families:
        numbers = ", ".join(f"{name} {value}" for name, value in parameters.items())
        out.print(f"Task {family.task}  {family.name}: {numbers}", markup=False, soft_wrap=True)
        for about in family.about.values():
            out.print(f"  {' '.join(family.fill(about, parameters).split())}", markup=False, soft_wrap=True)


def _print(roster: Roster, out: Console) -> None:
    """Print a line for each student, and the pairs between whom a copy cannot be recognized."""
    for id, variant in roster.variants.items():
        numbers = "; ".join(f"{family.name} {' '.join(map(str, parameters.values()))}" for family, parameters in variant.families)
        out.print(f"{id}  {numbers}", markup=False, soft_wrap=True)
    for name, group in groupby(roster.indistinguishable_pairs(), key=lambda pair: pair[0]):
        pairs = [f"{one} and {other}" for _, one, other in group]
        more = f" and {len(pairs) - PAIRS} more" if len(pairs) > PAIRS else ""
        out.print(f"{name}: a copy between these cannot be recognized: {', '.join(pairs[:PAIRS])}{more}", markup=False, soft_wrap=True)


def _write(roster: Roster, folder: Path, last: int, style: str, out: Console, err: Console) -> None:
    """Write a handout for each student."""
    from rich.progress import Progress

    from course.staff.handout.generate import BARE, GUIDED
    from course.staff.variants.batch import make_handouts

    if style not in (GUIDED, BARE):
        raise RequestError(f"--style expected {GUIDED} or {BARE}, got {style!r}", "course-staff variants --help")
    with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("handouts", total=len(roster.variants))
        batch = make_handouts(ROOT, course(), last, folder, roster.variants, style, lambda id: progress.advance(bar))
    out.print(f"{escape(str(folder))}: {batch.written} handouts written, {batch.kept} kept", soft_wrap=True)
    out.print("next: send each student the zip file of the same name", soft_wrap=True)
