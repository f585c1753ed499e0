"""Stage 7 - Images read at positions that a network computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minitorch.core.creation import stack
from minitorch.core.dtypes import int64, is_float
from minitorch.core.errors import ElementError
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.torch.promotion import require_floats, require_one_dtype
from minitorch.torch.saved import saves

INTERPOLATIONS, BORDERS = ("bilinear", "nearest"), ("zeros", "border", "reflection")


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The positions that an affine map reads from, for every pixel of a result.

    Args:
        theta: The maps, shape (B, 2, 3).
        size: Shape (B, C, H, W) of the result.
        align_corners: Whether -1 and 1 are the centers of the outer pixels, not their edges.

    Returns:
        Positions (x, y) from -1 to 1, shape (B, H, W, 2).

    Raises:
        ValueError: If theta has another shape.
    """
    if not is_float(theta.dtype):
        raise ElementError(f"affine_grid expected theta of floats, got {theta.dtype.name}; convert it: theta.to(float32)")
    if len(size) != 4 or theta.shape != (size[0], 2, 3):
        raise ValueError(f"affine_grid expected theta of shape (B, 2, 3) and a size (B, C, H, W), got {theta.shape} and {tuple(size)}")
    batch, _, height, width = size
    rows, columns = (
        (np.linspace(-1, 1, n) if n > 1 else np.zeros(n)) if align_corners else (2 * np.arange(n) + 1) / n - 1 for n in (height, width)
    )
    places = np.stack([*np.meshgrid(columns, rows), np.ones((height, width))], -1).reshape(1, height * width, 3)
    return (_constant(places, theta) @ theta.permute(0, 2, 1)).reshape(batch, height, width, 2)


@saves(0, 1)
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Images read at the positions of a grid, between pixels by interpolation.

    Args:
        input: Images, shape (B, C, H, W).
        grid: Positions (x, y) from -1 to 1, shape (B, H', W', 2).
        mode: "bilinear", or "nearest", without a gradient for the grid.
        padding_mode: What is outside: "zeros", the "border", or a "reflection".
        align_corners: Whether -1 and 1 are the centers of the outer pixels, not their edges.

    Returns:
        Shape (B, C, H', W').

    Raises:
        ValueError: If a shape is different, or a mode unknown.
    """
    require_one_dtype("grid_sample", require_floats("grid_sample", input), grid)
    if input.dims != 4 or grid.dims != 4 or grid.shape[0] != input.shape[0] or grid.shape[3] != 2:
        shapes = f"got {input.shape} and {grid.shape}"
        raise ValueError(f"grid_sample expected input of shape (B, C, H, W) and a grid of shape (B, H', W', 2), {shapes}")
    if mode not in INTERPOLATIONS or padding_mode not in BORDERS:
        raise ValueError(f"grid_sample expected a mode of {INTERPOLATIONS} and {BORDERS}, got {mode!r} and {padding_mode!r}")
    sizes = input.shape[3], input.shape[2]
    x, y = (_positions(grid[:, :, :, k], n, padding_mode, bool(align_corners)) for k, n in enumerate(sizes))
    if mode == "nearest":
        return _read(input, _whole(np.rint, x), _whole(np.rint, y))
    left, top = _whole(np.floor, x), _whole(np.floor, y)
    right_share, low_share = x - _constant(left, x), y - _constant(top, y)
    out = 0.0
    for columns, x_share in ((left, 1 - right_share), (left + 1, right_share)):
        for rows, y_share in ((top, 1 - low_share), (top + 1, low_share)):
            out = _read(input, columns, rows) * (x_share * y_share).unsqueeze(1) + out
    return out  # type: ignore[return-value]  # a Tensor after the first turn


def _positions(places: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Positions from -1 to 1 as pixel numbers, those outside moved to what they show."""
    found = (places + 1) * ((size - 1) / 2) if align_corners else (places + 1) * (size / 2) - 0.5
    if padding_mode == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if not span:
            return found * 0.0
        inside = (found - low).abs()
        turns = np.floor(inside.to_numpy() / span)
        flips = np.where(turns % 2, -1.0, 1.0)
        shifts = np.where(turns % 2, (turns + 1) * span, -turns * span)
        found = inside * _constant(flips, inside) + _constant(shifts, inside) + low
    return found if padding_mode == "zeros" else found.clip(0.0, size - 1.0)


def _whole(rounding: np.ufunc, x: Tensor) -> np.ndarray:
    """Pixel numbers as integers; NaN, and what no image has, as -1."""
    values = rounding(x.to_numpy())
    return np.where(np.abs(values) < 2**31, values, -1).astype(int64)


def _read(input: Tensor, columns: np.ndarray, rows: np.ndarray) -> Tensor:
    """The pixels of all channels, shape (B, C, H', W'); 0 outside of the image."""
    batch, channels, height, width = input.shape
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    pixels = (np.clip(rows, 0, max(height - 1, 0)) * width + np.clip(columns, 0, max(width - 1, 0))).reshape(batch, -1)
    flat = input.reshape(batch, channels, height * width)
    found = stack([flat[b][:, pixels[b]] for b in range(batch)], 0).view(batch, channels, *columns.shape[1:])
    return found * _constant(inside[:, None], input)


def _constant(values: np.ndarray, like: Tensor) -> Tensor:
    """Numbers as a constant of a tensor's dtype and backend."""
    return like._like(TensorData(values.astype(like.dtype).reshape(-1), values.shape))
