"""Stage 6 - Fused attention on the GPU: the tiles of Task 6.5 in the shared memory of a block. It has no backward pass.

The kernel is the textbook solution of Task 6.5b. `minitorch.cuda.inspect_kernel` shows without a GPU what its threads do to memory.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from minitorch.core.context import grad_mode
from minitorch.kernels.cuda.device import blocks_for, cuda, jit, launch
from minitorch.kernels.cuda.storage import DeviceData
from minitorch.language.attention import MASKED

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

TILE = 32
"""Number of queries and of keys of a tile; a block has TILE × TILE threads, and a warp is 32 threads with the same threadIdx.y."""

WIDTH = 64
"""Largest number of elements of a query, a key or a value."""

COLUMNS = WIDTH // TILE
"""Elements of a row that a thread copies or computes: x, x + TILE … with x = threadIdx.x."""


def attention_kernel(out: Any, query: Any, key: Any, value: Any, scale: float, causal: bool) -> None:
    """The kernel of attention: a block computes the outputs of one tile of queries of one head, from one tile of keys after the other.

    It is launched on a grid of blocks of TILE × TILE threads: blockIdx.x is the head, blockIdx.y the tile of queries. The last tile of
    queries and that of keys may be shorter. A block copies its queries, and each tile of keys and values that it needs, to shared memory,
    and reads each element from global memory once. It writes each element of its outputs once and reads none. Warps access consecutive
    elements of global memory, and their threads different banks of shared memory, or the same element.

    Args:
        out: The outputs, shape (heads, queries, D), float32; zeros for a query without keys. At the beginning any numbers.
        query: Shape (heads, queries, E), with E at most WIDTH.
        key: Shape (heads, keys, E).
        value: Shape (heads, keys, D), with D at most WIDTH.
        scale: The factor of the dot product in a score.
        causal: Whether query i attends only to the keys up to i + keys - queries, as in `causal_mask`; else to all.

    Source: Dao et al. 2022, arXiv:2205.14135, algorithm 1.
    """
    query_tile = cuda.shared.array((TILE, WIDTH), numba.float32)
    key_tile = cuda.shared.array((TILE, 65), numba.float32)  # the spare column shifts each row by one bank; a constant for the compiler
    value_tile = cuda.shared.array((TILE, WIDTH), numba.float32)
    scores = cuda.shared.array((TILE, TILE), numba.float32)
    weights = cuda.shared.array((TILE, TILE), numba.float32)
    output = cuda.local.array(COLUMNS, numba.float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    head = cuda.blockIdx.x
    first = cuda.blockIdx.y * TILE
    row = first + y
    queries, keys = query.shape[1], key.shape[1]
    for i in range(COLUMNS):
        c = x + i * TILE
        output[i] = 0
        query_tile[y, c] = 0
        if row < queries and c < query.shape[2]:
            query_tile[y, c] = query[head, row, c]
    largest, total = numba.float32(MASKED), numba.float32(0)
    end = min(first + TILE + keys - queries, keys) if causal else keys
    for start in range(0, end, TILE):
        for i in range(COLUMNS):
            c = x + i * TILE
            key_tile[y, c] = 0
            value_tile[y, c] = 0
            if start + y < keys and c < key.shape[2]:
                key_tile[y, c] = key[head, start + y, c]
            if start + y < keys and c < value.shape[2]:
                value_tile[y, c] = value[head, start + y, c]
        cuda.syncthreads()  # the tiles are loaded
        score = numba.float32(0)
        for d in range(query.shape[2]):
            score += query_tile[y, d] * key_tile[x, d]
        hidden = start + x >= keys or (causal and start + x > row + keys - queries)
        scores[y, x] = -math.inf if hidden else score * scale
        cuda.syncthreads()  # the scores are known
        highest = largest
        for j in range(TILE):
            highest = max(highest, scores[y, j])
        weights[y, x] = math.exp(scores[y, x] - highest)
        factor = math.exp(largest - highest)
        largest = highest
        total *= factor
        for i in range(COLUMNS):
            output[i] *= factor
        cuda.syncthreads()  # the weights are known
        for j in range(TILE):
            total += weights[y, j]
            for i in range(COLUMNS):
                output[i] += weights[y, j] * value_tile[j, x + i * TILE]
        cuda.syncthreads()  # all threads are done with the tiles
    for i in range(COLUMNS):
        c = x + i * TILE
        if row < queries and c < value.shape[2]:
            out[head, row, c] = output[i] / total if total != 0 else 0


# The function (given): the kernel computes everything


def cuda_attention(query: Tensor, key: Tensor, value: Tensor, causal: bool = False) -> Tensor:
    """Scaled dot-product attention, softmax(query · keyᵀ / √E) · value, on a GPU and without a matrix of all scores.

    Args:
        query: Shape (…, L, E), float32, on the GPU; E is from 1 to WIDTH.
        key: Shape (…, S, E).
        value: Shape (…, S, D); D is at most WIDTH.
        causal: Whether to mask as `causal_mask` does.

    Returns:
        Shape (…, L, D). A query without keys gets zeros.

    Raises:
        RuntimeError: If a tensor is not on the GPU, or a gradient would be needed.
        TypeError: If a tensor is not of float32.
        ValueError: If the shapes do not match, or E or D is outside of its range.
    """
    _check(query, key, value)
    out = DeviceData.zeros((*query.shape[:-1], value.shape[-1]), query.dtype)
    if out.size and key.size:
        arrays = [_by_head(x.contiguous()._tensor.source(), x.shape) for x in (query, key, value)]  # type: ignore[attr-defined]  # DeviceData
        grid = math.prod(query.shape[:-2]), blocks_for(query.shape[-2], TILE)
        scale = np.float32(1 / math.sqrt(query.shape[-1]))
        launch(_compiled(), grid, (TILE, TILE), _by_head(out.target(), out.shape), *arrays, scale, causal)
    return query._like(out)


@cache
def _compiled() -> Any:
    """The kernel, compiled at its first launch."""
    return jit(attention_kernel)


def _by_head(array: Any, shape: tuple[int, ...]) -> Any:
    """A device array that begins with the elements of a contiguous tensor, with all dimensions before the last two as one."""
    return array[: math.prod(shape)].reshape(math.prod(shape[:-2]), *shape[-2:])


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise an error if `cuda_attention` cannot compute with its arguments."""
    tensors = (query, key, value)
    if not all(x.backend.cuda for x in tensors):
        raise RuntimeError('cuda_attention expected tensors on the GPU, got one on the CPU; move it: x.to("cuda"), or use fused_attention')
    if grad_mode.enabled and any(x.requires_grad for x in tensors):
        raise RuntimeError("cuda_attention records no gradients, got a tensor that requires them; call it inside no_grad()")
    if any(x.dtype != np.float32 for x in tensors):
        names = ", ".join(x.dtype.name for x in tensors)
        raise TypeError(f"cuda_attention expected three tensors of float32, got {names}; convert them: x.to(float32)")
    batches = {x.shape[:-2] for x in tensors}
    if min(x.dims for x in tensors) < 2 or len(batches) > 1 or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"cuda_attention expected query (…, L, E), key (…, S, E) and value (…, S, D) with equal first dimensions, "
            f"got {query.shape}, {key.shape} and {value.shape}; expand or permute them"
        )
    if not 1 <= query.shape[-1] <= WIDTH or value.shape[-1] > WIDTH:
        raise ValueError(
            f"cuda_attention expected queries and keys of 1 to {WIDTH} elements and values of at most {WIDTH}, "
            f"got {query.shape[-1]} in queries and keys, {value.shape[-1]} in values; use attention"
        )
