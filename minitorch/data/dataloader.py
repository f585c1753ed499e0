"""Stage 5 - The complete loader: examples in an order of one's own, batches put together by one's own function, prepared in advance."""

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
    describe_sampler,
    sampler_length,
    set_sampler_epoch,
)


class DataLoader(CourseLoader):
    """The course's loader with `sampler`, `batch_sampler`, `collate_fn` and `prefetch`; without these it gives the same batches.

    What is drawn in an epoch depends on the seeds, the epoch and the batch alone, so that a run which goes on from `state()` sees what an
    uninterrupted one sees, whether batches are prepared in advance or not. The loader names the epoch to its sampler. A sampler of
    one's own that has no `set_epoch` must give the same order in every epoch, or going on in the middle of one gives other batches.

    Args:
        dataset: An ArrayDataset is read in whole batches; of any other, one example after the other.
        batch_size: Examples in a batch.
        shuffle: Whether every epoch has an order of its own.
        seed: Of the orders and of what the transform draws.
        drop_last: Whether to leave out a last batch that is not full.
        backend: Of the tensors. Left out: the compiled one where the package has it.
        dtype: Of what holds fractions. Left out: the default dtype. Labels and masks keep theirs.
        transform: Changes the inputs, the first of a tuple.
        sampler: Gives the numbers of the examples in their order; not together with shuffle.
        batch_sampler: Gives the numbers of every batch; not together with batch_size, shuffle, sampler and drop_last.
        collate_fn: Makes a batch of a list of examples. Arrays in the tuple, list or dict that it returns become tensors, the rest stays.
        prefetch: How many batches a thread prepares in advance; 0 prepares each when it is asked for. The thread runs the data set, the
            sampler, collate_fn and the transform; they should not change while it does.

    Raises:
        ValueError: If two arguments exclude each other, or a number is too small.
        TypeError: If a number is none, or a sampler cannot be looped over more than once.
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
        """How many batches an epoch has.

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
            for place, batch in prepared:
                self._position = place
                yield self._tensors(batch)

    def set_epoch(self, epoch: int) -> None:
        """Let the next loop be this epoch, from its first batch on.

        Raises:
            TypeError: If it is no whole number.
            ValueError: If it is less than 0.
        """
        self._next = self._position = (check_integer(epoch, "DataLoader.set_epoch expected the epoch", 0), 0)

    def _settings(self) -> dict[str, Any]:
        """What the batches depend on besides the data."""
        return super()._settings() | ({} if self._own_order is None else {"sampler": describe_sampler(self._own_order)})

    def _prepared(self, epoch: int, first: int, left: threading.Event) -> Generator[Any, None, None]:
        """The batches from one on as arrays, each with the place that follows it, until the loop was left."""
        reader = copy.copy(self)  # it reads through a data set of its own
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
        """The numbers of the examples of every batch."""
        if self._own_order is not None:
            return iter(self.batch_sampler)
        order = np.fromiter(self.batch_sampler.sampler, np.int64)
        return (order[batch * self.batch_size : (batch + 1) * self.batch_size] for batch in range(len(self)))  # quicker than lists

    def _batch(self, chosen: Iterable[int], epoch: int, batch: int) -> Any:
        """The examples of these numbers, put together and transformed."""
        numbers: Any = chosen if self._own_order is None else self._numbers(chosen)
        if self.collate_fn is None:
            made: Any = tuple(self._arrays(numbers))
        else:
            made = self.collate_fn([self.dataset[int(index)] for index in numbers])
        if self.transform is None:
            return made
        generator = np.random.default_rng([self.seed, epoch, batch + 1])  # as in the loader of the course
        if isinstance(made, np.ndarray):
            return self.transform(made, generator)
        if type(made) not in (tuple, list) or not isinstance(next(iter(made), None), np.ndarray):
            raise TypeError(
                "DataLoader expected an array for its transform, or a tuple or list that begins with one, "
                f"got {type(made).__name__} from collate_fn; transform the inputs there"
            )
        return type(made)([self.transform(made[0], generator), *made[1:]])

    def _numbers(self, chosen: Iterable[int]) -> np.ndarray:
        """The numbers of a batch, each of which the data set has."""
        found, count = np.asarray(chosen if isinstance(chosen, np.ndarray) else list(chosen)), len(self.dataset)
        if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size:
            raise TypeError(f"DataLoader expected a list of integers from its sampler, got {chosen!r}; give numbers of examples")
        for index in found[(found < 0) | (found >= count)][:1]:
            raise IndexError(f"DataLoader expected numbers from 0 to {count - 1} from its sampler, got {index}; make it for this data set")
        return found

    def _tensors(self, batch: Any) -> Any:
        """The batch with its arrays as tensors."""
        if isinstance(batch, np.ndarray):
            return from_numpy(self._cast(batch), self.backend)
        if isinstance(batch, dict):
            return {key: self._tensors(value) for key, value in batch.items()}
        if type(batch) in (tuple, list):
            return type(batch)(map(self._tensors, batch))
        return batch


class _CancellableDataset(Dataset):
    """A data set that is read until nobody waits for its examples any more."""

    def __init__(self, dataset: Dataset, left: threading.Event) -> None:
        self.dataset, self.left = dataset, left

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        if self.left.is_set():
            raise InterruptedError("the loop over the loader was left")
        return self.dataset[index]
