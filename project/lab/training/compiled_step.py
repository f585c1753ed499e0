"""A training step that is compiled, and what that gains."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import minitorch

EAGER_STEPS = 5
"""How many steps run as they are at the beginning, to compare the others with; the first of them compiles kernels and does not count."""


class CompiledStep:
    """A training step: as it is, or recorded and replayed after a few steps.

    Args:
        step: Takes tensors and returns tensors without history.
        compiled: Whether to compile it.

    Raises:
        RuntimeError: If the package ends before `minitorch.compile`.
    """

    def __init__(self, step: Callable[..., Any], compiled: bool) -> None:
        self.function, self.replayed, self.eager = step, None, [0.0]
        self.times: list[float] = []
        if compiled:
            compile_step = getattr(minitorch, "compile", None)  # by name: the package of a student does not have it
            if compile_step is None:
                raise RuntimeError("--compile needs minitorch.compile, which comes after the course; leave out --compile")
            self.replayed = compile_step(step, fallback="eager")
            self.eager = []

    def __call__(self, *tensors: Any) -> Any:
        """Take a step, and time it."""
        if self.replayed is None:
            return self.function(*tensors)
        is_eager = len(self.eager) < EAGER_STEPS
        begun = time.perf_counter()
        result = (self.function if is_eager else self.replayed)(*tensors)
        (self.eager if is_eager else self.times).append(time.perf_counter() - begun)
        return result

    def gain(self) -> str:
        """A sentence on what was replayed and what it gained; "" without compilation or before there are enough steps."""
        if self.replayed is None or len(self.times) < EAGER_STEPS:
            return ""
        before, after = median(self.eager[1:]) * 1e6, median(self.times) * 1e6
        replayed = f"{self.replayed.replayed} of {len(self.eager) + len(self.times)} steps were replayed"
        return f"Compiled: {replayed}; a step takes {after:.0f} µs instead of {before:.0f} µs, {before / after:.1f} times as fast."
