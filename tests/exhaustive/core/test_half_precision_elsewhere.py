"""Narrow numbers and the rest: printing, NumPy, DLPack, pickles, indices, networks, the GPU; whole numbers of 8 and 16 bits."""

import operator

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, SimpleBackend, nn, tensor
from minitorch.core.dtypes import float16, uint8
from tests.core.test_half_precision_elsewhere import half_types

backends = pytest.mark.parametrize("backend", [SimpleBackend, FastBackend], ids=lambda backend: backend.name)


@backends
def test_unsigned_numbers_count_on_from_0(backend):
    x, y = tensor([250, 5, 3], backend, dtype=uint8), tensor([10, 3, 5], backend, dtype=uint8)
    with np.errstate(over="ignore"):
        for op in (operator.add, operator.sub, operator.mul):
            assert op(x, y).tolist() == op(x.numpy(), y.numpy()).tolist()
    assert (-y).tolist() == [246, 253, 251]
    assert (x + y).dtype == uint8


FUNCTIONS = {
    "linear": lambda x: nn.linear(x.view(2, 32), x.view(2, 32)[:, :32] * 0.1, x.view(64)[:2]),
    "bias_relu": lambda x: nn.bias_relu(x, x.view(64)[:4]),
    "conv2d": lambda x: nn.conv2d(x, x[:, :, :2, :2], x.view(64)[:2], padding=1, stride=2),
    "conv1d of the course": lambda x: minitorch.conv1d(x.view(4, 4, 4), x.view(4, 4, 4)[:, :, :2]),
    "conv2d of the course": lambda x: minitorch.conv2d(x, x[:, :, :2, :2]),
    "max_pool2d": lambda x: nn.max_pool2d(x, 2),
    "avg_pool2d": lambda x: nn.avg_pool2d(x, 2),
    "maxpool2d": lambda x: minitorch.maxpool2d(x, (2, 2)),
    "avgpool2d": lambda x: minitorch.avgpool2d(x, (2, 2)),
    "max": lambda x: minitorch.max(x, 1),
    "softmax": lambda x: minitorch.softmax(x, 3),
    "logsoftmax": lambda x: minitorch.logsoftmax(x, 3),
    "cross_entropy": lambda x: nn.cross_entropy(x.view(4, 16), tensor([0, 3, 15, 2], x.backend, dtype="int64")),
    "mse_loss": lambda x: nn.mse_loss(x, x.detach() * 0.5),
    "embedding": lambda x: nn.embedding(tensor([[1, 1], [0, 7]], x.backend, dtype="int64"), x.view(8, 8)),
}


@half_types
@pytest.mark.parametrize("name", FUNCTIONS)
def test_networks_compute_with_halves_as_with_float32(name, half):
    values = np.random.default_rng(0).uniform(-2, 2, (2, 2, 4, 4)).astype(half)
    results = []
    for dtype in (half, "float32"):
        x = tensor(values.astype(np.float64), FastBackend, True, dtype)
        out = FUNCTIONS[name](x)
        out.sum().backward()
        assert (out.dtype, x.grad.dtype) == (dtype, dtype)
        results.append((out.to("float64").to_numpy(), x.grad.to("float64").to_numpy()))
    step = 2.0**-10 if half == float16 else 2.0**-7
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=4 * step, atol=12 * step)
