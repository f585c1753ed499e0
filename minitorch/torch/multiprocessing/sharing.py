"""Stage 7 - torch.multiprocessing: tensors in memory that several processes share, each of which sees what the others write.

The memory is a file that all map, in /dev/shm where there is one, so it is never written to a disk. A tensor in it is pickled as the
name of the file. The process that made the file removes it when it no longer needs the memory, or ends; those that have mapped it keep it.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from multiprocessing.reduction import ForkingPickler
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.core.conversion import _rebuild
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData

_files: dict[int, str] = {}
"""The file of every storage in shared memory, by the address of the storage."""


def get_all_sharing_strategies() -> set[str]:
    """The ways to share memory: by the names of files."""
    return {"file_system"}


def get_sharing_strategy() -> str:
    """The way in which memory is shared."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose the way in which memory is shared.

    Raises:
        ValueError: If it is not "file_system".
    """
    if new_strategy != "file_system":
        raise ValueError(f"set_sharing_strategy expected 'file_system', the only one, got {new_strategy!r}; leave the call out")


def _address(storage: np.ndarray) -> int:
    return storage.__array_interface__["data"][0]


def _map(path: str, dtype: np.dtype, size: int) -> np.ndarray:
    """The storage in a file."""
    with Path(path).open("r+b") as file:
        storage = np.frombuffer(mmap.mmap(file.fileno(), size * dtype.itemsize), dtype)
    _files[_address(storage)] = path
    Finalize(storage, _files.pop, (_address(storage), None))
    return storage


def is_shared(x: Tensor) -> bool:
    """Whether the elements are in memory that other processes can share."""
    return not x.backend.cuda and _address(x._tensor._storage) in _files


def share_memory_(x: Tensor) -> Tensor:
    """Move the elements into memory that other processes can share; returns the tensor.

    Raises:
        RuntimeError: If it is a view or was computed, on a GPU, or has no elements to share.
    """
    if x.backend.cuda or is_shared(x) or not x.numel():
        return x  # what is on a GPU counts as shared in PyTorch, too
    if x._tensor._storage.size != x.numel():
        raise RuntimeError(
            "share_memory_ expected a tensor that is not a view, got a view of a larger memory; call it on the whole, or on a clone()"
        )
    if x.history is not None and x.history.last_fn is not None:
        raise RuntimeError("share_memory_ expected a tensor that was not computed, got one with a graph; take x.detach()")
    data = x._tensor
    handle, path = tempfile.mkstemp(prefix="minitorch_", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    os.truncate(handle, data._storage.nbytes)
    os.close(handle)
    storage = _map(path, data.dtype, data._storage.size)
    Finalize(storage, _remove, (path,), exitpriority=0)
    storage[...] = data._storage
    x._tensor = TensorData(storage, data.shape, data.strides, data.offset)
    _pickle_by_name(type(x))
    return x


def _remove(path: str) -> None:
    """Remove a file, which other processes that have mapped it keep."""
    Path(path).unlink(missing_ok=True)


def _pickle_by_name(kind: type[Tensor]) -> None:
    """Let the queues and arguments of processes pass tensors of a class in shared memory as the name of the file."""
    ForkingPickler.register(kind, _reduce)


def _reduce(x: Tensor) -> tuple[Any, ...]:
    """What is sent of a tensor: its elements, or where they are."""
    if not is_shared(x):
        return x.__reduce__()  # type: ignore[return-value]  # a tuple
    data = x._tensor
    place = (_files[_address(data._storage)], data.dtype, data._storage.size, data.shape, data.strides, data.offset)
    return _attach, (type(x), place, x.requires_grad, x._name, x.backend, x.grad)


def _attach(kind: type[Tensor], place: tuple[Any, ...], requires_grad: bool, name: str | None, backend: Any, grad: Tensor | None) -> Tensor:
    """A tensor over the memory that another process shares."""
    path, dtype, size, shape, strides, offset = place
    tensor = _rebuild(kind, np.zeros(shape, dtype), requires_grad, name, backend, grad)
    tensor._tensor = TensorData(_map(path, dtype, size), shape, strides, offset)
    _pickle_by_name(kind)
    return tensor
