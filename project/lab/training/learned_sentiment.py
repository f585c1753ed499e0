"""Kim's network with learned word vectors, for tens of thousands of sentences. It requires `minitorch.nn`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import minitorch
from minitorch import nn
from minitorch.data import TextDataset, Vocabulary
from project.lab.training.checkpoint import digest
from project.lab.training.sentiment_trainer import SentimentSetting, SentimentTrainer

WIDTHS = (3, 4, 5)
"""The widths of the filters, in words."""

DIM, MAPS, DROPOUT = 50, 100, 0.5
"""Size of a word vector, number of filters per width, and probability that dropout zeroes a maximum."""

PADDING = max(WIDTHS)
"""Number of zeros after the longest sentence of a batch. Every filter then covers the end of every sentence and also a window of padding
alone, so the prediction for a sentence does not depend on the lengths of the others."""

Encoded = list[np.ndarray]
"""The word indices of each sentence."""


class LearnedNetwork(minitorch.Module):
    """Kim's network on word indices, with word vectors that are learned.

    The vectors are initialized from the normal distribution with standard deviation 1/4.

    Args:
        words: Size of the vocabulary; index 0 is padding.

    Source: Kim 2014, arXiv:1408.5882, section 2, where it is called CNN-rand.
    """

    def __init__(self, words: int) -> None:
        super().__init__()
        self.table = minitorch.Parameter(drawn((words, DIM), 0.25))
        for width in WIDTHS:
            self.add_parameter(f"weights{width}", drawn((width * DIM, MAPS), (2 / (width * DIM)) ** 0.5))
            self.add_parameter(f"bias{width}", drawn((MAPS,), 0.0))
        self.weights = minitorch.Parameter(drawn((len(WIDTHS) * MAPS, 1), (len(WIDTHS) * MAPS) ** -0.5))
        self.bias = minitorch.Parameter(drawn((1,), 0.0))

    def forward(self, words: minitorch.Tensor) -> minitorch.Tensor:
        """Return the logit of label 1 for each sentence.

        Args:
            words: Word indices, int64, shape (batch, length), as returned by `padded`.

        Returns:
            Shape (batch,).
        """
        vectors = nn.embedding(words, self.table.value, padding_idx=0)
        features = minitorch.cat([self.found(vectors, width) for width in WIDTHS], 1)
        features = nn.dropout(features, DROPOUT, not self.training)
        if self.training:
            features = features * (1 / (1 - DROPOUT))  # keeps the expected sum the same as without dropout
        return (features @ self.weights.value + self.bias.value).view(words.shape[0])

    def found(self, vectors: minitorch.Tensor, width: int) -> minitorch.Tensor:
        """Return the largest response of each filter of a width over all positions, shape (batch, MAPS).

        If sentences are short and channels many, the fastest convolution is one matrix product: a matrix of windows, whose rows are the
        concatenated vectors of the words, times the filters.
        """
        batch, places = vectors.shape[0], vectors.shape[1] - width + 1
        windows = minitorch.cat([vectors[:, first : first + places] for first in range(width)], 2).view(batch * places, width * DIM)
        outputs = (windows @ getattr(self, f"weights{width}").value).view(batch, places, MAPS)
        largest = nn.max(outputs, 1).view(batch, MAPS)
        return (largest + getattr(self, f"bias{width}").value).relu()  # neither moves the position of the maximum; both cost less here


def drawn(shape: tuple[int, ...], deviation: float) -> minitorch.Tensor:
    """Return float32 numbers from the normal distribution with mean 0 and this standard deviation."""
    return deviation * minitorch.randn(shape, minitorch.FastBackend, dtype=minitorch.float32)


class LengthBatches:
    """A loader whose batches contain sentences of nearly the same length, which reduces padding. Every epoch has new batches.

    Its interface is that of DataLoader; each epoch depends only on the seed and on its number.

    Args:
        sentences: The word indices of each sentence.
        labels: The label of each sentence.
        batch_size: Number of sentences in a batch.
        seed: The seed of the order.
    """

    def __init__(self, sentences: Encoded, labels: np.ndarray, batch_size: int, seed: int) -> None:
        self.sentences, self.labels, self.batch_size, self.seed = sentences, labels, batch_size, seed
        self._lengths = np.array([len(sentence) for sentence in sentences])
        self._epoch = 0

    def __len__(self) -> int:
        return -(-len(self.labels) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[minitorch.Tensor, minitorch.Tensor]]:
        random = np.random.default_rng([self.seed, self._epoch])
        self._epoch += 1
        order = random.permutation(len(self.labels))
        order = order[np.argsort(self._lengths[order], kind="stable")]  # sentences of equal length are in random order
        for batch in random.permutation(len(self)):
            rows = order[batch * self.batch_size : (batch + 1) * self.batch_size]
            yield padded([self.sentences[row] for row in rows]), minitorch.from_numpy(self.labels[rows], minitorch.FastBackend)

    def state(self) -> dict[str, int]:
        """Return the number of the next epoch."""
        return {"epoch": self._epoch}

    def restore(self, state: dict[str, int]) -> None:
        """Continue from `state`."""
        self._epoch = state["epoch"]


def padded(sentences: Encoded) -> minitorch.Tensor:
    """Stack sentences into one int64 tensor, each followed by at least PADDING zeros."""
    longest = max(len(sentence) for sentence in sentences)
    words = np.zeros((len(sentences), longest + PADDING), np.int64)
    for row, sentence in zip(words, sentences, strict=True):
        row[: len(sentence)] = sentence
    return minitorch.from_numpy(words, minitorch.FastBackend)


class LearnedTrainer(SentimentTrainer):
    """Trains on word indices.

    Args:
        setting: The settings.
        vocabulary: The index of each word.
        train: The word indices of each training sentence, and the labels.
        valid: The same for the validation sentences.
    """

    def __init__(
        self, setting: SentimentSetting, vocabulary: Vocabulary, train: tuple[Encoded, np.ndarray], valid: tuple[Encoded, np.ndarray]
    ) -> None:
        self.vocabulary = vocabulary
        minitorch.manual_seed(setting.seed)
        super().__init__(setting, LearnedNetwork(len(vocabulary)), train, valid)

    @staticmethod
    def of_sentences(setting: SentimentSetting, train: Any, valid: Any) -> LearnedTrainer:
        """Create the trainer for sentences; its vocabulary contains the words that occur at least twice in the training sentences."""
        vocabulary = Vocabulary(train.sentences, min_count=2)  # words that occur once train the vector of unknown words
        encoded = [([vocabulary.encode(sentence) for sentence in part.sentences], part.labels) for part in (train, valid)]
        return LearnedTrainer(setting, vocabulary, *encoded)

    def make_loader(self, setting: SentimentSetting) -> LengthBatches:
        """See `SentimentTrainer.make_loader`."""
        return LengthBatches(*self.train, setting.batch, setting.seed)

    def digest(self) -> str:
        """See `SentimentTrainer.digest`."""
        parts = {"train": self.train, "valid": self.valid}
        arrays = {name: np.concatenate([np.zeros(0, np.int64), *sentences]) for name, (sentences, _) in parts.items()}
        arrays |= {f"{name} labels": labels for name, (_, labels) in parts.items()}
        arrays |= {f"{name} lengths": np.array([len(sentence) for sentence in sentences]) for name, (sentences, _) in parts.items()}
        return digest("", arrays)

    def encode(self, sentences: Sequence[str]) -> Encoded:
        """See `SentimentTrainer.encode`."""
        return [self.vocabulary.encode(sentence) for sentence in sentences]

    def about_words(self, sentences: TextDataset) -> str:
        """See `SentimentTrainer.about_words`."""
        return f"learned vectors for its {len(self.vocabulary) - 2} words that occur at least twice"

    def inputs(self, sentences: Encoded, rows: np.ndarray) -> minitorch.Tensor:
        """See `SentimentTrainer.inputs`."""
        return padded([sentences[row] for row in rows])

    def loss_and_output(self, *tensors: minitorch.Tensor) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """See `SentimentTrainer.loss_and_output`."""
        x, y = tensors
        logits = self.network(x)
        return nn.binary_cross_entropy_with_logits(logits, y), logits.detach().sigmoid()

    def predict(self, x: minitorch.Tensor) -> np.ndarray:
        """See `SentimentTrainer.predict`."""
        return self.network(x).sigmoid().to_numpy()
