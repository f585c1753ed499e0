"""The class page: one HTML file that opens offline and shows the results of a class, what needs attention, and what was hard."""

from __future__ import annotations

import base64
import hashlib
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from course.staff.grading.results import Result, TaskResult
from course.staff.outputs.words import clean, file_names, flags, kind, line, number, variant_note
from course.workspace.atomic_files import write_bytes

HERE = Path(__file__).parent

SIMILARITY_PAGE = "similarity.html"
"""The file of a similarity report in the folder of a graded class."""

BINS = 10
"""Number of bars in the histogram of marks."""

SHOWN = 3
"""Number of names in a row; a click shows the others."""

FIRST = 12
"""Number of known mistakes and of similar pairs in a table; a click, or the report, shows the others."""

ORDER = ("refused", "variant", "disagrees", "unusual", "flaky", "not run")
"""Kinds of flags, the most serious first."""

WORDS = {
    "refused": "could not be graded",
    "variant": "answers with the variant of another student",
    "disagrees": "the visible tests and the hidden probes disagree",
    "unusual": "the code does something that no right answer needs",
    "flaky": "a second run had a different result",
    "not run": "could not run, for different reasons",
}


@dataclass(frozen=True)
class Flag:
    """A reason to look at some submissions.

    Attributes:
        kind: "refused", "variant", "disagrees", "unusual", "flaky" or "not run".
        task: The id of the task; empty for a whole submission.
        reason: The reason; a general one if it differs between submissions.
        names: The names of the submissions.
    """

    kind: str
    task: str
    reason: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class TaskRow:
    """The results of the class in a task.

    Attributes:
        task: Its id.
        share: The mean share of its points that submissions earned, from 0 to 1; None if it ran for no submission.
        counts: The number of submissions that passed, earned a part, failed and did not run.
        seconds: The median and the longest grading time.
    """

    task: str
    share: float | None
    counts: Mapping[str, int]
    seconds: tuple[float, float]


@dataclass(frozen=True)
class Mistake:
    """A known wrong answer, and the submissions whose failures are most like it."""

    key: str
    mistake: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Bar:
    """A bar of the histogram: the range of the share of points in percent, and the number of submissions."""

    low: int
    high: int
    count: int


@dataclass(frozen=True)
class Cell:
    """A task of a submission in the table.

    Attributes:
        kind: "pass", "part", "fail", "not-run", or "none" where it was not graded.
        text: The verdict, abbreviated.
        mark: The value to sort by.
        note: A remark, shown as a tooltip, and read by screen readers if the cell is flagged.
        flagged: Whether the task needs attention.
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
        link: The link to its feedback; empty for none.
        mark: Its mark as text.
        share: Its share of the points in percent; None if it was refused.
        seconds: The grading time.
        cells: A cell for each task.
    """

    name: str
    link: str
    mark: str
    share: float | None
    seconds: float
    cells: tuple[Cell, ...]


def write_class_page(
    results: Sequence[Result],
    path: Path,
    title: str = "MiniTorch",
    titles: Mapping[str, str] | None = None,
    feedback: str = "",
    similarity: Mapping[str, Any] | None = None,
) -> None:
    """Write the page.

    Args:
        results: The results of all submissions.
        path: The file to write.
        title: The name of the course.
        titles: Titles of tasks by id.
        feedback: The folder of the students' feedback, as a relative link such as "feedback"; empty for none.
        similarity: The document of a report on similarity next to the page; None for none.
    """
    filters = {"number": number, "duration": duration, "line": line, "percent": lambda share: f"{100 * share:.0f} %"}
    script = (HERE / "class_page.js").read_text(encoding="utf-8")
    tasks = list(dict.fromkeys(task.task for result in results for task in result.tasks))
    graded = [result for result in results if not result.refused]
    text = render_page(
        HERE / "class_page.html",
        filters,
        title=title,
        titles=titles or {},
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        tasks=tasks,
        submissions=len(results),
        refused=len(results) - len(graded),
        median=statistics.median(result.mark for result in graded) if graded else None,
        points=max((result.points for result in graded), default=0),
        seconds=sum(result.seconds for result in results),
        levels=sorted({result.level for result in results if result.level}),
        flags=collect_flags(results),
        similarity=similarity,
        similarity_page=SIMILARITY_PAGE,
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


def render_page(
    template: Path, filters: Mapping[str, Callable[..., str]] | None = None, base: Path | None = HERE / "class_page.css", **values: Any
) -> str:
    """Render a template as an HTML page with a base style sheet, followed by the template's own one.

    Args:
        template: The template; its own style sheet has the same name and the suffix .css.
        filters: Filters for the template, by name.
        base: The base style sheet; None for none.
        values: The values of the template's variables, except `style`.

    Returns:
        The page.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= filters or {}
    sheets = dict.fromkeys(sheet for sheet in (base, template.with_suffix(".css")) if sheet)  # the class page has no other one
    style = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    return environment.from_string(template.read_text(encoding="utf-8")).render(style=style, **values)


def collect_flags(results: Sequence[Result]) -> list[Flag]:
    """What needs attention: a flag for each kind and task, and one for each reason to refuse a submission."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for result in results:
        name = line(result.submission)
        if result.refused:
            found.setdefault(("refused", clean(result.refused), ""), {})[name] = clean(result.refused)
        for task in result.tasks:
            for flag in flags(task):
                whose = clean(variant_note(task)) if flag == "variant" else ""
                found.setdefault((flag, task.task, whose), {})[name] = whose or clean(task.note or task.reason)
    collected = []
    for (flag, about, _), reasons in found.items():
        first = next(iter(reasons.values()))
        same = first if set(reasons.values()) == {first} else ""
        collected.append(Flag(flag, "" if flag == "refused" else about, same or WORDS[flag], tuple(reasons)))
    return sorted(collected, key=lambda flag: (ORDER.index(flag.kind), -len(flag.names)))


def histogram(results: Sequence[Result]) -> list[Bar]:
    """The number of submissions by their share of the points; more than all points count as all."""
    counts = [0] * BINS
    for result in results:
        share = result.mark / result.points if result.points else 0.0
        counts[max(0, min(int(BINS * share + 1e-9), BINS - 1))] += 1
    width = 100 // BINS
    return [Bar(i * width, (i + 1) * width, count) for i, count in enumerate(counts)]


def task_rows(results: Sequence[Result], tasks: Iterable[str]) -> list[TaskRow]:
    """The results of the class in each task."""
    table = []
    for id in tasks:
        found = [task for result in results for task in result.tasks if task.task == id]
        run = [task.mark / task.points for task in found if task.ran and task.points]
        kinds = [kind(task) for task in found]
        counts = {name: kinds.count(name) for name in ("pass", "part", "fail", "not-run")}
        times = [task.seconds for task in found]
        table.append(TaskRow(id, statistics.fmean(run) if run else None, counts, (statistics.median(times), max(times))))
    return table


def mistakes(results: Sequence[Result]) -> list[Mistake]:
    """The known wrong answers that submissions resemble, the most frequent first."""
    found: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for task in result.tasks:
            if task.nearest is not None and task.nearest.is_shown:
                found.setdefault((task.nearest.key, line(task.nearest.mistake)), []).append(line(result.submission))
    hit = [Mistake(*about, tuple(names)) for about, names in found.items()]
    return sorted(hit, key=lambda mistake: (-len(mistake.names), mistake.key))


def rows(results: Sequence[Result], tasks: Sequence[str], feedback: str) -> list[Row]:
    """The table of all submissions and tasks, ordered by name."""
    table = []
    for name, result in zip(file_names(results), results, strict=True):
        found = {task.task: task for task in result.tasks}
        cells = tuple(_cell(found[id]) if id in found else Cell("none", "–", -1.0) for id in tasks)
        mark, share = (number(result.mark), 100 * result.mark / (result.points or 1)) if not result.refused else ("refused", None)
        link = quote(f"{feedback}/{name}.md") if feedback else ""
        table.append(Row(line(result.submission), link, mark, share, result.seconds, cells))
    return sorted(table, key=lambda row: row.name.casefold())


def _cell(task: TaskResult) -> Cell:
    """The cell of a task."""
    name = kind(task)
    short = {"pass": task.verdict.replace("(", "").replace(")", ""), "part": f"PART {number(task.mark)}"}
    notes = [variant_note(task) if flag == "variant" else flag for flag in flags(task) if flag != "not run"]
    notes += [line(text) for text in (task.note, task.reason, "in the hand-in's own package" if task.own_package else "") if text]
    return Cell(name, short.get(name, task.verdict), task.mark if task.ran else -0.5, ": ".join(notes), task.flagged)


def duration(seconds: float) -> str:
    """A duration in readable units: 8 s, 2 min 5 s, 3 h 20 min."""
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
