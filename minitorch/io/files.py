"""Stage 6 - Save and load states as safetensors or HDF5 files, and load PyTorch weights; never with pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.io.formats import FileFormatError, read_arrays, replace_file, write_arrays
from minitorch.tensor import Tensor, make_tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend
    from minitorch.nn.module import Keys

STRUCTURE_KEY = "minitorch"
"""Metadata key for the structure of a state that is not a flat dictionary of tensors."""

MAX_COMPRESSION_RATIO = 1100
"""Upper bound on the decompressed bytes per compressed byte; deflate reaches 1032."""


# safetensors


def save(state: Mapping[Any, Any], path: str | Path) -> None:
    """Write a state to a safetensors file, atomically: after a crash the file has the new or the old state in full.

    A flat dictionary of tensors gives a standard safetensors file. A state may also contain numbers, text, None, and lists,
    tuples and dictionaries of all these, such as `{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}`: then
    its tensors have dotted names in the file, and the rest is stored in the metadata as JSON.

    Args:
        state: State to write. All elements of a view are written; a tensor that occurs twice is written twice.
        path: The file; its folder must exist.

    Raises:
        TypeError: If the state is not a dictionary, or contains other types; the message names the key.
        ValueError: If two tensors have the same name.
        OSError: If the file cannot be written; the old file is left unchanged.
    """
    _check_mapping(state, "save")
    arrays: dict[str, np.ndarray] = {}
    tree = _flatten(state, "", arrays)
    write_arrays(path, arrays, None if set(state) == set(arrays) else {STRUCTURE_KEY: json.dumps(tree)})


def load(path: str | Path, backend: TensorBackend = SimpleBackend) -> dict[Any, Any]:
    """Read a state that `save` wrote, or the tensors of any safetensors file by name.

    It is safe to load files from untrusted sources: no code is run.

    Args:
        path: The file.
        backend: Backend of the tensors.

    Returns:
        The state; its tensors require no gradients and own their storage.

    Raises:
        FileFormatError: If it is damaged, truncated or of another format.
        OSError: If it cannot be read.
    """
    path = Path(path)
    arrays, notes = read_arrays(path)
    tensors = {name: _as_tensor(path, name, array, backend) for name, array in arrays.items()}
    if STRUCTURE_KEY not in notes:
        return tensors
    try:
        state = _unflatten(json.loads(notes[STRUCTURE_KEY]), tensors)
    except (ValueError, TypeError, KeyError, RecursionError):
        state = None
    if not isinstance(state, dict) or tensors:  # some are left over
        raise FileFormatError(path, "a note that says where each tensor belongs", f"{notes[STRUCTURE_KEY]!s:.80}", "save it again")
    return state


def load_torch_state_dict(module: Any, path: str | Path, strict: bool = True) -> Keys:
    """Load the weights of a PyTorch model into a module with the same parameter names and shapes.

    Args:
        module: The module; its dtype and backend are kept.
        path: A safetensors file, as `safetensors.torch.save_file(model.state_dict(), path)` writes it.
        strict: Whether missing and unexpected names are errors.

    Returns:
        The missing and the unexpected names.

    Raises:
        TypeError: If module has no load_state_dict.
        FileFormatError: If it is another kind of file. For a .pt or .pth file, a pickle that may run any program, the message has the line
            of PyTorch that converts it.
        ValueError: If names, shapes or kinds of numbers differ; all of them are listed.
        OSError: If it cannot be read.
    """
    if not hasattr(module, "load_state_dict"):
        raise TypeError(f"load_torch_state_dict expected a module with load_state_dict, got {type(module).__name__}; derive from nn.Module")
    arrays, _ = read_arrays(path)
    return module.load_state_dict(arrays, strict=strict)


# HDF5


def save_hdf5(state: Mapping[str, Any], path: str | Path) -> None:
    """Write tensors by name to the datasets of an HDF5 file, atomically; "/" in a name creates groups. Requires h5py.

    Args:
        state: Tensors or arrays by name.
        path: The file; its folder must exist.

    Raises:
        ModuleNotFoundError: Without h5py.
        TypeError: If the state is no dictionary of tensors by name, or one is of bfloat16.
        ValueError: If a name is no path, or leads through another.
        OSError: If the file cannot be written; the old file is left unchanged.
    """
    h5py = _import_h5py()
    _check_mapping(state, "save_hdf5")
    content = BytesIO()
    names = [name for name in state if isinstance(name, str)]
    groups = {name[:i] for name in names for i, letter in enumerate(name) if letter == "/"}
    with h5py.File(content, "w") as file:
        for name, value in state.items():
            array = _as_array(value)
            if not isinstance(name, str) or array is None or array.dtype.kind not in "fiub" or array.dtype.name == "bfloat16":
                what = type(value).__name__ if array is None else array.dtype.name
                raise TypeError(f"save_hdf5 expected tensors by name, got {what} at {name!r}; convert it, or write the state with save")
            if name in groups or "\0" in name or not {"", "."}.isdisjoint(name.split("/")):
                raise ValueError(f"save_hdf5 expected paths as names, none of them through another, got {name!r}; change it")
            file[name] = array
    replace_file(path, content.getbuffer())


def load_hdf5(path: str | Path, backend: TensorBackend = SimpleBackend) -> dict[str, Tensor]:
    """Read the datasets of an HDF5 file as tensors by name. Requires h5py.

    Args:
        path: The file.
        backend: Backend of the tensors.

    Returns:
        Constants in storages of their own, by their names with "/" for groups.

    Raises:
        ModuleNotFoundError: Without h5py.
        FileFormatError: If it is another kind of file, cut short, or has datasets that are no arrays of numbers, or whose elements do
            not lie in the file; or links, or two names for one thing.
        OSError: If it cannot be read.
    """
    h5py, path = _import_h5py(), Path(path)
    found: dict[str, Tensor] = {}
    wrong: list[str] = []
    with path.open("rb") as file:  # of h5py a missing file and a broken one are the same error
        try:
            with h5py.File(file, "r") as content:
                for name, item in _datasets(h5py, content["/"], "", {content["/"]: "/"}, wrong):
                    if item.shape is None or item.dtype.kind not in "fiub":
                        wrong.append(f"{name} of {'nothing' if item.shape is None else item.dtype}")
                    elif item.external or item.is_virtual:
                        wrong.append(f"{name}, whose elements lie in other files")
                    elif (item.nbytes or 0) > (MAX_COMPRESSION_RATIO if item.compression else 1) * item.id.get_storage_size():
                        wrong.append(f"{name} of {item.nbytes} bytes, of which {item.id.get_storage_size()} are there")
                    else:
                        found[name] = _as_tensor(path, name, np.asarray(item[()], item.dtype.newbyteorder("=")), backend)
        except FileFormatError:
            raise
        except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
            raise FileFormatError(path, "a whole HDF5 file", f"another kind, or a part of one ({error})", "name another") from None
    if wrong:
        raise FileFormatError(path, "an HDF5 file of arrays of numbers", f"one with {'; '.join(wrong)}", "write these otherwise")
    return found


def _datasets(h5py: Any, group: Any, prefix: str, seen: dict[Any, str], wrong: list[str]) -> Iterator[tuple[str, Any]]:
    """The datasets of a group and of those in it, by name; what is no dataset of this file's, or has been seen, is put into `wrong`."""
    for key in group:
        name, kind = f"{prefix}{key}", group.get(key, getclass=True, getlink=True)
        item = group[key] if kind is h5py.HardLink else None
        if item is None:
            wrong.append(f"{name}, a link")
        elif item in seen:  # a small file could name the same a million times
            wrong.append(f"{name}, which is {seen[item]} again")
        else:
            seen[item] = name
            if isinstance(item, h5py.Group):
                yield from _datasets(h5py, item, f"{name}/", seen, wrong)
            elif isinstance(item, h5py.Dataset):
                yield name, item


def _import_h5py() -> Any:
    """The package h5py."""
    try:
        import h5py
    except ModuleNotFoundError:
        raise ModuleNotFoundError("HDF5 files need the package h5py, which is not there; pip install h5py, or use save and load") from None
    return h5py


# Conversion between states and arrays


def _check_mapping(state: Any, who: str) -> None:
    """Check that a state is a dictionary."""
    if not isinstance(state, Mapping):
        remedy = "pass its state_dict()" if hasattr(state, "state_dict") else 'give the tensor a name: {"x": x}'
        raise TypeError(f"{who} expected a dictionary of tensors by name, got {type(state).__name__}; {remedy}")


def _as_array(value: Any) -> np.ndarray | None:
    """A Tensor, a PyTorch tensor, a Parameter or an array as an array, without a copy; None for anything else."""
    if hasattr(value, "value") and isinstance(value.value, Tensor):  # a Parameter
        value = value.value
    if isinstance(value, Tensor):
        return value._tensor.array()
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return value if isinstance(value, np.ndarray) else None


def _as_tensor(path: Path, name: str, array: np.ndarray, backend: TensorBackend) -> Tensor:
    """An array of a file as a tensor."""
    try:
        return make_tensor(TensorData(array.reshape(-1), array.shape), backend, False)
    except TypeError as error:
        raise FileFormatError(path, "dtypes that a tensor can have", f"{name} of {array.dtype.name} ({error})", "convert it") from None


def _flatten(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """The structure of a state as JSON values, with names for arrays; the arrays are added to `arrays`."""
    array = _as_array(value)
    if array is not None:
        if name in arrays:
            raise ValueError(f"save expected names that differ, got {name!r} twice, as a dot within a name may do; change one of them")
        arrays[name] = array
        return {"array": name}
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        if wrong := [key for key in value if type(key) not in (str, int)]:
            raise TypeError(f"save expected names or whole numbers as keys, got {wrong[0]!r} at {name or 'the top'!r}; change it")
        return {"dict": [[key, _flatten(each, _join_name(name, key), arrays)] for key, each in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_flatten(each, _join_name(name, i), arrays) for i, each in enumerate(value)]}
    raise TypeError(
        f"save expected tensors, numbers, text, and lists and dictionaries of these, got {type(value).__name__} at {name!r}; leave it out"
    )


def _join_name(name: str, key: Any) -> str:
    return f"{name}.{key}" if name else str(key)


def _unflatten(tree: Any, tensors: dict[str, Tensor]) -> Any:
    """Inverse of `_flatten`; removes each tensor that it uses from `tensors`.

    Raises:
        ValueError, TypeError, KeyError: If the form is another.
    """
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return tree
    if not isinstance(tree, dict):
        raise TypeError("a list, which says nothing of its kind")
    ((kind, inside),) = tree.items()
    if kind == "array":
        return tensors.pop(inside)
    if not isinstance(inside, list):
        raise TypeError(f"a {kind} that is no list")
    if kind != "dict":
        return {"list": list, "tuple": tuple}[kind](_unflatten(each, tensors) for each in inside)
    state = {key: _unflatten(each, tensors) for key, each in inside if type(key) in (str, int)}
    if len(state) < len(inside):
        raise ValueError("a name is none, or stands there twice")
    return state
