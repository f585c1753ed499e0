"""Stage 7 - torch.sparse: matrices of which only the elements other than 0 are stored, for the products of graph networks.

A SparseTensor is two tensors, where the elements are and what they are. Gradients flow to its values and to the dense factor.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import float32, float64, int64
from minitorch.core.errors import ArgumentError
from minitorch.torch import creation, shapes
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.places import Size
from minitorch.torch.tensor import Tensor, as_torch

__all__ = ["DoubleTensor", "FloatTensor", "SparseTensor", "mm", "sum"]


class SparseTensor:
    """A tensor in coordinate form; made by `sparse_coo_tensor` or `x.to_sparse()`.

    Args:
        indices: Where the elements are, int64 of shape (dims, count); values with equal indices are added.
        values: The elements, shape (count, ...): further dimensions are dense.
        size: The shape.
        is_coalesced: Whether the indices are sorted, and none occurs twice.

    Raises:
        RuntimeError: If indices, values and size do not fit.
    """

    is_sparse = True
    layout = "torch.sparse_coo"

    def __init__(self, indices: Tensor, values: Tensor, size: Sequence[int], is_coalesced: bool = False) -> None:
        size = Size(map(int, size))
        if indices.dim() != 2 or not values.dim() or indices.shape[1] != values.shape[0]:
            raise ArgumentError(
                f"a sparse tensor expected indices of shape (dims, count) and values of shape (count, ...), got {tuple(indices.shape)} and "
                f"{tuple(values.shape)}"
            )
        dims, found = indices.shape[0], indices.numpy()
        if len(size) != dims + values.dim() - 1 or size[dims:] != values.shape[1:]:
            raise ArgumentError(
                f"a sparse tensor expected a size of {dims} dimensions and {tuple(values.shape[1:])} behind them, got {tuple(size)}"
            )
        if found.size and ((found < 0) | (found >= np.array(size[:dims]).reshape(-1, 1))).any():
            raise ArgumentError(f"a sparse tensor of size {tuple(size)} expected indices inside of it, got {found.max(1).tolist()} at most")
        self._at, self._of, self.shape, self._coalesced = indices, values, size, is_coalesced

    dtype = property(lambda self: self._of.dtype, doc="The dtype of the values.")
    device = property(lambda self: self._of.device, doc="Where the values lie.")
    requires_grad = property(lambda self: self._of.requires_grad, doc="Whether gradients flow into the values.")
    is_cuda = property(lambda self: self._of.is_cuda, doc="Whether the values lie on a GPU.")

    def size(self, dim: int | None = None) -> Any:
        """The size of every dimension, or of one."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    ndim = property(dim)

    def numel(self) -> int:
        """Number of elements, with those that are 0."""
        return self.shape.numel()

    def sparse_dim(self) -> int:
        """Number of dimensions that have indices."""
        return self._at.shape[0]

    def dense_dim(self) -> int:
        """Number of dimensions of each value."""
        return self._of.dim() - 1

    def _nnz(self) -> int:
        return self._of.shape[0]

    def _indices(self) -> Tensor:
        return self._at

    def _values(self) -> Tensor:
        return self._of

    def is_coalesced(self) -> bool:
        """Whether the places are sorted, and none is there twice."""
        return self._coalesced

    def indices(self) -> Tensor:
        """Where the elements are, shape (dims, count).

        Raises:
            RuntimeError: If the tensor is not coalesced.
        """
        return self._of_coalesced("indices", self._at)

    def values(self) -> Tensor:
        """The elements, shape (count, ...); errors as for `indices`."""
        return self._of_coalesced("values", self._of)

    def _of_coalesced(self, name: str, x: Tensor) -> Tensor:
        if not self._coalesced:
            raise RuntimeError(f"{name}() expected a coalesced sparse tensor; call x.coalesce().{name}()")
        return x

    def coalesce(self) -> SparseTensor:
        """The same tensor with sorted indices, each of which occurs once; values with equal indices are added.

        Example:
            >>> x = torch.sparse_coo_tensor([[0, 2, 2]], [1.0, 2.0, 3.0], (3,)).coalesce()
            >>> x.indices(), x.values()
            (tensor([[0, 2]]), tensor([1., 5.]))
        """
        if self._coalesced:
            return self
        shape = self.shape[: self.sparse_dim()]
        places, inverse = np.unique(np.ravel_multi_index(tuple(self._at.numpy()), shape) if shape else [], return_inverse=True)
        values = self._of.new_zeros((len(places), *self._of.shape[1:])).index_add(0, like(self, inverse.reshape(-1)), self._of)
        return SparseTensor(like(self, np.stack(np.unravel_index(places, shape))), values, self.shape, True)

    def to_dense(self) -> Tensor:
        """A tensor with all elements."""
        shape = self.shape[: self.sparse_dim()]
        places = np.ravel_multi_index(tuple(self._at.numpy()), shape)
        flat = self._of.new_zeros((math.prod(shape), *self._of.shape[1:]))
        return flat.index_add(0, like(self, places), self._of).reshape(self.shape)

    def to_sparse(self) -> SparseTensor:
        """The tensor itself."""
        return self

    def t(self) -> SparseTensor:
        """The transposed matrix."""
        self._require_matrix("t")
        return SparseTensor(self._at.flip(0), self._of, self.shape[::-1])

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """The transposed matrix, if the dimensions differ."""
        return self.t() if dim0 % 2 != dim1 % 2 else self

    T = property(t)

    def _require_matrix(self, name: str) -> None:
        if self.dim() != 2 or self.sparse_dim() != 2:
            raise ArgumentError(f"{name} expected a sparse matrix, got size {tuple(self.shape)}; convert it with x.to_dense()")

    def matmul(self, other: Tensor) -> Tensor:
        """The product with a dense matrix or vector.

        Raises:
            RuntimeError: If the sizes or dtypes do not fit.
            TypeError: If other is not a Tensor.
        """
        self._require_matrix("matmul")
        if not isinstance(other, Tensor):
            raise TypeError(f"matmul of a sparse matrix expected a Tensor, got {type(other).__name__}; convert it with x.to_dense()")
        if other.dim() not in (1, 2) or other.shape[0] != self.shape[1] or other.dtype is not self.dtype:
            raise ArgumentError(
                f"matmul expected a matrix or vector of {self.shape[1]} rows in {self.dtype.name}, got shape {tuple(other.shape)} of "
                f"{other.dtype.name}"
            )
        rows, columns = self._at[0], self._at[1]
        chosen = other.index_select(0, columns)
        weighted = (self._of.unsqueeze(1) if other.dim() == 2 else self._of) * chosen
        return other.new_zeros((self.shape[0], *other.shape[1:])).index_add(0, rows, weighted)

    mm = __matmul__ = matmul

    def __rmatmul__(self, other: Tensor) -> Tensor:
        """The product of a dense matrix or vector and this matrix, dense."""
        self._require_matrix("matmul")
        return self.t().matmul(other.t() if other.dim() == 2 else other).t()

    def __radd__(self, other: Any) -> Tensor:
        """The sum of a dense tensor of the same size and this one, dense."""
        if not isinstance(other, Tensor) or other.shape != self.shape:
            given = getattr(other, "shape", other)
            raise TypeError(f"a sum with a sparse tensor expected a Tensor of size {tuple(self.shape)}, got {given}; expand it first")
        return other + self.to_dense()

    def __rsub__(self, other: Any) -> Tensor:
        return self._map(lambda values: -values).__radd__(other)

    def __add__(self, other: Any) -> SparseTensor:
        """The sum of two sparse tensors, coalesced."""
        if not isinstance(other, SparseTensor):
            raise TypeError(f"a sum of a sparse tensor expected a sparse one, got {type(other).__name__}; convert it with x.to_dense()")
        if other.shape != self.shape or other.sparse_dim() != self.sparse_dim():
            raise ArgumentError(
                f"a sum of sparse tensors expected the size {tuple(self.shape)}, got {tuple(other.shape)}; add x.to_dense()"
            )
        at, of = shapes.cat((self._at, other._at), 1), shapes.cat((self._of, other._of), 0)
        return SparseTensor(as_torch(at), as_torch(of), self.shape).coalesce()

    def __sub__(self, other: Any) -> SparseTensor:
        return self + (-other)

    def sum(self, dim: Any = None) -> Any:
        """The sum of all elements, or along dimensions; see `minitorch.torch.sparse.sum`."""
        return sum(self, dim)

    def _map(self, fn: Callable[[Tensor], Tensor]) -> SparseTensor:
        return SparseTensor(self._at, fn(self._of), self.shape, self._coalesced)

    def __mul__(self, other: Any) -> SparseTensor:
        if not isinstance(other, (int, float)):
            raise TypeError(f"a product of a sparse tensor expected a number, got {type(other).__name__}; convert it with x.to_dense()")
        return self._map(lambda values: values * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self * (1 / other)

    def __neg__(self) -> SparseTensor:
        return self._map(lambda values: -values)

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """The tensor in another dtype, or on another device."""
        made = self._map(lambda values: values.to(*args, **kwargs))
        made._at = self._at.to(made.device)
        return made

    def cpu(self) -> SparseTensor:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self) -> SparseTensor:
        """On the GPU."""
        return self.to("cuda")

    def float(self) -> SparseTensor:
        """In float32."""
        return self.to(float32)

    def double(self) -> SparseTensor:
        """In float64."""
        return self.to(float64)

    def detach(self) -> SparseTensor:
        """Without gradients."""
        return self._map(lambda values: values.detach())

    def __repr__(self) -> str:
        return f"tensor(indices={self._at!r}, values={self._of!r}, size={tuple(self.shape)}, nnz={self._nnz()}, layout={self.layout})"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a sparse tensor has no {name} in minitorch; convert it first: x.to_dense().{name}")


for _name in ("pow", "getitem", "setitem", "len", "iter", "bool", "rtruediv"):

    def _refuse(self: SparseTensor, *args: Any, _name: str = f"__{_name}__") -> Any:
        raise TypeError(f"a sparse tensor has no {_name} in minitorch; convert it first: x.to_dense()")

    setattr(SparseTensor, f"__{_name}__", _refuse)


def like(x: SparseTensor, places: Any) -> Tensor:
    """Indices as int64 on the device of a sparse tensor."""
    return as_torch(creation.tensor(np.asarray(places, int64), dtype=int64, device=x.device))


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool = False,
) -> SparseTensor:
    """A sparse tensor in coordinate form.

    Args:
        indices: Where the elements are, shape (dims, count).
        values: The elements, shape (count, ...).
        size: The shape; by default the smallest one that has room for them.
        dtype: The dtype of the values.
        device: Where they lie.
        requires_grad: False; let the values require gradients.
        check_invariants: Ignored: indices, values and size are always checked.
        is_coalesced: Whether the places are sorted, and none is there twice.

    Raises:
        RuntimeError: If indices, values and size do not fit.
        NotImplementedError: If requires_grad is set.

    Example:
        >>> torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
    """
    if requires_grad:
        raise NotImplementedError("a sparse tensor is no leaf in minitorch; let the values require gradients: values.requires_grad_()")
    values = as_torch(creation.as_tensor(values, dtype=dtype, device=device))
    indices = as_torch(creation.as_tensor(indices, device=values.device)).detach().to(int64)
    if size is None:
        found = indices.numpy()
        size = (*(found.max(1) + 1 if found.size else np.zeros(len(found), int)), *values.shape[1:])
    return SparseTensor(indices, values, size, is_coalesced)


def to_sparse(x: Tensor) -> SparseTensor:
    """The elements of a tensor other than 0."""
    places = x.detach().nonzero()
    return SparseTensor(places.T.contiguous(), x[tuple(places.unbind(1))], x.shape, True)


def FloatTensor(indices: Any, values: Any, size: Sequence[int] | None = None) -> SparseTensor:
    """`sparse_coo_tensor` in float32."""
    return sparse_coo_tensor(indices, values, size, dtype=float32)


def DoubleTensor(indices: Any, values: Any, size: Sequence[int] | None = None) -> SparseTensor:
    """`sparse_coo_tensor` in float64."""
    return sparse_coo_tensor(indices, values, size, dtype=float64)


def mm(mat1: Any, mat2: Any) -> Tensor:
    """The product of a sparse matrix, or a dense one, and a dense matrix."""
    return mat1 @ mat2


spmm = mm


def sum(input: SparseTensor, dim: Any = None) -> Any:
    """The sum of all elements; along some dimensions a sparse tensor, along all of them a tensor."""
    if dim is None:
        return input._of.sum()
    dims = {each % input.dim() for each in ((dim,) if isinstance(dim, int) else dim)}
    sparse = [i for i in range(input.sparse_dim()) if i not in dims]
    dense = [i - input.sparse_dim() + 1 for i in sorted(dims) if i >= input.sparse_dim()]
    values = input._of.sum(tuple(dense)) if dense else input._of
    if not sparse:
        return values.sum(0)
    size = [size for i, size in enumerate(input.shape) if i not in dims]
    return SparseTensor(input._at[sparse], values, size).coalesce()


def either(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors that calls the method of a sparse first argument, and multiplies with a sparse second one."""

    @functools.wraps(fn)
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], SparseTensor) and not isinstance(input, SparseTensor):
            return input @ args[0]
        return getattr(input, fn.__name__)(*args, **kwargs) if isinstance(input, SparseTensor) else fn(input, *args, **kwargs)

    return function


__getattr__ = _refuse_absent("torch.sparse", [name for name in __all__ if name != "SparseTensor"])
