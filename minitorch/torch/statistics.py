"""Stage 7 - Further reductions, running extremes and statistics, with PyTorch's arguments, on tensors of the engine."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, bool_, is_float
from minitorch.core.errors import DimensionError
from minitorch.ops.pairs import LogAddExp
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.torch import arithmetic, pointwise, reductions, shapes
from minitorch.torch.indexing import gather, integers, median_of_all, of_rank, sort
from minitorch.torch.promotion import cast
from minitorch.torch.reductions import Dims, Extreme, scalar_dims

MinMax = namedtuple("MinMax", "min max")


def std_mean(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Tensor, Tensor]:
    """`std` and `mean`."""
    return reductions.std(input, dim, unbiased, keepdim, correction=correction), reductions.mean(input, dim, keepdim)


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> MinMax:
    """The smallest and the largest element."""
    return MinMax(reductions.amin(input, dim, keepdim), reductions.amax(input, dim, keepdim))


def without_nan(input: Tensor) -> Tensor:
    """input with 0 for NaN."""
    return arithmetic.masked_fill(input, pointwise.isnan(input), 0.0) if is_float(input.dtype) else input


def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of the elements that are not NaN."""
    return reductions.sum(without_nan(input), dim, keepdim, dtype=dtype)


def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN; NaN if all are.

    Raises:
        TypeError: If they are integers or bools.
    """
    x = input if dtype is None else cast(input, as_dtype(dtype))
    if not is_float(x.dtype):
        raise TypeError(f"nanmean expected floating-point numbers, got {x.dtype.name}; convert them first: x.float()")
    return nansum(x, dim, keepdim) / cast(reductions.sum(x == x, dim, keepdim), x.dtype)


# Running results


def _running_extreme(input: Tensor, dim: int, largest: bool) -> Extreme:
    if scalar_dims(input, dim):
        return Extreme(input.clone(), integers(input, np.zeros((), np.int64)))
    x, dim = input._tensor.array(), input._normalize_dim(dim)
    extremes = (np.maximum if largest else np.minimum).accumulate(x, dim)
    is_new = (x == extremes) | (x != x)  # of equal elements the last
    places = np.arange(x.shape[dim]).reshape([-1 if i == dim % x.ndim else 1 for i in range(x.ndim)])
    indices = integers(input, np.maximum.accumulate(np.where(is_new, places, 0), dim))
    return Extreme(gather(input, dim, indices), indices)


def cummax(input: Tensor, dim: int) -> Extreme:
    """The largest element up to each one along dim, and its index; of equal ones the last.

    Example:
        >>> values, indices = torch.cummax(torch.tensor([1, 3, 2, 3]), 0)
        >>> values, indices
        (tensor([1, 3, 3, 3]), tensor([0, 1, 1, 3]))
    """
    return _running_extreme(input, dim, True)


def cummin(input: Tensor, dim: int) -> Extreme:
    """The smallest element up to each one along dim, and its index; of equal ones the last."""
    return _running_extreme(input, dim, False)


def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """ln of the sum of e^x up to each element along dim, without overflow."""
    x = pointwise.as_float(input)
    if scalar_dims(x, dim) or not x.shape[x._normalize_dim(dim)]:
        return x.clone()
    pieces = list(shapes.split(x, 1, dim))
    for i in range(1, len(pieces)):
        pieces[i] = LogAddExp.apply(pieces[i - 1], pieces[i])
    return shapes.cat(pieces, dim)


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """The differences of neighbors along dim, n times; of bools whether they differ.

    Raises:
        ValueError: If there are no dimensions, n is negative, or prepend or append has other dimensions.

    Example:
        >>> torch.diff(torch.tensor([1, 4, 9, 16]))
        tensor([3, 5, 7])
        >>> torch.diff(torch.tensor([1, 4, 9, 16]), n=2)
        tensor([2, 2])
    """
    if not input.dims or n < 0:
        raise ValueError(f"diff expected a tensor with dimensions and n from 0 on, got shape {input.shape} and {n}")
    parts = [x for x in (prepend, input, append) if x is not None]
    if any(x.dims != input.dims for x in parts):
        raise ValueError(f"diff expected prepend and append with dimensions like input, got shapes {[x.shape for x in parts]}")
    x = shapes.cat(parts, dim) if len(parts) > 1 else input
    dim = x._normalize_dim(dim)
    for _ in range(min(n, x.shape[dim])):
        after, before = shapes.narrow(x, dim, 1, x.shape[dim] - 1), shapes.narrow(x, dim, 0, x.shape[dim] - 1)
        x = arithmetic.ne(after, before) if x.dtype is bool_ else arithmetic.sub(after, before)
    return x


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The integral of y along dim by trapezoids, over points x or over points with distance dx.

    Raises:
        ValueError: If there are not as many points as elements along dim.

    Example:
        >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
        tensor(4.)
        >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0, 1.0, 3.0]))
        tensor(6.5000)
    """
    dim = y._normalize_dim(dim)
    if x is not None and not x.dims:
        raise ValueError("trapezoid expected points with a dimension, got shape ()")
    if x is not None and x.shape[-1 if x.dims == 1 else dim] != y.shape[dim]:
        raise ValueError(f"trapezoid expected a point for each of the {y.shape[dim]} elements along dimension {dim}, got shape {x.shape}")
    if not y.shape[dim]:
        return reductions.sum(y, dim)
    sums = arithmetic.add(shapes.narrow(y, dim, 1, y.shape[dim] - 1), shapes.narrow(y, dim, 0, y.shape[dim] - 1))
    if x is None:
        return reductions.sum(sums * dx, dim) / 2
    widths = diff(x, 1, -1 if x.dims == 1 else dim)
    return reductions.sum(sums * (widths.reshape(-1, *[1] * (y.dims - 1 - dim)) if x.dims == 1 else widths), dim) / 2


# Quantiles


def quantile(input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """The numbers below which parts q of the elements lie: of all, or along dim; NaN where an element is.

    Args:
        input: Floating-point numbers.
        q: From 0 to 1: a number, or a tensor of them, which become the first dimension of the result.
        dim: The dimension.
        keepdim: Whether the dimension stays, with size 1.
        interpolation: "linear" between two elements, or "lower", "higher", "midpoint" or "nearest".

    Raises:
        ValueError: If q is not from 0 to 1, there are no elements, or the interpolation is unknown.
        TypeError: If they are integers or bools.

    Example:
        >>> torch.quantile(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0.5, 1.0]))
        tensor([2.5000, 4.0000])
    """
    out = _quantile(input, q, dim, keepdim, interpolation)
    missing = reductions.any(pointwise.isnan(input), dim, keepdim)
    return arithmetic.masked_fill(out, missing, np.nan)


def nanquantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """`quantile` of the elements that are not NaN.

    Raises:
        ValueError: See `quantile`.
        TypeError: See `quantile`.
    """
    return _quantile(input, q, dim, keepdim, interpolation)


def _quantile(input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    """Quantiles of the elements that are not NaN; these come last in order."""
    if not is_float(input.dtype):
        raise TypeError(f"quantile expected floating-point numbers, got {input.dtype.name}; convert them first: x.float()")
    parts = np.asarray(q._tensor.array() if isinstance(q, Tensor) else q, np.float64)
    if parts.ndim > 1 or not ((parts >= 0) & (parts <= 1)).all() or not input.numel():
        raise ValueError(f"quantile expected some elements, and q from 0 to 1, got shape {input.shape} and q {parts.tolist()}")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ValueError(f'quantile expected interpolation "linear", "lower", "higher", "midpoint" or "nearest", got {interpolation!r}')
    dims = 0 if scalar_dims(input, dim) else input.dims
    x = input.reshape(input.numel()) if dim is None or not dims else shapes.movedim(input, dim, -1)
    ordered = sort(x).values
    counts = np.asarray((x._tensor.array() == x._tensor.array()).sum(-1, keepdims=True))
    positions = np.maximum(counts - 1, 0) * parts.reshape(-1)  # (..., number of quantiles)
    lower, upper = np.floor(positions), np.ceil(positions)
    weights = {"linear": positions - lower, "lower": 0 * lower, "higher": upper - lower, "midpoint": (upper - lower) / 2}
    if interpolation == "nearest":
        weights["nearest"] = np.round(positions) - lower
    low, high = (gather(ordered, -1, integers(input, each)) for each in (lower, upper))
    weight = np.asarray(weights[interpolation], input.dtype)
    w = input._like(TensorData(weight.reshape(-1), weight.shape))
    if interpolation == "linear" and isinstance(q, Tensor) and q.history is not None:  # the same numbers, with a gradient
        size = np.asarray(np.maximum(counts - 1, 0), input.dtype)
        w = w + (q - q.detach()).reshape(q.numel()) * input._like(TensorData(size.reshape(-1), size.shape))
    out = arithmetic.where(w < 0.5, low + (high - low) * w, high - (high - low) * (1.0 - w))  # right next to an infinite element, too
    out = shapes.movedim(out, -1, 0)
    if keepdim and dims:
        out = out.reshape(out.shape[0], *[1] * dims) if dim is None else out.unsqueeze(input._normalize_dim(dim) + 1)
    return out if parts.ndim else out.squeeze(0)


def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN, the lower one of two; with dim the values and their indices.

    Elements that equal the median of all share its gradient.
    """
    if dim is None:
        return median_of_all(input, nanmedian)
    if scalar_dims(input, dim):
        return Extreme(*(each.squeeze(0) for each in nanmedian(input.view(1), 0, True)))
    if not input.shape[input._normalize_dim(dim)]:
        raise DimensionError(f"nanmedian expected at least one element along dimension {dim}, got shape {input.shape}")
    x = input._tensor.array()
    return of_rank(input, np.maximum((x == x).sum(dim, keepdims=True) - 1, 0) // 2, dim, keepdim)


# Counts and covariances


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of several intervals of equal width from min to max; 0 and 0 stand for those of the elements.

    Raises:
        ValueError: If there is no interval, max is below min, or a limit is not finite.
        TypeError: If they are integers or bools.

    Example:
        >>> torch.histc(torch.tensor([0.0, 1.0, 1.0, 4.0]), bins=2, min=0, max=4)
        tensor([3., 1.])
    """
    if not is_float(input.dtype):
        raise TypeError(f"histc expected floating-point numbers, got {input.dtype.name}; convert them first: x.float()")
    x = input._tensor.array().reshape(-1)
    low, high = float(min), float(max)
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if bins < 1 or not np.isfinite([low, high]).all() or low > high:
        raise ValueError(f"histc expected one bin or more and finite limits with min up to max, got bins={bins}, min={low}, max={high}")
    if low == high:
        low, high = low - 1, high + 1
    count = np.asarray(np.histogram(x[x == x], bins, (low, high))[0], input.dtype)
    return input.detach()._like(TensorData(count, count.shape))


def cov(input: Tensor, *, correction: int = 1) -> Tensor:
    """The covariances of variables, the rows of a matrix: sums of products of deviations, divided by the number of columns - correction.

    Raises:
        ValueError: If it has more than two dimensions.

    Example:
        >>> torch.cov(torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.dims > 2:
        raise ValueError(f"cov expected a matrix with a row for each variable, got shape {input.shape}")
    x = pointwise.as_float(input).reshape(1, input.numel()) if input.dims < 2 else pointwise.as_float(input)
    deviations = x - reductions.mean(x, 1, True)
    out = deviations @ deviations.transpose(0, 1) / float(max(x.shape[1] - correction, 0))
    return out if x.shape[0] != 1 else out.reshape(1).squeeze(0)


def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables, the rows of a matrix."""
    covariances = cov(input)
    if not covariances.dims:
        return covariances / covariances
    deviations = shapes.diagonal(covariances).sqrt()
    return covariances / deviations.unsqueeze(1) / deviations.unsqueeze(0)
