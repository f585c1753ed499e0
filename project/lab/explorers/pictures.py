"""Small pictures and kernels to try convolution and pooling on: few pixels, small whole numbers."""

from __future__ import annotations

import numpy as np

DIGIT, DRAW, TYPED = "a digit", "draw", "typed"
"""The choices beside the pictures of this room."""

DEPTH = 16
"""The value of the darkest pixel of a digit, as its data set has it."""

MOST_CHANNELS = 3


def _picture(*channels: str) -> np.ndarray:
    """Pixels as characters: a point is 0."""
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
        "three colours": _picture(
            "33.... 33.... 33.... 33.... 33.... 33....",
            "...... ...... 222222 222222 ...... ......",
            ".....1 ....1. ...1.. ..1... .1.... 1.....",
        ),
    },
}
"""By the number of dimensions and by name: channels, rows, columns; in one dimension there is one row."""

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
        "upright edges": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
        "level edges": [[-1, -2, -1], [0, 0, 0], [1, 2, 1]],
        "blur": [[0.0625, 0.125, 0.0625], [0.125, 0.25, 0.125], [0.0625, 0.125, 0.0625]],
        "outline": [[0, -1, 0], [-1, 4, -1], [0, -1, 0]],
        "difference": [[-1, 1]],
        "one number": [[2]],
        "another for each channel": [[[1, 0], [0, 1]], [[1, 1], [-1, -1]], [[0, 1], [1, 0]]],
        "two kernels": [[[[-1, 1], [-1, 1]]], [[[-1, -1], [1, 1]]]],
    },
}
"""By the number of dimensions and by name, as one types them: output channels, channels, rows, columns, the first two only where needed."""


def kernel_text(dims: int, name: str) -> str:
    """A kernel as one types it."""
    return str(KERNELS[dims][name])


def fit(weight: np.ndarray, channels: int) -> np.ndarray:
    """The weight with as many channels as the image: a kernel of one channel serves all of them."""
    return np.repeat(weight, channels, 1) if weight.shape[1] == 1 < channels else weight
