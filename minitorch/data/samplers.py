"""Stage 7 - Samplers: the order in which a loader reads examples, and their grouping into batches."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from minitorch.data.random_streams import check_integer, check_seed, random_stream
from minitorch.distributed.group import current_group
from minitorch.tensor import Tensor


class Sampler:
    """Yields indices of examples in the order in which to read them. A subclass defines `__iter__`, and `__len__` if it has a length.

    A random order comes from a generator, and is another one in every iteration. With a seed it depends only on the seed and the epoch:
    iterating twice gives the same order until `set_epoch` changes the epoch, as a DataLoader does at the beginning of each epoch.

    Attributes:
        epoch: Epoch of the next iteration; 0 at first.
    """

    epoch = 0

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __class_getitem__(cls, item: Any) -> Any:
        return cls  # Sampler[int], as in PyTorch

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} gives no numbers; define __iter__(self) in the subclass")

    def __len__(self) -> int:
        """The number of indices.

        Raises:
            TypeError: If the subclass does not define it.
        """
        raise TypeError(f"{type(self).__name__} has no length; define __len__(self) in the subclass")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.settings().items())})"

    def settings(self) -> dict[str, Any]:
        """The settings on which the order depends, as plain values for the state of a loader."""
        return {}

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration.

        Raises:
            TypeError: If epoch is not an integer.
            ValueError: If it is negative.
        """
        self.epoch = check_integer(epoch, f"{type(self).__name__}.set_epoch expected the epoch", 0)


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

    def settings(self) -> dict[str, Any]:
        """The number of examples."""
        return {"examples": len(self.data_source)}


class _RandomSampler(Sampler):
    """Base of samplers with a random order, from a generator or a seed."""

    def __init__(self, generator: Any, seed: int | None) -> None:
        self.generator, self.seed = generator, check_seed(generator, seed, type(self).__name__)

    def _stream(self) -> np.random.Generator:
        """NumPy's generator of the next iteration."""
        return random_stream(self.generator, None if self.seed is None else [self.seed, self.epoch])


class RandomSampler(_RandomSampler):
    """Yields examples in random order.

    Args:
        data_source: Anything with a length, such as a data set.
        replacement: Whether to sample with replacement.
        num_samples: Number of samples; by default the number of examples. Without replacement, more samples are further permutations.
        generator: Source of the order; the one that `manual_seed` seeds by default.
        seed: In place of a generator: the order depends only on it and the epoch.

    Raises:
        TypeError: If seed is not an integer, or generator is one.
        ValueError: If num_samples is not a positive integer, seed is negative, or generator and seed are given.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(generator, seed)
        self.data_source, self.replacement = data_source, replacement
        self._samples = None if num_samples is None else check_integer(num_samples, "RandomSampler expected num_samples", 1, ValueError)

    @property
    def num_samples(self) -> int:
        """Number of samples in an epoch."""
        return len(self.data_source) if self._samples is None else self._samples

    def __iter__(self) -> Iterator[int]:
        count, wanted, stream = len(self.data_source), self.num_samples, self._stream()
        if count == 0 and wanted > 0:
            raise ValueError(f"RandomSampler expected examples to draw {wanted} from, got none; give it a data set that is not empty")
        if self.replacement:
            return iter(stream.integers(0, count, wanted).tolist() if wanted else [])
        rounds = -(-wanted // count) if count else 0
        return itertools.islice(itertools.chain.from_iterable(stream.permutation(count).tolist() for _ in range(rounds)), wanted)

    def __len__(self) -> int:
        return self.num_samples

    def settings(self) -> dict[str, Any]:
        """The number of examples and the arguments."""
        arguments = {"replacement": self.replacement, "num_samples": self.num_samples}
        return {"examples": len(self.data_source)} | arguments | {"seed": self.seed}


class SubsetRandomSampler(_RandomSampler):
    """Yields given indices in random order, without replacement.

    Args:
        indices: Indices of the examples.
        generator: Source of the order; the one that `manual_seed` seeds by default.
        seed: In place of a generator: the order depends only on it and the epoch.

    Raises:
        TypeError: If an index or the seed is not an integer, or generator is one.
        ValueError: If seed is negative, or generator and seed are given.
    """

    def __init__(self, indices: Sequence[int] | np.ndarray, generator: Any = None, *, seed: int | None = None) -> None:
        super().__init__(generator, seed)
        self.indices = _as_array(indices)
        if self.indices.ndim != 1 or (self.indices.dtype.kind not in "iu" and self.indices.size):
            raise TypeError(f"SubsetRandomSampler expected a list of integers, got {indices!r}; for a mask, pass np.flatnonzero(mask)")

    def __iter__(self) -> Iterator[int]:
        return iter(self._stream().permutation(self.indices).tolist())

    def __len__(self) -> int:
        return len(self.indices)

    def settings(self) -> dict[str, Any]:
        """The number of indices, their checksum, and the seed."""
        return {"examples": len(self), "checksum": _checksum(self.indices), "seed": self.seed}


class WeightedRandomSampler(_RandomSampler):
    """Yields random examples with given probabilities, for example to balance classes.

    Args:
        weights: Shape (N,), not negative: unnormalized probabilities.
        num_samples: Number of samples.
        replacement: Whether to sample with replacement.
        generator: Source of the order; the one that `manual_seed` seeds by default.
        seed: In place of a generator: the order depends only on it and the epoch.

    Raises:
        TypeError: If seed is not an integer, or generator is one.
        ValueError: If a weight is negative or not finite, too few weights are positive, num_samples is not a positive integer, seed is
            negative, or generator and seed are given.

    Source: sampling without replacement: P. Efraimidis, P. Spirakis 2006, Weighted random sampling with a reservoir, algorithm A.

    Example:
        >>> list(WeightedRandomSampler([0.0, 1.0], num_samples=3))
        [1, 1, 1]
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None, *, seed: int | None = None) -> None:
        super().__init__(generator, seed)
        self.weights, self.replacement = _as_array(weights).astype(np.float64), replacement
        self.num_samples = check_integer(num_samples, "WeightedRandomSampler expected num_samples", 1, ValueError)
        if self.weights.ndim != 1:
            raise ValueError(
                f"WeightedRandomSampler expected a weight for each example, shape (N,), got {self.weights.shape}; flatten them"
            )
        for index in np.flatnonzero(~(np.isfinite(self.weights) & (self.weights >= 0)))[:1]:
            raise ValueError(
                f"WeightedRandomSampler expected weights >= 0, got {self.weights[index]} at {index}; an example that must not come has 0"
            )
        possible, needed = np.count_nonzero(self.weights), 1 if replacement else self.num_samples
        if possible < needed:
            raise ValueError(
                f"WeightedRandomSampler expected at least {needed} weights > 0, got {possible}; "
                "draw with replacement=True, or fewer with num_samples"
            )

    def __iter__(self) -> Iterator[int]:
        stream = self._stream()
        if self.replacement:
            shares = self.weights / self.weights.max()  # avoids overflow in the sum
            return iter(stream.choice(len(shares), self.num_samples, p=shares / shares.sum()).tolist())
        with np.errstate(divide="ignore"):
            waiting = np.log(stream.exponential(size=len(self.weights))) - np.log(self.weights)  # infinite for weight 0
        return iter(np.argsort(waiting)[: self.num_samples].tolist())

    def __len__(self) -> int:
        return self.num_samples

    def settings(self) -> dict[str, Any]:
        """The number of weights, their checksum, and the other arguments."""
        arguments = {"replacement": self.replacement, "num_samples": self.num_samples, "seed": self.seed}
        return {"examples": len(self.weights), "checksum": _checksum(self.weights)} | arguments


class DistributedSampler(_RandomSampler):
    """Yields the examples of one process in data-parallel training.

    All processes use the same order, and each takes every num_replicas-th example. If the examples cannot be divided evenly, the first
    ones are repeated, so that all processes have equally many; with drop_last, the last ones are dropped.

    Args:
        dataset: Anything with a length, such as a data set; the same in every process.
        num_replicas: Number of processes; by default that of the process group.
        rank: Number of this process, from 0; by default that in the process group.
        shuffle: Whether to shuffle in every epoch.
        seed: Seed of the orders; the same in every process.
        drop_last: Whether to drop the examples that cannot be divided evenly.

    Raises:
        TypeError: If num_replicas, rank or seed is not an integer.
        ValueError: If rank is out of range, or the data set is empty.
        RuntimeError: If num_replicas or rank is left out and there is no process group.

    Example:
        >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        super().__init__(None, seed)
        self.dataset, self.shuffle, self.drop_last = dataset, shuffle, drop_last
        num_replicas = current_group("DistributedSampler").size if num_replicas is None else num_replicas
        rank = current_group("DistributedSampler").rank if rank is None else rank
        self.num_replicas = check_integer(num_replicas, "DistributedSampler expected num_replicas", 1)
        self.rank = check_integer(rank, "DistributedSampler expected rank", 0)
        if self.rank >= self.num_replicas:
            raise ValueError(f"DistributedSampler expected a rank from 0 to {self.num_replicas - 1}, got {self.rank}; ranks count from 0")
        if len(dataset) == 0:
            raise ValueError("DistributedSampler expected examples to share out, got none; give it a data set that is not empty")

    @property
    def num_samples(self) -> int:
        """Number of examples of this process."""
        return len(self)

    @property
    def total_size(self) -> int:
        """Number of examples of all processes together."""
        return len(self) * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        order = self._stream().permutation(count) if self.shuffle else np.arange(count)
        return iter(np.resize(order, len(self) * self.num_replicas)[self.rank :: self.num_replicas].tolist())  # resize repeats the order

    def __len__(self) -> int:
        whole, rest = divmod(len(self.dataset), self.num_replicas)
        return whole + (rest > 0 and not self.drop_last)

    def settings(self) -> dict[str, Any]:
        """The number of examples and the arguments."""
        share = {"num_replicas": self.num_replicas, "rank": self.rank, "shuffle": self.shuffle}
        return {"examples": len(self.dataset)} | share | {"seed": self.seed, "drop_last": self.drop_last}


class BatchSampler(Sampler):
    """Groups the indices of a sampler into lists of batch_size.

    Args:
        sampler: A sampler, or another iterable that can be iterated repeatedly.
        batch_size: Number of indices in a list.
        drop_last: Whether to drop the last list if it is not full.

    Raises:
        ValueError: If batch_size is not a positive integer.

    Example:
        >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.sampler, self.drop_last = sampler, drop_last
        self.batch_size = check_integer(batch_size, "BatchSampler expected batch_size", 1, ValueError)

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        full, rest = divmod(sampler_length(self.sampler), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def settings(self) -> dict[str, Any]:
        """The description of the sampler, and the arguments."""
        return {"sampler": describe_sampler(self.sampler), "batch_size": self.batch_size, "drop_last": self.drop_last}

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration, also of the wrapped sampler."""
        super().set_epoch(epoch)
        set_sampler_epoch(self.sampler, self.epoch)


def check_repeatable(sampler: Any) -> None:
    """Check that a sampler repeats its order in a resumed run. Raises ValueError if it draws from a generator."""
    inner = sampler.sampler if isinstance(sampler, BatchSampler) else sampler
    if isinstance(inner, _RandomSampler) and inner.seed is None:
        raise ValueError(f"the state of a DataLoader expected an order with a seed, got a {type(inner).__name__} without one; pass seed=0")


def set_sampler_epoch(sampler: Any, epoch: int) -> None:
    """Set the epoch of a sampler that has a `set_epoch` method; others yield the same order in every epoch."""
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(epoch)


def sampler_length(sampler: Any) -> int:
    """Number of indices, or of batches, of a sampler. Raises TypeError if it has no length."""
    if not hasattr(sampler, "__len__"):
        raise TypeError(f"expected a sampler with a length, got {type(sampler).__name__} without one; define __len__(self) in its class")
    return len(sampler)


def describe_sampler(sampler: Any) -> str:
    """Describe a sampler and the settings on which its order depends."""
    if isinstance(sampler, Sampler):
        return repr(sampler)
    if isinstance(sampler, (list, tuple, range, np.ndarray)):
        return f"{type(sampler).__name__}(length={len(sampler)}, checksum={_checksum(sampler)})"
    return type(sampler).__name__


def _as_array(numbers: Any) -> np.ndarray:
    """The numbers of a tensor or a sequence."""
    return numbers.to_numpy() if isinstance(numbers, Tensor) else np.asarray(numbers)


def _checksum(numbers: Any) -> int:
    """CRC-32 of the numbers."""
    return zlib.crc32(repr(numbers.tolist() if isinstance(numbers, np.ndarray) else list(numbers)).encode())
