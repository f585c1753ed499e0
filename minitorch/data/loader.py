"""Stage 4 - The data loader: batches of tensors from a data set, shuffled in every epoch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minitorch.core.backend import DEVICES, TensorBackend
from minitorch.core.creation import from_numpy
from minitorch.core.dtypes import as_dtype, is_float
from minitorch.data.dataset import ArrayDataset, Dataset
from minitorch.tensor import Tensor

Transform = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""Changes the inputs of a batch; the second argument is the generator of its random numbers."""


class DataLoader:
    """The batches of a data set: each iteration over the loader is an epoch and yields a tuple of tensors for every batch.

    Random numbers depend only on the seed, the epoch and the batch, so that a run resumed from `state()` sees the same batches as an
    uninterrupted one.

    Args:
        dataset: An ArrayDataset is read in whole batches, any other data set example by example.
        batch_size: Examples in a batch.
        shuffle: Whether to shuffle the examples in every epoch.
        seed: Seed of the orders and of the transform.
        drop_last: Whether to drop the last batch if it is not full.
        backend: Backend of the tensors; by default the fast backend if the package has it.
        dtype: Dtype of floating-point parts; by default the default dtype. Labels and masks keep their dtype.
        transform: Changes the inputs, which are the first part of each example.

    Raises:
        ValueError: If the batch size is less than 1.
        TypeError: If the batch size or the seed is not an integer.
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
    ) -> None:
        self.dataset, self.shuffle, self.drop_last, self.transform = dataset, shuffle, drop_last, transform
        self.batch_size, self.seed = _check_integer(batch_size, "batch_size", 1), _check_integer(seed, "seed", 0)
        self.backend = DEVICES["cpu"]() if backend is None else backend
        self.dtype = as_dtype(dtype)
        if not is_float(self.dtype):
            raise TypeError(f"DataLoader expected a dtype of float64 or float32 for the inputs, got {self.dtype.name}")
        self._next = (0, 0)  # epoch and batch at which the next iteration begins
        self._position = (0, 0)  # epoch and batch after the last one yielded

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        full, rest = divmod(len(self.dataset), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        epoch, first = self._next
        self._next = (epoch + 1, 0)
        count = len(self.dataset)
        order = np.random.default_rng([self.seed, epoch]).permutation(count) if self.shuffle else np.arange(count)
        for batch in range(first, len(self)):
            self._position = (epoch, batch + 1) if batch + 1 < len(self) else (epoch + 1, 0)
            chosen = order[batch * self.batch_size : (batch + 1) * self.batch_size]
            arrays = self._arrays(chosen)
            if self.transform is not None:
                generator = np.random.default_rng([self.seed, epoch, batch + 1])  # + 0 would repeat the order's numbers
                arrays[0] = self.transform(arrays[0], generator)
            yield tuple(from_numpy(self._cast(array), self.backend) for array in arrays)

    def state(self) -> dict[str, int | bool]:
        """Return the position after the last batch and the settings, as values that JSON can represent."""
        epoch, batch = self._position
        return {"epoch": epoch, "batch": batch} | self._settings()

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from the `state()` of a loader with the same settings: the next iteration yields the batches that followed it.

        Raises:
            ValueError: If state is not one, or the settings differ.
        """
        mine = self._settings()
        if not isinstance(state, dict) or state.keys() != {"epoch", "batch", *mine}:
            raise ValueError(f"restore expected what DataLoader.state() returns, got {state!r}")
        changed = [name for name in mine if state[name] != mine[name]]
        if changed:
            then, now = (", ".join(f"{name}={settings[name]!r}" for name in changed) for settings in (state, mine))
            raise ValueError(f"restore expected a loader with the settings of the interrupted run, {then}, got {now}; create it with those")
        self._next = self._position = (_check_integer(state["epoch"], "epoch", 0), _check_integer(state["batch"], "batch", 0))

    def _settings(self) -> dict[str, int | bool]:
        """The settings on which the batches depend."""
        names = ("batch_size", "shuffle", "seed", "drop_last")
        return {"examples": len(self.dataset)} | {name: getattr(self, name) for name in names}

    def _arrays(self, chosen: np.ndarray) -> list[np.ndarray]:
        """The parts of the examples with these indices, as new arrays with one row per example."""
        if isinstance(self.dataset, ArrayDataset):
            return [array[chosen] for array in self.dataset.arrays]
        return stack_examples([self.dataset[int(index)] for index in chosen])

    def _cast(self, array: np.ndarray) -> np.ndarray:
        """Cast a floating-point array to the dtype of the tensors."""
        return array.astype(self.dtype, copy=False) if is_float(array.dtype) else array


def _check_integer(value: Any, name: str, least: int) -> int:
    """Validate an integer with a lower bound."""
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"DataLoader expected a whole number as {name}, got {value!r}") from None
    if found < least:
        raise ValueError(f"DataLoader expected {name} >= {least}, got {value}")
    return found


def stack_examples(examples: Sequence[Any]) -> list[np.ndarray]:
    """The parts of examples, as arrays with one row per example."""
    rows = [example if isinstance(example, tuple) else (example,) for example in examples]
    if len({len(row) for row in rows}) != 1:
        raise ValueError(f"DataLoader expected examples with the same number of parts, got {sorted({len(row) for row in rows})}")
    return [_stack(column) for column in zip(*rows, strict=True)]


def _stack(values: tuple[Any, ...]) -> np.ndarray:
    """Stack one part of every example into an array."""
    arrays = [value.to_numpy() if isinstance(value, Tensor) else np.asarray(value) for value in values]
    for array in arrays:
        if array.dtype.kind not in "fiub":
            raise TypeError(f"DataLoader expected examples of numbers, got {array.dtype}; convert words with Vocabulary.encode")
        if array.shape != arrays[0].shape:
            raise ValueError(f"DataLoader expected examples of one shape, got {arrays[0].shape} and {array.shape}; pad them")
    stacked = np.stack(arrays)
    return stacked.astype(np.int64) if stacked.dtype.kind in "iu" else stacked
