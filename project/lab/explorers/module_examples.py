"""Small module trees to look into."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from minitorch import Module, Parameter


class Line(Module):
    """A straight line: two parameters, no children."""

    def __init__(self, slope: float, shift: float) -> None:
        super().__init__()
        self.slope = Parameter(slope)
        self.shift = Parameter(shift)


class Pair(Module):
    """Two lines and a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = Parameter(3.0)
        self.left = Line(1.0, 0.0)
        self.right = Line(-2.0, 0.5)


class Tower(Module):
    """Children of children."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Pair()
        self.top = Line(0.1, 0.2)


EXAMPLES: dict[str, Any] = {
    "Line: two parameters": lambda: Line(2.0, -1.0),
    "Pair: children beside a parameter": Pair,
    "Tower: children of children": Tower,
}
"""What makes each module, by the name that the menu shows."""

if find_spec("project.run_scalar"):  # a workspace of Module 0 alone does not have it
    EXAMPLES["Network: the one of the training page"] = lambda: import_module("project.run_scalar").Network(2)


def tree(module: Module, name: str = "(root)", depth: int = 0) -> list[str]:
    """The module and all below it, one line of a Markdown list each."""
    indent = "    " * depth
    mode = ":material/model_training: training" if module.training else ":material/task_alt: evaluation"
    lines = [f"{indent}- **{name}** `{type(module).__name__}` · {mode}"]
    lines += [f"{indent}    - {key} = `{parameter}`" for key, parameter in module._parameters.items()]
    for key, child in module._modules.items():
        lines += tree(child, key, depth + 1)
    return lines


def paths(module: Module, name: str = "") -> dict[str, Module]:
    """Every module of the tree by its dotted name; the root's is empty."""
    found = {name: module}
    for key, child in module._modules.items():
        found |= paths(child, f"{name}.{key}" if name else key)
    return found
