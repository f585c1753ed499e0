"""Stage 7 - torch.save and torch.load: PyTorch's file format for tensors, and for any object with tensors in it.

Such a file is a zip archive with a pickle, which says how everything belongs together, and the bytes of every storage. A pickle can name
any function and have it called. So only the names that tensors, numbers, text and collections of these need are read, unless a program
says that it trusts the file: then the file of another person may be opened.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from minitorch.io.formats import read_arrays, replace_file
from minitorch.tensor import make_tensor
from minitorch.tensor_data import TensorData
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.pickles import ALLOWED, NAMES, STORAGE_NAMES, Reader, Writer, full_name
from minitorch.torch.places import backend_of
from minitorch.torch.tensor import as_torch


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True) -> None:
    """Write an object with tensors in it to a file. What `load` reads by default, PyTorch can read as well.

    Args:
        obj: Such as `model.state_dict()`, or a dictionary of several. Other objects, such as a whole model, are written as pickle writes
            them: a class by its name, which `load` with weights_only=False imports again.
        f: A path, written atomically, or a file that is open for writing in binary mode.
        pickle_module: None.
        pickle_protocol: 2.
        _use_new_zipfile_serialization: True.

    Raises:
        PicklingError: If obj contains a function or a class that cannot be imported by its name: a lambda, or a local class. Nothing is
            written then.
        TypeError: If obj contains something that belongs to the running program: an open file, a generator, a lock.
        NotImplementedError: If another pickle module, protocol or format is asked for.
    """
    if pickle_module not in (None, pickle) or pickle_protocol != 2 or not _use_new_zipfile_serialization:
        raise NotImplementedError("torch.save supports the module pickle, protocol 2 and the zip format only; leave these options out")
    text, archive = io.BytesIO(), io.BytesIO()
    writer = Writer(text)
    writer.dump(obj)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        file.writestr("archive/data.pkl", text.getvalue())
        file.writestr("archive/byteorder", "little")
        for number, storage in enumerate(writer.storages):
            array = np.ascontiguousarray(storage)
            file.writestr(f"archive/data/{number}", array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        file.writestr("archive/version", "3\n")
    if isinstance(f, (str, os.PathLike)):
        replace_file(Path(f), archive.getvalue())
    else:
        f.write(archive.getvalue())


# Reading


class safe_globals:
    """Allow further names within the block: `with safe_globals([Net]): model = torch.load("model.pt")`.

    Args:
        safe_globals: Classes and functions, or pairs of one and its full name in the file.
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self._added = safe_globals

    def __enter__(self) -> None:
        self._before = dict(ALLOWED)
        add_safe_globals(self._added)

    def __exit__(self, *error: object) -> None:
        clear_safe_globals()
        ALLOWED.update(self._before)


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow `load` with weights_only=True to find these: only classes and functions that do no harm, whatever a file calls them with.

    Args:
        safe_globals: Classes and functions, or pairs of one and its full name in the file.

    Raises:
        TypeError: If one is neither.
    """
    found = {}
    for each in safe_globals:
        thing, *name = each if isinstance(each, tuple) else (each,)
        if not callable(thing) or len(name) > 1 or not all(isinstance(text, str) for text in name):
            raise TypeError(f"add_safe_globals expected classes and functions, or pairs of one and its name, got {each!r}")
        found[name[0] if name else f"{thing.__module__}.{thing.__qualname__}"] = thing
    ALLOWED.update(found)


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has allowed."""
    return list(ALLOWED.values())


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` has allowed."""
    ALLOWED.clear()


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that `load` with weights_only=True would refuse; nothing of it is loaded.

    Args:
        f: A path, or a file that is open for reading in binary mode.
    """
    with zipfile.ZipFile(f) as archive:
        operations = list(pickletools.genops(archive.read(f"{_prefix(archive)}data.pkl")))
    names = {full_name(*argument.split(" ", 1)) for operation, argument, _ in operations if operation.name == "GLOBAL"}  # type: ignore
    return sorted(name for name in names if name not in NAMES and name not in ALLOWED and name.removeprefix("torch.") not in STORAGE_NAMES)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None) -> Any:
    """Read a file that `save` or PyTorch wrote, or a safetensors file.

    Args:
        f: A path, or a file that is open for reading in binary mode.
        map_location: Where the tensors are stored, "cpu" by default.
        pickle_module: None.
        weights_only: Whether only tensors, numbers, text, collections of these, and what `add_safe_globals` allows are read; True if left
            out. A file that is read with False may run any program: do so only with files that you trust.
        mmap: No effect.

    Raises:
        UnpicklingError: If the file contains anything else, or an object of PyTorch's, or is of another format.
        AttributeError: If a class or function in the file cannot be imported.
        NotImplementedError: If map_location is a function or a dictionary.
        OSError: If it cannot be read.

    Example:
        >>> file = io.BytesIO()
        >>> torch.save({"weight": torch.tensor([1, 2])}, file)
        >>> position = file.seek(0)
        >>> torch.load(file)
        {'weight': tensor([1, 2])}
    """
    if callable(map_location) or isinstance(map_location, Mapping):
        raise NotImplementedError('torch.load supports a device as map_location only, such as "cpu"')
    if pickle_module not in (None, pickle):
        raise NotImplementedError("torch.load supports the module pickle only; leave pickle_module out")
    file: BinaryIO = Path(f).open("rb") if isinstance(f, (str, os.PathLike)) else f  # noqa: SIM115 - closed below if opened here
    try:
        if zipfile.is_zipfile(file):
            return _load_zip(file, map_location, weights_only is False)
    finally:
        if file is not f:
            file.close()
    if file is not f and Path(f).read_bytes()[8:9] == b"{":
        arrays, _ = read_arrays(f)  # type: ignore
        backend = backend_of(map_location)
        return {name: as_torch(make_tensor(TensorData(x.reshape(-1), x.shape), backend, False)) for name, x in arrays.items()}
    raise pickle.UnpicklingError(
        "torch.load expected PyTorch's zip format or a safetensors file, got another; save it again with a PyTorch of version 1.6 or later"
    )


def _load_zip(file: BinaryIO, map_location: Any, trusted: bool) -> Any:
    """Read PyTorch's zip format."""
    with zipfile.ZipFile(file) as archive:
        prefix = _prefix(archive)
        if f"{prefix}byteorder" in archive.namelist() and archive.read(f"{prefix}byteorder") != b"little":
            raise pickle.UnpicklingError("torch.load expected the byte order little, got another")
        return Reader(archive, prefix, map_location, trusted).load()


def _prefix(archive: zipfile.ZipFile) -> str:
    """The folder of an archive in which everything is. Raises UnpicklingError if there is no pickle in it."""
    names = archive.namelist()
    pickles = [name for name in names if name.endswith("data.pkl") and name.count("/") <= 1]
    if not pickles:
        raise pickle.UnpicklingError(f"torch.load expected an archive with data.pkl, got {', '.join(names[:5]) or 'an empty one'}")
    return pickles[0].removesuffix("data.pkl")


__getattr__ = refuse_absent("torch.serialization", defined(globals()))
