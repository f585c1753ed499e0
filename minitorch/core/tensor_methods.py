"""Stage 2 - What a Tensor can do beyond the course: its further operators, functions, reductions and layouts."""

# self is the Tensor that inherits these methods:
# pyright: reportGeneralTypeIssues=false

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from minitorch.core import backend as tensor_backend
from minitorch.core.backend import resolve_backend
from minitorch.core.context import grad_mode
from minitorch.core.dtypes import as_dtype, bool_, float32, is_float, is_half
from minitorch.core.indexing import as_index, basic_view, is_element, write
from minitorch.core.layout_functions import Cast, Expand, Move, Select
from minitorch.core.math_functions import LE, NE, Abs, Clip, Cos, CumSum, MaxMin, Pow, Prod, Sin, Sqrt, Tanh, Where, extreme
from minitorch.tensor_data import IndexingError, as_shape
from minitorch.tensor_functions import Add, All, Copy, Inv, MatMul, Mul, Neg, Permute, Sum

if TYPE_CHECKING:
    from minitorch.tensor import Tensor, TensorLike

Dims = int | Sequence[int] | None
"""The dimensions that a reduction folds: one, several, or None for all. Negative ones count from the end."""


Method = TypeVar("Method", bound=Callable[..., Any])


def in_float32(method: Method) -> Method:
    """A method of Tensor that is given halves as float32, and its result rounded once."""

    @wraps(method)
    def computed(x: Tensor, *args: Any, **options: Any) -> Tensor:
        if tensor_backend.halves is None or not is_half(x.dtype):
            return method(x, *args, **options)
        return method(x.to(float32), *args, **options).to(x.dtype)

    return cast("Method", computed)


class TensorMethods:
    """The methods of Tensor that no task asks for. A reduction keeps the dimensions that it folds with size 1, unless keepdim is False."""

    __slots__ = ()

    # Operators

    def __truediv__(self: Tensor, b: TensorLike) -> Tensor:
        """self · (1 / b), as the course has it: it may differ from the quotient in the last digit. Of halves the quotient itself."""
        return _divided(self, self._ensure_tensor(b))

    def __rtruediv__(self: Tensor, b: TensorLike) -> Tensor:
        return _divided(self._ensure_tensor(b), self)

    def __rsub__(self: Tensor, b: TensorLike) -> Tensor:
        left = self._ensure_tensor(b)
        return Add.apply(left, Neg.apply(left._ensure_tensor(self)))

    def __pow__(self: Tensor, b: TensorLike) -> Tensor:
        return Pow.apply(self, self._ensure_tensor(b))

    def __rpow__(self: Tensor, b: TensorLike) -> Tensor:
        return Pow.apply(self._ensure_tensor(b), self)

    def __abs__(self: Tensor) -> Tensor:
        return Abs.apply(self)

    def __matmul__(self: Tensor, b: Tensor) -> Tensor:
        """The matrix product over the last two dimensions; a one-dimensional operand is a row on the left, a column on the right."""
        if not hasattr(b, "_tensor"):
            raise TypeError(f"matmul expected a Tensor, got {type(b).__name__}; make one with tensor(...)")
        left = self.unsqueeze(0) if self.dims == 1 else self
        right = b.unsqueeze(1) if b.dims == 1 else b
        out = MatMul.apply(left, right)
        out = out.squeeze(-1) if b.dims == 1 else out
        return out.squeeze(-1 if b.dims == 1 else -2) if self.dims == 1 else out

    def __le__(self: Tensor, b: TensorLike) -> Tensor:
        return LE.apply(self, self._ensure_tensor(b))

    def __ge__(self: Tensor, b: TensorLike) -> Tensor:
        return LE.apply(self._ensure_tensor(b), self)

    def __ne__(self: Tensor, b: TensorLike) -> Tensor:  # type: ignore[override]  # element by element
        return NE.apply(self, self._ensure_tensor(b))

    def __invert__(self: Tensor) -> Tensor:
        return self._mask("~") == 0

    def __and__(self: Tensor, b: Tensor) -> Tensor:
        return self._mask("&") * self._ensure_tensor(b)._mask("&")

    def __or__(self: Tensor, b: Tensor) -> Tensor:
        return self._mask("|") + self._ensure_tensor(b)._mask("|")

    def _mask(self: Tensor, sign: str) -> Tensor:
        """Itself if it holds truth values."""
        if self.dtype != bool_:
            raise TypeError(f"{sign} expected truth values, got {self.dtype.name}; compare first, such as x > 0")
        return self

    # Element by element

    def abs(self: Tensor) -> Tensor:
        """|self|."""
        return Abs.apply(self)

    def sqrt(self: Tensor) -> Tensor:
        """Square root; NaN below 0."""
        return Sqrt.apply(self)

    def tanh(self: Tensor) -> Tensor:
        """Hyperbolic tangent."""
        return Tanh.apply(self)

    def sin(self: Tensor) -> Tensor:
        """Sine, in radians."""
        return Sin.apply(self)

    def cos(self: Tensor) -> Tensor:
        """Cosine, in radians."""
        return Cos.apply(self)

    def clip(self: Tensor, low: float | None = None, high: float | None = None) -> Tensor:
        """Every element, but no less than low and no more than high."""
        return Clip.apply(self, _bound(self, low, -1), _bound(self, high, 1))

    def where(self: Tensor, condition: Tensor, other: TensorLike) -> Tensor:
        """Every element where the condition holds, else that of other; all three broadcast.

        Raises:
            TypeError: If the condition is no Tensor.
        """
        if not hasattr(condition, "_tensor"):
            raise TypeError(f"where expected a Tensor as condition, got {type(condition).__name__}; compare tensors, such as x > 0")
        return Where.apply(condition, self, self._ensure_tensor(other))

    # Reductions

    @in_float32
    def var(self: Tensor, dim: Dims = None, keepdim: bool = True, correction: float = 1) -> Tensor:
        """Mean squared distance from the mean, over n - correction elements: 1 for a sample, 0 for a whole population."""
        centred = self - self.mean(dim, keepdim=dim is not None)
        return (centred * centred).sum(dim, keepdim) / max(0.0, self._count(dim) - correction)

    @in_float32
    def std(self: Tensor, dim: Dims = None, keepdim: bool = True, correction: float = 1) -> Tensor:
        """Square root of `var`."""
        return self.var(dim, keepdim, correction).sqrt()

    def prod(self: Tensor, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """Product of the elements; 1 for none."""
        return self._reduced(Prod.apply, dim, keepdim)

    def any(self: Tensor, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """Whether any element is true (not 0), as bool."""
        return (self != 0).sum(dim, keepdim) > 0

    def max(self: Tensor, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """The largest element, NaN if there is one. The gradient flows to the first of several."""
        return self._reduced(lambda a, d: MaxMin.apply(a, d, True), dim, keepdim)

    def min(self: Tensor, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """The smallest element, NaN if there is one. The gradient flows to the first of several."""
        return self._reduced(lambda a, d: MaxMin.apply(a, d, False), dim, keepdim)

    def argmax(self: Tensor, dim: int | None = None, keepdim: bool = True) -> Tensor:
        """The number of the largest element along dim, or in the whole tensor, as int64; the first of several."""
        return self.detach()._reduced(lambda a, d: extreme(a, d, largest=True)[0], _one(dim), keepdim)

    def argmin(self: Tensor, dim: int | None = None, keepdim: bool = True) -> Tensor:
        """The number of the smallest element along dim, or in the whole tensor, as int64; the first of several."""
        return self.detach()._reduced(lambda a, d: extreme(a, d, largest=False)[0], _one(dim), keepdim)

    @in_float32
    def cumsum(self: Tensor, dim: int) -> Tensor:
        """Running sum along dim."""
        return CumSum.apply(self, self._dim(dim))

    def _reduced(self: Tensor, fold: Callable[[Tensor, Any], Tensor], dim: Dims, keepdim: bool) -> Tensor:
        """Fold dimensions away one after the other.

        Args:
            fold: Folds one dimension of a tensor and keeps it with size 1, such as `Sum.apply`; that one folds several on some backends.
            dim: Which; None for all, as one row: the result has shape (1,), or () without keepdim.
            keepdim: Whether they stay, with size 1.

        Raises:
            ValueError: If dim is an empty sequence.
        """
        if dim is None:
            out = fold(self if self.dims == 1 else self.reshape(self.size), 0)
            return out if keepdim else out.squeeze(0)
        dims = self._dims_of(dim)
        if not dims:
            raise ValueError(f"a reduction expected at least one dimension, got {dim!r}; dim=None folds all of them")
        if len(dims) > 1 and is_half(self.dtype):  # rounded once, not after every dimension
            folded = self.to(float32)._reduced(fold, dims, keepdim)
            return folded.to(self.dtype) if folded.dtype is float32 else folded
        out = self
        if len(dims) > 1 and fold in (Sum.apply, All.apply) and self.backend.folds_several:
            out = fold(out, dims)
        else:
            for d in sorted(dims, reverse=True):  # the last one first: of equal elements max then finds the one that stands first
                out = fold(out, d)
        return out if keepdim else out.squeeze(dims)

    def _count(self: Tensor, dim: Dims) -> int:
        """How many elements a reduction folds into one."""
        return self.size if dim is None else math.prod(self.shape[d] for d in self._dims_of(dim))

    # Layout

    def reshape(self: Tensor, *shape: Any) -> Tensor:
        """The same elements in the same order with another shape: a view if they lie one after the other, else a copy.

        One size may be -1, which is found from the others.
        """
        return self.contiguous().view(*shape)

    def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
        """Two dimensions exchanged: a view."""
        order = list(range(self.dims))
        dim0, dim1 = self._dim(dim0), self._dim(dim1)
        order[dim0], order[dim1] = dim1, dim0
        return Permute.apply(self, tuple(order))

    def t(self: Tensor) -> Tensor:
        """Rows and columns of a matrix exchanged: a view.

        Raises:
            ValueError: If it has more than two dimensions.
        """
        if self.dims > 2:
            raise ValueError(f"t expected at most 2 dimensions, got shape {self.shape}; use transpose or permute")
        return self.permute(*reversed(range(self.dims)))

    def flip(self: Tensor, *dims: Any) -> Tensor:
        """Turned round along these dimensions, or along all: a copy, for strides are never negative."""
        turned = self._dims_of(dims[0] if len(dims) == 1 else dims) if dims else range(self.dims)
        return self[tuple(slice(None, None, -1 if d in turned else 1) for d in range(self.dims))] if self.dims else self.clone()

    def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """The dimensions from start_dim to end_dim made one."""
        if not self.dims:
            return self.reshape(1)
        start, end = self._dim(start_dim), self._dim(end_dim)
        if start > end:
            raise ValueError(f"flatten expected start_dim before end_dim, got {start_dim} and {end_dim} for shape {self.shape}")
        return self.reshape(*self.shape[:start], math.prod(self.shape[start : end + 1]), *self.shape[end + 1 :])

    def squeeze(self: Tensor, dim: Dims = None) -> Tensor:
        """Without its dimensions of size 1, or without these where they have size 1: a view."""
        dims = range(self.dims) if dim is None else self._dims_of(dim)
        gone = {d for d in dims if self.shape[d] == 1}
        return Select.apply(self, tuple(0 if d in gone else slice(None) for d in range(self.dims)))

    def unsqueeze(self: Tensor, dim: int) -> Tensor:
        """With a new dimension of size 1 that becomes number dim: a view."""
        if not -self.dims - 1 <= dim <= self.dims:
            raise IndexingError(f"unsqueeze expected dim from {-self.dims - 1} to {self.dims} for shape {self.shape}, got {dim}")
        return Select.apply(self, (*[slice(None)] * (dim % (self.dims + 1)), None, ...))

    def expand(self: Tensor, *shape: Any) -> Tensor:
        """Repeated along its dimensions of size 1, and along new ones in front, without a copy: a view. A size of -1 stays as it is."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list, Sequence)) else shape
        if -1 in sizes:
            own = (-1,) * (len(sizes) - self.dims) + self.shape
            sizes = [own[i] if size == -1 else size for i, size in enumerate(sizes)]
        return Expand.apply(self, as_shape(sizes, "expand"))

    def split(self: Tensor, size: int | Sequence[int], dim: int = 0) -> list[Tensor]:
        """Cut along dim into pieces of a size, the last one perhaps smaller, or of several given sizes: views."""
        dim = self._dim(dim)
        length = self.shape[dim]
        if not isinstance(size, Sequence):
            if size < 1:
                raise ValueError(f"split expected a size of at least 1, got {size}")
            size = [min(size, length - start) for start in range(0, max(length, 1), size)]
        if sum(size) != length or min(size, default=0) < 0:
            raise ValueError(f"split expected sizes that sum to {length}, dimension {dim} of shape {self.shape}, got {list(size)}")
        ends = list(accumulate(size))
        before = (slice(None),) * dim
        return [Select.apply(self, (*before, slice(end - n, end))) for n, end in zip(size, ends, strict=True)]

    def contiguous(self: Tensor) -> Tensor:
        """The same elements lying one after the other: itself if they do, else a copy."""
        return self if self.is_contiguous() else Copy.apply(self)

    def clone(self: Tensor) -> Tensor:
        """A copy in a storage of its own; gradients flow back through it."""
        return Copy.apply(self)

    def to(self: Tensor, *targets: Any, device: Any = None, dtype: Any = None) -> Tensor:
        """As another dtype, or on another device: "cpu", "cuda", "cuda:0", "simple" or a TensorBackend. Itself if it is that already.

        Gradients flow back through it.
        """
        out = self
        for target in (*targets, device, dtype):
            if (backend := resolve_backend(target)) is not None:
                out = out if backend.ops is out.backend.ops else Move.apply(out, backend)
            elif target is not None and as_dtype(target) != out.dtype:
                out = Cast.apply(out, as_dtype(target))
        return out

    # Elements

    def __getitem__(self: Tensor, index: Any) -> Any:
        """What the index picks: an integer for every dimension gives a Python number, which no gradient flows through.

        Integers, slices, None and ... give a view; lists, masks and slices with a negative step a copy.
        """
        index = as_index(index)
        if is_element(index, self.dims):
            return basic_view(self._tensor, index).array().item()
        return Select.apply(self, index)

    def __setitem__(self: Tensor, index: Any, value: Any) -> None:
        """Write into the storage, and so into every view that shares it.

        Raises:
            RuntimeError: If this tensor or the value records gradients, which would be lost.
            TypeError: If the dtype cannot hold the value.
        """
        if grad_mode.enabled and (self.history is not None or getattr(value, "history", None) is not None):
            which = "this tensor" if self.history is not None else "the value"
            raise RuntimeError(f"assignment would lose the gradients that {which} records; use where or cat, or write inside no_grad()")
        write(self._tensor, as_index(index), value)

    def __len__(self: Tensor) -> int:
        if not self.dims:
            raise TypeError("a tensor of no dimensions has no length")
        return self.shape[0]

    def __iter__(self: Tensor) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


def _divided(a: Tensor, b: Tensor) -> Tensor:
    """a · (1 / b), or the quotient of halves."""
    halves = tensor_backend.halves
    return Mul.apply(a, Inv.apply(b)) if halves is None or not halves.among(a, b) else halves.quotient(a, b)


def _one(dim: Any) -> int | None:
    """One dimension, or None."""
    if isinstance(dim, Sequence):
        raise TypeError(f"argmax and argmin expected one dimension or None, got {dim!r}")
    return dim


def _bound(a: Tensor, bound: Any, sign: int) -> Tensor:
    """The lower (sign -1) or upper (1) bound of clip; for None one that no element of a passes."""
    if hasattr(bound, "_tensor"):
        raise TypeError("clip expected numbers for low and high, got a Tensor; use where(x < low, low, x)")
    if bound is None and a.dtype.kind in "iu":
        bound = np.iinfo(a.dtype).max if sign > 0 else np.iinfo(a.dtype).min
    elif bound is None:
        bound = sign * math.inf if is_float(a.dtype) else sign > 0
    return a._ensure_tensor(bound)
