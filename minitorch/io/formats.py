"""Stage 4 - Arrays in a file by name: written in one step, and read only if every number of the file's header is right.

The form is safetensors: 8 bytes with the length of a header, the header, which is JSON, and the elements of all arrays. It holds numbers
and text, and nothing that a program could be made to run.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from minitorch.tensor_data import MAX_DIMS

MAX_HEADER_BYTES = 100_000_000
"""Bytes; a longer one is taken for a mistake, as by the other programs that read this form."""

MAX_REPORTED = 10
"""Of what is wrong with a file, so many things are told."""

DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
}  # fmt: skip
"""What the form calls each dtype."""

DTYPE_CODES = {name: code for code, name in DTYPES.items()}

CONVERT_COMMAND = (
    "python -c \"import torch, safetensors.torch as s; s.save_file(torch.load('{path}', weights_only=True), '{stem}.safetensors')\""
)
"""What makes such a file from one of PyTorch's."""


class FileFormatError(ValueError):
    """A file that is not what it should be; the message names it and says what to do.

    Attributes:
        what: What it is instead.
    """

    def __init__(self, path: Path, expected: str, what: str, remedy: str) -> None:
        super().__init__(f"{path} expected {expected}, got {what}; {remedy}")
        self.what = what


class Entry(NamedTuple):
    """What the header says of one array: where its elements begin and end, counted from behind the header."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


# Writing


_write_lock = threading.Lock()
"""Held while a file is replaced: two threads would write into one draft."""


def replace_file(path: str | Path, *content: Any) -> None:
    """Write a file in one step: whenever the program or the machine stops, it holds this content or the one before in full.

    Args:
        path: The file; its folder must exist.
        content: What to write, bytes or arrays of them, one after the other.

    Raises:
        OSError: If it cannot be written; the file before is left as it was.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"expected a file in a folder that is there, got {path}; make {path.parent} first")
    path = Path(os.path.realpath(path))  # a link stays, and what it leads to is replaced
    draft = path.with_name(f".{path.name}.draft")  # the same every time: what a killed program leaves, the next one writes over
    with _write_lock:
        try:
            with draft.open("wb") as file:
                file.writelines(content)
                file.flush()
                os.fsync(file.fileno())  # on the disk before it takes the name: else a power failure could leave an empty file
            if path.exists():
                shutil.copymode(path, draft)  # who may read the file, may read the new one, and nobody else
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    if hasattr(os, "O_DIRECTORY"):  # elsewhere a folder cannot be opened
        folder = os.open(path.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the new name too
        finally:
            os.close(folder)


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], notes: Mapping[str, str] | None = None) -> None:
    """Write arrays by name as a safetensors file, in one step as `replace_file`. Equal ones make equal files.

    Args:
        path: The file; its folder must exist.
        arrays: Of numbers or truth values, in any layout: all elements are written, in the order of their indices.
        notes: Text by name, which is kept with them.

    Raises:
        TypeError: If an array holds anything else, or a name or a note is no text.
        ValueError: If an array is called "__metadata__", as the notes are.
        OSError: If the file cannot be written.
    """
    replace_file(path, *_encode(arrays, notes or {}))


def _encode(arrays: Mapping[str, np.ndarray], notes: Mapping[str, str]) -> list[Any]:
    """The pieces of which such a file consists."""
    if not all(isinstance(text, str) for text in (*arrays, *notes, *notes.values())):
        raise TypeError(f"write_arrays expected text for every name and note, got {[*arrays]} and {notes}; write numbers as JSON")
    if "__metadata__" in arrays:
        raise ValueError('write_arrays expected other names than "__metadata__", under which the notes stand; call the array otherwise')
    header: dict[str, Any] = {"__metadata__": dict(notes)} if notes else {}
    header |= dict.fromkeys(arrays)  # in the order in which they are given
    parts, position = [], 0
    # the wide ones first, so that every array begins at a multiple of its element's size
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize):
        dtype = array.dtype
        if dtype.name not in DTYPE_CODES:
            raise TypeError(f"write_arrays expected arrays of {', '.join(DTYPE_CODES)}, got {name} of {dtype.name}; convert it first")
        part = np.ascontiguousarray(array, dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
        header[name] = {"dtype": DTYPE_CODES[dtype.name], "shape": list(array.shape), "data_offsets": [position, position + len(part)]}
        position += len(part)
        parts.append(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the elements begin at a multiple of 8
    if len(text) > MAX_HEADER_BYTES:
        raise ValueError(f"write_arrays expected names and notes of at most {MAX_HEADER_BYTES} bytes, got {len(text)}; shorten the notes")
    return [len(text).to_bytes(8, "little"), text, *parts]


# Reading


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a safetensors file by name, and its notes.

    No more is read than the file holds, whatever its header claims, and nothing in it is run.

    Raises:
        FileFormatError: If it is another kind of file, cut short, or says of itself what cannot be.
        OSError: If there is none, or it may not be read.
    """
    path = Path(path)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start, entries, notes = read_header(path, file, size)
        arrays = {}
        for entry in entries:
            array = np.empty(math.prod(entry.shape), entry.dtype)
            if array.size:
                file.seek(start + entry.begin)
                got = file.readinto(array.view(np.uint8))  # type: ignore[attr-defined]  # of a buffered reader
                if got != array.nbytes:
                    raise _damaged_file(path, f"one that became shorter while {entry.name} was read")
            if entry.dtype == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
                raise _damaged_file(path, f"{entry.name} of BOOL with bytes other than 0 and 1")
            arrays[entry.name] = array.reshape(entry.shape)
    return arrays, notes


def read_header(path: Path, file: BinaryIO, size: int) -> tuple[int, list[Entry], dict[str, str]]:
    """Where the elements begin, what arrays there are, and the notes.

    Args:
        path: The file's name, for messages.
        file: The file, at its beginning.
        size: Bytes of the whole file.

    Raises:
        FileFormatError: See `read_arrays`.
    """
    begin = file.read(16)
    length = int.from_bytes(begin[:8], "little")
    if size < 9 or length > min(MAX_HEADER_BYTES, size - 8) or begin[8:9] != b"{":
        raise _wrong_file_kind(path, begin, size, length)
    file.seek(8)
    try:
        header = json.loads(file.read(length).decode(), object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise _damaged_file(path, f"a header that is no JSON ({error})") from None
    notes = header.pop("__metadata__", {})
    if not isinstance(notes, dict) or not all(isinstance(value, str) for value in notes.values()):
        raise _damaged_file(path, "notes (__metadata__) that are not text by name")
    wrong, entries = [], []
    for name, claim in header.items():
        found = _parse_entry(name, claim, size - 8 - length)
        (entries if isinstance(found, Entry) else wrong).append(found)
    position = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)) if not wrong else ():
        if entry.begin != position:
            how = "a hole before it" if entry.begin > position else "bytes of another array in it"
            wrong.append(f"{entry.name} at {entry.begin} to {entry.end}, with {how}, where {position} was due")
        position = max(position, entry.end)
    if not wrong and position != size - 8 - length:
        wrong.append(f"{size - 8 - length} bytes of elements, of which {position} belong to arrays")
    if wrong:
        more = [f"… and {len(wrong) - MAX_REPORTED} more"] if len(wrong) > MAX_REPORTED else []
        raise _damaged_file(path, f"a header that does not fit its elements ({'; '.join(wrong[:MAX_REPORTED] + more)})")
    return 8 + length, entries, notes


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, in which no name stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)!r} stands there twice")
    return found


def _parse_entry(name: str, claim: Any, available: int) -> Entry | str:
    """What the header claims of an array, or what is wrong with it.

    Args:
        name: Of the array.
        claim: What the header says of it.
        available: How many bytes of elements there are.
    """
    if not isinstance(claim, dict) or set(claim) != {"dtype", "shape", "data_offsets"}:
        return f"{name} without exactly dtype, shape and data_offsets"
    code, shape, offsets = claim["dtype"], claim["shape"], claim["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        return f"{name} of dtype {code!r}, which is none of {', '.join(DTYPES)}"
    if not _are_sizes(shape) or len(shape) > MAX_DIMS:
        return f"{name} of shape {shape!s:.80}"
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        return f"{name} at {offsets!s:.80}"
    begin, end = offsets
    if end > available:
        return f"{name} at {begin} to {end}, of {available} bytes that are there"
    dtype = _dtype(DTYPES[code])
    if dtype is None:
        return f"{name} of BF16, which needs the package ml_dtypes (pip install ml_dtypes)"
    if math.prod(shape) * dtype.itemsize != end - begin or math.prod(max(size, 1) for size in shape) >= 2**48:
        return f"{name} of shape {tuple(shape)} and {dtype.name} in {end - begin} bytes"
    return Entry(name, dtype, tuple(shape), begin, end)


def _are_sizes(numbers: Any) -> bool:
    """Whether these are whole numbers of at least 0."""
    return isinstance(numbers, list) and all(type(number) is int and number >= 0 for number in numbers)


def _dtype(name: str) -> np.dtype | None:
    """NumPy's dtype as it lies in a file; None for bfloat16 where the package is missing that knows it."""
    if name != "bfloat16":
        return np.dtype(name).newbyteorder("<")
    try:
        import ml_dtypes  # type: ignore[import-not-found]  # an extra
    except ModuleNotFoundError:
        return None
    return np.dtype(ml_dtypes.bfloat16)


def _damaged_file(path: Path, what: str) -> FileFormatError:
    """A safetensors file that is damaged."""
    return FileFormatError(path, "a whole safetensors file", what, "fetch or save it again")


def _wrong_file_kind(path: Path, begin: bytes, size: int, length: int) -> FileFormatError:
    """What stands here instead of such a file, by its first bytes."""
    convert = f"a .pt or .pth file of PyTorch is converted by {CONVERT_COMMAND.format(path=path, stem=path.with_suffix(''))}"
    if not size:
        return FileFormatError(path, "a safetensors file", "an empty one", "fetch or save it again")
    if begin[8:9] == b"{":
        what = f"a header of {length} bytes in a file of {size}" if length <= MAX_HEADER_BYTES else f"a header of {length} bytes"
        return FileFormatError(
            path, f"a safetensors file with a header of at most {MAX_HEADER_BYTES} bytes", what, "fetch or save it again"
        )
    if begin.startswith(b"PK"):
        return FileFormatError(path, "a safetensors file", "a zip archive, as torch.save writes it", convert)
    if begin[:1] == b"\x80" and begin[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return FileFormatError(path, "a safetensors file", "a pickle, which may run any program and is never opened", convert)
    if begin.startswith(b"\x89HDF\r\n\x1a\n"):
        return FileFormatError(path, "a safetensors file", "an HDF5 file", "read it with load_hdf5")
    return FileFormatError(path, "a safetensors file", "another kind of file, or the beginning of one", "name one that save has written")
