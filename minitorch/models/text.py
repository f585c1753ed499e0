"""Stage 7 - A convolutional sentence classifier. The language model is `minitorch.language.GPT2`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minitorch.core.creation import cat
from minitorch.nn.containers import ModuleList
from minitorch.nn.convolution import Conv1d
from minitorch.nn.dropouts import Dropout
from minitorch.nn.embeddings import Embedding
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module
from minitorch.tensor import Tensor

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
