"""The colours of all charts and pictures: distinguishable without colour vision, and legible on light and dark pages."""

BLUE, ORANGE, GREEN, RED, GREY, PURPLE = "#1f6fb2", "#d9701e", "#23965a", "#c0392b", "#7a828a", "#8250a8"
"""Lines, bars and marks: blue and orange where there are two kinds, grey for what is there to compare with."""

PALE_BLUE, PALE_ORANGE, WHITE, BLACK = "#6baed6", "#fdae6b", "#f7f7f7", "#1a1a1a"
"""Areas behind points, and the middle of scales that diverge; black for lines on them."""

DARK_BLUE, DARK_ORANGE = "#08519c", "#a63603"
"""Points on areas in the pale colours."""
