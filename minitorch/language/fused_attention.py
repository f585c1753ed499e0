"""Stage 6 - Fused attention: the same result as `attention`, computed tile by tile, without a matrix of all scores.

The kernels `_attend` and `_differentiate` are compiled by numba. An optimized kernel for the same function is in `kernels/attention.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange

from minitorch.autodiff import Context
from minitorch.fast_ops import njit
from minitorch.kernels.jit import IN_ANY_ORDER, jitable, launch
from minitorch.language.attention import MASKED, attention, causal_mask
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

TILE = 32
"""Number of queries and of keys of a tile."""


def add_tile(largest: np.ndarray, total: np.ndarray, output: np.ndarray, scores: np.ndarray, values: np.ndarray) -> None:
    """Update what is known of some queries by a tile of further keys, in place.

    A query's weights are e^(score - largest): relative to the largest score so far. If a tile has a larger one, total and output, which
    were computed with the old one, are corrected. An output divided by its total is the weighted mean of the values so far.

    Args:
        largest: The largest score of each query so far, shape (rows,); at the beginning `MASKED`, which is finite.
        total: The sum of the weights so far, shape (rows,); at the beginning 0.
        output: The sum of the values so far, each times its weight, shape (rows, D); at the beginning 0.
        scores: The scores of the tile, shape (rows, keys); -∞ for a masked key, whose weight is 0.
        values: The values of its keys, shape (keys, D).

    Source: Milakov and Gimelshein 2018, arXiv:1805.02867, algorithm 3.
    """
    for i in range(len(largest)):
        row, sums = scores[i], output[i]
        highest = largest[i]
        for score in row:
            highest = max(highest, score)
        factor = math.exp(largest[i] - highest)
        largest[i] = highest
        total[i] *= factor
        for c in range(len(sums)):
            sums[c] *= factor
        for j in range(len(row)):
            weight = math.exp(row[j] - highest)
            total[i] += weight
            for c in range(len(sums)):
                sums[c] += weight * values[j, c]


jitable(add_tile)  # compiled kernels may call it


def _attend(
    out: np.ndarray,
    logsumexp: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    scale: float,
    causal: bool,
    tile: int,
) -> None:
    """Attention of each head, in parallel over the heads. Writes every element of out and logsumexp.

    Besides its arguments, a head needs the scores of one tile, at most tile × tile numbers, and two numbers for each query of the tile.

    Args:
        out: The outputs, shape (heads, queries, D); zeros for a query without keys.
        logsumexp: For each query, ln Σ e^score over the keys that it attends to, shape (heads, queries). Any number for one without keys.
        query: Shape (heads, queries, E).
        key: Shape (heads, keys, E).
        value: Shape (heads, keys, D).
        scale: The factor of the dot product in a score.
        causal: Whether query i attends only to the keys up to i + keys - queries, as in `causal_mask`; else to all.
        tile: The number of queries and of keys of a tile; the last tile may have fewer.
    """
    queries, keys, zero = query.shape[1], key.shape[1], scale * 0
    for head in prange(len(query)):
        scores = np.empty((tile, tile), out.dtype)
        for first in range(0, queries, tile):
            rows = min(tile, queries - first)
            largest, total = np.full(rows, MASKED, out.dtype), np.zeros(rows, out.dtype)
            output = out[head, first : first + rows]
            output[:] = 0
            last = first + rows + keys - queries if causal else keys
            for start in range(0, min(last, keys), tile):
                columns = min(tile, keys - start)
                for i in range(rows):
                    for j in range(columns):
                        q, k, score = query[head, first + i], key[head, start + j], zero
                        for d in range(len(q)):
                            score += q[d] * k[d]
                        hidden = causal and start + j > first + i + keys - queries
                        scores[i, j] = -np.inf if hidden else score * scale
                add_tile(largest, total, output, scores[:rows, :columns], value[head, start : start + columns])
            for i in range(rows):
                if total[i] != 0:
                    logsumexp[head, first + i] = largest[i] + math.log(total[i])
                    for c in range(output.shape[1]):
                        output[i, c] /= total[i]


def _differentiate(
    grad_query: np.ndarray,
    grad_key: np.ndarray,
    grad_value: np.ndarray,
    grad_out: np.ndarray,
    out: np.ndarray,
    logsumexp: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    scale: float,
    causal: bool,
) -> None:
    """The gradients of `_attend`, in parallel over the heads.

    No weight was saved: each is computed again from its score and from logsumexp, when it is needed.

    Args:
        grad_query: The gradient of query, of its shape; at the beginning 0.
        grad_key: The gradient of key, of its shape; at the beginning 0.
        grad_value: The gradient of value, of its shape; at the beginning 0.
        grad_out: The gradient of out, of its shape.
        out: What `_attend` has written.
        logsumexp: What `_attend` has written.
        query: See `_attend`.
        key: See `_attend`.
        value: See `_attend`.
        scale: See `_attend`.
        causal: See `_attend`.
    """
    queries, keys, zero = query.shape[1], key.shape[1], scale * 0
    for head in prange(len(query)):
        for i in range(queries):
            q, g, o, grad_q = query[head, i], grad_out[head, i], out[head, i], grad_query[head, i]
            mean = zero
            for c in range(len(g)):
                mean += g[c] * o[c]
            for j in range(min(keys, i + 1 + keys - queries) if causal else keys):
                k, v, grad_k, grad_v = key[head, j], value[head, j], grad_key[head, j], grad_value[head, j]
                score, along = zero, zero
                for d in range(len(q)):
                    score += q[d] * k[d]
                for c in range(len(g)):
                    along += g[c] * v[c]
                weight = math.exp(score * scale - logsumexp[head, i])
                grad_score = weight * (along - mean) * scale
                for d in range(len(q)):
                    grad_q[d] += grad_score * k[d]
                    grad_k[d] += grad_score * q[d]
                for c in range(len(g)):
                    grad_v[c] += weight * g[c]


attend: Any = njit(_attend, parallel=True, **IN_ANY_ORDER)
"""`_attend`, compiled at its first call. The terms of a sum may be added in any order, so that several are added at once."""

differentiate: Any = njit(_differentiate, parallel=True, **IN_ANY_ORDER)
"""`_differentiate`, compiled at its first call."""


# The function (given): the kernels compute everything


class TiledAttention(Function):
    """Attention by the two kernels. Saved for the backward pass are the inputs, the result, and one number for each query."""

    @staticmethod
    def forward(ctx: Context, query: Tensor, key: Tensor, value: Tensor, causal: bool, tile: int) -> Tensor:
        """See `fused_attention`."""
        arrays = [_by_head(x) for x in (query, key, value)]
        out = TensorData.empty((*query.shape[:-1], value.shape[-1]), query.dtype)
        logsumexp = TensorData.empty(arrays[0].shape[:2], query.dtype).array()
        outs = out.array().reshape(len(logsumexp), *out.shape[-2:])
        scale = query.dtype.type(1 / math.sqrt(query.shape[-1]))
        with np.errstate(all="ignore"):  # with the compiler off, NumPy's numbers warn
            launch(attend, outs, logsumexp, *arrays, scale, causal, tile)
        ctx.save_for_backward(query, key, value, query._like(out), logsumexp, scale, causal)
        return query._like(out)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of query, key and value."""
        *inputs, out, logsumexp, scale, causal = ctx.saved_values
        grads = [TensorData.zeros(x.shape, x.dtype) for x in inputs]
        targets = [grad.array().reshape(len(logsumexp), *grad.shape[-2:]) for grad in grads]
        with np.errstate(all="ignore"):
            launch(differentiate, *targets, _by_head(grad_output), _by_head(out), logsumexp, *map(_by_head, inputs), scale, causal)
        return *[x._like(grad) for x, grad in zip(inputs, grads, strict=True)], None, None

    @staticmethod
    def composed(query: Tensor, key: Tensor, value: Tensor, causal: bool, tile: int) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        return attention(query, key, value, causal_mask(query.shape[-2], key.shape[-2], query.backend) if causal else None)


def fused_attention(query: Tensor, key: Tensor, value: Tensor, causal: bool = False, tile: int = TILE) -> Tensor:
    """Scaled dot-product attention, softmax(query · keyᵀ / √E) · value, in memory that grows with L + S, not with L · S.

    Args:
        query: Shape (…, L, E), float64 or float32.
        key: Shape (…, S, E).
        value: Shape (…, S, D).
        causal: Whether to mask as `causal_mask` does.
        tile: Number of queries and of keys of a tile. It changes speed and memory, not the result.

    Returns:
        Shape (…, L, D). A query without keys gets zeros.

    Raises:
        TypeError: If the dtypes differ, or are neither float64 nor float32.
        ValueError: If the shapes do not match, or tile is less than 1.
        RuntimeError: If the tensors are on a GPU.

    Source: Dao et al. 2022, arXiv:2205.14135, algorithms 1 and 4.
    """
    _check(query, key, value, tile)
    return TiledAttention.apply(query, key, value, causal, tile)


def _by_head(x: Tensor) -> np.ndarray:
    """The elements of a tensor, contiguous, with all dimensions before the last two as one."""
    array = x.contiguous()._tensor.array()
    return array.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def _check(query: Tensor, key: Tensor, value: Tensor, tile: int) -> None:
    """Raise an error if `fused_attention` cannot compute with its arguments."""
    tensors = (query, key, value)
    if any(x.backend.cuda for x in tensors):
        raise RuntimeError('fused_attention expected tensors on the CPU, got them on a GPU; move them: x.to("cpu")')
    dtypes = [x.dtype.name for x in tensors]
    if len(set(dtypes)) > 1 or dtypes[0] not in ("float64", "float32"):
        raise TypeError(
            f"fused_attention expected three tensors of float64 or of float32, got {', '.join(dtypes)}; convert them: x.to(float32)"
        )
    batches = {x.shape[:-2] for x in tensors}
    if min(x.dims for x in tensors) < 2 or len(batches) > 1 or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"fused_attention expected query (…, L, E), key (…, S, E) and value (…, S, D) with equal first dimensions, "
            f"got {query.shape}, {key.shape} and {value.shape}; expand or permute them"
        )
    if tile < 1:
        raise ValueError(f"fused_attention expected a tile of at least 1, got {tile}; leave it out for {TILE}")
