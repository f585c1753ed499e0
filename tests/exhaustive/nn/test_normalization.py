"""Normalization: values from NumPy, gradients from finite differences, and a comparison of values, gradients and states with PyTorch."""

import numpy as np
import pytest

from minitorch import FastBackend, float32, float64, tensor
from minitorch.kernels import loop
from minitorch.nn.normalization import batch_norm, group_norm, layer_norm, rms_norm
from tests.nn.test_normalization import leaf, normalize, random


def normalize_backward(x, d, axes, eps=1e-5):
    """The gradient of `normal`, by the formula of the papers."""
    y = normalize(x, axes, eps)
    factor = 1 / np.sqrt(x.var(axes, keepdims=True) + eps)
    return factor * (d - d.mean(axes, keepdims=True) - y * (d * y).mean(axes, keepdims=True))


NORMS = {
    "columns": (lambda x: batch_norm(x, None, None, training=True), (40, 300), 0),
    "wide columns": (lambda x: batch_norm(x, None, None, training=True), (20, 60, 5), (0, 2)),
    "planes": (lambda x: batch_norm(x, None, None, training=True), (3, 2, 1100), (0, 2)),
    "group": (lambda x: group_norm(x.view(1, *x.shape), 1).view(*x.shape), (3, 50), None),
    "rows": (lambda x: layer_norm(x, x.shape[1]), (3, 1100), 1),
}
"""On the compiled backend, each with enough elements for several blocks or tasks."""


@pytest.mark.parametrize("far", [0.0, 1e4])
@pytest.mark.parametrize("name", NORMS)
def test_values_far_from_zero_keep_float32_precision(name, far):
    run, shape, axes = NORMS[name]
    for dtype, tolerance in ((float64, 1e-11 if far else 1e-12), (float32, 5e-6)):
        values, gradient = (far + random(shape)).astype(dtype), random(shape, 1).astype(dtype)
        x = leaf(values, FastBackend)
        y = run(x)
        y.backward(tensor(gradient, FastBackend))
        exact = values.astype(float)
        np.testing.assert_allclose(y.to_numpy(), normalize(exact, axes), rtol=0, atol=tolerance)
        np.testing.assert_allclose(x.grad.to_numpy(), normalize_backward(exact, gradient.astype(float), axes), rtol=0, atol=tolerance)


def test_the_number_of_threads_does_not_affect_the_result(monkeypatch):
    results = []
    for smallest in (loop.PARALLEL_THRESHOLD, 1):
        monkeypatch.setattr(loop, "PARALLEL_THRESHOLD", smallest)
        x, weight, bias = (leaf(v, FastBackend) for v in (random((3, 4, 5, 6)), random((4,), 1), random((4,), 2)))
        last = leaf(random((6,), 3), FastBackend)
        y = batch_norm(x, None, None, weight, bias, True) + group_norm(x, 2, weight, bias) + layer_norm(x, 6, last)
        y.backward(tensor(random((3, 4, 5, 6), 4), FastBackend))
        wide = leaf(random((3, 600)), FastBackend)  # three tasks
        z = batch_norm(wide, None, None, training=True)
        z.backward(tensor(random((3, 600), 1), FastBackend))
        results.append([t.tolist() for t in (y, x.grad, weight.grad, bias.grad, last.grad, z, wide.grad)])
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_normalized_in_float32(backend, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")
    step = 2.0**-10 if dtype == "float16" else 2.0**-7
    values = tensor(random((4, 6)), backend).to(dtype)
    exact = values.to(float64).to_numpy()
    for run, expected in (
        (lambda x: layer_norm(x, 6), normalize(exact, 1)),
        (lambda x: batch_norm(x, None, None, training=True), normalize(exact, 0)),
        (lambda x: group_norm(x, 2), normalize(exact.reshape(4, 2, 3), 2).reshape(4, 6)),
        (lambda x: rms_norm(x, 6), exact / np.sqrt((exact**2).mean(1, keepdims=True) + step)),
    ):
        y = run(values)
        assert y.dtype.name == dtype
        np.testing.assert_allclose(y.to(float64).to_numpy(), expected, atol=8 * step)
