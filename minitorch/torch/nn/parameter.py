"""Stage 6 - Parameter: a Tensor that modules register and optimizers update."""

from __future__ import annotations

import copy
from typing import Any

import minitorch.module
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor import zeros
from minitorch.torch.placement import placement
from minitorch.torch.tensor import Tensor


class Parameter(Tensor, minitorch.module.Parameter):
    """A Tensor that is a parameter: assigned to an attribute of a Module, it is registered there.

    It is a parameter of the engine as well, whose value is the engine's tensor: the engine's modules and optimizers accept it.

    Args:
        data: The value, which is not copied; an empty tensor if left out.
        requires_grad: Whether it keeps its gradient.

    Raises:
        TypeError: If data is not a Tensor, or requires_grad is set and it does not hold floating-point numbers.
    """

    name = None

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """An object without a value; `__init__` gives it one."""
        return object.__new__(cls)

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is None:
            self._engine = zeros((0,), **placement())
        elif isinstance(data, (Tensor, EngineTensor)):
            engine = data._engine if isinstance(data, Tensor) else data
            self._engine = engine.detach()
        else:
            raise TypeError(f"Parameter expected a Tensor, got {type(data).__name__}; make one with torch.tensor(...)")
        self._engine.requires_grad_(requires_grad)

    @staticmethod
    def around(x: EngineTensor) -> Parameter:
        """A Parameter around a tensor of the engine, not a copy of it."""
        made = object.__new__(Parameter)
        made._engine = x
        return made

    @property
    def value(self) -> EngineTensor:
        """The engine's tensor."""
        return self._engine

    @value.setter
    def value(self, x: EngineTensor) -> None:
        self._engine = x

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        made = memo[id(self)] = Parameter.around(copy.deepcopy(self._engine, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Parameter.around, (self._engine,)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{Tensor.__repr__(self)}"

    __str__ = __repr__
    __hash__ = object.__hash__
