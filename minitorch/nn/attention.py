"""Stage 5 - Attention: every element of a sequence gathers from the others what fits it; and with several heads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core.dtypes import is_float
from minitorch.kernels.losses import fusible
from minitorch.kernels.pool import flat, loop
from minitorch.kernels.softmax import SOFTMAX_BACK, by_rows, row_powers
from minitorch.nn.functional import dropout, softmax
from minitorch.nn.init import xavier_uniform_
from minitorch.nn.linear import Linear, linear
from minitorch.nn.module import Module, Parameter
from minitorch.nn.sizes import check_float_tensor, check_probability, positive_ints
from minitorch.tensor import Tensor, tensor, zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """For every query a mean of the values, weighted by softmax of how well their keys fit it: softmax(query · keyᵀ · scale) · value.

    Args:
        query: L queries, shape (…, L, E).
        key: S keys, shape (…, S, E); the dimensions in front broadcast.
        value: S values, shape (…, S, V).
        attn_mask: A shape that broadcasts to (…, L, S): of bool, which keys a query sees (True); of floats, what is added before softmax.
        dropout_p: With which probability a weight becomes 0; the others are divided by what share is left. For training only.
        is_causal: Whether query i sees no key behind number i.
        scale: What products are multiplied with; left out: 1 / √E.

    Returns:
        Shape (…, L, V). A query that sees no key gets zeros.

    Raises:
        TypeError: If one is no Tensor of floats, or the mask holds whole numbers.
        ValueError: If the shapes do not fit, or dropout_p is not from 0 to 1.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1.
    """
    op = "scaled_dot_product_attention"
    for name, x in (("query", query), ("key", key), ("value", value)):
        _check(op, name, x)
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2] or not key.shape[-2] or not query.shape[-1]:
        raise ValueError(
            f"{op} expected query (…, L, E), key (…, S, E) and value (…, S, V) with S and E of at least 1, got {query.shape}, {key.shape} "
            f"and {value.shape}"
        )
    weights = attention_weights(op, query, key, attn_mask, is_causal, scale)
    return dropped(op, weights, dropout_p) @ value


def attention_weights(op: str, query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None) -> Tensor:
    """How much of each value a query gets, shape (…, L, S); for the arguments see `scaled_dot_product_attention`."""
    scores = (query * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)) @ key.transpose(-1, -2)
    if mask is None:
        if not is_causal:
            return softmax(scores, -1)
        return CausalSoftmax.apply(scores) if fusible(scores) and scores.size else CausalSoftmax.composed(scores)
    _check_mask(op, mask, scores.shape)
    seen = mask.detach().to_numpy() if mask.dtype.kind == "b" else mask.detach().to_numpy() > -math.inf
    scores = scores + (minus_infinity(scores, seen) if mask.dtype.kind == "b" else mask)
    if is_causal:
        behind = np.tri(*scores.shape[-2:], dtype=bool)
        scores, seen = scores + minus_infinity(scores, behind), seen & behind
    sees = seen.any(-1, keepdims=True)
    if sees.all():
        return softmax(scores, -1)
    some = tensor(sees, scores.backend)
    return softmax(scores.where(some, 0.0), -1) * some.to(scores.dtype)


def minus_infinity(like: Tensor, seen: np.ndarray) -> Tensor:
    """0 where a key is seen, else -∞."""
    return tensor(np.where(seen, 0.0, -math.inf), like.backend, dtype=like.dtype)


def dropped(op: str, weights: Tensor, p: float) -> Tensor:
    """Weights of which some became 0, their mean as before."""
    if not (p := check_probability(op, "dropout_p", p, "the weights that become 0")):
        return weights
    kept = dropout(weights, p)
    return kept * (1 / (1 - p)) if p < 1 else kept


class CausalSoftmax(Function):
    """Softmax of each row up to its diagonal, 0 behind it."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        y = TensorData.empty(a.shape, a.dtype)
        queries, keys = a.shape[-2:]
        CAUSAL.run(y._storage, (flat(a),), (keys, queries), a.size // keys)
        out = a._like(y)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return by_rows(SOFTMAX_BACK, y, grad_output)

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same of operations on tensors."""
        return softmax(a + minus_infinity(a, np.tri(*a.shape[-2:], dtype=bool)), -1)


def causal_rows(out, a, b, c, sizes, start, stop):
    """Softmax of rows up to the diagonal. A task is a row; sizes are its length, and after how many rows the diagonal begins anew."""
    n, queries = sizes
    for task in range(start, stop):
        seen = min(task % queries + 1, n)
        row, target = a[task * n : task * n + seen], out[task * n : (task + 1) * n]
        _, total = row_powers(target[:seen], row)
        for j in range(seen):
            target[j] = target[j] / total
        for j in range(seen, n):
            target[j] = 0


CAUSAL = loop(causal_rows, 3)


# Checks


def _check(op: str, name: str, x: Any, dims: int = 2) -> None:
    """That an argument is a tensor of floats with enough dimensions."""
    if check_float_tensor(op, x, name).dims < dims:
        raise ValueError(f"{op} expected {name} of at least {dims} dimensions, got shape {x.shape}")


def _check_kind(op: str, name: str, mask: Any) -> None:
    """That a mask holds truth values or floats."""
    if not isinstance(mask, Tensor) or not (mask.dtype.kind == "b" or is_float(mask.dtype)):
        got = mask.dtype.name if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"{op} expected a Tensor of bool or floats as {name}, got {got}; compare first, such as x != 0")


def _check_mask(op: str, mask: Any, shape: tuple[int, ...]) -> None:
    """That a mask broadcasts to the scores, and holds truth values or floats."""
    _check_kind(op, "mask", mask)
    given = mask.shape
    if len(given) > len(shape) or any(n not in (1, m) for n, m in zip(reversed(given), reversed(shape), strict=False)):
        raise ValueError(f"{op} expected a mask that broadcasts to the scores, {shape}, got {given}")


# The layers


class MultiheadAttention(Module):
    """Attention of several heads side by side, each of which sees queries, keys and values through matrices of its own.

    Args:
        embed_dim: E, numbers of each element.
        num_heads: How many heads; must divide embed_dim.
        dropout: With which probability a weight becomes 0 in training.
        bias: Whether the projections have biases, which begin as zeros.
        kdim: Numbers of each key; left out: embed_dim.
        vdim: Numbers of each value; left out: embed_dim.
        batch_first: Whether sequences come as (N, L, E), not as (L, N, E).

    The projections begin as `init.xavier_uniform_`, those of queries, keys and values as one matrix in_proj_weight unless kdim or vdim is
    another than embed_dim.

    Raises:
        TypeError: If a size is not whole, or dropout no number.
        ValueError: If a size is less than 1, num_heads does not divide embed_dim, or dropout is not from 0 to 1.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = "MultiheadAttention"
        positive_ints((embed_dim, num_heads), name, "embed_dim and num_heads")
        self.kdim, self.vdim = positive_ints([embed_dim if size is None else size for size in (kdim, vdim)], name, "kdim and vdim")
        if embed_dim % num_heads:
            raise ValueError(f"{name} expected num_heads that divides embed_dim, {embed_dim}, got {num_heads}")
        dropout = check_probability(name, "dropout", dropout, "the weights that become 0")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        if (self.kdim, self.vdim) == (embed_dim, embed_dim):
            self.in_proj_weight = Parameter(zeros((3 * embed_dim, embed_dim), backend, dtype=dtype))
            xavier_uniform_(self.in_proj_weight)
        else:
            for part, size in zip("qkv", (embed_dim, self.kdim, self.vdim), strict=True):
                xavier_uniform_(self.add_parameter(f"{part}_proj_weight", zeros((embed_dim, size), backend, dtype=dtype)).value)
        self.in_proj_bias = Parameter(zeros((3 * embed_dim,), backend, dtype=dtype)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, backend, dtype)
        xavier_uniform_(self.out_proj.weight)

    def extra_repr(self) -> str:
        """Its settings."""
        return f"{self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}, batch_first={self.batch_first}"

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two for each number of the three projections, and for each product with keys and with values; out_proj counts its own."""
        sequences: tuple[Any, ...] = args[:3] if len(args) > 2 else args[:1] * 3
        query, key, value = sequences
        length, sources = (x.shape[-2 if self.batch_first else 0] for x in (query, key))
        samples = query.size // (length * self.embed_dim) if length else 0
        projections = query.size * self.embed_dim + (key.size + value.size) * self.embed_dim
        return 2 * projections + 4 * samples * length * sources * self.embed_dim

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """What every query gathers, and the weights of the keys in it.

        Args:
            query: Shape (L, N, E), or (N, L, E) if batch_first; (L, E) of one sequence.
            key: Shape (S, N, kdim), or (N, S, kdim), or (S, kdim).
            value: Shape (S, N, vdim), or (N, S, vdim), or (S, vdim).
            key_padding_mask: Shape (N, S), or (S,) of one sequence: of bool, which keys are *not* seen (True); of floats, what is added.
            need_weights: Whether the weights are returned.
            attn_mask: Shape (L, S) or (N · num_heads, L, S): of bool, what is *not* seen (True); of floats, what is added.
            average_attn_weights: Whether the weights are the mean over the heads.
            is_causal: Whether query i sees no key behind number i.

        Returns:
            The result, in the layout of query; and the weights, shape (N, L, S) or (N, num_heads, L, S), or None. A query that sees no key
            gets the projection of zeros.

        Raises:
            TypeError: If one is no Tensor of floats, or a mask holds whole numbers.
            ValueError: If a shape does not fit.
        """
        name = "MultiheadAttention"
        for part, x in (("query", query), ("key", key), ("value", value)):
            _check(name, part, x)
        alone = query.dims == 2
        self._check_shapes(query, key, value)
        given = [query] if query is key is value else [query, key, value]
        parts = [x.unsqueeze(0) if alone else x if self.batch_first else x.transpose(0, 1) for x in given]
        q, k, v = self._projected(*parts)
        mask = self._mask(key_padding_mask, attn_mask, q.shape[0], (q.shape[2], k.shape[2]))
        weights = attention_weights(name, q, k, mask, is_causal, None)
        weights = dropped(name, weights, self.dropout if self.training else 0.0)
        gathered = (weights @ v).permute(0, 2, 1, 3)
        out = self.out_proj(gathered.reshape(*gathered.shape[:2], self.embed_dim))
        out = out.squeeze(0) if alone else out if self.batch_first else out.transpose(0, 1)
        if not need_weights:
            return out, None
        weights = weights.mean(1, keepdim=False) if average_attn_weights else weights
        return out, weights.squeeze(0) if alone else weights

    def _check_shapes(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        """That sequences fit each other and the layer."""
        sizes = (self.embed_dim, self.kdim, self.vdim)
        batch = 0 if self.batch_first else 1
        fits = all(x.dims == query.dims and x.shape[-1] == size for x, size in zip((query, key, value), sizes, strict=True))
        fits = fits and query.dims in (2, 3) and key.shape[:-1] == value.shape[:-1]
        if not fits or (query.dims == 3 and query.shape[batch] != key.shape[batch]):
            layouts = [f"(N, {n}, {size})" if self.batch_first else f"({n}, N, {size})" for n, size in zip("LSS", sizes, strict=True)]
            raise ValueError(
                f"MultiheadAttention expected query, key and value of shapes {', '.join(layouts)}, or each without N, "
                f"got {query.shape}, {key.shape} and {value.shape}"
            )

    def _projected(self, *parts: Tensor) -> list[Tensor]:
        """Queries, keys and values of every head, shape (N, num_heads, length, E / num_heads), from sequences (N, length, …)."""
        size, heads = self.embed_dim, self.num_heads
        bias = self.in_proj_bias and self.in_proj_bias.value
        if len(parts) == 1 and "in_proj_weight" in self._parameters:
            (x,) = parts
            together = linear(x, self.in_proj_weight.value, bias).view(*x.shape[:2], 3, heads, size // heads).permute(2, 0, 3, 1, 4)
            return [together[i] for i in range(3)]
        parts = parts * 3 if len(parts) == 1 else parts
        if "in_proj_weight" in self._parameters:
            matrices = self.in_proj_weight.value.split(size)
        else:
            matrices = [self._parameters[f"{part}_proj_weight"].value for part in "qkv"]
        biases = [None] * 3 if bias is None else bias.split(size)
        made = [linear(x, matrix, b) for x, matrix, b in zip(parts, matrices, biases, strict=True)]
        return [x.view(*x.shape[:2], heads, size // heads).permute(0, 2, 1, 3) for x in made]

    def _mask(self, padding: Tensor | None, mask: Tensor | None, samples: int, sizes: tuple[int, int]) -> Tensor | None:
        """Both masks as one, of bool for what is seen, or of floats that are added."""
        found = []
        for name, given, shapes in (
            ("key_padding_mask", padding, {(samples, sizes[1]): (samples, 1, 1, sizes[1]), (sizes[1],): (1, 1, 1, sizes[1])}),
            ("attn_mask", mask, {sizes: (1, 1, *sizes), (samples * self.num_heads, *sizes): (samples, self.num_heads, *sizes)}),
        ):
            if given is None:
                continue
            _check_kind("MultiheadAttention", name, given)
            if given.shape not in shapes:
                wanted = " or ".join(map(str, shapes))
                raise ValueError(f"MultiheadAttention expected {name} of shape {wanted}, got {given.shape}")
            found.append(given.reshape(*shapes[given.shape]))
        if all(x.dtype.kind == "b" for x in found):
            found = [~x for x in found]
            return found[0] if len(found) == 1 else found[0] & found[1] if found else None
        added = [minus_infinity(self.out_proj.weight.value, ~x.to_numpy()) if x.dtype.kind == "b" else x for x in found]
        return added[0] if len(added) == 1 else added[0] + added[1]
