"""Stage 6 - Samplers: the order in which a loader reads examples. They draw from the global generator, or from one that is given."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from minitorch.data.samplers import sampler_length
from minitorch.torch.creation import stream


class Sampler:
    """Yields indices of examples. A subclass defines `__iter__`, and `__len__` if it has a length."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} yields no indices; define __iter__(self) in the subclass")


class SequentialSampler(Sampler):
    """Yields 0, 1, 2 … to the last example.

    Args:
        data_source: Anything with a length, such as a data set.
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """Yields examples in random order, another one in every iteration.

    Args:
        data_source: Anything with a length, such as a data set.
        replacement: Whether to sample with replacement.
        num_samples: Number of samples; by default the number of examples. Without replacement, more samples are further permutations.
        generator: Source of the order; the global one by default.

    Raises:
        ValueError: If num_samples is not a positive integer.
    """

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None) -> None:
        self.data_source, self.replacement, self.generator, self._samples = data_source, replacement, generator, num_samples
        if not isinstance(self.num_samples, int) or self.num_samples < (0 if num_samples is None else 1):
            raise ValueError(f"{type(self).__name__} expected num_samples, an integer of at least 1, got {num_samples!r}")

    @property
    def num_samples(self) -> int:
        """Number of samples of an iteration."""
        return len(self.data_source) if self._samples is None else self._samples

    def __iter__(self) -> Iterator[int]:
        count, wanted, source = len(self.data_source), self.num_samples, stream(self.generator)
        if self.replacement:
            return iter(source.integers(0, count, wanted).tolist())
        rounds = -(-wanted // count) if count else 0
        return itertools.islice(itertools.chain.from_iterable(source.permutation(count).tolist() for _ in range(rounds)), wanted)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Yields given indices in random order, without replacement.

    Args:
        indices: Indices of the examples.
        generator: Source of the order; the global one by default.
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        return iter([int(self.indices[i]) for i in stream(self.generator).permutation(len(self.indices))])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Yields random examples with given probabilities.

    Args:
        weights: Not negative, one for each example; they need not sum to 1.
        num_samples: Number of samples.
        replacement: Whether to sample with replacement.
        generator: Source of the order; the global one by default.

    Raises:
        ValueError: If a weight is negative, or num_samples is not a positive integer.
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        values = weights
        self.weights = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values, np.float64)
        if self.weights.ndim != 1 or (self.weights < 0).any() or not self.weights.sum() > 0:
            raise ValueError(f"WeightedRandomSampler expected weights >= 0 in one dimension, some above 0, got shape {self.weights.shape}")
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples < 1:
            raise ValueError(f"{type(self).__name__} expected num_samples, an integer of at least 1, got {num_samples!r}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        shares = self.weights / self.weights.sum()
        return iter(stream(self.generator).choice(len(shares), self.num_samples, self.replacement, shares).tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Groups the indices of a sampler into lists.

    Args:
        sampler: A sampler.
        batch_size: Number of indices in a list.
        drop_last: Whether to drop the last list if it is not full.

    Raises:
        ValueError: If batch_size is not a positive integer.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"BatchSampler expected batch_size, an integer of at least 1, got {batch_size!r}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        full, rest = divmod(sampler_length(self.sampler), self.batch_size)
        return full + (rest > 0 and not self.drop_last)
