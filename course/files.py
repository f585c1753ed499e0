"""Writing files that others read at the same time."""

import json
import os
import threading
from pathlib import Path


def write_json(path: Path, document: object) -> None:
    """Write under a temporary name and rename, so that nobody ever reads half of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
