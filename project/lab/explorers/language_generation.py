"""The student's probabilities and samples, with a check of both, and the numbers that a cache holds."""

from __future__ import annotations

import math

import numpy as np

from minitorch.language import generation as student
from project.lab.cards import WrongResult
from project.lab.charts import vega
from project.lab.charts.palette import BLUE, ORANGE
from project.lab.charts.vega import Spec
from project.lab.explorers.language_layers import checked

WORDS = ("the", "a", "river", "bank", "money", "fish", "was", "not")
LOGITS = np.array([2.0, 1.6, 1.0, 0.4, 0.1, -0.3, -1.0, -2.0])
"""Some words, and their logits."""


def probabilities(logits: np.ndarray, temperature: float, top_k: int | None, top_p: float | None) -> np.ndarray:
    """Return the probabilities of the next token.

    Raises:
        WrongResult: If they are wrong.
    """
    call = f"next_probabilities(logits, {temperature:g}, {top_k}, {top_p})"
    found = student.next_probabilities(logits.copy(), temperature, top_k, top_p)
    if not isinstance(found, np.ndarray) or found.shape != logits.shape:
        got = getattr(found, "shape", type(found).__name__)
        raise WrongResult(f"{call} expected to return an array of shape {logits.shape}, got {got}")
    return checked(call, found, np.array(defined(logits.tolist(), temperature, top_k, top_p)))


def defined(logits: list[float], temperature: float, top_k: int | None, top_p: float | None) -> list[float]:
    """Return the same by the definition, a token at a time."""
    likely = sorted(range(len(logits)), key=lambda token: (-logits[token], token))[:top_k]
    if not temperature:
        return [float(token == likely[0]) for token in range(len(logits))]
    weights = {token: math.exp((logits[token] - max(logits)) / temperature) for token in likely}
    enough, kept = math.inf if top_p is None else top_p * sum(weights.values()), dict[int, float]()
    for token, weight in weights.items():
        if sum(kept.values()) < enough:
            kept[token] = weight
    return [kept.get(token, 0.0) / sum(kept.values()) for token in range(len(logits))]


def frequencies(chance: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return how often each token is drawn, as a fraction.

    Raises:
        WrongResult: If a sample is not the token at its point.
    """
    drawn = np.zeros(len(chance))
    for point in np.random.default_rng(seed).random(count).tolist():
        found = student.sample_token(chance.copy(), point)
        begins = [(float(chance[:token].sum()), token) for token, width in enumerate(chance) if width > 0]
        expected = max(token for begin, token in begins if begin <= point)
        if isinstance(found, bool) or not isinstance(found, int | np.integer) or found != expected:
            raise WrongResult(f"sample_token(probabilities, {point:.4f}) expected to return {expected}, got {found!r:.60}")
        drawn[expected] += 1
    return drawn / count


def bars(plain: np.ndarray, chance: np.ndarray) -> Spec:
    """Return the probabilities of all words as bars, before and after the settings."""
    names = ("softmax alone", "with the settings")
    rows = [
        {"word": word, "probability": float(value), "of": name}
        for name, values in zip(names, (plain, chance), strict=True)
        for word, value in zip(WORDS, values, strict=True)
    ]
    encoding = {
        "y": {"field": "word", "type": "nominal", "sort": list(WORDS), "title": None, "axis": {"labelFontSize": 13}},
        "yOffset": {"field": "of", "sort": list(names)},
        "x": vega.quantitative("probability", "probability", scale={"domain": [0, 1]}),
        "color": vega.nominal("of", list(names), [BLUE, ORANGE]),
    }
    said = ", ".join(f"{word} {value:.1%}" for word, value in zip(WORDS, chance, strict=True) if value)
    return vega.chart(f"The next token: {said}.", [vega.layer("bar", encoding)], height=28 * len(WORDS), values=rows)
