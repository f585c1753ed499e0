"""Stage 5 - Snapshots: everything that a step changes, saved so that the step can be taken back and compared."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minitorch.compiler.guards import Guards, name_of, states_of
from minitorch.compiler.scan import PLAIN
from minitorch.core.tensor_base import TensorBase
from minitorch.tensor import generator

FUSED_TOLERANCE = {"float64": 1e-12, "float32": 1e-4}
"""The largest difference between a fused program and its launches, relative to the largest number of a result."""


class Snapshot:
    """The numbers of all tensors that a function refers to, their gradients, the optimizers' state, and random generators.

    Args:
        guards: They know the tensors.
        arguments: Further tensors.
    """

    def __init__(self, guards: Guards, arguments: Sequence[Any] = ()) -> None:
        self.tensors = [*guards.tensors, *(x for x in arguments if x not in guards.tensors)]
        self.optimizers = guards.optimizers
        self.arrays = [x.backend.ops.place(x._tensor).array().copy() if not x.backend.cuda else x.to_numpy() for x in self.tensors]
        self.grads = [(x, x.grad, None if x.grad is None else x.grad.to_numpy()) for x in self.tensors]
        self.states = [{p: dict(state) for p, state in states_of(optimizer).items()} for optimizer in self.optimizers]
        self.numbers = [
            {(p, name): entry.to_numpy() for p, state in states_of(optimizer).items() for name, entry in state.items() if _is_tensor(entry)}
            for optimizer in self.optimizers
        ]
        self.settings = [(group, dict(group)) for optimizer in self.optimizers for group in optimizer.param_groups]
        self.attributes = [(vars(each), {k: v for k, v in vars(each).items() if isinstance(v, PLAIN)}) for each in self.optimizers]
        self.random = generator.bit_generator.state
        self.other_random = random.getstate(), np.random.get_state()

    def restore(self) -> None:
        """Write everything back."""
        for x, array in zip(self.tensors, self.arrays, strict=True):
            if not same(x.detach().to_numpy(), array):  # what has not changed keeps its version
                write(x, array)
        for x, grad, array in self.grads:
            x.grad = grad
            if array is not None and not same(grad.to_numpy(), array):
                write(grad, array)
        for holder, before in (*self.settings, *self.attributes):
            holder.update(before)
        for optimizer, states, numbers in zip(self.optimizers, self.states, self.numbers, strict=True):
            for p in [p for p in optimizer.state if p not in states]:
                del optimizer.state[p]
            now = states_of(optimizer)
            for p, state in states.items():
                now[p].clear()
                now[p].update(state)
                for name, entry in state.items():
                    if _is_tensor(entry):
                        write(entry, numbers[p, name])
        generator.bit_generator.state = self.random
        random.setstate(self.other_random[0])
        np.random.set_state(self.other_random[1])

    def difference(self, other: Snapshot, guards: Guards, tolerance: Mapping[str, float] | None = None) -> str:
        """What differs from another snapshot of the same objects, in words; "" if nothing does. For the tolerance see `same`."""
        for x, mine, theirs in zip(self.tensors, self.arrays, other.arrays, strict=True):
            if not same(mine, theirs, tolerance):
                return guards.tensors.get(x, "an argument")
        for (x, _, mine), (_, _, theirs) in zip(self.grads, other.grads, strict=True):
            if (mine is None) != (theirs is None) or (mine is not None and not same(mine, theirs, tolerance)):
                return f"the gradient of {guards.tensors.get(x, 'an argument')}"
        for mine, theirs in zip(self.states, other.states, strict=True):
            for p, state in mine.items():
                for name, entry in state.items():
                    if isinstance(entry, PLAIN) and entry != theirs.get(p, {}).get(name):
                        return f"the optimizer's {name} of {name_of(p)}"
        for mine, theirs in zip(self.numbers, other.numbers, strict=True):
            for (p, name), array in mine.items():
                if not same(array, theirs.get((p, name)), tolerance):
                    return f"the optimizer's {name} of {name_of(p)}"
        return "the random numbers" if self.random != other.random else ""


def write(x: Any, array: np.ndarray) -> None:
    """Write numbers into a tensor, whatever records its gradients."""
    x.detach()[...] = array


def same(a: Any, b: Any, tolerance: Mapping[str, float] | None = None) -> bool:
    """Whether two arrays hold the same numbers; NaN equals NaN.

    Args:
        a: An array.
        b: Another.
        tolerance: For the name of a dtype the largest difference, relative to the largest number of b, that counts as the same; 0 for
            all others.
    """
    if b is None or a.shape != b.shape:
        return False
    allowed = (tolerance or {}).get(a.dtype.name, 0.0)
    if a.dtype.kind == "V" or not allowed:
        return a.tobytes() == b.tobytes() or bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    scale = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
    return bool(np.allclose(a, b, rtol=allowed, atol=allowed * scale, equal_nan=True))


def difference(mine: Sequence[np.ndarray], theirs: Sequence[np.ndarray], tolerance: Mapping[str, float] | None = None) -> str:
    """Which of several results differ, in words; "" if none does."""
    if len(mine) != len(theirs):
        return "the number of results"
    for number, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if not same(a, b, tolerance):
            return "the result" if len(mine) == 1 else f"result {number}"
    return ""


def _is_tensor(entry: Any) -> bool:
    return isinstance(entry, TensorBase)
