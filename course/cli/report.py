"""`course report`: run the project's programs for the training tasks and keep their logs, pictures and times.

A report is complete when its folder is under reports/: it is written elsewhere and moved there at the end. So an interrupted run
continues with the missing reports, and programs with a checkpoint continue from it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from course.cli.problem import TESTS_FAIL, USAGE, Problem
from course.manifest import Manifest
from course.runner.messages import unwritten_files
from course.workspace import backups

FOLDER = Path("reports")
UNFINISHED = Path(".course") / "reports"
LOCK = Path(".course") / "report.lock"
INTERRUPTED = 130
LOG = "log.txt"
"""The file with the program's output, in the folder of its report."""


@dataclass(frozen=True)
class HandIn:
    """One report of a training task.

    Attributes:
        task: The task's id.
        name: The folder under reports/.
        command: The program under project/ and its flags.
        resumes: Whether the program keeps a checkpoint.
    """

    task: str
    name: str
    command: tuple[str, ...]
    resumes: bool = False

    @property
    def display_command(self) -> str:
        """The command that a student would type."""
        return f"python project/{' '.join(self.command)} --report {(FOLDER / self.name).as_posix()}"


DATASETS = ("Simple", "Diag", "Split", "Xor")
"""The main datasets."""

HAND_INS = (
    HandIn("0.5", "manual", ("run_manual.py",)),
    *(
        HandIn("1.5", name.lower(), ("run_scalar.py", "--dataset", name, "--hidden", "2" if name == "Simple" else "10"))
        for name in DATASETS
    ),
    *(HandIn("2.5", f"tensor-{name.lower()}", ("run_tensor.py", "--dataset", name, "--hidden", "10")) for name in DATASETS),
    *(HandIn("3.5", f"fast-{name.lower()}", ("run_fast_tensor.py", "--dataset", name)) for name in ("Simple", "Split", "Xor")),
    HandIn("3.5", "fast-large", ("run_fast_tensor.py", "--dataset", "Split", "--hidden", "400")),
    HandIn("4.5", "digits", ("run_mnist_multiclass.py",), resumes=True),
    HandIn("4.5", "sentiment", ("run_sentiment.py",), resumes=True),
)


def run(root: Path, manifest: Manifest, console: Console, id: str = "", again: bool = False) -> int:
    """Write the missing reports, and return the exit code.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: Where to print.
        id: Write only the reports of this task. Default: all.
        again: Write existing reports again, after a backup.

    Raises:
        Problem: If there is no such task, or it has nothing to train.
    """
    known = {task.id for task in manifest.tasks}
    if id and id not in known:
        raise Problem(f"there is no task {id!r}; the tasks are {', '.join(task.id for task in manifest.tasks)}; run: course list", USAGE)
    wanted = [hand_in for hand_in in HAND_INS if hand_in.task in known and id in ("", hand_in.task)]
    if not wanted:
        tasks = ", ".join(dict.fromkeys(hand_in.task for hand_in in HAND_INS if hand_in.task in known))
        raise Problem(f"Task {id} has no report; those with one are {tasks}; run: course report", USAGE)
    with backups.exclusive_access(root, LOCK):
        if again:
            _back_up(root, wanted, console)
        failed = _write_missing(root, manifest, console, wanted)
        _write_index(root)
    if failed:
        console.print(f"{len(failed)} could not be written. Next: course test {failed[0].task}", soft_wrap=True)
        return TESTS_FAIL
    console.print("Next: course submit")
    return 0


def _write_missing(root: Path, manifest: Manifest, console: Console, wanted: Sequence[HandIn]) -> list[HandIn]:
    """Run the programs of the missing reports, and return those that failed."""
    failed = []
    for number, hand_in in enumerate(wanted, start=1):
        place = f"{number} of {len(wanted)}  Task {hand_in.task}  {(FOLDER / hand_in.name).as_posix()}"
        if is_complete(root, hand_in):
            console.print(f"{place}  exists", soft_wrap=True)
        elif missing := unwritten_files(manifest.task(hand_in.task), root):
            console.print(f"{place}  left out: Task {hand_in.task} is not written yet, in {', '.join(missing)}", soft_wrap=True)
        else:
            console.print(f"{place}  {hand_in.display_command}", soft_wrap=True)
            began = time.monotonic()
            if reason := _write(root, hand_in):
                failed.append(hand_in)
                console.print(reason, soft_wrap=True, markup=False)
            else:
                console.print(f"  done in {time.monotonic() - began:.1f} s")
    return failed


def is_complete(root: Path, hand_in: HandIn) -> bool:
    """Whether the report exists."""
    folder = root / FOLDER / hand_in.name
    return folder.is_dir() and any(folder.iterdir())


def files(root: Path, tasks: Sequence[str]) -> dict[str, list[str]]:
    """The files of the existing reports by task, as paths in the workspace."""
    found: dict[str, list[str]] = {}
    for hand_in in HAND_INS:
        folder = root / FOLDER / hand_in.name
        if hand_in.task in tasks and folder.is_dir():
            names = sorted(file.name for file in folder.iterdir() if file.is_file())
            found.setdefault(hand_in.task, []).extend(f"{FOLDER.as_posix()}/{hand_in.name}/{name}" for name in names)
    return found


def _write(root: Path, hand_in: HandIn) -> str:
    """Run the program of one report; returns the reason if it failed, else ""."""
    making, final = root / UNFINISHED / hand_in.name, root / FOLDER / hand_in.name
    making.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, f"project/{hand_in.command[0]}", *hand_in.command[1:], "--report", str(making)]
    kept = root / UNFINISHED / f"{hand_in.name}.checkpoint"
    if hand_in.resumes:
        command += ["--checkpoint", str(kept)] + (["--resume"] if kept.exists() else [])
    log = making / LOG
    with log.open("a" if hand_in.resumes and kept.exists() else "w", encoding="utf-8") as printed:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH")))),
            "PYTHONUTF8": "1",
        }
        errors = None if sys.stderr.isatty() else subprocess.STDOUT  # on a terminal, the program shows its progress bar there
        with subprocess.Popen(command, cwd=root, env=environment, stdout=printed, stderr=errors, stdin=subprocess.DEVNULL) as process:
            try:
                status = process.wait()
            except KeyboardInterrupt:  # the program received it too, and stops cleanly
                process.wait()
                raise
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status or not any(file.name != LOG for file in making.iterdir()):
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
        return "\n".join([f"  ended with status {status}:", *(f"  {line}" for line in last)])
    final.parent.mkdir(exist_ok=True)
    shutil.rmtree(final, ignore_errors=True)  # an empty folder
    making.rename(final)
    kept.unlink(missing_ok=True)
    return ""


def _back_up(root: Path, wanted: Sequence[HandIn], console: Console) -> None:
    """Move the existing reports into a backup."""
    from course.workspace.reset import say_how_to_restore

    there = files(root, [hand_in.task for hand_in in wanted])
    name = backups.apply(root, dict.fromkeys(path for paths in there.values() for path in paths), "report")
    for hand_in in wanted:
        shutil.rmtree(root / UNFINISHED / hand_in.name, ignore_errors=True)
        (root / UNFINISHED / f"{hand_in.name}.checkpoint").unlink(missing_ok=True)
    if name:
        say_how_to_restore(console, name)


def _write_index(root: Path) -> None:
    """Write a page that lists the existing reports."""
    there = [hand_in for hand_in in HAND_INS if is_complete(root, hand_in)]
    if not there:
        return
    rows = [
        f"| {hand_in.task} | [{hand_in.name}]({hand_in.name}/) | `{hand_in.display_command}` | {_outcome(root, hand_in)} |"
        for hand_in in there
    ]
    text = "\n".join(["# Reports", "", "| Task | Report | Command | Outcome |", "|---|---|---|---|", *rows, ""])
    (root / FOLDER / "index.md").write_text(text, encoding="utf-8")


def _outcome(root: Path, hand_in: HandIn) -> str:
    """The last line that the program printed about its training."""
    log = root / FOLDER / hand_in.name / LOG
    output = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
    lines = [line for line in output if line.strip() and not line.startswith(("Report:", "Log:"))]
    return lines[-1].strip().replace("|", "/") if lines else ""
