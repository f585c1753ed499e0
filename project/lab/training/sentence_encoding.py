"""Encoding of sentences: the vector of each word, in order, padded with zeros."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

UNKNOWN_SEED = 0
"""For the one vector that stands for all words without one."""


class WordVectors(Protocol):
    """A source of word vectors: `minitorch.data.GloVe` or `DrawnVectors`."""

    @property
    def dim(self) -> int:
        """The size of a vector."""
        ...

    def __contains__(self, word: str) -> bool: ...

    def __getitem__(self, word: str) -> np.ndarray: ...


class DrawnVectors:
    """Random vectors for all words, from the normal distribution with standard deviation 0.5; they carry no meaning.

    A word has the same vector in every run.

    Args:
        dim: The size of a vector.
    """

    def __init__(self, dim: int = 50) -> None:
        self.dim = dim

    def __contains__(self, word: str) -> bool:
        return True

    def __getitem__(self, word: str) -> np.ndarray:
        return np.random.default_rng(zlib.crc32(word.encode())).normal(0, 0.5, self.dim).astype(np.float32)


def encode_sentences(sentences: Sequence[str], vectors: WordVectors, length: int | None = None) -> np.ndarray:
    """Encode sentences as the vectors of their words. Blanks separate words; all words without a vector share one random vector.

    Args:
        sentences: The sentences.
        vectors: The vectors of the words.
        length: The number of words; longer sentences are truncated. If omitted, the length of the longest sentence.

    Returns:
        Shape (sentences, length, vectors.dim), float32, padded with zeros.
    """
    words = [sentence.split() for sentence in sentences]
    length = max([len(sentence) for sentence in words], default=0) if length is None else length
    unknown = np.random.default_rng(UNKNOWN_SEED).uniform(-0.05, 0.05, vectors.dim)
    encoded = np.zeros((len(words), length, vectors.dim), np.float32)
    known: dict[str, np.ndarray] = {}
    for row, sentence in zip(encoded, words, strict=True):
        for place, word in zip(row, sentence, strict=False):
            if word not in known:
                known[word] = vectors[word] if word in vectors else unknown  # noqa: SIM401  # vectors is not a dict
            place[:] = known[word]
    return encoded


def encode_sentence_data(
    dataset: Mapping[str, Any], pretrained_embeddings: WordVectors, N_train: int, N_val: int = 0
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Encode the first training and validation sentences, padded to the length of the longest.

    Args:
        dataset: Sentences and labels, under "train" and "validation".
        pretrained_embeddings: The vectors of the words.
        N_train: Number of training sentences.
        N_val: Number of validation sentences.

    Returns:
        For training and for validation, the encoded sentences, shape (sentences, words, dim), and their labels, shape (sentences,).
    """
    parts = [(dataset["train"], N_train), (dataset["validation"], N_val)]
    length = max((len(sentence.split()) for part, n in parts for sentence in part.sentences[:n]), default=0)
    train, validation = (
        (encode_sentences(part.sentences[:n], pretrained_embeddings, length), np.asarray(part.labels[:n])) for part, n in parts
    )
    return train, validation
