"""Stage 6 - Multi-head attention and the transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch.nn as engine
from minitorch.nn.encoder import causal_mask
from minitorch.nn.init import xavier_uniform_, zeros_
from minitorch.nn.linears import NonDynamicallyQuantizableLinear
from minitorch.nn.normalization import LayerNorm
from minitorch.nn.options import refuse_unless
from minitorch.tensor import zeros
from minitorch.torch.nn.module import Module, adapt
from minitorch.torch.placement import placement
from minitorch.torch.tensor import Tensor, as_torch


class MultiheadAttention(adapt(engine.MultiheadAttention)):
    """Multi-head attention.

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

    Raises:
        NotImplementedError: If add_bias_kv or add_zero_attn is set.
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
        refuse_unless("MultiheadAttention", add_bias_kv=(add_bias_kv, False), add_zero_attn=(add_zero_attn, False))
        options: dict[str, Any] = {"kdim": kdim, "vdim": vdim, "batch_first": batch_first, "device": device, "dtype": dtype}
        super().__init__(embed_dim, num_heads, dropout, bias, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "out_proj" and type(self.out_proj).__name__ == "Linear":
            self.out_proj.__class__ = NonDynamicallyQuantizableLinear  # PyTorch's name for it, which its repr shows

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""

    def reset_parameters(self) -> None:
        """Initialize the input projections by `init.xavier_uniform_`, the output projection as a linear layer, and biases to zeros."""
        self.out_proj.reset_parameters()
        for name, parameter in self.named_parameters():
            if "bias" in name:
                zeros_(parameter)
            elif not name.startswith("out_proj"):
                xavier_uniform_(parameter)


class _EngineFunction:
    """A function of Tensors as one of the engine's tensors."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, x: Any) -> Any:
        """Apply the function."""
        return self.fn(x)


class _TransformerLayer:
    """What the layers of encoder and decoder have beyond the engine's.

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
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
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
        fn = _EngineFunction(activation) if callable(activation) else activation
        args = (d_model, nhead, dim_feedforward, dropout, fn, layer_norm_eps, batch_first, norm_first, bias)
        super().__init__(*args, device=device, dtype=dtype)  # type: ignore[call-arg]  # of the adapted class

    def reset_parameters(self) -> None:
        """Initialize attention and linear layers."""
        layer: Any = self
        for name in ("self_attn", "multihead_attn", "linear1", "linear2"):
            if name in layer._modules:
                getattr(layer, name).reset_parameters()

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class TransformerEncoderLayer(_TransformerLayer, adapt(engine.TransformerEncoderLayer)):
    """Self-attention and a feed-forward network; for the arguments see its first base class."""


class TransformerDecoderLayer(_TransformerLayer, adapt(engine.TransformerDecoderLayer)):
    """Self-attention, attention to the encoder's output, and a feed-forward network; for the arguments see its first base class."""


class TransformerEncoder(adapt(engine.TransformerEncoder)):
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
        super().__init__(encoder_layer, num_layers, norm)


class TransformerDecoder(adapt(engine.TransformerDecoder)):
    """A stack of decoder layers.

    Args:
        decoder_layer: The layer, which is copied.
        num_layers: Number of copies.
        norm: A module applied to the output, or None.
    """


class Transformer(Module):
    """An encoder and a decoder; matrices are initialized by `init.xavier_uniform_`.

    Args:
        d_model: Dimension of each sequence element, E.
        nhead: Number of heads; must divide d_model.
        num_encoder_layers: Number of layers of the encoder.
        num_decoder_layers: Number of layers of the decoder.
        dim_feedforward: Hidden dimension of the feed-forward networks.
        dropout: Dropout probability.
        activation: "relu", "gelu" or a function from Tensor to Tensor.
        custom_encoder: A module in place of the encoder.
        custom_decoder: A module in place of the decoder.
        layer_norm_eps: See `LayerNorm`.
        batch_first: Whether sequences have shape (N, L, E) instead of (L, N, E).
        norm_first: Whether layers normalize before attention and feed-forward network.
        bias: Whether linear layers, attention and norms have biases.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

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

        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*args), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*args), num_decoder_layers, norm())
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
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A float mask, shape (sz, sz), that adds -∞ to the scores of later elements."""
        return as_torch(causal_mask(zeros((1,), **placement(device, dtype)), sz))
