"""Small module trees as examples."""

from __future__ import annotations

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


def tree(module: Module, name: str = "(root)", depth: int = 0) -> list[str]:
    """Return the module and all its descendants as a Markdown list."""
    indent = "    " * depth
    mode = ":material/model_training: training" if module.training else ":material/task_alt: evaluation"
    lines = [f"{indent}- **{name}** `{type(module).__name__}` · {mode}"]
    lines += [f"{indent}    - {key} = `{parameter}`" for key, parameter in module._parameters.items()]
    for key, child in module._modules.items():
        lines += tree(child, key, depth + 1)
    return lines


def paths(module: Module, name: str = "") -> dict[str, Module]:
    """Return every module of the tree by its dotted name; the name of the root is empty."""
    found = {name: module}
    for key, child in module._modules.items():
        found |= paths(child, f"{name}.{key}" if name else key)
    return found
