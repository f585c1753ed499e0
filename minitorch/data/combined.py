"""Stage 5 - Data sets made of tensors and of other data sets: several as one, and one in several parts."""

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
    """Examples that lie in tensors: the i-th is a tuple of what the tensors have at i, of one with a single dimension a number.

    Args:
        tensors: One or more, of the same length. Those on a CPU are not copied; gradients do not reach them from here.

    Attributes:
        tensors: As given.

    Raises:
        TypeError: If one is no Tensor.
        ValueError: If there are none, or their lengths differ.
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
        """The examples of these numbers, in this order, copied."""
        numbers = self._check_indices(indices)
        return TensorDataset(*(from_numpy(array[numbers], tensor.backend) for array, tensor in zip(self.arrays, self.tensors, strict=True)))


class ConcatDataset(Dataset):
    """Several data sets as one: the examples of the first, then those of the second …

    Args:
        datasets: One or more.

    Raises:
        TypeError: If one is no Dataset.
        ValueError: If there are none.
    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset expected data sets to put together, got none; give it a list of at least one")
        for dataset in self.datasets:
            _check(dataset, "ConcatDataset")

    @property
    def cumulative_sizes(self) -> list[int]:
        """How many examples there are up to the end of each data set."""
        return list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return sum(map(len, self.datasets))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        index, ends = self._check_index(index), self.cumulative_sizes
        place = bisect.bisect_right(ends, index)
        return self.datasets[place][index - ends[place - 1] if place else index]


def random_split(dataset: Dataset, lengths: Sequence[float], seed: int = 0) -> list[Dataset]:
    """Parts of a data set without a common example, drawn by chance: the same seed gives the same parts.

    Args:
        dataset: The whole.
        lengths: How many examples each part gets, which together are all of them; or a fraction of them for each, which together
            are 1. Fractions are rounded down, and what is left over goes to the parts in turn, one to each.
        seed: Of the drawing.

    Returns:
        What `dataset.subset` gives for each part.

    Warns:
        UserWarning: If a fraction greater than 0 leaves a part without examples.

    Raises:
        TypeError: If dataset is no Dataset, or seed no whole number.
        ValueError: If a length is negative, or all of them are too few or too many.
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
    """The lengths, if all are whole numbers."""
    try:
        return [operator.index(length) for length in lengths]
    except TypeError:
        return None


def _fraction_sizes(fractions: Sequence[float], count: int) -> list[int]:
    """As many examples for each part as its fraction of them says."""
    sizes = [math.floor(count * fraction) for fraction in fractions]
    for part in range(count - sum(sizes)):
        sizes[part % len(sizes)] += 1
    return sizes


def _check(dataset: Any, name: str) -> None:
    """Refuse what is no data set."""
    if not isinstance(dataset, Dataset):
        raise TypeError(f"{name} expected a Dataset, got {type(dataset).__name__}; of arrays make an ArrayDataset")
