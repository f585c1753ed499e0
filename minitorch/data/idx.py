"""Stage 4 - The IDX format, in which MNIST is published: four bytes of magic, the sizes, the numbers as bytes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from minitorch.data.files import decompress

BYTES = 8
"""The type code of unsigned bytes, the only type that image sets use."""


def read_idx(path: Path, dims: int) -> np.ndarray:
    """The array in an IDX file, plain or compressed by gzip.

    The file begins with two bytes of 0, the code of the type and the number of dimensions; then come the sizes, of four bytes each, the
    most significant first; then the numbers, the last dimension running fastest.

    Args:
        path: Where it lies.
        dims: How many dimensions it must have: 3 for images, 1 for labels.

    Returns:
        dtype uint8.

    Raises:
        ValueError: If it is damaged, cut off or of another kind; the message names it.
    """
    content = decompress(path)
    head = 4 + 4 * dims
    magic = bytes([0, 0, BYTES, dims])
    if content[:4] != magic:
        raise ValueError(
            f"{path} expected an IDX file of {dims} dimensions, which begins with {magic.hex(' ')}, "
            f"got {content[:4].hex(' ') or 'nothing'}; put the right file there, or delete it to have it downloaded"
        )
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, head, 4))
    if len(content) != head + math.prod(shape):
        raise ValueError(
            f"{path} expected {head + math.prod(shape)} bytes for the sizes {shape} that it announces, got {len(content)}; "
            "it is cut off or damaged: delete it to have it downloaded, or copy it anew"
        )
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)
