"""Tensor functions to play with: their values, the gradients that backward finds, and the differences that these must meet."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import methodcaller
from typing import Any

import numpy as np
import streamlit as st

from minitorch.autodiff import central_difference
from minitorch.core.creation import ones
from minitorch.tensor import Tensor, grad_central_difference
from minitorch.tensor_data import IndexingError
from minitorch.testing import MathTestVariable
from project.lab.cards import WrongResult, explain, plain

TensorFunction = Callable[..., Tensor]

METHODS = ("sigmoid", "relu", "log", "exp", "tanh", "sin", "cos", "sqrt", "abs")
REDUCTIONS = ("sum", "mean", "max", "min", "prod", "var", "std")
OPERATORS: dict[str, TensorFunction] = {
    "x + y": lambda x, y: x + y,
    "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y,
    "x ** y": lambda x, y: x**y,
    "x < y": lambda x, y: x < y,
}
_ONE, _TWO, _REDUCE = MathTestVariable._tests()

ONE: dict[str, TensorFunction] = {f"x.{name}()": methodcaller(name) for name in METHODS}
ONE |= {f"MathTest.{name}(x)": function for name, function in _ONE}
TWO: dict[str, TensorFunction] = OPERATORS | {f"MathTest.{name}(x, y)": function for name, function in _TWO}
REDUCE: dict[str, TensorFunction] = {f"MathTest.{name}(x)": function for name, function in _REDUCE}
"""By how they are written: functions of one tensor, of two, and reductions whose dimension is fixed."""


def drawn(shape: Sequence[int], seed: str) -> np.ndarray:
    """At most 64 different numbers from -3.2 to 3.2 with one decimal, none of them 0; the same for the same seed and shape."""
    numbers = [sign * i / 10 for i in range(1, 33) for sign in (-1, 1)]
    return np.array(random.Random(seed).sample(numbers, math.prod(shape)), dtype=float).reshape(tuple(shape))


def counted(shape: Sequence[int]) -> np.ndarray:
    """The numbers 1, 2, 3 …"""
    return np.arange(1.0, math.prod(shape) + 1).reshape(tuple(shape))


def made(values: np.ndarray, requires_grad: bool = False, name: str | None = None) -> Tensor:
    """A tensor of these numbers."""
    x = Tensor.make(values.reshape(-1).copy(), values.shape).requires_grad_(requires_grad)
    if name:
        x.name = name
    return x


def applied(f: TensorFunction, call: str, *inputs: Tensor) -> Tensor:
    """What the function returns.

    Raises:
        WrongResult: If that is no Tensor.
    """
    out: Any = f(*inputs)
    if not isinstance(out, Tensor):
        forgot = "; is the return missing?" if out is None else ""
        raise WrongResult(f"{call} expected to return a Tensor, got {type(out).__name__}{forgot}")
    return out


def values(f: TensorFunction, call: str, *inputs: np.ndarray) -> np.ndarray:
    """The function of these numbers, in its own shape."""
    return applied(f, call, *map(made, inputs)).to_numpy()


def gradients(f: TensorFunction, call: str, *inputs: np.ndarray, grad_output: np.ndarray | None = None) -> list[np.ndarray]:
    """What backward leaves in every input; zeros where nothing arrived.

    Args:
        f: The function.
        call: How it is written, for messages.
        inputs: Where.
        grad_output: The gradient of its result; ones if left out.

    Raises:
        WrongResult: If a gradient has another shape than its input.
    """
    leaves = [made(value, requires_grad=True) for value in inputs]
    out = applied(f, call, *leaves)
    out.backward(ones(out.shape) if grad_output is None else made(grad_output))
    found = []
    for leaf in leaves:
        gradient: Any = leaf.zeros() if leaf.grad is None else leaf.grad
        if gradient.shape != leaf.shape:
            raise WrongResult(f"backward of {call} expected to leave a gradient of shape {leaf.shape}, got {gradient.shape}")
        found.append(gradient.to_numpy())
    return found


def differences(f: TensorFunction, call: str, *inputs: np.ndarray, arg: int = 0) -> np.ndarray:
    """The central difference of a function that works element by element, at all elements at once."""
    return central_difference(lambda *x: applied(f, call, *x), *map(made, inputs), arg=arg).to_numpy()


def entry_differences(f: TensorFunction, call: str, *inputs: np.ndarray, arg: int = 0, grad_output: np.ndarray | None = None) -> np.ndarray:
    """The central difference of the sum of f · grad_output, by every element of one input."""
    tensors = [made(value) for value in inputs]

    def weighted(*x: Tensor) -> Tensor:
        out = applied(f, call, *x)
        return out if grad_output is None else out * made(grad_output)

    found = [grad_central_difference(weighted, *tensors, arg=arg, ind=index) for index in np.ndindex(inputs[arg].shape)]
    return np.array(found, dtype=float).reshape(inputs[arg].shape)


def largest_gap(gradient: np.ndarray, numeric: np.ndarray) -> tuple[float, tuple[int, ...]]:
    """By how much they differ most, and at which index; 0.0 at () if there is no element where both are finite."""
    with np.errstate(invalid="ignore"):  # inf - inf
        gap = np.abs(gradient - numeric)
    if not np.isfinite(gap).any():
        return 0.0, ()
    index = np.unravel_index(int(np.nanargmax(np.where(np.isfinite(gap), gap, np.nan))), gap.shape)
    return float(gap[index]), tuple(map(int, index))


def sources(function: Any, out: Tensor | None) -> str:
    """The source of a function, and of every Function that made its result, as they stand in the student's files."""
    used: list[Any] = []
    new = [] if out is None else [out]
    while new:
        x = new.pop(0)
        if x.history is not None and x.history.last_fn is not None and x.history.last_fn not in used:
            used.append(x.history.last_fn)
        new += x.parents
    found = []
    for thing in [function, *used[::-1]]:
        with suppress(OSError, TypeError):  # no source: an operator, or what was not read from a file
            found.append(inspect.cleandoc("\n" + inspect.getsource(thing)))
    return "\n\n\n".join(found)


@contextmanager
def shapes_guard() -> Iterator[None]:
    """Show the message of an operation that does not fit the shapes, and end the page; other errors pass through."""
    try:
        yield
    except (IndexingError, ValueError) as error:
        if isinstance(error, ValueError) and "shape" not in str(error) and "dimension" not in str(error):
            raise  # such as "math domain error"
        card = explain(error)
        st.warning(f"**This does not fit.** {plain(str(error))}", icon=":material/straighten:")
        st.caption("The message is that of the library, where it was raised. Choose another shape or dimension.")
        if card is not None:
            with st.expander("Where it was raised"):
                st.markdown(card.body)
        st.stop()
