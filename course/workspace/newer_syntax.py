"""Which Python a syntax error needs, if it is the syntax of a newer one."""

from __future__ import annotations

import re
import sys

NEWER = (
    (r"\b(?:def|class)\s+\w+\s*\[[^]]*=", (3, 13), "a default of a type parameter"),
    (r"\b(?:def|class)\s+\w+\s*\[", (3, 12), "a type parameter in brackets"),
    (r"^\s*type\s+\w+\s*(?:\[.*\]\s*)?=", (3, 12), "a type statement"),
    (
        r"""(?<![\w"'])[rR]?[fF][rR]?(?P<quote>["'])(?:(?!(?P=quote)).)*?\{[^}]*(?P=quote)[^}]*\}""",
        (3, 12),
        "an f-string with its own quotes in braces",
    ),
    (r"""(?<![\w"'])[fF]["'].*\{[^}]*\\""", (3, 12), "an f-string with a backslash in braces"),
    (r"^\s*except\*?\s+[\w.]+\s*,", (3, 14), "except with several types and no parentheses"),
    (r"""(?<![\w"'])[rR]?t[rR]?["']""", (3, 14), "a t-string"),
)
"""The syntax that came after the oldest Python of the course, 3.11: a pattern of its line, the Python that has it, and its name."""


def newer_syntax(line: str, running: tuple[int, int] = sys.version_info[:2]) -> str:
    """What a line with a syntax error contains that needs a newer Python, and which one runs; "" if nothing is known.

    Args:
        line: The source line.
        running: The version of Python that could not parse it.
    """
    for pattern, needed, what in NEWER:
        if needed > running and re.search(pattern, line):
            return f"{what} needs Python {needed[0]}.{needed[1]}, and this is Python {running[0]}.{running[1]}"
    return ""
