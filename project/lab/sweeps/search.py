"""What a sweep tries: settings from a grid or at random, and how long each is trained. Everything follows from the request."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from itertools import product

Value = int | float | str
Values = dict[str, Value]

MOST_TRIALS = 10_000
"""Number of settings that a sweep may try; more are probably a mistake."""

SEARCHES = ("grid", "random", "halving")

_NAME = re.compile(r"[A-Za-z][\w-]*")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})")


@dataclass(frozen=True)
class Range:
    """Numbers from which a random search draws.

    Attributes:
        low: The smallest number.
        high: The largest; greater than `low`. Both are integers, or both are floats.
    """

    low: int | float
    high: int | float

    @property
    def logarithmic(self) -> bool:
        """Whether numbers are drawn uniformly on a logarithmic scale: the ends are positive and differ by a factor of 10 or more."""
        return self.low > 0 and self.high >= 10 * self.low

    def at(self, u: float) -> int | float:
        """Return the number at a position of the range.

        Args:
            u: The position, from 0 to 1 (exclusive).

        Returns:
            An integer if the ends are integers, each with its share of the positions; otherwise a float with four significant digits.
        """
        low, high = self.low, self.high
        if isinstance(low, int):
            end = high + 1  # so that the largest integer has a share, too
            return min(int(low * (end / low) ** u) if self.logarithmic else low + int(u * (end - low)), high)
        value = math.exp(math.log(low) + u * math.log(high / low)) if self.logarithmic else low + u * (high - low)
        return min(max(float(f"{value:.4g}"), low), high)


Choices = list[Value] | Range


def parse_number(text: str) -> Value:
    """Return an integer, a finite float, or the text itself."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if math.isfinite(value) else text
    return text


def parse_vary(text: str) -> tuple[str, Choices]:
    """Parse what to try for one option.

    Args:
        text: "rate=0.1,0.5" for a list of values, "rate=0.01..1" for a range of numbers. With a semicolon, semicolons separate the values,
            which may then contain commas: "layers=4,3;8".

    Returns:
        The name of the option, with underscores, and the values.

    Raises:
        ValueError: If it has another form; the message is one line.
    """
    name, values = _split(text, "--vary", "NAME=VALUES, such as rate=0.1,0.5 or rate=0.01..1")
    if ends := _RANGE.fullmatch(values):
        low, high = (parse_number(end) for end in ends.groups())
        if not isinstance(low, int | float) or not isinstance(high, int | float) or not low < high:
            raise ValueError(f"--vary expected a range from a smaller to a larger number, got {text!r}")
        both_integers = isinstance(low, int) and isinstance(high, int)
        return name, Range(low, high) if both_integers else Range(float(low), float(high))
    parts = [part.strip() for part in values.split(";" if ";" in values else ",")]
    if not all(parts):
        raise ValueError(f"--vary expected a value between all separators, got {text!r}")
    return name, list(dict.fromkeys(map(parse_number, parts)))


def parse_set(text: str) -> tuple[str, Value]:
    """Parse the value of an option that is the same in all trials, "dataset=Xor".

    Raises:
        ValueError: If it has another form; the message is one line.
    """
    name, value = _split(text, "--set", "NAME=VALUE, such as dataset=Xor")
    return name, parse_number(value)


def _split(text: str, option: str, expected: str) -> tuple[str, str]:
    """Split at the first equals sign; the name gets underscores."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value or not _NAME.fullmatch(name):
        raise ValueError(f"{option} expected {expected}, got {text!r}")
    return name.replace("-", "_"), value


def grid(vary: dict[str, Choices]) -> list[Values]:
    """Return every combination of the values; the last option changes fastest.

    Raises:
        ValueError: If an option has a range, or if there are too many combinations.
    """
    for name, choices in vary.items():
        if isinstance(choices, Range):
            raise ValueError(
                f"--search grid expected a list of values of {name}, got the range {choices.low}..{choices.high}; "
                f"list its values, or use --search random"
            )
    count = math.prod(len(choices) for choices in vary.values() if not isinstance(choices, Range))
    if count > MOST_TRIALS:
        raise ValueError(f"--search grid expected at most {MOST_TRIALS} combinations, got {count}; use --search random")
    return [dict(zip(vary, values, strict=True)) for values in product(*vary.values())]  # type: ignore[arg-type]


def draw(vary: dict[str, Choices], trials: int, seed: int) -> list[Values]:
    """Return different settings, drawn at random; fewer than `trials` if there do not seem to be so many.

    Args:
        vary: The values or the range of each option. Every value of a list is equally likely.
        trials: Number of settings.
        seed: The same seed gives the same settings. A larger number of trials begins with the same ones.
    """
    uniform = random.Random(seed).random  # its numbers are the same in every version of Python; those of choice() and randint() are not

    def one(choices: Choices) -> Value:
        return choices.at(uniform()) if isinstance(choices, Range) else choices[int(uniform() * len(choices))]

    different: dict[tuple[tuple[str, Value], ...], None] = {}
    for _ in range(100 * trials):
        if len(different) == trials:
            break
        different[tuple((name, one(choices)) for name, choices in vary.items())] = None
    return [dict(values) for values in different]


@dataclass(frozen=True)
class Rung:
    """A part of a sweep whose trials are trained equally long.

    Attributes:
        trials: Number of trials: the best of the rung before.
        epochs: Epochs of each; None for the program's default.
    """

    trials: int
    epochs: int | None


def halving(trials: int, epochs: int, eta: int) -> list[Rung]:
    """Return the rungs of successive halving: each has 1/eta of the trials of the one before and trains them eta times as long.

    Every trial begins from scratch, so that the result of the last rung is what its command line repeats.

    Args:
        trials: Number of trials of the first rung.
        epochs: Epochs of the last rung.
        eta: The factor, at least 2.

    Raises:
        ValueError: If the first rung would train less than one epoch.

    Source: Jamieson and Talwalkar 2016, arXiv:1502.07943, figure 3, with eta instead of 2.
    """
    last = max(number for number in range(trials.bit_length() + 1) if eta**number <= trials)
    if epochs < eta**last:
        raise ValueError(
            f"--epochs expected at least {eta**last}, so that the first of {last + 1} rungs trains one epoch, got {epochs}; "
            f"train longer, or choose fewer --trials"
        )
    return [Rung(trials // eta**number, epochs // eta ** (last - number)) for number in range(last + 1)]
