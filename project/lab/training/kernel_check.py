"""Call each kernel of the compiled backend once on small tensors, without the compiler.

Nothing can interrupt an endless loop in compiled code: it would block the whole app. Python code can be interrupted, and its
variables can be shown. A page therefore runs this program, with NUMBA_DISABLE_JIT=1, before it compiles the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import minitorch
from project.lab import time_limit
from project.lab.training import job_errors

PROGRAM = "lab/training/kernel_check.py"
"""The path of this program in `project/`."""

LIMIT = 2.0
"""Seconds that a kernel may take; it needs a few milliseconds."""


def calls() -> list[Callable[[], object]]:
    """One call for each kernel."""
    backend = minitorch.TensorBackend(minitorch.FastOps)

    def rand(*shape: int) -> minitorch.Tensor:
        return minitorch.rand(shape, backend=backend)

    found: list[Callable[[], object]] = [
        lambda: -rand(2, 3),
        lambda: rand(2, 1) + rand(3),
        lambda: rand(2, 3).sum(1),
        lambda: rand(2, 2, 3) @ rand(3, 2),
    ]
    conv1d, conv2d = getattr(minitorch, "conv1d", None), getattr(minitorch, "conv2d", None)  # Module 4 adds them
    if conv1d and conv2d:
        found += [lambda: conv1d(rand(1, 1, 4), rand(1, 1, 2)), lambda: conv2d(rand(1, 1, 3, 3), rand(1, 1, 2, 2))]
    return found


if __name__ == "__main__":
    time_limit.LIMIT = LIMIT
    with job_errors.reported(), suppress(Exception):  # the page shows other errors when it calls the kernels itself
        for call in calls():
            with suppress(Exception):
                call()
