"""Stage 1 - Differentiable functions of scalars, each with its forward and backward pass.

`forward` takes plain floats and returns one; `backward` takes the derivative of the output and returns that of every input.
"""

from __future__ import annotations

import math
from typing import Any

import minitorch.operators as operators
from minitorch.autodiff import Context
from minitorch.core import math_operators


class ScalarBase:
    """Base class of `Scalar`, which this file cannot import: scalar.py imports the functions below."""

    __slots__ = ()

    def call(self, fn: type[ScalarFunction], vals: tuple[Any, ...]) -> Any:
        """Call a function on vals, of which this is one, and return the result as a Scalar."""
        raise NotImplementedError("a ScalarBase cannot call functions; make a Scalar")


class ScalarFunction:
    """A differentiable function from floats to a float. It has no instances: a subclass is the function, and `apply` calls it."""

    @classmethod
    def apply(cls, *vals: Any) -> Any:
        """Call the function and record the call for backpropagation.

        Args:
            vals: Scalars and plain numbers. The first Scalar builds the output; if all are plain numbers, the output is a constant Scalar.

        Raises:
            TypeError: If there are none, or one is neither a Scalar nor a number.
        """
        for val in vals:
            if isinstance(val, ScalarBase):
                return val.call(cls, vals)
        if not vals:
            raise TypeError(f"{cls.__name__}.apply expected Scalars and numbers, got nothing")
        scalar: Any = ScalarBase.__subclasses__()[0]  # Scalar
        return scalar(0.0, None).call(cls, vals)

    @staticmethod
    def forward(ctx: Context, *vals: float) -> float:
        """The value; saves in ctx what the backward pass needs."""
        raise NotImplementedError("a ScalarFunction has no forward of its own; define forward(ctx, ...) in the subclass")

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float | tuple[float, ...]:
        """The derivatives of the output with respect to every input, in order, times d_output; a single number for a single input."""
        raise NotImplementedError("a ScalarFunction has no backward of its own; define backward(ctx, d_output) in the subclass")

    @classmethod
    def _forward(cls, ctx: Context, *vals: float) -> float:
        """`forward`, under the name that solutions to the published course call."""
        return cls.forward(ctx, *vals)

    @classmethod
    def _backward(cls, ctx: Context, d_output: float) -> tuple[float, ...]:
        """`backward`, its result always a tuple."""
        derivatives = cls.backward(ctx, d_output)
        return derivatives if isinstance(derivatives, tuple) else (derivatives,)


class Add(ScalarFunction):
    """a + b."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        return operators.add(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        return d_output, d_output


class Log(ScalarFunction):
    """ln(a + EPS)."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        ctx.save_for_backward(a)
        return operators.log(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (a,) = ctx.saved_values
        return operators.log_back(a, d_output)


class Mul(ScalarFunction):
    """a · b."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        ctx.save_for_backward(a, b)
        return operators.mul(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        a, b = ctx.saved_values
        return d_output * b, d_output * a


class Inv(ScalarFunction):
    """1 / a."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        ctx.save_for_backward(a)
        return operators.inv(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (a,) = ctx.saved_values
        return operators.inv_back(a, d_output)


class Neg(ScalarFunction):
    """-a."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        return operators.neg(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        return -d_output


class Sigmoid(ScalarFunction):
    """1 / (1 + e^-a)."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        y = operators.sigmoid(a)
        ctx.save_for_backward(y)  # d sigmoid = y · (1 - y): the output is enough
        return y

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (y,) = ctx.saved_values
        return d_output * y * (1.0 - y)


class ReLU(ScalarFunction):
    """a if a > 0, else 0."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        ctx.save_for_backward(a)
        return operators.relu(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (a,) = ctx.saved_values
        return operators.relu_back(a, d_output)


class Exp(ScalarFunction):
    """e^a, the exponential."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        y = operators.exp(a)
        ctx.save_for_backward(y)  # its own derivative
        return y

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (y,) = ctx.saved_values
        return d_output * y


class LT(ScalarFunction):
    """1.0 if a < b, else 0.0: its derivative is 0 wherever it exists."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        return operators.lt(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        return 0.0, 0.0


class EQ(ScalarFunction):
    """1.0 if a == b, else 0.0: its derivative is 0 wherever it exists."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        return operators.eq(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        return 0.0, 0.0


# Beyond the course


class Sin(ScalarFunction):
    """Sine."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        ctx.save_for_backward(a)
        return math_operators.sin(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (a,) = ctx.saved_values
        return d_output * math_operators.cos(a)


class Cos(ScalarFunction):
    """Cosine."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        ctx.save_for_backward(a)
        return math_operators.cos(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (a,) = ctx.saved_values
        return -d_output * math_operators.sin(a)


class Tanh(ScalarFunction):
    """Hyperbolic tangent."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        y = math_operators.tanh(a)
        ctx.save_for_backward(y)  # d tanh = 1 - y²
        return y

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (y,) = ctx.saved_values
        return d_output * (1.0 - y * y)


class Sqrt(ScalarFunction):
    """Square root; its derivative at 0 is infinite."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        y = math_operators.sqrt(a)
        ctx.save_for_backward(y)  # d sqrt = 1 / 2y
        return y

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (y,) = ctx.saved_values
        return d_output / (2.0 * y) if y else d_output * math.inf


class Abs(ScalarFunction):
    """|a|; its derivative at 0 is taken as 0."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        ctx.save_for_backward(a)
        return math_operators.absolute(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (a,) = ctx.saved_values
        return d_output * ((a > 0) - (a < 0))


class Pow(ScalarFunction):
    """a to the power b.

    Where a < 0, and at 0 to the power 0, the derivative with respect to b does not exist: it is NaN, unless b is a plain number.
    """

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        y = math_operators.power(a, b)
        ctx.save_for_backward(a, b, y)
        return y

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        a, b, y = ctx.saved_values
        if b == 0.0:
            grad_a = 0.0
        elif a == 0.0 and b < 1.0:
            grad_a = math.inf
        else:
            grad_a = b * math_operators.power(a, b - 1.0)
        grad_b = y * math.log(a) if a > 0.0 else 0.0 if a == 0.0 and b > 0.0 else math.nan
        return d_output * grad_a, d_output * grad_b


class Dot(ScalarFunction):
    """Sum of products a_1·b_1 + … + a_n·b_n, called with a_1 … a_n, b_1 … b_n.

    One node of the graph instead of the 2n of `+` and `*`, which makes training with Scalars much faster.
    """

    @staticmethod
    def forward(ctx: Context, *vals: float) -> float:
        n, odd = divmod(len(vals), 2)
        if odd:
            raise ValueError(f"Dot expected as many factors b as a, got {len(vals)} values; call dot(a, b)")
        ctx.save_for_backward(*vals)
        return sum([a * b for a, b in zip(vals[:n], vals[n:])])  # noqa: B905 - equal lengths; strict= is slow

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, ...]:
        vals = ctx.saved_values
        n = len(vals) // 2
        return tuple([d_output * val for val in vals[n:] + vals[:n]])  # the partner is the derivative
