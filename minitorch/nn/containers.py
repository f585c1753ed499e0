"""Stage 7 - Module containers: Sequential, ModuleList and ModuleDict."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Self, overload

from minitorch.nn.module import Module, Node


class _IndexedContainer(Module):
    """Base class of Sequential and ModuleList: modules by index."""

    def append(self, module: Node) -> Self:
        """Append a module, named by the first unused number from len(self) on, and return this container.

        Raises:
            TypeError: If module is not a Module.
        """
        _add_module(self, next(name for number in count(len(self)) if (name := str(number)) not in self._modules), module)
        return self

    def extend(self, modules: Iterable[Node]) -> Self:
        """Append several modules and return this container.

        Raises:
            TypeError: If an element is not a Module; none is appended in this case.
        """
        for module in _check_modules(self, modules):
            self.append(module)
        return self

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Return the module at an index, or a container of the modules in a slice.

        Raises:
            IndexError: If the index is out of range.
        """
        if isinstance(index, slice):
            return self._slice(index)
        return list(self._modules.values())[_normalize_index(index, len(self), type(self).__name__)]

    def _slice(self, index: slice) -> Any:
        """Return a container of the modules in a slice."""
        raise NotImplementedError

    def __setitem__(self, index: int, module: Node) -> None:
        """Replace the module at an index; the name stays the same.

        Raises:
            IndexError: If the index is out of range.
            TypeError: If module is not a Module.
        """
        _add_module(self, list(self._modules)[_normalize_index(index, len(self), type(self).__name__)], module)

    def __delitem__(self, index: int | slice) -> None:
        """Remove the module at an index, or those of a slice; the others are named by their new positions.

        Raises:
            IndexError: If the index is out of range.
        """
        modules = list(self._modules.values())
        del modules[index if isinstance(index, slice) else _normalize_index(index, len(self), type(self).__name__)]
        self._replace_all(modules)

    def insert(self, index: int, module: Node) -> Self:
        """Insert a module before an index; those after it are renamed. Returns this container.

        Raises:
            TypeError: If module is not a Module.
        """
        modules = list(self._modules.values())
        modules.insert(index, module)
        return self._replace_all(modules)

    def pop(self, key: int = -1) -> Any:
        """Remove the module at an index and return it."""
        module = self[key]
        del self[key]
        return module

    def _replace_all(self, modules: list[Node]) -> Self:
        """Put other modules into the place of all."""
        modules = _check_modules(self, modules)
        self._modules.clear()
        return self.extend(modules)

    def __iadd__(self, modules: Iterable[Node]) -> Self:
        return self.extend(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())


class Sequential(_IndexedContainer):
    """A chain of modules, each applied to the output of the previous one.

    Args:
        modules: The modules, named "0", "1", …; or a single dictionary of modules by name.

    Raises:
        TypeError: If an element is not a Module.
        ValueError: If a name is empty, contains a dot or is already an attribute.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                _add_module(self, name, module)
        else:
            for number, module in enumerate(modules):
                _add_module(self, str(number), module)

    def forward(self, input: Any) -> Any:
        """Apply the modules in order; without modules, return input."""
        for module in self._modules.values():
            input = module(input)
        return input

    def _slice(self, index: slice) -> Any:
        return type(self)(dict(list(self._modules.items())[index]))  # keeps their names

    def __add__(self, other: Iterable[Node]) -> Sequential:
        return Sequential(*self, *other)


class ModuleList(_IndexedContainer):
    """A list of modules, named "0", "1", …, to be called in the `forward` of a user-defined module.

    Args:
        modules: The modules.

    Raises:
        TypeError: If an element is not a Module.
        IndexError: If an index is out of range.
    """

    def __init__(self, modules: Iterable[Node] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def _slice(self, index: slice) -> Any:
        return type(self)(list(self)[index])

    def __add__(self, other: Iterable[Node]) -> Any:
        return type(self)([*self, *other])

    def __repr__(self) -> str:
        """Equal modules that follow one another are shown once, with their number."""
        groups: list[tuple[int, int, str]] = []
        for number, module in enumerate(self):
            text = repr(module)
            if groups and groups[-1][2] == text:
                groups[-1] = (groups[-1][0], number, text)
            else:
                groups.append((number, number, text))
        if not groups:
            return f"{self._get_name()}()"
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in groups]
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"{self._get_name()}(\n  {body}\n)"


class NamedContainer(Module):
    """Base class of ModuleDict and ParameterDict: what dictionaries do, of the entries that the subclass sets."""

    @property
    def _contents(self) -> dict[str, Any]:
        """The entries by name."""
        raise NotImplementedError

    def pop(self, key: str) -> Any:
        """Remove the entry of a name and return it."""
        entry = self[key]
        del self[key]
        return entry

    def clear(self) -> None:
        """Remove all entries."""
        self._contents.clear()

    def keys(self) -> Iterable[str]:
        """Return the names, in insertion order."""
        return self._contents.keys()

    def values(self) -> Iterable[Any]:
        """Return the entries."""
        return self._contents.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names with the entries."""
        return self._contents.items()

    def __getitem__(self, name: str) -> Any:
        return self._contents[name]

    def __delitem__(self, name: str) -> None:
        del self._contents[name]

    def __len__(self) -> int:
        return len(self._contents)

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __contains__(self, name: object) -> bool:
        return name in self._contents


class ModuleDict(NamedContainer):
    """A dictionary of modules, to be called in the `forward` of a user-defined module.

    Args:
        modules: The modules by name, or pairs of name and module.

    Raises:
        TypeError: If an element is not a Module.
        ValueError: If a name is empty, contains a dot or is already an attribute.
    """

    def __init__(self, modules: Mapping[str, Node] | Iterable[tuple[str, Node]] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Node] | Iterable[tuple[str, Node]]) -> None:
        """Add modules, given by name or in pairs, replacing those with the same names."""
        for name, module in dict(modules).items():
            self[name] = module

    @property
    def _contents(self) -> dict[str, Any]:
        return self._modules

    def __getitem__(self, name: str) -> Any:
        """Return a module by name.

        Raises:
            KeyError: If there is no such module.
        """
        if name not in self._modules:
            raise KeyError(f"ModuleDict expected one of {', '.join(self._modules) or 'no names, as it is empty'}, got {name!r}")
        return self._modules[name]

    def __setitem__(self, name: str, module: Node) -> None:
        _add_module(self, name, module)


def _check_modules(parent: Module, modules: Any) -> list[Node]:
    """Return modules as a list. Raises TypeError if modules is not iterable, or an element is not a Module."""
    kind = type(parent).__name__
    if not isinstance(modules, Iterable):
        raise TypeError(f"{kind} expected a list of Modules, got {type(modules).__name__}; write [module] for one")
    modules = list(modules)
    for number, module in enumerate(modules):
        _check_module(kind, module, str(number))
    return modules


def _check_module(kind: str, module: Any, name: Any) -> None:
    """Raise TypeError unless module is a Module."""
    if not isinstance(module, Node):
        raise TypeError(f"{kind} expected Modules, got {type(module).__name__} as {name!r}; call functions in a forward method")


def _add_module(parent: Module, name: Any, module: Any) -> None:
    """Register a child module.

    Raises:
        TypeError: If module is not a Module, or its name not a string.
        ValueError: If the name is empty, contains a dot or is already an attribute.
    """
    kind = type(parent).__name__
    _check_module(kind, module, name)
    if not isinstance(name, str):
        raise TypeError(f"{kind} expected names as strings, got {name!r}")
    if not name or "." in name or (name not in parent._modules and hasattr(parent, name)):
        raise ValueError(f"{kind} expected a name without a dot that is no attribute of it, got {name!r}; choose another")
    parent._modules[name] = module


def _normalize_index(index: int, length: int, kind: str) -> int:
    """Return a non-negative index. Raises IndexError if the index is out of range."""
    position = operator.index(index)
    if not -length <= position < length:
        raise IndexError(f"{kind} expected an index of its {length} modules, got {index}")
    return position % length
