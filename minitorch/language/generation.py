"""Stage 6 - Generation: from logits to probabilities, from probabilities to a token, and a text token by token with a cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minitorch.core.context import no_grad
from minitorch.language.cache import KeyValueCache
from minitorch.tensor import generator, tensor


def next_probabilities(logits: np.ndarray, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> np.ndarray:
    """Return the probability with which each token comes next: softmax(logits / temperature) of the tokens that are kept, 0 for others.

    The tokens are in order of probability, equal ones in order of their numbers. Only the top_k first of them are kept, and divided by
    their sum. Of these, only the fewest first ones are kept whose sum is at least top_p, and again divided by their sum.

    Args:
        logits: Shape (V,).
        temperature: Above 1 for more even probabilities, below 1 for less; at 0, the first token in the order has the probability 1.
        top_k: The number of tokens to keep, at least 1; None for all.
        top_p: The probability to keep, above 0 and up to 1; None for all. The first token is always kept.

    Returns:
        Shape (V,), float64; they sum to 1.

    Raises:
        ValueError: If a setting is out of range, or a logit is not finite; `_check_settings` says so.

    Source: Holtzman et al. 2019, arXiv:1904.09751, section 3.1, for top_p.
    """
    _check_settings(logits, temperature, top_k, top_p)
    logits = logits.astype(np.float64)
    order = np.argsort(-logits, kind="stable")
    if not temperature:
        top_k, temperature = 1, 1.0
    order = order[:top_k]
    powers = np.exp((logits[order] - logits[order[0]]) / temperature)
    kept = powers / powers.sum()
    if top_p is not None:
        before = np.cumsum(kept) - kept  # the sum of the tokens before each
        kept = np.where(before < top_p, kept, 0)
        kept = kept / kept.sum()
    probabilities = np.zeros(len(logits))
    probabilities[order] = kept
    return probabilities


def sample_token(probabilities: np.ndarray, point: float) -> int:
    """Return the token at a point: the tokens lie side by side from 0 to 1, each as wide as its probability.

    A token that begins at the point contains it; the one that ends there does not. So a token with probability 0 is never returned, even if
    the sum of the probabilities is below the point because of rounding: then it is the last one with a probability above 0.

    Args:
        probabilities: Shape (V,).
        point: At least 0, below 1.
    """
    ends = np.cumsum(probabilities)
    last = int(np.flatnonzero(probabilities)[-1])
    return min(int(np.searchsorted(ends, point, side="right")), last)


def generate(
    model: Any, tokens: Sequence[int], count: int, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Iterator[int]:
    """Continue a text: yield each new token as soon as it is chosen.

    The model reads the prompt once, and then each new token alone, without recording gradients, with a `KeyValueCache` for each block,
    whose capacity is the context. The last new token is not read. For each token, one number from `generator.random()` is the point of
    `sample_token`, so that `manual_seed` determines the text.

    Args:
        model: A `GPT2`, or another function of tokens of shape (1, T) and caches, with `context` and `layers`; it returns logits of shape
            (1, T, V). Tokens must be on the backend of its parameters, `model.parameters()[0].value.backend`.
        tokens: The prompt, at least one token.
        count: The number of new tokens, 0 or more.
        temperature: See `next_probabilities`.
        top_k: See `next_probabilities`.
        top_p: See `next_probabilities`.

    Raises:
        ValueError: If the prompt is empty, or the text does not fit into the context; `_check_text` says so.
    """
    _check_text(tokens, count, model.context)
    backend = model.parameters()[0].value.backend
    caches = [KeyValueCache(model.context) for _ in range(model.layers)]
    new = list(tokens)
    for _ in range(count):
        with no_grad():
            logits = model(tensor(np.array([new]), backend), caches)
        probabilities = next_probabilities(logits[0, -1].to_numpy(), temperature, top_k, top_p)
        new = [sample_token(probabilities, generator.random())]
        yield new[0]


# Checks


def _check_settings(logits: np.ndarray, temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Check the arguments of `next_probabilities`."""
    if not np.isfinite(logits).all():
        raise ValueError("next_probabilities expected finite logits, got infinite or NaN; train again with a smaller learning rate")
    if not temperature >= 0:  # also refuses NaN
        raise ValueError(f"next_probabilities expected a temperature of at least 0, got {temperature}; try 1")
    if top_k is not None and top_k < 1:
        raise ValueError(f"next_probabilities expected top_k of at least 1, got {top_k}; pass None to keep all tokens")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"next_probabilities expected top_p above 0 and up to 1, got {top_p}; pass None to keep all tokens")


def _check_text(tokens: Sequence[int], count: int, context: int) -> None:
    """Check the prompt of `generate` and the number of new tokens; the last one is not read."""
    if not len(tokens) or count < 0:
        raise ValueError(f"generate expected a prompt and a count of at least 0, got {len(tokens)} tokens and {count}; begin with a token")
    if len(tokens) + count - 1 > context:
        raise ValueError(f"generate expected a text that fits into {context} tokens, got {len(tokens)} and {count} new ones; ask for fewer")
