"""Stage 1 - Scalar: a number that remembers how it was computed."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minitorch.autodiff import LEAF, Context, History, backpropagate, central_difference
from minitorch.scalar_functions import (
    EQ,
    LT,
    Abs,
    Add,
    Cos,
    Dot,
    Exp,
    Inv,
    Log,
    Mul,
    Neg,
    Pow,
    ReLU,
    ScalarBase,
    ScalarFunction,
    Sigmoid,
    Sin,
    Sqrt,
    Tanh,
)

ScalarHistory = History
"""The history of a Scalar: the same class serves tensors."""

NUMBER = (float, int, numbers.Real)
"""The types that count as a number. The last one covers NumPy's scalars; it comes last because its check is slow."""


class Scalar(ScalarBase):
    """A float that records the functions applied to it.

    Scalars behave like Python numbers. Comparisons, including `==`, give a Scalar of 1.0 or 0.0. Sets and dictionaries compare Scalars by
    identity.

    Args:
        v: The value.
        history: How it was computed. Left out: the Scalar is a leaf, which keeps its derivative. None: a constant, which has no derivative.
        name: Name in graphs and messages.

    Attributes:
        data: The value as a float.
        derivative: Sum of the derivatives that reached this leaf; None before the first.

    Raises:
        TypeError: If v is not a number.
    """

    __slots__ = ("_name", "data", "derivative", "history")

    def __init__(self, v: float, history: History | None = LEAF, name: str | None = None) -> None:
        if type(v) is not float:
            if not isinstance(v, NUMBER):
                raise TypeError(f"Scalar expected a number, got {type(v).__name__} {v!r}")
            v = float(v)
        self.data = v
        self.history = history
        self.derivative: float | None = None
        self._name = name

    @property
    def unique_id(self) -> int:
        """A number that no other living Scalar has."""
        return id(self)

    @property
    def name(self) -> str:
        """The given name, else one made from the unique id."""
        return self._name or f"scalar_{self.unique_id:x}"

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"Scalar({self.data:f})"

    # Operators, each one function of scalar_functions

    def __add__(self, b: ScalarLike) -> Scalar:
        return Add.apply(self, b)

    def __mul__(self, b: ScalarLike) -> Scalar:
        return Mul.apply(self, b)

    def __neg__(self) -> Scalar:
        return Neg.apply(self)

    def __sub__(self, b: ScalarLike) -> Scalar:
        return Add.apply(self, Neg.apply(b))

    def __truediv__(self, b: ScalarLike) -> Scalar:
        return Mul.apply(self, Inv.apply(b))

    def __pow__(self, b: ScalarLike) -> Scalar:
        return Pow.apply(self, b)

    def __radd__(self, b: ScalarLike) -> Scalar:
        return Add.apply(b, self)

    def __rmul__(self, b: ScalarLike) -> Scalar:
        return Mul.apply(b, self)

    def __rsub__(self, b: ScalarLike) -> Scalar:
        return Add.apply(b, Neg.apply(self))

    def __rtruediv__(self, b: ScalarLike) -> Scalar:
        return Mul.apply(b, Inv.apply(self))

    def __rpow__(self, b: ScalarLike) -> Scalar:
        return Pow.apply(b, self)

    def __abs__(self) -> Scalar:
        return Abs.apply(self)

    def __lt__(self, b: ScalarLike) -> Scalar:
        return LT.apply(self, b)

    def __gt__(self, b: ScalarLike) -> Scalar:
        return LT.apply(b, self)

    def __eq__(self, b: ScalarLike) -> Scalar:  # type: ignore[override]  # a number that records, not a bool
        return EQ.apply(self, b)

    __hash__ = object.__hash__  # by identity, as backpropagation needs it

    def __bool__(self) -> bool:
        return bool(self.data)

    def log(self) -> Scalar:
        """Natural logarithm, ln(self + EPS)."""
        return Log.apply(self)

    def exp(self) -> Scalar:
        """e^self, the exponential."""
        return Exp.apply(self)

    def sigmoid(self) -> Scalar:
        """1 / (1 + e^-self)."""
        return Sigmoid.apply(self)

    def relu(self) -> Scalar:
        """self where positive, else 0."""
        return ReLU.apply(self)

    def sin(self) -> Scalar:
        """Sine, in radians."""
        return Sin.apply(self)

    def cos(self) -> Scalar:
        """Cosine, in radians."""
        return Cos.apply(self)

    def tanh(self) -> Scalar:
        """Hyperbolic tangent."""
        return Tanh.apply(self)

    def sqrt(self) -> Scalar:
        """Square root."""
        return Sqrt.apply(self)

    # The graph

    def call(self, fn: type[ScalarFunction], vals: Sequence[ScalarLike]) -> Scalar:
        """Call a function on vals and return its value as a Scalar with a history. `ScalarFunction.apply` calls this.

        Raises:
            TypeError: If a value is neither a Scalar nor a number, or the function returns no number.
        """
        inputs, values, is_constant = [], [], True
        for val in vals:
            if type(val) is not Scalar:
                val = as_scalar(fn, val)
                if type(val).call is not Scalar.call:
                    return val.call(fn, vals)  # a subclass with its own `call`, such as Dual
            if val.history is not None:
                is_constant = False
            inputs.append(val)
            values.append(val.data)
        ctx = Context()
        value = fn.forward(ctx, *values)
        if type(value) is not float and not isinstance(value, (float, int)):  # in two steps for speed
            raise TypeError(f"{fn.__name__}.forward expected to return a float, got {value!r}")
        return Scalar(value, None if is_constant else History(fn, ctx, tuple(inputs)))

    def is_leaf(self) -> bool:
        """Whether the user made it, so that it keeps its derivative."""
        return self.history is not None and self.history.last_fn is None

    def is_constant(self) -> bool:
        """Whether it has no derivative."""
        return self.history is None

    def requires_grad_(self, flag: bool = True) -> Scalar:
        """Make it a leaf, which keeps its derivative, or (False) a constant; either way its history is dropped."""
        self.history = LEAF if flag else None
        return self

    @property
    def parents(self) -> Sequence[Scalar]:
        """The inputs of the function that computed it; none for a leaf or a constant."""
        return self.history.inputs if self.history is not None else ()

    def accumulate_derivative(self, x: float) -> None:
        """Add x to the derivative of this leaf.

        Raises:
            RuntimeError: If it is not a leaf.
        """
        if not self.is_leaf():
            raise RuntimeError(
                f"only a leaf keeps its derivative, but {self!r} was computed or is a constant; make a leaf with Scalar(...)"
            )
        self.derivative = x if self.derivative is None else self.derivative + x

    def chain_rule(self, d_output: float) -> Iterable[tuple[Scalar, float]]:
        """Pass the derivative of this Scalar on to the inputs of the function that computed it.

        Args:
            d_output: Derivative of the final output with respect to this Scalar.

        Returns:
            One pair (input, derivative of the final output with respect to it) for every input in order, including constants.

        Raises:
            RuntimeError: If no function computed it.
            ValueError: If the function's backward returns more or fewer derivatives than it has inputs.
        """
        history = self.history
        if history is None or history.last_fn is None:
            raise RuntimeError(f"chain_rule expected a Scalar made by a function, got {self!r}, which has no inputs")
        inputs = history.inputs
        derivatives = history.last_fn._backward(history.ctx, d_output)
        if len(derivatives) != len(inputs):
            name = history.last_fn.__name__
            raise ValueError(f"{name}.backward expected to return {len(inputs)} derivatives, one for each input, got {len(derivatives)}")
        return zip(inputs, derivatives)  # noqa: B905 - equal lengths; strict= is slow

    def backward(self, d_output: float = 1.0) -> None:
        """Compute the derivative of this Scalar with respect to every leaf it was computed from, and add it to the leaf's `derivative`.

        Args:
            d_output: Derivative of the final output with respect to this Scalar, a factor of every result.

        Raises:
            TypeError: If d_output is not a number.
        """
        if not isinstance(d_output, NUMBER):
            raise TypeError(f"backward expected a number, got {type(d_output).__name__} {d_output!r}; call backward() or backward(2.0)")
        backpropagate(self, d_output)


ScalarLike = float | int | Scalar
"""What an operator accepts besides a Scalar."""


def as_scalar(fn: type[ScalarFunction], val: Any) -> Scalar:
    """An input of fn as a Scalar: a number becomes a constant.

    Raises:
        TypeError: If it is neither.
    """
    if isinstance(val, Scalar):
        return val
    if not isinstance(val, NUMBER):
        raise TypeError(f"{fn.__name__} expected Scalars and numbers, got {type(val).__name__} {val!r}")
    return Scalar(float(val), None)


def dot(a: Iterable[ScalarLike], b: Iterable[ScalarLike]) -> Scalar:
    """Sum of products a_1·b_1 + … + a_n·b_n, as one node of the graph.

    Raises:
        ValueError: If a and b differ in length.
    """
    a, b = list(a), list(b)
    if len(a) != len(b):
        raise ValueError(f"dot expected two lists of equal length, got {len(a)} and {len(b)} values")
    return Dot.apply(*a, *b)


def derivative_check(f: Callable[..., Scalar], *scalars: Scalar) -> None:
    """Compare the derivatives of backpropagation with central differences.

    Args:
        f: Function of len(scalars) Scalars.
        scalars: The point, as leaves.

    Raises:
        AssertionError: If one differs by more than 1e-2 + 1e-2 · |central difference|; names the argument and both values.
    """
    f(*scalars).backward()
    for i, x in enumerate(scalars):
        point = ", ".join(str(s.data) for s in scalars)
        expected = central_difference(f, *[Scalar(s.data, None) for s in scalars], arg=i).data
        if x.derivative is None:
            raise AssertionError(f"at ({point}) no derivative reached argument {i}; expected {expected} (central difference)")
        same = x.derivative == expected or (math.isnan(x.derivative) and math.isnan(expected))
        if not same and not math.fabs(x.derivative - expected) <= 1e-2 + 1e-2 * math.fabs(expected):
            raise AssertionError(
                f"at ({point}) backward gave derivative {x.derivative} for argument {i}, expected {expected} (central difference)"
            )
