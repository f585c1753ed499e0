"""Stage 5 - Containers: modules one after the other, in a list or in a dictionary, all of whose parameters are found."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Self, overload

from minitorch.nn.module import Module, Node


class _InOrder(Module):
    """What Sequential and ModuleList share: modules by their places."""

    def append(self, module: Node) -> Self:
        """Put a module at the end, under the first number from their count on that is no name yet; returns this one.

        Raises:
            TypeError: If it is no Module.
        """
        _add(self, next(name for number in count(len(self)) if (name := str(number)) not in self._modules), module)
        return self

    def extend(self, modules: Iterable[Node]) -> Self:
        """Put several modules at the end; returns this one.

        Raises:
            TypeError: If one is no Module; none is put there then.
        """
        for module in _listed(self, modules):
            self.append(module)
        return self

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Any:
        """The module at a place; of a slice, a container like this with the same modules.

        Raises:
            IndexError: If there is no such place.
        """
        if isinstance(index, slice):
            return self._cut(index)
        return list(self._modules.values())[_place(index, len(self), type(self).__name__)]

    def _cut(self, index: slice) -> Any:
        """A container of a slice."""
        raise NotImplementedError

    def __setitem__(self, index: int, module: Node) -> None:
        """Put another module in place of the one at a place, under its name.

        Raises:
            IndexError: If there is no such place.
            TypeError: If it is no Module.
        """
        _add(self, list(self._modules)[_place(index, len(self), type(self).__name__)], module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())


class Sequential(_InOrder):
    """Modules one after the other, each of which gets what the one before it made.

    Args:
        modules: The modules, named "0", "1", …; or one dictionary of modules by name, such as an OrderedDict.

    Raises:
        TypeError: If one is no Module.
        ValueError: If a name is no name that an attribute can have.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                _add(self, name, module)
        else:
            for number, module in enumerate(modules):
                _add(self, str(number), module)

    def forward(self, input: Any) -> Any:
        """What the last module makes of what the one before it made …; without any, what came in."""
        for module in self._modules.values():
            input = module(input)
        return input

    def _cut(self, index: slice) -> Sequential:
        return Sequential(dict(list(self._modules.items())[index]))  # under their names


class ModuleList(_InOrder):
    """A list of modules, named "0", "1", …, which a `forward` of the user's calls.

    Args:
        modules: The modules.

    Raises:
        TypeError: If one is no Module.
        IndexError: If one is put or deleted where there is none.
    """

    def __init__(self, modules: Iterable[Node] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def insert(self, index: int, module: Node) -> None:
        """Put a module before the one at a place.

        Raises:
            TypeError: If it is no Module.
        """
        modules = list(self)
        modules.insert(index, module)
        self._replace_all(modules)

    def _cut(self, index: slice) -> ModuleList:
        return ModuleList(list(self)[index])

    def __delitem__(self, index: int) -> None:
        place = _place(index, len(self), "ModuleList")
        self._replace_all([module for i, module in enumerate(self) if i != place])

    def _replace_all(self, modules: list[Node]) -> None:
        modules = _listed(self, modules)
        self._modules.clear()
        self.extend(modules)


class ModuleDict(Module):
    """Modules by name, which a `forward` of the user's calls.

    Raises:
        TypeError: If one is no Module.
        ValueError: If a name is no name that an attribute can have.
    """

    def __init__(self, modules: Mapping[str, Node] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Node]) -> None:
        """Put in modules, in place of those that have their names."""
        for name, module in modules.items():
            self[name] = module

    def keys(self) -> Iterable[str]:
        """The names, in the order in which they came in."""
        return self._modules.keys()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names with the modules."""
        return self._modules.items()

    def __getitem__(self, name: str) -> Any:
        """The module of a name.

        Raises:
            KeyError: If there is none.
        """
        if name not in self._modules:
            raise KeyError(f"ModuleDict expected one of {', '.join(self._modules) or 'no names, for it is empty'}, got {name!r}")
        return self._modules[name]

    def __setitem__(self, name: str, module: Node) -> None:
        _add(self, name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules


def _listed(parent: Module, modules: Any) -> list[Node]:
    """Modules as a list.

    Raises:
        TypeError: If they are none, or one of them is no Module.
    """
    kind = type(parent).__name__
    if not isinstance(modules, Iterable):
        raise TypeError(f"{kind} expected a list of Modules, got {type(modules).__name__}; write [module] for one")
    modules = list(modules)
    for number, module in enumerate(modules):
        _check(kind, module, str(number))
    return modules


def _check(kind: str, module: Any, name: Any) -> None:
    """That it is a module."""
    if not isinstance(module, Node):
        raise TypeError(f"{kind} expected Modules, got {type(module).__name__} as {name!r}; functions go into a forward")


def _add(parent: Module, name: Any, module: Any) -> None:
    """Enter a child into a container.

    Raises:
        TypeError: If it is no Module, or its name no text.
        ValueError: If the name has a dot, is empty, or is that of an attribute.
    """
    kind = type(parent).__name__
    _check(kind, module, name)
    if not isinstance(name, str):
        raise TypeError(f"{kind} expected names as text, got {name!r}")
    if not name or "." in name or (name not in parent._modules and hasattr(parent, name)):
        raise ValueError(f"{kind} expected a name without a dot that is no attribute of it, got {name!r}; choose another")
    parent._modules[name] = module


def _place(index: int, length: int, kind: str) -> int:
    """A place counted from the front.

    Raises:
        IndexError: If there is none.
    """
    place = operator.index(index)
    if not -length <= place < length:
        raise IndexError(f"{kind} expected an index of its {length} modules, got {index}")
    return place % length
