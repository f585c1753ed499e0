"""Small images and kernels for convolution and pooling: few pixels with small integer values."""

from __future__ import annotations

import numpy as np

DIGIT, DRAW, TYPED = "a digit", "draw", "typed"
"""Further choices for an image."""

DEPTH = 16
"""The value of the darkest pixel of a digit in its data set."""

MOST_CHANNELS = 3


def _picture(*channels: str) -> np.ndarray:
    """Parse pixels from characters; a dot is 0."""
    return np.array([[[0 if sign == "." else int(sign) for sign in row] for row in text.split()] for text in channels], float)


PICTURES: dict[int, dict[str, np.ndarray]] = {
    1: {
        "a step": _picture("...4444.."),
        "a ramp": _picture("0123456"),
        "one dot": _picture("...1..."),
        "two channels": _picture("..44....", "....1234"),
    },
    2: {
        "a box": _picture("...... .5555. .5555. .5555. .5555. ......"),
        "stripes": _picture("3.3.3. 3.3.3. 3.3.3. 3.3.3. 3.3.3. 3.3.3."),
        "a slope": _picture("012345 123456 234567 345678"),
        "one dot": _picture("..... ..... ..1.. ..... ....."),
        "three colors": _picture(
            "33.... 33.... 33.... 33.... 33.... 33....",
            "...... ...... 222222 222222 ...... ......",
            ".....1 ....1. ...1.. ..1... .1.... 1.....",
        ),
    },
}
"""Images by number of dimensions and name, shape (C, H, W); in one dimension, H = 1."""

KERNELS: dict[int, dict[str, list]] = {
    1: {
        "difference": [-1, 1],
        "mean of two": [0.5, 0.5],
        "curvature": [1, -2, 1],
        "1, 2, 3": [1, 2, 3],
        "another for each channel": [[1, 1], [-1, 0]],
        "two kernels": [[[-1, 1]], [[0.5, 0.5]]],
    },
    2: {
        "vertical edges": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
        "horizontal edges": [[-1, -2, -1], [0, 0, 0], [1, 2, 1]],
        "blur": [[0.0625, 0.125, 0.0625], [0.125, 0.25, 0.125], [0.0625, 0.125, 0.0625]],
        "outline": [[0, -1, 0], [-1, 4, -1], [0, -1, 0]],
        "difference": [[-1, 1]],
        "one number": [[2]],
        "another for each channel": [[[1, 0], [0, 1]], [[1, 1], [-1, -1]], [[0, 1], [1, 0]]],
        "two kernels": [[[[-1, 1], [-1, 1]]], [[[-1, -1], [1, 1]]]],
    },
}
"""Kernels by number of dimensions and name, as a student would enter them; channel dimensions only where needed."""


def kernel_text(dims: int, name: str) -> str:
    """Return a kernel as a student would enter it."""
    return str(KERNELS[dims][name])


def fit(weight: np.ndarray, channels: int) -> np.ndarray:
    """Return the weight with as many channels as the image: a kernel with one channel is repeated for all of them."""
    return np.repeat(weight, channels, 1) if weight.shape[1] == 1 < channels else weight
