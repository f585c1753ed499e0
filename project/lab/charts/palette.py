"""The colors of all charts and pictures, distinguishable without color vision, and legible in light and dark themes."""

BLUE, ORANGE, GREEN, RED, GRAY, PURPLE = "#1f6fb2", "#d9701e", "#23965a", "#c0392b", "#7a828a", "#8250a8"
"""Lines, bars and marks: blue and orange for two categories, gray for a reference."""

PALE_BLUE, PALE_ORANGE, WHITE, BLACK = "#6baed6", "#fdae6b", "#f7f7f7", "#1a1a1a"
"""Areas below points, and the middle of diverging scales; black for lines on top of them."""

DARK_BLUE, DARK_ORANGE = "#08519c", "#a63603"
"""Points on areas in the pale colors."""

NEGATIVE, POSITIVE = ORANGE, BLUE
"""Numbers, weights and gradients below and above 0."""

SCALE, PALE_SCALE = [NEGATIVE, WHITE, POSITIVE], [PALE_ORANGE, WHITE, PALE_BLUE]
"""Diverging scales: from the most negative number to the largest, or from probability 0 to 1. The pale one has points on top."""

LABEL_COLORS, LABEL_SHAPES = [DARK_ORANGE, DARK_BLUE], ["circle", "triangle-up"]
"""Points of label 0 and of label 1, in the color of their end of the scale; a circle for 0, as in the book."""


def channels(color: str) -> list[int]:
    """Red, green and blue of a color such as "#1f6fb2", each from 0 to 255."""
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def rgba(color: str, opacity: float) -> str:
    """A color of this file as a background that lets through what is behind it, for a stylesheet."""
    return f"rgba({', '.join(map(str, channels(color)))}, {opacity:.2f})"
