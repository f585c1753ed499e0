"""Stage 4 - Transforms: what a loader does to the images of a batch before they become a tensor.

A transform is called with a batch, shape (B, C, H, W), and with a generator of random numbers, and returns a new batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Compose:
    """One transform after the other.

    Args:
        transforms: In their order, each an argument, or all in one list.
    """

    def __init__(self, *transforms: Any) -> None:
        in_a_list = len(transforms) == 1 and isinstance(transforms[0], (list, tuple))
        self.transforms: Sequence[Callable[[np.ndarray, np.random.Generator], np.ndarray]] = transforms[0] if in_a_list else transforms

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """The batch after all of them."""
        for transform in self.transforms:
            images = transform(images, generator)
        return images


class Normalize:
    """Subtract the mean and divide by the standard deviation, for all channels alike or for each its own.

    Args:
        mean: A number, or one for each channel.
        std: Likewise, greater than 0.

    Raises:
        ValueError: If std is not greater than 0, or if mean and std are of different channels.
    """

    def __init__(self, mean: float | Sequence[float], std: float | Sequence[float]) -> None:
        self.mean, self.std = self._by_channel(mean), self._by_channel(std)
        if not (self.std > 0).all():
            raise ValueError(f"Normalize expected a standard deviation std > 0, got {std}; an image of one colour needs none")
        if 0 in (self.mean.size, self.std.size) or len({self.mean.size, self.std.size} - {1}) > 1:
            raise ValueError(
                f"Normalize expected as many in mean as in std, got {self.mean.size} and {self.std.size}; one for each channel"
            )

    @staticmethod
    def _by_channel(value: Any) -> np.ndarray:
        """One number, shape (), or shape (C, 1, 1)."""
        found = np.asarray(value, float)
        return found.reshape(() if found.size == 1 else (-1, 1, 1))

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Draws nothing.

        Raises:
            ValueError: If the images have other channels.
        """
        channels = max(self.mean.size, self.std.size)
        if channels > 1 and (images.ndim != 4 or images.shape[1] != channels):
            raise ValueError(f"Normalize expected images of shape (B, {channels}, H, W), got {images.shape}; give a mean for each channel")
        dtype = images.dtype if images.dtype.kind == "f" else float  # a float32 batch stays one
        mean, std = self.mean.astype(dtype), self.std.astype(dtype)
        return (images - mean) / std


class Shift:
    """Move every image by its own whole number of points, up or down and left or right; what comes in is `fill`.

    Args:
        pixels: How far at most.
        fill: The value of the background.

    Raises:
        ValueError: If pixels is no whole number of at least 0.
    """

    def __init__(self, pixels: int, fill: float = 0.0) -> None:
        if not isinstance(pixels, int) or pixels < 0:
            raise ValueError(f"Shift expected a whole number of pixels >= 0, got {pixels!r}; try 1")
        self.pixels, self.fill = pixels, fill

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Draws two numbers for every image."""
        B, _, H, W = images.shape
        reach = self.pixels
        padded = np.pad(images, ((0, 0), (0, 0), (reach, reach), (reach, reach)), constant_values=self.fill)
        down, right = generator.integers(0, 2 * reach, (2, B, 1), endpoint=True)
        rows, columns = down + np.arange(H), right + np.arange(W)  # (B, H) and (B, W)
        picked = padded[np.arange(B)[:, None, None], :, rows[:, :, None], columns[:, None, :]]  # (B, H, W, C)
        return np.ascontiguousarray(picked.transpose(0, 3, 1, 2))
