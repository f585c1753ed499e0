"""Writing files that others read at the same time."""

import json
import os
import threading
from pathlib import Path


def write_bytes(path: Path, data: bytes) -> None:
    """Write under a temporary name and rename, so that nobody ever reads half of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, document: object) -> None:
    """Write a document as JSON, all of it or nothing."""
    write_bytes(path, (json.dumps(document, indent=1) + "\n").encode())
