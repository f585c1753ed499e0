"""Stage 5 - The block that transformers are stacked from: attention, then two linear layers, each added to what came in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minitorch.nn.activations import gelu, relu
from minitorch.nn.attention import MultiheadAttention
from minitorch.nn.layers import Dropout
from minitorch.nn.linear import Linear
from minitorch.nn.module import Module
from minitorch.nn.normalization import LayerNorm
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend
    from minitorch.tensor import Tensor

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "gelu": gelu}
"""What may stand between the two linear layers, by name."""


class TransformerBlock(Module):
    """x + attention(norm1(x)), then x + linear2(activation(linear1(norm2(x)))); sequences come as (N, L, E).

    With the same weights it computes what PyTorch's TransformerEncoderLayer of these settings (batch_first) does with a causal mask: its
    parameters have the same names. They begin as in `MultiheadAttention`, `Linear` and `LayerNorm`.

    Args:
        d_model: E, numbers of each element.
        nhead: How many heads; must divide d_model.
        dim_feedforward: Numbers between the two linear layers.
        dropout: With which probability a weight of attention, a number between the linear layers, and one that is added become 0 in
            training.
        activation: "relu", "gelu", or a function of a tensor.
        layer_norm_eps: See LayerNorm.
        norm_first: Whether attention and linear layers get what is normalized; else (as in the paper) what comes out of them is, after it
            was added.
        bias: Whether linear layers, attention and norms have biases.
        is_causal: Whether no element sees those behind it.

    Raises:
        ValueError: If a size is less than 1, nhead does not divide d_model, dropout is not from 0 to 1, or activation is an unknown
            word or no function.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1; norms first: Xiong et al. 2020, arXiv:2002.04745.
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
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not callable(activation) and activation not in ACTIVATIONS:
            raise ValueError(f"TransformerBlock expected activation {' or '.join(ACTIVATIONS)}, or a function, got {activation!r}")
        self.norm_first, self.is_causal = norm_first, is_causal
        self.activation = ACTIVATIONS[activation] if isinstance(activation, str) else activation
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=True, backend=backend, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, backend, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, backend, dtype)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, backend=backend, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, backend=backend, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)

    def forward(self, input: Tensor, attn_mask: Tensor | None = None, key_padding_mask: Tensor | None = None) -> Tensor:
        """Of shape (N, L, E) or (L, E), which stays; for the masks see `MultiheadAttention.forward`."""
        if self.norm_first:
            x = input + self._attended(self.norm1(input), attn_mask, key_padding_mask)
            return x + self._fed_forward(self.norm2(x))
        x = self.norm1(input + self._attended(input, attn_mask, key_padding_mask))
        return self.norm2(x + self._fed_forward(x))

    def _attended(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None) -> Tensor:
        """What the elements gather from each other."""
        out, _ = self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=self.is_causal)
        return self.dropout1(out)

    def _fed_forward(self, x: Tensor) -> Tensor:
        """What the linear layers make of each element."""
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
