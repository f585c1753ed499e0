"""Stage 5 - Networks that read: Kim's for the mood of a sentence, and a transformer that goes on with a text, character by character."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core.context import no_grad
from minitorch.core.creation import arange, cat
from minitorch.nn.containers import ModuleList
from minitorch.nn.convolution import Conv1d
from minitorch.nn.embedding import Embedding
from minitorch.nn.init import normal_, zeros_
from minitorch.nn.layers import Dropout
from minitorch.nn.linear import Linear
from minitorch.nn.module import Module, Node
from minitorch.nn.normalization import LayerNorm
from minitorch.nn.sizes import positive_ints
from minitorch.nn.transformer import TransformerBlock
from minitorch.tensor import generator, tensor
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minitorch.core.backend import TensorBackend
    from minitorch.tensor import Tensor


class SentimentCNN(Module):
    """Convolutions over the words of a sentence, of each the largest value over time, dropout, and a linear layer.

    Args:
        num_embeddings: How many words there are.
        embedding_dim: Numbers for each word.
        widths: How many words each kind of window covers.
        maps: Channels of each kind.
        dropout: Share of the features that are dropped in training.
        num_classes: Size of the output.
        padding_idx: The word that fills up short sentences.
        backend: Where the weights lie.
        dtype: Of the weights; None for the default.

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
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        on = {"backend": backend, "dtype": dtype}
        self.embedding = Embedding(num_embeddings, embedding_dim, padding_idx, **on)
        self.convolutions = ModuleList([Conv1d(embedding_dim, maps, width, padding=width // 2, **on) for width in widths])
        self.dropout = Dropout(dropout)
        self.fc = Linear(maps * len(widths), num_classes, **on)

    def forward(self, words: Tensor) -> Tensor:
        """From numbers of words, shape (B, L), to logits, shape (B, num_classes)."""
        sentences = self.embedding(words).permute(0, 2, 1).contiguous()
        features = [convolution(sentences).relu().max(2, keepdim=False) for convolution in self.convolutions]
        return self.fc(self.dropout(cat(features, 1)))


class GPT(Module):
    """A transformer that says of every place of a text what comes next: embeddings of tokens and of places, blocks, and a linear layer.

    The last layer's weights are the embedding's. Weights begin normal with the standard deviation 0.02, those that lead back into the main
    line of a block with a smaller one, and those that make queries, keys and values as in `MultiheadAttention`.

    Args:
        vocabulary: How many tokens there are.
        context: How many tokens it sees at most.
        layers: How many blocks.
        heads: How many heads the attention of each has.
        width: Numbers for each token.
        dropout: Share of what is dropped in training.
        backend: Where the weights lie.
        dtype: Of the weights; None for the default.

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
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        positive_ints((vocabulary, context, layers, heads, width), "GPT", "vocabulary, context, layers, heads and width")
        on = {"backend": backend, "dtype": dtype}
        self.context = context
        self.tokens, self.places = Embedding(vocabulary, width, **on), Embedding(context, width, **on)
        self.dropout = Dropout(dropout)
        self.blocks = ModuleList([TransformerBlock(width, heads, 4 * width, dropout, "gelu", **on) for _ in range(layers)])
        self.norm = LayerNorm(width, **on)
        self.head = Linear(width, vocabulary, bias=False, **on)
        self.head.weight = self.tokens.weight
        self.apply(_init_weights)
        for name, parameter in self.named_parameters():
            if name.endswith(("out_proj.weight", "linear2.weight")):
                normal_(parameter, std=0.02 / math.sqrt(2 * layers))

    def forward(self, tokens: Tensor) -> Tensor:
        """From numbers of tokens, shape (B, T), to logits of what follows each, shape (B, T, vocabulary).

        Raises:
            ValueError: If tokens has another shape, or more of them in a row than it can see.
            TypeError: If they are no whole numbers.
            IndexingError: If there is no such token.
        """
        if tokens.dims != 2 or not tokens.shape[1]:
            raise ValueError(f"GPT expected tokens of shape (B, T), with T of at least 1, got {tokens.shape}; view puts in a 1")
        length = tokens.shape[1]
        if length > self.context:
            raise ValueError(f"GPT expected at most {self.context} tokens, its context, got {length}; cut the text")
        places = arange(0, length, backend=tokens.backend, dtype=tokens.dtype)
        out = self.dropout(self.tokens(tokens) + self.places(places))
        for block in self.blocks:
            out = block(out)
        return self.head(self.norm(out))

    def generate(self, tokens: Sequence[int], count: int, temperature: float = 1.0) -> list[int]:
        """Go on with a text: each token is drawn as likely as the network finds it.

        Args:
            tokens: The beginning, at least one.
            count: How many to add, 0 or more.
            temperature: Above 1 for more surprise, below for less; 0 takes the likeliest each time.

        Returns:
            The beginning and what follows.

        Raises:
            ValueError: If there is no beginning, count or temperature is negative, or the network's answer is infinite or NaN.
            IndexingError: If there is no such token.
        """
        if not len(tokens) or not temperature >= 0:  # also of NaN
            raise ValueError(f"generate expected a beginning and a temperature >= 0, got {len(tokens)} tokens and {temperature}")
        if count < 0:
            raise ValueError(f"generate expected a count of tokens to add of at least 0, got {count}")
        text, training, backend = list(tokens), self.training, self.head.weight.value.backend
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
    """A token, as likely as its logit says: softmax(logits / temperature)."""
    logits = logits.astype(np.float64)
    if not np.isfinite(logits).all():
        raise ValueError("generate expected finite logits, got some that are infinite or NaN; train anew with a smaller learning rate")
    if not temperature:
        return int(logits.argmax())
    with np.errstate(over="ignore"):  # by a very small temperature: e to the power of -∞ is 0
        chances = np.exp((logits - logits.max()) / temperature)
    return int(generator.choice(len(chances), p=chances / chances.sum()))


def _init_weights(module: Node) -> None:
    """Weights normal and small, biases 0."""
    if isinstance(module, (Linear, Embedding)):
        normal_(module.weight, std=0.02)
    if isinstance(module, Linear) and module.bias is not None:
        zeros_(module.bias)
