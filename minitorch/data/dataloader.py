"""Stage 6 - The complete data loader: custom samplers and collate functions, and prefetching."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from minitorch.core.backend import TensorBackend
from minitorch.core.creation import from_numpy
from minitorch.data.dataset import ArrayDataset, Dataset
from minitorch.data.loader import DataLoader as CourseLoader
from minitorch.data.loader import Transform
from minitorch.data.prefetch import prefetch
from minitorch.data.samplers import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    check_integer,
    check_repeatable,
    describe_sampler,
    sampler_length,
    set_sampler_epoch,
)


class DataLoader(CourseLoader):
    """The course's loader with `sampler`, `batch_sampler`, `collate_fn` and `prefetch`; without these, it yields the same batches.

    Random numbers depend only on the seeds, the epoch and the batch, so that a run resumed from `state()` sees the same batches as an
    uninterrupted one, with or without prefetching. A custom sampler without `set_epoch` must yield the same order in every epoch; otherwise
    resuming in the middle of an epoch yields different batches.

    Args:
        dataset: An ArrayDataset is read in whole batches, any other data set example by example.
        batch_size: Examples in a batch.
        shuffle: Whether to shuffle the examples in every epoch.
        seed: Seed of the orders and of the transform.
        drop_last: Whether to drop the last batch if it is not full.
        backend: Backend of the tensors; by default the fast backend if the package has it.
        dtype: Dtype of floating-point parts; by default the default dtype. Labels and masks keep their dtype.
        transform: Changes the inputs, which are the first part of each example.
        sampler: Yields the indices of the examples in order; excludes shuffle.
        batch_sampler: Yields the indices of every batch; excludes batch_size, shuffle, sampler and drop_last.
        collate_fn: Makes a batch from a list of examples. Arrays in the tuple, list or dict that it returns become tensors.
        prefetch: Number of batches that a thread prepares in advance; 0 for none. The thread calls the data set, the sampler, collate_fn
            and the transform, which must not be modified meanwhile.

    Raises:
        ValueError: If two arguments exclude each other, or a number is too small.
        TypeError: If a number is not an integer, or a sampler cannot be iterated repeatedly.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        backend: TensorBackend | None = None,
        dtype: Any = None,
        transform: Transform | None = None,
        *,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        prefetch: int = 0,
    ) -> None:
        super().__init__(dataset, batch_size, shuffle, seed, drop_last, backend, dtype, transform)
        others = {"batch_size": batch_size != 1, "shuffle": shuffle, "sampler": sampler is not None, "drop_last": drop_last}
        if batch_sampler is not None and any(others.values()):
            given = " and ".join(name for name, is_given in others.items() if is_given)
            raise ValueError(f"DataLoader expected batch_sampler alone to make the batches, got {given} too; give one or the other")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader expected sampler or shuffle=True, got both; the sampler decides the order: leave out shuffle")
        for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if given is not None and (not isinstance(given, Iterable) or isinstance(given, Iterator)):
                raise TypeError(
                    f"DataLoader expected a {name} that can be looped over in every epoch, got {type(given).__name__}; "
                    "give a Sampler or a list"
                )
        self.collate_fn, self.prefetch = collate_fn, check_integer(prefetch, "DataLoader expected prefetch", 0)
        self._own_order = sampler if batch_sampler is None else batch_sampler
        if sampler is None and batch_sampler is None:
            sampler = RandomSampler(dataset, seed=self.seed) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        self.batch_sampler: Any = BatchSampler(sampler, self.batch_size, drop_last) if sampler is not None else batch_sampler

    def __len__(self) -> int:
        """Number of batches in an epoch.

        Raises:
            TypeError: If the sampler has no length.
        """
        return sampler_length(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        epoch, first = self._next
        self._next = (epoch + 1, 0)
        set_sampler_epoch(self.batch_sampler, epoch)

        def source(left: threading.Event) -> Generator[Any, None, None]:
            return self._prepared(epoch, first, left)

        prepared = prefetch(source, self.prefetch) if self.prefetch else source(threading.Event())
        with closing(prepared):
            for position, batch in prepared:
                self._position = position
                yield self._tensors(batch)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration, which begins with its first batch.

        Raises:
            TypeError: If epoch is not an integer.
            ValueError: If it is negative.
        """
        self._next = self._position = (check_integer(epoch, "DataLoader.set_epoch expected the epoch", 0), 0)

    def _settings(self) -> dict[str, Any]:
        """The settings on which the batches depend."""
        check_repeatable(self._own_order)
        return super()._settings() | ({} if self._own_order is None else {"sampler": describe_sampler(self._own_order)})

    def _prepared(self, epoch: int, first: int, left: threading.Event) -> Generator[Any, None, None]:
        """Yield the batches from `first` on as arrays, each with the position that follows it, until the event is set."""
        reader = copy.copy(self)  # to replace its data set
        if not isinstance(self.dataset, ArrayDataset):
            reader.dataset = _CancellableDataset(self.dataset, left)
        batches = self._chosen()
        chosen, batch = next(batches, None), 0
        while chosen is not None:
            following = next(batches, None)
            if batch >= first:
                yield (epoch, batch + 1) if following is not None else (epoch + 1, 0), reader._batch(chosen, epoch, batch)
            chosen, batch = following, batch + 1

    def _chosen(self) -> Iterator[Iterable[int]]:
        """The indices of every batch."""
        if self._own_order is not None:
            return iter(self.batch_sampler)
        order = np.fromiter(self.batch_sampler.sampler, np.int64)
        return (order[batch * self.batch_size : (batch + 1) * self.batch_size] for batch in range(len(self)))  # faster than lists

    def _batch(self, chosen: Iterable[int], epoch: int, batch: int) -> Any:
        """Collate and transform the examples with these indices."""
        indices: Any = chosen if self._own_order is None else self._checked(chosen)
        if self.collate_fn is None:
            collated: Any = tuple(self._arrays(indices))
        else:
            collated = self.collate_fn([self.dataset[int(index)] for index in indices])
        if self.transform is None:
            return collated
        generator = np.random.default_rng([self.seed, epoch, batch + 1])  # as in the course's loader
        if isinstance(collated, np.ndarray):
            return self.transform(collated, generator)
        if type(collated) not in (tuple, list) or not isinstance(next(iter(collated), None), np.ndarray):
            raise TypeError(
                "DataLoader expected an array for its transform, or a tuple or list that begins with one, "
                f"got {type(collated).__name__} from collate_fn; transform the inputs there"
            )
        return type(collated)([self.transform(collated[0], generator), *collated[1:]])

    def _checked(self, chosen: Iterable[int]) -> np.ndarray:
        """Validate the indices of a batch."""
        found, count = np.asarray(chosen if isinstance(chosen, np.ndarray) else list(chosen)), len(self.dataset)
        if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size:
            raise TypeError(f"DataLoader expected a list of integers from its sampler, got {chosen!r}; give numbers of examples")
        for index in found[(found < 0) | (found >= count)][:1]:
            raise IndexError(f"DataLoader expected numbers from 0 to {count - 1} from its sampler, got {index}; make it for this data set")
        return found

    def _tensors(self, batch: Any) -> Any:
        """Convert the arrays of a batch to tensors."""
        if isinstance(batch, np.ndarray):
            return from_numpy(self._cast(batch), self.backend)
        if isinstance(batch, dict):
            return {key: self._tensors(value) for key, value in batch.items()}
        if type(batch) in (tuple, list):
            return type(batch)(map(self._tensors, batch))
        return batch


class _CancellableDataset(Dataset):
    """A data set that stops being read when the loop has ended."""

    def __init__(self, dataset: Dataset, left: threading.Event) -> None:
        self.dataset, self.left = dataset, left

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        if self.left.is_set():
            raise InterruptedError("the loop over the loader was left")
        return self.dataset[index]
