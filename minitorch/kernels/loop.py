"""Stage 4 - The loop over tasks that fused kernels share, on one thread or on several, and the tensors that they accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import prange

from minitorch.core.kernel import find_kernel
from minitorch.core.recording import call, call_with
from minitorch.fast_ops import FastOps
from minitorch.kernels.jit import FLAGS, code_key, compiler_is_off, jitable, launch, parallel, run_alone, serial, threads
from minitorch.tensor_data import Storage

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

PARALLEL_THRESHOLD = 1 << 18
"""Number of elements below which waking the other threads costs more time than they save, for a cheap function of each element."""


def accepts(x: Tensor) -> bool:
    """Return whether the fused kernels accept a tensor: float64 or float32, not empty, on the fast backend, with the compiler on.

    They build on the optimized kernels: where these are missing or switched off, no tensor is accepted.
    """
    computes = x.dtype.kind == "f" and x.dtype.itemsize > 2 and x.numel() > 0 and not compiler_is_off()
    return computes and x.backend.ops is FastOps and find_kernel("map", FastOps) is not None


def flat(x: Tensor) -> Storage:
    """Return the elements of a tensor as a contiguous 1D array: its storage if possible, otherwise a copy."""
    data = x._tensor
    return data.tuple()[0] if data.is_contiguous() else x.backend.id_map(x)._tensor._storage


class Loop(NamedTuple):
    """A compiled loop over tasks, for one thread and for several.

    The kernels' arguments are out and three operands (flat and contiguous; out is passed for unused ones), a tuple of sizes, the number of
    tasks, and the number of shares that the tasks are divided into.

    Attributes:
        serial: The loop on one thread.
        parallel: The loop on several threads.
        halvings: How many times PARALLEL_THRESHOLD is halved for it: 3 for loops that compute an exponential for each element.
    """

    serial: Any
    parallel: Any
    halvings: int

    def run(self, out: Storage, operands: tuple[Any, ...], sizes: tuple[int, ...] | Callable[[], tuple[Any, ...]], tasks: int) -> None:
        """Run the loop, in parallel if there is enough work. Sizes that change from step to step are given as a function."""
        a, b, c, *_ = *operands, out, out
        workers = threads() if max(out.size, a.size) >= PARALLEL_THRESHOLD >> self.halvings else 1
        shares = 1 if workers == 1 or tasks <= 1 else min(tasks, workers)
        if callable(sizes):
            arguments = (out, a, b, c), lambda: (sizes(), tasks, shares)
            if shares == 1:
                call_with(self.serial, *arguments)
            else:
                call_with(run_alone, (self.parallel, *arguments[0]), arguments[1])
        elif shares == 1:
            call(self.serial, out, a, b, c, sizes, tasks, 1)
        else:
            launch(self.parallel, out, a, b, c, sizes, tasks, shares)


def loop(body: Callable[..., None], halvings: int = 0, calls: tuple[Callable[..., Any], ...] = (), flags: dict[str, Any] = FLAGS) -> Loop:
    """Make a loop from a function that computes the tasks from start to stop.

    Args:
        body: Called as body(out, a, b, c, sizes, start, stop).
        halvings: See `Loop`.
        calls: Functions created at run time that body calls.
        flags: What the compiler may do; see `jit.IN_ANY_ORDER`.
    """
    body = jitable(body)
    key = code_key(body, *calls)

    def serial_loop(out, a, b, c, sizes, tasks, shares):
        _ = key
        body(out, a, b, c, sizes, 0, tasks)

    def parallel_loop(out, a, b, c, sizes, tasks, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            body(out, a, b, c, sizes, share * tasks // shares, (share + 1) * tasks // shares)

    made = Loop(serial(serial_loop, flags), parallel(parallel_loop, flags), halvings)
    if flags is FLAGS:
        vars(made.serial)["body"] = vars(made.parallel)["body"] = body  # a recorded program calls it
    return made
