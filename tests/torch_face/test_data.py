"""Data sets, samplers and loaders of minitorch.torch.utils.data, without PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    default_collate,
)

NUMBERS = TensorDataset(torch.arange(10).float(), torch.arange(10) * 2)


class Squares(Dataset):
    """Numbers and their squares, as NumPy and Python numbers."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return np.array([index, index], np.float32), index**2


class Count(IterableDataset):
    """A stream of 0 to 6."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(7))


class Point(NamedTuple):
    """A named tuple of examples."""

    x: float
    label: str


def test_batches_are_tensors() -> None:
    batches = list(DataLoader(Squares(), batch_size=2))
    assert [type(batch) for batch in batches] == [list] * 3
    x, y = batches[1]
    assert x.tolist() == [[2, 2], [3, 3]]
    assert x.dtype == torch.float32
    assert y.tolist() == [4, 9]
    assert y.dtype == torch.int64


@pytest.mark.parametrize("workers", [0, 2])
def test_the_last_batch_may_be_dropped(workers: int) -> None:
    loader = DataLoader(NUMBERS, batch_size=4, num_workers=workers)
    assert [len(x) for x, _ in loader] == [4, 4, 2]
    assert len(loader) == 3
    short = DataLoader(NUMBERS, 4, drop_last=True, num_workers=workers)
    assert [y.tolist() for _, y in short] == [[0, 2, 4, 6], [8, 10, 12, 14]]
    assert len(short) == 2


def test_shuffled_epochs_differ_and_are_reproducible() -> None:
    def epochs() -> list[list[float]]:
        loader = DataLoader(NUMBERS, batch_size=5, shuffle=True, generator=torch.Generator().manual_seed(3))
        return [torch.cat([x for x, _ in loader]).tolist() for _ in range(2)]

    first, again = epochs(), epochs()
    assert first == again
    assert first[0] != first[1]
    assert sorted(first[0]) == list(range(10))
    torch.manual_seed(1)
    a = torch.cat([x for x, _ in DataLoader(NUMBERS, shuffle=True)]).tolist()
    torch.manual_seed(1)
    assert torch.cat([x for x, _ in DataLoader(NUMBERS, shuffle=True)]).tolist() == a


def test_examples_are_collated_by_their_type() -> None:
    batch = default_collate([{"a": 1.5, "b": ("x", torch.ones(2))}, {"a": 2.5, "b": ("y", torch.zeros(2))}])
    assert batch["a"].dtype == torch.float64
    assert batch["b"][0] == ["x", "y"]
    assert batch["b"][1].shape == (2, 2)
    assert default_collate([Point(1.0, "a"), Point(2.0, "b")]).label == ["a", "b"]
    assert default_collate([True, False]).dtype == torch.bool
    with pytest.raises(TypeError, match="dictionaries or lists, got object; pass collate_fn"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="default_collate expected examples of equal lengths, got different ones"):
        default_collate([[1], [1, 2]])


def test_own_collate_functions_and_samplers_are_used() -> None:
    assert list(DataLoader([1, 2, 3], batch_size=2, collate_fn=sum)) == [3, 3]
    assert [x.tolist() for x in DataLoader([1, 2, 3], batch_sampler=[[2], [0, 1]])] == [[3], [1, 2]]
    assert [x.tolist() for x in DataLoader([1, 2, 3], sampler=[2, 1])] == [[3], [2]]
    assert list(DataLoader([1, 2, 3], batch_size=None)) == [1, 2, 3]


@pytest.mark.parametrize("workers", [0, 1])
def test_streams_are_batched(workers: int) -> None:
    assert [x.tolist() for x in DataLoader(Count(), batch_size=3, num_workers=workers)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [x.tolist() for x in DataLoader(Count(), batch_size=3, drop_last=True)] == [[0, 1, 2], [3, 4, 5]]


def test_an_error_of_a_worker_is_raised_in_the_loop() -> None:
    class Broken(Squares):
        def __getitem__(self, index: int) -> Any:
            raise LookupError(f"no example {index}")

    with pytest.raises(LookupError, match="no example 0"):
        list(DataLoader(Broken(), num_workers=2))
