"""Stage 5 - A picture of a program: its operations from top to bottom, and beside them when each buffer is needed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from minitorch.compiler.trace import TEMPORARY, Buffer, Trace

COLORS = {"forward": "#1f6fb4", "backward": "#b4501f", "optimizer": "#3c8a3c"}
"""The colour of each phase: blue, orange and green, apart in grey as well."""

ROW, TEXT, BAR, LETTER = 18, 12, 9, 7.3
"""Height of a row, size of the text, distance of the bars, and width of a letter, in pixels."""


def draw(trace: Trace) -> str:
    """The picture of a trace as SVG text.

    A row is an operation, in the colour of its phase. To the right, each temporary buffer is a bar from the row that writes it to the
    last one that reads it: buffers whose bars do not overlap can share memory. The text comes in the reader's own colour.
    """
    lines = [str(node) for node in trace.nodes]
    left = 24 + LETTER * max(map(len, lines), default=0)
    spans = buffer_spans(trace)
    width, height = left + BAR * (len(spans) + 2), ROW * (len(lines) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" role="img" '
        f'font-family="monospace" font-size="{TEXT}" fill="currentColor">',
        f"<title>{escape(describe(trace))}</title>",
    ]
    for number, (node, line) in enumerate(zip(trace.nodes, lines, strict=True)):
        y = ROW * (number + 1)
        parts.append(f'<rect x="4" y="{y - 10}" width="6" height="{ROW - 4}" fill="{COLORS[node.phase]}"/>')
        parts.append(f'<text x="16" y="{y}">{escape(line)}</text>')
    for column, (buffer, (first, last)) in enumerate(spans.items()):
        x, y = left + BAR * column, ROW * (first + 1) - 10
        color = COLORS[trace.nodes[first].phase]
        parts.append(
            f'<rect x="{x:.0f}" y="{y}" width="{BAR - 3}" height="{ROW * (last - first) + ROW - 4}" rx="2" fill="{color}" opacity="0.7">'
            f"<title>{escape(buffer.name)}: {getattr(buffer.array, 'nbytes', 0):,} bytes</title></rect>"
        )
    return "\n".join([*parts, "</svg>"])


def buffer_spans(trace: Trace) -> dict[Buffer, tuple[int, int]]:
    """The temporary buffers, with the numbers of the first and the last operation that touch each."""
    found: dict[Buffer, tuple[int, int]] = {}
    for number, node in enumerate(trace.nodes):
        for buffer in node.buffers():
            if buffer.role == TEMPORARY:
                found[buffer] = (found.get(buffer, (number, number))[0], number)
    return found


def describe(trace: Trace) -> str:
    """The picture in words."""
    phases: Sequence[str] = [node.phase for node in trace.nodes]
    counts = [f"{phases.count(phase)} in the {phase} pass" for phase in ("forward", "backward") if phase in phases]
    counts += [f"{phases.count('optimizer')} of the optimizer"] if "optimizer" in phases else []
    return f"The program {trace.name}: {len(phases)} operations, {', '.join(counts)}, and {len(buffer_spans(trace))} temporary buffers"
