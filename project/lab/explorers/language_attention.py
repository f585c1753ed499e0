"""The student's attention, with NumPy arrays as inputs and outputs, and a check of its results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch.language import attention as student
from minitorch.tensor import Tensor
from project.lab.cards import WrongResult
from project.lab.explorers.language_layers import checked
from project.lab.explorers.network_functions import to_numpy
from project.lab.explorers.tensor_sandbox import apply, make_tensor

PARTS = ("queries", "keys", "values")


def project(tokens: int, heads: int, size: int, seed: int) -> np.ndarray:
    """Return random numbers in the place of a projection, one row for each token."""
    return np.random.default_rng(seed).normal(size=(tokens, 3 * heads * size)).round(1)


def split(projected: np.ndarray, heads: int) -> list[np.ndarray]:
    """Return queries, keys and values of each head, shape (heads, tokens, size).

    Raises:
        WrongResult: If they are not those.
    """
    tokens, width = projected.shape
    call, found = f"split_heads(projected, {heads})", _call(projected, heads)
    expected = projected.reshape(tokens, 3, heads, -1).transpose(1, 2, 0, 3)
    shape = (1, heads, tokens, width // (3 * heads))
    return [
        checked(f"{call}: {name}", to_numpy(part, shape, f"{call}: {name}")[0], right)
        for name, part, right in zip(PARTS, found, expected, strict=True)
    ]


def _call(projected: np.ndarray, heads: int) -> tuple[Any, ...]:
    """Return the three tensors of `split_heads`."""
    found: Any = student.split_heads(make_tensor(projected[None]), heads)
    if not (isinstance(found, tuple) and len(found) == 3 and all(isinstance(part, Tensor) for part in found)):
        raise WrongResult(f"split_heads(projected, {heads}) expected to return queries, keys and values, got {type(found).__name__}")
    return found


def mask(queries: int, keys: int) -> np.ndarray:
    """Return the causal mask.

    Raises:
        WrongResult: If it is wrong.
    """
    call = f"causal_mask({queries}, {keys})"
    found = to_numpy(apply(lambda: student.causal_mask(queries, keys), call), (queries, keys), call)
    return checked(call, found, np.tri(queries, keys, keys - queries)) > 0


def attend(parts: list[np.ndarray], allowed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of each head, and what attention gives.

    Raises:
        WrongResult: If attention is wrong.
    """
    query, key, value = parts
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    powers = np.exp(scores - scores.max(-1, keepdims=True)) * (1 if allowed is None else allowed)
    weights = powers / powers.sum(-1, keepdims=True)
    given = [] if allowed is None else [student.tensor(allowed)]
    call = f"attention(query, key, value{', mask' * len(given)})"
    out = apply(student.attention, call, *map(make_tensor, parts), *given)
    return weights, checked(call, to_numpy(out, value.shape, call), weights @ value)
