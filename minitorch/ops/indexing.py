"""Stage 7 - Elements chosen by tensors of indices: gather and its converse, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.autograd.engine import RULES
from minitorch.core.context import no_grad
from minitorch.core.dtypes import int32, int64
from minitorch.core.layout_functions import Select
from minitorch.core.recording import call, constant, refuse
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import IndexingError, TensorData
from minitorch.tensor_functions import Function


def gather(a: Tensor, dim: int, index: Tensor) -> Tensor:
    """Elements of a along one dimension: result[i, j] is a[index[i, j], j] for dim 0, a[i, index[i, j]] for dim 1.

    Args:
        a: Any shape.
        dim: The dimension.
        index: Integers from 0 to the size of that dimension - 1; as many dimensions as a, no other one longer than a's.

    Returns:
        The shape of index.

    Raises:
        IndexingError: If index does not fit.
    """
    return Select.apply(a, full_index(a, dim, index))


def full_index(a: Tensor, dim: int, index: Tensor) -> tuple[np.ndarray, ...]:
    """The index that `gather` stands for, an array for every dimension of a.

    Raises:
        IndexingError: If index does not fit.
        TypeError: If it does not hold integers.
    """
    if index.dtype not in (int64, int32):
        raise TypeError(f"gather and scatter expected an index of integers, got {index.dtype.name}; convert it: index.long()")
    dim, numbers = a._normalize_dim(dim), index._tensor.array()
    sizes = [(i, own) for i, (own, given) in enumerate(zip(a.shape, index.shape, strict=False)) if i != dim and given > own]
    if a.dims != index.dims or sizes:
        raise IndexingError(
            f"gather and scatter expected an index with as many dimensions as the tensor, {a.dims}, and no longer than {a.shape} except in "
            f"dimension {dim}, got shape {index.shape}"
        )
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < a.shape[dim]):
        raise IndexingError(f"gather and scatter expected indices from 0 to {a.shape[dim] - 1}, got {numbers.min()} to {numbers.max()}")
    parts: list[Any] = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    parts[dim] = numbers
    return tuple(np.array(part) for part in np.broadcast_arrays(*parts))


class ScatterAdd(Function):
    """a with values added to the elements at an index; an element that occurs several times receives all of them."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, index: tuple[np.ndarray, ...], values: Tensor) -> Tensor:
        numbers = np.ravel_multi_index(index, a.shape)
        ctx.save_for_backward(numbers)
        out = TensorData(a._tensor.array().reshape(-1).copy(), a.shape)
        call(np.add.at, out._storage, constant(numbers), values._tensor.array())
        return a._like(out)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, Tensor]:
        (numbers,) = ctx.saved_values
        return grad_output, None, Select.apply(grad_output.reshape(grad_output.numel()), (numbers,))


class Put(Function):
    """a with the elements at an index replaced by values, which broadcast."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, index: tuple[Any, ...], values: Tensor) -> Tensor:
        ctx.save_for_backward(index, values.shape)
        out = a._like(TensorData(a._tensor.array().reshape(-1).copy(), a.shape))
        with no_grad():
            out[index] = values.detach()
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, Tensor]:
        index, _ = ctx.saved_values
        return Put.apply(grad_output, index, grad_output.zeros(())), None, Select.apply(grad_output, index)


RULES[Put] = lambda ctx, out, grad: Put.backward(ctx, grad)


UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
"""What combines the values for one element, by the name of a reduction."""


class ScatterReduce(Function):
    """a with elements at an index reduced with values: their sum, mean, product, maximum or minimum.

    The gradient of an element and of each of its values is that of the result times a weight, which is 0 for those that are not extreme.
    As in PyTorch, an element that equals the extreme counts among those that share the gradient even if it was not included.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, index: tuple[np.ndarray, ...], values: Tensor, reduction: str, include_self: bool) -> Tensor:
        refuse("scatter_reduce()")
        x, v = a._tensor.array(), values._tensor.array()
        is_kept = np.ones(x.shape, bool)  # whether the element itself counts
        is_kept[index] = include_self
        out, count = x.copy(), is_kept.astype(np.int64)
        limits = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        lowest, highest = (limits.min, limits.max) if limits else (-np.inf, np.inf)
        if not include_self:
            out[index] = {"prod": 1, "amax": lowest, "amin": highest}.get(reduction, 0)
        with np.errstate(invalid="ignore"):  # NaN among the values
            UFUNCS[reduction].at(out, index, v)
        np.add.at(count, index, 1)
        weight, weights = is_kept.astype(np.float64), np.ones(v.shape)
        if reduction == "mean":
            out = (out // count if limits else out / count).astype(x.dtype)
            weight, weights = weight / count, 1 / count[index]
        elif reduction in ("amax", "amin"):
            first, others = x == out, v == out[index]
            equal = first.astype(np.int64)
            np.add.at(equal, index, others)
            with np.errstate(invalid="ignore"):  # none equals NaN
                weight, weights = np.where(is_kept, first / equal, 0.0), others / equal[index]
        ctx.save_for_backward(index, reduction, weight, weights, include_self, *(a, values) if reduction == "prod" else (None, None))
        return a._like(TensorData(out.reshape(-1), out.shape))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, recorded: bool = False) -> tuple[Tensor, None, Tensor, None, None]:
        index, reduction, weight, weights, include_self, a, values = ctx.saved_values
        if reduction == "prod":
            a, values = (a, values) if recorded else (a.detach(), values.detach())
            grad_a, grad_values = factor_gradients(grad_output, a, values, index, include_self)
            return grad_a, None, grad_values, None, None
        first, others = (
            grad_output._like(TensorData(each.astype(grad_output.dtype).reshape(-1), each.shape)) for each in (weight, weights)
        )
        return grad_output * first, None, Select.apply(grad_output, index) * others, None, None


RULES[ScatterReduce] = lambda ctx, out, grad: ScatterReduce.backward(ctx, grad, True)


def factor_gradients(grad: Tensor, a: Tensor, values: Tensor, index: tuple[np.ndarray, ...], include_self: bool) -> tuple[Tensor, Tensor]:
    """The gradients of the factors of products: each is that of the product times the product of the other factors.

    This is the product divided by the factor or, of a single factor of 0, the product with 1 in its place.
    """

    def product(a: Tensor, values: Tensor) -> Tensor:
        return ScatterReduce.apply(a, index, values, "prod", include_self)

    without_zeros = a.where(a.detach() != 0, 1.0)
    grad_a = grad * product(without_zeros, values) / without_zeros
    if not include_self:
        grad_a = Put.apply(grad_a, index, grad_a.zeros(()))
    is_zero = values._tensor.array() == 0
    zeros = np.zeros(a.shape, np.int64)
    np.add.at(zeros, index, is_zero)
    single = values._like(TensorData((is_zero & (zeros[index] == 1)).reshape(-1), values.shape))
    others = Select.apply(grad * product(a, values.where(~single, 1.0)), index)
    quotients = Select.apply(grad * product(a, values), index) / values.where(values.detach() != 0, 1.0)
    return grad_a, others.where(single, quotients)
