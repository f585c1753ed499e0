"""Stage 2 - Backends: what a backend is made from, and how it offers the operations that tensor functions call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import minitorch.operators as operators
from minitorch.core.dtypes import (
    HALF_DTYPES,
    accumulator_dtype,
    as_dtype,
    comparison_dtype,
    promote_to_float,
    promote_to_number,
    promote_types,
)
from minitorch.core.half_precision import compute_widened
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import TensorData, cached_broadcast


class TensorOps:
    """What a backend is made from: four functions that make tensor functions from functions on numbers.

    What they make may be given a tensor `out` to write into: one of the operands itself, or one that shares no element with them.

    Attributes:
        name: Shown in messages.
        cuda: Whether the storage lies on a GPU.
        optimized: Whether optimized kernels are preferred to the textbook kernels; set it to False to compare them.
    """

    name = "none"
    cuda = False
    optimized = True

    @staticmethod
    def require() -> None:
        """That this machine can run the operations; raises RuntimeError with the remedy if not."""

    @staticmethod
    def zeros(shape: tuple[int, ...], dtype: Any = None) -> TensorData:
        """Where a new tensor of zeros lies; the shape is not checked."""
        data = TensorData.empty(shape, as_dtype(dtype))
        data._storage.fill(0)
        return data

    @staticmethod
    def place(data: TensorData) -> TensorData:
        """The same numbers where these operations can reach them: themselves, or a copy if they lie on the other side."""
        return data.copied_to_host()

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
        ops.require()
        self.ops = ops
        self.cuda = ops.cuda
        _first.setdefault(ops, self)
        self._made: dict[Any, Callable[..., Tensor]] = {}

        self.neg_map = self.map(operators.neg, promote_to_number)
        self.id_map = self.map(operators.id)
        self.relu_map = self.map(operators.relu)
        self.sigmoid_map = self.map(operators.sigmoid, promote_to_float)
        self.log_map = self.map(operators.log, promote_to_float)
        self.exp_map = self.map(operators.exp, promote_to_float)
        self.inv_map = self.map(operators.inv, promote_to_float)

        self.add_zip = self.zip(operators.add)
        self.mul_zip = self.zip(operators.mul)
        self.lt_zip = self.zip(operators.lt, comparison_dtype)
        self.eq_zip = self.zip(operators.eq, comparison_dtype)
        self.is_close_zip = self.zip(operators.is_close, comparison_dtype)
        self.relu_back_zip = self.zip(operators.relu_back)
        self.log_back_zip = self.zip(operators.log_back)
        self.inv_back_zip = self.zip(operators.inv_back)

        self.add_reduce = self.reduce(operators.add, 0.0, accumulator_dtype)
        self.mul_reduce = self.reduce(operators.mul, 1.0, accumulator_dtype)

        self.matrix_multiply = make_matrix_multiply(ops.matrix_multiply)

    @property
    def name(self) -> str:
        """Of the operations: "simple"."""
        return self.ops.name

    def __repr__(self) -> str:
        return f"TensorBackend({self.ops.__name__})"

    def __reduce__(self) -> tuple[Any, ...]:
        return backend_of, (self.ops,)

    @cached_property
    def folds_several(self) -> bool:
        """Whether its reductions may be given several dimensions, as a tuple, and fold them in one pass."""
        return getattr(self.ops.reduce(operators.add), "folds_several", False)

    # Each operation is made once, at its first use, and answers in the dtype that `result` makes of the operands', or writes into out.
    # One that offers `on_data(out, a)` or `on_data(out, a, b)` writes every element of a result, which then need not be zeros before.

    def map(self, fn: Callable[[float], float], result: Callable[..., Any] = promote_types) -> Callable[..., Tensor]:
        """`TensorOps.map`; without `result` the answer has a's dtype.

        The operation is kept for as long as the backend: define fn once, not at every call.
        """
        key = ("map", fn, result)
        if key not in self._made:
            made: Any = None
            on_data: Any = None

            def mapped(a: Tensor, out: Tensor | None = None) -> Tensor:
                nonlocal made, on_data
                if a._tensor.dtype in HALF_DTYPES or (out is not None and out._tensor.dtype in HALF_DTYPES):
                    return compute_widened(mapped, result, (a,), None if out is None else check_out(out, a.shape))
                if made is None:
                    made = self.ops.map(fn)
                    on_data = getattr(made, "on_data", None)
                x = a._tensor
                dtype = x.dtype if result is promote_types else result(x.dtype)
                if out is None and on_data:
                    data = TensorData.empty(x.shape, dtype)
                    on_data(data, x)
                    return a._like(data)
                return made(a, a.zeros(x.shape, dtype) if out is None else check_out(out, x.shape))

            self._made[key] = mapped
        return self._made[key]

    def zip(self, fn: Callable[[float, float], float], result: Callable[..., Any] = promote_types) -> Callable[..., Tensor]:
        """`TensorOps.zip`."""
        key = ("zip", fn, result)
        if key not in self._made:
            made: Any = None
            on_data: Any = None

            def zipped(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
                nonlocal made, on_data
                x, y = a._tensor, b._tensor
                if x.dtype in HALF_DTYPES or y.dtype in HALF_DTYPES or (out is not None and out._tensor.dtype in HALF_DTYPES):
                    shape = cached_broadcast(x.shape, y.shape)
                    return compute_widened(zipped, result, (a, b), None if out is None else check_out(out, shape))
                if made is None:
                    made = self.ops.zip(fn)
                    on_data = getattr(made, "on_data", None)
                shape = x.shape if x.shape == y.shape else cached_broadcast(x.shape, y.shape)
                dtype = x.dtype if result is promote_types and x.dtype is y.dtype else result(x.dtype, y.dtype)
                if out is None and on_data:
                    data = TensorData.empty(shape, dtype)
                    on_data(data, x, y)
                    return a._like(data)
                return made(a, b, a.zeros(shape, dtype) if out is None else check_out(out, shape))

            self._made[key] = zipped
        return self._made[key]

    def reduce(
        self, fn: Callable[[float, float], float], start: float, result: Callable[..., Any] = promote_types
    ) -> Callable[..., Tensor]:
        """`TensorOps.reduce`."""
        key = ("reduce", fn, start, result)
        if key not in self._made:
            made: Any = None

            def reduced(a: Tensor, dim: Any, out: Tensor | None = None) -> Tensor:
                nonlocal made
                if a._tensor.dtype in HALF_DTYPES or (out is not None and out._tensor.dtype in HALF_DTYPES):
                    return compute_widened(lambda x: reduced(x, dim), result, (a,), out)
                if made is None:
                    made = self.ops.reduce(fn, start)
                x = a._tensor
                if isinstance(dim, tuple):  # of a backend that `folds_several`
                    shape = tuple([1 if d in dim else size for d, size in enumerate(x.shape)])
                else:
                    dim = a._dim(dim)
                    shape = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
                return made(a, dim, a._like(self.ops.zeros(shape, result(x.dtype))) if out is None else check_out(out, shape))

            self._made[key] = reduced
        return self._made[key]


def make_matrix_multiply(multiply: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """`TensorOps.matrix_multiply`, in half precision too."""

    def product(a: Tensor, b: Tensor) -> Tensor:
        if a._tensor.dtype in HALF_DTYPES or b._tensor.dtype in HALF_DTYPES:
            return compute_widened(multiply, promote_types, (a, b))
        return multiply(a, b)

    return product


DEVICES: dict[str, Callable[[], TensorBackend]] = {}
"""What `x.to("cpu")` and its like lead to; the room of a backend enters it here."""


def resolve_backend(place: Any) -> TensorBackend | None:
    """The backend that a device's name leads to ("cuda:0" is "cuda"), or the backend itself; None for anything else.

    Raises:
        ValueError: If it names a second device of a kind.
    """
    if not isinstance(place, str):
        return place if isinstance(place, TensorBackend) else None
    kind, numbered, promote_to_number = place.partition(":")
    if kind not in DEVICES:
        return None
    if numbered and promote_to_number != "0":
        raise ValueError(
            f"expected the device {kind} or {kind}:0, got {place}; one of a kind is used, and with several GPUs the environment variable "
            "CUDA_VISIBLE_DEVICES says which, before Python starts"
        )
    return DEVICES[kind]()


_first: dict[type[TensorOps], TensorBackend] = {}


def backend_of(ops: type[TensorOps]) -> TensorBackend:
    """The first backend that was made from these operations, so that what comes out of a pickle shares its kernels."""
    return _first.get(ops) or TensorBackend(ops)


def check_out(out: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor that the caller has a result of this shape written to.

    Raises:
        ValueError: If it has another shape.
    """
    if out.shape != shape:
        raise ValueError(f"out expected shape {shape}, got {out.shape}; pass a tensor of that shape, or leave it out")
    out._tensor.written()
    return out
