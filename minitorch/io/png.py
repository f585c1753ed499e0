"""Stage 7 - PNG files: pixels of 8 bits in grey or color, with or without transparency.

Source: PNG (Portable Network Graphics) Specification, third edition, W3C 2025.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

from minitorch.core.errors import ArgumentError

SIGNATURE = b"\x89PNG\r\n\x1a\n"

COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
"""The color type of pixels with 1 to 4 channels: grey, grey and opacity, red green blue, and these with opacity."""

PALETTE = 3
"""The color type of pixels that are numbers of colors in a table."""


def encode_png(pixels: np.ndarray, level: int = 6) -> bytes:
    """Pixels as the content of a PNG file.

    Args:
        pixels: Bytes of shape (H, W, C) with 1 to 4 channels: grey, grey and opacity, red green blue, or these with opacity.
        level: How hard zlib tries to compress, from 0 to 9.

    Raises:
        ValueError: If shape or dtype is another.

    Example:
        >>> content = encode_png(np.zeros((2, 3, 1), np.uint8))
        >>> decode_png(content).shape
        (2, 3, 1)
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in COLOR_TYPES or not pixels.size:
        raise ValueError(
            f"a PNG file expected pixels of uint8 and shape (H, W, 1 to 4), got {pixels.dtype.name} and {pixels.shape}; convert them"
        )
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, COLOR_TYPES[channels], 0, 0, 0)
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows.tobytes(), level)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def decode_png(content: bytes) -> np.ndarray:
    """The pixels of a PNG file: bytes of shape (H, W, C); a table of colors, and fewer than 8 bits, become bytes.

    Raises:
        ValueError: If the file is damaged, is none of PNG, has 16 bits a number, or is interlaced.
    """
    found: dict[bytes, bytes] = {}
    for kind, part in _chunks(content):
        found[kind] = found.get(kind, b"") + part if kind == b"IDAT" else part
    if len(found.get(b"IHDR", b"")) != 13 or b"IDAT" not in found:
        raise ArgumentError("a PNG file expected a header and pixels, got neither or one; the file is damaged")
    width, height, bits, color, _, _, interlaced = struct.unpack(">IIBBBBB", found[b"IHDR"])
    channels = 1 if color == PALETTE else {number: count for count, number in COLOR_TYPES.items()}.get(color, 0)
    if interlaced or bits not in (1, 2, 4, 8) or not channels or (bits < 8 and channels > 1) or not width * height:
        kind = f"{width}×{height} pixels of {bits} bits, color type {color}{', interlaced' if interlaced else ''}"
        raise ArgumentError(f"a PNG file expected at most 8 bits a number, not interlaced, got {kind}; save it again with another program")
    length = -(-width * bits * channels // 8)
    try:
        packed = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, 1 + length)
    except (zlib.error, ValueError):
        raise ArgumentError(f"a PNG file expected {height} rows of {length} bytes; it is damaged") from None
    rows = _unfilter(packed, max(1, bits * channels // 8))
    if bits < 8:
        digits = np.unpackbits(rows, axis=1).reshape(height, -1, bits) @ (1 << np.arange(bits)[::-1])
        rows = (digits[:, :width] * (1 if color == PALETTE else 255 // (2**bits - 1))).astype(np.uint8)
    pixels = rows.reshape(height, width, channels)
    return _colors(pixels, found) if color == PALETTE else pixels


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The kinds and contents of the parts of a file, up to its end."""
    if not content.startswith(SIGNATURE):
        raise ArgumentError(f"a PNG file expected to begin with {SIGNATURE!r}, got {content[:8]!r}; it has another format")
    place, kind = len(SIGNATURE), b""
    while kind != b"IEND":
        size, kind = struct.unpack(">I4s", content[place : place + 8].ljust(8, b"\0"))
        part, end = content[place + 8 : place + 8 + size], content[place + 8 + size : place + 12 + size]
        if not kind.strip(b"\0") or len(part) < size or end != struct.pack(">I", zlib.crc32(kind + part)):
            raise ArgumentError(f"a PNG file expected a whole part at byte {place}, got {kind!r} of {len(part)} bytes; it is damaged")
        yield kind, part
        place += 12 + size


def _unfilter(packed: np.ndarray, step: int) -> np.ndarray:
    """Bytes of rows, each of which begins with its filter: what was subtracted from it. The neighbor at the left is `step` bytes away."""
    out = np.zeros((packed.shape[0], packed.shape[1] - 1), np.uint8)
    above = np.zeros(out.shape[1], np.uint8)
    for row, (kind, *_), given in zip(out, packed, packed[:, 1:], strict=True):
        if kind == 0:
            row[:] = given
        elif kind == 1:
            for first in range(min(step, row.size)):
                row[first::step] = np.cumsum(given[first::step], dtype=np.uint8)
        elif kind == 2:
            row[:] = given + above
        elif kind in (3, 4):
            _from_neighbors(row, given.tolist(), above.tolist(), step, kind == 4)
        else:
            raise ArgumentError(f"a PNG file expected filters from 0 to 4, got {kind}; it is damaged")
        above = row
    return out


def _from_neighbors(row: np.ndarray, given: list[int], above: list[int], step: int, nearest: bool) -> None:
    """Add to each byte the mean of the ones at the left and above, or the nearest to left + above - above left of these three."""
    out = [0] * step
    above = [0] * step + above
    for i, value in enumerate(given):
        left, up, corner = out[i], above[i + step], above[i]
        if nearest:
            guess = left + up - corner
            predicted = min((left, up, corner), key=lambda each: abs(guess - each))
        else:
            predicted = (left + up) // 2
        out.append((value + predicted) & 255)
    row[:] = out[step:]


def _colors(numbers: np.ndarray, found: dict[bytes, bytes]) -> np.ndarray:
    """The colors of pixels that are numbers in a table, with opacity if the file has one for any color."""
    table = np.frombuffer(found.get(b"PLTE", b""), np.uint8).reshape(-1, 3)
    if not len(table) or numbers.max() >= len(table):
        raise ArgumentError(f"a PNG file expected a table of more than {numbers.max()} colors, got {len(table)}; it is damaged")
    if b"tRNS" in found:
        opacity = np.full((len(table), 1), 255, np.uint8)
        given = np.frombuffer(found[b"tRNS"], np.uint8)[: len(table)]
        opacity[: len(given), 0] = given
        table = np.hstack([table, opacity])
    return table[numbers[:, :, 0]]
