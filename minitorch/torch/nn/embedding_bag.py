"""Stage 6 - nn.EmbeddingBag: the sum or mean of the vectors of each bag of indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.torch import creation
from minitorch.torch.nn.linear import Embedding
from minitorch.torch.nn.module import Module
from minitorch.torch.tensor import Tensor, as_torch


class EmbeddingBag(Module):
    """The sum or mean of the vectors of each bag of indices; zeros for an empty bag.

    Args:
        num_embeddings: Number of vectors.
        embedding_dim: Dimension of each vector.
        mode: "mean" or "sum".
        device: Where the table is stored.
        dtype: Dtype of the table; the default dtype if left out.

    Raises:
        ValueError: If the mode is unknown.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, *, mode: str = "mean", device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if mode not in ("mean", "sum"):
            raise ValueError(f'EmbeddingBag expected mode "mean" or "sum", got {mode!r}')
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.weight = Embedding(num_embeddings, embedding_dim, device=device, dtype=dtype).weight

    def extra_repr(self) -> str:
        """The sizes and the mode."""
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        """Map indices to one vector for each bag.

        Args:
            input: Integers: shape (bags, size), or (n,) with offsets.
            offsets: Where each bag begins, shape (bags,); the first one at 0.

        Returns:
            Shape (bags, embedding_dim).

        Raises:
            ValueError: If there are offsets for two dimensions, or none for one.
        """
        if (input.dim() == 1) != (offsets is not None) or input.dim() not in (1, 2):
            raise ValueError(
                f"EmbeddingBag expected input of two dimensions, or of one with offsets, got shape {tuple(input.shape)} "
                f"{'without' if offsets is None else 'with'} offsets"
            )
        bags = input.size(0) if offsets is None else offsets.size(0)
        begins = np.arange(bags) * input.size(1) if offsets is None else offsets.numpy()
        counts = np.diff(np.append(begins, input.numel()))
        vectors = self.weight[input.reshape(-1)]
        numbers = as_torch(creation.tensor(np.repeat(np.arange(bags), counts)))
        zeros = as_torch(creation.zeros(bags, self.embedding_dim, dtype=self.weight.dtype, device=self.weight.backend))
        total = zeros.index_add(0, numbers, vectors)
        if self.mode == "sum":
            return total
        return total / as_torch(creation.tensor(np.maximum(counts, 1)[:, None])).type_as(total)
