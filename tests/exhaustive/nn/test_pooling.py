"""Pooling with stride and padding: by hand, against a plain loop, and against PyTorch."""

import pytest

from minitorch import FastBackend, grad_check, tensor
from minitorch.kernels import loop
from tests.nn.test_pooling import POOLS, SIZES, distinct, leaf


@POOLS
@pytest.mark.parametrize(("shape", "kernel", "stride", "padding"), SIZES)
def test_gradients_agree_with_finite_differences(backend, pool, shape, kernel, stride, padding):
    grad_check(lambda x: pool(x, kernel, stride, padding) * pool(x, kernel, stride, padding), tensor(distinct(shape) / 20, backend))


@POOLS
def test_the_number_of_threads_does_not_affect_the_result(pool, monkeypatch):
    x = distinct((3, 5, 4, 6))
    gradient = tensor(distinct((3, 5, 2, 3), seed=1), FastBackend)
    results = []
    for smallest in (loop.PARALLEL_THRESHOLD, 1):
        monkeypatch.setattr(loop, "PARALLEL_THRESHOLD", smallest)
        t = leaf(x, FastBackend)
        out = pool(t, 2)
        out.backward(gradient)
        results.append((out.tolist(), t.grad.tolist()))
    assert results[0] == results[1]
