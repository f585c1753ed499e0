"""`course explain`: the failing test's smallest input, run again beside an oracle, and the first call that answers otherwise."""

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

from course.cli.board import print_advice, summary
from course.cli.common import find_task, up_to_date_states
from course.cli.problem import ENVIRONMENT, TESTS_FAIL
from course.explain.divergence import Finding, finding_from
from course.explain.endless import told
from course.manifest import Manifest, Task
from course.runner.failure_report import LABEL_WIDTH, Card, wrapped
from course.runner.gpu import SIMULATOR
from course.runner.platforms import kill_tree
from course.runner.progress import TaskState, launch, limit_of

COMPILER_OFF = {"NUMBA_DISABLE_JIT": "1"}
"""In the environment: kernels run as Python, where every call can be followed."""

PATIENCE = 20
"""So many times the limit may the test take while its calls are followed."""

STYLES = {"Expected": "green", "Yours": "red"}


@dataclass(frozen=True)
class Explanation:
    """What there is to say about a failing task.

    Attributes:
        card: Of its first failing test.
        finding: The first divergence, if there is one that an oracle sees.
        reason: Why there is none.
    """

    card: Card
    finding: Finding | None
    reason: str = ""


def run(root: Path, manifest: Manifest, console: Console, id: str, as_json: bool = False, time_limit: float | None = None) -> int:
    """Show where the first failing test of a task begins to go wrong; returns the exit code.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: Where to print.
        id: The task.
        as_json: Print an object for programs.
        time_limit: Seconds that a test may compute; those of its module if left out.

    Raises:
        Problem: If there is no such task, or the tests cannot be run here.
    """
    task = find_task(manifest, id)
    states = up_to_date_states(root, [task], time_limit)
    state = states[task.id]
    if state.state != "failing" or state.card is None:
        return _nothing_to_explain(root, manifest, console, task, states, as_json)
    with Console(stderr=True).status(f"Following the calls of {state.card.nodeid}"):
        found = explained(root, task, state.card, time_limit or limit_of(task.stage))
    if as_json:
        print(json.dumps(_document(task, found), indent=1))
    else:
        console.print(summary(task, state), soft_wrap=True)
        console.print()
        if found.finding is not None:
            console.print(rendered(task, found.card, found.finding, console.width), soft_wrap=True, end="")
        else:
            console.print(Text(found.reason), soft_wrap=True)
            print_advice(console, root, manifest, task, states)
    return TESTS_FAIL


def _nothing_to_explain(
    root: Path, manifest: Manifest, console: Console, task: Task, states: Mapping[str, TaskState], as_json: bool
) -> int:
    """What is said of a task that does not fail."""
    state = states[task.id].state
    if as_json:
        document = {"task": task.id, "test": "", "says": "", "inputs": {}, "finding": None, "reason": f"the task is {state}"}
        print(json.dumps(document, indent=1))
    else:
        console.print(summary(task, states[task.id]), soft_wrap=True)
        if state == "passed":
            console.print("Nothing fails, so there is nothing to explain. What is next: course next")
        else:
            print_advice(console, root, manifest, task, states)
    return 0 if state == "passed" else ENVIRONMENT if state == "not run" else TESTS_FAIL


def _document(task: Task, found: Explanation) -> dict[str, Any]:
    """For programs."""
    finding = found.finding.as_json() if found.finding else None
    about = {"task": task.id, "test": found.card.nodeid, "says": found.card.says, "inputs": dict(found.card.inputs)}
    return about | {"finding": finding, "reason": found.reason}


def explained(root: Path, task: Task, card: Card, time_limit: float) -> Explanation:
    """Run the test of a card again in a process of its own, and take down where its calls begin to be wrong."""
    if "::" not in card.nodeid:
        return Explanation(card, None, "No test has got as far as a call that could be followed.")
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        path = Path(folder) / "divergence.json"
        arguments = ["-p", "course.runner.plugin", "-p", "course.explain.replay", "-p", "no:cacheprovider", "--color=no", "--tb=no", "-q"]
        arguments += [f"--course-divergence={path}", f"--course-stage={task.stage}", f"--course-limit={time_limit}", card.nodeid]
        around = (COMPILER_OFF if task.stage >= 3 else {}) | (SIMULATOR if task.gpu else {})
        process = launch(arguments, root, os.environ | around)
        try:
            process.communicate(timeout=PATIENCE * time_limit)
        except subprocess.TimeoutExpired:
            return Explanation(card, None, f"The test did not end within {PATIENCE * time_limit:g} seconds while its calls were followed.")
        finally:
            kill_tree(process)
            process.wait()
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return Explanation(card, None, "The process in which the test ran again ended before it could tell anything.")
    if document["hang"] is not None:
        return Explanation(card, None, told(document["hang"]))
    if document["finding"] is not None:
        return Explanation(card, finding_from(document["finding"]))
    return Explanation(card, None, _reason(document, around))


def _reason(document: Mapping[str, Any], around: Mapping[str, str]) -> str:
    """Why no call was found that is wrong."""
    if document["passed"] and around:
        return (
            "The test passes when its kernels run as plain Python, one thread after the other. What fails is in the compiled code alone:\n"
            "two turns of a parallel loop that share an array or a total, or a type that the compiler treats in another way."
        )
    if document["passed"]:
        return "The test passes when it is run again alone: it does not fail every time, or fails only after another test."
    if document["calls"]:
        return (
            f"All {document['calls']} calls that could be compared with an oracle are right. "
            "The test asks for something else; it says what:"
        )
    return "The test calls no function that has an oracle here. It says itself what it asks for:"


def rendered(task: Task, card: Card, finding: Finding, width: int = 80) -> Text:
    """An explanation as text of about this width, a page at most."""
    rows = [("The test says", card.says, "bold")]
    if card.inputs:
        rows.append(("Smallest input", "\n".join(f"{name} = {value}" for name, value in card.inputs.items()), ""))
    elif card.case:
        rows.append(("Case", card.case, ""))
    other = f", of Task {finding.task}" if finding.task and finding.task != task.id else ""
    rows.append(("First wrong", f"{finding.function}{other}: {finding.wrong.place}", "bold"))
    rows.append(("Your code", f"{finding.file}:{finding.line}  {finding.function}", "cyan"))
    rows += [(label, value, STYLES.get(label, "")) for label, value in finding.wrong.rows]
    before = f"; {finding.calls} calls before agree with theirs" if finding.calls else ""
    rows.append(("Oracle", f"{finding.wrong.oracle}{before}", "dim"))
    text = Text()
    for label, value, style in rows:
        for number, line in enumerate(wrapped(value, width - LABEL_WIDTH)[:MOST]):
            text.append(f"{label if number == 0 else '':<{LABEL_WIDTH}}", style="dim").append(line, style=style or "not dim").append("\n")
    for number, command in enumerate((f"course explain {task.id}", f"pytest {shlex.quote(card.nodeid)}")):
        text.append(f"{'' if number else 'See it again':<{LABEL_WIDTH}}", style="dim").append(command, style="not dim").append("\n")
    return text


MOST = 12
"""So many lines of one thing are shown."""
