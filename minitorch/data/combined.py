"""Stage 7 - Data sets of tensors, streams of examples and random splits."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from minitorch.core.conversion import numpy
from minitorch.data.dataset import Dataset, Subset
from minitorch.data.random_streams import check_seed, random_stream
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData


class TensorDataset(Dataset):
    """Examples in tensors: example i is the tuple of the tensors' elements at index i.

    Args:
        tensors: One or more tensors of equal length.

    Raises:
        TypeError: If an argument is not a Tensor.
        ValueError: If there are no tensors, or their lengths differ.

    Example:
        >>> dataset = TensorDataset(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 1]))
        >>> dataset[1]
        (tensor([3, 4]), tensor(1))
    """

    tensors: tuple[Any, ...]

    def __init__(self, *tensors: Tensor) -> None:
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"TensorDataset expected tensors, got {type(tensor).__name__}; of arrays make an ArrayDataset")
        if len({tensor.shape[:1] for tensor in tensors}) != 1 or not tensors[0].shape:
            shapes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors) or "none"
            raise ValueError(f"TensorDataset expected tensors of equal length, got shapes {shapes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def batch(self, indices: Sequence[int] | np.ndarray) -> list[Any]:
        """The examples at several indices: of every tensor the rows there, read at once."""
        rows = np.asarray(indices)
        return [_rows(tensor, rows) if rows.dtype.kind in "iu" else tensor[list(indices)] for tensor in self.tensors]

    def __len__(self) -> int:
        return len(self.tensors[0])


def _rows(tensor: Tensor, indices: np.ndarray) -> Tensor:
    """The rows of a tensor at an array of indices. Of a constant on the CPU they are copied without a search for the other elements."""
    if tensor.history is None and not tensor.backend.cuda:
        with suppress(IndexError):  # the tensor's own error names the remedy
            found = numpy(tensor)[indices]
            return tensor._like(TensorData(found.reshape(-1), found.shape))
    return tensor[indices.tolist()]


class StackDataset(Dataset):
    """Examples of several data sets side by side: example i is the tuple, or the dictionary, of their examples i.

    Args:
        datasets: Data sets of equal length, for tuples.
        named: Data sets of equal length, for dictionaries.

    Raises:
        ValueError: If there are none, or of both kinds, or their lengths differ.

    Example:
        >>> StackDataset(image=[10, 20], label=[0, 1])[1]
        {'image': 20, 'label': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *datasets: Any, **named: Any) -> None:
        if bool(datasets) == bool(named):
            given = "both" if datasets else "none"
            raise ValueError(f"StackDataset expected data sets, all with names or all without, got {given}")
        self.datasets = datasets or named
        lengths = [len(each) for each in (datasets or named.values())]
        if len(set(lengths)) > 1:
            raise ValueError(f"StackDataset expected data sets of equal length, got lengths {', '.join(map(str, lengths))}")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple([each[index] for each in self.datasets])

    def __len__(self) -> int:
        return len(next(iter(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)))


class IterableDataset(Dataset):
    """A stream of examples: a subclass defines `__iter__`, and `__len__` if it has a length."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no examples; define __iter__(self) in the subclass")

    def __add__(self, other: Any) -> ChainDataset:
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """Several streams, one after the other; `a + b` does so for two.

    Args:
        datasets: The streams.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(map(len, self.datasets))  # type: ignore[arg-type]  # a stream may have a length


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None, *, seed: int | None = None) -> list[Any]:
    """Split a data set at random into parts without overlap.

    Args:
        dataset: The data set to split, or anything with `__len__` and `__getitem__`.
        lengths: The length of each part, with the number of examples as their sum; or fractions with sum 1. Fractions are rounded down, and
            the remaining examples are distributed to the parts in turn.
        generator: Source of the order; the one that `manual_seed` seeds by default.
        seed: In place of a generator: equal seeds give equal parts.

    Returns:
        A Subset for each part; of arrays, images and sentences a data set of the same class, as `dataset.subset` makes it.

    Warns:
        UserWarning: If a fraction greater than 0 leaves a part without examples.

    Raises:
        TypeError: If seed is not an integer, or generator is one.
        ValueError: If a length or the seed is negative, the sum is wrong, or generator and seed are given.

    Example:
        >>> [len(part) for part in random_split(range(10), [0.8, 0.2])]
        [8, 2]
    """
    count, seed = len(dataset), check_seed(generator, seed, "random_split")
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
    order = random_stream(generator, seed).permutation(count)
    subset = dataset.subset if isinstance(dataset, Dataset) else functools.partial(Subset, dataset)
    return [subset(order[end - size : end]) for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)]


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
