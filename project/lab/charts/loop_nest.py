"""The loops of a compiled function as boxes in boxes, with what numba did with each of them; HTML that a screen reader can read."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from html import escape

from project.lab.charts.palette import BLUE, ORANGE, rgba
from project.lab.explorers.diagnostics import Loop, remarks

STYLE = f"""
<style>
.loop {{border: 1px solid #8886; border-left: 6px solid #8888; border-radius: 8px; padding: .35rem .8rem}}
.loop {{margin: .4rem 0; max-width: 56rem}}
.loop.parallel {{border-color: {BLUE}; background: {rgba(BLUE, 0.12)}}}
.loop:is(.serial, .fused) {{border-color: {ORANGE}; background: {rgba(ORANGE, 0.12)}}}
.loop p {{margin: 0; font-size: .875rem}}
.loop .source {{font-family: var(--st-code-font, monospace); white-space: pre-wrap; overflow-wrap: anywhere}}
</style>
"""


def nest(source: str, name: str, line: int, loops: Sequence[Loop]) -> str:
    """Return the figure of a function: also the loops that numba leaves as they are, and the statements that it turns into loops.

    Args:
        source: The text of its file.
        name: Its unqualified name.
        line: The line of its definition; another function may have the same name.
        loops: What numba reports.
    """
    named = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef) and each.name == name]
    function = min(named, key=lambda each: abs(each.lineno - line))
    elsewhere = [loop for loop in loops if not function.lineno <= loop.line <= (function.end_lineno or 0)]  # inlined by numba
    return STYLE + _boxes(function, source.splitlines(), loops) + "".join(_box(loop.source, [loop], "") for loop in elsewhere)


def _boxes(node: ast.AST, lines: Sequence[str], loops: Sequence[Loop]) -> str:
    """Return the box of a loop with the boxes inside; of another node those inside, or one if numba turns the statement into loops."""
    inside = "".join(_boxes(child, lines, loops) for child in ast.iter_child_nodes(node))
    if isinstance(node, ast.For | ast.While):
        return _box(lines[node.lineno - 1], [loop for loop in loops if loop.line == node.lineno], inside)
    if isinstance(node, ast.stmt) and not hasattr(node, "body"):
        own = [loop for loop in loops if node.lineno <= loop.line <= (node.end_lineno or 0)]
        return _box(lines[node.lineno - 1], own, "") if own else ""
    return inside


def _box(text: str, loops: Sequence[Loop], inside: str) -> str:
    """Return one box with the color of the first loop; numba does not list an ordinary loop."""
    words = [remark for loop in loops for remark in remarks(loop)]
    said = f"<p>{escape('; '.join(words))}</p>" if words else ""
    return f'<div class="loop {loops[0].fate if loops else ""}"><p class="source">{escape(text.strip())}</p>{said}{inside}</div>'
