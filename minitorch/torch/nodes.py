"""Stage 7 - The nodes of the graph that backward goes through, with PyTorch's names."""

from __future__ import annotations

from typing import Any

from minitorch.autodiff import LEAF
from minitorch.core.tensor_base import TensorBase


class Node:
    """A step of the graph: the function that computed a tensor, or, for a leaf, the place where its gradients are added up.

    Args:
        x: A tensor of the engine that requires gradients.
    """

    __slots__ = ("_tensor",)

    def __init__(self, x: Any) -> None:
        self._tensor = x

    def name(self) -> str:
        """The function with "Backward", or "AccumulateGrad"."""
        history = self._tensor.history
        return "AccumulateGrad" if history is LEAF else f"{history.last_fn.__name__}Backward"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, None for a constant, each with 0, the number of its result; empty once backward has freed the graph."""
        tensors = [x for x in self._tensor.history.inputs if isinstance(x, TensorBase)]
        return tuple((None if x.history is None else Node(x), 0) for x in tensors)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Node) and self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def _place(self) -> int:
        """What tells nodes apart: the history, which tensors over the same memory share, or a leaf itself."""
        history = self._tensor.history
        return id(self._tensor if history is LEAF else history)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {self._place():#x}>"
