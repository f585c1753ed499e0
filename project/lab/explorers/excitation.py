"""What excites a unit: the images for which a channel of a convolution is largest, and the pixels that it reads there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import minitorch
from project.lab.charts import thumbnails
from project.lab.charts.thumbnails import Thumbnail
from project.lab.explorers import learned_network

MOST_IMAGES = 200
"""Number of images that are searched."""

LAYERS = ("mid", "out")
"""The attributes of the student's Network that store the output of the first and of the second convolution."""

TINT = np.array([214, 96, 0])
"""The color of the pixels that a unit reads."""


class Peak(NamedTuple):
    """The largest activation of a channel in one image.

    Attributes:
        image: The number of the image.
        row, column: The place in the feature map.
        value: The activation.
    """

    image: int
    row: int
    column: int
    value: float


def responses(network: Any, images: np.ndarray) -> dict[str, np.ndarray]:
    """Return the feature maps of both convolutions, shape (N, C, H, W), by the name of the attribute that stores them.

    Args:
        network: The student's Network.
        images: Shape (N, H, W), values from 0 to 1.
    """
    first = next(iter(network.parameters())).value
    with minitorch.no_grad():
        network(minitorch.tensor(images[:, None], backend=first.backend, dtype=first.dtype))
    found = {name: getattr(network, name, None) for name in LAYERS}
    return {
        name: value.to_numpy()
        for name, value in found.items()
        if isinstance(value, minitorch.Tensor) and len(value.shape) == 4 and value.shape[0] == len(images)
    }


def strongest(maps: np.ndarray, channel: int, count: int) -> list[Peak]:
    """Return the images in which a channel is largest, the largest first; equal ones in their own order.

    Args:
        maps: Shape (N, C, H, W).
        channel: Its number.
        count: The number of images.
    """
    of_channel = maps[:, channel].reshape(len(maps), -1)
    places, values = of_channel.argmax(1), of_channel.max(1)
    order = np.argsort(-values, kind="stable")[:count]
    width = maps.shape[3]
    return [Peak(int(i), int(places[i]) // width, int(places[i]) % width, float(values[i])) for i in order]


def receptive_field(network: Any, layer: str) -> tuple[int, int]:
    """Return height and width of the part of the image that a unit of a layer reads: k₁, and k₁ + k₂ - 1 after the second."""
    sizes = [weight.shape[2:] for weight in learned_network.kernels(network).values()][: LAYERS.index(layer) + 1]
    return tuple(1 + sum(size[axis] - 1 for size in sizes) for axis in (0, 1))  # type: ignore[return-value]  # of two numbers


def picture(image: np.ndarray, label: int, peak: Peak, field: tuple[int, int]) -> Thumbnail:
    """Return an image in which the pixels that the unit reads are tinted.

    Args:
        image: Shape (H, W), values from 0 to 1.
        label: Its digit.
        peak: Where the unit is.
        field: Height and width of what it reads, from its own place to the right and down.
    """
    pixels = thumbnails.ink(image).astype(float)
    part = pixels[peak.row : peak.row + field[0], peak.column : peak.column + field[1]]
    part[:] = 0.55 * part + 0.45 * TINT
    rows, columns = part.shape[:2]
    says = f"a {label}; the unit reads rows {peak.row} to {peak.row + rows - 1}, columns {peak.column} to {peak.column + columns - 1}"
    return Thumbnail(np.rint(pixels).astype(np.uint8), says, f"{label}: {peak.value:.2f}")


def in_words(peaks: list[Peak], labels: np.ndarray) -> str:
    """Say which digits excite the channel most."""
    if not peaks[0].value > 0:
        return "This channel is never positive: it is dead for these images."
    found, counts = np.unique([labels[peak.image] for peak in peaks], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    parts = [f"{counts[i]} × {found[i]}" for i in order]
    return f"Digits among the {len(peaks)} images that excite it most: {', '.join(parts)}."
