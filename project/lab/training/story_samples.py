"""Samples of a model that learns stories: several at once, cut after their last whole sentence, and how right they are."""

from __future__ import annotations

import re

import numpy as np

import minitorch
from minitorch import tensor
from minitorch.data.stories import Stories
from minitorch.data.story_grammar import GrammarScore, grammar_score
from minitorch.language import GPT2, KeyValueCache

VALIDATION = 9
"""There is one story of the validation set for so many to train on, so that they are the last tenth of the text."""

SENTENCE_END = re.compile(r'[.!?]"?(?= [A-Z0-9"])')
"""What ends a sentence that another one follows."""


def stories(count: int) -> str:
    """Return stories as a text, one a line. Those of the validation set, which have no premise in common with the others, come last."""
    return Stories(count).text + Stories(-(-count // VALIDATION), "validation").text


def continue_lines(model: GPT2, beginning: int, count: int, temperature: float, random: np.random.Generator) -> np.ndarray:
    """Sample several texts at the same time, each after the same token, until the context is full.

    Args:
        model: The model, in which no history is recorded.
        beginning: The token that comes before each text.
        count: Number of texts.
        temperature: Temperature of the sampling; 0 for the likeliest token.
        random: The generator that draws.

    Returns:
        The tokens, shape (count, context).
    """
    backend, caches = model.parameters()[0].value.backend, list(map(KeyValueCache, [model.context] * model.layers))
    tokens = np.full((count, 1), beginning)
    with minitorch.no_grad():
        for _ in range(model.context):
            logits = model(tensor(tokens[:, -1:], backend), caches).to_numpy()[:, -1].astype(np.float64)
            noise = random.gumbel(size=logits.shape)  # the largest of logits / temperature + noise is a sample of their softmax
            tokens = np.concatenate([tokens, (logits + temperature * noise).argmax(1)[:, None]], 1)
    return tokens[:, 1:]


def whole_sentences(text: str) -> str:
    """Return the lines of a text; of the last one, which has no end, only the sentences that others follow."""
    *lines, last = text.split("\n")
    ends = [found.end() for found in SENTENCE_END.finditer(last) if last[: found.end()].count('"') % 2 == 0]
    return "\n".join([*lines, last[: ends[-1]] if ends else ""])


def score(texts: list[str]) -> GrammarScore:
    """Measure how right the whole sentences of several texts are, each of which begins a line."""
    return grammar_score("\n".join(map(whole_sentences, texts)))
