"""Stage 7 - CIFAR-10: 60,000 small color photographs, read from the data directory or downloaded into it."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

import numpy as np

from minitorch.data.dataset import ImageDataset
from minitorch.data.files import data_home, download, find_file

ARCHIVE = "cifar-10-binary.tar.gz"
ADDRESS = f"https://www.cs.toronto.edu/~kriz/{ARCHIVE}"
HASH = "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
FOLDER = "cifar-10-batches-bin"
"""The folder in the archive."""

FILES = {"train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)), "test": ("test_batch.bin",)}

PICKLES = ("cifar-10-python.tar.gz", "cifar-10-batches-py")
"""The Python version, as archive and as folder. Its files are pickles, which are never read."""

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SHAPE = (3, 32, 32)
RECORD = 1 + 3 * 32 * 32
"""Bytes of an image: its label, then its red, green and blue values, row by row."""

RECORDS = 10_000
"""Images in a file."""

MAX_ARCHIVE_BYTES = 200_000_000
"""Maximum size of the unpacked archive in bytes; the published one has 16 million less."""


def load_cifar10(split: str = "train") -> ImageDataset:
    """Read photographs of 32×32 pixels in ten classes; the files are in the folder cifar10 of the data directory.

    The files are those of the binary version, data_batch_1.bin to data_batch_5.bin and test_batch.bin. They may also be in the subfolder
    cifar-10-batches-bin or in the archive cifar-10-binary.tar.gz. If a file is missing, the archive is downloaded.

    Args:
        split: "train" (50,000 images) or "test" (10,000).

    Returns:
        Images of shape (N, 3, 32, 32), float32, from 0 to 1: red, green, blue; labels of shape (N,), int64, 0 … 9. "train" takes 614 MB.

    Raises:
        ValueError: If a file is damaged, or only the Python version exists; the message names it.
        OSError: If a file does not exist and cannot be downloaded.

    Source: A. Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images.
    """
    images, labels = read_split(split, data_home() / "cifar10")
    return ImageDataset(np.divide(images, 255, dtype=np.float32), labels.astype(np.int64), CLASSES)


def has_files(folder: Path) -> bool:
    """Whether a folder has files of CIFAR-10 in any version."""
    names = [ARCHIVE, *PICKLES, FOLDER, *FILES["train"], *FILES["test"]]
    return any((folder / name).exists() for name in names)


def read_split(split: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the bytes of one split; if its files are missing, the archive is downloaded into the folder.

    Args:
        split: "train" or "test".
        folder: Where the archive or its files are.

    Returns:
        Shapes (N, 3, 32, 32) and (N,), both uint8.

    Raises:
        ValueError: If there is no such split, a file is damaged, or only the Python version exists; the message names the file.
        OSError: If the archive cannot be downloaded.
    """
    if split not in FILES:
        raise ValueError(f'split expected "train" or "test", got {split!r}')
    parts = [read_records(content, place, RECORDS) for place, content in _contents(folder, FILES[split])]
    images, labels = zip(*parts, strict=True)
    return np.concatenate(images), np.concatenate(labels)


def read_records(content: bytes, place: str, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Parse a file of the binary version.

    Args:
        content: Content of the file.
        place: Name of the file for messages.
        count: Expected number of images; by default any number.

    Returns:
        Shapes (N, 3, 32, 32) and (N,), both uint8.

    Raises:
        ValueError: If the content has another format.
    """
    _check(content[:1], len(content), place, count)
    records = np.frombuffer(content, np.uint8).reshape(-1, RECORD)
    labels = records[:, 0]
    for number in np.flatnonzero(labels > 9)[:1]:
        raise ValueError(
            f"{place} expected labels from 0 to 9, got {labels[number]} for image {number}; it is damaged or another file: copy it again"
        )
    return records[:, 1:].reshape(-1, *SHAPE), labels


def _check(first: bytes, size: int, place: str, count: int | None) -> None:
    """Check the first byte and the size of a file."""
    if first == b"\x80":  # the first byte of a pickle, and not a valid label
        raise ValueError(_pickle_message(place))
    if size % RECORD or (count is not None and size != count * RECORD):
        expected = f"a multiple of {RECORD} bytes" if count is None else f"{count * RECORD} bytes, {RECORD} for each image"
        raise ValueError(f"{place} expected {expected}, got {size}; it is cut off or another file: copy it again")


def _contents(folder: Path, names: Sequence[str]) -> list[tuple[str, bytes]]:
    """Contents of the files of one split, each with a name for messages."""
    paths = [find_file(folder, [f"{FOLDER}/{name}", name]) for name in names]
    found = [path for path in paths if path is not None]
    if len(found) == len(names):
        return [(str(path), _read(path)) for path in found]
    archive = folder / ARCHIVE
    if not archive.is_file():
        for pickled in PICKLES:
            if (folder / pickled).exists():
                raise ValueError(_pickle_message(str(folder / pickled)))
        download(archive, [ADDRESS], HASH)
    return _read_archive(archive, names)


def _read(path: Path) -> bytes:
    """Check a file, then read it."""
    with path.open("rb") as file:
        _check(file.peek(1)[:1], path.stat().st_size, str(path), RECORDS)
        return file.read()


def _read_archive(archive: Path, names: Sequence[str]) -> list[tuple[str, bytes]]:
    """Read files of the archive in memory; nothing is extracted to disk."""
    try:
        with gzip.open(archive) as packed:
            content = packed.read(MAX_ARCHIVE_BYTES + 1)  # verifies the checksum at the end
        if len(content) > MAX_ARCHIVE_BYTES:
            raise ValueError(
                f"{archive} expected at most {MAX_ARCHIVE_BYTES} bytes unpacked, got more; it is another archive: put the right one there"
            )
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as opened:
            members = {member.name.removeprefix("./"): member for member in opened if member.isfile()}
            wanted = {name: members[path] for name in names if (path := f"{FOLDER}/{name}") in members}
            found = {name: cast(IO[bytes], opened.extractfile(member)).read() for name, member in wanted.items()}
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(
            f"{archive} expected a whole archive, got a damaged one; delete it to download it again, or copy it again"
        ) from None
    if any(name.startswith(f"{PICKLES[1]}/") for name in members):
        raise ValueError(_pickle_message(str(archive)))
    for name in names:
        if name not in found:
            raise ValueError(f"{archive} expected the archive of CIFAR-10, got one without {FOLDER}/{name}; delete it to download it again")
    return [(f"{name} in {archive}", found[name]) for name in names]


def _pickle_message(place: str) -> str:
    """The message for the Python version."""
    return (
        f"{place} expected the binary version of CIFAR-10, got the one for Python, whose files are pickles: to read one is to run what its "
        f"author put in; put {ADDRESS} into the folder cifar10 of the data directory, or delete the other to have it downloaded"
    )
