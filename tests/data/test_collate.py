"""What a loader makes of a list of examples, by their type."""

from typing import NamedTuple

import numpy as np

import minitorch.torch as torch
from minitorch.data import DataLoader, default_collate
from tests.data.test_loader import Words
from tests.errors import raises


class Point(NamedTuple):
    """A named tuple of examples."""

    x: float
    label: str


def test_examples_are_collated_by_their_type():
    batch = default_collate([{"a": 1.5, "b": ("x", torch.ones(2))}, {"a": 2.5, "b": ("y", torch.zeros(2))}])
    assert (batch["a"].dtype, batch["a"].tolist()) == (torch.float64, [1.5, 2.5])
    assert batch["b"][0] == ["x", "y"]
    assert batch["b"][1].tolist() == [[1, 1], [0, 0]]
    points = default_collate([Point(1.0, "a"), Point(2.0, "b")])
    assert (type(points), points.label) == (Point, ["a", "b"])
    assert default_collate([True, False]).dtype == torch.bool
    with raises(TypeError, "default_collate expected tensors, arrays, numbers, text, dictionaries or lists, got object; pass collate_fn"):
        default_collate([object()])
    with raises(RuntimeError, "default_collate expected examples of equal lengths, got different ones; pad them, or pass collate_fn"):
        default_collate([[1], [1, 2]])


def test_a_batch_of_arrays_and_numbers_is_a_list_of_tensors():
    (x, y), last = DataLoader(Words(*[(np.array([i, i], np.float32), i**2) for i in range(3)]), 2)
    assert (x.tolist(), x.dtype, y.tolist(), y.dtype) == ([[0, 0], [1, 1]], torch.float32, [0, 1], torch.int64)
    assert (type(last), last[1].tolist()) == (list, [4])


def test_own_functions_and_samplers_are_used_for_lists():
    assert list(DataLoader([1, 2, 3], batch_size=2, collate_fn=sum)) == [3, 3]
    assert [x.tolist() for x in DataLoader([1, 2, 3], batch_sampler=[[2], [0, 1]])] == [[3], [1, 2]]
    assert [x.tolist() for x in DataLoader([1, 2, 3], sampler=[2, 1])] == [[3], [2]]
