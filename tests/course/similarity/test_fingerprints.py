"""Winnowing has the guarantees that its paper states."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from course.staff.similarity.fingerprints import RUN, WINDOW, hashes, winnow

TOKENS = st.lists(st.integers(0, 5), max_size=60)


def test_a_sequence_shorter_than_a_run_has_no_hash():
    assert len(hashes(range(RUN - 1))) == 0
    assert len(winnow(hashes(range(RUN - 1)))) == 0
    assert len(hashes(range(RUN))) == 1


def test_equal_runs_have_equal_hashes_at_any_position_and_different_runs_do_not():
    run = list(range(RUN))
    found = hashes([7, *run, 9, 9, *run])
    assert found[1] == found[1 + RUN + 2]
    assert len(set(found.tolist())) == len(found) - 1
    assert hashes(run[::-1])[0] != hashes(run)[0]


def test_winnowing_keeps_the_positions_of_the_example_in_the_paper():
    """Schleimer et al. 2003, figure 2: hashes, windows of 4, and the positions that are kept."""
    runs = np.array([77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98], np.uint64)
    assert WINDOW == 4
    assert winnow(runs).tolist() == [3, 6, 8, 11, 15]


@given(TOKENS, TOKENS, TOKENS, TOKENS, st.lists(st.integers(0, 5), min_size=RUN + WINDOW - 1, max_size=40))
def test_every_match_of_the_guaranteed_length_is_found(a, b, c, d, shared):
    first, second = hashes([*a, *shared, *b]), hashes([*c, *shared, *d])
    assert set(first[winnow(first)].tolist()) & set(second[winnow(second)].tolist())


@given(st.lists(st.integers(0, 5), min_size=RUN + WINDOW, max_size=80))
def test_no_gap_between_kept_positions_is_longer_than_a_window(values):
    runs = hashes(values)
    kept = winnow(runs).tolist()
    assert kept[0] < WINDOW
    assert len(runs) - kept[-1] <= WINDOW
    assert max(np.diff(kept), default=0) <= WINDOW
