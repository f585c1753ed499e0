"""Stage 6 - The transformer's encoder and decoder: layers with masks, and stacks of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.nn.attention import MultiheadAttention, additive_mask
from minitorch.nn.containers import ModuleList
from minitorch.nn.dropouts import Dropout
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module
from minitorch.nn.normalization import LayerNorm
from minitorch.nn.transformer import ACTIVATIONS, TransformerBlock

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def causal_mask(like: Tensor, size: int) -> Tensor:
    """A float mask, shape (size, size), that adds -∞ to the scores of later elements; dtype and backend of a tensor."""
    return additive_mask(like, np.tri(size, dtype=bool))


class TransformerEncoderLayer(TransformerBlock):
    """Self-attention and a feed-forward network, each with a residual connection; `TransformerBlock` with masks as arguments.

    Args:
        d_model: Dimension of each sequence element, E.
        nhead: Number of heads; must divide d_model.
        dim_feedforward: Hidden dimension of the feed-forward network.
        dropout: Dropout probability of attention weights, hidden features and residual branches.
        activation: "relu", "gelu" or a function from Tensor to Tensor.
        layer_norm_eps: See `LayerNorm`.
        batch_first: Whether sequences have shape (N, L, E) instead of (L, N, E).
        norm_first: Whether to normalize before attention and feed-forward network.
        bias: Whether linear layers, attention and norms have biases.

    Raises:
        ValueError: See `TransformerBlock`.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, norm_first, bias, False, device, dtype)
        self.batch_first = batch_first

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Return the output, same shape as src.

        Args:
            src: Shape (L, N, E), (N, L, E) if batch_first, or (L, E).
            src_mask: Shape (L, L); see `MultiheadAttention.forward`.
            src_key_padding_mask: Shape (N, L).
            is_causal: Whether elements attend only to earlier ones; a mask that is given says it itself.
        """
        swapped = src.dims == 3 and not self.batch_first
        x = src.transpose(0, 1) if swapped else src
        if is_causal and src_mask is None:
            src_mask = causal_mask(src, x.shape[-2])
        out = super().forward(x, src_mask, src_key_padding_mask)
        return out.transpose(0, 1) if swapped else out


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's output, and a feed-forward network; for the arguments see `TransformerEncoderLayer`.

    Raises:
        ValueError: See `TransformerEncoderLayer`.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not callable(activation) and activation not in ACTIVATIONS:
            raise ValueError(f"TransformerDecoderLayer expected activation {' or '.join(ACTIVATIONS)}, or a function, got {activation!r}")
        self.batch_first, self.norm_first = batch_first, norm_first
        self.activation = ACTIVATIONS[activation] if isinstance(activation, str) else activation
        attention: dict[str, Any] = {"batch_first": batch_first, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        for number in (1, 2, 3):
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype))
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the output, same shape as tgt.

        Args:
            tgt: Sequences of the decoder, shape (T, N, E), (N, T, E) if batch_first, or (T, E).
            memory: Output of the encoder, shape (S, N, E), (N, S, E) or (S, E).
            tgt_mask: Shape (T, T); see `MultiheadAttention.forward`.
            memory_mask: Shape (T, S).
            tgt_key_padding_mask: Shape (N, T).
            memory_key_padding_mask: Shape (N, S).
            tgt_is_causal: Whether elements attend only to earlier ones; a mask that is given says it itself.
            memory_is_causal: The same for the encoder's output.
        """

        def own(x: Tensor) -> Tensor:
            causal = tgt_is_causal and tgt_mask is None
            return self.dropout1(self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=causal)[0])

        def other(x: Tensor) -> Tensor:
            causal = memory_is_causal and memory_mask is None
            return self.dropout2(self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=causal)[0])

        def feed_forward(x: Tensor) -> Tensor:
            return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        x = tgt
        for norm, branch in ((self.norm1, own), (self.norm2, other), (self.norm3, feed_forward)):
            x = x + branch(norm(x)) if self.norm_first else norm(x + branch(x))
        return x


class TransformerEncoder(Module):
    """A stack of encoder layers.

    Args:
        encoder_layer: The layer, which is copied.
        num_layers: Number of copies.
        norm: A module applied to the output, or None.
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None) -> Any:
        """Return the output, same shape as src; for the arguments see `TransformerEncoderLayer.forward`."""
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """A stack of decoder layers.

    Args:
        decoder_layer: The layer, which is copied.
        num_layers: Number of copies.
        norm: A module applied to the output, or None.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Return the output, same shape as tgt; for the arguments see `TransformerDecoderLayer.forward`."""
        x, options = tgt, {"tgt_is_causal": bool(tgt_is_causal), "memory_is_causal": memory_is_causal}
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, **options)
        return x if self.norm is None else self.norm(x)
