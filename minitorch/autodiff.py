"""Stage 1 - Derivatives: numerical derivatives, the context of a function, and backpropagation through any computational graph.

Nothing here depends on Scalar or Tensor: both are Variables, and both use the same backpropagation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


def central_difference(f: Callable[..., Any], *vals: Any, arg: int = 0, epsilon: float = 1e-6) -> Any:
    """Numerical derivative of f with respect to one argument, (f(x + ε) - f(x - ε)) / 2ε.

    For a smooth f the error is of order ε². If ε is too small, rounding errors dominate.

    Args:
        f: Function of len(vals) arguments.
        vals: The point x.
        arg: The argument to differentiate with respect to.
        epsilon: The step ε, to each side of x.

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
    """Values that a function saves in its forward pass for its backward pass.

    Attributes:
        no_grad: True if no derivatives will be computed, so that nothing is saved.
        saved_values: The values given to `save_for_backward`.
    """

    __slots__ = ("__dict__", "no_grad", "saved_values")  # __dict__: a Function may set attributes, ctx.dim = dim

    def __init__(self, no_grad: bool = False, saved_values: tuple[Any, ...] = ()) -> None:
        self.no_grad = no_grad
        self.saved_values = saved_values

    def save_for_backward(self, *values: Any) -> None:
        """Save these values for the backward pass."""
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
    """How a variable was computed: the function, its context and its inputs.

    A History without a function marks a leaf, a variable that the user made. A constant has no History.
    """

    last_fn: Any = None
    ctx: Context | None = None
    inputs: Sequence[Any] = ()


LEAF = History()
"""The history of every leaf."""


class Variable(Protocol):
    """The interface of a node in the computational graph."""

    history: History | None

    @property
    def unique_id(self) -> int:
        """A number that no other living variable has."""
        ...

    def is_leaf(self) -> bool:
        """Whether the user made it, so that it keeps its derivative."""
        ...

    def is_constant(self) -> bool:
        """Whether no derivative flows into it."""
        ...

    @property
    def parents(self) -> Sequence[Any]:
        """The inputs of the function that computed it."""
        ...

    def accumulate_derivative(self, x: Any) -> None:
        """Add x to the derivative of this leaf."""
        ...

    def chain_rule(self, d_output: Any) -> Iterable[tuple[Any, Any]]:
        """The inputs of its last function, each with the derivative that flows into it."""
        ...


def topological_sort(variable: Variable) -> list[Any]:
    """The variables that this one was computed from, each after all variables computed from it.

    Returns:
        The non-constant variables of the graph, once each: `variable` first, leaves after every variable that uses them.
    """
    finished: list[Any] = []
    seen: set[Any] = set()
    stack: list[Any] = [variable] if variable.history is not None else []
    while stack:
        node = stack.pop()
        if node is None:  # a marker: the inputs of the node below it are finished
            finished.append(stack.pop())
        elif node not in seen:
            seen.add(node)
            stack += (node, None)
            for parent in reversed(node.history.inputs):  # so that the left one is on top of the stack
                if parent.history is not None and parent not in seen:
                    stack.append(parent)
    finished.reverse()
    return finished


def backpropagate(variable: Variable, deriv: Any) -> None:
    """Propagate a derivative back through the computational graph and accumulate it in the leaves.

    Each variable is visited once, after all variables computed from it: by then its derivative is complete.

    Args:
        variable: The output of the graph.
        deriv: The derivative of the final output with respect to it.
    """
    derivatives = {variable: deriv}
    for node in topological_sort(variable):
        d_output = derivatives.pop(node)
        if node.history.last_fn is None:
            node.accumulate_derivative(d_output)
            continue
        for parent, d_parent in node.chain_rule(d_output):
            if parent in derivatives:
                derivatives[parent] = derivatives[parent] + d_parent  # not +=, which may write into a shared array
            elif parent.history is not None:  # nothing flows into a constant
                derivatives[parent] = d_parent
