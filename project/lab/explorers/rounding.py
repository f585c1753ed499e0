"""Rounding to floating-point formats: the nearest number to a decimal number, and what rounding does to sums."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from minitorch import tensor
from project.lab.charts import plots, vega
from project.lab.charts.palette import BLUE, GRAY, ORANGE
from project.lab.charts.vega import Spec
from project.lab.explorers import formats
from project.lab.typed.source import Refused

DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
MOST_CHARACTERS, LARGEST_EXPONENT = 60, 400


class Rounding(NamedTuple):
    """The rounding of a number to a format: to the nearest number, and of two that are equally near, to the even one.

    Attributes:
        nearest: Bits of the result.
        lower: Bits of the largest number that is not above the given one.
        upper: Bits of the next number.
        middle: The middle between both. For rounding, infinity counts as the number that would follow the largest one.
        position: Where the given number is between both: 0 at the lower, 1 at the upper one.
    """

    nearest: int
    lower: int
    upper: int
    middle: Fraction
    position: Fraction


def read_decimal(text: str) -> Fraction:
    """Parse a decimal number, exactly.

    Raises:
        Refused: If it is not a decimal number, is too long, or has an exponent beyond all formats.
    """
    typed = text.strip()
    if len(typed) > MOST_CHARACTERS or not DECIMAL.fullmatch(typed):
        raise Refused(f"expected a decimal number of at most {MOST_CHARACTERS} characters, got {text!r:.70}")
    found = Decimal(typed)
    if found and abs(found.adjusted()) > LARGEST_EXPONENT:
        raise Refused(f"expected 0 or a number of a size from 1e-{LARGEST_EXPONENT} to 1e{LARGEST_EXPONENT}, got {text!r:.70}")
    return Fraction(found)


def nearest(x: Fraction, dtype: str) -> int:
    """Return the bits of the nearest number of a format, ties to even.

    The library rounds a Python number, which is a float64. So that rounding twice gives the same result as rounding once, the first
    rounding is to odd: of the two float64 neighbors, it takes the one whose last bit is 1.
    """
    try:
        near = float(x)
    except OverflowError:
        near = math.inf if x > 0 else -math.inf
    if dtype != "float64" and near != x and not int(np.float64(near).view(np.uint64)) & 1:
        near = math.nextafter(near, -math.inf if near > x else math.inf)
    return formats.pattern_of(tensor([near], dtype=dtype))


def rounding(x: Fraction, dtype: str) -> Rounding:
    """Return the rounding of a number to a format."""
    found = nearest(x, dtype)
    lower = found if formats.value(found, dtype) <= x else formats.neighbors(found, dtype)[0]
    assert lower is not None  # nothing rounds to -∞ from below
    upper = formats.neighbors(lower, dtype)[1]
    assert upper is not None
    low, high = _on_the_grid(lower, dtype), _on_the_grid(upper, dtype)
    return Rounding(found, lower, upper, (low + high) / 2, (x - low) / (high - low))


def _on_the_grid(pattern: int, dtype: str) -> Fraction:
    """Return a number, with infinity as the number that would follow the largest one."""
    x = formats.value(pattern, dtype)
    return Fraction(x) if math.isfinite(x) else int(math.copysign(1, x)) * Fraction(2) ** (formats.bias(dtype) + 1)


def rounding_rows(x: Fraction) -> list[dict[str, str]]:
    """Return a row for every format: the nearest number and the rounding error."""
    rows = []
    for dtype in formats.available():
        found = rounding(x, dtype)
        near = formats.value(found.nearest, dtype)
        error = Fraction(near) - x if math.isfinite(near) else None
        of_gap = found.position if found.nearest == found.lower else 1 - found.position
        rows.append(
            {
                "format": dtype,
                "nearest number": formats.decimal(near, 20),
                "bits": formats.write_bits(found.nearest, dtype),
                "error": "∞" if error is None else f"{formats.as_decimal(error):.3g}",
                "error / gap": "" if error is None else f"{float(of_gap):.3f}",
            }
        )
    return rows


def rounding_in_words(x: Fraction, dtype: str) -> str:
    """Describe a rounding: both neighbors, the middle and the result."""
    found = rounding(x, dtype)
    low, high, near = (formats.decimal(formats.value(each, dtype), 40) for each in (found.lower, found.upper, found.nearest))
    typed = formats.exact(x, 40)
    if found.position == 0:
        return f"{typed} is a number of {dtype}, so nothing is rounded. The next number is {high}."
    between = f"{typed} is between {low} and {high}, two neighbors in {dtype}. The middle between them is {formats.exact(found.middle, 40)}"
    if "∞" in (low, high) or "-∞" in (low, high):
        between += ", if infinity counts as the number that would follow the largest one"
    if x == found.middle:
        return f"{between}, exactly this number: a tie. Ties go to the neighbor whose last bit is 0, which is {near}."
    side = "above" if x > found.middle else "below"
    return f"{between}. The number is {side} the middle, so it is rounded {'up' if side == 'above' else 'down'}, to {near}."


def number_line(x: Fraction, dtype: str) -> Spec:
    """Return a picture of a number between its two neighbors and their middle."""
    found = rounding(x, dtype)
    low, high = (formats.decimal(formats.value(each, dtype), 7) for each in (found.lower, found.upper))
    place = float(min(max(found.position, Fraction(0)), Fraction(1)))
    goes_to = 0 if found.nearest == found.lower else 1
    marks = [
        {"at": 0, "what": "lower neighbor", "label": low},
        {"at": 0.5, "what": "middle", "label": "middle"},
        {"at": 1, "what": "upper neighbor", "label": high},
    ]
    at = vega.quantitative("at", None, scale={"domain": [-0.2, 1.2]}, axis={"labels": False, "ticks": False, "grid": False})
    y = {"datum": 0, "type": "quantitative", "axis": None, "scale": {"domain": [-1, 1]}}
    given = [{"at": place, "to": goes_to, "what": "number", "label": formats.exact(x, 12)}]
    tooltip = [{"field": "what"}, {"field": "label", "title": "value"}]
    axes = {"x": at | {"axis": None}, "y": y}
    layers = [
        vega.layer("rule", axes | {"x2": {"datum": 1}}, [{"at": 0}], tooltip=False, color=GRAY),
        vega.layer("tick", axes | {"tooltip": tooltip}, marks, color=BLUE, thickness=3, height=26, opacity=1),
        vega.layer("text", axes | {"text": {"field": "label"}}, marks, tooltip=False, dy=26, fontSize=12, color="currentColor"),
        vega.layer("rule", axes | {"x2": {"field": "to"}}, given, tooltip=False, color=ORANGE, strokeWidth=4),
        vega.layer("point", axes | {"tooltip": tooltip}, given, filled=True, opacity=1, size=130, color=ORANGE, shape="diamond"),
        vega.layer("text", axes | {"text": {"field": "label"}}, given, tooltip=False, dy=-20, fontSize=13, fontWeight="bold", color=ORANGE),
    ]
    return vega.chart(rounding_in_words(x, dtype), layers, width=320, height=90)


# What rounding does to sums


def add(a: Fraction, b: Fraction, dtype: str) -> tuple[float, float, float]:
    """Return two numbers rounded to a format, and their sum as the library computes it."""
    x, y = formats.number(nearest(a, dtype), dtype), formats.number(nearest(b, dtype), dtype)
    return x.double().item(), y.double().item(), (x + y).double().item()


def addition_rows(a: Fraction, b: Fraction) -> list[dict[str, str]]:
    """Return a row for every format: the rounded terms, and their sum before and after rounding."""
    rows = []
    for dtype in formats.available():
        x, y, total = add(a, b, dtype)
        finite = math.isfinite(x) and math.isfinite(y)
        wanted = formats.exact(Fraction(x) + Fraction(y), 20) if finite else formats.decimal(x + y)
        rows.append(
            {
                "format": dtype,
                "a": formats.decimal(x, 20),
                "b": formats.decimal(y, 20),
                "exact sum": wanted,
                "a + b": formats.decimal(total, 20),
            }
        )
    return rows


def addition_in_words(a: Fraction, b: Fraction) -> str:
    """Say in which formats a sum equals its larger term, and in which it equals the rounded exact sum."""
    absorbed, same, other = [], [], []
    for dtype in formats.available():
        x, y, total = add(a, b, dtype)
        (absorbed if y != 0 and total == x else []).append(dtype)
        (same if total == formats.value(nearest(a + b, dtype), dtype) else other).append(dtype)
    said, wanted = [], formats.exact(a + b, 20)
    if absorbed:
        said.append(f"In {_listed(absorbed)}, a + b equals a: b is at most half of the gap between a and its neighbor.")
    if other:
        said.append(f"In {_listed(other)}, a + b is not the number nearest to {wanted}, because a or b was rounded before.")
    if same:
        said.append(f"In {_listed(same)}, a + b is the number nearest to {wanted}.")
    return " ".join(said)


def running_sums(term: Fraction, count: int, dtype: str) -> list[float]:
    """Return the sums after 1, 2, … terms, each rounded to the format before the next term is added."""
    step, total, sums = formats.number(nearest(term, dtype), dtype), tensor([0.0], dtype=dtype), []
    for _ in range(count):
        total = total + step
        sums.append(total)
    return [each.double().item() for each in sums]


def stuck_after(sums: Sequence[float]) -> int | None:
    """Return the number of terms after which the sum never changes; None if the last term still changed it."""
    changes = [n for n in range(1, len(sums)) if sums[n] != sums[n - 1]]
    last = changes[-1] + 1 if changes else 1
    return last if last < len(sums) else None


def sums_chart(sums: dict[str, list[float]], term: Fraction) -> Spec:
    """Return the running sum of each format as a curve, against the number of terms."""
    count = len(next(iter(sums.values())))
    shown = sorted({*range(0, count, max(1, count // 100)), count - 1})
    points = {dtype: [(n + 1, found[n]) for n in shown] for dtype, found in sums.items()}
    return plots.curves(points, sums_in_words(sums, term), "number of terms", "sum") | {"width": 270}


def sums_in_words(sums: dict[str, list[float]], term: Fraction) -> str:
    """Describe the running sums."""
    count = len(next(iter(sums.values())))
    said = [f"The sum of {count} terms of {formats.exact(term)} is {formats.exact(count * term)}."]
    for dtype, found in sums.items():
        stuck = stuck_after(found)
        ends = f"{dtype} reaches {formats.decimal(found[-1], 10)}"
        said.append(f"{ends} after {stuck} term{'s' * (stuck > 1)} and stays there." if stuck else f"{ends}.")
    return " ".join(said)


def library_sum(term: Fraction, count: int, dtype: str) -> float:
    """Return the sum of equal terms by the library's `sum`, which rounds to half precision once, at the end."""
    return formats.number(nearest(term, dtype), dtype).expand(count).sum().double().item()


def _listed(names: Sequence[str]) -> str:
    """Return names as they are listed in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
