"""Small arrays as small images: every pixel stays a square, and each image has a text alternative."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from project.lab.charts.palette import NEGATIVE, POSITIVE, channels


@dataclass(frozen=True)
class Thumbnail:
    """An image with text.

    Attributes:
        pixels: Rows, columns and red, green, blue, from 0 to 255.
        says: The text alternative.
        caption: The caption below.
    """

    pixels: np.ndarray
    says: str
    caption: str = ""


def ink(image: np.ndarray) -> np.ndarray:
    """Return a drawing as pixels: 0 is white paper, 1 is black ink."""
    grey = 255 * (1 - np.clip(image, 0, 1))
    return np.repeat(np.rint(grey).astype(np.uint8)[:, :, None], 3, 2)


def signed(values: np.ndarray, most: float) -> np.ndarray:
    """Return numbers as pixels: white for 0, blue for positive, orange for negative.

    Args:
        values: Rows, columns.
        most: The absolute value with the full color.
    """
    share = np.clip(np.nan_to_num(values) / (most or 1.0), -1, 1)[:, :, None]
    return np.rint(255 + np.abs(share) * (np.where(share < 0, channels(NEGATIVE), channels(POSITIVE)) - 255)).astype(np.uint8)


def png(pixels: np.ndarray) -> bytes:
    """Return the bytes of a PNG file.

    Args:
        pixels: Rows, columns and red, green, blue, from 0 to 255.
    """
    rows, columns = pixels.shape[:2]
    lines = b"".join(b"\0" + row.astype(np.uint8).tobytes() for row in pixels)  # 0: the line is not filtered

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def markup(thumbnails: Sequence[Thumbnail], width: float, gap: float = 0.6, columns: int | None = None) -> str:
    """Return the markup of images side by side, in rows that wrap.

    Args:
        thumbnails: In order.
        width: Width of an image, in rem.
        gap: Space between two, in rem.
        columns: The maximum number in a row; None for as many as fit.
    """
    figures = []
    for each in thumbnails:
        source = f"data:image/png;base64,{base64.b64encode(png(each.pixels)).decode()}"
        caption = (
            f'<figcaption style="font-size: .8rem; line-height: 1.25">{html.escape(each.caption)}</figcaption>' if each.caption else ""
        )
        say = html.escape(each.says)
        look = "width: 100%; image-rendering: pixelated; border: 1px solid #8c8c8c; border-radius: 3px; display: block"
        figures.append(
            f'<figure style="margin: 0; width: {width}rem"><img src="{source}" alt="{say}" title="{say}" style="{look}">{caption}</figure>'
        )
    room = f"; max-width: {columns * (width + gap):.2f}rem" if columns else ""  # one gap more than needed, to allow for rounding
    return f'<div style="display: flex; flex-wrap: wrap; gap: {gap}rem{room}">{"".join(figures)}</div>'
