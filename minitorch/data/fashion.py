"""Stage 6 - Fashion-MNIST: 70,000 images of clothes in the format of MNIST, read from the data directory or downloaded into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minitorch.data.dataset import ImageDataset
from minitorch.data.files import data_home, download, find_file
from minitorch.data.idx import read_idx
from minitorch.data.mnist import SIZE, SPLITS

MIRRORS = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
    "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
)
"""URLs of the folders in which the files are published. The first is not encrypted; checksums are verified."""

HASHES = {
    "train-images-idx3-ubyte.gz": "sha256:3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte.gz": "sha256:a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3-ubyte.gz": "sha256:346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte.gz": "sha256:67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}
"""Checksums of downloads. Files already on disk may hold another data set of the same format; only their format is checked."""

CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")

COUNTS = (60_000, 10_000)
"""Numbers of images of the published splits, a tenth of them of each class."""


class FashionMNIST(ImageDataset):
    """Clothes, shoes and bags of 28×28 pixels; the files are in the folder fashion-mnist of the data directory.

    The files have the same names as MNIST's, compressed or not. Missing files are downloaded.

    Args:
        split: "train" (60,000 images) or "test" (10,000).

    Attributes:
        images: Shape (N, 1, 28, 28), float32; 0 is the background.
        labels: Shape (N,), int64, 0 … 9.
        classes: "T-shirt/top" … "Ankle boot".

    Raises:
        ValueError: If a file is damaged or belongs to MNIST, or images and labels do not match; the message names it.
        OSError: If a file does not exist and cannot be downloaded.

    Source: H. Xiao, K. Rasul, R. Vollgraf 2017, arXiv:1708.07747, MIT license.
    """

    def __init__(self, split: str = "train") -> None:
        if split not in SPLITS:
            raise ValueError(f'FashionMNIST expected split="train" or "test", got {split!r}')
        folder = data_home() / "fashion-mnist"
        paths = [_path(folder, f"{SPLITS[split]}-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1")]
        images, labels = read_images(*paths)
        super().__init__(np.divide(images[:, None], 255, dtype=np.float32), labels.astype(np.int64), CLASSES)


def read_images(image_path: Path, label_path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the images and the labels of one split, as uint8.

    Raises:
        ValueError: If a file is damaged or belongs to MNIST, or images and labels do not match; the message names it.
    """
    images, labels = read_idx(image_path, 3), read_idx(label_path, 1)
    remedy = "put the files of Fashion-MNIST there"
    if images.shape[1:] != (SIZE, SIZE):
        height, width = images.shape[1:]
        raise ValueError(f"{image_path} expected images of {SIZE}×{SIZE}, got {height}×{width}; {remedy}")
    if len(images) != len(labels):
        raise ValueError(
            f"{label_path} expected {len(images)} labels, one for each image of {image_path.name}, got {len(labels)}; "
            "the files belong to different data sets: copy both again"
        )
    for place in np.flatnonzero(labels > 9)[:1]:
        raise ValueError(f"{label_path} expected labels from 0 to 9, got {labels[place]} at {place}; {remedy}")
    times = np.bincount(labels, minlength=10)
    if len(labels) in COUNTS and times.min() < times.max():
        label = int(np.flatnonzero(times * 10 != len(labels))[0])
        raise ValueError(
            f"{label_path} expected {len(labels) // 10} labels of each class, got {times[label]} of class {label}, as another set has it, "
            f"such as MNIST; {remedy}"
        )
    return images, labels


def _path(folder: Path, name: str) -> Path:
    """Return the path of a file, compressed or not; download it if it does not exist."""
    path = find_file(folder, [f"{name}.gz", name])
    if path is None:
        path = folder / f"{name}.gz"
        download(path, [f"{mirror}/{path.name}" for mirror in MIRRORS], HASHES[path.name])
    return path
