"""Stage 5 - The comparison of a replay with the function itself, number by number.

The numbers of a tensor that were read without a recorded kernel are constants of the program. A comparison finds that only if the tensor
holds other numbers by then. So it is made at the first replay, and again when an argument or a tensor of the function first changes.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from minitorch.compiler.nesting import map_tensors, same_layout
from minitorch.compiler.snapshot import FUSED_TOLERANCE, Snapshot, difference, same
from minitorch.core.dtypes import is_float
from minitorch.tensor import tensor


class Unseen:
    """Tensors whose numbers are still those of the recorded call.

    Args:
        arguments: The arguments of the call.
        others: The tensors that the function refers to.
    """

    def __init__(self, arguments: Sequence[Any], others: Iterable[Any]) -> None:
        self._arguments = {number: (_digest(x), x, x._tensor._version[1]) for number, x in enumerate(arguments)}
        self._others = {x: x._tensor._version[1] for x in others}

    def changed(self, arguments: Sequence[Any]) -> list[Any]:
        """The numbers of arguments, and the tensors, that have changed since."""
        found: list[Any] = [x for x, version in self._others.items() if x._tensor._version[1] != version] if self._others else []
        for number, (digest, known, known_version) in self._arguments.items():
            x = arguments[number]
            version = x._tensor._version[1]
            if x is known and version == known_version:
                continue
            if _digest(x) == digest:
                self._arguments[number] = digest, x, version
            else:
                found.append(number)
        return found

    def remove(self, changed: Iterable[Any]) -> None:
        """Stop tracking values that have been compared."""
        for each in changed:
            (self._arguments if isinstance(each, int) else self._others).pop(each, None)


def _digest(x: Any) -> bytes:
    """What tells the numbers of a tensor from others, in place of a copy."""
    array = x.to_numpy() if x.backend.cuda else x.backend.ops.place(x._tensor).array()
    return hashlib.blake2b(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).digest()


class _Current(threading.local):
    """What this thread does.

    Attributes:
        is_checking: Whether it runs a compiled function as it is, to compare its results.
    """

    is_checking = False

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Run compiled functions as they are in the block."""
        self.is_checking = True
        try:
            yield
        finally:
            self.is_checking = False


current = _Current()


def compare(recording: Any, args: Any, tensors: Sequence[Any], replay: Callable[[], Any]) -> tuple[Any, str]:
    """Replay and run the function itself. After an error, or if something differs, everything is as it was before.

    Args:
        recording: The recording.
        args: Positional and keyword arguments.
        tensors: The tensors among them, each once.
        replay: Replays the recording with them.

    Returns:
        The result for the caller, and what differs, in words; "" if nothing does.
    """
    before = Snapshot(recording.guards, tensors)
    try:
        wrong = _difference_of_gradients(recording, before, args) if recording.has_gradients else ""
        replayed = replay()
        found = _arrays(replayed)
        after = Snapshot(recording.guards, tensors)
        before.restore()
        with current.checking():
            expected = recording.fn(*args[0], **args[1])
    except BaseException:
        before.restore()
        recording.replays = 0
        raise
    tolerance = _tolerance(recording)
    wrong = wrong or difference(found, _arrays(expected), tolerance)
    wrong = wrong or after.difference(Snapshot(recording.guards, tensors), recording.guards, tolerance)
    if wrong:
        before.restore()
    return (replayed if recording.has_gradients else expected), wrong


def _tolerance(recording: Any) -> dict[str, float] | None:
    """What counts as the same: for a fused program, which adds in another order, numbers up to rounding."""
    return None if recording.program is None else FUSED_TOLERANCE


def _difference_of_gradients(recording: Any, before: Snapshot, args: Any) -> str:
    """Which gradient of the result differs from the function's own, in words; "" if none does. Leaves everything as it was."""
    gradients = []
    for is_replay in (True, False):
        own = {id(x): x for x in _tensors(args)}
        leaves = {number: _as_leaf(x) for number, x in own.items()}
        if is_replay:
            result = recording.replay(list(leaves.values()))
            recording.replays -= 1
        else:
            copies = map_tensors(args, lambda x: leaves[id(x)])  # noqa: B023 - called at once
            with current.checking():
                result = recording.fn(*copies[0], **copies[1])
        for x in recording.guards.tensors:
            x.grad = None
        for output in _tensors(result):
            history = output.history
            if history is not None and history.last_fn is not None and history.ctx is not None and is_float(output.dtype):
                output.backward(_seed(output))
        named = [(f"argument {number}", x) for number, x in enumerate(leaves.values())]
        named += [(path, x) for x, path in recording.guards.tensors.items()]
        gradients.append([(path, None if x.grad is None else x.grad.to_numpy()) for path, x in named])
        before.restore()
    for (path, mine), (_, theirs) in zip(*gradients, strict=True):
        if (mine is None) != (theirs is None) or (mine is not None and not same(mine, theirs, _tolerance(recording))):
            return f"the gradient of {path}"
    return ""


def _tensors(structure: Any) -> list[Any]:
    """The tensors in a structure, in order."""
    found: list[Any] = []
    map_tensors(structure, found.append)
    return found


def _as_leaf(x: Any) -> Any:
    """A copy of an argument, of the same layout, with a graph and a gradient of its own."""
    copy = x._like(same_layout(x._tensor)) if not x.backend.cuda else x.detach().clone()
    if x.history is not None:
        copy.requires_grad_(True)
    copy.grad = None if x.grad is None else x.grad.clone()
    return copy


def _seed(output: Any) -> Any:
    """Numbers in the place of the gradient of a result: all different, and the same in every call."""
    return tensor(np.linspace(0.5, 1.5, output.numel()).reshape(output.shape), output.backend, dtype=output.dtype)


def _arrays(result: Any) -> list[Any]:
    """The numbers of the tensors in a result."""
    return [x.detach().to_numpy() for x in _tensors(result)]
