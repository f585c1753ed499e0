"""Stage 6 - The transformer block: self-attention and a feed-forward network, each with a residual connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minitorch.nn.attention import MultiheadAttention
from minitorch.nn.dropouts import Dropout
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module
from minitorch.nn.normalization import LayerNorm
from minitorch.ops.activations import gelu, relu

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "gelu": gelu}
"""Activations of the feed-forward network by name."""


class TransformerBlock(Module):
    """Transformer block: x + attention(norm1(x)), then x + linear2(activation(linear1(norm2(x)))), for sequences (N, L, E).

    Equivalent to PyTorch's TransformerEncoderLayer (batch_first) with a causal mask, including the parameter names. Parameters are
    initialized as in `MultiheadAttention`, `Linear` and `LayerNorm`.

    Args:
        d_model: Dimension of each sequence element, E.
        nhead: Number of heads; must divide d_model.
        dim_feedforward: Hidden dimension of the feed-forward network.
        dropout: Dropout probability of attention weights, hidden features and residual branches.
        activation: "relu", "gelu" or a function from Tensor to Tensor.
        layer_norm_eps: See `LayerNorm`.
        norm_first: Whether to normalize before attention and feed-forward network (pre-norm); otherwise after the residual addition, as
            in the paper (post-norm).
        bias: Whether linear layers, attention and norms have biases.
        is_causal: Whether elements attend only to earlier elements and themselves.

    Raises:
        ValueError: If a size is less than 1, nhead does not divide d_model, dropout is outside [0, 1], or activation is neither a known
            name nor a function.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1; pre-norm: Xiong et al. 2020, arXiv:2002.04745.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        norm_first: bool = True,
        bias: bool = True,
        is_causal: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not callable(activation) and activation not in ACTIVATIONS:
            raise ValueError(f"TransformerBlock expected activation {' or '.join(ACTIVATIONS)}, or a function, got {activation!r}")
        self.norm_first, self.is_causal = norm_first, is_causal
        self.activation = ACTIVATIONS[activation] if isinstance(activation, str) else activation
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=True, device=device, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)

    def forward(self, input: Tensor, attn_mask: Tensor | None = None, key_padding_mask: Tensor | None = None) -> Tensor:
        """Return the output, same shape as input, (N, L, E) or (L, E); for the masks see `MultiheadAttention.forward`."""
        if self.norm_first:
            x = input + self._self_attention(self.norm1(input), attn_mask, key_padding_mask)
            return x + self._feed_forward(self.norm2(x))
        x = self.norm1(input + self._self_attention(input, attn_mask, key_padding_mask))
        return self.norm2(x + self._feed_forward(x))

    def _self_attention(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None) -> Tensor:
        """Self-attention with dropout."""
        out, _ = self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=self.is_causal)
        return self.dropout1(out)

    def _feed_forward(self, x: Tensor) -> Tensor:
        """Feed-forward network with dropout."""
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
