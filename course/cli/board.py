"""What the commands print: tables of tasks, the summary of a task, advice on one that has not passed, and the next task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from course.cli.common import changed_signatures, places_to_write, reference_note, unwritten_before
from course.cli.hints import Hint, is_open
from course.manifest import Manifest, Task
from course.runner.failure_report import LABEL_WIDTH, Card, render
from course.runner.next_task import next_task
from course.runner.progress import TaskState

LOOKS = {
    "passed": ("✓", "green"),
    "failing": ("✗", "red"),
    "todo": ("○", "yellow"),
    "blocked": ("‖", "blue"),
    "not run": ("–", "magenta"),
    "stale": ("↻", "cyan"),
    "unknown": ("?", "dim"),
}
"""The sign and the style of each state."""

OUTDATED = {
    "stale": "passed before the last change",
    "unknown": "not tested since the last change",
}
"""The states that say nothing about the code as it is, and what they mean."""


def new_console() -> Console:
    """The console on which the commands print."""
    return Console(highlight=False, emoji=False)


def print_json(tasks: Iterable[Task], states: Mapping[str, TaskState]) -> None:
    """Print tasks and their states as JSON."""
    rows: list[dict[str, Any]] = []
    for task in tasks:
        about = {"id": task.id, "module": task.stage, "title": task.title, "points": task.points, "page": task.page}
        state = asdict(states[task.id])
        del state["task"]
        rows.append(about | state)
    print(json.dumps(rows, indent=1))


def print_list(console: Console, root: Path, manifest: Manifest, states: Mapping[str, TaskState], current: Task | None) -> None:
    """Print all tasks with their points, their cached states, and the next task."""
    for stage in manifest.stages:
        tasks = [task for task in manifest.tasks if task.stage == stage.number]
        if not tasks:  # the library of a later stage
            continue
        console.print(f"Module {stage.number}  {stage.title}", style="bold")
        table = _table()
        for task in tasks:
            table.add_row("", task.id, task.title, task.worth, _state(states[task.id]))
        console.print(table)
    present = {state.state for state in states.values()}
    for state, meaning in OUTDATED.items():
        if state in present:
            console.print(f"{state.capitalize()}: {meaning}. To run the tests: course status", soft_wrap=True)
    console.print(next_line(root, manifest, states, current), soft_wrap=True)


def print_status(console: Console, root: Path, manifest: Manifest, states: Mapping[str, TaskState], current: Task | None) -> None:
    """Print the progress in all tasks, and the next task."""
    for stage in manifest.stages:
        tasks = [task for task in manifest.tasks if task.stage == stage.number]
        if not tasks:
            continue
        passed = [task for task in tasks if states[task.id].state == "passed"]
        console.print(_heading(f"Module {stage.number}  {stage.title}", passed, tasks))
        table = _table()
        for task in tasks:
            table.add_row("", task.id, task.title, _count(task, states[task.id]), _state(states[task.id]))
        console.print(table)
    for reason in [state.card.error for state in states.values() if state.state == "unknown" and state.card][:1]:
        console.print(f"Unknown: {reason}", soft_wrap=True)
    console.print(next_line(root, manifest, states, current), soft_wrap=True)


def print_rows(console: Console, rows: Mapping[str, str]) -> None:
    """Print labels on the left and values on the right. Nothing is wrapped, so that commands can be copied."""
    for label, value in rows.items():
        for number, line in enumerate(value.splitlines()):
            console.print(Text(f"{'' if number else label:<{LABEL_WIDTH}}", style="dim").append(line, style="not dim"), soft_wrap=True)


def print_hint(console: Console, task: Task, hint: Hint) -> None:
    """Print an open hint, and the command for the next one."""
    console.print(f"Hint {hint.level} of {hint.last} for Task {task.id} {task.title}", style="bold")
    console.print(Text(hint.text))
    more = f"Next hint: course hint {task.id} {hint.next}"
    console.print(more if hint.next else f"This is the last hint. Chapter: docs/{task.page}.md")


def _table() -> Table:
    """A table with the columns margin, id, title, number and state, aligned across modules."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(width=0)
    table.add_column(no_wrap=True)
    table.add_column(min_width=22)
    table.add_column(justify="right", no_wrap=True, min_width=14)
    table.add_column()
    return table


def _state(state: TaskState) -> Text:
    """The sign and the word of a state, with the blocking tasks and the device of a GPU task."""
    sign, style = LOOKS[state.state]
    waits = f" by {', '.join(state.blocked_by)}" if state.state == "blocked" else ""
    return Text(f"{sign} {state.state}{waits}{_device(state)}", style=style)


def _count(task: Task, state: TaskState) -> str:
    """The number of passing tests, or of functions to write if no test has run."""
    if state.total or state.state != "todo":
        return f"{state.passed} of {state.total} tests"
    return _functions(task)


def _functions(task: Task) -> str:
    return "1 function" if len(task.write) == 1 else f"{len(task.write)} functions"


def _device(state: TaskState) -> str:
    """The device on which the kernels of a GPU task ran."""
    words = {"gpu": " on the GPU", "simulator": " in the simulator"}
    return words.get(state.device, "") if state.state in ("passed", "failing") else ""


def _heading(title: str, passed: Sequence[Task], tasks: Sequence[Task]) -> Text:
    """A module's title with a bar of the points earned."""
    required = [task for task in tasks if not task.extra]
    earned, all_points = sum(task.points for task in passed), sum(task.points for task in required or tasks)
    filled = min(20, 20 * earned // all_points)
    text = Text(f"{title:<24}", style="bold")
    text.append("█" * filled, style="green").append("░" * (20 - filled), style="dim")
    return text.append(f"  {earned} of {all_points} {'' if required else 'extra '}points", style="not bold")


def summary(task: Task, state: TaskState) -> Text:
    """Summarize a task in one line."""
    sign, style = LOOKS[state.state]
    verbs = {"passed": ("passes", "pass"), "failing": ("fails", "fail"), "todo": ("waits", "wait"), "blocked": ("waits", "wait")}
    ends = {"todo": " for your code", "blocked": " for another task"}
    found = {key: getattr(state, key) for key in verbs if getattr(state, key)}
    counts = ", ".join(f"{count} {verbs[key][count > 1]}{ends.get(key, '')}" for key, count in found.items())
    details = f" Of {state.total} test{'' if state.total == 1 else 's'}, {counts}." if state.total else ""
    if state.beyond:
        fails = "1 more fails; it checks" if state.beyond == 1 else f"{state.beyond} more fail; they check"
        details += f" {fails} more than the original course asks for."
    if state.state == "todo" and not state.total:
        details = f" {_functions(task)} to write."
    line = Text().append(f"{sign} ", style=style).append(f"Task {task.id} {task.title}", style="bold")
    return line.append(f": {state.state}{_device(state)}.{details}")


def print_advice(
    console: Console, root: Path, manifest: Manifest, task: Task, states: Mapping[str, TaskState], verbose: bool = False
) -> None:
    """Print what to do about a task that has not passed."""
    state, unwritten = states[task.id], unwritten_before(root, manifest, task)
    console.print()
    if state.state in ("not run", "unknown"):
        console.print(Text(state.card.error or "" if state.card else ""), soft_wrap=True)
        return
    if state.state == "blocked":
        first, broken = state.blocked_by[0], state.card if state.card and not unwritten_in(state.card) else None
        if broken and broken.place:
            console.print(f"{broken.place.file}, line {broken.place.line}, cannot be loaded: {broken.error}", soft_wrap=True, markup=False)
            console.print(f"Next: course test {first}", soft_wrap=True)
            return
        why = f"It needs the code of Task {', '.join(state.blocked_by)}, which is not written yet. Next: course test {first}"
        console.print(why, soft_wrap=True)
        return
    if state.state == "todo":
        place = state.card.place if state.card else None
        where = f"{place.file}:{place.line}  {place.function}" if place else "\n".join(places_to_write(root, task))
        first = {"First": f"Task {', '.join(unwritten)}, which this one needs: course test {unwritten[0]}"} if unwritten else {}
        rows = first | {
            "Write": where,
            "Read": f"docs/{task.page}.md",
            **({"Hint": f"course hint {task.id}"} if is_open(root, task) else {}),
            "Then run": f"course test {task.id}",
        }
        print_rows(console, rows)
        return
    if state.card:
        console.print(render(state.card, console.width, verbose), soft_wrap=True, end="")
        if verbose and state.card.traceback:
            console.print(Text("\n" + state.card.traceback), soft_wrap=True)
    for message in changed_signatures(root, task):
        console.print(Text(f"Note: {message}", style="yellow"), soft_wrap=True)
    needed = [other for other in task.requires if states[other].state in ("failing", "todo")]
    if needed:
        advice = f"Task {needed[0]}, which this one needs, is {states[needed[0]].state}. Start there: course test {needed[0]}"
    else:
        lines = [f"Hint: course hint {task.id}"] if is_open(root, task) else []
        lines += [f"Traceback: course test {task.id} -v"] if state.card and state.card.traceback and not verbose else []
        lines += [f"All failing tests: course test {task.id} --all"] if state.failing > 1 else []
        advice = "\n".join(lines)
    if advice:
        console.print(f"\n{advice}", soft_wrap=True)


def print_warning(console: Console, root: Path, manifest: Manifest) -> None:
    """Print a warning if given tests have changed."""
    from course.workspace import given_tests

    if message := given_tests.warning(root, manifest):
        console.print(Text(f"Note: {message}", style="yellow"), soft_wrap=True)


def unwritten_in(card: Card) -> bool:
    """Whether a card reports unwritten code, not broken code."""
    return "Need to implement for Task" in (card.error or "")


def print_failures(console: Console, states: Iterable[TaskState]) -> None:
    """Print all failing tests, one line each: the name and the failure."""
    for state in states:
        for nodeid, message in state.failures:
            line = Text(nodeid, style="bold").append(f"  {message}", style="not bold")
            console.print(line, soft_wrap=not console.is_terminal, no_wrap=True, overflow="ellipsis")


def next_line(root: Path, manifest: Manifest, states: Mapping[str, TaskState], current: Task | None) -> Text:
    """Name the next task and the command that tests it."""
    if note := reference_note(root):
        return Text(note)
    task = next_task(manifest, states, current)
    if task is not None:
        return Text(f"Next: Task {task.id} {task.title}, docs/{task.page}.md\n      course test {task.id}")
    if stale := sum(state.state == "stale" for state in states.values()):
        tasks = "1 task" if stale == 1 else f"{stale} tasks"
        return Text(f"Every task has passed, but {tasks} before your last change. To run the tests again: course status")
    return Text("Every task has passed. Well done.")
