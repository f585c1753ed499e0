"""`course explain`: reruns the smallest failing input, and shows the first call whose result differs from that of an oracle."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from course.cli.board import OUTDATED, print_advice, summary
from course.cli.common import find_task, up_to_date_states
from course.cli.problem import ENVIRONMENT, TESTS_FAIL
from course.explain.divergence import Finding, finding_from
from course.explain.endless import describe
from course.manifest import Manifest, Task
from course.runner.compiler_messages import is_about_compiling
from course.runner.failure_report import LABEL_WIDTH, Card, card_from, wrap
from course.runner.gpu import SIMULATOR
from course.runner.platforms import kill_tree
from course.runner.progress import TaskState, cached_states, last_states, launch, limit_of
from course.runner.report_file import read_report
from course.runner.time_limit import slowness
from course.workspace.activity import note_explain

COMPILER_OFF = {"NUMBA_DISABLE_JIT": "1"}
"""Environment in which kernels run as plain Python, so that every call can be recorded."""

SLOWDOWN = 20
"""A recorded test may take this many times its time limit, by the clock; more on a slow machine."""

STYLES = {"Expected": "green", "Yours": "red"}


@dataclass(frozen=True)
class Explanation:
    """The explanation of a failing task.

    Attributes:
        card: The card of its first failing test.
        finding: The first wrong call, if an oracle finds one.
        reason: Why there is no finding.
        details: More about the last call that an oracle has compared, if there is no finding.
        fails: Whether the test failed in the rerun; None if the rerun gave no result.
    """

    card: Card
    finding: Finding | None
    reason: str = ""
    details: str = ""
    fails: bool | None = None


def run(root: Path, manifest: Manifest, console: Console, id: str, as_json: bool = False, time_limit: float | None = None) -> int:
    """Show the first wrong call of the first failing test of a task; returns the exit code.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: Where to print.
        id: The task.
        as_json: Print a JSON object.
        time_limit: Processor time limit of a test in seconds; by default that of its module.

    Raises:
        Problem: If there is no such task, or the tests cannot run.
    """
    task = find_task(manifest, id)
    seconds = time_limit or limit_of(task.stage)
    found = _explain_last_failure(root, task, seconds)
    if found is not None:
        return _show(root, manifest, console, task, {}, found, as_json)
    states = up_to_date_states(root, [task], time_limit)
    state = states[task.id]
    if state.state != "failing" or state.card is None:
        return _nothing_to_explain(root, manifest, console, task, states, as_json)
    return _show(root, manifest, console, task, states, _rerun(root, task, state.card, seconds), as_json)


def _explain_last_failure(root: Path, task: Task, seconds: float) -> Explanation | None:
    """The explanation of the test that failed before the last change, if it still fails: so not all tests have to run again."""
    last = last_states(root)[task.id]
    if cached_states(root)[task.id].state not in OUTDATED or last.state != "failing" or last.card is None or "::" not in last.card.nodeid:
        return None
    found = _rerun(root, task, last.card, seconds)
    return found if found.fails else None


def _rerun(root: Path, task: Task, card: Card, seconds: float) -> Explanation:
    """Rerun the test of a card, with a spinner if standard error is a terminal."""
    with Console(stderr=True).status(f"Recording the calls of {card.nodeid}"):
        return explain_failure(root, task, card, seconds)


def _show(
    root: Path, manifest: Manifest, console: Console, task: Task, states: Mapping[str, TaskState], found: Explanation, as_json: bool
) -> int:
    """Print an explanation, and note in the record that it was given; returns the exit code."""
    note_explain(root, task.id)
    if as_json:
        print(json.dumps(_document(task, found), indent=1))
        return TESTS_FAIL
    states = states or {task.id: TaskState(task.id, "failing", card=found.card)}  # of the other tests nothing is known
    console.print(summary(task, states[task.id]), soft_wrap=True)
    console.print()
    if found.finding is not None:
        console.print(render(task, found.card, found.finding, console.width), soft_wrap=True, end="")
    else:
        console.print(Text(found.reason), soft_wrap=True)
        print_advice(console, root, manifest, task, {**cached_states(root), **states})
        if found.details:
            console.print(Text(f"\n{found.details}"), soft_wrap=True)
    return TESTS_FAIL


def _nothing_to_explain(
    root: Path, manifest: Manifest, console: Console, task: Task, states: Mapping[str, TaskState], as_json: bool
) -> int:
    """Print that a task does not fail; returns the exit code."""
    state = states[task.id].state
    if as_json:
        document = {"task": task.id, "test": "", "says": "", "inputs": {}, "finding": None, "reason": f"the task is {state}"}
        print(json.dumps(document, indent=1))
    else:
        console.print(summary(task, states[task.id]), soft_wrap=True)
        if state == "passed":
            console.print("No test fails, so there is nothing to explain. Next: course next")
        else:
            print_advice(console, root, manifest, task, states)
    return 0 if state == "passed" else ENVIRONMENT if state == "not run" else TESTS_FAIL


def _document(task: Task, found: Explanation) -> dict[str, Any]:
    """The explanation as JSON values."""
    finding = found.finding.as_json() if found.finding else None
    about = {"task": task.id, "test": found.card.nodeid, "says": found.card.says, "inputs": dict(found.card.inputs)}
    return about | {"finding": finding, "reason": found.reason, "details": found.details}


def explain_failure(root: Path, task: Task, card: Card, time_limit: float) -> Explanation:
    """Rerun the test of a card in a new process and find its first wrong call."""
    if "::" not in card.nodeid:
        return Explanation(card, None, "No test could be loaded, so there are no calls to compare.")
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        path, report = Path(folder) / "divergence.json", Path(folder) / "report.json"
        arguments = ["-p", "course.runner.plugin", "-p", "course.explain.replay", "-p", "no:cacheprovider", "--color=no", "--tb=no", "-q"]
        arguments += [f"--course-divergence={path}", f"--course-report={report}", f"--course-stage={task.stage}"]
        arguments += [f"--course-limit={time_limit}", card.nodeid]
        around = (COMPILER_OFF if task.stage >= 3 else {}) | (SIMULATOR if task.gpu else {})
        process = launch(arguments, root, os.environ | around)
        seconds = round(SLOWDOWN * slowness() * time_limit)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return Explanation(card, None, f"The test did not end within {seconds} seconds while its calls were recorded.")
        finally:
            kill_tree(process)
            process.wait()
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return Explanation(card, None, _without_result(output))
        card = next((card_from(row["card"]) for row in read_report(report)["tests"] if row["card"]), card)  # of the code as it is
    is_endless = (card.error or "").startswith("stopped while it was running")
    if document["hang"] is not None and (is_endless or document["finding"] is None):
        more = "" if is_endless else "\nRecording its calls takes longer than the test itself, which may end."
        return Explanation(card, None, describe(document["hang"]) + more, fails=True)
    fails = not document["passed"]
    if document["finding"] is not None:
        return Explanation(card, finding_from(document["finding"]), fails=fails)
    return Explanation(card, None, "\n".join([_reason(document, around, card), *document["warnings"]]), document["details"], fails)


def _without_result(output: str) -> str:
    """Why the process that reran a test left no result."""
    if "No module named 'numpy'" in output:
        return "course explain compares calls with NumPy, which is not installed here; install it: make app"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return "The process that reran the test ended without a result" + (f"; its last line: {lines[-1]}" if lines else ".")


def _reason(document: Mapping[str, Any], around: Mapping[str, str], card: Card) -> str:
    """Why no wrong call was found."""
    if document["passed"] and is_about_compiling(card.error or ""):
        return "As plain Python this code is right, but numba cannot compile it. Change the line that its error is about:"
    if is_about_compiling(card.error or ""):
        return "numba cannot compile this code, which a kernel of Module 3 calls. Change the line that its error is about:"
    if document["passed"] and around:
        return (
            "The test passes when its kernels run as plain Python in one thread: the mistake shows only in compiled code. Common causes:\n"
            "two iterations of a parallel loop share an array or a sum, the compiler gives a variable another type, or no loop is parallel."
        )
    if document["passed"]:
        return "The test passes when it is rerun alone. It fails only sometimes, or only after another test."
    if document["calls"] == 1:
        return "The one call that could be compared with an oracle is right. The test checks something else:"
    if document["calls"]:
        return f"All {document['calls']} calls that could be compared with an oracle are right. The test checks something else:"
    return "The test calls no function that has an oracle. This is what the test checks:"


def render(task: Task, card: Card, finding: Finding, width: int = 80) -> Text:
    """An explanation as text of about this width, at most a page long."""
    rows = [("The test says", card.says, "bold")]
    if card.case:
        rows.append(("Case", card.case, ""))
    if card.inputs:
        rows.append(("Smallest input", "\n".join(f"{name} = {value}" for name, value in card.inputs.items()), ""))
    other = f", of Task {finding.task}" if finding.task and finding.task != task.id else ""
    rows.append(("First wrong", f"{finding.function}{other}: {finding.wrong.place}", "bold"))
    rows.append(("Your code", f"{finding.file}:{finding.line}  {finding.function}", "cyan"))
    rows += [(label, value, STYLES.get(label, "")) for label, value in finding.wrong.rows]
    before = f"; {_earlier(finding.calls)}" if finding.calls else ""
    rows.append(("Oracle", f"{finding.wrong.oracle}{before}", "dim"))
    text = Text()
    for label, value, style in rows:
        for number, line in enumerate(wrap(value, width - LABEL_WIDTH)[:MOST_LINES]):
            text.append(f"{label if number == 0 else '':<{LABEL_WIDTH}}", style="dim").append(line, style=style or "not dim").append("\n")
    for number, command in enumerate((f"course explain {task.id}", f"pytest {shlex.quote(card.nodeid)}")):
        text.append(f"{'' if number else 'Run again':<{LABEL_WIDTH}}", style="dim").append(command, style="not dim").append("\n")
    return text


def _earlier(calls: int) -> str:
    return f"{calls} earlier calls agree with their oracles" if calls > 1 else "one earlier call agrees with its oracle"


MOST_LINES = 12
"""At most this many lines of one row are shown."""
