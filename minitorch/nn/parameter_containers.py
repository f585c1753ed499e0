"""Stage 7 - Lists and dictionaries of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import minitorch.module
from minitorch.nn.containers import NamedContainer
from minitorch.nn.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.tensor import Tensor


class ParameterList(Module):
    """A list of parameters, named "0", "1", …; a Tensor becomes a Parameter.

    Raises:
        TypeError: If an element is neither a Tensor nor a Parameter.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def append(self, value: Any) -> Self:
        """Append a parameter and return this list.

        Raises:
            TypeError: If it is neither a Tensor nor a Parameter.
        """
        setattr(self, str(len(self)), _as_parameter(value, type(self).__name__))
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Append several parameters and return this list."""
        for value in values:
            self.append(value)
        return self

    def __getitem__(self, index: int) -> Any:
        """Return the parameter at an index.

        Raises:
            IndexError: If the index is out of range.
        """
        return self._parameters[self._name(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        """Replace the parameter at an index.

        Raises:
            IndexError: If the index is out of range.
            TypeError: If the value is neither a Tensor nor a Parameter.
        """
        setattr(self, self._name(index), _as_parameter(value, type(self).__name__))

    def _name(self, index: int) -> str:
        """The name of the parameter at an index. Raises IndexError if the index is out of range."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"{type(self).__name__} expected an index of its {len(self)} parameters, got {index}")
        return str(index % len(self))

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())


class ParameterDict(NamedContainer):
    """A dictionary of parameters; a Tensor becomes a Parameter.

    Raises:
        TypeError: If a value is neither a Tensor nor a Parameter.
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def update(self, parameters: Mapping[str, Any]) -> None:
        """Add parameters, replacing those with the same names."""
        for name, value in parameters.items():
            self[name] = value

    @property
    def _contents(self) -> dict[str, Any]:
        return self._parameters

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, _as_parameter(value, type(self).__name__))

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter with a name, or the default."""
        return self._parameters.get(key, default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter with a name; if there is none, the default is added."""
        if key not in self:
            self[key] = default
        return self[key]


def _as_parameter(value: Any, kind: str) -> Any:
    """A value of a container, a Tensor as a Parameter. Raises TypeError if it is neither a Tensor nor a Parameter."""
    if isinstance(value, minitorch.module.Parameter):
        return value
    if not isinstance(value, Tensor):
        raise TypeError(f"{kind} expected Parameters, got {type(value).__name__}; wrap a tensor: Parameter(x)")
    return Parameter(value)
