"""Stage 6 - Data sets of tensors, concatenation and random splits."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from minitorch.core.creation import from_numpy
from minitorch.data.dataset import ArrayDataset, Dataset, Subset
from minitorch.data.samplers import check_integer
from minitorch.tensor import Tensor

__all__ = ["ConcatDataset", "Subset", "TensorDataset", "random_split"]


class TensorDataset(ArrayDataset):
    """Examples in tensors: example i is the tuple of the tensors' elements at index i; for a 1D tensor, a number.

    Args:
        tensors: One or more tensors of equal length. CPU tensors are not copied; gradients do not flow back to them.

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If there are no tensors, or their lengths differ.
    """

    def __init__(self, *tensors: Tensor) -> None:
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"TensorDataset expected tensors, got {type(tensor).__name__}; of arrays make an ArrayDataset")
        super().__init__(*(tensor.detach().numpy() for tensor in tensors))
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return super().__getitem__(index)
        index = self._check_index(index)
        return tuple(tensor[index] for tensor in self.tensors)

    def subset(self, indices: Sequence[int] | np.ndarray) -> TensorDataset:
        """Return a copy of the examples with these indices, in this order."""
        indices = self._check_indices(indices)
        return TensorDataset(*(from_numpy(array[indices], tensor.backend) for array, tensor in zip(self.arrays, self.tensors, strict=True)))


class ConcatDataset(Dataset):
    """Concatenates data sets.

    Args:
        datasets: One or more data sets.

    Raises:
        TypeError: If an item is not a Dataset.
        ValueError: If there are no data sets.
    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset expected data sets to put together, got none; give it a list of at least one")
        for dataset in self.datasets:
            _check(dataset, "ConcatDataset")

    @property
    def cumulative_sizes(self) -> list[int]:
        """Cumulative number of examples."""
        return list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return sum(map(len, self.datasets))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        index, ends = self._check_index(index), self.cumulative_sizes
        number = bisect.bisect_right(ends, index)
        return self.datasets[number][index - ends[number - 1] if number else index]


def random_split(dataset: Dataset, lengths: Sequence[float], seed: int = 0) -> list[Dataset]:
    """Split a data set at random into parts without overlap; equal seeds give equal parts.

    Args:
        dataset: The data set to split.
        lengths: The length of each part, with the number of examples as their sum; or fractions with sum 1. Fractions are rounded down, and
            the remaining examples are distributed to the parts in turn.
        seed: Seed of the random order.

    Returns:
        A subset for each part.

    Warns:
        UserWarning: If a fraction greater than 0 leaves a part without examples.

    Raises:
        TypeError: If dataset is not a Dataset, or seed is not an integer.
        ValueError: If a length is negative, or the sum is wrong.
    """
    _check(dataset, "random_split")
    count, seed = len(dataset), check_integer(seed, "random_split expected seed", 0)
    sizes = _integer_sizes(lengths)
    if sizes is None and all(length >= 0 for length in lengths) and math.isclose(math.fsum(lengths), 1):
        sizes = _fraction_sizes(lengths, count)
    if sizes is None or min(sizes, default=0) < 0 or sum(sizes) != count:
        raise ValueError(
            f"random_split expected whole numbers >= 0 that add up to {count}, or fractions >= 0 that add up to 1, got {list(lengths)}; "
            "with fractions all examples are used"
        )
    for part, (size, length) in enumerate(zip(sizes, lengths, strict=True)):
        if size == 0 and length > 0:
            warnings.warn(f"random_split leaves part {part} of {length} without examples of {count}; give it more", stacklevel=2)
    order = np.random.default_rng(seed).permutation(count)
    return [dataset.subset(order[end - size : end]) for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)]


def _integer_sizes(lengths: Sequence[Any]) -> list[int] | None:
    """Return the lengths if all are integers, otherwise None."""
    try:
        return [operator.index(length) for length in lengths]
    except TypeError:
        return None


def _fraction_sizes(fractions: Sequence[float], count: int) -> list[int]:
    """Convert fractions to lengths."""
    sizes = [math.floor(count * fraction) for fraction in fractions]
    for part in range(count - sum(sizes)):
        sizes[part % len(sizes)] += 1
    return sizes


def _check(dataset: Any, name: str) -> None:
    """Check that an argument is a data set."""
    if not isinstance(dataset, Dataset):
        raise TypeError(f"{name} expected a Dataset, got {type(dataset).__name__}; of arrays make an ArrayDataset")
