"""Stage 5 - Samplers: in which order a loader takes the examples of a data set, and which of them share a batch."""

from __future__ import annotations

import itertools
import operator
import zlib
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np


def check_integer(value: Any, name: str, least: int) -> int:
    """A whole number that is not too small.

    Args:
        value: What was given.
        name: What it was given for, as "RandomSampler expected seed".
        least: The smallest that will do.

    Raises:
        TypeError: If it is no whole number.
        ValueError: If it is too small.
    """
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} as a whole number, got {value!r}; leave it out, or give one of at least {least}")
    if found < least:
        raise ValueError(f"{name} >= {least}, got {found}; give a larger one")
    return found


class Sampler:
    """The numbers of examples, in the order in which they are to be taken. A subclass defines `__iter__` and `__len__`.

    The order depends on the sampler's settings and on the epoch alone: two loops over a sampler give the same, until `set_epoch` names
    another epoch. A DataLoader names it at the beginning of each of its loops, so that every epoch has an order of its own.

    Attributes:
        epoch: Of which the next loop gives the order; 0 at first.
    """

    epoch = 0

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} gives no numbers; define __iter__(self) in the subclass")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no length; define __len__(self) in the subclass")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.settings().items())})"

    def settings(self) -> dict[str, Any]:
        """What the order depends on besides the epoch: plain values, which a loader writes into its state."""
        return {}

    def set_epoch(self, epoch: int) -> None:
        """Give the order of this epoch from the next loop on.

        Raises:
            TypeError: If it is no whole number.
            ValueError: If it is less than 0.
        """
        self.epoch = check_integer(epoch, f"{type(self).__name__}.set_epoch expected the epoch", 0)


class SequentialSampler(Sampler):
    """0, 1, 2 … to the last example.

    Args:
        data_source: What has a length, such as a data set.
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)

    def settings(self) -> dict[str, Any]:
        """How many examples there are."""
        return {"examples": len(self.data_source)}


class _SeededSampler(Sampler):
    """One that draws its order by chance, by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = check_integer(seed, f"{type(self).__name__} expected seed", 0)

    def _generator(self) -> np.random.Generator:
        """Where the epoch's random numbers come from."""
        return np.random.default_rng([self.seed, self.epoch])


class RandomSampler(_SeededSampler):
    """Examples by chance: every one once, or as many as are asked for.

    Args:
        data_source: What has a length, such as a data set.
        replacement: Whether an example may come again before all others have come.
        num_samples: How many to draw. Left out: as many as there are. More without replacement: all of them, then all in another order.
        seed: Of the drawing.

    Raises:
        TypeError: If num_samples or seed is no whole number.
        ValueError: If num_samples is less than 1, or seed less than 0.
    """

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, seed: int = 0) -> None:
        super().__init__(seed)
        self.data_source, self.replacement = data_source, replacement
        self._samples = None if num_samples is None else check_integer(num_samples, "RandomSampler expected num_samples", 1)

    @property
    def num_samples(self) -> int:
        """How many numbers a loop gives."""
        return len(self.data_source) if self._samples is None else self._samples

    def __iter__(self) -> Iterator[int]:
        count, wanted, generator = len(self.data_source), self.num_samples, self._generator()
        if count == 0 and wanted > 0:
            raise ValueError(f"RandomSampler expected examples to draw {wanted} from, got none; give it a data set that is not empty")
        if self.replacement:
            return iter(generator.integers(0, count, wanted).tolist() if wanted else [])
        rounds = -(-wanted // count) if count else 0
        return itertools.islice(itertools.chain.from_iterable(generator.permutation(count).tolist() for _ in range(rounds)), wanted)

    def __len__(self) -> int:
        return self.num_samples

    def settings(self) -> dict[str, Any]:
        """The number of examples and the arguments."""
        drawn = {"replacement": self.replacement, "num_samples": self.num_samples}
        return {"examples": len(self.data_source)} | drawn | {"seed": self.seed}


class SubsetRandomSampler(_SeededSampler):
    """The examples of given numbers, each once, in an order of chance.

    Args:
        indices: Their numbers.
        seed: Of the order.

    Raises:
        TypeError: If they or seed are no whole numbers.
        ValueError: If seed is less than 0.
    """

    def __init__(self, indices: Sequence[int] | np.ndarray, seed: int = 0) -> None:
        super().__init__(seed)
        self.indices = np.asarray(indices)
        if self.indices.ndim != 1 or (self.indices.dtype.kind not in "iu" and self.indices.size):
            raise TypeError(f"SubsetRandomSampler expected a list of integers, got {indices!r}; for a mask, pass np.flatnonzero(mask)")

    def __iter__(self) -> Iterator[int]:
        return iter(self._generator().permutation(self.indices).tolist())

    def __len__(self) -> int:
        return len(self.indices)

    def settings(self) -> dict[str, Any]:
        """How many numbers there are, a checksum of them, and the seed."""
        return {"examples": len(self), "checksum": _checksum(self.indices), "seed": self.seed}


class WeightedRandomSampler(_SeededSampler):
    """Examples by chance, each with a probability of its own: a rare class can be made to come as often as the others.

    Args:
        weights: Shape (N,), not negative: the probabilities, up to a common factor.
        num_samples: How many to draw.
        replacement: Whether an example may come again.
        seed: Of the drawing.

    Raises:
        TypeError: If num_samples or seed is no whole number.
        ValueError: If a weight is negative or not finite, or fewer are greater than 0 than the drawing needs.

    Source: without replacement: P. Efraimidis, P. Spirakis 2006, Weighted random sampling with a reservoir, algorithm A.
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, seed: int = 0) -> None:
        super().__init__(seed)
        self.weights, self.replacement = np.asarray(weights, np.float64), replacement
        self.num_samples = check_integer(num_samples, "WeightedRandomSampler expected num_samples", 1)
        if self.weights.ndim != 1:
            raise ValueError(
                f"WeightedRandomSampler expected a weight for each example, shape (N,), got {self.weights.shape}; flatten them"
            )
        for place in np.flatnonzero(~(np.isfinite(self.weights) & (self.weights >= 0)))[:1]:
            raise ValueError(
                f"WeightedRandomSampler expected weights >= 0, got {self.weights[place]} at {place}; an example that must not come has 0"
            )
        possible, needed = np.count_nonzero(self.weights), 1 if replacement else self.num_samples
        if possible < needed:
            raise ValueError(
                f"WeightedRandomSampler expected at least {needed} weights > 0, got {possible}; "
                "draw with replacement=True, or fewer with num_samples"
            )

    def __iter__(self) -> Iterator[int]:
        generator = self._generator()
        if self.replacement:
            shares = self.weights / self.weights.max()  # so that their sum is finite
            return iter(generator.choice(len(shares), self.num_samples, p=shares / shares.sum()).tolist())
        with np.errstate(divide="ignore"):
            waiting = np.log(generator.exponential(size=len(self.weights))) - np.log(self.weights)  # of weight 0: for ever
        return iter(np.argsort(waiting)[: self.num_samples].tolist())

    def __len__(self) -> int:
        return self.num_samples

    def settings(self) -> dict[str, Any]:
        """How many weights there are, a checksum of them, and the other arguments."""
        drawn = {"replacement": self.replacement, "num_samples": self.num_samples, "seed": self.seed}
        return {"examples": len(self.weights), "checksum": _checksum(self.weights)} | drawn


class DistributedSampler(_SeededSampler):
    """The share of one of several processes that train the same model, each on examples of its own.

    All draw the same order, and each takes every num_replicas-th of it: together they have all examples. Where these cannot be shared
    out evenly, the first ones of the order come a second time, so that no process waits for another; with drop_last the last ones are
    left out.

    Args:
        dataset: What has a length, such as a data set; the same in every process.
        num_replicas: How many processes there are.
        rank: Which of them this is, from 0.
        shuffle: Whether every epoch has an order of its own.
        seed: Of the orders; the same in every process.
        drop_last: Whether to leave out what cannot be shared evenly.

    Raises:
        TypeError: If num_replicas, rank or seed is no whole number.
        ValueError: If there is no such rank, or no example.
    """

    def __init__(self, dataset: Sized, num_replicas: int, rank: int, shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> None:
        super().__init__(seed)
        self.dataset, self.shuffle, self.drop_last = dataset, shuffle, drop_last
        self.num_replicas = check_integer(num_replicas, "DistributedSampler expected num_replicas", 1)
        self.rank = check_integer(rank, "DistributedSampler expected rank", 0)
        if self.rank >= self.num_replicas:
            raise ValueError(f"DistributedSampler expected a rank from 0 to {self.num_replicas - 1}, got {self.rank}; ranks count from 0")
        if len(dataset) == 0:
            raise ValueError("DistributedSampler expected examples to share out, got none; give it a data set that is not empty")

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        order = self._generator().permutation(count) if self.shuffle else np.arange(count)
        return iter(np.resize(order, len(self) * self.num_replicas)[self.rank :: self.num_replicas].tolist())  # begins anew where it ends

    def __len__(self) -> int:
        whole, rest = divmod(len(self.dataset), self.num_replicas)
        return whole + (rest > 0 and not self.drop_last)

    def settings(self) -> dict[str, Any]:
        """The number of examples and the arguments."""
        share = {"num_replicas": self.num_replicas, "rank": self.rank, "shuffle": self.shuffle}
        return {"examples": len(self.dataset)} | share | {"seed": self.seed, "drop_last": self.drop_last}


class BatchSampler(Sampler):
    """The numbers that another sampler gives, in lists of batch_size.

    Args:
        sampler: The other, or anything else that can be looped over again and again.
        batch_size: How many numbers a list has.
        drop_last: Whether to leave out a last list that is not full.

    Raises:
        TypeError: If batch_size is no whole number.
        ValueError: If it is less than 1.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.sampler, self.drop_last = sampler, drop_last
        self.batch_size = check_integer(batch_size, "BatchSampler expected batch_size", 1)

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        full, rest = divmod(sampler_length(self.sampler), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def settings(self) -> dict[str, Any]:
        """What the other depends on, and the arguments."""
        return {"sampler": describe_sampler(self.sampler), "batch_size": self.batch_size, "drop_last": self.drop_last}

    def set_epoch(self, epoch: int) -> None:
        """Give the batches of this epoch from the next loop on."""
        super().set_epoch(epoch)
        set_sampler_epoch(self.sampler, self.epoch)


def set_sampler_epoch(sampler: Any, epoch: int) -> None:
    """Tell a sampler its epoch, if it wants to know: one that gives the same order in every epoch has no `set_epoch`."""
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(epoch)


def sampler_length(sampler: Any) -> int:
    """How many numbers, or batches of them, a sampler gives.

    Raises:
        TypeError: If it does not say.
    """
    if not hasattr(sampler, "__len__"):
        raise TypeError(f"expected a sampler with a length, got {type(sampler).__name__} without one; define __len__(self) in its class")
    return len(sampler)


def describe_sampler(sampler: Any) -> str:
    """What the order of a sampler depends on, as a text that tells it from another."""
    if isinstance(sampler, Sampler):
        return repr(sampler)
    if isinstance(sampler, (list, tuple, range, np.ndarray)):
        return f"{type(sampler).__name__}(length={len(sampler)}, checksum={_checksum(sampler)})"
    return type(sampler).__name__


def _checksum(numbers: Any) -> int:
    """A number that others hardly have."""
    return zlib.crc32(repr(numbers.tolist() if isinstance(numbers, np.ndarray) else list(numbers)).encode())
