"""Run a training program of project/ and report each kernel that it needs, before the kernel is compiled or loaded from disk.

    python project/lab/training/kernel_events.py run_mnist_multiclass.py --json

Numba compiles a kernel at its first call, which can take seconds. A page shows which kernel that is.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.caching import FunctionCache

from course.manifest import ROOT

PROGRAM = "lab/training/kernel_events.py"
"""The path of this program in `project/`."""

COUNTS = {"run_mnist_multiclass": 27, "run_sentiment": 30}
"""About how many kernels each program needs with its default settings. Other settings or another network need a few more or fewer."""

NAMES = {
    "minitorch.kernels.elementwise": "an elementwise operation",
    "minitorch.kernels.reduce": "a reduction, such as a sum",
    "minitorch.kernels.matmul": "a matrix product",
    "minitorch.kernels.conv": "a convolution",
    "minitorch.kernels.conv_matmul": "the gradient of a convolution",
    "minitorch.kernels.loop": "a loop over rows, such as pooling",
}
"""What the kernels of a module compute."""


def name(function: Any) -> str:
    """Describe a kernel: what it computes, or its name if a student wrote it."""
    return NAMES.get(function.__module__, f"`{function.__name__}`")


@contextmanager
def reported() -> Iterator[None]:
    """In the `with` block, print a line of JSON before a kernel is looked up on disk: its number, and its name."""
    cache: Any = FunctionCache  # Any: its method is replaced by a function
    find, number = cache.load_overload, 0

    def load_overload(self: Any, *arguments: Any) -> Any:
        nonlocal number
        number += 1
        print(json.dumps({"kernel": number, "name": name(self._py_func)}), flush=True)
        return find(self, *arguments)

    cache.load_overload = load_overload
    try:
        yield
    finally:
        cache.load_overload = find


def main(program: str, *arguments: str) -> None:
    """Run the program as if it had been started itself."""
    path = ROOT / "project" / program
    sys.argv[:], sys.path[0] = [str(path), *arguments], str(path.parent)
    with reported():
        runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
