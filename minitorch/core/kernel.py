"""Stage 1 - Kernels: what computes an operation on a backend, and the one place where an optimized kernel is preferred."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from minitorch.tensor_data import TensorData

Fn = TypeVar("Fn", bound=Callable[..., Any])


class Kernel(Protocol):
    """What computes one operation on tensors' data.

    Two attributes are optional: `writes_all`, whether it writes every element of out, which then need not be initialized; and
    `reduces_many`, whether it accepts several dimensions, as a tuple.
    """

    def __call__(self, out: TensorData, *inputs: Any) -> None:
        """Write the result into out; inputs are TensorData and plain values such as a dim."""


_optimized: dict[tuple[Any, str], Any] = {}
_textbook: dict[tuple[Any, str], Any] = {}
_loaded: set[tuple[Any, str]] = set()


def register_kernel(function: Any, backend: str, kernel: Any, textbook: bool = False) -> None:
    """Register the kernel that computes a function on a backend. `minitorch/kernels/__init__.py` names the module that does so.

    Args:
        function: The operation, such as "zip" or "conv1d".
        backend: The name of the backend's operations: "fast" or "cuda".
        kernel: What computes it.
        textbook: Whether it is the course's kernel, used where there is no optimized one.
    """
    (_textbook if textbook else _optimized)[function, backend] = kernel


def find_kernel(function: Any, ops: Any) -> Any:
    """The kernel of a function on a backend: the optimized one, else the registered textbook kernel, else None.

    ops is the backend's subclass of `TensorOps`. Optimized kernels are skipped while `ops.optimized` is False.
    A workspace in which students write kernels has none.
    """
    key = (function, ops.name)
    if key not in _loaded:  # the first time, import the module that registers the kernel
        getattr(sys.modules.get("minitorch.kernels"), f"{ops.name}_{getattr(function, '__name__', function)}", None)
        _loaded.add(key)
    return (ops.optimized and _optimized.get(key)) or _textbook.get(key)


def prefer_optimized(function: Fn) -> Fn:
    """Decorator of a function of tensors: call the optimized one registered under its name, where there is one.

    The optimized function takes the same arguments. It may return NotImplemented for arguments that it does not accept; then the
    decorated function computes the result.
    """

    @wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        optimized = find_kernel(function.__name__, input.backend.ops)
        result = NotImplemented if optimized is None else optimized(input, *args, **kwargs)
        return function(input, *args, **kwargs) if result is NotImplemented else result

    return call  # type: ignore[return-value] - the same signature
