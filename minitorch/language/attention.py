"""Stage 6 - Attention: queries, keys and values of several heads as views of one tensor, the causal mask, and the scaled dot product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from minitorch.core.kernel import prefer_optimized
from minitorch.nn.functional import softmax
from minitorch.tensor import tensor

if TYPE_CHECKING:
    from minitorch.tensor import Tensor
    from minitorch.tensor_ops import TensorBackend

MASKED = -1e30
"""The score of a key that is masked: so low that its weight is exactly 0 beside any other, and finite, because ∞ - ∞ is not a number."""


def split_heads(projected: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the queries, keys and values of every head, as views: no number is copied.

    Args:
        projected: Contiguous, shape (B, T, 3 · heads · D). The last dimension holds all queries, then all keys, then all values; of each,
            first the D numbers of the first head, then those of the second.
        heads: Number of heads, H.

    Returns:
        Three tensors of shape (B, H, T, D).
    """
    batch, length, width = projected.shape
    parts = projected.view(batch, length, 3, heads, width // (3 * heads)).permute(2, 0, 3, 1, 4)
    return parts[0], parts[1], parts[2]


def merge_heads(x: Tensor) -> Tensor:
    """Return the numbers of all heads side by side, shape (B, T, H · D), for x of shape (B, H, T, D): first those of the first head."""
    batch, heads, length, size = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(batch, length, heads * size)


def causal_mask(queries: int, keys: int, backend: TensorBackend | None = None) -> Tensor:
    """Return which keys each query may attend to: its own and the earlier ones.

    The last query belongs to the last key. So with as many queries as keys, query i attends to the keys 0 to i; with fewer, the queries are
    those of the last positions.

    Args:
        queries: Number of queries, L.
        keys: Number of keys, S.
        backend: Where the mask is stored; by default where new tensors are.

    Returns:
        Shape (L, S), bool: True where the query attends to the key.
    """
    allowed = np.arange(keys) <= np.arange(queries)[:, None] + (keys - queries)
    return tensor(allowed) if backend is None else tensor(allowed, backend)


@prefer_optimized
def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention: softmax(query · keyᵀ / √E) · value.

    Args:
        query: Shape (…, L, E).
        key: Shape (…, S, E).
        value: Shape (…, S, D).
        mask: Which keys each query attends to: bool, a shape that broadcasts to (…, L, S); None for all. Numbers of a masked key and of its
            value change nothing, unless they are infinite or NaN.

    Returns:
        Shape (…, L, D): for each query, the mean of the values, weighted by softmax. A query whose keys are all masked gets zeros.

    Source: Vaswani et al. 2017, arXiv:1706.03762, eq. 1.
    """
    size = query.shape[-1]
    scores = query @ key.transpose(-1, -2) / math.sqrt(size)
    if mask is None:
        return softmax(scores, scores.dims - 1) @ value
    weights = softmax(scores.where(mask, MASKED), scores.dims - 1)
    return weights.where(mask, 0) @ value
