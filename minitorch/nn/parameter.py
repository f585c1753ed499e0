"""Stage 6 - Parameter: a Tensor that modules register and optimizers update; and all parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import minitorch.module
from minitorch.core.context import no_grad
from minitorch.core.creation import cat
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor import zeros
from minitorch.torch.placement import placement
from minitorch.torch.tensor import Tensor


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
