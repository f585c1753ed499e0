"""The student's command line: the table of its commands. What they do stands in files of their own."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from course.cli.board import (
    new_console,
    next_line,
    print_advice,
    print_failures,
    print_json,
    print_list,
    print_rows,
    print_status,
    print_warning,
    summary,
)
from course.cli.common import (
    current_task,
    find_next_task,
    find_task,
    find_workspace,
    places_to_write,
    run,
    unwritten_before,
    up_to_date_states,
)
from course.cli.hints import is_open
from course.cli.problem import ENVIRONMENT, TESTS_FAIL, USAGE, Problem
from course.manifest import Manifest, Task
from course.runner.progress import TaskState, cached_states
from course.workspace.record import make_current

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer(add_completion=False, help="MiniTorch, the course. Without a command it watches the task that you work on.")

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Limit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", min=1, help="Stop a test that computes longer; else after 5 s, from Module 3 on 30 s."),
]


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
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer raises on wrong usage; where its class lives depends on the version
            raise
        print(f"{error.format_message().rstrip('.')}; run: course --help", file=sys.stderr)  # type: ignore[attr-defined]
        code = USAGE
    sys.exit(code)


@app.callback(invoke_without_command=True)
def watch(context: typer.Context, time_limit: Limit = None) -> None:
    """MiniTorch, the course. Without a command it watches the task that you work on, and runs its tests when you save."""
    context.obj = time_limit  # commands behind it find it there
    if context.invoked_subcommand is None:
        from course.runner.watch import watch

        root, manifest = find_workspace()
        raise typer.Exit(watch(root, manifest, new_console(), time_limit))


@app.command("list")
def list_tasks(as_json: AsJson = False) -> None:
    """Show all tasks, and their states as far as they are known; nothing is run."""
    root, manifest = find_workspace()
    states = cached_states(root)
    if as_json:
        print_json(manifest.tasks, states)
    else:
        print_list(new_console(), manifest, states, current_task(root, manifest))


@app.command()
def status(context: typer.Context, as_json: AsJson = False, time_limit: Limit = None) -> None:
    """Show how far every task is; the tests run if anything has changed since."""
    root, manifest = find_workspace()
    states = up_to_date_states(root, manifest.tasks, time_limit or context.obj)
    if as_json:
        print_json(manifest.tasks, states)
    else:
        console = new_console()
        print_status(console, manifest, states, current_task(root, manifest))
        print_warning(console, root, manifest)


@app.command("test")
def run_tests_of(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="[ID]", help="A task, as 0.1, or a module, as 0. Left out: the first task not passed.")] = "",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the traceback too.")] = False,
    every: Annotated[bool, typer.Option("--all", help="List all failing tests, a line each, instead of one card.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Run them in this terminal, without limits: breakpoint() works.")] = False,
    as_json: AsJson = False,
    time_limit: Limit = None,
) -> None:
    """Run the tests of a task and show what the first failing one says."""
    root, manifest = find_workspace()
    time_limit = time_limit or context.obj
    if debug:
        from course.runner.progress import debug as run_in_terminal

        if not id:
            raise Problem("--debug expected a task, got none; run: course test ID --debug", USAGE)
        raise typer.Exit(run_in_terminal(find_task(manifest, id), root))
    if id:
        tasks = [task for task in manifest.tasks if str(task.stage) == id] or [find_task(manifest, id)]
        done = run(root, tasks, time_limit)
        states = cached_states(root) | done
    else:
        task, states = find_next_task(root, manifest, time_limit)
        tasks = [task or manifest.tasks[-1]]
    open_tasks = [task for task in tasks if states[task.id].state != "passed"]
    if as_json:
        print_json(tasks, states)
    else:
        console = new_console()
        for task in tasks:
            console.print(summary(task, states[task.id]), soft_wrap=True)
        if open_tasks and every:
            print_failures(console, [states[task.id] for task in open_tasks])
        elif open_tasks:
            print_advice(console, root, manifest, open_tasks[0], states, verbose)
        else:
            console.print(next_line(manifest, states, current_task(root, manifest)), soft_wrap=True)
        print_warning(console, root, manifest)
    cannot = any(states[task.id].state == "not run" for task in open_tasks)
    raise typer.Exit((ENVIRONMENT if cannot else TESTS_FAIL) if open_tasks else 0)


@app.command()
def start(
    id: Annotated[str, typer.Argument(metavar="ID", help="A task, as 0.1, or a module, as 0: its first task.")],
    staff: Annotated[int | None, typer.Option(metavar="N", help="Take the bodies that your teacher has released up to Module N.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a task the current one: what to read, what to write, and where."""
    root, manifest = find_workspace()
    task = next((task for task in manifest.tasks if str(task.stage) == id), None) or find_task(manifest, id)
    if staff is not None:
        from course.workspace.released import take

        backup = take(root, manifest, staff)
        if not as_json:
            restore = f" What was there is kept. To have it back: course reset --restore {backup}" if backup else ""
            new_console().print(f"All tasks up to Module {staff} have your teacher's bodies.{restore}", soft_wrap=True)
    make_current(root, task)
    _introduce(root, manifest, task, cached_states(root), as_json)


@app.command("next")
def go_on(context: typer.Context, as_json: AsJson = False, time_limit: Limit = None) -> None:
    """Show what is next and make it the current task: the current one until it is passed."""
    root, manifest = find_workspace()
    task, states = find_next_task(root, manifest, time_limit or context.obj)
    if task is not None:
        make_current(root, task)
        _introduce(root, manifest, task, states, as_json)
    elif as_json:
        print_json([], states)
    else:
        new_console().print(next_line(manifest, states, None), soft_wrap=True)


@app.command()
def hint(
    id: Annotated[str, typer.Argument(metavar="ID", help="A task, as 0.1.")],
    level: Annotated[int | None, typer.Argument(metavar="[LEVEL]", help="Which hint: 1 is the first. Left out: the next one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Open a hint on a task: a nudge first, one more at a time, none before two tries."""
    from course.cli.hints import HintClosed, open_hint

    root, manifest = find_workspace()
    task = find_task(manifest, id)
    try:
        opened = open_hint(root, task, level)
    except HintClosed as closed:
        if as_json:
            print(json.dumps({"task": id, "text": None, "missing_tries": closed.missing_tries}, indent=1))
        raise Problem(str(closed), USAGE) from None
    except ValueError as error:
        raise Problem(str(error), USAGE) from None
    if as_json:
        print(json.dumps(asdict(opened), indent=1))
        return
    from course.cli.board import print_hint

    print_hint(new_console(), task, opened)


@app.command("app")
def serve_app() -> None:
    """Serve the app, and open it in the browser."""
    import importlib.util
    import subprocess

    root, _ = find_workspace()
    if importlib.util.find_spec("streamlit") is None:
        raise Problem(f"the app needs streamlit, which {sys.executable} does not have; run: make app", ENVIRONMENT)
    raise typer.Exit(subprocess.run([sys.executable, "-m", "streamlit", "run", "project/app.py"], cwd=root, check=False).returncode)


@app.command()
def reset(
    id: Annotated[str, typer.Argument(metavar="[TASK]", help="A task, as 0.1, or tests: those that were given.")] = "",
    whole_files: Annotated[bool, typer.Option("--whole-files", help="Also what else stands in its files.")] = False,
    restore: Annotated[str, typer.Option(metavar="NAME", help="Put the files of this backup back.")] = "",
    show: Annotated[bool, typer.Option("--list", help="Show the backups.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a task back to its stubs, or the given tests back, after a backup; or put a backup back."""
    from course.workspace import reset

    root, manifest = find_workspace()
    if sum(map(bool, (id, restore, show))) != 1:
        raise Problem("expected one of TASK, --restore NAME and --list; run: course reset --list", USAGE)
    if show:
        raise typer.Exit(reset.list_all(root, new_console(), as_json))
    if id == "tests":
        from course.workspace import given_tests

        raise typer.Exit(given_tests.reset(root, manifest, new_console()))
    raise typer.Exit(reset.restore(root, new_console(), restore) if restore else reset.run(root, manifest, new_console(), id, whole_files))


@app.command()
def update(source: Annotated[str, typer.Argument(metavar="SOURCE", help="A folder, zip file or git bundle.")]) -> None:
    """Take in a newer release of the course, after a backup; what you wrote is carried over."""
    from course.workspace import update

    raise typer.Exit(update.run(*find_workspace(), new_console(), source))


@app.command()
def diff(id: Annotated[str, typer.Argument(metavar="[TASK]", help="Left out: all tasks.")] = "", as_json: AsJson = False) -> None:
    """Show what you wrote, against what was handed out."""
    from course.workspace import diff as difference

    raise typer.Exit(difference.run(*find_workspace(), new_console(), id, as_json))


@app.command()
def explain(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="TASK", help="A task that fails, as 2.3.")],
    as_json: AsJson = False,
    time_limit: Limit = None,
) -> None:
    """Show where a failing test begins to go wrong: the first call that answers otherwise than NumPy, differences or plain Python."""
    from course.explain import command

    raise typer.Exit(command.run(*find_workspace(), new_console(), id, as_json, time_limit or context.obj))


@app.command()
def submit(
    out: Annotated[str, typer.Option(metavar="FILE", help="The zip file.")] = "submission.zip",
    anyway: Annotated[bool, typer.Option("--anyway", help="Also files that are not valid Python.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pack what you hand in, and list it."""
    from course.cli import submit

    raise typer.Exit(submit.run(*find_workspace(), new_console(), out, anyway, as_json))


@app.command()
def report(
    id: Annotated[str, typer.Argument(metavar="[TASK]", help="Left out: all training tasks.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Also those that are there.")] = False,
) -> None:
    """Write the reports of the training tasks that are missing."""
    from course.cli import report

    raise typer.Exit(report.run(*find_workspace(), new_console(), id, again))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check the machine, and name a fix for what is wrong."""
    from course.cli import doctor

    root, _ = find_workspace()
    raise typer.Exit(doctor.run(root, new_console(), as_json))


def _introduce(root: Path, manifest: Manifest, task: Task, states: dict[str, TaskState], as_json: bool) -> None:
    """What to do about the task that has become the current one."""
    if as_json:
        print_json([task], states)
        return
    console = new_console()
    console.print(f"Task {task.id} {task.title}, {task.worth}: now the current one", style="bold", soft_wrap=True)
    unwritten = unwritten_before(root, manifest, task)
    first = {"First": f"Task {', '.join(unwritten)}, which this one needs: course start {unwritten[0]}"} if unwritten else {}
    stuck = f"course hint {task.id}{'' if is_open(root, task) else ', which opens after two tries'}"
    rows = first | {"Read": f"docs/{task.page}.md", "Write": "\n".join(places_to_write(root, task))}
    print_rows(console, rows | {"Then run": f"course test {task.id}, or course to watch", "Stuck": stuck})
