"""The time limit of a test: in processor time, longer on a slow machine, and with the reason why a test did not end in time."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from course.runner.loops import LoopWatch

TIME_LIMIT = 5.0
"""Processor time limit in seconds of one test of Modules 0 to 2, or of one example of a property, on a machine of usual speed."""

COMPILING_LIMIT = 30.0
"""The same limit from Module 3 on, whose tests compile."""

LAST_SHARED = 2
"""The last stage whose tests do not compile: they have TIME_LIMIT and are divided among several processes."""

USUAL_SHARE = 5
"""No test of the course takes more than this fraction of its limit with correct code: one fifth."""

YARDSTICK = 0.010
"""Seconds that the yardstick takes on a machine of usual speed: an idle core of an AMD EPYC (Zen 3)."""

WATCHED = 0.1
"""How long loops are watched after the limit, as a fraction of it."""

WALL_CLOCK_FACTOR = 4
"""The wall-clock limit of a test, as a multiple of its processor time limit: it ends a test that waits."""

WAITING = 0.05
"""A test that computes for less than this fraction of the time is waiting; one that computes more is on a busy machine, and goes on."""

TIMERS = (signal.SIGVTALRM, signal.SIGALRM) if hasattr(signal, "SIGALRM") else ()
"""The signals of the two timers: processor time and wall-clock time."""


def limit_of(stage: int) -> float:
    """The default time limit of a module's tests, in seconds."""
    return TIME_LIMIT if stage <= LAST_SHARED else COMPILING_LIMIT


def work() -> int:
    """The yardstick, a fixed piece of work."""
    return sum(len(str(number % 1000)) for number in range(100_000))


def slowness() -> float:
    """How many times slower than usual this machine is now; 1 if it is faster. A busy machine is slower than an idle one."""
    start = time.thread_time()
    work()
    return max(1.0, (time.thread_time() - start) / YARDSTICK)


class TimeLimit:
    """Interrupts a test like Ctrl-C when it has used up its time.

    Args:
        seconds: Processor seconds on a machine of usual speed; None for no limit, as on a system without timers (Windows).
        root: The workspace.
        folders: The folders in it whose loops are watched.

    Attributes:
        expired: Called with the current frame when a test has used up its time, instead of interrupting it.
        reason: Why a test was interrupted.
    """

    def __init__(self, seconds: float | None, root: Path, folders: tuple[str, ...]) -> None:
        self.seconds = seconds if TIMERS else None
        self.root, self.folders = root, folders
        self.allowed = 0.0  # for what runs now
        self.began = 0.0  # its processor time, and by the clock
        self.began_at = 0.0
        self.slowness = 0.0  # measured when the limit expires; 0 before
        self.watch: LoopWatch | None = None
        self.reason = ""
        self.expired: Callable[[FrameType | None], object] | None = None

    def install(self) -> None:
        """Handle the signals of the timers."""
        if self.seconds is not None:
            signal.signal(signal.SIGVTALRM, self._on_processor_time)
            signal.signal(signal.SIGALRM, self._on_wall_clock)

    def start(self, times: float = 1.0) -> None:
        """Restart both timers with a multiple of the limit; 0 stops them."""
        if self.seconds is None:
            return
        if self.watch is not None:
            self.watch.stop()
        self.watch, self.slowness, self.allowed = None, 0.0, times * self.seconds
        self.began, self.began_at = time.process_time(), time.monotonic()
        signal.setitimer(signal.ITIMER_VIRTUAL, self.allowed)
        signal.setitimer(signal.ITIMER_REAL, WALL_CLOCK_FACTOR * self.allowed)

    def _on_processor_time(self, _: int, frame: FrameType | None) -> None:
        """Allow more on a slow machine, then watch the loops for a moment, then interrupt the test."""
        if not self.slowness:
            self.slowness = slowness()
            more = (self.slowness - 1) * self.allowed
            if more > WATCHED * self.allowed:
                signal.setitimer(signal.ITIMER_VIRTUAL, more)
                return
        if self.expired is not None:
            self.expired(frame)
            return
        if self.watch is None:
            self.watch = LoopWatch(frame, self.root, self.folders)
            signal.setitimer(signal.ITIMER_VIRTUAL, WATCHED * self.allowed)
            return
        self.watch.stop()
        self._interrupt(self._explain(self.watch))

    def _on_wall_clock(self, _: int, frame: FrameType | None) -> None:
        """Interrupt a test that waits; one that computes has its other limit."""
        passed, computed = time.monotonic() - self.began_at, time.process_time() - self.began
        if computed >= WAITING * passed:
            signal.setitimer(signal.ITIMER_REAL, WALL_CLOCK_FACTOR * self.allowed)
        elif self.expired is not None:
            self.expired(frame)
        else:
            self._interrupt(f"after {_seconds(passed)} in which it only waited; remove what it waits for, such as time.sleep or input")

    def _explain(self, watch: LoopWatch) -> str:
        """Why the test did not end in time."""
        after = f"after {_seconds(time.process_time() - self.began)}"
        if endless := watch.endless():
            return f"{after}, in a loop that does not end, {endless}"
        usual = f"correct code takes less than {_seconds(self.allowed * self.slowness / USUAL_SHARE)}"
        progress = watch.progress()
        return f"{after}, because it is slow: {usual}{f'; {progress}' if progress else ''}; compute less, or allow more with --time-limit"

    def _interrupt(self, reason: str) -> None:
        """Act like Ctrl-C. From then on both timers are ignored: the other one may expire while pytest reports this."""
        for number in TIMERS:
            signal.signal(number, signal.SIG_IGN)
        self.reason = reason
        raise KeyboardInterrupt


def _seconds(seconds: float) -> str:
    """A duration in words."""
    text = f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}".removesuffix(".0")
    return f"{text} second{'' if text == '1' else 's'}"
