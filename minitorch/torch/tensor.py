"""Stage 7 - The tensor of `minitorch.torch`: the course's, with PyTorch's meaning of the methods where it differs.

The library computes with functions that no class overrides, so its layers and optimizers take either tensor; what is computed from a Tensor
of this class is one.
"""

from __future__ import annotations

import copy
import functools
import math
import weakref
from collections.abc import Callable, Iterator
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np

from minitorch.autodiff import LEAF, History
from minitorch.autograd.in_place import RETAINED, keep_past, keep_saved, note_write, record, restore_past, snapshot
from minitorch.core.context import grad_mode, no_grad
from minitorch.core.dtypes import NUMBER, bool_, float16, float32, float64, int8, int16, int32, int64, is_float, uint8
from minitorch.core.errors import ArgumentError, DtypeError
from minitorch.core.indexing import is_basic
from minitorch.core.layout_functions import Select
from minitorch.core.recording import active, refuse
from minitorch.ops.indexing import Put
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor_data import TensorData, version_counter
from minitorch.tensor_functions import Add, Function, Mul
from minitorch.torch import arithmetic, creation, factorizations, logic, names, products, shapes
from minitorch.torch.indexing import index_of, values_for
from minitorch.torch.nodes import Node
from minitorch.torch.places import Size, backend_of, device, device_of, target
from minitorch.torch.printing import represent
from minitorch.torch.promotion import cast, get_default_dtype, kind_of, promote
from minitorch.torch.type_names import construct, targets, type_of
from minitorch.torch.views import NO_GRAD, VIEWS, base_of, check_writable, rebase, relate, requires_grad


def as_torch(x: Any) -> Any:
    """A tensor of the course as a Tensor; the same for the elements of lists, tuples and dictionaries; anything else unchanged."""
    if isinstance(x, EngineTensor):
        return x if isinstance(x, Tensor) else Tensor._of(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(as_torch, x))
    if type(x) in (list, tuple):
        return type(x)(map(as_torch, x))
    if type(x) is dict:
        return {name: as_torch(value) for name, value in x.items()}
    return x


def lift(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors whose results are Tensors.

    With `out`, a Tensor or a tuple of them, it writes its result there, which records no gradients.
    """

    fn = fn if hasattr(fn, "__wrapped__") else names.checked(fn)

    @functools.wraps(fn)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            out = kwargs.pop("out")
            return write_out(lifted(*args, **kwargs), out)
        result = fn(*args, **kwargs)
        return result if type(result) is Tensor else as_torch(result)

    return lifted


def publish(space: dict[str, Any], functions: dict[str, Callable[..., Any]]) -> None:
    """Lift functions into a module, given by its `globals()`, whose name they bear: pickle finds them there."""
    for name, function in functions.items():
        space[name] = made = lift(function)
        made.__module__, made.__qualname__ = space["__name__"], name


new = object.__new__


def sharing() -> Any:
    """The module that shares memory between processes, which few programs need."""
    return import_module("minitorch.torch.multiprocessing.sharing")


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
        out._take(cast(result, out.dtype))
    else:
        out._put(..., out._fit(result, "a function with out="), "a function with out=")
    return out


REFUSED = (np.ndarray, list, tuple, str)  # a list times a tensor of one integer is the list repeated, as Python does it


def operator_of(function: type[Function]) -> Callable[[Tensor, Any], Tensor]:
    """A function of two tensors as an operator, which decides the dtype without a call where both have the same."""

    def operator(self: Tensor, other: Any) -> Tensor:
        if not isinstance(other, Tensor) or self._tensor.dtype is not other._tensor.dtype:
            if isinstance(other, REFUSED) or getattr(other, "is_sparse", False):
                return NotImplemented
            self, other = promote(self, other)  # type: ignore[assignment]
        return function.apply(self, other)

    return operator


def binary(fn: Callable[..., Any]) -> Callable[[Tensor, Any], Any]:
    """A method as an operator, which leaves an array of NumPy to `Tensor.__array_ufunc__`, a SparseTensor to its own operators."""

    def operator(self: Tensor, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) or getattr(other, "is_sparse", False) else fn(self, other)

    return operator


def in_place(fn: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function of tensors as a method that overwrites its Tensor with the result."""

    name = f"{fn.__name__}_"

    @functools.wraps(fn)
    def overwrite(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self._apply_in_place(fn, name, *args, **kwargs)

    overwrite.__name__ = name
    return overwrite


def convert(name: str, dtype: np.dtype) -> Callable[[Tensor], Tensor]:
    """A method that returns the tensor in a dtype."""

    def method(self: Tensor) -> Tensor:
        return self.to(dtype)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    rounded = ", without fractions" if dtype.kind in "iu" else ""
    method.__doc__ = f"As {dtype}{rounded}." if dtype is not bool_ else "Whether each element differs from 0."
    return method


Base: Any = EngineTensor  # to a type checker, a method that means something else has no place in a subclass


class Tensor(Base):
    """A tensor with PyTorch's interface. `Tensor(2, 3)` has this shape, `Tensor([1, 2])` these numbers, both in the default dtype.

    Example:
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> x.size(), x.sum(0)
        (torch.Size([2, 2]), tensor([4, 6]))
    """

    # _past: what it was before each recorded write, see autograd/in_place.py. _base, _why and _views: see views.py
    __slots__ = ("__dict__", "_base", "_past", "_views", "_why")

    def __init__(self, *data: Any) -> None:
        made = data[0] if len(data) == 1 and isinstance(data[0], Tensor) else construct("Tensor", data, get_default_dtype(), None)
        self.grad = self._name = self._hooks = None
        self._take(made)

    @classmethod
    def _of(cls, x: EngineTensor) -> Any:
        """A tensor of the course as one of this class, with its history and gradient."""
        made = new(cls)
        made._take(x)
        made.grad, made._name, made._hooks = as_torch(x.grad), x._name, x._hooks
        return made

    def _take(self, x: EngineTensor) -> None:
        """Become another tensor: its memory and history."""
        self._tensor, self.history, self.backend = x._tensor, x.history, x.backend
        self.f = x.backend
        self._base = self._views = None

    def _like(self, data: TensorData, history: History | None = None, backend: Any = None) -> Any:
        """A tensor on the same backend, with a history; one over memory of this tensor is a view of it."""
        made = new(self._plain)
        made.backend = made.f = used = backend or self.backend
        made._tensor = used.ops.place(data) if used.cuda else data
        made.history = history
        made._grad = made._name = made._hooks = made._base = made._views = None
        own = self._tensor
        if data._version is own._version:
            if data is not own:
                if grad_mode.enabled or self.history is not None:
                    relate(made, self)
                else:
                    made._base, made._why = self, NO_GRAD
            elif history is not None and history.last_fn in VIEWS and self._base is not None:
                relate(made, history.inputs[0])  # self is the result of forward, which `Function.apply` records
        return made

    # Properties

    @property
    def shape(self) -> Size:
        """The size of every dimension."""
        return Size(self._tensor.shape)

    def size(self, dim: int | None = None) -> Any:
        """The size of every dimension, or of one."""
        return self.shape if dim is None else self._tensor.shape[dim]

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self._tensor.shape)

    ndimension = dim
    ndim = property(dim)
    nelement = EngineTensor.numel
    item, unsqueeze = map(names.checked, (EngineTensor.item, shapes.unsqueeze))

    @property
    def device(self) -> device:
        """Where it lies."""
        return device_of(self.backend)

    @property
    def is_cuda(self) -> bool:
        """Whether it lies on a GPU."""
        return self.backend.cuda

    @property
    def is_cpu(self) -> bool:
        """Whether it lies in the memory of the processor."""
        return not self.backend.cuda

    is_xpu = is_mps = is_ipu = is_hpu = is_xla = is_mtia = is_maia = is_vulkan = False
    is_meta = is_mkldnn = is_nested = is_quantized = is_sparse = is_sparse_csr = False

    def is_complex(self) -> bool:
        """False: there are no complex numbers."""
        return False

    def is_signed(self) -> bool:
        """Whether its dtype has negative numbers."""
        return self.dtype.kind not in "bu"

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """The stride of every dimension, or of one, in elements.

        Example:
            >>> torch.zeros(2, 3).stride(), torch.zeros(2, 3).T.stride()
            ((3, 1), (1, 3))
        """
        strides = self._tensor.strides
        return strides if dim is None else strides[dim]

    def is_floating_point(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return is_float(self.dtype)

    @property
    def T(self) -> Tensor:
        """All dimensions in reverse order, as a view."""
        return self.permute(*range(self.dim())[::-1]) if self.dim() else self

    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged, as a view."""
        return self.transpose(-1, -2)

    H = mT

    # Autograd

    _grad = EngineTensor.grad  # the slot itself, without the checks of an assignment

    def _set_grad(self, gradient: Any) -> None:
        if gradient is not None:
            own, given = self._tensor, getattr(gradient, "_tensor", None)
            if given is None or own.shape != given.shape or own.dtype is not given.dtype or gradient is self:
                self._refuse_gradient(gradient)
        self._grad = gradient

    grad = property(attrgetter("_grad"), _set_grad, doc="Sum of the gradients that reached it; None before the first.")

    def _refuse_gradient(self, gradient: Any) -> None:
        """Raise the error for an assigned gradient that does not fit."""
        if not isinstance(gradient, EngineTensor):
            raise TypeError(f"grad expected a Tensor or None, got {type(gradient).__name__}; convert it with torch.as_tensor(...)")
        if gradient is self:
            raise RuntimeError("grad expected another tensor, got the tensor itself; assign a copy: x.grad = x.detach().clone()")
        if gradient._tensor.shape != self._tensor.shape:
            raise RuntimeError(f"grad expected shape {tuple(self.shape)}, that of the tensor, got {tuple(gradient._tensor.shape)}")
        raise RuntimeError(
            f"grad expected {self.dtype.name}, the dtype of the tensor, got {gradient.dtype.name}; convert it: gradient.to(x.dtype)"
        )

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow into it. Assignment makes it a leaf, or a constant."""
        return self.history is not None

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Make it a leaf that keeps its gradient, or a constant.

        Raises:
            RuntimeError: If it was computed and should no longer require gradients, or does not hold floating-point numbers.
        """
        if self.history is not None and self.history is not LEAF:
            if requires_grad:
                return self
            raise RuntimeError("only a leaf can stop to require gradients, this tensor was computed; use x.detach()")
        if requires_grad and not is_float(self.dtype):
            raise RuntimeError(f"only floating-point tensors can require gradients, got {self.dtype.name}; convert it first: x.float()")
        self.history = LEAF if requires_grad else None
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it was not computed from tensors that require gradients."""
        return self.history is None or self.history.last_fn is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the graph for the function that computed it; None for a leaf."""
        return None if self.is_leaf else Node(self)

    @property
    def data(self) -> Tensor:
        """A constant over the same memory. Assignment replaces the numbers and keeps the leaf."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        self._tensor, self.backend = value._tensor, value.backend
        self.f = value.backend

    def share_memory_(self) -> Tensor:
        """Move the elements into memory that other processes can share: see `torch.multiprocessing`. Views from before keep the old memory.

        Raises:
            RuntimeError: If it is a view of a larger memory, or was computed with gradients.
        """
        return sharing().share_memory_(self)

    def is_shared(self) -> Any:
        """Whether other processes can share the memory."""
        return sharing().is_shared(self)

    def resize_(self, *sizes: Any) -> Tensor:
        """Take other sizes in place: the elements stay in their order, further ones are 0.

        Raises:
            RuntimeError: If it requires gradients, or is a view.
        """
        if requires_grad(self) or base_of(self) is not self:
            raise RuntimeError("resize_ expected a tensor without gradients that is no view; use x.detach().clone(), or x.reshape(...)")
        out = creation.zeros(*sizes, dtype=self.dtype, device=self.backend)
        kept = min(self.numel(), out.numel())
        if kept:
            out = as_torch(out)
            out.view(-1)[:kept] = self.reshape(-1)[:kept]
        self._take(out)
        return self

    def resize_as_(self, the_template: Tensor) -> Tensor:
        """Take the sizes of another tensor in place; see `resize_`."""
        return self.resize_(*the_template.shape)

    def detach_(self) -> Tensor:
        """Make it a constant; what it was used for before stays computed from it.

        Raises:
            RuntimeError: If it is a view of a tensor that requires gradients.
        """
        if base_of(self) is not self and requires_grad(self):
            raise RuntimeError("detach_ cannot change a view in place, its base would not know; use x.detach()")
        if not self.is_leaf:
            keep_past(self, snapshot(self), None)
        self.history = None
        return self

    def backward(self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """Add the gradient of this tensor with respect to every leaf to the leaf's `grad`.

        Args:
            gradient: Gradient of a further result with respect to this tensor; 1 by default for one element.
            retain_graph: Whether to keep the graph for another backward pass.
            create_graph: Whether to record the gradients.

        Raises:
            RuntimeError: If it requires no gradients, has several elements and no gradient is given, or its graph has been freed.

        Example:
            >>> x = torch.tensor(3.0, requires_grad=True)
            >>> (x * x).backward()
            >>> x.grad
            tensor(6.)
        """
        restore_past(self)
        super().backward(gradient, retain_graph, create_graph)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Call a function with the gradient of this tensor during the backward pass; it may return another one.

        Example:
            >>> x = torch.tensor(3.0, requires_grad=True)
            >>> handle = x.register_hook(lambda grad: grad * 10)
            >>> (x * x).backward()
            >>> x.grad
            tensor(60.)
        """
        handle = super().register_hook(hook)
        if self.retains_grad:
            self.retain_grad()
        return handle

    def retain_grad(self) -> None:
        """Keep the gradient of a computed tensor as its `grad`; a leaf keeps it anyway.

        Raises:
            RuntimeError: If it requires no gradients.

        Example:
            >>> x = torch.tensor(3.0, requires_grad=True)
            >>> y = x * 2
            >>> y.retain_grad()
            >>> (y * y).backward()
            >>> y.grad
            tensor(12.)
        """
        if self.history is None:
            raise RuntimeError("retain_grad expected a tensor that requires gradients, got a constant; call requires_grad_() first")
        if self.is_leaf:
            return
        kept = weakref.ref(self)

        def keep(gradient: Tensor) -> None:
            x = kept()
            if x is not None:
                x.grad = gradient.clone() if x.grad is None else x.grad + gradient

        self._hooks = self._hooks or {}
        self._hooks.pop(RETAINED, None)  # the last hook sees what the others made of the gradient
        self._hooks[RETAINED] = keep

    @property
    def retains_grad(self) -> bool:
        """Whether it was computed and keeps its gradient; see `retain_grad`."""
        return RETAINED in (self._hooks or ())

    # Writing

    def _fit(self, out: EngineTensor, name: str) -> EngineTensor:
        """A result in the dtype of this tensor.

        Raises:
            RuntimeError: If the shapes differ, or the dtype of the result is of a higher category.
        """
        if self._tensor.shape != out._tensor.shape:
            raise RuntimeError(
                f"{name} expected a result of shape {tuple(self.shape)}, that of the tensor, got {tuple(out._tensor.shape)}; "
                "assign the result to a variable instead"
            )
        if out._tensor.dtype is not self._tensor.dtype and kind_of(out._tensor.dtype) > kind_of(self._tensor.dtype):
            raise RuntimeError(
                f"{name}: a tensor of {self.dtype.name} cannot hold a result of {out.dtype.name}; "
                f"convert it first: x.{'float' if is_float(out.dtype) else 'long'}()"
            )
        return cast(out, self._tensor.dtype)

    def _put(self, index: Any, value: Any, name: str) -> None:
        """Write numbers to the elements at an index, without a record, and note where it was asked for."""
        if index is ... and self._takes_all(value):
            if value._tensor.shape:
                self.f.id_map(value, self)
            else:
                self._tensor.array()[...] = value._tensor.array()
                self._tensor.bump_version()
            note_write(self, name)
            return
        with no_grad():
            part = EngineTensor._like(self, self._tensor)
            if index is not ... and is_basic(index):  # of an expanded tensor one element may be written
                part, index = Select.apply(part, index), ...
            data = part._tensor
            if (
                data.size
                and 0 in data.strides
                and any(size > 1 and not stride for size, stride in zip(data.shape, data.strides, strict=True))
            ):
                raise RuntimeError(
                    f"{name}: an expanded tensor, whose elements share memory, cannot be changed in place; write into a copy: x.clone()"
                )
            EngineTensor.__setitem__(part, index, value.detach() if isinstance(value, EngineTensor) else value)
        note_write(self, name)

    def _takes_all(self, value: Any) -> bool:
        """Whether a copy of all elements, or of one number to all, is all there is to do, at a fifth of the time of any assignment."""
        own, given = self._tensor, getattr(value, "_tensor", None)
        return (
            given is not None
            and (given.shape == own.shape if given.shape else not self.backend.cuda)
            and given.dtype is own.dtype
            and given._version is not own._version  # another memory
            and value.backend is self.backend
            and 0 not in own.strides
            and active.recorder is None
        )

    def _apply_in_place(self, fn: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Tensor:
        """Become the result of a function of this tensor and of args and kwargs; name is what messages call it."""
        if not grad_mode.enabled:
            self._put(..., self._fit(fn(self, *args, **kwargs), name), name)
            return self
        since, before = next(version_counter), snapshot(self)
        self._become(fn(before, *args, **kwargs), name, before, since)
        return self

    def _become(self, out: EngineTensor, name: str, before: Any = None, since: float = math.inf) -> None:
        """Replace the numbers by those of a result, and the history by its history.

        Args:
            out: The result.
            name: The function in place.
            before: The snapshot of the tensor that the result was computed from; None for the tensor itself.
            since: The version counter before that; without it, no node of the function keeps a copy of the tensor.

        Raises:
            RuntimeError: If the result does not fit, or the write cannot be recorded; see `_fit` and `check_writable`.
        """
        values = self._fit(out, name)
        if not grad_mode.enabled or (values.history is None and not requires_grad(self)):
            self._put(..., values, name)
            return
        check_writable(self, name)
        before = snapshot(self) if before is None else before
        results = keep_saved(before, values, since)
        self._put(..., values, name)
        for ctx in results:
            itself = snapshot(values, self._tensor)
            others = [x for x in ctx._saved if isinstance(x, EngineTensor) and x._tensor is not values._tensor]
            ctx._saved = tuple([itself if getattr(x, "_tensor", None) is values._tensor else x for x in ctx._saved])
            if all(x._tensor._version is not self._tensor._version for x in others):
                ctx._saved_at = next(version_counter)
        rebase(self, before, values.history or record(Put, (before, (...,), values), ((...,), values.shape)))

    def _assign(self, index: Any, value: Any, name: str) -> None:
        """Write numbers, a tensor or what becomes one, to the elements at an index.

        Raises:
            TypeError: If the value is no tensor, array or number.
        """
        if not isinstance(value, (EngineTensor, np.ndarray, *NUMBER)):
            raise TypeError(f"assignment expected a Tensor or a number, got {type(value).__name__}; convert it with torch.tensor(...)")
        if isinstance(value, EngineTensor):
            given = cast(value, self.dtype)
            given = given if given.backend is self.backend else given.to(self.backend)
        else:
            given = creation.tensor(value, dtype=self.dtype, device=self.backend)
        if not (grad_mode.enabled and (requires_grad(self) or given.history is not None)):
            self._put(index, given, name)
            return
        check_writable(self, name)
        index, before = (index,) if index is ... else index, snapshot(self)
        self._put(index, given, name)
        rebase(self, before, record(Put, (before, index, given), (index, given._tensor.shape)))

    def __setitem__(self, index: Any, value: Any) -> None:
        place, name = index_of(index), "an assignment to elements"
        self._assign(place, values_for(self, place, value, name) if isinstance(value, EngineTensor) else value, name)

    def copy_(self, src: Any) -> Tensor:
        """Overwrite it with other numbers, which broadcast and are converted to its dtype.

        Example:
            >>> torch.zeros(2, 2).copy_(torch.tensor([1, 2]))
            tensor([[1., 2.],
                    [1., 2.]])
        """
        self._assign(..., src, "copy_")
        return self

    def fill_(self, value: Any) -> Tensor:
        """Overwrite it with one number."""
        self._assign(..., value, "fill_")
        return self

    def zero_(self) -> Tensor:
        """Overwrite it with zeros."""
        self._assign(..., 0, "zero_")
        return self

    def uniform_(self, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Tensor:
        """Overwrite it with uniform random numbers from a to b.

        Raises:
            ValueError: If b is less than a.
        """
        if b < a:
            raise ArgumentError(f"uniform_ expected limits in ascending order, got {a} and {b}; exchange them")
        self._assign(..., creation.rand(self.shape, generator=generator, dtype=self.dtype, device=self.backend) * (b - a) + a, "uniform_")
        return self

    def normal_(self, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
        """Overwrite it with normal random numbers.

        Raises:
            ValueError: If std is negative.
        """
        if std < 0:
            raise ArgumentError(f"normal_ expected a standard deviation from 0 on, got {std}")
        made = creation.randn(self.shape, generator=generator, dtype=self.dtype, device=self.backend) * std + mean
        self._assign(..., made, "normal_")
        return self

    def clamp_min_(self, min: Any) -> Tensor:
        """`clamp_` with a lower limit only."""
        return self.clamp_(min=min)

    def clamp_max_(self, max: Any) -> Tensor:
        """`clamp_` with an upper limit only."""
        return self.clamp_(max=max)

    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Tensor:
        """Overwrite it with 1, with probability p, or 0."""
        probabilities = p if isinstance(p, Tensor) else creation.full(self.shape, float(p), dtype=get_default_dtype())
        self._assign(..., creation.bernoulli(probabilities, generator=generator), "bernoulli_")
        return self

    def unsqueeze_(self, dim: int) -> Tensor:
        """Insert a dimension of size 1."""
        return self._reshaped("unsqueeze_", lambda x: x.unsqueeze(dim))

    def squeeze_(self, dim: Any = None) -> Tensor:
        """Remove dimensions of size 1."""
        return self._reshaped("squeeze_", lambda x: shapes.squeeze(x, dim))

    def transpose_(self, dim0: int, dim1: int) -> Tensor:
        """Exchange two dimensions."""
        return self._reshaped("transpose_", lambda x: shapes.transpose(x, dim0, dim1))

    def t_(self) -> Tensor:
        """Transpose a matrix."""
        return self._reshaped("t_", shapes.t)

    def _reshaped(self, name: str, view: Callable[[Any], Any]) -> Tensor:
        """Become a view of what it was."""
        before = snapshot(self)
        out = view(before)
        if grad_mode.enabled and self.history is not None:
            check_writable(self, name)
            keep_past(self, before, out.history)
        self._tensor = out._tensor
        return self

    # Operators; `names` has the others

    __add__, __mul__ = map(operator_of, (Add, Mul))
    __radd__, __rmul__ = __add__, __mul__

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self.reciprocal() * other

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return arithmetic.eq(self, other) if isinstance(other, (EngineTensor, *NUMBER)) else False

    def __ne__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return arithmetic.ne(self, other) if isinstance(other, (EngineTensor, *NUMBER)) else True

    __hash__ = object.__hash__

    def positive(self) -> Tensor:
        """The tensor itself.

        Raises:
            TypeError: If it holds bools.
        """
        if self.dtype is bool_:
            raise DtypeError("positive expected numbers, got a bool tensor; convert it first: x.long()")
        return self

    __pos__ = positive

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """self where the condition is true, other elsewhere."""
        return arithmetic.where(condition, self, other)

    inverse, pinverse = products.inv, factorizations.pinv

    # Shapes and elements

    def view_as(self, other: Tensor) -> Tensor:
        """The same memory in the shape of another tensor."""
        return self.view(other.shape)

    def reshape_as(self, other: Tensor) -> Tensor:
        """The same elements in the shape of another tensor."""
        return self.reshape(other.shape)

    def expand_as(self, other: Tensor) -> Tensor:
        """Expanded to the shape of another tensor."""
        return self.expand(other.shape)

    def __getitem__(self, index: Any) -> Tensor:
        return Select.apply(self, index_of(index))

    # Conversion

    def to(self, *targets: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False) -> Tensor:
        """The tensor in another dtype, on another device, or both as another tensor has them. Integers and bools have no gradient.

        Raises:
            TypeError: If a target is neither.

        Example:
            >>> torch.tensor([1.7, -1.7]).to(torch.int64)
            tensor([ 1, -1])
        """
        places: list[Any] = []
        for each in (*targets, device, dtype):
            places += [each.backend, each.dtype] if isinstance(each, EngineTensor) else [] if each is None else [target(each)]
        out = super().to(*places)
        if out.history is not None and not is_float(out.dtype):
            return out.detach()
        return out.clone() if copy and out is self else out

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The full name of its type, such as "torch.FloatTensor"; with a dtype, a type or the name of a type, the tensor in that.

        Raises:
            ValueError: If it is another word.
        """
        if dtype is Tensor:
            dtype = get_default_dtype()
        return type_of(self) if dtype is None else self.to(**targets(dtype))

    def new(self, *data: Any) -> Tensor:
        """A new tensor of this dtype, on this device, of zeros if the arguments are sizes, or of the numbers of one sequence.

        Raises:
            TypeError: If the arguments are neither.
        """
        return as_torch(construct("new", data, self.dtype, self.backend))

    def to_sparse(self) -> Any:
        """The elements other than 0 as a sparse tensor."""
        return import_module("minitorch.torch.sparse").to_sparse(self)  # which needs this class

    def to_dense(self) -> Tensor:
        """The tensor itself: it has all elements."""
        return self

    def type_as(self, other: Tensor) -> Tensor:
        """The tensor in the dtype of another."""
        return self.to(other.dtype)

    float, double, half = convert("float", float32), convert("double", float64), convert("half", float16)
    short, byte, char = convert("short", int16), convert("byte", uint8), convert("char", int8)
    int, long, bool = convert("int", int32), convert("long", int64), convert("bool", bool_)

    def cpu(self) -> Tensor:
        """On the CPU."""
        return self.to(backend_of("cpu"))

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Tensor:
        """On the GPU."""
        return self.to(backend_of("cuda"))

    def numpy(self) -> np.ndarray:
        """The numbers as an array over the same memory.

        Raises:
            RuntimeError: If it requires gradients.

        Example:
            >>> x = torch.zeros(2)
            >>> x.numpy()[0] = 5
            >>> x
            tensor([5., 0.])
        """
        if self.requires_grad:
            raise RuntimeError("numpy() expected a tensor without gradients; call x.detach().numpy()")
        refuse("numpy()")
        return self._tensor.array() if not self.is_cuda else self.to_numpy()

    def __array__(self, dtype: Any = None, *, copy: Any = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's functions take the numbers of a tensor; an operator between a number of NumPy and a tensor is the tensor's.

        As in PyTorch, an operator between an array and a tensor is NumPy's, in NumPy's dtype, and gives a tensor without gradients.

        Raises:
            RuntimeError: If a tensor beside an array requires gradients.
            TypeError: If an array and a tensor are ordered, as by x < array.
        """
        operator = OPERATORS.get(ufunc) if method == "__call__" and not options else None
        if operator is None:
            return getattr(ufunc, method)(*[np.asarray(x) if isinstance(x, Tensor) else x for x in inputs], **options)
        if ufunc in COMPARISONS:  # to which NumPy passes a number as an array without dimensions
            if ufunc not in (np.equal, np.not_equal) and any(isinstance(x, np.ndarray) and x.ndim for x in inputs):
                raise TypeError(f"{ufunc.__name__} expected two Tensors, got an array of NumPy; convert it with torch.as_tensor(array)")
            return operator(*[creation.as_tensor(x, device=self.backend) if isinstance(x, np.ndarray) else as_torch(x) for x in inputs])
        if not any(isinstance(x, np.ndarray) for x in inputs):
            return operator(*map(as_torch, inputs))
        if any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
            raise RuntimeError(
                f"{ufunc.__name__} of a tensor that requires gradients and an array of NumPy would lose them; "
                "convert the array with torch.as_tensor(array)"
            )
        if ufunc is np.true_divide and isinstance(inputs[0], np.ndarray):
            return inputs[1].reciprocal() * inputs[0]
        out = np.asarray(ufunc(*[x.numpy() if isinstance(x, Tensor) else x for x in inputs]))
        return as_torch(creation.as_tensor(out.astype(np.uint8) if out.dtype == bool_ else out, device=self.backend))

    def is_nonzero(self) -> Any:
        """Whether the only element differs from 0.

        Raises:
            RuntimeError: If there are several elements, or none.
        """
        if self.numel() != 1:
            raise RuntimeError(f"is_nonzero expected one element, got shape {tuple(self.shape)}; use any() or all()")
        return self.item() != 0

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

    def __index__(self) -> Any:
        return self.long().__index__() if self.dtype is bool_ else super().__index__()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec) if self.dim() else format(self.item(), spec)

    def __repr__(self) -> str:
        return represent(self)

    __str__ = __repr__

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        made = super().__deepcopy__(memo)
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made


Tensor._plain = Tensor

OPERATORS: dict[Any, Callable[[Any, Any], Any]] = {
    np.add: arithmetic.add, np.subtract: arithmetic.sub, np.multiply: arithmetic.mul, np.true_divide: arithmetic.div,
    np.floor_divide: arithmetic.floor_divide, np.remainder: arithmetic.remainder, np.power: arithmetic.pow, np.equal: arithmetic.eq,
    np.not_equal: arithmetic.ne, np.less: arithmetic.lt, np.less_equal: arithmetic.le, np.greater: arithmetic.gt,
    np.greater_equal: arithmetic.ge, np.matmul: products.matmul, np.bitwise_and: logic.bitwise_and,
    np.bitwise_or: logic.bitwise_or, np.bitwise_xor: logic.bitwise_xor, np.left_shift: logic.bitwise_left_shift,
    np.right_shift: logic.bitwise_right_shift,
}  # fmt: skip
"""What an operator between a number of NumPy and a Tensor computes."""

COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)

for _name, _function in names.functions(names.BOTH, names.METHODS, names.REMOVED).items():
    setattr(Tensor, _name, _function if _name not in creation.__dict__ else lift(_function))
for _name in names.IN_PLACE.split():
    setattr(Tensor, f"{_name}_", in_place(getattr(Tensor, _name)))
for _pair in names.OPERATORS.split():
    _name, _, _known = _pair.partition("=")
    setattr(Tensor, f"__{_name}__", getattr(Tensor, _known) if _name in ("abs", "neg", "invert") else binary(getattr(Tensor, _known)))
for _name, _known in (("rsub", "sub"), ("rfloordiv", "floor_divide"), ("rmod", "remainder"), ("rpow", "pow"),
                      ("rlshift", "bitwise_left_shift"), ("rrshift", "bitwise_right_shift")):  # fmt: skip
    setattr(Tensor, f"__{_name}__", binary(arithmetic.reverse(getattr(Tensor, _known))))
