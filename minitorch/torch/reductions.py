"""Stage 6 - Reductions with PyTorch's dimensions and dtypes, on tensors of the engine: dimensions are dropped unless keepdim is set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch.core.creation import cat
from minitorch.core.dtypes import as_dtype, bool_, is_float
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.torch import arithmetic, pointwise
from minitorch.torch.promotion import cast

Dims = int | Sequence[int] | None


class Extreme(NamedTuple):
    """The result of max, min, sort and others along a dimension."""

    values: Any
    indices: Any


def reduced(x: Tensor, name: str, dim: Dims, keepdim: bool) -> Tensor:
    """A method of the engine's tensor along dimensions; None and () stand for all."""
    if not x._tensor.shape:
        return getattr(Tensor, name)(x.view(1), None, keepdim=False)
    if dim is None or (type(dim) is not int and isinstance(dim, Sequence) and not dim):
        out = getattr(Tensor, name)(x, None, keepdim=False)
        return out.view(*[1] * x.dims) if keepdim else out
    return getattr(Tensor, name)(x, dim, keepdim=keepdim)


def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum; of integers and bools as int64."""
    return reduced(input if dtype is None else cast(input, as_dtype(dtype)), "sum", dim, keepdim)


def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean.

    Raises:
        TypeError: If they are integers or bools.
    """
    x = input if dtype is None else cast(input, as_dtype(dtype))
    if not is_float(x.dtype):
        raise TypeError(f"mean expected floating-point numbers, got {x.dtype.name}; convert them first: x.float()")
    return reduced(x, "mean", dim, keepdim)


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Product; of integers and bools as int64."""
    return reduced(input if dtype is None else cast(input, as_dtype(dtype)), "prod", dim, keepdim)


def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether all elements differ from 0, as bool."""
    return cast(reduced(arithmetic.as_bool(input), "all", dim, keepdim), bool_)


def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether some element differs from 0, as bool."""
    return cast(reduced(arithmetic.as_bool(input), "any", dim, keepdim), bool_)


def var(input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None) -> Tensor:
    """Variance: the sum of squared deviations from the mean, divided by n - correction; 1 by default, 0 without unbiased."""
    by = float(unbiased) if correction is None else correction
    if dim is None or (isinstance(dim, Sequence) and not dim):
        out = Tensor.var(input if input.dims else input.view(1), None, False, by)
        return out.view(*[1] * input.dims) if keepdim else out
    return Tensor.var(input, dim, keepdim, by)


def std(input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None) -> Tensor:
    """Standard deviation, the square root of `var`."""
    return var(input, dim, unbiased, keepdim, correction=correction).sqrt()


def var_mean(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Tensor, Tensor]:
    """`var` and `mean`."""
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


def amax(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The largest element."""
    return reduced(input, "max", dim, keepdim)


def amin(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The smallest element."""
    return reduced(input, "min", dim, keepdim)


def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The largest element; with dim the values and their indices along it; with a second tensor the larger of both."""
    return _extreme(input, dim, keepdim, other, True)


def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The smallest element; with dim the values and their indices along it; with a second tensor the smaller of both."""
    return _extreme(input, dim, keepdim, other, False)


def _extreme(input: Tensor, dim: Any, keepdim: bool, other: Tensor | None, largest: bool) -> Any:
    if isinstance(dim, Tensor):
        dim, other = None, dim
    if other is not None:
        return (arithmetic.maximum if largest else arithmetic.minimum)(input, other)
    whole = amax if largest else amin
    if dim is None:
        return whole(input)
    return Extreme(whole(input, dim, keepdim), (argmax if largest else argmin)(input, dim, keepdim))


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element along dim, or of the flattened tensor; of equal ones the first."""
    return reduced(input, "argmax", dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element along dim, or of the flattened tensor; of equal ones the first."""
    return reduced(input, "argmin", dim, keepdim)


def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """ln Σ e^input, without overflow."""
    x = pointwise.as_float(input)
    highest = amax(x.detach(), dim, True)
    highest = arithmetic.masked_fill(highest, pointwise.isinf(highest), 0.0)
    out = pointwise.log(sum(pointwise.exp(x - highest), dim, True)) + highest
    return out if keepdim else out.squeeze(dim) if dim is not None else out.view()


def norm(input: Tensor, p: float | str = 2, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The p-norm of all elements, or along dim; 2 and "fro" are √Σx²; ±∞ the largest or smallest |x|.

    Raises:
        ValueError: If p is another word.
    """
    if isinstance(p, str):
        if p != "fro":
            raise ValueError(f'norm expected a number or "fro", got {p!r}')
        p = 2
    if p == 2:
        return _root(sum(input * input, dim, keepdim), 2)
    size = pointwise.abs(input)
    if math.isinf(p):
        return (amax if p > 0 else amin)(size, dim, keepdim)
    return sum(size, dim, keepdim) if p == 1 else _root(sum(arithmetic.pow(size, p), dim, keepdim), p)


def _root(powers: Tensor, p: float) -> Tensor:
    """The p-th root, whose gradient is 0 at 0."""

    def root(x: Tensor) -> Tensor:
        return x.sqrt() if p == 2 else x ** (1.0 / p)

    zero = powers.detach() == 0
    if powers.history is None or p < 0 or not zero._tensor.array().any():
        return root(powers)
    return arithmetic.masked_fill(root(arithmetic.masked_fill(powers, zero, 1.0)), zero, 0.0)


def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sum of the elements up to each one along dim."""
    x = input if dtype is None else cast(input, as_dtype(dtype))
    return Tensor.cumsum(x, dim) if x.dims else Tensor.cumsum(x.view(1), 0).squeeze(0)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The product of the elements up to each one along dim."""
    x = input if dtype is None else cast(input, as_dtype(dtype))
    if not is_float(x.dtype):
        x = x.to(np.dtype("int64"))
    out, pieces = None, []
    for piece in x.split(1, dim):
        out = piece if out is None else out * piece
        pieces.append(out)
    return cat(pieces, dim)


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The different elements in ascending order; on request where each element went, and how often each occurs."""
    found, inverse, counts = np.unique(input._tensor.array(), return_inverse=True, return_counts=True)
    made = [found] + [inverse.reshape(input.shape)] * return_inverse + [counts] * return_counts
    out = tuple(input._like(TensorData(np.ascontiguousarray(each).reshape(-1), each.shape)) for each in made)
    return out if len(out) > 1 else out[0]  # type: ignore


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs, or the sum of its weights.

    Raises:
        ValueError: If they are not whole numbers from 0 on.
    """
    numbers = input._tensor.array()
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or (numbers.size and numbers.min() < 0):
        raise ValueError(f"bincount expected one dimension of integers from 0 on, got shape {input.shape} of {input.dtype.name}")
    found = np.bincount(numbers, None if weights is None else weights._tensor.array(), minlength)
    return input._like(TensorData(found, found.shape))


def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many elements differ from 0, as int64."""
    return sum(arithmetic.as_bool(input), dim)
