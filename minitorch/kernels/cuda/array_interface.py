"""Stage 7 - Arrays below tensors: memory of the CPU or the GPU, filled where it lies and copied back, without gradients or backends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from minitorch.core.backend import resolve_backend
from minitorch.core.dtypes import as_dtype, convert_array, to_array
from minitorch.kernels.cuda.device import SIMULATED, blocks_for, cuda, jit, launch, require_cuda
from minitorch.tensor_data import as_shape

THREADS = 4 if SIMULATED else 256
"""Threads of a block."""

MOST_BLOCKS = 2 if SIMULATED else 1024
"""Of a longer array every thread fills several elements."""


class ArrayContext:
    """What makes and reads arrays on one device.

    Attributes:
        device: "cpu" or "cuda".
    """

    device = "none"

    def __repr__(self) -> str:
        return f'context("{self.device}")'

    def empty(self, shape: Sequence[int] | int, dtype: Any = None) -> Any:
        """A new array of any numbers.

        Args:
            shape: Size of every dimension.
            dtype: Kind of its numbers; the default dtype if left out.

        Returns:
            An array of NumPy's, or numba's on the GPU.
        """
        return self._empty(as_shape(shape, "empty"), as_dtype(dtype))

    def array(self, values: Any, dtype: Any = None) -> Any:
        """A new array of given numbers; without a dtype an array keeps its own, and Python's numbers take the default."""
        found = to_array(values, "array")
        dtype = as_dtype(found.dtype if dtype is None and hasattr(values, "dtype") else dtype)
        return self._array(np.asarray(convert_array(found, dtype, "array"), order="C"))

    def fill(self, array: Any, value: float) -> Any:
        """Write one number everywhere, on the device, and return the array.

        Raises:
            TypeError: If the array belongs to another context, or value is no number.
            ValueError: If it cannot hold the number, or its elements do not lie one after the other.
        """
        self._own(array, "fill")
        number = np.asarray(value)
        if number.shape or number.dtype.kind not in "fiub":
            raise TypeError(f"fill expected one number, got {value!r:.80}; of several make an array with array")
        if not array.flags["C_CONTIGUOUS"]:
            raise ValueError("fill expected an array whose elements lie one after the other, got a view with gaps; fill all of its array")
        if array.size:
            self._fill(array, convert_array(number, as_dtype(array.dtype), "fill").item())
        return array

    def to_numpy(self, array: Any) -> np.ndarray:
        """A copy of an array on the host.

        Raises:
            TypeError: If the array belongs to another context.
        """
        self._own(array, "to_numpy")
        return self._to_numpy(array)

    # What a device defines

    def _empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        raise RuntimeError("an ArrayContext makes no arrays of its own; call context(...)")

    def _array(self, values: np.ndarray) -> Any:
        raise RuntimeError("an ArrayContext makes no arrays of its own; call context(...)")

    def _fill(self, array: Any, value: Any) -> None:
        raise RuntimeError("an ArrayContext fills no arrays of its own; call context(...)")

    def _to_numpy(self, array: Any) -> np.ndarray:
        raise RuntimeError("an ArrayContext reads no arrays of its own; call context(...)")

    def _own(self, array: Any, op: str) -> None:
        """That an array is one of this context's."""
        on_gpu = hasattr(array, "copy_to_host")
        if on_gpu != (self.device == "cuda") or not (on_gpu or isinstance(array, np.ndarray)):
            what = "one of the GPU" if on_gpu else "one of the CPU" if isinstance(array, np.ndarray) else type(array).__name__
            raise TypeError(f"{op} of {self!r} expected an array that it has made, got {what}; make it with empty or array")


class _HostContext(ArrayContext):
    """Memory of the CPU."""

    device = "cpu"

    def _empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return np.empty(shape, dtype)

    def _array(self, values: np.ndarray) -> np.ndarray:
        return values

    def _fill(self, array: np.ndarray, value: Any) -> None:
        array.fill(value)

    def _to_numpy(self, array: np.ndarray) -> np.ndarray:
        return array.copy()


class _CudaContext(ArrayContext):
    """Memory of the GPU."""

    device = "cuda"

    def __init__(self) -> None:
        require_cuda()

    def _empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return cuda.device_array(shape, dtype)

    def _array(self, values: np.ndarray) -> Any:
        return cuda.to_device(values)

    def _fill(self, array: Any, value: Any) -> None:
        size = math.prod(array.shape)
        blocks = min(MOST_BLOCKS, blocks_for(size, THREADS))
        launch(_fill_kernel(), blocks, THREADS, array.reshape(size), array.dtype.type(value), size)

    def _to_numpy(self, array: Any) -> np.ndarray:
        return array.copy_to_host()


def fill_elements(out: Any, value: Any, size: int) -> None:
    """The kernel: a thread writes every so many elements, as many as there are threads."""
    step = cuda.gridDim.x * cuda.blockDim.x
    for i in range(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x, size, step):
        out[i] = value


@cache
def _fill_kernel() -> Any:
    return jit(fill_elements)


@cache
def context(device: str = "cpu") -> ArrayContext:
    """What makes arrays on a device.

    Args:
        device: "cpu", "cuda" or "cuda:0".

    Raises:
        ValueError: If there is no such device.
        RuntimeError: If it is the GPU, and there is neither one nor the simulator.
    """
    backend = resolve_backend(device) if isinstance(device, str) and device.partition(":")[0] in ("cpu", "cuda") else None
    if backend is None:
        raise ValueError(f"context expected the device cpu or cuda, got {device!r}")
    return _CudaContext() if backend.cuda else _HostContext()
