"""Stage 7 - Reductions with PyTorch's dimensions and dtypes, on tensors of the engine: dimensions are dropped unless keepdim is set."""

from __future__ import annotations

import builtins
import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.core.creation import cat
from minitorch.core.dtypes import as_dtype, bool_, float32, float64, int64, is_float, uint8
from minitorch.core.errors import ArgumentError, DtypeError, EmptyError
from minitorch.core.math_functions import NE
from minitorch.ops.reductions import Chosen
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.torch import arithmetic, pointwise
from minitorch.torch.promotion import cast, require_floats, require_numbers

Dims = int | Sequence[int] | None


Extreme = namedtuple("Extreme", "values indices")
"""The result of max, min, sort and others along a dimension."""


def scalar_dims(x: Tensor, dim: Any) -> bool:
    """Whether a tensor has no dimensions; then 0 and -1 stand for the missing one.

    Raises:
        IndexingError: If another one is named, or both are.
    """
    if not x.dims and dim is not None:
        x.view(1)._normalize_dims(dim)
    return not x.dims


def reduced(x: Tensor, name: str, dim: Dims, keepdim: bool) -> Tensor:
    """A method of the engine's tensor along dimensions; None and () stand for all."""
    if not x._tensor.shape:
        scalar_dims(x, dim)
        return getattr(Tensor, name)(x.view(1), None, keepdim=False)
    if dim is None or (type(dim) is not int and isinstance(dim, Sequence) and not dim):
        out = getattr(Tensor, name)(x, None, keepdim=False)
        return out.view(*[1] * x.dims) if keepdim else out
    return getattr(Tensor, name)(x, dim, keepdim=keepdim)


def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum, in dtype; without one, of integers and bools as int64.

    Example:
        >>> x = torch.tensor([[1, 2, 3], [4, 5, 6]])
        >>> torch.sum(x, 0)
        tensor([5, 7, 9])
        >>> torch.sum(x, 1, keepdim=True)
        tensor([[ 6],
                [15]])
    """
    return computed_in(dtype, input, reduced, "sum", dim, keepdim)


def computed_in(dtype: Any, x: Tensor, reduction: Callable[..., Tensor], *args: Any) -> Tensor:
    """A reduction of a tensor that is converted to a dtype first, in this dtype."""
    return reduction(x, *args) if dtype is None else cast(reduction(cast(x, as_dtype(dtype)), *args), as_dtype(dtype))


def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean.

    Raises:
        TypeError: If they are integers or bools.

    Example:
        >>> torch.mean(torch.tensor([[1.0, 3.0], [5.0, 7.0]]), dim=1)
        tensor([2., 6.])
    """
    return reduced(require_floats("mean", input if dtype is None else cast(input, as_dtype(dtype))), "mean", dim, keepdim)


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Product, in dtype; without one, of integers and bools as int64."""
    return computed_in(dtype, input, reduced, "prod", dim, keepdim)


def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether all elements differ from 0, as bool, or uint8 for such; along no dimensions whether each does.

    Example:
        >>> torch.all(torch.tensor([[1, 0], [2, 3]]), dim=1)
        tensor([False,  True])
    """
    return _truth(input, "all", dim, keepdim)


def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether some element differs from 0, as bool, or uint8 for such; along no dimensions whether each does.

    Example:
        >>> torch.any(torch.tensor([[1, 0], [2, 0]]), dim=0)
        tensor([ True, False])
    """
    return _truth(input, "any", dim, keepdim)


def _truth(input: Tensor, name: str, dim: Dims, keepdim: bool) -> Tensor:
    x = arithmetic.as_bool(input)
    found = x if isinstance(dim, (tuple, list)) and not dim else reduced(x, name, dim, keepdim)
    return cast(found, uint8 if input.dtype is uint8 else bool_)


def var(input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None) -> Tensor:
    """Variance: the sum of squared deviations from the mean, divided by n - correction; 1 by default, 0 without unbiased.

    Raises:
        TypeError: If they are integers or bools.

    Example:
        >>> torch.var(torch.tensor([1.0, 2.0, 3.0]))
        tensor(1.)
        >>> torch.var(torch.tensor([1.0, 2.0, 3.0]), correction=0)
        tensor(0.6667)
    """
    require_floats("var and std", input)
    by = float(unbiased) if correction is None else correction
    if scalar_dims(input, dim) or dim is None or (isinstance(dim, Sequence) and not dim):
        out = Tensor.var(input if input.dims else input.view(1), None, False, by)
        return out.view(*[1] * input.dims) if keepdim else out
    return Tensor.var(input, dim, keepdim, by)


def std(input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None) -> Tensor:
    """Standard deviation, the square root of `var`. Where all elements are equal, the gradient is 0."""
    return _root(var(input, dim, unbiased, keepdim, correction=correction), 2)


def var_mean(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Tensor, Tensor]:
    """`var` and `mean`.

    Example:
        >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))
    """
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


def amax(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The largest element. Equal ones share its gradient; if it is NaN, the gradient of each element is.

    Example:
        >>> torch.amax(torch.tensor([[1, 5], [7, 2]]), dim=(0, 1))
        tensor(7)
    """
    return _extremum(input, dim, keepdim, True)


def amin(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The smallest element. Equal ones share its gradient; if it is NaN, the gradient of each element is."""
    return _extremum(input, dim, keepdim, False)


def _extremum(input: Tensor, dim: Dims, keepdim: bool, largest: bool, nan_shares: bool = False) -> Tensor:
    is_scalar = scalar_dims(input, dim)
    x = require_elements(input.view(1) if is_scalar else input, dim)
    every = dim is None or is_scalar or (isinstance(dim, Sequence) and not dim)
    dims = tuple(range(x.dims)) if dim is None or every else x._normalize_dims(dim)
    out = Chosen.apply(x, (Tensor.max if largest else Tensor.min)(x.detach(), dims), dims, nan_shares)
    return out.view() if is_scalar else out if keepdim else out.squeeze(dims)


def require_elements(x: Tensor, dim: Dims) -> Tensor:
    """A tensor itself. Raises EmptyError if there are no elements along dim, or at all if it is None."""
    if not x.numel():
        dims = range(x.dims) if dim is None or dim == () else x._normalize_dims(dim)
        if builtins.any(not x.shape[each] for each in dims):
            where = "a dimension" if dim is None else f"dimension {dim}"
            raise EmptyError(f"max and min expected at least one element along {where}, got shape {tuple(x.shape)}")
    return x


def max(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The largest element; with dim the values and their indices along it; with a second tensor the larger of both.

    Equal elements share the gradient of the largest of all; along dim the first one receives it; of two tensors each half of it.

    Example:
        >>> values, indices = torch.max(torch.tensor([[1, 5], [7, 2]]), dim=1)
        >>> values, indices
        (tensor([5, 7]), tensor([1, 0]))
    """
    return _extreme(input, dim, keepdim, other, True)


def min(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The smallest element; with dim the values and their indices along it; with a second tensor the smaller of both.

    Equal elements share the gradient of the smallest of all; along dim the first one receives it; of two tensors each half of it.
    """
    return _extreme(input, dim, keepdim, other, False)


def shared_among_equal(input: Tensor, chosen: Tensor) -> Tensor:
    """An element, given as a constant without dimensions; all that equal it, of NaN all that are NaN, share its gradient."""
    x = input if input.dims else input.view(1)
    return Chosen.apply(x, chosen.view(*[1] * x.dims), tuple(range(x.dims)), True).view()


def _extreme(input: Tensor, dim: Any, keepdim: bool, other: Tensor | None, largest: bool) -> Any:
    if isinstance(dim, Tensor):
        if keepdim is not False:
            raise TypeError(f"max and min expected two tensors or a dimension, got both: a tensor and {keepdim!r}")
        dim, other = None, dim
    if other is not None:
        return (arithmetic.maximum if largest else arithmetic.minimum)(input, other)
    if dim is None:
        return _extremum(input, None, False, largest, nan_shares=True)
    values = reduced(require_elements(input, dim), "max" if largest else "min", dim, keepdim)
    return Extreme(values, reduced(input, "argmax" if largest else "argmin", dim, keepdim))


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element along dim, or of the flattened tensor; of equal ones the first.

    Raises:
        TypeError: If it holds bools.

    Example:
        >>> torch.argmax(torch.tensor([[1, 5], [7, 2]]))
        tensor(2)
        >>> torch.argmax(torch.tensor([[1, 5], [7, 2]]), dim=1)
        tensor([1, 0])
    """
    return reduced(require_elements(require_numbers("argmax", input), dim), "argmax", dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element along dim, or of the flattened tensor; of equal ones the first. Errors as for `argmax`.

    Example:
        >>> torch.argmin(torch.tensor([[1, 5], [7, 2]]), dim=1, keepdim=True)
        tensor([[0],
                [1]])
    """
    return reduced(require_elements(require_numbers("argmin", input), dim), "argmin", dim, keepdim)


def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """ln Σ e^input, without overflow.

    Example:
        >>> torch.logsumexp(torch.tensor([1000.0, 0.0]), 0)
        tensor(1000.)
    """
    x = pointwise.as_float(input)
    if not x.numel():
        return sum(x, dim, keepdim) - math.inf
    highest = amax(x.detach(), dim, True)
    highest = arithmetic.masked_fill(highest, pointwise.isinf(highest), 0.0)
    out = pointwise.log(sum(pointwise.exp(x - highest), dim, True)) + highest
    return out if keepdim or not x.dims else out.squeeze(dim) if dim is not None else out.view()


def norm(input: Tensor, p: float | str | None = 2, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The p-norm of all elements, or along dim; 2 and "fro" are √Σx²; ±∞ the largest or smallest |x|; 0 counts what differs from 0.

    The gradient of an element that is 0 is 0. Of equal largest or smallest |x|, each receives a part.

    Raises:
        ValueError: If p is another word.
        TypeError: If they are integers or bools.

    Example:
        >>> torch.norm(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
        >>> torch.norm(torch.tensor([3.0, -4.0]), p=1)
        tensor(7.)
    """
    require_floats("norm", input)
    if isinstance(p, str) and p != "fro":
        raise ArgumentError(f'norm expected a number or "fro", got {p!r}')
    dims = range(input.dims) if dim is None or not input.dims or dim in ((), []) else input._normalize_dims(dim)
    if p != 0 and math.prod([input.shape[each] for each in dims]) == 1:  # a power could overflow
        return sum(pointwise.abs(input), dim, keepdim)
    if p in (None, "fro", 2):
        return _root(sum(input * input, dim, keepdim), 2)
    size = pointwise.abs(input)
    if math.isinf(p):
        return _extremum(size, dim, keepdim, p > 0, nan_shares=True)
    if p == 0:
        return sum(cast(NE.apply(input, input._ensure_tensor(0.0)), input.dtype), dim, keepdim)
    if p == 1:
        return sum(size, dim, keepdim)
    if p < 1 and size.history is not None:  # the derivative of the power is infinite at 0
        size = arithmetic.where(size.detach() == 0, size.detach(), size)
    return _root(sum(arithmetic.pow(size, p), dim, keepdim), p)


def _root(powers: Tensor, p: float) -> Tensor:
    """The p-th root, whose gradient is 0 at 0."""

    def root(x: Tensor) -> Tensor:
        return x.sqrt() if p == 2 else x ** (1.0 / p)

    zero = powers.detach() == 0
    if powers.history is None or p < 0 or not zero._tensor.array().any():
        return root(powers)
    return arithmetic.masked_fill(root(arithmetic.masked_fill(powers, zero, 1.0)), zero, 0.0)


def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sum of the elements up to each one along dim, in dtype; without one, of integers and bools as int64.

    Example:
        >>> torch.cumsum(torch.tensor([[1, 2], [3, 4]]), 0)
        tensor([[1, 2],
                [4, 6]])
    """
    return computed_in(dtype, input, lambda x: Tensor.cumsum(x.view(1), 0).squeeze(0) if scalar_dims(x, dim) else Tensor.cumsum(x, dim))


def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The product of the elements up to each one along dim, in dtype; without one, of integers and bools as int64.

    Example:
        >>> torch.cumprod(torch.tensor([1, 2, 3, 4]), 0)
        tensor([ 1,  2,  6, 24])
    """
    return computed_in(dtype, input, lambda x: _cumprod(x if is_float(x.dtype) else x.to(int64), dim))


def _cumprod(x: Tensor, dim: int) -> Tensor:
    """The product of the elements up to each one."""
    if scalar_dims(x, dim) or not x.shape[x._normalize_dim(dim)]:
        return x.clone()
    out, pieces = None, []
    for piece in x.split(1, dim):
        out = piece if out is None else out * piece
        pieces.append(out)
    return cat(pieces, dim)


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The different elements, or slices along dim, in ascending order; on request where each went, and how often each occurs.

    NaN differs from NaN, but slices with NaN in the same places are equal.

    Example:
        >>> torch.unique(torch.tensor([30, 10, 30, 20]), return_inverse=True)
        (tensor([10, 20, 30]), tensor([2, 0, 2, 1]))
    """
    axis = None if dim is None else input._normalize_dim(dim)
    found, inverse, counts = np.unique(input._tensor.array(), return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    made = [found] + [inverse.reshape(input.shape if dim is None else -1)] * return_inverse + [counts] * return_counts
    out = tuple(input._like(TensorData(np.ascontiguousarray(each).reshape(-1), each.shape)) for each in made)
    return out if len(out) > 1 else out[0]  # type: ignore


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs, or the sum of its weights: in float32 if they are, else in float64.

    Raises:
        ValueError: If a number is negative, there are several dimensions, or the weights have another shape.
        TypeError: If they are not integers.

    Example:
        >>> torch.bincount(torch.tensor([0, 2, 2]))
        tensor([1, 0, 2])
    """
    numbers = input._tensor.array()
    if numbers.dtype.kind not in "iu":
        raise DtypeError(f"bincount expected integers, got {input.dtype.name}; convert them first: x.long()")
    if numbers.ndim != 1 or (numbers.size and numbers.min() < 0):
        raise ArgumentError(f"bincount expected one dimension of integers from 0 on, got shape {tuple(input.shape)}")
    if minlength < 0 or (weights is not None and weights.shape != input.shape):
        got = f"minlength={minlength}" if minlength < 0 else f"weights of shape {tuple(weights.shape)}"  # type: ignore[union-attr]
        raise ArgumentError(f"bincount expected a minlength from 0 on and weights of shape {tuple(input.shape)}, got {got}")
    found = np.bincount(numbers, None if weights is None else weights._tensor.array().astype(float64), minlength)
    if weights is not None and (weights.dtype is float32 or not numbers.size):
        found = found.astype(float32 if numbers.size else int64)
    return input._like(TensorData(found, found.shape))


def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many elements differ from 0, as int64.

    Example:
        >>> torch.count_nonzero(torch.tensor([[1, 0], [2, 3]]), dim=0)
        tensor([2, 1])
    """
    return sum(arithmetic.as_bool(input), dim)
