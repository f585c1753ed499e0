"""Stage 6 - Embeddings: a learned vector for each word or token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.creation import randn
from minitorch.core.dtypes import compute_dtype
from minitorch.core.recording import call, copy, fill, zeros
from minitorch.kernels.loop import accepts, flat
from minitorch.kernels.losses import embedding_kernels
from minitorch.nn.module import Module, Parameter
from minitorch.nn.sizes import check_tensor, positive_ints
from minitorch.tensor_data import IndexingError, TensorData
from minitorch.tensor_functions import Function
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend
    from minitorch.tensor import Tensor


def embedding(indices: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Look up the rows of a table.

    Args:
        indices: Row indices, int64 or int32, any shape.
        weight: The table, shape (V, D): V vectors of dimension D.
        padding_idx: Row that receives no gradient; negative indices count from the end.

    Returns:
        Shape (*indices.shape, D). The gradient of a row is the sum over all its occurrences.

    Raises:
        TypeError: If an argument is not a Tensor, or the indices are not integers.
        ValueError: If weight does not have two dimensions.
        IndexingError: If an index or padding_idx is out of range.
    """
    check_tensor("embedding", indices, "indices")
    check_tensor("embedding", weight, "weight")
    if indices.dtype.kind != "i":
        raise TypeError(f"embedding expected indices of int64 or int32, got {indices.dtype.name}; convert them: indices.to(int64)")
    if weight.dims != 2:
        raise ValueError(f"embedding expected weight of shape (V, D), a row for each word, got {weight.shape}")
    rows = weight.shape[0]
    padding_idx = _check_padding_idx("embedding", padding_idx, rows)
    call(require_rows, indices._tensor.array(), rows)
    return Lookup.apply(indices, weight, padding_idx)


def require_rows(row_indices: np.ndarray, rows: int) -> None:
    """Raise IndexingError if an index is not that of a row."""
    if row_indices.size and not (row_indices.min() >= 0 and row_indices.max() < rows):
        wrong = row_indices[(row_indices < 0) | (row_indices >= rows)][0]
        raise IndexingError(f"embedding expected indices from 0 to {rows - 1} for a table of {rows} rows, got {wrong}")


def _check_padding_idx(op: str, padding_idx: int | None, rows: int) -> int | None:
    """Check padding_idx and return it as a non-negative index."""
    if padding_idx is None:
        return None
    if isinstance(padding_idx, bool) or not hasattr(padding_idx, "__index__"):
        raise TypeError(f"{op} expected padding_idx as an integer or None, got {padding_idx!r}")
    if not -rows <= padding_idx < rows:
        raise IndexingError(f"{op} expected padding_idx from {-rows} to {rows - 1} for {rows} rows, got {padding_idx}")
    return padding_idx % rows


class Lookup(Function):
    """Table lookup; the gradient of a row is the sum over all its occurrences."""

    @staticmethod
    def forward(ctx: Context, indices: Tensor, weight: Tensor, padding_idx: int | None) -> Tensor:
        row_indices = np.empty(indices.shape, np.int64)  # a copy: in-place changes of indices before backward must not matter
        call(copy, row_indices, indices._tensor.array())
        ctx.save_for_backward(row_indices, weight.shape, padding_idx)
        shape = (*row_indices.shape, weight.shape[1])
        if accepts(weight):
            out = TensorData.empty(shape, weight.dtype)
            call(embedding_kernels().forward, out._storage, flat(weight), row_indices.reshape(-1), weight.shape[1])
            return weight._like(out)
        return weight._like(TensorData(weight._tensor.array()[row_indices].reshape(-1), shape))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[None, Tensor | None]:
        if not ctx.needs_input_grad[1]:
            return None, None
        row_indices, shape, padding_idx = ctx.saved_values
        grad = zeros(shape, compute_dtype(grad_output.dtype))
        if accepts(grad_output):
            call(embedding_kernels().backward, grad.reshape(-1), flat(grad_output), row_indices.reshape(-1), shape[1])
        else:
            call(np.add.at, grad, row_indices, grad_output._tensor.array())
        if padding_idx is not None:
            call(fill, grad[padding_idx], 0)
        return None, grad_output._like(TensorData(grad.reshape(-1), shape))


class Embedding(Module):
    """Embedding layer, see `embedding`; the table is initialized from the standard normal distribution.

    Args:
        num_embeddings: Number of vectors.
        embedding_dim: Dimension of each vector.
        padding_idx: Row that is initialized to zeros and never updated.

    Raises:
        TypeError: If an argument is not an integer.
        ValueError: If a size is less than 1.
        IndexingError: If padding_idx is out of range.
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
        self.num_embeddings, self.embedding_dim = shape
        padding_idx = _check_padding_idx("Embedding", padding_idx, num_embeddings)
        weight = randn(shape, backend, dtype=dtype)
        if padding_idx is not None:
            weight[padding_idx] = 0.0
        self.weight, self.padding_idx = Parameter(weight), padding_idx

    def extra_repr(self) -> str:
        """The sizes, and padding_idx if there is one."""
        num_embeddings, embedding_dim = self.weight.value.shape
        return f"{num_embeddings}, {embedding_dim}" + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")

    def forward(self, indices: Tensor) -> Tensor:
        """Return vectors of shape (*indices.shape, embedding_dim)."""
        return embedding(indices, self.weight.value, self.padding_idx)
