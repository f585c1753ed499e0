"""Small module trees as examples."""

from __future__ import annotations

from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from minitorch import Module, Parameter


class Line(Module):
    """A straight line: two parameters and no children."""

    def __init__(self, slope: float, shift: float) -> None:
        super().__init__()
        self.slope = Parameter(slope)
        self.shift = Parameter(shift)


class Pair(Module):
    """Two children and one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = Parameter(3.0)
        self.left = Line(1.0, 0.0)
        self.right = Line(-2.0, 0.5)


class Tower(Module):
    """Two levels of children."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Pair()
        self.top = Line(0.1, 0.2)


EXAMPLES: dict[str, Any] = {
    "Line: two parameters": lambda: Line(2.0, -1.0),
    "Pair: two children and a parameter": Pair,
    "Tower: two levels of children": Tower,
}
"""The constructor of each module, by its name in the menu."""

if find_spec("project.run_scalar"):  # missing in a workspace that ends after Module 0
    EXAMPLES["Network: the network of the training page"] = lambda: import_module("project.run_scalar").Network(2)


def tree(module: Module, selected: str = "", path: str = "") -> str:
    """Return the module and all its descendants as a drawn tree; a click on a module reports its path and a dot.

    Args:
        module: The root.
        selected: The path of the module to highlight.
        path: The path of this module.
    """
    mode = "training" if module.training else "evaluation"
    name = path.rpartition(".")[2] or "(root)"
    look = f"module {mode}{' selected' if path == selected else ''}"
    head = f'<button type="button" class="{look}" data-pick="{path}."><b>{name}</b> {type(module).__name__}<small>{mode}</small></button>'
    leaves = [
        f'<li><span class="parameter"><b>{escape(key)}</b> {escape(str(parameter))}</span></li>'
        for key, parameter in module._parameters.items()
    ]
    leaves += [tree(child, selected, f"{path}.{key}" if path else key) for key, child in module._modules.items()]
    return f"<li>{head}<ul>{''.join(leaves)}</ul></li>" if leaves else f"<li>{head}</li>"


def paths(module: Module, name: str = "") -> dict[str, Module]:
    """Return every module of the tree by its dotted name; the name of the root is empty."""
    found = {name: module}
    for key, child in module._modules.items():
        found |= paths(child, f"{name}.{key}" if name else key)
    return found
