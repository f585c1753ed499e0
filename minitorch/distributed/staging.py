"""Stage 7 - Staging: how numbers get from a GPU to MPI and back, through host memory.

An MPI that reads the memory of a GPU itself is rare outside of clusters, so a tensor on a GPU is copied to the host, sent from there, and
copied back. Buffers that are kept for many copies are page-locked: the GPU then writes into them without another copy by the driver.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.kernels.cuda.device import available, cuda
from minitorch.kernels.cuda.storage import DeviceData
from minitorch.tensor import Tensor


def host_buffer(length: int, dtype: np.dtype, device: bool) -> np.ndarray:
    """An uninitialized flat array in host memory, page-locked if a GPU copies into it."""
    return cuda.pinned_array(length, dtype=dtype) if device and length else np.empty(length, dtype)


def copy_to_host(x: Tensor, out: np.ndarray) -> None:
    """Copy the elements of a tensor, in order, into a contiguous flat array in host memory.

    A tensor on a GPU whose elements are contiguous and of the array's dtype is copied directly.
    """
    data: Any = x._tensor
    if isinstance(data, DeviceData) and data.is_contiguous() and data.dtype == out.dtype and data.cell.device is not None and data.size:
        data.cell.device[data.offset : data.offset + data.size].copy_to_host(out)
    else:
        out[...] = data.array().reshape(-1)


def select_device(local_rank: int) -> None:
    """Let this process use the GPU of its number, where a machine has several.

    Args:
        local_rank: Number of the process among those of its machine. With more processes than GPUs, they share.
    """
    if available() and len(cuda.gpus) > 1:
        cuda.select_device(local_rank % len(cuda.gpus))
