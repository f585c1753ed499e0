"""Stage 6 - The model: pre-norm blocks of attention and a small network, GPT-2's architecture and names, and its loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core.creation import ones, randn
from minitorch.core.kernel import prefer_optimized
from minitorch.core.optimized_methods import prefer_optimized_method
from minitorch.language.attention import attention, causal_mask, merge_heads, split_heads
from minitorch.language.functions import gelu
from minitorch.language.layers import Embedding, LayerNorm, Linear
from minitorch.module import Module
from minitorch.nn.functional import logsoftmax
from minitorch.tensor import tensor, zeros
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.tensor import Tensor
    from minitorch.tensor_ops import TensorBackend

STD = 0.02
"""Standard deviation of the weights at the start."""


# The parts of a block


class SelfAttention(Module):
    """Attention of each token to itself and the earlier ones.

    Attributes:
        heads: Number of heads.
        c_attn: The projection to queries, keys and values, (width, 3 · width).
        c_proj: The projection of the merged heads, (width, width).
    """

    def __init__(self, width: int, heads: int, backend: TensorBackend) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn = Linear(width, 3 * width, backend)
        self.c_proj = Linear(width, width, backend)

    def forward(self, x: Tensor, cache: Any = None) -> Tensor:
        """Project to queries, keys and values, attend causally, and project the merged heads.

        Args:
            x: Shape (B, T, width).
            cache: Keys and values of earlier tokens, None if there are none. `cache.append(key, value)` adds those of x, and returns
                the keys and the values of all tokens so far, to which the queries attend.

        Returns:
            Shape of x.
        """
        query, key, value = split_heads(self.c_attn(x), self.heads)
        if cache is not None:
            key, value = cache.append(key, value)
        mask = causal_mask(query.shape[2], key.shape[2], x.backend)
        return self.c_proj(merge_heads(attention(query, key, value, mask)))


class MLP(Module):
    """A network of one hidden layer for each token.

    Attributes:
        c_fc: The first linear layer, (width, 4 · width).
        c_proj: The second one, (4 · width, width).
    """

    def __init__(self, width: int, backend: TensorBackend) -> None:
        super().__init__()
        self.c_fc = Linear(width, 4 * width, backend)
        self.c_proj = Linear(4 * width, width, backend)

    def forward(self, x: Tensor) -> Tensor:
        """The two layers with `gelu` in between. Shape of x, (B, T, width)."""
        return self.c_proj(gelu(self.c_fc(x)))


class Block(Module):
    """A pre-norm transformer block: attention, then the network, each added to what came in.

    Attributes:
        ln_1: The normalization before attention.
        attn: Attention.
        ln_2: The normalization before the network.
        mlp: The network.
    """

    def __init__(self, width: int, heads: int, backend: TensorBackend) -> None:
        super().__init__()
        self.ln_1, self.attn = LayerNorm(width, backend), SelfAttention(width, heads, backend)
        self.ln_2, self.mlp = LayerNorm(width, backend), MLP(width, backend)

    def forward(self, x: Tensor, cache: Any = None) -> Tensor:
        """Each part reads a normalized copy, and its result is added to x itself, which is never normalized.

        Args:
            x: Shape (B, T, width).
            cache: Passed on to attention.

        Returns:
            Shape of x.

        Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3.
        """
        x = x + self.attn(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


# The model


class GPT2(Module):
    """Decoder that predicts the next token: embeddings of token and position, blocks, a normalization, and the token embedding as output.

    Args:
        vocabulary: Number of tokens, V.
        context: The largest number of tokens that it reads.
        layers: Number of blocks.
        heads: Number of heads of each block; must divide width.
        width: Size of a token's vector.
        backend: The backend that computes.

    Attributes:
        wte: The embedding of tokens, (V, width), and transposed the output layer.
        wpe: The embedding of positions, (context, width).
        h: The blocks; `h.modules()` is their list.
        ln_f: The last normalization.

    Raises:
        ValueError: If a size is less than 1, or heads does not divide width.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3.
    """

    def __init__(
        self, vocabulary: int, context: int = 64, layers: int = 4, heads: int = 4, width: int = 64, backend: TensorBackend = SimpleBackend
    ) -> None:
        super().__init__()
        sizes = {"vocabulary": vocabulary, "context": context, "layers": layers, "heads": heads, "width": width}
        if min(sizes.values()) < 1 or width % heads:
            raise ValueError(f"GPT2 expected sizes of at least 1 and heads that divide width, got {sizes}; try heads=4 and width=64")
        self.context, self.layers = context, layers
        self.wte, self.wpe = Embedding(vocabulary, width, backend), Embedding(context, width, backend)
        self.h = Module()
        for number in range(layers):
            setattr(self.h, str(number), Block(width, heads, backend))
        self.ln_f = LayerNorm(width, backend)
        init_weights(self, layers)

    @prefer_optimized_method
    def forward(self, tokens: Tensor, caches: Sequence[Any] | None = None) -> Tensor:
        """Predict the next token at each position.

        The output layer has no weight of its own: the logit of a token is the dot product with its row of wte.

        Args:
            tokens: int64, shape (B, T).
            caches: One for each block, None if no tokens came before. `caches[0].length` tokens came before, whose positions are the first
                ones.

        Returns:
            The logits, shape (B, T, V).

        Raises:
            ValueError: If tokens has another shape, or there are more than the context; `_check_length(tokens, start, context)` says so, if
                `start` tokens came before.
        """
        start = 0 if caches is None else caches[0].length
        _check_length(tokens, start, self.context)
        positions = tensor(np.arange(start, start + tokens.shape[1]), tokens.backend)
        x = self.wte(tokens) + self.wpe(positions)
        for number, block in enumerate(self.h.modules()):
            x = block(x, None if caches is None else caches[number])
        return self.ln_f(x) @ self.wte.weight.value.transpose(0, 1)


def init_weights(model: Module, layers: int) -> None:
    """Set all parameters to those of an untrained model; `update` of a parameter replaces its value.

    Weights are from the normal distribution with mean 0 and standard deviation STD, those of layers called c_proj with STD / √(2 · layers):
    they are added to x, 2 · layers times. Biases are zeros, and the weights of normalizations, whose names begin with ln, ones.

    Args:
        model: The model. Names are such as "wte.weight", "h.0.ln_1.bias" and "h.0.attn.c_proj.weight".
        layers: Number of its blocks.
    """
    for name, parameter in model.named_parameters():
        old = parameter.value
        *_, layer, kind = name.split(".")
        if kind == "bias":
            new = zeros(old.shape, old.backend)
        elif layer.startswith("ln"):
            new = ones(old.shape, old.backend)
        else:
            new = randn(old.shape, old.backend) * (STD / math.sqrt(2 * layers) if layer == "c_proj" else STD)
        parameter.update(new)


@prefer_optimized
def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean of -ln p over all positions, where p is the probability of the target by the softmax of the logits.

    Args:
        logits: Shape (…, V).
        targets: Numbers of tokens, int64, shape (…).

    Returns:
        The loss, of one element.
    """
    count = targets.numel()
    logs = logsoftmax(logits.contiguous().view(count, logits.shape[-1]), 1)
    return -logs[np.arange(count), targets.to_numpy().reshape(-1)].mean()


def _check_length(tokens: Tensor, start: int, context: int) -> None:
    """Check the shape of tokens, and that they fit after the first `start` ones."""
    if tokens.dims != 2 or not tokens.numel():
        raise ValueError(f"GPT2 expected tokens of shape (B, T), got {tokens.shape}; add a dimension with view(1, -1)")
    if start + tokens.shape[1] > context:
        found = f"{tokens.shape[1]} after {start}" if start else f"{tokens.shape[1]}"
        raise ValueError(f"GPT2 expected at most {context} tokens, its context, got {found}; shorten the text")
