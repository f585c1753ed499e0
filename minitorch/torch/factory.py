"""Stage 7 - What the functions that make tensors share: sizes, numbers in lists, arrays, and streams of random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, cast_array, is_float
from minitorch.core.errors import ArgumentError, DtypeError
from minitorch.core.recording import call, constant, refuse
from minitorch.tensor import Tensor, make_tensor
from minitorch.tensor_data import TensorData
from minitorch.torch.places import backend_of
from minitorch.torch.places import device as as_device
from minitorch.torch.promotion import get_default_dtype, number_dtype
from minitorch.torch.shapes import sizes


class Generator:
    """A stream of random numbers; `generator=` of the functions that draw some.

    Args:
        device: The device, "cpu".

    Raises:
        ValueError: If there is no such device.
    """

    def __init__(self, device: Any = "cpu") -> None:
        self.device = as_device(device)
        self.numpy = np.random.default_rng()

    def manual_seed(self, seed: int) -> Generator:
        """Begin the stream that belongs to a seed."""
        self.numpy = np.random.default_rng(seed)
        return self


def drawn(draw: Callable[..., Any], shape: tuple[int, ...], dtype: Any, device: Any, requires_grad: bool = False) -> Tensor:
    """A tensor of the random numbers that draw(shape) returns; a recorded program draws new ones at every replay."""
    kind = as_dtype(dtype)
    values = np.empty(shape, kind)
    call(draw_into, values.reshape(-1), draw, shape)
    return made(values, device, requires_grad)


def draw_into(numbers: np.ndarray, draw: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """Overwrite an array with random numbers."""
    numbers[...] = cast_array(np.asarray(draw(shape)), numbers.dtype).reshape(-1)


def of_array(values: np.ndarray, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A tensor of these values, not copied if they have the dtype."""
    kind = values.dtype if dtype is None else as_dtype(dtype)
    own = values if values.dtype == kind else cast_array(values, kind)
    own = constant(np.ascontiguousarray(own).reshape(values.shape))
    return made(own, device, requires_grad)


def made(values: np.ndarray, device: Any, requires_grad: bool) -> Tensor:
    """A tensor over the memory of an array. Raises DtypeError if it requires gradients and does not hold floating-point numbers."""
    if requires_grad and not is_float(values.dtype):
        raise DtypeError(f"only floating-point tensors can require gradients, got {values.dtype.name}; pass dtype=torch.float32")
    return make_tensor(TensorData(values.reshape(-1), values.shape), backend_of(device), requires_grad)


def shape_of(*size: Any) -> tuple[int, ...]:
    """Sizes given one by one, or as one sequence. Raises TypeError if one is not an integer, and ValueError if one is negative."""
    given = size[0] if len(size) == 1 and isinstance(size[0], Sequence) and not isinstance(size[0], str) else size
    for each in given:
        if not isinstance(each, (int, np.integer, Tensor)):
            raise TypeError(f"a size expected an integer, got {each!r}; convert it, as by int(...)")
    found = sizes(tuple(given))
    if min(found, default=0) < 0:
        raise ArgumentError(f"sizes expected integers from 0 on, got {found}")
    return found


def numbers_of(data: Any, dtypes: set[np.dtype], nested: bool = False) -> Any:
    """Nested lists with tensors as arrays and numbers as they are; adds their dtypes to a set, the default dtype for Python's floats.

    A tensor within a list is a number, whatever its number of dimensions.

    Raises:
        ValueError: If a tensor within a list has several elements, or none.
    """
    if isinstance(data, Tensor):
        refuse("a new tensor of a tensor's numbers, as by torch.tensor(x),")
        if nested and data.numel() != 1:
            raise ValueError(
                f"tensor expected tensors of one element within a list, got shape {tuple(data.shape)}; "
                "join them with torch.stack or torch.cat"
            )
        data = data._tensor.array().reshape(()) if nested else data._tensor.array()
    if isinstance(data, (list, tuple, range)):
        types = set(map(type, data))
        if types <= {bool, int, float}:
            dtypes.update(number_dtype(each()) for each in types)
            return data
        return [numbers_of(each, dtypes, True) for each in data]
    if isinstance(data, (np.ndarray, np.generic)):
        dtypes.add(data.dtype)
    elif isinstance(data, (bool, int, float)):
        dtypes.add(number_dtype(data))
    return data


def float_dtype(name: str, dtype: Any) -> np.dtype:
    """A dtype of floating-point numbers; the default one for None. Raises DtypeError if it is of integers or bools."""
    kind = as_dtype(dtype or get_default_dtype())
    if not is_float(kind):
        raise DtypeError(f"{name} expected a floating-point dtype, got {kind.name}; draw in float32 and convert the result")
    return kind
