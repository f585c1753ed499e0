"""Stage 7 - Sequences of different lengths in one tensor, padded or packed, and the recurrence over them.

Packed data holds the elements of a batch step by step: first those of step 0, then those of step 1, and so on. The sequences are sorted
from the longest to the shortest, so that those that reach a step are the first `batch_sizes[step]` of the batch.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitorch.core.creation import cat, full, stack
from minitorch.nn.padding import pad
from minitorch.nn.recurrence import States, recurrence
from minitorch.tensor import tensor
from minitorch.torch.places import backend_of
from minitorch.torch.tensor import as_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minitorch.tensor import Tensor

# Padded sequences


def pad_sequence(sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    """Sequences of different lengths as one tensor; the shorter ones are padded.

    Args:
        sequences: Tensors of shape (L_i, …).
        batch_first: Whether the result has shape (N, L, …) instead of (L, N, …).
        padding_value: The padding.
        padding_side: "right" or "left".

    Raises:
        ValueError: If padding_side is neither.
    """
    if padding_side not in ("right", "left"):
        raise ValueError(f'pad_sequence expected padding_side "right" or "left", got {padding_side!r}')
    length = max(x.shape[0] for x in sequences)
    padded = []
    for x in sequences:
        missing = length - x.shape[0]
        widths = (0, missing) if padding_side == "right" else (missing, 0)
        padded.append(pad(x, (*[0, 0] * (x.dims - 1), *widths), "constant", padding_value))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The inverse of `pad_sequence`.

    Args:
        padded_sequences: Shape (L, N, …), or (N, L, …) if batch_first.
        lengths: The length of each sequence, shape (N,).
        batch_first: See `pad_sequence`.
    """
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [x[number, : int(length)] for number, length in enumerate(lengths.tolist())]


# Packed data


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


# Packed sequences


class _Fields(NamedTuple):
    """The fields of a PackedSequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None


class PackedSequence(_Fields):
    """Sequences of different lengths without padding, step by step; made by `pack_padded_sequence` or `pack_sequence`.

    Attributes:
        data: The elements: those of step 0 from the longest sequence to the shortest, then those of step 1; shape (elements, …).
        batch_sizes: How many sequences reach each step, int64, shape (L,).
        sorted_indices: Indices of the sequences from the longest to the shortest, shape (N,); None if the batch is in that order.
        unsorted_indices: The inverse permutation, shape (N,), or None.
    """

    __slots__ = ()

    def __new__(
        cls, data: Tensor, batch_sizes: Tensor, sorted_indices: Tensor | None = None, unsorted_indices: Tensor | None = None
    ) -> PackedSequence:
        """A packed sequence; unsorted_indices are computed from sorted_indices if left out."""
        unsorted_indices = invert_permutation(sorted_indices) if unsorted_indices is None else unsorted_indices
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with data converted as by `Tensor.to`; the indices move to its device."""
        data = self.data.to(*args, **kwargs)
        indices = [x if x is None else x.to(data.backend) for x in (self.sorted_indices, self.unsorted_indices)]
        return PackedSequence(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        """The same in main memory."""
        return self.to("cpu")

    def cuda(self) -> PackedSequence:
        """The same on the GPU."""
        return self.to("cuda")

    def float(self) -> PackedSequence:
        """The same in float32."""
        return self._replace(data=self.data.float())

    def double(self) -> PackedSequence:
        """The same in float64."""
        return self._replace(data=self.data.double())

    @property
    def is_cuda(self) -> bool:
        """Whether data is on a GPU."""
        return self.data.backend.cuda

    def sizes_and_order(self) -> tuple[list[int], list[int]]:
        """`batch_sizes`, and the sequences from the longest to the shortest, as lists."""
        sizes = self.batch_sizes.tolist()
        return sizes, list(range(sizes[0])) if self.sorted_indices is None else self.sorted_indices.tolist()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation of 0 to N - 1, shape (N,); None for None."""
    return None if permutation is None else _indices(np.argsort(permutation.to_numpy()), like=permutation)


def _indices(numbers: Any, like: Tensor | None = None) -> Tensor:
    """Integers as a Tensor of int64, on the default device or that of another tensor."""
    return as_torch(tensor(np.asarray(numbers, np.int64), backend_of(None) if like is None else like.backend))


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences.

    Args:
        input: Shape (L, N, …), or (N, L, …) if batch_first.
        lengths: The length of each sequence, from 1 to L.
        batch_first: See input.
        enforce_sorted: Whether the sequences must be sorted from the longest to the shortest; otherwise they are sorted here.

    Raises:
        ValueError: If there is not one length from 1 to L for each sequence.
        RuntimeError: If enforce_sorted is set and the lengths are not in descending order.
    """
    x = input.transpose(0, 1) if batch_first else input
    given = [int(length) for length in lengths]
    longest, count = x.shape[:2]
    if len(given) != count or not given or not all(1 <= length <= longest for length in given):
        raise ValueError(f"pack_padded_sequence expected {count} lengths from 1 to {longest}, got {given} for input {tuple(input.shape)}")
    if enforce_sorted and given != sorted(given, reverse=True):
        raise RuntimeError(
            f"pack_padded_sequence expected lengths in descending order, got {given}; sort them or pass enforce_sorted=False"
        )
    order = np.arange(count) if enforce_sorted else np.argsort(-np.array(given), kind="stable")
    sizes = batch_sizes_of(given)
    return PackedSequence(pack(x, sizes, order.tolist()), _indices(sizes), None if enforce_sorted else _indices(order, like=input))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of `pack_padded_sequence`: the sequences in their original order, and their lengths.

    Args:
        sequence: The packed sequences.
        batch_first: Whether the result has shape (N, L, …) instead of (L, N, …).
        padding_value: The padding.
        total_length: L; the length of the longest sequence by default.

    Raises:
        ValueError: If total_length is less than the length of the longest sequence.
    """
    sizes, order = sequence.sizes_and_order()
    length = len(sizes) if total_length is None else total_length
    if length < len(sizes):
        raise ValueError(f"pad_packed_sequence expected total_length of at least {len(sizes)}, the longest sequence, got {length}")
    padded = unpack(sequence.data, sizes, order, length, padding_value)
    lengths = np.empty(len(order), np.int64)
    lengths[order] = [sum(size > rank for size in sizes) for rank in range(len(order))]
    return padded.transpose(0, 1) if batch_first else padded, _indices(lengths)


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences.

    Args:
        sequences: Tensors of shape (L_i, …).
        enforce_sorted: Whether they must be sorted from the longest to the shortest; otherwise they are sorted here.

    Raises:
        ValueError: If a sequence is empty.
        RuntimeError: If enforce_sorted is set and the lengths are not in descending order.
    """
    return pack_padded_sequence(pad_sequence(sequences), [len(x) for x in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The inverse of `pack_sequence`: Tensors of shape (L_i, …) in their original order."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


# The recurrence over packed data


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
        kind: A key of `minitorch.nn.recurrence.KINDS`.
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
