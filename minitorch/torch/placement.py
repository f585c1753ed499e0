"""Stage 7 - Where a tensor is stored and in which dtype, from the arguments device and dtype of layers."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtypes import as_dtype
from minitorch.tensor import Tensor as EngineTensor
from minitorch.torch.places import backend_of, target
from minitorch.torch.promotion import get_default_dtype


def placement(device: Any = None, dtype: Any = None) -> dict[str, Any]:
    """The arguments backend and dtype of the engine's layers and of its functions that make tensors."""
    return {"backend": backend_of(device), "dtype": get_default_dtype() if dtype is None else as_dtype(dtype)}


def targets_of(*targets: Any) -> list[Any]:
    """Devices, dtypes, tensors, which stand for both, or None as backends and dtypes for `to`. Raises TypeError for others."""
    found: list[Any] = []
    for given in targets:
        tensor = given
        if isinstance(tensor, EngineTensor):
            found += [tensor.backend, tensor.dtype]
        elif given is not None:
            found.append(target(given))
    return found
