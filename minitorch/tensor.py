"""Stage 2 - Tensor: an array of numbers that remembers how it was computed."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.autodiff import History
from minitorch.core.backend import resolve_backend
from minitorch.core.conversion import Interchange
from minitorch.core.dtypes import (
    FLOAT32_OVERFLOW,
    as_dtype,
    cast_scalar,
    convert_array,
    float32,
    float64,
    promote_mask,
    promote_scalar,
    to_array,
    uniform,
)
from minitorch.core.gradients import Differentiable
from minitorch.core.tensor_methods import Dims, TensorMethods, in_float32
from minitorch.tensor_data import IndexingError, TensorData, as_shape
from minitorch.tensor_functions import (
    EQ,
    LT,
    Add,
    All,
    Exp,
    IsClose,
    Log,
    Mul,
    Neg,
    Permute,
    ReLU,
    Sigmoid,
    Sum,
    View,
)
from minitorch.tensor_ops import SimpleBackend, TensorBackend

NUMBER = (float, int, np.bool_, np.integer, np.floating)
"""What counts as a number."""


class Tensor(Differentiable, TensorMethods, Interchange):
    """An array of numbers that records the functions applied to it.

    Operators work element by element, on tensors whose shapes broadcast and on Python's numbers. Sets and dictionaries tell tensors apart
    by identity. Most are made by `tensor`, `zeros` or `rand`.

    Args:
        v: Where the numbers lie.
        history: How it was made. Left out: a constant, into which no gradient flows.
        name: Shown in graphs and messages.
        backend: What computes on it.

    Attributes:
        history: How it was made; None for a constant.
        backend: What computes on it.
        f: The backend, by the short name that Functions use.
        grad: Sum of the gradients that reached this leaf, a Tensor of the same shape; None before the first.

    Raises:
        TypeError: If v is no TensorData.
    """

    __slots__ = ("__weakref__", "_hooks", "_name", "_tensor", "backend", "grad", "history")
    f: TensorBackend

    def __init__(
        self,
        v: TensorData,
        history: History | None = None,
        name: str | None = None,
        backend: TensorBackend = SimpleBackend,
    ) -> None:
        if not isinstance(v, TensorData):
            raise TypeError(f"Tensor expected TensorData, got {type(v).__name__}; from a list or an array make one with tensor(...)")
        self._tensor = backend.ops.place(v) if backend.cuda else v
        self.history = history
        self.backend = backend
        self.grad: Tensor | None = None
        self._name = name
        self._hooks: dict[object, Callable[[Tensor], Tensor | None]] | None = None

    @staticmethod
    def make(
        storage: Sequence[float] | np.ndarray,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        backend: TensorBackend = SimpleBackend,
    ) -> Tensor:
        """A constant over a storage; see TensorData."""
        return Tensor(TensorData(storage, shape, strides), backend=backend)

    def _like(self, data: TensorData, history: History | None = None, backend: TensorBackend | None = None) -> Tensor:
        """A tensor on the same backend."""
        return Tensor(data, history, None, backend or self.backend)

    def zeros(self, shape: Sequence[int] | None = None, dtype: Any = None) -> Tensor:
        """Zeros on the same backend; its own shape and dtype unless others are given."""
        data = self._tensor
        return self._like(self.backend.ops.zeros(data.shape if shape is None else as_shape(shape, "zeros"), dtype or data.dtype))

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every dimension."""
        return self._tensor.shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._tensor.size

    @property
    def dims(self) -> int:
        """Number of dimensions."""
        return len(self._tensor.shape)

    @property
    def dtype(self) -> np.dtype:
        """Kind of its numbers."""
        return self._tensor.dtype

    @property
    def device(self) -> str:
        """Where its numbers lie: "cpu" or "cuda"."""
        return "cuda" if self.backend.cuda else "cpu"

    def tuple(self) -> tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]:
        """What a kernel is given: storage from its first element on, shape and strides."""
        return self._tensor.tuple()

    def stride(self) -> tuple[int, ...]:
        """How far in storage a step in each dimension leads, in elements."""
        return self._tensor.strides

    def storage_offset(self) -> int:
        """Position in storage of its first element."""
        return self._tensor.offset

    def is_contiguous(self) -> bool:
        """Whether its elements lie one after the other, last dimension fastest."""
        return self._tensor.is_contiguous()

    @property
    def name(self) -> str:
        """The given name, else one made from the unique id."""
        return self._name or f"tensor_{self.unique_id:x}"

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def unique_id(self) -> int:
        """A number that no other living Tensor has."""
        return id(self)

    __hash__ = object.__hash__  # by identity, as backpropagation needs it

    # Operators, each one or two functions of tensor_functions

    def __add__(self, b: TensorLike) -> Tensor:
        return Add.apply(self, self._ensure_tensor(b))

    def __radd__(self, b: TensorLike) -> Tensor:
        return Add.apply(self._ensure_tensor(b), self)

    def __sub__(self, b: TensorLike) -> Tensor:
        return Add.apply(self, Neg.apply(self._ensure_tensor(b)))

    def __mul__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self, self._ensure_tensor(b))

    def __rmul__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self._ensure_tensor(b), self)

    def __neg__(self) -> Tensor:
        return Neg.apply(self)

    def __lt__(self, b: TensorLike) -> Tensor:
        return LT.apply(self, self._ensure_tensor(b))

    def __gt__(self, b: TensorLike) -> Tensor:
        return LT.apply(self._ensure_tensor(b), self)

    def __eq__(self, b: TensorLike) -> Tensor:  # type: ignore[override]  # element by element
        return EQ.apply(self, self._ensure_tensor(b))

    def is_close(self, b: TensorLike) -> Tensor:
        """Whether each element is less than 1e-2 away from b's, as bool."""
        return IsClose.apply(self, self._ensure_tensor(b))

    def sigmoid(self) -> Tensor:
        """1 / (1 + e^-self)."""
        return Sigmoid.apply(self)

    def relu(self) -> Tensor:
        """self where positive, else 0."""
        return ReLU.apply(self)

    def log(self) -> Tensor:
        """ln(self + EPS)."""
        return Log.apply(self)

    def exp(self) -> Tensor:
        """e^self."""
        return Exp.apply(self)

    # Reductions

    def all(self, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """Whether all elements are true (not 0), as bool.

        Args:
            dim: Along which dimensions; None for all elements, with a result of shape (1,).
            keepdim: Whether those dimensions stay, with size 1.
        """
        return self._reduced(All.apply, dim, keepdim)

    def sum(self, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """Sum of the elements.

        Args:
            dim: Along which dimensions; None for all elements, with a result of shape (1,).
            keepdim: Whether those dimensions stay, with size 1.
        """
        return self._reduced(Sum.apply, dim, keepdim)

    def mean(self, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """Mean of the elements.

        Args:
            dim: Along which dimensions; None for all elements, with a result of shape (1,).
            keepdim: Whether those dimensions stay, with size 1.
        """
        count = self._count(dim)
        return self.sum(dim, keepdim) * (1 / count if count else math.nan)

    # Layout

    def permute(self, *order: Any) -> Tensor:
        """The dimensions in another order: a view.

        Args:
            order: For every dimension of the result, which one of this tensor it is, as permute(1, 0) or permute((1, 0)); negative
                ones count from the end.
        """
        return Permute.apply(self, self._dims_of(order[0] if len(order) == 1 else order))

    def view(self, *shape: Any) -> Tensor:
        """The same elements in the same order with another shape, over the same storage.

        Args:
            shape: The sizes; one may be -1, which is found from the others.

        Raises:
            ValueError: If the elements do not lie one after the other, or their number is another.
        """
        return View.apply(self, self._sizes(shape))

    # Help for the methods above

    def _ensure_tensor(self, b: TensorLike) -> Tensor:
        """The other operand as a tensor: a number becomes a constant of no dimensions, in this tensor's dtype where that can hold it."""
        dtype = self._tensor.dtype
        if isinstance(b, Tensor):  # of truth values beside numbers: numbers of this dtype, so that float32 - mask is float32
            return b if b._tensor.dtype is dtype or b.dtype.kind not in "bu" else b.to(promote_mask(dtype, b.dtype))
        if isinstance(b, NUMBER):
            dtype = promote_scalar(dtype, b)
            try:
                data = TensorData.empty((), dtype)
                data._storage[0] = b if dtype is float64 or (dtype is float32 and abs(b) < FLOAT32_OVERFLOW) else cast_scalar(b, dtype)
                return self._like(data)
            except OverflowError:
                raise OverflowError(f"{b} leaves the range of {dtype.name}; convert the tensor to int64 or float64 first") from None
        raise TypeError(f"expected a Tensor or a number beside a Tensor, got {type(b).__name__}; make a tensor of it: tensor(...)")

    def _dim(self, dim: int) -> int:
        """A dimension counted from the front.

        Raises:
            TypeError: If it is not a whole number.
            IndexingError: If there is no such dimension.
        """
        try:
            dim = operator.index(dim)
        except TypeError:
            raise TypeError(f"a dimension expected a whole number, got {dim!r}") from None
        dims = self.dims
        if not -dims <= dim < dims:
            raise IndexingError(f"dimension {dim} is out of range for shape {self.shape}, which has {dims}")
        return dim % dims

    def _dims_of(self, dim: int | Sequence[int]) -> tuple[int, ...]:
        """Dimensions counted from the front.

        Raises:
            IndexingError: If one is named twice.
        """
        dims = tuple([self._dim(d) for d in (dim if isinstance(dim, (tuple, list, Sequence)) else (dim,))])
        if len(set(dims)) < len(dims):
            raise IndexingError(f"expected each dimension at most once for shape {self.shape}, got {dim}")
        return dims

    def _sizes(self, shape: tuple[Any, ...]) -> tuple[int, ...]:
        """A shape from `view(2, 3)` or `view((2, 3))`, with the size that -1 stands for.

        Raises:
            ValueError: If -1 stands for no size, or for any.
        """
        sizes = tuple(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
        if -1 not in sizes:
            return as_shape(sizes, "view")
        if sizes.count(-1) > 1:
            raise ValueError(f"view expected at most one -1, got {sizes}")
        place = sizes.index(-1)
        before, behind = as_shape(sizes[:place], "view"), as_shape(sizes[place + 1 :], "view")
        known = math.prod(before + behind)
        if known == 0 or self.size % known:
            raise ValueError(f"view found no size for -1: shape {self.shape} has {self.size} elements, {sizes} a multiple of {known}")
        return (*before, self.size // known, *behind)


Tensor.f = Tensor.backend  # the same slot
Tensor.mean = in_float32(Tensor.mean)  # a sum may be too large for halves where the mean is not

TensorLike = float | int | Tensor
"""What an operator accepts beside a Tensor."""


# Making tensors


def zeros(shape: Sequence[int], backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Zeros.

    Args:
        shape: Size of every dimension.
        backend: What computes on it.
        requires_grad: Whether it keeps its gradient.
        dtype: Kind of its numbers; the default dtype if left out.
    """
    return finished(TensorData.zeros(as_shape(shape, "zeros"), dtype), backend, requires_grad)


def rand(shape: Sequence[int], backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Numbers drawn uniformly from [0, 1); `manual_seed` makes them the same in every run.

    Args:
        shape: Size of every dimension.
        backend: What computes on it.
        requires_grad: Whether it keeps its gradient.
        dtype: float64 or float32; the default dtype if left out.

    Raises:
        TypeError: If the dtype holds no fractions.
    """
    shape, dtype = as_shape(shape, "rand"), as_dtype(dtype)
    return finished(TensorData(uniform(generator, math.prod(shape), dtype), shape), backend, requires_grad)


def tensor(ls: Any, backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """A tensor of given numbers, which are copied.

    Args:
        ls: Nested lists or tuples of numbers, an array, or one number.
        backend: What computes on it.
        requires_grad: Whether it keeps its gradient.
        dtype: Kind of its numbers. Left out: an array keeps its own, truth values become bool and Python's numbers the default dtype.

    Raises:
        ValueError: If the lists are ragged, or an integer dtype cannot hold the numbers.
        TypeError: If there is anything but numbers.
    """
    values = to_array(ls, "tensor")
    if dtype is None and (values.dtype.kind == "b" or hasattr(ls, "dtype")):
        dtype = values.dtype
    values = convert_array(values, as_dtype(dtype), "tensor")
    return finished(TensorData(values.reshape(-1), values.shape), backend, requires_grad)


def finished(data: TensorData, backend: TensorBackend, requires_grad: bool) -> Tensor:
    """The tensor over new data.

    Raises:
        TypeError: If it is to keep a gradient and holds no floats, or the backend is none.
    """
    found = resolve_backend(backend)
    if found is None:
        raise TypeError(f"expected a TensorBackend, got {type(backend).__name__} {backend!r}; make one with TensorBackend(SimpleOps)")
    made = Tensor(data, backend=found)
    return made.requires_grad_(True) if requires_grad else made


generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """Begin the random numbers of `rand` and `randn` anew, so that the same seed gives the same tensors."""
    generator.bit_generator.state = np.random.default_rng(seed).bit_generator.state
