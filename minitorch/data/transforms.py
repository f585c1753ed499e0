"""Stage 4 - Transforms: changes to the images of a batch before they become a tensor.

A transform is called with a batch of shape (B, C, H, W) and a random generator, and returns a new batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Compose:
    """Apply several transforms in order.

    Args:
        transforms: The transforms, as separate arguments or in one list.
    """

    def __init__(self, *transforms: Any) -> None:
        in_a_list = len(transforms) == 1 and isinstance(transforms[0], (list, tuple))
        self.transforms: Sequence[Callable[[np.ndarray, np.random.Generator], np.ndarray]] = transforms[0] if in_a_list else transforms

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Apply the transforms to a batch."""
        for transform in self.transforms:
            images = transform(images, generator)
        return images


class Normalize:
    """Subtract the mean and divide by the standard deviation, per channel or for all channels.

    Args:
        mean: One number, or one for each channel.
        std: One number, or one for each channel; greater than 0.

    Raises:
        ValueError: If std is not greater than 0, or mean and std have different numbers of channels.
    """

    def __init__(self, mean: float | Sequence[float], std: float | Sequence[float]) -> None:
        self.mean, self.std = self._by_channel(mean), self._by_channel(std)
        if not (self.std > 0).all():
            raise ValueError(f"Normalize expected a standard deviation std > 0, got {std}; do not normalize constant images")
        if 0 in (self.mean.size, self.std.size) or len({self.mean.size, self.std.size} - {1}) > 1:
            raise ValueError(
                f"Normalize expected mean and std of equal length, got {self.mean.size} and {self.std.size}; pass one number per channel"
            )

    @staticmethod
    def _by_channel(value: Any) -> np.ndarray:
        """Return an array of shape () for one number, otherwise (C, 1, 1)."""
        found = np.asarray(value, float)
        return found.reshape(() if found.size == 1 else (-1, 1, 1))

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Normalize a batch; uses no random numbers.

        Raises:
            ValueError: If the images have a different number of channels.
        """
        channels = max(self.mean.size, self.std.size)
        if channels > 1 and (images.ndim != 4 or images.shape[1] != channels):
            raise ValueError(f"Normalize expected images of shape (B, {channels}, H, W), got {images.shape}; pass a mean for each channel")
        dtype = images.dtype if images.dtype.kind == "f" else float  # keep float32
        mean, std = self.mean.astype(dtype), self.std.astype(dtype)
        return (images - mean) / std


class Shift:
    """Shift every image by a random number of pixels, vertically and horizontally; new pixels are `fill`.

    Args:
        pixels: Maximum shift in each direction.
        fill: Value of the background.

    Raises:
        ValueError: If pixels is not an integer >= 0.
    """

    def __init__(self, pixels: int, fill: float = 0.0) -> None:
        if not isinstance(pixels, int) or pixels < 0:
            raise ValueError(f"Shift expected an integer number of pixels >= 0, got {pixels!r}; try 1")
        self.pixels, self.fill = pixels, fill

    def __call__(self, images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Shift a batch; draws two random numbers for every image."""
        B, _, H, W = images.shape
        reach = self.pixels
        padded = np.pad(images, ((0, 0), (0, 0), (reach, reach), (reach, reach)), constant_values=self.fill)
        down, right = generator.integers(0, 2 * reach, (2, B, 1), endpoint=True)
        rows, columns = down + np.arange(H), right + np.arange(W)  # (B, H) and (B, W)
        picked = padded[np.arange(B)[:, None, None], :, rows[:, :, None], columns[:, None, :]]  # (B, H, W, C)
        return np.ascontiguousarray(picked.transpose(0, 3, 1, 2))
