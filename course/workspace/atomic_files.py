"""Atomic writes of files that other processes may be reading."""

import contextlib
import json
import os
import threading
from pathlib import Path


def write_bytes(path: Path, data: bytes, durable: bool = False) -> None:
    """Write under a temporary name and rename, so that no reader sees a partial file.

    Args:
        path: The file; its folder is created if it does not exist.
        data: The contents.
        durable: Wait until the data is on the disk, so that it survives a power failure; this takes some milliseconds.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    if durable:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable; Windows and some network file systems cannot sync folders."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_json(path: Path, document: object, durable: bool = False) -> None:
    """Write a document as JSON, atomically; see `write_bytes`."""
    write_bytes(path, (json.dumps(document, indent=1) + "\n").encode(), durable)
