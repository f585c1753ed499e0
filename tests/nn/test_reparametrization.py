"""Weight normalization and spectral normalization, by hand, NumPy and PyTorch."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours
from minitorch.nn.reparametrization import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from minitorch.torch import nn


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def test_a_weight_is_divided_into_norms_and_directions() -> None:
    layer = nn.Linear(2, 2, bias=False)
    layer.weight.data = ours.tensor([[3.0, 4.0], [0.0, 2.0]])
    assert weight_norm(layer) is layer
    assert list(dict(layer.named_parameters())) == ["weight_g", "weight_v"]
    assert layer.weight_g.tolist() == [[5.0], [2.0]]
    layer.weight_g.data = ours.tensor([[10.0], [1.0]])
    assert layer(ours.tensor([[1.0, 1.0]])).tolist() == [[14.0, 1.0]]
    remove_weight_norm(layer)
    assert list(layer.state_dict()) == ["weight"]
    assert layer.weight.tolist() == [[6.0, 8.0], [0.0, 1.0]]
    assert layer(ours.tensor([[1.0, 1.0]])).tolist() == [[14.0, 1.0]]


def test_power_iterations_find_the_largest_singular_value() -> None:
    ours.manual_seed(0)
    layer = nn.Linear(5, 4, bias=False, dtype=ours.float64)
    weight = layer.weight.detach().numpy().copy()
    spectral_norm(layer, n_power_iterations=10)
    for _ in range(20):
        layer(ours.zeros(1, 5, dtype=ours.float64))
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight / np.linalg.svd(weight)[1][0], rtol=1e-6)
    remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["weight"]
    assert np.linalg.norm(layer.weight.detach().numpy(), 2) == pytest.approx(1)


def test_the_vectors_of_a_spectral_norm_change_in_training_only() -> None:
    ours.manual_seed(0)
    layer = spectral_norm(nn.Linear(5, 4))
    first = layer.weight_u.tolist()
    layer.eval()(ours.zeros(1, 5))
    assert layer.weight_u.tolist() == first
    layer.train()(ours.zeros(1, 5))
    assert layer.weight_u.tolist() != first
    assert layer.weight_u.norm().item() == pytest.approx(1)


def test_what_is_not_there_is_neither_computed_nor_removed() -> None:
    layer = nn.Linear(2, 3)
    with pytest.raises(ValueError, match="Linear has no parameter 'kernel'; it has weight, bias"):
        weight_norm(layer, "kernel")
    with pytest.raises(ValueError, match="Linear has no WeightNorm of 'weight' that could be removed"):
        remove_weight_norm(layer)
    with pytest.raises(ValueError, match="Linear has no SpectralNorm of 'weight' that could be removed"):
        remove_spectral_norm(layer)
    with pytest.raises(ValueError, match="spectral_norm expected n_power_iterations of at least 1, got 0"):
        spectral_norm(layer, n_power_iterations=0)
    weight_norm(layer)
    with pytest.raises(ValueError, match="Linear has no parameter 'weight'; it has bias, weight_g, weight_v"):
        spectral_norm(layer)


LAYERS: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ("Linear", (4, 3), (5, 4), {}), ("Conv2d", (2, 3, 2), (1, 2, 4, 3), {}), ("ConvTranspose2d", (2, 3, 2), (1, 2, 4, 3), {}),
    ("Linear", (4, 3), (5, 4), {"dim": 1}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize(("name", "sizes", "shape", "options"), LAYERS)
def test_values_and_gradients_are_those_of_pytorch(
    kind: str, name: str, sizes: tuple[int, ...], shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    theirs = pytest.importorskip("torch", reason="compares with PyTorch")
    libraries = (ours, theirs)
    layers = [getattr(torch.nn.utils, kind)(getattr(torch.nn, name)(*sizes), **options) for torch in libraries]
    assert list(layers[0].state_dict()) == list(layers[1].state_dict())
    layers[0].load_state_dict(layers[1].state_dict())
    for torch, layer in zip(libraries, layers, strict=True):
        for _ in range(2):
            out = layer(torch.from_numpy(floats(*shape)))
        (out * out).sum().backward()
    for (key, mine), (_, other) in zip(layers[0].named_parameters(), layers[1].named_parameters(), strict=True):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-3, atol=1e-4, err_msg=key)
    outputs = [layer.eval()(torch.from_numpy(floats(*shape))).detach().numpy() for torch, layer in zip(libraries, layers, strict=True)]
    np.testing.assert_allclose(*outputs, rtol=1e-4, atol=1e-5)
    for key, value in layers[1].state_dict().items():
        np.testing.assert_allclose(layers[0].state_dict()[key].numpy(), value.numpy(), rtol=1e-4, atol=1e-5, err_msg=key)
