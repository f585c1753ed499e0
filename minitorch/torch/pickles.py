"""Stage 7 - The pickles in PyTorch's files: how tensors, arrays and other objects are written, and which names are read again."""

from __future__ import annotations

import _codecs
import _compat_pickle
import io
import pickle
import zipfile
from collections import Counter, OrderedDict, defaultdict
from itertools import pairwise
from types import FunctionType
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, load_bfloat16
from minitorch.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter, is_lazy
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
        """Never called here: whoever reads the pickle calls the function of this name."""


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
        self._path: list[Any] = []  # the objects that are being written, from the outermost to the innermost

    def dump(self, obj: Any) -> None:
        """Write an object and everything in it.

        Raises:
            PicklingError: If something in it has no name by which it could be imported again: a lambda, for example.
            TypeError: If something in it belongs to the running program: an open file, for example.
        """
        try:
            super().dump(obj)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            kind = TypeError if isinstance(error, TypeError) else pickle.PicklingError
            raise kind(f"torch.save cannot write {place(self._path)}, {problem(self._path[-1], error)}") from error

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Write an object: tensors, sizes, dtypes and devices as PyTorch does, others as pickle does."""
        self._path.append(obj)
        if isinstance(obj, Name):
            self.write(obj.line)  # type: ignore
        elif isinstance(obj, np.dtype) and obj.name in STORAGE_NAMES and not self._in_numpy():
            self.write(Name("torch", obj.name).line)  # type: ignore
        elif isinstance(obj, Tensor):
            self._save_tensor(obj)
        elif isinstance(obj, Size):
            self.save_reduce(Name("torch", "Size"), (tuple(obj),))  # type: ignore
        elif isinstance(obj, device):
            self.save_reduce(Name("torch", "device"), (str(obj),))  # type: ignore
        else:
            super().save(obj, save_persistent_id)  # type: ignore
        self._path.pop()

    def _in_numpy(self) -> bool:
        """Whether the innermost object belongs to one of NumPy's."""
        owners = [obj for obj in self._path[:-1] if not isinstance(obj, (tuple, list, dict))]
        return bool(owners) and isinstance(owners[-1], (np.ndarray, np.generic, np.dtype))

    def persistent_id(self, obj: Any) -> Any:
        """What PyTorch writes for a storage."""
        return obj.key if isinstance(obj, Stored) else None

    def _save_tensor(self, x: Tensor) -> None:
        """Write a tensor: its storage's number, and its layout."""
        if id(x) in self.memo:  # type: ignore
            self.write(self.get(self.memo[id(x)][0]))  # type: ignore
            return
        engine = x
        if is_lazy(x):
            self.save_reduce(Name("torch.nn.parameter", type(x).__name__), (x.requires_grad,), obj=x)  # type: ignore
            return
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


def place(path: list[Any]) -> str:
    """Where the last object of a path is in the first one, in Python: obj['model'].layers[0].act."""
    text, state = "obj", False
    for outer, inner in pairwise(path):
        items = outer.items() if isinstance(outer, dict) else enumerate(outer) if isinstance(outer, (list, tuple)) else ()
        key = next((key for key, value in items if value is inner), None)
        if key is None:
            state = True  # inner belongs to the state of outer
        elif not state:
            text += f"[{key!r}]"
        elif isinstance(outer, dict) and key not in ("_modules", "_parameters"):
            text, state = f"{text}[{key}]" if str(key).isdigit() else f"{text}.{key}", False
    return text


def problem(obj: Any, error: Exception) -> str:
    """Why an object cannot be written, and what to do."""
    if isinstance(obj, (FunctionType, type)):
        kind = "class" if isinstance(obj, type) else "function"
        return f"the {kind} {obj.__qualname__}, which cannot be imported by this name; define it at the top level of a module"
    return f"an object of the class {type(obj).__name__} ({error}); leave it out, for example in a method __getstate__ of its owner"


class Stored:
    """A storage in a pickle.

    Args:
        key: What PyTorch writes for it.
    """

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key


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


NAMES: dict[str, Any] = {
    "torch._utils._rebuild_tensor_v2": rebuild_tensor,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch.nn.parameter.UninitializedParameter": UninitializedParameter,
    "torch.nn.parameter.UninitializedBuffer": UninitializedBuffer,
    "torch.Size": Size,
    "torch.device": device,
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "collections.defaultdict": defaultdict,
    "_codecs.encode": _codecs.encode,  # of bytes
    **{f"builtins.{kind.__name__}": kind for kind in (bytearray, complex, list, set)},
    **{f"torch.{name}": Kind(name) for name in STORAGES},
}
"""What is always read: the names that tensors, numbers, text and collections of these need."""

ALLOWED: dict[str, Any] = {}
"""What `add_safe_globals` allows in addition."""


def full_name(module: str, name: str) -> str:
    """A name in a pickle as it is today: with Python 3's modules, and NumPy 2's."""
    module, name = _compat_pickle.NAME_MAPPING.get((module, name), (_compat_pickle.IMPORT_MAPPING.get(module, module), name))
    return f"numpy._core.{module.removeprefix('numpy.core.')}.{name}" if module.startswith("numpy.core.") else f"{module}.{name}"


class Reader(pickle.Unpickler):
    """Reads the pickle; only the names that tensors and collections need are known, unless the file is trusted.

    Args:
        archive: The open archive.
        prefix: The folder in it.
        location: Where tensors are stored.
        trusted: Whether everything else that can be imported is found, too.
    """

    def __init__(self, archive: zipfile.ZipFile, prefix: str, location: Any, trusted: bool = False) -> None:
        super().__init__(io.BytesIO(archive.read(f"{prefix}data.pkl")), encoding="utf-8")
        self._archive, self._prefix, self._backend, self._trusted = archive, prefix, backend_of(location), trusted
        self._arrays: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        """What a name in the pickle stands for.

        Raises:
            UnpicklingError: If it is not one of the known names and the file is not trusted, or it is an object of PyTorch's.
            AttributeError: If it cannot be imported.
        """
        full = full_name(module, name)
        if module == "torch" and name in STORAGE_NAMES:
            return dtype_of(name)
        if full in NAMES or full in ALLOWED:
            return NAMES.get(full) or ALLOWED[full]
        if module.partition(".")[0] in ("torch", "torchvision"):
            raise pickle.UnpicklingError(
                f"torch.load cannot read {full}: PyTorch wrote an object that only PyTorch can read; load it there and save a state_dict()"
            )
        if not self._trusted:
            raise pickle.UnpicklingError(
                f"torch.load refuses {full}: with weights_only=True, the default, only tensors, numbers, text and collections of these are "
                "read, because a pickle may run any program. If you trust the file, pass weights_only=False, or allow this name: "
                f"torch.serialization.add_safe_globals([{full}])"
            )
        try:
            return super().find_class(*full.rsplit(".", 1) if module.startswith("numpy.core") else (module, name))
        except (ImportError, AttributeError) as error:
            raise AttributeError(
                f"torch.load found no {full} ({error}); define or import it as in the program that saved the file"
            ) from error

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
