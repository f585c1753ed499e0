"""Stage 2 - Backends: what a backend is made from, and how it offers the operations that tensor functions call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
from minitorch.core.kernel import find_kernel
from minitorch.core.recording import active, call, fill
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import TensorData, cached_broadcast


class TensorOps:
    """What a backend is made from: four functions that make tensor functions from functions on numbers.

    What they make may be given a tensor `out` to write into: one of the operands itself, or one that shares no element with them.

    Attributes:
        name: Shown in messages; optimized kernels are registered under it.
        cuda: Whether the storage lies on a GPU.
        reduces_many: Whether `reduce` accepts several dimensions, as a tuple, whatever its kernel.
        optimized: Whether optimized kernels are preferred to the textbook kernels; set it to False to compare them.
    """

    name = "none"
    cuda = False
    reduces_many = False
    optimized = True

    @staticmethod
    def require() -> None:
        """Check that this machine can run the operations; raises RuntimeError with the remedy if not."""

    @staticmethod
    def zeros(shape: tuple[int, ...], dtype: Any = None) -> TensorData:
        """New data filled with zeros, in the memory of the backend; the shape is not checked."""
        data = TensorData.empty(shape, as_dtype(dtype))
        call(fill, data._storage, 0)
        return data

    @staticmethod
    def place(data: TensorData) -> TensorData:
        """The data in the memory of the backend: data itself, or a copy if it is in the memory of another device."""
        return data.to_host()

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
        """The function (a, dim, out=None) that reduces dim with fn, starting from start; the dimension keeps size 1."""
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

        self.matrix_multiply = make_product(ops)

    @property
    def name(self) -> str:
        """Of the operations: "simple"."""
        return self.ops.name

    def __repr__(self) -> str:
        return f"TensorBackend({self.ops.__name__})"

    def __reduce__(self) -> tuple[Any, ...]:
        return backend_of, (self.ops,)

    @property
    def reduces_many(self) -> bool:
        """Whether its reductions accept several dimensions, as a tuple, and reduce them in one pass."""
        return self.ops.reduces_many or getattr(find_kernel("reduce", self.ops), "reduces_many", False)

    # Each operation is made once and kept for as long as the backend: define fn once, not at every call.

    def map(self, fn: Callable[[float], float], result: Callable[..., Any] = promote_types) -> Callable[..., Tensor]:
        """`TensorOps.map` with a result of dtype `result(a.dtype)`; a's dtype where it is left out."""
        key = ("map", fn, result)
        if key not in self._made:
            self._made[key] = make_map(self.ops, fn, result)
        return self._made[key]

    def zip(self, fn: Callable[[float, float], float], result: Callable[..., Any] = promote_types) -> Callable[..., Tensor]:
        """`TensorOps.zip` with a result of dtype `result(a.dtype, b.dtype)`."""
        key = ("zip", fn, result)
        if key not in self._made:
            self._made[key] = make_zip(self.ops, fn, result)
        return self._made[key]

    def reduce(
        self, fn: Callable[[float, float], float], start: float, result: Callable[..., Any] = promote_types
    ) -> Callable[..., Tensor]:
        """`TensorOps.reduce` with a result of dtype `result(a.dtype)`."""
        key = ("reduce", fn, start, result)
        if key not in self._made:
            self._made[key] = make_reduce(self.ops, fn, start, result)
        return self._made[key]


# The operations of a backend: dtypes and half precision around what `ops` makes. An operation of `ops` may offer its kernel as an
# attribute, if that kernel `writes_all`: then the result is allocated without zeros, and the kernel called directly. The kernel of a
# reduction starts from what is in the result.


def make_map(ops: type[TensorOps], fn: Callable[[float], float], result: Callable[..., Any]) -> Callable[..., Tensor]:
    """The function (a, out=None) of a backend."""
    operation = kernel = made_for = None

    def mapped(a: Tensor, out: Tensor | None = None) -> Tensor:
        nonlocal operation, kernel, made_for
        x = a._tensor
        if x.dtype in HALF_DTYPES or (out is not None and out._tensor.dtype in HALF_DTYPES):
            return compute_widened(mapped, result, (a,), None if out is None else check_out(out, x.shape))
        if made_for is not ops.optimized:
            operation, made_for = ops.map(fn), ops.optimized
            kernel = offered_kernel(operation)
        dtype = x.dtype if result is promote_types else result(x.dtype)
        if out is None and kernel is not None:
            data = TensorData.empty(x.shape, dtype)
            if active.recorder is None:
                kernel(data, x)
            else:
                active.recorder.operation("map", fn, partial(kernel, data, x), data, (x,))
            return a._like(data)
        target = unwritten(a, x.shape, dtype) if out is None else check_out(out, x.shape)
        if active.recorder is None:
            return operation(a, target)  # type: ignore[misc] - made above
        active.recorder.operation("map", fn, partial(operation, a, target), target._tensor, (x,))  # type: ignore[arg-type]
        return target

    return mapped


def make_zip(ops: type[TensorOps], fn: Callable[[float, float], float], result: Callable[..., Any]) -> Callable[..., Tensor]:
    """The function (a, b, out=None) of a backend."""
    operation = kernel = made_for = None

    def zipped(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
        nonlocal operation, kernel, made_for
        x, y = a._tensor, b._tensor
        shape = x.shape if x.shape == y.shape else cached_broadcast(x.shape, y.shape)
        if x.dtype in HALF_DTYPES or y.dtype in HALF_DTYPES or (out is not None and out._tensor.dtype in HALF_DTYPES):
            return compute_widened(zipped, result, (a, b), None if out is None else check_out(out, shape))
        if made_for is not ops.optimized:
            operation, made_for = ops.zip(fn), ops.optimized
            kernel = offered_kernel(operation)
        dtype = x.dtype if result is promote_types and x.dtype is y.dtype else result(x.dtype, y.dtype)
        if out is None and kernel is not None:
            data = TensorData.empty(shape, dtype)
            if active.recorder is None:
                kernel(data, x, y)
            else:
                active.recorder.operation("zip", fn, partial(kernel, data, x, y), data, (x, y))
            return a._like(data)
        target = unwritten(a, shape, dtype) if out is None else check_out(out, shape)
        if active.recorder is None:
            return operation(a, b, target)  # type: ignore[misc] - made above
        active.recorder.operation("zip", fn, partial(operation, a, b, target), target._tensor, (x, y))  # type: ignore[arg-type]
        return target

    return zipped


def make_reduce(
    ops: type[TensorOps], fn: Callable[[float, float], float], start: float, result: Callable[..., Any]
) -> Callable[..., Tensor]:
    """The function (a, dim, out=None) of a backend; dim is a tuple only where the backend `reduces_many`."""
    operation = kernel = made_for = None

    def reduced(a: Tensor, dim: int | tuple[int, ...], out: Tensor | None = None) -> Tensor:
        nonlocal operation, kernel, made_for
        x = a._tensor
        if x.dtype in HALF_DTYPES or (out is not None and out._tensor.dtype in HALF_DTYPES):
            return compute_widened(lambda x: reduced(x, dim), result, (a,), out)
        if made_for is not ops.optimized:
            operation, made_for = ops.reduce(fn, start), ops.optimized
            kernel = getattr(operation, "kernel", None)
        if isinstance(dim, tuple):
            shape = tuple([1 if d in dim else size for d, size in enumerate(x.shape)])
        else:
            dim = d = a._normalize_dim(dim)
            shape = (*x.shape[:d], 1, *x.shape[d + 1 :])
        if out is None and kernel is not None and active.recorder is None:
            data = TensorData.empty(shape, result(x.dtype))
            data._storage.fill(start)
            kernel(data, x, dim)
            return a._like(data)
        target = unwritten(a, shape, result(x.dtype)) if out is None else check_out(out, shape)
        if active.recorder is None:
            return operation(a, dim, target)  # type: ignore[misc] - made above
        run = partial(operation, a, dim, target)  # type: ignore[arg-type] - made above
        active.recorder.operation("reduce", fn, run, target._tensor, (x,), dims=dim, start=start)
        return target

    return reduced


def make_product(ops: type[TensorOps]) -> Callable[[Tensor, Tensor], Tensor]:
    """The function (a, b) of a backend: the optimized kernel of the matrix product, else what `ops` computes."""
    kernel = made_for = None

    def product(a: Tensor, b: Tensor) -> Tensor:
        nonlocal kernel, made_for
        if active.recorder is not None and active.recorder.is_idle():
            return active.recorder.product(product, a, b)
        x, y = a._tensor, b._tensor
        if x.dtype in HALF_DTYPES or y.dtype in HALF_DTYPES:
            return compute_widened(product, promote_types, (a, b))
        if made_for is not ops.optimized:
            optimized, made_for = find_kernel("matrix_multiply", ops), ops.optimized
            kernel = optimized if getattr(optimized, "writes_all", False) else None
        if kernel is None:
            return ops.matrix_multiply(a, b)
        dtype = x.dtype if x.dtype is y.dtype else promote_types(x.dtype, y.dtype)
        data = TensorData.empty((*cached_broadcast(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]), dtype)
        kernel(data, x, y)
        return a._like(data)

    return product


def unwritten(a: Tensor, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """A new tensor on the backend of a for an operation that writes every element, so that filling it with zeros is not recorded."""
    if active.recorder is None:
        return a.zeros(shape, dtype)
    with active.recorder.paused():
        return a.zeros(shape, dtype)


def offered_kernel(operation: Any) -> Any:
    """The kernel that an operation offers, if it writes every element of a result; else None."""
    kernel = getattr(operation, "kernel", None)
    return kernel if getattr(kernel, "writes_all", False) else None


DEVICES: dict[str, Callable[[], TensorBackend]] = {}
"""The backend of each device name, as in `x.to("cpu")`; a backend's module adds its own."""


def resolve_backend(place: Any) -> TensorBackend | None:
    """The backend of a device name ("cuda:0" is "cuda"), or the backend itself; None for anything else.

    Raises:
        ValueError: If it names a second device of a kind.
    """
    if not isinstance(place, str):
        return place if isinstance(place, TensorBackend) else None
    kind, numbered, number = place.partition(":")
    if kind not in DEVICES:
        return None
    if numbered and number != "0":
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
    if out._tensor.shape != shape:
        raise ValueError(f"out expected shape {shape}, got {out.shape}; pass a tensor of that shape, or leave it out")
    out._tensor.bump_version()
    return out
