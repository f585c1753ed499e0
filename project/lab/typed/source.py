"""The core of the three parsers of typed values: one syntax tree, one error format, and literals. Nothing is ever evaluated."""

from __future__ import annotations

import ast
import re


class Refused(ValueError):
    """The input is not allowed. The message is one line: "column N: expected …, got …; …"."""


class Source:
    """A typed text and its syntax tree.

    Args:
        text: The input; it must be a Python expression.
        expected: What the input should be, with an example, for the error message.
        most_characters: The largest length.

    Attributes:
        tree: The syntax tree.

    Raises:
        Refused: If the text is too long or is not a Python expression.
    """

    def __init__(self, text: str, expected: str, most_characters: int) -> None:
        if len(text) > most_characters:
            raise Refused(f"column {most_characters + 1}: expected at most {most_characters} characters, got {len(text)}")
        line = text.replace("\n", " ")
        self._line = line.strip()
        self._indent = len(line) - len(line.lstrip())
        try:
            self.tree = ast.parse(self._line, mode="eval").body
        except SyntaxError as error:
            column = self._indent + (error.offset or len(self._line) + 1)  # 0: at the end
            raise Refused(f"column {column}: expected {expected}, got {text!r:.60} ({error.msg})") from None
        except (ValueError, RecursionError, MemoryError):
            raise Refused(f"column 1: expected {expected}, got {text!r:.60}") from None

    def error(self, node: ast.AST, reason: str) -> Refused:
        """Return the error for a node, with its column."""
        offset = len(self._line.encode()[: getattr(node, "col_offset", 0)].decode())  # the parser counts bytes
        return Refused(f"column {self._indent + offset + 1}: {reason}")

    def excerpt(self, node: ast.AST, most: int = 60) -> str:
        """Return the text of a node, shortened and quoted."""
        return repr(re.sub(r"\s+", " ", ast.get_source_segment(self._line, node) or self._line))[:most]


def number(node: ast.expr) -> int | float | None:
    """Return a number literal, with or without a sign; None if the node is anything else."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign, node = (-1 if isinstance(node.op, ast.USub) else 1), node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    return sign * value if isinstance(value, int | float) and not isinstance(value, bool) else None


def integer(node: ast.expr) -> int | None:
    """Return an integer literal, with or without a sign; None if the node is anything else."""
    value = number(node)
    return value if isinstance(value, int) else None
