"""Watches a sandboxed program from outside: enforces its limits on time, memory, files and output, and kills all its processes."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import math
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from course.staff import StaffError

PERIOD = 0.05
"""Seconds between two checks of a program's resources."""

OVERHEAD = 8
"""Number of processes of bubblewrap and the shell, which count toward the program's limit."""

KILL_SECONDS = 5.0
"""Seconds within which a killed program must be gone and its pipes closed."""


class SandboxError(StaffError):
    """The sandbox itself fails, which says nothing about the program."""

    next = "course-staff grade-doctor"


@dataclass(frozen=True)
class Limits:
    """Resource limits of a program; it is killed if it exceeds one.

    Attributes:
        seconds: Wall time.
        memory: Bytes of memory of all its processes together.
        processes: Number of processes and threads.
        file_size: Bytes of its largest file.
        output: Bytes of printed output.
        disk: Bytes in its private folder.
        files: Number of files in its private folder.
        collected: Bytes of the collected file.
        mapped: Bytes of address space per process; None for the same as `memory`. A thread reserves 8 MB for its stack.
    """

    seconds: float = 10.0
    memory: int = 2 << 30
    processes: int = 64
    file_size: int = 16 << 20
    output: int = 64 << 10
    disk: int = 64 << 20
    files: int = 10_000
    collected: int = 4 << 20
    mapped: int | None = None


@dataclass(frozen=True)
class RunResult:
    """The outcome of a run.

    Attributes:
        status: The exit status; negative for a signal, as in subprocess.
        reason: "ended" if the program ended by itself, or the limit that it exceeded: "time", "memory", "output", "files", "processes".
        seconds: Wall time.
        output: The printed output, up to the limit.
        collected: The collected file; None if it does not exist or is too large.
        memory: The highest memory use that was observed, in bytes.
    """

    status: int
    reason: str
    seconds: float
    output: str
    collected: bytes | None = field(default=None, repr=False)
    memory: int = 0


class Guard:
    """Watches a running program, and kills it when it exceeds a limit.

    Args:
        process: The process, which must lead its own session.
        limits: The limits of the program.
        status: The file descriptor of the sandbox's reports.
        collected: The file descriptor of the collected file, if any.
        scratch: The private folder, if this process can see it.
        contained: Whether the sandbox reports the process id and the exit status of the program, as bubblewrap does.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], limits: Limits, status: int, collected: int | None, scratch: Path | None, contained: bool
    ) -> None:
        self.process = process
        self.limits = limits
        self.contained = contained
        self.scratch = scratch
        self.reason = ""
        self.memory = 0
        self.start = time.monotonic()
        assert process.stdout is not None
        self._output, self._status = process.stdout.fileno(), status
        self._read: dict[int, bytearray] = {self._output: bytearray(), status: bytearray()}
        self._collected = collected
        if collected is not None:
            self._read[collected] = bytearray()
        self._last_check = 0.0
        self._lock = threading.Lock()

    @property
    def output(self) -> str:
        """What the program has printed so far, up to the limit."""
        return bytes(self._read[self._output][: self.limits.output]).decode(errors="replace")

    def watch(self) -> RunResult:
        """Wait until the program ends or exceeds a limit; returns the outcome.

        Raises:
            SandboxError: If the sandbox could not be set up.
        """
        with selectors.DefaultSelector() as selector:
            for descriptor in self._read:
                os.set_blocking(descriptor, False)
                selector.register(descriptor, selectors.EVENT_READ)
            try:
                deadline = math.inf
                while (selector.get_map() or not self._has_exited()) and time.monotonic() < deadline:
                    for key, _ in selector.select(PERIOD):
                        self._receive(selector, key.fd)
                    if not self.reason:
                        self._check_limits()
                    if deadline == math.inf and (self.reason or self._has_exited()):
                        self._end()
                        deadline = time.monotonic() + KILL_SECONDS
            finally:
                self._end()
                with self._lock:
                    self.process.wait()
        return self._result()

    def stop(self, reason: str) -> None:
        """Kill the program for this reason, unless there already is a reason."""
        self.reason = self.reason or reason
        self._end()

    def _receive(self, selector: selectors.BaseSelector, descriptor: int) -> None:
        """Read available data, up to the limit."""
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            selector.unregister(descriptor)
            return
        buffer = self._read[descriptor]
        most = {self._output: self.limits.output, self._collected: self.limits.collected}.get(descriptor, 1 << 16)
        if len(buffer) <= most:
            buffer += data
        if descriptor == self._output and len(buffer) > most:
            self.stop("output")

    def _check_limits(self) -> None:
        """Compare the program's resource use with its limits."""
        now = time.monotonic()
        if now - self.start > self.limits.seconds:
            self.stop("time")
        if now - self._last_check < PERIOD:
            return
        self._last_check = now
        processes = list(_process_tree(self.process.pid))
        self.memory = max(self.memory, sum(_memory_of(pid) for pid in processes))
        if self.memory > self.limits.memory:
            self.stop("memory")
        elif sum(map(_threads, processes)) > self.limits.processes + OVERHEAD:
            self.stop("processes")
        elif self._is_over_disk_limit(processes):
            self.stop("files")

    def _is_over_disk_limit(self, processes: Iterable[int]) -> bool:
        """Whether the private folder is too large; bubblewrap limits its size, but not the number of its files."""
        if self.scratch is not None:
            files = size = 0
            for entry_size in itertools.chain(_sizes(self.scratch), _deleted_sizes(processes, self.scratch)):
                files, size = files + 1, size + entry_size
                if files > self.limits.files or size > self.limits.disk:
                    return True
            return False
        if (inside := self._report().get("child-pid")) is None:
            return False
        used = 0
        seen_inside = Path("/proc", str(inside), "root")
        for folder in ("tmp", "dev/shm"):
            with contextlib.suppress(OSError):
                filled = os.statvfs(seen_inside / folder)
                if filled.f_blocks * filled.f_frsize <= self.limits.disk + filled.f_frsize:  # otherwise it is not mounted yet
                    used += filled.f_files - filled.f_ffree
        return used > self.limits.files

    def _has_exited(self) -> bool:
        """Whether the process has ended. It is not reaped, so its process id cannot be reused."""
        if not hasattr(os, "waitid"):  # macOS
            return self.process.poll() is not None
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _end(self) -> None:
        """Kill all processes of the sandbox."""
        with self._lock:
            if self.process.returncode is not None:
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if self.contained and not self._has_exited():
                    self._end_inside()
                os.killpg(self.process.pid, signal.SIGKILL)

    def _end_inside(self) -> None:
        """Kill bubblewrap's child, the first process of a namespace and therefore all of the namespace, and let bubblewrap reap it.

        The kernel also kills the child when bubblewrap is killed, but not if that happens before bubblewrap has requested it. And where no
        process reaps orphans, as in many containers, zombies would remain and count toward their user's limit.
        """
        bubblewrap = self.process.pid
        os.kill(bubblewrap, signal.SIGSTOP)  # so that it starts no further child
        self._wait(lambda: _state(bubblewrap) in "TZX")
        children = _children(bubblewrap)
        for child in children:
            os.kill(child, signal.SIGKILL)
        if children:
            os.kill(bubblewrap, signal.SIGCONT)
            self._wait(self._has_exited)

    def _wait(self, until: Callable[[], bool]) -> None:
        """Wait until a condition holds, up to `KILL_SECONDS`."""
        end = time.monotonic() + KILL_SECONDS
        while not until() and time.monotonic() < end:
            time.sleep(0.001)

    def _report(self) -> dict:
        """The reports of the sandbox, merged. They are lines of JSON, of which the last may be incomplete."""
        report: dict = {}
        for line in bytes(self._read[self._status]).splitlines():
            with contextlib.suppress(ValueError):
                report |= json.loads(line)
        return report

    def _result(self) -> RunResult:
        """The outcome of the run."""
        report, seconds = self._report(), time.monotonic() - self.start
        if "error" in report:
            raise SandboxError(f"the sandbox could not be set up: {report['error']}")
        status = self.process.returncode
        if self.contained:
            if "exit-code" not in report and not self.reason:
                raise SandboxError(f"the sandbox could not be set up: {self.output.strip() or f'bubblewrap ended with status {status}'}")
            status = report.get("exit-code", -signal.SIGKILL)
            status = 128 - status if 128 < status <= 192 else status  # a shell's exit status for a signal
        collected = None
        if self._collected is not None:
            data = bytes(self._read[self._collected])
            collected = data if 0 < len(data) <= self.limits.collected else None
        return RunResult(status, self.reason or "ended", seconds, self.output, collected, self.memory)


def _children(pid: int) -> list[int]:
    """The ids of a process's children."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii").split())
    return found


def _process_tree(pid: int) -> Iterator[int]:
    """The ids of a process and all its descendants."""
    yield pid
    for child in _children(pid):
        yield from _process_tree(child)


def _state(pid: int) -> str:
    """The state letter of a process: T if it is stopped, X if it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    return "X"


def _memory_of(pid: int) -> int:
    """Memory of a process in bytes, without mapped files; 0 if it has ended."""
    size = 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
        for line in status:
            if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")):
                size += int(line.split()[1]) << 10
    return size


def _threads(pid: int) -> int:
    """Number of threads of a process; 0 if it has ended."""
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))
    return 0


def _deleted_sizes(processes: Iterable[int], folder: Path) -> Iterator[int]:
    """Sizes of the deleted files in a folder that processes still hold open; they use disk space, but no folder lists them."""
    for pid in processes:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                with contextlib.suppress(OSError):
                    target = os.readlink(descriptor.path)
                    if target.startswith(f"{folder}/") and target.endswith(" (deleted)"):
                        yield os.stat(descriptor.path).st_size


def _sizes(folder: Path) -> Iterator[int]:
    """Sizes of all files and folders below a folder. A path that is too long to inspect counts as a full disk."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        yield entry.stat(follow_symlinks=False).st_size
        except OSError as error:  # the folder may just have been deleted
            if error.errno == errno.ENAMETOOLONG:
                yield sys.maxsize
