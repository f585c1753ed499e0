"""Checkpoints: everything that a training run needs to resume, in one file that is complete or does not exist."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.io.formats import FileFormatError, read_arrays, write_arrays

FORMAT = "MiniTorch checkpoint 3"
"""Stands in every checkpoint; a later form gets another number."""

ANEW = "to begin anew, delete it and leave out --resume"


class CheckpointError(ValueError):
    """A file that is not a checkpoint or cannot be read; the message names it and says what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training run between two steps.

    Attributes:
        about: JSON data: settings, history, states of random generators, and numbers.
        arrays: Weights and other arrays, by name.
    """

    about: dict[str, Any]
    arrays: dict[str, np.ndarray]


def save(path: str | Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically: whenever the program or the machine stops, the file is complete, either the old or the new version.

    It is a safetensors file. It contains arrays and JSON data together, so that they always belong to the same step, with a checksum
    over both.

    Args:
        path: The file; its folder must exist.
        checkpoint: The checkpoint.

    Raises:
        OSError: If it cannot be written; the earlier file is unchanged.
    """
    about = json.dumps(checkpoint.about)
    notes = {"format": FORMAT, "about": about, "checksum": digest(about, checkpoint.arrays)}
    write_arrays(path, checkpoint.arrays, notes)


def load(path: str | Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        CheckpointError: If the file is missing, damaged or of another kind.
    """
    path = Path(path)
    if not path.is_file():
        what = "a folder" if path.is_dir() else "none"
        raise CheckpointError(f"expected a checkpoint at {path}, got {what}; name a file that a program has written with --checkpoint")
    try:
        arrays, notes = read_arrays(path)
    except OSError as error:
        raise CheckpointError(f"could not read checkpoint {path} ({error.strerror or error}); check who may read it") from None
    except FileFormatError as error:
        raise CheckpointError(f"{path} is damaged, cut short or no checkpoint ({error.what}); {ANEW}") from None
    if "format" not in notes or "about" not in notes:
        raise CheckpointError(f"{path} is a safetensors file of another program, not a checkpoint of a training run; name another file")
    if notes["format"] != FORMAT:
        raise CheckpointError(f"{path} expected format {FORMAT!r}, got {notes['format']!r}; resume it with the version that wrote it")
    if notes.get("checksum") != digest(notes["about"], arrays):
        raise CheckpointError(f"{path} is damaged: its contents do not match its checksum; {ANEW}")
    return Checkpoint(json.loads(notes["about"]), arrays)


def digest(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Return a checksum of a text and of named arrays, independent of their order."""
    state = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        state.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        state.update(array.reshape(-1).view(np.uint8).data)
    return state.hexdigest()
