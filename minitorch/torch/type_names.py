"""Stage 7 - The names of PyTorch's tensor types, such as "torch.FloatTensor": what each constructs, and its dtype and device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype
from minitorch.core.errors import ArgumentError
from minitorch.tensor import Tensor
from minitorch.torch import creation
from minitorch.torch.places import Size

DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Byte": "uint8", "Char": "int8", "Short": "int16",
    "Int": "int32", "Long": "int64", "Bool": "bool",
}  # fmt: skip
"""The dtypes by the first word of their types' names."""
NAMES = {
    f"{module}.{word}Tensor": {"dtype": dtype, "device": device}
    for module, device in (("torch", "cpu"), ("torch.cuda", "cuda"))
    for word, dtype in DTYPES.items()
}
"""The names of the dtypes and the devices of the types, by their full names."""


def construct(name: str, data: tuple[Any, ...], dtype: np.dtype, device: Any) -> Tensor:
    """Zeros if data are sizes, else the numbers of one sequence, or a tensor of this dtype itself. Raises TypeError for other data."""
    first = data[0] if len(data) == 1 else None
    if isinstance(first, Tensor):
        if first.dtype != dtype:
            raise TypeError(f"{name} expected a tensor of {dtype.name}, got one of {first.dtype.name}; convert it with x.to(dtype)")
        return first.view(*first.shape)
    if isinstance(first, Size) or all(isinstance(each, (int, np.integer)) and not isinstance(each, bool) for each in data):
        return creation.zeros(*data or (0,), dtype=dtype, device=device)
    if not isinstance(first, (Sequence, np.ndarray)) or isinstance(first, (str, bytes)):
        shown = ", ".join(type(each).__name__ for each in data)
        raise TypeError(f"{name} expected sizes, or one sequence of numbers, got {shown}; use torch.tensor for a number")
    return creation.tensor(first, dtype=dtype, device=device)


def type_of(x: Tensor) -> str:
    """The full name of the type of a tensor."""
    place = {"dtype": x.dtype.name, "device": "cuda" if x.backend.cuda else "cpu"}
    return next(name for name, each in NAMES.items() if each == place)


def targets(dtype: Any) -> dict[str, Any]:
    """The arguments of `Tensor.to` for the argument of `Tensor.type`: a dtype, a type or the full name of a type.

    Raises:
        ValueError: If it is another word.
    """
    name = f"{dtype.__module__}.{dtype.__name__}".removeprefix("mini") if isinstance(dtype, type) else dtype
    if isinstance(name, str) and name in NAMES:
        return {**NAMES[name], "dtype": as_dtype(NAMES[name]["dtype"])}
    if isinstance(dtype, str):
        raise ArgumentError(f"type expected the name of a tensor type, got {dtype!r}; such as 'torch.FloatTensor', or a dtype")
    return {"dtype": as_dtype(dtype)}
