"""Stage 7 - Images: their kinds, and conversions between them with torchvision's names.

An image is a Tensor of shape (…, C, H, W), an array of shape (H, W) or (H, W, C), or an image of Pillow, if that is installed. An array of
shape (B, C, H, W) is a batch of images, as a loader has them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, float32, is_float, uint8
from minitorch.torch import creation
from minitorch.torch.promotion import get_default_dtype
from minitorch.torch.tensor import Tensor, as_torch

# Kinds of images


def is_pil(image: Any) -> bool:
    """Whether an image is one of Pillow, which need not be installed."""
    module = sys.modules.get("PIL.Image")  # it is imported if there is such an image
    return module is not None and isinstance(image, module.Image)


def pillow() -> Any:
    """The module PIL.Image. Raises ModuleNotFoundError if Pillow is not installed."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise ModuleNotFoundError("images of Pillow need the package pillow; pip install pillow, or use arrays or tensors") from None
    return Image


def is_batch(image: Any) -> bool:
    """Whether an image is a batch of them, an array of shape (B, C, H, W)."""
    return isinstance(image, np.ndarray) and image.ndim == 4


def _check_image(op: str, image: Any) -> None:
    """Check that something is an image or a batch. Raises TypeError if it is not, and ValueError if it has another number of dimensions."""
    if not isinstance(image, (Tensor, np.ndarray)) and not is_pil(image):
        raise TypeError(f"{op} expected a Tensor, an array or an image of Pillow, got {type(image).__name__}")
    if isinstance(image, np.ndarray) and image.ndim not in (2, 3, 4):
        raise ValueError(f"{op} expected an array of shape (H, W), (H, W, C) or (B, C, H, W), got {image.shape}")
    if isinstance(image, Tensor) and image.dim() < 2:
        raise ValueError(f"{op} expected a Tensor of shape (…, H, W), got {tuple(image.shape)}")


def on_arrays(op: str, image: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply a function of arrays or Tensors of shape (…, H, W) to an image of any kind, or to a batch."""
    _check_image(op, image)
    if isinstance(image, Tensor):
        return fn(image)
    array = np.asarray(image)
    out = np.moveaxis(fn(np.moveaxis(array, -1, 0)), 0, -1) if array.ndim == 3 else fn(array)
    return pillow().fromarray(np.ascontiguousarray(out)) if is_pil(image) else out


def get_dimensions(img: Any) -> list[int]:
    """Channels, height and width of an image of shape (…, C, H, W), (H, W) or (H, W, C), or of those of a batch.

    Raises:
        TypeError: If it is not an image.
        ValueError: If it has another number of dimensions.
    """
    _check_image("get_dimensions", img)
    shape = img.shape if isinstance(img, Tensor) else np.asarray(img).shape
    if isinstance(img, Tensor) or is_batch(img):
        return [1 if len(shape) == 2 else shape[-3], *shape[-2:]]
    return [shape[2] if len(shape) == 3 else 1, *shape[:2]]


def get_image_size(img: Any) -> list[int]:
    """Width and height of an image; see `get_dimensions`."""
    return get_dimensions(img)[:0:-1]


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

    Example:
        >>> to_tensor(np.full((4, 5, 3), 255, np.uint8)).shape
        torch.Size([3, 4, 5])
    """
    if isinstance(pic, Tensor):
        raise TypeError("to_tensor expected an array or an image of Pillow, got a Tensor; leave it out")
    image = pil_to_tensor(pic)
    if is_pil(pic) and pic.mode == "1":
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
    if array.ndim == 4:
        raise ValueError(f"pil_to_tensor expected an array of shape (H, W) or (H, W, C), got {array.shape}; convert single images")
    array = array[:, :, None] if array.ndim == 2 else array
    return as_torch(creation.tensor(np.ascontiguousarray(array.transpose(2, 0, 1)), dtype=as_dtype(array.dtype)))


def channels_first(images: np.ndarray) -> np.ndarray:
    """A batch of pictures with the channels first; bytes become numbers from 0 to 1 in float32, other numbers keep value and dtype.

    Args:
        images: Shape (B, H, W) or (B, H, W, C) with 1 to 4 channels.

    Returns:
        Shape (B, C, H, W).

    Raises:
        ValueError: If they have another shape.
    """
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[-1] not in (1, 2, 3, 4)):
        raise ValueError(
            f"ToTensor expected pictures of shape (B, H, W) or (B, H, W, C) with 1 to 4 channels, got {images.shape}; "
            "leave it out where the channels come first"
        )
    first = images[:, None] if images.ndim == 3 else images.transpose(0, 3, 1, 2)
    return np.divide(first, 255, dtype=np.float32, order="C") if images.dtype == np.uint8 else np.ascontiguousarray(first)


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
    modes = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK"]}
    fitting = ["L"] if array.ndim == 2 else modes.get(array.shape[2], []) if array.ndim == 3 else []
    if not fitting or (mode is not None and mode not in fitting):
        raise ValueError(f"to_pil_image expected 1 to 4 channels and a mode for them, got shape {array.shape} and mode {mode!r}")
    image = pillow().fromarray(np.ascontiguousarray(array))
    return image if mode in (None, image.mode) else pillow().frombytes(mode, image.size, array.tobytes())


def convert_image_dtype(image: Tensor, dtype: Any = float32) -> Tensor:
    """A Tensor of any shape in another dtype, scaled: floats are from 0 to 1, integers from 0 to the largest one.

    Raises:
        TypeError: If image is not a Tensor.
        RuntimeError: If floats cannot represent the integers exactly: int32 from float32, or int64 from any.

    Example:
        >>> convert_image_dtype(torch.tensor([0, 51, 255], dtype=torch.uint8))
        tensor([0.0000, 0.2000, 1.0000])
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


def normalize(tensor: Any, mean: float | Sequence[float], std: float | Sequence[float], inplace: bool = False) -> Any:
    """(tensor - mean) / std for every channel.

    Args:
        tensor: Floats: a Tensor of shape (…, C, H, W), or a batch.
        mean: One number for each channel, or one for all.
        std: One number for each channel, or one for all.
        inplace: Whether the tensor is overwritten.

    Raises:
        TypeError: If tensor is neither a Tensor of floats nor a batch of them.
        ValueError: If it has too few dimensions, the numbers of channels differ, or a standard deviation is 0.

    Example:
        >>> normalize(torch.full((1, 1, 2), 0.75), mean=0.5, std=0.25)
        tensor([[[1., 1.]]])
    """
    batch = is_batch(tensor)
    if not (batch or isinstance(tensor, Tensor)) or not is_float(tensor.dtype):
        got = tensor.dtype.name if batch or isinstance(tensor, Tensor) else type(tensor).__name__
        raise TypeError(f"normalize expected a Tensor of floats, got {got}; apply ToTensor first")
    if len(tensor.shape) < 3:
        raise ValueError(f"normalize expected a Tensor of shape (…, C, H, W), got {tuple(tensor.shape)}")
    numbers = [np.atleast_1d(np.asarray(each, np.float64)) for each in (mean, std)]
    channels = tensor.shape[-3]
    if any(each.shape not in ((1,), (channels,)) for each in numbers):
        raise ValueError(f"normalize expected mean and std of 1 or {channels} numbers, one for each channel, got {mean} and {std}")
    if not numbers[1].all():
        raise ValueError(f"normalize expected standard deviations other than 0, got {std}")
    shift, scale = (each.reshape(-1, 1, 1).astype(tensor.dtype) for each in numbers)
    if not batch:
        shift, scale = (creation.tensor(each, dtype=tensor.dtype).to(tensor.backend) for each in (shift, scale))
    if not inplace:
        return (tensor - shift) / scale
    if batch:
        tensor[...] = (tensor - shift) / scale
        return tensor
    return tensor.sub_(shift).div_(scale)


# Display


def make_grid(
    tensor: Tensor | Sequence[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Images beside and below one another, as one image.

    Args:
        tensor: Shape (B, C, H, W), or several images of shape (C, H, W); one channel becomes three.
        nrow: How many stand in a row.
        padding: Pixels between them and around.
        normalize: Whether to map the smallest number to 0 and the largest to 1.
        value_range: What to map to 0 and 1 instead.
        scale_each: Whether every image has a smallest and a largest number of its own.
        pad_value: The number between the images.

    Returns:
        Shape (C, rows · (H + padding) + padding, columns · (W + padding) + padding); of one image (C, H, W), without a border.

    Raises:
        ValueError: If the images have other numbers of dimensions.

    Example:
        >>> make_grid(torch.zeros(6, 1, 28, 28), nrow=3).shape
        torch.Size([3, 62, 92])
    """
    given = tensor.detach().cpu().numpy() if isinstance(tensor, Tensor) else np.stack([each.detach().cpu().numpy() for each in tensor])
    if given.ndim in (2, 3):
        given = given.reshape(1, -1, *given.shape[-2:])
    if given.ndim != 4:
        raise ValueError(f"make_grid expected images of shape (B, C, H, W), got {given.shape}")
    pixels = np.repeat(given, 3, 1) if given.shape[1] == 1 else given
    if normalize:
        axes = (1, 2, 3) if scale_each else None
        low, high = (pixels.min(axes, keepdims=True), pixels.max(axes, keepdims=True)) if value_range is None else value_range
        pixels = (np.clip(pixels, low, high) - low) / np.maximum(high - low, 1e-5)
    count, channels, height, width = pixels.shape
    if count == 1:
        return as_torch(creation.tensor(pixels[0]))
    columns = min(nrow, count)
    rows = -(-count // columns)
    grid = np.full((channels, rows * (height + padding) + padding, columns * (width + padding) + padding), pad_value, pixels.dtype)
    for number, image in enumerate(pixels):
        top, left = (place * (size + padding) + padding for place, size in zip(divmod(number, columns), (height, width), strict=True))
        grid[:, top : top + height, left : left + width] = image
    return as_torch(creation.tensor(grid))
