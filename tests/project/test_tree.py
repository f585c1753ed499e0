"""A sum in shared memory: right with its guard and barriers, and wrong in the documented way without them."""

import pytest

from project.lab.explorers.tree_reduction import BARRIERS, GUARD, MISSING, NOTHING, ROUNDS, Tree
from tests.project.test_grid_blocks import css_classes

SIZES = [(1, 4), (4, 4), (5, 4), (20, 8), (32, 8), (64, 16), (33, 32)]


def block_sums(size, threads):
    """The sums of 1, 2, 3 … by blocks."""
    values = list(range(1, size + 1))
    return [sum(values[i : i + threads]) for i in range(0, size, threads)]


def adds(tree):
    return [(moment.active, moment.half) for moment in tree.moments if moment.kind == "add"]


@pytest.mark.parametrize(("size", "threads"), SIZES)
def test_every_block_writes_the_sum_of_its_elements_and_in_every_step_some_thread_acts(size, threads):
    tree = Tree(size, threads)
    assert list(tree.moments[-1].out) == tree.sums() == block_sums(size, threads)
    assert not any(moment.wrong for moment in tree.moments)
    for missing in MISSING:
        tree = Tree(size, threads, missing)
        for number, moment in enumerate(tree.moments):
            assert moment.kind == "begin" or moment.active
            assert tree.sentence(number)


@pytest.mark.parametrize(("size", "threads"), SIZES)
def test_a_round_halves_the_threads_until_one_is_left(size, threads):
    halves = [half for half in (16, 8, 4, 2, 1) if half < threads]
    tree = Tree(size, threads)
    assert adds(tree) == [(range(half), half) for half in halves]
    assert [moment.kind for moment in tree.moments] == ["begin", "load", *["add"] * len(halves), "write"]


def test_the_cells_after_each_round_equal_those_computed_by_hand():
    tree = Tree(6, 4)
    assert [moment.shared for moment in tree.moments] == [
        ((None,) * 4, (None,) * 4),
        ((1, 2, 3, 4), (5, 6, 0, 0)),
        ((4, 6, 3, 4), (5, 6, 0, 0)),
        ((10, 6, 3, 4), (11, 6, 0, 0)),
        ((10, 6, 3, 4), (11, 6, 0, 0)),
    ]
    assert [moment.out for moment in tree.moments[-2:]] == [(None, None), (10, 11)]


def test_without_the_guard_the_last_block_sums_memory_past_the_end():
    tree = Tree(6, 4, GUARD)
    assert tree.moments[1].shared == ((1, 2, 3, 4), (5, 6, None, None))
    assert tree.moments[-1].out == (10, None)
    assert "out[1] should be 11" in tree.lesson()
    assert "Such sizes hide a missing guard." in Tree(8, 4, GUARD).lesson()
    assert "contain whatever was past the end of a" in tree.sentence(2)


def test_without_barriers_between_rounds_a_fast_warp_adds_unfinished_cells():
    tree = Tree(16, 16, ROUNDS)
    # warp 0 adds cells 8 to 11 to its own, then cells 4 to 7 to which nobody has added 12 to 15 yet
    assert tree.moments[-1].out == (sum(range(1, 17)) - (13 + 14 + 15 + 16),)
    first = next(moment for moment in tree.moments if moment.wrong)
    assert first.half == 4
    assert first.wrong == {(0, 0), (0, 1), (0, 2), (0, 3)}
    assert "out[0] is 78; it should be 136" in tree.lesson()
    assert [moment.kind for moment in tree.moments].count("load") == 1


def test_without_any_barrier_a_warp_adds_unwritten_cells():
    tree = Tree(8, 8, BARRIERS)
    assert tree.moments[-1].out == (None,)
    assert "computed from uninitialized memory; it should be 36" in tree.lesson()
    assert "were not ready" in tree.sentence(2)
    assert tree.moments[2].wrong == {(0, 0), (0, 1), (0, 2), (0, 3)}


@pytest.mark.parametrize("missing", [ROUNDS, BARRIERS])
def test_a_block_of_one_warp_hides_a_missing_barrier(missing):
    tree = Tree(10, 4, missing)
    assert list(tree.moments[-1].out) == block_sums(10, 4)
    assert "only because the added cells belong to one warp" in tree.lesson()


def test_a_sentence_describes_every_step():
    tree = Tree(6, 4)
    sentences = [tree.sentence(i) for i in range(len(tree.moments))]
    assert sentences[0].startswith("Shared memory is uninitialized.")
    assert sentences[1].startswith("Load: threads 0 to 3 of every block load one element of a each")
    assert sentences[1].endswith("In the last block, the threads without an element (2) load 0, which does not change the sum.")
    assert sentences[2] == "half = 2: threads 0 and 1 of every block add the cell at distance 2 to their own."
    assert sentences[3] == "half = 1: thread 0 of every block adds the cell next to it to its own."
    assert sentences[4].startswith("Thread 0 of every block writes its cell to out")
    assert "the threads without an element (2) load whatever is past the end of a" in Tree(6, 4, GUARD).sentence(1)


@pytest.mark.parametrize(
    ("missing", "number", "block", "thread", "lines"),
    [
        (NOTHING, 0, 0, 1, ["thread 1 does nothing in this step"]),
        (NOTHING, 1, 1, 1, ["5 < 6: block[1] = a[5] = 6"]),
        (NOTHING, 1, 1, 2, ["6 < 6 is false: block[2] = 0"]),
        (GUARD, 1, 1, 2, ["block[2] = a[6] = ?, past the end of a, which has 6 elements"]),
        (NOTHING, 2, 0, 1, ["1 < 2: block[1] += block[1 + 2]", "2 + 4 = 6"]),
        (NOTHING, 2, 0, 2, ["thread 2 does nothing in this step: 2 < 2 is false"]),
        (GUARD, 2, 1, 0, ["0 < 2: block[0] += block[0 + 2]", "5 + ? = ?", "wrong: block[2] should be 0 when it is read"]),
        (NOTHING, 4, 1, 0, ["out[1] = block[0] = 11"]),
        (NOTHING, 4, 1, 1, ["thread 1 does nothing in this step"]),
    ],
)
def test_the_formula_of_a_thread_contains_its_numbers(missing, number, block, thread, lines):
    i = block * 4 + thread
    first = f"i = blockIdx.x · blockDim.x + threadIdx.x = {block} · 4 + {thread} = {i}"
    assert Tree(6, 4, missing).formula(number, block, thread).splitlines() == [first, *lines]


def test_the_picture_shows_which_thread_adds_which_cell():
    tree = Tree(4, 4)
    a, block, out = tree.panels(2, (0, 1))
    assert css_classes(a) == ["", "", "", ""]
    assert css_classes(block) == ["changed", "picked", "read", "linked"]
    assert css_classes(out) == [""]
    assert css_classes(tree.panels(1, (0, 1))[0]) == ["read", "picked", "read", "read"]
    assert css_classes(tree.panels(3, (0, 3))[1]) == ["changed", "read", "faint", "picked"]
    assert css_classes(tree.panels(4, (0, 3))[-1]) == ["changed"]
    assert "out[0] = 10" in tree.panels(4, (0, 3))[-1]
    wrong = Tree(8, 8, BARRIERS)
    assert css_classes(wrong.panels(2, (0, 7))[1])[:4] == ["wrong"] * 4
    assert css_classes(wrong.panels(len(wrong.moments) - 1, (0, 7))[-1]) == ["wrong"]
