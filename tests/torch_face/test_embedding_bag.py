"""Bags of embeddings, without PyTorch: known values, gradients and messages."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch.autograd import gradcheck
from tests.errors import raises

F = torch.nn.functional
TABLE, BAGS = [[1.0, -1.0], [2.0, 5.0], [4.0, 3.0]], [[0, 1, 1], [2, 0, 2]]

RESULTS = [
    ({}, [[5 / 3, 3], [3, 5 / 3]]),
    ({"mode": "sum"}, [[5, 9], [9, 5]]),
    ({"mode": "max"}, [[2, 5], [4, 3]]),
    ({"mode": "sum", "per_sample_weights": [[1.0, 2, 0], [0, -1, 0.5]]}, [[5, 9], [1, 2.5]]),
    ({"padding_idx": 0}, [[2, 5], [4, 3]]),
    ({"padding_idx": -1, "mode": "max"}, [[2, 5], [1, -1]]),
    ({"offsets": [0, 1, 1]}, [[1, -1], [0, 0], [13 / 5, 3]]),
    ({"offsets": [0, 4, 6], "include_last_offset": True, "mode": "max"}, [[4, 5], [4, 3]]),
]
"""Options of embedding_bag and its results for the bags of the table."""


@pytest.mark.parametrize(("options", "wanted"), RESULTS)
def test_bags_of_embeddings_are_known(options: dict[str, Any], wanted: list[list[float]]) -> None:
    given: dict[str, Any] = {key: torch.tensor(value) if type(value) is list else value for key, value in options.items()}
    input = torch.tensor(BAGS).flatten() if "offsets" in options else torch.tensor(BAGS)
    weight = torch.tensor(TABLE, dtype=torch.float64, requires_grad=True)
    given = {key: x.double() if key == "per_sample_weights" else x for key, x in given.items()}
    np.testing.assert_allclose(F.embedding_bag(input, weight, **given).tolist(), wanted)
    if "padding_idx" not in given:
        assert gradcheck(lambda w: F.embedding_bag(input, w, **given), (weight,))
    layer = torch.nn.EmbeddingBag(3, 2, _weight=weight, **{key: x for key, x in given.items() if type(x) in (int, bool, str)})
    np.testing.assert_allclose(layer(input, given.get("offsets"), given.get("per_sample_weights")).tolist(), wanted)


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"mode": "min"}, ValueError, 'embedding_bag expected mode "mean", "sum" or "max", got \'min\''),
    ({"offsets": torch.tensor([0])}, ValueError,
     "embedding_bag expected input of two dimensions, or of one with offsets, got shape (2, 3) with offsets; "
     "leave them out, or reshape input"),
    ({"per_sample_weights": torch.ones(2, 3)}, NotImplementedError,
     "embedding_bag supports per_sample_weights with mode=\"sum\" only, got mode='mean'; leave them out"),
    ({"mode": "sum", "per_sample_weights": torch.ones(2)}, ValueError,
     "embedding_bag expected per_sample_weights of shape (2, 3), got (2,); pass a factor for each index"),
    ({"sparse": True}, NotImplementedError, "embedding_bag supports sparse=False only, got True; leave sparse out"),
])  # fmt: skip
def test_wrong_bags_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with raises(error, message):
        F.embedding_bag(torch.tensor(BAGS), torch.tensor(TABLE), **options)


def test_a_layer_of_bags_keeps_its_padding_and_checks_its_offsets() -> None:
    layer = torch.nn.EmbeddingBag(4, 2, mode="sum", padding_idx=1)
    assert str(layer) == "EmbeddingBag(4, 2, mode='sum', padding_idx=1)"
    assert layer.weight[1].tolist() == [0, 0]
    layer(torch.tensor([[0, 1, 3]])).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [0, 0], [1, 1]]
    frozen = torch.nn.EmbeddingBag.from_pretrained(torch.tensor(TABLE))
    assert frozen(torch.tensor([[1, 2]])).tolist() == [[3, 4]]
    assert not frozen.weight.requires_grad
    with raises(
        RuntimeError,
        "embedding_bag expected offsets that ascend from 0 to at most 3, got [1, 2]; begin each bag where the one before it ends",
    ):
        layer(torch.tensor([0, 1, 2]), torch.tensor([1, 2]))
    with raises(ValueError, 'EmbeddingBag expected mode "mean", "sum" or "max", got \'min\''):
        torch.nn.EmbeddingBag(3, 2, mode="min")
