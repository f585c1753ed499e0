"""Stage 2 - Tensor operations: map, zip, reduce and matrix multiply over strided storages, and the backend that offers them.

Whatever a tensor computes is one of these four patterns around a function on numbers. Here they are plain Python; other backends
compile the same patterns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import minitorch.operators as operators
from minitorch.core import math_operators
from minitorch.core.backend import DEVICES
from minitorch.core.backend import TensorBackend as TensorBackend
from minitorch.core.backend import TensorOps as TensorOps
from minitorch.core.dtypes import int64, promote_types
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import (  # noqa: F401 - for kernels written index by index
    MAX_DIMS,
    Shape,
    Storage,
    Strides,
    broadcast_index,
    broadcast_strides,
    index_to_position,
    positions,
    shape_broadcast,
    strides_from_shape,
    to_index,
)


class SimpleOps(TensorOps):
    """The operations in plain Python, one number at a time.

    Where Python raises an error (1 / 0, e^1000), map and zip give the IEEE 754 result: infinity or NaN, without a warning.
    """

    name = "simple"

    @staticmethod
    def map(fn: Callable[[float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.map`."""
        kernel: Any = tensor_map(fn)
        quiet = tensor_map(ieee(fn))

        @np.errstate(all="ignore")
        def mapped(a: Tensor, out: Any = None) -> Tensor:
            out = a.zeros() if out is None else out
            gaps = len(out.tuple()[0]) != out._tensor.size  # published kernels loop over len(out)
            full = out.zeros() if gaps else out
            inputs = numbers(a)
            try:
                kernel(*full.tuple(), *inputs)
            except (ArithmeticError, ValueError):
                compute_quietly(quiet, full, inputs)
            if gaps:
                out._tensor.array()[...] = full._tensor.array()
            return out

        return mapped

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.zip`."""
        kernel: Any = tensor_zip(fn)
        quiet = tensor_zip(ieee(fn))

        @np.errstate(all="ignore")
        def zipped(a: Tensor, b: Tensor, out: Any = None) -> Tensor:
            out = a.zeros(shape_broadcast(a.shape, b.shape), promote_types(a.dtype, b.dtype)) if out is None else out
            inputs = numbers(a) + numbers(b)
            try:
                kernel(*out.tuple(), *inputs)
            except (ArithmeticError, ValueError):
                compute_quietly(quiet, out, inputs)
            return out

        return zipped

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[..., Tensor]:
        """See `TensorOps.reduce`."""
        kernel: Any = tensor_reduce(fn)

        @np.errstate(all="ignore")
        def reduced(a: Tensor, dim: int, out: Any = None) -> Tensor:
            dim = a._normalize_dim(dim)
            out = a.zeros((*a.shape[:dim], 1, *a.shape[dim + 1 :])) if out is None else out
            out._tensor.array()[...] = start  # the kernel reduces into out
            inputs = (*numbers(a), dim)
            try:
                kernel(*out.tuple(), *inputs)
            except (ArithmeticError, ValueError):
                compute_quietly(kernel, out, inputs)
            return out

        return reduced

    @staticmethod
    @np.errstate(all="ignore")
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """See `TensorOps.matrix_multiply`."""
        batch = shape_broadcast(a.shape[:-2], b.shape[:-2])
        out = a.zeros((*batch, a.shape[-2], b.shape[-1]), dtype=promote_types(a.dtype, b.dtype))
        tensor_matrix_multiply(*out.tuple(), *a.tuple(), *b.tuple())
        return out


def numbers(a: Tensor) -> tuple[Storage, Shape, Strides]:
    """Storage, shape and strides of an input for a kernel; booleans become 0 and 1, because NumPy's have no negative."""
    storage, shape, strides = a.tuple()
    if len(storage) > 2 * a._tensor.size:  # copy a column of a wide matrix: the kernels convert the whole storage to a list
        storage, strides = a._tensor.array().reshape(-1), strides_from_shape(shape)
    return storage.view(np.int8) if a.dtype.kind == "b" else storage, shape, strides


def compute_quietly(kernel: Callable[..., None], out: Tensor, inputs: tuple[Any, ...]) -> None:
    """Rerun a kernel whose function raised an arithmetic error, with `ieee` of that function.

    Raises:
        OverflowError: If an integer is out of range for out's dtype; an unsigned one wraps around, as in NumPy.
    """
    try:
        kernel(*out.tuple(), *inputs)
    except OverflowError as error:
        if out.dtype.kind == "u":
            wide = out.to(int64)
            compute_quietly(kernel, wide, inputs)
            out._tensor.array()[...] = wide._tensor.array()
            return
        if out.dtype.kind != "i":
            raise
        raise OverflowError(f"a result is out of range for {out.dtype.name}; convert to int64 or float64 first") from error


def ieee(fn: Callable[..., float]) -> Callable[..., float]:
    """fn with IEEE 754 results where Python raises an error: infinity for overflow and at a pole, NaN outside of the domain."""

    def quiet(*xs: float) -> float:
        try:
            return fn(*xs)
        except OverflowError:
            if fn not in (operators.exp, math_operators.power):
                raise  # the sign of the overflow is unknown
            return -math.inf if fn is math_operators.power and xs[0] < 0 and xs[1] % 2 == 1 else math.inf
        except ZeroDivisionError:
            with np.errstate(all="ignore"):
                return float(fn(*map(np.float64, xs)))  # its division does not raise
        except ValueError:
            if fn not in (operators.log, math_operators.sqrt, math_operators.sin, math_operators.cos, math_operators.power):
                raise  # another function's own message
            if fn is math_operators.power and xs[0] == 0:  # to a power below 0
                return math.copysign(math.inf, xs[0]) if xs[1] % 2 == 1 else math.inf
            return math.nan

    return quiet


# The four patterns on storages. Each storage begins with its tensor's first element, so that index (0, 0, …) is at position 0.
# storage.tolist() gives Python floats: NumPy scalars are slow one at a time.


def tensor_map(fn: Callable[[float], float]) -> Callable[[Storage, Shape, Strides, Storage, Shape, Strides], None]:
    """The kernel that writes fn of every element of a tensor into another.

    For every index of out, it finds the element of the input, which may be smaller and broadcast to out's shape, and writes fn of
    it to the position of the index in out. The layouts of both are given by their strides.

    Args:
        fn: Function of one number.

    Returns:
        The kernel. Its arguments are storage, shape and strides of out, then of the input.
    """

    def _map(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        in_storage: Storage,
        in_shape: Shape,
        in_strides: Strides,
    ) -> None:
        """Write fn of the input into out; return nothing."""
        a = in_storage.tolist()
        targets = positions(out_shape, out_strides)
        sources = positions(out_shape, broadcast_strides(in_shape, in_strides, out_shape))
        out[targets] = [fn(a[i]) for i in sources]

    return _map


def tensor_zip(
    fn: Callable[[float, float], float],
) -> Callable[[Storage, Shape, Strides, Storage, Shape, Strides, Storage, Shape, Strides], None]:
    """The kernel that writes fn of two tensors, element by element, into a third.

    Like `tensor_map`, with two inputs. Each may be smaller than out and broadcast to its shape, and each has its own strides.

    Args:
        fn: Function of two numbers, an element of a and one of b.

    Returns:
        The kernel. Its arguments are storage, shape and strides of out, then of a, then of b.
    """

    def _zip(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        b_storage: Storage,
        b_shape: Shape,
        b_strides: Strides,
    ) -> None:
        """Write fn of a and b into out; return nothing."""
        a, b = a_storage.tolist(), b_storage.tolist()
        targets = positions(out_shape, out_strides)
        a_sources = positions(out_shape, broadcast_strides(a_shape, a_strides, out_shape))
        b_sources = positions(out_shape, broadcast_strides(b_shape, b_strides, out_shape))
        out[targets] = [fn(a[i], b[j]) for i, j in zip(a_sources, b_sources, strict=True)]

    return _zip


def tensor_reduce(fn: Callable[[float, float], float]) -> Callable[[Storage, Shape, Strides, Storage, Shape, Strides, int], None]:
    """The kernel that reduces one dimension of a tensor, reduce_dim, into another tensor, which has size 1 there.

    For every index of out, it starts from the value in out (SimpleOps.reduce has filled it with start) and applies fn to it and each
    element of a whose index differs in reduce_dim only, in order.

    Args:
        fn: Function of two numbers, the result so far and the next element.

    Returns:
        The kernel. Its arguments are storage, shape and strides of out, then of a, and reduce_dim.
    """

    def _reduce(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        reduce_dim: int,
    ) -> None:
        """Reduce dimension reduce_dim of a into out; return nothing."""
        a = a_storage.tolist()
        targets = positions(out_shape, out_strides)
        firsts = positions(out_shape, a_strides)  # out has size 1 in reduce_dim, so these have index 0 there
        steps = positions((a_shape[reduce_dim],), (a_strides[reduce_dim],))
        totals = out[targets].tolist()
        for i, first in enumerate(firsts):
            value = totals[i]
            for step in steps:
                value = fn(value, a[first + step])
            totals[i] = value
        out[targets] = totals

    return _reduce


def tensor_matrix_multiply(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    a_storage: Storage,
    a_shape: Shape,
    a_strides: Strides,
    b_storage: Storage,
    b_shape: Shape,
    b_strides: Strides,
) -> None:
    """The kernel of the matrix product: out[…, i, j] = Σ_k a[…, i, k] · b[…, k, j]; the dimensions before the last two broadcast."""
    a_numbers, b_numbers = a_storage.tolist(), b_storage.tolist()
    (rows, columns), inner = out_shape[-2:], a_shape[-1]
    (out_row, out_column), (a_row, a_column), (b_row, b_column) = out_strides[-2:], a_strides[-2:], b_strides[-2:]
    batch = out_shape[:-2]
    a_batch = broadcast_strides(a_shape[:-2], a_strides[:-2], batch)
    b_batch = broadcast_strides(b_shape[:-2], b_strides[:-2], batch)
    for index in product(*map(range, batch)):  # for each pair of matrices
        a_start, b_start, out_start = (
            sum(i * stride for i, stride in zip(index, strides, strict=True)) for strides in (a_batch, b_batch, out_strides[:-2])
        )
        b_columns = [[b_numbers[b_start + k * b_row + j * b_column] for k in range(inner)] for j in range(columns)]
        for i in range(rows):
            row = [a_numbers[a_start + i * a_row + k * a_column] for k in range(inner)]
            for j, column in enumerate(b_columns):
                out[out_start + i * out_row + j * out_column] = sum([x * y for x, y in zip(row, column, strict=True)])


SimpleBackend = TensorBackend(SimpleOps)
"""The default backend of tensors."""

DEVICES["simple"] = DEVICES["cpu"] = lambda: SimpleBackend  # fast_ops replaces "cpu"
