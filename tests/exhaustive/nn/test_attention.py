"""Attention: masks that hide every key, large scores, and dropout."""

import math

import numpy as np
import pytest

from minitorch import float32, float64, manual_seed, tensor
from minitorch.nn.attention import scaled_dot_product_attention
from tests.nn.checks import leaf, random
from tests.nn.test_attention import expected_attention


def test_a_query_without_keys_gets_zeros_and_no_gradient(backend):
    query, key, value = (leaf(random((3, 2), i), backend) for i in range(3))
    seen = np.array([[True, False, True], [False, False, False], [False, True, False]])
    out = scaled_dot_product_attention(query, key, value, tensor(seen, backend))
    np.testing.assert_allclose(out.to_numpy(), expected_attention(query.to_numpy(), key.to_numpy(), value.to_numpy(), seen), rtol=1e-12)
    assert out.tolist()[1] == [0, 0]
    out.sum().backward()
    assert query.grad.tolist()[1] == [0, 0]
    assert np.isfinite(key.grad.to_numpy()).all()
    minus = tensor(np.where(seen, 0, -math.inf), backend)
    np.testing.assert_array_equal(scaled_dot_product_attention(query, key, value, minus).to_numpy(), out.to_numpy())


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_scores_of_a_thousand_are_exact_with_a_causal_mask(backend, dtype):
    query, key = tensor(np.full((3, 1), 1000.0, dtype), backend), tensor(np.array([[1.0], [-1.0], [1.0]], dtype), backend)
    value = tensor(np.array([[1.0], [2.0], [4.0]], dtype), backend)
    out = scaled_dot_product_attention(query, key, value, is_causal=True)
    assert (out.dtype, out.tolist()) == (dtype, [[1], [1], [2.5]])


def test_dropped_weights_keep_the_mean(backend):
    manual_seed(0)
    value = tensor(np.eye(50), backend)
    same = tensor(np.zeros((50, 1)), backend)
    weights = scaled_dot_product_attention(same, same, value, dropout_p=0.5).to_numpy() * 50
    assert set(np.round(weights, 12).reshape(-1)) == {0, 2}
    assert weights.mean() == pytest.approx(1, abs=0.05)
    assert not scaled_dot_product_attention(same, same, value, dropout_p=1.0).to_numpy().any()
