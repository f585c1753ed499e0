"""Stage 7 - Transforms of images with torchvision's names, and two of the course's. For the kinds of images see `minitorch.data.images`.

A transform is called with an image, as in torchvision, or by a loader with a batch of shape (B, C, H, W) and the generator of the batch.
Every image of a batch has its own random numbers. Without a generator they come from the one that `manual_seed` seeds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.data import image_geometry as geometry
from minitorch.data import images
from minitorch.data.image_geometry import InterpolationMode
from minitorch.data.random_streams import random_stream
from minitorch.nn.module import Module
from minitorch.torch.tensor import Tensor


class Compose:
    """Several transforms, one after the other.

    Args:
        transforms: The transforms.

    Example:
        >>> to_normal = Compose([ToTensor(), Normalize(0.5, 0.25)])
        >>> to_normal(np.zeros((1, 2), np.uint8))
        tensor([[[-2., -2.]]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any, *generator: np.random.Generator) -> Any:
        """Transform an image, or a batch with its generator."""
        for transform in self.transforms:
            img = transform(img, *generator)
        return img

    def __repr__(self) -> str:
        return "\n    ".join([f"{type(self).__name__}(", *map(str, self.transforms)]) + "\n)"


class Lambda:
    """A function as a transform.

    Args:
        lambd: The function.

    Raises:
        TypeError: If it cannot be called.
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Lambda expected a function, got {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, img: Any, generator: Any = None) -> Any:
        """Transform an image or a batch."""
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Conversion:
    """Base class of the transforms from one kind of image to another."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToTensor(_Conversion):
    """An array or an image of Pillow as a Tensor (C, H, W), bytes as numbers from 0 to 1; see `to_tensor`.

    A batch of pictures (B, H, W) or (B, H, W, C) remains an array; see `channels_first`. The loader makes the tensor.
    """

    def __call__(self, pic: Any, generator: Any = None) -> Any:
        """Transform an image, or a batch if there is a generator."""
        return images.to_tensor(pic) if generator is None else images.channels_first(pic)


class PILToTensor(_Conversion):
    """An array or an image of Pillow as a Tensor (C, H, W) of the same numbers; see `pil_to_tensor`."""

    def __call__(self, pic: Any) -> Tensor:
        """Transform an image."""
        return images.pil_to_tensor(pic)


class ToPILImage(_Conversion):
    """A Tensor or an array as an image of Pillow; see `to_pil_image`.

    Args:
        mode: The mode of Pillow; by default that of the number of channels.
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        """Transform an image."""
        return images.to_pil_image(pic, self.mode)


class ConvertImageDtype(Module):
    """A Tensor in another dtype, scaled; see `convert_image_dtype`.

    Args:
        dtype: The dtype.
    """

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        """Transform an image."""
        return images.convert_image_dtype(image, self.dtype)


class Normalize(Module):
    """(image - mean) / std for every channel; see `normalize`.

    Args:
        mean: One number for each channel, or one for all.
        std: One number for each channel, or one for all.
        inplace: Whether the Tensor is overwritten.
    """

    def __init__(self, mean: float | Sequence[float], std: float | Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: Any, generator: Any = None) -> Any:
        """Transform an image, a Tensor of shape (…, C, H, W), or a batch."""
        return images.normalize(tensor, self.mean, self.std, self.inplace)

    def extra_repr(self) -> str:
        """Mean and standard deviation."""
        return f"mean={self.mean}, std={self.std}"


class Resize(Module):
    """The image in another size; for the arguments see `resize`."""

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size, self.interpolation, self.max_size, self.antialias = size, InterpolationMode(interpolation), max_size, antialias

    def forward(self, img: Any, generator: Any = None) -> Any:
        """Transform an image or a batch."""
        return geometry.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def extra_repr(self) -> str:
        """The size, and how it is reached."""
        return f"size={self.size}, interpolation={self.interpolation.value}, max_size={self.max_size}, antialias={self.antialias}"


class CenterCrop(Module):
    """The middle of the image; see `center_crop`.

    Args:
        size: Height and width, or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = geometry.as_size(size)

    def forward(self, img: Any, generator: Any = None) -> Any:
        """Transform an image or a batch."""
        return geometry.center_crop(img, self.size)

    def extra_repr(self) -> str:
        """The size."""
        return f"size={self.size}"


class Pad(Module):
    """The image with borders; for the arguments see `pad`.

    Raises:
        ValueError: If padding or padding_mode is unknown.
    """

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        geometry.as_borders(padding)
        geometry.check_padding_mode(padding_mode)
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Any, generator: Any = None) -> Any:
        """Transform an image or a batch."""
        return geometry.pad(img, self.padding, self.fill, self.padding_mode)

    def extra_repr(self) -> str:
        """The borders, and what fills them."""
        return f"padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode}"


class RandomCrop(Module):
    """A rectangle at a random position.

    Args:
        size: Height and width, or one number for both.
        padding: Borders added before; see `pad`.
        pad_if_needed: Whether an image that is too small gets further borders.
        fill: Value of constant borders.
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    Raises:
        TypeError: If a size or a border is not an integer.
        ValueError: If one is too small, there are too many, or padding_mode is unknown.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = geometry.as_size(size)
        geometry.as_borders(padding or 0)
        geometry.check_padding_mode(padding_mode)
        self.padding, self.pad_if_needed, self.fill, self.padding_mode = padding, pad_if_needed, fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int], generator: Any = None) -> tuple[Any, Any, int, int]:
        """A random rectangle (top, left, height, width) of an image; of a batch, top and left are arrays.

        Raises:
            ValueError: If the image is too small.
        """
        _, H, W = images.get_dimensions(img)
        height, width = output_size
        if height > H or width > W:
            raise ValueError(f"RandomCrop expected an image of at least {height}×{width}, got {H}×{W}; pass padding or pad_if_needed=True")
        shape = (len(img), 2) if images.is_batch(img) else (2,)
        corners = random_stream(generator).integers(0, (H - height, W - width), shape, endpoint=True)
        top, left = corners.T if images.is_batch(img) else corners.tolist()
        return top, left, height, width

    def forward(self, img: Any, generator: Any = None) -> Any:
        """Transform an image or a batch.

        Raises:
            ValueError: If it is too small.
        """
        img = img if self.padding is None else geometry.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            _, H, W = images.get_dimensions(img)
            missing = [max(self.size[1] - W, 0), max(self.size[0] - H, 0)]
            img = geometry.pad(img, missing, self.fill, self.padding_mode) if any(missing) else img
        top, left, height, width = self.get_params(img, self.size, generator)
        if not images.is_batch(img):
            return geometry.crop(img, top, left, height, width)
        rows, columns = top[:, None] + np.arange(height), left[:, None] + np.arange(width)  # (B, height) and (B, width)
        numbers, channels = (np.arange(count)[:, None, None] for count in img.shape[:2])
        return img[numbers[..., None], channels, rows[:, None, :, None], columns[:, None, None, :]]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class Shift(Module):
    """An image moved by a random number of pixels, vertically and horizontally.

    Args:
        pixels: The largest number in each direction.
        fill: Value of the pixels that become free.

    Raises:
        TypeError: If pixels is not an integer.
        ValueError: If it is negative.
    """

    def __init__(self, pixels: int, fill: float = 0.0) -> None:
        super().__init__()
        geometry.whole_numbers(pixels, "pixels", (1,), 0)
        self.pixels, self.fill = pixels, fill

    def forward(self, img: Any, generator: Any = None) -> Any:
        """Transform an image or a batch."""
        return RandomCrop(images.get_dimensions(img)[1:], self.pixels, fill=self.fill)(img, generator)


class _RandomFlip(Module):
    """Base class of the random flips.

    Args:
        p: Probability, from 0 to 1.

    Raises:
        ValueError: If p is outside of that range.
    """

    flip: Callable[[Any], Any]

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__} expected a probability p from 0 to 1, got {p}; try 0.5")
        self.p = p

    def forward(self, img: Any, generator: Any = None) -> Any:
        """Transform an image or a batch."""
        if images.is_batch(img):
            chosen = random_stream(generator).random(len(img)) < self.p
            return np.where(chosen[:, None, None, None], type(self).flip(img), img)
        return type(self).flip(img) if random_stream(generator).random() < self.p else img

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"


class RandomHorizontalFlip(_RandomFlip):
    """The image mirrored left to right with probability p."""

    flip = staticmethod(geometry.hflip)


class RandomVerticalFlip(_RandomFlip):
    """The image mirrored top to bottom with probability p."""

    flip = staticmethod(geometry.vflip)


class Reshape:
    """An example of any kind in another shape.

    Args:
        shape: Shape of one example, as separate sizes or one tuple; one size may be -1, to be inferred.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is less than -1, or more than one is -1.
    """

    def __init__(self, *shape: int | Sequence[int]) -> None:
        sizes: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        try:
            self.shape = tuple(operator.index(size) for size in sizes)
        except TypeError:
            raise TypeError(f"Reshape expected whole numbers as sizes, got {tuple(sizes)}; as in Reshape(1, 28, 28)") from None
        if min(self.shape, default=0) < -1 or self.shape.count(-1) > 1:
            raise ValueError(f"Reshape expected sizes >= 0 and at most one -1, got {self.shape}; as in Reshape(-1)")

    def __call__(self, img: Any, generator: Any = None) -> Any:
        """Reshape an example, or every example of a batch if there is a generator.

        Raises:
            ValueError: If the number of elements differs.
        """
        batch = () if generator is None else (len(img),)
        given = tuple(img.shape[len(batch) :])
        numbers, known = math.prod(given), math.prod(size for size in self.shape if size != -1)
        shape = self.shape
        if -1 in shape and known and numbers % known == 0:
            shape = tuple(numbers // known if size == -1 else size for size in shape)
        if math.prod(shape) != numbers or -1 in shape:
            raise ValueError(
                f"Reshape expected examples that fit into {self.shape}, got {given} with {numbers} numbers; "
                "the sizes are of one example, without the number of them"
            )
        return img.reshape((*batch, *shape))
