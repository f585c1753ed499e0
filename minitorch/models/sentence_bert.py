"""Stage 7 - A sentence encoder: BERT's layers under their published names, and the mean of a sentence's tokens as a unit vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core.context import no_grad
from minitorch.core.creation import arange
from minitorch.nn.attention import scaled_dot_product_attention
from minitorch.nn.containers import ModuleDict
from minitorch.nn.distances import normalize
from minitorch.nn.embeddings import Embedding
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module
from minitorch.nn.normalization import LayerNorm
from minitorch.ops.activations import gelu
from minitorch.ops.checks import positive_ints
from minitorch.tensor import tensor

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

EPS = 1e-12
"""Added to the variance in BERT's normalizations."""


class BertLayer(Module):
    """A post-norm transformer layer: attention, then a network with one hidden layer, each added to what came in and normalized.

    Args:
        width: Size of a token's vector, C.
        heads: Number of attention heads; must divide width.
        inner: Size of the hidden layer.
        device: Where the weights are stored.
        dtype: Dtype of the weights; None for the default dtype.
    """

    def __init__(self, width: int, heads: int, inner: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        on = {"device": device, "dtype": dtype}
        self.heads = heads

        def output(size: int) -> ModuleDict:
            return ModuleDict({"dense": Linear(size, width, **on), "LayerNorm": LayerNorm(width, EPS, **on)})

        projections = ModuleDict({name: Linear(width, width, **on) for name in ("query", "key", "value")})
        self.attention = ModuleDict({"self": projections, "output": output(width)})
        self.intermediate = ModuleDict({"dense": Linear(width, inner, **on)})
        self.output = output(inner)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Shape of x, (B, T, C).

        Args:
            x: Shape (B, T, C).
            mask: bool, shape (B, 1, 1, T): True where a token may be attended to.
        """
        B, T, C = x.shape
        projected = (projection(x).view(B, T, self.heads, C // self.heads) for projection in self.attention["self"].values())
        query, key, value = (part.permute(0, 2, 1, 3) for part in projected)
        attended = scaled_dot_product_attention(query, key, value, mask).transpose(1, 2).contiguous().view(B, T, C)
        x = _add(self.attention["output"], x, attended)
        return _add(self.output, x, gelu(self.intermediate["dense"](x)))


def _add(output: ModuleDict, x: Tensor, branch: Tensor) -> Tensor:
    """Project a branch, add it to x, and normalize the sum."""
    return output["LayerNorm"](x + output["dense"](branch))


class SentenceBERT(Module):
    """Sentence encoder: BERT's embeddings and layers, and the mean of the last layer's vectors, divided by its length.

    Sentences of similar meaning have vectors with a large dot product, which is the cosine of their angle. The parameters have the names
    and shapes in which BERT is published; `minitorch.models.minilm` reads a trained model. The model has no dropout.

    Args:
        vocabulary: Number of tokens; token 0 only fills up shorter texts.
        context: The largest number of tokens of a text.
        layers: Number of layers.
        heads: Number of attention heads in each layer.
        width: Size of a token's vector, and of a sentence's, C.
        inner: Size of the hidden layer in each layer.
        types: Number of token types, of which a sentence has only the first.
        device: Where the weights are stored.
        dtype: Dtype of the weights; None for the default dtype.

    Raises:
        ValueError: If a size is less than 1, or heads does not divide width.

    Source: Reimers and Gurevych 2019, arXiv:1908.10084; the layers: Devlin et al. 2019, arXiv:1810.04805.
    """

    def __init__(
        self,
        vocabulary: int = 30522,
        context: int = 512,
        layers: int = 6,
        heads: int = 12,
        width: int = 384,
        inner: int = 1536,
        types: int = 2,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = (vocabulary, context, layers, heads, width, inner, types)
        positive_ints(sizes, "SentenceBERT", "vocabulary, context, layers, heads, width, inner and types")
        if width % heads:
            raise ValueError(f"SentenceBERT expected heads that divide width, {width}, got {heads}; try a width of {64 * heads}")
        on = {"device": device, "dtype": dtype}
        self.context = context
        tables = {"word": vocabulary, "position": context, "token_type": types}
        parts = {f"{name}_embeddings": Embedding(count, width, **on) for name, count in tables.items()}
        self.embeddings = ModuleDict({**parts, "LayerNorm": LayerNorm(width, EPS, **on)})
        numbered = {str(number): BertLayer(width, heads, inner, **on) for number in range(layers)}
        self.encoder = ModuleDict({"layer": ModuleDict(numbered)})

    def forward(self, tokens: Tensor) -> Tensor:
        """From tokens of sentences to their vectors, shape (B, C), each of length 1.

        Args:
            tokens: int64, shape (B, T). Zeros fill up shorter sentences, which change nothing. A sentence needs another token.

        Raises:
            ValueError: If tokens has another shape, T exceeds the context, or a sentence has only zeros.
            IndexingError: If a token is out of range.
        """
        if tokens.dims != 2 or not tokens.numel():
            raise ValueError(f"SentenceBERT expected tokens of shape (B, T), got {tokens.shape}; add a dimension with view(1, -1)")
        if tokens.shape[1] > self.context:
            raise ValueError(f"SentenceBERT expected at most {self.context} tokens, got {tokens.shape[1]}; encode with max_tokens")
        B, T = tokens.shape
        words, positions, types, norm = self.embeddings.values()
        x = norm(words(tokens) + positions(arange(0, T, backend=tokens.backend, dtype=tokens.dtype)) + types.weight.value[0])
        known = tokens.to_numpy() != 0
        if not known.any(1).all():
            raise ValueError("SentenceBERT expected sentences with tokens other than 0, got one without; leave it out")
        mask = tensor(known.reshape(B, 1, 1, T), tokens.backend)
        for layer in self.encoder["layer"].values():
            x = layer(x, mask)
        weights = tensor(known[:, :, None] / known.sum(1)[:, None, None], x.backend, dtype=x.dtype)
        return normalize((x * weights).sum(1).view(B, x.shape[2]))

    def embed(self, texts: Sequence[Sequence[int]], batch: int = 32) -> np.ndarray:
        """Return the vectors of texts, shape (N, C), computed in batches of texts of similar length, without recording gradients.

        Args:
            texts: The tokens of each text, as `WordPiece.encode` returns them.
            batch: Number of texts in a batch.

        Raises:
            ValueError: If a text is empty or too long, or batch is less than 1.
            IndexingError: If a token is out of range.
        """
        positive_ints((batch,), "embed", "batch")
        if not all(map(len, texts)):
            raise ValueError(f"embed expected texts of at least one token, got an empty one among {len(texts)}; leave it out")
        weight = self.embeddings["word_embeddings"].weight.value
        found = np.zeros((len(texts), weight.shape[1]), weight.dtype)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            tokens = np.zeros((len(chosen), len(texts[chosen[-1]])), np.int64)
            for row, number in zip(tokens, chosen, strict=True):
                row[: len(texts[number])] = texts[number]
            with no_grad():
                found[chosen] = self(tensor(tokens, weight.backend)).to_numpy()
        return found
