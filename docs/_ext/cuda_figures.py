"""Figures of a GPU's work: threads in blocks, sectors that a warp reads, memories, the tree of a reduction, tiles of a matrix product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from figures import Figure
from tensor_figures import CELL, GAP, _cell, _figure, _text


def threads(size: int, per_block: int, caption: str) -> Figure:
    """The threads of a launch, block by block, and dashed those for which there is no element.

    Args:
        size: Number of elements.
        per_block: Threads of a block.
        caption: The figure in words.
    """
    blocks = ceil(size / per_block)
    left, length = 62.0, per_block * CELL
    parts = [_text(left - 8, 44, "thread", "end", note=True), _text(left - 8, 68, "i", "end")]
    for block in range(blocks):
        x = left + block * (length + GAP)
        parts.append(_text(x + length / 2, 18, f"block {block}", strong=True))
        parts.append(f'<rect class="graph-edge" x="{x - 4:g}" y="28" width="{length + 8:g}" height="56" rx="6"/>')
        for thread in range(per_block):
            i = block * per_block + thread
            parts.append(_text(x + thread * CELL + CELL / 2, 44, str(thread), note=True))
            parts.append(_cell(x + thread * CELL, 50, CELL, str(i), dashed=i >= size))
    return _figure(parts, left + blocks * (length + GAP), 94, caption)


SECTOR, NUMBER = 8, 10
"""Numbers of four bytes in a sector, and the width of one in pixels."""


def sectors(reads: Mapping[str, Sequence[int]], count: int, caption: str) -> Figure:
    """The lanes of a warp and the numbers that they read, for several reads; dashed are sectors that no lane touches.

    Args:
        reads: By the title of a read, the position that each lane reads.
        count: Number of sectors drawn.
        caption: The figure in words.
    """
    over, under, y = [], [], 8.0
    length = SECTOR * NUMBER + 4
    for title, positions in reads.items():
        touched = {position // SECTOR for position in positions}
        left = 10 + (count * length - len(positions) * CELL) / 2
        memory = y + CELL + 40
        over.append(_text(left - 10, y + 18, f"{title}: {len(touched)} sector{'s' * (len(touched) > 1)}", "end", strong=True))
        for sector in range(count):
            kind = 'graph-node marked"' if sector in touched else 'graph-edge" stroke-dasharray="3 3"'
            under.append(f'<rect class="{kind} x="{10 + sector * length:g}" y="{memory:g}" width="{length - 4}" height="18" rx="3"/>')
        for lane, position in enumerate(positions):
            x = 10 + position // SECTOR * length + position % SECTOR * NUMBER
            over.append(_cell(left + lane * CELL, y, CELL, str(lane)))
            over.append(f'<rect class="graph-arrow" x="{x + 2:g}" y="{memory + 4:g}" width="{NUMBER - 4}" height="10"/>')
            line = f"M{x + NUMBER / 2:g} {memory - 1:g}L{left + (lane + 0.5) * CELL:g} {y + CELL:g}"
            under.append(f'<path class="graph-edge" d="{line}"/>')
        y = memory + 36
    return _figure([*under, *over], 16 + count * length, y - 8, caption)


def banks(rows: int, columns: int, count: int, column: int, caption: str) -> Figure:
    """A tile in shared memory: in each cell the number of its bank, and a column marked that a warp reads.

    Args:
        rows: Rows of the tile.
        columns: Columns of the tile.
        count: Number of banks.
        column: The marked column.
        caption: The figure in words.
    """
    width, parts = 30.0, []
    for row in range(rows):
        for i in range(columns):
            parts.append(_cell(10 + i * width, 8 + row * CELL, width, str((row * columns + i) % count), marked=i == column))
    return _figure(parts, 20 + columns * width, 16 + rows * CELL, caption)


def memories(blocks: int, per_block: int, caption: str) -> Figure:
    """A grid of blocks of threads, with the memory that belongs to each of the three, and how long a read takes.

    Args:
        blocks: Blocks of the grid.
        per_block: Threads of a block.
        caption: The figure in words.
    """
    width, left = 88, 14.0
    length = per_block * width
    right = left + blocks * (length + GAP) - GAP
    parts = [_frame(4, 4, right + 6, 164, "grid")]
    for block in range(blocks):
        x = left + block * (length + GAP)
        parts += [_frame(x, 30, length, 130, f"block {block}"), _cell(x + 6, 126, length - 12, "shared memory")]
        for thread in range(per_block):
            parts.append(_frame(x + thread * width + 6, 58, width - 12, 60, f"thread {thread}"))
            parts.append(_cell(x + thread * width + 10, 84, width - 20, "registers"))
    parts.append(_cell(4, 178, right + 6, "global memory"))
    parts += [_text(right + 20, y, time, "start", note=True) for y, time in ((102, "at once"), (144, "30 cycles"), (196, "hundreds"))]
    return _figure(parts, right + 78, 214, caption)


def _frame(x: float, y: float, width: float, height: float, title: str) -> str:
    """A box around others with its title on top."""
    box = f'<rect class="graph-edge" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
    return box + _text(x + width / 2, y + 18, title, strong=True)


def tree(values: Sequence[float], caption: str) -> Figure:
    """A sum in rounds, by half as many threads each time: cell t takes in the cell half a row further on.

    Args:
        values: As many as a power of 2.
        caption: The figure in words.
    """
    width, apart, left = 40, 64, 92.0
    row, under, over, y = list(values), [], [], 12.0
    while True:
        for t, value in enumerate(row):
            over.append(_cell(left + t * width, y, width, f"{value:g}", marked=len(row) == 1))
        if len(row) == 1:
            break
        half = len(row) // 2
        working = f"threads 0 to {half - 1}" if half > 1 else "thread 0"
        over.append(_text(left - 10, y + apart - 18, working, "end", note=True))
        for t in range(half):
            for source in (t, t + half):
                start, end = left + (source + 0.5) * width, left + (t + 0.5) * width
                line = f"M{start:g} {y + CELL:g}L{end:g} {y + apart - 1:g}"
                under.append(f'<path class="graph-edge" d="{line}" marker-end="url(#tip)"/>')
        row = [row[t] + row[t + half] for t in range(half)]
        y += apart
    return _figure([*under, *over], left + len(values) * width + 10, y + CELL + 10, caption)


def tiles(rows: int, columns: int, inner: int, tile: int, at: tuple[int, int], caption: str) -> Figure:
    """A product in tiles: a on the left, b on top, the result between them, and in what order one block brings which tiles.

    Args:
        rows: Of the result.
        columns: Of the result.
        inner: Columns of a and rows of b.
        tile: Rows and columns of a tile.
        at: The block's tile in the result, as the number of its row and column.
        caption: The figure in words.
    """
    left, top = 10.0, 30.0
    right, low = left + inner * CELL + 34, top + inner * CELL + 40
    parts = [
        _text(left + inner * CELL / 2, low - 10, f"a ({rows}, {inner})", strong=True),
        _text(right + columns * CELL / 2, top - 12, f"b ({inner}, {columns})", strong=True),
        _text(right + columns * CELL / 2, low - 10, f"out ({rows}, {columns})", strong=True),
    ]
    for i in range(rows):
        for k in range(inner):
            used = i // tile == at[0]
            parts.append(_cell(left + k * CELL, low + i * CELL, CELL, str(k // tile + 1) if used else "", marked=used))
        for j in range(columns):
            mine = i // tile == at[0] and j // tile == at[1]
            parts.append(_cell(right + j * CELL, low + i * CELL, CELL, "·" if mine else "", marked=mine))
    for k in range(inner):
        for j in range(columns):
            used = j // tile == at[1]
            parts.append(_cell(right + j * CELL, top + k * CELL, CELL, str(k // tile + 1) if used else "", marked=used))
    return _figure(parts, right + columns * CELL + 10, low + rows * CELL + 10, caption)
