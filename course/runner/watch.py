"""`course` without a command: the tests of the current task run whenever one of the files that they depend on is saved."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from course.cli.board import print_advice, print_list, print_status, summary
from course.cli.common import current_task, first_open, places_to_write, run
from course.cli.hints import Hint, HintClosed, open_hint
from course.cli.problem import ENVIRONMENT, TESTS_FAIL, Problem
from course.manifest import Manifest, ManifestError, Task, load
from course.runner.dependencies import fingerprints
from course.runner.failure_report import Card, card_from
from course.runner.platforms import Keys
from course.runner.prefork import Warm
from course.runner.progress import CannotRun, Launch, Overtaken, Process, TaskState, cached_states, last_states, run_tasks
from course.workspace import reset
from course.workspace.file_changes import Changes
from course.workspace.record import make_current

TICK = 0.05
"""Seconds that a key is waited for before files and runs are looked at."""


def watch(root: Path, manifest: Manifest, console: Console, time_limit: float | None) -> int:
    """Watch until the student quits; where there is no terminal, run once and say so. Returns the exit code."""
    task = current_task(root, manifest) or first_open(root, manifest, time_limit)[0]
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
    console.print("\nThis is no terminal, so the tests ran once. To watch, run in a terminal: course", soft_wrap=True)
    return 0 if state == "passed" else ENVIRONMENT if state == "not run" else TESTS_FAIL


class Run(threading.Thread):
    """Tests that run while the student types.

    Args:
        root: The workspace.
        tasks: Whose tests.
        time_limit: Seconds for each test; that of its module if None.
        launch: How pytest is started.
        first: The test to begin with, as pytest names it.
        shares: See `progress.run_tasks`.

    Attributes:
        states: What came out.
        error: Why nothing did.
    """

    def __init__(
        self, root: Path, tasks: Sequence[Task], time_limit: float | None, launch: Launch, first: str = "", shares: int = 1
    ) -> None:
        super().__init__(daemon=True)
        self.first, self.shares = first, shares
        self.early: list[Path] = []
        self.root, self.tasks, self.time_limit, self.launch = root, tasks, time_limit, launch
        self.states: dict[str, TaskState] = {}
        self.error = ""
        self.processes: list[Process] = []
        self.stopped = False
        self.lock = threading.Lock()

    def run(self) -> None:
        """Run them."""
        try:
            self.states = run_tasks([task.id for task in self.tasks], self.root, self.time_limit, self._launch, self.shares)
        except Overtaken:
            self.error = "stopped"
        except (CannotRun, ManifestError, OSError) as error:
            self.error = str(error)

    def stop(self) -> None:
        """End them without a result."""
        with self.lock:
            self.stopped = True
            for process in self.processes:
                process.overtake()

    def first_card(self) -> Card | None:
        """What the first failing test says, as soon as it has failed, while the others still run."""
        for path in list(self.early):
            with contextlib.suppress(FileNotFoundError):
                return card_from(json.loads(path.read_text(encoding="utf-8"))["card"])
        return None

    def _launch(self, arguments: Sequence[str], root: Path, env: Mapping[str, str]) -> Process:
        with self.lock:
            if self.stopped:
                raise Overtaken
            report = next(argument for argument in arguments if argument.startswith("--course-report=")).partition("=")[2]
            self.early.append(Path(f"{report}.first"))
            self.processes.append(self.launch([*arguments, f"--course-first={self.first}"], root, env))
            return self.processes[-1]


class Watcher:
    """What stands on the screen, and what happens at a key, a save, or the end of a run.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: The terminal.
        task: The task to begin with.
        time_limit: Seconds for each test; that of its module if None.
    """

    def __init__(self, root: Path, manifest: Manifest, console: Console, task: Task, time_limit: float | None) -> None:
        self.root, self.manifest, self.console, self.task, self.time_limit = root, manifest, console, task, time_limit
        self.changes = Changes(root)
        self.warm = Warm(root)
        self.states = cached_states(root)
        self.last = last_states(root)  # a save makes others unknown that most likely still pass: the bar goes on to count them
        self.running: Run | None = None
        self.early: Card | None = None  # of a run that is under way
        self.ran_on = ""  # the fingerprint of what the last run began with
        self.hint: Hint | None = None
        self.note = ""
        self.view = "task"
        self.asks = False  # whether to reset
        self._go_to(task)

    def step(self, key: str) -> bool:
        """Take a key, or "" if none was pressed; look at the files and at the run. Returns whether to go on."""
        if key == "q":
            return False
        if key:
            self._press(key)
        if self.changes.happened():
            self._notice()
        if self.running is not None and not self.running.is_alive():
            self._finish(self.running)
        elif self.running is not None and self.early is None and len(self.running.tasks) == 1:
            self.early = self.running.first_card()
            if self.early is not None:
                self._draw()
        return True

    def close(self) -> None:
        """Leave nothing running."""
        self.changes.close()
        if self.running is not None:
            self.running.stop()
        self.warm.close()

    # What happens

    def _press(self, key: str) -> None:
        asked, self.asks, self.note = self.asks, False, ""
        if asked:
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
            self.asks = True
            self._say(f"Put Task {self.task.id} back to its stubs? What is there is kept. y: yes, any other key: no")
        elif self.view != "task":
            self.view = "task"
            self._draw()

    def _next(self) -> None:
        """Go on behind a task that is passed; behind the last one, run all again, and go back to what no longer passes."""
        if self._state().state != "passed":
            self._say(f"Task {self.task.id} is not passed yet.")
            return
        behind = self.manifest.tasks[[task.id for task in self.manifest.tasks].index(self.task.id) + 1 :]
        pending = [task for task in behind if self.last[task.id].state != "passed"]
        if pending:
            self._go_to(pending[0])
        else:
            self.view = "next"
            self._begin(self.manifest.tasks)

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
        done = f"Task {self.task.id} is back to its stubs. To have yours back: course reset --restore {name}"
        self.note = done if name else f"Task {self.task.id} is as it was handed out."
        self._begin([self.task])

    def _go_to(self, task: Task) -> None:
        self.task, self.hint, self.view = task, None, "task"
        make_current(self.root, task)
        self._begin([task])

    def _notice(self) -> None:
        """Run again if something was saved that the task depends on."""
        try:
            self.manifest = load(self.root / "course" / "tasks.toml")
            self.task = self.manifest.task(self.task.id)
        except ManifestError as error:
            self._say(f"{error}; run: git diff course/tasks.toml")
            return
        if [task.id for task in self.manifest.tasks] != list(self.last):  # an update has brought others
            self.states, self.last = cached_states(self.root), last_states(self.root)
        if self._fingerprint() != self.ran_on:
            self.view, self.note = "task", ""
            self._begin([self.task])

    def _begin(self, tasks: Sequence[Task]) -> None:
        """Run tests; a run that is under way is overtaken."""
        if self.running is not None:
            self.running.stop()
        self.ran_on = self._fingerprint()
        self.early = None
        card = self.last[self.task.id].card
        first = card.nodeid if card is not None else ""
        self.running = Run(self.root, tasks, self.time_limit, self.warm.launch, first, self.warm.shares)
        self.running.start()
        self._draw()

    def _finish(self, done: Run) -> None:
        """Show what a run said, and warm up for the next."""
        self.running = self.early = None
        with contextlib.suppress(ManifestError):  # its error is the run's, too
            self.states = cached_states(self.root)
        self.states |= done.states
        self.last |= done.states
        self.note = done.error or self.note
        if len(done.tasks) > 1:
            lost = [task for task in done.tasks if self.states[task.id].state != "passed"]
            if self.view == "next" and lost:
                self.task, self.hint, self.view = lost[0], None, "task"
                make_current(self.root, self.task)
                self.note = f"Task {self.task.id} is {self._state().state}, so it comes first."
            else:
                self.view = "status"
        self.warm.prepare(self.task)
        self._draw()

    def _state(self) -> TaskState:
        return self.states[self.task.id]

    def _fingerprint(self) -> str:
        return fingerprints(self.root, self.manifest)[self.task.stage]

    # How it looks

    def _say(self, note: str) -> None:
        self.note = note
        self._draw()

    def _draw(self) -> None:
        """All of the screen."""
        if not self.console.is_dumb_terminal:
            self.console.clear()
        if self.view == "list":
            print_list(self.console, self.manifest, self.states)
        elif self.view == "status":
            print_status(self.console, self.manifest, self.states)
        else:
            self._draw_task()
        self.console.print()
        if self.note:
            self.console.print(Text(self.note, style="yellow"))
        if self.running is not None:
            many = len(self.running.tasks)
            self.console.print(f"Running the tests of {f'{many} tasks' if many > 1 else f'Task {self.task.id}'} …", style="dim")
        self.console.print(progress_line(self.last, self.console.width))
        self.console.print(Text((places_to_write(self.root, self.task) or [""])[0], style="cyan"))
        keys = ["h hint", "l list", "c check all", "x reset", "q quit"]
        if self.running is None and self._state().state == "passed":
            keys.insert(0, "n next")
        self.console.print(Text("  ".join(keys), style="dim"))

    def _draw_task(self) -> None:
        state = self._state() if self.early is None else TaskState(self.task.id, "failing", card=self.early)
        self.console.print(summary(self.task, state), soft_wrap=True)
        if state.state == "passed":
            self.console.print("\nWell done. Look at it in the app, commit, and go on with n.")
        elif not (state.state == "unknown" and self.running is not None):
            print_advice(self.console, self.root, self.manifest, self.task, self.states | {self.task.id: state})
        if self.hint is not None:
            self.console.print()
            self.console.print(f"Hint {self.hint.level} of {self.hint.last}", style="bold")
            self.console.print(Text(self.hint.text))


def progress_line(states: Mapping[str, TaskState], width: int) -> Text:
    """A bar of the tasks that are passed, as wide as there is room."""
    total, passed = len(states), sum(state.state == "passed" for state in states.values())
    words = f"{passed} of {total} tasks passed"
    cells = max(0, min(40, width - len(words) - 2))
    filled = cells * passed // total if total else 0
    bar = Text("█" * filled, style="green").append("░" * (cells - filled), style="dim")
    return bar.append(f"{'  ' if cells else ''}{words}", style="not dim")
