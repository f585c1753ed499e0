"""Sentences as numbers: the vector of every word, in the order of the words, and zeros behind the last one."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

UNKNOWN_SEED = 0
"""For the one vector that stands for all words without one."""


class WordVectors(Protocol):
    """What gives words their vectors: `minitorch.data.GloVe`, or `DrawnVectors`."""

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        ...

    def __contains__(self, word: str) -> bool: ...

    def __getitem__(self, word: str) -> np.ndarray: ...


class DrawnVectors:
    """A vector for every word there is, drawn from the normal distribution with standard deviation 0.5: it knows nothing of meaning.

    A word has the same vector in every run.

    Args:
        dim: How many numbers a vector has.
    """

    def __init__(self, dim: int = 50) -> None:
        self.dim = dim

    def __contains__(self, word: str) -> bool:
        return True

    def __getitem__(self, word: str) -> np.ndarray:
        return np.random.default_rng(zlib.crc32(word.encode())).normal(0, 0.5, self.dim).astype(np.float32)


def encode_sentences(sentences: Sequence[str], vectors: WordVectors, length: int | None = None) -> np.ndarray:
    """The vectors of the words of every sentence. Words lie between blanks; those without a vector share one, drawn once for all.

    Args:
        sentences: In any number.
        vectors: Those of the words.
        length: How many words there is room for; what is longer is cut off. Left out: the longest sentence fits.

    Returns:
        Shape (sentences, length, vectors.dim), float32; zeros where a sentence has no word.
    """
    words = [sentence.split() for sentence in sentences]
    length = max([len(sentence) for sentence in words], default=0) if length is None else length
    unknown = np.random.default_rng(UNKNOWN_SEED).uniform(-0.05, 0.05, vectors.dim)
    encoded = np.zeros((len(words), length, vectors.dim), np.float32)
    known: dict[str, np.ndarray] = {}
    for row, sentence in zip(encoded, words, strict=True):
        for place, word in zip(row, sentence, strict=False):
            if word not in known:
                known[word] = vectors[word] if word in vectors else unknown  # noqa: SIM401  # vectors are no dict
            place[:] = known[word]
    return encoded


def encode_sentence_data(
    dataset: Mapping[str, Any], pretrained_embeddings: WordVectors, N_train: int, N_val: int = 0
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The first sentences to train on and the first ones to validate with, as arrays in which the longest of both fits.

    Args:
        dataset: Under "train" and "validation" a set of sentences and their labels.
        pretrained_embeddings: The vectors of the words.
        N_train: How many to train on.
        N_val: How many to validate with.

    Returns:
        Twice the encoded sentences, shape (sentences, words, numbers of a vector), and their labels, shape (sentences,).
    """
    parts = [(dataset["train"], N_train), (dataset["validation"], N_val)]
    length = max((len(sentence.split()) for part, n in parts for sentence in part.sentences[:n]), default=0)
    train, validation = (
        (encode_sentences(part.sentences[:n], pretrained_embeddings, length), np.asarray(part.labels[:n])) for part, n in parts
    )
    return train, validation
