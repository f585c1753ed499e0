"""Stage 7 - torchvision.io: images as files. PNG is read and written here; other formats need Pillow."""

from __future__ import annotations

import io
from enum import Enum
from pathlib import Path

import numpy as np

from minitorch.data.images import pillow
from minitorch.io.formats import replace_file
from minitorch.io.png import SIGNATURE
from minitorch.io.png import decode_png as _decode_png
from minitorch.io.png import encode_png as _encode_png
from minitorch.torch import creation
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.tensor import Tensor, as_torch

__all__ = ["ImageReadMode", "decode_image", "decode_png", "encode_png", "read_file", "read_image", "write_file", "write_png"]


class ImageReadMode(Enum):
    """The channels of an image that is read."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


def read_file(path: str | Path) -> Tensor:
    """The bytes of a file, as a Tensor of uint8.

    Raises:
        OSError: If it cannot be read.
    """
    return as_torch(creation.tensor(np.frombuffer(Path(path).read_bytes(), np.uint8)))


def write_file(filename: str | Path, data: Tensor) -> None:
    """Write bytes, a Tensor of uint8 of one dimension; a file that is there is replaced as a whole.

    Raises:
        ValueError: If data is another.
        OSError: If the file cannot be written.
    """
    if data.dtype != np.uint8 or data.dims != 1:
        raise ValueError(
            f"write_file expected uint8 and one dimension, got {data.dtype.name} and shape {tuple(data.shape)}; encode an image first"
        )
    replace_file(filename, data.detach().cpu().numpy().tobytes())


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """An image as the content of a PNG file.

    Args:
        input: Bytes of shape (1, H, W), grey, or (3, H, W), red, green and blue; uint8.
        compression_level: From 0 to 9.

    Raises:
        ValueError: If dtype, shape or level is another.

    Example:
        >>> content = encode_png(torch.zeros(3, 4, 5, dtype=torch.uint8))
        >>> decode_image(content).shape
        torch.Size([3, 4, 5])
    """
    if input.dtype != np.uint8 or input.dims != 3 or input.shape[0] not in (1, 3):
        raise ValueError(
            f"encode_png expected uint8 and shape (1 or 3, H, W), got {input.dtype.name} and {tuple(input.shape)}; try save_image"
        )
    if compression_level not in range(10):
        raise ValueError(f"encode_png expected a compression_level from 0 to 9, got {compression_level}; leave it out")
    content = _encode_png(np.moveaxis(input.detach().cpu().numpy(), 0, -1), compression_level)
    return as_torch(creation.tensor(np.frombuffer(content, np.uint8)))


def write_png(input: Tensor, filename: str | Path, compression_level: int = 6) -> None:
    """Write an image as a PNG file; see `encode_png`."""
    write_file(filename, encode_png(input, compression_level))


def decode_image(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """The image in the content of a file.

    Args:
        input: The bytes, uint8, one dimension.
        mode: The channels: those of the file, or grey, or colors, with or without opacity.

    Returns:
        uint8, shape (C, H, W).

    Raises:
        ValueError: If the content is damaged, or mode is unknown.
        ModuleNotFoundError: If the format is not PNG and Pillow is not installed.
    """
    content = input.detach().cpu().numpy().tobytes()
    if content.startswith(SIGNATURE):
        return decode_png(input, mode)
    with pillow().open(io.BytesIO(content)) as image:
        pixels = np.asarray(image.convert("RGB") if image.mode not in ("L", "LA", "RGB", "RGBA") else image)
    return _channels(pixels.reshape(*pixels.shape[:2], -1), mode)


def decode_png(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """The image in the content of a PNG file; see `decode_image`."""
    return _channels(_decode_png(input.detach().cpu().numpy().tobytes()), mode)


def read_image(path: str | Path, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """The image in a file; see `decode_image`."""
    return decode_image(read_file(path), mode)


def _channels(pixels: np.ndarray, mode: ImageReadMode | str) -> Tensor:
    """Pixels (H, W, C) as a Tensor (C, H, W) with the channels of a mode; grey is brightness as the eye sees it.

    Source of the weights of the colors: ITU-R BT.601.
    """
    if isinstance(mode, str):
        if mode.upper() not in ImageReadMode.__members__:
            raise ValueError(f"mode expected one of {', '.join(ImageReadMode.__members__)}, got {mode!r}")
        mode = ImageReadMode[mode.upper()]
    if mode is not ImageReadMode.UNCHANGED:
        channels = pixels.shape[2]
        colors, opacity = (pixels, None) if channels in (1, 3) else (pixels[:, :, :-1], pixels[:, :, -1:])
        if mode.value <= 2 and colors.shape[2] == 3:
            colors = ((colors.astype(np.int64) @ (19595, 38470, 7471) + (1 << 15)) >> 16)[:, :, None].astype(np.uint8)
        if mode.value > 2:
            colors = np.broadcast_to(colors, (*colors.shape[:2], 3))
        given = np.full_like(colors[:, :, :1], 255) if opacity is None else opacity
        pixels = colors if mode.value % 2 else np.concatenate([colors, given], 2)
    return as_torch(creation.tensor(np.ascontiguousarray(np.moveaxis(pixels, -1, 0))))


__getattr__ = _refuse_absent("torchvision.io", __all__)
