"""Stage 6 - More transforms: conversion to the layout of networks, and random augmentation.

Like all transforms, they are called with a batch and a random generator; the transforms of the same names in torchvision take one image.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")
"""Kinds of padding."""

CHANNELS = (1, 2, 3, 4)
"""Possible numbers of channels: gray or color, with or without transparency."""


class ToTensor:
    """Convert images from channels-last to channels-first, and bytes to values from 0 to 1.

    Integers from 0 to 255 are divided by 255; floating-point values are kept. The result is an array; the loader makes the tensor.
    """

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Convert a batch; uses no random numbers.

        Args:
            images: Shape (B, H, W, C), with 1 to 4 channels, or (B, H, W).
            generator: Not used.

        Returns:
            Shape (B, C, H, W), float32; floating-point images keep their dtype.

        Raises:
            TypeError: If the images are not numeric.
            ValueError: If they have another shape, or an integer is not from 0 to 255.
        """
        if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[-1] not in CHANNELS):
            raise ValueError(
                f"ToTensor expected pictures of shape (B, H, W) or (B, H, W, C) with 1 to 4 channels, got {images.shape}; "
                "leave it out where the channels come first"
            )
        if images.dtype.kind not in "iuf":
            raise TypeError(f"ToTensor expected numbers, got {images.dtype.name}; convert them: images.astype(np.float32)")
        first = images[:, None] if images.ndim == 3 else images.transpose(0, 3, 1, 2)
        if images.dtype.kind == "f":
            return np.ascontiguousarray(first)
        for value in images[(images < 0) | (images > 255)][:1]:
            raise ValueError(f"ToTensor expected bytes from 0 to 255, got {value}; scale the numbers to 0 … 1 and give it fractions")
        return np.divide(first, 255, dtype=np.float32, order="C")


class Reshape:
    """Reshape every example; the batch dimension is kept.

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

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Reshape a batch; uses no random numbers.

        Raises:
            ValueError: If the number of elements differs.
        """
        numbers, known = math.prod(images.shape[1:]), math.prod(size for size in self.shape if size != -1)
        shape = self.shape
        if -1 in shape and known and numbers % known == 0:
            shape = tuple(numbers // known if size == -1 else size for size in shape)
        if math.prod(shape) != numbers or -1 in shape:
            raise ValueError(
                f"Reshape expected examples that fit into {self.shape}, got {images.shape[1:]} with {numbers} numbers; "
                "the sizes are of one example, without the number of them"
            )
        return images.reshape(len(images), *shape)


class RandomHorizontalFlip:
    """Flip images horizontally at random.

    Args:
        p: Probability of a flip.

    Raises:
        ValueError: If p is not between 0 and 1.
    """

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p <= 1:
            raise ValueError(f"RandomHorizontalFlip expected a probability p from 0 to 1, got {p}; try 0.5")
        self.p = p

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Flip images of a batch; draws one random number for every image.

        Raises:
            ValueError: If the shape is not (B, C, H, W).
        """
        _check(images, "RandomHorizontalFlip")
        chosen = generator.random(len(images)) < self.p
        return np.where(chosen[:, None, None, None], images[..., ::-1], images)


class RandomCrop:
    """Crop every image at a random position.

    Args:
        size: Height and width of the crop; one number for a square.
        padding: Padding added first: one number, (left and right, top and bottom), or (left, top, right, bottom).
        pad_if_needed: Whether to pad images that are smaller than the crop.
        fill: Value of constant padding.
        padding_mode: "constant"; "edge" repeats the outermost pixels; "reflect" and "symmetric" mirror the image without or with them.

    Raises:
        TypeError: If a size or a padding is not an integer.
        ValueError: If one is too small, there are too many, or the mode is unknown.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float = 0,
        padding_mode: str = "constant",
    ) -> None:
        self.size = _sizes(size, "size", (2,), 1)
        border = _sizes(0 if padding is None else padding, "padding", (2, 4), 0)
        self.padding = border * 2 if len(border) == 2 else border  # left, top, right, bottom
        if padding_mode not in PADDING_MODES:
            raise ValueError(
                f"RandomCrop expected padding_mode to be one of {', '.join(PADDING_MODES)}, got {padding_mode!r}; try constant"
            )
        self.pad_if_needed, self.fill, self.padding_mode = pad_if_needed, fill, padding_mode

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Crop a batch; draws two random numbers for every image.

        Returns:
            Shape (B, C, height, width), same dtype.

        Raises:
            ValueError: If the shape is not (B, C, H, W), or images are smaller than the crop.
        """
        _check(images, "RandomCrop")
        left, top, right, bottom = self.padding
        images = self._padded(images, (top, bottom), (left, right))
        if self.pad_if_needed:
            down, right = (max(0, part - whole) for part, whole in zip(self.size, images.shape[2:], strict=True))
            images = self._padded(images, (down, down), (right, right))
        B, C, H, W = images.shape
        h, w = self.size
        if h > H or w > W:
            raise ValueError(f"RandomCrop expected images of at least {h}×{w}, got {H}×{W}; give a smaller size, or pad_if_needed=True")
        corners = generator.integers(0, (H - h, W - w), (B, 2), endpoint=True)
        rows, columns = corners[:, :1] + np.arange(h), corners[:, 1:] + np.arange(w)  # (B, h) and (B, w)
        return images[np.arange(B)[:, None, None, None], np.arange(C)[:, None, None], rows[:, None, :, None], columns[:, None, None, :]]

    def _padded(self, images: np.ndarray, rows: tuple[int, int], columns: tuple[int, int]) -> np.ndarray:
        """Pad the images."""
        if not any(rows + columns):
            return images
        H, W = images.shape[2:]
        reach = {"reflect": 1, "symmetric": 0}.get(self.padding_mode)
        if (reach is not None and (max(rows) > H - reach or max(columns) > W - reach)) or 0 in (H, W):
            raise ValueError(
                f"RandomCrop expected a border that an image of {H}×{W} can fill, got {max(rows)} and {max(columns)} points "
                f"of {self.padding_mode}; make it narrower"
            )
        options = {"constant_values": self.fill} if self.padding_mode == "constant" else {}
        mode: Any = self.padding_mode
        return np.pad(images, ((0, 0), (0, 0), rows, columns), mode, **options)


def _check(images: np.ndarray, name: str) -> None:
    """Check that images have shape (B, C, H, W)."""
    if images.ndim != 4:
        raise ValueError(f"{name} expected images of shape (B, C, H, W), got {images.shape}; put it before Reshape")


def _sizes(value: Any, name: str, lengths: tuple[int, ...], least: int) -> tuple[int, ...]:
    """Validate sizes; one number becomes two."""
    try:
        sizes = tuple(operator.index(size) for size in (value if isinstance(value, Sequence) else (value,) * 2))
    except TypeError:
        raise TypeError(f"RandomCrop expected whole numbers as {name}, got {value!r}; try {name}=4") from None
    if len(sizes) not in lengths or min(sizes) < least:
        counts = " or ".join(map(str, lengths))
        raise ValueError(f"RandomCrop expected {name} to be a whole number >= {least}, or {counts} of them, got {value!r}; try {name}=4")
    return sizes
