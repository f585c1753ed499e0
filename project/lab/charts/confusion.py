"""The confusion matrix: how often each class was predicted for each true class."""

from __future__ import annotations

from collections.abc import Sequence

from project.lab.charts.cells import Cell, grid

WIDTH = 1.7
"""Width of a cell in rem; ten of them and the row numbers fit on a phone."""


def panel(counts: Sequence[Sequence[int]]) -> str:
    """Return the markup of the matrix: correct predictions blue, confusions orange, darker for a larger fraction of the row.

    Args:
        counts: counts[i][j] is how often class j was predicted for class i.
    """
    cells = []
    for i, row in enumerate(counts):
        total = sum(row) or 1
        for j, count in enumerate(row):
            share = (count / total) ** 0.5  # on a linear scale, the few mistakes would be invisible
            note = f"label {i}, predicted {j}: {count} of {sum(row)}"
            cells.append(Cell(str(count) if count else "", f"{i},{j}", (f"{i},{j}",), note, tone=share if i == j else -share))
    return grid("Label (row) and prediction (column)", (len(counts), len(counts)), cells, WIDTH)


def in_words(counts: Sequence[Sequence[int]]) -> str:
    """Describe the most frequent confusion, and the class with the lowest accuracy."""
    wrong = sum(count for i, row in enumerate(counts) for j, count in enumerate(row) if i != j)
    total = sum(map(sum, counts))
    if not wrong:
        return f"All {total:,} predictions are correct."
    most, i, j = max((count, -i, -j) for i, row in enumerate(counts) for j, count in enumerate(row) if i != j)
    shares = [(row[k] / sum(row), k) for k, row in enumerate(counts) if sum(row)]
    least, k = min(shares)
    return (
        f"{wrong:,} of {total:,} predictions are wrong. The most frequent mistake is {-j} for {-i} ({most} time{'s' * (most != 1)}). "
        f"The lowest accuracy is {least:.0%}, for {k}."
    )
