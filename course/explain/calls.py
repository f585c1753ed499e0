"""The calls that a test makes of the functions students write; each is looked at when it returns, or when the test has failed.

Python tells of every call and every return (`sys.setprofile`), so nothing of the student's is replaced or called in another way.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from course.explain.divergence import Wrong

LARGEST = 20_000
"""Arrays of more elements are not copied, and calls with them not judged."""


class TooLarge(Exception):
    """A call has larger arguments than anybody would look at."""


@dataclass(frozen=True)
class Number:
    """A Scalar as it was when a call began: its value, whether it is a constant, and itself."""

    data: float
    constant: bool
    itself: Any


@dataclass(frozen=True)
class Layout:
    """A tensor, or its data, as it was when a call began: a copy of its storage, and how it lies there.

    Attributes:
        storage: All of it, copied.
        shape, strides, offset: How the elements lie in it.
        constant: Whether no gradient flows into the tensor.
        itself: The tensor or TensorData.
    """

    storage: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    constant: bool
    itself: Any

    @property
    def array(self) -> Any:
        """Its elements."""
        import numpy as np

        steps = [stride * self.storage.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(self.storage[self.offset :], self.shape, steps, writeable=False)


@dataclass
class Call:
    """A call of a function.

    Attributes:
        target: The function.
        code: What ran; for a target with inner functions one of these.
        arguments: What it was given, itself, by position.
        before: The same as it was when the call began: arrays, lists, Scalars and tensors copied.
        closure: The function's other names and values when it began, those it has from the function around it.
        start: What its target's `prepare` has found when it began.
        after: The arguments as they were when it returned, copied as in `before`; of a target that is judged later.
        end: What its target's `finish` has found then.
        inside: What `Recorder.note` has noted while it ran, such as the calls that it made.
        result: What it returned; None also if it raised an error.
    """

    target: Target
    code: CodeType
    arguments: list[Any]
    before: list[Any]
    closure: Mapping[str, Any]
    recorder: Recorder
    start: Any = None
    after: list[Any] = field(default_factory=list)
    end: Any = None
    inside: list[Any] = field(default_factory=list)
    result: Any = None

    @property
    def name(self) -> str:
        """The function's name in its file."""
        return self.code.co_qualname.replace("<locals>.", "")

    @property
    def outer(self) -> str:
        """The last part of the target's name: "mul", "forward"."""
        return self.target.name.partition(":")[2].rpartition(".")[2]

    @property
    def owner(self) -> str:
        """The class of a method: "Mul"; empty for a function."""
        return self.target.name.partition(":")[2].rpartition(".")[0]


Judge = Callable[[Call], Wrong | None]
"""Says what is wrong with a call that has returned; None if nothing is, or if it cannot tell."""


@dataclass(frozen=True)
class Target:
    """A function whose calls are judged.

    Attributes:
        name: "module:qualified.name".
        judge: Who judges them.
        function: The function.
        task: The task that has students write it.
        later: Whether its calls are judged only when the test has failed: to judge them takes long, or calls what the test may count.
        prepare, finish: Look at a call when it begins and when it returns, for what its judge needs to know of that moment.
    """

    name: str
    judge: Judge
    function: Any
    task: str
    later: bool = False
    prepare: Callable[[Call], Any] | None = None
    finish: Callable[[Call], Any] | None = None


class Recorder:
    """Notes the calls of the functions of a test, of a property those of one example.

    Args:
        targets: The functions, by what runs in them.

    Attributes:
        found: The first call that was seen to be wrong, its place among all, and what is wrong with it.
        silent: The first that should have returned something and returned None, as a function does that raises an error.
        waiting: The calls that are judged later, with their places.
        unfinished: For each function the last call of it that returned None.
        right: How many calls were right.
        forwards: The call of forward that a context belongs to.
    """

    def __init__(self, targets: Mapping[CodeType, Target]) -> None:
        self.targets = targets
        self.open: dict[FrameType, Call] = {}
        self.found: tuple[Call, Wrong] | None = None
        self.silent: tuple[Call, Wrong] | None = None
        self.waiting: list[Call] = []
        self.unfinished: dict[CodeType, Call] = {}
        self.right = 0
        self.forwards: dict[int, Call] = {}

    def __enter__(self) -> Recorder:
        sys.setprofile(self._happened)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def note(self, owner: str, what: Any) -> None:
        """Leave a note with the calls of a function that have not returned."""
        for call in self.open.values():
            if call.target.name == owner:
                call.inside.append(what)

    def judge_all(self) -> None:
        """Judge the calls that wait; all of them came before the one that was found, if one was."""
        for call in self.waiting:
            if (wrong := self._judged(call)) is not None:
                self.found = call, wrong
                return

    def _happened(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "call":
            target = self.targets.get(frame.f_code)
            if target is not None and self.found is None:
                self._begin(frame, target)
        elif event == "return":
            call = self.open.pop(frame, None)
            if call is not None and self.found is None:
                self._end(call, value)

    def _begin(self, frame: FrameType, target: Target) -> None:
        code, values = frame.f_code, frame.f_locals
        names = code.co_varnames[: code.co_argcount]
        arguments = [values[name] for name in names]
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 1]
        if code.co_flags & inspect.CO_VARARGS:
            arguments += values[names[-1]]
        try:
            before = [copied(value) for value in arguments]
            call = Call(target, code, arguments, before, dict(values), self)
            call.start = target.prepare(call) if target.prepare else None
        except Exception:  # a student's object that cannot be read, or one too large
            return
        self.open[frame] = call

    def _end(self, call: Call, value: Any) -> None:
        call.result = value
        if call.outer == "forward" and call.arguments:
            self.forwards[id(call.arguments[0])] = call
        if value is None:
            self.unfinished[call.code] = call
        if not call.target.later:
            if (wrong := self._judged(call)) is not None:
                self.found = call, wrong
        elif len(self.waiting) < MOST:
            with contextlib.suppress(Exception):  # as above
                call.after = [copied(argument) for argument in call.arguments]
                call.end = call.target.finish(call) if call.target.finish else None
                if call.outer == "backward":
                    call.result = _returned(value)
                elif isinstance(value, list):
                    call.result = list(value)
                self.waiting.append(call)

    def _judged(self, call: Call) -> Wrong | None:
        """What is wrong with a call that has returned."""
        try:
            wrong = call.target.judge(call)
        except Exception:  # the oracle has no answer to such arguments, or the result cannot be read
            return None
        if wrong is None:
            self.right += 1
        elif call.result is None and wrong.place == NOTHING:
            self.silent = self.silent or (call, wrong)
            return None
        return wrong


MOST = 5000
"""So many calls of one example wait at most."""

NOTHING = "what it returns"
"""The place of a difference where None was returned for something."""


def copied(value: Any) -> Any:
    """A value as it is now."""
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


def _returned(value: Any) -> Any:
    """A result as it is now: tensors copied, also in a list or a tuple."""
    if isinstance(value, list | tuple):
        return type(value)([_returned(each) for each in value]) if type(value) in (list, tuple) else value
    return copied(value) if hasattr(value, "_tensor") else value


def as_array(value: Any) -> Any:
    """The NumPy array that a value is, or that the simulator's array of the GPU or a watched one of the tests holds; else None."""
    for name in ("_ary", "values"):
        value = getattr(value, name, value) if not isinstance(value, dict) else value
    return value if type(value).__name__ == "ndarray" else None


def _layout(data: Any, constant: bool, itself: Any) -> Layout:
    if len(data._storage) > LARGEST:
        raise TooLarge
    return Layout(data._storage.copy(), data.shape, data.strides, data.offset, constant, itself)
