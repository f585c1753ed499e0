"""Stage 7 - Embeddings: a learned vector for each word or token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.context import no_grad
from minitorch.core.dtypes import compute_dtype
from minitorch.core.errors import ArgumentError, DtypeError
from minitorch.core.recording import call, copy, fill, zeros
from minitorch.kernels.loop import accepts, flat
from minitorch.kernels.losses import embedding_kernels
from minitorch.nn.init import normal_
from minitorch.nn.module import Module
from minitorch.nn.options import refuse_unless
from minitorch.nn.parameter import Parameter
from minitorch.ops.checks import check_tensor, positive_ints
from minitorch.ops.linalg import made
from minitorch.tensor import zeros as tensor_zeros
from minitorch.tensor_data import IndexingError, TensorData
from minitorch.tensor_functions import Function
from minitorch.torch.indexing import index_add, scatter_reduce
from minitorch.torch.placement import placement

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up the rows of a table.

    Args:
        input: Row indices, int64 or int32, any shape.
        weight: The table, shape (V, D): V vectors of dimension D.
        padding_idx: Row that receives no gradient; negative indices count from the end.
        max_norm: None.
        norm_type: Has no effect without max_norm.
        scale_grad_by_freq: False.
        sparse: False.

    Returns:
        Shape (*input.shape, D). The gradient of a row is the sum over all its occurrences.

    Raises:
        TypeError: If an argument is not a Tensor, or the indices are not integers.
        ValueError: If weight does not have two dimensions.
        IndexingError: If an index or padding_idx is out of range.
        NotImplementedError: If max_norm, scale_grad_by_freq or sparse is set.
    """
    refuse_unless("embedding", max_norm=(max_norm, None), scale_grad_by_freq=(scale_grad_by_freq, False), sparse=(sparse, False))
    indices = check_tensor("embedding", input, "indices")
    check_tensor("embedding", weight, "weight")
    if indices.dtype.kind != "i":
        raise DtypeError(f"embedding expected indices of int64 or int32, got {indices.dtype.name}; convert them: indices.to(int64)")
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
        max_norm: See `embedding` for this and the next options.
        device: Where the table is stored.
        dtype: Dtype of the table; the default dtype if left out.

    Raises:
        TypeError: If an argument is not an integer.
        ValueError: If a size is less than 1.
        IndexingError: If padding_idx is out of range.
        NotImplementedError: If max_norm, norm_type, scale_grad_by_freq or sparse is set.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"max_norm": (max_norm, None), "norm_type": (norm_type, 2.0), "scale_grad_by_freq": (scale_grad_by_freq, False)}
        refuse_unless("Embedding", **options, sparse=(sparse, False))
        shape = positive_ints((num_embeddings, embedding_dim), "Embedding", "num_embeddings and embedding_dim", minimum=0)
        self.num_embeddings, self.embedding_dim = shape
        self.padding_idx = _check_padding_idx("Embedding", padding_idx, num_embeddings)
        self.weight = Parameter(tensor_zeros(shape, **placement(device, dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the table."""
        normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """An embedding layer around a given table.

        Args:
            embeddings: The table, shape (num_embeddings, embedding_dim); it is not copied.
            freeze: Whether the table keeps its values in training.
            padding_idx: Row that receives no gradient.
        """
        made = cls(*embeddings.shape, padding_idx, device=embeddings.backend, dtype=embeddings.dtype)  # type: ignore
        made.weight._take(embeddings.detach().requires_grad_(not freeze))
        return made

    def extra_repr(self) -> str:
        """The sizes, and padding_idx if there is one."""
        return f"{self.num_embeddings}, {self.embedding_dim}" + (
            f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        )

    def forward(self, input: Tensor) -> Tensor:
        """Map indices, any shape, to vectors of shape (*input.shape, embedding_dim)."""
        return embedding(input, self.weight, self.padding_idx)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the vectors of each bag of indices; zeros for an empty bag.

    Args:
        input: Row indices, int64 or int32: shape (bags, size), or (n,) with offsets.
        weight: The table, shape (V, D).
        offsets: Where each bag begins, shape (bags,); the first one at 0.
        max_norm: None.
        norm_type: Has no effect without max_norm.
        scale_grad_by_freq: False.
        mode: "mean", "sum" or "max".
        sparse: False.
        per_sample_weights: A factor for each vector, shaped like input; with mode "sum" only.
        include_last_offset: Whether the last of the offsets is where the last bag ends.
        padding_idx: Index that is left out of the bags, and whose row receives no gradient.

    Returns:
        Shape (bags, D).

    Raises:
        ValueError: If the mode is unknown, there are offsets for two dimensions, or none for one, they do not ascend from 0 to at most n,
            or the factors have another shape.
        IndexingError: If an index or padding_idx is out of range.
        NotImplementedError: If max_norm, scale_grad_by_freq or sparse is set, or there are factors with another mode.
    """
    refuse_unless("embedding_bag", max_norm=(max_norm, None), scale_grad_by_freq=(scale_grad_by_freq, False), sparse=(sparse, False))
    starts = _check_bags(input, offsets, mode, include_last_offset)
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(f'embedding_bag supports per_sample_weights with mode="sum" only, got mode={mode!r}; leave them out')
        if per_sample_weights.shape != input.shape:
            raise ValueError(
                f"embedding_bag expected per_sample_weights of shape {tuple(input.shape)}, got {tuple(per_sample_weights.shape)}; "
                "pass a factor for each index"
            )
    padding_idx = _check_padding_idx("embedding_bag", padding_idx, weight.shape[0])
    vectors = embedding(input.reshape(input.numel()), weight, padding_idx)
    if per_sample_weights is not None:
        vectors = vectors * per_sample_weights.reshape(input.numel(), 1)
    bags, bag = len(starts) - 1, np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    if padding_idx is not None:
        kept = np.flatnonzero(input.to_numpy().reshape(-1) != padding_idx)
        vectors, bag = vectors[kept], bag[kept]
    zero = vectors.detach().zeros((bags, weight.shape[1]))
    if mode == "max":
        index = np.repeat(bag[:, None], weight.shape[1], 1)
        return scatter_reduce(zero, 0, zero._like(TensorData(index.reshape(-1), index.shape)), vectors, "amax", include_self=False)
    total = index_add(zero, 0, zero._like(TensorData(bag, bag.shape)), vectors)
    return total if mode == "sum" else total / made(zero, np.maximum(np.bincount(bag, minlength=bags), 1)[:, None])


def _check_bags(input: Tensor, offsets: Tensor | None, mode: str, include_last_offset: bool) -> np.ndarray:
    """Where each bag begins, and where the last one ends, among all indices.

    Raises:
        ValueError: See `embedding_bag`.
    """
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f'embedding_bag expected mode "mean", "sum" or "max", got {mode!r}')
    if (input.dims == 1) != (offsets is not None) or input.dims not in (1, 2):
        raise ValueError(
            f"embedding_bag expected input of two dimensions, or of one with offsets, got shape {tuple(input.shape)} "
            f"{'without' if offsets is None else 'with'} offsets; {'pass them' if offsets is None else 'leave them out'}, or reshape input"
        )
    if offsets is None:
        return np.arange(input.shape[0] + 1) * input.shape[1]
    starts = offsets.to_numpy() if include_last_offset else np.append(offsets.to_numpy(), input.shape[0])
    if not len(starts) or starts[0] != 0 or starts[-1] != input.shape[0] or (np.diff(starts) < 0).any():
        expected = f"offsets that ascend from 0 to at most {input.shape[0]}"
        raise ArgumentError(f"embedding_bag expected {expected}, got {offsets.tolist()}; begin each bag where the one before it ends")
    return starts


class EmbeddingBag(Module):
    """The sum, mean or maximum of the vectors of each bag of indices, see `embedding_bag`; the table is standard normal.

    Args:
        num_embeddings: See `Embedding` for the arguments that describe the table, and `embedding_bag` for the others.
        _weight: A table to begin with.
        padding_idx: Index that is left out of the bags; its row is initialized to zeros and never updated.

    Raises:
        ValueError: If the mode is unknown.
        NotImplementedError: If max_norm, norm_type, scale_grad_by_freq or sparse is set.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"max_norm": (max_norm, None), "norm_type": (norm_type, 2.0), "scale_grad_by_freq": (scale_grad_by_freq, False)}
        refuse_unless("EmbeddingBag", **options, sparse=(sparse, False))
        if mode not in ("mean", "sum", "max"):
            raise ValueError(f'EmbeddingBag expected mode "mean", "sum" or "max", got {mode!r}')
        table = Embedding(num_embeddings, embedding_dim, padding_idx, device=device, dtype=dtype)
        self.num_embeddings, self.embedding_dim, self.padding_idx = table.num_embeddings, table.embedding_dim, table.padding_idx
        self.mode, self.include_last_offset, self.weight = mode, include_last_offset, table.weight
        if _weight is not None:
            self.weight._take(_weight.detach().requires_grad_())

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, mode: str = "mean", include_last_offset: bool = False, padding_idx: int | None = None
    ) -> EmbeddingBag:
        """A layer around a given table, shape (num_embeddings, embedding_dim), which is not copied; freeze keeps its values."""
        rows, size = embeddings.shape
        options: Any = {"device": embeddings.backend, "dtype": embeddings.dtype}
        made = cls(rows, size, mode=mode, include_last_offset=include_last_offset, padding_idx=padding_idx, **options)
        made.weight._take(embeddings.detach().requires_grad_(not freeze))
        return made

    def extra_repr(self) -> str:
        """The sizes, the mode, and padding_idx if there is one."""
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}" + (
            f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        )

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Map indices to one vector for each bag, see `embedding_bag`."""
        return embedding_bag(
            input,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )
