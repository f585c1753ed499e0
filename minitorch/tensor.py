"""Stage 2 - Tensor: an array of numbers that remembers how it was computed."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from minitorch.autodiff import LEAF, History, backpropagate
from minitorch.core import layout_functions, math_functions
from minitorch.core.backend import resolve_backend
from minitorch.core.context import grad_mode
from minitorch.core.dtypes import (
    FLOAT32_OVERFLOW,
    NUMBER,
    as_dtype,
    cast_scalar,
    convert_array,
    float32,
    float64,
    is_float,
    is_half,
    promote_mask,
    promote_scalar,
    promote_to_float,
    to_array,
    uniform,
)
from minitorch.core.gradients import apply_hooks, select_tensor_gradients, unbroadcast
from minitorch.core.half_precision import compute_in_float32
from minitorch.core.lazy_imports import later_module
from minitorch.core.recording import constant
from minitorch.core.tensor_base import Dims
from minitorch.core.tensor_methods import TensorMethods
from minitorch.tensor_data import IndexingError, TensorData, as_shape
from minitorch.tensor_functions import EQ, LT, Add, All, Copy, Exp, IsClose, Log, MatMul, Mul, Neg, Permute, ReLU, Sigmoid, Sum, View
from minitorch.tensor_ops import SimpleBackend, TensorBackend

new = object.__new__


class Tensor(TensorMethods):
    """An array of numbers that records the functions applied to it.

    Operators work element by element, on tensors whose shapes broadcast and on Python numbers. Sets and dictionaries compare tensors
    by identity. Make tensors with `tensor`, `zeros` or `rand`. The methods beyond the course are in core/tensor_methods.py.

    Args:
        v: The data.
        history: How the tensor was computed. Left out: the tensor is a constant, which takes no gradient.
        name: Name in graphs and messages.
        backend: The backend that computes on it.

    Attributes:
        history: How the tensor was computed; None for a constant.
        backend: The backend that computes on it.
        f: The backend, by the short name that Functions use.
        grad: Sum of the gradients that reached this leaf, a Tensor of the same shape; None before the first.

    Raises:
        TypeError: If v is not a TensorData.
    """

    __slots__ = ("__weakref__", "_hooks", "_name", "_tensor", "backend", "f", "grad", "history")

    _plain: ClassVar[type[Tensor]]  # the class of what is computed from it

    def __init__(
        self,
        v: TensorData,
        history: History | None = None,
        name: str | None = None,
        backend: TensorBackend = SimpleBackend,
    ) -> None:
        if not isinstance(v, TensorData):
            raise TypeError(f"Tensor expected TensorData, got {type(v).__name__}; convert a list or an array with tensor(...)")
        self._tensor = backend.ops.place(v) if backend.cuda else v
        self.history = history
        self.backend = self.f = backend
        self.grad: Tensor | None = None
        self._name = name
        self._hooks: dict[object, Callable[[Tensor], Tensor | None]] | None = None

    # Task 2.3b: operators

    def __add__(self, b: TensorLike) -> Tensor:
        return Add.apply(self, self._ensure_tensor(b))

    def __radd__(self, b: TensorLike) -> Tensor:
        return Add.apply(self._ensure_tensor(b), self)

    def __sub__(self, b: TensorLike) -> Tensor:
        return Add.apply(self, Neg.apply(self._ensure_tensor(b)))

    def __rsub__(self, b: TensorLike) -> Tensor:
        left = self._ensure_tensor(b)
        return Add.apply(left, Neg.apply(left._ensure_tensor(self)))

    def __mul__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self, self._ensure_tensor(b))

    def __rmul__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self._ensure_tensor(b), self)

    def __truediv__(self, b: TensorLike) -> Tensor:
        return math_functions.divide(self, self._ensure_tensor(b))

    def __rtruediv__(self, b: TensorLike) -> Tensor:
        return math_functions.divide(self._ensure_tensor(b), self)

    def __matmul__(self, b: Tensor) -> Tensor:
        """Matrix product over the last two dimensions; a one-dimensional operand is a row on the left, a column on the right."""
        if not isinstance(b, Tensor):
            raise TypeError(f"matmul expected a Tensor, got {type(b).__name__}; make one with tensor(...)")
        row, column = len(self._tensor.shape) == 1, len(b._tensor.shape) == 1
        out = MatMul.apply(self.unsqueeze(0) if row else self, b.unsqueeze(1) if column else b)
        out = out.squeeze(-1) if column else out
        return out.squeeze(-1 if column else -2) if row else out

    def __neg__(self) -> Tensor:
        return Neg.apply(self)

    def __lt__(self, b: TensorLike) -> Tensor:
        return LT.apply(self, self._ensure_tensor(b))

    def __gt__(self, b: TensorLike) -> Tensor:
        return LT.apply(self._ensure_tensor(b), self)

    def __eq__(self, b: TensorLike) -> Tensor:  # type: ignore[override]  # element by element
        return EQ.apply(self, self._ensure_tensor(b))

    __hash__ = object.__hash__  # by identity, as backpropagation needs it

    def is_close(self, b: TensorLike) -> Tensor:
        """Whether each element differs from b's by less than 1e-2, as bool."""
        return IsClose.apply(self, self._ensure_tensor(b))

    def sigmoid(self) -> Tensor:
        """1 / (1 + e^-self)."""
        return Sigmoid.apply(self)

    def relu(self) -> Tensor:
        """self where positive, else 0."""
        return ReLU.apply(self)

    def log(self) -> Tensor:
        """Natural logarithm, ln(self + EPS)."""
        return Log.apply(self)

    def exp(self) -> Tensor:
        """e^self, the exponential."""
        return Exp.apply(self)

    # Task 2.3b: reductions

    def all(self, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """Whether all elements are true (not 0), as bool.

        Args:
            dim: Dimensions to reduce; None for all elements, with a result of shape (1,).
            keepdim: Whether the reduced dimensions stay, with size 1.
        """
        return self._reduce(All.apply, dim, keepdim)

    def sum(self, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """Sum of the elements.

        Args:
            dim: Dimensions to reduce; None for all elements, with a result of shape (1,).
            keepdim: Whether the reduced dimensions stay, with size 1.
        """
        return self._reduce(Sum.apply, dim, keepdim)

    @compute_in_float32
    def mean(self, dim: Dims = None, keepdim: bool = True) -> Tensor:
        """Mean of the elements.

        Args:
            dim: Dimensions to reduce; None for all elements, with a result of shape (1,).
            keepdim: Whether the reduced dimensions stay, with size 1.
        """
        count = self._count(dim)
        return Tensor.sum(self, dim, keepdim) * (1 / count if count else math.nan)

    # Task 2.3b: layout

    def permute(self, *order: Any) -> Tensor:
        """The dimensions in another order: a view.

        Args:
            order: For every dimension of the result, which dimension of this tensor it is: permute(1, 0) or permute((1, 0)). Negative
                numbers count from the end.
        """
        return Permute.apply(self, self._normalize_dims(order[0] if len(order) == 1 else order))

    def view(self, *shape: Any) -> Tensor:
        """The same elements in the same order with another shape, over the same storage.

        Args:
            shape: The sizes; one may be -1, which is computed from the others.

        Raises:
            ValueError: If the elements are not contiguous, or the sizes do not multiply to their number.
        """
        return View.apply(self, self._resolve_shape(shape))

    def contiguous(self) -> Tensor:
        """The same elements, contiguous in storage: the tensor itself if it is contiguous, else a copy."""
        return self if self.is_contiguous() else Copy.apply(self)

    # Helpers of the methods above

    def _ensure_tensor(self, b: TensorLike) -> Tensor:
        """An operand as a tensor: a number becomes a constant of no dimensions, in this tensor's dtype if that can represent it."""
        dtype = self._tensor.dtype
        if isinstance(b, Tensor):  # a mask with a tensor of numbers takes their dtype, so that float32 - mask is float32
            return b if b._tensor.dtype is dtype or b.dtype.kind not in "bu" else b.to(promote_mask(dtype, b.dtype))
        if isinstance(b, NUMBER):
            dtype = promote_scalar(dtype, b)
            try:
                data = TensorData.empty((), dtype)
                data._storage[0] = (
                    b if dtype is float64 or (dtype is float32 and math.fabs(b) < FLOAT32_OVERFLOW) else cast_scalar(b, dtype)
                )
                constant(data._storage)
                return self._like(data)
            except OverflowError:
                raise OverflowError(f"{b} is out of range for {dtype.name}; convert the tensor to int64 or float64 first") from None
        raise TypeError(f"expected a Tensor or a number, got {type(b).__name__}; convert it with tensor(...)")

    def _reduce(self, reduction: Callable[[Tensor, Any], Tensor], dim: Dims, keepdim: bool) -> Tensor:
        """Reduce dimensions, one after the other.

        Args:
            reduction: Reduces one dimension of a tensor to size 1, such as `Sum.apply`, which reduces several at once on some backends.
            dim: Dimensions to reduce; None for all elements: the result has shape (1,), or () without keepdim.
            keepdim: Whether the reduced dimensions stay, with size 1.

        Raises:
            ValueError: If dim is an empty sequence.
        """
        if dim is None:
            out = reduction(self if self.dims == 1 else View.apply(self.contiguous(), (self._tensor.size,)), 0)
            return out if keepdim else View.apply(out, ())
        dims = self._normalize_dims(dim)
        if not dims:
            raise ValueError(f"a reduction expected at least one dimension, got {dim!r}; dim=None reduces all of them")
        if len(dims) > 1 and is_half(self.dtype):  # round once, not after every dimension
            out = self.to(float32)._reduce(reduction, dims, keepdim)
            return out.to(self.dtype) if out.dtype is float32 else out
        out = self
        if len(dims) > 1 and reduction in (Sum.apply, All.apply) and self.backend.reduces_many:
            out = reduction(out, dims)
        else:
            for d in sorted(dims, reverse=True):  # last dimension first: of equal elements, max then finds the first
                out = reduction(out, d)
        return out if keepdim else layout_functions.squeeze(out, dims)

    def _count(self, dim: Dims) -> int:
        """Number of elements that a reduction over dim combines into one."""
        return self._tensor.size if dim is None else math.prod(self.shape[d] for d in self._normalize_dims(dim))

    def _normalize_dim(self, dim: int) -> int:
        """A dimension counted from the front.

        Raises:
            TypeError: If it is not an integer.
            IndexingError: If it is out of range.
        """
        try:
            dim = operator.index(dim)
        except TypeError:
            raise TypeError(f"a dimension expected an integer, got {dim!r}") from None
        dims = self.dims
        if not -dims <= dim < dims:
            raise IndexingError(f"dimension {dim} is out of range for shape {self.shape}, which has {dims}")
        return dim % dims

    def _normalize_dims(self, dim: int | Sequence[int]) -> tuple[int, ...]:
        """Dimensions counted from the front.

        Raises:
            IndexingError: If one is out of range or repeated.
        """
        if type(dim) is int:
            return (self._normalize_dim(dim),)
        dims = tuple([self._normalize_dim(d) for d in (dim if isinstance(dim, (tuple, list, Sequence)) else (dim,))])
        if len(set(dims)) < len(dims):
            raise IndexingError(f"expected each dimension at most once for shape {self.shape}, got {dim}")
        return dims

    def _resolve_shape(self, shape: tuple[Any, ...]) -> tuple[int, ...]:
        """The shape given as `view(2, 3)` or `view((2, 3))`, with -1 replaced by the size it stands for.

        Raises:
            ValueError: If no size, or any size, could replace -1.
        """
        sizes = tuple(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
        if -1 not in sizes:
            return as_shape(sizes, "view")
        if sizes.count(-1) > 1:
            raise ValueError(f"view expected at most one -1, got {sizes}")
        unknown = sizes.index(-1)
        before, after = as_shape(sizes[:unknown], "view"), as_shape(sizes[unknown + 1 :], "view")
        known = math.prod(before + after)
        if known == 0 or self._tensor.size % known:
            raise ValueError(f"view found no size for -1: shape {self.shape} has {self.numel()} elements, {sizes} a multiple of {known}")
        return (*before, self._tensor.size // known, *after)

    # Task 2.4: backpropagation, see `Variable` in autodiff.py

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow into it: it is a leaf that keeps them, or was computed from one."""
        return self.history is not None

    def requires_grad_(self, flag: bool = True) -> Tensor:
        """Make it a leaf, which keeps its gradient, or (False) a constant; either way its history is dropped.

        Raises:
            TypeError: If a leaf would not hold floats.
        """
        if flag and not is_float(self.dtype):
            raise TypeError(f"only floating-point tensors can require gradients, got {self.dtype.name}; convert it first: x.to(float64)")
        self.history = LEAF if flag else None
        return self

    def is_leaf(self) -> bool:
        """Whether it keeps its gradient."""
        return self.history is not None and self.history.last_fn is None

    def is_constant(self) -> bool:
        """Whether no gradient flows into it."""
        return self.history is None

    @property
    def parents(self) -> Sequence[Tensor]:
        """The tensors that it was computed from; none for a leaf or a constant."""
        return self.history.inputs if self.history is not None else ()

    def accumulate_derivative(self, x: Tensor) -> None:
        """Add a gradient of this leaf's shape to its `grad`.

        Raises:
            RuntimeError: If it is not a leaf.
        """
        if self.history is None or self.history.last_fn is not None:
            raise RuntimeError("only a leaf keeps its gradient, but this tensor was computed or is a constant; see register_hook")
        x = apply_hooks(self, unbroadcast(x, self, "accumulate_derivative got"))
        x = x if x._plain is self._plain else self._like(x._tensor, x.history)
        self.grad = x.f.id_map(x) if self.grad is None else self.grad + x  # a copy: other tensors may share the storage

    def chain_rule(self, d_output: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
        """Pass the gradient of this tensor on to the inputs of the function that computed it.

        Args:
            d_output: Gradient of the final output with respect to this tensor.

        Returns:
            One pair (input, gradient in the input's shape and dtype) for every input that is not a constant.

        Raises:
            RuntimeError: If no function computed it, or an earlier backward pass freed its graph.
            ValueError: If the function's backward returns more or fewer gradients than it has arguments, or one of the wrong shape.
        """
        if self.history is None or self.history.last_fn is None:
            raise RuntimeError("chain_rule expected a tensor made by a function, got a leaf or a constant, which has no inputs")
        history = self.history
        fn, inputs = history.last_fn, history.inputs
        ctx: Any = history.ctx  # a TensorContext
        if ctx is None:
            raise RuntimeError(
                f"an earlier backward pass freed what {fn.__name__} had saved; "
                "call backward(retain_graph=True) the first time, or compute the output again"
            )
        gradients = fn._backward(ctx, d_output if self._hooks is None else apply_hooks(self, d_output))
        if len(gradients) != len(inputs):
            gradients = select_tensor_gradients(gradients, inputs, ctx)
        if not grad_mode.retain_graph:
            history.ctx, history.inputs = None, ()
        pairs = []
        for x, gradient in zip(inputs, gradients, strict=True):
            if x.history is not None:
                needed, got = x._tensor, getattr(gradient, "_tensor", None)
                if got is None or got.shape != needed.shape or got.dtype is not needed.dtype:
                    gradient = unbroadcast(gradient, x, f"{fn.__name__}.backward returned")
                pairs.append((x, gradient))
        return pairs

    def backward(self, grad_output: Tensor | float | None = None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """Compute the gradient of this tensor with respect to every leaf it was computed from, and add it to the leaf's `grad`.

        Args:
            grad_output: Gradient of a further output with respect to this tensor, in its shape; 1 by default for a tensor of one element.
            retain_graph: Whether to keep the graph for another backward pass; by default it is freed, unless create_graph is set.
            create_graph: Whether to record the gradients, so that they can be differentiated themselves.

        Raises:
            RuntimeError: If it records no gradients, has several elements and no grad_output, or its graph has been freed.
            ValueError: If grad_output has another shape.
        """
        if self.history is None:
            raise RuntimeError(
                "backward expected a tensor that was computed from leaves, got a constant; make leaves with requires_grad=True"
            )
        if grad_output is None:
            if self._tensor.size != 1:
                raise RuntimeError(
                    f"backward expected a tensor of one element, got shape {self.shape}; sum it first, or pass grad_output of that shape"
                )
            grad_output = 1.0
        seed = self._ensure_tensor(grad_output)
        if seed.shape != self.shape and not seed._tensor.size == self._tensor.size == 1:
            raise ValueError(f"backward expected grad_output of shape {self.shape}, that of the tensor, got {seed.shape}")
        if create_graph:
            engine = later_module("minitorch.autograd.engine", "create_graph=True")
            engine.recorded_backward(self, seed.reshape(self.shape).to(promote_to_float(self.dtype)), retain_graph)
            return
        seed = seed._like(seed._tensor if seed.shape == self.shape else seed._tensor.reshape(self.shape))
        before = grad_mode.enabled, grad_mode.retain_graph
        grad_mode.enabled, grad_mode.retain_graph = False, bool(retain_graph)
        try:
            backpropagate(self, seed.to(promote_to_float(self.dtype)))
        finally:
            grad_mode.enabled, grad_mode.retain_graph = before

    def detach(self) -> Tensor:
        """A constant over the same storage."""
        return self._like(self._tensor)

    def zero_grad_(self) -> None:
        """Reset the accumulated gradient to None."""
        self.grad = None

    # What it holds, and tensors like it

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
        """Data type of the elements."""
        return self._tensor.dtype

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
        """A tensor of the same kind on the same backend, without the checks of the constructor."""
        made = new(self._plain)
        made.backend = made.f = used = backend or self.backend
        made._tensor = used.ops.place(data) if used.cuda else data
        made.history = history
        made.grad = made._name = made._hooks = None
        return made

    def zeros(self, shape: Sequence[int] | None = None, dtype: Any = None) -> Tensor:
        """Zeros on the same backend, in the tensor's own shape and dtype unless others are given."""
        data = self._tensor
        return self._like(self.backend.ops.zeros(data.shape if shape is None else as_shape(shape, "zeros"), dtype or data.dtype))


Tensor._plain = Tensor

TensorLike = float | int | Tensor
"""What an operator accepts besides a Tensor."""


# Making tensors


def zeros(shape: Sequence[int], backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """A tensor of zeros.

    Args:
        shape: Size of every dimension.
        backend: The backend that computes on it.
        requires_grad: Whether it keeps its gradient.
        dtype: Data type of the elements; the default dtype if left out.
    """
    return make_tensor(TensorData.zeros(as_shape(shape, "zeros"), dtype), backend, requires_grad)


def rand(shape: Sequence[int], backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Random numbers from the uniform distribution on [0, 1); `manual_seed` makes them reproducible.

    Args:
        shape: Size of every dimension.
        backend: The backend that computes on it.
        requires_grad: Whether it keeps its gradient.
        dtype: A floating-point dtype; the default dtype if left out.

    Raises:
        TypeError: If the dtype is not a floating-point dtype.
    """
    shape, dtype = as_shape(shape, "rand"), as_dtype(dtype)
    return make_tensor(TensorData(uniform(generator, math.prod(shape), dtype), shape), backend, requires_grad)


def tensor(ls: Any, backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """A tensor that holds a copy of the given numbers.

    Args:
        ls: Nested lists or tuples of numbers, an array, or one number.
        backend: The backend that computes on it.
        requires_grad: Whether it keeps its gradient.
        dtype: Data type of the elements. Left out: that of an array, bool for truth values, the default dtype for Python numbers.

    Raises:
        ValueError: If the lists are ragged, or an integer dtype cannot represent the numbers.
        TypeError: If there is anything but numbers.
    """
    values = to_array(ls, "tensor")
    if dtype is None and (values.dtype.kind == "b" or hasattr(ls, "dtype")):
        dtype = values.dtype
    values = convert_array(values, as_dtype(dtype), "tensor")
    return make_tensor(TensorData(values.reshape(-1), values.shape), backend, requires_grad)


def make_tensor(data: TensorData, backend: TensorBackend, requires_grad: bool) -> Tensor:
    """A tensor over new data.

    Raises:
        TypeError: If a tensor that keeps its gradient would not hold floats, or the backend is not a TensorBackend.
    """
    resolved = resolve_backend(backend)
    if resolved is None:
        raise TypeError(f"expected a TensorBackend, got {type(backend).__name__} {backend!r}; make one with TensorBackend(SimpleOps)")
    made = Tensor(data, backend=resolved)
    return made.requires_grad_(True) if requires_grad else made


generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """Seed the random numbers of `rand` and `randn`, so that the same seed gives the same tensors."""
    generator.bit_generator.state = np.random.default_rng(seed).bit_generator.state
