"""A run of tests in a thread, which can be stopped and says how far it has got."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from course.manifest import ManifestError, Task
from course.runner.failure_report import Card, card_from
from course.runner.packages import CannotRun
from course.runner.progress import Cancelled, Launch, Process, TaskState, run_tasks
from course.runner.report_file import Progress, journal_of, read_progress, report_in


class Run(threading.Thread):
    """A run of tests in a thread, which can be stopped.

    Args:
        root: The workspace.
        tasks: The tasks whose tests run.
        time_limit: Seconds for each test; the limit of its module if None.
        launch: Starts pytest.
        first: The test to run first, as pytest names it. The states do not depend on it.
        shares: Number of processes, see `progress.run_tasks`.

    Attributes:
        states: The result, empty if there is none.
        error: Why there is no result.
    """

    def __init__(
        self, root: Path, tasks: Sequence[Task], time_limit: float | None, launch: Launch, first: str = "", shares: int = 1
    ) -> None:
        super().__init__(daemon=True)
        self.root, self.tasks, self.time_limit, self.launch = root, tasks, time_limit, launch
        self.first, self.shares = first, shares
        self.states: dict[str, TaskState] = {}
        self.error = ""
        self.early: list[Path] = []  # the simplest failures so far
        self.journals: list[Path] = []
        self.processes: list[Process] = []
        self.stopped = False
        self.lock = threading.Lock()

    def run(self) -> None:
        """Run the tests."""
        ids = [task.id for task in self.tasks]
        try:
            self.states = run_tasks(ids, self.root, self.time_limit, self._launch, self.shares, self.first)
        except Cancelled:
            self.error = "stopped"
        except (CannotRun, ManifestError, OSError) as error:
            self.error = str(error)

    def stop(self) -> None:
        """End the run without a result."""
        with self.lock:
            self.stopped = True
            for process in self.processes:
                process.cancel()

    def simplest_failure(self) -> Card | None:
        """The card of the first failing test, in the order in which tests are defined, among those that have failed so far."""
        rows = []
        for path in list(self.early):
            with contextlib.suppress(FileNotFoundError):
                rows.append(json.loads(path.read_text(encoding="utf-8")))
        return card_from(min(rows, key=lambda row: row["order"])["card"]) if rows else None

    def progress(self) -> Progress:
        """How far the run has got."""
        return read_progress(self.journals)

    def _launch(self, arguments: Sequence[str], root: Path, env: Mapping[str, str]) -> Process:
        with self.lock:
            if self.stopped:
                raise Cancelled
            report = report_in(arguments)
            self.journals.append(journal_of(report))
            self.early.append(report.with_name(f"{report.name}.first"))
            self.processes.append(self.launch(arguments, root, env))
            return self.processes[-1]
