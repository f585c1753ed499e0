"""Tensors and checks that tests of networks, optimizers and data sets share."""

import numpy as np

from minitorch import SimpleBackend, int64, tensor
from tests.errors import raises


def random(shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def leaf(values, backend=SimpleBackend, dtype=None):
    return tensor(values, backend, requires_grad=True, dtype=dtype)


def integers(values, backend=SimpleBackend):
    return tensor(values, backend, dtype=int64)


def refuses(error, message, call, *args, **settings):
    """Fail unless the call raises this error with exactly this message; "…" at its beginning stands for the name of what is called."""
    if message.startswith("…"):
        message = getattr(call, "__name__", type(call).__name__) + message[1:]
    with raises(error, message):
        call(*args, **settings)
