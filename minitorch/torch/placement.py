"""Stage 6 - Where a tensor is stored and in which dtype, from the arguments device and dtype."""

from __future__ import annotations

from typing import Any

from minitorch.core.backend import resolve_backend
from minitorch.core.dtypes import as_dtype
from minitorch.fast_ops import FastBackend
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor_ops import TensorBackend
from minitorch.torch.promotion import get_default_dtype


def backend_of(device: Any) -> TensorBackend:
    """The backend of a device: None for the CPU, a name, a device object, or a backend.

    Raises:
        TypeError: If it is none of these.
    """
    if device is None:
        return FastBackend
    found = resolve_backend(device if isinstance(device, (str, TensorBackend)) else getattr(device, "type", device))
    if found is None:
        raise TypeError(f'expected a device such as "cpu" or "cuda", got {device!r}')
    return found


def placement(device: Any = None, dtype: Any = None) -> dict[str, Any]:
    """The arguments backend and dtype of the engine's layers and of its functions that make tensors."""
    return {"backend": backend_of(device), "dtype": get_default_dtype() if dtype is None else as_dtype(dtype)}


def targets_of(*targets: Any) -> list[Any]:
    """What `Tensor.to` and `Module.to` are given as backends and dtypes.

    Args:
        targets: Devices, dtypes, tensors, which stand for both, or None, which changes nothing.

    Raises:
        TypeError: If one is something else.
    """
    found: list[Any] = []
    for target in targets:
        tensor = getattr(target, "_engine", target)
        if isinstance(tensor, EngineTensor):
            found += [tensor.backend, tensor.dtype]
        elif target is not None:
            named = target if isinstance(target, (str, TensorBackend)) else getattr(target, "type", target)
            found.append(resolve_backend(named) or as_dtype(target))
    return found
