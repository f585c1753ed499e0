"""Stage 1 - Traces: every step of a computation in a table, with its tangent (forward mode) or its adjoint (reverse mode)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from minitorch.autodiff import LEAF, Context, History, topological_sort
from minitorch.scalar import Scalar, ScalarLike, as_scalar
from minitorch.scalar_functions import ScalarFunction

INFIX = {"Add": "+", "Mul": "·", "LT": "<", "EQ": "==", "Pow": "^"}


@dataclass
class Line:
    """One step of a computation.

    Attributes:
        name: The step: x1, x2 … for the inputs, v1, v2 … for what is computed from them.
        expression: How it is computed from earlier steps, such as "x1 · x2".
        value: Its value, the primal.
        derivative: Its tangent (with respect to the seeded input) or its adjoint (of the output with respect to this step).
    """

    name: str
    expression: str
    value: float
    derivative: float


@dataclass
class Trace:
    """The steps of one pass, in the order in which it computes the derivatives.

    Attributes:
        mode: "forward" or "reverse".
        lines: The steps, the inputs first (forward) or last (reverse).
    """

    mode: str
    lines: list[Line]

    def __str__(self) -> str:
        symbol = "tangent" if self.mode == "forward" else "adjoint"
        rows = [("step", "value", symbol)]
        rows += [(f"{line.name} = {line.expression}", f"{line.value:.4f}", f"{line.derivative:.4f}") for line in self.lines]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows)


def forward_trace(f: Callable[..., Scalar], *point: float, arg: int = 0) -> Trace:
    """Run f and compute the derivative of every step with respect to one input, from the inputs to the output.

    Args:
        f: Function of len(point) Scalars.
        point: The values of the inputs.
        arg: The input to differentiate with respect to; its tangent is seeded with 1.

    Raises:
        IndexError: If there is no input number `arg`.

    Example:
        >>> print(forward_trace(lambda x, y: x * y + x, 2.0, 3.0, arg=0))
        step           value  tangent
        x1 = 2        2.0000   1.0000
        x2 = 3        3.0000   0.0000
        v1 = x1 · x2  6.0000   3.0000
        v2 = v1 + x1  8.0000   4.0000
    """
    if not 0 <= arg < len(point):
        raise IndexError(f"forward_trace expected arg from 0 to {len(point) - 1} for {len(point)} inputs, got {arg}")
    inputs, steps, _ = _trace(f, point)
    tangents = {id(x): float(i == arg) for i, x in enumerate(inputs)}
    for step in steps:
        tangents[id(step)] = sum(
            (partial * tangents[id(parent)] for parent, partial in step.chain_rule(1.0) if tangents.get(id(parent), 0.0) != 0.0), 0.0
        )
    return Trace("forward", _lines(inputs, steps, tangents))


def reverse_trace(f: Callable[..., Scalar], *point: float) -> Trace:
    """Run f and compute the derivative of the output with respect to every step, from the output back to the inputs.

    Args:
        f: Function of len(point) Scalars.
        point: The values of the inputs.

    Example:
        >>> print(reverse_trace(lambda x, y: x * y + x, 2.0, 3.0))
        step           value  adjoint
        v2 = v1 + x1  8.0000   1.0000
        v1 = x1 · x2  6.0000   1.0000
        x2 = 3        3.0000   2.0000
        x1 = 2        2.0000   4.0000
    """
    inputs, steps, out = _trace(f, point)
    if isinstance(out, TracedScalar):  # otherwise it does not depend on the inputs
        out.backward()
    adjoints = {id(x): x.derivative or 0.0 for x in inputs} | {id(step): step.adjoint for step in steps}
    return Trace("reverse", _lines(inputs, steps, adjoints)[::-1])


class TracedScalar(Scalar):
    """A Scalar that stores its derivative during backpropagation.

    Attributes:
        adjoint: That derivative, 0.0 if none arrived.
    """

    __slots__ = ("adjoint",)

    def __init__(self, v: float, history: History | None = LEAF, name: str | None = None) -> None:
        super().__init__(v, history, name)
        self.adjoint = 0.0

    def call(self, fn: type[ScalarFunction], vals: Sequence[ScalarLike]) -> Scalar:
        """Like `Scalar.call`, with a TracedScalar as result."""
        # Scalars that are not traced are constants here
        inputs = [val if isinstance(val, TracedScalar) else Scalar(as_scalar(fn, val).data, None) for val in vals]
        ctx = Context()
        return TracedScalar(fn.forward(ctx, *[x.data for x in inputs]), History(fn, ctx, inputs))

    def chain_rule(self, d_output: float) -> Iterable[tuple[Scalar, float]]:
        """Store d_output, then pass it on."""
        self.adjoint = d_output
        return super().chain_rule(d_output)


def _trace(f: Callable[..., Scalar], point: Sequence[float]) -> tuple[list[Scalar], list[Any], Scalar]:
    """The inputs of f, the steps computed from them in topological order, and the output."""
    inputs: list[Scalar] = [TracedScalar(x, name=f"x{i + 1}") for i, x in enumerate(point)]
    out = f(*inputs)
    if not isinstance(out, Scalar):
        raise TypeError(f"a trace expected a function that returns a Scalar, got {type(out).__name__} {out!r}")
    steps = [node for node in reversed(list(topological_sort(out))) if isinstance(node, TracedScalar) and not node.is_leaf()]
    return inputs, steps, out


def _lines(inputs: list[Scalar], steps: list[Scalar], derivatives: dict[int, float]) -> list[Line]:
    """One line for every node, named in the order of computation."""
    names = {id(x): x.name for x in inputs} | {id(step): f"v{i + 1}" for i, step in enumerate(steps)}
    lines = [Line(x.name, f"{x.data:g}", x.data, derivatives[id(x)]) for x in inputs]
    return lines + [Line(names[id(step)], _expression(step, names), step.data, derivatives[id(step)]) for step in steps]


def _expression(step: Scalar, names: dict[int, str]) -> str:
    """The expression of a node in terms of its inputs: "x1 · x2", "sin(x2)"."""
    assert step.history is not None
    return formula(step.history.last_fn.__name__, [names.get(id(parent), f"{parent.data:g}") for parent in step.parents])


def formula(function: str, operands: Sequence[str]) -> str:
    """A function of operands in mathematical notation: formula("Mul", ["x1", "x2"]) is "x1 · x2", formula("Sin", ["x2"]) is "sin(x2)"."""
    if function == "Neg":
        return f"-{operands[0]}"
    if function in INFIX:
        return f" {INFIX[function]} ".join(operands)
    return f"{function.lower()}({', '.join(operands)})"
