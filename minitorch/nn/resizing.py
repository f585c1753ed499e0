"""Stage 7 - Images in other sizes: interpolation, pixel shuffle, and windows as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.recording import call, constant, zeros
from minitorch.nn.module import Module
from minitorch.nn.options import layer
from minitorch.nn.padding import pad
from minitorch.nn.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, as_images, restore
from minitorch.nn.volumes import adaptive_avg_pool3d
from minitorch.ops.checks import Sizes, as_pair, check_float_tensor, check_tensor
from minitorch.tensor import tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

MODES = {
    **dict.fromkeys(["nearest", "nearest-exact", "area"], (1, 2, 3)),
    "linear": (1,),
    **dict.fromkeys(["bilinear", "bicubic"], (2,)),
    "trilinear": (3,),
}
"""The modes of `interpolate`, each with the numbers of dimensions that it is for."""

CUBIC = -0.75
"""Parameter of the cubic convolution, as in PyTorch. Source: Keys 1981, IEEE Transactions on Acoustics, Speech, and Signal Processing."""


def interpolate(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize sequences, images or volumes.

    Args:
        input: Shape (B, C, L), (B, C, H, W) or (B, C, D, H, W).
        size: Size of the output, one number for all dimensions or one for each.
        scale_factor: Factor of the size instead, one number or one for each dimension; the size is rounded down.
        mode: "nearest"; "nearest-exact", which measures from the centers of the elements; "linear" for sequences; "bilinear" or
            "bicubic" for images; "trilinear" for volumes; "area" for means over areas.
        align_corners: Whether the outermost elements keep their place; otherwise the edges of the images coincide. For the modes that
            interpolate linearly or cubically.
        recompute_scale_factor: Whether the distance of two output elements follows from the sizes, not from scale_factor.
        antialias: Whether smaller images are averaged over all elements, as in image programs; for "bilinear" and "bicubic".

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If not exactly one of size and scale_factor is given, the mode does not fit, or an option does not fit the mode.
    """
    dims = check_float_tensor("interpolate", input).dims - 2
    if dims not in (1, 2, 3):
        raise ValueError(f"interpolate expected input of shape (B, C, L), (B, C, H, W) or (B, C, D, H, W), got {input.shape}")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate expected either size or scale_factor, got both or neither; pass one of them")
    if dims not in MODES.get(mode, ()):
        fitting = ", ".join(name for name, allowed in MODES.items() if dims in allowed)
        raise ValueError(f"interpolate expected mode {fitting} for input of shape {input.shape}, got {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f'interpolate expected mode "bilinear" or "bicubic" with antialias, got {mode!r}')
    if align_corners is not None and len(MODES[mode]) > 1:
        raise ValueError(f"interpolate expected align_corners=None with mode {mode!r}, got {align_corners}; leave align_corners out")
    if recompute_scale_factor and scale_factor is None:
        raise ValueError("interpolate expected scale_factor with recompute_scale_factor, got size; leave recompute_scale_factor out")
    own = input.shape[2:]
    factors = [None] * dims if scale_factor is None else _as_list(scale_factor, dims)
    sizes = _as_list(size, dims) if size is not None else [math.floor(n * f) for n, f in zip(own, factors, strict=True)]  # type: ignore
    if min(sizes) < 1:
        raise ValueError(f"interpolate expected an output of at least one element, got the size {tuple(sizes)}")
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[dims - 1](input, sizes)
    if recompute_scale_factor:
        factors = [None] * dims
    steps = [n / m if f is None else 1 / f for n, m, f in zip(own, sizes, factors, strict=True)]
    x = input
    for dim, (length, count, step) in enumerate(zip(own, sizes, steps, strict=True), 2):
        if mode.startswith("nearest"):
            centers = np.arange(count, dtype=np.float32) + np.float32(0.5 if mode == "nearest-exact" else 0)
            positions = np.minimum(np.floor(centers * np.float32(step)).astype(np.int64), length - 1)
            x = x[(*[slice(None)] * dim, positions)]
        else:
            matrix = (antialias_matrix if antialias else interpolation_matrix)(length, count, step, mode, bool(align_corners))
            weights, shape = tensor(matrix.T if dim == x.dims - 1 else matrix, x.backend, dtype=x.dtype), x.shape
            if dim == x.dims - 1:
                x = x @ weights
            else:
                x = (weights @ x.reshape(*shape[: dim + 1], -1)).reshape(*shape[:dim], count, *shape[dim + 1 :])
    return x


upsample = interpolate


def _as_list(given: Any, dims: int) -> list[Any]:
    """One value for each dimension. Raises ValueError if there are too many or too few."""
    values = list(given) if isinstance(given, Sequence) else [given] * dims
    if len(values) != dims:
        raise ValueError(f"interpolate expected one number or {dims}, got {given!r}")
    return values


def interpolation_matrix(length: int, count: int, step: float, mode: str, align_corners: bool) -> np.ndarray:
    """The matrix, shape (count, length), by which a dimension is interpolated.

    Args:
        length: Size of the input.
        count: Size of the output.
        step: Distance of two output elements in the input, unless align_corners.
        mode: "linear", "bilinear", "trilinear" or "bicubic".
        align_corners: See `interpolate`.
    """
    if align_corners:
        places = np.arange(count) * ((length - 1) / (count - 1) if count > 1 else 0.0)
    else:
        places = (np.arange(count) + 0.5) * step - 0.5
        places = places if mode == "bicubic" else np.maximum(places, 0.0)
    first = np.floor(places).astype(np.int64)
    t, matrix = places - first, np.zeros((count, length))
    taps = [(0, 1 - t), (1, t)] if mode != "bicubic" else [(k, cubic_weight(t - k)) for k in (-1, 0, 1, 2)]
    for offset, weights in taps:
        np.add.at(matrix, (np.arange(count), np.clip(first + offset, 0, length - 1)), weights)
    return matrix


def antialias_matrix(length: int, count: int, step: float, mode: str, align_corners: bool) -> np.ndarray:
    """`interpolation_matrix` with a filter as wide as the distance of two output elements, if that is more than 1."""
    step = (length - 1) / max(count - 1, 1) if align_corners else step
    distances = (np.arange(length) + 0.5 - (np.arange(count)[:, None] + 0.5) * step) / max(step, 1.0)
    weights = cubic_weight(distances, -1 / 2) if mode == "bicubic" else np.maximum(1 - np.abs(distances), 0)
    return weights / weights.sum(1, keepdims=True)


def cubic_weight(distance: np.ndarray, cubic: float = CUBIC) -> np.ndarray:
    """The weight of an element, which is 0 from a distance of 2 on."""
    d = np.minimum(np.abs(distance), 2)
    near = ((cubic + 2) * d - (cubic + 3)) * d * d + 1
    return np.where(d <= 1, near, ((d - 5) * d + 8) * d * cubic - 4 * cubic)


# Pixel shuffle


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange channels into pixels: shape (…, C · r², H, W) becomes (…, C, H · r, W · r).

    Raises:
        ValueError: If r² does not divide the number of channels.

    Source: Shi et al. 2016, arXiv:1609.05158, eq. 4.
    """
    r = upscale_factor
    if check_tensor("pixel_shuffle", input, "input").dims < 3 or r < 1 or input.shape[-3] % (r * r):
        raise ValueError(f"pixel_shuffle expected input of shape (…, C · {r * r}, H, W) for upscale_factor {r}, got {input.shape}")
    *batch, channels, height, width = input.shape
    parts = input.reshape(-1, channels // (r * r), r, r, height, width).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(*batch, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`: shape (…, C, H · r, W · r) becomes (…, C · r², H, W).

    Raises:
        ValueError: If r does not divide height and width.
    """
    r = downscale_factor
    if check_tensor("pixel_unshuffle", input, "input").dims < 3 or r < 1 or input.shape[-1] % r or input.shape[-2] % r:
        raise ValueError(f"pixel_unshuffle expected input of shape (…, C, H · {r}, W · {r}) for downscale_factor {r}, got {input.shape}")
    *batch, channels, height, width = input.shape
    parts = input.reshape(-1, channels, height // r, r, width // r, r).permute(0, 1, 3, 5, 2, 4)
    return parts.reshape(*batch, channels * r * r, height // r, width // r)


# Windows as columns


class Unfold2d(Function):
    """The windows of images as columns."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, positions: np.ndarray) -> Tensor:
        batch, channels = a.shape[:2]
        ctx.save_for_backward(a.shape, positions)
        out = TensorData.empty((batch, channels * positions.shape[0], positions.shape[1]), a.dtype)
        call(take_windows, out._storage.reshape(batch, channels, *positions.shape), a._tensor.array(), constant(positions))
        return a._like(out)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None]:
        shape, positions = ctx.saved_values
        return Fold2d.apply(grad_output, shape, positions), None


class Fold2d(Function):
    """The sum of windows, given as columns, at their places."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, shape: tuple[int, ...], positions: np.ndarray) -> Tensor:
        ctx.save_for_backward(positions, a.shape)
        return add_columns(a, shape, positions)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None, None]:
        positions, _ = ctx.saved_values
        return Unfold2d.apply(grad_output, positions), None, None


def take_windows(out: np.ndarray, images: np.ndarray, positions: np.ndarray) -> None:
    """Write the elements of images (B, C, H, W) at positions in a flattened image into out (B, C, *positions.shape)."""
    out[...] = images.reshape(*images.shape[:2], -1)[:, :, positions]


def add_columns(columns: Tensor, shape: tuple[int, ...], positions: np.ndarray) -> Tensor:
    """Add columns (B, C · taps, windows) to images of zeros."""
    batch, channels, height, width = shape
    image = zeros((height * width, batch, channels), columns.dtype)
    call(add_windows, image, columns._tensor.array(), constant(positions))
    out = TensorData.empty(shape, columns.dtype)
    call(copy_images, out._storage.reshape(batch, channels, -1), image)
    return columns._like(out)


def add_windows(image: np.ndarray, columns: np.ndarray, positions: np.ndarray) -> None:
    """Add columns (B, C · taps, windows) to image (pixels, B, C)."""
    parts = columns.reshape(image.shape[1], image.shape[2], *positions.shape)
    for tap, places in enumerate(positions):  # the windows of one tap do not meet
        image[places] += parts[:, :, tap].transpose(2, 0, 1)


def copy_images(out: np.ndarray, image: np.ndarray) -> None:
    """Write image (pixels, B, C) into out (B, C, pixels)."""
    out[...] = image.transpose(1, 2, 0)


def window_positions(op: str, size: tuple[int, int], kernel_size: Any, dilation: Any, stride: Any) -> np.ndarray:
    """For every tap and window the position in a flattened image, shape (taps, windows). Raises ValueError if no window fits."""
    kernel, gaps, steps = as_pair(op, "kernel_size", kernel_size, 1), as_pair(op, "dilation", dilation, 1), as_pair(op, "stride", stride, 1)
    counts = [(n - gap * (k - 1) - 1) // step + 1 for n, k, gap, step in zip(size, kernel, gaps, steps, strict=True)]
    if min(counts) < 1:
        raise ValueError(f"{op} expected images no smaller than a window of {kernel}, got {size} with padding; take smaller windows")
    rows, columns = (
        np.arange(k)[:, None] * gap + np.arange(count) * step for k, gap, count, step in zip(kernel, gaps, counts, steps, strict=True)
    )
    places = rows[:, None, :, None] * size[1] + columns[None, :, None, :]
    return places.reshape(math.prod(kernel), math.prod(counts))


def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """The windows of images as columns.

    Args:
        input: Images, shape (B, C, H, W), or a single one, shape (C, H, W).
        kernel_size: Size of a window; this and the next options are an int or a pair (rows, columns).
        dilation: Step between taps.
        padding: Zeros on each side.
        stride: Step between windows.

    Returns:
        Shape (B, C · KH · KW, number of windows); without B for a single image.

    Raises:
        ValueError: If input has the wrong number of dimensions, or no window fits.
    """
    images = as_images("unfold", input, 2)
    above, left = as_pair("unfold", "padding", padding, 0)
    x = pad(images, (left, left, above, above))
    positions = window_positions("unfold", (x.shape[2], x.shape[3]), kernel_size, dilation, stride)
    return restore(Unfold2d.apply(x, positions), input, 2)


def fold(input: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """The sum of windows, given as columns, at their places in images; for the options see `unfold`.

    Args:
        input: Shape (B, C · KH · KW, number of windows); B may be missing.
        output_size: Height and width of the images.

    Returns:
        Shape (B, C, *output_size).

    Raises:
        ValueError: If the shape of input does not fit.
    """
    if check_float_tensor("fold", input).dims == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    height, width = as_pair("fold", "output_size", output_size, 1)
    above, left = as_pair("fold", "padding", padding, 0)
    size = (height + 2 * above, width + 2 * left)
    positions = window_positions("fold", size, kernel_size, dilation, stride)
    taps, windows = positions.shape
    if input.dims != 3 or input.shape[1] % taps or input.shape[2] != windows:
        raise ValueError(f"fold expected input of shape (B, C · {taps}, {windows}), got {input.shape}")
    out = Fold2d.apply(input, (input.shape[0], input.shape[1] // taps, *size), positions)
    return out[:, :, above : above + height, left : left + width]


# Layers


PixelShuffle = layer("PixelShuffle", pixel_shuffle, "upscale_factor")
PixelUnshuffle = layer("PixelUnshuffle", pixel_unshuffle, "downscale_factor")
Unfold = layer("Unfold", unfold, "kernel_size", "dilation", "padding", "stride")
Fold = layer("Fold", fold, "output_size", "kernel_size", "dilation", "padding", "stride")


class Upsample(Module):
    """See `interpolate`.

    Args:
        size: Size of the output.
        scale_factor: Factor of the size instead.
        mode: A mode of `interpolate`.
        align_corners: See `interpolate`.
        recompute_scale_factor: See `interpolate`.
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        factor = tuple(map(float, scale_factor)) if isinstance(scale_factor, (tuple, list)) else scale_factor and float(scale_factor)
        self.size, self.scale_factor, self.mode = size, factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def extra_repr(self) -> str:
        """The size or the factor, and the mode."""
        what = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{what}, mode={self.mode!r}"

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, C, H, W) to (B, C, H', W'), and likewise for sequences and volumes."""
        return interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)


class UpsamplingNearest2d(Upsample):
    """Resize images; every pixel takes the nearest one.

    Args:
        size: Size of the output.
        scale_factor: Factor of the size instead.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images by bilinear interpolation; the outermost pixels keep their place. For the arguments see `UpsamplingNearest2d`."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
