"""Stage 5 - The loops of normalization on the compiled backend: planes that share their statistics, and rows that each have their own.

A plane is one channel of one sample. Arrays are given flat, without gaps; numbers of a plane or row stand in arrays of their own. A long
sum is made of sums of blocks, which are added up in float64: so float32 keeps its digits.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import minitorch.operators as operators
from minitorch.compiled import jitable
from minitorch.nn.fused import fusible
from minitorch.nn.loops import Loop, by_eights, flat, loop
from minitorch.tensor import tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

BLOCK = 1 << 10
"""Numbers that are summed in their own dtype."""

HALVINGS = 2
"""PARALLEL is halved so often for these loops."""

CHUNKS = 8
"""Into how many shares rows are dealt when all of them add to one gradient: always as many, so that sums are the same on any machine."""

SHORT = 16
"""Planes of fewer numbers are better laid side by side, for the loops go from plane to plane."""

_row_sum = by_eights(operators.add)


# Sums. line is a buffer of BLOCK numbers.


@jitable
def total(x):
    """Σ x."""
    found = 0.0
    for start in range(0, len(x), BLOCK):
        found += _row_sum(x[start : start + BLOCK])
    return found


@jitable
def total_of_squares(x, middle, line):
    """Σ (x - middle)²."""
    found = 0.0
    for start in range(0, len(x), BLOCK):
        part = x[start : start + BLOCK]
        terms = line[: len(part)]
        for j in range(len(part)):
            terms[j] = (part[j] - middle) * (part[j] - middle)
        found += _row_sum(terms)
    return found


@jitable
def total_of_products(d, x, middle, line):
    """Σ d · (x - middle)."""
    found = 0.0
    for start in range(0, len(x), BLOCK):
        part, other = x[start : start + BLOCK], d[start : start + BLOCK]
        terms = line[: len(part)]
        for j in range(len(part)):
            terms[j] = other[j] * (part[j] - middle)
        found += _row_sum(terms)
    return found


# Planes. sizes are the length of a plane, and the number of planes.


@cache
def plane_moments() -> Loop:
    """The mean of every plane, then for every plane the sum of squared distances from it, into float64."""

    def body(out, x, unused, unused2, sizes, first, last):
        n, planes = sizes
        line = np.empty(min(n, BLOCK), x.dtype)
        for plane in range(first, last):
            row = x[plane * n : (plane + 1) * n]
            mean = total(row) / n
            out[plane] = mean
            out[planes + plane] = total_of_squares(row, x.dtype.type(mean), line)

    return loop(body, HALVINGS, (_row_sum,))


@cache
def plane_scale() -> Loop:
    """(x - middle) · factor + shift, three numbers for every plane: first all middles, then all factors, then all shifts."""

    def body(out, x, numbers, unused, sizes, first, last):
        n, planes = sizes
        for plane in range(first, last):
            middle, factor, shift = numbers[plane], numbers[planes + plane], numbers[2 * planes + plane]
            row, target = x[plane * n : (plane + 1) * n], out[plane * n : (plane + 1) * n]
            for j in range(n):
                target[j] = (row[j] - middle) * factor + shift

    return loop(body, HALVINGS)


@cache
def plane_sums() -> Loop:
    """What flows into every plane, Σ d, then for every plane Σ d · (x - middle), into float64."""

    def body(out, d, x, middles, sizes, first, last):
        n, planes = sizes
        line = np.empty(min(n, BLOCK), x.dtype)
        for plane in range(first, last):
            given, row = d[plane * n : (plane + 1) * n], x[plane * n : (plane + 1) * n]
            out[plane] = total(given)
            out[planes + plane] = total_of_products(given, row, middles[plane], line)

    return loop(body, HALVINGS, (_row_sum,))


@cache
def plane_gradient() -> Loop:
    """d · factor + (x - middle) · slope + shift, four numbers for every plane, in this order: middle, factor, slope, shift."""

    def body(out, d, x, numbers, sizes, first, last):
        n, planes = sizes
        for plane in range(first, last):
            middle, factor = numbers[plane], numbers[planes + plane]
            slope, shift = numbers[2 * planes + plane], numbers[3 * planes + plane]
            given, row, target = d[plane * n : (plane + 1) * n], x[plane * n : (plane + 1) * n], out[plane * n : (plane + 1) * n]
            for j in range(n):
                target[j] = given[j] * factor + (row[j] - middle) * slope + shift

    return loop(body, HALVINGS)


# Rows


@cache
def row_norm() -> Loop:
    """Every row less its mean, unless told not to, divided by the root of its mean square; times weight, and a bias added.

    scale holds the weight of a row's elements, their bias, and eps. moments takes the mean of each row (or 0), then for each row what it
    was multiplied with. sizes are the length of a row, the number of rows, and whether they are centred.
    """

    def body(out, x, scale, moments, sizes, first, last):
        n, rows, centred = sizes
        line = np.empty(min(n, BLOCK), x.dtype)
        weight, bias, eps = scale[:n], scale[n : 2 * n], scale[2 * n]
        for i in range(first, last):
            row, target = x[i * n : (i + 1) * n], out[i * n : (i + 1) * n]
            middle = x.dtype.type(total(row) / n if centred else 0.0)
            factor = x.dtype.type(1 / np.sqrt(total_of_squares(row, middle, line) / n + eps))
            moments[i], moments[rows + i] = middle, factor
            for j in range(n):
                target[j] = (row[j] - middle) * factor * weight[j] + bias[j]

    return loop(body, HALVINGS, (_row_sum,))


@cache
def row_gradient() -> Loop:
    """The gradient of what went into `row_norm`; a task is one of the shares that rows are dealt in.

    numbers holds the weight, then what `row_norm` left in moments, then for every share zeros, to which the gradients of weight and bias
    are added. sizes are the length of a row, the number of rows, whether they are centred, and the number of shares.
    """

    def body(out, d, x, numbers, sizes, first, last):
        n, rows, centred, shares = sizes
        kind = x.dtype.type
        weight, middles, factors = numbers[:n], numbers[n : n + rows], numbers[n + rows : n + 2 * rows]
        normal, wanted, line = np.empty(n, x.dtype), np.empty(n, x.dtype), np.empty(n, x.dtype)
        for share in range(first, last):
            place = n + 2 * rows + 2 * n * share
            by_weight, by_bias = numbers[place : place + n], numbers[place + n : place + 2 * n]
            for i in range(share * rows // shares, (share + 1) * rows // shares):
                row, given, target = x[i * n : (i + 1) * n], d[i * n : (i + 1) * n], out[i * n : (i + 1) * n]
                middle, factor = middles[i], factors[i]
                for j in range(n):
                    normal[j] = (row[j] - middle) * factor
                    wanted[j] = given[j] * weight[j]
                    line[j] = wanted[j] * normal[j]
                    by_weight[j] += given[j] * normal[j]
                    by_bias[j] += given[j]
                along = kind(total(line) / n)
                level = kind(total(wanted) / n if centred else 0.0)
                for j in range(n):
                    target[j] = (wanted[j] - level - normal[j] * along) * factor

    return loop(body, HALVINGS, (_row_sum,))


# What is made of them


class Planes(NamedTuple):
    """Which planes share their statistics.

    Attributes:
        shape: The planes in order, numbered by several dimensions; all but the first number the channels.
        dim: The one along which they share.
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
    def sizes(self) -> tuple[int, int]:
        """As the loops take them."""
        return self.length, math.prod(self.shape)

    def moments(self, x: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (divided by n), in float64 and with size 1 along dim."""
        found = np.empty((2, *self.shape))
        if fits_loops(x):
            plane_moments().run(found.reshape(-1), (flat(x),), self.sizes, self.sizes[1])
        else:
            planes = x.detach().reshape(*self.shape, self.length)
            centred = planes - planes.mean(-1)
            found[:] = [planes.mean(-1, keepdim=False).to_numpy(), (centred * centred).sum(-1, keepdim=False).to_numpy()]
        mean = found[0].mean(self.dim, keepdims=True)
        squares = found[1] + self.length * (found[0] - mean) ** 2  # around the common mean
        return mean, squares.mean(self.dim, keepdims=True) / self.length

    def each(self, *numbers: Any) -> np.ndarray:
        """Several numbers for every plane, as the loops take them."""
        return np.stack([np.broadcast_to(x, self.shape) for x in numbers]).reshape(-1)


def fits_loops(*tensors: Tensor | None) -> bool:
    """Whether the loops can compute with tensors: the first has numbers, and all of them have one dtype."""
    first = tensors[0]
    return first is not None and fusible(first) and first.size > 0 and all(x is None or x.dtype == first.dtype for x in tensors)


class PlaneNorm(Function):
    """(x - mean) / √(var + eps) · weight + bias, of planes; mean and var are the planes' own, or (fixed) have nothing to do with them."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        planes: Planes,
        mean: np.ndarray,
        var: np.ndarray,
        eps: float,
        fixed: bool,
    ) -> Tensor:
        factor = 1 / np.sqrt(var + eps)
        scale = factor * _along(weight, planes, 1.0)
        ctx.save_for_backward(x, weight, planes, mean, factor, fixed)
        out = TensorData.empty(x.shape, x.dtype)
        numbers = planes.each(mean, scale, _along(bias, planes, 0.0)).astype(x.dtype)
        plane_scale().run(out._storage, (flat(x), numbers), planes.sizes, planes.sizes[1])
        return x._like(out)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, planes, mean, factor, fixed = ctx.saved_values
        needed = ctx.needs_input_grad
        d, sums = flat(grad_output), np.zeros((2, *planes.shape))
        if not fixed or needed[1] or needed[2]:
            middles = planes.each(mean).astype(x.dtype)
            plane_sums().run(sums.reshape(-1), (d, flat(x), middles), planes.sizes, planes.sizes[1])
        by_weight = _of_channels(x, sums[1] * factor) if needed[1] else None
        by_bias = _of_channels(x, sums[0]) if needed[2] else None
        if not needed[0]:
            return None, by_weight, by_bias, *(None,) * 5
        scale = _along(weight, planes, 1.0)
        slope = shift = np.zeros(())
        if not fixed:  # what flows through the variance and through the mean
            slope = -(factor**3) * (scale * sums[1]).sum(planes.dim, keepdims=True) / planes.count
            shift = -factor * (scale * sums[0]).sum(planes.dim, keepdims=True) / planes.count
        out = TensorData.empty(x.shape, x.dtype)
        numbers = planes.each(mean, factor * scale, slope, shift).astype(x.dtype)
        plane_gradient().run(out._storage, (d, flat(x), numbers), planes.sizes, planes.sizes[1])
        return x._like(out), by_weight, by_bias, *(None,) * 5

    @staticmethod
    def composed(
        x: Tensor, weight: Tensor | None, bias: Tensor | None, planes: Planes, mean: Any, var: Any, eps: float, fixed: bool
    ) -> Tensor:
        """The same of operations on tensors."""
        grouped = x.reshape(*planes.shape, planes.length)
        if fixed:
            middle, spread = (_constant(x, numbers[..., None]) for numbers in (mean, var))
            centred = grouped - middle
        else:
            centred = grouped - grouped.mean((planes.dim, -1))
            spread = (centred * centred).mean((planes.dim, -1))
        return scaled(centred / (spread + eps).sqrt(), weight, bias, (*planes.shape[1:], 1)).reshape(*x.shape)


def scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """x · weight + bias, which are given a shape that broadcasts."""
    x = x if weight is None else x * weight.reshape(*shape)
    return x if bias is None else x + bias.reshape(*shape)


def _constant(x: Tensor, numbers: np.ndarray) -> Tensor:
    """Numbers as a tensor beside another one."""
    return tensor(numbers, x.backend, dtype=x.dtype)


def _along(x: Tensor | None, planes: Planes, default: float) -> Any:
    """What each channel has, as it lies along the planes of a sample."""
    return default if x is None else flat(x).astype(float).reshape(planes.shape[1:])


def _of_channels(x: Tensor, sums: np.ndarray) -> Tensor:
    """Numbers of planes, added up over the samples."""
    channels = sums.sum(0).reshape(-1)
    return x._like(TensorData(channels.astype(x.dtype), channels.shape))


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
        scale, moments = np.concatenate([factors, shifts, np.array([eps], dtype)]), np.empty(2 * rows, dtype)
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
        by_weight, by_bias = numbers[length + 2 * rows :].reshape(shares, 2, length).sum(0)
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
