"""Stage 7 - torchvision.utils: the grid of images of `minitorch.data`, also as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.data.images import make_grid, pillow
from minitorch.io.formats import replace_file
from minitorch.io.png import encode_png as _encode_png
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.tensor import Tensor

__all__ = ["make_grid", "save_image"]


def save_image(tensor: Tensor | Sequence[Tensor], fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write images beside one another as one file; numbers from 0 to 1 become bytes, others are clipped.

    Args:
        tensor: See `make_grid`.
        fp: The name of the file, or an open file. A file that is there is replaced as a whole.
        format: "png", or another that Pillow writes; what the name ends in, if left out.
        **kwargs: As for `make_grid`.

    Raises:
        ValueError: If neither the name nor format says the format.
        ModuleNotFoundError: If it is another than PNG and Pillow is not installed.
    """
    ending = (format or ("" if hasattr(fp, "write") else Path(fp).suffix[1:])).lower()
    if not ending:
        raise ValueError(f"save_image expected a format, got the file {fp} without an ending; pass format='png'")
    grid = make_grid(tensor, **kwargs).cpu().numpy()
    pixels = np.moveaxis(np.clip(grid.astype(np.float32) * 255 + 0.5, 0, 255).astype(np.uint8), 0, -1)
    if ending != "png":
        pillow().fromarray(pixels).save(fp, format=format)
    elif hasattr(fp, "write"):
        fp.write(_encode_png(pixels))
    else:
        replace_file(fp, _encode_png(pixels))


__getattr__ = _refuse_absent("torchvision.utils", __all__)
