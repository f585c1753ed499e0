"""Markdown for questions: paragraphs, parts, code, tables and numbers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

Text = str | Sequence[str]
"""Markdown: one paragraph or several."""

RAISED = str.maketrans("-0123456789x", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹ˣ")


def paragraphs(text: Text) -> str:
    """Paragraphs, each dedented, with blank lines between them. Exponents such as 10^-6 and e^x are raised."""
    joined = "\n\n".join(map(inspect.cleandoc, [text] if isinstance(text, str) else text))
    return re.sub(r"\^(-?(?:\d+|x\b))", lambda match: match[1].translate(RAISED), joined)


def parts(*texts: str) -> str:
    """Paragraphs that begin with **(a)**, **(b)** and so on."""
    return "\n\n".join(f"**({chr(ord('a') + place)})** {inspect.cleandoc(text)}" for place, text in enumerate(texts))


def code(source: str, language: str = "python") -> str:
    """A code block."""
    return f"```{language}\n{source}\n```"


def table(heads: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def matrix(rows: Sequence[Sequence[object]]) -> str:
    """A block with numbers in columns."""
    cells = [[number(cell) if isinstance(cell, (int, float)) else str(cell) for cell in row] for row in rows]
    width = max(len(cell) for row in cells for cell in row)
    return "\n".join(["```text", *("  ".join(cell.rjust(width) for cell in row) for row in cells), "```"])


def number(value: float, digits: int = 4) -> str:
    """A number without trailing zeros, rounded to some digits after the point."""
    shown = f"{round(float(value), digits):.{digits}f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def numbers(values: Sequence[float], digits: int = 4) -> str:
    """Numbers separated by commas."""
    return ", ".join(number(value, digits) for value in values)


def signed(value: float) -> str:
    """A number that follows another term: " + 3" or " - 3"."""
    return f" {'-' if value < 0 else '+'} {number(abs(value))}"
