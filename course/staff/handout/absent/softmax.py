"""Stage 4 - The names of the fused softmax kernels, in a library without the optimized kernels: their functions are never applied."""

from typing import Any

from minitorch.tensor_functions import Function

SOFTMAX_BACKWARD: Any = None


def run_rows(*arguments: Any) -> Any:
    """The kernel that is absent."""
    raise RuntimeError("this library has no optimized kernels; check with accepts whether a tensor can be given to one")


exp_row = _row_sum = _row_unordered_max = run_rows


class FastMax(Function):
    """A function without a kernel."""


class Softmax(Function):
    """A function without a kernel."""


class LogSoftmax(Function):
    """A function without a kernel."""
