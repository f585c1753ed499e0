"""The student's command line: what there is to do, how far it is, and what the first failing test has to say."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course.card import LABEL_WIDTH, render
from course.explain import unwritten_files
from course.manifest import Manifest, ManifestError, Task, load
from course.progress import TIME_LIMIT, CannotRun, TaskState, cached_states, run_tasks

TESTS_FAIL, USAGE, ENVIRONMENT = 1, 2, 3
"""Exit codes besides 0; an interrupted command ends with 130."""

LOOKS = {
    "passed": ("✓", "green"),
    "failing": ("✗", "red"),
    "todo": ("○", "yellow"),
    "blocked": ("‖", "blue"),
    "not run": ("–", "magenta"),
    "unknown": ("?", "dim"),
}
"""Each state's sign and style."""

app = typer.Typer(add_completion=False, help="MiniTorch, the course: what there is to do and how far you are.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Limit = Annotated[float, typer.Option("--time-limit", metavar="SECONDS", min=1, help="Stop a test that takes longer.")]


class Problem(Exception):
    """Ends the command with one line, which closes with what to do next.

    Args:
        message: The line.
        code: The exit code.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def main() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal that lacks a sign gets a question mark
    try:
        code = app(standalone_mode=False, prog_name="course")
    except Problem as problem:
        print(problem, file=sys.stderr)
        code = problem.code
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer raises on wrong usage; where its class lives depends on the version
            raise
        print(f"{error.format_message().rstrip('.')}; run: course --help", file=sys.stderr)  # type: ignore[attr-defined]
        code = USAGE
    sys.exit(code)


@app.callback(invoke_without_command=True)
def overview(context: typer.Context) -> None:
    """MiniTorch, the course: what there is to do and how far you are."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
def list_tasks(as_json: AsJson = False) -> None:
    """Show all tasks, and their states as far as they are known; nothing is run."""
    root, manifest = _workspace()
    states = cached_states(root)
    if as_json:
        _print_json(manifest.tasks, states)
        return
    console = _console()
    for stage in manifest.stages:
        tasks = [task for task in manifest.tasks if task.stage == stage.number]
        if not tasks:  # its library is there before its tasks
            continue
        console.print(f"Module {stage.number}  {stage.title}", style="bold")
        table = _table()
        for task in tasks:
            table.add_row("", task.id, task.title, task.worth, _state(states[task.id]))
        console.print(table)
    if any(state.state == "unknown" for state in states.values()):
        console.print("Unknown: not run since the last change; course status runs the tests.")


@app.command()
def status(as_json: AsJson = False, time_limit: Limit = TIME_LIMIT) -> None:
    """Show how far every task is; the tests run if anything has changed since."""
    root, manifest = _workspace()
    states = _known(root, manifest.tasks, time_limit)
    if as_json:
        _print_json(manifest.tasks, states)
        return
    console = _console()
    for stage in manifest.stages:
        tasks = [task for task in manifest.tasks if task.stage == stage.number]
        if not tasks:
            continue
        passed = [task for task in tasks if states[task.id].state == "passed"]
        console.print(_heading(f"Module {stage.number}  {stage.title}", passed, tasks))
        table = _table()
        for task in tasks:
            state = states[task.id]
            table.add_row("", task.id, task.title, f"{state.passed} of {state.total} tests", _state(state))
        console.print(table)
    for reason in [state.card.error for state in states.values() if state.state == "unknown" and state.card][:1]:
        console.print(f"Unknown: {reason}", soft_wrap=True)
    console.print(_next(manifest, states), soft_wrap=True)


@app.command("test")
def run_tests_of(
    id: Annotated[str, typer.Argument(metavar="[ID]", help="A task, as 0.1, or a module, as 0. Left out: the first task not passed.")] = "",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the traceback too.")] = False,
    as_json: AsJson = False,
    time_limit: Limit = TIME_LIMIT,
) -> None:
    """Run the tests of a task and show what the first failing one says."""
    root, manifest = _workspace()
    if id:
        tasks = [task for task in manifest.tasks if str(task.stage) == id] or [_task(manifest, id)]
        done = _run(root, tasks, time_limit)
        states = cached_states(root) | done
    else:
        task, states = _first_open(root, manifest, time_limit)
        tasks = [task]
    open_tasks = [task for task in tasks if states[task.id].state != "passed"]
    if as_json:
        _print_json(tasks, states)
    else:
        console = _console()
        for task in tasks:
            console.print(_summary(task, states[task.id]), soft_wrap=True)
        if open_tasks:
            _explain(console, open_tasks[0], states, verbose, _unwritten(root, manifest, open_tasks[0]))
        else:
            console.print(_next(manifest, states, tasks[-1]), soft_wrap=True)
    cannot = any(states[task.id].state == "not run" for task in open_tasks)
    raise typer.Exit((ENVIRONMENT if cannot else TESTS_FAIL) if open_tasks else 0)


@app.command()
def hint(
    id: Annotated[str, typer.Argument(metavar="ID", help="A task, as 0.1.")],
    level: Annotated[int, typer.Argument(metavar="[LEVEL]", help="Which hint: 1 is the first nudge.")] = 1,
) -> None:
    """Give a hint on a task: a nudge first, more if asked for."""
    _, manifest = _workspace()
    task = _task(manifest, id)
    last = len(task.hints)
    if not 1 <= level <= last:
        raise Problem(f"task {id} expected a hint from 1 to {last}, got {level}; run: course hint {id} {min(max(level, 1), last)}", USAGE)
    console = _console()
    console.print(f"Hint {level} of {last} for Task {task.id} {task.title}", style="bold")
    console.print(Text(task.hints[level - 1]))
    console.print(f"More: course hint {id} {level + 1}" if level < last else f"That was the last one. The chapter: docs/{task.page}.md")


# What the commands share


def _workspace() -> tuple[Path, Manifest]:
    """The workspace around the current folder and its manifest."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "course" / "tasks.toml").is_file():
            try:
                return folder, load(folder / "course" / "tasks.toml")
            except ManifestError as error:
                raise Problem(f"{error}; run: git diff course/tasks.toml", ENVIRONMENT) from None
    raise Problem(f"expected a MiniTorch workspace, a folder with course/tasks.toml, got {here}; run: cd WORKSPACE", ENVIRONMENT)


def _task(manifest: Manifest, id: str) -> Task:
    """The task with this id, or the end of the command."""
    try:
        return manifest.task(id)
    except ManifestError as error:
        raise Problem(f"{error}; run: course list", USAGE) from None


def _run(root: Path, tasks: Sequence[Task], time_limit: float) -> dict[str, TaskState]:
    """Run tests, with a sign of life where somebody is watching."""
    many = f"{len(tasks)} tasks" if len(tasks) > 1 else f"Task {tasks[0].id}"
    try:
        with Console(stderr=True).status(f"Running the tests of {many}"):
            return run_tasks([task.id for task in tasks], root, time_limit)
    except CannotRun as error:
        raise Problem(str(error), ENVIRONMENT) from None


def _known(root: Path, tasks: Iterable[Task], time_limit: float) -> dict[str, TaskState]:
    """All states; tests run where the cache knows nothing."""
    states = cached_states(root)
    unknown = [task for task in tasks if states[task.id].state == "unknown"]
    return states | _run(root, unknown, time_limit) if unknown else states


def _first_open(root: Path, manifest: Manifest, time_limit: float) -> tuple[Task, dict[str, TaskState]]:
    """The first task that is not passed, else the last one, and all states; module by module, so that an early one is found early."""
    states: dict[str, TaskState] = {}
    for stage in manifest.stages:
        tasks = [task for task in manifest.tasks if task.stage == stage.number]
        states = _known(root, tasks, time_limit)
        for task in tasks:
            if states[task.id].state != "passed":
                return task, states
    return manifest.tasks[-1], states


def _unwritten(root: Path, manifest: Manifest, task: Task) -> list[str]:
    """Which of the tasks that a task requires still have stubs in their files; no test tells before its own code is written."""
    return [id for id in task.requires if unwritten_files(manifest.task(id), root)]


def _print_json(tasks: Iterable[Task], states: dict[str, TaskState]) -> None:
    rows: list[dict[str, Any]] = []
    for task in tasks:
        about = {"id": task.id, "module": task.stage, "title": task.title, "points": task.points, "page": task.page}
        state = asdict(states[task.id])
        del state["task"]
        rows.append(about | state)
    print(json.dumps(rows, indent=1))


# How it looks


def _console() -> Console:
    return Console(highlight=False, emoji=False)


def _table() -> Table:
    """Columns that line up from one module to the next: a margin, id, title, a number, state."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(width=0)
    table.add_column(no_wrap=True)
    table.add_column(min_width=22)
    table.add_column(justify="right", no_wrap=True, min_width=14)
    table.add_column()
    return table


def _state(state: TaskState) -> Text:
    """Sign and word; what a blocked task waits for, and what the kernels of one for the GPU ran on."""
    sign, style = LOOKS[state.state]
    waits = f" by {', '.join(state.blocked_by)}" if state.state == "blocked" else ""
    return Text(f"{sign} {state.state}{waits}{_device(state)}", style=style)


def _device(state: TaskState) -> str:
    """What the kernels ran on, behind a verdict."""
    words = {"gpu": " on the GPU", "simulator": " in the simulator"}
    return words.get(state.device, "") if state.state in ("passed", "failing") else ""


def _heading(title: str, passed: Sequence[Task], tasks: Sequence[Task]) -> Text:
    """A module's title with a bar of the points earned."""
    earned, all_points = sum(task.points for task in passed), sum(task.points for task in tasks if not task.extra)
    filled = min(20, 20 * earned // all_points)
    text = Text(f"{title:<24}", style="bold")
    text.append("█" * filled, style="green").append("░" * (20 - filled), style="dim")
    return text.append(f"  {earned} of {all_points} points", style="not bold")


def _summary(task: Task, state: TaskState) -> Text:
    """One line on a task."""
    sign, style = LOOKS[state.state]
    parts = {"passed": "pass", "failing": "fail", "todo": "wait for your code", "blocked": "wait for another task"}
    counts = ", ".join(f"{getattr(state, key)} {words}" for key, words in parts.items() if getattr(state, key))
    total = f" Of {state.total} test{'' if state.total == 1 else 's'} {counts}." if state.total else ""
    line = Text().append(f"{sign} ", style=style).append(f"Task {task.id} {task.title}", style="bold")
    return line.append(f": {state.state}{_device(state)}.{total}")


def _explain(console: Console, task: Task, states: dict[str, TaskState], verbose: bool, unwritten: Sequence[str]) -> None:
    """What to do about a task that is not passed; `unwritten` are those of the tasks before it whose code is missing."""
    state = states[task.id]
    console.print()
    if state.state in ("not run", "unknown"):
        console.print(Text(state.card.error or "" if state.card else ""), soft_wrap=True)
        return
    if state.state == "blocked":
        first = state.blocked_by[0]
        console.print(
            f"It needs the code of Task {', '.join(state.blocked_by)}, which is not written yet. Next: course test {first}", soft_wrap=True
        )
        return
    if state.state == "todo":
        place = state.card.place if state.card else None
        where = f"{place.file}:{place.line}  {place.function}" if place else ", ".join(task.files)
        first = {"First": f"Task {', '.join(unwritten)}, which this one needs: course test {unwritten[0]}"} if unwritten else {}
        rows = first | {
            "Write": where,
            "Read": f"docs/{task.page}.md",
            "Hint": f"course hint {task.id}",
            "Then run": f"course test {task.id}",
        }
        for label, value in rows.items():
            console.print(Text(f"{label:<{LABEL_WIDTH}}", style="dim").append(value, style="not dim"), soft_wrap=True)
        return
    if state.card:
        console.print(render(state.card, console.width), soft_wrap=True, end="")
        if verbose and state.card.traceback:
            console.print(Text("\n" + state.card.traceback), soft_wrap=True)
    needed = [other for other in task.requires if states[other].state in ("failing", "todo")]
    console.print()
    if needed:
        advice = f"Task {needed[0]}, which this one needs, is {states[needed[0]].state}. Start there: course test {needed[0]}"
    else:
        advice = f"A hint: course hint {task.id}" + (
            f"\nTraceback: course test {task.id} -v" if state.card and state.card.traceback and not verbose else ""
        )
    console.print(advice, soft_wrap=True)


def _next(manifest: Manifest, states: dict[str, TaskState], after: Task | None = None) -> Text:
    """What to do next: the first task that is known not to be passed, else the first one behind `after` that is not known."""
    ids = [task.id for task in manifest.tasks]
    behind = ids.index(after.id) + 1 if after else 0
    known = [task for task in manifest.tasks if states[task.id].state not in ("passed", "unknown")]
    later = [task for task in manifest.tasks[behind:] if states[task.id].state == "unknown"]
    for task in known or later:
        return Text(f"Next: Task {task.id} {task.title}, docs/{task.page}.md\n      course test {task.id}")
    if any(state.state == "unknown" for state in states.values()):
        return Text("Earlier tasks have not been tested since the last change: course status")
    return Text("Every task is passed. Well done.")
