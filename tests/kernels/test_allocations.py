"""The fast backend under the Tensor layer's short ways: results that begin unfilled, and several dimensions folded at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minitorch import FastBackend, tensor


@pytest.mark.exhaustive
def test_a_sum_over_several_dimensions_is_that_of_numpy():
    x = np.arange(24.0).reshape(2, 3, 4)
    t = tensor(x, backend=FastBackend).permute(2, 0, 1)
    for dims in [(0, 1), (2, 0), (0, 1, 2), (-1, 0)]:
        assert np.allclose(t.sum(dims).to_numpy(), x.transpose(2, 0, 1).sum(dims, keepdims=True))
        assert np.array_equal((t > 3).all(dims).to_numpy(), (x.transpose(2, 0, 1) > 3).all(dims, keepdims=True))
    leaf = tensor(x, backend=FastBackend, requires_grad=True)
    (leaf * leaf).sum((0, 2)).sum().backward()
    assert np.allclose(leaf.grad.to_numpy(), 2 * x)
    assert FastBackend.reduces_many


def test_zero_to_a_power_below_zero_is_infinite_with_the_sign_of_zero_if_the_power_is_odd():
    base, power = tensor([-0.0, 0.0, -0.0, 0.0, -0.0], backend=FastBackend), tensor([-1.0, -1.0, -2.0, -3.0, -0.5], backend=FastBackend)
    assert (base**power).tolist() == [-math.inf, math.inf, math.inf, math.inf, math.inf]


def test_results_of_any_layout_are_written_in_full():
    """Unfilled memory never shows: not under a broadcast, a permuted or a sliced operand, nor in a large result."""
    for shape in [(3, 4), (70, 90)]:
        x = np.random.default_rng(0).standard_normal(shape)
        t = tensor(x, backend=FastBackend)
        for a, b in [
            (t, t[0]),
            (t[:, :1], t),
            (t.permute(1, 0), t.permute(1, 0)),
            (t[::2], t[1::2, :1][:1]),
            (t[1:], t[:-1]),
            (t, tensor(2.0, backend=FastBackend)),
        ]:
            np.full(x.size, np.nan)  # what it leaves in memory
            assert np.array_equal((a * b).to_numpy(), a.to_numpy() * b.to_numpy())
            assert np.array_equal((-a).to_numpy(), -a.to_numpy())
