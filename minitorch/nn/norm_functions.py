"""Stage 5 - Normalization as functions with gradients: of planes that share their statistics, and of rows that each have their own.

Each has loops for the compiled backend, in `norm_loops`, and knows how to do without.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitorch.kernels.losses import fusible
from minitorch.kernels.norm import column_gradient, column_norm, plane_gradient, plane_norm, row_gradient, row_norm
from minitorch.kernels.pool import Loop, flat
from minitorch.tensor import tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

CHUNKS = 8
"""Into how many shares rows are dealt when all of them add to one gradient: always as many, so that sums are the same on any machine."""

SHORT = 16
"""Planes of fewer numbers are gone through side by side, as columns."""

SPAN = 1 << 8
"""Columns that are gone through at once."""


class Planes(NamedTuple):
    """Which planes share their statistics.

    Attributes:
        shape: The planes in order, numbered by several dimensions; all but the first number the channels.
        dim: The one along which they share, the first or the last.
        length: Of a plane.
    """

    shape: tuple[int, ...]
    dim: int
    length: int

    @property
    def count(self) -> int:
        """How many numbers share their statistics."""
        return self.shape[self.dim] * self.length

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return math.prod(self.shape[1:])

    @property
    def units(self) -> int:
        """How many means there are."""
        return math.prod(self.shape) // self.shape[self.dim]

    @property
    def short(self) -> bool:
        """Whether planes are gone through as columns."""
        return self.dim == 0 and self.length < SHORT

    def run(self, planes: Loop, columns: Loop, out: np.ndarray, operands: tuple[Any, ...], own: bool) -> None:
        """Have one of two loops compute."""
        together, channels = self.shape[self.dim], self.channels
        step, apart = (channels, 1) if self.dim == 0 else (1, together)
        sizes = together, step, apart, channels, self.length, self.units, int(own)
        if self.short:
            span = max(1, SPAN // self.length)
            columns.run(out, operands, (*sizes, span), -(-channels // span))
        else:
            planes.run(out, operands, sizes, self.units)

    def moments(self, x: Tensor) -> np.ndarray:
        """All means, then all variances (divided by n), of operations on tensors."""
        grouped, dims = x.detach().reshape(*self.shape, self.length), (self.dim, -1)
        centred = grouped - grouped.mean(dims)
        found = grouped.mean(dims), (centred * centred).mean(dims)
        return np.concatenate([numbers.to_numpy().astype(float).reshape(-1) for numbers in found])


def fits_loops(*tensors: Tensor | None) -> bool:
    """Whether the loops can compute with tensors: the first has numbers, and all of them have one dtype."""
    first = tensors[0]
    return first is not None and fusible(first) and first.size > 0 and all(x is None or x.dtype == first.dtype for x in tensors)


class PlaneNorm(Function):
    """(x - mean) / √(var + eps) · weight + bias, of planes.

    moments holds all means, then all variances, in float64; if they are the planes' own, they are put there.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, planes: Planes, moments: np.ndarray, eps: float, own: bool
    ) -> Tensor:
        out = TensorData.empty(x.shape, x.dtype)
        numbers = np.concatenate([_of_channels(weight, planes, 1.0), _of_channels(bias, planes, 0.0), [eps]])
        planes.run(plane_norm(), column_norm(), out._storage, (flat(x), numbers, moments), own)
        ctx.save_for_backward(x, weight, planes, moments, eps, own)
        return x._like(out)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, planes, moments, eps, own = ctx.saved_values
        needed, units, channels = ctx.needs_input_grad, planes.units, planes.channels
        out = TensorData.empty(x.shape if needed[0] else (0,), x.dtype)
        sums = np.zeros(2 * (channels if planes.short else math.prod(planes.shape)))
        factors = 1 / np.sqrt(moments[units:] + eps)
        numbers = np.concatenate([_of_channels(weight, planes, 1.0), moments[:units], factors, sums])
        planes.run(plane_gradient(), column_gradient(), out._storage, (flat(grad_output), flat(x), numbers), own)
        by_bias, by_weight = numbers[-sums.size :].reshape(2, -1, channels).sum(1).astype(x.dtype)
        return (
            x._like(out) if needed[0] else None,
            x._like(TensorData(by_weight, (channels,))) if needed[1] else None,
            x._like(TensorData(by_bias, (channels,))) if needed[2] else None,
            *(None,) * 4,
        )

    @staticmethod
    def composed(
        x: Tensor, weight: Tensor | None, bias: Tensor | None, planes: Planes, moments: np.ndarray, eps: float, own: bool
    ) -> Tensor:
        """The same of operations on tensors."""
        grouped = x.reshape(*planes.shape, planes.length)
        if own:
            centred = grouped - grouped.mean((planes.dim, -1))
            spread = (centred * centred).mean((planes.dim, -1))
        else:
            middle, spread = (tensor(numbers, x.backend, dtype=x.dtype) for numbers in moments.reshape(2, planes.channels, 1))
            centred = grouped - middle
        return scaled(centred / (spread + eps).sqrt(), weight, bias, (*planes.shape[1:], 1)).reshape(*x.shape)


def scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """x · weight + bias, which are given a shape that broadcasts."""
    x = x if weight is None else x * weight.reshape(*shape)
    return x if bias is None else x + bias.reshape(*shape)


def _of_channels(x: Tensor | None, planes: Planes, default: float) -> np.ndarray:
    """What each channel has."""
    return np.full(planes.channels, default) if x is None else flat(x)


class RowNorm(Function):
    """Rows less their means (unless not centred), divided by the root of their mean square, · weight + bias; each of these is a row."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], eps: float, centred: bool
    ) -> Tensor:
        length, dtype = math.prod(shape), x.dtype
        rows = x.size // length
        factors = np.ones(length, dtype) if weight is None else flat(weight)
        shifts = np.zeros(length, dtype) if bias is None else flat(bias)
        scale, moments = np.concatenate([factors, shifts, np.array([eps], dtype)]), np.empty(3 * rows, dtype)
        out = TensorData.empty(x.shape, dtype)
        row_norm().run(out._storage, (flat(x), scale, moments), (length, rows, int(centred)), rows)
        ctx.save_for_backward(x, weight, moments, shape, centred)
        return x._like(out)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, moments, shape, centred = ctx.saved_values
        length, dtype = math.prod(shape), x.dtype
        rows, shares = x.size // length, min(CHUNKS, x.size // length)
        factors = np.ones(length, dtype) if weight is None else flat(weight)
        numbers = np.concatenate([factors, moments, np.zeros(2 * length * shares, dtype)])
        out = TensorData.empty(x.shape, dtype)
        row_gradient().run(out._storage, (flat(grad_output), flat(x), numbers), (length, rows, int(centred), shares), shares)
        by_weight, by_bias = numbers[length + 3 * rows :].reshape(shares, 2, length).sum(0)
        needed = ctx.needs_input_grad
        return (
            x._like(out) if needed[0] else None,
            x._like(TensorData(by_weight, shape)) if needed[1] else None,
            x._like(TensorData(by_bias, shape)) if needed[2] else None,
            *(None, None, None),
        )

    @staticmethod
    def composed(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], eps: float, centred: bool) -> Tensor:
        """The same of operations on tensors."""
        dims = tuple(range(-len(shape), 0))
        x = x - x.mean(dims) if centred else x
        return scaled(x / ((x * x).mean(dims) + eps).sqrt(), weight, bias, shape)
