"""Floating-point formats: the bits of a number, its value, and its neighbors."""

from __future__ import annotations

import math
import re
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from minitorch import bits, finfo, tensor
from minitorch.core.dtypes import as_dtype
from project.lab.typed.source import Refused

FORMATS = ("float16", "bfloat16", "float32", "float64")

SPECIAL = ("1", "0.1", "largest", "smallest normal", "smallest subnormal", "0", "-0", "infinity", "NaN")
"""Numbers to begin with."""

EXACT = Context(prec=1200)
"""Enough digits for every float64: none has more than 767."""


class Parts(NamedTuple):
    """The bits of a number, as text.

    Attributes:
        sign: One bit.
        exponent: The exponent, written larger by the bias.
        fraction: The digits after the binary point.
    """

    sign: str
    exponent: str
    fraction: str


def available() -> list[str]:
    """Return the formats; bfloat16 only if the package ml_dtypes is installed."""
    try:
        as_dtype("bfloat16")
    except ImportError:
        return [name for name in FORMATS if name != "bfloat16"]
    return list(FORMATS)


# Bits and values


def size(dtype: str) -> int:
    """Return the number of bits of a format."""
    return finfo(dtype).bits


def bias(dtype: str) -> int:
    """Return how much larger than the exponent its bits are."""
    return 1 - int(math.log2(finfo(dtype).smallest_normal))


def parts(pattern: int, dtype: str) -> Parts:
    """Return sign, exponent and fraction of the number with these bits, read as an unsigned integer."""
    widths = [len(part) for part in bits(tensor([0.0], dtype=dtype))[0].split()]
    text = f"{pattern:0{size(dtype)}b}"
    return Parts(text[0], text[1 : 1 + widths[1]], text[1 + widths[1] :])


def number(pattern: int, dtype: str) -> Any:
    """Return the number with these bits, as a tensor of one element."""
    width = size(dtype) // 8
    return tensor(np.array([pattern], f"u{width}").view(as_dtype(dtype)), dtype=dtype)


def value(pattern: int, dtype: str) -> float:
    """Return the number with these bits; float64 represents the numbers of every format exactly."""
    return number(pattern, dtype).double().item()


def pattern_of(x: Any) -> int:
    """Return the bits of a tensor of one element as an unsigned integer."""
    return int(bits(x)[0].replace(" ", ""), 2)


def kind(pattern: int, dtype: str) -> str:
    """Return "zero", "subnormal", "normal", "infinite" or "NaN"."""
    _, exponent, fraction = parts(pattern, dtype)
    if "0" not in exponent:
        return "NaN" if "1" in fraction else "infinite"
    if "1" in exponent:
        return "normal"
    return "subnormal" if "1" in fraction else "zero"


def special(name: str, dtype: str) -> int:
    """Return the bits of a number of SPECIAL."""
    info = finfo(dtype)
    found = {
        "largest": info.max,
        "smallest normal": info.smallest_normal,
        "smallest subnormal": info.smallest_subnormal,
        "infinity": math.inf,
        "NaN": math.nan,
    }
    return pattern_of(tensor([found.get(name) if name in found else float(name)], dtype=dtype))


def convert(given: int, dtype: str, other: str) -> int:
    """Return the bits of the nearest number of another format."""
    return pattern_of(number(given, dtype).to(other))


def read_bits(text: str, dtype: str) -> int:
    """Parse bits in hexadecimal, such as 0x3c00.

    Raises:
        Refused: If it is not a hexadecimal number with as many digits as the format.
    """
    digits = size(dtype) // 4
    found = re.fullmatch(r"\s*(?:0[xX])?([0-9a-fA-F]+)\s*", text)
    if not found or len(found[1]) > digits:
        raise Refused(f"expected at most {digits} hexadecimal digits, the {size(dtype)} bits of a {dtype}, got {text!r:.60}")
    return int(found[1], 16)


def write_bits(pattern: int, dtype: str) -> str:
    """Return bits in hexadecimal."""
    return f"0x{pattern:0{size(dtype) // 4}x}"


def neighbors(pattern: int, dtype: str) -> tuple[int | None, int | None]:
    """Return the bits of the next number below and of the next above; None if there is none. -0 and 0 are the same number."""
    sign = 1 << (size(dtype) - 1)
    if kind(pattern, dtype) == "NaN":
        return None, None
    place = -(pattern - sign) if pattern & sign else pattern  # the numbers in order: 0 is 0, the smallest positive one 1
    last = special("infinity", dtype)
    below, above = (None if abs(each) > last else each if each >= 0 else sign - each for each in (place - 1, place + 1))
    return below, above


# As text


def as_decimal(x: Fraction) -> Decimal:
    """Return a number whose decimal digits end, such as every float, as a decimal number."""
    return EXACT.divide(Decimal(x.numerator), Decimal(x.denominator)).normalize(EXACT)


def exact(x: Fraction, most: int | None = None) -> str:
    """Return a number as a decimal number.

    Args:
        x: A number whose decimal digits end, such as every float.
        most: The number of digits from which on they are cut off, with "…"; None for all digits.
    """
    found = as_decimal(x)
    digits = len(found.as_tuple().digits)
    if cut := most is not None and digits > most:
        found = Context(prec=most, rounding=ROUND_DOWN).plus(found)
    short = found.normalize(EXACT)
    plain = not short or -7 <= short.adjusted() < 21
    mantissa, letter, exponent = f"{short:f}".partition("e") if plain else f"{short:e}".partition("e")
    return f"{mantissa}{'…' if cut else ''}{letter}{exponent}"


def decimal(x: float, most: int | None = None) -> str:
    """Return a float as the decimal number that equals it; see `exact`."""
    if not math.isfinite(x):
        return "NaN" if math.isnan(x) else "∞" if x > 0 else "-∞"
    return "-0" if x == 0 and math.copysign(1, x) < 0 else exact(Fraction(x), most)


def hexadecimal(x: float) -> str:
    """Return a float as C, Python and PyTorch write it in hexadecimal: 1.5 is 0x1.8p+0."""
    if not math.isfinite(x):
        return decimal(x)
    return re.sub(r"\.?0*p", "p", x.hex())


def formula(pattern: int, dtype: str) -> str:
    """Return how the value follows from the bits."""
    sign, exponent, fraction = parts(pattern, dtype)
    x, form, offset = value(pattern, dtype), kind(pattern, dtype), bias(dtype)
    signs = f"(-1)^{sign}"
    match form:
        case "NaN":
            return "All exponent bits are 1 and the fraction is not 0: not a number (NaN), whatever the sign."
        case "infinite":
            return f"All exponent bits are 1 and the fraction is 0: {signs} · ∞ = {decimal(x)}"
        case "zero":
            return f"{signs} · 2^(1 - bias) · 0.f\n= {signs} · 2^(1 - {offset}) · 0\n= {decimal(x)}"
    normal = form == "normal"
    first, raised = ("1", int(exponent, 2)) if normal else ("0", 1)
    significand = Fraction(int(fraction, 2), 2 ** len(fraction)) + normal
    minus = "-" if sign == "1" else ""
    return "\n".join(
        [
            f"{signs} · 2^({'e' if normal else '1'} - bias) · {first}.f",
            f"= {signs} · 2^({raised} - {offset}) · {first}.{fraction} in binary",
            f"= {minus}2^{raised - offset} · {exact(significand)}",
            f"= {decimal(x)}",
            f"= {hexadecimal(x)} in hexadecimal",
        ]
    )


def about(pattern: int, dtype: str) -> str:
    """Return a sentence on the kind of the number."""
    return {
        "zero": "Zero. There are two zeros, 0 and -0, which are equal.",
        "subnormal": "A subnormal number: all exponent bits are 0, so the digit before the point is 0, and the exponent is that of the "
        "smallest normal number. Such numbers fill the space between it and 0.",
        "normal": "A normal number: the digit before the point is 1 and is not stored.",
        "infinite": "Infinity: the result of an overflow, or of a division by zero.",
        "NaN": "Not a number: the result of 0 / 0 or ∞ - ∞, for example. It is not equal to any number, not even to itself.",
    }[kind(pattern, dtype)]


def neighbor_rows(pattern: int, dtype: str) -> list[dict[str, str]]:
    """Return a row for the next number below, the number itself and the next number above: bits, value and the gap between them."""
    here, rows = value(pattern, dtype), []
    below, above = neighbors(pattern, dtype)
    for name, other in (("next below", below), ("this number", pattern), ("next above", above)):
        row = {"": name, "value": "none", "bits": "", "gap": ""}
        if other is not None:
            there = value(other, dtype)
            row |= {"value": decimal(there, 20), "bits": write_bits(other, dtype)}
            if other != pattern:
                finite = math.isfinite(here) and math.isfinite(there)
                row["gap"] = f"{as_decimal(abs(Fraction(there) - Fraction(here))):.6g}" if finite else "∞"
        rows.append(row)
    return rows
