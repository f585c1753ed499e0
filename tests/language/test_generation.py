"""Task 6.6: generation: exact probabilities, frequencies of samples, and a cache that changes the cost and nothing else."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import floats, integers, lists, none, one_of, sampled_from

import minitorch
from minitorch import tensor
from minitorch.language.cache import KeyValueCache
from minitorch.language.generation import generate, next_probabilities, sample_token
from minitorch.language.model import GPT2
from minitorch.tensor_functions import MatMul

from .test_model import random_weights

CLOSE = {"rtol": 1e-9, "atol": 1e-12}

HALVES = np.log([1, 4, 2, 1])
"""Logits of the probabilities 1/8, 1/2, 1/4 and 1/8."""

few = settings(max_examples=25, deadline=None)


def chances(logits, temperature, top_k, top_p):
    """The definition, a token at a time."""
    weights = [math.exp((x - max(logits)) / temperature) for x in logits]
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:top_k]
    total = sum(weights[i] for i in order)
    kept, so_far = [], 0.0
    for i in order:
        if top_p is not None and so_far >= top_p:
            break
        kept.append(i)
        so_far += weights[i] / total
    left = sum(weights[i] for i in kept)
    return [weights[i] / left if i in kept else 0.0 for i in range(len(logits))]


# Probabilities


@pytest.mark.task6_6
def test_probabilities_by_hand():
    np.testing.assert_allclose(next_probabilities(HALVES), [1 / 8, 1 / 2, 1 / 4, 1 / 8], **CLOSE)
    np.testing.assert_allclose(next_probabilities(HALVES, top_k=2), [0, 2 / 3, 1 / 3, 0], **CLOSE)
    np.testing.assert_allclose(next_probabilities(HALVES, top_p=0.6), [0, 2 / 3, 1 / 3, 0], **CLOSE)
    np.testing.assert_allclose(next_probabilities(HALVES, temperature=0.5), np.array([1, 16, 4, 1]) / 22, **CLOSE)


@pytest.mark.task6_6
@pytest.mark.parametrize(
    ("top_p", "kept"),
    [(0.01, [1]), (0.49, [1]), (0.51, [1, 2]), (0.74, [1, 2]), (0.76, [0, 1, 2]), (0.9, [0, 1, 2, 3]), (1.0, [0, 1, 2, 3])],
)
def test_top_p_keeps_the_fewest_tokens_whose_sum_is_at_least_p(top_p, kept):
    assert np.flatnonzero(next_probabilities(HALVES, top_p=top_p)).tolist() == kept


@pytest.mark.task6_6
def test_a_sum_of_exactly_p_is_enough():
    assert np.flatnonzero(next_probabilities(np.zeros(4), top_p=0.5)).tolist() == [0, 1]
    assert np.flatnonzero(next_probabilities(np.zeros(2), top_p=0.5)).tolist() == [0]


@pytest.mark.task6_6
def test_of_equal_tokens_those_with_smaller_numbers_are_kept():
    logits = np.array([1.0, 2.0, 2.0, 1.0, 2.0])
    np.testing.assert_allclose(next_probabilities(logits, top_k=2), [0, 1 / 2, 1 / 2, 0, 0], **CLOSE)
    np.testing.assert_allclose(next_probabilities(logits, temperature=0), [0, 1, 0, 0, 0], **CLOSE)
    many = next_probabilities(np.zeros(100), top_k=30)
    assert np.flatnonzero(many).tolist() == list(range(30))


@pytest.mark.task6_6
def test_top_k_comes_before_top_p():
    # of 1/2 and 1/4, the first is 2/3: alone enough for 0.6
    np.testing.assert_allclose(next_probabilities(HALVES, top_k=2, top_p=0.6), [0, 1, 0, 0], **CLOSE)


@pytest.mark.task6_6
def test_the_temperature_comes_before_top_p():
    # at 1/2, the probabilities are 1, 16, 4 and 1 of 22: the first is 0.727
    assert np.flatnonzero(next_probabilities(HALVES, temperature=0.5, top_p=0.7)).tolist() == [1]
    assert np.flatnonzero(next_probabilities(HALVES, temperature=2.0, top_p=0.5)).tolist() == [1, 2]


@pytest.mark.task6_6
def test_more_tokens_than_there_are_may_be_kept():
    np.testing.assert_allclose(next_probabilities(HALVES, top_k=9), next_probabilities(HALVES), **CLOSE)


@pytest.mark.task6_6
@few
@given(
    logits=lists(sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0]), min_size=1, max_size=6),
    temperature=sampled_from([0.3, 1.0, 2.5]),
    top_k=one_of(none(), integers(1, 7)),
    top_p=one_of(none(), sampled_from([0.123, 0.377, 0.811, 1.0])),
)
@example(logits=[0.0], temperature=1.0, top_k=1, top_p=1.0)
@example(logits=[2.0, -3.0, 0.5], temperature=2.5, top_k=2, top_p=0.811)
def test_probabilities_are_those_of_the_definition(logits, temperature, top_k, top_p):
    given = np.array(logits)
    found = next_probabilities(given, temperature, top_k, top_p)
    np.testing.assert_allclose(found, chances(logits, temperature, top_k, top_p), **CLOSE)
    assert found.sum() == pytest.approx(1)
    assert given.tolist() == logits, "the logits have changed"


@pytest.mark.task6_6
def test_large_logits_and_low_temperatures_do_not_overflow():
    np.testing.assert_allclose(next_probabilities(np.array([1000.0, 0.0, 1000.0])), [1 / 2, 0, 1 / 2], **CLOSE)
    np.testing.assert_allclose(next_probabilities(np.array([1.0, 2.0]), temperature=1e-6), [0, 1], **CLOSE)


@pytest.mark.task6_6
def test_logits_of_float32_give_probabilities_of_float64_that_sum_to_1():
    found = next_probabilities(np.linspace(-1, 1, 1000, dtype=np.float32))
    assert found.dtype == np.float64
    assert abs(found.sum() - 1) < 1e-12


# Samples


@pytest.mark.task6_6
def test_each_point_belongs_to_one_token():
    chance = np.array([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
    points = [0.0, 0.125, 0.249, 0.25, 0.5, 0.749, 0.75, 0.999]
    assert [sample_token(chance, point) for point in points] == [1, 1, 1, 3, 3, 3, 4, 4]


@pytest.mark.task6_6
def test_rounding_never_leads_to_a_token_without_a_probability():
    chance = np.array([0.1] * 10 + [0.0])  # the sum of the ten is below 1
    assert np.cumsum(chance)[-1] < 1
    assert sample_token(chance, np.nextafter(1, 0)) == 9


@pytest.mark.task6_6
@few
@given(lists(integers(0, 5), min_size=1, max_size=6).filter(any), floats(0, 1, exclude_max=True))
@example([0, 1, 0], 0.0)
@example([1, 0], 0.999)
def test_a_token_begins_where_the_tokens_before_it_end(weights, point):
    chance = np.array(weights) / sum(weights)
    token = sample_token(chance, point)
    assert isinstance(token, int)
    assert chance[token] > 0
    assert chance[:token].sum() <= point + 1e-12
    assert point <= chance[: token + 1].sum() + 1e-12


@pytest.mark.task6_6
def test_frequencies_are_within_five_standard_deviations():
    minitorch.manual_seed(0)
    chance, count = next_probabilities(HALVES), 4000
    found = np.bincount([sample_token(chance, point) for point in minitorch.rand((count,)).tolist()], minlength=4) / count
    assert (np.abs(found - chance) < 5 * np.sqrt(chance * (1 - chance) / count)).all()


# The cache


def parts_of(cache):
    return [None if part is None else part.to_numpy().copy() for part in (cache.keys, cache.values)]


@pytest.mark.task6_6
@few
@given(sizes=lists(integers(1, 3), min_size=1, max_size=4))
@example(sizes=[1])
@example(sizes=[3, 1, 1])
def test_a_cache_returns_all_tokens_so_far(sizes):
    total = sum(sizes)
    key, value = np.random.default_rng(0).normal(size=(2, 2, 3, total, 2))
    cache, start = KeyValueCache(total), 0
    for size in sizes:
        new = [tensor(x[:, :, start : start + size].copy()) for x in (key, value)]
        start += size
        for found, expected in zip(cache.append(*new), (key, value), strict=True):
            np.testing.assert_array_equal(found.to_numpy(), expected[:, :, :start])
        assert cache.length == start


@pytest.mark.task6_6
def test_memory_is_taken_once_and_what_is_returned_are_views_of_it():
    cache = KeyValueCache(4)
    assert cache.nbytes() == 0
    key = tensor(np.ones((1, 2, 1, 3)), dtype="float32")
    cache.append(key, key * 2)
    memory = cache.keys, cache.values
    assert memory[0].shape == (1, 2, 4, 3)
    assert memory[0].dtype == np.float32
    assert cache.nbytes() == 2 * 2 * 4 * 3 * 4
    keys, values = cache.append(key * 3, key * 4)
    assert (cache.keys, cache.values) == memory or all(a is b for a, b in zip((cache.keys, cache.values), memory, strict=True))
    assert keys.stride() == memory[0].stride()
    memory[0][0, 0, 0, 0] = 9.0
    memory[1][0, 1, 1, 2] = 8.0
    assert (keys[0, 0, 0, 0], values[0, 1, 1, 2]) == (9, 8)


@pytest.mark.task6_6
def test_too_many_tokens_are_refused_before_anything_changes():
    cache = KeyValueCache(3)
    cache.append(tensor(np.ones((1, 1, 2, 1))), tensor(np.ones((1, 1, 2, 1))))
    before = parts_of(cache)
    with pytest.raises(ValueError, match="expected at most 3 tokens, got 2 after 2"):
        cache.append(tensor(np.ones((1, 1, 2, 1))), tensor(np.ones((1, 1, 2, 1))))
    assert cache.length == 2
    assert all(np.array_equal(a, b) for a, b in zip(before, parts_of(cache), strict=True))
    cache.append(tensor(np.ones((1, 1, 1, 1))), tensor(np.ones((1, 1, 1, 1))))
    assert cache.length == 3


@pytest.mark.task6_6
@pytest.mark.parametrize("cuts", range(16))
def test_cached_logits_equal_uncached_ones_for_every_way_to_split_a_prompt(cuts):
    model, tokens = GPT2(5, 5, 2, 2, 4), np.array([[3, 0, 4, 1, 1]])
    random_weights(model)
    whole = model(tensor(tokens)).to_numpy()
    ends = [end for end in range(1, 5) if cuts >> (end - 1) & 1] + [5]
    caches, start = [KeyValueCache(5), KeyValueCache(5)], 0
    for end in ends:
        found = model(tensor(tokens[:, start:end]), caches).to_numpy()
        np.testing.assert_allclose(found, whole[:, start:end], rtol=1e-9, atol=1e-10)
        start = end


# Generation


class Fixed:
    """A model with the same logits at each position; it records what it reads."""

    def __init__(self, logits, context=8):
        self.logits, self.context, self.layers, self.read = logits, context, 2, []
        self.caches, self.parameters = None, GPT2(2, 1, 1, 1, 1).parameters

    def __call__(self, tokens, caches):
        assert not minitorch.core.context.grad_mode.enabled
        self.read.append(tokens.tolist())
        self.caches = caches
        return tensor(np.tile(self.logits, (1, tokens.shape[1], 1)))


@pytest.mark.task6_6
def test_the_prompt_is_read_once_and_then_each_new_token_alone():
    model = Fixed(np.array([0.0, 0.0, 9.0]))
    assert list(generate(model, [1, 0, 1], 3, temperature=0)) == [2, 2, 2]
    assert model.read == [[[1, 0, 1]], [[2]], [[2]]]
    assert len(model.caches) == 2
    assert model.caches[0] is not model.caches[1]
    assert [cache.capacity for cache in model.caches] == [8, 8]


@pytest.mark.task6_6
def test_no_new_tokens_read_nothing():
    model = Fixed(np.zeros(3))
    assert list(generate(model, [1], 0)) == []
    assert model.read == []


@pytest.mark.task6_6
def test_a_token_is_there_before_the_next_one_is_computed():
    model = Fixed(np.zeros(3))
    text = generate(model, [1], 5)
    next(text)
    next(text)
    assert len(model.read) == 2


@pytest.mark.task6_6
def test_the_text_is_determined_by_the_seed_and_has_one_random_number_for_each_token():
    model = Fixed(HALVES, context=30)
    minitorch.manual_seed(5)
    found = list(generate(model, [0], 30, temperature=1.3, top_k=3, top_p=0.9))
    minitorch.manual_seed(5)
    points = minitorch.rand((30,)).tolist()
    chance = next_probabilities(HALVES, 1.3, 3, 0.9)
    assert found == [sample_token(chance, point) for point in points]


@pytest.mark.task6_6
def test_the_most_likely_text_is_that_of_a_model_without_a_cache():
    model = GPT2(6, 8, 2, 2, 4)
    random_weights(model)
    text = [2, 5]
    for _ in range(6):
        text.append(int(model(tensor(np.array([text]))).to_numpy()[0, -1].argmax()))
    assert list(generate(model, [2, 5], 6, temperature=0)) == text[2:]


@pytest.mark.task6_6
def test_the_context_may_be_filled_and_a_token_more_generated_but_no_further():
    model = GPT2(6, 4, 1, 1, 2)
    assert len(list(generate(model, [1, 2], 3))) == 3
    with pytest.raises(ValueError, match="expected a text that fits into 4 tokens, got 2 and 4 new ones"):
        list(generate(model, [1, 2], 4))


@pytest.mark.task6_6
def test_the_cost_of_a_token_grows_by_the_same_amount_with_each_token(monkeypatch):
    products, forward = [0], MatMul.forward

    def counted(ctx, a, b):
        products[0] += math.prod(a.shape) * b.shape[-1]
        return forward(ctx, a, b)

    model, costs = GPT2(6, 9, 2, 2, 4), []
    monkeypatch.setattr(MatMul, "forward", staticmethod(counted))
    for _ in generate(model, [3], 9):
        costs.append(products[0])
        products[0] = 0
    # for each token before: a score and a weighted value, 4 numbers each, in both layers
    assert np.diff(costs).tolist() == [2 * 2 * 4] * 8
