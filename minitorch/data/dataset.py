"""Stage 4 - Data sets: examples that are counted, looked up by number, and parted without overlap."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype


class Dataset:
    """A fixed number of examples: a subclass defines `__len__` and `__getitem__(index)`, which returns a tuple such as (image, label)."""

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no length; define __len__(self) in the subclass")

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no examples; define __getitem__(self, index) in the subclass")

    def subset(self, indices: Sequence[int] | np.ndarray) -> Dataset:
        """The examples of these numbers, in this order.

        Raises:
            TypeError: If they are not whole numbers.
            IndexError: If one lies outside.
        """
        return Subset(self, self._numbers(indices))

    def split(self, fraction: float, seed: int = 0) -> tuple[Any, Any]:
        """Two data sets without a common example, drawn by chance: the same seed gives the same two.

        Args:
            fraction: Part of the examples that goes to the first, between 0 and 1.
            seed: Of the drawing.

        Raises:
            ValueError: If one of the two would be empty.
        """
        count = len(self)
        first = round(fraction * count) if 0 <= fraction <= 1 else 0
        if not 0 < first < count:
            raise ValueError(f"split expected a fraction that leaves examples on both sides, got {fraction} of {count}; try 0.8")
        order = np.random.default_rng(seed).permutation(count)
        return self.subset(order[:first]), self.subset(order[first:])

    def _numbers(self, indices: Any) -> np.ndarray:
        """Numbers of examples, counted from the front."""
        found = np.asarray(indices)
        if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
            raise TypeError(f"subset expected a list of whole numbers, got {indices!r}; of a mask take np.flatnonzero(mask)")
        found = found.astype(np.int64)
        for index in found[(found < -len(self)) | (found >= len(self))][:1]:
            raise IndexError(f"{type(self).__name__} has {len(self)} examples, got the number {index}; count from 0 to {len(self) - 1}")
        return np.where(found < 0, found + len(self), found)

    def _number(self, index: Any) -> int:
        """The number of one example."""
        try:
            index = operator.index(index)
        except TypeError:
            raise TypeError(f"a data set expected a whole number or a slice, got {index!r}; of a list take subset(list)") from None
        return int(self._numbers([index])[0])


class Subset(Dataset):
    """Some examples of another data set. A slice is one again.

    Args:
        dataset: The other.
        indices: Their numbers there.
    """

    def __init__(self, dataset: Dataset, indices: Sequence[int] | np.ndarray) -> None:
        self.dataset = dataset
        self.indices = dataset._numbers(indices)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        return self.dataset[int(self.indices[self._number(index)])]


class ArrayDataset(Dataset):
    """Examples that lie in arrays: the i-th is what the arrays have at i. A slice is a data set again.

    Args:
        arrays: One or more, of the same length and of numbers that a tensor can hold.

    Raises:
        TypeError: If an array holds others.
        ValueError: If there are none, or their lengths differ.
    """

    def __init__(self, *arrays: Any) -> None:
        self.arrays = tuple(np.asarray(array) for array in arrays)
        if len({array.shape[:1] for array in self.arrays}) != 1 or not self.arrays[0].shape:
            shapes = ", ".join(str(array.shape) for array in self.arrays) or "none"
            raise ValueError(f"ArrayDataset expected arrays of one length, an example in each row, got the shapes {shapes}")
        for array in self.arrays:
            try:
                as_dtype(array.dtype)
            except TypeError:
                raise TypeError(
                    f"ArrayDataset expected arrays of numbers that a tensor can hold, got {array.dtype}; convert it: array.astype(…)"
                ) from None

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        index = self._number(index)
        return tuple(array[index] if array.ndim > 1 else array[index].item() for array in self.arrays)

    def subset(self, indices: Sequence[int] | np.ndarray) -> ArrayDataset:
        """The examples of these numbers, in this order, copied."""
        numbers = self._numbers(indices)
        return ArrayDataset(*(array[numbers] for array in self.arrays))


class ImageDataset(ArrayDataset):
    """Images of one size with a label each.

    Args:
        images: Shape (N, channels, H, W), numbers from 0 to 1.
        labels: Shape (N,), each a place in `classes`.
        classes: What the labels stand for.

    Attributes:
        images, labels, classes: As given.
    """

    def __init__(self, images: np.ndarray, labels: np.ndarray, classes: Sequence[str]) -> None:
        super().__init__(images, labels)
        self.images, self.labels = self.arrays
        self.classes = tuple(classes)

    def __repr__(self) -> str:
        size = "×".join(map(str, self.images.shape[1:]))
        return f"{type(self).__name__}({len(self)} images of {size}, {len(self.classes)} classes)"

    def subset(self, indices: Sequence[int] | np.ndarray) -> ImageDataset:
        """The images of these numbers, in this order, copied."""
        numbers = self._numbers(indices)
        return ImageDataset(self.images[numbers], self.labels[numbers], self.classes)


class TextDataset(Dataset):
    """Sentences with a label each.

    Args:
        sentences: Words and signs between blanks.
        labels: Shape (N,), each a place in `classes`.
        classes: What the labels stand for.

    Attributes:
        sentences, labels, classes: As given.

    Raises:
        ValueError: If their numbers differ.
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
        index = self._number(index)
        return self.sentences[index], int(self.labels[index])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} sentences, {len(self.classes)} classes)"

    def subset(self, indices: Sequence[int] | np.ndarray) -> TextDataset:
        """The sentences of these numbers, in this order."""
        numbers = self._numbers(indices)
        return TextDataset([self.sentences[index] for index in numbers], self.labels[numbers], self.classes)
