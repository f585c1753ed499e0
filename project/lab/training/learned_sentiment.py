"""Kim's network with vectors of words that are learned as well, for tens of thousands of sentences: it stands on `minitorch.nn`."""

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
"""How many words the filters of each convolution see at once."""

DIM, MAPS, DROPOUT = 50, 100, 0.5
"""Numbers of a word's vector, filters of each convolution, and the share of maxima that dropout sets to 0."""

PADDING = max(WIDTHS)
"""Places behind the longest sentence of a batch. So every filter sees the end of every sentence, and no words at all: what a sentence is
taken for does not depend on how long the others are."""

Encoded = list[np.ndarray]
"""Of every sentence the numbers of its words."""


class LearnedNetwork(minitorch.Module):
    """Kim's network on words: each has a vector that is learned.

    The vectors start from the normal distribution with standard deviation 1/4.

    Args:
        words: How many words are known; 0 is padding.

    Source: Kim 2014, arXiv:1408.5882, section 2, there called CNN-rand.
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
        """What the sigmoid makes the probability of label 1 of, for every sentence.

        Args:
            words: Their numbers, int64, shape (batch, places), as `padded` gives them.

        Returns:
            Shape (batch,).
        """
        vectors = nn.embedding(words, self.table.value, padding_idx=0)
        features = minitorch.cat([self.found(vectors, width) for width in WIDTHS], 1)
        features = nn.dropout(features, DROPOUT, not self.training)
        if self.training:
            features = features * (1 / (1 - DROPOUT))  # so that their sum stays what it is without dropout
        return (features @ self.weights.value + self.bias.value).view(words.shape[0])

    def found(self, vectors: minitorch.Tensor, width: int) -> minitorch.Tensor:
        """How strongly each filter of a width is answered at its best place, shape (batch, MAPS).

        Where sentences are short and channels many, a convolution is quickest as one product of matrices: of all windows, each a row in
        which the vectors of its words stand one behind the other, with the filters.
        """
        batch, places = vectors.shape[0], vectors.shape[1] - width + 1
        windows = minitorch.cat([vectors[:, first : first + places] for first in range(width)], 2).view(batch * places, width * DIM)
        outputs = (windows @ getattr(self, f"weights{width}").value).view(batch, places, MAPS)
        largest = nn.max(outputs, 1).view(batch, MAPS)
        return (largest + getattr(self, f"bias{width}").value).relu()  # neither moves the place of the maximum: here they cost less


def drawn(shape: tuple[int, ...], deviation: float) -> minitorch.Tensor:
    """Numbers of float32 from the normal distribution around 0 with this standard deviation."""
    return deviation * minitorch.randn(shape, minitorch.FastBackend, dtype=minitorch.float32)


class LengthBatches:
    """Deals out sentences in batches of nearly the same length, so that there is little padding; every epoch deals anew.

    A loader as DataLoader is one; each epoch follows from the seed and its number alone.

    Args:
        sentences: Of every sentence the numbers of its words.
        labels: Theirs.
        batch_size: Sentences in a batch.
        seed: For what is drawn.
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
        order = order[np.argsort(self._lengths[order], kind="stable")]  # of equal length in an order by chance
        for batch in random.permutation(len(self)):
            rows = order[batch * self.batch_size : (batch + 1) * self.batch_size]
            yield padded([self.sentences[row] for row in rows]), minitorch.from_numpy(self.labels[rows], minitorch.FastBackend)

    def state(self) -> dict[str, int]:
        """Which epoch comes next."""
        return {"epoch": self._epoch}

    def restore(self, state: dict[str, int]) -> None:
        """Go on from `state`."""
        self._epoch = state["epoch"]


def padded(sentences: Encoded) -> minitorch.Tensor:
    """Sentences one below the other, int64, with zeros behind: at least PADDING."""
    longest = max(len(sentence) for sentence in sentences)
    words = np.zeros((len(sentences), longest + PADDING), np.int64)
    for row, sentence in zip(words, sentences, strict=True):
        row[: len(sentence)] = sentence
    return minitorch.from_numpy(words, minitorch.FastBackend)


class LearnedTrainer(SentimentTrainer):
    """Trains on the numbers of words.

    Args:
        setting: What to train.
        vocabulary: Which number each word has.
        train: Of every sentence to train on the numbers of its words, and the labels.
        valid: The same of those to validate with.
    """

    def __init__(
        self, setting: SentimentSetting, vocabulary: Vocabulary, train: tuple[Encoded, np.ndarray], valid: tuple[Encoded, np.ndarray]
    ) -> None:
        self.vocabulary = vocabulary
        minitorch.manual_seed(setting.seed)
        super().__init__(setting, LearnedNetwork(len(vocabulary)), train, valid)

    @staticmethod
    def of_sentences(setting: SentimentSetting, train: Any, valid: Any) -> LearnedTrainer:
        """The trainer for sentences; it knows the words that come at least twice in those that it trains on."""
        vocabulary = Vocabulary(train.sentences, min_count=2)  # of what comes once the unknown ones learn their vector
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
        return f"learned vectors for its {len(self.vocabulary) - 2} words that come at least twice"

    def inputs(self, sentences: Encoded, rows: np.ndarray) -> minitorch.Tensor:
        """See `SentimentTrainer.inputs`."""
        return padded([sentences[row] for row in rows])

    def loss_of(self, x: minitorch.Tensor, y: minitorch.Tensor) -> tuple[minitorch.Tensor, np.ndarray]:
        """See `SentimentTrainer.loss_of`."""
        logits = self.network(x)
        return nn.binary_cross_entropy_with_logits(logits, y), logits.detach().sigmoid().to_numpy()

    def predict(self, x: minitorch.Tensor) -> np.ndarray:
        """See `SentimentTrainer.predict`."""
        return self.network(x).sigmoid().to_numpy()
