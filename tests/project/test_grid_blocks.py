"""Which thread computes which element: each element has exactly one thread, and the other threads are idle."""

import re
from collections import Counter
from itertools import product

import pytest

from project.lab.explorers.grid_blocks import AHEAD, Map, Product

MAPS = [((4, 5), 8), ((1,), 1), ((8,), 8), ((9,), 8), ((2, 3, 4), 5), ((), 4), ((64,), 32)]
PRODUCTS = [(7, 6, 4), (4, 4, 4), (1, 1, 2), (5, 12, 3), (12, 5, 6)]


@pytest.mark.parametrize(("shape", "threads"), MAPS)
def test_in_a_map_every_element_has_one_thread_and_the_others_are_idle(shape, threads):
    launched = Map(shape, threads)
    elements = [launched.element(block, thread) for block in range(launched.blocks) for thread in range(threads)]
    assert elements[: launched.size] == list(range(launched.size))
    assert len(elements) - launched.size == launched.idle < threads


@pytest.mark.parametrize("ahead", AHEAD)
@pytest.mark.parametrize(("rows", "columns", "side"), PRODUCTS)
def test_in_a_product_every_element_has_one_thread_and_the_others_are_idle(rows, columns, side, ahead):
    launched = Product(rows, columns, side, ahead)
    down, across = launched.blocks
    found = Counter()
    for block, thread in product(product(range(down), range(across)), product(range(side), repeat=2)):
        element = launched.element(block, thread)
        assert launched.thread(*element) == (block, thread)
        found[element] += 1
    inside = [element for element in found if launched.inside(*element)]
    assert sorted(inside) == list(product(range(rows), range(columns)))
    assert set(found.values()) == {1}
    assert len(found) - len(inside) == launched.idle
    assert (down - 1) * side < rows <= down * side
    assert (across - 1) * side < columns <= across * side


@pytest.mark.parametrize(
    ("launched", "says"),
    [
        (Map((4, 5), 8), "20 elements need 3 blocks of 8 threads, one thread per element; 4 threads of the last block have no element."),
        (Map((7,), 8), "7 elements need 1 block of 8 threads, one thread per element; 1 thread of the last block has no element."),
        (Map((8,), 8), "8 elements need 1 block of 8 threads, one thread per element."),
        (Product(7, 6, 4, ""), "7 × 6 elements need 2 × 2 blocks of 4 × 4 threads, one thread per element; 22 threads have no element."),
        (Product(4, 4, 4, ""), "4 × 4 elements need 1 × 1 blocks of 4 × 4 threads, one thread per element."),
    ],
)
def test_a_sentence_describes_the_launch(launched, says):
    assert launched.launch() == says


def test_the_formula_of_a_map_contains_the_thread_s_numbers():
    launched = Map((4, 5), 8)
    begin = ["i = blockIdx.x · blockDim.x + threadIdx.x", "  = 2 · 8 + 3", "  = 19"]
    assert launched.formula(2, 3, True).splitlines() == [*begin, "19 < 20: index [3, 4], out[3, 4] = fn(a[3, 4])"]
    assert launched.formula(2, 3, False).splitlines()[3] == "index [3, 4], out[3, 4] = fn(a[3, 4])"
    assert launched.formula(2, 4, True).splitlines()[3] == "20 < 20 is false: the guard stops this thread"
    assert launched.formula(2, 5, False).splitlines()[3:] == [
        "if i is used as a storage position: writes position 21, past the end of out, which has 20 elements",
        "if to_index is used, which wraps around: writes out[0, 1], the element of another thread",
    ]


def test_the_formula_of_a_product_contains_the_thread_s_numbers():
    launched = Product(7, 6, 4, "columns")
    assert launched.formula((1, 0), (3, 2), True).splitlines() == [
        "row    = blockIdx.x · BLOCK_DIM + threadIdx.y = 1 · 4 + 2 = 6",
        "column = blockIdx.y · BLOCK_DIM + threadIdx.x = 0 · 4 + 3 = 3",
        "6 < 7 and 3 < 6",
        "out[6, 3] = sum over k of a[6, k] · b[k, 3]",
        "storage position = 6 · 6 + 3 = 39",
    ]
    assert launched.formula((0, 1), (2, 1), True).splitlines()[2:] == ["1 < 7 and 6 < 6 is false: this thread writes nothing"]
    other = Product(7, 6, 4, "rows").formula((1, 0), (3, 2), True).splitlines()
    assert other[:2] == [
        "row    = blockIdx.x · BLOCK_DIM + threadIdx.x = 1 · 4 + 3 = 7",
        "column = blockIdx.y · BLOCK_DIM + threadIdx.y = 0 · 4 + 2 = 2",
    ]


def test_without_the_guard_a_product_writes_into_the_next_row_and_past_the_end():
    launched = Product(2, 3, 2, "columns")  # one thread column past the edge: [0, 3] is at position 3, [1, 3] at 6
    assert launched.overwritten() == {(0, 3): (1, 0)}
    assert launched.formula((0, 1), (1, 0), False).splitlines()[2:] == ["storage position = 0 · 3 + 3 = 3", "which belongs to out[1, 0]"]
    assert launched.formula((0, 1), (1, 1), False).splitlines()[2:] == ["storage position = 1 · 3 + 3 = 6", "which is past the end of out"]
    says = launched.unguarded()
    assert "The thread for [0, 3] writes position 0 · 3 + 3 = 3, which belongs to out[1, 0]" in says
    assert "1 thread would write past the end of out." in says
    assert "Such sizes hide a missing guard." in Product(4, 4, 2, "columns").unguarded()


def test_without_the_guard_a_map_writes_past_the_end():
    assert "The last threads have i = 20 to 23, but out has only 20 elements." in Map((4, 5), 8).unguarded()
    assert "One thread of block 0 has i = 7, but out has only 7 elements." in Map((7,), 8).unguarded()
    assert "Such sizes hide a missing guard." in Map((8,), 8).unguarded()


def test_neighboring_threads_write_adjacent_elements_or_a_row_apart():
    assert "write positions 4, 5. They are adjacent too" in Product(7, 6, 4, "columns").coalescing((0, 1))
    assert "write positions 0, 6, 12, 18. They are a row of out apart" in Product(7, 6, 4, "rows").coalescing((0, 0))


def css_classes(panel):
    return [" ".join(classes.split()[1:]) for classes in re.findall(r'class="(cell[^"]*)"', panel)]


def test_the_picture_of_a_map_shows_threads_and_elements():
    launched = Map((3,), 2)
    first, second, out = launched.panels(1, 0, guard=True)
    assert css_classes(first) == ["", ""]
    assert css_classes(second) == ["picked shade", "idle shade"]
    assert css_classes(out) == ["", "", "picked shade"]
    assert 'aria-label="out[2], element 2: block 1, thread 0; picked"' in out
    *_, second, _, behind = launched.panels(1, 0, guard=False)
    assert css_classes(second) == ["picked shade", "wrong shade"]
    assert css_classes(behind) == ["wrong"]


def test_the_picture_of_a_product_shows_what_is_overwritten():
    launched = Product(2, 3, 2, "columns")
    (guarded,) = launched.panels((0, 0), guard=True)
    assert css_classes(guarded) == ["picked", "", "shade", "idle shade", "", "", "shade", "idle shade"]
    (bare,) = launched.panels((0, 0), guard=False)
    assert css_classes(bare) == ["picked", "", "shade", "wrong shade", "wrong", "", "shade", "wrong shade"]
