"""Stage 5 - The tree of modules: its walks, its names, and what hides from them."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterator, Sequence
from typing import Any

import minitorch.module
from minitorch.module import Parameter

Node = minitorch.module.Module
"""Any module, also one of the course's own kind."""


def join(prefix: str, name: str) -> str:
    """A dotted name."""
    return f"{prefix}.{name}" if prefix else name


def walk(module: Node, prefix: str, seen: set[int]) -> Iterator[tuple[str, Node]]:
    """A module and its descendants with their names, each once."""
    if id(module) not in seen:
        seen.add(id(module))
        yield prefix, module
        for name, child in module._modules.items():
            yield from walk(child, join(prefix, name), seen)


def upwards(module: Node, seen: set[int]) -> Iterator[Node]:
    """A module's descendants, each once and after those below it, then the module."""
    if id(module) not in seen:
        seen.add(id(module))
        for child in module._modules.values():
            yield from upwards(child, seen)
        yield module


def places(module: Node, prefix: str) -> Iterator[tuple[str, Node]]:
    """As `walk`; a module that stands in several places comes once for each."""
    yield prefix, module
    for name, child in module._modules.items():
        yield from places(child, join(prefix, name))


def buffers_of(module: Node) -> Iterator[tuple[str, Any, bool]]:
    """The module's own buffers: name, value, and whether it belongs to the state. Those that are not there yet are left out."""
    for name, persistent in module.__dict__.get("_buffers", {}).items():
        value = getattr(module, name)
        if value is not None:
            yield name, value, persistent


# What hides


def warn_of_hidden(modules: Sequence[Node], parameters: Container[int]) -> None:
    """Say so if a plain list or dictionary holds what no optimizer will find."""
    known = set(map(id, modules))
    for module in modules:
        for name, value in vars(module).items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            hidden = next((each for each in _inside(value) if id(each) not in known and id(each) not in parameters), None)
            if hidden is not None:
                container = "ModuleDict" if isinstance(value, dict) else "ModuleList"
                remedy = "use self.add_parameter(name, value)" if isinstance(hidden, Parameter) else f"put it into a {container}"
                where = f"{type(module).__name__}.{name} is a plain {type(value).__name__}"
                kind = type(hidden).__name__
                warnings.warn(f"{where}: the {kind} in it is not found and not trained; {remedy}", UserWarning, stacklevel=4)


def _inside(value: Any, depth: int = 3) -> Iterator[Parameter | Node]:
    """The parameters and modules in lists, tuples and dictionaries, and in those in them, so deep."""
    if isinstance(value, (Parameter, Node)):
        yield value
    elif isinstance(value, (list, tuple, dict)) and depth:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _inside(each, depth - 1)
