"""Stage 7 - Images flipped, padded, cropped and resized, with torchvision's names: each function returns the kind that it is given.

For the kinds of images see `minitorch.data.images`.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, is_float
from minitorch.data.images import get_dimensions, is_pil, on_arrays, pillow
from minitorch.torch import creation
from minitorch.torch.nn import functional as nn_functional
from minitorch.torch.tensor import Tensor, as_torch

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")
"""The kinds of padding."""


class InterpolationMode(enum.Enum):
    """Ways to resize an image."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


def hflip(img: Any) -> Any:
    """The image mirrored, left to right. Shape (…, H, W), (H, W, C) or an image of Pillow; or a batch.

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions.

    Example:
        >>> hflip(torch.tensor([[[1, 2], [3, 4]]]))
        tensor([[[2, 1],
                 [4, 3]]])
    """
    return on_arrays("hflip", img, lambda x: x.flip(-1) if isinstance(x, Tensor) else x[..., ::-1])


def vflip(img: Any) -> Any:
    """The image mirrored, top to bottom; shapes and errors as for `hflip`."""
    return on_arrays("vflip", img, lambda x: x.flip(-2) if isinstance(x, Tensor) else x[..., ::-1, :])


def whole_numbers(value: Any, name: str, counts: tuple[int, ...], least: int) -> tuple[int, ...]:
    """Validate one or several integers with a lower bound.

    Raises:
        TypeError: If they are not integers.
        ValueError: If there are too few or too many, or one is too small.
    """
    try:
        numbers = tuple(operator.index(number) for number in (value if isinstance(value, Sequence) else [value]))
    except TypeError:
        raise TypeError(f"{name} expected integers, got {value!r}; try {name}=4") from None
    if len(numbers) not in counts or min(numbers) < least:
        several = " or ".join(map(str, counts))
        raise ValueError(f"{name} expected integers of at least {least}, {several} of them, got {value!r}; try {name}=4")
    return numbers


def as_borders(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Padding as (left, top, right, bottom), from one number, two (for both sides, for top and bottom) or four.

    Raises:
        TypeError: If they are not integers.
        ValueError: If it is something else, or one is negative.
    """
    given = whole_numbers(padding, "padding", (1, 2, 4), 0)
    left, top, right, bottom = given * (4 // len(given))
    return left, top, right, bottom


def check_padding_mode(padding_mode: str) -> None:
    """Raise a ValueError unless a kind of padding is known."""
    if padding_mode not in PADDING_MODES:
        raise ValueError(f"pad expected padding_mode {', '.join(PADDING_MODES)}, got {padding_mode!r}")


def pad(img: Any, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> Any:
    """The image with borders.

    Args:
        img: Shape (…, H, W), (H, W, C) or an image of Pillow; or a batch.
        padding: Widths of the borders: one number; two, for left and right and for top and bottom; or left, top, right and bottom.
        fill: Value of constant borders, one number.
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions, a border is negative, or padding or padding_mode is unknown.
        NotImplementedError: If fill has several numbers.

    Example:
        >>> pad(torch.zeros(3, 28, 28), [1, 2]).shape
        torch.Size([3, 32, 30])
    """
    left, top, right, bottom = as_borders(padding)
    check_padding_mode(padding_mode)
    if isinstance(fill, (tuple, list)):
        raise NotImplementedError(f"pad supports the same fill for all channels only, got {fill}; pass one number")

    def padded(x: Any) -> Any:
        constant = padding_mode == "constant"
        if not isinstance(x, Tensor):
            options: dict[str, Any] = {"constant_values": fill} if constant else {}
            return np.pad(x, [(0, 0)] * (x.ndim - 2) + [(top, bottom), (left, right)], padding_mode, **options)  # type: ignore[call-overload]
        if constant:
            return nn_functional.pad(x, (left, right, top, bottom), value=fill)
        rows, columns = (
            np.pad(np.arange(size), ends, padding_mode)  # type: ignore[call-overload]
            for size, ends in zip(x.shape[-2:], ((top, bottom), (left, right)), strict=True)
        )
        return x[..., rows[:, None], columns]

    return on_arrays("pad", img, padded)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """A rectangle of the image; what lies outside of the image is 0.

    Args:
        img: Shape (…, H, W), (H, W, C) or an image of Pillow; or a batch.
        top: First row of the rectangle.
        left: First column of the rectangle.
        height: Number of rows.
        width: Number of columns.

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions.

    Example:
        >>> crop(torch.arange(9).reshape(1, 3, 3), 1, 0, 2, 2)
        tensor([[[3, 4],
                 [6, 7]]])
    """
    _, H, W = get_dimensions(img)
    borders = (max(-left, 0), max(-top, 0), max(left + width - W, 0), max(top + height - H, 0))
    img = pad(img, borders) if any(borders) else img
    rows, columns = (slice(max(start, 0), max(start, 0) + size) for start, size in ((top, height), (left, width)))
    return on_arrays("crop", img, lambda x: x[..., rows, columns])


def as_size(size: int | Sequence[int]) -> tuple[int, int]:
    """Height and width from one number, for both, or two.

    Raises:
        TypeError: If they are not integers.
        ValueError: If there are more, or one is below 1.
    """
    given = whole_numbers(size, "size", (1, 2), 1)
    return given[0], given[-1]


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """The middle of the image; if it is smaller than output_size, with borders of 0. Shapes and errors as for `crop`.

    Example:
        >>> center_crop(torch.arange(4).reshape(1, 1, 4), [1, 2])
        tensor([[[1, 2]]])
    """
    height, width = as_size(output_size)
    _, H, W = get_dimensions(img)
    if height > H or width > W:
        missing = max(width - W, 0), max(height - H, 0)
        img = pad(img, (missing[0] // 2, missing[1] // 2, (missing[0] + 1) // 2, (missing[1] + 1) // 2))
        _, H, W = get_dimensions(img)
    return crop(img, round((H - height) / 2), round((W - width) / 2), height, width)


def resized_size(H: int, W: int, size: int | Sequence[int], max_size: int | None = None) -> tuple[int, int]:
    """Height and width after `resize`. Raises ValueError if max_size is given, and size is not one number below it."""
    if not isinstance(size, int) and len(size) == 2:
        if max_size is not None:
            raise ValueError(f"resize expected size as one number with max_size, got {size}")
        return size[0], size[1]
    short = size if isinstance(size, int) else size[0]
    long = int(short * max(H, W) / min(H, W))
    if max_size is not None:
        if max_size <= short:
            raise ValueError(f"resize expected max_size above size, {short}, got {max_size}")
        if long > max_size:
            short, long = int(max_size * short / long), max_size
    return (short, long) if H <= W else (long, short)


def resize(
    img: Any,
    size: int | Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """The image in another size.

    Args:
        img: Shape (…, C, H, W), (H, W), (H, W, C) or an image of Pillow, which Pillow resizes; or a batch.
        size: Height and width, or the smaller one of both: the ratio of the sides is kept.
        interpolation: "nearest", "bilinear" or "bicubic".
        max_size: The largest height and width if size is one number.
        antialias: Whether smaller images are averaged over all elements, except by "nearest"; Pillow always does so.

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions, or max_size does not fit size.

    Example:
        >>> resize(torch.zeros(3, 20, 40), 10).shape
        torch.Size([3, 10, 20])
        >>> resize(torch.zeros(3, 20, 40), [10, 10]).shape
        torch.Size([3, 10, 10])
    """
    mode = InterpolationMode(interpolation).value
    _, H, W = get_dimensions(img)
    height, width = resized_size(H, W, size, max_size)
    if is_pil(img):
        return img.resize((width, height), getattr(pillow().Resampling, mode.upper()))
    if (height, width) == (H, W):
        return img

    def resized(x: Any) -> Any:
        tensor = x if isinstance(x, Tensor) else as_torch(creation.tensor(np.ascontiguousarray(x), dtype=as_dtype(x.dtype)))
        whole = not is_float(tensor.dtype)
        images = (tensor.float() if whole else tensor).reshape(1, -1, H, W)
        out = nn_functional.interpolate(images, (height, width), mode=mode, antialias=bool(antialias) and mode != "nearest")
        out = out.reshape(*tensor.shape[:-2], height, width)
        if whole:
            limits = np.iinfo(tensor.dtype)
            out = out.round().clamp(int(limits.min), int(limits.max)).to(tensor.dtype)
        return out if isinstance(x, Tensor) else out.numpy()

    return on_arrays("resize", img, resized)
