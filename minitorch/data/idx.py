"""Stage 4 - The IDX file format of MNIST: a magic number, the sizes, and the elements as bytes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from minitorch.data.files import decompress

BYTES = 8
"""The type code of unsigned bytes, the only type that image sets use."""


def read_idx(path: Path, dims: int) -> np.ndarray:
    """Read the array in an IDX file, plain or compressed with gzip.

    The file begins with two zero bytes, the type code and the number of dimensions, followed by the sizes (four bytes each, big-endian) and
    the elements in row-major order.

    Args:
        path: Path of the file.
        dims: Expected number of dimensions: 3 for images, 1 for labels.

    Returns:
        dtype uint8.

    Raises:
        ValueError: If the file is damaged, truncated or of another format; the message names it.
    """
    content = decompress(path)
    head = 4 + 4 * dims
    magic = bytes([0, 0, BYTES, dims])
    if content[:4] != magic:
        raise ValueError(
            f"{path} expected an IDX file of {dims} dimensions, which begins with {magic.hex(' ')}, "
            f"got {content[:4].hex(' ') or 'nothing'}; put the right file there, or delete it to download it again"
        )
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, head, 4))
    if len(content) != head + math.prod(shape):
        raise ValueError(
            f"{path} expected {head + math.prod(shape)} bytes for the sizes {shape} in its header, got {len(content)}; "
            "the file is truncated or damaged: delete it to download it again, or copy it again"
        )
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)
