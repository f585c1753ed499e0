"""Fingerprints: hashes of runs of tokens, of which winnowing keeps enough to detect every longer match.

Source: Schleimer, Wilkerson, Aiken 2003, "Winnowing: local algorithms for document fingerprinting", SIGMOD.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RUN = 8
"""Number of tokens in a hashed run; shorter matches are noise."""

WINDOW = 4
"""Number of neighboring hashes of which one is kept; every match of RUN + WINDOW - 1 tokens is detected."""

BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no power of it is 0 modulo 2^64


def hashes(tokens: Sequence[int] | np.ndarray) -> np.ndarray:
    """The hash of every run of RUN tokens, indexed by the position of its first token."""
    values = np.asarray(tokens, np.uint64)
    count = len(values) - RUN + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    found = np.zeros(count, np.uint64)
    for place in range(RUN):
        found = found * BASE + values[place : place + count]  # modulo 2^64
    return found


def winnow(runs: np.ndarray) -> np.ndarray:
    """The positions of the hashes to keep: the smallest of every WINDOW neighbors, and the last one of equal hashes."""
    if len(runs) <= WINDOW:
        return np.array([len(runs) - 1 - int(np.argmin(runs[::-1]))]) if len(runs) else np.empty(0, np.intp)
    windows = np.lib.stride_tricks.sliding_window_view(runs, WINDOW)[:, ::-1]
    return np.unique(np.arange(len(windows)) + WINDOW - 1 - np.argmin(windows, axis=1))
