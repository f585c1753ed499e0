"""Task 6.5b: fused attention on the GPU: values, and what its threads do to memory, in the interpreter. No GPU is needed."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import booleans, integers

from minitorch.kernels.cuda.device import blocks_for
from minitorch.language.cuda_attention import TILE, WIDTH, attention_kernel

from ..kernel_checks import assert_accesses, assert_coalesced, assert_each_cell_once, assert_free_of_bank_conflicts, launched
from .test_attention import attended, normal

CLOSE = {"rtol": 1e-4, "atol": 1e-5}

few = settings(max_examples=15, deadline=None)


def report_of(query, key, value, causal=False, scale=None):
    """The report of a launch without mistakes; out holds NaN at the beginning."""
    heads, queries, size = query.shape
    out = np.full((heads, queries, value.shape[2]), np.nan, np.float32)
    arrays = [x.astype(np.float32) for x in (query, key, value)]
    grid = heads, blocks_for(queries, TILE)
    return launched(attention_kernel, grid, (TILE, TILE), out, *arrays, np.float32(scale or 1 / math.sqrt(size)), causal)


def computed(query, key, value, causal=False, scale=None):
    """What the kernel computes."""
    return report_of(query, key, value, causal, scale).arrays["out"]


def mask_of(queries, keys, causal):
    """Whether each query attends to each key."""
    return np.tri(queries, keys, keys - queries, dtype=bool) if causal else np.ones((queries, keys), bool)


# Values


@pytest.mark.task6_5b
def test_three_keys_by_hand():
    # weights 1, 2 and 8, whose sum is 11; values 8, 0 and 10
    key, value = np.log([[[1.0], [2.0], [8.0]]]), np.array([[[8.0], [0.0], [10.0]]])
    np.testing.assert_allclose(computed(np.ones((1, 1, 1)), key, value), [[[8]]], **CLOSE)


@pytest.mark.task6_5b
def test_a_later_tile_may_have_the_larger_score():
    # the keys of the first tile have the score 0 and the value 6, the one key of the second has ln 32 and the value 0
    key, value = np.zeros((1, TILE + 1, 1)), np.full((1, TILE + 1, 1), 6.0)
    key[0, TILE], value[0, TILE] = math.log(TILE), 0
    np.testing.assert_allclose(computed(np.ones((1, 1, 1)), key, value), [[[3]]], **CLOSE)
    np.testing.assert_allclose(computed(np.ones((1, 1, 1)), key[:, ::-1], value[:, ::-1]), [[[3]]], **CLOSE)


@pytest.mark.task6_5b
@few
@given(
    seed=integers(0, 1000), heads=integers(1, 2), queries=integers(1, 70), keys=integers(1, 70),
    size=integers(1, WIDTH), columns=integers(1, WIDTH), causal=booleans(),
)  # fmt: skip
@example(seed=0, heads=1, queries=1, keys=1, size=1, columns=1, causal=True)
@example(seed=1, heads=1, queries=TILE, keys=TILE, size=TILE, columns=TILE, causal=True)
@example(seed=2, heads=2, queries=TILE + 1, keys=TILE + 1, size=WIDTH, columns=WIDTH, causal=True)
@example(seed=3, heads=1, queries=TILE - 1, keys=2 * TILE + 1, size=3, columns=TILE + 1, causal=True)  # the last positions
@example(seed=4, heads=1, queries=2 * TILE + 2, keys=3, size=TILE + 1, columns=3, causal=True)  # the first tiles are before all keys
@example(seed=5, heads=2, queries=3, keys=2 * TILE, size=WIDTH - 1, columns=2, causal=False)
@example(seed=6, heads=1, queries=TILE + 1, keys=TILE - 1, size=2, columns=WIDTH, causal=False)
def test_the_kernel_computes_attention_for_any_lengths_and_widths(seed, heads, queries, keys, size, columns, causal):
    query, key, value = normal(seed, (heads, queries, size), (heads, keys, size), (heads, keys, columns))
    expected = attended(query, key, value, mask_of(queries, keys, causal))
    np.testing.assert_allclose(computed(query, key, value, causal), expected, **CLOSE)


@pytest.mark.task6_5b
def test_the_scale_is_an_argument():
    # scores 4 ln 3 / 4 and 0: weights 3 and 1
    key, value = np.array([[[math.log(3)], [0.0]]]), np.array([[[8.0], [4.0]]])
    np.testing.assert_allclose(computed(np.full((1, 1, 1), 4.0), key, value, scale=0.25), [[[7]]], **CLOSE)


@pytest.mark.task6_5b
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("large", [1000.0, -1000.0])
@pytest.mark.parametrize("place", [0, TILE])
def test_large_scores_do_not_overflow(large, place, causal):
    """One key, in the first tile or in the second, has a score of ±1000, all others have 0."""
    query, key, value = np.ones((1, TILE + 1, 1)), np.zeros((1, TILE + 1, 1)), np.full((1, TILE + 1, 1), 2.0)
    key[0, place], value[0, place] = large, 5
    expected = attended(query, key, value, mask_of(TILE + 1, TILE + 1, causal))
    np.testing.assert_allclose(computed(query, key, value, causal), expected, **CLOSE)


@pytest.mark.task6_5b
def test_scores_may_all_be_far_below_zero():
    key, value = np.full((1, 2 * TILE, 1), -1000.0), np.arange(2.0 * TILE).reshape(1, -1, 1)
    np.testing.assert_allclose(computed(np.ones((1, 2, 1)), key, value), np.full((1, 2, 1), TILE - 0.5), **CLOSE)


@pytest.mark.task6_5b
@pytest.mark.parametrize("queries", [5, TILE + 3])
def test_queries_without_keys_get_zeros(queries):
    query, key, value = normal(1, (1, queries, 3), (1, 2, 3), (1, 2, 3))
    out = computed(query, key, value, causal=True)
    assert (out[0, : queries - 2] == 0).all()
    np.testing.assert_allclose(out[0, queries - 2], value[0, 0], **CLOSE)


@pytest.mark.task6_5b
def test_numbers_that_are_nan_are_not_hidden():
    query, key, value = normal(2, (1, 2, 3), (1, 2, 3), (1, 2, 3))
    query[0, 1, 0] = np.nan
    out = computed(query, key, value)
    assert np.isfinite(out[0, 0]).all()
    assert np.isnan(out[0, 1]).all()


# Memory


@pytest.mark.task6_5b
@pytest.mark.parametrize(("queries", "keys"), [(TILE, TILE), (2 * TILE + 5, TILE + 3), (3, 3 * TILE)])
def test_keys_and_values_are_read_once_for_each_tile_of_queries(queries, keys):
    report = report_of(*normal(3, (2, queries, 40), (2, keys, 40), (2, keys, 33)))
    for memory in ("key", "value"):
        assert_accesses(report, memory, "read", blocks_for(queries, TILE))


@pytest.mark.task6_5b
@pytest.mark.parametrize(("queries", "keys"), [(3 * TILE, 3 * TILE), (TILE, 3 * TILE), (3 * TILE, TILE)])
def test_tiles_after_the_diagonal_are_not_read(queries, keys):
    """In the causal case a tile of queries reads only the tiles of keys that it needs."""
    report = report_of(*normal(4, (1, queries, 2), (1, keys, 2), (1, keys, 2)), causal=True)
    needed = mask_of(queries, keys, True).reshape(queries // TILE, TILE, keys).any(1).sum(0)  # tiles of queries that attend to each key
    for memory in ("key", "value"):
        assert_accesses(report, memory, "read", np.repeat(needed, 2))


@pytest.mark.task6_5b
@pytest.mark.parametrize("causal", [False, True])
def test_queries_are_read_once_and_outputs_are_written_once(causal):
    report = report_of(*normal(5, (2, TILE + 3, 40), (2, TILE + 3, 40), (2, TILE + 3, 33)), causal=causal)
    assert_each_cell_once(report, "query", "read")
    assert_each_cell_once(report, "out", "write")
    assert_accesses(report, "out", "read", 0)


@pytest.mark.task6_5b
@pytest.mark.parametrize("size", [TILE, WIDTH])
def test_warps_read_and_write_consecutive_elements(size):
    """32 elements of 4 bytes fill 4 sectors of 32 bytes."""
    assert_coalesced(report_of(*normal(6, *[(1, 2 * TILE, size)] * 3)))


@pytest.mark.task6_5b
@pytest.mark.parametrize("size", [TILE, WIDTH, 24])
def test_threads_of_a_warp_use_different_banks(size):
    report = report_of(*normal(7, *[(1, TILE + 1, size)] * 3), causal=True)
    assert report.select_accesses(space="shared"), "expected the tiles to be in shared memory, got no access of shared memory"
    assert_free_of_bank_conflicts(report)
