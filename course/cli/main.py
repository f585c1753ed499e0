"""The student's command line: its commands and their options. Larger commands are implemented in their own files."""

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
    keep_current_task,
    places_to_write,
    reference_note,
    refuse_reference,
    run,
    unwritten_before,
    up_to_date_states,
)
from course.cli.hints import is_open
from course.cli.problem import ENVIRONMENT, TESTS_FAIL, USAGE, Problem
from course.cli.programs import status_line
from course.manifest import Manifest, Task
from course.runner.progress import TaskState, cached_states
from course.workspace.activity import make_current

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer(add_completion=False, help="MiniTorch, the course. Without a command, watch the current task.")

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Limit = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="SECONDS", min=1, help="Limit for each test, more on a slow machine. Default: 5, from Module 3: 30."
    ),
]


def main() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal without a character shows a question mark
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
    """MiniTorch, the course. Without a command, watch the current task: run its tests whenever you save a file."""
    context.obj = time_limit  # for the commands
    if context.invoked_subcommand is None:
        from course.runner.watch import watch

        root, manifest = find_workspace()
        raise typer.Exit(watch(root, manifest, new_console(), time_limit))


@app.command("list")
def list_tasks(as_json: AsJson = False) -> None:
    """List all tasks with their last known states; run no tests."""
    root, manifest = find_workspace()
    states = cached_states(root)
    if as_json:
        print_json(manifest.tasks, states)
    else:
        print_list(new_console(), root, manifest, states, current_task(root, manifest, states))


@app.command()
def status(context: typer.Context, as_json: AsJson = False, time_limit: Limit = None) -> None:
    """Show your progress in every task; run the tests of those that changed."""
    root, manifest = find_workspace()
    if (note := reference_note(root)) and not as_json:
        new_console().print(note, soft_wrap=True)
    states = up_to_date_states(root, manifest.tasks, time_limit or context.obj)
    if as_json:
        print_json(manifest.tasks, states)
    else:
        console = new_console()
        print_status(console, root, manifest, states, current_task(root, manifest, states))
        if line := status_line(root, manifest, states):
            console.print(line, soft_wrap=True)
        print_warning(console, root, manifest)


@app.command("test")
def run_tests_of(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="A task such as 0.1, or a module such as 0. Default: the next task.")] = "",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also show the traceback and everything the test printed.")] = False,
    every: Annotated[bool, typer.Option("--all", help="List all failing tests, one line each.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Run in this terminal without time limit, so that breakpoint() works.")] = False,
    as_json: AsJson = False,
    time_limit: Limit = None,
) -> None:
    """Run the tests of a task and show the first failure."""
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
            console.print(next_line(root, manifest, states, current_task(root, manifest, states)), soft_wrap=True)
        print_warning(console, root, manifest)
    cannot = any(states[task.id].state == "not run" for task in open_tasks)
    raise typer.Exit((ENVIRONMENT if cannot else TESTS_FAIL) if open_tasks else 0)


@app.command()
def start(
    id: Annotated[str, typer.Argument(metavar="ID", help="A task such as 0.1, or a module such as 0 for its first task.")],
    staff: Annotated[
        int | None, typer.Option(metavar="N", help="Fill in the solutions that your teacher released, up to Module N.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a task the current one, and show what to read and where to write."""
    root, manifest = find_workspace()
    task = next((task for task in manifest.tasks if str(task.stage) == id), None) or find_task(manifest, id)
    if staff is not None:
        from course.workspace.released import write_solutions

        backup = write_solutions(root, manifest, staff)
        if not as_json:
            restore = f" Your files are backed up. To restore them: course reset --restore {backup}" if backup else ""
            new_console().print(f"All tasks up to Module {staff} have your teacher's solutions.{restore}", soft_wrap=True)
    make_current(root, task)
    _introduce(root, manifest, task, cached_states(root), as_json)


@app.command("next")
def go_on(context: typer.Context, as_json: AsJson = False, time_limit: Limit = None) -> None:
    """Go to the next task: the current one until it has passed, then the first one that has not."""
    root, manifest = find_workspace()
    task, states = find_next_task(root, manifest, time_limit or context.obj)
    if task is not None:
        make_current(root, task)
        _introduce(root, manifest, task, states, as_json)
    elif as_json:
        print_json([], states)
    else:
        new_console().print(next_line(root, manifest, states, None), soft_wrap=True)


@app.command()
def hint(
    id: Annotated[str, typer.Argument(metavar="ID", help="A task such as 0.1.")],
    level: Annotated[
        int | None, typer.Argument(metavar="LEVEL", help="The hint, from 1. Default: one about the function that fails, or the next one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the next hint for a task. The first one opens after two tries."""
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
    """Serve the app and open it in the browser."""
    import importlib.util
    import subprocess

    root, _ = find_workspace()
    if importlib.util.find_spec("streamlit") is None:
        raise Problem(f"the app needs streamlit, which {sys.executable} does not have; run: make app", ENVIRONMENT)
    raise typer.Exit(subprocess.run([sys.executable, "-m", "streamlit", "run", "project/app.py"], cwd=root, check=False).returncode)


@app.command()
def reset(
    id: Annotated[str, typer.Argument(metavar="TASK", help="A task such as 0.1, or tests for the given tests.")] = "",
    whole_files: Annotated[bool, typer.Option("--whole-files", help="Reset the whole files of the task, not only its functions.")] = False,
    restore: Annotated[str, typer.Option(metavar="NAME", help="Restore the files of this backup.")] = "",
    show: Annotated[bool, typer.Option("--list", help="List the backups.")] = False,
    as_json: AsJson = False,
) -> None:
    """Reset a task to its stubs, or the given tests, after a backup; or restore a backup."""
    from course.workspace import reset

    root, manifest = find_workspace()
    if sum(map(bool, (id, restore, show))) != 1:
        raise Problem("expected one of TASK, --restore NAME and --list; run: course reset --list", USAGE)
    if show:
        raise typer.Exit(reset.list_all(root, new_console(), as_json))
    if id == "tests":
        from course.workspace import given_tests

        raise typer.Exit(given_tests.reset(root, manifest, new_console()))
    with keep_current_task(root, manifest):
        code = reset.restore(root, new_console(), restore) if restore else reset.run(root, manifest, new_console(), id, whole_files)
    raise typer.Exit(code)


@app.command()
def update(source: Annotated[str, typer.Argument(metavar="SOURCE", help="A folder, zip file or git bundle.")]) -> None:
    """Update the course to a newer release and keep the functions that you wrote, after a backup."""
    from course.workspace import update

    root, manifest = find_workspace()
    with keep_current_task(root, manifest):
        code = update.run(root, manifest, new_console(), source)
    raise typer.Exit(code)


@app.command()
def diff(id: Annotated[str, typer.Argument(metavar="TASK", help="Default: all tasks.")] = "", as_json: AsJson = False) -> None:
    """Show what you changed since the course was handed out."""
    from course.workspace import diff as difference

    raise typer.Exit(difference.run(*find_workspace(), new_console(), id, as_json))


@app.command()
def explain(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="TASK", help="A failing task such as 2.3.")],
    as_json: AsJson = False,
    time_limit: Limit = None,
) -> None:
    """Show the first call in a failing test whose result differs from NumPy, finite differences or plain Python."""
    from course.explain import command

    raise typer.Exit(command.run(*find_workspace(), new_console(), id, as_json, time_limit or context.obj))


@app.command()
def solution(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="TASK", help="A task that has passed, such as 3.1.")],
    as_json: AsJson = False,
    time_limit: Limit = None,
) -> None:
    """Show the reference's solution beside yours, once the task has passed and your teacher has released it."""
    from course.cli import solution

    root, manifest = find_workspace()
    raise typer.Exit(solution.run(root, manifest, new_console(), find_task(manifest, id), as_json, time_limit or context.obj))


@app.command()
def submit(
    out: Annotated[str, typer.Option(metavar="FILE", help="The zip file.")] = "submission.zip",
    anyway: Annotated[bool, typer.Option("--anyway", help="Include files that are not valid Python.")] = False,
    with_record: Annotated[bool, typer.Option("--with-record", help="Include your record of time, test runs and hints.")] = False,
    show_record: Annotated[bool, typer.Option("--show-record", help="Only show what --with-record would include.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pack the files that you hand in, and list them."""
    from course.cli import submit

    root, manifest = find_workspace()
    if show_record:
        raise typer.Exit(submit.show_record(root, new_console(), as_json))
    raise typer.Exit(submit.run(root, manifest, new_console(), out, anyway, as_json, with_record))


@app.command()
def report(
    id: Annotated[str, typer.Argument(metavar="TASK", help="Default: all training tasks.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Write existing reports again, too.")] = False,
) -> None:
    """Run the programs of the training tasks and write the missing reports."""
    from course.cli import report

    raise typer.Exit(report.run(*find_workspace(), new_console(), id, again))


@app.command(context_settings={"ignore_unknown_options": True})
def programs(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A program of the list, or the file of your own. Default: list them.")] = "",
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGUMENT", help="The program's own arguments.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the PyTorch programs that your code runs, or run one."""
    from course.cli import programs

    root, manifest = find_workspace()
    refuse_reference(root)
    console = new_console()
    raise typer.Exit(
        programs.run(root, manifest, console, name, arguments or []) if name else programs.show(root, manifest, console, as_json)
    )


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check this machine, and name a fix for each problem."""
    from course.cli import doctor

    root, _ = find_workspace()
    raise typer.Exit(doctor.run(root, new_console(), as_json))


def _introduce(root: Path, manifest: Manifest, task: Task, states: dict[str, TaskState], as_json: bool) -> None:
    """Print what to read and where to write for the new current task."""
    if as_json:
        print_json([task], states)
        return
    console = new_console()
    console.print(f"Task {task.id} {task.title}, {task.worth}: now the current task", style="bold", soft_wrap=True)
    unwritten = unwritten_before(root, manifest, task)
    first = {"First": f"Task {', '.join(unwritten)}, which this one needs: course start {unwritten[0]}"} if unwritten else {}
    stuck = f"course hint {task.id}{'' if is_open(root, task) else ', which opens after two tries'}"
    rows = first | {"Read": f"docs/{task.page}.md", "Write": "\n".join(places_to_write(root, task))}
    rows |= {"Time": f"about {task.time}"} if task.time else {}
    rows |= {"Then run": f"course test {task.id}, or course to watch", "Stuck": stuck}
    print_rows(console, rows | ({"Note": note} if (note := reference_note(root)) else {}))
