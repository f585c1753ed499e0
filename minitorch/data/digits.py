"""Stage 4 - Digits: 1,797 small images of handwritten digits, included in the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minitorch.data.dataset import ImageDataset
from minitorch.data.idx import read_idx

INK = 16
"""Maximum value of a cell, which counts the black pixels of a 4×4 block."""


class Digits(ImageDataset):
    """The test images of "Optical Recognition of Handwritten Digits", 8×8, by 13 writers.

    Attributes:
        images: Shape (1797, 1, 8, 8), float32; 0 is paper, 1 is ink.
        labels: Shape (1797,), int64, 0 … 9.
        classes: "0" … "9".

    Source: E. Alpaydin, C. Kaynak (1998), UCI Machine Learning Repository, doi:10.24432/C50P49, CC BY 4.0; see digits.txt.
    """

    def __init__(self) -> None:
        folder = Path(__file__).parent
        images, labels = read_idx(folder / "digits-images.gz", 3), read_idx(folder / "digits-labels.gz", 1)
        super().__init__(images[:, None].astype(np.float32) / INK, labels.astype(np.int64), [str(digit) for digit in range(10)])
