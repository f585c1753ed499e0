"""Runs jobs in worker processes; the job of a worker that dies is retried.

A worker reads jobs and writes messages, each as one line of JSON. It is started with the name of a class; calling the class with the
settings returns a function that does a job. A worker ends when its parent process is gone.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import selectors
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from course.manifest import ROOT
from course.runner import platforms
from course.staff import StaffError
from course.staff.sandbox.monitor import SandboxError

MAX_DEATHS = 3
"""A job fails when so many workers have died while doing it."""

MAX_TROUBLES = 3
"""A job fails when the sandbox has failed so many times."""

POLL_SECONDS = 1.0
"""Maximum time to wait for messages."""


@dataclass
class Job:
    """A job.

    Attributes:
        name: Its name.
        data: The data for the worker, as JSON.
        deaths: How many workers have died while doing it.
        troubles: How often the sandbox has failed.
    """

    name: str
    data: Mapping[str, Any]
    deaths: int = 0
    troubles: int = 0


@dataclass
class JobResult:
    """The end of a job.

    Attributes:
        job: The job.
        killed: The last error of the worker, if the job kills workers.
        trouble: Why the sandbox fails, if it does.
    """

    job: Job
    killed: str | None = None
    trouble: str = ""


@dataclass
class _Worker:
    """A worker process."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    job: Job | None = None
    unread: bytearray = field(default_factory=bytearray)

    def assign(self, job: Job) -> None:
        """Send it a job; a dead worker is detected later."""
        self.job = job
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(job.data).encode() + b"\n")
            self.process.stdin.flush()

    def last_error(self) -> str:
        """The last line on its standard error."""
        self.errors.seek(0)
        lines = self.errors.read()[-4000:].decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with status {self.process.returncode}"

    def end(self) -> None:
        """Kill it and all processes that it has started."""
        platforms.kill_tree(self.process)  # type: ignore[arg-type]  # bytes or text makes no difference
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()


def run_jobs(
    jobs: Iterator[Job],
    count: int,
    worker: str,
    settings: Mapping[str, Any],
    is_done: Callable[[Job], bool],
    on_message: Callable[[Job, Mapping[str, Any]], object],
    scratch: Path,
) -> Iterator[JobResult]:
    """Run jobs in worker processes, and yield how each ended.

    Args:
        jobs: The jobs; the next one is requested when a worker is free.
        count: Maximum number of workers.
        worker: The class that does the jobs, such as "course.staff.grading.grader:Grader".
        settings: The argument for the class.
        is_done: Whether the output of a job exists although its worker died.
        on_message: Called with the progress messages of workers.
        scratch: A folder for their temporary files.

    Raises:
        StaffError: If a worker reports that the repository is inconsistent.
    """
    retries: deque[Job] = deque()
    workers: list[_Worker] = []
    more = True
    try:
        with selectors.DefaultSelector() as selector:
            while more or retries or any(one.job for one in workers):
                while retries or more:
                    free = next((one for one in workers if one.job is None), None)
                    if free is None and len(workers) >= count:
                        break
                    job = retries.popleft() if retries else next(jobs, None)
                    if job is None:
                        more = False
                        break
                    if free is None:
                        free = _start_worker(worker, settings, scratch)
                        workers.append(free)
                        assert free.process.stdout is not None
                        selector.register(free.process.stdout, selectors.EVENT_READ, free)
                    free.assign(job)
                for key, _ in selector.select(POLL_SECONDS) if selector.get_map() else ():
                    one: _Worker = key.data
                    piece = os.read(key.fd, 1 << 16)
                    if not piece:
                        selector.unregister(key.fileobj)
                        workers.remove(one)
                        yield from _handle_death(one, retries, is_done)
                    one.unread += piece
                    while b"\n" in one.unread:
                        line, _, rest = bytes(one.unread).partition(b"\n")
                        one.unread = bytearray(rest)
                        yield from _handle_message(one, json.loads(line), retries, on_message)
    finally:
        for one in workers:
            one.end()


def _handle_death(one: _Worker, retries: deque[Job], is_done: Callable[[Job], bool]) -> Iterator[JobResult]:
    """Retry the job of a dead worker, or end it."""
    one.process.wait()
    error, job = one.last_error(), one.job
    one.end()
    if job is None:
        return
    if is_done(job):
        yield JobResult(job)
        return
    job.deaths += 1
    if job.deaths < MAX_DEATHS:
        retries.append(job)
    else:
        yield JobResult(job, killed=error)


def _handle_message(
    one: _Worker, message: Mapping[str, Any], retries: deque[Job], on_message: Callable[[Job, Mapping[str, Any]], object]
) -> Iterator[JobResult]:
    """Handle a message from a worker."""
    job = one.job
    if job is None:
        return
    if message.get("kind") == "error":
        raise StaffError(str(message["message"]))
    if message.get("kind") == "done":
        one.job = None
        yield JobResult(job)
    elif message.get("kind") == "trouble":
        one.job = None
        job.troubles += 1
        if job.troubles < MAX_TROUBLES:
            retries.append(job)
        else:
            yield JobResult(job, trouble=str(message["message"]))
    else:
        on_message(job, message)


def _start_worker(worker: str, settings: Mapping[str, Any], scratch: Path) -> _Worker:
    """Start a worker process."""
    errors = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115  # closed with the worker
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, "-m", "course.staff.grading.workers"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(scratch)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,  # keeps Ctrl-C in the terminal from it
    )
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps({"worker": worker, "settings": settings}).encode() + b"\n")
        process.stdin.flush()
    return _Worker(process, errors)


# In the worker


def main() -> None:
    """Do jobs until the input ends."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # keeps other prints out of the messages
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(lines,), daemon=True).start()
    first = json.loads(lines.get())
    module, _, name = first["worker"].partition(":")

    def tell(kind: str, **words: object) -> None:
        output.write(json.dumps({"kind": kind, **words}) + "\n")

    do: dict[str, Callable[..., object]] = {}
    while True:
        job = json.loads(lines.get())
        try:
            if name not in do:
                do[name] = getattr(importlib.import_module(module), name)(first["settings"])
            do[name](job, tell)
        except SandboxError as error:
            tell("trouble", message=str(error))
        except (StaffError, OSError) as error:
            tell("error", message=str(error))
        else:
            tell("done")


def _read_lines(lines: queue.SimpleQueue[str]) -> None:
    """Put lines into the queue; end the process at the end of the input, even during a job."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
