"""Limits on the time and memory of student code: a watchdog thread interrupts a call that does not return or allocates without end.

The watchdog samples the stack of the thread that runs the page, and the memory of the process. Time spent in the compiler or in a debugger
does not count. It cannot interrupt a loop inside a compiled kernel, which runs no Python bytecode.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

LIMIT = 4.0
"""Seconds that one call of student code may take."""

PERIOD = 0.25
"""Seconds between two samples of the stack."""

MEMORY = 2 << 30
"""Bytes by which the memory of the process may grow during one call of student code."""

UNLIMITED = {"numba", "llvmlite", "streamlit", "importlib", "pdb", "bdb", "threading"}
"""Packages that student code may call for any length of time; a process of a simulated network waits in threading for another one."""

_local = threading.local()


class TimeLimitExceeded(BaseException):
    """A call of student code took longer than the limit. Not an `Exception`, so that `except Exception` in the loop does not catch it.

    Attributes:
        frame: The innermost call that exceeded the limit; None if unknown.
    """

    frame: FrameType | None = None


class MemoryLimitExceeded(TimeLimitExceeded):
    """A call of student code allocated more memory than the limit."""


@contextmanager
def time_limit(is_student: Callable[[str], bool]) -> Iterator[None]:
    """Limit the time and memory of each call of student code in the `with` block. An inner block has no effect.

    Calls that are already running when the block begins have no limit, such as the `main` of a student's training program.

    Args:
        is_student: Whether the file at a path holds student code.

    Raises:
        TimeLimitExceeded: If a call takes longer than LIMIT seconds.
        MemoryLimitExceeded: If the memory of the process grows by more than MEMORY during a call; known on Linux only.
    """
    if getattr(_local, "active", False):
        yield
        return
    watchdog = _Watchdog(threading.get_ident(), is_student)
    _local.active = True
    try:
        watchdog.start()
        yield
    except TimeLimitExceeded as error:
        error.frame = error.frame or watchdog.exceeded  # it has one if it comes from a thread with a limit of its own
        raise
    finally:
        _local.active = False
        try:
            watchdog.stop()
        except TimeLimitExceeded:  # raised too late: the call has returned
            watchdog.stop()


class _Watchdog(threading.Thread):
    """Samples the stack of a thread and raises TimeLimitExceeded or MemoryLimitExceeded in it.

    Args:
        target: The identifier of the thread.
        is_student: Whether the file at a path holds student code.

    Attributes:
        exceeded: The innermost call that exceeded the limit.
    """

    def __init__(self, target: int, is_student: Callable[[str], bool]) -> None:
        super().__init__(name="student code time limit", daemon=True)
        self.target, self.is_student = target, is_student
        self.exceeded: FrameType | None = None
        self._outer = _stack(sys._getframe())
        self._seconds: dict[FrameType, float] = {}  # of each call of student code that began in the block
        self._memory: dict[FrameType, int] = {}  # of the process when each of them was first seen
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def run(self) -> None:
        """Sample until stopped."""
        before = time.monotonic()
        while not self._stopped.wait(PERIOD):
            now = time.monotonic()
            with self._lock:
                if not self._stopped.is_set():
                    self._sample(min(now - before, 2 * PERIOD))  # the machine may have been suspended in between
            before = now
        self._seconds, self._memory, self._outer = {}, {}, []

    def stop(self) -> None:
        """Stop sampling, and discard an exception that is still pending. Runs in the target thread.

        CPython would never clear its flag for a pending exception that is canceled; code under a profiler or a debugger would then hang.
        """
        with self._lock:
            self._stopped.set()
        if self.exceeded is not None:
            with suppress(TimeLimitExceeded):
                _raise_in(self.target, TimeLimitExceeded)  # replaces one that is pending
                while True:
                    pass

    def _sample(self, elapsed: float) -> None:
        """Add the elapsed time to the calls that are still running; interrupt the innermost one that exceeds the limit.

        A call inside of that one which is past half of the limit is waited for, because it is likely to be the one that does not return.
        """
        calls, unlimited = [], False
        for frame in _stack(sys._current_frames().get(self.target)):
            if frame in self._outer:
                break
            if self.is_student(frame.f_code.co_filename):
                calls.append(frame)
            elif not calls:
                unlimited |= frame.f_globals.get("__name__", "").partition(".")[0] in UNLIMITED
        counted = 0.0 if unlimited else elapsed
        self._seconds = {call: self._seconds[call] + counted if call in self._seconds else 0.0 for call in calls}
        memory = resident_memory()
        self._memory = {call: self._memory.get(call, memory) for call in calls}
        exceeded = next((call for call in calls if self._seconds[call] >= LIMIT / 2), None)
        if any(memory - before > MEMORY for before in self._memory.values()):
            self.exceeded = calls[0]
            _raise_in(self.target, MemoryLimitExceeded)  # again at the next sample if the code catches it
        elif exceeded is not None and self._seconds[exceeded] >= LIMIT and not unlimited:
            self.exceeded = exceeded
            _raise_in(self.target, TimeLimitExceeded)


def resident_memory() -> int:
    """Return the bytes of memory that this process occupies; 0 where the system does not say."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _stack(frame: FrameType | None) -> list[FrameType]:
    """A frame and its callers, innermost first.

    The garbage collector is off meanwhile: Python 3.11 creates the caller's frame object when it is read, and a collection that begins
    there may let the other thread run, which then leaves the frame; that ended the process with a segmentation fault.
    """
    frames = []
    collects = gc.isenabled()
    gc.disable()
    try:
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
    finally:
        if collects:
            gc.enable()
    return frames


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an exception in a thread, at one of its next bytecode instructions."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
