"""Probes of Module 6: fused attention."""

from __future__ import annotations

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, check_equal
from course.staff.probes.module2 import rng
from course.staff.probes.module3 import COMPILE_SECONDS
from course.staff.probes.module6_attention import attended
from course.staff.probes.module6_generation import array
from course.staff.probes.module6_layers import differences
from course.staff.probes.program import Program
from course.staff.probes.tensors import numbers, random_strided, seeds, tensor

FUSED = "minitorch.language.fused_attention"

CLOSE = 1e-6

CASES = [(1, 1, True, 1), (5, 5, True, 2), (5, 5, True, 8), (2, 6, True, 3), (5, 2, True, 2), (4, 6, False, 4), (6, 5, False, 3)]
"""Queries, keys, whether causal, and the tile."""


def masked(scores: np.ndarray) -> np.ndarray:
    """Weights relative to the largest score of each row, which is finite."""
    return np.exp(scores - scores.max(1, keepdims=True))


@probe("6.5", "add_tile keeps the largest score, the sum of the weights and that of the values", weight=4, seed=seeds, count=12)
def adds_tiles(p: Program, seed: int) -> Check:
    """For several queries, with masked keys, and tiles that are masked completely."""
    draw = rng(seed)
    rows, size, tiles = (int(draw.integers(1, 4)) for _ in range(3))
    scores, values = draw.normal(size=(rows, size * tiles)) * 10.0 ** draw.integers(0, 4), numbers((size * tiles, 2), draw)
    scores[draw.random(scores.shape) < 0.3] = -np.inf
    scores[:, int(draw.integers(size * tiles))] = 0.5
    state = [array(p, x) for x in (np.full(rows, -1e30), np.zeros(rows), np.zeros((rows, 2)))]
    for start in range(0, size * tiles, size):
        tile = [array(p, x) for x in (scores[:, start : start + size], values[start : start + size])]
        p.find(f"{FUSED}:add_tile")(*state, *tile)
    weights = masked(scores)
    for got, right, name in zip(
        (yield state), (scores.max(1), weights.sum(1), weights @ values), ("largest", "total", "output"), strict=True
    ):
        check_equal(got, right, CLOSE, of=name)


@probe("6.5", "add_tile adds nothing for a query without keys, and does not hide NaN", weight=1)
def without_keys(p: Program) -> Check:
    """A query without keys keeps the zeros of the beginning."""
    state = [array(p, x) for x in (np.full(2, -1e30), np.zeros(2), np.zeros((2, 1)))]
    p.find(f"{FUSED}:add_tile")(*state, array(p, np.array([[-np.inf, -np.inf], [np.nan, np.nan]])), array(p, np.ones((2, 1))))
    got = yield state[1:]
    for found, right, name in zip(got, (np.array([0, np.nan]), np.array([[0], [np.nan]])), ("total", "output"), strict=True):
        check_equal(found, right, CLOSE, of=name)


@probe(
    "6.5", "fused_attention is attention for any lengths and tile, and its gradients are those of finite differences",
    weight=5, seed=seeds, count=1, seconds=COMPILE_SECONDS,
)  # fmt: skip
def attends(p: Program, seed: int) -> Check:
    """Causal and not, with queries without keys, in any layout."""
    requests, rights = [], []
    for number, (length, keys, causal, tile) in enumerate(CASES):
        draw = rng(seed + number)
        query = random_strided((2, length, 3), draw)
        key, value, grad_output = numbers((2, keys, 3), draw), numbers((2, keys, 2), draw), numbers((2, length, 2), draw)
        arrays = [query.array.copy(), key, value]
        mask = np.tri(length, keys, keys - length, dtype=bool) if causal else np.ones((length, keys), bool)
        made = [tensor(p, x, grad=True) for x in (query, key, value)]
        out = p.find(f"{FUSED}:fused_attention")(*made, causal, tile)
        out.backward(tensor(p, grad_output))
        requests += [out, *(x.grad for x in made)]
        rights.append((f"attention of {length} queries and {keys} keys", attended(arrays, mask), CLOSE))
        for at, name in enumerate(("query", "key", "value")):
            slope = differences(lambda x, at=at, a=arrays, m=mask: attended([*a[:at], x, *a[at + 1 :]], m), arrays[at], grad_output)
            rights.append((f"gradient of {name} for {length} queries and {keys} keys", slope, 1e-4))
    for got, (name, right, close) in zip((yield requests), rights, strict=True):
        check_equal(got, right, close, of=name)


@probe("6.5", "large scores do not overflow", weight=1, seconds=COMPILE_SECONDS)
def large(p: Program) -> Check:
    """Thousands in both directions, and low ones alone."""
    requests, rights = [], []
    for scores in ([1000.0, 0.0, -1000.0], [-1000.0, -2000.0, -3000.0], [-3000.0, 0.0, 3000.0]):
        parts = (np.ones((1, 1)), np.array(scores)[:, None], np.array([[1.0], [2.0], [4.0]]))
        requests.append(p.find(f"{FUSED}:fused_attention")(*(tensor(p, x) for x in parts), False, 2))
        rights.append(np.array([[[1.0], [2.0], [4.0]][int(np.argmax(scores))]]))
    for got, right in zip((yield requests), rights, strict=True):
        check_equal(got, right, CLOSE)
