"""Measurements of the course tools: waiting times, resistance to cheating, correct marks, and no lost submissions.

    python -m benchmarks.course [--only watch]

* attacks: hostile programs in the sandbox of this machine.
* forgers: submissions that try to earn marks without a solution; none may earn more than it deserves without a flag.
* published: correct solutions in two styles of the original course, graded with `--profile published`.
* proven: wrong answers that the tests are known to catch, with the current tests and package.
* first card: from an empty folder to the first failing card: clone a handout, install what the first tests need (as `make course`
  does; packages come from pip's cache), run `course test`.
* status: the first `course status` in a fresh handout of all modules.
* test: `course test 0.1` with all tasks written.
* endless: `course test 0.1` with an endless loop in `relu`.
* watch: from a save to the result on the screen, for each task of Modules 0 and 1, with all tasks written.
* class: a hundred submissions of all kinds, graded while workers are killed, then the whole run, which is restarted.
* reference: grading correct solutions to all tasks on one core, with warm caches.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from statistics import median

from benchmarks import course_class
from benchmarks.course_watch import WatchTerminal
from benchmarks.rivals import MISSED, NOT_RUN, REACHED, print_verdicts, processor_and_cores, record
from course.manifest import ROOT, course

REPEATS = 5

ATTACKS, FORGERS = 120, 45
"""The minimum numbers of attacks and of forgers."""


def run(*command: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command and wait for it."""
    return subprocess.run(command, cwd=folder, env=os.environ | environment, text=True, capture_output=True, check=False)


def time_command(*command: str, folder: Path) -> tuple[float, subprocess.CompletedProcess[str]]:
    """The wall time of a command in seconds, and its result."""
    begun = time.monotonic()
    done = run(*command, folder=folder)
    return time.monotonic() - begun, done


def print_row(name: str, goal: str, measured: str, reached: bool | None, details: str = "") -> str:
    """Print a row and return its verdict; reached is None if the row was not run."""
    verdict = NOT_RUN if reached is None else REACHED if reached else MISSED
    print(f"{name:22} {goal:24} {measured:26} {verdict}{f'; {details}' if details else ''}".rstrip(), flush=True)
    return record(name, goal, measured, verdict)


@contextmanager
def workspace(last: int, written: bool) -> Iterator[Path]:
    """Yield a clone of a fresh handout up to a module, as handed out or, if written, with the reference's solutions."""
    with tempfile.TemporaryDirectory(prefix="course-bench-") as name:
        handout, clone = Path(name) / "handout", Path(name) / "mine"
        made = run(sys.executable, "-m", "course.staff", "handout", str(handout), "--modules", f"0-{last}" if last else "0")
        if made.returncode:
            raise RuntimeError(f"course-staff handout failed: {made.stderr}")
        run("git", "clone", "--quiet", str(handout), str(clone))
        if written:
            for task in course().tasks:
                if task.stage <= last:
                    course_class.solve(clone, task)
        yield clone


# The rows


def attacks() -> list[str]:
    """The attacks of `course-staff grade-doctor`."""
    from course.staff.sandbox.attacks import SCHEMA

    done = run(sys.executable, "-m", "course.staff", "grade-doctor", "--json")
    document = course_class.json_of(done.stdout, SCHEMA)
    rows = document["attacks"]
    succeeded = [row["name"] for row in rows if row["succeeded"]]
    level = document["level"]
    good = len(rows) >= ATTACKS and not succeeded if rows else None
    return [
        print_row(
            "attacks", f"0 of at least {ATTACKS}", f"{len(succeeded)} of {len(rows)}", good, "; ".join([f"sandbox: {level}", *succeeded])
        )
    ]


def forgers() -> list[str]:
    """Grade every forger under tests/course/forgers, each as one submission."""
    earned, count = course_class.forgers()
    reached = count >= FORGERS and not earned
    return [print_row("forgers", f"0 of at least {FORGERS}", f"{len(earned)} of {count} succeed", reached, "; ".join(earned))]


def published() -> list[str]:
    """Grade submissions of the original course; every task in them must get full marks."""
    lost, count = course_class.grade_originals()
    return [print_row("published profile", "0 wrong marks", f"{len(lost)} of {count} tasks", count > 0 and not lost, "; ".join(lost))]


def proven() -> list[str]:
    """Check the ledger of proofs against the current wrong answers, tests and package."""
    from course.staff.proofs import answers, prove

    manifest = course()
    bank = answers.load_answers(answers.FOLDER, manifest.tasks)
    hashes = prove.hash_all(bank, manifest, ROOT, prove.needed_files(ROOT, manifest))
    ledger = answers.read_ledger(answers.LEDGER)
    now = sum(ledger.get(key, {}).get("hash") == value for key, value in hashes.items())
    return [print_row("wrong answers", "all caught", f"{now} of {len(bank)}", now == len(bank), "course-staff prove --all runs them again")]


def first_card() -> list[str]:
    """Measure the time from `git clone` to the first failing card."""
    with workspace(4, written=False) as clone:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="course-bench-") as name:
            mine = Path(name) / "mine"
            run("git", "clone", "--quiet", str(clone), str(mine))
            made = run("make", ".venv/.course", f"PYTHON={sys.executable}", folder=mine)
            card = run(".venv/bin/course", "test", "0.1", folder=mine)
        seconds = time.monotonic() - begun
    good = card.returncode == 1 and "Task 0.1" in card.stdout
    return [print_row("first card", "at most 20 s", f"{seconds:.1f} s", good and seconds <= 20, "" if good else made.stderr + card.stderr)]


def status() -> list[str]:
    """Measure the first `course status`."""
    with workspace(4, written=False) as mine:
        seconds, done = time_command(sys.executable, "-m", "course", "status", folder=mine)
    good = done.returncode == 0 and done.stdout.count("todo") >= len(course().tasks) // 2
    return [print_row("first course status", "at most 15 s", f"{seconds:.1f} s", good and seconds <= 15, "" if good else done.stderr)]


def test() -> list[str]:
    """Measure `course test 0.1` with all tasks written."""
    with workspace(0, written=True) as mine:
        times = []
        for _ in range(REPEATS):
            seconds, done = time_command(sys.executable, "-m", "course", "test", "0.1", folder=mine)
            times.append(seconds)
            (mine / course().task("0.1").files[0]).touch()
    good = done.returncode == 0 and median(times) <= 2
    return [print_row("course test 0.1", "at most 2 s", f"{median(times):.2f} s", good, f"{min(times):.2f} to {max(times):.2f}")]


def endless() -> list[str]:
    """Measure `course test 0.1` with an endless loop in `relu`."""
    with workspace(0, written=True) as mine:
        course_class.solve(mine, course().task("0.1"), {"minitorch.operators:relu": course_class.HOSTILE["hangs"]})
        seconds, done = time_command(sys.executable, "-m", "course", "test", "0.1", folder=mine)
    good = done.returncode == 1 and "loop" in done.stdout
    return [print_row("endless loop", "at most 8 s", f"{seconds:.1f} s", good and seconds <= 8, "" if good else done.stdout[-300:])]


def watch() -> list[str]:
    """Save the first file of each task of Modules 0 and 1, and measure the time to the result."""
    verdicts = []
    with workspace(1, written=True) as mine:
        for task in course().tasks:
            if task.stage > 1:
                continue
            run(sys.executable, "-m", "course", "start", task.id, folder=mine)
            with WatchTerminal(mine) as terminal:
                passed = f"Task {task.id} {task.title}: passed" in terminal.settle()
                times = []
                for _ in range(REPEATS):
                    time.sleep(2)  # meanwhile the next process imports its modules
                    times.append(terminal.time_save(mine / task.files[0]))
                    passed = passed and f"Task {task.id} {task.title}: passed" in terminal.screen()
            spread = f"{min(times):.2f} to {max(times):.2f}"
            verdicts.append(
                print_row(f"watch {task.id}", "at most 1.5 s", f"{median(times):.2f} s", passed and median(times) <= 1.5, spread)
            )
    return verdicts


def a_class() -> list[str]:
    """Grade a hundred submissions while processes are killed."""
    lost, details = course_class.grade_under_fire()
    return [print_row("class of 100", "every one accounted for", f"{100 - len(lost)} of 100", not lost, "; ".join([details, *lost]))]


def reference() -> list[str]:
    """Grade a submission in which everything is correct."""
    seconds, mark, points = course_class.grade_reference_on_one_core()
    good = mark == points and seconds <= 90
    return [print_row("full submission", "at most 90 s", f"{seconds:.0f} s", good, f"{mark:g} of {points:g} points, one core")]


ROWS: dict[str, Callable[[], list[str]]] = {
    "attacks": attacks,
    "forgers": forgers,
    "published": published,
    "proven": proven,
    "first card": first_card,
    "status": status,
    "test": test,
    "endless": endless,
    "watch": watch,
    "class": a_class,
    "reference": reference,
}


def main(arguments: list[str] | None = None) -> None:
    """Measure the rows and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.course", description="Measurements of the course tools.")
    parser.add_argument("--only", default="", help=f"rows whose name contains this: {', '.join(ROWS)} (all)")
    options = parser.parse_args(arguments)
    rows = [row for name, row in ROWS.items() if options.only in name]
    if not rows:
        parser.error(f"--only expected part of one of {', '.join(ROWS)}; got {options.only!r}")
    machine, cores = processor_and_cores()
    print(f"{date.today()}, {machine}, {cores} cores, Python {platform.python_version()}")
    print(f"{'row':22} {'goal':24} measured")
    verdicts: Counter[str] = Counter()
    for row in rows:
        verdicts.update(row())
    print_verdicts(verdicts)


if __name__ == "__main__":
    main()
