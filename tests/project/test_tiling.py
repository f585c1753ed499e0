"""A tiled matrix product step by step: its sums, the numbers of reads and writes, and its descriptions."""

import re

import numpy as np
import pytest

from project.lab.explorers.tiling import ORDERS, Counts, Tiling, arithmetic, comparison, moment_of, panel, progress, sentence, totals, whole

NAIVE, TILED = ORDERS
SIZES = [(2, 2), (4, 2), (6, 3), (7, 3), (5, 4), (8, 8), (16, 4), (16, 2), (9, 8)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("n", "tile"), SIZES)
def test_in_the_end_every_sum_equals_the_product_and_is_written_and_the_counts_equal_the_formula(n, tile, order):
    tiling = Tiling(n, tile, order)
    memory = tiling.after(len(tiling.steps))
    assert np.array_equal(memory.sums, tiling.a @ tiling.b)
    assert memory.written.all()
    assert memory.counts == whole(n, tile, order)


@pytest.mark.parametrize(
    ("n", "tile", "order", "counts"),
    [  # computed by hand
        (4, 2, NAIVE, Counts(global_reads=128, global_writes=16, products=64)),
        (4, 2, TILED, Counts(global_reads=64, global_writes=16, shared_writes=64, shared_reads=128, products=64)),
        (4, 4, TILED, Counts(global_reads=32, global_writes=16, shared_writes=32, shared_reads=128, products=64)),
        # 3 with tiles of 2: 4 blocks of 2 rounds, 8 cells of shared memory each; a block row reads 2 · 9 elements of A, as often of B
        (3, 2, TILED, Counts(global_reads=36, global_writes=9, shared_writes=64, shared_reads=128, products=64)),
    ],
)
def test_the_formula_equals_counts_by_hand(n, tile, order, counts):
    assert whole(n, tile, order) == counts


@pytest.mark.parametrize("tile", [2, 4, 8, 16])
def test_a_tile_size_that_divides_n_reduces_reads_by_its_size(tile):
    assert whole(16, tile, NAIVE).global_reads == 2 * 16**3
    assert whole(16, tile, TILED).global_reads == 2 * 16**3 // tile


def test_nothing_is_read_past_the_edge_and_tiles_are_padded_with_zeros():
    tiling = Tiling(5, 4, TILED)
    corner = next(i for i, step in enumerate(tiling.steps) if step.kind == "load" and step.row == step.column == step.start == 4)
    assert tiling.reads(tiling.steps[corner]) == ({(4, 4)}, {(4, 4)})
    memory = tiling.after(corner + 1)
    assert memory.a_tile[0, 0] == tiling.a[4, 4]
    assert np.count_nonzero(memory.a_tile.reshape(-1)[1:]) == 0
    assert np.count_nonzero(memory.b_tile.reshape(-1)[1:]) == 0


def test_sums_accumulate_in_registers_and_are_written_once_at_the_end():
    tiling = Tiling(4, 2, TILED)
    assert [step.kind for step in tiling.steps[:5]] == ["load", "multiply", "load", "multiply", "write"]
    half, end = tiling.after(2), tiling.after(5)
    assert np.array_equal(half.sums[:2, :2], tiling.a[:2, :2] @ tiling.b[:2, :2])
    assert (half.begun.sum(), half.counts.global_writes) == (4, 0)
    assert (end.written.sum(), end.counts.global_writes) == (4, 4)


def test_a_sentence_describes_every_step():
    tiling = Tiling(5, 4, TILED)
    assert sentence(tiling, 0) == "Nothing has been read yet. A and B are in global memory."
    assert "loads tile (0, 0) of A and tile (0, 0) of B: 32 reads from global memory, two per thread" in sentence(tiling, 1)
    assert "every thread adds 4 products to its sum" in sentence(tiling, 2)
    assert "tile (0, 1) of A and tile (1, 0) of B: 8 reads from global memory, and 24 zeros" in sentence(tiling, 3)
    assert sentence(tiling, 5).startswith("Block (0, 0) has processed all tiles")
    assert "C[0, 1]: row 0 of A and column 1 of B are read from global memory, 10 numbers in total" in sentence(Tiling(5, 2, NAIVE), 2)


def make_tiling(order, n=3, tile=2):
    tiling = Tiling(n, tile, order)
    tiling.a, tiling.b = np.arange(n * n).reshape(n, n), np.ones((n, n), int)
    return tiling


def test_the_arithmetic_of_one_cell_is_spelled_out():
    assert arithmetic(make_tiling(NAIVE), 0, (0, 0)) == "C[i, j] = sum over k of A[i, k] · B[k, j]"
    assert arithmetic(make_tiling(NAIVE), 4, (0, 0)) == "C[1, 0] = 3·1 + 4·1 + 5·1\n        = 12"
    tiled = make_tiling(TILED)
    assert arithmetic(tiled, 1, (1, 0)) == "a_tile[1, 0] = A[1, 0] = 3\nb_tile[1, 0] = B[1, 0] = 1"
    assert arithmetic(tiled, 2, (1, 0)) == "sum for C[1, 0] = 0 + 3·1 + 4·1\n            = 7"
    assert arithmetic(tiled, 4, (1, 0)) == "sum for C[1, 0] = 7 + 5·1 + 0·0\n            = 12"
    assert arithmetic(tiled, 5, (1, 0)) == "C[1, 0] = 12"


def test_a_thread_past_the_edge_loads_zeros_and_writes_nothing():
    tiled = make_tiling(TILED)  # the second block has only column 2
    assert "b_tile[0, 1] = 0, because B[0, 3] is outside of the matrix" in arithmetic(tiled, 6, (0, 1))
    assert "a_tile[0, 1] = A[0, 1] = 1" in arithmetic(tiled, 6, (0, 1))
    for number in (7, 10):
        assert arithmetic(tiled, number, (0, 1)).startswith("C[0, 3] is outside of the matrix")


def test_the_table_counts_the_current_step_the_total_and_the_other_order():
    rows = {row[""]: list(row.values())[1:] for row in totals(Tiling(4, 2, TILED), 3)}
    assert rows["global reads"] == ["8", "16", "64", "128"]
    assert rows["shared reads"] == ["0", "16", "128", "0"]
    assert list(totals(Tiling(4, 2, TILED), 0)[0]) == ["", "this step", "so far", "whole product", NAIVE]
    assert progress(Tiling(4, 2, TILED), 5) == "So far 16 of 64 global reads, 32 of 128 shared reads, 4 of 16 global writes."
    assert progress(Tiling(4, 2, NAIVE), 1) == "So far 8 of 128 global reads, 1 of 16 global writes."


def test_both_orders_are_compared_with_their_formulas():
    assert comparison(8, 4).splitlines() == [
        "element by element: 2·n³ = 2·8³ = 1,024 global reads",
        "tile by tile: 2·n²·(n/t) = 2·8²·2 = 256 global reads, 4× fewer",
    ]
    assert comparison(5, 4).splitlines()[-1] == "4 does not divide 5: n/t is rounded up to 2, and the last tiles are padded with zeros"


def cells(markup, tag):
    """CSS classes and label of a cell."""
    found = re.search(rf'class="([^"]*)" data-tag="{tag}"[^>]*? aria-label="([^"]*)"', markup)
    return found[1].split()[1:], found[2]


def test_reads_and_writes_are_highlighted():
    tiling = make_tiling(TILED)
    load = panel(tiling, 1, (0, 0))
    assert cells(load, "A0,0") == (["picked"], "A[0, 0] = 0; picked")
    assert cells(load, "A1,1") == (["read"], "A[1, 1] = 4; read in this step")
    assert cells(load, "A0,2") == (["shade"], "A[0, 2] = 2")
    assert cells(load, "a_tile1,0") == (["changed"], "a_tile[1, 0] = 3; changes in this step")
    multiply = panel(tiling, 2, (1, 0))
    assert cells(multiply, "a_tile1,1")[0] == ["linked"]
    assert cells(multiply, "b_tile1,1")[0] == ["read"]
    assert cells(multiply, "C1,0") == (["picked"], "C[1, 0] = 7, partial sum in a register; picked")
    assert cells(multiply, "C2,2") == ([], "C[2, 2], not started")
    assert cells(panel(tiling, 5, (1, 0)), "C0,0") == (["changed"], "C[0, 0] = 3, in global memory; changes in this step")
    assert cells(panel(tiling, 0, (0, 0)), "a_tile0,0") == ([], "a_tile[0, 0] is empty")
    assert "Not used in this order." in panel(make_tiling(NAIVE), 1, (0, 0))


@pytest.mark.parametrize(("n", "tile"), SIZES)
@pytest.mark.parametrize("order", ORDERS)
def test_selecting_an_element_jumps_to_a_step_of_its_block(n, tile, order):
    tiling = Tiling(n, tile, order)
    for number in (0, 1, len(tiling.steps)):
        for element in [(0, 0), (n - 1, 0), (0, n - 1), (n - 1, n - 1), (n // 2, 1)]:
            step = tiling.steps[moment_of(tiling, element, number) - 1]
            assert element in tiling.block(step)
            assert not number or step.kind == tiling.steps[number - 1].kind
