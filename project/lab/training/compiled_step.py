"""A training step that is recorded after a few calls and replayed from then on, if the run is long enough for that to pay."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import minitorch

TIMED = 5
"""How many calls with arguments of a shape run as they are, and are timed, before it is decided whether to record one."""

SECONDS, CALLS = 0.05, 6
"""What recording takes and comparing the first replay: the code is read once, and the step runs some more times."""

GAIN = 0.1
"""The part of a call that a replay saves at least, in the programs of the course."""

FUSED_FROM, FUSED_UP_TO = 20.0, 0.002
"""Seconds of all calls and of one call: a recording is also fused for at least so many, as loading that takes up to a second from the run,
and for at most so many, as in a longer call the kernels take the time and not their launches.
"""

MOST = 4
"""How many shapes of arguments are recorded; calls with others run as they are."""


class CompiledStep:
    """A function that takes a training step, or a model, whose calls are recorded and replayed. Attributes are those of the function.

    A replay launches the same kernels: it changes no number. A fused one adds in another order, so numbers agree up to rounding. Where a
    call cannot be recorded or the package ends before `minitorch.compile`, as in a workspace of the course, all calls run as they are.

    Args:
        function: Takes tensors.
        calls: How many calls the run makes; 0 to record none.

    Attributes:
        function: The function.
        left: How many calls are left; 0 if the others run as they are.
        compiled: The compiled function, once there is one.
    """

    def __init__(self, function: Callable[..., Any], calls: int) -> None:
        self.function = function
        self.compiled: Any = None
        # By name, because the package of a student may end before it. And by another name than `compile`: a recording follows the names in
        # this class to attributes of the trainer, and would be made anew whenever one that `FastTrainer.compile` names has changed.
        self._record: Any = getattr(minitorch, "compile", None)
        self._refused: type[Exception] = Exception  # what it raises if it cannot
        self._calls = self.left = calls if self._record else 0
        self._times: dict[Any, list[float]] = {}  # of calls that ran as they are, by the shapes of their arguments
        self._replays: dict[Any, int] = {}  # of calls that are recorded

    def __call__(self, *tensors: Any) -> Any:
        """Call the function, or replay it."""
        if self.left <= 0:
            return self.function(*tensors)
        self.left -= 1
        shapes = tuple([x.shape for x in tensors])
        if shapes in self._replays:
            return self._replay(shapes, tensors)
        times = self._times.setdefault(shapes, [])
        if len(times) == TIMED:
            return self.function(*tensors)
        begun = time.thread_time()  # other programs must not make a call look longer
        result = self.function(*tensors)
        times.append(time.thread_time() - begun)
        if len(times) == TIMED and len(self._replays) < MOST:
            self._decide(shapes, min(times), self.left * TIMED / (self._calls - self.left))
        return result

    def _decide(self, shapes: Any, seconds: float, expected: float) -> None:
        """Record the next call with these shapes if that pays for so many expected calls, each of which takes so many seconds."""
        if seconds * (GAIN * expected - CALLS) > SECONDS:
            self._replays[shapes] = 0
            if self.compiled is None:
                self._refused = import_module("minitorch.compiler").NotRecordable
                self.compiled = self._record(self.function, fuse=seconds < FUSED_UP_TO and seconds * expected > FUSED_FROM)

    def _replay(self, shapes: Any, tensors: tuple[Any, ...]) -> Any:
        """Replay the function, or call it from now on if it cannot be recorded. After an error in the first two calls, which record it and
        compare a replay with it, everything is as it was before; a later one is that of a kernel.
        """
        is_checked = self._replays[shapes] >= 2
        with suppress(self._refused if is_checked else Exception):
            result = self.compiled(*tensors)
            self._replays[shapes] += 1
            return result
        self.left = 0
        return self.function(*tensors)

    def __getattr__(self, name: str) -> Any:
        if name == "function":  # not there yet in a copy
            raise AttributeError(name)
        return getattr(self.function, name)
