"""Task 6.3: attention: heads as views, the causal mask, and weighted means of values, by hand and from NumPy."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import integers

from minitorch import Tensor, grad_check, tensor
from minitorch.language.attention import attention, causal_mask, merge_heads, split_heads

from ..tensor_strategies import laid_out, strides_in_order

CLOSE = {"rtol": 1e-9, "atol": 1e-12}

few = settings(max_examples=20)


def leaf(values):
    return tensor(values, requires_grad=True)


def normal(seed, *shapes):
    """Random arrays."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def attended(query, key, value, mask=None):
    """Attention by NumPy, a query at a time; a query without keys gets zeros."""
    *batch, length, size = query.shape
    mask = np.broadcast_to(True if mask is None else mask, (*batch, length, key.shape[-2]))
    out = np.zeros((*batch, length, value.shape[-1]))
    for index in np.ndindex(*batch, length):
        keys, values = key[index[:-1]][mask[index]], value[index[:-1]][mask[index]]
        if len(keys):
            scores = keys @ query[index] / math.sqrt(size)
            weights = np.exp(scores - scores.max())
            out[index] = weights / weights.sum() @ values
    return out


# Heads


@pytest.mark.task6_3
def test_heads_by_hand():
    # one text of one token; queries 0 to 3, keys 4 to 7 and values 8 to 11, two numbers for each of two heads
    query, key, value = split_heads(tensor(np.arange(12.0).reshape(1, 1, 12)), 2)
    assert query.tolist() == [[[[0, 1]], [[2, 3]]]]
    assert key.tolist() == [[[[4, 5]], [[6, 7]]]]
    assert value.tolist() == [[[[8, 9]], [[10, 11]]]]


@pytest.mark.task6_3
@few
@given(batch=integers(1, 3), length=integers(1, 4), heads=integers(1, 3), size=integers(1, 3))
@example(batch=2, length=3, heads=2, size=4)
def test_head_h_has_columns_h_size_to_h_plus_1_size_of_each_part(batch, length, heads, size):
    x = np.arange(1.0, 1 + batch * length * 3 * heads * size).reshape(batch, length, 3 * heads * size)
    for part, found in enumerate(split_heads(tensor(x), heads)):
        assert found.shape == (batch, heads, length, size)
        for head in range(heads):
            start = (part * heads + head) * size
            np.testing.assert_array_equal(found.to_numpy()[:, head], x[:, :, start : start + size])


@pytest.mark.task6_3
def test_heads_share_the_memory_of_what_they_were_split_from():
    x = tensor(np.zeros((2, 3, 12)))
    parts = split_heads(x, 2)
    x[1, 2, 0] = 1.0  # the first number of the first head, of the last token of the second text
    x[1, 2, 6] = 2.0
    x[1, 2, 11] = 3.0
    assert [part[1, :, 2].tolist() for part in parts] == [[[1, 0], [0, 0]], [[0, 0], [2, 0]], [[0, 0], [0, 3]]]


@pytest.mark.task6_3
def test_the_gradients_of_heads_return_to_their_columns():
    x = leaf(np.zeros((1, 2, 12)))
    query, key, value = split_heads(x, 2)
    (query[0, 1].sum() + key[0, 0].sum() * 10 + value[0, 1, 1].sum() * 100).backward()
    assert x.grad.tolist() == [[[0, 0, 1, 1, 10, 10, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 10, 10, 0, 0, 0, 0, 100, 100]]]


@pytest.mark.task6_3
@few
@given(batch=integers(1, 3), length=integers(1, 4), heads=integers(1, 3), size=integers(1, 3))
@example(batch=2, length=3, heads=2, size=4)
def test_merged_heads_are_side_by_side(batch, length, heads, size):
    x = np.arange(1.0, 1 + batch * heads * length * size).reshape(batch, heads, length, size)
    found = merge_heads(tensor(x))
    assert found.shape == (batch, length, heads * size)
    for head in range(heads):
        np.testing.assert_array_equal(found.to_numpy()[:, :, head * size : (head + 1) * size], x[:, head])


@pytest.mark.task6_3
def test_merging_what_was_split_gives_the_columns_again():
    x = np.arange(1.0, 73).reshape(2, 3, 12)
    parts = split_heads(tensor(x), 2)
    np.testing.assert_array_equal(np.concatenate([merge_heads(part).to_numpy() for part in parts], -1), x)


# The mask


@pytest.mark.task6_3
def test_a_causal_mask_by_hand():
    assert causal_mask(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]
    assert causal_mask(1, 3).tolist() == [[True, True, True]]


@pytest.mark.task6_3
@few
@given(queries=integers(1, 6), keys=integers(1, 6))
@example(queries=1, keys=1)
@example(queries=4, keys=2)  # the first two queries are before all keys
def test_the_last_query_belongs_to_the_last_key(queries, keys):
    found = causal_mask(queries, keys)
    assert found.dtype.kind == "b"
    expected = [[keys - 1 - key >= queries - 1 - query for key in range(keys)] for query in range(queries)]
    assert found.tolist() == expected


@pytest.mark.task6_3
def test_a_mask_is_on_the_backend_that_was_asked_for():
    backend = tensor([0.0]).to("cpu").backend
    assert causal_mask(2, 2, backend).backend is backend
    assert causal_mask(2, 2).backend is tensor([0.0]).backend


# Attention


@pytest.mark.task6_3
def test_attention_by_hand():
    # both queries have length 4: scores 0 and 2 ln 3 are divided by √4, so the weights are 1 : 3
    key = np.zeros((2, 4))
    key[1, 0] = 2 * math.log(3)
    query = np.eye(2, 4)
    out = attention(tensor(query), tensor(key), tensor([[0.0, 8.0], [4.0, 0.0]]))
    np.testing.assert_allclose(out.to_numpy(), [[3, 2], [2, 4]], **CLOSE)


@pytest.mark.task6_3
@few
@given(seed=integers(0, 1000), length=integers(1, 4), keys=integers(1, 5), size=integers(1, 5))
@example(seed=0, length=1, keys=1, size=1)
@example(seed=1, length=3, keys=3, size=4)
def test_attention_is_that_of_numpy_for_any_sizes_and_mask(seed, length, keys, size):
    query, key, value = normal(seed, (2, 2, length, size), (2, 2, keys, size), (2, 2, keys, 3))
    mask = np.random.default_rng(seed + 1).random((length, keys)) < 0.6
    given = [tensor(x) for x in (query, key, value)]
    np.testing.assert_allclose(attention(*given).to_numpy(), attended(query, key, value), **CLOSE)
    np.testing.assert_allclose(attention(*given, tensor(mask)).to_numpy(), attended(query, key, value, mask), **CLOSE)


@pytest.mark.task6_3
def test_each_text_and_each_head_may_have_a_mask_of_its_own():
    query, key, value = normal(2, *[(2, 2, 3, 4)] * 3)
    mask = np.random.default_rng(3).random((2, 2, 3, 3)) < 0.5
    out = attention(tensor(query), tensor(key), tensor(value), tensor(mask))
    np.testing.assert_allclose(out.to_numpy(), attended(query, key, value, mask), **CLOSE)
    wide = attention(tensor(query), tensor(key), tensor(value), tensor(mask[:, :1, :1]))
    np.testing.assert_allclose(wide.to_numpy(), attended(query, key, value, mask[:, :1, :1]), **CLOSE)


@pytest.mark.task6_3
def test_queries_may_be_in_any_layout():
    query, key, value = normal(4, *[(2, 3, 4)] * 3)
    permuted = Tensor(laid_out(query, strides_in_order(query.shape, (2, 0, 1))))
    np.testing.assert_allclose(attention(permuted, tensor(key), tensor(value)).to_numpy(), attended(query, key, value), **CLOSE)


@pytest.mark.task6_3
@pytest.mark.parametrize("large", [1e3, -1e3, 1e6])
def test_large_scores_do_not_overflow(large):
    query, key, value = np.full((2, 1), 1.0), np.array([[large], [0.0]]), np.array([[1.0], [2.0]])
    out = attention(tensor(query), tensor(key), tensor(value), causal_mask(2, 2))
    np.testing.assert_allclose(out.to_numpy(), [[1.0], [1.0 if large > 0 else 2.0]], **CLOSE)


@pytest.mark.task6_3
def test_a_query_whose_keys_are_all_masked_gets_zeros_and_gives_no_gradient():
    query, key, value = (leaf(x) for x in normal(5, (2, 3), (2, 3), (2, 3)))
    out = attention(query, key, value, tensor(np.array([[False, False], [True, False]])))
    assert out[0].tolist() == [0, 0, 0]
    np.testing.assert_allclose(out[1].to_numpy(), value[0].to_numpy(), **CLOSE)
    (out * tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    assert query.grad[0].tolist() == [0, 0, 0]
    np.testing.assert_allclose(value.grad.to_numpy(), [[4, 5, 6], [0, 0, 0]], **CLOSE)
    assert np.isfinite(key.grad.to_numpy()).all()


@pytest.mark.task6_3
@few
@given(seed=integers(0, 1000), length=integers(2, 5), place=integers(1, 4), scale=integers(0, 4))
@example(seed=0, length=2, place=1, scale=4)
@example(seed=1, length=5, place=4, scale=0)
def test_a_later_token_never_changes_an_earlier_output(seed, length, place, scale):
    place = min(place, length - 1)
    before = np.random.default_rng(seed).normal(size=(1, length, 12))
    after = before.copy()
    after[:, place:] = np.random.default_rng(seed + 1).normal(size=(1, length - place, 12)) * 10.0**scale
    outputs = []
    for x in (before, after):
        query, key, value = split_heads(tensor(x), 2)
        outputs.append(merge_heads(attention(query, key, value, causal_mask(length, length))).to_numpy())
    np.testing.assert_array_equal(outputs[0][:, :place], outputs[1][:, :place])
    assert not np.allclose(outputs[0][:, place:], outputs[1][:, place:])


@pytest.mark.task6_3
def test_a_prefix_alone_has_the_same_outputs():
    query, key, value = normal(6, *[(2, 5, 4)] * 3)
    whole = attention(tensor(query), tensor(key), tensor(value), causal_mask(5, 5)).to_numpy()
    for end in range(1, 6):
        part = attention(*(tensor(x[:, :end]) for x in (query, key, value)), causal_mask(end, end))
        np.testing.assert_allclose(part.to_numpy(), whole[:, :end], **CLOSE)


@pytest.mark.task6_3
def test_the_last_queries_alone_have_the_same_outputs():
    query, key, value = normal(7, *[(2, 5, 4)] * 3)
    whole = attention(tensor(query), tensor(key), tensor(value), causal_mask(5, 5)).to_numpy()
    last = attention(tensor(query[:, 3:]), tensor(key), tensor(value), causal_mask(2, 5))
    np.testing.assert_allclose(last.to_numpy(), whole[:, 3:], **CLOSE)


@pytest.mark.task6_3
def test_without_a_mask_the_order_of_the_keys_does_not_matter():
    query, key, value = normal(8, *[(4, 3)] * 3)
    order = [2, 0, 3, 1]
    one, other = (attention(*map(tensor, x)).to_numpy() for x in ((query, key, value), (query, key[order], value[order])))
    np.testing.assert_allclose(one, other, **CLOSE)


@pytest.mark.task6_3
def test_the_dtype_of_the_queries_is_kept():
    x = [tensor(each, dtype="float32") for each in normal(9, *[(2, 4)] * 3)]
    assert attention(*x, causal_mask(2, 2)).dtype == np.float32


@pytest.mark.task6_3
def test_gradients_are_those_of_finite_differences():
    mask = tensor(np.array([[True, False, True], [True, True, False], [False, False, True]]))
    grad_check(lambda *x: attention(*x, mask), *(leaf(x) for x in normal(10, (3, 2), (3, 2), (3, 2))))
