"""Stage 6 - Sequences of different lengths without padding, and recurrent layers that compute no padded element.

Packed data holds the elements of a batch step by step: first those of step 0, then those of step 1, and so on. The sequences are sorted
from the longest to the shortest, so that those that reach a step are the first `batch_sizes[step]` of the batch.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitorch.core.creation import cat, full
from minitorch.nn.recurrent import KINDS, States, _check_input, _check_states, recurrence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minitorch.tensor import Tensor


def batch_sizes_of(lengths: Sequence[int]) -> list[int]:
    """The number of sequences that reach each step.

    Args:
        lengths: Numbers of elements, in any order.
    """
    return [sum(length > step for length in lengths) for step in range(max(lengths))]


def _positions(batch_sizes: Sequence[int], order: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The step and the sequence of every row of packed data, where order has the sequences from the longest to the shortest."""
    steps = np.repeat(np.arange(len(batch_sizes)), batch_sizes)
    return steps, np.concatenate([np.asarray(order, np.int64)[:size] for size in batch_sizes])


def pack(padded: Tensor, batch_sizes: Sequence[int], order: Sequence[int]) -> Tensor:
    """Packed data of padded sequences.

    Args:
        padded: Shape (L, N, …).
        batch_sizes: How many sequences reach each step.
        order: Indices of the sequences from the longest to the shortest.

    Returns:
        Shape (sum of batch_sizes, …).
    """
    return padded[_positions(batch_sizes, order)]


def unpack(data: Tensor, batch_sizes: Sequence[int], order: Sequence[int], length: int, value: float) -> Tensor:
    """The inverse of `pack`.

    Args:
        data: Shape (sum of batch_sizes, …).
        batch_sizes: How many sequences reach each step.
        order: Indices of the sequences from the longest to the shortest.
        length: Number of steps of the result, at least that of batch_sizes.
        value: The padding.

    Returns:
        Shape (length, N, …).
    """
    padding = full((1, *data.shape[1:]), value, data.backend, dtype=data.dtype)
    rows = np.full((length, len(order)), data.shape[0])  # that of the padding
    rows[_positions(batch_sizes, order)] = np.arange(data.shape[0])
    return cat([data, padding])[rows]


# Recurrent layers


class _Run(NamedTuple):
    """Consecutive steps that the same number of sequences reach.

    Attributes:
        start: The first row of packed data.
        steps: Number of steps.
        size: Number of sequences.
    """

    start: int
    steps: int
    size: int


def _runs(batch_sizes: Sequence[int]) -> list[_Run]:
    """The steps grouped by the number of sequences."""
    found, start = [], 0
    for size, group in groupby(batch_sizes):
        steps = len(list(group))
        found.append(_Run(start, steps, size))
        start += steps * size
    return found


def packed_recurrence(
    input_gates: Tensor, batch_sizes: Sequence[int], weight: Tensor, bias: Tensor | None, kind: str, states: States, reverse: bool = False
) -> tuple[Tensor, States]:
    """Run a recurrence over packed sequences.

    Args:
        input_gates: Packed input gates, shape (sum of batch_sizes, gates · H).
        batch_sizes: How many sequences reach each step, in descending order.
        weight: Hidden-to-hidden weights, shape (gates · H, H).
        bias: Hidden-to-hidden bias, shape (gates · H,).
        kind: A key of `minitorch.nn.recurrent.KINDS`.
        states: The initial states, each of shape (N, H).
        reverse: Whether each sequence runs from its last element to its first.

    Returns:
        The packed hidden states, shape (sum of batch_sizes, H), and the states after the last step of each sequence, each (N, H).
    """
    outputs: list[Tensor] = []
    ended: list[States] = []
    runs = _runs(batch_sizes)
    current = tuple(state[: runs[-1].size] for state in states) if reverse else states
    for start, steps, size in reversed(runs) if reverse else runs:
        before = current[0].shape[0]
        if before > size:  # sequences that have ended
            ended.append(tuple(state[size:] for state in current))
            current = tuple(state[:size] for state in current)
        elif before < size:  # sequences that begin here, at their last element
            current = tuple(cat([state, initial[before:size]]) for state, initial in zip(current, states, strict=True))
        gates = input_gates[start : start + steps * size].reshape(steps, size, input_gates.shape[1])
        all_states = recurrence(gates.flip(0) if reverse else gates, weight, bias, kind, current)
        hidden, last = all_states[:, 0], all_states[-1]
        outputs.append((hidden.flip(0) if reverse else hidden).reshape(steps * size, weight.shape[1]))
        current = tuple(last[i] for i in range(len(states)))
    if reverse:
        return cat(outputs[::-1]), current
    ended.append(current)
    return cat(outputs), tuple(cat(parts) for parts in zip(*ended[::-1], strict=True))


def run_packed(layer: Any, data: Tensor, batch_sizes: Sequence[int], states: tuple[Tensor, ...] | None) -> tuple[Tensor, States]:
    """Run an RNN, LSTM or GRU over packed sequences.

    Args:
        layer: The layer.
        data: Packed elements, shape (sum of batch_sizes, input_size).
        batch_sizes: How many sequences reach each step, in descending order.
        states: The initial states, each (num_layers · directions, N, H), in the order of the sequences; zeros by default.

    Returns:
        The last layer's packed hidden states, shape (sum of batch_sizes, directions · H), and the final states, with the shape of states.

    Raises:
        TypeError: If an argument is not a floating-point Tensor.
        ValueError: If a shape does not match.
    """
    _check_input(layer, data, (2, 2))
    shape = (layer.num_layers * (1 + layer.bidirectional), batch_sizes[0], layer.hidden_size)
    if states is None:
        states = tuple(data.zeros(shape) for _ in range(KINDS[layer.kind].states))
    else:
        _check_states(layer, states, shape)

    def run(x: Tensor, initial: States, suffix: str, reverse: bool) -> tuple[Tensor, States]:
        input_gates, weight, bias = layer._input_gates(x, suffix)
        return packed_recurrence(input_gates, batch_sizes, weight, bias, layer.kind, initial, reverse)

    return layer._run_layers(data, states, run)
