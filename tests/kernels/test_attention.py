"""Fused attention agrees with the paper's formula for every size, mask and number of tiles, and never makes all scores."""

import numpy as np
import pytest

from minitorch import FastBackend, float32, float64, grad_check, tensor
from minitorch.kernels.attention import TILE, WIDTHS
from minitorch.nn.attention import FusedAttention, scaled_dot_product_attention
from minitorch.tensor import Tensor
from tests.nn.checks import random
from tests.nn.test_attention import expected_attention


def inputs(heads, queries, keys, inner, columns):
    """Queries, keys, values and a gradient of the result."""
    shapes = (heads, queries, inner), (heads, keys, inner), (heads, keys, columns), (heads, queries, columns)
    return [tensor(random(shape, seed), FastBackend, dtype=float64) for seed, shape in enumerate(shapes)]


def gradients(attention, tensors, gradient):
    """The result and the gradients of queries, keys and values."""
    leaves = [x.detach().requires_grad_() for x in tensors]
    out = attention(*leaves)
    out.backward(gradient)
    return [out.detach().to_numpy(), *[x.grad.to_numpy() for x in leaves]]


def masked(heads, queries, keys):
    """A mask of each head that hides a third of the keys, and all of them from the first query."""
    seen = random((heads, queries, keys), 7) > -0.4
    seen[:, 0] = False
    return seen


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1, 1, 1), (2, 5, 7, 3, 4), (3, TILE, TILE, 16, 16), (2, TILE + 1, TILE - 1, 15, 5), (1, 2 * TILE + 2, 2 * TILE + 1, 9, 13)],
    ids=str,
)
def test_values_and_gradients_agree_with_the_composed_ones(sizes, is_causal):
    check_against_composed(sizes, is_causal)


def check_against_composed(sizes, is_causal):
    """Compare values and gradients without a mask, with one for all heads, and with one for each."""
    *tensors, gradient = inputs(*sizes)
    for mask in (None, tensor(masked(1, *sizes[1:3])[0], FastBackend), tensor(masked(*sizes[:3]), FastBackend)):
        assert FusedAttention.accepts(*tensors, mask)
        fused = gradients(lambda *x, mask=mask: scaled_dot_product_attention(*x, mask, 0.0, is_causal), tensors, gradient)
        composed = gradients(lambda *x, mask=mask: FusedAttention.composed(*x, mask, is_causal, x[0].shape[-1] ** -0.5), tensors, gradient)
        for ours, expected in zip(fused, composed, strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-13)


def test_scores_in_the_thousands_neither_overflow_nor_lose_a_key():
    q, k, v, _ = inputs(1, 3, TILE + 3, 2, 2)
    q, k = q * 40.0, k * 40.0
    scores = q.to_numpy() @ k.to_numpy().transpose(0, 2, 1)
    assert abs(scores).max() > 1000
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    expected = powers / powers.sum(-1, keepdims=True) @ v.to_numpy()
    np.testing.assert_allclose(scaled_dot_product_attention(q, k, v, scale=1.0).to_numpy(), expected, rtol=1e-9)


def test_a_larger_score_in_a_later_tile_replaces_what_was_summed():
    keys = np.zeros((1, TILE + 1, 1))
    keys[0, -1] = 800.0
    values = np.arange(TILE + 1.0).reshape(1, -1, 1)
    out = scaled_dot_product_attention(*(tensor(x, FastBackend) for x in (np.ones((1, 1, 1)), keys, values)))
    assert out.to_numpy().tolist() == [[[TILE]]]


def test_nan_reaches_the_rows_that_see_it():
    q, k, v, _ = inputs(1, 4, 4, 2, 2)
    keys = k.to_numpy().copy()
    keys[0, 2] = np.nan
    out = scaled_dot_product_attention(q, tensor(keys, FastBackend), v, is_causal=True).to_numpy()
    assert np.isnan(out).all(-1).tolist() == [[False, False, True, True]]
    keys[0, [0, 1, 3]] = -np.inf
    out = scaled_dot_product_attention(abs(q), tensor(keys, FastBackend), v).to_numpy()
    assert np.isnan(out).all()


def test_gradients_agree_with_finite_differences():
    *tensors, gradient = inputs(2, 5, 6, 3, 2)
    grad_check(lambda q, k, v: scaled_dot_product_attention(q, k, v, scale=0.7) * gradient, *tensors)


def test_what_has_no_kernel_is_composed():
    q, k, v, _ = inputs(2, 3, 3, 4, 4)
    assert not FusedAttention.accepts(q, k[:1], v, None)
    assert not FusedAttention.accepts(q, k.to(float32), v, None)
    assert not FusedAttention.accepts(q, k, v, tensor(random((3, 3)), FastBackend).requires_grad_())
    assert not FusedAttention.accepts(q, k, v, tensor(random((1, 3)), FastBackend))
    wide = tensor(random((1, 2, WIDTHS[-1] + 1)), FastBackend)
    assert not FusedAttention.accepts(wide, wide, wide, None)
    expected = expected_attention(*[wide.to_numpy()] * 3)
    np.testing.assert_allclose(scaled_dot_product_attention(wide, wide, wide).to_numpy(), expected, rtol=1e-12)
    assert isinstance(scaled_dot_product_attention(q, k[:1], v), Tensor)
