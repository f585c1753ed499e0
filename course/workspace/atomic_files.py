"""Writing files that others read at the same time."""

import contextlib
import json
import os
import threading
from pathlib import Path


def write_bytes(path: Path, data: bytes, durable: bool = False) -> None:
    """Write under a temporary name and rename, so that nobody ever reads half of a file.

    Args:
        path: The file; its folder is made if it is not there.
        data: What it is to hold.
        durable: Whether the file must survive a power failure from now on; waiting for the disk takes some milliseconds.
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
    """Make a renaming last; Windows and some network file systems do not sync folders."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_json(path: Path, document: object, durable: bool = False) -> None:
    """Write a document as JSON, all of it or nothing; see `write_bytes`."""
    write_bytes(path, (json.dumps(document, indent=1) + "\n").encode(), durable)
