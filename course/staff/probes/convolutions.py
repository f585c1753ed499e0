"""Convolution and pooling in NumPy, as the course defines them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def convolve(input: np.ndarray, weight: np.ndarray, reverse: bool = False, sizes: Sequence[int] | None = None) -> np.ndarray:
    """The convolution anchored at the first tap, with zero padding past the edges.

    Args:
        input: Shape (B, C, …).
        weight: Shape (O, C, …), with one kernel size per spatial dimension.
        reverse: Whether the window extends backward.
        sizes: Spatial sizes of the output; by default those of the input.
    """
    sizes = tuple(input.shape[2:] if sizes is None else sizes)
    out = np.zeros((input.shape[0], weight.shape[0], *sizes))
    for at in np.ndindex(*sizes):
        for tap in np.ndindex(*weight.shape[2:]):
            position = tuple(i - k if reverse else i + k for i, k in zip(at, tap, strict=True))
            if all(0 <= i < size for i, size in zip(position, input.shape[2:], strict=True)):
                out[(..., *at)] += input[(..., *position)] @ weight[(..., *tap)].T
    return out


def convolution_gradients(input: np.ndarray, weight: np.ndarray, grad_output: np.ndarray) -> list[np.ndarray]:
    """The gradients of a convolution with respect to input and weight. It is linear in each, so unit arrays give every element."""
    gradients = []
    for n, array in enumerate((input, weight)):
        gradient = np.zeros(array.shape)
        for position in np.ndindex(*array.shape):
            unit = np.zeros(array.shape)
            unit[position] = 1.0
            gradient[position] = (convolve(*((unit, weight) if n == 0 else (input, unit))) * grad_output).sum()
        gradients.append(gradient)
    return gradients


def windows(images: np.ndarray, kernel: Sequence[int]) -> np.ndarray:
    """The elements of every window in row-major order, shape (B, C, rows, columns, kh · kw)."""
    kh, kw = kernel
    batch, channels, height, width = images.shape
    out = np.zeros((batch, channels, height // kh, width // kw, kh * kw), images.dtype)
    for row in range(height // kh):
        for column in range(width // kw):
            window = images[:, :, kh * row : kh * (row + 1), kw * column : kw * (column + 1)]
            out[:, :, row, column] = window.reshape(batch, channels, -1)
    return out


def max_pool(images: np.ndarray, kernel: Sequence[int]) -> np.ndarray:
    """The maximum of every window."""
    return windows(images, kernel).max(-1)
