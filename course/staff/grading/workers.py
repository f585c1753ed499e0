"""Work done by other processes, which may die at any moment: what one of them was at is taken up again.

A worker reads jobs and writes what it has to tell, a line of JSON each. It is started with the name of a class: called with the settings
it must give a function that does a job. When the process that gave the jobs is gone, it ends, too.
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

DEATHS = 3
"""So many workers may die over a job."""

TROUBLES = 3
"""So many times a job is tried if the sandbox fails."""

PERIOD = 1.0
"""Seconds between two looks at what nobody tells."""


@dataclass
class Job:
    """Something to do.

    Attributes:
        name: What it is called.
        data: What the worker is told, as JSON.
        deaths: How many workers have died over it.
        troubles: How often the sandbox has failed.
    """

    name: str
    data: Mapping[str, Any]
    deaths: int = 0
    troubles: int = 0


@dataclass
class Ended:
    """How a job ended.

    Attributes:
        job: The job.
        killed: The last words of the worker, if the job kills workers.
        trouble: Why the sandbox does not work, if it does not.
    """

    job: Job
    killed: str | None = None
    trouble: str = ""


@dataclass
class _Worker:
    """A process that does jobs."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    job: Job | None = None
    unread: bytearray = field(default_factory=bytearray)

    def give(self, job: Job) -> None:
        """Tell it what to do; if it is gone, that is noticed later."""
        self.job = job
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(job.data).encode() + b"\n")
            self.process.stdin.flush()

    def last_words(self) -> str:
        """The end of what it said on its errors."""
        self.errors.seek(0)
        lines = self.errors.read()[-4000:].decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with status {self.process.returncode}"

    def end(self) -> None:
        """End it with all that it has started."""
        platforms.kill_tree(self.process)  # type: ignore[arg-type]  # of bytes or text, it is a process
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
    told: Callable[[Job, Mapping[str, Any]], object],
    scratch: Path,
) -> Iterator[Ended]:
    """Have jobs done, and say of each how it ended.

    Args:
        jobs: What is to do; the next is asked for when a worker is free.
        count: So many workers at a time.
        worker: The class of what they do, "course.staff.grading.grader:Grader".
        settings: What it is called with.
        is_done: Whether what a job must leave is there, although its worker died.
        told: Called with what workers tell while they are at it.
        scratch: A folder for their temporary files.

    Raises:
        StaffError: If a worker finds that the repository does not fit together.
    """
    again: deque[Job] = deque()
    workers: list[_Worker] = []
    more = True
    try:
        with selectors.DefaultSelector() as selector:
            while more or again or any(one.job for one in workers):
                while again or more:
                    free = next((one for one in workers if one.job is None), None)
                    if free is None and len(workers) >= count:
                        break
                    job = again.popleft() if again else next(jobs, None)
                    if job is None:
                        more = False
                        break
                    if free is None:
                        free = _started(worker, settings, scratch)
                        workers.append(free)
                        assert free.process.stdout is not None
                        selector.register(free.process.stdout, selectors.EVENT_READ, free)
                    free.give(job)
                for key, _ in selector.select(PERIOD) if selector.get_map() else ():
                    one: _Worker = key.data
                    piece = os.read(key.fd, 1 << 16)
                    if not piece:
                        selector.unregister(key.fileobj)
                        workers.remove(one)
                        yield from _died(one, again, is_done)
                    one.unread += piece
                    while b"\n" in one.unread:
                        line, _, rest = bytes(one.unread).partition(b"\n")
                        one.unread = bytearray(rest)
                        yield from _heard(one, json.loads(line), again, told)
    finally:
        for one in workers:
            one.end()


def _died(one: _Worker, again: deque[Job], is_done: Callable[[Job], bool]) -> Iterator[Ended]:
    """What follows when a worker is gone."""
    one.process.wait()
    words, job = one.last_words(), one.job
    one.end()
    if job is None:
        return
    if is_done(job):
        yield Ended(job)
        return
    job.deaths += 1
    if job.deaths < DEATHS:
        again.append(job)
    else:
        yield Ended(job, killed=words)


def _heard(one: _Worker, news: Mapping[str, Any], again: deque[Job], told: Callable[[Job, Mapping[str, Any]], object]) -> Iterator[Ended]:
    """What follows from what a worker tells."""
    job = one.job
    if job is None:
        return
    if news.get("kind") == "error":
        raise StaffError(str(news["message"]))
    if news.get("kind") == "done":
        one.job = None
        yield Ended(job)
    elif news.get("kind") == "trouble":
        one.job = None
        job.troubles += 1
        if job.troubles < TROUBLES:
            again.append(job)
        else:
            yield Ended(job, trouble=str(news["message"]))
    else:
        told(job, news)


def _started(worker: str, settings: Mapping[str, Any], scratch: Path) -> _Worker:
    """A new process."""
    errors = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115  # it lives as long as the worker
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, "-m", "course.staff.grading.workers"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(scratch)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,  # Ctrl-C in the terminal does not reach it
    )
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps({"worker": worker, "settings": settings}).encode() + b"\n")
        process.stdin.flush()
    return _Worker(process, errors)


# In the worker


def main() -> None:
    """Do jobs until there are no more."""
    tells = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # whatever else prints does not come between
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    first = json.loads(lines.get())
    module, _, name = first["worker"].partition(":")

    def tell(kind: str, **words: object) -> None:
        tells.write(json.dumps({"kind": kind, **words}) + "\n")

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


def _listen(lines: queue.SimpleQueue[str]) -> None:
    """Pass lines on; end the process when no more can come, whatever it is at."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
