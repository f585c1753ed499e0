"""Stage 7 - New tokens, one by one, through a block of a language model with a cache: one kernel instead of some thirty operations.

For a single token, an operation computes for about a microsecond and is prepared for several.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from minitorch.kernels.activations import gelu_tanh
from minitorch.kernels.jit import code_key, jitable, serial
from minitorch.kernels.matmul import add_rows, aligned, dot_rows
from minitorch.kernels.norm import normalize_one
from minitorch.kernels.softmax import exp_row
from minitorch.kernels.vector_math import fast_equivalents

gelu = jitable(fast_equivalents[gelu_tanh])


@jitable
def project(out, x, weight, bias):
    """Write the product of a row and a matrix, plus the bias."""
    out[:] = bias
    add_rows(out, x, 0, 1, weight, 0, len(out), len(x))


@jitable
def attend_one(out, query, keys, values, scores, weights, first, tokens):
    """Write the mean of a head's values, weighted by softmax(query · keys / √size); its keys and values begin at `first`."""
    size = len(query)
    dot_rows(scores[:tokens], query, keys, first, size)
    scale = scores.dtype.type(1 / math.sqrt(size))
    for t in range(tokens):
        scores[t] *= scale
    _, total = exp_row(weights[:tokens], scores[:tokens])
    out[:] = 0
    add_rows(out, weights, 0, 1, values, first, size, tokens)
    for j in range(size):
        out[j] /= total


class DecodeKernels(NamedTuple):
    """The compiled kernels for new tokens; see `decode_kernels`."""

    block: Any
    logits: Any


@cache
def decode_kernels() -> DecodeKernels:
    """Make the kernels for new tokens: `language.model.Block.forward`, and the last normalization with the output layer.

    The arguments of the first are x, (tokens, width), which it changes; the block's parameters, each flat: weight and bias of ln_1,
    attn.c_attn, attn.c_proj, ln_2, mlp.c_fc and mlp.c_proj; the memory for keys and values of one text, (heads, capacity, size), to which
    those of the tokens are added; the number of heads; the number of tokens before; and eps of the normalizations.
    """
    key = code_key()

    @serial
    def block(x, parameters, keys, values, heads, before, eps):
        _ = key
        scale_1, shift_1, inner, inner_bias, merge, merge_bias, scale_2, shift_2, up, up_bias, down, down_bias = parameters
        tokens, width = x.shape
        size, memory = width // heads, len(keys) // heads
        normal, attended, projected, hidden = aligned(width, x), aligned(width, x), aligned(3 * width, x), aligned(len(up_bias), x)
        scores, weights = aligned(before + tokens, x), aligned(before + tokens, x)
        for i in range(tokens):
            row, here = x[i], before + i
            normalize_one(normal, row, scale_1, shift_1, eps, True)
            project(projected, normal, inner, inner_bias)
            for head in range(heads):
                first, own, last = head * memory, head * size, head * memory + here * size
                keys[last : last + size] = projected[width + own : width + own + size]
                values[last : last + size] = projected[2 * width + own : 2 * width + own + size]
                query, target = projected[own : own + size], attended[own : own + size]
                attend_one(target, query, keys, values, scores, weights, first, here + 1)
            project(normal, attended, merge, merge_bias)
            for j in range(width):
                row[j] += normal[j]
            normalize_one(normal, row, scale_2, shift_2, eps, True)
            project(hidden, normal, up, up_bias)
            for j in range(len(hidden)):
                hidden[j] = gelu(hidden[j])
            project(normal, hidden, down, down_bias)
            for j in range(width):
                row[j] += normal[j]

    @serial
    def logits(out, x, weight, bias, eps, table):
        _ = key
        normal = aligned(x.shape[1], x)
        for i in range(len(x)):
            normalize_one(normal, x[i], weight, bias, eps, True)
            dot_rows(out[i], normal, table, 0, x.shape[1])

    return DecodeKernels(block, logits)
