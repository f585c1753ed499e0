"""Stage 1 - Derivatives: the numerical check, what a function saves, and backpropagation through any graph of variables.

Nothing here knows about Scalar or Tensor: both are Variables, and one engine serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


def central_difference(f: Callable[..., Any], *vals: Any, arg: int = 0, epsilon: float = 1e-6) -> Any:
    """Numerical derivative of f with respect to one argument, (f(x + ε) - f(x - ε)) / 2ε.

    Its error is of order ε² for a smooth f, and grows again when ε is so small that the difference drowns in rounding.

    Args:
        f: Function of len(vals) arguments.
        vals: The point x.
        arg: Which argument to differentiate by.
        epsilon: Half the width of the step.

    Raises:
        IndexError: If there is no argument number `arg`.
    """
    if not 0 <= arg < len(vals):
        raise IndexError(f"central_difference expected arg from 0 to {len(vals) - 1} for {len(vals)} values, got {arg}")
    above, below = list(vals), list(vals)
    above[arg] = vals[arg] + epsilon
    below[arg] = vals[arg] - epsilon
    return (f(*above) - f(*below)) / (2 * epsilon)


class Context:
    """What a function keeps in forward for its backward.

    Attributes:
        no_grad: True if nothing will be differentiated, so that nothing need be saved.
        saved_values: The values given to `save_for_backward`.
    """

    __slots__ = ("__dict__", "no_grad", "saved_values")  # __dict__: a Function may keep what it likes, ctx.dim = dim

    def __init__(self, no_grad: bool = False, saved_values: tuple[Any, ...] = ()) -> None:
        self.no_grad = no_grad
        self.saved_values = saved_values

    def save_for_backward(self, *values: Any) -> None:
        """Keep these values until backward."""
        if not self.no_grad:
            self.saved_values = values

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """PyTorch's name for `saved_values`."""
        return self.saved_values

    def __repr__(self) -> str:
        return f"Context(no_grad={self.no_grad}, saved_values={self.saved_values})"


@dataclass(slots=True, eq=False)
class History:
    """How a variable was made: which function, what it saved, and from which inputs.

    A History without a function marks a leaf, a variable made by the user; a variable that has no History at all is a constant.
    """

    last_fn: Any = None
    ctx: Context | None = None
    inputs: Sequence[Any] = ()


LEAF = History()
"""The history of every leaf."""


class Variable(Protocol):
    """What backpropagation asks of a node in the graph."""

    history: History | None

    @property
    def unique_id(self) -> int:
        """A number that no other living variable has."""
        ...

    def is_leaf(self) -> bool:
        """Whether the user made it, so that its derivative is kept."""
        ...

    def is_constant(self) -> bool:
        """Whether no derivative flows into it."""
        ...

    @property
    def parents(self) -> Sequence[Any]:
        """The inputs of the function that made it."""
        ...

    def accumulate_derivative(self, x: Any) -> None:
        """Add x to the derivative kept by this leaf."""
        ...

    def chain_rule(self, d_output: Any) -> Iterable[tuple[Any, Any]]:
        """The inputs of its last function, each with the derivative that flows into it."""
        ...


def topological_sort(variable: Variable) -> list[Any]:
    """Every variable that leads to this one, each after all that were computed from it.

    Returns:
        The non-constant variables of the graph, once each: `variable` first, leaves after everything that used them.
    """
    finished: list[Any] = []
    seen: set[Any] = set()
    stack: list[Any] = [variable] if variable.history is not None else []
    while stack:
        node = stack.pop()
        if node is None:  # a mark: everything that leads to the node below it is finished
            finished.append(stack.pop())
        elif node not in seen:
            seen.add(node)
            stack += (node, None)
            for parent in reversed(node.history.inputs):  # the left one comes to lie on top
                if parent.history is not None and parent not in seen:
                    stack.append(parent)
    finished.reverse()
    return finished


def backpropagate(variable: Variable, deriv: Any) -> None:
    """Send a derivative back through the graph and add it up in the leaves.

    Each variable is visited once, after everything that was computed from it: by then all its derivatives have arrived.

    Args:
        variable: The right-most variable of the graph.
        deriv: Its derivative, which is passed on to the left.
    """
    derivatives = {variable: deriv}
    for node in topological_sort(variable):
        d_output = derivatives.pop(node)
        if node.history.last_fn is None:
            node.accumulate_derivative(d_output)
            continue
        for parent, d_parent in node.chain_rule(d_output):
            if parent in derivatives:
                derivatives[parent] = derivatives[parent] + d_parent  # not +=, which may write into an array that others share
            elif parent.history is not None:  # nothing flows into a constant
                derivatives[parent] = d_parent
