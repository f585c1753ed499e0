"""Lines that numba cannot compile, as a table made by compiling them: what numba says, and what the cards say to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from textwrap import indent
from typing import Any

import numba
import numpy as np

from course.runner.compiler_messages import innermost, instead


class Table:
    """Rows of HTML cells below a header."""

    def __init__(self, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        self.header, self.rows = header, rows

    def _repr_html_(self) -> str:
        head = "".join(f'<th class="head">{cell}</th>' for cell in self.header)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in self.rows)
        return f'<table class="table"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>'

    def __repr__(self) -> str:
        return f"Table: {', '.join(self.header)}, {len(self.rows)} rows"


def helper(x: float) -> float:
    """A function that is not compiled, for a line that calls one."""
    return x


class Settings:
    """An object of Python, for a line that uses one."""


def refusal(lines: str) -> str:
    """numba's innermost message about a function of these lines, which receives `shape`, an array of int32.

    Raises:
        ValueError: If numba compiles them.
    """
    names: dict[str, Any] = {"np": np, "helper": helper, "settings": Settings(), "__name__": "__main__"}
    exec(f"def kernel(shape):\n{indent(lines, '    ')}", names)
    compiled: Any = numba.njit(names["kernel"])
    try:
        compiled(np.array([2, 3], np.int32))
    except Exception as error:
        return innermost(str(error))
    raise ValueError(f"expected lines that numba refuses, got {lines!r}; take them out of the table")


def refused(snippets: Iterable[str]) -> Table:
    """The table: each snippet, what numba says of it, and what to write instead.

    Raises:
        ValueError: If numba compiles a snippet, or the cards do not know what to write instead.
    """
    rows = []
    for lines in snippets:
        message = refusal(lines)
        if not (advice := instead(message)):
            raise ValueError(f"expected advice on {lines!r}, got none; add {message!r} to INSTEAD in course/runner/compiler_messages.py")
        said = re.split(r": Cannot determine|, defined at|\. Raised from", message.replace(" signature:\n >>>", "").splitlines()[0])[0]
        code = escape(lines, quote=False).replace("    ", "&nbsp;&nbsp;").replace("\n", "<br>")
        rows.append((f"<code>{code}</code>", escape(said, quote=False), escape(advice, quote=False)))
    return Table(("You write", "numba says", "Write instead"), rows)
