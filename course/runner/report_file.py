"""The report of a run of pytest: a document at its end, and until then a journal that holds each result as soon as it is known.

So whatever ends the process, even between two tests, loses no result, and a test without one is known to be missing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from course.runner.failure_report import Card, sentence
from course.workspace.atomic_files import write_json

SCHEMA = 1
"""Version of the report's format."""

PROGRESS = re.compile(r"[.FEsxXtb]*(\s*\[ *\d+%\])?\s*")
"""A line of pytest's progress, or an empty one."""

ENDLESS = "; look for a loop that does not end"
"""What to do about a run that had to be killed."""

UNFINISHED = "not run"
"""The state of a test that pytest wanted to run and did not."""


class ReportFile:
    """Writes the report of a run.

    Args:
        path: The report; the journal lies beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.journal = path, journal_of(path)
        self.collected: Sequence[tuple[str, str | None, int]] = ()

    def begin(self, collected: Sequence[tuple[str, str | None, int]]) -> None:
        """Note the node id, the task and the position of each test, in the order in which they will run."""
        self.collected = collected
        self.add({"collected": collected})

    def add(self, entry: Mapping[str, Any]) -> None:
        """Note a result."""
        with contextlib.suppress(OSError), self.journal.open("a", encoding="utf-8") as file:  # opened anew: tests may close every file
            file.write(json.dumps(entry) + "\n")

    def end(self, rows: Sequence[Mapping[str, Any]], exitstatus: int, interrupted: Card | None, order: int) -> None:
        """Write the report atomically."""
        document = {
            "schema": SCHEMA,
            "exitstatus": exitstatus,
            "interrupted": asdict(interrupted) if interrupted else None,
            "order": order,
            "collected": self.collected,
            "tests": rows,
        }
        write_json(self.path, document)


def exit_despite_threads(exitstatus: int) -> None:
    """End the process if tests have started threads that do not end, which Python would wait for."""
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread() and not thread.daemon]
    if others and threading.current_thread() is threading.main_thread():
        print(f"ended {len(others)} threads that the tests have started", flush=True)
        os._exit(exitstatus)


def journal_of(report: Path) -> Path:
    """The journal of a report."""
    return report.with_name(f"{report.name}.journal")


def read_report(path: Path, output: str = "", killed: bool = False) -> dict[str, Any]:
    """The report of a run that has ended, with a row for every test that it wanted to run.

    Args:
        path: The report; without one, its journal is read.
        output: What the run printed.
        killed: Whether the run had to be stopped because it did not answer.
    """
    document = _document(path) or {"interrupted": None, "order": -1, **_journal(path)}
    if document["interrupted"] is not None:
        return document
    done = {row["nodeid"] for row in document["tests"]}
    missing = [test for test in document["collected"] if test[0] not in done]
    if killed and missing:
        nodeid, task, order = missing[0]
        return document | {"interrupted": asdict(_card(nodeid, task, f"stopped while it was running{ENDLESS}")), "order": order}
    if killed:
        return document | {"interrupted": asdict(Card("", error=f"stopped when it did not answer{ENDLESS}"))}
    return document | {"tests": document["tests"] + _rows_of(missing, output)}


@dataclass(frozen=True)
class Progress:
    """How far a run has got.

    Attributes:
        ended, total: The number of tests that have ended, and of all; 0 before the tests are loaded.
        compiling: The function that numba is compiling; empty if it is not compiling.
    """

    ended: int = 0
    total: int = 0
    compiling: str = ""

    def __str__(self) -> str:
        tests = f"{self.ended} of {self.total} tests" if self.total else "loading"
        return f"{tests}, compiling {self.compiling}" if self.compiling else tests


def read_progress(journals: Sequence[Path]) -> Progress:
    """How far a run has got, by the journals of its processes."""
    ended: set[str] = set()
    total, compiling = 0, ""
    for journal in journals:
        now = ""
        with contextlib.suppress(OSError, ValueError):  # the last line may be cut off
            for line in journal.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                total += len(entry.get("collected", ()))
                ended |= {entry["nodeid"]} if "nodeid" in entry else set()
                now = entry.get("compiling", now)
        compiling = compiling or now
    return Progress(len(ended), total, compiling)


def report_in(arguments: Sequence[str]) -> Path:
    """The path of the report that these arguments for pytest ask for."""
    return Path(next(argument for argument in arguments if argument.startswith("--course-report=")).partition("=")[2])


def _document(path: Path) -> dict[str, Any] | None:
    """The report; None if the run ended before it was written."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _journal(path: Path) -> dict[str, Any]:
    """What the journal says; its last line may be cut off."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    collected: list[list[Any]] = []
    with contextlib.suppress(OSError, ValueError):
        for line in journal_of(path).read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if "collected" in entry:
                collected = entry["collected"]
            elif "compiling" not in entry:
                rows[entry["nodeid"], entry["task"]] = entry
    return {"tests": list(rows.values()), "collected": collected}


def _rows_of(missing: Sequence[tuple[str, str | None, int]], output: str) -> list[dict[str, Any]]:
    """The rows of tests without a result: the first one ended the run, and fails."""
    lines = [line.strip() for line in output.splitlines() if not PROGRESS.fullmatch(line)]
    fatal = [found[1] for line in lines if (found := re.fullmatch(r"(?:INTERNALERROR> |!+ |Fatal Python error: )(.+?)[! ]*", line))]
    last = (fatal or lines or [""])[-1]
    end = f"it last printed: {last}" if last else "a call such as os._exit, or a crash of Python, ends it without an error"
    rows = []
    for number, (nodeid, task, order) in enumerate(missing):
        card = None if number else asdict(_card(nodeid, task, f"the run ended during this test; {end}"))
        rows.append(
            {"nodeid": nodeid, "task": task, "state": UNFINISHED if number else "failing", "needs": None, "card": card, "order": order}
        )
    return rows


def _card(nodeid: str, task: str | None, error: str) -> Card:
    """The card of a test that ended the run."""
    return Card(nodeid, task, sentence(nodeid.rpartition("::")[2]), error=error)
