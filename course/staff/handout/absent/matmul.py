"""Stage 3 - Names of the optimized matrix product, in a library without the optimized kernels: nothing calls them."""

from typing import Any

PARALLEL_THRESHOLD = 1 << 19


def row_adder(*arguments: Any) -> Any:
    """The kernel that is absent."""
    raise RuntimeError("this library has no optimized kernels; check with accepts whether a tensor can be given to one")


aligned = add_rows = dot_rows = row_adder
