"""Stage 6 - Elements chosen by tensors of indices: gather and its converse, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.autograd.engine import RULES
from minitorch.core.context import no_grad
from minitorch.core.layout_functions import Select
from minitorch.core.recording import call, constant
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
    if index.dtype.kind not in "iu":
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
