"""Stage 3 - Arguments of a kernel as text: numbers, tuples, and arrays such as float32[64,64]."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
"""The types of elements that a text can name."""

FILLS = ("zeros", "ones", "count", "random")
"""The ways to fill an array; count is 0, 1, 2 and so on, random is uniform from 0 to 1, always the same."""

FORMS = "a number, a tuple such as (64,64), or an array such as float32[64,64] (counting up) or zeros:float32[4096]"
LARGEST = 1 << 24
"""Elements of an array, at most."""


def parse_argument(text: str) -> Any:
    """The argument that a text describes. No code is evaluated.

    Args:
        text: An integer, a float, True, False, a tuple of numbers, or an array, optionally with one of FILLS and a colon before it.

    Raises:
        ValueError: If the text is none of these.
    """
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        return tuple(_number(part) for part in text[1:-1].split(",") if part.strip())
    array = re.fullmatch(r"(?:(\w+):)?(\w+)\[([\d\s,]+)\]", text)
    return _array(text, array[1] or "count", array[2], array[3]) if array else _number(text)


def parse_size(text: str) -> tuple[int, ...]:
    """The size of a grid or a block, such as "32,32".

    Raises:
        ValueError: If the text is no list of one to three integers of at least 1.
    """
    if not re.fullmatch(r"\d+(,\d+){0,2}", text.replace(" ", "")) or 0 in (sizes := tuple(map(int, text.split(",")))):
        raise ValueError(f"expected one to three integers of at least 1, such as 32,32; got {text!r}")
    return sizes


def _number(text: str) -> Any:
    text = text.strip()
    if text in ("True", "False"):
        return text == "True"
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    raise ValueError(f"expected {FORMS}; got {text!r}")


def _array(text: str, fill: str, dtype: str, sizes: str) -> np.ndarray:
    shape = tuple(int(size) for size in sizes.split(",") if size.strip())
    if fill not in FILLS or dtype not in DTYPES:
        wrong, known = (fill, FILLS) if fill not in FILLS else (dtype, DTYPES)
        raise ValueError(f"expected one of {', '.join(known)} in {text!r}, got {wrong!r}")
    size = math.prod(shape)
    if not 1 <= len(shape) <= 3 or not 1 <= size <= LARGEST:
        raise ValueError(f"expected one to three sizes and at most {LARGEST} elements, got {text!r}")
    if fill == "random":
        values = np.random.default_rng(0).random(size)
    else:
        values = np.arange(size) if fill == "count" else np.full(size, fill == "ones")
    return values.astype(dtype).reshape(shape)
