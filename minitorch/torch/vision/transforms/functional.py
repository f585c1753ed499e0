"""Stage 6 - Functions of images with torchvision's names.

An image is a Tensor of shape (…, C, H, W), an array of shape (H, W) or (H, W, C), or an image of Pillow, if that is installed. Functions
that crop, pad, flip or resize return the kind that they are given.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, float32, is_float, uint8
from minitorch.torch import creation
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.nn import functional as nn_functional
from minitorch.torch.promotion import get_default_dtype
from minitorch.torch.tensor import Tensor, as_torch

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")
"""The kinds of padding."""


class InterpolationMode(enum.Enum):
    """Ways to resize an image."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


# Kinds of images


def _is_pil(image: Any) -> bool:
    """Whether an image is one of Pillow, which need not be installed."""
    pillow = sys.modules.get("PIL.Image")  # it is imported if there is such an image
    return pillow is not None and isinstance(image, pillow.Image)


def _pillow() -> Any:
    """The module PIL.Image.

    Raises:
        ModuleNotFoundError: If Pillow is not installed.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise ModuleNotFoundError("images of Pillow need the package pillow; pip install pillow, or use arrays or tensors") from None
    return Image


def _check_image(op: str, image: Any) -> None:
    """Check that something is an image.

    Raises:
        TypeError: If it is not.
        ValueError: If it has another number of dimensions.
    """
    if not isinstance(image, (Tensor, np.ndarray)) and not _is_pil(image):
        raise TypeError(f"{op} expected a Tensor, an array or an image of Pillow, got {type(image).__name__}")
    if isinstance(image, np.ndarray) and image.ndim not in (2, 3):
        raise ValueError(f"{op} expected an array of shape (H, W) or (H, W, C), got {image.shape}")
    if isinstance(image, Tensor) and image.dim() < 2:
        raise ValueError(f"{op} expected a Tensor of shape (…, H, W), got {tuple(image.shape)}")


def _on_arrays(op: str, image: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply a function of arrays or Tensors of shape (…, H, W) to an image of any kind."""
    _check_image(op, image)
    if isinstance(image, Tensor):
        return fn(image)
    array = np.asarray(image)
    out = np.moveaxis(fn(np.moveaxis(array, -1, 0)), 0, -1) if array.ndim == 3 else fn(array)
    return _pillow().fromarray(np.ascontiguousarray(out)) if _is_pil(image) else out


def get_dimensions(image: Any) -> list[int]:
    """Channels, height and width of an image of shape (…, C, H, W), (H, W) or (H, W, C).

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions.
    """
    _check_image("get_dimensions", image)
    if isinstance(image, Tensor):
        return [1 if image.dim() == 2 else image.shape[-3], *image.shape[-2:]]
    shape = np.asarray(image).shape
    return [shape[2] if len(shape) == 3 else 1, *shape[:2]]


def get_image_size(image: Any) -> list[int]:
    """Width and height of an image; see `get_dimensions`."""
    return get_dimensions(image)[:0:-1]


# Conversion


def to_tensor(pic: Any) -> Tensor:
    """An image as a Tensor with the channels first; bytes become numbers from 0 to 1 in the default dtype.

    Args:
        pic: An array of shape (H, W) or (H, W, C), or an image of Pillow. Numbers other than bytes keep value and dtype.

    Returns:
        Shape (C, H, W).

    Raises:
        TypeError: If it is neither.
        ValueError: If it has another number of dimensions.
    """
    if isinstance(pic, Tensor):
        raise TypeError("to_tensor expected an array or an image of Pillow, got a Tensor; leave it out")
    image = pil_to_tensor(pic)
    if _is_pil(pic) and pic.mode == "1":
        return image.to(get_default_dtype())
    return image.to(get_default_dtype()) / 255 if image.dtype == np.uint8 else image


def pil_to_tensor(pic: Any) -> Tensor:
    """An image as a Tensor with the channels first and the same numbers; shape (C, H, W) from (H, W) or (H, W, C).

    Raises:
        TypeError: If it is neither an array nor an image of Pillow.
        ValueError: If it has another number of dimensions.
    """
    _check_image("pil_to_tensor", pic)
    array = np.asarray(pic)
    array = array[:, :, None] if array.ndim == 2 else array
    return as_torch(creation.tensor(np.ascontiguousarray(array.transpose(2, 0, 1)), dtype=as_dtype(array.dtype)))


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """An image of Pillow.

    Args:
        pic: An array of bytes, shape (H, W) or (H, W, C); or a Tensor of shape (C, H, W) or (H, W), whose floats are from 0 to 1.
        mode: The mode of Pillow, by default that of the number of channels: "L", "LA", "RGB" or "RGBA".

    Raises:
        TypeError: If it is neither an array nor a Tensor of bytes or floats.
        ValueError: If the number of channels or dimensions is another one, or the mode does not fit it.
        ModuleNotFoundError: If Pillow is not installed.
    """
    _check_image("to_pil_image", pic)
    if isinstance(pic, Tensor):
        pic = (pic * 255).to(uint8) if is_float(pic.dtype) else pic
        pic = pic.detach().cpu().numpy()
        pic = np.moveaxis(pic, 0, -1) if pic.ndim == 3 else pic
    array = np.asarray(pic)
    if array.dtype != np.uint8:
        raise TypeError(f"to_pil_image expected an image of uint8, got {array.dtype.name}; scale it to bytes")
    array = array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array
    fitting = {2: ["L"]}.get(array.ndim) or {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK"]}.get(array.shape[2], [])
    if not fitting or (mode is not None and mode not in fitting):
        raise ValueError(f"to_pil_image expected 1 to 4 channels and a mode for them, got shape {array.shape} and mode {mode!r}")
    image = _pillow().fromarray(np.ascontiguousarray(array))
    return image if mode in (None, image.mode) else _pillow().frombytes(mode, image.size, array.tobytes())


def convert_image_dtype(image: Tensor, dtype: Any = float32) -> Tensor:
    """A Tensor of any shape in another dtype, scaled: floats are from 0 to 1, integers from 0 to the largest one.

    Raises:
        TypeError: If image is not a Tensor.
        RuntimeError: If floats cannot represent the integers exactly: int32 from float32, or int64 from any.
    """
    if not isinstance(image, Tensor):
        raise TypeError(f"convert_image_dtype expected a Tensor, got {type(image).__name__}; use to_tensor")
    own, other = image.dtype, as_dtype(dtype)
    if own == other or (is_float(own) and is_float(other)):
        return image.to(other)
    if is_float(other):
        return image.to(other) / int(np.iinfo(own).max)
    largest = int(np.iinfo(other).max)
    if is_float(own):
        if (own.itemsize <= 4 and other.itemsize >= 4) or other.itemsize == 8:
            raise RuntimeError(f"convert_image_dtype cannot represent {other.name} in {own.name}; choose a smaller integer dtype")
        return (image * (largest + 1 - 1e-3)).to(other)
    given = int(np.iinfo(own).max)
    if given > largest:
        return (image // ((given + 1) // (largest + 1))).to(other)
    return image.to(other) * ((largest + 1) // (given + 1))


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """(tensor - mean) / std for every channel.

    Args:
        tensor: Floats, shape (…, C, H, W).
        mean: One number for each channel, or one for all.
        std: One number for each channel, or one for all.
        inplace: Whether the tensor is overwritten.

    Raises:
        TypeError: If tensor is not a Tensor of floats.
        ValueError: If it has too few dimensions, the numbers of channels differ, or a standard deviation is 0.
    """
    if not isinstance(tensor, Tensor) or not is_float(tensor.dtype):
        got = tensor.dtype.name if isinstance(tensor, Tensor) else type(tensor).__name__
        raise TypeError(f"normalize expected a Tensor of floats, got {got}; apply ToTensor first")
    if tensor.dim() < 3:
        raise ValueError(f"normalize expected a Tensor of shape (…, C, H, W), got {tuple(tensor.shape)}")
    numbers = [np.atleast_1d(np.asarray(each, np.float64)) for each in (mean, std)]
    channels = tensor.shape[-3]
    if any(each.shape not in ((1,), (channels,)) for each in numbers):
        raise ValueError(f"normalize expected mean and std of 1 or {channels} numbers, one for each channel, got {mean} and {std}")
    if not numbers[1].all():
        raise ValueError(f"normalize expected standard deviations other than 0, got {std}")
    shift, scale = (creation.tensor(each.reshape(-1, 1, 1), dtype=tensor.dtype).to(tensor.backend) for each in numbers)
    return tensor.sub_(shift).div_(scale) if inplace else (tensor - shift) / scale


# Geometry


def hflip(img: Any) -> Any:
    """The image mirrored, left to right. Shape (…, H, W), (H, W, C) or an image of Pillow.

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions.
    """
    return _on_arrays("hflip", img, lambda x: x.flip(-1) if isinstance(x, Tensor) else x[..., ::-1])


def vflip(img: Any) -> Any:
    """The image mirrored, top to bottom; see `hflip`.

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions.
    """
    return _on_arrays("vflip", img, lambda x: x.flip(-2) if isinstance(x, Tensor) else x[..., ::-1, :])


def as_borders(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Padding as (left, top, right, bottom), from one number, two (for both sides, for top and bottom) or four.

    Raises:
        ValueError: If it is something else, or one is negative.
    """
    given = [padding] if isinstance(padding, int) else list(padding)
    if len(given) not in (1, 2, 4) or min(given) < 0:
        raise ValueError(f"padding expected one number, two or four, of at least 0, got {padding!r}")
    left, top, right, bottom = given * (4 // len(given))
    return left, top, right, bottom


def check_padding_mode(padding_mode: str) -> None:
    """Raise a ValueError unless a kind of padding is known."""
    if padding_mode not in PADDING_MODES:
        raise ValueError(f"pad expected padding_mode {', '.join(PADDING_MODES)}, got {padding_mode!r}")


def pad(img: Any, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> Any:
    """The image with borders.

    Args:
        img: Shape (…, H, W), (H, W, C) or an image of Pillow.
        padding: Widths of the borders: one number; two, for left and right and for top and bottom; or left, top, right and bottom.
        fill: Value of constant borders, one number.
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions, a border is negative, or padding or padding_mode is unknown.
        NotImplementedError: If fill has several numbers.
    """
    left, top, right, bottom = as_borders(padding)
    check_padding_mode(padding_mode)
    if isinstance(fill, (tuple, list)):
        raise NotImplementedError(f"pad supports the same fill for all channels only, got {fill}; pass one number")

    def padded(x: Any) -> Any:
        if padding_mode == "constant" and isinstance(x, Tensor):
            return nn_functional.pad(x, (left, right, top, bottom), value=fill)
        if padding_mode == "constant":
            return np.pad(x, [(0, 0)] * (x.ndim - 2) + [(top, bottom), (left, right)], constant_values=fill)
        rows, columns = (
            np.pad(np.arange(size), ends, mode=padding_mode)  # type: ignore[call-overload]
            for size, ends in zip(x.shape[-2:], ((top, bottom), (left, right)), strict=True)
        )
        return x[..., rows[:, None], columns]

    return _on_arrays("pad", img, padded)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """A rectangle of the image; what lies outside of the image is 0.

    Args:
        img: Shape (…, H, W), (H, W, C) or an image of Pillow.
        top: First row of the rectangle.
        left: First column of the rectangle.
        height: Number of rows.
        width: Number of columns.

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions.
    """
    _, H, W = get_dimensions(img)
    borders = (max(-left, 0), max(-top, 0), max(left + width - W, 0), max(top + height - H, 0))
    img = pad(img, borders) if any(borders) else img
    rows, columns = (slice(max(start, 0), max(start, 0) + size) for start, size in ((top, height), (left, width)))
    return _on_arrays("crop", img, lambda x: x[..., rows, columns])


def as_size(size: int | Sequence[int]) -> tuple[int, int]:
    """Height and width from one number, for both, or two."""
    given = (size, size) if isinstance(size, int) else tuple(size) * (2 // len(size))
    return given[0], given[1]


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """The middle of the image; if it is smaller than output_size, with borders of 0. Shapes as for `crop`.

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions.
    """
    height, width = as_size(output_size)
    _, H, W = get_dimensions(img)
    if height > H or width > W:
        missing = max(width - W, 0), max(height - H, 0)
        img = pad(img, (missing[0] // 2, missing[1] // 2, (missing[0] + 1) // 2, (missing[1] + 1) // 2))
        _, H, W = get_dimensions(img)
    return crop(img, round((H - height) / 2), round((W - width) / 2), height, width)


def resized_size(H: int, W: int, size: int | Sequence[int], max_size: int | None = None) -> tuple[int, int]:
    """Height and width after `resize`.

    Raises:
        ValueError: If max_size is given, and size is not one number below it.
    """
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
        img: Shape (…, C, H, W), (H, W), (H, W, C) or an image of Pillow, which Pillow resizes.
        size: Height and width, or the smaller one of both: the ratio of the sides is kept.
        interpolation: "nearest", "bilinear" or "bicubic".
        max_size: The largest height and width if size is one number.
        antialias: Whether smaller images are averaged over all elements, except by "nearest"; Pillow always does so.

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions, or max_size does not fit size.
    """
    mode = InterpolationMode(interpolation).value
    _, H, W = get_dimensions(img)
    height, width = resized_size(H, W, size, max_size)
    if _is_pil(img):
        return img.resize((width, height), getattr(_pillow().Resampling, mode.upper()))
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

    return _on_arrays("resize", img, resized)


HELPERS = {"as_borders", "as_size", "check_padding_mode", "resized_size"}  # of the classes of transforms
__getattr__ = refuse_absent("torchvision.transforms.functional", {*defined(globals())} - HELPERS)
