"""Stage 7 - Layers that only change the shape: Flatten, Unflatten and Identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.nn.module import Module
from minitorch.tensor import Tensor


class Flatten(Module):
    """Flatten the dimensions from start_dim to end_dim into one; by default all but the batch dimension."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, …) to (B, product of the others) by default."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Divide one dimension into several.

    Args:
        dim: The dimension.
        unflattened_size: Its sizes; one may be -1.
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (…, N, …) to (…, *unflattened_size, …)."""
        dim = input._normalize_dim(self.dim)
        return input.reshape(*input.shape[:dim], *self.unflattened_size, *input.shape[dim + 1 :])


class Identity(Module):
    """Returns its input. Arguments of the constructor are ignored, so that it can replace any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return input."""
        return input
