"""A matrix product in steps, element by element or tile by tile through shared memory, counting every read and write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import product

import numpy as np

from project.lab.charts.cells import Cell, grid, in_pairs

ORDERS = ("element by element", "tile by tile")
MOST = 16
"""The largest number of rows of a matrix that is drawn."""

Index = tuple[int, int]


@dataclass(frozen=True)
class Counts:
    """The numbers of memory accesses and of multiplications."""

    global_reads: int = 0
    global_writes: int = 0
    shared_writes: int = 0
    shared_reads: int = 0
    products: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(x + y for x, y in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Step:
    """One step of the product.

    Attributes:
        kind: "element" (a row times a column), or for a block "load", "multiply" or "write".
        row: The first row of C in this step.
        column: The first column of C.
        start: The first column of A and row of B.
    """

    kind: str
    row: int
    column: int
    start: int = 0


@dataclass
class Memory:
    """The state of memory after some steps.

    Attributes:
        sums: The partial sum of each element of C.
        begun: Whether a sum has been started.
        written: Whether it has been written to global memory.
        a_tile: The tile of A in shared memory.
        b_tile: The tile of B in shared memory.
        loaded: Whether the tiles have been loaded.
        counts: The counts so far.
    """

    sums: np.ndarray
    begun: np.ndarray
    written: np.ndarray
    a_tile: np.ndarray
    b_tile: np.ndarray
    loaded: bool = False
    counts: Counts = Counts()


class Tiling:
    """The product C = A · B of two square matrices of small integers.

    Args:
        n: Rows and columns of the matrices.
        tile: Rows and columns of a tile, and of a block of threads.
        order: One of ORDERS.
    """

    def __init__(self, n: int, tile: int, order: str) -> None:
        numbers = np.random.default_rng(n)
        self.n, self.tile, self.tiled = n, tile, order == ORDERS[1]
        self.a, self.b = numbers.integers(0, 5, (n, n)), numbers.integers(0, 5, (n, n))
        self.steps = list(self._tile_by_tile() if self.tiled else self._element_by_element())

    def _element_by_element(self) -> Iterator[Step]:
        """Yield one step per element of C."""
        for row, column in product(range(self.n), repeat=2):
            yield Step("element", row, column)

    def _tile_by_tile(self) -> Iterator[Step]:
        """For every block of C, yield steps that load and multiply all pairs of tiles, then a step that writes."""
        starts = range(0, self.n, self.tile)
        for row, column in product(starts, starts):
            for start in starts:
                yield Step("load", row, column, start)
                yield Step("multiply", row, column, start)
            yield Step("write", row, column)

    def span(self, first: int) -> slice:
        """Return the rows or columns of a tile that are inside of the matrix."""
        return slice(first, min(first + self.tile, self.n))

    def reads(self, step: Step) -> tuple[set[Index], set[Index]]:
        """Return the elements of A and of B that a step reads from global memory. Padding is not read."""
        if step.kind == "element":
            return {(step.row, k) for k in range(self.n)}, {(k, step.column) for k in range(self.n)}
        if step.kind == "load":
            return self._cells(step.row, step.start), self._cells(step.start, step.column)
        return set(), set()

    def block(self, step: Step) -> set[Index]:
        """Return the elements of C in a step."""
        return {(step.row, step.column)} if step.kind == "element" else self._cells(step.row, step.column)

    def _cells(self, row: int, column: int) -> set[Index]:
        """Return the elements of the tile that starts at a row and a column."""
        rows, columns = self.span(row), self.span(column)
        return set(product(range(rows.start, rows.stop), range(columns.start, columns.stop)))

    def counts(self, step: Step) -> Counts:
        """Return the counts of one step. Threads outside of the matrix also access shared memory."""
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
        """Return the state of memory after a number of steps."""
        square, tile = (self.n, self.n), np.zeros((self.tile, self.tile), int)
        memory = Memory(np.zeros(square, int), np.zeros(square, bool), np.zeros(square, bool), tile, tile)
        for step in self.steps[:number]:
            self._take(step, memory)
        return memory

    def _take(self, step: Step, memory: Memory) -> None:
        """Run a step."""
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
        """Return a tile of full size, with zeros outside of the matrix."""
        full = np.zeros((self.tile, self.tile), int)
        full[: tile.shape[0], : tile.shape[1]] = tile
        return full


# Text


def sentence(tiling: Tiling, number: int) -> str:
    """Describe the last step."""
    if not number:
        return "Nothing has been read yet. A and B are in global memory."
    step = tiling.steps[number - 1]
    row, column, start = step.row // tiling.tile, step.column // tiling.tile, step.start // tiling.tile
    match step.kind:
        case "element":
            return (
                f"C[{step.row}, {step.column}]: row {step.row} of A and column {step.column} of B are read from global memory, "
                f"{2 * tiling.n} numbers in total, although other elements read them as well."
            )
        case "load":
            read, full = tiling.counts(step).global_reads, 2 * tiling.tile**2
            rest = "two per thread" if read == full else f"and {full - read} zeros for positions outside of the matrix"
            return (
                f"Block ({row}, {column}) loads tile ({row}, {start}) of A and tile ({start}, {column}) of B: {read} reads from global "
                f"memory, {rest}. Then a barrier: no thread continues before all have loaded."
            )
        case "multiply":
            return (
                f"Block ({row}, {column}) multiplies the two tiles: every thread adds {tiling.tile} products to its sum, reading only from "
                "shared memory. Then a barrier: no tile is overwritten while another thread still reads it."
            )
    return f"Block ({row}, {column}) has processed all tiles of its row and column: every thread writes its sum to C once."


def arithmetic(tiling: Tiling, number: int, thread: Index) -> str:
    """Return what the step computes for its element, or for the selected thread of the block."""
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
        return f"C[{row}, {column}] is outside of the matrix: this thread multiplies zeros, and its guard prevents the write"
    before, after = tiling.after(number - 1), tiling.after(number)
    if step.kind == "write":
        return f"C[{row}, {column}] = {after.sums[row, column]}"
    terms = _terms(after.a_tile[i], after.b_tile[:, j])
    return f"sum for C[{row}, {column}] = {before.sums[row, column]} + {terms}\n{'':12}= {after.sums[row, column]}"


def _terms(row: np.ndarray, column: np.ndarray) -> str:
    """3·1 + 0·2 + …"""
    return " + ".join(f"{x}·{y}" for x, y in zip(row, column, strict=True))


def _loaded(tiling: Tiling, tile: str, matrix: str, thread: Index, source: Index) -> str:
    """Return what a thread stores in shared memory."""
    at = f"{tile}[{thread[0]}, {thread[1]}]"
    if max(source) >= tiling.n:
        return f"{at} = 0, because {matrix}[{source[0]}, {source[1]}] is outside of the matrix"
    values = tiling.a if matrix == "A" else tiling.b
    return f"{at} = {matrix}[{source[0]}, {source[1]}] = {values[source]}"


def totals(tiling: Tiling, number: int) -> list[dict[str, str]]:
    """Return a table of the counts of this step, so far, and of the whole product in both orders."""
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
    """Describe the counts so far."""
    now, end = tiling.after(number).counts, whole(tiling.n, tiling.tile, ORDERS[tiling.tiled])
    parts = [f"{now.global_reads:,} of {end.global_reads:,} global reads"]
    parts += [f"{now.shared_reads:,} of {end.shared_reads:,} shared reads"] if tiling.tiled else []
    return "So far " + ", ".join([*parts, f"{now.global_writes:,} of {end.global_writes:,} global writes"]) + "."


def whole(n: int, tile: int, order: str) -> Counts:
    """Return the counts of a whole product, by formula."""
    if order == ORDERS[0]:
        return Counts(global_reads=2 * n**3, global_writes=n**2, products=n**3)
    blocks = -(-n // tile)
    padded = blocks * tile
    return Counts(2 * n**2 * blocks, n**2, 2 * padded**2 * blocks, 2 * padded**3, padded**3)


def comparison(n: int, tile: int) -> str:
    """Return the global reads of both orders, with their formulas."""
    naive, tiled = whole(n, tile, ORDERS[0]).global_reads, whole(n, tile, ORDERS[1]).global_reads
    blocks = -(-n // tile)
    lines = [
        f"element by element: 2·n³ = 2·{n}³ = {naive:,} global reads",
        f"tile by tile: 2·n²·(n/t) = 2·{n}²·{blocks} = {tiled:,} global reads, {naive / tiled:.3g}× fewer",
    ]
    if n % tile:
        lines.append(f"{tile} does not divide {n}: n/t is rounded up to {blocks}, and the last tiles are padded with zeros")
    return "\n".join(lines)


# Drawing


def panel(tiling: Tiling, number: int, thread: Index) -> str:
    """Return the markup of the matrices and of the tiles in shared memory, with A to the left of C and B above it."""
    memory = tiling.after(number)
    step = tiling.steps[number - 1] if number else None
    reads = tiling.reads(step) if step else (set(), set())
    width = 2.2 if tiling.n <= 6 else 1.8 if tiling.n <= 10 else 1.45
    panels = []
    for name, values, read, mine in zip("AB", (tiling.a, tiling.b), reads, _own_reads(tiling, step, thread), strict=True):
        cells = [
            _cell(tiling, name, index, str(value), "picked" if index == mine else "read" if index in read else "")
            for index, value in np.ndenumerate(values)
        ]
        panels.append(grid(f"{name}, in global memory", values.shape, cells, width))
    a, b = panels
    c = grid("C, in global memory", (tiling.n,) * 2, _cells_of_c(tiling, memory, step, thread), width)
    return in_pairs([_shared(tiling, memory, step, thread, width), b, a, c])


def _own_reads(tiling: Tiling, step: Step | None, thread: Index) -> tuple[Index | None, Index | None]:
    """Return the elements of A and B that the selected thread loads."""
    if step is None or step.kind != "load":
        return None, None
    i, j = thread
    return (step.row + i, step.start + j), (step.start + i, step.column + j)


def _cell(tiling: Tiling, name: str, index: Index, text: str, look: str = "", note: str = "", pick: str = "") -> Cell:
    """Return a cell of one of the matrices; every other tile is shaded."""
    i, j = index
    tag = f"{name}{i},{j}"
    shade = tiling.tiled and bool((i // tiling.tile + j // tiling.tile) % 2)
    return Cell(text, tag, (tag,), note or f"{name}[{i}, {j}] = {text}", look, pick, shade=shade)


def _cells_of_c(tiling: Tiling, memory: Memory, step: Step | None, thread: Index) -> list[Cell]:
    """Return the cells of C, which show whether each sum is written, in progress or not started."""
    about = tiling.block(step) if step else set()
    mine = (step.row + thread[0], step.column + thread[1]) if step and tiling.tiled else None
    changing = step is not None and step.kind != "load"
    cells = []
    for i, j in product(range(tiling.n), repeat=2):
        index = i, j
        value = str(memory.sums[index]) if memory.begun[index] else ""
        where = "in global memory" if memory.written[index] else "partial sum in a register" if value else "not started"
        look = "picked" if index == mine else "changed" if index in about and changing else "linked" if index in about else ""
        text = value if memory.written[index] or not value else f"{value}…"
        note = f"C[{i}, {j}]{f' = {value}' if value else ''}, {where}"
        cells.append(_cell(tiling, "C", index, text, look, note=note, pick=f"{i},{j}"))
    return cells


def _shared(tiling: Tiling, memory: Memory, step: Step | None, thread: Index, width: float) -> str:
    """Return the two tiles in shared memory."""
    if not tiling.tiled:
        return "<section><h4>Shared memory</h4><p class='none'>Not used in this order.</p></section>"
    i, j = thread
    panels = []
    for name, values in (("a_tile", memory.a_tile), ("b_tile", memory.b_tile)):
        cells = []
        for index in product(range(tiling.tile), repeat=2):
            text = str(values[index]) if memory.loaded else ""
            note = f"{name}[{index[0]}, {index[1]}] " + (f"= {text}" if text else "is empty")
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
    """Return the step to show when an element of C is selected: the step of the same kind of its block, or the first one."""
    if not tiling.tiled:
        return element[0] * tiling.n + element[1] + 1
    blocks = -(-tiling.n // tiling.tile)
    each = 2 * blocks + 1
    block = element[0] // tiling.tile * blocks + element[1] // tiling.tile
    return block * each + (number - 1) % each + 1 if number else block * each + 1
