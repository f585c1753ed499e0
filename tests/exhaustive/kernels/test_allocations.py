"""The fast backend under the Tensor layer's short ways: results that begin unfilled, and several dimensions folded at once."""

import numpy as np

from minitorch import FastBackend, tensor


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
