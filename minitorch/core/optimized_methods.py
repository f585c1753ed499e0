"""Stage 6 - The seam through which kernels replace a method of a Module, as `kernel.prefer_optimized` does for functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from minitorch.core.kernel import find_kernel

Method = TypeVar("Method", bound=Callable[..., Any])


def prefer_optimized_method(method: Method) -> Method:
    """Decorator of a method of a Module: call the optimized function registered under the name of the class, where there is one.

    The optimized function takes the same arguments, self included. It may return NotImplemented for arguments that it does not accept;
    then the method computes the result, as it does where the first argument, a tensor, is passed by its name.
    """
    name = method.__qualname__.split(".")[-2]

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        optimized = find_kernel(name, args[0].backend.ops) if args else None
        result = NotImplemented if optimized is None else optimized(self, *args, **kwargs)
        return method(self, *args, **kwargs) if result is NotImplemented else result

    return call  # type: ignore[return-value] - the same signature
