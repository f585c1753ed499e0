"""Stage 5 - Convolution as one product of matrices: where pictures are narrow and channels many, the loops over columns are too short.

Every window becomes a column of a matrix, its numbers channel by channel as a weight has them. Each number of the picture stands there as
often as windows hold it, which is what a product pays for at once: it goes through memory in blocks, whatever the width of the pictures.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from minitorch.kernels.losses import fusible
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import transpose_last_two

if TYPE_CHECKING:
    from minitorch.nn.convolution import Geometry
    from minitorch.tensor import Tensor

NARROW = 8
"""A result with at most so many columns,"""

LONG, LONG_OF_ONE_TAP = 512, 64
"""and windows of at least so many numbers: there a product is faster than the loops. Windows of one tap hold no number twice."""


def suits(input: Tensor, weight: Tensor, geometry: Geometry, columns: int) -> bool:
    """Whether a convolution is to be a product.

    Args:
        input: Shape (B, C, H, W), or (B, C, W).
        weight: Shape (O, C / groups, KH, KW), or (O, C / groups, K).
        geometry: How windows lie.
        columns: Of the result.
    """
    least = LONG_OF_ONE_TAP if math.prod(weight.shape[2:]) == 1 else LONG
    fits = input.dims == 4 and geometry.groups == 1 and columns <= NARROW and math.prod(weight.shape[1:]) >= least
    return fits and input.size > 0 and fusible(input)


def product_of_windows(input: Tensor, weight: Tensor, bias: Tensor | None, geometry: Geometry, sizes: tuple[int, int]) -> Tensor:
    """The convolution.

    Args:
        input: Shape (B, C, H, W).
        weight: Shape (O, C, KH, KW), of the same dtype.
        bias: Shape (O,).
        geometry: How windows lie.
        sizes: Height and width of the result.
    """
    batch, outer = input.shape[0], weight.shape[0]
    windows = windows_of(input._tensor.array(), weight.shape[2:], geometry, sizes)
    columns = transpose_last_two(input._like(TensorData(windows.reshape(-1), (batch * math.prod(sizes), math.prod(weight.shape[1:])))))
    flat = weight.contiguous()
    flat = flat._like(flat._tensor.reshape((outer, columns.shape[0])))
    sums = input.f.matrix_multiply(flat, columns)._tensor.array()
    if bias is not None:
        sums += bias._tensor.array()[:, None]
    out = np.ascontiguousarray(sums.reshape(outer, batch, *sizes).transpose(1, 0, 2, 3))
    return input._like(TensorData(out.reshape(-1), out.shape))


def windows_of(pictures: np.ndarray, taps: tuple[int, ...], geometry: Geometry, sizes: tuple[int, int]) -> np.ndarray:
    """Every window of pictures (B, C, H, W), shape (B, height, width, C, KH, KW), copied."""
    around = [(0, 0), (0, 0), *zip(geometry.before, geometry.behind, strict=True)]
    padded = np.pad(pictures, around) if any(map(any, around)) else pictures
    batch, channel, *steps = padded.strides
    shape = (*padded.shape[:1], *sizes, padded.shape[1], *taps)
    down = [step * stride for step, stride in zip(steps, geometry.stride, strict=True)]
    within = [step * gap for step, gap in zip(steps, geometry.dilation, strict=True)]
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(padded, shape, (batch, *down, channel, *within), writeable=False))
