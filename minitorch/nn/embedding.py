"""Stage 5 - Embeddings: a row of a table for each word, so that a network can learn what words are like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.creation import randn
from minitorch.core.dtypes import compute_dtype
from minitorch.kernels.losses import embedding_kernels, fusible
from minitorch.kernels.pool import flat
from minitorch.nn.module import Module, Parameter
from minitorch.nn.sizes import check_tensor, positive_ints
from minitorch.tensor_data import IndexingError, TensorData
from minitorch.tensor_functions import Function
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend
    from minitorch.tensor import Tensor


def embedding(indices: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of a table that indices name.

    Args:
        indices: Numbers of rows, int64 or int32, of any shape.
        weight: The table, shape (V, D): a row of D numbers for each of V words.
        padding_idx: A row that is no word, into which no gradient flows; negative ones count from the end.

    Returns:
        The shape of indices with D behind it. A row that was named several times gets the sum of their gradients.

    Raises:
        TypeError: If one is no Tensor, or the indices are no whole numbers.
        ValueError: If weight has not two dimensions.
        IndexingError: If there is no such row.
    """
    check_tensor("embedding", indices, "indices")
    check_tensor("embedding", weight, "weight")
    if indices.dtype.kind != "i":
        raise TypeError(f"embedding expected indices of int64 or int32, got {indices.dtype.name}; convert them: indices.to(int64)")
    if weight.dims != 2:
        raise ValueError(f"embedding expected weight of shape (V, D), a row for each word, got {weight.shape}")
    rows = weight.shape[0]
    padding_idx = _padding("embedding", padding_idx, rows)
    picked = indices._tensor.array()
    if picked.size and not (picked.min() >= 0 and picked.max() < rows):
        wrong = picked[(picked < 0) | (picked >= rows)][0]
        raise IndexingError(f"embedding expected indices from 0 to {rows - 1} for a table of {rows} rows, got {wrong}")
    return Lookup.apply(indices, weight, padding_idx)


def _padding(op: str, padding_idx: int | None, rows: int) -> int | None:
    """The row that is no word, counted from the front."""
    if padding_idx is None:
        return None
    if isinstance(padding_idx, bool) or not hasattr(padding_idx, "__index__"):
        raise TypeError(f"{op} expected padding_idx as a whole number or None, got {padding_idx!r}")
    if not -rows <= padding_idx < rows:
        raise IndexingError(f"{op} expected padding_idx from {-rows} to {rows - 1} for {rows} rows, got {padding_idx}")
    return padding_idx % rows


class Lookup(Function):
    """The rows of a table that indices name; the gradient of each row is the sum of those of its copies."""

    @staticmethod
    def forward(ctx: Context, indices: Tensor, weight: Tensor, padding_idx: int | None) -> Tensor:
        picked = indices.to_numpy()  # a copy: what is written into the indices before backward must not matter
        ctx.save_for_backward(picked, weight.shape, padding_idx)
        shape = (*picked.shape, weight.shape[1])
        if fusible(weight):
            out = TensorData.empty(shape, weight.dtype)
            embedding_kernels().forward(out._storage, flat(weight), picked.reshape(-1).astype(np.int64), weight.shape[1])
            return weight._like(out)
        return weight._like(TensorData(weight._tensor.array()[picked].reshape(-1), shape))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[None, Tensor | None]:
        if not ctx.needs_input_grad[1]:
            return None, None
        picked, shape, padding_idx = ctx.saved_values
        grad = np.zeros(shape, compute_dtype(grad_output.dtype))  # from the system: pages that are not touched cost nothing
        if fusible(grad_output):
            embedding_kernels().backward(grad.reshape(-1), flat(grad_output), picked.reshape(-1).astype(np.int64), shape[1])
        else:
            np.add.at(grad, picked, grad_output._tensor.array())
        if padding_idx is not None:
            grad[padding_idx] = 0
        return None, grad_output._like(TensorData(grad.reshape(-1), shape))


class Embedding(Module):
    """`embedding`: a row of a table for each word. It begins with numbers of the normal distribution of mean 0 and variance 1.

    Args:
        num_embeddings: How many words there are.
        embedding_dim: Numbers for each.
        padding_idx: A row that is no word: it begins as zeros and stays as it is.

    Raises:
        TypeError: If a number is not whole.
        ValueError: If a size is less than 1.
        IndexingError: If there is no row padding_idx.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = positive_ints((num_embeddings, embedding_dim), "Embedding", "num_embeddings and embedding_dim")
        padding_idx = _padding("Embedding", padding_idx, num_embeddings)
        weight = randn(shape, backend, dtype=dtype)
        if padding_idx is not None:
            weight[padding_idx] = 0.0
        self.weight, self.padding_idx = Parameter(weight), padding_idx

    def extra_repr(self) -> str:
        """Its sizes."""
        words, numbers = self.weight.value.shape
        return f"{words}, {numbers}" + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")

    def forward(self, indices: Tensor) -> Tensor:
        """From any shape to that shape with embedding_dim behind it."""
        return embedding(indices, self.weight.value, self.padding_idx)
