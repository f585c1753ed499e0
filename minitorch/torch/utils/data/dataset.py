"""Stage 6 - Data sets with PyTorch's interface."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import minitorch.data as engine
from minitorch.torch.creation import stream
from minitorch.torch.tensor import Tensor


class Dataset(engine.Dataset):
    """A data set: a subclass defines `__getitem__(index)`, and `__len__` if it has a length."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls  # Dataset[tuple[Tensor, Tensor]], as in PyTorch

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """A stream of examples: a subclass defines `__iter__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no examples; define __iter__(self) in the subclass")

    def __add__(self, other: Dataset) -> Any:
        raise TypeError("streams of examples cannot be added; use itertools.chain")


class TensorDataset(Dataset):
    """Examples in tensors: example i is the tuple of the tensors' elements at index i.

    Args:
        tensors: One or more tensors of equal length.

    Raises:
        ValueError: If their lengths differ.
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(len(x) != len(tensors[0]) for x in tensors):
            raise ValueError(f"TensorDataset expected tensors of equal length, got {', '.join(str(len(x)) for x in tensors)}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([x[index] for x in self.tensors])

    def __len__(self) -> int:
        return len(self.tensors[0])


class Subset(Dataset):
    """Some examples of another data set.

    Args:
        dataset: The other data set.
        indices: Indices of the examples in it.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Several data sets, one after the other.

    Args:
        datasets: One or more data sets.

    Raises:
        ValueError: If there are none.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset expected at least one data set, got none")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"ConcatDataset has {len(self)} examples, got the index {index}")
        number = bisect.bisect_right(self.cumulative_sizes, position)
        return self.datasets[number][position - self.cumulative_sizes[number - 1] if number else position]


class ChainDataset(IterableDataset):
    """Several streams, one after the other.

    Args:
        datasets: The streams.
    """

    def __init__(self, datasets: Iterable[IterableDataset]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Split a data set at random into parts without overlap.

    Args:
        dataset: The data set.
        lengths: The length of each part, with the number of examples as their sum; or fractions with sum 1. Fractions are rounded down,
            and the remaining examples are distributed to the parts in turn.
        generator: Source of the order; the global one by default.

    Raises:
        ValueError: If the lengths do not sum to the number of examples.
    """
    count, sizes = len(dataset), list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        if any(not 0 <= share <= 1 for share in sizes):
            raise ValueError(f"random_split expected fractions from 0 to 1, got {sizes}")
        sizes = [math.floor(count * share) for share in sizes]
        for number in range(count - sum(sizes)):
            sizes[number % len(sizes)] += 1
        for number, size in enumerate(sizes):
            if not size:
                warnings.warn(f"random_split gave part {number} no examples; the data set is too small for its share", stacklevel=2)
    if sum(sizes) != count:
        raise ValueError(f"random_split expected lengths that add up to {len(dataset)}, got {sum(lengths)}")
    order = stream(generator).permutation(count).tolist()
    return [Subset(dataset, order[int(end - size) : int(end)]) for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)]
