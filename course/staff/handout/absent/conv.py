"""Stage 4 - The names of the optimized convolution, in a library without it: the course's convolution takes its place."""

from typing import Any


def correlate(*arguments: Any) -> Any:
    """The kernel that is absent."""
    raise RuntimeError("this library has no optimized convolution; check with is_optimized before calling it")


Axis = Channels = Operand = axis = correlate
