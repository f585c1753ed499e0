"""The data sets on this machine. A page offers no others, because the user would have to wait for a download."""

from __future__ import annotations

from pathlib import Path

from minitorch import nn
from minitorch.data.files import data_home, find_file
from minitorch.data.mnist import HASHES


def image_sets() -> list[str]:
    """The data sets for the image program."""
    found = {part: all(_there("mnist", name, name.removesuffix(".gz")) for name in HASHES if name.startswith(part)) for part in _PARTS}
    return ["digits", *(["mnist"] if found["t10k"] else []), *(["mnist-all"] if all(found.values()) else [])]


def sentence_sets() -> list[str]:
    """The data sets for the sentence program."""
    unpacked = all(_there("sst2", f"{split}.tsv") for split in ("train", "dev"))
    return ["sentences", *(["sst2"] if unpacked or _there("sst2", "SST-2.zip") else [])]


def word_vectors() -> list[str]:
    """The sources of word vectors."""
    found = ["drawn"]
    folder = _folder("glove")
    if folder is not None and any(folder.glob("glove*.txt")):
        found.append("glove")
    return [*found, *(["learned"] if all(hasattr(nn, name) for name in _LATER) else [])]


_PARTS = ("t10k", "train")
_LATER = ("Dropout", "binary_cross_entropy_with_logits", "conv1d", "embedding")
"""The functions that learned word vectors need; a workspace of the course does not have them."""


def _folder(name: str) -> Path | None:
    """Return the folder of a data set; None if it does not exist."""
    try:
        folder = data_home() / name
    except ModuleNotFoundError:  # the package that locates the user's cache is not installed
        return None
    return folder if folder.is_dir() else None


def _there(name: str, *files: str) -> bool:
    """Whether at least one of the files exists in the folder of a data set."""
    folder = _folder(name)
    return folder is not None and find_file(folder, list(files)) is not None
