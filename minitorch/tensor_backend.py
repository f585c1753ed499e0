"""Stage 2 - Backends: what a backend is made from, and how it offers the operations that tensor functions call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import minitorch.operators as operators
from minitorch.dtypes import boolean, floating, number, same, total
from minitorch.tensor_data import shape_broadcast

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
        _first.setdefault(ops, self)
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

    def __reduce__(self) -> tuple[Any, ...]:
        return backend_of, (self.ops,)

    # Each operation is made once, at its first use, and answers in the dtype that `result` makes of the operands', or writes into out.

    def map(self, fn: Callable[[float], float], result: Callable[..., Any] = same) -> Callable[..., Tensor]:
        """`TensorOps.map`; without `result` the answer has a's dtype.

        The operation is kept for as long as the backend: define fn once, not at every call.
        """
        key = ("map", fn, result)
        if key not in self._made:
            kernel = None

            def mapped(a: Tensor, out: Tensor | None = None) -> Tensor:
                nonlocal kernel
                if kernel is None:
                    kernel = self.ops.map(fn)
                return kernel(a, target(out, a, a.shape, result(a.dtype)))

            self._made[key] = mapped
        return self._made[key]

    def zip(self, fn: Callable[[float, float], float], result: Callable[..., Any] = same) -> Callable[..., Tensor]:
        """`TensorOps.zip`."""
        key = ("zip", fn, result)
        if key not in self._made:
            kernel = None

            def zipped(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
                nonlocal kernel
                if kernel is None:
                    kernel = self.ops.zip(fn)
                shape = a.shape if a.shape == b.shape else shape_broadcast(a.shape, b.shape)
                return kernel(a, b, target(out, a, shape, result(a.dtype, b.dtype)))

            self._made[key] = zipped
        return self._made[key]

    def reduce(self, fn: Callable[[float, float], float], start: float, result: Callable[..., Any] = same) -> Callable[..., Tensor]:
        """`TensorOps.reduce`."""
        key = ("reduce", fn, start, result)
        if key not in self._made:
            kernel = None

            def reduced(a: Tensor, dim: int, out: Tensor | None = None) -> Tensor:
                nonlocal kernel
                if kernel is None:
                    kernel = self.ops.reduce(fn, start)
                dim = a._dim(dim)
                shape = (*a.shape[:dim], 1, *a.shape[dim + 1 :])
                return kernel(a, dim, target(out, a, shape, result(a.dtype)))

            self._made[key] = reduced
        return self._made[key]


DEVICES: dict[str, Callable[[], TensorBackend]] = {}
"""What `x.to("cpu")` and its like lead to; the room of a backend enters it here."""

_first: dict[type[TensorOps], TensorBackend] = {}


def backend_of(ops: type[TensorOps]) -> TensorBackend:
    """The first backend that was made from these operations, so that what comes out of a pickle shares its kernels."""
    return _first.get(ops) or TensorBackend(ops)


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
