"""Stage 7 - Fashion-MNIST: 70,000 images of clothes in the format of MNIST, read from the data directory or downloaded into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minitorch.data import mnist
from minitorch.data.dataset import ImageDataset
from minitorch.data.files import data_home
from minitorch.data.mnist import find_files

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


def load_fashion_mnist(split: str = "train") -> ImageDataset:
    """Read clothes, shoes and bags of 28×28 pixels; the files are in the folder fashion-mnist of the data directory.

    The files have the same names as MNIST's, compressed or not. Missing files are downloaded.

    Args:
        split: "train" (60,000 images) or "test" (10,000).

    Returns:
        Images of shape (N, 1, 28, 28), float32, where 0 is the background; labels of shape (N,), int64, 0 … 9.

    Raises:
        ValueError: If a file is damaged or belongs to MNIST, or images and labels do not match; the message names it.
        OSError: If a file does not exist and cannot be downloaded.

    Source: H. Xiao, K. Rasul, R. Vollgraf 2017, arXiv:1708.07747, MIT license.
    """
    images, labels = read_images(*find_files([data_home() / "fashion-mnist"], split, MIRRORS, HASHES))
    return ImageDataset(np.divide(images[:, None], 255, dtype=np.float32), labels.astype(np.int64), CLASSES)


def read_images(image_path: Path, label_path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the images and the labels of one split, as uint8.

    Raises:
        ValueError: If a file is damaged or belongs to MNIST, or images and labels do not match; the message names it.
    """
    images, labels = mnist.read_images(image_path, label_path, name="Fashion-MNIST")
    times = np.bincount(labels, minlength=10)
    if len(labels) in COUNTS and times.min() < times.max():
        label = int(np.flatnonzero(times * 10 != len(labels))[0])
        raise ValueError(
            f"{label_path} expected {len(labels) // 10} labels of each class, got {times[label]} of class {label}, as another set has it, "
            "such as MNIST; put the files of Fashion-MNIST there"
        )
    return images, labels
