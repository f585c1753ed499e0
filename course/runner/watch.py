"""`course` without a command: run the tests of the current task whenever a file that they depend on is saved."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from course.cli.board import OUTDATED, print_advice, print_list, print_status, summary
from course.cli.common import find_next_task, places_to_write, run, task_to_open
from course.cli.hints import Hint, HintClosed, open_hint
from course.cli.problem import ENVIRONMENT, TESTS_FAIL, Problem
from course.manifest import Manifest, ManifestError, Task, load
from course.runner.dependencies import fingerprints
from course.runner.failure_report import Card
from course.runner.next_task import DONE, next_task
from course.runner.platforms import Keys
from course.runner.prefork import Prefork
from course.runner.progress import TaskState, cached_states, last_states, launch
from course.runner.run import Run
from course.workspace import reset
from course.workspace.activity import make_current
from course.workspace.file_changes import Changes
from course.workspace.record import read_record

TICK = 0.05
"""Seconds to wait for a key before looking at files and runs."""

IDLE = 3.0
"""Seconds without a key, a save or a run after which stale tasks run again in the background."""


def watch(root: Path, manifest: Manifest, console: Console, time_limit: float | None) -> int:
    """Watch until the student quits, or run the tests once if there is no terminal. Returns the exit code."""
    task = task_to_open(root, manifest) or find_next_task(root, manifest, time_limit)[0] or manifest.tasks[-1]
    if not (sys.stdin.isatty() and console.is_terminal):
        return _run_once(root, manifest, console, task, time_limit)
    with Keys() as keys:
        watcher = Watcher(root, manifest, console, task, time_limit)
        try:
            while watcher.step(keys.read(TICK)):
                pass
        finally:
            watcher.close()
    return 0


def _run_once(root: Path, manifest: Manifest, console: Console, task: Task, time_limit: float | None) -> int:
    states = cached_states(root) | run(root, [task], time_limit)
    state = states[task.id].state
    console.print(summary(task, states[task.id]), soft_wrap=True)
    if state != "passed":
        print_advice(console, root, manifest, task, states)
    console.print("\nThis is not a terminal, so the tests ran once. To watch, run in a terminal: course", soft_wrap=True)
    return 0 if state == "passed" else ENVIRONMENT if state == "not run" else TESTS_FAIL


class Watcher:
    """The state of the screen, and the reactions to keys, saved files and finished runs.

    While the student does nothing, stale tasks run again in the background. That never changes the card of the current task.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: The terminal.
        task: The task to begin with.
        time_limit: Seconds for each test; the limit of its module if None.
    """

    def __init__(self, root: Path, manifest: Manifest, console: Console, task: Task, time_limit: float | None) -> None:
        self.root, self.manifest, self.console, self.task, self.time_limit = root, manifest, console, task, time_limit
        self.changes = Changes(root)
        self.prefork = Prefork(root)
        self.states = cached_states(root)
        self.running: Run | None = None
        self.background: Run | None = None
        self.lost: set[str] = set()  # tasks that passed before and did not pass in the background
        self.unsettled: set[str] = set()  # tasks whose background run gave no result; they run again after the next save
        self.early: Card | None = None  # the simplest failure so far of the run in progress
        self.compiling = ""  # the function that it compiles
        self.ran_on = ""  # the fingerprint of the sources when the last run began
        self.active = time.monotonic()  # when something last happened
        self.hint: Hint | None = None
        self.note, self.view, self.confirming_reset = "", "task", False
        self.then_next = False  # whether to go to the next task when the run in progress ends
        if read_record(root).current != task.id:
            make_current(root, task)
        self._begin([task])

    def step(self, key: str) -> bool:
        """Handle a key, "" for none, then saved files and finished runs. Returns False to quit."""
        if key == "q":
            return False
        if key:
            self.active = time.monotonic()
            self._press(key)
        if self.changes.happened():
            self._notice()
        if self.running is not None:
            self._poll(self.running)
        elif self.background is not None:
            if not self.background.is_alive():
                self._finish_background(self.background)
        elif time.monotonic() - self.active >= IDLE:
            self._begin_background()
        return True

    def close(self) -> None:
        """Leave no process behind."""
        self.changes.close()
        for each in (self.running, self.background):
            if each is not None:
                each.stop()
        self.prefork.close()

    # Keys

    def _press(self, key: str) -> None:
        confirming, self.confirming_reset, self.note = self.confirming_reset, False, ""
        if confirming:
            self._reset() if key == "y" else self._say("Nothing was reset.")
        elif key == "n":
            self._next()
        elif key == "h":
            self._open_hint()
        elif key == "l":
            self.view = "task" if self.view == "list" else "list"
            self._draw()
        elif key == "c":
            self._begin(self.manifest.tasks)
        elif key == "x":
            self.confirming_reset = True
            self._say(f"Reset Task {self.task.id} to its stubs? Your code is backed up first. y: yes, any other key: no")
        elif self.view != "task":
            self.view = "task"
            self._draw()

    def _next(self) -> None:
        """Go to the next task if this one has passed; first run the tests that decide which task that is."""
        following = next_task(self.manifest, self.states, self.task)
        if self._state().state != "passed":
            self._say(f"Task {self.task.id} has not passed yet.")
        elif following is None and (stale := [task for task in self.manifest.tasks if self.states[task.id].state == "stale"]):
            self._begin(stale, then_next=True)
        elif following is None:
            self.view = "status"
            self._draw()
        elif self.states[following.id].state == "unknown":
            module = [task for task in self.manifest.tasks if task.stage == following.stage and self.states[task.id].state == "unknown"]
            self._begin(module, then_next=True)
        else:
            if self.manifest.tasks.index(following) < self.manifest.tasks.index(self.task):
                self.note = f"Task {following.id} is {self.states[following.id].state}, so it comes first."
            self._go_to(following)

    def _open_hint(self) -> None:
        try:
            self.hint = open_hint(self.root, self.task)
        except (HintClosed, ValueError) as closed:
            self.note = str(closed)
        self.view = "task"
        self._draw()

    def _reset(self) -> None:
        try:
            name = reset.reset(self.root, self.manifest, self.task.id)
        except Problem as problem:
            self._say(str(problem))
            return
        done = f"Task {self.task.id} is reset to its stubs. To restore your code: course reset --restore {name}"
        self.note = done if name else f"Task {self.task.id} is as it was handed out."
        self._begin([self.task])

    # Runs

    def _go_to(self, task: Task) -> None:
        self.task, self.hint, self.view = task, None, "task"
        self.lost.discard(task.id)
        make_current(self.root, task)
        self._begin([task])

    def _notice(self) -> None:
        """React to a save: run the current task again if it depends on the saved file."""
        self.active = time.monotonic()
        try:
            self.manifest = load(self.root / "course" / "tasks.toml")
            self.task = self.manifest.task(self.task.id)
        except ManifestError as error:
            self._say(f"{error}; run: git diff course/tasks.toml")
            return
        before = self.states
        self.states = cached_states(self.root) | {self.task.id: before.get(self.task.id, TaskState(self.task.id))}  # its card stays
        self.unsettled.clear()
        if self._fingerprint() != self.ran_on:
            self.view, self.note = "task", ""
            self._begin([self.task])
        elif self.states != before:
            self._stop_background()
            self._draw()

    def _begin(self, tasks: Sequence[Task], then_next: bool = False) -> None:
        """Run tests, instead of a run in progress; if `then_next`, go to the next task when they end."""
        if self.running is not None:
            self.running.stop()
        self._stop_background()
        self.ran_on = self._fingerprint()
        self.early, self.compiling, self.then_next = None, "", then_next
        card = None
        with contextlib.suppress(ManifestError):  # the run reports it
            card = last_states(self.root)[self.task.id].card
        self.running = Run(self.root, tasks, self.time_limit, self.prefork.launch, card.nodeid if card else "", self.prefork.shares)
        self.running.start()
        self._draw()

    def _poll(self, running: Run) -> None:
        """Show the simplest failure so far of the run in progress and what it compiles, or its result."""
        if not running.is_alive():
            self._finish(running)
            return
        card = running.simplest_failure() if len(running.tasks) == 1 else None
        seen = card, running.progress().compiling
        if seen != (self.early, self.compiling):
            self.early, self.compiling = seen
            self._draw()

    def _finish(self, done: Run) -> None:
        """Show the result of a run, and prepare the next one."""
        self.running, self.early, self.compiling = None, None, ""
        self.active = time.monotonic()
        with contextlib.suppress(ManifestError):  # the run reports it
            self.states = cached_states(self.root)
        self.states |= done.states
        self.note = done.error or self.note
        self.prefork.prepare(self.task)
        if self.then_next and all(self.states[task.id].state not in OUTDATED for task in done.tasks):
            self._next()
            return
        if len(done.tasks) > 1:
            self.view = "status"
        self._draw()

    def _begin_background(self) -> None:
        """Run stale tasks again, and those that have failed here and changed since."""
        if outdated := [task for task in self.manifest.tasks if self._is_outdated(task)]:
            self.background = Run(self.root, outdated, self.time_limit, launch)
            self.background.start()
            self._draw()

    def _is_outdated(self, task: Task) -> bool:
        state = self.states[task.id].state
        outdated = state == "stale" or (state == "unknown" and task.id in self.lost)
        return outdated and task.id not in self.unsettled and task.id != self.task.id

    def _finish_background(self, done: Run) -> None:
        """Update the board, but not the current task."""
        self.background = None
        with contextlib.suppress(ManifestError):  # the next save reports it
            self.states = cached_states(self.root) | {self.task.id: self._state()}
        self.unsettled = {task.id for task in done.tasks if self.states[task.id].state in ("stale", "unknown")}
        self.lost |= {task.id for task in done.tasks if self.states[task.id].state not in (*DONE, "unknown")}
        self._draw()

    def _stop_background(self) -> None:
        if self.background is not None:
            self.background.stop()
        self.background = None

    def _state(self) -> TaskState:
        return self.states[self.task.id]

    def _fingerprint(self) -> str:
        return fingerprints(self.root, self.manifest)[self.task.id]

    # The screen

    def _say(self, note: str) -> None:
        self.note = note
        self._draw()

    def _draw(self) -> None:
        """Draw the whole screen."""
        if not self.console.is_dumb_terminal:
            self.console.clear()
        if self.view == "list":
            print_list(self.console, self.root, self.manifest, self.states, self.task)
        elif self.view == "status":
            print_status(self.console, self.root, self.manifest, self.states, self.task)
        else:
            self._draw_task()
        self.console.print()
        if self.note:
            self.console.print(Text(self.note, style="yellow"))
        for task in [task for task in self.manifest.tasks if task.id in self.lost and self.states[task.id].state not in DONE]:
            self.console.print(Text(f"Task {task.id} {task.title} no longer passes: course test {task.id}", style="yellow"), soft_wrap=True)
        self._draw_runs()
        self.console.print(progress_line(self.states, self.console.width))
        self.console.print(Text((places_to_write(self.root, self.task) or [""])[0], style="cyan"))
        keys = ["h hint", "l list", "c check all", "x reset", "q quit"]
        if self.running is None and self._state().state == "passed":
            keys.insert(0, "n next")
        self.console.print(Text("  ".join(keys), style="dim"))

    def _draw_runs(self) -> None:
        if self.running is not None:
            many = len(self.running.tasks)
            tasks = f"{many} tasks" if many > 1 else f"Task {self.running.tasks[0].id}"
            compiling = f", compiling {self.compiling}" if self.compiling else ""
            self.console.print(f"Running the tests of {tasks}{compiling} …", style="dim")
        elif self.background is not None:
            many = len(self.background.tasks)
            tasks = f"{many} tasks" if many > 1 else f"Task {self.background.tasks[0].id}"
            self.console.print(f"Checking {tasks} again, which passed before the last change …", style="dim")

    def _draw_task(self) -> None:
        state = self._state() if self.early is None else TaskState(self.task.id, "failing", card=self.early)
        self.console.print(summary(self.task, state), soft_wrap=True)
        if state.state == "passed":
            self.console.print("\nWell done. Look at it in the app, commit, and press n for the next task.")
        elif not (state.state in ("unknown", "stale") and self.running is not None):
            print_advice(self.console, self.root, self.manifest, self.task, self.states | {self.task.id: state})
        if self.hint is not None:
            self.console.print()
            self.console.print(f"Hint {self.hint.level} of {self.hint.last}", style="bold")
            self.console.print(Text(self.hint.text))


def progress_line(states: Mapping[str, TaskState], width: int) -> Text:
    """A bar of the tasks that have passed, stale ones included, at most `width` columns wide."""
    total, passed = len(states), sum(state.state in DONE for state in states.values())
    words = f"{passed} of {total} tasks passed"
    cells = max(0, min(40, width - len(words) - 2))
    filled = cells * passed // total if total else 0
    bar = Text("█" * filled, style="green").append("░" * (cells - filled), style="dim")
    return bar.append(f"{'  ' if cells else ''}{words}", style="not dim")
