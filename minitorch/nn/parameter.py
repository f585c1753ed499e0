"""Stage 6 - Parameter: a Tensor that modules register and optimizers update."""

from __future__ import annotations

from typing import Any

import minitorch.module
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

    def __repr__(self) -> str:
        return f"Parameter containing:\n{Tensor.__repr__(self)}"

    __str__ = __repr__
    __hash__ = object.__hash__
