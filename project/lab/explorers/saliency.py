"""Saliency of an image: the gradient of a class's log probability with respect to the pixels, by the student's own backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch
from project.lab.cards import WrongResult
from project.lab.charts import thumbnails
from project.lab.charts.thumbnails import Thumbnail


def gradient(network: Any, image: np.ndarray, digit: int) -> np.ndarray:
    """Return the gradient of the log probability of a digit with respect to the pixels.

    Args:
        network: Maps shape (B, 1, H, W) to log probabilities, shape (B, classes).
        image: Shape (H, W), values from 0 to 1.
        digit: The class.

    Returns:
        Shape (H, W).

    Raises:
        WrongResult: If the output is not one row of log probabilities, or the image gets no gradient of its shape.
    """
    first = next(iter(network.parameters())).value
    x = minitorch.tensor(image[None, None], backend=first.backend, dtype=first.dtype).requires_grad_(True)
    out = network(x)
    if not isinstance(out, minitorch.Tensor) or len(out.shape) != 2 or out.shape[0] != 1 or not digit < out.shape[1]:
        got = f"shape {tuple(out.shape)}" if isinstance(out, minitorch.Tensor) else "another type"
        raise WrongResult(f"your Network expected to return shape (1, 10) for one image, got {got}")
    chosen = np.eye(out.shape[1])[[digit]]
    out.backward(minitorch.tensor(chosen, backend=first.backend, dtype=first.dtype))
    if x.grad is None:
        raise WrongResult("backward expected to give the image a gradient, got none; does your Network use its argument?")
    found = x.grad.to_numpy()
    if found.shape != (1, 1, *image.shape):
        raise WrongResult(f"backward expected to give the image a gradient of shape {(1, 1, *image.shape)}, got {found.shape}")
    return found[0, 0].astype(float)


def pictures(image: np.ndarray, slopes: np.ndarray, digit: int) -> list[Thumbnail]:
    """Return two pictures: the gradient alone, and the gradient over the image.

    Args:
        image: Shape (H, W), values from 0 to 1.
        slopes: The gradient, shape (H, W).
        digit: The class.
    """
    most = float(np.abs(slopes).max())
    colors = thumbnails.signed(slopes, most)
    over = np.rint(colors * (1 - 0.65 * np.clip(image, 0, 1)[:, :, None])).astype(np.uint8)  # ink darkens the color, but does not hide it
    return [
        Thumbnail(colors, f"gradient of the log probability of {digit}, from {slopes.min():.2g} to {slopes.max():.2g}", "gradient"),
        Thumbnail(over, f"the gradient for {digit} over the image", "over the image"),
    ]


def in_words(image: np.ndarray, slopes: np.ndarray, digit: int) -> str:
    """Name the pixels whose change would raise and lower the log probability most."""
    if not slopes.any():
        return f"The gradient is 0: no small change of a pixel changes the log probability of {digit}."
    said = []
    for place, verb in ((slopes.argmax(), "raises"), (slopes.argmin(), "lowers")):
        row, column = map(int, np.unravel_index(int(place), slopes.shape))
        slope = slopes[row, column]
        if (slope > 0) == (verb == "raises") and slope:
            kind = "ink" if image[row, column] > 0.5 else "paper"
            said.append(f"more ink at row {row}, column {column} (now {kind}) {verb} it most, at a rate of {abs(slope):.2g}")
    return f"Log probability of {digit}: {'; '.join(said)}."
