"""Stage 4 - The names of the fused pooling kernels, in a library without the optimized kernels: their functions are never applied."""

from minitorch.tensor_functions import Function


class AvgPool(Function):
    """A function without a kernel."""


class MaxPool(Function):
    """A function without a kernel."""
