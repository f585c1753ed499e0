"""Watching a sandboxed program from outside: its time, memory, files and output, and its end, which it does not survive."""

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
"""Seconds between two looks at what a program holds."""

OVERHEAD = 8
"""Processes of bubblewrap and the shell, which count for the program."""

LAST_WORDS = 5.0
"""Seconds within which a program that was killed must be gone, and its pipes closed."""


class SandboxError(StaffError):
    """The sandbox itself does not work, so nothing follows for the program."""

    next = "course-staff grade-doctor"


@dataclass(frozen=True)
class Limits:
    """What a program may use; whoever uses more is ended.

    Attributes:
        seconds: By the clock.
        memory: Bytes that all its processes hold together.
        processes: Its processes and threads.
        file_size: Bytes of its largest file.
        output: Bytes that it may print.
        disk: Bytes in its private folder.
        files: Files in its private folder.
        collected: Bytes of the file that comes back.
        mapped: Bytes of addresses that each process may reserve; as much as `memory` if None. A thread reserves 8 MB for its stack.
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
class Ended:
    """How a program ended.

    Attributes:
        status: Its exit status; -9 if signal 9 ended it, as in subprocess.
        reason: "ended" if it did so by itself, or the limit that it went over: "time", "memory", "output", "files", "processes".
        seconds: How long it ran, by the clock.
        output: What it printed, up to the limit.
        collected: The file that was asked for; None if there is none, or it is too large.
        memory: The most bytes that it was seen to hold.
    """

    status: int
    reason: str
    seconds: float
    output: str
    collected: bytes | None = field(default=None, repr=False)
    memory: int = 0


class Guard:
    """Watches a running program until it ends or must be ended.

    Args:
        process: What was started, in a session of its own.
        limits: What it may use.
        status: Where the sandbox reports, a descriptor to read.
        collected: Where the file arrives that is to come back, likewise, if any.
        scratch: The private folder, if this process can see it.
        contained: Whether the sandbox reports who runs in it, and how that ended, as bubblewrap does.
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
        self.begun = time.monotonic()
        assert process.stdout is not None
        self._output, self._status = process.stdout.fileno(), status
        self._read: dict[int, bytearray] = {self._output: bytearray(), status: bytearray()}
        self._collected = collected
        if collected is not None:
            self._read[collected] = bytearray()
        self._looked = 0.0
        self._lock = threading.Lock()

    @property
    def output(self) -> str:
        """What the program has printed so far, up to the limit."""
        return bytes(self._read[self._output][: self.limits.output]).decode(errors="replace")

    def watch(self) -> Ended:
        """Wait until the program has ended, by itself or because it went over a limit.

        Raises:
            SandboxError: If the sandbox could not be set up.
        """
        with selectors.DefaultSelector() as selector:
            for descriptor in self._read:
                os.set_blocking(descriptor, False)
                selector.register(descriptor, selectors.EVENT_READ)
            try:
                deadline = math.inf
                while (selector.get_map() or not self._exited()) and time.monotonic() < deadline:
                    for key, _ in selector.select(PERIOD):
                        self._take(selector, key.fd)
                    if not self.reason:
                        self._look()
                    if deadline == math.inf and (self.reason or self._exited()):
                        self._end()
                        deadline = time.monotonic() + LAST_WORDS
            finally:
                self._end()
                with self._lock:
                    self.process.wait()
        return self._ended()

    def stop(self, reason: str) -> None:
        """End the program for this reason, unless there is one already."""
        self.reason = self.reason or reason
        self._end()

    def _take(self, selector: selectors.BaseSelector, descriptor: int) -> None:
        """Read what has arrived, and no more than is allowed."""
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

    def _look(self) -> None:
        """Compare what the program holds with what it may hold."""
        now = time.monotonic()
        if now - self.begun > self.limits.seconds:
            self.stop("time")
        if now - self._looked < PERIOD:
            return
        self._looked = now
        family = list(_family(self.process.pid))
        self.memory = max(self.memory, sum(_held(pid) for pid in family))
        if self.memory > self.limits.memory:
            self.stop("memory")
        elif sum(map(_threads, family)) > self.limits.processes + OVERHEAD:
            self.stop("processes")
        elif self._overfull(family):
            self.stop("files")

    def _overfull(self, family: Iterable[int]) -> bool:
        """Whether the private folder holds more than it may; in bubblewrap its size is limited, but not the number of its files."""
        if self.scratch is not None:
            files = size = 0
            for entry_size in itertools.chain(_sizes(self.scratch), _nameless_sizes(family, self.scratch)):
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
                if filled.f_blocks * filled.f_frsize <= self.limits.disk + filled.f_frsize:  # else it is still the machine's own
                    used += filled.f_files - filled.f_ffree
        return used > self.limits.files

    def _exited(self) -> bool:
        """Whether what was started has ended; it is not reaped yet, so its number stays its own."""
        if not hasattr(os, "waitid"):  # macOS
            return self.process.poll() is not None
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _end(self) -> None:
        """Kill all that runs in the sandbox."""
        with self._lock:
            if self.process.returncode is not None:
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if self.contained and not self._exited():
                    self._end_inside()
                os.killpg(self.process.pid, signal.SIGKILL)

    def _end_inside(self) -> None:
        """Kill what bubblewrap has started, the first process of a namespace and so all in it, and let bubblewrap see to its remains.

        The kernel kills it too when bubblewrap is killed, but not if that happens before bubblewrap asked it to. And where no other process
        cares for orphans, as in many containers, the dead would stay and count for their user.
        """
        bubblewrap = self.process.pid
        os.kill(bubblewrap, signal.SIGSTOP)  # it starts no other meanwhile
        self._wait(lambda: _state(bubblewrap) in "TZX")
        children = _children(bubblewrap)
        for child in children:
            os.kill(child, signal.SIGKILL)
        if children:
            os.kill(bubblewrap, signal.SIGCONT)
            self._wait(self._exited)

    def _wait(self, until: Callable[[], bool]) -> None:
        """Wait for something that takes the kernel a moment."""
        end = time.monotonic() + LAST_WORDS
        while not until() and time.monotonic() < end:
            time.sleep(0.001)

    def _report(self) -> dict:
        """What the sandbox has reported: lines of JSON, the last may not be complete."""
        report: dict = {}
        for line in bytes(self._read[self._status]).splitlines():
            with contextlib.suppress(ValueError):
                report |= json.loads(line)
        return report

    def _ended(self) -> Ended:
        """The result."""
        report, seconds = self._report(), time.monotonic() - self.begun
        if "error" in report:
            raise SandboxError(f"the sandbox could not be set up: {report['error']}")
        status = self.process.returncode
        if self.contained:
            if "exit-code" not in report and not self.reason:
                raise SandboxError(f"the sandbox could not be set up: {self.output.strip() or f'bubblewrap ended with status {status}'}")
            status = report.get("exit-code", -signal.SIGKILL)
            status = 128 - status if 128 < status <= 192 else status  # as a shell says that a signal ended it
        collected = None
        if self._collected is not None:
            kept = bytes(self._read[self._collected])
            collected = kept if 0 < len(kept) <= self.limits.collected else None
        return Ended(status, self.reason or "ended", seconds, self.output, collected, self.memory)


def _children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii").split())
    return found


def _family(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    for child in _children(pid):
        yield from _family(child)


def _state(pid: int) -> str:
    """The letter for what a process does, T if it is stopped; X if it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    return "X"


def _held(pid: int) -> int:
    """Bytes of memory that belong to a process, without the files that it has mapped; 0 if it has ended."""
    held = 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
        for line in status:
            if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")):
                held += int(line.split()[1]) << 10
    return held


def _threads(pid: int) -> int:
    """How many threads a process has; 0 if it has ended."""
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))
    return 0


def _nameless_sizes(family: Iterable[int], folder: Path) -> Iterator[int]:
    """The sizes of the files in a folder that processes hold open after deleting them: these take up space, but no folder lists them."""
    for pid in family:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                with contextlib.suppress(OSError):
                    target = os.readlink(descriptor.path)
                    if target.startswith(f"{folder}/") and target.endswith(" (deleted)"):
                        yield os.stat(descriptor.path).st_size


def _sizes(folder: Path) -> Iterator[int]:
    """The sizes of all files and folders in a folder; beyond the longest path, where nothing can be seen, it is taken to be full."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        yield entry.stat(follow_symlinks=False).st_size
        except OSError as error:  # it may just have been deleted
            if error.errno == errno.ENAMETOOLONG:
                yield sys.maxsize
