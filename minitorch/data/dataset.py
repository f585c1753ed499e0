"""Stage 4 - Data sets: examples that are accessed by index and split without overlap."""

from __future__ import annotations

import bisect
import itertools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype


class Dataset:
    """A fixed number of examples: a subclass defines `__len__` and `__getitem__(index)`, which returns a tuple such as (image, label)."""

    def __len__(self) -> int:
        """The number of examples.

        Raises:
            TypeError: If the subclass does not define it.
        """
        raise TypeError(f"{type(self).__name__} has no length; define __len__(self) in the subclass")

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no examples; define __getitem__(self, index) in the subclass")

    def __add__(self, other: Dataset) -> Dataset:
        return ConcatDataset([self, other])

    def __class_getitem__(cls, item: Any) -> Any:
        return cls  # Dataset[tuple[Tensor, Tensor]], as in PyTorch

    def subset(self, indices: Sequence[int] | np.ndarray) -> Dataset:
        """Return the examples with these indices, in this order.

        Raises:
            TypeError: If the indices are not integers.
            IndexError: If an index is out of range.
        """
        return Subset(self, self._check_indices(indices))

    def split(self, fraction: float, seed: int = 0) -> tuple[Any, Any]:
        """Split the examples at random into two data sets without overlap; equal seeds give equal splits.

        Args:
            fraction: Fraction of the examples in the first, between 0 and 1.
            seed: Seed of the random order.

        Raises:
            ValueError: If one of the two would be empty.
        """
        count = len(self)
        first = round(fraction * count) if 0 <= fraction <= 1 else 0
        if not 0 < first < count:
            raise ValueError(f"split expected a fraction that leaves examples on both sides, got {fraction} of {count}; try 0.8")
        order = np.random.default_rng(seed).permutation(count)
        return self.subset(order[:first]), self.subset(order[first:])

    def _check_indices(self, indices: Any) -> np.ndarray:
        """Validate indices and make negative ones positive."""
        found = np.asarray(indices)
        if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
            raise TypeError(f"subset expected a list of integers, got {indices!r}; for a mask, pass np.flatnonzero(mask)")
        found = found.astype(np.int64)
        for index in found[(found < -len(self)) | (found >= len(self))][:1]:
            raise IndexError(f"{type(self).__name__} has {len(self)} examples, got the index {index}; use 0 to {len(self) - 1}")
        return np.where(found < 0, found + len(self), found)

    def _check_index(self, index: Any) -> int:
        """Validate the index of one example and make it positive."""
        try:
            index = operator.index(index)
        except TypeError:
            raise TypeError(f"a data set expected an integer or a slice, got {index!r}; for a list, call subset(list)") from None
        return int(self._check_indices([index])[0])


class Subset(Dataset):
    """Some examples of another data set. A slice is a Subset as well; a list of indices is passed on to the other data set.

    Args:
        dataset: The other data set, or anything with `__len__` and `__getitem__`.
        indices: Indices of the examples in it.

    Example:
        >>> Subset("abcde", [4, 0])[0]
        'e'
    """

    def __init__(self, dataset: Any, indices: Sequence[int] | np.ndarray) -> None:
        self.dataset = dataset
        self.indices = Dataset._check_indices(dataset, indices)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        if isinstance(index, list):
            return self.dataset[self.indices[self._check_indices(index)].tolist()]
        return self.dataset[int(self.indices[self._check_index(index)])]


class ConcatDataset(Dataset):
    """Concatenates data sets; `a + b` does so for two. A slice is a Subset.

    Args:
        datasets: One or more data sets.

    Attributes:
        datasets: The argument, as a list.
        cumulative_sizes: Cumulative number of examples.

    Raises:
        ValueError: If there are no data sets.

    Example:
        >>> ConcatDataset(["ab", "cd"])[2]
        'c'
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset expected data sets to put together, got none; give it a list of at least one")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        index, ends = self._check_index(index), self.cumulative_sizes
        number = bisect.bisect_right(ends, index)
        return self.datasets[number][index - ends[number - 1] if number else index]


class ArrayDataset(Dataset):
    """Examples in arrays: example i is the tuple of the arrays' elements at index i. A slice is a data set as well.

    Args:
        arrays: One or more arrays of equal length, of dtypes that a tensor supports.

    Raises:
        TypeError: If an array has another dtype.
        ValueError: If there are no arrays, or their lengths differ.

    Example:
        >>> ArrayDataset(np.array([[1, 2], [3, 4]]), np.array([0, 1]))[1]
        (array([3, 4]), 1)
    """

    def __init__(self, *arrays: Any) -> None:
        self.arrays = tuple(np.asarray(array) for array in arrays)
        if len({array.shape[:1] for array in self.arrays}) != 1 or not self.arrays[0].shape:
            shapes = ", ".join(str(array.shape) for array in self.arrays) or "none"
            raise ValueError(f"ArrayDataset expected arrays of equal length, one row per example, got shapes {shapes}")
        for array in self.arrays:
            try:
                as_dtype(array.dtype)
            except TypeError:
                raise TypeError(
                    f"ArrayDataset expected arrays of a dtype that tensors support, got {array.dtype}; convert it: array.astype(…)"
                ) from None

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        index = self._check_index(index)
        return tuple(array[index] if array.ndim > 1 else array[index].item() for array in self.arrays)

    def subset(self, indices: Sequence[int] | np.ndarray) -> ArrayDataset:
        """Return a copy of the examples with these indices, in this order."""
        indices = self._check_indices(indices)
        return ArrayDataset(*(array[indices] for array in self.arrays))


class ImageDataset(ArrayDataset):
    """Labeled images of equal size.

    Args:
        images: Shape (N, channels, H, W), values from 0 to 1.
        labels: Shape (N,), indices into `classes`.
        classes: Class names.
    """

    def __init__(self, images: np.ndarray, labels: np.ndarray, classes: Sequence[str]) -> None:
        super().__init__(images, labels)
        self.images, self.labels = self.arrays
        self.classes = tuple(classes)

    def __repr__(self) -> str:
        size = "×".join(map(str, self.images.shape[1:]))
        return f"{type(self).__name__}({len(self)} images of {size}, {len(self.classes)} classes)"

    def subset(self, indices: Sequence[int] | np.ndarray) -> ImageDataset:
        """Return a copy of the images with these indices, in this order."""
        indices = self._check_indices(indices)
        return ImageDataset(self.images[indices], self.labels[indices], self.classes)


class TextDataset(Dataset):
    """Labeled sentences.

    Args:
        sentences: Words and punctuation, separated by spaces.
        labels: Shape (N,), indices into `classes`.
        classes: Class names.

    Raises:
        ValueError: If there are not as many labels as sentences.

    Example:
        >>> TextDataset(["a warm film .", "a dull film ."], [1, 0], ("negative", "positive"))[0]
        ('a warm film .', 1)
    """

    def __init__(self, sentences: Sequence[str], labels: Sequence[int] | np.ndarray, classes: Sequence[str]) -> None:
        self.sentences, self.labels, self.classes = list(sentences), np.asarray(labels, np.int64), tuple(classes)
        if self.labels.shape != (len(self.sentences),):
            raise ValueError(f"TextDataset expected a label for each of {len(self.sentences)} sentences, got shape {self.labels.shape}")

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        index = self._check_index(index)
        return self.sentences[index], int(self.labels[index])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} sentences, {len(self.classes)} classes)"

    def subset(self, indices: Sequence[int] | np.ndarray) -> TextDataset:
        """Return the sentences with these indices, in this order."""
        indices = self._check_indices(indices)
        return TextDataset([self.sentences[index] for index in indices], self.labels[indices], self.classes)
