"""Stage 7 - Scaled dot-product attention and multi-head attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch.core.dtypes import bool_, float32, is_float
from minitorch.core.errors import DtypeError
from minitorch.core.kernel import register_kernel
from minitorch.kernels.attention import TILE, WIDTHS, AttentionSizes, kernels_for, run
from minitorch.kernels.loop import accepts, flat, loop
from minitorch.kernels.softmax import SOFTMAX_BACKWARD, exp_row, run_rows
from minitorch.nn.dropouts import dropout
from minitorch.nn.functional import softmax
from minitorch.nn.init import xavier_uniform_, zeros_
from minitorch.nn.linears import NonDynamicallyQuantizableLinear, linear
from minitorch.nn.module import Module
from minitorch.nn.options import refuse_unless
from minitorch.nn.parameter import Parameter
from minitorch.ops.checks import check_float_tensor, check_probability, positive_ints
from minitorch.tensor import Tensor, tensor, zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.torch.placement import placement
from minitorch.torch.promotion import cast, require_one_dtype


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Scaled dot-product attention: softmax(query · keyᵀ · scale) · value.

    Args:
        query: Shape (…, L, E).
        key: Shape (…, S, E); the batch dimensions broadcast.
        value: Shape (…, S, V).
        attn_mask: Must broadcast to (…, L, S). A bool mask is True where a query attends to a key; a float mask is added to the scores.
        dropout_p: Dropout probability of the attention weights; pass 0 in evaluation.
        is_causal: Whether query i attends only to keys up to i.
        scale: Factor of the scores; 1 / √E by default.
        enable_gqa: False.

    Returns:
        Shape (…, L, V). A query whose keys are all masked gets zeros.

    Raises:
        TypeError: If an argument is not a floating-point Tensor, or the mask is neither bool nor floating-point.
        ValueError: If the shapes do not match, or dropout_p is outside [0, 1].
        NotImplementedError: If enable_gqa is set.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1.
    """
    op = "scaled_dot_product_attention"
    refuse_unless(op, enable_gqa=(enable_gqa, False))
    for name, x in (("query", query), ("key", key), ("value", value)):
        _check_float_input(op, name, x)
    require_one_dtype(op, query, key, value)
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2] or not key.shape[-2] or not query.shape[-1]:
        raise ValueError(
            f"{op} expected query (…, L, E), key (…, S, E) and value (…, S, V) with S and E of at least 1, got {query.shape}, {key.shape} "
            f"and {value.shape}"
        )
    return _attend(op, query, key, value, attn_mask, check_probability(op, "dropout_p", dropout_p, "a weight"), is_causal, scale)


def _attend(
    op: str, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool, scale: float | None
) -> Tensor:
    """`scaled_dot_product_attention` of checked arguments: without dropout in tiles, if there is a kernel."""
    if not dropout_p and FusedAttention.accepts(query, key, value, mask):
        if mask is not None and mask.dtype.kind == "b":
            mask = query.zeros(mask.shape).where(mask, -math.inf)
        return FusedAttention.apply(query, key, value, mask, is_causal, _scale(query, scale))
    return dropout(attention_weights(op, query, key, mask, is_causal, scale), dropout_p) @ value


def _scale(query: Tensor, scale: float | None) -> float:
    """The factor of the scores."""
    return 1 / math.sqrt(query.shape[-1]) if scale is None else scale


def attention_weights(op: str, query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None) -> Tensor:
    """Return the attention weights, shape (…, L, S); for the arguments see `scaled_dot_product_attention`."""
    scores = (query * _scale(query, scale)) @ key.transpose(-1, -2)
    if mask is None:
        if not is_causal:
            return softmax(scores, -1)
        return CausalSoftmax.apply(scores) if accepts(scores) and scores.numel() else CausalSoftmax.composed(scores)
    _check_mask(op, mask, scores)
    allowed = mask.detach().to_numpy() if mask.dtype.kind == "b" else mask.detach().to_numpy() > -math.inf
    scores = scores + (additive_mask(scores, allowed) if mask.dtype.kind == "b" else cast(mask, scores.dtype))
    if is_causal:
        lower_triangle = np.tri(*scores.shape[-2:], dtype=bool)
        scores, allowed = scores + additive_mask(scores, lower_triangle), allowed & lower_triangle
    has_keys = allowed.any(-1, keepdims=True)
    if has_keys.all():
        return softmax(scores, -1)
    attending = tensor(has_keys, scores.backend)  # softmax of a fully masked row would be NaN
    return softmax(scores.where(attending, 0.0), -1) * attending.to(scores.dtype)


def additive_mask(like: Tensor, allowed: np.ndarray) -> Tensor:
    """Return a float mask: 0 where attention is allowed, else -∞."""
    return tensor(np.where(allowed, 0.0, -math.inf), like.backend, dtype=like.dtype)


class FusedAttention(Function):
    """Attention in tiles. No matrix of all scores is made, neither forward nor backward."""

    @staticmethod
    def accepts(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
        """Whether there is a kernel for these tensors: of one batch shape and dtype, with a mask for all heads or for each."""
        batch, scores = query.shape[:-2], (query.shape[-2], key.shape[-2])
        if not all(x.shape[:-2] == batch and x.dtype == query.dtype and accepts(x) for x in (query, key, value)):
            return False
        if mask is not None:
            floats = isinstance(mask, Tensor) and (mask.dtype == query.dtype or mask.dtype.kind == "b") and not mask.requires_grad
            if not floats or mask.shape[-2:] != scores or mask.shape[:-2] not in (batch, (1,) * len(batch), ()):
                return False
        return max(query.shape[-1], value.shape[-1]) <= WIDTHS[-1]

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
        sizes = _sizes(query, key, value, mask, is_causal)
        out = TensorData.empty((*query.shape[:-1], value.shape[-1]), query.dtype)
        logsumexp = TensorData.empty(query.shape[:-1], query.dtype)
        arrays = (out._storage, logsumexp._storage, *map(flat, (query, key, value)), out._storage if mask is None else flat(mask))
        run(kernels_for(sizes, arrays[0].itemsize).forward, arrays, sizes, scale, sizes.heads * -(-sizes.queries // TILE))
        y = query._like(out)
        ctx.save_for_backward(query, key, value, mask, y, query._like(logsumexp), sizes, scale)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, mask, y, logsumexp, sizes, scale = ctx.saved_values
        grads = [TensorData.empty(x.shape, x.dtype) for x in (query, key, value)]
        arrays = [flat(x) for x in (grad_output, y, logsumexp, query, key, value)]
        run(
            kernels_for(sizes, arrays[0].itemsize).backward,
            (*[x._storage for x in grads], *arrays, arrays[0] if mask is None else flat(mask)),
            sizes,
            scale,
            sizes.heads,
        )
        return *[query._like(x) for x in grads], None, None, None

    @staticmethod
    def composed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        return attention_weights("attention", query, key, mask, is_causal, scale) @ value


def attend_in_tiles(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """What replaces `minitorch.language.attention.attention` on the compiled backend."""
    if not FusedAttention.accepts(query, key, value, mask):
        return NotImplemented
    return scaled_dot_product_attention(query, key, value, mask)


register_kernel("attention", "fast", attend_in_tiles)


def _sizes(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool) -> AttentionSizes:
    """The sizes of a call of a fused kernel."""
    heads = math.prod(query.shape[:-2])
    masks = 0 if mask is None else math.prod(mask.shape[:-2])
    return AttentionSizes(heads, query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1], int(is_causal), masks)


class CausalSoftmax(Function):
    """Softmax of each row up to the diagonal, 0 after it."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        y = TensorData.empty(a.shape, a.dtype)
        queries, keys = a.shape[-2:]
        CAUSAL.run(y._storage, (flat(a),), (keys, queries), a.numel() // keys)
        out = a._like(y)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return run_rows(SOFTMAX_BACKWARD, *ctx.saved_values, grad_output)

    composed = staticmethod(lambda a: softmax(a + additive_mask(a, np.tri(*a.shape[-2:], dtype=bool)), -1))


def causal_softmax_rows(out, a, b, c, sizes, start, stop):
    """Softmax of rows up to the diagonal. A task is one row; sizes are the row length and the number of rows per matrix."""
    n, queries = sizes
    for task in range(start, stop):
        visible = min(task % queries + 1, n)
        row, target = a[task * n : task * n + visible], out[task * n : (task + 1) * n]
        _, total = exp_row(target[:visible], row)
        for j in range(visible):
            target[j] = target[j] / total
        for j in range(visible, n):
            target[j] = 0


CAUSAL = loop(causal_softmax_rows, 3)


# Argument checks


def _check_float_input(op: str, name: str, x: Any, dims: int = 2) -> None:
    """Check that an argument is a floating-point tensor with enough dimensions."""
    if check_float_tensor(op, x, name).dims < dims:
        raise ValueError(f"{op} expected {name} of at least {dims} dimensions, got shape {x.shape}")


def _check_mask_dtype(op: str, name: str, mask: Any) -> None:
    """Check that a mask is a bool or floating-point tensor."""
    if not isinstance(mask, Tensor) or not (mask.dtype.kind == "b" or is_float(mask.dtype)):
        got = mask.dtype.name if isinstance(mask, Tensor) else type(mask).__name__
        raise DtypeError(f"{op} expected a Tensor of bool or floats as {name}, got {got}; convert it, for example with x != 0")


def _check_mask(op: str, mask: Any, scores: Tensor) -> None:
    """Check the dtype of a mask, which must be bool, float32 or that of the scores, and that it broadcasts to these."""
    _check_mask_dtype(op, "mask", mask)
    if mask.dtype not in (bool_, float32, scores.dtype):
        raise DtypeError(f"{op} expected a mask of bool or {scores.dtype.name}, got {mask.dtype.name}; convert it: mask.to(query.dtype)")
    given, shape = mask.shape, scores.shape
    if len(given) > len(shape) or any(n not in (1, m) for n, m in zip(reversed(given), reversed(shape), strict=False)):
        raise ValueError(f"{op} expected a mask that broadcasts to the scores, {shape}, got {given}")


# The layer


class MultiheadAttention(Module):
    """Multi-head attention: heads attend in parallel, each with its own projections of queries, keys and values.

    Args:
        embed_dim: Dimension of each sequence element, E.
        num_heads: Number of heads; must divide embed_dim.
        dropout: Dropout probability of the attention weights during training.
        bias: Whether the projections have biases, initialized to zeros.
        add_bias_kv: False.
        add_zero_attn: False.
        kdim: Dimension of each key; embed_dim by default.
        vdim: Dimension of each value; embed_dim by default.
        batch_first: Whether sequences have shape (N, L, E) instead of (L, N, E).
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    The projections of queries, keys and values are initialized by `init.xavier_uniform_`, the output projection as `Linear`. The former are
    one matrix, in_proj_weight, if kdim and vdim equal embed_dim.

    Raises:
        TypeError: If a size is not an integer, or dropout is not a number.
        ValueError: If a size is less than 1, num_heads does not divide embed_dim, or dropout is outside [0, 1].
        NotImplementedError: If add_bias_kv or add_zero_attn is set.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name, place = "MultiheadAttention", placement(device, dtype)
        refuse_unless(name, add_bias_kv=(add_bias_kv, False), add_zero_attn=(add_zero_attn, False))
        positive_ints((embed_dim, num_heads), name, "embed_dim and num_heads")
        self.kdim, self.vdim = positive_ints([embed_dim if size is None else size for size in (kdim, vdim)], name, "kdim and vdim")
        if embed_dim % num_heads:
            raise ValueError(f"{name} expected num_heads that divides embed_dim, {embed_dim}, got {num_heads}")
        self.embed_dim, self.num_heads, self.head_dim, self.batch_first = embed_dim, num_heads, embed_dim // num_heads, batch_first
        self.dropout = check_probability(name, "dropout", dropout, "a weight")

        def parameter(exists: bool, *shape: int) -> Parameter | None:
            return Parameter(zeros(shape, **place)) if exists else None

        together = (self.kdim, self.vdim) == (embed_dim, embed_dim)
        self.in_proj_weight = parameter(together, 3 * embed_dim, embed_dim)
        self.q_proj_weight = parameter(not together, embed_dim, embed_dim)
        self.k_proj_weight = parameter(not together, embed_dim, self.kdim)
        self.v_proj_weight = parameter(not together, embed_dim, self.vdim)
        self.in_proj_bias = parameter(bias, 3 * embed_dim)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the projections of queries, keys and values, and all biases."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            zeros_(self.in_proj_bias)
            zeros_(self.out_proj.bias)

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two operations per multiplication in the input projections, scores and weighted sums; out_proj counts its own."""
        sequences: tuple[Any, ...] = args[:3] if len(args) > 2 else args[:1] * 3
        query, key, value = sequences
        length, sources = (x.shape[-2 if self.batch_first else 0] for x in (query, key))
        samples = query.numel() // (length * self.embed_dim) if length else 0
        projections = query.numel() * self.embed_dim + (key.numel() + value.numel()) * self.embed_dim
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
        """Attend to the values and return the outputs and the attention weights.

        Args:
            query: Shape (L, N, E), (N, L, E) if batch_first, or (L, E) without a batch.
            key: Shape (S, N, kdim), (N, S, kdim) or (S, kdim).
            value: Shape (S, N, vdim), (N, S, vdim) or (S, vdim).
            key_padding_mask: Shape (N, S), or (S,) without a batch. A bool mask is True for keys to *ignore*; a float mask is added.
            need_weights: Whether to return the attention weights.
            attn_mask: Shape (L, S) or (N · num_heads, L, S). A bool mask is True for pairs to *ignore*; a float mask is added.
            average_attn_weights: Whether to average the weights over the heads.
            is_causal: Whether query i attends only to keys up to i.

        Returns:
            The outputs, in the layout of query; and the weights, shape (N, L, S) or (N, num_heads, L, S), or None. A query whose keys are
            all masked gets the output projection of zeros.

        Raises:
            TypeError: If an argument is not a floating-point Tensor, or a mask is neither bool nor floating-point.
            ValueError: If a shape does not match.
        """
        name = "MultiheadAttention"
        for part, x in (("query", query), ("key", key), ("value", value)):
            _check_float_input(name, part, x)
        require_one_dtype(name, self.out_proj.weight, query, key, value)
        unbatched = query.dims == 2
        self._check_shapes(query, key, value)
        inputs = [query] if query is key is value else [query, key, value]
        inputs = [x.unsqueeze(0) if unbatched else x if self.batch_first else x.transpose(0, 1) for x in inputs]
        q, k, v = self._project(*inputs)
        mask = self._merge_masks(key_padding_mask, attn_mask, q.shape[0], (q.shape[2], k.shape[2]))
        dropout_p, weights = self.dropout if self.training else 0.0, None
        if need_weights:
            weights = dropout(attention_weights(name, q, k, mask, is_causal, None), dropout_p)
        attended = _attend(name, q, k, v, mask, dropout_p, is_causal, None) if weights is None else weights @ v
        attended = attended.permute(0, 2, 1, 3)
        out = self.out_proj(attended.reshape(*attended.shape[:2], self.embed_dim))
        out = out.squeeze(0) if unbatched else out if self.batch_first else out.transpose(0, 1)
        if weights is None:
            return out, None
        weights = Tensor.mean(weights, 1, keepdim=False) if average_attn_weights else weights
        return out, weights.squeeze(0) if unbatched else weights

    def _check_shapes(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        """Check that the shapes match each other and the layer."""
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

    def _project(self, *inputs: Tensor) -> list[Tensor]:
        """Project sequences (N, length, …) to the queries, keys and values of every head, (N, num_heads, length, E / num_heads).

        A single input is used for all three.
        """
        heads, bias = (self.num_heads, self.head_dim), self.in_proj_bias
        if len(inputs) == 1 and self.in_proj_weight is not None:
            (x,) = inputs
            qkv = linear(x, self.in_proj_weight, bias).view(*x.shape[:2], 3, *heads).transpose(1, 3)
            return [qkv[:, :, i] for i in range(3)]
        weight: Any = self.in_proj_weight
        matrices = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight) if weight is None else weight.split(self.embed_dim)
        biases = [None] * 3 if bias is None else bias.split(self.embed_dim)
        projections = [linear(*each) for each in zip(inputs * 3 if len(inputs) == 1 else inputs, matrices, biases, strict=True)]
        return [x.view(*x.shape[:2], *heads).permute(0, 2, 1, 3) for x in projections]

    def _merge_masks(self, padding: Tensor | None, mask: Tensor | None, samples: int, sizes: tuple[int, int]) -> Tensor | None:
        """Combine both masks into one for `attention_weights`: a bool mask of allowed keys, or a float mask to add."""
        masks = []
        for name, given, shapes in (
            ("key_padding_mask", padding, {(samples, sizes[1]): (samples, 1, 1, sizes[1]), (sizes[1],): (1, 1, 1, sizes[1])}),
            ("attn_mask", mask, {sizes: (1, 1, *sizes), (samples * self.num_heads, *sizes): (samples, self.num_heads, *sizes)}),
        ):
            if given is None:
                continue
            _check_mask_dtype("MultiheadAttention", name, given)
            if given.shape not in shapes:
                wanted = " or ".join(map(str, shapes))
                raise ValueError(f"MultiheadAttention expected {name} of shape {wanted}, got {given.shape}")
            masks.append(given.reshape(*shapes[given.shape]))
        if all(x.dtype.kind == "b" for x in masks):
            masks = [~x for x in masks]
            return masks[0] if len(masks) == 1 else masks[0] & masks[1] if masks else None
        added = [additive_mask(self.out_proj.weight, ~x.to_numpy()) if x.dtype.kind == "b" else x for x in masks]
        return added[0] if len(added) == 1 else added[0] + added[1]
