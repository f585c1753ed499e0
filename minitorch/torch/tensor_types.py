"""Stage 7 - PyTorch's tensor types, such as FloatTensor: each constructs, and recognizes, tensors of one dtype on one device."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, is_float
from minitorch.tensor import Tensor
from minitorch.torch import creation
from minitorch.torch.places import set_default_device
from minitorch.torch.promotion import set_default_dtype
from minitorch.torch.tensor import as_torch
from minitorch.torch.type_names import DTYPES, construct, targets


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
        place = "cuda" if cls.cuda else "cpu"
        if device is not None and creation.zeros(0, device=device).backend.cuda != cls.cuda:
            raise RuntimeError(f"{cls.__name__} expected a device of type {place}, got {device}; use torch.zeros or torch.tensor")
        return as_torch(construct(f"{'cuda.' if cls.cuda else ''}{cls.__name__}", data, cls.dtype, place))


def _types(module: str, cuda: bool) -> dict[str, TensorType]:
    """The types of a device, by their names."""
    return {f"{word}Tensor": TensorType(f"{word}Tensor", (), {"cuda": cuda, "__module__": module}) for word in DTYPES}


CPU, CUDA = _types("minitorch.torch", False), _types("minitorch.torch.cuda", True)


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
