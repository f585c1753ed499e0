"""Packed sequences: written-out values, sequences one by one, and PyTorch's recurrent layers."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours
from minitorch.nn.packed import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    unpack_sequence,
)
from minitorch.torch import nn
from tests.errors import raises

LENGTHS = [3, 6, 1, 6]


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def test_elements_are_packed_step_by_step() -> None:
    packed = pack_padded_sequence(ours.tensor([[1, 2, 0], [3, 4, 5]]), [2, 3], batch_first=True, enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 4, 2, 5]
    assert packed.batch_sizes.tolist() == [2, 2, 1]
    assert packed.sorted_indices.tolist() == packed.unsorted_indices.tolist() == [1, 0]
    padded, lengths = pad_packed_sequence(packed, batch_first=True, padding_value=9, total_length=4)
    assert padded.tolist() == [[1, 2, 9, 9], [3, 4, 5, 9]]
    assert lengths.tolist() == [2, 3]


def test_sorted_sequences_need_no_indices() -> None:
    packed = pack_sequence([ours.tensor([1, 2]), ours.tensor([3])])
    assert packed.data.tolist() == [1, 3, 2]
    assert packed.sorted_indices is packed.unsorted_indices is None
    assert [x.tolist() for x in unpack_sequence(packed)] == [[1, 2], [3]]
    assert isinstance(packed, tuple)
    assert packed.to(ours.float64).data.dtype == ours.float64
    assert packed.float().data.dtype == packed.cpu().float().data.dtype == ours.float32


def test_a_permutation_is_inverted() -> None:
    assert invert_permutation(ours.tensor([2, 0, 1])).tolist() == [1, 2, 0]
    assert PackedSequence(ours.zeros(3), ours.tensor([3]), ours.tensor([2, 0, 1])).unsorted_indices.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("lengths", "error", "expected"),
    [
        ([1, 3], RuntimeError, "lengths in descending order, got [1, 3]; sort them or pass enforce_sorted=False"),
        ([4, 3], ValueError, "2 lengths from 1 to 3, got [4, 3] for input (3, 2)"),
        ([3, 0], ValueError, "2 lengths from 1 to 3, got [3, 0] for input (3, 2)"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(lengths: list[int], error: type[Exception], expected: str) -> None:
    with raises(error, f"pack_padded_sequence expected {expected}"):
        pack_padded_sequence(ours.zeros(3, 2), lengths)


def test_what_does_not_fit_packed_sequences_is_refused() -> None:
    with raises(ValueError, "pad_packed_sequence expected total_length of at least 3, the longest sequence, got 2"):
        pad_packed_sequence(pack_sequence([ours.zeros(3)]), total_length=2)
    with raises(ValueError, "GRU expected hx of shape (1, 1, 3), got torch.Size([1, 2, 3])"):
        nn.GRU(2, 3)(pack_sequence([ours.zeros(3, 2)]), ours.zeros(1, 2, 3))


def test_each_sequence_runs_as_if_it_were_alone() -> None:
    ours.manual_seed(0)
    layer = nn.LSTM(3, 2, 2, bidirectional=True, dtype=ours.float64)
    sequences = [ours.tensor(floats(length, 3)) for length in LENGTHS]
    output, (hidden, cell) = layer(pack_sequence(sequences, enforce_sorted=False))
    for number, (sequence, result) in enumerate(zip(sequences, unpack_sequence(output), strict=True)):
        expected, (last, last_cell) = layer(sequence)
        np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy())
        np.testing.assert_allclose(hidden[:, number].detach().numpy(), last.detach().numpy())
        np.testing.assert_allclose(cell[:, number].detach().numpy(), last_cell.detach().numpy())


CASES: list[tuple[str, dict[str, Any]]] = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu", "num_layers": 2, "bidirectional": True}),
    ("LSTM", {"num_layers": 2, "bidirectional": True}),
    ("GRU", {"bias": False, "batch_first": True}),
    ("GRU", {"bidirectional": True}),
]


def run(torch: Any, layer: Any, states: int, batch_first: bool, given: bool) -> list[np.ndarray]:
    """All that a layer computes of packed sequences, and all gradients."""
    x = floats(6, 4, 3).swapaxes(0, 1).copy() if batch_first else floats(6, 4, 3)
    x, h = torch.tensor(x, requires_grad=True), torch.tensor(floats(states, 4, 5), requires_grad=True)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(LENGTHS), batch_first, enforce_sorted=False)
    hx = (h, h * 2) if isinstance(layer, torch.nn.LSTM) else h
    output, final = layer(packed, hx if given else None)
    padded, lengths = torch.nn.utils.rnn.pad_packed_sequence(output, batch_first, padding_value=-1.0, total_length=8)
    final = final if isinstance(final, tuple) else (final,)
    (sum((f**3).sum() for f in final) + (padded**2).sum()).backward()
    gradients = [x.grad, *([h.grad] if given else []), *[each.grad for each in layer.parameters()]]
    return [each.detach().numpy() for each in (*output, padded, lengths, *final, *gradients)]


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_layers_run_over_packed_sequences_as_pytorch_s(name: str, options: dict[str, Any], given: bool) -> None:
    theirs = pytest.importorskip("torch", reason="compares with PyTorch")
    theirs.manual_seed(0)
    layers = [getattr(torch.nn, name)(3, 5, dtype=torch.float64, **options) for torch in (ours, theirs)]
    layers[0].load_state_dict(layers[1].state_dict())
    states = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    found, expected = (
        run(torch, layer, states, options.get("batch_first", False), given) for torch, layer in zip((ours, theirs), layers, strict=True)
    )
    assert len(found) == len(expected)
    for mine, other in zip(found, expected, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("sort", [True, False])
def test_pack_sequence_is_pytorch_s(sort: bool) -> None:
    theirs = pytest.importorskip("torch", reason="compares with PyTorch")
    arrays = [floats(length, 2) for length in (sorted(LENGTHS, reverse=True) if sort else LENGTHS)]
    mine, other = (torch.nn.utils.rnn.pack_sequence([torch.tensor(x) for x in arrays], enforce_sorted=sort) for torch in (ours, theirs))
    for a, b in zip(mine, other, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a.numpy(), b.numpy())
