"""Task 6.5: fused attention: one tile after the other by hand, against softmax and Task 6.3, its gradients, and its memory."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import booleans, integers

from minitorch import Tensor, grad_check, tensor
from minitorch.language.attention import MASKED, attention, causal_mask
from minitorch.language.fused_attention import _attend, _differentiate, add_tile, fused_attention

from ..tensor_strategies import laid_out, strides_in_order
from .test_attention import attended, leaf, normal

CLOSE = {"rtol": 1e-7, "atol": 1e-9}

few = settings(max_examples=20)


def at_the_beginning(rows, columns):
    """What is known of some queries before the first tile: largest, total and output."""
    return np.full(rows, MASKED), np.zeros(rows), np.zeros((rows, columns))


# A tile


@pytest.mark.task6_5
def test_two_tiles_by_hand():
    # scores 0 and ln 2, then ln 8: weights 1/2 and 1 relative to ln 2, then 1/8, 1/4 and 1 relative to ln 8
    largest, total, output = at_the_beginning(1, 2)
    add_tile(largest, total, output, np.array([[0, math.log(2)]]), np.array([[8.0, 0], [0, 4]]))
    np.testing.assert_allclose([largest[0], total[0], *output[0]], [math.log(2), 1.5, 4, 4], **CLOSE)
    add_tile(largest, total, output, np.array([[math.log(8)]]), np.array([[10.0, 20]]))
    np.testing.assert_allclose([largest[0], total[0], *output[0]], [math.log(8), 1.375, 11, 21], **CLOSE)


@pytest.mark.task6_5
def test_a_tile_with_lower_scores_keeps_the_largest():
    largest, total, output = at_the_beginning(1, 1)
    add_tile(largest, total, output, np.array([[math.log(4)]]), np.array([[3.0]]))
    add_tile(largest, total, output, np.array([[0.0]]), np.array([[8.0]]))
    np.testing.assert_allclose([largest[0], total[0], output[0, 0]], [math.log(4), 1.25, 5], **CLOSE)


@pytest.mark.task6_5
@few
@given(seed=integers(0, 1000), rows=integers(1, 3), sizes=integers(1, 4), tiles=integers(1, 4), scale=integers(-1, 3))
@example(seed=0, rows=2, sizes=3, tiles=3, scale=0)
@example(seed=1, rows=2, sizes=2, tiles=4, scale=3)
def test_after_any_tiles_output_by_total_is_softmax(seed, rows, sizes, tiles, scale):
    scores, values = normal(seed, (rows, sizes * tiles), (sizes * tiles, 2))
    scores *= 10.0**scale
    scores[np.random.default_rng(seed).random(scores.shape) < 0.3] = -np.inf
    scores[:, -1] = 0  # each query has a key
    largest, total, output = at_the_beginning(rows, 2)
    for start in range(0, sizes * tiles, sizes):
        add_tile(largest, total, output, scores[:, start : start + sizes], values[start : start + sizes])
    weights = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_array_equal(largest, scores.max(1))
    np.testing.assert_allclose(total, weights.sum(1), **CLOSE)
    np.testing.assert_allclose(output, weights @ values, **CLOSE)


@pytest.mark.task6_5
@pytest.mark.parametrize("masked_first", [True, False])
def test_a_tile_that_is_masked_changes_nothing(masked_first):
    largest, total, output = at_the_beginning(1, 1)
    tiles = [(np.full((1, 2), -np.inf), np.full((2, 1), 9.0)), (np.array([[2.0]]), np.array([[5.0]]))]
    for scores, values in tiles if masked_first else tiles[::-1]:
        add_tile(largest, total, output, scores, values)
    assert (largest[0], total[0], output[0, 0]) == (2, 1, 5)


@pytest.mark.task6_5
def test_a_query_without_keys_stays_at_zero():
    largest, total, output = at_the_beginning(2, 1)
    add_tile(largest, total, output, np.array([[-np.inf, -np.inf], [0, -np.inf]]), np.array([[3.0], [4.0]]))
    assert total.tolist() == [0, 1]
    assert output.tolist() == [[0], [3]]


@pytest.mark.task6_5
def test_scores_that_are_nan_are_not_hidden():
    largest, total, output = at_the_beginning(1, 1)
    add_tile(largest, total, output, np.array([[np.nan]]), np.array([[1.0]]))
    assert np.isnan(total[0])
    assert np.isnan(output[0, 0])


# Attention


@pytest.mark.task6_5
def test_fused_attention_by_hand():
    # scores 0 and 2 ln 3 are divided by √4, so the weights are 1 : 3
    key = np.zeros((2, 4))
    key[1, 0] = 2 * math.log(3)
    out = fused_attention(tensor(np.eye(2, 4)), tensor(key), tensor([[0.0, 8.0], [4.0, 0.0]]), tile=1)
    np.testing.assert_allclose(out.to_numpy(), [[3, 2], [2, 4]], **CLOSE)


@pytest.mark.task6_5
@few
@given(seed=integers(0, 1000), length=integers(1, 9), keys=integers(1, 9), causal=booleans(), tile=integers(1, 10))
@example(seed=0, length=1, keys=1, causal=True, tile=1)
@example(seed=1, length=5, keys=5, causal=True, tile=2)  # the last tile is shorter
@example(seed=2, length=7, keys=7, causal=True, tile=16)  # one tile
@example(seed=3, length=2, keys=7, causal=True, tile=3)  # the queries are those of the last positions
@example(seed=4, length=7, keys=3, causal=True, tile=2)  # the first queries are before all keys
@example(seed=5, length=6, keys=4, causal=False, tile=4)
def test_fused_attention_is_attention_for_any_lengths_and_tile(seed, length, keys, causal, tile):
    query, key, value = normal(seed, (2, 2, length, 3), (2, 2, keys, 3), (2, 2, keys, 4))
    mask = np.tri(length, keys, keys - length, dtype=bool) if causal else None
    out = fused_attention(tensor(query), tensor(key), tensor(value), causal, tile)
    assert out.shape == (2, 2, length, 4)
    np.testing.assert_allclose(out.to_numpy(), attended(query, key, value, mask), **CLOSE)
    given = [tensor(x) for x in (query, key, value)]
    np.testing.assert_allclose(out.to_numpy(), attention(*given, None if mask is None else tensor(mask)).to_numpy(), atol=1e-5)


@pytest.mark.task6_5
@pytest.mark.parametrize("large", [1e3, -1e3, 1e6])
@pytest.mark.parametrize("tile", [1, 2])
def test_large_scores_do_not_overflow(large, tile):
    query, key, value = leaf(np.ones((2, 1))), leaf(np.array([[large], [0.0]])), leaf(np.array([[1.0], [2.0]]))
    out = fused_attention(query, key, value, True, tile)
    np.testing.assert_allclose(out.to_numpy(), [[1.0], [1.0 if large > 0 else 2.0]], **CLOSE)
    out.sum().backward()
    np.testing.assert_allclose(value.grad.to_numpy(), [[2.0], [0.0]] if large > 0 else [[1.0], [1.0]], **CLOSE)
    assert query.grad.tolist() == [[0], [0]]


@pytest.mark.task6_5
@pytest.mark.parametrize("tile", [1, 2, 8])
def test_queries_without_keys_get_zeros_and_give_no_gradient(tile):
    query, key, value = (leaf(x) for x in normal(1, (5, 3), (2, 3), (2, 3)))
    out = fused_attention(query, key, value, True, tile)
    assert out[:3].tolist() == [[0, 0, 0]] * 3
    np.testing.assert_allclose(out[3].to_numpy(), value[0].to_numpy(), **CLOSE)
    out.sum().backward()
    assert query.grad[:3].tolist() == [[0, 0, 0]] * 3
    for x in (query, key, value):
        assert np.isfinite(x.grad.to_numpy()).all()


@pytest.mark.task6_5
def test_queries_may_be_in_any_layout():
    query, key, value = normal(4, *[(2, 3, 4)] * 3)
    permuted = Tensor(laid_out(query, strides_in_order(query.shape, (2, 0, 1))))
    np.testing.assert_allclose(fused_attention(permuted, tensor(key), tensor(value)).to_numpy(), attended(query, key, value), **CLOSE)


@pytest.mark.task6_5
def test_a_kernel_writes_every_result_and_logsumexp():
    query, key, value = normal(5, (2, 5, 3), (2, 4, 3), (2, 4, 2))
    out, logsumexp = np.full((2, 5, 2), 7.0), np.full((2, 5), 7.0)
    _attend(out, logsumexp, query, key, value, 0.5, False, 3)
    scores = query @ key.transpose(0, 2, 1) * 0.5
    np.testing.assert_allclose(logsumexp, np.log(np.exp(scores).sum(-1)), **CLOSE)
    np.testing.assert_allclose(out, np.exp(scores - logsumexp[..., None]) @ value, **CLOSE)


# Gradients


@pytest.mark.task6_5
@few
@given(seed=integers(0, 1000), length=integers(1, 6), keys=integers(1, 6), causal=booleans(), tile=integers(1, 4))
@example(seed=0, length=5, keys=5, causal=True, tile=2)
@example(seed=1, length=2, keys=5, causal=True, tile=2)
@example(seed=2, length=5, keys=2, causal=True, tile=2)
@example(seed=3, length=3, keys=4, causal=False, tile=3)
def test_gradients_are_those_of_attention(seed, length, keys, causal, tile):
    arrays = normal(seed, (2, 2, length, 3), (2, 2, keys, 3), (2, 2, keys, 4), (2, 2, length, 4))
    mask = causal_mask(length, keys) if causal else None
    both = []
    for function in (lambda *x: fused_attention(*x, causal, tile), lambda *x: attention(*x, mask)):
        leaves = [leaf(x) for x in arrays[:3]]
        function(*leaves).backward(tensor(arrays[3]))
        both.append([x.grad.to_numpy() for x in leaves])
    for ours, theirs in zip(*both, strict=True):
        np.testing.assert_allclose(ours, theirs, **CLOSE)


@pytest.mark.task6_5
@pytest.mark.parametrize("causal", [False, True])
def test_gradients_are_those_of_finite_differences(causal):
    grad_check(lambda *x: fused_attention(*x, causal, 2), *(leaf(x) for x in normal(10, (3, 2), (4, 2), (4, 2))))


# Memory


@pytest.mark.task6_5
@pytest.mark.parametrize("causal", [False, True])
def test_no_matrix_of_all_scores_is_allocated(causal):
    length, tile = 96, 8
    query, key, value, grad_out = normal(11, *[(1, length, 1)] * 4)
    out, logsumexp, grads = np.zeros((1, length, 1)), np.zeros((1, length)), np.zeros((3, 1, length, 1))
    peaks = []
    for kernel in (
        lambda: _attend(out, logsumexp, query, key, value, 1.0, causal, tile),
        lambda: _differentiate(*grads, grad_out, out, logsumexp, query, key, value, 1.0, causal),
    ):
        tracemalloc.start()
        kernel()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    matrix = length * length * 8
    assert max(peaks) < matrix / 4, f"_attend and _differentiate took {peaks} bytes; a matrix of all scores takes {matrix}"
