"""Stage 6 - DataLoader with PyTorch's interface: batches of Tensors."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np

from minitorch.core.creation import stack
from minitorch.data.prefetch import prefetch
from minitorch.torch import creation
from minitorch.torch.tensor import Tensor, as_torch
from minitorch.torch.utils.data.dataset import IterableDataset, TensorDataset
from minitorch.torch.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler


def default_collate(batch: list[Any]) -> Any:
    """Make a batch of examples: tensors, arrays and numbers are stacked; tuples, lists and dictionaries are collated element by element.

    Args:
        batch: The examples, at least one.

    Returns:
        A Tensor, or a list or dictionary of such; strings stay a list.

    Raises:
        TypeError: If the examples are of another type.
        RuntimeError: If sequences in the examples have different lengths.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return as_torch(stack(batch))
    if isinstance(first, (np.ndarray, np.generic)):
        return as_torch(creation.tensor(np.stack(batch)))
    if isinstance(first, float):
        return as_torch(creation.tensor(batch, dtype=np.dtype("float64")))
    if isinstance(first, (bool, int)):
        return as_torch(creation.tensor(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([example[key] for example in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError("default_collate expected examples of equal lengths, got different ones; pad them, or pass collate_fn")
        columns = [default_collate(list(column)) for column in zip(*batch, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise TypeError(
        f"default_collate expected tensors, arrays, numbers, text, dictionaries or lists, got {type(first).__name__}; pass collate_fn"
    )


class DataLoader:
    """The batches of a data set: each iteration over the loader is an epoch.

    Args:
        dataset: A data set, or anything with `__len__` and `__getitem__`; or an IterableDataset.
        batch_size: Examples in a batch; None for single examples.
        shuffle: Whether to shuffle the examples in every epoch.
        sampler: Yields the indices of the examples in order; excludes shuffle.
        batch_sampler: Yields the indices of every batch; excludes batch_size, shuffle, sampler and drop_last.
        num_workers: If above 0, a thread prepares batches in advance.
        collate_fn: Makes a batch from a list of examples; `default_collate` by default.
        pin_memory: No effect.
        drop_last: Whether to drop the last batch if it is not full.
        timeout: 0.
        worker_init_fn: Called with 0 by the thread before the first batch.
        multiprocessing_context: None.
        generator: Source of the order; the global one by default.
        prefetch_factor: Number of batches prepared in advance for each of num_workers; 2 by default.
        persistent_workers: No effect.
        pin_memory_device: No effect.

    Raises:
        ValueError: If two arguments exclude each other, or a number is out of range.
        NotImplementedError: If timeout or multiprocessing_context is given.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
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
    ) -> None:
        if timeout or multiprocessing_context is not None:
            raise NotImplementedError(
                "DataLoader supports timeout=0 and multiprocessing_context=None only; batches are prepared by a thread"
            )
        if num_workers < 0:
            raise ValueError(f"DataLoader expected num_workers of at least 0, got {num_workers}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("DataLoader expected num_workers above 0 for a prefetch_factor, got 0")
        self.dataset, self.generator, self.num_workers, self.drop_last = dataset, generator, num_workers, drop_last
        self.prefetch_factor = 2 if prefetch_factor is None else prefetch_factor
        self.worker_init_fn, self.pin_memory, self.timeout = worker_init_fn, pin_memory, timeout
        streaming = isinstance(dataset, IterableDataset)
        if streaming and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader with IterableDataset expected no shuffle, sampler or batch_sampler; the stream has its own order")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader expected a sampler or shuffle, got both; the sampler decides the order")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader expected batch_sampler alone, got batch_size, shuffle, sampler or drop_last as well; it decides on them"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("DataLoader expected drop_last=False without batches, got True; name a batch_size")
        if sampler is None and not streaming:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not streaming:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # type: ignore
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"DataLoader expected a batch_size of at least 1, got {batch_size}")
        self.batch_size, self.sampler, self.batch_sampler = batch_size, sampler, batch_sampler
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else _as_tensors)

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        if isinstance(self.dataset, IterableDataset):
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore

    def __iter__(self) -> Iterator[Any]:
        if not self.num_workers:
            return self._batches()
        order = list(self.batch_sampler) if self.batch_sampler is not None else None  # drawn here, not by the thread
        return self._prefetched(order)

    def _prefetched(self, order: list[list[int]] | None) -> Generator[Any, None, None]:
        """Yield the batches, prepared by a thread."""

        def source(left: threading.Event) -> Iterator[Any]:
            if self.worker_init_fn is not None:
                self.worker_init_fn(0)
            return itertools.takewhile(lambda _: not left.is_set(), self._batches(order))

        with closing(prefetch(source, self.prefetch_factor * self.num_workers)) as prepared:
            yield from prepared

    def _batches(self, order: list[list[int]] | None = None) -> Iterator[Any]:
        """Yield the batches."""
        if isinstance(self.dataset, IterableDataset):
            yield from self._stream()
        elif self.batch_sampler is None:
            for index in self.sampler:  # type: ignore
                yield self.collate_fn(self.dataset[index])
        else:
            whole = type(self.dataset) is TensorDataset and self.collate_fn is default_collate
            for indices in self.batch_sampler if order is None else order:
                if whole:  # the same numbers, read at once
                    yield list(self.dataset[list(indices)])
                elif hasattr(self.dataset, "__getitems__"):
                    yield self.collate_fn(self.dataset.__getitems__(indices))  # type: ignore
                else:
                    yield self.collate_fn([self.dataset[index] for index in indices])

    def _stream(self) -> Iterator[Any]:
        """Yield the batches of a stream."""
        examples = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, examples)
            return
        while batch := list(itertools.islice(examples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)


def _as_tensors(example: Any) -> Any:
    """A single example, its arrays as tensors."""
    if isinstance(example, (np.ndarray, np.generic)):
        return as_torch(creation.tensor(example))
    if isinstance(example, Mapping):
        return {key: _as_tensors(value) for key, value in example.items()}
    if type(example) in (tuple, list):
        return type(example)(map(_as_tensors, example))
    return example
