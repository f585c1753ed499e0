"""Stage 4 - MNIST: 70,000 images of handwritten digits, read from the data directory or downloaded into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from minitorch.data.dataset import ImageDataset
from minitorch.data.files import data_home, download, find_file
from minitorch.data.idx import read_idx

MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")
"""URLs of the folders in which the files are published."""

SPLITS = {"train": "train", "test": "t10k"}
"""Prefix of the file names of each split."""

HASHES = {
    "train-images-idx3-ubyte.gz": "sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
"""Checksums of downloads. Files already on disk may hold another data set of the same format; only their format is checked."""

SIZE = 28
"""Height and width of an image."""


CLASSES = tuple("0123456789")


def load_mnist(split: str = "train") -> ImageDataset:
    """Read handwritten digits of 28×28 pixels by 500 writers; the files are in the folder mnist of the data directory.

    Args:
        split: "train" (60,000 images) or "test" (10,000).

    Returns:
        Images of shape (N, 1, 28, 28), float32, where 0 is paper and 1 is ink; labels of shape (N,), int64, 0 … 9.

    Raises:
        ValueError: If a file is damaged or images and labels do not match; the message names it.
        OSError: If a file does not exist and cannot be downloaded.

    Source: Y. LeCun, C. Cortes, C. Burges, CC BY-SA 3.0.
    """
    images, labels = read_images(*find_files([data_home() / "mnist"], split, MIRRORS, HASHES))
    return ImageDataset(np.divide(images[:, None], 255, dtype=np.float32), labels.astype(np.int64), CLASSES)


def find_files(
    folders: Sequence[Path], split: str, mirrors: Sequence[str], hashes: Mapping[str, str], may_download: bool = True
) -> list[Path]:
    """Return the paths of the images and the labels of a split, compressed or not.

    Args:
        folders: Where they may be. A missing file is downloaded into the first one.
        split: "train" or "test".
        mirrors: URLs of the folders in which the files are published.
        hashes: Their checksums, by name.
        may_download: Whether a file may be downloaded.

    Raises:
        ValueError: If there is no such split.
        RuntimeError: If a file is missing and may not be downloaded.
        OSError: If it cannot be downloaded.
    """
    if split not in SPLITS:
        raise ValueError(f'split expected "train" or "test", got {split!r}')
    paths = []
    for kind in ("images-idx3", "labels-idx1"):
        name = f"{SPLITS[split]}-{kind}-ubyte"
        path = next(filter(None, (find_file(folder, [f"{name}.gz", name]) for folder in folders)), folders[0] / f"{name}.gz")
        if not path.exists() and not may_download:
            raise RuntimeError(f"{path} expected to exist, got no such file; pass download=True, or put it there")
        if not path.exists():
            download(path, [f"{mirror}/{path.name}" for mirror in mirrors], hashes[path.name])
        paths.append(path)
    return paths


def read_images(image_path: Path, label_path: Path, *, name: str = "MNIST") -> tuple[np.ndarray, np.ndarray]:
    """Read the images and the labels of one split, as uint8.

    Args:
        image_path: Path of the images.
        label_path: Path of the labels.
        name: Name of the data set for error messages.

    Raises:
        ValueError: If a file is damaged or images and labels do not match; the message names it.
    """
    images, labels = read_idx(image_path, 3), read_idx(label_path, 1)
    if images.shape[1:] != (SIZE, SIZE):
        height, width = images.shape[1:]
        raise ValueError(f"{image_path} expected images of {SIZE}×{SIZE}, got {height}×{width}; put the files of {name} there")
    if len(images) != len(labels):
        raise ValueError(
            f"{label_path} expected {len(images)} labels, one for each image of {image_path.name}, got {len(labels)}; "
            "the files belong to different data sets: copy both again"
        )
    for index in np.flatnonzero(labels > 9)[:1]:
        raise ValueError(f"{label_path} expected labels from 0 to 9, got {labels[index]} at index {index}; put the files of {name} there")
    return images, labels
