"""Stage 7 - PyTorch's tensor types, such as FloatTensor: each constructs, and recognizes, tensors of one dtype on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, is_float
from minitorch.core.errors import ArgumentError
from minitorch.tensor import Tensor
from minitorch.torch import creation
from minitorch.torch.places import Size, set_default_device
from minitorch.torch.promotion import set_default_dtype

DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Byte": "uint8", "Char": "int8", "Short": "int16",
    "Int": "int32", "Long": "int64", "Bool": "bool",
}  # fmt: skip
"""The dtypes by the first word of their types' names."""


class TensorType(type):
    """The class of the types: `FloatTensor(2, 3)` has this shape, `FloatTensor([1, 2])` these numbers.

    Attributes:
        cuda: Whether its tensors are on the GPU.
    """

    cuda: bool

    @property
    def dtype(cls) -> np.dtype:
        """The dtype of its tensors."""
        return as_dtype(DTYPES[cls.__name__.removesuffix("Tensor")])

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.dtype and instance.backend.cuda == cls.cuda

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        """A tensor of zeros if the arguments are sizes, of these numbers if they are one sequence.

        Raises:
            RuntimeError: If the device is of another type.
        """
        from minitorch.torch.tensor import as_torch

        place = "cuda" if cls.cuda else "cpu"
        if device is not None and creation.zeros(0, device=device).backend.cuda != cls.cuda:
            raise RuntimeError(f"{cls.__name__} expected a device of type {place}, got {device}; use torch.zeros or torch.tensor")
        return as_torch(construct(f"{'cuda.' if cls.cuda else ''}{cls.__name__}", data, cls.dtype, place))


def construct(name: str, data: tuple[Any, ...], dtype: np.dtype, device: Any) -> Tensor:
    """A tensor of zeros if the arguments are sizes, of these numbers if they are one sequence, or a tensor of this dtype itself.

    Args:
        name: The class, for errors.
        data: The arguments.
        dtype: The dtype.
        device: The device.

    Raises:
        TypeError: If the arguments are neither, or a tensor has another dtype.
    """
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


def _types(module: str, cuda: bool) -> dict[str, TensorType]:
    """The types of a device, by their names."""
    return {f"{word}Tensor": TensorType(f"{word}Tensor", (), {"cuda": cuda, "__module__": module}) for word in DTYPES}


CPU, CUDA = _types("torch", False), _types("torch.cuda", True)
NAMES = {f"{each.__module__}.{name}": each for types in (CPU, CUDA) for name, each in types.items()}
"""The types by their full names, such as "torch.cuda.FloatTensor"."""


def type_of(x: Tensor) -> str:
    """The full name of the type of a tensor."""
    word = next(word for word, name in DTYPES.items() if name == x.dtype.name)
    return f"torch.{'cuda.' if x.backend.cuda else ''}{word}Tensor"


def targets(dtype: Any) -> dict[str, Any]:
    """The arguments of `Tensor.to` for the argument of `Tensor.type`: a dtype, a type or the full name of a type.

    Raises:
        ValueError: If it is another word.
    """
    if isinstance(dtype, str):
        if dtype not in NAMES:
            raise ArgumentError(f"type expected the name of a tensor type, got {dtype!r}; such as 'torch.FloatTensor', or a dtype")
        dtype = NAMES[dtype]
    return (
        {"dtype": dtype.dtype, "device": "cuda" if dtype.cuda else "cpu"} if isinstance(dtype, TensorType) else {"dtype": as_dtype(dtype)}
    )


def set_default_tensor_type(t: Any) -> None:
    """Set the dtype of floating-point numbers, and the device, for which none is given, by a tensor type or its name: DoubleTensor.

    Raises:
        TypeError: If it is not a type of floating-point numbers.
    """
    kind = targets(t)
    dtype = kind["dtype"]
    if not is_float(dtype):
        raise TypeError(f"set_default_tensor_type expected a type of floating-point numbers, got {dtype.name}; pass torch.FloatTensor")
    set_default_dtype(dtype)
    set_default_device(kind.get("device"))
