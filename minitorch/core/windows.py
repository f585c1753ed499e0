"""Stage 4 - Pooling windows: checks that windows which do not overlap fill an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minitorch.tensor_data import as_shape

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def check_windows(input: Tensor, kernel: Sequence[int]) -> tuple[int, int]:
    """The window size, if the windows fill the images.

    Raises:
        ValueError: If they do not.
    """
    if not isinstance(kernel, Sequence) or len(kernel) != 2 or min(kernel) < 1:
        raise ValueError(f"pooling expected a window of two sizes of at least 1, got {kernel}; write it as (2, 2)")
    if input.dims != 4:
        raise ValueError(f"pooling expected images of shape (B, C, H, W), got input of shape {input.shape}; add dimensions by view")
    (kh, kw), (height, width) = as_shape(kernel, "a pooling window"), input.shape[2:]
    if height % kh or width % kw:
        raise ValueError(
            f"pooling expected a height and width that the window {kh, kw} divides, got {height} and {width} (input {input.shape}); "
            f"cut the images to {height - height % kh} and {width - width % kw}, or take another window"
        )
    return kh, kw
