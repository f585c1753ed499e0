"""Task 6.6: a cache, the probabilities of the next token, samples, and texts, compared with their definitions, token by token."""

from __future__ import annotations

import copy
import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference
from course.oracles.parts import ORACLE, Part, compare_parts, compare_result, refusal
from course.oracles.tensors import array

CACHE = "minitorch.language.cache:KeyValueCache.append"
GENERATION = "minitorch.language.generation"

# The cache


def cached(call: Call) -> tuple[int, list[Any], list[Any]]:
    """The length of a cache, copies of its earlier keys and values, and its tensors."""
    cache = call.arguments[0]
    tensors = [cache.keys, cache.values]
    return cache.length, [None if tensor is None else array(tensor)[:, :, : cache.length].copy() for tensor in tensors], tensors


def appended(call: Call) -> Difference | None:
    """Compare the keys and values that a cache returns, its length, and its memory."""
    cache, *new = call.before
    length, earlier, memory = call.start
    count, unchanged = new[0].shape[2], [("the length of the cache", length, cache.length)]
    if length + count > cache.capacity:
        return refusal(call, "a ValueError", f"{count} tokens after {length} are more than {cache.capacity}", unchanged)
    words = "the keys and the values of all tokens so far, as views of the memory of the cache"
    return compare_result(call, words, _cache_parts(call, earlier, memory, length + count))


def _cache_parts(call: Call, earlier: list[Any], memory: list[Any], length: int) -> Iterator[Part]:
    cache, *new = call.before
    yield "the number of results", 2, len(call.result)
    tensors = list(zip(("keys", "values"), new, earlier, memory, (cache.keys, cache.values), call.result, strict=True))
    for name, given, before, _, _, result in tensors:
        yield f"the {name} that it returns", np.concatenate([given.array[:, :, :0] if before is None else before, given.array], 2), result
    yield "the length of the cache", length, cache.length
    for name, given, before, old, tensor, result in tensors:
        shape = (*given.shape[:2], cache.capacity, given.shape[3])
        yield f"the shape of the memory of {name}", shape, tuple(tensor.shape)
        yield f"the dtype of the memory of {name}", given.storage.dtype.name, array(tensor).dtype.name
        yield f"whether the {name} that it returns are a view of the memory", True, np.shares_memory(array(result), array(tensor))
        yield f"whether the memory of {name} is that of the first call", True, before is None or np.shares_memory(array(old), array(tensor))
    yield "whether keys and values share their memory", False, np.shares_memory(array(cache.keys), array(cache.values))


# Probabilities


def probabilities(call: Call) -> Difference | None:
    """Compare the probabilities of the next token."""
    logits, temperature, top_k, top_p = call.before
    is_valid = np.isfinite(logits).all() and temperature >= 0 and (top_k is None or top_k >= 1) and (top_p is None or 0 < top_p <= 1)
    if not is_valid:
        return refusal(call, "a ValueError", f"the settings {temperature}, {top_k} and {top_p} or the logits are out of range")
    expected = next_probabilities(logits.tolist(), temperature, top_k, top_p)
    words = "softmax(logits / temperature) of the tokens kept by top_k and then by top_p, divided by their sum; 0 for the others"

    def parts() -> Iterator[Part]:
        yield "the number of probabilities", len(expected), len(call.result)
        for number, (chance, found) in enumerate(zip(expected, call.result.tolist(), strict=True)):
            yield f"the probability of token {number}", chance, found
        yield "the dtype of the result", "float64", call.result.dtype.name
        yield "the logits, which must not change", logits, call.arguments[0]

    return compare_result(call, words, parts())


def next_probabilities(logits: Sequence[float], temperature: float, top_k: int | None, top_p: float | None) -> list[float]:
    """The probabilities, with sums that are exact to rounding.

    Raises:
        ArithmeticError: If the sum of the first tokens is so close to top_p that rounding decides.
    """
    ranks = sorted((-logit, number) for number, logit in enumerate(logits))[: top_k if temperature else 1]
    kept = {number: math.exp((-negative + ranks[0][0]) / (temperature or 1)) for negative, number in ranks}
    total = math.fsum(kept.values())
    shares = {number: share / total for number, share in kept.items()}
    if top_p is not None:
        before = [math.fsum(list(shares.values())[:place]) for place in range(len(shares))]
        if any(0 < abs(so_far - top_p) < 1e-12 for so_far in before):
            raise ArithmeticError
        kept = {number: share for (number, share), so_far in zip(kept.items(), before, strict=True) if so_far < top_p}
    return [kept.get(number, 0.0) / math.fsum(kept.values()) for number in range(len(logits))]


def sample(call: Call) -> Difference | None:
    """Compare the token at a point."""
    chances, point = call.before
    expected = token_at(chances.tolist(), point)
    if token_at([Fraction(chance) for chance in chances.tolist()], Fraction(point)) == call.result:
        expected = call.result  # here rounding decides

    def parts() -> Iterator[Part]:
        yield "the result", expected, int(call.result)
        yield "the type of the result", "int", type(call.result).__name__

    return compare_result(call, "the token that contains the point, if they lie side by side, each as wide as its probability", parts())


def token_at(chances: Sequence[Any], point: Any) -> int:
    """The token at a point; at the latest the last one with a probability above 0."""
    last = max(number for number, chance in enumerate(chances) if chance > 0)
    return min(bisect_right(list(accumulate(chances)), point), last)


# Texts


def random_state(call: Call) -> Any:
    """A copy of the generator of random numbers at the beginning of a text."""
    return copy.deepcopy(sys.modules["minitorch.tensor"].generator)


def text(call: Call) -> Difference | None:
    """Compare the tokens that were generated with those of a model that reads the whole text for each of them."""
    words = "an iterator, which yields each token as soon as it is chosen from what the model predicts after all tokens so far"
    if not call.is_generator:
        rows = (("It should be", words), ("Yours", type(call.result).__name__))
        return None if hasattr(call.result, "__next__") else Difference("the type of the result", rows, ORACLE)
    model, tokens, _, temperature, top_k, top_p = call.before
    found = [token for token in call.inside if token is not None]  # None is the end

    def parts() -> Iterator[Part]:
        so_far = list(tokens)
        for number, token in enumerate(found):
            chances = next_probabilities(_last_logits(model, so_far), temperature, top_k, top_p)
            yield f"new token {number}", token_at(chances, call.start.random()), token
            so_far.append(token)

    return compare_parts(call, words, parts(), "the model without a cache, which reads the whole text for each token")


def _last_logits(model: Any, tokens: list[int]) -> list[float]:
    """The logits after a text."""
    with sys.modules["minitorch.core.context"].no_grad():
        parameter, *_ = model.parameters()
        logits = model(sys.modules["minitorch.tensor"].tensor(np.array([tokens]), parameter.value.backend), None)
    return array(logits)[0, -1].tolist()


JUDGES: dict[str, Judge] = {
    CACHE: appended,
    f"{GENERATION}:next_probabilities": probabilities,
    f"{GENERATION}:sample_token": sample,
    f"{GENERATION}:generate": text,
}

PREPARE: dict[str, Callable[[Call], Any]] = {CACHE: cached, f"{GENERATION}:generate": random_state}
"""What is read at the beginning of a call."""

LATER = (f"{GENERATION}:generate",)
"""Compared after the test, because that calls models of the test again."""

GENERATORS = LATER
"""Functions that yield: what they yielded is compared."""
