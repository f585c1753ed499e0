"""Tensor functions: their values, the gradients that `backward` computes, and central differences to check them."""

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
from minitorch.core.gradients import grad_central_difference
from minitorch.tensor import Tensor
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
"""By expression: functions of one tensor, of two tensors, and reductions over a fixed dimension."""


def random_values(shape: Sequence[int], seed: str) -> np.ndarray:
    """Return at most 64 distinct nonzero numbers from -3.2 to 3.2 with one decimal, determined by the seed and the shape."""
    numbers = [sign * i / 10 for i in range(1, 33) for sign in (-1, 1)]
    return np.array(random.Random(seed).sample(numbers, math.prod(shape)), dtype=float).reshape(tuple(shape))


def count_up(shape: Sequence[int]) -> np.ndarray:
    """Return the numbers 1, 2, 3 … in a shape."""
    return np.arange(1.0, math.prod(shape) + 1).reshape(tuple(shape))


def make_tensor(values: np.ndarray, requires_grad: bool = False, name: str | None = None) -> Tensor:
    """Return a tensor of these values."""
    x = Tensor.make(values.reshape(-1).copy(), values.shape).requires_grad_(requires_grad)
    if name:
        x.name = name
    return x


def apply(f: TensorFunction, call: str, *inputs: Tensor) -> Tensor:
    """Return the result of a function.

    Raises:
        WrongResult: If the result is not a Tensor.
    """
    out: Any = f(*inputs)
    if not isinstance(out, Tensor):
        forgot = "; is the return missing?" if out is None else ""
        raise WrongResult(f"{call} expected to return a Tensor, got {type(out).__name__}{forgot}")
    return out


def values(f: TensorFunction, call: str, *inputs: np.ndarray) -> np.ndarray:
    """Return the values of a function, in the shape of its result."""
    return apply(f, call, *map(make_tensor, inputs)).to_numpy()


def gradients(f: TensorFunction, call: str, *inputs: np.ndarray, grad_output: np.ndarray | None = None) -> list[np.ndarray]:
    """Return the gradient of every input after `backward`; zeros if an input receives none.

    Args:
        f: The function.
        call: The expression, for messages.
        inputs: The inputs of the function.
        grad_output: The gradient of the result; ones by default.

    Raises:
        WrongResult: If a gradient does not have the shape of its input.
    """
    leaves = [make_tensor(value, requires_grad=True) for value in inputs]
    out = apply(f, call, *leaves)
    out.backward(ones(out.shape) if grad_output is None else make_tensor(grad_output))
    found = []
    for leaf in leaves:
        gradient: Any = leaf.zeros() if leaf.grad is None else leaf.grad
        if gradient.shape != leaf.shape:
            raise WrongResult(f"the backward pass of {call} expected to compute a gradient of shape {leaf.shape}, got {gradient.shape}")
        found.append(gradient.to_numpy())
    return found


def differences(f: TensorFunction, call: str, *inputs: np.ndarray, arg: int = 0) -> np.ndarray:
    """Return the central differences of an elementwise function, for all elements at once.

    Raises:
        WrongResult: If they do not have the shape of the input.
    """
    found = central_difference(lambda *x: apply(f, call, *x), *map(make_tensor, inputs), arg=arg)
    if found.shape != inputs[arg].shape:
        raise WrongResult(f"central_difference expected to compute a result of shape {inputs[arg].shape} for {call}, got {found.shape}")
    return found.to_numpy()


def entry_differences(f: TensorFunction, call: str, *inputs: np.ndarray, arg: int = 0, grad_output: np.ndarray | None = None) -> np.ndarray:
    """Return the central differences of sum(f · grad_output) with respect to every element of one input."""
    tensors = [make_tensor(value) for value in inputs]

    def weighted(*x: Tensor) -> Tensor:
        out = apply(f, call, *x)
        return out if grad_output is None else out * make_tensor(grad_output)

    found = [grad_central_difference(weighted, *tensors, arg=arg, ind=index) for index in np.ndindex(inputs[arg].shape)]
    return np.array(found, dtype=float).reshape(inputs[arg].shape)


def largest_gap(gradient: np.ndarray, numeric: np.ndarray) -> tuple[float, tuple[int, ...]]:
    """Return the largest difference and its index; 0.0 and () if both are finite nowhere."""
    with np.errstate(invalid="ignore"):  # inf - inf
        gap = np.abs(gradient - numeric)
    if not np.isfinite(gap).any():
        return 0.0, ()
    index = np.unravel_index(int(np.nanargmax(np.where(np.isfinite(gap), gap, np.nan))), gap.shape)
    return float(gap[index]), tuple(map(int, index))


def sources(function: Any, out: Tensor | None) -> str:
    """Return the source code of a function and of every Function in the graph of its result."""
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
    """Show the message of an error about shapes and end the page. Other errors propagate."""
    try:
        yield
    except (IndexingError, ValueError) as error:
        if isinstance(error, ValueError) and "shape" not in str(error) and "dimension" not in str(error):
            raise  # such as "math domain error"
        card = explain(error)
        st.warning(f"**The shapes are incompatible.** {plain(str(error))}", icon=":material/straighten:")
        st.caption("This is the error message of your library. Choose another shape or dimension.")
        if card is not None:
            with st.expander("Where the error was raised"):
                st.markdown(card.body)
        st.stop()
