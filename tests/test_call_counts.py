"""The number of library functions between an expression and the code that computes it is small."""

import sys
from collections.abc import Callable
from pathlib import Path
from traceback import walk_stack
from types import FrameType
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import operators
from minitorch.kernels.jit import compiler_is_off
from minitorch.tensor_functions import Mul

LIBRARY = str(Path(minitorch.__file__).parent)


def in_library(frame: FrameType) -> bool:
    """Whether a frame runs a named function of the library; comprehensions and NumPy's decorators do not count."""
    return frame.f_code.co_filename.startswith(LIBRARY) and not frame.f_code.co_name.startswith("<")


def path_of(frame: FrameType) -> list[str]:
    """The library functions on the call stack, outermost first."""
    return [each.f_code.co_name for each, _ in walk_stack(frame) if in_library(each)][::-1]


def paths(expression: Callable[[], Any]) -> list[list[str]]:
    """For each call of a library function, including properties and compiled kernels, the path that led to it."""
    found = []

    def record(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and in_library(frame):
            found.append(path_of(frame))

    for _ in range(2):  # now everything is compiled, and the layouts are cached
        expression()
    before = sys.getprofile()
    sys.setprofile(record)
    try:
        expression()
    finally:
        sys.setprofile(before)
    return found


def hops(found: list[list[str]], end: Any) -> int:
    """The number of calls on the path from the operator to a function."""
    return min(len(path) - 1 for path in found if path[-1] == end.__name__)


def matrices(backend: minitorch.TensorBackend) -> tuple[minitorch.Tensor, minitorch.Tensor]:
    a, b = np.arange(4.0).reshape(2, 2), np.ones((2, 2))
    return minitorch.from_numpy(a, backend=backend), minitorch.from_numpy(b, backend=backend)


@pytest.mark.skipif(compiler_is_off(), reason="counts calls up to a compiled kernel; the compiler is off")
@pytest.mark.parametrize(
    ("expression", "most", "longest"),
    [(lambda a, b: a + b, 9, 4), (lambda a, b: a @ b, 10, 4), (lambda a, b: a.sum(0), 22, 5)],
    ids=["a + b", "a @ b", "a.sum(0)"],
)
def test_an_operation_on_the_fast_backend_runs_few_functions_on_a_short_path(
    expression: Callable[..., Any], most: int, longest: int
) -> None:
    from minitorch.kernels.elementwise import Zip

    a, b = matrices(minitorch.FastBackend)
    found = paths(lambda: expression(a, b))
    assert len(found) <= most, [path[-1] for path in found]
    assert hops(found, Zip.__call__) <= longest, found


def test_the_path_from_an_operator_to_the_scalar_function_is_short_on_the_simple_backend() -> None:
    a, b = matrices(minitorch.SimpleBackend)
    found = paths(lambda: a + b)
    assert hops(found, operators.add) <= 6, found


def test_the_path_to_the_backward_of_a_function_is_short() -> None:
    a, b = matrices(minitorch.SimpleBackend)
    x = a.requires_grad_()
    found = paths(lambda: (x * b).sum().backward())
    assert hops(found, Mul.backward) <= 4, [path for path in found if path[-1] == "backward"]
