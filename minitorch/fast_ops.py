"""Stage 3 - FastOps: the four patterns compiled to machine code that uses every core of the processor.

The functions below return kernels. What the kernels stand on stands in rooms of its own (`loops`, `folds`, `blocked_matmul`, `fast_math`),
which each function imports for itself: in a workspace where a student writes the function, these rooms are not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import prange as prange  # for what students write here, as the names marked so below

from minitorch.compiled import FLAGS, compiler_is_off, jitable, launch
from minitorch.dtypes import same
from minitorch.tensor_backend import DEVICES, TensorBackend, TensorOps
from minitorch.tensor_data import MAX_DIMS as MAX_DIMS
from minitorch.tensor_data import Shape, Storage, Strides, broadcast_index, index_to_position, shape_broadcast, to_index
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
        kernel = ready(tensor_map(callable_from_kernels(fn)))

        def mapped(a: Tensor, out: Tensor | None = None) -> Tensor:
            out = a.zeros() if out is None else out
            kernel(*out.tuple(), *a.tuple())
            return out

        return mapped

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.zip`."""
        kernel = ready(tensor_zip(callable_from_kernels(fn)))

        def zipped(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
            out = a.zeros(shape_broadcast(a.shape, b.shape)) if out is None else out
            kernel(*out.tuple(), *a.tuple(), *b.tuple())
            return out

        return zipped

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[..., Tensor]:
        """See `TensorOps.reduce`; of the reference, dim may also be a tuple of dimensions, which are folded in one pass."""
        kernel = ready(tensor_reduce(callable_from_kernels(fn)))

        def reduced(a: Tensor, dim: int | tuple[int, ...], out: Tensor | None = None) -> Tensor:
            if out is None:
                dims = dim if isinstance(dim, tuple) else (dim,)
                out = a.zeros([1 if i in dims else size for i, size in enumerate(a.shape)])
            out._tensor.array()[...] = start  # a fold begins with what stands in out
            kernel(*out.tuple(), *a.tuple(), dim)
            return out

        return reduced

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """See `TensorOps.matrix_multiply`."""
        batch = shape_broadcast(a.shape[:-2], b.shape[:-2])
        out = a.zeros((*batch, a.shape[-2], b.shape[-1]), dtype=same(a.dtype, b.dtype))
        ready(tensor_matrix_multiply)(*out.tuple(), *a.tuple(), *b.tuple())
        return out


def callable_from_kernels(fn: Callable[..., float]) -> Callable[..., float]:
    """fn, made known to the compiler; with the compiler off (NUMBA_DISABLE_JIT=1), answering at a pole as compiled code does."""
    return ieee(fn) if compiler_is_off() else jitable(fn)


def ready(kernel: Callable[..., None]) -> Callable[..., None]:
    """A kernel as it is called with tensors' tuples.

    Those of the reference are taken as they are. A function compiled by numba is given shapes and strides as arrays, since it would be
    compiled again for tuples of every length, and runs alone: see `launch`.
    """
    takes_tuples = getattr(kernel, "takes_tuples", False)
    if takes_tuples and not compiler_is_off():
        return kernel

    def launched(*operands: Any) -> None:
        if not takes_tuples:
            operands = tuple(np.array(x, np.int32) if isinstance(x, tuple) else x for x in operands)
        with np.errstate(all="ignore"):  # with the compiler off, NumPy's numbers warn
            launch(kernel, *operands)

    return launched


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
    from minitorch.fast_math import INSTEAD
    from minitorch.loops import Map

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
    from minitorch.fast_math import INSTEAD
    from minitorch.loops import Zip

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
    from minitorch.folds import Fold

    return Fold(fn)


def matrix_multiply_kernel() -> ZipKernel:
    """The compiled kernel of the matrix product over the last two dimensions, in parallel; the dimensions before them broadcast.

    * The outer loop is a `prange`; nothing is written to memory but one number for every element of out.
    * No index buffers: positions are worked out from strides, with a stride of 0 where a batch of size 1 serves all others.

    Returns:
        `njit(_tensor_matrix_multiply, parallel=True)` of a function _tensor_matrix_multiply(out, out_shape, out_strides, a_storage,
        a_shape, a_strides, b_storage, b_shape, b_strides).
    """
    from minitorch.blocked_matmul import Product

    return Product()


class Later:
    """A kernel that is made when it is first used.

    Args:
        make: What returns it.
    """

    def __init__(self, make: Callable[[], Callable[..., None]]) -> None:
        self._make = make
        self._kernel: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._kernel is None:
            self._kernel = self._make()
        return getattr(self._kernel, name)

    def __call__(self, *operands: Any) -> None:
        """Call the kernel."""
        if self._kernel is None:
            self._kernel = self._make()
        self._kernel(*operands)


tensor_matrix_multiply: Any = Later(matrix_multiply_kernel)
"""The kernel of the matrix product, called like that of a zip."""

FastBackend = TensorBackend(FastOps)
"""The compiled backend."""

DEVICES["cpu"] = DEVICES["fast"] = lambda: FastBackend
