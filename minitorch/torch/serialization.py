"""Stage 6 - torch.save and torch.load: PyTorch's file format for tensors, numbers, text and collections of these.

Such a file is a zip archive with a pickle, which says how everything belongs together, and the bytes of every storage. A pickle can name
any function and have it called. So writing is limited to the types above, and reading accepts only the few names that they need: a file
from anywhere may be opened.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from minitorch.core.dtypes import as_dtype, load_bfloat16
from minitorch.io.formats import read_arrays, replace_file
from minitorch.nn.parameter import Parameter
from minitorch.tensor import make_tensor
from minitorch.tensor_data import TensorData
from minitorch.torch.places import Size, backend_of, device
from minitorch.torch.tensor import Tensor, as_torch

STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16", "LongStorage": "int64",
    "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
}  # fmt: skip
"""The dtype of each of PyTorch's storages."""

STORAGE_NAMES = {dtype: name for name, dtype in STORAGES.items()}

PLAIN = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, OrderedDict, Counter, defaultdict)
"""Types that are written as they are."""


def dtype_of(name: str) -> np.dtype:
    """A dtype by its name."""
    return load_bfloat16() if name == "bfloat16" else as_dtype(name)


# Writing


class Name:
    """A name of PyTorch's in a pickle.

    Args:
        module: Its module.
        name: Its name there.
    """

    def __init__(self, module: str, name: str) -> None:
        self.line = f"c{module}\n{name}\n".encode()

    def __call__(self, *args: Any) -> None:
        """Never called: the pickle says that its reader shall."""


REBUILD, REBUILD_PARAMETER = Name("torch._utils", "_rebuild_tensor_v2"), Name("torch._utils", "_rebuild_parameter")


class Writer(pickle._Pickler):  # type: ignore[name-defined]  # the one in Python, whose methods can be overridden
    """Writes the pickle and collects the storages.

    Attributes:
        storages: The arrays, by their numbers.
    """

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=2)
        self.storages: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # the pickle refers to objects by their ids

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Write an object.

        Raises:
            TypeError: If its type is not one of those that a file may contain.
        """
        if isinstance(obj, Name):
            self.write(obj.line)  # type: ignore
            return
        if isinstance(obj, np.generic):
            obj = obj.item()
        if isinstance(obj, np.dtype):
            self.save(Name("torch", obj.name))
        elif isinstance(obj, Tensor):
            self._save_tensor(obj)
        elif isinstance(obj, Size):
            self.save_reduce(Name("torch", "Size"), (tuple(obj),))  # type: ignore
        elif isinstance(obj, device):
            self.save_reduce(Name("torch", "device"), (str(obj),))  # type: ignore
        elif isinstance(obj, (*PLAIN, Stored)) or any(obj is kind for kind in (OrderedDict, Counter, defaultdict, list, set)):
            super().save(obj, save_persistent_id)  # type: ignore
        else:
            raise TypeError(
                f"torch.save expected tensors, numbers, text, and collections of these, got {type(obj).__name__}; "
                "save a module's state_dict() instead of the module"
            )

    def persistent_id(self, obj: Any) -> Any:
        """What PyTorch writes for a storage."""
        return obj.key if isinstance(obj, Stored) else None

    def _save_tensor(self, x: Tensor) -> None:
        """Write a tensor: its storage's number, and its layout."""
        if id(x) in self.memo:  # type: ignore
            self.write(self.get(self.memo[id(x)][0]))  # type: ignore
            return
        engine = x
        if isinstance(x, Parameter):
            data = Tensor._of(engine.detach())
            self._kept.append(data)
            self.save_reduce(REBUILD_PARAMETER, (data, engine.requires_grad, OrderedDict()), obj=x)  # type: ignore
            return
        data = engine._tensor if not engine.backend.cuda else TensorData(engine.to_numpy().reshape(-1), engine.shape)
        storage = data._storage
        number = self._numbers.setdefault(id(storage), len(self.storages))
        if number == len(self.storages):
            self.storages.append(storage)
        kind = Name("torch", STORAGE_NAMES[data.dtype.name])
        stored = Stored(("storage", kind, str(number), "cpu", len(storage)))
        self._kept += (stored, data)
        layout = (data.offset, tuple(data.shape), tuple(data.strides), engine.requires_grad, OrderedDict())
        self.save_reduce(REBUILD, (stored, *layout), obj=x)  # type: ignore


class Stored:
    """A storage in a pickle.

    Args:
        key: What PyTorch writes for it.
    """

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True) -> None:
    """Write tensors, numbers, text and collections of these to a file that PyTorch can read as well.

    Args:
        obj: Such as `model.state_dict()`, or a dictionary of several.
        f: A path, written atomically, or a file that is open for writing in binary mode.
        pickle_module: None.
        pickle_protocol: 2.
        _use_new_zipfile_serialization: True.

    Raises:
        TypeError: If obj contains anything else, such as a module.
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


class Kind:
    """One of PyTorch's storage classes, by its name."""

    def __init__(self, name: str) -> None:
        self.dtype = dtype_of(STORAGES[name])


def rebuild_tensor(storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, metadata: Any = None) -> Tensor:
    """A tensor over a storage."""
    array, backend = storage
    shape, strides = tuple(map(int, size)), tuple(map(int, stride))
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if offset < 0 or min(strides, default=0) < 0 or (0 not in shape and last >= len(array)):
        raise pickle.UnpicklingError(f"a tensor of shape {shape} that reaches beyond its storage of {len(array)} elements")
    empty = 0 in shape
    layout = (array[:0], shape) if empty else (array[offset:], shape, strides)
    return as_torch(make_tensor(TensorData(*layout), backend, bool(requires_grad)))  # type: ignore


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Parameter:
    """A parameter around a tensor."""
    return Parameter(data, requires_grad)


class Reader(pickle.Unpickler):
    """Reads the pickle; only the names that tensors and collections need are known.

    Args:
        archive: The open archive.
        prefix: The folder in it.
        location: Where tensors are stored.
    """

    def __init__(self, archive: zipfile.ZipFile, prefix: str, location: Any) -> None:
        super().__init__(io.BytesIO(archive.read(f"{prefix}data.pkl")), encoding="utf-8")
        self._archive, self._prefix, self._backend = archive, prefix, backend_of(location)
        self._arrays: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        """What a name in the pickle stands for.

        Raises:
            UnpicklingError: If it is not one of the known names.
        """
        known: dict[tuple[str, str], Any] = {
            ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): rebuild_parameter,
            ("collections", "OrderedDict"): OrderedDict,
            ("collections", "Counter"): Counter,
            ("collections", "defaultdict"): defaultdict,
            ("__builtin__", "set"): set,
            ("builtins", "set"): set,
            ("__builtin__", "list"): list,
            ("builtins", "list"): list,
            ("torch", "Size"): Size,
            ("torch", "device"): device,
        }
        if (module, name) in known:
            return known[module, name]
        if module == "torch" and name in STORAGES:
            return Kind(name)
        if module == "torch" and name in STORAGE_NAMES:
            return dtype_of(name)
        raise pickle.UnpicklingError(
            f"torch.load refuses {module}.{name}: only tensors, numbers, text and collections of these are read, because a pickle may run "
            "any program; save a state_dict()"
        )

    def persistent_load(self, pid: Any) -> Any:
        """The numbers of a storage.

        Raises:
            UnpicklingError: If the archive does not contain them.
        """
        kind, storage, key, _, count = pid
        if kind != "storage" or not isinstance(storage, Kind):
            raise pickle.UnpicklingError(f"torch.load expected a storage of numbers, got {kind!r}")
        if key not in self._arrays:
            stored = self._archive.read(f"{self._prefix}data/{key}")
            if len(stored) < count * storage.dtype.itemsize:
                raise pickle.UnpicklingError(f"a storage of {count} elements, got {len(stored)} bytes")
            self._arrays[key] = np.frombuffer(bytearray(stored), storage.dtype, count)
        return self._arrays[key], self._backend


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None) -> Any:
    """Read a file that `save` or PyTorch wrote, or a safetensors file.

    Args:
        f: A path, or a file that is open for reading in binary mode.
        map_location: Where the tensors are stored, "cpu" by default.
        pickle_module: None.
        weights_only: No effect: only tensors, numbers, text and collections of these are ever read.
        mmap: No effect.

    Raises:
        UnpicklingError: If the file contains anything else, or is of another format.
        NotImplementedError: If map_location is a function or a dictionary.
        OSError: If it cannot be read.
    """
    if callable(map_location) or isinstance(map_location, Mapping):
        raise NotImplementedError('torch.load supports a device as map_location only, such as "cpu"')
    if pickle_module not in (None, pickle):
        raise NotImplementedError("torch.load supports the module pickle only; leave pickle_module out")
    file: BinaryIO = Path(f).open("rb") if isinstance(f, (str, os.PathLike)) else f  # noqa: SIM115 - closed below if opened here
    try:
        if zipfile.is_zipfile(file):
            return _load_zip(file, map_location)
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


def _load_zip(file: BinaryIO, map_location: Any) -> Any:
    """Read PyTorch's zip format."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        pickles = [name for name in names if name.endswith("data.pkl") and name.count("/") <= 1]
        if not pickles:
            raise pickle.UnpicklingError(f"torch.load expected an archive with data.pkl, got {', '.join(names[:5]) or 'an empty one'}")
        prefix = pickles[0].removesuffix("data.pkl")
        if f"{prefix}byteorder" in names and archive.read(f"{prefix}byteorder") != b"little":
            raise pickle.UnpicklingError("torch.load expected the byte order little, got another")
        return Reader(archive, prefix, map_location).load()
