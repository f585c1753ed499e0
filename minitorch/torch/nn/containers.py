"""Stage 6 - Containers of modules and parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import minitorch.nn as engine
from minitorch.torch.nn.module import Module, adapt, adapts
from minitorch.torch.nn.parameter import Parameter


@adapts(engine.Sequential)
class Sequential(adapt(engine.Sequential, lifted=False)):
    """A chain of modules, each applied to the output of the previous one.

    Args:
        modules: The modules, named "0", "1", …; or a single dictionary of modules by name.
    """

    def _slice(self, index: slice) -> Any:
        return type(self)(dict(list(self._modules.items())[index]))

    def __add__(self, other: Iterable[Module]) -> Any:
        return Sequential(*self, *other)

    def __delitem__(self, index: int) -> None:
        modules = list(self._modules.values())
        del modules[index]
        self._modules.clear()
        self.extend(modules)

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before an index; those after it are renamed. Returns this container."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules.clear()
        return self.extend(modules)

    def pop(self, key: int) -> Module:
        """Remove the module at an index and return it."""
        module = self[key]
        del self[key]
        return module


@adapts(engine.ModuleList)
class ModuleList(adapt(engine.ModuleList, lifted=False)):
    """A list of modules, named "0", "1", …, to be called in the `forward` of a user-defined module.

    Args:
        modules: The modules.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__(() if modules is None else modules)

    def _slice(self, index: slice) -> Any:
        return type(self)(list(self)[index])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> Any:
        return type(self)([*self, *other])

    def pop(self, index: int = -1) -> Module:
        """Remove the module at an index and return it."""
        module = self[index]
        del self[index]
        return module

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


@adapts(engine.ModuleDict)
class ModuleDict(adapt(engine.ModuleDict, lifted=False)):
    """A dictionary of modules, to be called in the `forward` of a user-defined module.

    Args:
        modules: The modules by name, or pairs of name and module.
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__(dict(modules or {}))

    def update(self, modules: Any) -> None:
        """Add modules, replacing those with the same names."""
        super().update(dict(modules))

    def pop(self, key: str) -> Module:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()


def _as_parameter(value: Any) -> Parameter:
    """A value of a container: a Tensor becomes a Parameter, as in PyTorch."""
    return value if isinstance(value, Parameter) else Parameter(value)


class ParameterList(adapt(engine.ParameterList, lifted=False)):
    """A list of parameters, named "0", "1", …; a Tensor becomes a Parameter.

    Args:
        values: The parameters.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__(() if values is None else values)

    def append(self, value: Any) -> Self:
        """Append a parameter and return this list."""
        return super().append(_as_parameter(value))

    def __setitem__(self, index: int, value: Any) -> None:
        super().__setitem__(index, _as_parameter(value))


class ParameterDict(adapt(engine.ParameterDict, lifted=False)):
    """A dictionary of parameters; a Tensor becomes a Parameter.

    Args:
        parameters: The parameters by name.
    """

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, _as_parameter(value))

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter with a name, or the default."""
        return self._parameters.get(key, default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter with a name; if there is none, the default is added."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Remove a parameter and return it."""
        return self._parameters.pop(key)

    def clear(self) -> None:
        """Remove all parameters."""
        self._parameters.clear()
