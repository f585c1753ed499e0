"""Stage 4 - Read and write safetensors files: atomic writes, and validation of the whole header before data is read.

A safetensors file has 8 bytes with the length of the header, a JSON header, and the elements of all arrays. It contains only
numbers and text, no code.
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
"""Maximum header length; other readers of the format use the same limit."""

MAX_REPORTED = 10
"""Maximum number of errors that a message lists."""

DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
}  # fmt: skip
"""NumPy dtype by its name in the format."""

DTYPE_CODES = {name: code for code, name in DTYPES.items()}

CONVERT_COMMAND = (
    "python -c \"import torch, safetensors.torch as s; s.save_file(torch.load('{path}', weights_only=True), '{stem}.safetensors')\""
)
"""Command that converts a PyTorch file."""


class FileFormatError(ValueError):
    """A file of another format, or a damaged file; the message names the file and a remedy.

    Attributes:
        what: What was found instead.
    """

    def __init__(self, path: Path, expected: str, what: str, remedy: str) -> None:
        super().__init__(f"{path} expected {expected}, got {what}; {remedy}")
        self.what = what


class Entry(NamedTuple):
    """Header entry of one array; begin and end are byte offsets from the end of the header."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


# Writing


_write_lock = threading.Lock()
"""Serializes writes: all threads use the same temporary file."""


def replace_file(path: str | Path, *content: Any) -> None:
    """Write a file atomically: after a crash it has either the new or the old content in full.

    Args:
        path: The file; its folder must exist.
        content: Bytes or byte arrays to write, in order.

    Raises:
        OSError: If it cannot be written; the old file is left unchanged.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"expected a file in a folder that is there, got {path}; make {path.parent} first")
    path = Path(os.path.realpath(path))  # replace the target of a link, not the link
    draft = path.with_name(f".{path.name}.draft")  # a fixed name, so that the next write replaces what a crash left
    with _write_lock:
        try:
            with draft.open("wb") as file:
                file.writelines(content)
                file.flush()
                os.fsync(file.fileno())  # on disk before the rename: else a power failure could leave an empty file
            if path.exists():
                shutil.copymode(path, draft)  # keep the permissions
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    if hasattr(os, "O_DIRECTORY"):  # not on Windows
        folder = os.open(path.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the rename too
        finally:
            os.close(folder)


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], notes: Mapping[str, str] | None = None) -> None:
    """Write arrays by name to a safetensors file, atomically (see `replace_file`). Equal arrays give equal files.

    Args:
        path: The file; its folder must exist.
        arrays: Numeric or boolean arrays in any memory layout; elements are written in C order.
        notes: Metadata, text by name.

    Raises:
        TypeError: If the dtype of an array is unsupported, or a name or note is not a string.
        ValueError: If an array has the reserved name "__metadata__".
        OSError: If the file cannot be written.
    """
    replace_file(path, *_encode(arrays, notes or {}))


def _encode(arrays: Mapping[str, np.ndarray], notes: Mapping[str, str]) -> list[Any]:
    """The parts of the file, in order."""
    if not all(isinstance(text, str) for text in (*arrays, *notes, *notes.values())):
        raise TypeError(f"write_arrays expected text for every name and note, got {[*arrays]} and {notes}; write numbers as JSON")
    if "__metadata__" in arrays:
        raise ValueError('write_arrays expected other names than "__metadata__", under which the notes stand; call the array otherwise')
    header: dict[str, Any] = {"__metadata__": dict(notes)} if notes else {}
    header |= dict.fromkeys(arrays)  # keeps the order of the arrays
    parts, position = [], 0
    # largest itemsize first, so that every array is aligned
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize):
        dtype = array.dtype
        if dtype.name not in DTYPE_CODES:
            raise TypeError(f"write_arrays expected arrays of {', '.join(DTYPE_CODES)}, got {name} of {dtype.name}; convert it first")
        part = np.ascontiguousarray(array, dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
        header[name] = {"dtype": DTYPE_CODES[dtype.name], "shape": list(array.shape), "data_offsets": [position, position + len(part)]}
        position += len(part)
        parts.append(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # aligns the elements to 8 bytes
    if len(text) > MAX_HEADER_BYTES:
        raise ValueError(f"write_arrays expected names and notes of at most {MAX_HEADER_BYTES} bytes, got {len(text)}; shorten the notes")
    return [len(text).to_bytes(8, "little"), text, *parts]


# Reading


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read the arrays of a safetensors file by name, and its metadata.

    Memory use is bounded by the size of the file, whatever the header claims.

    Raises:
        FileFormatError: If it is of another format, truncated, or its header is invalid.
        OSError: If it cannot be read.
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
    """Offset of the elements, the entries of the arrays, and the metadata.

    Args:
        path: The file's name, for messages.
        file: The file, at position 0.
        size: Size of the file in bytes.

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
    """A JSON object as a dictionary; raises ValueError if a name occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)!r} stands there twice")
    return found


def _parse_entry(name: str, claim: Any, available: int) -> Entry | str:
    """The validated header entry of an array, or a description of the error.

    Args:
        name: Name of the array.
        claim: Its entry in the header.
        available: Number of bytes after the header.
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
    """Whether this is a list of integers >= 0."""
    return isinstance(numbers, list) and all(type(number) is int and number >= 0 for number in numbers)


def _dtype(name: str) -> np.dtype | None:
    """The little-endian NumPy dtype; None for bfloat16 without the package ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name).newbyteorder("<")
    try:
        import ml_dtypes  # type: ignore[import-not-found]  # an extra
    except ModuleNotFoundError:
        return None
    return np.dtype(ml_dtypes.bfloat16)


def _damaged_file(path: Path, what: str) -> FileFormatError:
    """The error for a damaged safetensors file."""
    return FileFormatError(path, "a whole safetensors file", what, "fetch or save it again")


def _wrong_file_kind(path: Path, begin: bytes, size: int, length: int) -> FileFormatError:
    """The error for a file of another format, which is guessed from the first bytes."""
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
