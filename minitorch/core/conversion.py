"""Stage 2 - Conversion of tensors: to text, to Python numbers, to arrays and other libraries, and copies."""

from __future__ import annotations

import copy
import textwrap
from typing import Any

import numpy as np

from minitorch.autodiff import LEAF
from minitorch.core.dtypes import printable
from minitorch.core.lazy_imports import later_module
from minitorch.core.recording import refuse
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import TensorData

# Printing


def represent(x: Tensor) -> str:
    """The repr of a tensor: its elements, dtype and backend, and how it was computed."""
    values = np.array2string(printable(x._tensor.array()), separator=", ", prefix="tensor(")
    notes = [f"shape={x.shape}"] if x._tensor.size == 0 or "..." in values else []
    notes += [f"dtype={x.dtype.name}", f"backend={x.backend.name}"]
    if x.history is not None:
        fn = x.history.last_fn
        notes.append("requires_grad=True" if fn is None else f"grad_fn={fn.__name__}")
    ending = f"{', '.join(notes)})"
    text = f"tensor({values}, {ending}"
    if "\n" in values or len(text) > 100:
        text = "\n       ".join([f"tensor({values},", *textwrap.wrap(ending, 90, break_long_words=False, break_on_hyphens=False)])
    return text


# Python numbers


def item(x: Tensor) -> Any:
    """The only element of a tensor, as a Python number.

    Raises:
        ValueError: If the tensor has no element, or several.
    """
    if x._tensor.size != 1:
        remedy = f"; take one by its index: x[{', '.join('0' * x.dims)}]" if x._tensor.size else ", which has none"
        raise ValueError(f"item() expected a tensor of one element, got shape {x.shape}{remedy}")
    refuse("a number that Python reads from a tensor, as by item(), float() or if,")
    return x._tensor.array().item()


def as_integer(x: Tensor) -> int:
    """A tensor as an index of a sequence.

    Raises:
        TypeError: If it is not a single integer.
    """
    if x.dtype.kind not in "iu" or x._tensor.size != 1:
        raise TypeError(f"only a tensor of a single integer can be an index, got shape {x.shape} of {x.dtype.name}")
    return int(x.item())


def as_bool(x: Tensor) -> bool:
    """A tensor as a condition.

    Raises:
        ValueError: If it does not have exactly one element.
    """
    if x._tensor.size != 1:
        raise ValueError(f"the truth value of a tensor of shape {x.shape} is ambiguous; use any() or all()")
    return bool(x.item())


# Arrays and other libraries


def numpy(x: Tensor) -> np.ndarray:
    """The elements of a tensor as an array that shares the storage; read-only if the tensor records gradients."""
    refuse("numpy()")
    elements = x._tensor.array()
    if x.history is not None or x.backend.cuda:
        elements.flags.writeable = False  # backward, or the GPU, would not see what is written
    return elements


def array(x: Tensor, dtype: Any, copy: bool | None) -> np.ndarray:
    """The elements of a tensor for `np.asarray` and `np.array`.

    Raises:
        ValueError: If a copy is needed and copy is False.
    """
    elements = numpy(x)
    if dtype is not None and np.dtype(dtype) != elements.dtype:
        if copy is False:
            raise ValueError(
                f"an array of {np.dtype(dtype).name} from a tensor of {elements.dtype.name} needs a copy; leave out copy=False"
            )
        return elements.astype(dtype)
    return elements.copy() if copy else elements


def dlpack(x: Tensor, options: dict[str, Any]) -> Any:
    """The storage for another library, without a copy. bfloat16 is for libraries that support it; NumPy does not.

    Raises:
        BufferError: If the tensor records gradients, which the other library would not see.
    """
    if x.history is not None:
        raise BufferError("a tensor that records gradients cannot be exported; export x.detach()")
    elements = numpy(x)
    if elements.dtype.kind == "V":
        return later_module("minitorch.core.dlpack", "__dlpack__() of bfloat16").export_bfloat16(elements, options)
    return elements.__dlpack__(**options)


def cuda_array_interface(x: Tensor) -> dict[str, Any]:
    """The storage for another library that computes on the GPU, without a copy; that library may write into it.

    Raises:
        AttributeError: If the tensor is on the CPU, or in the simulator.
        RuntimeError: If it records gradients, which the other library would not see.
    """
    if not x.backend.cuda:
        raise AttributeError(f"a tensor on the {x.backend.name} backend has no __cuda_array_interface__; move it: x.to('cuda')")
    if x.history is not None:
        raise RuntimeError("a tensor that records gradients cannot be exported; export x.detach()")
    return x._tensor.cuda_array_interface()  # type: ignore[attr-defined]  # a DeviceData has it


# Copies


def reduce(x: Tensor) -> tuple[Any, ...]:
    """What pickle stores of a tensor: a leaf or a constant, without a graph."""
    return _rebuild, (type(x), _copy_elements(x), x.requires_grad, x._name, x.backend, x.grad)


def deepcopy(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """A deep copy of a leaf or a constant."""
    return _rebuild(type(x), _copy_elements(x), x.requires_grad, x._name, x.backend, copy.deepcopy(x.grad, memo))


def _copy_elements(x: Tensor) -> np.ndarray:
    """A copy of the elements of a leaf or a constant.

    Raises:
        RuntimeError: If the tensor was computed from others.
    """
    if x.history is not None and x.history.last_fn is not None:
        raise RuntimeError(
            f"a tensor that was computed ({x.history.last_fn.__name__}) cannot be copied or pickled with its graph; take x.detach()"
        )
    return x.to_numpy()


def _rebuild(kind: type[Tensor], values: np.ndarray, requires_grad: bool, name: str | None, backend: Any, grad: Tensor | None) -> Tensor:
    """The tensor that was pickled or copied."""
    tensor = object.__new__(kind)
    data = TensorData(values.reshape(-1), values.shape)
    tensor._tensor, tensor.history, tensor._hooks = backend.ops.place(data) if backend.cuda else data, LEAF if requires_grad else None, None
    tensor.backend = tensor.f = backend
    tensor._name, tensor.grad = name, grad
    return tensor
