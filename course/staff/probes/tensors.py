"""Tensors for probes: arrays with any strides in a storage, created here and in the child."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis.strategies import integers, lists

from course.staff.probes.compare import is_published
from course.staff.probes.program import Program, Value, text_of

EXACT = 1e-9
"""Tolerance if only the last digits may differ."""

SINGLE = 1e-4
"""Tolerance for float32."""

shapes = lists(integers(1, 4), min_size=1, max_size=3).map(tuple)
"""Shapes of non-empty tensors."""

seeds = integers(0, 10_000)
"""Seeds for the other parts of an input."""


@dataclass(frozen=True)
class StridedArray:
    """An array and its layout in a storage.

    Attributes:
        storage: All numbers, including those in gaps.
        shape: Size of every dimension.
        strides: Stride of every dimension, in elements.
        offset: Position of the first element.
    """

    storage: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def array(self) -> np.ndarray:
        """The elements; writing into them changes the storage."""
        steps = [stride * self.storage.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(self.storage[self.offset :], self.shape, steps)

    def with_values(self, values: np.ndarray | float) -> StridedArray:
        """The same layout with other elements, and NaN in the gaps."""
        made = StridedArray(np.full(len(self.storage), math.nan), self.shape, self.strides, self.offset)
        made.array[...] = values
        return made


def numbers(shape: Sequence[int], draw: np.random.Generator, low: float = -4.0, high: float = 4.0) -> np.ndarray:
    """Random numbers whose sums and products are exact; some are equal, none is 0."""
    rng = np.round(draw.uniform(low, high, shape) * 4) / 4
    return np.where(rng == 0, 0.25, rng)


def random_strided(shape: Sequence[int], draw: np.random.Generator, gaps: bool = True) -> StridedArray:
    """An array of random numbers with dimensions in random order, an offset, and gaps between elements; the original course has no gaps."""
    gaps = gaps and not is_published()
    strides, step = [0] * len(shape), int(draw.integers(1, 3)) if gaps else 1
    for dim in draw.permutation(len(shape)):
        strides[dim] = step
        step *= max(shape[dim], 1) + (int(draw.integers(0, 2)) if gaps else 0)
    offset = int(draw.integers(0, 4)) if gaps else 0
    size = offset + sum(max(length - 1, 0) * stride for length, stride in zip(shape, strides, strict=True)) + 1
    return StridedArray(numbers((size if math.prod(shape) else offset,), draw), tuple(shape), tuple(strides), offset)


def contiguous(shape: Sequence[int]) -> StridedArray:
    """A contiguous array of NaN; of zeros for the original course, in which kernels may count on them."""
    strides = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    return StridedArray(np.full(math.prod(shape), 0.0 if is_published() else math.nan), tuple(shape), tuple(strides), 0)


def broadcastable_shape(shape: Sequence[int], draw: np.random.Generator) -> tuple[int, ...]:
    """A shape that broadcasts to this one: some leading dimensions are removed, and some others have size 1."""
    kept = shape[int(draw.integers(0, len(shape) + 1)) :]
    return tuple(1 if draw.random() < 0.4 else size for size in kept)


def tensor(p: Program, x: StridedArray | np.ndarray, backend: Value | None = None, grad: bool = False) -> Value:
    """A tensor in the child.

    Args:
        p: The program that makes it.
        x: Its numbers; a StridedArray keeps its layout.
        backend: Its backend; by default that of Module 2.
        grad: Whether it requires a gradient.
    """
    given = {} if backend is None else {"backend": backend}
    if isinstance(x, np.ndarray):
        array = p.find("numpy:array")(x.reshape(-1).tolist(), dtype=str(x.dtype)).reshape(x.shape)
        made, text = p.find("minitorch:tensor")(array, **given), f"tensor({text_of(x)})"
    else:
        storage = p.find("numpy:array")(x.storage.tolist(), dtype="float64")
        data = p.find("minitorch.tensor_data:TensorData")(storage, x.shape, x.strides, x.offset)
        made = p.find("minitorch.tensor:Tensor")(data, **given)
        text = f"tensor({text_of(x.array)} with strides {x.strides})"
    return p.label(made.requires_grad_(True) if grad else made, text)


def kernel_arguments(p: Program, x: StridedArray) -> tuple[Value, tuple[int, ...], tuple[int, ...]]:
    """The arguments of a kernel for a tensor: its storage from the first element on, as an array in the child, shape and strides."""
    return p.find("numpy:array")(x.storage[x.offset :].tolist(), dtype="float64"), x.shape, x.strides


def unbroadcast(gradient: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Sum a gradient over the dimensions that were broadcast."""
    gradient = gradient.sum(tuple(range(gradient.ndim - len(shape))))
    return gradient.sum(tuple(dim for dim, size in enumerate(shape) if size == 1), keepdims=True).reshape(shape)
