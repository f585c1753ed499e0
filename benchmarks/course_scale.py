"""How long a whole class takes to grade: measured on a small class, estimated for a large one, simulated for a cluster.

    python -m benchmarks.course_scale                     grade twenty submissions of all kinds, then estimate
    python -m benchmarks.course_scale graded/             estimate from results of `course-staff grade`
    python -m benchmarks.course_scale --seconds FILE      estimate from a JSON list of seconds, one for each submission

The estimate resamples the measured seconds with replacement. The simulation gives the next submission in the queue to the first
free worker, as `course-staff grade` and Dask do, and compares the makespan with the ideal: the total divided by the number of workers.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, quantiles

from benchmarks import course_class
from benchmarks.rivals import MISSED, REACHED, processor_and_cores
from course.manifest import ROOT, course
from course.staff.grading.bases import right_answer
from course.staff.grading.results import read_result
from course.staff.proofs.answers import FOLDER, apply_patch, load_answers
from course.workspace.function_source import graft

CLASS = 500
"""The number of submissions in the estimated class."""

CORES, HOURS = 2, 8.0
"""A night: this many hours on a machine with this many cores."""

WORKERS = (1, 2, 4, 8, 16, 32, 64)

TRIALS = 200
"""The number of classes that are sampled."""

ORDERS: dict[str, Callable[[Sequence[float], random.Random], list[float]]] = {
    "any order": lambda seconds, rng: rng.sample(seconds, len(seconds)),
    "longest first": lambda seconds, rng: sorted(seconds, reverse=True),
    "longest last": lambda seconds, rng: sorted(seconds),
}
"""Queue orders. Grading times are unknown beforehand: the second order is the best that an estimate could reach, the third the worst."""


# The class


def mixed_class(seed: int = 0) -> dict[str, Mapping[str, str]]:
    """The files of twenty submissions by name: right, with one to six wrong tasks, unfinished after a random task, and one that hangs."""
    rng, manifest = random.Random(seed), course()
    bank = load_answers(FOLDER, manifest.tasks)
    right: dict[str, str | bytes] = {path: data.decode() for path, data in right_answer(ROOT, manifest).items()}
    found: dict[str, Mapping[str, str | bytes]] = {f"right{number}": _marked(right, number) for number in range(6)}
    for number in range(8):
        files: Mapping[str, str | bytes] = _marked(right, number)
        for task in rng.sample(manifest.tasks, 1 + number % 6):
            files = apply_patch(rng.choice([answer for answer in bank if answer.task == task.id]), files)
        found[f"wrong{number}"] = files
    for number in range(5):
        files = dict(right)
        for task in manifest.tasks[rng.randrange(4, 22) :]:
            for path in task.files:
                stubs = {name: _stub(name, task.id) for name in task.names_in(path) if not path.startswith("tests/")}
                files[path] = graft(str(files[path]), stubs)
        found[f"unfinished{number}"] = _marked(files, number)
    hanging = {"minitorch/operators.py": graft(str(right["minitorch/operators.py"]), {"relu": course_class.HOSTILE["hangs"]})}
    found["hangs"] = right | hanging
    return {name: {path: str(text) for path, text in files.items()} for name, files in found.items()}


def _marked(files: Mapping[str, str | bytes], number: int) -> dict[str, str | bytes]:
    """Return the files with a comment that makes each submission unique."""
    return {path: f"{text}\n# {number}\n" for path, text in files.items()}


def _stub(name: str, task: str) -> str:
    return f'def {name.rpartition(".")[2]}():\n    raise NotImplementedError("Need to implement for Task {task}")\n'


def measure() -> dict[str, float]:
    """Grade the mixed class with one worker, and return the seconds by submission."""
    with tempfile.TemporaryDirectory(prefix="course-bench-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        for submission, files in mixed_class().items():
            course_class.zipped(folder / "in" / f"{submission}.zip", files)
        results = course_class.graded(folder / "in", folder / "out", "--workers=1")
    return {submission: result.seconds for submission, result in results.items()}


def seconds_in(graded: Path) -> dict[str, float]:
    """Return the seconds by submission, from the folder that `course-staff grade` wrote."""
    results = [read_result(path) for path in sorted((graded / "results").glob("*.json"))]
    return {result.submission: result.seconds for result in results}


# Estimate and simulation


def makespan(queue: Sequence[float], workers: int) -> float:
    """Return when the last submission is graded, if the first free worker always takes the next one."""
    free = [0.0] * workers
    for seconds in queue:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def drawn(seconds: Sequence[float], rng: random.Random) -> list[float]:
    """Sample a class from measured submissions."""
    return rng.choices(seconds, k=CLASS)


def print_estimate(seconds: Sequence[float], rng: random.Random) -> None:
    """Print how long the class takes on two cores, with the spread over the sampled classes."""
    hours = quantiles((sum(drawn(seconds, rng)) / CORES / 3600 for _ in range(TRIALS)), n=20)
    print(f"{len(seconds)} submissions: mean {fmean(seconds):.0f} s, median {median(seconds):.0f} s, longest {max(seconds):.0f} s")
    verdict = REACHED if hours[-1] <= HOURS else MISSED
    spread = f"{hours[0]:.1f} to {hours[-1]:.1f} in 90 % of draws"
    print(f"{CLASS} on {CORES} cores: {median(hours):.1f} h ({spread}); at most {HOURS:g} h: {verdict}")


def print_simulation(seconds: Sequence[float], rng: random.Random) -> None:
    """Print the makespan as a multiple of the ideal one, the median and the 95th percentile, for each number of workers and order."""
    print(f"makespan / ideal, {CLASS} submissions, median (95th percentile) of {TRIALS} draws")
    print(f"{'workers':>8}  " + "  ".join(f"{order:>15}" for order in ORDERS))
    for workers in WORKERS:
        cells = []
        for order in ORDERS.values():
            ratios = []
            for _ in range(TRIALS):
                group = drawn(seconds, rng)
                ratios.append(makespan(order(group, rng), workers) * workers / sum(group))
            cells.append(f"{median(ratios):.2f} ({quantiles(ratios, n=20)[-1]:.2f})")
        print(f"{workers:>8}  " + "  ".join(f"{cell:>15}" for cell in cells))


def main(arguments: list[str] | None = None) -> None:
    """Measure or read the times, then print the estimate."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.course_scale", description="How long a whole class takes to grade.")
    parser.add_argument("graded", nargs="?", type=Path, help="a folder that `course-staff grade` wrote (grade twenty submissions)")
    parser.add_argument("--seconds", type=Path, help="a JSON list of seconds, one for each submission")
    parser.add_argument("--seed", type=int, default=0, help="seed of the samples (0)")
    options = parser.parse_args(arguments)
    if options.seconds:
        seconds = json.loads(options.seconds.read_text(encoding="utf-8"))
    else:
        measured = seconds_in(options.graded) if options.graded else measure()
        for name, taken in sorted(measured.items(), key=lambda item: item[1]):
            print(f"{taken:8.1f} s  {name}")
        seconds = list(measured.values())
    if len(seconds) < 2:
        parser.error(f"expected at least two graded submissions, got {len(seconds)}; grade more, or omit the folder")
    machine, cores = processor_and_cores()
    print(f"{machine}, {cores} cores, --seed {options.seed}")
    rng = random.Random(options.seed)
    print_estimate(seconds, rng)
    print_simulation(seconds, rng)


if __name__ == "__main__":
    main()
