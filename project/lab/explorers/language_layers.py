"""The student's functions of a language model, with NumPy arrays as inputs and outputs, and a check of their results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.language import functions
from minitorch.tensor import tensor
from project.lab.cards import WrongResult
from project.lab.explorers.network_functions import complaint, gradient, to_numpy
from project.lab.explorers.tensor_sandbox import apply, make_tensor

EPS = 1e-5


def checked(call: str, found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return a result.

    Raises:
        WrongResult: If it is not the expected one.
    """
    if wrong := complaint(call, found, expected):
        raise WrongResult(wrong)
    return found


def normalize(row: np.ndarray, grad_output: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a normalized row and the gradient of the row.

    Raises:
        WrongResult: If one of them is wrong.
    """
    call, x = f"Normalize.apply(row, {EPS:g})", make_tensor(row[None], requires_grad=True)
    out = apply(lambda x: functions.Normalize.apply(x, EPS), call, x)
    found = checked(call, to_numpy(out, (1, len(row)), call)[0], normalized(row))
    factor = 1 / math.sqrt(row.var() + EPS)
    slope = factor * (grad_output - grad_output.mean() - found * (grad_output * found).mean())
    return found, checked(f"the backward pass of {call}", gradient(out, x, grad_output[None], call)[0], slope)


def normalized(row: np.ndarray) -> np.ndarray:
    """Return a row with mean 0 and variance 1."""
    return (row - row.mean()) / np.sqrt(row.var() + EPS)


def gelu(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return GELU and its derivative at each point.

    Raises:
        WrongResult: If one of them is wrong.
    """
    x = make_tensor(points, requires_grad=True)
    out = apply(functions.gelu, "gelu(x)", x)
    inner = math.sqrt(2 / math.pi) * (points + 0.044715 * points**3)
    found = checked("gelu(x)", to_numpy(out, points.shape, "gelu(x)"), points * (1 + np.tanh(inner)) / 2)
    slope = (1 + np.tanh(inner)) / 2 + points / 2 / np.cosh(inner) ** 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * points**2)
    return found, checked("the backward pass of gelu(x)", gradient(out, x, np.ones(points.shape), "gelu(x)"), slope)


def embed(tokens: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a table, and the gradient of the table if that of every row is 1.

    Raises:
        WrongResult: If one of them is wrong.
    """
    call, weight = "embedding(tokens, table)", make_tensor(table, requires_grad=True)
    look_up: Callable[[Any], Any] = lambda weight: functions.embedding(tensor(tokens, weight.backend), weight)  # noqa: E731
    out = apply(look_up, call, weight)
    shape = (len(tokens), table.shape[1])
    found = checked(call, to_numpy(out, shape, call), table[tokens])
    counts = np.bincount(tokens, minlength=len(table))[:, None] * np.ones(table.shape)
    return found, checked(f"the backward pass of {call}", gradient(out, weight, np.ones(shape), call), counts)
