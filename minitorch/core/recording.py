"""Stage 1 - Recording: where a kernel is launched, so that a program can be recorded and run again without Python (see `compiler`).

Whatever computes with the elements of tensors goes through `call`, `call_with` or an operation of a backend. As long as no recorder is
active, they only run it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np  # not at run time: Modules 0 and 1 use it without NumPy

Array = TypeVar("Array")


class _Active(threading.local):
    """The recorder that listens to this thread; None almost always.

    Attributes:
        recorder: A `compiler.recorder.Recorder`.
    """

    def __init__(self) -> None:
        self.recorder: Any = None


active = _Active()


def call(fn: Callable[..., Any], *args: Any) -> Any:
    """Run a function that computes with arrays, and record the call.

    Args:
        fn: Reads and writes its arguments in place. A replay calls it again, so it may also check values and raise an error.
        args: Arrays, and plain values, which are constants of the recorded program.
    """
    return fn(*args) if active.recorder is None else active.recorder.call(fn, args)


def call_with(fn: Callable[..., Any], arrays: tuple[Any, ...], rest: Callable[[], tuple[Any, ...]]) -> Any:
    """Run fn(*arrays, *rest()), and record the call. A replay computes rest() again: a learning rate, a number of steps."""
    return fn(*arrays, *rest()) if active.recorder is None else active.recorder.call_with(fn, arrays, rest)


def call_python(fn: Callable[..., Any], tensors: tuple[Any, ...], *args: Any) -> Any:
    """Run fn(*tensors, *args), Python that a replay runs again as it is, such as the `update` of an optimizer without a kernel.

    Args:
        fn: Writes into the first tensor; what it returns is not used in a replay.
        tensors: The tensors of the program that it touches. While a program is recorded and replayed, it gets copies of all but the first.
        args: Objects that belong to it, such as its state.
    """
    return fn(*tensors, *args) if active.recorder is None else active.recorder.call_python(fn, tensors, args)


def assign(fn: Callable[..., Any], target: Any, args: tuple[Any, ...], inputs: tuple[Any, ...] = ()) -> None:
    """Run fn(*args), which writes into elements of a tensor's data, and record it. The caller counts the write afterwards.

    Args:
        fn: The function.
        target: The TensorData.
        args: Arrays and plain values.
        inputs: TensorData of other tensors whose numbers it reads.
    """
    if active.recorder is None:
        fn(*args)
    else:
        active.recorder.assign(fn, target, args, inputs)


def clears_gradient(x: Any) -> None:
    """Note that the gradient of a tensor is about to be cleared: what it was before the recorded call does not matter to a replay."""
    if active.recorder is not None:
        active.recorder.cleared.setdefault(x, x.grad)


def constant(array: Array) -> Array:
    """The array, which NumPy computed from plain values alone: the same in every replay."""
    if active.recorder is not None:
        active.recorder.constant(array)
    return array


def refuse(what: str) -> None:
    """What cannot be recorded, such as a value that Python reads; raises `compiler.NotRecordable` while a program is recorded."""
    if active.recorder is not None:
        active.recorder.refuse(what)


def fill(storage: Any, value: float) -> None:
    """Write one number into every element of an array."""
    storage[...] = value


def zeros(shape: Any, dtype: Any) -> np.ndarray:
    """An array of zeros, for a kernel that adds to it; a replay fills it again."""
    import numpy as np

    array = np.zeros(shape, dtype)  # untouched pages cost nothing
    if active.recorder is not None:
        call(fill, array, 0)
    return array


def concatenate(target: np.ndarray, *parts: Any) -> None:
    """Write arrays of one dimension one after the other into an array."""
    start = 0
    for part in parts:
        target[start : start + len(part)] = part
        start += len(part)


def copy(target: Any, source: Any) -> None:
    """Write the elements of an array into another of the same shape."""
    target[...] = source
