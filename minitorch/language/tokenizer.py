"""Stage 6 - Byte-pair encoding: text as a sequence of tokens, which are learned from a text."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from minitorch.io.formats import FileFormatError
from minitorch.language.merges import Pair, apply_merges, learn_merges
from minitorch.language.token_files import REMEDY, Tables, read_gpt2, read_json, write_gpt2, write_json
from minitorch.language.words import split_words

CACHED_WORDS = 2**18
"""Maximum number of words whose tokens a tokenizer keeps."""


class Tokenizer:
    """Byte-pair encoding: splits text into tokens, which are frequent sequences of bytes, and numbers them.

    Text is split into words by `split_words`, each word into the bytes of its UTF-8, and these are merged in the order in which the merges
    were learned. As every byte is a token, every text can be encoded, and decoding gives the same text.

        >>> tokenizer = Tokenizer.train("the cat sat on the mat, the end", 260, special_tokens=["<|end|>"])
        >>> tokenizer.encode("the hat")
        [258, 32, 104, 256]
        >>> tokenizer.decode([258, 32, 104, 256])
        'the hat'

    Args:
        tokens: The bytes of every token, by number.
        merges: The new token of each pair of tokens, in the order in which the merges were learned; the numbers of the new tokens ascend.
        special_tokens: The numbers of tokens that no text is merged into, such as the end of a text, by their text.

    Raises:
        TypeError: If the text of a special token is not a string.
        ValueError: If a byte is not a token, or a token is not exactly one of a byte, the result of a merge and a special token.

    Source: Sennrich et al. 2016, arXiv:1508.07909; over bytes: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
    """

    def __init__(self, tokens: Sequence[bytes], merges: Mapping[Pair, int], special_tokens: Mapping[str, int] | None = None) -> None:
        self.tokens, self.merges, self.special_tokens = list(tokens), dict(merges), dict(special_tokens or {})
        self._byte_tokens = _check_tables(self._tables())
        self._cache: dict[str, list[int]] = {}

    @classmethod
    def train(cls, texts: str | Iterable[str], vocabulary_size: int, special_tokens: Iterable[str] = ()) -> Tokenizer:
        """Learn the tokens of a text. Equal texts give equal tokenizers.

        The vocabulary consists of the 256 bytes, the results of the merges, and the special tokens, which are not learned from. For the
        choice among equally frequent pairs see `learn_merges`.

        Args:
            texts: A text, or several.
            vocabulary_size: Number of tokens, at least 256 and the number of special tokens.
            special_tokens: Texts with a token of their own.

        Raises:
            TypeError: If something else is given.
            ValueError: If vocabulary_size is too small, or too large for the texts, if a special token is empty or occurs twice, or if a
                text contains a lone surrogate.
        """
        special = _check_special_tokens(special_tokens)
        count = operator.index(vocabulary_size) - 256 - len(special)
        if count < 0:
            needed = f"the 256 bytes and {len(special)} special tokens"
            raise ValueError(
                f"train expected a vocabulary_size of at least {256 + len(special)}, got {vocabulary_size}; leave room for {needed}"
            )
        separator = _special_pattern(special)
        words: Counter[str] = Counter()
        for text in [texts] if isinstance(texts, str) else texts:
            _check_text(text, "train")
            for piece in separator.split(text)[::2] if separator else [text]:
                words.update(split_words(piece))
        merges = learn_merges(words, count)
        if len(merges) < count:
            most = 256 + len(special) + len(merges)
            raise ValueError(
                f"train expected text with more frequent pairs, got text for {most} of {vocabulary_size} tokens; pass more text"
            )
        tokens = [bytes([byte]) for byte in range(256)]
        for left, right in merges:
            tokens.append(tokens[left] + tokens[right])
        numbers = {text: len(tokens) + number for number, text in enumerate(special)}
        return cls([*tokens, *(text.encode() for text in special)], merges, numbers)

    def encode(self, text: str, special: bool = False) -> list[int]:
        """Return the numbers of a text's tokens.

        Args:
            text: Any text.
            special: Whether the text of a special token becomes this token; of several, the longest. By default it is text as any other: a
                user's message cannot end a conversation.

        Raises:
            TypeError: If it is not a string.
            ValueError: If it contains a lone surrogate, which UTF-8 cannot represent.
        """
        _check_text(text, "encode")
        separator = _special_pattern(self.special_tokens) if special else None
        if separator is None:
            return self._encode_ordinary(text)
        found: list[int] = []
        for position, piece in enumerate(separator.split(text)):
            found += [self.special_tokens[piece]] if position % 2 else self._encode_ordinary(piece)
        return found

    def _encode_ordinary(self, text: str) -> list[int]:
        """Encode text without special tokens: the tokens of each of its words (`split_words`), one word after the other."""
        return [token for word in split_words(text) for token in self._encode_word(word)]

    def _encode_word(self, word: str) -> list[int]:
        """Encode a word: begin with the tokens of the bytes of its UTF-8, and apply the merges.

        `_byte_tokens[b]` is the token of the byte b. Words occur again, so `_cache` keeps the tokens of at most CACHED_WORDS words.
        """
        tokens = self._cache.get(word)
        if tokens is None:
            if len(self._cache) >= CACHED_WORDS:
                self._cache.clear()
            tokens = self._cache[word] = apply_merges([self._byte_tokens[byte] for byte in word.encode()], self.merges)
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens.

        Bytes that are not UTF-8, as where a sequence begins or ends within a character, become U+FFFD, one for each byte or beginning of a
        character, as Python's errors="replace" does.

        Args:
            tokens: Numbers of tokens.

        Raises:
            TypeError: If they are not whole numbers.
            ValueError: If one is out of range.
        """
        return self.decode_bytes(tokens).decode(errors="replace")

    def decode_bytes(self, tokens: Iterable[int]) -> bytes:
        """Return the bytes of tokens, also if they are not the UTF-8 of a text.

        Raises:
            TypeError: If they are not whole numbers; `_check_tokens` says so.
            ValueError: If one is out of range; `_check_tokens` says so.
        """
        return b"".join([self.tokens[number] for number in _check_tokens(tokens, len(self.tokens))])

    def __len__(self) -> int:
        """Number of tokens, special ones included."""
        return len(self.tokens)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self._tables() == other._tables()

    def __repr__(self) -> str:
        return f"Tokenizer({len(self)} tokens, {len(self.special_tokens)} of them special)"

    def _tables(self) -> Tables:
        return Tables(self.tokens, self.merges, self.special_tokens)

    def save(self, path: str | Path) -> None:
        """Write the tokenizer to one JSON file, atomically. Raises OSError if it cannot be written; the old file is left unchanged."""
        write_json(path, self._tables())

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read a file that `save` wrote.

        Raises:
            FileFormatError: If it is damaged, or of another format.
            OSError: If it cannot be read.
        """
        return cls._from_file(path, read_json(path))

    def save_gpt2(self, vocabulary_path: str | Path, merges_path: str | Path) -> None:
        """Write the two files of GPT-2's layout, vocab.json and merges.txt, each atomically.

        Raises:
            ValueError: If the text of a special token is also that of another token, as this layout writes it.
            OSError: If a file cannot be written.
        """
        write_gpt2(vocabulary_path, merges_path, self._tables())

    @classmethod
    def load_gpt2(cls, vocabulary_path: str | Path, merges_path: str | Path) -> Tokenizer:
        """Read the two files of GPT-2's layout, vocab.json and merges.txt. A token that is no byte and no merge is special.

        Raises:
            FileFormatError: If a file is damaged, or of another format.
            OSError: If a file cannot be read.
        """
        return cls._from_file(vocabulary_path, read_gpt2(vocabulary_path, merges_path))

    @classmethod
    def _from_file(cls, path: str | Path, tables: Tables) -> Tokenizer:
        try:
            return cls(*tables)
        except ValueError as error:
            raise FileFormatError(Path(path), "the tables of a tokenizer", f"others ({error})", REMEDY) from None


# Checks


def _check_text(text: object, where: str) -> None:
    """Check that a text is a string that UTF-8 can represent."""
    if not isinstance(text, str):
        raise TypeError(f"{where} expected a string, got {type(text).__name__}; decode bytes with .decode()")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = f"the lone surrogate {text[error.start]!r} at position {error.start}"
        raise ValueError(f"{where} expected text that UTF-8 can represent, got {found}; remove it, or read the file as UTF-8") from None


def _check_tokens(tokens: Iterable[int], count: int) -> list[int]:
    """Check that tokens are whole numbers from 0 to count - 1; returns them as a list."""
    try:
        numbers = list(map(operator.index, tokens))
    except TypeError as error:
        raise TypeError(f"decode expected whole numbers, got something else ({error}); pass a list of tokens") from None
    if numbers and not (min(numbers) >= 0 and max(numbers) < count):
        wrong = next(number for number in numbers if not 0 <= number < count)
        raise ValueError(f"decode expected tokens from 0 to {count - 1}, got {wrong}; use the tokenizer that the text was encoded with")
    return numbers


def _check_special_tokens(special_tokens: Iterable[str]) -> list[str]:
    """Check that special tokens are different texts."""
    found = [special_tokens] if isinstance(special_tokens, str) else list(special_tokens)
    for text in found:
        _check_text(text, "special_tokens")
    if len(set(found)) < len(found) or "" in found:
        raise ValueError(f"special_tokens expected different texts, none of them empty, got {found}; leave out the others")
    return found


def _special_pattern(special_tokens: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that splits text at special tokens, longer ones first, and keeps them; None if there are none."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None


def _check_tables(tables: Tables) -> list[int]:
    """Check that each token is exactly one of a byte, the result of a merge, and a special token; returns the tokens of the 256 bytes."""
    tokens, merges, special_tokens = tables
    _check_special_tokens(special_tokens)
    for text, number in special_tokens.items():
        if not 0 <= number < len(tokens) or tokens[number] != text.encode():
            raise ValueError(f"Tokenizer expected the special token {text!r} among tokens, got another at {number}; add its bytes")
    others = {*special_tokens.values(), *merges.values()}
    rest = {number: token for number, token in enumerate(tokens) if number not in others}
    numbers = {token: number for number, token in rest.items()}
    missing = [byte for byte in range(256) if bytes([byte]) not in numbers]
    if missing or len(rest) > 256:
        found = f"none for {missing[0]:#04x}" if missing else f"{len(rest)} tokens that are neither merged nor special"
        raise ValueError(f"Tokenizer expected one token for each of the 256 bytes, got {found}; add the missing bytes and merges")
    known, last = set(rest), -1
    for (left, right), new in merges.items():
        if not {left, right} <= known or new <= last or new >= len(tokens) or tokens[new] != tokens[left] + tokens[right]:
            where = f"the merge {(left, right)} to {new}"
            raise ValueError(
                f"Tokenizer expected merges of earlier tokens in ascending order, got {where}; number tokens as they are learned"
            )
        known.add(new)
        last = new
    if len(known) + len(special_tokens) != len(tokens):
        raise ValueError("Tokenizer expected each token to be one of a byte, a merge and a special token, got one that is two; renumber it")
    return [numbers[bytes([byte])] for byte in range(256)]
