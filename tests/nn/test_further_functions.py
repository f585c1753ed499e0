"""Whole channels and packed sequences: values by NumPy and by hand, and error messages."""

import math

import numpy as np

from minitorch import grad_check, nn, tensor
from minitorch.nn import packed
from tests.errors import raises

X = np.random.default_rng(0).standard_normal((2, 3, 5, 4))
SCORES = np.array([[0.5, 1.0, -1.0], [2.0, 0.0, 1.5]])


# Channels


def test_channels_are_divided_by_their_neighbours(backend):
    squares = np.pad(X**2, [(0, 0), (1, 1), (0, 0), (0, 0)])
    total = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    expected = X / (2 + 0.3 / 3 * total) ** 0.75
    np.testing.assert_allclose(nn.LocalResponseNorm(3, 0.3, k=2.0)(tensor(X, backend)).to_numpy(), expected)
    with raises(ValueError, "local_response_norm expected input of shape (N, C, …) with three dimensions or more, got (2, 3)"):
        nn.local_response_norm(tensor(SCORES), 2)


def test_groups_of_channels_are_interleaved():
    assert nn.ChannelShuffle(2)(tensor([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]])).tolist() == [[0, 3, 1, 4, 2, 5]]
    with raises(ValueError, "channel_shuffle expected input of shape (N, C, …) and groups that divide C, got (2, 3) and 2"):
        nn.channel_shuffle(tensor(SCORES), 2)


# Packed sequences


def test_sequences_are_packed_and_padded_again(backend):
    padded = tensor(np.arange(12.0).reshape(3, 2, 2), backend)
    sizes = packed.batch_sizes_of([2, 3])
    assert sizes == [2, 2, 1]
    data = packed.pack(padded, sizes, [1, 0])
    assert data.tolist() == [[2, 3], [0, 1], [6, 7], [4, 5], [10, 11]]
    assert packed.unpack(data, sizes, [1, 0], 4, -1.0).tolist() == [
        [[0, 1], [2, 3]],
        [[4, 5], [6, 7]],
        [[-1, -1], [10, 11]],
        [[-1, -1], [-1, -1]],
    ]
    grad_check(lambda x: packed.unpack(packed.pack(x, sizes, [1, 0]), sizes, [1, 0], 3, 0.0), padded)


def test_logsigmoid_and_hardsigmoid_have_limits_at_infinity():
    x = tensor([-math.inf, math.inf], requires_grad=True)
    assert nn.logsigmoid(x).tolist() == [-math.inf, 0.0]
    nn.hardsigmoid(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
