"""Stage 7 - The complete data loader: PyTorch's arguments, and those of the course."""

from __future__ import annotations

import itertools
import operator
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from minitorch.core.backend import TensorBackend
from minitorch.core.creation import from_numpy
from minitorch.data.collate import default_collate, default_convert
from minitorch.data.combined import IterableDataset, TensorDataset
from minitorch.data.dataset import ArrayDataset
from minitorch.data.loader import DataLoader as CourseLoader
from minitorch.data.loader import Transform, stack_examples
from minitorch.data.prefetch import prefetch as prefetched
from minitorch.data.random_streams import check_integer, check_seed, random_stream
from minitorch.data.samplers import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    check_repeatable,
    describe_sampler,
    sampler_length,
    set_sampler_epoch,
)


class DataLoader(CourseLoader):
    """The batches of a data set: each iteration over the loader is an epoch.

    Examples are collated as by PyTorch, see `default_collate`. An ArrayDataset, and any data set with `backend`, `dtype` or `transform`, is
    read as by the loader of the course: a batch is a tuple of the course's tensors, and arrays that collate_fn returns become such.

    With a seed, random numbers depend only on the seed, the epoch and the batch, so that a run resumed from `state()` sees the same batches
    as an uninterrupted one, prepared in advance or not. A custom sampler without `set_epoch` must then yield the same order in every epoch.

    Args:
        dataset: A data set, or anything with `__len__` and `__getitem__`; or an IterableDataset.
        batch_size: Examples in a batch; None for single examples.
        shuffle: Whether to shuffle the examples in every epoch.
        sampler: Yields the indices of the examples in order; excludes shuffle.
        batch_sampler: Yields the indices of every batch; excludes batch_size, shuffle, sampler and drop_last.
        num_workers: If above 0, a thread prepares batches in advance. It calls the data set, collate_fn and the transform, which must not
            be modified meanwhile.
        collate_fn: Makes a batch from a list of examples.
        pin_memory: No effect.
        drop_last: Whether to drop the last batch if it is not full.
        timeout: 0.
        worker_init_fn: Called with 0 by the thread before the first batch.
        multiprocessing_context: None.
        generator: Source of the order; the one that `manual_seed` seeds by default.
        prefetch_factor: Number of batches prepared in advance for each of num_workers; 2 by default.
        persistent_workers: No effect.
        pin_memory_device: No effect.
        seed: Seed of the orders and of the transform, in place of a generator.
        backend: Backend of the tensors; by default the fast backend if the package has it.
        dtype: Dtype of floating-point parts; by default the default dtype. Labels and masks keep their dtype.
        transform: Changes the inputs, which are the first part of each example.
        prefetch: Number of batches that a thread prepares in advance, in place of num_workers.

    Raises:
        ValueError: If two arguments exclude each other, or a number is out of range.
        TypeError: If a number is not an integer, or a sampler cannot be iterated repeatedly.
        NotImplementedError: If timeout or multiprocessing_context is given.

    Example:
        >>> [batch.tolist() for batch in DataLoader([1, 2, 3, 4, 5], batch_size=2)]
        [[1, 2], [3, 4], [5]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: None = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        seed: int | None = None,
        backend: TensorBackend | None = None,
        dtype: Any = None,
        transform: Transform | None = None,
        prefetch: int = 0,
    ) -> None:
        super().__init__(dataset, 1 if batch_size is None else batch_size, bool(shuffle), seed or 0, drop_last, backend, dtype, transform)
        if timeout or multiprocessing_context is not None:
            raise NotImplementedError(
                "DataLoader supports timeout=0 and multiprocessing_context=None only; batches are prepared by a thread"
            )
        self.prefetch = check_integer(prefetch, "DataLoader expected prefetch", 0)
        self.num_workers = check_integer(num_workers, "DataLoader expected num_workers", 0)
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("DataLoader expected num_workers above 0 for a prefetch_factor, got 0")
        self.prefetch_factor = None if num_workers == 0 else 2 if prefetch_factor is None else prefetch_factor
        self.worker_init_fn, self.pin_memory, self.timeout = worker_init_fn, pin_memory, timeout
        self.generator, self.seed = generator, check_seed(generator, seed, "DataLoader")  # type: ignore[assignment]  # the course's has one
        self._check_order(batch_size, sampler, batch_sampler)
        self._own_order = sampler if batch_sampler is None else batch_sampler
        streams = isinstance(dataset, IterableDataset)
        if sampler is None and not streams:
            sampler = RandomSampler(dataset, generator=generator, seed=seed) if shuffle else SequentialSampler(dataset)
        if batch_sampler is not None:
            self.batch_size = None  # type: ignore[assignment]  # PyTorch's
        elif batch_size is None:
            self.batch_size = None  # type: ignore[assignment]
        elif not streams:
            batch_sampler = BatchSampler(sampler, self.batch_size, drop_last)  # type: ignore[arg-type]  # there is one by now
        self.sampler, self.batch_sampler = sampler, batch_sampler
        arrays = isinstance(dataset, ArrayDataset) and collate_fn is None
        self._as_course = arrays or not (backend is None and dtype is None and transform is None)
        self._reads_whole = collate_fn is None and self.batch_sampler is not None
        self.collate_fn = collate_fn or self._default_collate()

    def _check_order(self, batch_size: int | None, sampler: Any, batch_sampler: Any) -> None:
        """Check the arguments that exclude each other."""
        given = {"batch_size": batch_size != 1, "shuffle": self.shuffle, "sampler": sampler is not None, "drop_last": self.drop_last}
        if isinstance(self.dataset, IterableDataset) and (self.shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader with IterableDataset expected no shuffle, sampler or batch_sampler; the stream has its own order")
        if batch_sampler is not None and any(given.values()):
            others = " and ".join(name for name, is_given in given.items() if is_given)
            raise ValueError(f"DataLoader expected batch_sampler alone to make the batches, got {others} too; give one or the other")
        if sampler is not None and self.shuffle:
            raise ValueError("DataLoader expected sampler or shuffle=True, got both; the sampler decides the order: leave out shuffle")
        if batch_size is None and self.drop_last:
            raise ValueError("DataLoader expected drop_last=False without batches, got True; name a batch_size")
        for name, order in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if order is not None and (not isinstance(order, Iterable) or isinstance(order, Iterator)):
                raise TypeError(
                    f"DataLoader expected a {name} that can be looped over in every epoch, got {type(order).__name__}; "
                    "give a Sampler or a list"
                )

    def _default_collate(self) -> Callable[[Any], Any]:
        """What makes a batch of a list of examples, or converts a single one."""
        if self.batch_size is None and self.batch_sampler is None:
            return _unchanged if self._as_course else default_convert
        return _stack if self._as_course else default_collate

    def __len__(self) -> int:
        """Number of batches in an epoch.

        Raises:
            TypeError: If the sampler or the stream has no length.
        """
        if isinstance(self.dataset, IterableDataset):
            full, rest = divmod(len(self.dataset), self.batch_size or 1)
            return full + (rest > 0 and not self.drop_last)
        return sampler_length(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        epoch, first = self._next
        self._next = (epoch + 1, 0)
        set_sampler_epoch(self.sampler if self.batch_sampler is None else self.batch_sampler, epoch)
        ahead = self.prefetch or (self.prefetch_factor or 0) * self.num_workers
        chosen = self._chosen(ahead > 0)
        seed = self.seed
        if seed is None and self.transform is not None:
            seed = int(random_stream(self.generator).integers(2**32))

        def source(left: threading.Event) -> Iterator[Any]:
            if ahead and self.worker_init_fn is not None:
                self.worker_init_fn(0)
            return self._prepared(chosen, [seed, epoch], first, left)

        return self._batches(prefetched(source, ahead) if ahead else source(threading.Event()))

    def _batches(self, prepared: Any) -> Generator[Any, None, None]:
        """Yield the batches, and count them."""
        with closing(prepared):
            for position, batch in prepared:
                self._position = position
                yield self._tensors(batch) if self._as_course else batch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration, which begins with its first batch.

        Raises:
            TypeError: If epoch is not an integer.
            ValueError: If it is negative.
        """
        self._next = self._position = (check_integer(epoch, "DataLoader.set_epoch expected the epoch", 0), 0)

    def _settings(self) -> dict[str, Any]:
        """The settings on which the batches depend."""
        check_repeatable(self.sampler if self.batch_sampler is None else self.batch_sampler)
        if self.transform is not None and self.seed is None:
            raise ValueError("the state of a DataLoader expected a seed for its transform, got none; pass seed=0")
        return super()._settings() | ({} if self._own_order is None else {"sampler": describe_sampler(self._own_order)})

    def _chosen(self, ahead: bool) -> Iterator[Any]:
        """The indices of every batch, or single ones, or the examples of a stream; random orders are not drawn by the thread."""
        if isinstance(self.dataset, IterableDataset):
            return self._stream()
        if self._own_order is None and self.batch_sampler is not None:
            order = np.fromiter(self.sampler, np.int64)  # type: ignore[arg-type]  # it has one
            size = self.batch_sampler.batch_size  # type: ignore[attr-defined]  # a BatchSampler
            return (order[batch * size : (batch + 1) * size] for batch in range(len(self)))  # faster than lists
        indices: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        return iter(list(indices) if ahead and operator.length_hint(indices, -1) >= 0 else indices)

    def _stream(self) -> Iterator[Any]:
        """The examples of a stream, in lists unless batch_size is None."""
        examples = iter(self.dataset)
        if self.batch_size is None:
            yield from examples
            return
        while batch := list(itertools.islice(examples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def _prepared(self, chosen: Iterator[Any], seed: list[Any], first: int, left: threading.Event) -> Generator[Any, None, None]:
        """Yield the batches from `first` on, each with the position that follows it, until the event is set."""
        epoch, streams, end = seed[1], isinstance(self.dataset, IterableDataset), object()
        indices, batch = next(chosen, end), 0
        while indices is not end:
            following = None if streams else next(chosen, end)  # a stream is not read further than to its batch
            if batch >= first:
                collated = self._transformed(self._collated(indices, left), [*seed, batch + 1])  # + 0 would repeat the order's numbers
                yield (epoch + 1, 0) if following is end else (epoch, batch + 1), collated
            indices, batch = next(chosen, end) if streams else following, batch + 1

    def _collated(self, indices: Any, left: threading.Event) -> Any:
        """Collate the examples with these indices."""
        data: Any = self.dataset
        if self._own_order is not None and self.batch_sampler is not None and isinstance(data, ArrayDataset):
            indices = self._checked(indices)
        if self._reads_whole and isinstance(data, ArrayDataset):
            return tuple(self._arrays(indices))
        if self._reads_whole and type(data) is TensorDataset:  # the same numbers, read at once
            parts = data.batch(indices)
            return tuple(part.to_numpy() for part in parts) if self._as_course else parts
        if isinstance(indices, np.ndarray):
            indices = indices.tolist()
        if isinstance(data, IterableDataset):
            return self.collate_fn(indices)  # the examples themselves
        if self.batch_sampler is None:
            return self.collate_fn(data[indices])
        read = getattr(data, "__getitems__", None)
        return self.collate_fn([_example(data, index, left) for index in indices] if read is None else read(indices))

    def _transformed(self, collated: Any, seed: list[int]) -> Any:
        """Transform the inputs of a batch."""
        if self.transform is None:
            return collated
        generator = np.random.default_rng(seed)
        if isinstance(collated, np.ndarray):
            return self.transform(collated, generator)
        if type(collated) not in (tuple, list) or not isinstance(next(iter(collated), None), np.ndarray):
            raise TypeError(
                "DataLoader expected an array for its transform, or a tuple or list that begins with one, "
                f"got {type(collated).__name__} from collate_fn; transform the inputs there"
            )
        return type(collated)([self.transform(collated[0], generator), *collated[1:]])

    def _checked(self, chosen: Any) -> np.ndarray:
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


def _unchanged(example: Any) -> Any:
    """An example as it is; its arrays become tensors later."""
    return example


def _stack(examples: list[Any]) -> tuple[np.ndarray, ...]:
    """Collate examples as the loader of the course does."""
    return tuple(stack_examples(examples))


def _example(dataset: Any, index: Any, left: threading.Event) -> Any:
    """An example, unless the loop has ended."""
    if left.is_set():
        raise InterruptedError("the loop over the loader was left")
    return dataset[index]
