"""Stage 7 - Parameter: a Tensor that modules register and optimizers update; parameters of unknown shape; all parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn

import minitorch.module
from minitorch.core.context import no_grad
from minitorch.core.creation import cat
from minitorch.core.errors import ArgumentError
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor import zeros
from minitorch.torch.placement import placement
from minitorch.torch.tensor import Tensor, as_torch


class Parameter(Tensor, minitorch.module.Parameter):
    """A Tensor that is a parameter: assigned to an attribute of a Module, it is registered there.

    What is computed from it is a Tensor. For modules and optimizers of the course it is a parameter whose value is itself.

    Args:
        data: The value, which is not copied; an empty tensor if left out.
        requires_grad: Whether it keeps its gradient.

    Raises:
        TypeError: If data is not a Tensor, or requires_grad is set and it does not hold floating-point numbers.
    """

    name = None

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is not None and not isinstance(data, EngineTensor):
            raise TypeError(f"Parameter expected a Tensor, got {type(data).__name__}; make one with torch.tensor(...)")
        self.grad = self._name = self._hooks = None
        self._take(zeros((0,), **placement()) if data is None else data.detach())
        self.requires_grad_(requires_grad)

    @property
    def value(self) -> Any:
        """The parameter itself. Assignment replaces its memory."""
        return self

    @value.setter
    def value(self, x: EngineTensor) -> None:
        self._take(x)

    def update(self, x: EngineTensor) -> None:
        """Replace its memory by that of a tensor, of any shape, and keep its gradient from then on."""
        self._take(x.detach())
        self.requires_grad_(True)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{Tensor.__repr__(self)}"

    __str__ = __repr__
    __hash__ = object.__hash__


# Parameters and buffers of unknown shape

MEMORY: Any = EngineTensor._tensor
"""The attribute that a tensor's numbers are read from, which tensors of unknown shape refuse."""


class UninitializedTensorMixin:
    """Base class of parameters and buffers whose shape is not known yet: of their numbers only dtype and device are.

    Attributes:
        cls_to_become: The class that `materialize` gives them.
    """

    __slots__ = ()
    cls_to_become: ClassVar[type]

    def _refuse(self) -> NoReturn:
        name = type(self).__name__
        raise ArgumentError(f"an {name} has neither shape nor numbers yet; call the layer with a batch, which gives it a shape")

    _tensor = property(_refuse, MEMORY.__set__)
    shape: Any = property(_refuse, doc="Unknown: an error, a RuntimeError as in PyTorch and a ValueError.")

    @property
    def dtype(self) -> Any:
        """The dtype that it will have."""
        return MEMORY.__get__(self).dtype

    def _empty(self: Any) -> Any:
        return as_torch(zeros((0,), self.backend, dtype=self.dtype))

    data = property(_empty, Tensor.data.fset, doc="An empty tensor on the same device, of the same dtype.")

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a parameter or tensor of zeros.

        Args:
            shape: The shape.
            device: Where it is stored; where it was announced if left out.
            dtype: Its dtype; the one that was announced if left out.
        """
        self.data = zeros(tuple(shape), **placement(device or self.backend, dtype or self.dtype))
        self.__class__ = self.cls_to_become

    def to(self: Any, *targets: Any, **options: Any) -> Any:
        """An empty tensor on another device or of another dtype."""
        return self.data.to(*targets, **options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def __reduce__(self: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.backend, self.dtype)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        return type(self)(self.requires_grad, self.backend, self.dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape a layer learns from its first input; see `minitorch.nn.lazy`.

    Args:
        requires_grad: Whether it keeps its gradient.
        device: Where it will be stored.
        dtype: Its dtype; the default dtype if left out.
    """

    cls_to_become = Parameter

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(zeros((0,), **placement(device, dtype)), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape a layer learns from its first input; for the arguments see `UninitializedParameter`."""

    cls_to_become = Tensor

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> None:
        self.grad = self._name = self._hooks = None
        self._take(zeros((0,), **placement(device, dtype)))
        self.requires_grad_(requires_grad)
        self.persistent = persistent


def is_lazy(param: Any) -> bool:
    """Whether an object is a parameter or buffer of unknown shape."""
    return isinstance(param, UninitializedTensorMixin)


# All parameters as one vector


def parameters_to_vector(parameters: Iterable[EngineTensor]) -> EngineTensor:
    """The elements of all parameters, one after the other.

    Args:
        parameters: As from `module.parameters()`.
    """
    return cat([x.reshape(-1) for x in parameters])


def vector_to_parameters(vec: EngineTensor, parameters: Iterable[EngineTensor]) -> None:
    """Copy the elements of a vector into parameters, in order.

    Args:
        vec: Shape (number of elements,).
        parameters: As from `module.parameters()`.

    Raises:
        TypeError: If vec is not a Tensor.
        ValueError: If it has too few or too many elements.
    """
    if not isinstance(vec, EngineTensor):
        raise TypeError(f"vector_to_parameters expected a Tensor, got {type(vec).__name__}")
    targets, source, start = list(parameters), vec.detach(), 0
    if source.shape != (sum(x.numel() for x in targets),):
        raise ValueError(f"vector_to_parameters expected a vector of {sum(x.numel() for x in targets)} elements, got shape {source.shape}")
    with no_grad():
        for x in targets:
            x[...] = source[start : start + x.numel()].reshape(*x.shape)
            start += x.numel()
