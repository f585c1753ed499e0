"""Layers after the course on the GPU: the values and gradients of plain loops."""

import numpy as np
import pytest

from minitorch import SimpleBackend, float64, nn, tensor

LAYERS = {
    "GELU": (lambda backend: nn.GELU(), (3,)),
    "GELU of tanh": (lambda backend: nn.GELU("tanh"), (3,)),
    "SiLU": (lambda backend: nn.SiLU(), (3,)),
    "LeakyReLU": (lambda backend: nn.LeakyReLU(0.2), (3,)),
    "Sigmoid": (lambda backend: nn.Sigmoid(), (3,)),
    "Tanh": (lambda backend: nn.Tanh(), (3,)),
    "BatchNorm1d": (lambda backend: nn.BatchNorm1d(2, device=backend, dtype=float64), (3, 2)),
    "LayerNorm": (lambda backend: nn.LayerNorm(3, device=backend, dtype=float64), (2, 3)),
    "AdaptiveAvgPool2d": (lambda backend: nn.AdaptiveAvgPool2d(2), (1, 1, 3, 3)),
    "TransformerEncoderLayer": (lambda backend: nn.TransformerEncoderLayer(2, 1, 2, 0.0, device=backend, dtype=float64), (1, 2, 2)),
    "GRU": (lambda backend: nn.GRU(2, 1, device=backend, dtype=float64), (2, 1, 2)),
    "LSTM": (lambda backend: nn.LSTM(2, 1, device=backend, dtype=float64), (2, 1, 2)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_give_the_results_of_plain_loops(name, cuda):
    make, shape = LAYERS[name]
    values, results, state = np.random.default_rng(0).standard_normal(shape), [], {}
    for backend in (SimpleBackend, cuda):
        layer = make(backend)
        state = state or {name: value.clone() for name, value in layer.state_dict().items()}
        layer.load_state_dict(state)
        x = tensor(values, backend, requires_grad=True)
        y = layer(x)
        y = y[0] if isinstance(y, tuple) else y
        assert y.backend is backend
        (y * y).sum().backward()
        results.append([y, x.grad, *(parameter.value.grad for parameter in layer.parameters()), *layer.buffers()])
    for expected, got in zip(*results, strict=True):
        np.testing.assert_allclose(got.to_numpy(), expected.to_numpy(), rtol=1e-10, atol=1e-12)
