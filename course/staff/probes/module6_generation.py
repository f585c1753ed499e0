"""Probes of Module 6: generation."""

from __future__ import annotations

import math

import numpy as np
from hypothesis.strategies import sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, check_raises, number
from course.staff.probes.module2 import rng
from course.staff.probes.module6_model import draw_weights, load, logits, model_shapes
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, numbers, seeds, tensor

CACHE, GENERATION = "minitorch.language.cache", "minitorch.language.generation"

CLOSE = 1e-6


def array(p: Program, x: np.ndarray) -> Value:
    """An array in the child."""
    return p.label(p.find("numpy:array")(x.tolist(), dtype=str(x.dtype)), f"array({x.tolist()})")


def chances(values: np.ndarray, temperature: float, top_k: int | None, top_p: float | None) -> np.ndarray:
    """The probability of each token."""
    order = sorted(range(len(values)), key=lambda i: (-values[i], i))[: 1 if not temperature else top_k]
    weights = {i: math.exp((values[i] - values.max()) / (temperature or 1)) for i in order}
    total, so_far, kept = sum(weights.values()), 0.0, []
    for i in order:
        if top_p is not None and so_far >= top_p:
            break
        kept.append(i)
        so_far += weights[i] / total
    left = sum(weights[i] for i in kept)
    return np.array([weights[i] / left if i in kept else 0.0 for i in range(len(values))])


EXAMPLES = [
    (1, 1.0, None, None),
    (2, 1.0, 2, None),
    (3, 1.0, None, 0.613),
    (4, 1.0, 3, 0.613),
    (5, 0.4, None, 0.613),
    (6, 3.0, None, 0.613),
]


@probe(
    "6.6",
    "next_probabilities are softmax with temperature, top_k and top_p",
    weight=4,
    examples=EXAMPLES,
    seed=seeds,
    temperature=sampled_from([0.0, 0.4, 1.0, 3.0]),
    top_k=sampled_from([None, None, 1, 2, 3, 9]),
    top_p=sampled_from([None, None, 0.137, 0.613, 0.941, 1.0]),
)
def probabilities(p: Program, seed: int, temperature: float, top_k: int | None, top_p: float | None) -> Check:
    """Some logits are equal."""
    draw = rng(seed)
    values = draw.integers(-3, 4, int(draw.integers(1, 7))) / 2.0
    (got,) = yield [p.find(f"{GENERATION}:next_probabilities")(array(p, values), temperature, top_k, top_p)]
    check_equal(got, chances(values, temperature, top_k, top_p), CLOSE)


@probe("6.6", "large logits do not overflow", weight=1)
def large(p: Program) -> Check:
    """Also at a low temperature."""
    get = p.find(f"{GENERATION}:next_probabilities")
    calls = [
        get(array(p, np.array([2000.0, 0.0, 2000.0]))),
        get(array(p, np.array([1.0, 2.0])), 1e-6),
        get(array(p, np.zeros(50)), 1.0, 20),
    ]
    both, cold, many = yield calls
    check_equal(both, np.array([0.5, 0, 0.5]), CLOSE)
    check_equal(cold, np.array([0.0, 1.0]), CLOSE)
    check_equal(many, np.array([0.05] * 20 + [0.0] * 30), CLOSE, of="the first of equal tokens")


@probe("6.6", "a sum of exactly top_p is enough, and probabilities are computed in float64", weight=1)
def exact(p: Program) -> Check:
    """Two of four equal tokens for 0.5; logits of float32."""
    get, single = p.find(f"{GENERATION}:next_probabilities"), np.linspace(-1, 1, 20, dtype=np.float32)
    half, quarter, precise = yield [
        get(array(p, np.zeros(4)), 1.0, None, 0.5),
        get(array(p, np.zeros(4)), 1.0, None, 0.25),
        get(array(p, single)),
    ]
    check_equal(half, np.array([0.5, 0.5, 0, 0]), CLOSE, of="top_p=0.5")
    check_equal(quarter, np.array([1.0, 0, 0, 0]), CLOSE, of="top_p=0.25")
    check_equal(precise, chances(single.astype(np.float64), 1.0, None, None), 1e-11, of="logits of float32")


@probe("6.6", "sample_token returns the token that contains the point", weight=2, seed=seeds)
def samples(p: Program, seed: int) -> Check:
    """A token contains the point where it begins, not where it ends."""
    draw = rng(seed)
    weights = draw.integers(0, 4, int(draw.integers(1, 6)))
    weights[draw.integers(len(weights))] = 2
    total = 2 ** math.ceil(math.log2(weights.sum()))
    weights[np.flatnonzero(weights)[0]] += total - weights.sum()  # so that all sums are exact
    point = int(draw.integers(0, 2 * total)) / (2 * total)
    expected = int(np.flatnonzero(np.cumsum(weights) / total > point)[0])
    (got,) = yield [p.find(f"{GENERATION}:sample_token")(array(p, weights / total), point)]
    check_equal(number(got), float(expected))


@probe("6.6", "sample_token never returns a token with probability 0, in spite of rounding")
def rounds(p: Program) -> Check:
    """The sum of ten tenths is below 1."""
    (got,) = yield [p.find(f"{GENERATION}:sample_token")(array(p, np.array([0.1] * 10 + [0.0])), float(np.nextafter(1, 0)))]
    check_equal(number(got), 9.0)


@probe("6.6", "append returns keys and values of all tokens so far, as views of memory that was taken once", weight=3, seed=seeds, count=8)
def appends(p: Program, seed: int) -> Check:
    """And refuses more than the capacity, without a change."""
    draw = rng(seed)
    sizes = [int(n) for n in draw.integers(1, 4, int(draw.integers(1, 4)))]
    total = sum(sizes)
    key, value = (numbers((1, 2, total, 2), draw) for _ in range(2))
    cache = p.find(f"{CACHE}:KeyValueCache")(total + 1)
    outs, start = [], 0
    for size in sizes:
        outs.append(cache.append(*(tensor(p, np.ascontiguousarray(x[:, :, start : start + size])) for x in (key, value))))
        start += size
    last_keys = p.find("operator:getitem")(outs[-1], 0)
    p.find("operator:setitem")(cache.keys, (0, 0, 0, 0), 50.0)
    found, keys, length, capacity = yield [p.find("builtins:list")(outs), last_keys, cache.length, cache.capacity]
    check_equal(length, total, of="length")
    check_equal(capacity, total + 1, of="capacity")
    end = 0
    changed = key.copy()
    changed[0, 0, 0, 0] = 50.0
    for size, got in zip(sizes, found, strict=True):
        end += size
        if not isinstance(got, tuple) or len(got) != 2:
            raise Wrong("expected a tuple of keys and values")
        check_equal(got[0], changed[:, :, :end], EXACT, of="keys after the memory has changed")
        check_equal(got[1], value[:, :, :end], EXACT, of="values")
    check_equal(keys, changed, EXACT, of="keys after the memory has changed")


@probe("6.6", "a cache refuses more tokens than its capacity", weight=1)
def refuses(p: Program) -> Check:
    """With a ValueError."""
    made = tensor(p, np.ones((1, 1, 3, 1)))
    yield from check_raises(p.find(f"{CACHE}:KeyValueCache")(2).append(made, made), "ValueError")


def text(w: dict[str, np.ndarray], prompt: list[int], count: int) -> list[int]:
    """The most likely text."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(logits(w, np.array([tokens]), 2, 2)[0, -1].argmax()))
    return tokens[len(prompt) :]


@probe("6.6", "at temperature 0, the text is the most likely one", weight=3, seed=seeds, count=5)
def most_likely(p: Program, seed: int) -> Check:
    """Up to a full context and one token more."""
    w = draw_weights(model_shapes(5, 6, 2, 4), seed)
    model = load(p, p.find("minitorch.language.model:GPT2")(5, 6, 2, 2, 4), w)
    prompt = rng(seed).integers(0, 5, 1 + seed % 3).tolist()
    count = 7 - len(prompt)
    (got,) = yield [p.find("builtins:list")(p.find(f"{GENERATION}:generate")(model, prompt, count, 0.0))]
    check_equal([number(token) for token in got], [float(token) for token in text(w, prompt, count)])


@probe("6.6", "the seed determines the text, with one random number for each token", weight=2, seed=seeds, count=4)
def is_seeded(p: Program, seed: int) -> Check:
    """The points are the next numbers of the generator."""
    w = draw_weights(model_shapes(5, 6, 1, 4), seed)
    model = load(p, p.find("minitorch.language.model:GPT2")(5, 6, 1, 2, 4), w)
    p.find("minitorch:manual_seed")(seed)
    made = p.find("builtins:list")(p.find(f"{GENERATION}:generate")(model, [1, 2], 4, 1.5, 4, 0.9))
    (got,) = yield [made]
    draw, tokens = np.random.default_rng(seed), [1, 2]
    for _ in range(4):
        chance = chances(logits(w, np.array([tokens]), 1, 2)[0, -1], 1.5, 4, 0.9)
        tokens.append(int(np.flatnonzero(np.cumsum(chance) > draw.random())[0]))
    check_equal([number(token) for token in got], [float(token) for token in tokens[2:]])
