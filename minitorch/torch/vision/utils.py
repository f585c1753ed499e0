"""Stage 6 - torchvision.utils: many images as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.creation import tensor
from minitorch.torch.tensor import Tensor


def make_grid(
    images: Tensor | Sequence[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Images beside and below one another.

    Args:
        images: Shape (B, C, H, W), or several images of shape (C, H, W); one channel becomes three.
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
    """
    given = images.detach().cpu().numpy() if isinstance(images, Tensor) else np.stack([each.detach().cpu().numpy() for each in images])
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
        return Tensor._of(tensor(pixels[0]))
    columns = min(nrow, count)
    rows = -(-count // columns)
    grid = np.full((channels, rows * (height + padding) + padding, columns * (width + padding) + padding), pad_value, pixels.dtype)
    for number, image in enumerate(pixels):
        top, left = (place * (size + padding) + padding for place, size in zip(divmod(number, columns), (height, width), strict=True))
        grid[:, top : top + height, left : left + width] = image
    return Tensor._of(tensor(grid))


__getattr__ = refuse_absent("torchvision.utils", defined(globals()))
