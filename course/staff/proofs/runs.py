"""Tests of a task run in a copy of the repository, in a process of their own, with a time limit and always with the same random inputs."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from course.manifest import ROOT
from course.staff.handout.generate import write_files

LIMIT = 90.0
"""Seconds of computing that one run may take."""

PATIENCE = 8
"""So many times that long a run may take by the clock, for the machine may have other things to do."""

LAUNCH = """
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), int(sys.argv[2]) + 5))
except ImportError:
    pass
sys.path[:] = ['', *(p for p in sys.path[1:] if p != sys.argv[1])]
import pytest
sys.exit(pytest.main(sys.argv[3:]))
"""
"""Starts pytest with the copy on the path, and without the repository, which an editable install puts there; ends it after the limit."""

_running: set[subprocess.Popen[bytes]] = set()

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Run:
    """How the tests ended.

    Attributes:
        rows: The rows of the course's report, one a test; None if pytest ended without writing it.
        timed_out: Whether it has computed for longer than the limit.
        stopped: Whether it was stopped because it took too long by the clock, of which nothing follows on a busy machine.
        output: The end of what pytest printed.
    """

    rows: list[dict[str, Any]] | None
    timed_out: bool
    output: str
    stopped: bool = False


@contextmanager
def copy(files: Mapping[str, str | bytes], warm: Path | None = None) -> Iterator[Path]:
    """A temporary folder with these files.

    Args:
        files: By path.
        warm: A folder with other versions of some of them, in which tests have run: what was compiled there need not be compiled again,
            except in files that differ.
    """
    with tempfile.TemporaryDirectory(prefix="course-staff-", ignore_cleanup_errors=True) as folder:
        if warm is not None:
            shutil.copytree(warm, folder, dirs_exist_ok=True)  # with the times of files, by which numba recognizes sources
            files = {path: content for path, content in files.items() if (warm / path).read_bytes() != _bytes(content)}
        write_files(Path(folder), files)
        yield Path(folder)


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8")


def run_tests(folder: Path, arguments: Sequence[str], limit: float = LIMIT, environment: Mapping[str, str] | None = None) -> Run:
    """Run pytest in a folder.

    Args:
        folder: A copy of the repository, or a handout.
        arguments: Files, `-m mark`, `-x` …
        limit: Seconds of computing after which it is ended; PATIENCE times as long by the clock, and it is stopped with all processes
            that it started.
        environment: What the process finds in its environment besides this one's.
    """
    report = folder / ".course" / "report.json"
    report.unlink(missing_ok=True)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHON", "HYPOTHESIS_"))}
    environment = {**inherited, **(environment or {}), "CI": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    start = [sys.executable, "-c", LAUNCH, str(ROOT), str(math.ceil(limit))]
    command = [*start, "-q", "-p", "no:cacheprovider", f"--course-report={report}", *arguments]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    stopped = False
    _running.add(process)
    try:
        output, _ = process.communicate(timeout=PATIENCE * limit)
    except subprocess.TimeoutExpired:
        stopped = True
        _kill(process)
        output, _ = process.communicate()
    finally:
        _running.discard(process)
    rows = json.loads(report.read_text(encoding="utf-8"))["tests"] if report.is_file() else None
    timed_out = process.returncode == -getattr(signal, "SIGXCPU", 0)
    return Run(rows, timed_out, output.decode(errors="replace")[-4000:], stopped)


def each(function: Callable[[A], B], items: Iterable[A], done: Callable[[], object] = lambda: None) -> list[B]:
    """The function of every item, in order, computed on all cores.

    Args:
        function: What to call, in threads.
        items: Its arguments.
        done: Called after each.
    """
    executor = ThreadPoolExecutor(os.cpu_count())
    try:
        futures = [executor.submit(function, item) for item in items]
        for future in as_completed(futures):
            future.result()
            done()
        return [future.result() for future in futures]
    except BaseException:  # Ctrl-C, too: the tests run in sessions of their own and would not notice
        executor.shutdown(wait=False, cancel_futures=True)
        for process in tuple(_running):
            _kill(process)
        raise
    finally:
        executor.shutdown()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a run and what it has started; it may just have ended by itself."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
