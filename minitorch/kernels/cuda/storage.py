"""Stage 3 - Storage on the GPU: data stays there between operations and is copied to the host when it is read there.

A storage has a copy on the GPU, on the host, or on both. A write to one side invalidates the other copy; a read of an
invalid copy transfers the data. A new storage of zeros is allocated when it is first used, so that a kernel that writes
every element costs neither a copy nor a fill.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, is_half
from minitorch.kernels.cuda.device import SIMULATED, cuda, require_cuda
from minitorch.tensor_data import Storage, TensorData, strides_from_shape


class DeviceStorage:
    """A 1-D buffer on the GPU, on the host, or on both.

    Args:
        length: Number of elements.
        dtype: Their dtype.
        values: Elements to copy to the GPU; zeros if None.

    Raises:
        TypeError: If dtype is a half-precision type.

    Attributes:
        length: Number of elements.
        dtype: Their dtype.
        host: The copy on the host, None while it is invalid.
        device: The copy on the GPU, None while it is invalid.
        shared: Whether another library has the address of the GPU's copy. Then that copy is always valid and the host's never is.
    """

    __slots__ = ("device", "dtype", "host", "length", "shared")

    def __init__(self, length: int, dtype: np.dtype, values: np.ndarray | None = None) -> None:
        if is_half(dtype):
            raise TypeError(f"the GPU's operations compute with float64 and float32, got {dtype.name}; convert the tensor first: x.float()")
        self.length, self.dtype = length, dtype
        self.host: np.ndarray | None = None
        self.device: Any = None
        self.shared = False
        if values is not None and length:
            self.device = cuda.to_device(np.ascontiguousarray(values))

    def on_host(self) -> np.ndarray:
        """The elements as a NumPy array on the host."""
        host = self.host
        if host is None or self.shared:
            host = self.host = np.zeros(self.length, self.dtype) if self.device is None else self.device.copy_to_host()
        return host

    def on_device(self) -> Any:
        """The elements as a device array."""
        if self.device is None:
            self.device = cuda.to_device(self.on_host())
        return self.device

    def to_write(self, all_of_it: bool) -> Any:
        """The device array for a kernel to write to; invalidates the host's copy.

        Args:
            all_of_it: Whether the kernel writes every element, so that the old values need not be transferred.
        """
        if all_of_it and self.device is None:
            self.device = cuda.device_array(self.length, self.dtype)
        array = self.on_device()
        self.host = None
        return array


class DeviceData(TensorData):
    """TensorData whose storage is on the GPU; views share the storage.

    Args:
        storage: The elements.
        shape: Size of every dimension.
        strides: Step in storage of every dimension.
        offset: Position of the first element.
    """

    __slots__ = ("cell",)

    def __init__(self, storage: DeviceStorage, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> None:
        self.cell = storage
        self._set_layout(shape, strides, offset)
        self._version = [0, 0]

    @staticmethod
    def of(data: TensorData) -> DeviceData:
        """The same tensor on the GPU: data itself if it is there, else a copy of the part of the storage that it spans."""
        if isinstance(data, DeviceData):
            return data
        require_cuda()
        values = data.tuple()[0]
        return DeviceData(DeviceStorage(len(values), data.dtype, values), data.shape, data.strides)

    @staticmethod
    def zeros(shape: tuple[int, ...], dtype: Any = None) -> DeviceData:
        """A new storage filled with zeros."""
        return DeviceData(DeviceStorage(math.prod(shape), as_dtype(dtype)), shape, strides_from_shape(shape))

    def to_host(self) -> TensorData:
        """The same tensor on the host, with a storage of its own."""
        storage = self.cell.on_host().copy()
        return TensorData(storage, self.shape, self.strides, self.offset)

    def as_view(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> DeviceData:
        """The same storage with another layout, which must lie within it."""
        data = DeviceData.__new__(DeviceData)
        data.cell, data._version = self.cell, self._version
        data._set_layout(shape, strides, offset)
        return data

    @property
    def _storage(self) -> Storage:  # type: ignore[override]  # there a field, here copied from the GPU
        """The elements on the host; call `written` after writing to them."""
        return self.cell.on_host()

    @property
    def dtype(self) -> np.dtype:
        """dtype of the storage."""
        return self.cell.dtype

    def bump_version(self) -> None:
        """Count a change of the storage; call it after writing to the host's copy."""
        super().bump_version()
        if self.cell.host is not None and self.cell.shared:
            self.cell.device.copy_to_device(self.cell.host)
        elif self.cell.host is not None:
            self.cell.device = None

    def cuda_array_interface(self) -> dict[str, Any]:
        """The GPU address of the elements, in version 3 of the protocol; later writes by other libraries are seen.

        Raises:
            AttributeError: In the simulator, which has no GPU memory.
        """
        if SIMULATED:
            raise AttributeError("numba's simulator has no __cuda_array_interface__, for its numbers lie in no GPU; use x.numpy()")
        storage, size = self.cell, self.dtype.itemsize
        array = storage.on_device()
        storage.shared = True
        start = array.__cuda_array_interface__["data"][0] + self.offset * size if self.size else 0
        return {
            "shape": self.shape,
            "strides": None if self.is_contiguous() else tuple(stride * size for stride in self.strides),
            "typestr": self.dtype.str,
            "data": (start, False),
            "version": 3,
        }

    # Arguments of kernels: device arrays that start at the tensor's first element

    def source(self) -> Any:
        """The device array that a kernel reads."""
        array = self.cell.on_device()
        return array[self.offset :] if self.offset else array

    def target(self) -> Any:
        """The device array that a kernel writes to; the kernel must write the whole view and nothing else."""
        array = self.cell.to_write(self.size == self.cell.length and 0 not in self.strides)
        return array[self.offset :] if self.offset else array

    def tuple(self) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
        """Device array, shape and strides, for a kernel that reads the tensor."""
        return self.source(), self.shape, self.strides


@lru_cache(maxsize=4096)
def coalesce_dims(shape: tuple[int, ...], *strides: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Merge adjacent dimensions into as few as possible, at least one; the order of elements stays.

    Args:
        shape: Size of every dimension.
        strides: Of every tensor that is read or written in this shape.

    Returns:
        The shape, then the strides of every tensor. Two dimensions are merged if, in every tensor, the stride of the first equals the
        extent of the second.

    Raises:
        ValueError: If several dimensions remain and the number of elements does not fit in 32 bits (see `positions`).
    """
    sizes: list[int] = []
    steps: list[list[int]] = []  # for every dimension, the stride in each tensor
    for size, *here in zip(shape, *strides, strict=True):
        if size == 1:
            continue
        if sizes and all(before == size * step for before, step in zip(steps[-1], here, strict=True)):
            sizes[-1] *= size
            steps[-1] = here
        else:
            sizes.append(size)
            steps.append(here)
    if not sizes:
        return ((math.prod(shape),), *[(0,)] * len(strides))
    if len(sizes) > 1 and math.prod(sizes) >= 2**32:
        raise ValueError(
            f"the cuda backend expected fewer than 2^32 elements unless they lie one after the other, got shape {shape}; "
            "call contiguous() on pieces of the tensor"
        )
    return (tuple(sizes), *zip(*steps, strict=True))
