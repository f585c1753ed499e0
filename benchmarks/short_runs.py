"""What recording by default costs a short run and saves a long one: processor time of the training programs, relative to --eager.

    python -m benchmarks.short_runs --steps 1 20 100 1000 --repeats 7

Both forms run alternately, whole programs with their import, and children that fuse. With --empty, each run has an empty cache of
compiled kernels, which takes a minute. Without --steps also the programs as they are by default.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.rivals import MISSED, REACHED

ROOT = Path(__file__).parents[1]

PROGRAMS = {
    "run_fast_tensor": "--points 10 --epochs {}",
    "run_mnist_multiclass": "--limit 16 --epochs {}",
    "run_sentiment": "--train 10 --valid 10 --epochs {}",
    "run_gpt": "--length 0 --steps {}",
}
"""The programs, and options with which they make so many steps."""

MOST = 1.05
"""The goal: a run takes at most so many times as long as an eager one."""


def seconds(program: str, options: list[str], empty: bool) -> float:
    """Run a program; returns the processor time that it took, with its children."""
    with tempfile.TemporaryDirectory() as folder:
        cache = {"NUMBA_CACHE_DIR": folder} if empty else {}
        command = [sys.executable, str(ROOT / "project" / f"{program}.py"), *options]
        environment = os.environ | cache | {"MINITORCH_RUNS": folder}  # these are no runs of a student
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)} failed with status {process.returncode}; run it to see more")
    return usage.ru_utime + usage.ru_stime


def measure(program: str, steps: int | None, repeats: int, empty: bool) -> bool:
    """Measure a program and print its line; returns whether the goal is reached."""
    options = PROGRAMS[program].format(steps).split() if steps else []
    if not empty:
        seconds(program, options, False)  # compiles
    turns = [[seconds(program, [*options, *form], empty) for form in ([], ["--eager"])] for _ in range(repeats)]
    default, eager = map(min, zip(*turns, strict=True))  # other programs only add
    verdict = REACHED if default <= MOST * eager else MISSED
    print(f"{program:22} {steps or 'default':>7}  {default:8.2f} s  {eager:8.2f} s  {default / eager:6.3f}  {verdict}", flush=True)
    return verdict == REACHED


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the table; the exit status is 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.short_runs", description="Processor time of runs, relative to eager ones.")
    parser.add_argument("--steps", type=int, nargs="*", default=[1, 2, 5, 20, 100, None], metavar="N", help="lengths of the runs")
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="turns; each number is that of the fastest")
    parser.add_argument("--only", default="", metavar="NAME", help="programs whose name contains this")
    parser.add_argument("--empty", action="store_true", help="with an empty cache of compiled kernels for each run")
    given = parser.parse_args(arguments)
    print(f"{'program':22} {'steps':>7}  {'by default':>10}  {'--eager':>10}  {'ratio':>6}  goal {MOST}")
    chosen = [(program, steps) for program in PROGRAMS if given.only in program for steps in given.steps]
    reached = [measure(program, steps, given.repeats, given.empty) for program, steps in chosen]
    raise SystemExit(0 if all(reached) else 1)


if __name__ == "__main__":
    main()
