"""The class page: one HTML file that opens offline and says how a class fared, what to look at first, and what was hard."""

from __future__ import annotations

import base64
import hashlib
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from course.staff.grading.results import NOT_RUN, Result, TaskResult
from course.staff.outputs.words import clean, file_names, flags, kind, line, number
from course.workspace.atomic_files import write_bytes

HERE = Path(__file__).parent

BINS = 10
"""Bars of the histogram of marks."""

SHOWN = 3
"""So many names stand in a row; more are unfolded."""

FIRST = 12
"""So many known wrong answers are listed at first, likewise."""

ORDER = ("refused", "disagrees", "unusual", "flaky", "not run")
"""What somebody should look at, the gravest first."""

WORDS = {
    "refused": "could not be graded at all",
    "disagrees": "the visible tests and the hidden probes say different things",
    "unusual": "the code does something that no right answer needs",
    "flaky": "ended otherwise when it was run again",
    "not run": "could not be run, for different reasons",
}


@dataclass(frozen=True)
class Flag:
    """Something to look at.

    Attributes:
        kind: "refused", "disagrees", "unusual", "flaky" or "not run".
        task: In which task; empty for a whole submission.
        reason: Why; in general words where each has its own reason.
        names: Whom it concerns.
    """

    kind: str
    task: str
    reason: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class TaskRow:
    """How the class fared in a task.

    Attributes:
        task: Its id.
        share: Of its points, what the class earned on average, from 0 to 1; None if it was run for nobody.
        counts: How many passed, got a part, failed and were not run.
        seconds: What grading it took: the middle one, the longest.
    """

    task: str
    share: float | None
    counts: Mapping[str, int]
    seconds: tuple[float, float]


@dataclass(frozen=True)
class Mistake:
    """A known wrong answer, and whose failures were most like it."""

    key: str
    mistake: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Bar:
    """A bar of the histogram: from and to which share of the points in percent, and how many submissions."""

    low: int
    high: int
    count: int


@dataclass(frozen=True)
class Cell:
    """A task of a submission in the table.

    Attributes:
        kind: "pass", "part", "fail", "not-run", or "none" where it was not graded.
        text: Its verdict in short.
        mark: To sort by.
        note: What is to be said besides, for a pointer that rests on it, and for screen readers where it is flagged.
        flagged: Whether somebody should look.
    """

    kind: str
    text: str
    mark: float
    note: str = ""
    flagged: bool = False


@dataclass(frozen=True)
class Row:
    """A submission in the table.

    Attributes:
        name: Its name.
        link: To its feedback; empty for none.
        mark: What it earned, in words.
        share: Of the points, in percent; None if it was refused.
        seconds: What grading it took.
        cells: One for each task.
    """

    name: str
    link: str
    mark: str
    share: float | None
    seconds: float
    cells: tuple[Cell, ...]


def write_class_page(
    results: Sequence[Result], path: Path, title: str = "MiniTorch", titles: Mapping[str, str] | None = None, feedback: str = ""
) -> None:
    """Write the page.

    Args:
        results: Of all submissions.
        path: The file.
        title: What the page is about.
        titles: Names of tasks by id.
        feedback: The folder of the students' feedback as a link from the page, such as "feedback"; empty for none.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= {"line": line, "number": number, "minutes": minutes, "percent": lambda share: f"{100 * share:.0f} %"}
    script, style = ((HERE / f"class_page.{suffix}").read_text(encoding="utf-8") for suffix in ("js", "css"))
    tasks = list(dict.fromkeys(task.task for result in results for task in result.tasks))
    graded = [result for result in results if not result.refused]
    text = environment.from_string((HERE / "class_page.html").read_text(encoding="utf-8")).render(
        title=title,
        titles=titles or {},
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=style,
        tasks=tasks,
        submissions=len(results),
        refused=len(results) - len(graded),
        median=statistics.median(result.mark for result in graded) if graded else None,
        points=max((result.points for result in graded), default=0),
        seconds=sum(result.seconds for result in results),
        levels=sorted({result.level for result in results if result.level}),
        flags=to_look_at(results),
        flagged=sum(bool(result.refused) or any(task.flagged for task in result.tasks) for result in results),
        bars=histogram(graded),
        hardest=sorted(task_rows(results, tasks), key=lambda row: (row.share is None, row.share)),
        slowest=sorted(results, key=lambda result: -result.seconds)[:5],
        mistakes=mistakes(results),
        rows=rows(results, tasks, feedback),
        shown=SHOWN,
        first=FIRST,
    )
    write_bytes(path, text.encode("utf-8", "replace"))


def to_look_at(results: Sequence[Result]) -> list[Flag]:
    """What somebody should look at, once for each task and each reason not to grade; it says why if that is the same for all."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for result in results:
        name = line(result.submission)
        if result.refused:
            found.setdefault(("refused", clean(result.refused)), {})[name] = clean(result.refused)
        for task in result.tasks:
            for flag in flags(task):
                found.setdefault((flag, task.task), {})[name] = clean(task.note or task.reason)
    alike = []
    for (flag, about), reasons in found.items():
        first = next(iter(reasons.values()))
        same = first if set(reasons.values()) == {first} else ""
        alike.append(Flag(flag, "" if flag == "refused" else about, same or WORDS[flag], tuple(reasons)))
    return sorted(alike, key=lambda flag: (ORDER.index(flag.kind), -len(flag.names)))


def histogram(results: Sequence[Result]) -> list[Bar]:
    """How many submissions earned which share of the points; extra points count as the whole."""
    counts = [0] * BINS
    for result in results:
        share = result.mark / result.points if result.points else 0.0
        counts[max(0, min(int(BINS * share + 1e-9), BINS - 1))] += 1
    width = 100 // BINS
    return [Bar(place * width, (place + 1) * width, count) for place, count in enumerate(counts)]


def task_rows(results: Sequence[Result], tasks: Iterable[str]) -> list[TaskRow]:
    """How the class fared in each task."""
    table = []
    for id in tasks:
        found = [task for result in results for task in result.tasks if task.task == id]
        run = [task.mark / task.points for task in found if task.verdict != NOT_RUN and task.points]
        kinds = [kind(task) for task in found]
        counts = {name: kinds.count(name) for name in ("pass", "part", "fail", "not-run")}
        times = [task.seconds for task in found]
        table.append(TaskRow(id, statistics.fmean(run) if run else None, counts, (statistics.median(times), max(times))))
    return table


def mistakes(results: Sequence[Result]) -> list[Mistake]:
    """Which known wrong answer hit whom, the most frequent first."""
    found: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for task in result.tasks:
            if task.nearest is not None:
                found.setdefault((task.nearest.key, line(task.nearest.mistake)), []).append(line(result.submission))
    hit = [Mistake(*about, tuple(names)) for about, names in found.items()]
    return sorted(hit, key=lambda mistake: (-len(mistake.names), mistake.key))


def rows(results: Sequence[Result], tasks: Sequence[str], feedback: str) -> list[Row]:
    """The table of all submissions and tasks, in the order of their names."""
    table = []
    for name, result in zip(file_names(results), results, strict=True):
        found = {task.task: task for task in result.tasks}
        cells = tuple(_cell(found[id]) if id in found else Cell("none", "–", -1.0) for id in tasks)
        mark, share = (number(result.mark), 100 * result.mark / (result.points or 1)) if not result.refused else ("refused", None)
        link = quote(f"{feedback}/{name}.md") if feedback else ""
        table.append(Row(line(result.submission), link, mark, share, result.seconds, cells))
    return sorted(table, key=lambda row: row.name.casefold())


def _cell(task: TaskResult) -> Cell:
    """A task of a submission."""
    name = kind(task)
    short = {"pass": task.verdict.replace("(", "").replace(")", ""), "part": f"PART {number(task.mark)}"}
    notes = [flag for flag in flags(task) if flag != "not run"]
    notes += [line(text) for text in (task.note, task.reason) if text]
    return Cell(name, short.get(name, task.verdict), -0.5 if task.verdict == NOT_RUN else task.mark, ": ".join(notes), task.flagged)


def minutes(seconds: float) -> str:
    """A time as people say it: 8 s, 2 min 5 s, 3 h 20 min."""
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
