"""Stage 7 - Devices, dtypes and sizes under PyTorch's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.backend import resolve_backend
from minitorch.core.dtypes import as_dtype, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from minitorch.core.errors import ArgumentError
from minitorch.fast_ops import FastBackend
from minitorch.tensor_ops import TensorBackend

dtype = np.dtype
"""The class of the dtypes."""

double, half, short, long = float64, float16, int16, int64

DTYPES = {
    "float16": float16, "float32": float32, "float64": float64, "int8": int8, "int16": int16, "int32": int32, "int64": int64,
    "uint8": uint8, "bool": bool_, "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
}  # fmt: skip
"""The dtypes by PyTorch's names."""


FLOATS = ("float16", "bfloat16", "float32", "float64")
"""Names of dtypes that `to` takes, and which `Module.half` and its relatives pass."""


class device:
    """A place of computation: "cpu" or "cuda". In a `with` statement, it is the default device inside of the block.

    Args:
        type: Its name, with or without a number: "cuda:0"; or a device; or the number of a GPU.
        index: The number.

    Raises:
        TypeError: If it is neither a name nor a device.
        ValueError: If there is no such device.
    """

    def __init__(self, type: Any, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f'device expected a name, "cpu" or "cuda", got {type!r}')
        kind, colon, number = str(type).partition(":")
        if kind not in ("cpu", "cuda") or (colon and not number.isdigit()):
            raise ArgumentError(f'device expected "cpu" or "cuda", got {type!r}; or with a number: "cuda:0"')
        self.type, self.index = kind, int(number) if colon else index
        self._before: list[TensorBackend] = []

    def __enter__(self) -> device:
        global _default
        new = backend_of(self)
        self._before.append(_default)
        _default = new
        return self

    def __exit__(self, *exception: object) -> None:
        global _default
        _default = self._before.pop()

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r}{'' if self.index is None else f', index={self.index}'})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


_default: TensorBackend = FastBackend


def set_default_device(device: Any) -> None:
    """Set where tensors and parameters are stored for which no device is given: the CPU at first, or again with None.

    Raises:
        ValueError: If there is no such device.
        RuntimeError: If there is no GPU.
    """
    global _default
    _default = FastBackend if device is None else backend_of(device)


def get_default_device() -> device:
    """Where tensors are stored for which no device is given."""
    return device_of(_default)


def backend_of(place: Any) -> TensorBackend:
    """The backend of a device or its name; None stands for the default device.

    Raises:
        ValueError: If there is no such device.
        RuntimeError: If there is no GPU.
    """
    if place is None:
        return _default
    return resolve_backend(place) or resolve_backend(str(device(place)))  # type: ignore[return-value]


def device_of(backend: TensorBackend) -> device:
    """The device of a backend."""
    return device("cuda", 0) if backend.cuda else device("cpu")


def target(value: Any) -> Any:
    """What `to` was given, as the engine takes it: a dtype or a backend.

    Raises:
        ValueError: If it is a word that names no device.
        TypeError: If it is neither.
    """
    if isinstance(value, np.dtype) or (isinstance(value, str) and value in FLOATS):
        return as_dtype(value)
    if isinstance(value, (device, TensorBackend, str)):
        return backend_of(value)
    raise TypeError(f"to expected a dtype, a device or a tensor, got {value!r}; such as torch.float32 or 'cpu'")


class Size(tuple[int, ...]):
    """The sizes of a tensor's dimensions."""

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:  # type: ignore[override]
        return Size(super().__add__(tuple(other)))
