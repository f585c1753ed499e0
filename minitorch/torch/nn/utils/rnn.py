"""Stage 6 - Sequences of different lengths in one tensor, padded or packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch.core.creation import stack
from minitorch.nn import packed
from minitorch.nn.padding import pad
from minitorch.torch import creation
from minitorch.torch.tensor import Tensor, as_torch


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
    engines = list(sequences)
    length = max(x.shape[0] for x in engines)
    padded = []
    for x in engines:
        missing = length - x.shape[0]
        widths = (0, missing) if padding_side == "right" else (missing, 0)
        padded.append(pad(x, (*[0, 0] * (x.dims - 1), *widths), "constant", padding_value))
    return as_torch(stack(padded, 0 if batch_first else 1))


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The inverse of `pad_sequence`.

    Args:
        padded_sequences: Shape (L, N, …), or (N, L, …) if batch_first.
        lengths: The length of each sequence, shape (N,).
        batch_first: See `pad_sequence`.
    """
    x = padded_sequences
    x = x if batch_first else x.transpose(0, 1)
    return [as_torch(x[number, : int(length)]) for number, length in enumerate(lengths.tolist())]


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
        indices = [x if x is None else x.to(data.device) for x in (self.sorted_indices, self.unsorted_indices)]
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
        return self.data.is_cuda

    def sizes_and_order(self) -> tuple[list[int], list[int]]:
        """`batch_sizes`, and the sequences from the longest to the shortest, as lists."""
        sizes = self.batch_sizes.tolist()
        return sizes, list(range(sizes[0])) if self.sorted_indices is None else self.sorted_indices.tolist()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation of 0 to N - 1, shape (N,); None for None."""
    return None if permutation is None else _indices(np.argsort(permutation.to_numpy()), like=permutation)


def _indices(numbers: Any, like: Tensor | None = None) -> Tensor:
    """Integers as a Tensor of int64, on the device of another."""
    made = as_torch(creation.tensor(np.asarray(numbers, np.int64)))
    return made if like is None else made.to(like.device)


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
    sizes = packed.batch_sizes_of(given)
    data = as_torch(packed.pack(x, sizes, order.tolist()))
    return PackedSequence(data, _indices(sizes), None if enforce_sorted else _indices(order, like=input))


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
    padded = packed.unpack(sequence.data, sizes, order, length, padding_value)
    lengths = np.empty(len(order), np.int64)
    lengths[order] = [sum(size > rank for size in sizes) for rank in range(len(order))]
    return as_torch(padded.transpose(0, 1) if batch_first else padded), _indices(lengths)


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
