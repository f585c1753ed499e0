"""Stage 7 - WordPiece: text as the longest pieces of words that a vocabulary has, as BERT reads it."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from minitorch.io.formats import FileFormatError
from minitorch.language.token_files import read_text

PADDING, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
"""Tokens that no text becomes: what fills up shorter texts of a batch, a word without pieces, and the two ends of a text."""

CONTINUED = "##"
"""Begins a piece that continues a word."""

LONGEST_WORD = 100
"""A word of more characters is unknown."""

REMOVED = ("Cc", "Cf", "Cs", "Co", "Mn")
"""Categories of characters that are removed: control characters, surrogates, those for private use, and accents."""

IDEOGRAPHS = [
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
]  # fmt: skip
"""First and last code point of the blocks of Chinese characters, each of which is a word."""


def split_lowercase(text: str) -> list[str]:
    """Split text into words in lower case and without accents; a punctuation mark and a Chinese character are words of their own.

    Control characters and those for private use are removed.

        >>> split_lowercase("Crème brûlée, isn't it?")
        ['creme', 'brulee', ',', 'isn', "'", 't', 'it', '?']

    Source: Devlin et al. 2019, arXiv:1810.04805; the rules are in the published code, of which this is the variant without case.
    """
    found = []
    for character in unicodedata.normalize("NFD", text):
        category = unicodedata.category(character)
        if character in "\t\n\r" or category[0] == "Z":
            found.append(" ")
        elif category in REMOVED or character == "\N{REPLACEMENT CHARACTER}":
            continue
        elif category[0] == "P" or character in string.punctuation or _is_ideograph(character):
            found.append(f" {character} ")
        else:
            found.append(character.lower())
    return [word for word in "".join(found).split(" ") if word]


def _is_ideograph(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in IDEOGRAPHS)


class WordPiece:
    """WordPiece: each word becomes the longest piece of the vocabulary that it begins with, then the longest one of the rest, and so on.

        >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "token", "##ize", "##r", "##s", "."])
        >>> [tokenizer.tokens[number] for number in tokenizer.encode("Tokenizers.")]
        ['[CLS]', 'token', '##ize', '##r', '##s', '.', '[SEP]']

    Args:
        tokens: The pieces by number; those that continue a word begin with ##.

    Attributes:
        tokens: The pieces.
        padding: The number of the token that fills up shorter texts of a batch.

    Raises:
        ValueError: If a token occurs twice, or one of [PAD], [UNK], [CLS] and [SEP] is missing.

    Source: Wu et al. 2016, arXiv:1609.08144, section 4.1.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = list(tokens)
        self._numbers = {token: number for number, token in enumerate(self.tokens)}
        missing = [token for token in (PADDING, UNKNOWN, START, END) if token not in self._numbers]
        twice = [token for number, token in enumerate(self.tokens) if self._numbers[token] != number]
        if missing or twice:
            found = f"no {missing[0]}" if missing else f"{twice[0]!r} twice"
            raise ValueError(f"WordPiece expected different tokens, among them [PAD], [UNK], [CLS] and [SEP], got {found}; change the list")
        self.padding = self._numbers[PADDING]

    @classmethod
    def load(cls, path: str | Path) -> WordPiece:
        """Read a vocab.txt: a token on each line, in the order of their numbers.

        Raises:
            FileFormatError: If it is something else.
            OSError: If it cannot be read.
        """
        path = Path(path)
        lines = [line.removesuffix("\r") for line in read_text(path).removesuffix("\n").split("\n")]
        try:
            return cls(lines)
        except ValueError as error:
            raise FileFormatError(path, "a token on each line", f"others ({error})", "copy the file again") from None

    def encode(self, text: str, max_tokens: int | None = None) -> list[int]:
        """Return the numbers of a text's tokens, from [CLS] to [SEP].

        A word with a part that is no piece, or with more than 100 characters, becomes [UNK]. The text "[SEP]" is text as any other.

        Args:
            text: Any text.
            max_tokens: The largest number of tokens, both ends included; the rest of the text is dropped. None for any number.

        Raises:
            TypeError: If text is not a string.
            ValueError: If max_tokens is less than 2.
        """
        if not isinstance(text, str):
            raise TypeError(f"encode expected a string, got {type(text).__name__}; decode bytes with .decode()")
        if max_tokens is not None and max_tokens < 2:
            raise ValueError(f"encode expected max_tokens of at least 2, for [CLS] and [SEP], got {max_tokens}; pass None for any number")
        pieces = [piece for word in split_lowercase(text) for piece in self._split_word(word)]
        return [self._numbers[START], *(pieces if max_tokens is None else pieces[: max_tokens - 2]), self._numbers[END]]

    def _split_word(self, word: str) -> list[int]:
        """Return the numbers of a word's pieces."""
        pieces, start = list[int](), 0
        while start < len(word):
            mark = CONTINUED if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._numbers), None)
            if end is None or len(word) > LONGEST_WORD:
                return [self._numbers[UNKNOWN]]
            pieces.append(self._numbers[mark + word[start:end]])
            start = end
        return pieces

    def __len__(self) -> int:
        """Number of tokens."""
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"WordPiece({len(self)} tokens)"
