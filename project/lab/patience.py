"""Endless loops in student code: noticed after a few seconds, and ended by an exception in their own thread.

A thread of its own looks at the stack of the page that is being made. What numba compiles is given its time, and so is a debugger.
A loop inside a compiled kernel cannot be ended this way.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

LIMIT = 4.0
"""Seconds that a call of student code may take."""

PERIOD = 0.25
"""Seconds between two looks."""

PATIENT = {"numba", "llvmlite", "streamlit", "importlib", "pdb", "bdb"}
"""Packages in which time does not count."""


class DidNotEnd(BaseException):
    """Student code took too long. No Exception, which an `except` in the loop might take for its own.

    Attributes:
        frame: The call that did not end; None if it is not known.
    """

    frame: FrameType | None = None


@dataclass
class _Watch:
    """A thread that is looked at.

    Attributes:
        is_student: Whether students write in a file.
        seconds: How long each call of student code has been at work.
        late: The call that was ended.
    """

    is_student: Callable[[str], bool]
    seconds: dict[FrameType, float] = field(default_factory=dict)
    late: FrameType | None = None

    def look(self, frame: FrameType | None, elapsed: float) -> FrameType | None:
        """Take note of a stack; the innermost call in it that has taken too long."""
        calls, waits = [], False
        while frame is not None:
            if self.is_student(frame.f_code.co_filename):
                calls.append(frame)
            elif not calls:
                waits |= frame.f_globals.get("__name__", "").partition(".")[0] in PATIENT
            frame = frame.f_back
        worked = 0.0 if waits else elapsed
        self.seconds = {call: self.seconds[call] + worked if call in self.seconds else 0.0 for call in calls}
        return next((call for call in calls if self.seconds[call] >= LIMIT), None)


_watches: dict[int, _Watch] = {}
_lock = threading.Lock()
_wanted = threading.Event()
_watcher: threading.Thread | None = None


@contextmanager
def watched(is_student: Callable[[str], bool]) -> Iterator[None]:
    """End what takes too long inside.

    Args:
        is_student: Whether students write in a file, by its path.

    Raises:
        DidNotEnd: Where a call of student code took longer than LIMIT.
    """
    thread = threading.get_ident()
    if thread in _watches:  # a guard within a guard
        yield
        return
    watch = _begin(thread, is_student)
    try:
        yield
    except DidNotEnd as error:
        error.frame = watch.late
        raise
    finally:
        with _lock:
            _watches.pop(thread, None)
            if watch.late is not None:
                _raise_in(thread, None)  # it may have ended by itself, a moment before
            watch.seconds.clear()


def _begin(thread: int, is_student: Callable[[str], bool]) -> _Watch:
    global _watcher
    with _lock:
        watch = _watches[thread] = _Watch(is_student)
        if _watcher is None or not _watcher.is_alive():
            _watcher = threading.Thread(target=_look, name="patience", daemon=True)
            _watcher.start()
    _wanted.set()
    return watch


def _look() -> None:
    """Look at all watched threads, as long as there are any."""
    before = time.monotonic()
    while True:
        time.sleep(PERIOD)
        now = time.monotonic()
        with _lock:
            stacks = sys._current_frames() if _watches else {}
            for thread, watch in _watches.items():
                late = watch.look(stacks.get(thread), min(now - before, 2 * PERIOD))  # a machine may sleep
                if late is not None:
                    watch.late = late
                    watch.seconds.clear()  # if the loop goes on, once more after as long
                    _raise_in(thread, DidNotEnd)
            del stacks
            if not _watches:
                _wanted.clear()
        before = now
        if not _wanted.is_set():
            _wanted.wait()
            before = time.monotonic()


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an exception in a thread at its next step, or take it back."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error) if error else None)
