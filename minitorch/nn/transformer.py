"""Stage 7 - The transformer: layers of its encoder and decoder, stacks of them, and both together."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.nn.attention import MultiheadAttention
from minitorch.nn.containers import ModuleList
from minitorch.nn.dropouts import Dropout
from minitorch.nn.init import xavier_uniform_
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module
from minitorch.nn.normalization import LayerNorm
from minitorch.ops.activations import gelu, relu
from minitorch.tensor import tensor
from minitorch.torch.placement import placement
from minitorch.torch.tensor import as_torch

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "gelu": gelu}
"""Activations of the feed-forward network by name."""


class _TransformerLayer(Module):
    """Base class of the layers of encoder and decoder; for the arguments see `TransformerEncoderLayer`."""

    ATTENTIONS: tuple[str, ...]

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
            raise ValueError(f"{type(self).__name__} expected activation {' or '.join(ACTIVATIONS)}, or a function, got {activation!r}")
        on, numbers = {"device": device, "dtype": dtype}, range(1, len(self.ATTENTIONS) + 2)
        self.norm_first = norm_first
        for name in self.ATTENTIONS:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **on))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **on)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **on)
        for number in numbers:
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, **on))
        for number in numbers:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = ACTIVATIONS[activation] if isinstance(activation, str) else activation

    def _add(self, number: int, x: Tensor, branch: Callable[[Tensor], Tensor]) -> Tensor:
        """x plus dropout of a branch, with the norm before the branch or after the addition."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        return x + dropout(branch(norm(x))) if self.norm_first else norm(x + dropout(branch(x)))

    def _feed_forward(self, x: Tensor) -> Tensor:
        """The feed-forward network."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feed-forward network, each with dropout, a residual connection and a layer norm.

    Args:
        d_model: Dimension of each sequence element, E.
        nhead: Number of heads; must divide d_model.
        dim_feedforward: Hidden dimension of the feed-forward network.
        dropout: Dropout probability of attention weights, hidden features and residual branches.
        activation: "relu", "gelu" or a function from Tensor to Tensor.
        layer_norm_eps: See `LayerNorm`.
        batch_first: Whether sequences have shape (N, L, E) instead of (L, N, E).
        norm_first: Whether to normalize before attention and feed-forward network (pre-norm) instead of after the residual addition, as in
            the paper (post-norm).
        bias: Whether linear layers, attention and norms have biases.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    Parameters are initialized as in `MultiheadAttention`, `Linear` and `LayerNorm`.

    Raises:
        ValueError: If a size is less than 1, nhead does not divide d_model, dropout is outside [0, 1], or activation is neither a known
            name nor a function.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1; pre-norm: Xiong et al. 2020, arXiv:2002.04745.
    """

    ATTENTIONS = ("self_attn",)

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Return the output, same shape as src.

        Args:
            src: Shape (L, N, E), (N, L, E) if batch_first, or (L, E).
            src_mask: Shape (L, L); see `MultiheadAttention.forward`.
            src_key_padding_mask: Shape (N, L).
            is_causal: Whether elements attend only to earlier ones and themselves, also without a mask.
        """

        def attention(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]

        return self._add(2, self._add(1, src, attention), self._feed_forward)


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to the encoder's output, and a feed-forward network; for the arguments see `TransformerEncoderLayer`.

    Raises:
        ValueError: See `TransformerEncoderLayer`.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1.
    """

    ATTENTIONS = ("self_attn", "multihead_attn")

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
            tgt_is_causal: Whether elements attend only to earlier ones and themselves, also without a mask.
            memory_is_causal: The same for the encoder's output.
        """

        def own(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def other(x: Tensor) -> Tensor:
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal)[0]

        return self._add(3, self._add(2, self._add(1, tgt, own), other), self._feed_forward)


class TransformerEncoder(Module):
    """A stack of encoder layers.

    Args:
        encoder_layer: The layer, which is copied.
        num_layers: Number of copies.
        norm: A module applied to the output, or None.
        enable_nested_tensor: Has no effect: PyTorch's saves time where sequences are padded.
        mask_check: Has no effect.
    """

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True, mask_check: bool = True
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

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


class Transformer(Module):
    """An encoder and a decoder; matrices are initialized by `init.xavier_uniform_`.

    Args:
        d_model: See `TransformerEncoderLayer` for the arguments that are not described here, and for the errors.
        num_encoder_layers: Number of layers of the encoder.
        num_decoder_layers: Number of layers of the decoder.
        custom_encoder: A module in place of the encoder.
        custom_decoder: A module in place of the decoder.

    Source: Vaswani et al. 2017, arXiv:1706.03762.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        args = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*args), num_encoder_layers, norm())
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*args), num_decoder_layers, norm())
        self.encoder, self.decoder = custom_encoder, custom_decoder
        for parameter in self.parameters():
            if parameter.dims > 1:
                xavier_uniform_(parameter)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the decoder's output, same shape as tgt."""
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.decoder(tgt, memory, *masks, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """A float mask, shape (sz, sz), that adds -∞ to the scores of later elements."""
        return as_torch(tensor(np.where(np.tri(sz), 0.0, -math.inf), **placement(device, dtype)))
