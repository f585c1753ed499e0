"""Convolution and pooling in NumPy, as the course has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def convolved(input: np.ndarray, weight: np.ndarray, reverse: bool = False, sizes: Sequence[int] | None = None) -> np.ndarray:
    """The convolution anchored at the first tap; beyond the edges are zeros.

    Args:
        input: Shape (B, C, …).
        weight: Shape (O, C, …), one size for every size of the input.
        reverse: Whether the window reaches back.
        sizes: Of the result; those of the input if left out.
    """
    sizes = tuple(input.shape[2:] if sizes is None else sizes)
    out = np.zeros((input.shape[0], weight.shape[0], *sizes))
    for at in np.ndindex(*sizes):
        for tap in np.ndindex(*weight.shape[2:]):
            place = tuple(i - k if reverse else i + k for i, k in zip(at, tap, strict=True))
            if all(0 <= i < size for i, size in zip(place, input.shape[2:], strict=True)):
                out[(..., *at)] += input[(..., *place)] @ weight[(..., *tap)].T
    return out


def flows(input: np.ndarray, weight: np.ndarray, arriving: np.ndarray) -> list[np.ndarray]:
    """The gradients of a convolution by its input and its weight: it is linear in each, so that one element after the other says them."""
    found = []
    for n, array in enumerate((input, weight)):
        gradient = np.zeros(array.shape)
        for place in np.ndindex(*array.shape):
            unit = np.zeros(array.shape)
            unit[place] = 1.0
            gradient[place] = (convolved(*((unit, weight) if n == 0 else (input, unit))) * arriving).sum()
        found.append(gradient)
    return found


def windows(images: np.ndarray, kernel: Sequence[int]) -> np.ndarray:
    """The numbers of every window, row by row, shape (B, C, rows, columns, kh · kw)."""
    kh, kw = kernel
    batch, channels, height, width = images.shape
    found = np.zeros((batch, channels, height // kh, width // kw, kh * kw), images.dtype)
    for row in range(height // kh):
        for column in range(width // kw):
            window = images[:, :, kh * row : kh * (row + 1), kw * column : kw * (column + 1)]
            found[:, :, row, column] = window.reshape(batch, channels, -1)
    return found


def pooled(images: np.ndarray, kernel: Sequence[int]) -> np.ndarray:
    """The largest number of every window."""
    return windows(images, kernel).max(-1)
