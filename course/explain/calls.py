"""The calls that a test makes of student functions, compared with oracles when they return or after the test has failed.

The recorder observes calls and returns through `sys.setprofile`, so no student function is replaced or called differently. A test may make
calls in several threads, as the processes of `minitorch.language.network` are, if one of them runs at a time.
"""

from __future__ import annotations

import contextlib
import dis
import inspect
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, NamedTuple

from course.explain.divergence import Difference

LARGEST = 20_000
"""Calls with larger arrays than this are not compared, because their arguments are not copied."""

MOST_WAITING = 5000
"""At most this many calls of one example are kept to be compared later."""

MOST_COMPARED = 50_000
"""At most this many calls of one function are compared in one example."""

NOTHING = "the return value"
"""The location of a difference if a function returned None instead of a value."""


class TooLarge(Exception):
    """An argument has more than LARGEST elements."""


@dataclass(frozen=True)
class Number:
    """A snapshot of a Scalar.

    Attributes:
        data: Its value.
        constant: Whether it is a constant.
        itself: The Scalar.
    """

    data: float
    constant: bool
    itself: Any


@dataclass(frozen=True)
class Layout:
    """A snapshot of a Tensor or a TensorData.

    Attributes:
        storage: A copy of the whole storage.
        shape, strides, offset: The layout of the elements in the storage.
        constant: Whether no gradient flows into the tensor.
        itself: The Tensor or TensorData.
    """

    storage: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    constant: bool
    itself: Any

    @property
    def array(self) -> Any:
        """The elements as a NumPy array."""
        import numpy as np

        steps = [stride * self.storage.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(self.storage[self.offset :], self.shape, steps, writeable=False)


@dataclass(eq=False)
class Call:
    """A call of a student function.

    Attributes:
        target: The function.
        code: The code that ran; for a target with inner functions, the code of one of them.
        arguments: The arguments by position.
        before: Snapshots of the arguments from the beginning of the call.
        closure: The local and free variables at the beginning of the call.
        callers: The calls of student functions during which it began.
        start: The result of the target's `prepare`.
        after: Snapshots of the arguments from the end of the call; only for targets that are compared later.
        end: The result of the target's `finish`.
        inside: Values recorded by `Recorder.note` during the call, such as the calls that it made; of a generator, what it yielded.
        warnings: Mistakes in how this function calls others, found while it ran.
        result: The return value; also None if the call raised an error.
        returned: Whether it returned a value, or None, and raised no error.
        missing: What should have been returned instead of None, if the oracle knows.
        is_rejected: Whether nothing was returned and the oracle rejects the arguments, too.
        thread: The thread that made it.
    """

    target: Target
    code: CodeType
    arguments: list[Any]
    before: list[Any]
    closure: Mapping[str, Any]
    recorder: Recorder
    callers: Sequence[Call] = ()
    start: Any = None
    after: list[Any] = field(default_factory=list)
    end: Any = None
    inside: list[Any] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    result: Any = None
    returned: bool = False
    missing: Difference | None = None
    is_rejected: bool = False
    thread: int = field(default_factory=threading.get_ident)

    @property
    def name(self) -> str:
        """The function's qualified name in its file."""
        return self.code.co_qualname.replace("<locals>.", "")

    @property
    def is_generator(self) -> bool:
        """Whether the function yields."""
        return bool(self.code.co_flags & inspect.CO_GENERATOR)

    @property
    def outer(self) -> str:
        """The last part of the target's name: "mul", "forward"."""
        return self.target.name.partition(":")[2].rpartition(".")[2]

    @property
    def owner(self) -> str:
        """The class of a method, such as "Mul"; empty for a function."""
        return self.target.name.partition(":")[2].rpartition(".")[0]


Judge = Callable[[Call], Difference | None]
"""Compares a finished call with an oracle; returns None if the call is right or the oracle has no answer."""


@dataclass(frozen=True)
class Target:
    """A function whose calls are compared with an oracle.

    Attributes:
        name: "module:qualified.name".
        judge: Compares the calls.
        function: The function.
        task: The task in which students write it.
        later: Whether the calls are compared only after the test has failed, because that is slow or calls functions of the test.
        prepare, finish: Called at the beginning and the end of a call to read state that the judge needs.
    """

    name: str
    judge: Judge
    function: Any
    task: str
    later: bool = False
    prepare: Callable[[Call], Any] | None = None
    finish: Callable[[Call], Any] | None = None


class Observed(NamedTuple):
    """A call of a function without an oracle.

    Attributes:
        arguments: The arguments by position.
        result: The return value; also None if the call raised an error.
        code: The code that ran.
        thread: The thread that made the call.
    """

    arguments: list[Any]
    result: Any
    code: CodeType
    thread: int


class Recorder:
    """Records the student calls of a test; for a property, those of one example.

    Args:
        targets: The functions, by the code that runs when they are called.
        caches: The caches of their results, which are emptied.

    Attributes:
        found: The first wrong call with its difference.
        silent: The first call that returned None instead of a value; a call that raises an error also appears to return None.
        waiting: The calls that are compared later.
        unfinished: The last call of each function that returned None.
        right: The number of calls that agree with their oracles.
        begun: The number of calls of each function.
        forwards: The call of `forward` that belongs to a context, by the id of the context.
        observed: The calls of further functions, by their code: of those that return the targets, and see `observe`.
        given: The arguments of running calls that are observed; a function may bind other values to their names.
        warnings: All warnings, including those from outside student functions.
        details: More about the last call that was compared and is right, for tests that check something else than its result.
    """

    def __init__(self, targets: Mapping[CodeType, Target], caches: Iterable[Any] = ()) -> None:
        self.targets = targets
        for cache in caches:
            cache.cache_clear()
        self.open: dict[FrameType, Call] = {}
        self.found: tuple[Call, Difference] | None = None
        self.silent: tuple[Call, Difference] | None = None
        self.waiting: list[Call] = []
        self.unfinished: dict[CodeType, Call] = {}
        self.right = 0
        self.begun: Counter[CodeType] = Counter()
        self.forwards: dict[int, Call] = {}
        outer = {target.function.__code__ for target in targets.values()} - {*targets}
        self.observed: dict[CodeType, list[Observed]] = {code: [] for code in outer}
        self.given: dict[FrameType, list[Any]] = {}
        self.warnings: list[str] = []
        self.details = ""

    def __enter__(self) -> Recorder:
        sys.setprofile(self._on_event)
        threading.setprofile(self._on_event)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def note(self, owner: str, value: Any) -> None:
        """Record a value in `inside` of the unfinished calls of a target in this thread."""
        for call in self._running():
            if call.target.name == owner:
                call.inside.append(value)

    def warn(self, text: str) -> None:
        """Record a mistake in how a function was called, which is a mistake of its callers."""
        for warnings in (self.warnings, *(call.warnings for call in self._running())):
            if text not in warnings:
                warnings.append(text)

    def observe(self, code: CodeType) -> list[Observed]:
        """Record every call of a function from now on, when it ends; returns the list, which grows."""
        self.observed[code] = []
        return self.observed[code]

    def _running(self) -> list[Call]:
        """The unfinished calls in this thread."""
        return [call for call in self.open.values() if call.thread == threading.get_ident()]

    def judge_all(self) -> None:
        """Compare the deferred calls; all of them began before the call in `found`, if there is one."""
        for call in self.waiting:
            if (difference := self._compare(call)) is not None:
                self.found = call, difference
                return

    def _on_event(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "call":
            if frame.f_code in self.observed:
                names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
                self.given[frame] = [frame.f_locals[name] for name in names]
            target = self.targets.get(frame.f_code)
            if target is not None and self.found is None and frame not in self.open:  # a generator begins once, and resumes
                self._begin(frame, target)
        elif event == "return":
            if frame in self.given:
                observed = Observed(self.given.pop(frame), value, frame.f_code, threading.get_ident())
                self.observed[frame.f_code].append(observed)
            operation = dis.opname[frame.f_code.co_code[frame.f_lasti]] if frame in self.open else ""
            if operation == "YIELD_VALUE" and self.open[frame].is_generator:
                self._yield(self.open[frame], value)
                return
            call = self.open.pop(frame, None)
            if call is not None and self.found is None:
                call.returned = operation.startswith("RETURN")
                self._end(call, value)

    def _begin(self, frame: FrameType, target: Target) -> None:
        code, values = frame.f_code, frame.f_locals
        self.begun[code] += 1
        if self.begun[code] > MOST_COMPARED:
            return
        names = code.co_varnames[: code.co_argcount]
        arguments = [values[name] for name in names]
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 1]
        if code.co_flags & inspect.CO_VARARGS:
            arguments += values[names[-1]]
        try:
            before = [snapshot(value) for value in arguments]
            call = Call(target, code, arguments, before, dict(values), self, tuple(self._running()))
            call.start = target.prepare(call) if target.prepare else None
        except Exception:  # an object of the student's that cannot be read, or one that is too large
            return
        self.open[frame] = call

    def _yield(self, call: Call, value: Any) -> None:
        """A generator may never end, so it is compared by what it has yielded, after the test."""
        if not call.inside and self.found is None and len(self.waiting) < MOST_WAITING:
            self.waiting.append(call)
        call.inside.append(value)

    def _end(self, call: Call, value: Any) -> None:
        call.result = value
        if call.outer == "forward" and call.arguments:
            self.forwards[id(call.arguments[0])] = call
        if value is None:
            self.unfinished[call.code] = call
        if not call.target.later:
            if (difference := self._compare(call)) is not None:
                self.found = call, difference
        elif not (call.is_generator and call.inside) and len(self.waiting) < MOST_WAITING:
            with contextlib.suppress(Exception):  # as in _begin
                call.after = [snapshot(argument) for argument in call.arguments]
                call.end = call.target.finish(call) if call.target.finish else None
                if call.outer == "backward":
                    call.result = _result_snapshot(value)
                elif isinstance(value, list):
                    call.result = list(value)
                self.waiting.append(call)

    def _compare(self, call: Call) -> Difference | None:
        """How a finished call differs from its oracle."""
        try:
            difference = call.target.judge(call)
        except Exception:  # the oracle has no answer for such arguments, or the result cannot be read
            call.is_rejected = call.result is None
            return None
        if difference is None:
            self.right += 1
        elif call.result is None and difference.place == NOTHING:
            self.silent, call.missing = self.silent or (call, difference), difference
            return None
        return difference


def snapshot(value: Any) -> Any:
    """A copy of a value in its current state.

    Raises:
        TooLarge: If it has more than LARGEST elements.
    """
    if isinstance(value, list):
        return list(value)
    if hasattr(value, "_tensor"):
        return _layout(value._tensor, value.history is None, value)
    if hasattr(value, "_storage") and hasattr(value, "offset"):
        return _layout(value, True, value)
    if hasattr(value, "chain_rule") and hasattr(value, "data"):
        return Number(value.data, value.history is None, value)
    if (array := as_array(value)) is not None:
        if array.size > LARGEST:
            raise TooLarge
        return array.copy()
    return value


def _result_snapshot(value: Any) -> Any:
    """A copy of a result, including tensors in a list or tuple."""
    if isinstance(value, list | tuple):
        return type(value)([_result_snapshot(each) for each in value]) if type(value) in (list, tuple) else value
    return snapshot(value) if hasattr(value, "_tensor") else value


def as_array(value: Any) -> Any:
    """The NumPy array that a value is or wraps (as arrays of the GPU simulator and of tests do); None otherwise."""
    for name in ("_ary", "values"):
        value = getattr(value, name, value) if not isinstance(value, dict) else value
    return value if type(value).__name__ == "ndarray" else None


def _layout(data: Any, constant: bool, itself: Any) -> Layout:
    if len(data._storage) > LARGEST:
        raise TooLarge
    return Layout(data._storage.copy(), data.shape, data.strides, data.offset, constant, itself)
