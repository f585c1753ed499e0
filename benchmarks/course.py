"""What the course machine promises, measured: how long students wait, that grading cannot be fooled, that no submission is lost.

    python -m benchmarks.course [--only watch]

* attacks: hostile programs in the sandbox of this machine.
* forgers: submissions that pretend; none may earn a mark.
* proven: wrong answers whose tests are known to catch them, as they stand now.
* first card: from an empty folder to the first failing card: a handout is cloned, its environment made, `course test` run; packages come
  from pip's cache.
* test: `course test 0.1`, everything written.
* watch: from a save to the result on the screen, for each task of Modules 0 and 1, everything written.
* class: submissions of all kinds, graded while workers are killed, then the run itself, which is started again.
* reference: grading right answers to all tasks, on one core, with what is kept from one run to the next in place.
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
from benchmarks.course_watch import Watching
from benchmarks.rivals import MISSED, NOT_RUN, REACHED, print_verdicts, processor_and_cores
from course.manifest import ROOT, course

REPEATS = 5


def run(*command: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(command, cwd=folder, env=os.environ | environment, text=True, capture_output=True, check=False)


def seconds_of(*command: str, folder: Path) -> tuple[float, subprocess.CompletedProcess[str]]:
    """How long a command takes."""
    begun = time.monotonic()
    done = run(*command, folder=folder)
    return time.monotonic() - begun, done


def tell(name: str, asked: str, got: str, good: bool | None, more: str = "") -> str:
    """Print a row; returns its verdict. good: None if it was not run."""
    verdict = NOT_RUN if good is None else REACHED if good else MISSED
    print(f"{name:22} {asked:24} {got:26} {verdict}{f'; {more}' if more else ''}".rstrip(), flush=True)
    return verdict


@contextmanager
def workspace(last: int, written: bool) -> Iterator[Path]:
    """A student's clone of a fresh handout, with the reference's bodies in it or as it was handed out."""
    with tempfile.TemporaryDirectory(prefix="course-bench-") as name:
        handout, clone = Path(name) / "handout", Path(name) / "mine"
        made = run(sys.executable, "-m", "course.staff", "handout", str(handout), "--modules", f"0-{last}" if last else "0")
        if made.returncode:
            raise RuntimeError(f"no handout: {made.stderr}")
        run("git", "clone", "--quiet", str(handout), str(clone))
        if written:
            for task in course().tasks:
                if task.stage <= last:
                    course_class.solve(clone, task)
        yield clone


# The rows


def attacks() -> list[str]:
    """Those of `course-staff grade-doctor`."""
    from course.staff.sandbox.attacks import SCHEMA

    done = run(sys.executable, "-m", "course.staff", "grade-doctor", "--json")
    document = course_class.json_of(done.stdout, SCHEMA)
    rows = document["attacks"]
    succeeded = [row["name"] for row in rows if row["succeeded"]]
    level = document["level"]
    good = len(rows) >= 30 and not succeeded if rows else None
    return [tell("attacks", "0 of at least 30", f"{len(succeeded)} of {len(rows)}", good, "; ".join([f"sandbox: {level}", *succeeded]))]


def forgers() -> list[str]:
    """Every forger of the tests, each as a submission of its own."""
    earned, count = course_class.forgers()
    return [tell("forgers", "0 of at least 8", f"{len(earned)} of {count} earn a mark", count >= 8 and not earned, "; ".join(earned))]


def proven() -> list[str]:
    """The ledger against the wrong answers, tests and package as they are."""
    from course.staff.proofs import answers, prove

    manifest = course()
    bank = answers.load_answers(answers.FOLDER, manifest.tasks)
    hashes = prove.hash_all(bank, manifest, ROOT, prove.needed_files(ROOT, manifest))
    ledger = answers.read_ledger(answers.LEDGER)
    now = sum(ledger.get(key, {}).get("hash") == value for key, value in hashes.items())
    return [tell("wrong answers", "all killed", f"{now} of {len(bank)}", now == len(bank), "course-staff prove --all runs them again")]


def first_card() -> list[str]:
    """From a clone to the first failing card."""
    with workspace(4, written=False) as clone:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="course-bench-") as name:
            mine = Path(name) / "mine"
            run("git", "clone", "--quiet", str(clone), str(mine))
            made = run("make", ".venv/.app", f"PYTHON={sys.executable}", folder=mine)
            card = run(".venv/bin/course", "test", "0.1", folder=mine)
        seconds = time.monotonic() - begun
    good = card.returncode == 1 and "Task 0.1" in card.stdout
    return [tell("first card", "at most 30 s", f"{seconds:.1f} s", good and seconds <= 30, "" if good else made.stderr + card.stderr)]


def test() -> list[str]:
    """`course test 0.1`."""
    with workspace(0, written=True) as mine:
        times = []
        for _ in range(REPEATS):
            seconds, done = seconds_of(sys.executable, "-m", "course", "test", "0.1", folder=mine)
            times.append(seconds)
            (mine / course().task("0.1").files[0]).touch()
    good = done.returncode == 0 and median(times) <= 2
    return [tell("course test 0.1", "at most 2 s", f"{median(times):.2f} s", good, f"{min(times):.2f} to {max(times):.2f}")]


def watch() -> list[str]:
    """A save of the first file of each task of Modules 0 and 1."""
    verdicts = []
    with workspace(1, written=True) as mine:
        for task in course().tasks:
            if task.stage > 1:
                continue
            run(sys.executable, "-m", "course", "start", task.id, folder=mine)
            with Watching(mine) as terminal:
                passed = f"Task {task.id} {task.title}: passed" in terminal.settle()
                times = []
                for _ in range(REPEATS):
                    time.sleep(2)  # the student reads, and the next process loads what it needs
                    times.append(terminal.saved(mine / task.files[0]))
                    passed = passed and f"Task {task.id} {task.title}: passed" in terminal.screen()
            spread = f"{min(times):.2f} to {max(times):.2f}"
            verdicts.append(tell(f"watch {task.id}", "at most 1.5 s", f"{median(times):.2f} s", passed and median(times) <= 1.5, spread))
    return verdicts


def a_class() -> list[str]:
    """A hundred submissions."""
    lost, what = course_class.graded_under_fire()
    return [tell("class of 100", "every one accounted for", f"{100 - len(lost)} of 100", not lost, "; ".join([what, *lost]))]


def reference() -> list[str]:
    """Everything right."""
    seconds, mark, points = course_class.reference_on_one_core()
    good = mark == points and seconds <= 180
    return [tell("full submission", "at most 180 s", f"{seconds:.0f} s", good, f"{mark:g} of {points:g} points, one core")]


ROWS: dict[str, Callable[[], list[str]]] = {
    "attacks": attacks,
    "forgers": forgers,
    "proven": proven,
    "first card": first_card,
    "test": test,
    "watch": watch,
    "class": a_class,
    "reference": reference,
}


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.course", description="What the course machine promises, measured.")
    parser.add_argument("--only", default="", help=f"rows whose name contains this: {', '.join(ROWS)} (all)")
    options = parser.parse_args(arguments)
    rows = [row for name, row in ROWS.items() if options.only in name]
    if not rows:
        parser.error(f"--only expected part of one of {', '.join(ROWS)}; got {options.only!r}")
    machine, cores = processor_and_cores()
    print(f"{date.today()}, {machine}, {cores} cores, Python {platform.python_version()}")
    print(f"{'what':22} {'asked':24} measured")
    verdicts: Counter[str] = Counter()
    for row in rows:
        verdicts.update(row())
    print_verdicts(verdicts)


if __name__ == "__main__":
    main()
