"""Stage 6 - Files of tokenizers: one JSON file, or GPT-2's vocab.json and merges.txt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from minitorch.io.formats import FileFormatError, replace_file

FORMAT = "minitorch tokenizer 1"
"""Value of the key "format" in our own files."""

MERGES_HEADER = "#version: 0.2"
"""First line of merges.txt. Other lines may begin with #, too: they are merges."""

REMEDY = "copy the file again, or save the tokenizer again"


class Tables(NamedTuple):
    """What a tokenizer consists of.

    Attributes:
        tokens: The bytes of every token, by number.
        merges: The number of the token that a pair of tokens is merged into, in the order in which the merges were learned.
        special_tokens: The numbers of the special tokens, by their text.
    """

    tokens: list[bytes]
    merges: dict[tuple[int, int], int]
    special_tokens: dict[str, int]


# Bytes as printable characters


def _printable_characters() -> list[str]:
    """Return GPT-2's character for every byte: the byte's own if it is printable, and else the next one from U+0100 on."""
    own = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return [chr(byte if byte in own else next(others)) for byte in range(256)]


CHARACTERS = _printable_characters()
BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def to_printable(token: bytes) -> str:
    """Return the bytes of a token as printable characters.

    >>> to_printable(b" the\\n")
    'ĠtheĊ'
    """
    return "".join(CHARACTERS[byte] for byte in token)


def from_printable(text: str) -> bytes:
    """Inverse of `to_printable`.

    Raises:
        ValueError: If a character stands for no byte.
    """
    if wrong := [character for character in text if character not in BYTES]:
        raise ValueError(f"from_printable expected characters that stand for bytes, got {wrong[0]!r} in {text!r}; use to_printable")
    return bytes(BYTES[character] for character in text)


# Our own format


def write_json(path: str | Path, tables: Tables) -> None:
    """Write tables to one JSON file, atomically.

    Raises:
        OSError: If it cannot be written; the old file is left unchanged.
    """
    special = set(tables.special_tokens.values())
    content = {
        "format": FORMAT,
        "vocabulary": {to_printable(token): number for number, token in enumerate(tables.tokens) if number not in special},
        "merges": _merge_lines(tables),
        "special_tokens": tables.special_tokens,
    }
    replace_file(path, json.dumps(content, ensure_ascii=False, indent=0).encode())


def read_json(path: str | Path) -> Tables:
    """Read a file that `write_json` wrote.

    Raises:
        FileFormatError: If it is damaged, or of another format.
        OSError: If it cannot be read.
    """
    path = Path(path)
    content = read_object(path)
    if content.get("format") != FORMAT:
        found = f"the format {content.get('format')!r}"
        raise FileFormatError(path, f"the format {FORMAT!r}", found, "for GPT-2's vocab.json and merges.txt, use Tokenizer.load_gpt2")
    vocabulary, merges, special_tokens = (content.get(key) for key in ("vocabulary", "merges", "special_tokens"))
    if not isinstance(merges, list) or not all(isinstance(line, str) for line in merges):
        raise FileFormatError(path, "a list of merges", f"{merges!s:.60}", REMEDY)
    return _tables(path, _numbers(path, vocabulary), path, merges, _numbers(path, special_tokens))


# GPT-2's format


def write_gpt2(vocabulary_path: str | Path, merges_path: str | Path, tables: Tables) -> None:
    """Write tables to a vocab.json and a merges.txt, each atomically.

    Raises:
        ValueError: If the text of a special token is also an ordinary token in vocab.json.
        OSError: If a file cannot be written.
    """
    names = list(map(to_printable, tables.tokens))
    for text, number in tables.special_tokens.items():
        names[number] = text
    for text in tables.special_tokens:
        if names.count(text) > 1:
            raise ValueError(f"save_gpt2 expected special tokens unlike all others, got {text!r}; choose a text such as '<|{text}|>'")
    vocabulary = {name: number for number, name in enumerate(names)}
    replace_file(vocabulary_path, json.dumps(vocabulary, ensure_ascii=False).encode())
    replace_file(merges_path, "".join(f"{line}\n" for line in [MERGES_HEADER, *_merge_lines(tables)]).encode())


def read_gpt2(vocabulary_path: str | Path, merges_path: str | Path) -> Tables:
    """Read a vocab.json and a merges.txt. A token that is neither a byte nor the result of a merge is a special token.

    Raises:
        FileFormatError: If a file is damaged, or of another format.
        OSError: If a file cannot be read.
    """
    vocabulary_path, merges_path = Path(vocabulary_path), Path(merges_path)
    vocabulary = _numbers(vocabulary_path, read_object(vocabulary_path))
    lines = read_text(merges_path).split("\n")
    lines = [line.rstrip("\r") for line in lines if line.strip()]
    lines = lines[lines[:1] != [] and lines[0].startswith("#version") :]
    ordinary = {*CHARACTERS, *(line.replace(" ", "") for line in lines)}
    special_tokens = {text: vocabulary.pop(text) for text in list(vocabulary) if text not in ordinary}
    return _tables(vocabulary_path, vocabulary, merges_path, lines, special_tokens)


# What the formats share


def _merge_lines(tables: Tables) -> list[str]:
    """Return each merge as two printable tokens with a space between them; a printable token contains no space."""
    return [" ".join(to_printable(tables.tokens[part]) for part in pair) for pair in tables.merges]


def read_text(path: Path) -> str:
    """Read a file of UTF-8.

    Raises:
        FileFormatError: If it is something else.
        OSError: If it cannot be read.
    """
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise FileFormatError(path, "text in UTF-8", f"the byte {error.object[error.start]:#04x} at {error.start}", REMEDY) from None


def read_object(path: Path) -> dict[str, Any]:
    """Read a file that contains a JSON object.

    Raises:
        FileFormatError: If it contains something else.
        OSError: If it cannot be read.
    """
    try:
        content = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise FileFormatError(path, "JSON", f"something else ({error})", REMEDY) from None
    if not isinstance(content, dict):
        raise FileFormatError(path, "a JSON object", type(content).__name__, REMEDY)
    return content


def _numbers(path: Path, content: Any) -> dict[str, int]:
    """Check that a JSON value is an object of whole numbers."""
    if not isinstance(content, dict) or not all(type(number) is int for number in content.values()):
        raise FileFormatError(path, "numbers of tokens by their text", f"{content!s:.60}", REMEDY)
    return content


def _tables(
    vocabulary_path: Path, vocabulary: Mapping[str, int], merges_path: Path, lines: Iterable[str], special_tokens: dict[str, int]
) -> Tables:
    """Make tables of the content of files."""
    numbers = sorted([*vocabulary.values(), *special_tokens.values()])
    if numbers != list(range(len(numbers))):
        wrong = next(number for number, found in enumerate(numbers) if number != found)
        raise FileFormatError(vocabulary_path, "each number from 0 on once", f"no token {wrong}, or one twice", REMEDY)
    tokens = [b""] * len(numbers)
    for text, number in vocabulary.items():
        if not BYTES.keys() >= set(text):
            raise FileFormatError(vocabulary_path, "printable characters for bytes", repr(text), REMEDY)
        tokens[number] = from_printable(text)
    for text, number in special_tokens.items():
        tokens[number] = text.encode()
    merges: dict[tuple[int, int], int] = {}
    for line in lines:
        left, _, right = line.partition(" ")
        if not {left, right, left + right} <= vocabulary.keys():
            raise FileFormatError(merges_path, "two tokens of the vocabulary, and their merge in it", repr(line), REMEDY)
        merges[vocabulary[left], vocabulary[right]] = vocabulary[left + right]
    return Tables(tokens, merges, special_tokens)
