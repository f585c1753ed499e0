"""Stage 6 - Sequences of different lengths in one tensor."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch.core.creation import stack
from minitorch.nn.padding import pad
from minitorch.torch.tensor import Tensor, wrap


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
    engines = [x._engine for x in sequences]
    length = max(x.shape[0] for x in engines)
    padded = []
    for x in engines:
        missing = length - x.shape[0]
        widths = (0, missing) if padding_side == "right" else (missing, 0)
        padded.append(pad(x, (*[0, 0] * (x.dims - 1), *widths), "constant", padding_value))
    return wrap(stack(padded, 0 if batch_first else 1))


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The inverse of `pad_sequence`.

    Args:
        padded_sequences: Shape (L, N, …), or (N, L, …) if batch_first.
        lengths: The length of each sequence, shape (N,).
        batch_first: See `pad_sequence`.
    """
    x = padded_sequences._engine
    x = x if batch_first else x.transpose(0, 1)
    return [wrap(x[number, : int(length)]) for number, length in enumerate(lengths._engine.tolist())]
