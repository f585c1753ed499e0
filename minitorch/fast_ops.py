"""Stage 3 - FastOps: the four patterns compiled to machine code that uses every core of the processor.

The functions below return kernels. What the kernels stand on stands in rooms of its own (`loops`, `folds`, `blocked_matmul`, `fast_math`),
which each function imports for itself: in a workspace where a student writes the function, these rooms are not there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import prange as prange  # for what students write here, as the names marked so below

from minitorch.core.backend import DEVICES, TensorBackend, TensorOps
from minitorch.core.dtypes import promote_types
from minitorch.kernels.jit import FLAGS, compiler_is_off, jitable, launch
from minitorch.tensor_data import MAX_DIMS as MAX_DIMS
from minitorch.tensor_data import (
    Shape,
    Storage,
    Strides,
    TensorData,
    broadcast_index,
    cached_broadcast,
    index_to_position,
    shape_broadcast,
    strides_from_shape,
    to_index,
)
from minitorch.tensor_ops import ieee

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

MapKernel = Callable[[Storage, Shape, Strides, Storage, Shape, Strides], None]
ZipKernel = Callable[[Storage, Shape, Strides, Storage, Shape, Strides, Storage, Shape, Strides], None]
ReduceKernel = Callable[[Storage, Shape, Strides, Storage, Shape, Strides, int], None]


for _fn in (to_index, index_to_position, broadcast_index):
    jitable(_fn)  # so that compiled kernels may call them


def njit(fn: Callable[..., Any], **options: Any) -> Any:
    """numba's, with the arithmetic of all kernels here: 1 / 0 is infinity, as in NumPy, and no error."""
    return numba.njit(**{**FLAGS, **options})(fn)


class FastOps(TensorOps):
    """The operations as compiled loops on all cores."""

    name = "fast"

    @staticmethod
    def map(fn: Callable[[float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.map`."""
        kernel = tensor_map(callable_from_kernels(fn))
        run = on_data(kernel)

        def mapped(a: Tensor, out: Tensor | None = None) -> Tensor:
            out = a.zeros() if out is None else out
            run(out._tensor, a._tensor)
            return out

        return marked(mapped, on_data=direct(kernel))

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.zip`."""
        kernel = tensor_zip(callable_from_kernels(fn))
        run = on_data(kernel)

        def zipped(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
            out = a.zeros(shape_broadcast(a.shape, b.shape), promote_types(a.dtype, b.dtype)) if out is None else out
            run(out._tensor, a._tensor, b._tensor)
            return out

        return marked(zipped, on_data=direct(kernel))

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[..., Tensor]:
        """See `TensorOps.reduce`; of the reference, dim may also be a tuple of dimensions, which are folded in one pass."""
        kernel = tensor_reduce(callable_from_kernels(fn))
        run = on_data(kernel)

        def reduced(a: Tensor, dim: int | tuple[int, ...], out: Tensor | None = None) -> Tensor:
            if out is None:
                dims = dim if isinstance(dim, tuple) else (dim,)
                out = a.zeros([1 if i in dims else size for i, size in enumerate(a.shape)])
            data = out._tensor
            (data._storage if len(data._storage) == data.size else data.array())[...] = start  # a fold begins with what stands in out
            run(data, a._tensor, dim)
            return out

        return marked(reduced, folds_several=is_reference(kernel))

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """See `TensorOps.matrix_multiply`."""
        batch = cached_broadcast(a.shape[:-2], b.shape[:-2])
        shape, dtype = (*batch, a.shape[-2], b.shape[-1]), promote_types(a.dtype, b.dtype)
        kernel = tensor_matrix_multiply
        if isinstance(kernel, Later):  # else a solution to the published course has put its own in this place
            kernel = kernel.kernel()
        if is_reference(kernel):
            out = a._like(TensorData.empty(shape, dtype))  # all of it is written
            on_data(kernel)(out._tensor, a._tensor, b._tensor)
        else:
            out = a.zeros(shape, dtype)
            shape = (math.prod(batch), *shape[-2:])
            target = (out.tuple()[0], shape, strides_from_shape(shape))
            ready(kernel)(*target, *in_three_dimensions(a._tensor, batch), *in_three_dimensions(b._tensor, batch))
        return out


def callable_from_kernels(fn: Callable[..., float]) -> Callable[..., float]:
    """fn, made known to the compiler; with the compiler off (NUMBA_DISABLE_JIT=1), answering at a pole as compiled code does."""
    return ieee(fn) if compiler_is_off() else jitable(fn)


def is_reference(kernel: Any) -> bool:
    """Whether a kernel is one of `loops`, `folds` or `blocked_matmul`, not a function of its own."""
    return getattr(kernel, "takes_tuples", False)


def marked(operation: Any, **marks: Any) -> Callable[..., Tensor]:
    """A tensor function that tells the backend what its kernel can do.

    Args:
        operation: The function.
        marks: `on_data`, the kernel as it is called with tensors' data, if it writes all of out, whatever stood there; or None.
            `folds_several`, whether dim may be a tuple.
    """
    vars(operation).update(marks)
    return operation


def direct(kernel: Any) -> Callable[..., None] | None:
    """A kernel of the reference as it is called with tensors' data; None of others, and with the compiler off."""
    return kernel.on_data if is_reference(kernel) and not compiler_is_off() else None


def on_data(kernel: Any) -> Callable[..., None]:
    """Any kernel as it is called with tensors' data."""
    run = ready(kernel)

    def unpacked(*operands: Any) -> None:
        run(*[part for x in operands for part in (x.tuple() if isinstance(x, TensorData) else (x,))])

    return direct(kernel) or unpacked


def ready(kernel: Callable[..., None]) -> Callable[..., None]:
    """A kernel as it is called with tensors' tuples.

    Those of the reference are taken as they are. A function compiled by numba is given shapes and strides as arrays, since it would be
    compiled again for tuples of every length, and an out without gaps, since it may go through all of `out`; and it runs alone: see
    `launch`.
    """
    takes_tuples = is_reference(kernel)
    if takes_tuples and not compiler_is_off():
        return kernel

    def launched(out: Storage, out_shape: Shape, out_strides: Strides, *operands: Any) -> None:
        full, view = out, None
        if not takes_tuples:
            if out.size != math.prod(out_shape):
                view = np.ndarray(out_shape, out.dtype, out, 0, [stride * out.itemsize for stride in out_strides])
                full, out_strides = view.flatten(), strides_from_shape(out_shape)
            layout = np.array(out_shape, np.int32), np.array(out_strides, np.int32)
            operands = layout + tuple(np.array(x, np.int32) if isinstance(x, tuple) else x for x in operands)
        else:
            operands = (out_shape, out_strides, *operands)
        with np.errstate(all="ignore"):  # with the compiler off, NumPy's numbers warn
            launch(kernel, full, *operands)
        if view is not None:
            view[...] = full.reshape(out_shape)

    return launched


def in_three_dimensions(a: TensorData, batch: tuple[int, ...]) -> tuple[Storage, Shape, Strides]:
    """A factor as a textbook kernel takes it: batch, rows, columns. A batch of several dimensions becomes one, by a copy where it must."""
    storage, shape, strides = a.tuple()
    if math.prod(shape[:-2]) == 1:
        return storage, (1, *shape[-2:]), (0, *strides[-2:])
    if len(batch) == 1:
        return storage, shape, strides
    full, shape = np.broadcast_to(a.array(), (*batch, *shape[-2:])), (math.prod(batch), *shape[-2:])
    return np.ascontiguousarray(full).reshape(-1), shape, strides_from_shape(shape)


# The kernels. A storage is given from the tensor's offset on, so that index 0 stands at position 0; shapes and strides are arrays.


def tensor_map(fn: Callable[[float], float]) -> MapKernel:
    """The compiled kernel that writes fn of every element of a tensor into another, in parallel.

    * The loop over the elements is a `prange`.
    * Where out and the input are stride-aligned (same shape, same strides), no index is worked out.
    * Index buffers are NumPy arrays, made inside the loop: two iterations that share one overwrite each other's.

    Args:
        fn: From a number to a number; compiled functions may call it.

    Returns:
        `njit(_map, parallel=True)` of a function _map(out, out_shape, out_strides, in_storage, in_shape, in_strides).
    """
    from minitorch.kernels.elementwise import Map
    from minitorch.kernels.vector_math import INSTEAD

    return Map(INSTEAD.get(fn, fn))


def tensor_zip(fn: Callable[[float, float], float]) -> ZipKernel:
    """The compiled kernel that writes fn of two tensors, element by element, into a third, in parallel.

    As `tensor_map`, with two inputs; no index is worked out where all three are stride-aligned.

    Args:
        fn: From two numbers to a number; compiled functions may call it.

    Returns:
        `njit(_zip, parallel=True)` of a function _zip(out, out_shape, out_strides, a_storage, a_shape, a_strides, b_storage, b_shape,
        b_strides).
    """
    from minitorch.kernels.elementwise import Zip
    from minitorch.kernels.vector_math import INSTEAD

    return Zip(INSTEAD.get(fn, fn))


def tensor_reduce(fn: Callable[[float, float], float]) -> ReduceKernel:
    """The compiled kernel that folds one dimension of a tensor into another, in which it has size 1, in parallel.

    * The loop over the results is a `prange`; each begins with what stands in out.
    * The loop over the folded dimension calls nothing but fn and keeps its result in a local variable.

    Args:
        fn: From what has been folded so far and the next element; compiled functions may call it.

    Returns:
        `njit(_reduce, parallel=True)` of a function _reduce(out, out_shape, out_strides, a_storage, a_shape, a_strides, reduce_dim).
    """
    from minitorch.kernels.reduce import Fold

    return Fold(fn)


def matrix_multiply_kernel() -> ZipKernel:
    """The compiled kernel of the matrix product over the last two dimensions, in parallel.

    FastOps calls it with tensors of three dimensions: batch, rows, columns. A batch of size 1 serves all of the other's. The reference's
    takes any number of dimensions before the last two.

    * The outer loop is a `prange`; nothing is written to memory but one number for every element of out.
    * No index buffers: positions are worked out from strides, with a stride of 0 where a batch of size 1 serves all others.

    Returns:
        `njit(_tensor_matrix_multiply, parallel=True)` of a function _tensor_matrix_multiply(out, out_shape, out_strides, a_storage,
        a_shape, a_strides, b_storage, b_shape, b_strides).
    """
    from minitorch.kernels.matmul import Product

    return Product()


class Later:
    """A kernel that is made when it is first used.

    Args:
        make: What returns it.
    """

    def __init__(self, make: Callable[[], Callable[..., None]]) -> None:
        self._make = make
        self._kernel: Any = None

    def kernel(self) -> Any:
        """The kernel."""
        if self._kernel is None:
            self._kernel = self._make()
        return self._kernel

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel(), name)

    def __call__(self, *operands: Any) -> None:
        """Call the kernel."""
        self.kernel()(*operands)


tensor_matrix_multiply: Any = Later(matrix_multiply_kernel)
"""The kernel of the matrix product, called like that of a zip."""

FastBackend = TensorBackend(FastOps)
"""The compiled backend."""

DEVICES["cpu"] = DEVICES["fast"] = lambda: FastBackend
