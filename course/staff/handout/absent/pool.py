"""Stage 4 - The names of the fused pooling kernels, in a library without the optimized kernels: their functions are never applied."""

from collections.abc import Callable
from typing import Any

from minitorch.tensor_functions import Function


class Loop:
    """A loop that was not compiled: where a kernel would run it, tensor operations compute the same."""


class AvgPool(Function):
    """A function without a kernel."""


class MaxPool(Function):
    """A function without a kernel."""


def loop(body: Callable[..., None], halvings: int = 0, calls: tuple[Callable[..., Any], ...] = ()) -> Loop:
    """A loop that was not compiled."""
    return Loop()


def flat(x: Any) -> Any:
    """Kernels take flat arrays; there is none to take this one."""
    raise RuntimeError("this library has no optimized kernels; check with accepts whether a tensor can be given to one")
