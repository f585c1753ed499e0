"""Runs tests in a copy of the repository, in a new process with a time limit and with the same random inputs every time."""

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
"""Processor time limit of a run in seconds."""

PATIENCE = 8
"""The wall time limit of a run, in multiples of its processor time limit: the machine may be busy."""

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
"""Starts pytest with the copy on the path and without the repository, which an editable install adds; ends it after the limit."""

_running: set[subprocess.Popen[bytes]] = set()

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Run:
    """The result of a run.

    Attributes:
        rows: The rows of the course's report, one for every test; None if pytest ended without a report.
        timed_out: Whether it exceeded its processor time limit.
        stopped: Whether it exceeded its wall time limit, which proves nothing on a busy machine.
        output: The end of the output of pytest.
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
        warm: A folder in which tests have run on other versions of some files; only files that differ are compiled again.
    """
    with tempfile.TemporaryDirectory(prefix="course-staff-", ignore_cleanup_errors=True) as folder:
        if warm is not None:
            shutil.copytree(warm, folder, dirs_exist_ok=True)  # keeps the modification times, by which numba recognizes sources
            files = {path: content for path, content in files.items() if (warm / path).read_bytes() != _bytes(content)}
        write_files(Path(folder), files)
        yield Path(folder)


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8")


def run_tests(folder: Path, arguments: Sequence[str], limit: float = LIMIT, environment: Mapping[str, str] | None = None) -> Run:
    """Run pytest in a folder.

    Args:
        folder: A copy of the repository or a handout.
        arguments: Arguments of pytest: files, `-m mark`, `-x`.
        limit: Processor time limit in seconds. After PATIENCE times this wall time, the process and its children are killed.
        environment: Variables added to the environment of this process.
    """
    report = folder / ".course" / "report.json"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHON", "HYPOTHESIS_"))}
    environment = {**inherited, **(environment or {}), "CI": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    start = [sys.executable, "-c", LAUNCH, str(ROOT), str(math.ceil(limit))]
    own = f"--basetemp={folder / '.course' / 'tmp'}"  # pytest removes old folders of the one that all runs would share
    command = [*start, "-q", "-p", "no:cacheprovider", own, f"--course-report={report}", *arguments]
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


def each(function: Callable[[A], B], items: Iterable[A], done: Callable[[B], object] = lambda result: None) -> list[B]:
    """The results of a function for every item, in order, computed on all cores.

    Args:
        function: The function; it is called in threads.
        items: What the function is called with.
        done: Called with each result, as soon as it is there.
    """
    executor = ThreadPoolExecutor(os.cpu_count())
    try:
        futures = [executor.submit(function, item) for item in items]
        for future in as_completed(futures):
            done(future.result())
        return [future.result() for future in futures]
    except BaseException:  # Ctrl-C as well: the tests run in their own sessions and do not receive it
        executor.shutdown(wait=False, cancel_futures=True)
        for process in tuple(_running):
            _kill(process)
        raise
    finally:
        executor.shutdown()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a run and its children; it may have ended already."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
