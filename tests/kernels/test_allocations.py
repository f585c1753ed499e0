"""The fast backend under the Tensor layer's short ways: results that begin unfilled, and several dimensions folded at once."""

import math

import numpy as np

from minitorch import FastBackend, tensor


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
