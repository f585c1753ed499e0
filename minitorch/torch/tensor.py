"""Stage 6 - The tensor of `minitorch.torch`: a tensor of the engine behind PyTorch's interface.

The engine's Tensor keeps the published course's interface: `sum(1)` keeps the dimension, `size` is a number. Its own functions rely on it,
so PyTorch's interface is an object around it instead of a subclass: `wrap` and `unwrap` lead from one to the other, and `lift` makes a
function of the engine's tensors one of Tensors.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import LEAF
from minitorch.compiler.nesting import TensorHolder
from minitorch.core.context import grad_mode, no_grad
from minitorch.core.dtypes import as_dtype, bool_, float16, float32, float64, int16, int32, int64, is_float
from minitorch.core.indexing import as_index
from minitorch.core.layout_functions import Expand, Select
from minitorch.core.recording import refuse
from minitorch.ops.indexing import Put
from minitorch.ops.views import StridedView
from minitorch.tensor import NUMBER
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor_functions import Add, Function, Mul, Permute, ReLU, View
from minitorch.torch import arithmetic, creation, factorizations, indexing, pointwise, products, rearranging, reductions, shapes, statistics
from minitorch.torch.absent import absent
from minitorch.torch.nodes import Node
from minitorch.torch.places import Size, backend_of, device, device_of, target
from minitorch.torch.printing import represent
from minitorch.torch.promotion import cast, get_default_dtype, promote

RETAINED = object()
"""The key of the hook that keeps the gradient of a computed tensor; it runs after all others."""

VIEWS = (View, Permute, Expand, Select, StridedView)
"""The functions whose results share memory with their input."""


def unwrap(x: Any) -> Any:
    """The engine's tensor in a Tensor; the same for the elements of lists, tuples and dictionaries; anything else unchanged."""
    if isinstance(x, Tensor):
        return x._engine
    if isinstance(x, (list, tuple)):
        if hasattr(x, "_fields"):
            return type(x)(*map(unwrap, x))
        return tuple(map(unwrap, x)) if isinstance(x, tuple) else list(map(unwrap, x))
    if type(x) is dict:
        return {name: unwrap(value) for name, value in x.items()}
    return x


def wrap(x: Any) -> Any:
    """The converse of `unwrap`."""
    if isinstance(x, EngineTensor):
        return Tensor._of(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(wrap, x))
    if type(x) in (list, tuple):
        return type(x)(map(wrap, x))
    if type(x) is dict:
        return {name: wrap(value) for name, value in x.items()}
    return x


def lift(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the engine's tensors as one of Tensors: a method in a class, a function elsewhere.

    With `out`, a Tensor or a tuple of them, it writes its result there, which records no gradients.
    """

    @functools.wraps(fn)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            out = kwargs.pop("out")
            return write_out(lifted(*args, **kwargs), out)
        values = [x._engine if isinstance(x, Tensor) else unwrap(x) for x in args]
        out = fn(*values, **{name: unwrap(value) for name, value in kwargs.items()}) if kwargs else fn(*values)
        if type(out) is EngineTensor:
            made = new(Tensor)
            made._engine = out
            return made
        return wrap(out)

    return lifted


new = object.__new__


def write_out(result: Any, out: Any) -> Any:
    """Write a result into the Tensors of an argument `out`; an empty one takes the shape of the result.

    Raises:
        RuntimeError: If gradients would be recorded, or a shape differs.
        TypeError: If `out` is neither a Tensor nor as many Tensors as there are results.
    """
    if out is None:
        return result
    if isinstance(result, tuple) and isinstance(out, (tuple, list)) and len(out) == len(result):
        return type(out)(map(write_out, result, out))
    if not (isinstance(result, Tensor) and isinstance(out, Tensor)):
        expected = f"{len(result)} Tensors" if isinstance(result, tuple) else "a Tensor"
        raise TypeError(f"out expected {expected}, got {type(out).__name__}; assign the result to a variable instead")
    if result.requires_grad or (grad_mode.enabled and out.requires_grad):
        raise RuntimeError("functions with out= record no gradients; call them within torch.no_grad(), or assign the result to a variable")
    if not out.numel() and result.numel():
        out._engine = cast(result._engine, out.dtype)
    else:
        out._overwrite(result._engine)
    return out


def operator_of(function: type[Function]) -> Callable[[Tensor, Any], Tensor]:
    """A function of two tensors as an operator, which decides the dtype without a call where both have the same."""

    def operator(self: Tensor, other: Any) -> Tensor:
        a, b = self._engine, other._engine if isinstance(other, Tensor) else other
        if type(b) is not EngineTensor or a._tensor.dtype is not b._tensor.dtype:
            a, b = promote(a, b)
        made = new(Tensor)
        made._engine = function.apply(a, b)
        return made

    return operator


def in_place(fn: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function of the engine's tensors as a method that overwrites its Tensor with the result."""

    @functools.wraps(fn)
    def overwrite(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        out = fn(self._engine, *map(unwrap, args), **{name: unwrap(value) for name, value in kwargs.items()})
        self._overwrite(out)
        return self

    overwrite.__name__ = f"{fn.__name__}_"
    return overwrite


class Tensor(TensorHolder):
    """A tensor with PyTorch's interface. `Tensor(2, 3)` has this shape, `Tensor([1, 2])` these numbers, both in the default dtype.

    Attributes:
        _engine: The engine's tensor, which holds the numbers, the history and the gradient.
    """

    __slots__ = ("__weakref__",)

    _engine: EngineTensor

    def __init__(self, *data: Any) -> None:
        if not data or all(isinstance(each, int) for each in data):
            self._engine = creation.zeros(data or (0,))
        else:
            self._engine = creation.tensor(unwrap(data[0]), dtype=get_default_dtype())

    @staticmethod
    def _of(x: EngineTensor) -> Tensor:
        """A Tensor around a tensor of the engine."""
        made = new(Tensor)
        made._engine = x
        return made

    # Properties

    @property
    def shape(self) -> Size:
        """The size of every dimension."""
        return Size(self._engine._tensor.shape)

    def size(self, dim: int | None = None) -> Any:
        """The size of every dimension, or of one."""
        return self.shape if dim is None else self._engine._tensor.shape[dim]

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self._engine._tensor.shape)

    ndimension = dim
    ndim = property(dim)

    def numel(self) -> int:
        """Number of elements."""
        return self._engine._tensor.size

    nelement = numel

    @property
    def dtype(self) -> np.dtype:
        """Data type of the elements."""
        return self._engine._tensor.dtype

    @property
    def device(self) -> device:
        """Where it lies."""
        return device_of(self._engine.backend)

    @property
    def is_cuda(self) -> bool:
        """Whether it lies on a GPU."""
        return self._engine.backend.cuda

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """The stride of every dimension, or of one, in elements."""
        strides = self._engine.stride()
        return strides if dim is None else strides[dim]

    def storage_offset(self) -> int:
        """Position of the first element in the storage."""
        return self._engine.storage_offset()

    def is_contiguous(self) -> bool:
        """Whether the elements lie in memory in row-major order."""
        return self._engine.is_contiguous()

    def is_floating_point(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return is_float(self.dtype)

    @property
    def T(self) -> Tensor:
        """All dimensions in reverse order, as a view."""
        return wrap(self._engine.permute(*range(self.dim())[::-1])) if self.dim() else self

    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged, as a view."""
        return self.transpose(-1, -2)

    H = mT

    # Autograd

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow into it. Assignment makes it a leaf, or a constant."""
        return self._engine.history is not None

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make it a leaf that keeps its gradient, or a constant.

        Raises:
            RuntimeError: If it was computed and should no longer require gradients, or does not hold floating-point numbers.
        """
        x = self._engine
        if x.history is not None and x.history is not LEAF:
            if requires_grad:
                return self
            raise RuntimeError("only a leaf can stop to require gradients, this tensor was computed; use x.detach()")
        if requires_grad and not is_float(x.dtype):
            raise RuntimeError(f"only floating-point tensors can require gradients, got {x.dtype.name}; convert it first: x.float()")
        if (x.history is not None) != bool(requires_grad):
            x.requires_grad_(bool(requires_grad))
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it was not computed from tensors that require gradients."""
        return self._engine.history is None or self._engine.history.last_fn is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the graph for the function that computed it; None for a leaf."""
        return None if self.is_leaf else Node(self._engine)

    @property
    def grad(self) -> Tensor | None:
        """The sum of the gradients that reached this leaf; None before the first."""
        found = self._engine.grad
        return None if found is None else Tensor._of(found)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and value.shape != self.shape:
            raise RuntimeError(f"grad expected shape {tuple(self.shape)}, that of the tensor, got {tuple(value.shape)}")
        self._engine.grad = None if value is None else value._engine

    @property
    def data(self) -> Tensor:
        """A constant over the same memory. Assignment replaces the numbers and keeps the leaf."""
        return Tensor._of(self._engine.detach())

    @data.setter
    def data(self, value: Tensor) -> None:
        self._engine._tensor = value._engine._tensor

    def detach(self) -> Tensor:
        """A constant over the same memory."""
        return Tensor._of(self._engine.detach())

    def detach_(self) -> Tensor:
        """Make it a constant."""
        self._engine = self._engine.detach()
        return self

    def backward(self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """Add the gradient of this tensor with respect to every leaf to the leaf's `grad`.

        Args:
            gradient: Gradient of a further result with respect to this tensor; 1 by default for one element.
            retain_graph: Whether to keep the graph for another backward pass.
            create_graph: Whether to record the gradients.

        Raises:
            RuntimeError: If it requires no gradients, has several elements and no gradient is given, or its graph has been freed.
        """
        self._engine.backward(unwrap(gradient), retain_graph, create_graph)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Call a function with the gradient of this tensor during the backward pass; it may return another one."""
        handle = self._engine.register_hook(lambda gradient: unwrap(hook(wrap(gradient))))
        if self.retains_grad:
            self.retain_grad()
        return handle

    def retain_grad(self) -> None:
        """Keep the gradient of a computed tensor as its `grad`; a leaf keeps it anyway.

        Raises:
            RuntimeError: If it requires no gradients.
        """
        x = self._engine
        if x.history is None:
            raise RuntimeError("retain_grad expected a tensor that requires gradients, got a constant; call requires_grad_() first")
        if self.is_leaf:
            return

        def keep(gradient: EngineTensor) -> None:
            x.grad = gradient.clone() if x.grad is None else x.grad + gradient

        x._hooks = x._hooks or {}
        x._hooks.pop(RETAINED, None)  # the last hook sees what the others made of the gradient
        x._hooks[RETAINED] = keep

    @property
    def retains_grad(self) -> bool:
        """Whether it was computed and keeps its gradient; see `retain_grad`."""
        return RETAINED in (self._engine._hooks or ())

    def clone(self) -> Tensor:
        """A copy; gradients flow through it."""
        return Tensor._of(self._engine.clone())

    # New tensors

    new_zeros, new_ones, new_empty, new_full, new_tensor = map(
        lift, (creation.new_zeros, creation.new_ones, creation.new_empty, creation.new_full, creation.new_tensor)
    )

    # Writing

    def _overwrite(self, out: EngineTensor) -> None:
        """Replace the numbers by those of a result, and the history by its history.

        Raises:
            RuntimeError: If that would lose gradients: a leaf, or a view of a tensor that was computed.
            TypeError: If the dtype of the result is of a higher category.
        """
        x = self._engine
        if x._tensor.shape != out._tensor.shape:
            raise RuntimeError(f"a function in place expected a result of shape {x.shape}, that of the tensor, got {out.shape}")
        recorded = grad_mode.enabled and (x.history is not None or out.history is not None)
        if recorded and x.history is LEAF:
            raise RuntimeError("a leaf that requires gradients cannot be changed in place; do it within torch.no_grad()")
        if recorded and x.history is not None and x.history.last_fn in VIEWS:
            raise RuntimeError("a view of a tensor with a history cannot be changed in place, its base would not know; use x.clone() first")
        if is_float(out._tensor.dtype) > is_float(x._tensor.dtype):
            raise RuntimeError(f"a tensor of {x.dtype.name} cannot hold a result of {out.dtype.name}; convert it first: x.float()")
        values = cast(out, x._tensor.dtype)
        with no_grad():
            x.detach()[...] = values.detach()
        if recorded:
            retains, self._engine = self.retains_grad, x._like(x._tensor, values.history)
            if retains:
                self.retain_grad()

    def __setitem__(self, index: Any, value: Any) -> None:
        x, index, value = self._engine, unwrap(index), unwrap(value)
        if isinstance(value, EngineTensor):
            value = cast(value, x.dtype)
        if grad_mode.enabled and (x.history is not None or getattr(value, "history", None) is not None):
            given = value if isinstance(value, EngineTensor) else x.detach()._ensure_tensor(value)
            self._overwrite(Put.apply(x, as_index(index), given))
            return
        with no_grad():
            x.detach()[index] = value.detach() if isinstance(value, EngineTensor) else value

    def copy_(self, src: Any) -> Tensor:
        """Overwrite it with other numbers, which broadcast and are converted to its dtype."""
        given = unwrap(src)
        given = cast(given, self.dtype).expand(*self.shape) if isinstance(given, EngineTensor) else creation.full_like(self._engine, given)
        if given.backend is not self._engine.backend:
            given = given.to(self._engine.backend)
        self._overwrite(given.clone() if given.history is None else given)
        return self

    def fill_(self, value: Any) -> Tensor:
        """Overwrite it with one number."""
        self._overwrite(creation.full_like(self._engine, unwrap(value)))
        return self

    def zero_(self) -> Tensor:
        """Overwrite it with zeros."""
        return self.fill_(0)

    def uniform_(self, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Tensor:
        """Overwrite it with uniform random numbers from a to b."""
        self._overwrite(creation.rand(self.shape, generator=generator, dtype=self.dtype, device=self._engine.backend) * (b - a) + a)
        return self

    def normal_(self, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
        """Overwrite it with normal random numbers."""
        self._overwrite(creation.randn(self.shape, generator=generator, dtype=self.dtype, device=self._engine.backend) * std + mean)
        return self

    add_, sub_, mul_, div_ = map(in_place, (arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.div))
    pow_, clamp_, masked_fill_, lerp_ = map(in_place, (arithmetic.pow, arithmetic.clamp, arithmetic.masked_fill, arithmetic.lerp))
    addcmul_, addcdiv_, neg_ = map(in_place, (arithmetic.addcmul, arithmetic.addcdiv, arithmetic.neg))
    exp_, sqrt_, abs_, relu_, sigmoid_, tanh_ = map(
        in_place, (pointwise.exp, pointwise.sqrt, pointwise.abs, pointwise.relu, pointwise.sigmoid, pointwise.tanh)
    )
    floor_, round_, scatter_, scatter_add_, index_add_ = map(
        in_place, (pointwise.floor, pointwise.round, indexing.scatter, indexing.scatter_add, indexing.index_add)
    )
    log_, square_, reciprocal_, rsqrt_, sin_, cos_, ceil_, trunc_ = map(
        in_place,
        (
            pointwise.log, pointwise.square, pointwise.reciprocal, pointwise.rsqrt, pointwise.sin, pointwise.cos, pointwise.ceil,
            pointwise.trunc,
        ),
    )  # fmt: skip
    index_fill_, index_copy_, nan_to_num_, addmm_, fmod_ = map(
        in_place, (indexing.index_fill, indexing.index_copy, arithmetic.nan_to_num, products.addmm, arithmetic.fmod)
    )
    copysign_, nextafter_, bitwise_left_shift_, bitwise_right_shift_ = map(
        in_place, (arithmetic.copysign, arithmetic.nextafter, arithmetic.bitwise_left_shift, arithmetic.bitwise_right_shift)
    )
    __iadd__, __isub__, __imul__, __itruediv__, __ipow__ = add_, sub_, mul_, div_, pow_
    __ilshift__, __irshift__ = bitwise_left_shift_, bitwise_right_shift_

    def clamp_min_(self, min: Any) -> Tensor:
        """`clamp_` with a lower limit only."""
        return self.clamp_(min=min)

    def clamp_max_(self, max: Any) -> Tensor:
        """`clamp_` with an upper limit only."""
        return self.clamp_(max=max)

    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Tensor:
        """Overwrite it with 1, with probability p, or 0."""
        probabilities = unwrap(p) if isinstance(p, Tensor) else creation.full(self.shape, float(p), dtype=get_default_dtype())
        self._overwrite(cast(creation.bernoulli(probabilities, generator=generator), self.dtype))
        return self

    def unsqueeze_(self, dim: int) -> Tensor:
        """Insert a dimension of size 1."""
        self._engine = self._engine.unsqueeze(dim)
        return self

    def squeeze_(self, dim: Any = None) -> Tensor:
        """Remove dimensions of size 1."""
        self._engine = shapes.squeeze(self._engine, dim)
        return self

    def transpose_(self, dim0: int, dim1: int) -> Tensor:
        """Exchange two dimensions."""
        self._engine = shapes.transpose(self._engine, dim0, dim1)
        return self

    def t_(self) -> Tensor:
        """Transpose a matrix."""
        self._engine = shapes.t(self._engine)
        return self

    # Arithmetic; the most frequent operators without the general path

    __add__, __mul__ = map(operator_of, (Add, Mul))

    def __matmul__(self, other: Any) -> Tensor:
        made = new(Tensor)
        made._engine = products.matmul(self._engine, other._engine if isinstance(other, Tensor) else other)
        return made

    __radd__, __rmul__ = __add__, __mul__
    add, sub, subtract, mul, multiply = map(lift, (arithmetic.add, arithmetic.sub, arithmetic.sub, arithmetic.mul, arithmetic.mul))
    div = divide = true_divide = __truediv__ = lift(arithmetic.div)
    __sub__, __rsub__, __rtruediv__ = sub, lift(arithmetic.rsub), lift(arithmetic.rdiv)
    floor_divide = __floordiv__ = lift(arithmetic.floor_divide)
    remainder = __mod__ = lift(arithmetic.remainder)
    pow = __pow__ = lift(arithmetic.pow)
    __rfloordiv__, __rmod__, __rpow__ = (
        lift(arithmetic.reverse(fn)) for fn in (arithmetic.floor_divide, arithmetic.remainder, arithmetic.pow)
    )
    neg = negative = __neg__ = lift(arithmetic.neg)
    matmul = lift(products.matmul)

    def positive(self) -> Tensor:
        """The tensor itself.

        Raises:
            TypeError: If it holds bools.
        """
        if self.dtype is bool_:
            raise TypeError("positive expected numbers, got a bool tensor; convert it first: x.long()")
        return self

    __pos__ = positive
    eq, ne, lt, le, gt, ge = map(lift, (arithmetic.eq, arithmetic.ne, arithmetic.lt, arithmetic.le, arithmetic.gt, arithmetic.ge))
    __lt__, __le__, __gt__, __ge__ = lt, le, gt, ge

    def __eq__(self, other: Any) -> Any:
        return self.eq(other) if isinstance(other, (Tensor, *NUMBER)) else False

    def __ne__(self, other: Any) -> Any:
        return self.ne(other) if isinstance(other, (Tensor, *NUMBER)) else True

    __hash__ = object.__hash__
    bitwise_and = __and__ = __rand__ = lift(arithmetic.bitwise_and)
    bitwise_or = __or__ = __ror__ = lift(arithmetic.bitwise_or)
    bitwise_xor = __xor__ = __rxor__ = lift(arithmetic.bitwise_xor)
    bitwise_not = __invert__ = lift(arithmetic.bitwise_not)
    bitwise_left_shift = __lshift__ = lift(arithmetic.bitwise_left_shift)
    bitwise_right_shift = __rshift__ = lift(arithmetic.bitwise_right_shift)
    __rlshift__, __rrshift__ = (lift(arithmetic.reverse(fn)) for fn in (arithmetic.bitwise_left_shift, arithmetic.bitwise_right_shift))
    logical_and, logical_or, logical_xor, logical_not = map(
        lift, (arithmetic.logical_and, arithmetic.logical_or, arithmetic.logical_xor, arithmetic.logical_not)
    )
    isclose, allclose, equal = map(lift, (arithmetic.isclose, arithmetic.allclose, arithmetic.equal))
    masked_fill, maximum, minimum, lerp, addcmul, addcdiv = map(
        lift,
        (arithmetic.masked_fill, arithmetic.maximum, arithmetic.minimum, arithmetic.lerp, arithmetic.addcmul, arithmetic.addcdiv),
    )
    clamp = clip = lift(arithmetic.clamp)
    atan2, fmod, hypot, logaddexp, xlogy, nan_to_num = map(
        lift,
        (arithmetic.atan2, arithmetic.fmod, arithmetic.hypot, arithmetic.logaddexp, arithmetic.xlogy, arithmetic.nan_to_num),
    )
    copysign, nextafter = lift(arithmetic.copysign), lift(arithmetic.nextafter)
    greater, greater_equal, less, less_equal, not_equal, arctan2 = gt, ge, lt, le, ne, atan2

    def clamp_min(self, min: Any) -> Tensor:
        """`clamp` with a lower limit only."""
        return self.clamp(min=min)

    def clamp_max(self, max: Any) -> Tensor:
        """`clamp` with an upper limit only."""
        return self.clamp(max=max)

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """self where the condition is true, other elsewhere."""
        return wrap(arithmetic.where(condition._engine, self._engine, unwrap(other)))

    # Functions of each element

    def relu(self) -> Tensor:
        """max(x, 0)."""
        return Tensor._of(ReLU.apply(self._engine))

    exp, log, log1p, log2, log10, expm1, sqrt, rsqrt, square = map(
        lift,
        (
            pointwise.exp, pointwise.log, pointwise.log1p, pointwise.log2, pointwise.log10, pointwise.expm1, pointwise.sqrt,
            pointwise.rsqrt, pointwise.square,
        ),
    )  # fmt: skip
    sin, cos, tan, asin, acos, atan, sinh, cosh, tanh = map(
        lift,
        (
            pointwise.sin, pointwise.cos, pointwise.tan, pointwise.asin, pointwise.acos, pointwise.atan, pointwise.sinh, pointwise.cosh,
            pointwise.tanh,
        ),
    )  # fmt: skip
    sigmoid, erf, floor, ceil, trunc, round, frac, sign, reciprocal = map(
        lift,
        (
            pointwise.sigmoid, pointwise.erf, pointwise.floor, pointwise.ceil, pointwise.trunc, pointwise.round, pointwise.frac,
            pointwise.sign, pointwise.reciprocal,
        ),
    )  # fmt: skip
    asinh, acosh, atanh, erfc, logit, deg2rad, rad2deg = map(
        lift,
        (
            pointwise.asinh, pointwise.acosh, pointwise.atanh, pointwise.erfc, pointwise.logit, pointwise.deg2rad, pointwise.rad2deg,
        ),
    )  # fmt: skip
    fix, sgn = trunc, sign
    abs = absolute = __abs__ = lift(pointwise.abs)
    isnan, isinf, isfinite, signbit = map(lift, (pointwise.isnan, pointwise.isinf, pointwise.isfinite, pointwise.signbit))
    softmax, log_softmax = map(lift, (pointwise.softmax, pointwise.log_softmax))

    # Reductions

    sum, mean, prod, all, any, var, std, amax, amin = map(
        lift,
        (
            reductions.sum, reductions.mean, reductions.prod, reductions.all, reductions.any, reductions.var, reductions.std,
            reductions.amax, reductions.amin,
        ),
    )  # fmt: skip
    max, min, argmax, argmin, logsumexp, norm, median, cumsum, cumprod = map(
        lift,
        (
            reductions.max, reductions.min, reductions.argmax, reductions.argmin, reductions.logsumexp, reductions.norm, indexing.median,
            reductions.cumsum, reductions.cumprod,
        ),
    )  # fmt: skip
    unique, bincount, count_nonzero = map(lift, (reductions.unique, reductions.bincount, reductions.count_nonzero))
    aminmax, nansum, nanmean, cummax, cummin, logcumsumexp, diff = map(
        lift,
        (
            statistics.aminmax, statistics.nansum, statistics.nanmean, statistics.cummax, statistics.cummin, statistics.logcumsumexp,
            statistics.diff,
        ),
    )  # fmt: skip
    quantile, nanquantile, nanmedian, histc, cov, corrcoef = map(
        lift,
        (
            statistics.quantile, statistics.nanquantile, statistics.nanmedian, statistics.histc, statistics.cov, statistics.corrcoef,
        ),
    )  # fmt: skip

    # Shapes

    view, reshape, flatten, unflatten, permute, movedim, transpose, t, squeeze = map(
        lift,
        (
            shapes.view, shapes.reshape, shapes.flatten, shapes.unflatten, shapes.permute, shapes.movedim, shapes.transpose, shapes.t,
            shapes.squeeze,
        ),
    )  # fmt: skip
    swapaxes = swapdims = transpose
    moveaxis = movedim
    unsqueeze, contiguous = lift(EngineTensor.unsqueeze), lift(EngineTensor.contiguous)
    expand, repeat, tile, repeat_interleave, split, chunk, unbind, narrow, flip, roll = map(
        lift,
        (
            shapes.expand, shapes.repeat, shapes.tile, shapes.repeat_interleave, shapes.split, shapes.chunk, shapes.unbind, shapes.narrow,
            shapes.flip, shapes.roll,
        ),
    )  # fmt: skip
    broadcast_to = expand
    tril, triu, diagonal, diag = map(lift, (shapes.tril, shapes.triu, shapes.diagonal, shapes.diag))
    rot90, fliplr, flipud, ravel, unfold, tensor_split, hsplit, vsplit, dsplit, diagflat, diag_embed = map(
        lift,
        (
            rearranging.rot90, rearranging.fliplr, rearranging.flipud, rearranging.ravel, rearranging.unfold, rearranging.tensor_split,
            rearranging.hsplit, rearranging.vsplit, rearranging.dsplit, rearranging.diagflat, rearranging.diag_embed,
        ),
    )  # fmt: skip

    def view_as(self, other: Tensor) -> Tensor:
        """The same memory in the shape of another tensor."""
        return self.view(other.shape)

    def reshape_as(self, other: Tensor) -> Tensor:
        """The same elements in the shape of another tensor."""
        return self.reshape(other.shape)

    def expand_as(self, other: Tensor) -> Tensor:
        """Expanded to the shape of another tensor."""
        return self.expand(other.shape)

    # Indices and order

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor._of(Select.apply(self._engine, as_index(unwrap(index))))

    gather, scatter, scatter_add, index_select, index_add, masked_select, take_along_dim, nonzero = map(
        lift,
        (
            indexing.gather, indexing.scatter, indexing.scatter_add, indexing.index_select, indexing.index_add, indexing.masked_select,
            indexing.take_along_dim, indexing.nonzero,
        ),
    )  # fmt: skip
    index_fill, index_copy, select, argwhere, isin, bucketize = map(
        lift,
        (
            indexing.index_fill, indexing.index_copy, indexing.select, indexing.argwhere, indexing.isin, indexing.bucketize,
        ),
    )  # fmt: skip
    sort, argsort, topk, kthvalue = map(lift, (indexing.sort, indexing.argsort, indexing.topk, indexing.kthvalue))

    # Products

    mm, bmm, mv, dot, outer, addmm = map(lift, (products.mm, products.bmm, products.mv, products.dot, products.outer, products.addmm))
    addmv, addr, baddbmm, addbmm, inner, kron, cross, dist = map(
        lift,
        (
            products.addmv, products.addr, products.baddbmm, products.addbmm, products.inner, products.kron, products.cross, products.dist,
        ),
    )  # fmt: skip
    vdot, ger = dot, outer
    det, slogdet, logdet, pinverse, matrix_power, qr = map(
        lift,
        (
            factorizations.det, factorizations.slogdet, factorizations.logdet, factorizations.pinv, factorizations.matrix_power,
            factorizations.qr,
        ),
    )  # fmt: skip
    cholesky, inverse, trace = map(lift, (products.cholesky, products.inv, products.trace))

    # Conversion

    def to(self, *targets: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False) -> Tensor:
        """The tensor in another dtype, on another device, or both as another tensor has them.

        Raises:
            TypeError: If a target is neither.
        """
        x = self._engine
        for each in (*targets, device, dtype):
            if isinstance(each, Tensor):
                x = x.to(each._engine.backend).to(each.dtype)
            elif each is not None:
                x = x.to(target(each))
        return self if x is self._engine and not copy else Tensor._of(x.clone() if copy and x is self._engine else x)

    def type(self, dtype: Any) -> Tensor:
        """The tensor in another dtype."""
        return self.to(as_dtype(dtype))

    def type_as(self, other: Tensor) -> Tensor:
        """The tensor in the dtype of another."""
        return self.to(other.dtype)

    def float(self) -> Tensor:
        """As float32."""
        return self.to(float32)

    def double(self) -> Tensor:
        """As float64."""
        return self.to(float64)

    def half(self) -> Tensor:
        """As float16."""
        return self.to(float16)

    def short(self) -> Tensor:
        """As int16."""
        return self.to(int16)

    def int(self) -> Tensor:
        """As int32, without fractions."""
        return self.to(int32)

    def long(self) -> Tensor:
        """As int64, without fractions."""
        return self.to(int64)

    def bool(self) -> Tensor:
        """Whether each element differs from 0."""
        return self.to(bool_)

    def cpu(self) -> Tensor:
        """On the CPU."""
        return self.to(backend_of("cpu"))

    def cuda(self) -> Tensor:
        """On the GPU."""
        return self.to(backend_of("cuda"))

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self._engine.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers; of no dimensions a number."""
        return self._engine.tolist() if self.dim() else self._engine.item()

    def numpy(self) -> np.ndarray:
        """The numbers as an array over the same memory.

        Raises:
            RuntimeError: If it requires gradients.
        """
        if self.requires_grad:
            raise RuntimeError("numpy() expected a tensor without gradients; call x.detach().numpy()")
        refuse("numpy()")
        return self._engine._tensor.array() if not self.is_cuda else self._engine.to_numpy()

    def __array__(self, dtype: Any = None, *, copy: Any = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def is_nonzero(self) -> Any:
        """Whether the only element differs from 0.

        Raises:
            RuntimeError: If there are several elements, or none.
        """
        if self.numel() != 1:
            raise RuntimeError(f"is_nonzero expected one element, got shape {tuple(self.shape)}; use any() or all()")
        return self._engine.item() != 0

    def __len__(self) -> Any:
        if not self.dim():
            raise TypeError("len() expected a tensor with dimensions, got one without")
        return self.size(0)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.dim():
            raise TypeError("an iteration expected a tensor with dimensions, got one without; read it with x.item()")
        return iter(self.unbind(0))

    def __bool__(self) -> Any:
        if self.numel() != 1:
            raise RuntimeError(f"the truth value of a tensor of shape {tuple(self.shape)} is ambiguous; use any() or all()")
        return bool(self.item())

    def __float__(self) -> Any:
        return float(self.item())

    def __int__(self) -> Any:
        return int(self.item())

    def __index__(self) -> Any:
        return self._engine.__index__()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec) if self.dim() else format(self.item(), spec)

    def __repr__(self) -> str:
        return represent(self)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        made = new(type(self))
        made._engine = copy.deepcopy(self._engine, memo)
        memo[id(self)] = made
        return made

    def __reduce__(self) -> Any:
        return Tensor._of, (self._engine,)

    if not TYPE_CHECKING:  # a type checker would take every name for one that exists

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property raised AttributeError: its own message counts
                return object.__getattribute__(self, name)
            raise absent("torch.Tensor", name, [known for known in dir(Tensor) if not known.startswith("_")])
