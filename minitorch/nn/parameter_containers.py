"""Stage 6 - Lists and dictionaries of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from minitorch.nn.module import Module, Parameter


class ParameterList(Module):
    """A list of parameters, named "0", "1", …

    Raises:
        TypeError: If an element is not a Parameter.
    """

    def __init__(self, values: Iterable[Parameter] = ()) -> None:
        super().__init__()
        self.extend(values)

    def append(self, value: Parameter) -> Self:
        """Append a parameter and return this list.

        Raises:
            TypeError: If it is not a Parameter.
        """
        setattr(self, str(len(self)), _checked(value, type(self).__name__))
        return self

    def extend(self, values: Iterable[Parameter]) -> Self:
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

    def __setitem__(self, index: int, value: Parameter) -> None:
        """Replace the parameter at an index.

        Raises:
            IndexError: If the index is out of range.
            TypeError: If the value is not a Parameter.
        """
        setattr(self, self._name(index), _checked(value, type(self).__name__))

    def _name(self, index: int) -> str:
        """The name of the parameter at an index.

        Raises:
            IndexError: If the index is out of range.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"{type(self).__name__} expected an index of its {len(self)} parameters, got {index}")
        return str(index % len(self))

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())


class ParameterDict(Module):
    """A dictionary of parameters.

    Raises:
        TypeError: If a value is not a Parameter.
    """

    def __init__(self, parameters: Mapping[str, Parameter] | None = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def update(self, parameters: Mapping[str, Parameter]) -> None:
        """Add parameters, replacing those with the same names."""
        for name, value in parameters.items():
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._parameters[name]

    def __setitem__(self, name: str, value: Parameter) -> None:
        setattr(self, name, _checked(value, type(self).__name__))

    def __delitem__(self, name: str) -> None:
        del self._parameters[name]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._parameters.keys()

    def values(self) -> Iterable[Any]:
        """Return the parameters."""
        return self._parameters.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names with the parameters."""
        return self._parameters.items()


def _checked(value: Any, kind: str) -> Parameter:
    """Return a value that is a Parameter.

    Raises:
        TypeError: If it is not.
    """
    if not isinstance(value, Parameter):
        raise TypeError(f"{kind} expected Parameters, got {type(value).__name__}; wrap a tensor: Parameter(x)")
    return value
