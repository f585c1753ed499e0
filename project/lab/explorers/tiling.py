"""A matrix product in steps, element by element or tile by tile through shared memory, with every read and write counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import product

import numpy as np

from project.lab.charts.cells import Cell, grid, in_pairs

ORDERS = ("element by element", "tile by tile")
MOST = 16
"""The most rows of a matrix that is drawn."""

Index = tuple[int, int]


@dataclass(frozen=True)
class Counts:
    """How often memory was used, and how many products of two numbers were computed."""

    global_reads: int = 0
    global_writes: int = 0
    shared_writes: int = 0
    shared_reads: int = 0
    products: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(x + y for x, y in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Step:
    """What happens at one time.

    Attributes:
        kind: "element" (a row times a column), or of a block "load", "multiply" or "write".
        row: The first row of C that it is about.
        column: The first column of C.
        start: The first column of A, and row of B, that it is about.
    """

    kind: str
    row: int
    column: int
    start: int = 0


@dataclass
class Memory:
    """What stands where after some steps.

    Attributes:
        sums: What has been added up for each element of C.
        begun: Whether anything has been.
        written: Whether it stands in global memory.
        a_tile: The tile of A in shared memory.
        b_tile: That of B.
        loaded: Whether the tiles have been loaded.
        counts: All that has been counted.
    """

    sums: np.ndarray
    begun: np.ndarray
    written: np.ndarray
    a_tile: np.ndarray
    b_tile: np.ndarray
    loaded: bool = False
    counts: Counts = Counts()


class Tiling:
    """The product C = A · B of two square matrices of small whole numbers.

    Args:
        n: Rows and columns.
        tile: Rows and columns of a tile, and of a block of threads.
        order: One of ORDERS.
    """

    def __init__(self, n: int, tile: int, order: str) -> None:
        numbers = np.random.default_rng(n)
        self.n, self.tile, self.tiled = n, tile, order == ORDERS[1]
        self.a, self.b = numbers.integers(0, 5, (n, n)), numbers.integers(0, 5, (n, n))
        self.steps = list(self._tile_by_tile() if self.tiled else self._element_by_element())

    def _element_by_element(self) -> Iterator[Step]:
        """A step for every element of C."""
        for row, column in product(range(self.n), repeat=2):
            yield Step("element", row, column)

    def _tile_by_tile(self) -> Iterator[Step]:
        """For every block of C: load two tiles, multiply them, and so on along the row of tiles; then write."""
        starts = range(0, self.n, self.tile)
        for row, column in product(starts, starts):
            for start in starts:
                yield Step("load", row, column, start)
                yield Step("multiply", row, column, start)
            yield Step("write", row, column)

    def span(self, first: int) -> slice:
        """The rows, or columns, of a tile that the matrix has."""
        return slice(first, min(first + self.tile, self.n))

    def reads(self, step: Step) -> tuple[set[Index], set[Index]]:
        """The elements of A and of B that a step reads from global memory. Padding is not read."""
        if step.kind == "element":
            return {(step.row, k) for k in range(self.n)}, {(k, step.column) for k in range(self.n)}
        if step.kind == "load":
            return self._cells(step.row, step.start), self._cells(step.start, step.column)
        return set(), set()

    def block(self, step: Step) -> set[Index]:
        """The elements of C that a step is about."""
        return {(step.row, step.column)} if step.kind == "element" else self._cells(step.row, step.column)

    def _cells(self, row: int, column: int) -> set[Index]:
        """The elements of the tile that begins there."""
        rows, columns = self.span(row), self.span(column)
        return set(product(range(rows.start, rows.stop), range(columns.start, columns.stop)))

    def counts(self, step: Step) -> Counts:
        """What one step counts. Threads beyond the edge take part in what happens in shared memory."""
        threads = self.tile**2
        match step.kind:
            case "element":
                return Counts(global_reads=2 * self.n, global_writes=1, products=self.n)
            case "load":
                return Counts(global_reads=sum(map(len, self.reads(step))), shared_writes=2 * threads)
            case "multiply":
                return Counts(shared_reads=2 * self.tile * threads, products=self.tile * threads)
        return Counts(global_writes=len(self.block(step)))

    def after(self, number: int) -> Memory:
        """What stands where after so many steps."""
        square, tile = (self.n, self.n), np.zeros((self.tile, self.tile), int)
        memory = Memory(np.zeros(square, int), np.zeros(square, bool), np.zeros(square, bool), tile, tile)
        for step in self.steps[:number]:
            self._take(step, memory)
        return memory

    def _take(self, step: Step, memory: Memory) -> None:
        """Let a step happen."""
        memory.counts += self.counts(step)
        if step.kind == "element":
            at = step.row, step.column
            memory.sums[at] = self.a[step.row] @ self.b[:, step.column]
            memory.begun[at] = memory.written[at] = True
            return
        rows, columns, inner = self.span(step.row), self.span(step.column), self.span(step.start)
        if step.kind == "load":
            memory.a_tile, memory.b_tile = self._padded(self.a[rows, inner]), self._padded(self.b[inner, columns])
            memory.loaded = True
        elif step.kind == "multiply":
            found = memory.a_tile @ memory.b_tile
            memory.sums[rows, columns] += found[: rows.stop - rows.start, : columns.stop - columns.start]
            memory.begun[rows, columns] = True
        elif step.kind == "write":
            memory.written[rows, columns] = True

    def _padded(self, tile: np.ndarray) -> np.ndarray:
        """A tile of full size, with zeros beyond the edge."""
        full = np.zeros((self.tile, self.tile), int)
        full[: tile.shape[0], : tile.shape[1]] = tile
        return full


# In words


def sentence(tiling: Tiling, number: int) -> str:
    """What has happened last."""
    if not number:
        return "Nothing has been read yet: all of A and B is in global memory."
    step = tiling.steps[number - 1]
    row, column, start = step.row // tiling.tile, step.column // tiling.tile, step.start // tiling.tile
    match step.kind:
        case "element":
            return (
                f"C[{step.row}, {step.column}]: row {step.row} of A and column {step.column} of B are read from global memory, "
                f"all {2 * tiling.n} numbers, though others have read them before or will again."
            )
        case "load":
            read, full = tiling.counts(step).global_reads, 2 * tiling.tile**2
            rest = "two for every thread" if read == full else f"and {full - read} zeros for what lies beyond the edge"
            return (
                f"Block ({row}, {column}) loads tile ({row}, {start}) of A and tile ({start}, {column}) of B: {read} reads from global "
                f"memory, {rest}. Then a barrier: no thread goes on before all have loaded."
            )
        case "multiply":
            return (
                f"Block ({row}, {column}) multiplies the two tiles: every thread adds {tiling.tile} products to its sum, and reads only "
                "shared memory. Then a barrier: no tile is overwritten while a thread still reads it."
            )
    return f"Block ({row}, {column}) has seen all tiles of its row and column: every thread writes its sum to C, once."


def arithmetic(tiling: Tiling, number: int, thread: Index) -> str:
    """What the step computes for one element: the one it is about, or that of the picked thread of the block."""
    if not number:
        return "C[i, j] = sum over k of A[i, k] · B[k, j]"
    step = tiling.steps[number - 1]
    if step.kind == "element":
        terms = _terms(tiling.a[step.row], tiling.b[:, step.column])
        return f"C[{step.row}, {step.column}] = {terms}\n        = {tiling.a[step.row] @ tiling.b[:, step.column]}"
    i, j = thread
    row, column = step.row + i, step.column + j
    inside = row < tiling.n and column < tiling.n
    if step.kind == "load":
        return "\n".join(
            [
                _loaded(tiling, "a_tile", "A", thread, (row, step.start + j)),
                _loaded(tiling, "b_tile", "B", thread, (step.start + i, column)),
            ]
        )
    if not inside:
        return f"C[{row}, {column}] lies beyond the edge: this thread multiplies zeros, and its guard lets it write nothing"
    before, after = tiling.after(number - 1), tiling.after(number)
    if step.kind == "write":
        return f"C[{row}, {column}] = {after.sums[row, column]}"
    terms = _terms(after.a_tile[i], after.b_tile[:, j])
    return f"sum for C[{row}, {column}] = {before.sums[row, column]} + {terms}\n{'':12}= {after.sums[row, column]}"


def _terms(row: np.ndarray, column: np.ndarray) -> str:
    """3·1 + 0·2 + …"""
    return " + ".join(f"{x}·{y}" for x, y in zip(row, column, strict=True))


def _loaded(tiling: Tiling, tile: str, matrix: str, thread: Index, source: Index) -> str:
    """What a thread puts into shared memory."""
    at = f"{tile}[{thread[0]}, {thread[1]}]"
    if max(source) >= tiling.n:
        return f"{at} = 0, since {matrix}[{source[0]}, {source[1]}] is beyond the edge"
    values = tiling.a if matrix == "A" else tiling.b
    return f"{at} = {matrix}[{source[0]}, {source[1]}] = {values[source]}"


def totals(tiling: Tiling, number: int) -> list[dict[str, str]]:
    """The counts of this step, so far, and of the whole product, beside those of the other way, as rows of a table."""
    now = tiling.counts(tiling.steps[number - 1]) if number else Counts()
    columns = {
        "this step": now,
        "so far": tiling.after(number).counts,
        "whole product": whole(tiling.n, tiling.tile, ORDERS[tiling.tiled]),
        ORDERS[not tiling.tiled]: whole(tiling.n, tiling.tile, ORDERS[not tiling.tiled]),
    }
    names = {
        "global reads": "global_reads",
        "global writes": "global_writes",
        "shared writes": "shared_writes",
        "shared reads": "shared_reads",
        "products": "products",
    }
    return [{"": label, **{title: f"{getattr(counts, name):,}" for title, counts in columns.items()}} for label, name in names.items()]


def progress(tiling: Tiling, number: int) -> str:
    """How much of it has been counted, in a sentence."""
    now, end = tiling.after(number).counts, whole(tiling.n, tiling.tile, ORDERS[tiling.tiled])
    parts = [f"{now.global_reads:,} of {end.global_reads:,} global reads"]
    parts += [f"{now.shared_reads:,} of {end.shared_reads:,} shared reads"] if tiling.tiled else []
    return "So far " + ", ".join([*parts, f"{now.global_writes:,} of {end.global_writes:,} global writes"]) + "."


def whole(n: int, tile: int, order: str) -> Counts:
    """The counts of a whole product, by formula."""
    if order == ORDERS[0]:
        return Counts(global_reads=2 * n**3, global_writes=n**2, products=n**3)
    blocks = -(-n // tile)
    padded = blocks * tile
    return Counts(2 * n**2 * blocks, n**2, 2 * padded**2 * blocks, 2 * padded**3, padded**3)


def comparison(n: int, tile: int) -> str:
    """The global reads of both ways, with their formulas."""
    naive, tiled = whole(n, tile, ORDERS[0]).global_reads, whole(n, tile, ORDERS[1]).global_reads
    blocks = -(-n // tile)
    lines = [
        f"element by element: 2·n³ = 2·{n}³ = {naive:,} global reads",
        f"tile by tile: 2·n²·(n/t) = 2·{n}²·{blocks} = {tiled:,} global reads, {naive / tiled:.3g} times fewer",
    ]
    if n % tile:
        lines.append(f"{tile} does not divide {n}: n/t is rounded up to {blocks}, and the last tiles are filled with zeros")
    return "\n".join(lines)


# The picture


def panel(tiling: Tiling, number: int, thread: Index) -> str:
    """The markup of A, B and C, and of the tiles in shared memory: A to the left of C and B above it, as one multiplies by hand."""
    memory = tiling.after(number)
    step = tiling.steps[number - 1] if number else None
    reads = tiling.reads(step) if step else (set(), set())
    width = 2.2 if tiling.n <= 6 else 1.8 if tiling.n <= 10 else 1.45
    drawn = []
    for name, values, read, mine in zip("AB", (tiling.a, tiling.b), reads, _own_reads(tiling, step, thread), strict=True):
        cells = [
            _cell(tiling, name, index, str(value), "picked" if index == mine else "read" if index in read else "")
            for index, value in np.ndenumerate(values)
        ]
        drawn.append(grid(f"{name}, in global memory", values.shape, cells, width))
    a, b = drawn
    c = grid("C, in global memory", (tiling.n,) * 2, _cells_of_c(tiling, memory, step, thread), width)
    return in_pairs([_shared(tiling, memory, step, thread, width), b, a, c])


def _own_reads(tiling: Tiling, step: Step | None, thread: Index) -> tuple[Index | None, Index | None]:
    """The elements of A and B that the picked thread loads."""
    if step is None or step.kind != "load":
        return None, None
    i, j = thread
    return (step.row + i, step.start + j), (step.start + i, step.column + j)


def _cell(tiling: Tiling, name: str, index: Index, text: str, look: str = "", note: str = "", pick: str = "") -> Cell:
    """A cell of one of the matrices; tiles are shaded like a chessboard."""
    i, j = index
    tag = f"{name}{i},{j}"
    shade = tiling.tiled and bool((i // tiling.tile + j // tiling.tile) % 2)
    return Cell(text, tag, (tag,), note or f"{name}[{i}, {j}] = {text}", look, pick, shade=shade)


def _cells_of_c(tiling: Tiling, memory: Memory, step: Step | None, thread: Index) -> list[Cell]:
    """C: what is written, what is being summed, and what has not begun."""
    about = tiling.block(step) if step else set()
    mine = (step.row + thread[0], step.column + thread[1]) if step and tiling.tiled else None
    changing = step is not None and step.kind != "load"
    cells = []
    for i, j in product(range(tiling.n), repeat=2):
        index = i, j
        value = str(memory.sums[index]) if memory.begun[index] else ""
        where = "in global memory" if memory.written[index] else "so far, in a register" if value else "not begun"
        look = "picked" if index == mine else "changed" if index in about and changing else "linked" if index in about else ""
        text = value if memory.written[index] or not value else f"{value}…"
        note = f"C[{i}, {j}]{f' = {value}' if value else ''}, {where}"
        cells.append(_cell(tiling, "C", index, text, look, note=note, pick=f"{i},{j}"))
    return cells


def _shared(tiling: Tiling, memory: Memory, step: Step | None, thread: Index, width: float) -> str:
    """The two tiles in shared memory, side by side."""
    if not tiling.tiled:
        return "<section><h4>Shared memory</h4><p class='none'>Not used in this order.</p></section>"
    i, j = thread
    panels = []
    for name, values in (("a_tile", memory.a_tile), ("b_tile", memory.b_tile)):
        cells = []
        for index in product(range(tiling.tile), repeat=2):
            text = str(values[index]) if memory.loaded else ""
            note = f"{name}[{index[0]}, {index[1]}] " + (f"= {text}" if text else "holds nothing yet")
            mine = index[0] == i if name == "a_tile" else index[1] == j
            look = ""
            if step and step.kind == "load":
                look = "picked" if index == thread else "changed"
            elif step and step.kind == "multiply":
                look = "linked" if mine else "read"
            cells.append(Cell(text, f"{name}{index[0]},{index[1]}", (), note, look))
        panels.append(grid(f"{name}, in shared memory", (tiling.tile,) * 2, cells, width))
    return f'<div class="picture">{"".join(panels)}</div>'


def moment_of(tiling: Tiling, element: Index, number: int) -> int:
    """The number of the step to show when an element of C is picked: of its block the step of the same kind, or the first."""
    if not tiling.tiled:
        return element[0] * tiling.n + element[1] + 1
    blocks = -(-tiling.n // tiling.tile)
    each = 2 * blocks + 1
    block = element[0] // tiling.tile * blocks + element[1] // tiling.tile
    return block * each + (number - 1) % each + 1 if number else block * each + 1
