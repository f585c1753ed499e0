"""The page of a report: one HTML file that works offline and without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course.staff.outputs.class_page import render_page
from course.staff.outputs.words import clean, line
from course.staff.similarity.compare import Pair
from course.staff.similarity.document import LIMITS, Report
from course.staff.similarity.matches import Region
from course.staff.similarity.works import CLASS, EARLIER, PUBLIC, Function, Work

HERE = Path(__file__).parent

COLORS = 8
"""Number of colors of regions; the ninth region reuses the first color, and has its own number."""

MAX_LISTED = 1000
"""Number of pairs in the table."""

KINDS = {CLASS: "", EARLIER: "earlier year", PUBLIC: "public"}


@dataclass(frozen=True)
class Line:
    """A line of a function, with the numbers of its regions."""

    number: int
    text: str
    regions: tuple[int, ...]

    @property
    def color(self) -> int:
        """The color of its first region, from 1; 0 if it has none."""
        return (self.regions[0] - 1) % COLORS + 1 if self.regions else 0


@dataclass(frozen=True)
class Listing:
    """A function with its regions."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Comparison:
    """A pair on the page.

    Attributes:
        number: Its rank, from 1.
        first: The name of the first student.
        second: The name of the second student, or of the other work.
        kind: The origin of the second work; empty for the class.
        score: The score.
        tasks: Scores by task.
        texts: Evidence by kind: names, comments, strings.
        tasks_shown: For each task with shared regions, the functions of both works.
    """

    number: int
    first: str
    second: str
    kind: str
    score: float
    tasks: dict[str, float]
    texts: dict[str, list[str]]
    tasks_shown: tuple[tuple[str, tuple[Listing, ...], tuple[Listing, ...]], ...]


def similarity_page(report: Report) -> str:
    """The HTML page of a report."""
    works = report.works
    shown = len(report.matches)
    matches = [*report.matches, *[()] * (len(report.pairs) - shown)]
    comparisons = [_comparison(i + 1, pair, works, some) for i, (pair, some) in enumerate(zip(report.pairs, matches, strict=True))]
    return render_page(
        HERE / "page.html",
        limits=LIMITS,
        threshold=report.threshold,
        submissions=sum(work.kind == CLASS and not work.refused for work in works),
        earlier=sum(work.kind == EARLIER and not work.refused for work in works),
        public=[line(work.name) for work in works if work.kind == PUBLIC and not work.refused],
        refused=[(line(work.name), clean(work.refused)) for work in works if work.refused],
        unreadable=[(line(work.name), clean(trouble)) for work in works for trouble in work.troubles],
        comparisons=comparisons[:MAX_LISTED],
        pairs=len(comparisons),
        shown=shown,
        groups=[[line(works[place].name) for place in group] for group in report.groups],
    )


def _comparison(number: int, pair: Pair, works: Sequence[Work], some: Sequence[Region]) -> Comparison:
    first, second = works[pair.first], works[pair.second]
    texts: dict[str, list[str]] = {}
    for kind, text in pair.texts:
        texts.setdefault(f"{kind}s", []).append(line(text)[:200])
    order = sorted({region.first.task for region in some}, key=lambda id: (-pair.tasks.get(id, 0), id))
    numbered = list(enumerate(sorted(some, key=lambda region: order.index(region.first.task)), 1))
    shown = []
    for id in order:
        here = [(number, region) for number, region in numbered if region.first.task == id]
        shown.append(
            (
                id,
                _listings([(number, region.first, region.first_lines) for number, region in here]),
                _listings([(number, region.second, region.second_lines) for number, region in here]),
            )
        )
    kind = KINDS[second.kind]
    return Comparison(number, line(first.name), line(second.name), kind, pair.score, pair.tasks, texts, tuple(shown))


def _listings(parts: Sequence[tuple[int, Function, tuple[int, ...]]]) -> tuple[Listing, ...]:
    """The functions of one side, in the order of its file."""
    functions = sorted({id(function): function for _, function, _ in parts}.values(), key=lambda f: (f.path, f.first))
    found = []
    for function in functions:
        of_line: dict[int, list[int]] = {}
        for number, other, lines in parts:
            for at in lines if other is function else ():
                of_line.setdefault(at, []).append(number)
        lines = tuple(
            Line(function.first + at, clean(text).expandtabs(4), tuple(of_line.get(at, ()))) for at, text in enumerate(function.lines)
        )
        found.append(Listing(f"{function.path}: {function.name}", lines))
    return tuple(found)
