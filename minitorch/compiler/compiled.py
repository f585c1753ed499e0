"""Stage 5 - `compile`: a function, module or training step whose kernels are recorded once and replayed without Python."""

from __future__ import annotations

import atexit
import functools
import os
import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

from numba.core.compiler_lock import global_compiler_lock

from minitorch.compiler.comparison import Unseen, compare, current
from minitorch.compiler.fused import fuse
from minitorch.compiler.guards import argument_key, describe_call
from minitorch.compiler.recorder import NotRecordable, frames_to_caller
from minitorch.compiler.recording import Recording
from minitorch.compiler.scan import KEPT
from minitorch.compiler.trace import Trace
from minitorch.compiler.trace_figure import draw
from minitorch.core.recording import active
from minitorch.module import Module


def compile(
    fn: Callable[..., Any] | None = None,
    *,
    fallback: str = "error",
    check: bool = True,
    check_every: int = 0,
    max_recordings: int = 8,
    fuse: bool = True,
) -> Any:
    """Record a function once and replay it from then on: `step = minitorch.compile(step)`, or `@minitorch.compile`.

    The first call runs as usual, and every kernel that it launches is recorded. Later calls copy their arguments into the recorded
    program's buffers and launch the same kernels, without the Python in between. A call with arguments of another shape, dtype or
    layout, or after something changed that the program took for granted, is recorded anew.

    Args:
        fn: A function of tensors, a Module, or a whole training step with `backward` and `optimizer.step` in it. Its results are new
            tensors. Left out: a decorator with these options.
        fallback: What happens if the function cannot be recorded: "error" raises NotRecordable; "eager" warns once and runs the function
            as it is.
        check: Whether the first replay of each recording is compared with the function itself, number by number, and so is the first
            one in which an argument or a tensor that the function refers to holds other numbers than in the recorded call.
        check_every: If above 0, every so many replays are compared as well.
        max_recordings: How many recordings are kept before a further one counts as "cannot be recorded".
        fuse: Whether a program that has been replayed often is compiled into a few functions, in the background by a child process;
            `fuse()` does it at once. They add in another order: results differ from the function's in the last digits.

    Raises:
        TypeError: If fn cannot be called.
        ValueError: If an option is unknown or out of range.
    """
    if fallback not in ("error", "eager"):
        raise ValueError(f'compile expected fallback="error" or "eager", got {fallback!r}')
    for name, number, least in (("check_every", check_every, 0), ("max_recordings", max_recordings, 1)):
        if not isinstance(number, int) or isinstance(number, bool) or number < least:
            raise ValueError(f"compile expected {name}, an integer of at least {least}, got {number!r}")
    options = {"fallback": fallback, "check": check, "check_every": check_every, "max_recordings": max_recordings, "fuse": fuse}
    if fn is None:
        return functools.partial(compile, **options)
    if not callable(fn):
        raise TypeError(f"compile expected a function or a Module, got {type(fn).__name__}; pass the function itself, not its result")
    return Compiled(fn, **options)


FUSED_AFTER = 32
"""Number of replays after which a program is fused: shorter runs would wait longer than they gain."""


WORTH_IT = 10
"""Number of replays after which a recording has saved more time than it took."""

RECURSIVE = "recursive"
"""Why no recording fits within a replay of the function itself."""


class Compiled:
    """A compiled function. Attributes that it lacks are those of the function: `model.parameters()`.

    Args: see `compile`.

    Attributes:
        fn: The function.
        recorded: How often it has been recorded.
        replayed: How often a recording has been replayed.
    """

    _way_out = 'pass fallback="eager"'  # what a message recommends
    _more = "Pass max_recordings={} if that is right"

    def __init__(self, fn: Callable[..., Any], fallback: str, check: bool, check_every: int, max_recordings: int, fuse: bool) -> None:
        self.fn = fn
        self.recorded = self.replayed = 0
        self._options = {"fallback": fallback, "check": check, "check_every": check_every, "max_recordings": max_recordings, "fuse": fuse}
        self._check, self._check_every, self._fuse = check, check_every, fuse
        self._recordings: dict[Any, list[Recording]] = {}
        self._lock = threading.RLock()
        self._latest: Recording | None = None
        self._latest_key: Any = None
        self._eager = ""  # why the function runs as it is
        if not hasattr(fn, "forward"):
            functools.update_wrapper(self, fn, updated=())
        _all.add(self)

    @property
    def name(self) -> str:
        """Name of the function, or of the module's class."""
        return getattr(self.fn, "__name__", type(self.fn).__name__)

    @property
    def trace(self) -> Trace:
        """The program of the latest call.

        Raises:
            RuntimeError: Before the first call, or if the function runs as it is.
        """
        return self._recording().trace

    def figure(self) -> str:
        """A picture of the program of the latest call, as SVG text; see `trace_figure.draw`.

        Raises:
            RuntimeError: Before the first call, or if the function runs as it is.
        """
        return draw(self.trace)

    def stages(self) -> list[tuple[str, str]]:
        """The program as it was recorded, after each pass, and as fused source: titles and texts, one after the other.

        Raises:
            RuntimeError: Before the first call, or if the function runs as it is.
        """
        recording = self._recording()
        texts = [(title, str(replace(recording.trace, nodes=nodes))) for title, nodes, _ in recording.stages()]
        source = recording.source() or "\n".join(fuse(recording.nodes, recording.kept, recording.boundary).sources())
        return [*texts, ("fuse", source)]

    @property
    def memory(self) -> tuple[int, int]:
        """Bytes of the program's temporary buffers: with memory shared among them, and without."""
        plan = self._recording().plan
        return plan.peak, plan.unshared

    def fuse(self) -> str:
        """Compile the program of the latest call into a few functions now; the next call uses them.

        Returns:
            Their source; "" if there is nothing to compile.

        Raises:
            RuntimeError: Before the first call, or if the function runs as it is.
        """
        recording = self._recording()
        recording.fuse()
        return recording.source()

    def _recording(self) -> Recording:
        if self._latest is None:
            why = f"it runs as it is: {self._eager}" if self._eager else "it has not been called yet; call it once"
            raise RuntimeError(f"{self.name} has no trace, because {why}")
        return self._latest

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replay a recording that fits, or record the call."""
        latest = self._latest
        if latest is not None and not kwargs and active.recorder is None and latest.take(args):
            return self._run(latest, args, kwargs, args)
        if self._eager or active.recorder is not None or current.is_checking:
            return self.fn(*args, **kwargs)  # a compiled function around it records this call as well
        tensors: list[Any] = []
        key = argument_key((args, kwargs), tensors)
        recording, why = self._find(key, tensors)
        if recording is None:
            return self.fn(*args, **kwargs) if why == RECURSIVE else self._record(key, args, kwargs, tensors, why)
        if self._latest is not recording:
            self._latest = recording
        return self._run(recording, args, kwargs, tensors)

    def _run(self, recording: Recording, args: Any, kwargs: Any, tensors: Sequence[Any]) -> Any:
        """Replay a recording whose lock is taken, or compare it with the function, and release it."""
        recording.thread = threading.get_ident()
        try:
            every, changed = self._check_every, recording.unseen.changed(tensors) if self._check else ()
            if changed or (not recording.replays and self._check) or (every and recording.replays % every == every - 1):
                result = self._checked(recording, args, kwargs, tensors)
                recording.unseen.remove(changed)
                return result
            return self._replay(recording, tensors)
        finally:
            recording.thread = 0
            recording.lock.release()

    def _find(self, key: Any, tensors: Sequence[Any]) -> tuple[Recording | None, str]:
        """A recording that fits, its lock taken, after waiting for other threads; else None, and why the last one did not fit."""
        while True:
            with self._lock:
                candidates = list(self._recordings.get(key, ()))
            why, waiting = "", None
            for recording in candidates:
                if not recording.lock.acquire(blocking=False):
                    waiting = recording
                    continue
                why = recording.fits(tensors)
                if not why:
                    return recording, ""
                recording.lock.release()
            if waiting is None:
                return None, why
            if waiting.thread == threading.get_ident():
                return None, RECURSIVE
            with waiting.lock:  # another thread replays it
                continue

    def _forget(self, recording: Recording) -> None:
        with self._lock:
            for recordings in self._recordings.values():
                if recording in recordings:
                    recordings.remove(recording)
            self._latest = None

    def _replay(self, recording: Recording, tensors: Sequence[Any]) -> Any:
        self.__dict__["replayed"] += 1  # without __setattr__, which takes longer
        if recording.replays == FUSED_AFTER and self._fuse:
            threading.Thread(target=_fuse, args=(recording,), name=f"fuse {self.name}", daemon=True).start()
        return recording.replay(tensors)

    def _record(self, key: Any, args: Any, kwargs: Any, tensors: list[Any], why: str) -> Any:
        """Record a call. After an error, tensors and gradients are as they were before the call.

        Raises:
            NotRecordable: If it is not possible, and the fallback is "error".
        """
        with self._lock:
            if not self._has_space():
                limit = self._options["max_recordings"]
                why = why or describe_call(key, self._latest_key) or "the arguments"
                reason = f"{limit} recordings are not enough; what differed last is {why}. {self._more.format(2 * limit)}"
                return self._give_up(reason, None, args, kwargs)
            recording = None
            try:
                recording = Recording(self.fn, (args, kwargs), self.name)
                recording.unseen = Unseen(tensors, recording.guards.tensors)
                result = recording.record(tensors)
                recording.prepare()
                before = recording.finish()
            except NotRecordable as error:
                return self._give_up(str(error), recording, args, kwargs)
            except BaseException:
                if recording is not None:
                    recording.before.restore()
                raise
            self.recorded += 1
            self._recordings.setdefault(key, []).append(recording)
            self._latest, self._latest_key = recording, key
            if not recording.has_gradients:
                recording.hand_over(tensors)
                return result
            before.restore()
            recording.unseen = Unseen(tensors, recording.guards.tensors)
            recording.lock.acquire()
        return self._run(recording, args, kwargs, tensors)

    def _has_space(self) -> bool:
        """Whether a further recording may be kept, after dropping those that fit no more and have been worth it."""
        limit, kept = self._options["max_recordings"], [each for group in self._recordings.values() for each in group]
        if len(kept) >= limit:
            for recording in kept:
                if recording.replays >= WORTH_IT and recording.guards.failed():
                    self._forget(recording)
        return sum(map(len, self._recordings.values())) < limit

    def _give_up(self, reason: str, recording: Recording | None, args: Any, kwargs: Any) -> Any:
        """Run the function as it is from now on, or raise. Raises NotRecordable if the fallback is "error"."""
        if recording is not None:
            recording.before.restore()
            recording.guards.restore()
        if self._options["fallback"] == "error":
            raise NotRecordable(f"{self.name} cannot be compiled: {reason}. Or {self._way_out} to run it as it is") from None
        self._eager = reason
        self._recordings.clear()
        self._latest = None
        warnings.warn(f"{self.name} runs as it is, because it cannot be compiled: {reason}", RuntimeWarning, stacklevel=frames_to_caller())
        return self.fn(*args, **kwargs)

    def _checked(self, recording: Recording, args: Any, kwargs: Any, tensors: Sequence[Any]) -> Any:
        """Replay, compare with the function itself, and return what the function returned.

        Raises:
            NotRecordable: If a number differs, and the fallback is "error".
        """
        result, wrong = compare(recording, (args, kwargs), tensors, lambda: self._replay(recording, tensors))
        if not wrong:
            return result
        self._forget(recording)
        reason = f"its replay differs from the function itself in {wrong}; it computes with numbers that no recorded kernel wrote"
        return self._give_up(reason, None, args, kwargs)

    # Like the function

    @property
    def __class__(self) -> type:  # type: ignore[override] - of a module the module's, so that it is registered as a child
        fn = self.__dict__.get("fn")
        return type(fn) if isinstance(fn, Module) else Compiled

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "fn":
            raise AttributeError(name)
        return getattr(self.fn, name)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A compiled method of a class is compiled anew for each object, which keeps it.

        Raises:
            TypeError: If the object cannot keep it.
        """
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", None)
        if attributes is None:
            kind = type(instance).__name__
            raise TypeError(
                f"a compiled method expected an object with attributes, but {kind} has __slots__; compile({kind}().{self.name})"
            )
        kept = attributes.setdefault(KEPT, {})
        if self not in kept:
            kept[self] = self._remade()(self.fn.__get__(instance, owner))
        return kept[self]

    def __setattr__(self, name: str, value: Any) -> None:
        fn = self.__dict__.get("fn")
        if hasattr(fn, "forward") and name not in self.__dict__ and "_latest_key" in self.__dict__:
            setattr(fn, name, value)  # of a module
        else:
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...] | str:
        name, found = getattr(self.fn, "__qualname__", ""), sys.modules.get(getattr(self.fn, "__module__", ""))
        for part in name.split("."):
            found = vars(found).get(part) if hasattr(found, "__dict__") else None
        if found is self:
            return name  # a decorated function of a module or class: by name, as functions are pickled
        owner = getattr(self.fn, "__self__", None)
        if isinstance(getattr(type(owner), self.name, None), Compiled):
            return getattr, (owner, self.name)  # a decorated method
        return self._remade(), (self.fn,)

    def _remade(self) -> Callable[[Callable[..., Any]], Compiled]:
        """Compiles another function with the same options."""
        return functools.partial(type(self), **self._options)

    def __repr__(self) -> str:
        return f"compile({self.fn!r})"


LONGEST_FUSE = 600
"""Seconds after which a process that fuses a program ends, whatever it does."""

_fusing: set[int] = set()
"""The processes that fuse programs."""


def _fuse(recording: Recording) -> None:
    """Fuse a program in a child process, and then here, from the cache on disk: numba would hold this process's interpreter for seconds.

    The child begins while no other thread compiles, so that it finds no lock taken. If it is killed, the launches go on.
    """
    childs, ours = os.pipe()  # nothing is written
    try:
        with global_compiler_lock:  # type: ignore[attr-defined] - it is a lock as well
            process = os.fork()
            if not process:
                _fuse_as_child(recording, childs)
    except OSError:  # there is no memory for another process
        process = 0
    os.close(childs)
    status = 0
    if process:
        _fusing.add(process)
        with suppress(ChildProcessError):  # the program waits for all of its children, or for none
            status = os.waitpid(process, 0)[1]
        _fusing.discard(process)
    os.close(ours)
    if not status:
        recording.fuse_if_possible()


def _fuse_as_child(recording: Recording, pipe: int) -> NoReturn:
    """Compile to disk with the lowest priority, without the parent's files and signal handlers.

    Args:
        recording: What is fused.
        pipe: It closes when the parent ends, and so does this process.
    """
    status = 1

    def end_with_parent() -> None:
        os.read(3, 1)
        os._exit(1)

    try:
        os.nice(19)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.alarm(LONGEST_FUSE)
        for file in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), file)
        os.dup2(pipe, 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        threading.Thread(target=end_with_parent, daemon=True).start()
        recording.after_fork()
        with suppress(Exception):  # the parent fails in the same way, and goes on
            recording.fuse()
        status = 0
    finally:
        os._exit(status)


@atexit.register
def _end_fusing() -> None:
    for process in tuple(_fusing):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


_all: weakref.WeakSet[Compiled] = weakref.WeakSet()
"""Every compiled function of this process."""


def _after_fork() -> None:
    """Make new locks in the child: other threads of the parent may have held them. Its children are not the child's."""
    _fusing.clear()
    for compiled in list(_all):
        compiled._lock = threading.RLock()
        for group in compiled._recordings.values():
            for recording in group:
                recording.after_fork()


os.register_at_fork(after_in_child=_after_fork)
