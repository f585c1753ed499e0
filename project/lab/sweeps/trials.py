"""How a trial runs: a training program in a process and a folder of its own, whose run file contains the result."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path

from course.manifest import ROOT
from project.lab.sweeps.store import Outcome, Request, Trial
from project.lab.training.run_files import FORMAT, MOST_CHARACTERS, RunFile

PROJECT = ROOT / "project"

PROGRAMS = ("run_scalar", "run_tensor", "run_fast_tensor", "run_playground", "run_mnist_multiclass", "run_sentiment", "run_gpt")
"""The programs that write run files."""

TICK = 0.05
"""Seconds from one look at the processes to the next."""

Events = Generator[tuple[Trial, Outcome] | None, None, None]
"""Trials as they finish; None while there is no new one."""


def present() -> list[str]:
    """Return the programs of this workspace, which may end after any module."""
    return [program for program in PROGRAMS if (PROJECT / f"{program}.py").is_file()]


def options(program: str) -> list[str]:
    """Return the names of a program's options, with underscores.

    Raises:
        ValueError: If the program cannot be imported; the message is the last line of its error.
    """
    environment = os.environ | {"COLUMNS": "200", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}  # no name is cut or colored
    command = [sys.executable, str(PROJECT / f"{program}.py"), "--help"]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(f"{program}.py does not start: {_last_line(done.stderr) or f'it ended with status {done.returncode}'}")
    return [name.replace("-", "_") for name in re.findall(r"(?m)^\W*--([a-z][a-z-]*)", done.stdout.decode("utf-8", "replace"))]


def check_options(program: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Check the names of options.

    Raises:
        ValueError: If the program has no such option; the message is one line.
    """
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"run: python project/{program}.py --help"
            raise ValueError(f"expected an option of {program}.py, got {name!r}; {hint}")


class Process:
    """A trial that is running. It trains in a session of its own, so that Ctrl-C in the terminal reaches only the sweep, which ends it.

    It prints its log to a pipe. If the sweep is killed, nobody holds the other end, and the next line ends the trial.

    Args:
        program: A file in project/, without .py.
        flags: Its command-line options.
        threads: Number of threads of its compiled kernels.

    Raises:
        OSError: If the process or its folder cannot be created.
    """

    def __init__(self, program: str, flags: Sequence[str], threads: int) -> None:
        self._program = program
        self._folder = tempfile.TemporaryDirectory(prefix="minitorch-trial-")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed together with the folder
        self._begun = time.monotonic()
        variables = {"MINITORCH_RUNS": self._folder.name, "NUMBA_NUM_THREADS": str(threads), "PYTHONIOENCODING": "utf-8"}
        self._process = subprocess.Popen(
            [sys.executable, str(PROJECT / f"{program}.py"), *flags],
            cwd=ROOT,
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        assert self._process.stdout
        self._log = self._process.stdout
        os.set_blocking(self._log.fileno(), False)

    def poll(self) -> Outcome | None:
        """Return what the trial reached; None while it is running. Its log is not kept."""
        self._log.read()
        if self._process.poll() is None:
            return None
        outcome = self._outcome(self._process.returncode)
        self.stop()
        return outcome

    def stop(self) -> None:
        """Kill the program and what it has started, and remove its folder; do nothing if this was done before."""
        if self._errors.closed:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has just ended
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()
        self._errors.close()
        self._folder.cleanup()

    def _outcome(self, status: int) -> Outcome:
        """Return what the trial reached, from its run file, its exit status and its error output."""
        run = _read_run(Path(self._folder.name))
        self._errors.seek(0)
        said = _last_line(self._errors.read()).removeprefix(f"{self._program}.py: ")
        metrics = {} if run is None else {name: run.last(name) for name in run.curves if name != run.unit}
        if status or run is None:
            ended = f"it was killed by signal {-status}; is there enough memory?" if status < 0 else f"it ended with status {status}"
            error = (run.note if run else "") or said or (ended if status else "it wrote no run file")
        elif run.status != "finished":
            error = f"it ended after {run.finished} of {run.total} {run.unit}s"
        else:
            error = next((f"{name} became infinite or not a number" for name, value in metrics.items() if value is None), "")
        seconds = run.seconds if run else time.monotonic() - self._begun
        return Outcome(error[:MOST_CHARACTERS], metrics, seconds, run.command if run else "")


def run_here(request: Request, trials: Sequence[Trial], *, jobs: int, threads: int) -> Events:
    """Run trials on this machine. Closing the generator ends those that are running.

    Args:
        request: The sweep.
        trials: The trials.
        jobs: Number of trials that run at the same time.
        threads: Number of threads of each.

    Yields:
        A trial that has finished, or None at least every TICK seconds, so that the caller can stop.

    Raises:
        OSError: If a process cannot be started.
    """
    waiting, running = deque(trials), list[tuple[Trial, Process]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                trial = waiting.popleft()
                running.append((trial, Process(request.program, request.flags(trial), threads)))
            for trial, process in list(running):
                if outcome := process.poll():
                    running.remove((trial, process))
                    yield trial, outcome
            yield None
            time.sleep(TICK)
    finally:
        for _, process in running:
            process.stop()


def _read_run(folder: Path) -> RunFile | None:
    """Return the run in a folder; None if there is none."""
    for path in folder.glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.pop("format") == FORMAT:
            return RunFile(**document)
    return None


def _last_line(output: bytes) -> str:
    """Return the last line of a program's error output that is not empty."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")
