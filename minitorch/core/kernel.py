"""Stage 2 - Kernels: what computes an operation on a backend, and the one place where an optimized kernel is preferred."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from minitorch.core.backend import TensorOps
    from minitorch.tensor_data import TensorData

Fn = TypeVar("Fn", bound=Callable[..., Any])


class Kernel(Protocol):
    """What computes one operation on tensors' data."""

    def __call__(self, out: TensorData, *inputs: Any) -> None:
        """Write the result into out; inputs are TensorData and plain values such as a dim."""


_kernels: dict[tuple[Any, str], Any] = {}


def register_kernel(function: Any, backend: str, kernel: Any) -> None:
    """Make a kernel the optimized one of a function on a backend.

    Args:
        function: The operation: a scalar function such as `operators.exp`, or a name such as "conv1d".
        backend: The name of the backend's operations: "fast" or "cuda".
        kernel: What computes it.
    """
    _kernels[function, backend] = kernel


def find_kernel(function: Any, ops: type[TensorOps]) -> Any:
    """The optimized kernel of a function, or None: then the textbook kernel computes it.

    None too while `ops.optimized` is False, and in a workspace whose kernels are the student's.
    """
    return _kernels.get((function, ops.name)) if ops.optimized else None


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
