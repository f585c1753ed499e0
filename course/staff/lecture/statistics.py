"""Statistics of a class for the next lecture. Groups of fewer than five students are never shown by number or by name."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from course.manifest import Manifest, Task
from course.staff.grading import nearest as known
from course.staff.grading.results import Nearest, TaskResult
from course.staff.lecture.records import Material
from course.workspace.activity import TaskActivity, TestRun

SMALL = 5
"""Groups of fewer students are hidden."""

TOPICS = 5
"""Length of the list of topics."""

SOON = 3
"""A hint helped if the tests passed within so many runs."""

MOST_SHOWN = 5
"""How many mistakes and tests are listed for each task."""

FindNearest = Callable[[str, Collection[str]], Nearest | None]


@dataclass(frozen=True)
class Quartiles:
    """The quartiles of a quantity."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Mistake:
    """A known wrong answer.

    Attributes:
        key: Its task and name.
        text: What is wrong with it.
        on_the_way: How many students made it at some time, by their records; None for fewer than five.
        handed_in: How many handed it in, by the results; None for fewer than five.
    """

    key: str
    text: str
    on_the_way: int | None
    handed_in: int | None


@dataclass(frozen=True)
class FailingTest:
    """A test of the students'.

    Attributes:
        name: pytest's name, without parameters.
        students: How many saw it fail.
        minutes: Median of the active minutes until it passed.
    """

    name: str
    students: int
    minutes: float


@dataclass(frozen=True)
class Help:
    """A hint, or `course explain`.

    Attributes:
        name: "Hint 1" or "course explain".
        used: How many students used it before they passed; None for fewer than five.
        helped: How many of them passed within the next three runs; None for fewer than five or if `used` is.
    """

    name: str
    used: int | None
    helped: int | None


@dataclass(frozen=True)
class TaskStatistics:
    """How a class fared in a task.

    Attributes:
        id: The task.
        title: Its title.
        page: Its chapter under docs/.
        records: How many records cover it; None for fewer than five, and then nothing else is known from records.
        minutes: Active minutes until the first pass, or so far.
        tries: Runs until the first pass, or so far.
        standing: How many students passed and how many have not, by records; None for fewer than five.
        graded: How many submissions passed, earned a part, failed and were not run; None for fewer than five.
        mistakes: The most common known wrong answers.
        tests: The tests that most students saw fail.
        help: Hints and `course explain`.
        not_passed: Share of the class that has not passed, from 0 to 1; 0 for fewer than five students, None if it is not known.
    """

    id: str
    title: str
    page: str
    records: int | None
    minutes: Quartiles | None
    tries: Quartiles | None
    standing: Mapping[str, int | None]
    graded: Mapping[str, int | None]
    mistakes: tuple[Mistake, ...]
    tests: tuple[FailingTest, ...]
    help: tuple[Help, ...]
    not_passed: float | None


@dataclass(frozen=True)
class Topic:
    """Something to explain.

    Attributes:
        task: The task.
        title: Its title.
        page: Its chapter under docs/.
        reason: Why, in a few sentences.
        score: From 0 to 2: the share of the class that has not passed, plus the median time relative to the slowest task's.
    """

    task: str
    title: str
    page: str
    reason: str
    score: float


@dataclass(frozen=True)
class Report:
    """The statistics of a class.

    Attributes:
        submissions: How many students handed in something.
        records: How many records there are; None for fewer than five.
        results: How many submissions were graded.
        topics: What to explain, the most urgent first.
        tasks: All tasks of which something is known.
    """

    submissions: int
    records: int | None
    results: int
    topics: tuple[Topic, ...]
    tasks: tuple[TaskStatistics, ...]


def hidden(count: int) -> int | None:
    """A count that may be shown: None for 1 to 4."""
    return None if 0 < count < SMALL else count


def summarize(material: Material, manifest: Manifest, nearest: FindNearest = known.nearest) -> Report:
    """The statistics of a class.

    Args:
        material: What was handed in, and what grading found.
        manifest: The course.
        nearest: Finds the known wrong answer for failing tests.
    """
    tasks = []
    for task in manifest.tasks:
        activities = [record[task.id] for record in material.records if task.id in record and _is_work(record[task.id])]
        results = [found for result in material.results for found in result.tasks if found.task == task.id]
        if activities or results:
            tasks.append(_task(task, activities, results, nearest))
    return Report(material.submissions, hidden(len(material.records)), len(material.results), topics(tasks), tuple(tasks))


def _is_work(about: TaskActivity) -> bool:
    return bool(about.active or about.runs)


def _task(task: Task, activities: Sequence[TaskActivity], results: Sequence[TaskResult], nearest: FindNearest) -> TaskStatistics:
    graded = Counter(_verdict(result) for result in results)
    counted = graded.total() - graded["not run"]
    shown = activities if len(activities) >= SMALL else []
    passed = sum(first_pass(about) is not None for about in shown)
    not_passed, class_size = (counted - graded["passed"], counted) if counted >= SMALL else (len(shown) - passed, len(shown))
    timed = [minutes_needed(about) for about in shown if about.active]
    tried = [tries_needed(about) for about in shown if about.runs]
    return TaskStatistics(
        id=task.id,
        title=task.title,
        page=task.page,
        records=hidden(len(activities)),
        minutes=quartiles(timed),
        tries=quartiles(tried),
        standing={"passed": hidden(passed), "not yet": hidden(len(shown) - passed)} if shown else {},
        graded={name: hidden(graded[name]) for name in ("passed", "part", "failed", "not run")} if len(results) >= SMALL else {},
        mistakes=_mistakes(task.id, shown, results if len(results) >= SMALL else [], nearest),
        tests=_tests(shown),
        help=_help(shown),
        not_passed=(hidden(not_passed) or 0) / class_size if class_size else None,
    )


def _verdict(result: TaskResult) -> str:
    if not result.ran:
        return "not run"
    return "passed" if result.passed else "part" if result.mark else "failed"


def quartiles(values: Sequence[float]) -> Quartiles | None:
    """The quartiles of some students' values; None for fewer than five."""
    if len(values) < SMALL:
        return None
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Quartiles(round(low, 1), round(median, 1), round(high, 1))


def first_pass(about: TaskActivity) -> int | None:
    """The place of the first run that passed; None if none did."""
    return next((place for place, run in enumerate(about.runs) if run.state == "passed"), None)


def minutes_needed(about: TaskActivity) -> float:
    """Active minutes until the first pass, or all of them."""
    first = first_pass(about)
    return (about.active if first is None else about.runs[first].after) / 60


def tries_needed(about: TaskActivity) -> int:
    """Runs until the first pass, or all of them."""
    first = first_pass(about)
    return len(about.runs) if first is None else first + 1


def _mistakes(task: str, activities: Iterable[TaskActivity], results: Iterable[TaskResult], nearest: FindNearest) -> tuple[Mistake, ...]:
    """The most common known wrong answers, by records and by results."""
    find = cache(lambda failed: nearest(task, failed))
    texts: dict[str, str] = {}
    on_the_way: Counter[str] = Counter()
    handed_in: Counter[str] = Counter()
    for about in activities:
        made = {found.key: found.mistake for run in about.runs if _is_complete(run) and (found := find(frozenset(run.failed)))}
        texts |= made
        on_the_way.update(made.keys())
    for result in results:
        if result.nearest is not None:
            texts[result.nearest.key] = result.nearest.mistake
            handed_in[result.nearest.key] += 1
    keys = sorted(texts, key=lambda key: (-max(on_the_way[key], handed_in[key]), key))
    return tuple(Mistake(key, texts[key], hidden(on_the_way[key]), hidden(handed_in[key])) for key in keys[:MOST_SHOWN])


def _is_complete(run: TestRun) -> bool:
    """Whether a run lists all of its failing tests; a part of them would look like another mistake."""
    return run.state == "failing" and bool(run.failed) and len(run.failed) == run.total - run.passed


def _tests(activities: Iterable[TaskActivity]) -> tuple[FailingTest, ...]:
    """The tests that at least five students saw fail, and how long they took to fix."""
    minutes: dict[str, list[float]] = defaultdict(list)
    for about in activities:
        failing = [frozenset(name.partition("[")[0] for name in run.failed) for run in about.runs]
        for name in set().union(*failing):
            began = next(place for place, names in enumerate(failing) if name in names)
            fixed = next(
                (run.after for run, names in zip(about.runs[began:], failing[began:], strict=True) if name not in names), about.active
            )
            minutes[name].append((fixed - about.runs[began].after) / 60)
    found = [FailingTest(name, len(each), round(statistics.median(each), 1)) for name, each in minutes.items() if len(each) >= SMALL]
    return tuple(sorted(found, key=lambda test: (-test.students, -test.minutes, test.name))[:MOST_SHOWN])


def _help(activities: Iterable[TaskActivity]) -> tuple[Help, ...]:
    """For each hint, and for `course explain`: how many used it before they passed, and how many passed soon after."""
    used: dict[str, list[bool]] = defaultdict(list)
    for about in activities:
        first = first_pass(about)
        uses = {f"Hint {hint.level}": hint.runs for hint in reversed(about.hints)}  # the first use stays
        uses |= {"course explain": about.explains[0]} if about.explains else {}
        for name, runs in uses.items():
            if first is None or runs <= first:
                used[name].append(first is not None and first < runs + SOON)
    table = []
    for name in sorted(used, key=lambda name: (name == "course explain", name)):
        count, helped = len(used[name]), sum(used[name])
        table.append(Help(name, hidden(count), hidden(helped) if count >= SMALL else None))
    return tuple(table)


# What to explain


def topics(tasks: Sequence[TaskStatistics]) -> tuple[Topic, ...]:
    """The tasks that the class has most trouble with."""
    slowest = max((task.minutes.median for task in tasks if task.minutes), default=0.0)
    found = []
    for task in tasks:
        if task.not_passed is None and task.minutes is None:
            continue
        time = task.minutes.median / slowest if task.minutes and slowest else 0.0
        score = round((task.not_passed or 0.0) + time, 3)
        if score > 0:
            found.append(Topic(task.id, task.title, task.page, _reason(task), score))
    return tuple(sorted(found, key=lambda topic: -topic.score)[:TOPICS])


def _reason(task: TaskStatistics) -> str:
    """Why to explain a task."""
    reasons = []
    if task.not_passed:
        reasons.append(f"{task.not_passed:.0%} of the class {'have' if task.not_passed < 1 else 'has'} not passed it.")
    if task.minutes and task.tries:
        runs = f"{task.tries.median:g} test run{'' if task.tries.median == 1 else 's'}"
        reasons.append(f"Half of the students needed more than {task.minutes.median:.0f} min and {runs}.")
    count = max((task.mistakes[0].on_the_way or 0, task.mistakes[0].handed_in or 0)) if task.mistakes else 0
    if count:
        reasons.append(f"The most common mistake, made by {count}: {task.mistakes[0].text}")
    elif task.tests:
        reasons.append(f"{task.tests[0].students} students saw {task.tests[0].name.partition('::')[2]} fail.")
    return " ".join(reasons)
