"""The roofline of this machine: how fast it reads memory and computes, and how close each backend comes to that."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from project.lab.explorers.speed import BATCH, Measurement, work

STREAM = 8_000_000
"""Numbers of each array that is read for the bandwidth: more than a cache holds."""

SIDE = 1024
"""Rows and columns of the matrices that are multiplied for the peak."""

REPEATS = 3
"""Timed calls of each measurement; the fastest counts, because everything else on the machine only slows it down."""


@dataclass(frozen=True)
class Roof:
    """The limits of a machine.

    Attributes:
        bandwidth: Bytes that all cores together read and write in a second.
        peak: Floating-point operations of NumPy's matrix product in a second.
    """

    bandwidth: float
    peak: float

    @property
    def ridge(self) -> float:
        """The intensity, in operations a byte, from which arithmetic is the limit and no longer memory."""
        return self.peak / self.bandwidth

    def limit(self, intensity: float) -> float:
        """The operations a second that are possible at an intensity."""
        return min(self.peak, self.bandwidth * intensity)


def measure_roof(dtype: str) -> Roof:
    """Measure the roof: a sum of two large arrays, a part for each core, and a large matrix product; half a second in all."""
    cores = os.cpu_count() or 1
    a, b, out = (np.ones(STREAM, dtype) for _ in range(3))
    parts = [slice(STREAM * i // cores, STREAM * (i + 1) // cores) for i in range(cores)]
    with ThreadPoolExecutor(cores) as pool:
        seconds = fastest(lambda: list(pool.map(lambda part: np.add(a[part], b[part], out[part]), parts)))
    x = np.random.default_rng(0).standard_normal((SIDE, SIDE)).astype(dtype)
    return Roof(3 * STREAM * a.itemsize / seconds, 2 * SIDE**3 / fastest(lambda: x @ x))


def fastest(run: Callable[[], object]) -> float:
    """The seconds of the fastest of a few calls, after one that is not timed."""
    run()
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times)


def moved(op: str, size: int, itemsize: int) -> float:
    """The bytes that an operation must at least read and write: each input and each output once.

    Args:
        op: A key of `speed.SIZES`.
        size: The size, as there.
        itemsize: Bytes of a number.
    """
    numbers = {"matmul": 3 * BATCH * size * size, "map": 2 * size, "zip": 3 * size, "reduce": size + size // 100}[op]
    return float(numbers * itemsize)


def intensity(op: str, size: int, itemsize: int) -> float:
    """The floating-point operations for each of those bytes."""
    return work(op, size) / moved(op, size, itemsize)


def reached(each: Measurement, itemsize: int, roof: Roof) -> float:
    """The part of what the roof allows that a measurement reaches; small inputs that stay in a cache may exceed 1."""
    return work(each.op, each.size) / each.seconds / roof.limit(intensity(each.op, each.size, itemsize))
