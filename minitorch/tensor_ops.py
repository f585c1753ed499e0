"""Stage 2 - Tensor operations: map, zip, reduce and matrix multiply over strided storages, and the backend that offers them.

Whatever a tensor computes is one of these four patterns around a function on numbers. Here they are plain Python; other backends
compile the same patterns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

import minitorch.operators as operators
from minitorch.dtypes import boolean, floating, number, same, total
from minitorch.tensor_data import (  # noqa: F401 - for kernels written index by index
    Shape,
    Storage,
    Strides,
    broadcast_index,
    broadcast_strides,
    index_to_position,
    positions,
    shape_broadcast,
    to_index,
)

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class TensorOps:
    """What a backend is made from: four functions that make tensor functions from functions on numbers.

    Attributes:
        name: Shown in messages.
        cuda: Whether the storage lies on a GPU.
    """

    name = "none"
    cuda = False

    @staticmethod
    def map(fn: Callable[[float], float]) -> Callable[..., Tensor]:
        """The function (a, out=None) that applies fn to every element of a; without out, into a new tensor of a's dtype."""
        raise RuntimeError("TensorOps has no operations of its own; use SimpleOps, or define map in the subclass")

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[..., Tensor]:
        """The function (a, b, out=None) that gives fn of two tensors, element by element; their shapes broadcast, their dtypes promote."""
        raise RuntimeError("TensorOps has no operations of its own; use SimpleOps, or define zip in the subclass")

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[..., Tensor]:
        """The function (a, dim, out=None) that folds the elements along dim with fn, beginning with start; dim keeps size 1."""
        raise RuntimeError("TensorOps has no operations of its own; use SimpleOps, or define reduce in the subclass")

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """The matrix product over the last two dimensions; the dimensions before them broadcast."""
        raise RuntimeError("TensorOps has no operations of its own; use SimpleOps, or define matrix_multiply in the subclass")


class TensorBackend:
    """The tensor operations of one kind of storage and machine.

    Args:
        ops: The class that makes them, such as SimpleOps.

    Attributes:
        ops: That class.
        cuda: Whether the storage lies on a GPU.
        neg_map, add_zip, add_reduce, …: The operations that the course's Functions call.
    """

    def __init__(self, ops: type[TensorOps]) -> None:
        self.ops = ops
        self.cuda = ops.cuda
        self._made: dict[Any, Callable[..., Tensor]] = {}

        self.neg_map = self.map(operators.neg, number)
        self.id_map = self.map(operators.id)
        self.relu_map = self.map(operators.relu)
        self.sigmoid_map = self.map(operators.sigmoid, floating)
        self.log_map = self.map(operators.log, floating)
        self.exp_map = self.map(operators.exp, floating)
        self.inv_map = self.map(operators.inv, floating)

        self.add_zip = self.zip(operators.add)
        self.mul_zip = self.zip(operators.mul)
        self.lt_zip = self.zip(operators.lt, boolean)
        self.eq_zip = self.zip(operators.eq, boolean)
        self.is_close_zip = self.zip(operators.is_close, boolean)
        self.relu_back_zip = self.zip(operators.relu_back)
        self.log_back_zip = self.zip(operators.log_back)
        self.inv_back_zip = self.zip(operators.inv_back)

        self.add_reduce = self.reduce(operators.add, 0.0, total)
        self.mul_reduce = self.reduce(operators.mul, 1.0, total)

        self.matrix_multiply = ops.matrix_multiply

    @property
    def name(self) -> str:
        """Of the operations: "simple"."""
        return self.ops.name

    def __repr__(self) -> str:
        return f"TensorBackend({self.ops.__name__})"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return "SimpleBackend" if self is SimpleBackend else (TensorBackend, (self.ops,))  # the first: the one below, by its name

    # Each operation is made once, and answers in the dtype that `result` makes of the operands' dtypes, or writes into out.

    def map(self, fn: Callable[[float], float], result: Callable[..., Any] = same) -> Callable[..., Tensor]:
        """`TensorOps.map`."""
        key = ("map", fn, result)
        if key not in self._made:
            kernel = self.ops.map(fn)

            def mapped(a: Tensor, out: Tensor | None = None) -> Tensor:
                return kernel(a, target(out, a, a.shape, result(a.dtype)))

            self._made[key] = mapped
        return self._made[key]

    def zip(self, fn: Callable[[float, float], float], result: Callable[..., Any] = same) -> Callable[..., Tensor]:
        """`TensorOps.zip`."""
        key = ("zip", fn, result)
        if key not in self._made:
            kernel = self.ops.zip(fn)

            def zipped(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
                shape = a.shape if a.shape == b.shape else shape_broadcast(a.shape, b.shape)
                return kernel(a, b, target(out, a, shape, result(a.dtype, b.dtype)))

            self._made[key] = zipped
        return self._made[key]

    def reduce(self, fn: Callable[[float, float], float], start: float, result: Callable[..., Any] = same) -> Callable[..., Tensor]:
        """`TensorOps.reduce`."""
        key = ("reduce", fn, start, result)
        if key not in self._made:
            kernel = self.ops.reduce(fn, start)

            def reduced(a: Tensor, dim: int, out: Tensor | None = None) -> Tensor:
                dim = a._dim(dim)
                shape = (*a.shape[:dim], 1, *a.shape[dim + 1 :])
                return kernel(a, dim, target(out, a, shape, result(a.dtype)))

            self._made[key] = reduced
        return self._made[key]


def target(out: Tensor | None, like: Tensor, shape: tuple[int, ...], dtype: np.dtype) -> Tensor:
    """Where a result of this shape is written: a new tensor, or the one that the caller has.

    Raises:
        ValueError: If that has another shape.
    """
    if out is None:
        return like.zeros(shape, dtype)
    if out.shape != shape:
        raise ValueError(f"out expected shape {shape}, got {out.shape}; pass a tensor of that shape, or leave it out")
    out._tensor.written()
    return out


class SimpleOps(TensorOps):
    """The operations in plain Python, one number at a time.

    Where Python raises (1 / 0, e^1000), a result is what hardware gives: infinity or NaN, without a warning.
    """

    name = "simple"

    @staticmethod
    def map(fn: Callable[[float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.map`."""
        kernel, quiet = tensor_map(fn), tensor_map(ieee(fn))

        @np.errstate(all="ignore")
        def mapped(a: Tensor, out: Tensor | None = None) -> Tensor:
            out = a.zeros() if out is None else out
            operands = (*out.tuple(), *numbers(a))
            try:
                kernel(*operands)
            except (ArithmeticError, ValueError):
                quiet(*operands)
            return out

        return mapped

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.zip`."""
        kernel, quiet = tensor_zip(fn), tensor_zip(ieee(fn))

        @np.errstate(all="ignore")
        def zipped(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
            out = a.zeros(shape_broadcast(a.shape, b.shape), same(a.dtype, b.dtype)) if out is None else out
            operands = (*out.tuple(), *numbers(a), *numbers(b))
            try:
                kernel(*operands)
            except (ArithmeticError, ValueError):
                quiet(*operands)
            return out

        return zipped

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[..., Tensor]:
        """See `TensorOps.reduce`."""
        kernel = tensor_reduce(fn)

        @np.errstate(all="ignore")
        def reduced(a: Tensor, dim: int, out: Tensor | None = None) -> Tensor:
            dim = a._dim(dim)
            out = a.zeros((*a.shape[:dim], 1, *a.shape[dim + 1 :])) if out is None else out
            out._tensor.array()[...] = start  # a fold begins with what stands in out
            kernel(*out.tuple(), *numbers(a), dim)
            return out

        return reduced

    @staticmethod
    @np.errstate(all="ignore")
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """See `TensorOps.matrix_multiply`."""
        batch = shape_broadcast(a.shape[:-2], b.shape[:-2])
        out = a.zeros((*batch, a.shape[-2], b.shape[-1]), dtype=same(a.dtype, b.dtype))
        tensor_matrix_multiply(*out.tuple(), *a.tuple(), *b.tuple())
        return out


def numbers(a: Tensor) -> tuple[Storage, Shape, Strides]:
    """What a kernel is given of an input; truth values as 0 and 1, because NumPy's own have no negative."""
    storage, shape, strides = a.tuple()
    return storage.view(np.int8) if a.dtype.kind == "b" else storage, shape, strides


def ieee(fn: Callable[..., float]) -> Callable[..., float]:
    """fn answering as hardware does where Python raises: infinity past the largest float and at a pole, NaN where fn has no value."""

    def quiet(*xs: float) -> float:
        try:
            return fn(*xs)
        except OverflowError:
            return -math.inf if fn is operators.power and xs[0] < 0 and xs[1] % 2 == 1 else math.inf
        except ZeroDivisionError:
            with np.errstate(all="ignore"):
                return float(fn(*map(np.float64, xs)))  # its division does not raise
        except ValueError:
            return math.inf if fn is operators.power and xs[0] == 0 else math.nan

    return quiet


# The four patterns on storages. A kernel is given each storage from its tensor's first element on, so that index (0, 0, …) stands at
# position 0. storage.tolist() gives Python's own numbers: NumPy's are slow one at a time.


def tensor_map(fn: Callable[[float], float]) -> Callable[[Storage, Shape, Strides, Storage, Shape, Strides], None]:
    """The kernel that writes fn of every element of a tensor into another.

    For every index of out: find where the input has it, which may be a smaller tensor that broadcasts to out's shape, and write
    fn of what stands there to out's position for the index. Either may lie in storage in any order, as its strides say.

    Args:
        fn: From a number to a number.

    Returns:
        The kernel; it is called with storage, shape and strides of out, then of the input.
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

    As `tensor_map`, with two inputs; each may be smaller than out and broadcast to its shape, and each has strides of its own.

    Args:
        fn: From two numbers, one of a and one of b, to a number.

    Returns:
        The kernel; it is called with storage, shape and strides of out, then of a, then of b.
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
    """The kernel that folds one dimension of a tensor, reduce_dim, into another tensor, which has size 1 there.

    For every index of out: begin with what stands there (SimpleOps.reduce has written its start to it), and fold in one after the other
    the elements of a whose index differs from it in reduce_dim alone, from 0 upwards.

    Args:
        fn: From two numbers, what has been folded so far and the next element, to a number.

    Returns:
        The kernel; it is called with storage, shape and strides of out, then of a, and the dimension to fold.
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
        """Fold reduce_dim of a into out; return nothing."""
        a = a_storage.tolist()
        targets = positions(out_shape, out_strides)
        firsts = positions(out_shape, a_strides)  # out has size 1 in reduce_dim: there stands index 0
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
    """The kernel of the matrix product: out[…, i, j] = sum over k of a[…, i, k] · b[…, k, j]; the dimensions before them broadcast."""
    a_numbers, b_numbers = a_storage.tolist(), b_storage.tolist()
    (rows, columns), inner = out_shape[-2:], a_shape[-1]
    (out_row, out_column), (a_row, a_column), (b_row, b_column) = out_strides[-2:], a_strides[-2:], b_strides[-2:]
    batch = out_shape[:-2]
    a_batch = broadcast_strides(a_shape[:-2], a_strides[:-2], batch)
    b_batch = broadcast_strides(b_shape[:-2], b_strides[:-2], batch)
    for index in product(*map(range, batch)):  # one pair of matrices after the other
        a_start, b_start, out_start = (
            sum(i * stride for i, stride in zip(index, strides, strict=True)) for strides in (a_batch, b_batch, out_strides[:-2])
        )
        b_columns = [[b_numbers[b_start + k * b_row + j * b_column] for k in range(inner)] for j in range(columns)]
        for i in range(rows):
            row = [a_numbers[a_start + i * a_row + k * a_column] for k in range(inner)]
            for j, column in enumerate(b_columns):
                out[out_start + i * out_row + j * out_column] = sum([x * y for x, y in zip(row, column, strict=True)])


SimpleBackend = TensorBackend(SimpleOps)
"""The backend that tensors have unless another is named."""
