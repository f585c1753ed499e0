"""Stage 4 - The loader, which deals out a data set in batches of tensors, every epoch in another order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minitorch.core.backend import DEVICES, TensorBackend
from minitorch.core.creation import from_numpy
from minitorch.core.dtypes import as_dtype, is_float
from minitorch.data.dataset import ArrayDataset, Dataset
from minitorch.tensor import Tensor

Transform = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""What changes the inputs of a batch, given what it may draw random numbers from."""


class DataLoader:
    """The batches of a data set: each loop over the loader is an epoch, and gives a tuple of tensors for every batch.

    What is drawn in an epoch depends on the seed, the epoch and the batch alone, so that a run which goes on from `state()` sees what an
    uninterrupted one sees.

    Args:
        dataset: An ArrayDataset is read in whole batches; of any other, one example after the other.
        batch_size: Examples in a batch.
        shuffle: Whether every epoch has an order of its own.
        seed: Of the orders and of what the transform draws.
        drop_last: Whether to leave out a last batch that is not full.
        backend: Of the tensors. Left out: the compiled one where the package has it.
        dtype: Of what holds fractions. Left out: the default dtype. Labels and masks keep theirs.
        transform: Changes the inputs, the first of a tuple.

    Raises:
        ValueError: If the batch size is less than 1.
        TypeError: If it or the seed is no whole number.
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
        self._next = (0, 0)  # epoch and batch that the next loop begins with
        self._place = (0, 0)  # what follows the batch that was given last

    def __len__(self) -> int:
        """How many batches an epoch has."""
        full, rest = divmod(len(self.dataset), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        epoch, first = self._next
        self._next = (epoch + 1, 0)
        count = len(self.dataset)
        order = np.random.default_rng([self.seed, epoch]).permutation(count) if self.shuffle else np.arange(count)
        for batch in range(first, len(self)):
            self._place = (epoch, batch + 1) if batch + 1 < len(self) else (epoch + 1, 0)
            chosen = order[batch * self.batch_size : (batch + 1) * self.batch_size]
            arrays = self._arrays(chosen)
            if self.transform is not None:
                generator = np.random.default_rng([self.seed, epoch, batch + 1])  # with a 0 there it would be that of the order
                arrays[0] = self.transform(arrays[0], generator)
            yield tuple(from_numpy(self._own(array), self.backend) for array in arrays)

    def state(self) -> dict[str, int | bool]:
        """Where the loader stands, after the batch that it gave last: plain numbers, as JSON holds them."""
        epoch, batch = self._place
        return {"epoch": epoch, "batch": batch} | self._settings()

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state()` of a loader of the same settings: the next loop gives the batches that followed there.

        Raises:
            ValueError: If that is none, or the settings were others.
        """
        mine = self._settings()
        if not isinstance(state, dict) or state.keys() != {"epoch", "batch", *mine}:
            raise ValueError(f"restore expected what DataLoader.state() returns, got {state!r}")
        changed = [name for name in mine if state[name] != mine[name]]
        if changed:
            then, now = (", ".join(f"{name}={settings[name]!r}" for name in changed) for settings in (state, mine))
            raise ValueError(f"restore expected a loader with the settings of the interrupted run, {then}, got {now}; make it with those")
        self._next = self._place = (_check_integer(state["epoch"], "epoch", 0), _check_integer(state["batch"], "batch", 0))

    def _settings(self) -> dict[str, int | bool]:
        """What the batches depend on besides the data."""
        names = ("batch_size", "shuffle", "seed", "drop_last")
        return {"examples": len(self.dataset)} | {name: getattr(self, name) for name in names}

    def _arrays(self, chosen: np.ndarray) -> list[np.ndarray]:
        """The examples of these numbers: new arrays, whose first dimension counts them."""
        if isinstance(self.dataset, ArrayDataset):
            return [array[chosen] for array in self.dataset.arrays]
        examples = [self.dataset[int(index)] for index in chosen]
        rows = [example if isinstance(example, tuple) else (example,) for example in examples]
        if len({len(row) for row in rows}) != 1:
            raise ValueError(f"DataLoader expected examples with as many parts each, got {sorted({len(row) for row in rows})}")
        return [_stack(column) for column in zip(*rows, strict=True)]

    def _own(self, array: np.ndarray) -> np.ndarray:
        """The array in the dtype that its tensor is to have."""
        return array.astype(self.dtype, copy=False) if is_float(array.dtype) else array


def _check_integer(value: Any, name: str, least: int) -> int:
    """A whole number that is not too small."""
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"DataLoader expected a whole number as {name}, got {value!r}") from None
    if found < least:
        raise ValueError(f"DataLoader expected {name} >= {least}, got {value}")
    return found


def _stack(values: tuple[Any, ...]) -> np.ndarray:
    """One part of every example, in one array."""
    arrays = [value.to_numpy() if isinstance(value, Tensor) else np.asarray(value) for value in values]
    for array in arrays:
        if array.dtype.kind not in "fiub":
            raise TypeError(f"DataLoader expected examples of numbers, got {array.dtype}; of words make numbers with Vocabulary.encode")
        if array.shape != arrays[0].shape:
            raise ValueError(f"DataLoader expected examples of one shape, got {arrays[0].shape} and {array.shape}; pad them to one length")
    made = np.stack(arrays)
    return made.astype(np.int64) if made.dtype.kind in "iu" else made
