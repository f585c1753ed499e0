"""Stage 4 - Words as numbers: a vocabulary, and pretrained word vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from minitorch.data.files import data_home, find_file

PADDING, UNKNOWN = 0, 1
"""Numbers for padding after the end of a sentence, and for words outside of the vocabulary."""


class Vocabulary:
    """Words and their numbers, the most frequent first; ties are broken by first occurrence.

    Words are separated by spaces.

    Args:
        sentences: Text from which the words are taken.
        min_count: Minimum number of occurrences of a word in the vocabulary.

    Attributes:
        words: The words by number; the first two represent padding and unknown words.

    Example:
        >>> vocabulary = Vocabulary(["the cat saw the dog"])
        >>> vocabulary.words
        ['<padding>', '<unknown>', 'the', 'cat', 'saw', 'dog']
        >>> vocabulary.encode("the bird saw", length=5)
        array([2, 1, 4, 0, 0])
    """

    def __init__(self, sentences: Iterable[str], min_count: int = 1) -> None:
        counts = Counter(word for sentence in sentences for word in sentence.split())
        self.words = ["<padding>", "<unknown>"] + [word for word, count in counts.most_common() if count >= min_count]
        self._numbers = {word: number for number, word in enumerate(self.words) if number > UNKNOWN}

    def __len__(self) -> int:
        """Number of entries, including padding and unknown words."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._numbers

    def __getitem__(self, word: str) -> int:
        """Number of a word; UNKNOWN for a word outside of the vocabulary."""
        return self._numbers.get(word, UNKNOWN)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self._numbers)} words)"

    def encode(self, sentence: str, length: int | None = None) -> np.ndarray:
        """Return the numbers of the words of a sentence.

        Args:
            sentence: Words separated by spaces.
            length: Number of elements to return, by truncating or padding; by default the number of words.

        Returns:
            Shape (length,), int64.
        """
        numbers = [self[word] for word in sentence.split()][:length]
        return np.array(numbers + [PADDING] * ((length or 0) - len(numbers)), np.int64)

    def encode_all(self, sentences: Sequence[str], length: int | None = None) -> np.ndarray:
        """Return the numbers of several sentences, shape (sentences, length), int64; by default as long as the longest."""
        if length is None:
            length = max((len(sentence.split()) for sentence in sentences), default=0)
        return np.array([self.encode(sentence, length) for sentence in sentences], np.int64).reshape(len(sentences), length)


class GloVe:
    """Pretrained word vectors: words used in similar contexts have similar vectors.

    Args:
        words: Unique words.
        vectors: Shape (words, dim), float32.

    Attributes:
        dim: Length of a vector.

    Source: J. Pennington, R. Socher, C. Manning, 2014, https://nlp.stanford.edu/projects/glove
    """

    def __init__(self, words: Sequence[str], vectors: np.ndarray) -> None:
        self.words, self.vectors = list(words), vectors
        self.dim = vectors.shape[1]
        self._rows = {word: row for row, word in enumerate(self.words)}

    @classmethod
    def load(cls, path: str | Path | None = None) -> GloVe:
        """Read the published text format: a word and its vector in each line, optionally after a line with both counts.

        Args:
            path: The file; by default glove.6B.50d.txt, or else the first glove*.txt, in the folder glove of the data directory.

        Raises:
            FileNotFoundError: If there is no file; the message says where to get it.
            ValueError: If the file is damaged; the message names the file and the line.
        """
        return cls(*read_vectors(_find_vectors() if path is None else Path(path)))

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __getitem__(self, word: str) -> np.ndarray:
        """Vector of a word, shape (dim,), as a view. Raises KeyError for an unknown word."""
        if word not in self._rows:
            raise KeyError(f"GloVe has no vector for {word!r}; check first: word in glove")
        return self.vectors[self._rows[word]]

    def __repr__(self) -> str:
        return f"GloVe({len(self)} words, dim={self.dim})"


def _find_vectors() -> Path:
    """Return the default file."""
    folder = data_home() / "glove"
    path = find_file(folder, ["glove.6B.50d.txt", *sorted(other.name for other in folder.glob("glove*.txt"))])
    if path is None:
        raise FileNotFoundError(
            f"{folder} expected a file glove.6B.50d.txt, got none; fetch https://nlp.stanford.edu/data/glove.6B.zip (862 MB) "
            "and unpack that file there, or pass another path: GloVe.load(path)"
        )
    return path


def read_vectors(path: Path) -> tuple[list[str], np.ndarray]:
    """Read the words of a file and their vectors, shape (words, dim), float32. For repeated words, the first vector counts.

    Raises:
        ValueError: If a line is not a word and dim numbers, or lines are missing.
        OSError: If the file cannot be read.
    """
    with path.open("rb") as file, np.errstate(over="ignore"):  # overflow gives inf, which is refused
        total = sum(1 for _ in file)  # to allocate the matrix once
        file.seek(0)
        first = file.readline().split()
        announced = [int(part) for part in first] if len(first) == 2 and all(part.isdigit() for part in first) else None
        dim = announced[1] if announced else len(first) - 1
        if dim < 1:
            raise ValueError(f"{path} line 1 expected a word and its numbers, got {first}; put the text file of GloVe there")
        skipped = int(announced is not None)
        if announced is None:
            file.seek(0)
        begin = file.tell()
        _entry(path, 1 + skipped, file.readline(), dim)  # check dim before allocating
        file.seek(begin)
        rows: dict[str, int] = {}
        vectors = np.empty((total - skipped, dim), np.float32)
        for number, line in enumerate(file, 1 + skipped):
            word, values = _entry(path, number, line, dim)
            if word not in rows:
                vectors[len(rows)] = values
                rows[word] = number
    if announced and total - skipped < announced[0]:  # additional words are accepted: some published counts are wrong
        raise ValueError(f"{path} expected {announced[0]} words, as its first line says, got {total - skipped}; copy it again")
    return list(rows), vectors[: len(rows)]


def _entry(path: Path, number: int, line: bytes, dim: int) -> tuple[str, np.ndarray]:
    """Parse one line into a word, which may contain spaces, and its vector."""
    word, *values = line.rstrip().rsplit(b" ", dim)
    try:
        if len(values) != dim or not word:
            raise ValueError
        vector = np.array(values, np.float32)
        if not np.isfinite(vector).all():
            raise ValueError
        return word.decode("utf-8"), vector
    except ValueError:
        shown = line[:40].decode("utf-8", "replace").strip()
        raise ValueError(
            f"{path} line {number} expected a word and {dim} numbers, got {shown!r}…; the file is damaged or truncated: copy it again"
        ) from None
