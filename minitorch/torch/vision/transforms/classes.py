"""Stage 6 - Transforms of single images with torchvision's names. For the kinds of images see `functional`.

Random transforms use the generator that `torch.manual_seed` seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.torch import creation
from minitorch.torch.nn.module import Module
from minitorch.torch.tensor import Tensor
from minitorch.torch.vision.transforms import functional as F
from minitorch.torch.vision.transforms.functional import InterpolationMode


class Compose:
    """Several transforms, one after the other.

    Args:
        transforms: The transforms.
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """Transform an image."""
        for transform in self.transforms:
            img = transform(img)
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

    def __call__(self, img: Any) -> Any:
        """Transform an image."""
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Conversion:
    """Base class of the transforms from one kind of image to another."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToTensor(_Conversion):
    """An array or an image of Pillow as a Tensor (C, H, W), bytes as numbers from 0 to 1; see `functional.to_tensor`."""

    def __call__(self, pic: Any) -> Tensor:
        """Transform an image."""
        return F.to_tensor(pic)


class PILToTensor(_Conversion):
    """An array or an image of Pillow as a Tensor (C, H, W) of the same numbers; see `functional.pil_to_tensor`."""

    def __call__(self, pic: Any) -> Tensor:
        """Transform an image."""
        return F.pil_to_tensor(pic)


class ToPILImage(_Conversion):
    """A Tensor or an array as an image of Pillow; see `functional.to_pil_image`.

    Args:
        mode: The mode of Pillow; by default that of the number of channels.
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        """Transform an image."""
        return F.to_pil_image(pic, self.mode)


class ConvertImageDtype(Module):
    """A Tensor in another dtype, scaled; see `functional.convert_image_dtype`.

    Args:
        dtype: The dtype.
    """

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        """Transform an image."""
        return F.convert_image_dtype(image, self.dtype)


class Normalize(Module):
    """(image - mean) / std for every channel; see `functional.normalize`.

    Args:
        mean: One number for each channel.
        std: One number for each channel.
        inplace: Whether the Tensor is overwritten.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: Tensor) -> Tensor:
        """Transform an image, a Tensor of shape (…, C, H, W)."""
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"mean={self.mean}, std={self.std}"


class Resize(Module):
    """The image in another size; for the arguments see `functional.resize`."""

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size, self.interpolation, self.max_size, self.antialias = size, InterpolationMode(interpolation), max_size, antialias

    def forward(self, img: Any) -> Any:
        """Transform an image."""
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"size={self.size}, interpolation={self.interpolation.value}, max_size={self.max_size}, antialias={self.antialias}"


class CenterCrop(Module):
    """The middle of the image; see `functional.center_crop`.

    Args:
        size: Height and width, or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = F.as_size(size)

    def forward(self, img: Any) -> Any:
        """Transform an image."""
        return F.center_crop(img, self.size)

    def extra_repr(self) -> str:
        """The size."""
        return f"size={self.size}"


class Pad(Module):
    """The image with borders; for the arguments see `functional.pad`.

    Raises:
        ValueError: If padding or padding_mode is unknown.
    """

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        F.as_borders(padding)
        F.check_padding_mode(padding_mode)
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Any) -> Any:
        """Transform an image."""
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode}"


class RandomCrop(Module):
    """A rectangle at a random position.

    Args:
        size: Height and width, or one number for both.
        padding: Borders added before; see `functional.pad`.
        pad_if_needed: Whether an image that is too small gets further borders.
        fill: Value of constant borders.
        padding_mode: "constant", "edge", "reflect" or "symmetric".
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
        self.size = F.as_size(size)
        self.padding, self.pad_if_needed, self.fill, self.padding_mode = padding, pad_if_needed, fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """A random rectangle (top, left, height, width) of an image.

        Raises:
            ValueError: If the image is too small.
        """
        _, H, W = F.get_dimensions(img)
        height, width = output_size
        if height > H or width > W:
            raise ValueError(f"RandomCrop expected an image of at least {height}×{width}, got {H}×{W}; pass padding or pad_if_needed=True")
        top, left = (int(creation.randint(0, free + 1, (1,)).item()) for free in (H - height, W - width))
        return top, left, height, width

    def forward(self, img: Any) -> Any:
        """Transform an image.

        Raises:
            ValueError: If it is too small.
        """
        img = img if self.padding is None else F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            _, H, W = F.get_dimensions(img)
            missing = [max(self.size[1] - W, 0), max(self.size[0] - H, 0)]
            img = F.pad(img, missing, self.fill, self.padding_mode) if any(missing) else img
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class _RandomFlip(Module):
    """Base class of the random flips.

    Args:
        p: Probability, from 0 to 1.
    """

    flip: Callable[[Any], Any]

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        """Transform an image."""
        return type(self).flip(img) if creation.rand(1).item() < self.p else img

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"


class RandomHorizontalFlip(_RandomFlip):
    """The image mirrored left to right with probability p."""

    flip = staticmethod(F.hflip)


class RandomVerticalFlip(_RandomFlip):
    """The image mirrored top to bottom with probability p."""

    flip = staticmethod(F.vflip)
