"""Stage 7 - Networks for text: a convolutional sentence classifier and a GPT."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core.context import no_grad
from minitorch.core.creation import arange, cat
from minitorch.nn.containers import ModuleList
from minitorch.nn.convolution import Conv1d
from minitorch.nn.dropouts import Dropout
from minitorch.nn.embeddings import Embedding
from minitorch.nn.init import normal_, zeros_
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module, Node
from minitorch.nn.normalization import LayerNorm
from minitorch.nn.transformer import TransformerEncoderLayer
from minitorch.ops.checks import positive_ints
from minitorch.tensor import Tensor, generator, tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


class SentimentCNN(Module):
    """Sentence classifier: convolutions over words, max pooling over time, dropout and a linear layer.

    Args:
        num_embeddings: Size of the vocabulary.
        embedding_dim: Size of a word embedding.
        widths: Window sizes in words.
        maps: Number of output channels for each window size.
        dropout: Probability of dropping a feature in training.
        num_classes: Size of the output.
        padding_idx: Number of the padding word.
        device: Where the weights are stored.
        dtype: Dtype of the weights; None for the default dtype.

    Source: Kim 2014, arXiv:1408.5882.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int = 50,
        widths: Sequence[int] = (3, 4, 5),
        maps: int = 100,
        dropout: float = 0.5,
        num_classes: int = 2,
        padding_idx: int | None = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        on = {"device": device, "dtype": dtype}
        self.embedding = Embedding(num_embeddings, embedding_dim, padding_idx, **on)
        self.convolutions = ModuleList([Conv1d(embedding_dim, maps, width, padding=width // 2, **on) for width in widths])
        self.dropout = Dropout(dropout)
        self.fc = Linear(maps * len(widths), num_classes, **on)

    def forward(self, words: Tensor) -> Tensor:
        """From numbers of words, shape (B, L), to logits, shape (B, num_classes)."""
        sentences = self.embedding(words).permute(0, 2, 1).contiguous()
        features = [Tensor.max(convolution(sentences).relu(), 2, False) for convolution in self.convolutions]
        return self.fc(self.dropout(cat(features, 1)))


class GPT(Module):
    """Decoder-only transformer that predicts the next token: token and position embeddings, transformer blocks and a linear layer.

    The last layer shares its weight with the token embedding. Weights are normal with standard deviation 0.02, divided by √(2 · layers) for
    projections into the residual stream; query, key and value projections are initialized as in `MultiheadAttention`.

    Args:
        vocabulary: Number of tokens.
        context: Maximum number of tokens in a sequence.
        layers: Number of blocks.
        heads: Number of attention heads in each block.
        width: Size of a token embedding.
        dropout: Dropout probability.
        device: Where the weights are stored.
        dtype: Dtype of the weights; None for the default dtype.

    Raises:
        ValueError: If a size is less than 1, heads does not divide width, or dropout is not from 0 to 1.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3.
    """

    def __init__(
        self,
        vocabulary: int,
        context: int = 64,
        layers: int = 4,
        heads: int = 4,
        width: int = 64,
        dropout: float = 0.0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        positive_ints((vocabulary, context, layers, heads, width), "GPT", "vocabulary, context, layers, heads and width")
        on = {"device": device, "dtype": dtype}
        self.context = context
        self.tokens, self.positions = Embedding(vocabulary, width, **on), Embedding(context, width, **on)
        self.dropout = Dropout(dropout)
        block: dict[str, Any] = {"activation": "gelu", "batch_first": True, "norm_first": True, **on}
        self.blocks = ModuleList([TransformerEncoderLayer(width, heads, 4 * width, dropout, **block) for _ in range(layers)])
        self.norm = LayerNorm(width, **on)
        self.head = Linear(width, vocabulary, bias=False, **on)
        self.head.weight = self.tokens.weight
        self.apply(_init_weights)
        for name, parameter in self.named_parameters():
            if name.endswith(("out_proj.weight", "linear2.weight")):
                normal_(parameter, std=0.02 / math.sqrt(2 * layers))

    def forward(self, tokens: Tensor) -> Tensor:
        """From tokens, shape (B, T), to logits of the next token at each position, shape (B, T, vocabulary).

        Raises:
            ValueError: If tokens has another shape, or T exceeds the context.
            TypeError: If tokens are not integers.
            IndexingError: If a token is out of range.
        """
        if tokens.dims != 2 or not tokens.shape[1]:
            raise ValueError(f"GPT expected tokens of shape (B, T), with T of at least 1, got {tokens.shape}; add a dimension with view")
        length = tokens.shape[1]
        if length > self.context:
            raise ValueError(f"GPT expected at most {self.context} tokens, its context, got {length}; shorten the text")
        positions = arange(0, length, backend=tokens.backend, dtype=tokens.dtype)
        out = self.dropout(self.tokens(tokens) + self.positions(positions))
        for block in self.blocks:
            out = block(out, is_causal=True)
        return self.head(self.norm(out))

    def generate(self, tokens: Sequence[int], count: int, temperature: float = 1.0) -> list[int]:
        """Continue a text by sampling tokens from the predicted distribution.

        Args:
            tokens: The prompt, at least one token.
            count: Number of tokens to add, 0 or more.
            temperature: Divisor of the logits: above 1 for more diverse text, below 1 for less; 0 always takes the most likely token.

        Returns:
            The prompt and the new tokens.

        Raises:
            ValueError: If the prompt is empty, count or temperature is negative, or logits are infinite or NaN.
            IndexingError: If a token is out of range.
        """
        if not len(tokens) or not temperature >= 0:  # also refuses NaN
            raise ValueError(f"generate expected a prompt and a temperature >= 0, got {len(tokens)} tokens and {temperature}")
        if count < 0:
            raise ValueError(f"generate expected count >= 0, got {count}")
        text, training, backend = list(tokens), self.training, self.head.weight.backend
        self.eval()
        try:
            with no_grad():
                for _ in range(count):
                    seen = tensor(np.array([text[-self.context :]]), backend)
                    text.append(_sample_token(self(seen)[0, -1].to_numpy(), temperature))
        finally:
            self.train(training)
        return text


def _sample_token(logits: np.ndarray, temperature: float) -> int:
    """Sample a token from softmax(logits / temperature)."""
    logits = logits.astype(np.float64)
    if not np.isfinite(logits).all():
        raise ValueError("generate expected finite logits, got infinite or NaN; train again with a smaller learning rate")
    if not temperature:
        return int(logits.argmax())
    with np.errstate(over="ignore"):  # division by a very small temperature gives -inf, whose exponential is 0
        weights = np.exp((logits - logits.max()) / temperature)
    return int(generator.choice(len(weights), p=weights / weights.sum()))


def _init_weights(module: Node) -> None:
    """Initialize weights from N(0, 0.02²) and biases to 0."""
    if isinstance(module, (Linear, Embedding)):
        normal_(module.weight, std=0.02)
    if isinstance(module, Linear) and module.bias is not None:
        zeros_(module.bias)
