"""Stage 1 - Forward mode: dual numbers, which carry their derivative instead of recording a graph.

One pass in reverse mode gives the derivatives of one output with respect to all inputs; one pass in forward mode gives those of all
outputs with respect to one input. Both multiply the same local derivatives, the functions' own `backward`, from opposite ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autodiff import Context, History
from minitorch.scalar import Scalar, as_scalar
from minitorch.scalar_functions import ScalarFunction


class Dual(Scalar):
    """A number and its derivative, data + tangent · ε with ε² = 0. It has all operators of Scalar, and no history.

    Args:
        v: The value.
        tangent: Its derivative with respect to the chosen input: 1 for that input itself, 0 for a constant.
    """

    __slots__ = ("tangent",)

    def __init__(self, v: float, tangent: float = 0.0) -> None:
        super().__init__(v, None)
        self.tangent = float(tangent)

    def __repr__(self) -> str:
        return f"Dual({self.data:f}, tangent={self.tangent:f})"

    def call(self, fn: type[ScalarFunction], vals: Sequence[Any]) -> Dual:
        """Value and tangent of fn(*vals): the sum of local derivative times tangent over the inputs; a plain Scalar is a constant."""
        inputs = [as_scalar(fn, val) for val in vals]
        ctx = Context()
        step = Scalar(fn.forward(ctx, *[x.data for x in inputs]), History(fn, ctx, inputs))
        tangent = 0.0
        for x, partial in step.chain_rule(1.0):
            if isinstance(x, Dual) and x.tangent != 0.0:  # a NaN derivative times 0 would make the sum NaN
                tangent += partial * x.tangent
        return Dual(step.data, tangent)

    def backward(self, d_output: float = 1.0) -> None:
        """Not supported: a Dual records no graph.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError("a Dual carries its derivative forward and records no graph; read .tangent, or use Scalar for backward()")


def jvp(f: Callable[..., Any], primals: Sequence[float], tangents: Sequence[float]) -> tuple[float, float]:
    """Value and directional derivative of f, by forward mode (a Jacobian-vector product).

    Args:
        f: Function of len(primals) numbers that returns one.
        primals: The point.
        tangents: The direction; (1, 0, …) gives the derivative with respect to the first argument.

    Returns:
        f(primals), and the sum over i of ∂f/∂x_i · tangents_i.

    Raises:
        ValueError: If point and direction differ in length.

    Example:
        >>> jvp(lambda x, y: x * y, (3.0, 5.0), (1.0, 0.0))
        (15.0, 5.0)
    """
    if len(primals) != len(tangents):
        raise ValueError(f"jvp expected one tangent for each of {len(primals)} primals, got {len(tangents)} tangents")
    out = f(*[Dual(x, t) for x, t in zip(primals, tangents, strict=True)])
    if not isinstance(out, Dual):  # f ignores its arguments
        return float(out.data if isinstance(out, Scalar) else out), 0.0
    return out.data, out.tangent
