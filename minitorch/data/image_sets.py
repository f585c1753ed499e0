"""Stage 7 - Data sets of images, as torchvision has them: examples are read one at a time and pass through transforms.

An example is an image, an array of bytes of shape (H, W) or (H, W, 3), and a class index. The transforms accept arrays; `ToPILImage` makes
an image of Pillow. Files are looked for under root and in the library's own data directory (`minitorch.data.data_home`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.data import cifar, fashion, mnist
from minitorch.data.dataset import Dataset
from minitorch.data.files import data_home
from minitorch.torch import creation
from minitorch.torch.tensor import Tensor, as_torch

Transform = Callable[[Any], Any]


class VisionDataset(Dataset):
    """Base class of data sets of images.

    Args:
        root: Folder of the files.
        transforms: A function of an image and its class, in place of the other two.
        transform: A function of an image.
        target_transform: A function of a class index.

    Raises:
        ValueError: If transforms is given together with one of the others, or root is the name of a split.
    """

    classes: Sequence[str] = ()
    train: bool

    def __init__(
        self,
        root: str | Path,
        transforms: Callable[[Any, Any], Any] | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError("a data set expected either transforms or transform and target_transform, got both")
        if root in ("train", "test"):
            name = type(self).__name__
            raise ValueError(f"{name} expected the folder of its files as root, got {root!r}; pass train={root == 'train'} for the split")
        self.root = Path(root).expanduser()
        self.transforms, self.transform, self.target_transform = transforms, transform, target_transform

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The index of every class."""
        return {name: index for index, name in enumerate(self.classes)}

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        """An example after the transforms."""
        if self.transforms is not None:
            return self.transforms(image, target)
        image = image if self.transform is None else self.transform(image)
        return image, target if self.target_transform is None else self.target_transform(target)

    def __repr__(self) -> str:
        lines = [f"Dataset {type(self).__name__}", f"Number of datapoints: {len(self)}", f"Root location: {self.root}"]
        lines += [f"Split: {'Train' if self.train else 'Test'}"] if hasattr(self, "train") else []
        return "\n    ".join(lines)


class _SplitDataset(VisionDataset):
    """Base class of data sets with images for training and for tests."""

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.train = train
        self._read("train" if train else "test", download)

    def _read(self, split: str, download: bool) -> None:
        """Read the images and the classes of a split, which may be downloaded."""
        raise NotImplementedError


class MNIST(_SplitDataset):
    """Handwritten digits of 28×28 pixels; the files are in the folder MNIST/raw of root, compressed or not.

    Args:
        root: Folder of the data.
        train: Whether to read the 60,000 images for training or the 10,000 for tests.
        transform: A function of an image, an array of bytes of shape (28, 28).
        target_transform: A function of a class index.
        download: Whether to download missing files.

    Attributes:
        data: All images, a Tensor of uint8 of shape (N, 28, 28).
        targets: All classes, a Tensor of int64 of shape (N,).

    Raises:
        RuntimeError: If a file is missing and download is not set.
        ValueError: If a file is damaged or images and labels do not match; the message names it.
        OSError: If a file cannot be downloaded.

    Source: Y. LeCun, C. Cortes, C. Burges, CC BY-SA 3.0.
    """

    classes = tuple(
        f"{digit} - {name}" for digit, name in enumerate(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))
    )
    own_folder = "mnist"
    published: Any = mnist

    def _read(self, split: str, download: bool) -> None:
        folders = [self.raw_folder, data_home() / self.own_folder]
        paths = mnist.find_files(folders, split, self.published.MIRRORS, self.published.HASHES, download)
        images, labels = self.published.read_images(*paths)
        self.data: Tensor = as_torch(creation.from_numpy(images.copy()))
        self.targets: Tensor = as_torch(creation.from_numpy(labels.astype(np.int64)))

    @property
    def raw_folder(self) -> Path:
        """Folder of the files."""
        return self.root / type(self).__name__ / "raw"

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        index = range(len(self))[index]
        return self._transformed(self.data[index].numpy().copy(), int(self.targets[index]))


class FashionMNIST(MNIST):
    """Clothes, shoes and bags of 28×28 pixels; the files are in the folder FashionMNIST/raw of root. For the rest see `MNIST`.

    Source: H. Xiao, K. Rasul, R. Vollgraf 2017, arXiv:1708.07747, MIT license.
    """

    classes = fashion.CLASSES
    own_folder = "fashion-mnist"
    published = fashion


class CIFAR10(_SplitDataset):
    """Photographs of 32×32 pixels in ten classes.

    The files are those of the binary version: the archive cifar-10-binary.tar.gz, or the folder cifar-10-batches-bin, in root. Those of the
    version for Python, which torchvision downloads, are pickles, and are not read.

    Args:
        root: Folder of the data.
        train: Whether to read the 50,000 images for training or the 10,000 for tests.
        transform: A function of an image, an array of bytes of shape (32, 32, 3).
        target_transform: A function of a class index.
        download: Whether to download a missing archive.

    Attributes:
        data: All images, an array of bytes of shape (N, 32, 32, 3).
        targets: All classes, a list.

    Raises:
        RuntimeError: If the files are missing and download is not set.
        ValueError: If a file is damaged, or only the version for Python exists; the message names it.
        OSError: If the archive cannot be downloaded.

    Source: A. Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images.
    """

    classes = cifar.CLASSES

    def _read(self, split: str, download: bool) -> None:
        folder = self.root
        if not cifar.has_files(folder) and cifar.has_files(data_home() / "cifar10"):
            folder = data_home() / "cifar10"
        elif not cifar.has_files(folder) and not download:
            raise RuntimeError(f"{folder / cifar.ARCHIVE} expected to exist, got no such file; pass download=True, or put it there")
        images, labels = cifar.read_split(split, folder)
        self.data = np.ascontiguousarray(images.transpose(0, 2, 3, 1))
        self.targets = labels.tolist()

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(self.data[index].copy(), self.targets[index])


class FakeData(VisionDataset):
    """Random images and classes, to try a program without files; the same index gives the same image again.

    Args:
        size: Number of examples.
        image_size: Channels, 1 or 3, height and width.
        num_classes: Number of classes.
        transform: A function of an image, an array of bytes of shape (H, W) or (H, W, 3).
        target_transform: A function of a class index.
        random_offset: Added to an index to get its seed: another gives other images.

    Raises:
        ValueError: If there are neither 1 nor 3 channels.
        IndexError: If an index is not less than size.
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__("", None, transform, target_transform)
        if len(image_size) != 3 or image_size[0] not in (1, 3):
            raise ValueError(f"FakeData expected an image_size of 1 or 3 channels, height and width, got {image_size}; try (3, 32, 32)")
        self.size, self.image_size, self.num_classes, self.random_offset = size, tuple(image_size), num_classes, random_offset

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"FakeData expected an index from 0 to {self.size - 1}, got {index}; pass a larger size")
        random = np.random.default_rng(index + self.random_offset)
        channels, *sizes = self.image_size
        image = random.integers(0, 256, (*sizes, channels) if channels == 3 else sizes, np.uint8)
        return self._transformed(image, int(random.integers(self.num_classes)))
