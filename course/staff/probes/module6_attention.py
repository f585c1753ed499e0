"""Probes of Module 6: attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis.strategies import integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, is_published
from course.staff.probes.module2 import rng
from course.staff.probes.module6_layers import differences
from course.staff.probes.plain import TensorSnapshot
from course.staff.probes.program import Program
from course.staff.probes.tensors import EXACT, numbers, random_strided, seeds, tensor

ATTENTION = "minitorch.language.attention"

CLOSE = 1e-6

SIZES = [(1, 1, 1, 1), (2, 3, 2, 4), (1, 4, 3, 2), (3, 2, 1, 3), (2, 1, 2, 1)]
"""Texts, tokens, heads, and the numbers of a head."""


def attended(parts: Sequence[np.ndarray], mask: np.ndarray) -> np.ndarray:
    """The mean of the values for each query, weighted by the softmax of its scores; zeros without keys."""
    query, key, value = parts
    scores = np.where(mask, query @ np.swapaxes(key, -1, -2) / math.sqrt(query.shape[-1]), -np.inf)
    largest = np.where(mask.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0)
    weights = np.exp(scores - largest)
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ value


@probe(
    "6.3",
    "split_heads returns queries, keys and values of each head",
    weight=2,
    seed=seeds,
    sizes=sampled_from(SIZES),
    examples=[(1, (2, 3, 2, 4))],
)
def splits(p: Program, seed: int, sizes: tuple[int, int, int, int]) -> Check:
    """And their gradients return to the columns."""
    batch, length, heads, size = sizes
    x = rng(seed).permutation(batch * length * 3 * heads * size).reshape(batch, length, -1) + 1.0
    made = tensor(p, x, grad=True)
    parts = p.find(f"{ATTENTION}:split_heads")(made, heads)
    grad_output = numbers((batch, heads, length, size), rng(seed + 1))
    p.find("operator:getitem")(parts, 1).backward(tensor(p, grad_output))
    got, gradient = yield [parts, made.grad]
    expected = x.reshape(batch, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
    if not isinstance(got, tuple) or len(got) != 3:
        raise Wrong("expected a tuple of queries, keys and values")
    for name, found, right in zip(("queries", "keys", "values"), got, expected, strict=True):
        check_equal(found, right, EXACT, of=name)
    columns = np.zeros((batch, length, 3, heads, size))
    columns[:, :, 1] = grad_output.transpose(0, 2, 1, 3)
    check_equal(gradient, columns.reshape(x.shape), EXACT, of="gradient of the keys")


@probe("6.3", "split_heads copies no number", weight=1)
def shares_memory(p: Program) -> Check:
    """A change of the projection is a change of its heads."""
    made = tensor(p, np.zeros((2, 3, 12)))
    parts = p.find(f"{ATTENTION}:split_heads")(made, 2)
    for column, value in ((0, 1.0), (6, 2.0), (11, 3.0)):
        p.find("operator:setitem")(made, (1, 2, column), value)
    (got,) = yield [parts]
    expected = np.zeros((3, 2, 2, 3, 2))
    expected[0, 1, 0, 2, 0], expected[1, 1, 1, 2, 0], expected[2, 1, 1, 2, 1] = 1, 2, 3
    for name, found, right in zip(("queries", "keys", "values"), got, expected, strict=True):
        check_equal(found, right, EXACT, of=f"{name} after the projection has changed")
        if isinstance(found, TensorSnapshot) and not is_published() and found.strides != (36, 2, 12, 1):
            raise Wrong(f"expected {name} with strides (36, 2, 12, 1), got {found.strides}")


@probe(
    "6.3",
    "merge_heads puts the numbers of all heads side by side",
    weight=2,
    seed=seeds,
    sizes=sampled_from(SIZES),
    examples=[(1, (2, 3, 2, 4))],
)
def merges(p: Program, seed: int, sizes: tuple[int, int, int, int]) -> Check:
    """For heads in any layout."""
    batch, length, heads, size = sizes
    x = random_strided((batch, heads, length, size), rng(seed))
    made = tensor(p, x, grad=True)
    out = p.find(f"{ATTENTION}:merge_heads")(made)
    grad_output = numbers((batch, length, heads * size), rng(seed + 1))
    out.backward(tensor(p, grad_output))
    got, gradient = yield [out, made.grad]
    check_equal(got, x.array.transpose(0, 2, 1, 3).reshape(batch, length, heads * size), EXACT)
    check_equal(gradient, grad_output.reshape(batch, length, heads, size).transpose(0, 2, 1, 3), EXACT, of="gradient")


@probe(
    "6.3", "causal_mask allows the query's own key and the earlier ones", weight=2, count=12,
    queries=integers(1, 6), keys=integers(1, 6), examples=[(1, 1), (4, 4), (2, 5), (4, 2)],
)  # fmt: skip
def masks(p: Program, queries: int, keys: int) -> Check:
    """The last query belongs to the last key."""
    (got,) = yield [p.find(f"{ATTENTION}:causal_mask")(queries, keys)]
    check_equal(got, np.tri(queries, keys, keys - queries))
    if isinstance(got, TensorSnapshot) and str(got.array.dtype) != "bool":
        raise Wrong(f"expected a mask of bool, got {got.array.dtype}")


@probe(
    "6.3",
    "attention is the mean of the values, weighted by softmax, and its gradients are those of finite differences",
    weight=4,
    seed=seeds,
    count=12,
)
def attends(p: Program, seed: int) -> Check:
    """For queries in any layout, with a random mask that leaves each query a key, and for other numbers of keys than queries."""
    draw = rng(seed)
    length, keys, size = (int(draw.integers(1, 4)) for _ in range(3))
    query = random_strided((2, length, size), draw)
    key, value = numbers((2, keys, size), draw), numbers((2, keys, 2), draw)
    mask = draw.random((length, keys)) < 0.6
    mask[:, 0] |= ~mask.any(1)
    made = [tensor(p, x, grad=True) for x in (query, key, value)]
    given = [tensor(p, mask)] if seed % 4 else []
    mask = mask if seed % 4 else np.ones_like(mask)
    out = p.find(f"{ATTENTION}:attention")(*made, *given)
    grad_output = numbers((2, length, 2), draw)
    out.backward(tensor(p, grad_output))
    got, *gradients = yield [out, *(each.grad for each in made)]
    arrays = [query.array.copy(), key, value]
    check_equal(got, attended(arrays, mask), CLOSE)
    for place, name in enumerate(("query", "key", "value")):
        slope = differences(lambda x, at=place: attended([*arrays[:at], x, *arrays[at + 1 :]], mask), arrays[place], grad_output)
        check_equal(gradients[place], slope, 1e-4, of=f"gradient of {name}")


@probe("6.3", "a later token never changes an earlier output", weight=2, seed=seeds, count=10)
def is_causal(p: Program, seed: int) -> Check:
    """However large its numbers are."""
    draw = rng(seed)
    length = int(draw.integers(2, 5))
    place = int(draw.integers(1, length))
    before = numbers((1, length, 12), draw)
    after = before.copy()
    after[:, place:] = numbers((1, length - place, 12), draw) * 10.0 ** draw.integers(0, 5)
    split, merge, mask = (p.find(f"{ATTENTION}:{name}") for name in ("split_heads", "merge_heads", "causal_mask"))
    outs = []
    for x in (before, after):
        parts = split(tensor(p, x), 2)
        query, key, value = (p.find("operator:getitem")(parts, at) for at in range(3))
        outs.append(merge(p.find(f"{ATTENTION}:attention")(query, key, value, mask(length, length))))
    for got, x in zip((yield outs), (before, after), strict=True):
        heads = x.reshape(1, length, 3, 2, 2).transpose(2, 0, 3, 1, 4)
        expected = attended(list(heads), np.tri(length, dtype=bool)).transpose(0, 2, 1, 3).reshape(1, length, 4)
        check_equal(got, expected, CLOSE)


@probe("6.3", "a query whose keys are all masked gets zeros, and gives no gradient")
def without_keys(p: Program) -> Check:
    """Neither NaN nor the mean of all values."""
    query, key, value = (numbers((2, 3), rng(seed)) for seed in (1, 2, 3))
    made = [tensor(p, x, grad=True) for x in (query, key, value)]
    out = p.find(f"{ATTENTION}:attention")(*made, tensor(p, np.array([[False, False], [True, False]])))
    out.sum().backward()
    got, *gradients = yield [out, *(each.grad for each in made)]
    check_equal(got, np.array([np.zeros(3), value[0]]), CLOSE)
    for found, name, expected in zip(gradients, ("query", "key", "value"), (0 * query, 0 * key, [[1.0] * 3, [0.0] * 3]), strict=True):
        check_equal(found, np.array(expected), CLOSE, of=f"gradient of {name}")


@probe("6.3", "large scores do not overflow")
def large(p: Program) -> Check:
    """Thousands in both directions, beside masked ones."""
    key = np.array([[4000.0], [0.0], [-4000.0]])
    query, value = np.ones((3, 1)), np.array([[1.0], [2.0], [4.0]])
    mask = np.array([[True, True, True], [False, True, True], [False, False, True]])
    (got,) = yield [p.find(f"{ATTENTION}:attention")(*(tensor(p, x) for x in (query, key, value)), tensor(p, mask))]
    check_equal(got, value, CLOSE)
