"""Layers: calls of their functions, initial parameters."""

import math
import warnings

import numpy as np
import pytest

import minitorch.torch as face
import minitorch.torch.nn.functional as F
from minitorch import FastBackend, IndexingError, float32, manual_seed, tensor
from minitorch.nn import Dropout, Embedding, Flatten, Linear, ReLU, Sequential
from tests.nn.checks import refuses


def parameter_shapes(module):
    return [(name, parameter.value.shape) for name, parameter in module.named_parameters()]


@pytest.mark.parametrize(
    ("make", "parameters"),
    [
        (lambda: Linear(3, 5), [("weight", (5, 3)), ("bias", (5,))]),
        (lambda: Linear(3, 5, bias=False), [("weight", (5, 3))]),
        (lambda: Embedding(7, 2), [("weight", (7, 2))]),
        (
            lambda: Sequential(Linear(3, 5), ReLU(), Linear(5, 1, bias=False)),
            [("0.weight", (5, 3)), ("0.bias", (5,)), ("2.weight", (1, 5))],
        ),
        (lambda: Sequential(Dropout(), Flatten()), []),
    ],
)
def test_parameters_have_the_names_and_shapes_of_pytorch(make, parameters):
    assert parameter_shapes(make()) == parameters


@pytest.mark.parametrize(
    ("make", "fan_in"),
    [
        (lambda **k: Linear(50, 400, **k), 50),
    ],
)
def test_weights_and_biases_are_initialized_uniformly_as_in_pytorch(make, fan_in):
    manual_seed(0)
    layer = make()
    bound = 1 / math.sqrt(fan_in)
    for values in (layer.weight.to_numpy(), layer.bias.to_numpy()):
        assert 0.9 * bound < abs(values).max() <= bound
        assert values.mean() == pytest.approx(0, abs=0.15 * bound)
        assert values.var() == pytest.approx(1 / (3 * fan_in), rel=0.25)
    manual_seed(0)
    assert make().weight.tolist() == layer.weight.tolist()
    for parameter in make(device=FastBackend, dtype=float32).parameters():
        assert (parameter.backend, parameter.dtype, parameter.is_leaf) == (FastBackend, float32, True)


def test_linear_multiplies_and_adds():
    layer = Linear(2, 3)
    layer.weight.update(tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 0.0]]))
    layer.bias.update(tensor([10.0, 20.0, 30.0]))
    assert layer(tensor([[1.0, 1.0], [2.0, 0.0]])).tolist() == [[13, 19, 33], [12, 20, 36]]


def test_an_embedding_is_initialized_normally_and_its_padding_stays_zero():
    manual_seed(0)
    layer = Embedding(200, 50, padding_idx=3, device=FastBackend)
    weight = layer.weight.value.to_numpy()
    assert not weight[3].any()
    assert (np.delete(weight, 3, 0).mean(), np.delete(weight, 3, 0).var()) == (pytest.approx(0, abs=0.05), pytest.approx(1, abs=0.05))
    out = layer(tensor(np.array([[3, 5]]), FastBackend))
    np.testing.assert_array_equal(out.to_numpy(), weight[[[3, 5]]])
    out.sum().backward()
    assert layer.weight.value.grad[3].tolist() == [0.0] * 50
    assert layer.weight.value.grad[5].tolist() == [1.0] * 50


def test_dropout_keeps_the_mean_in_training_and_every_element_in_evaluation():
    manual_seed(0)
    layer, x = Dropout(0.75), tensor(np.ones(20000), requires_grad=True)
    y = layer(x)
    assert set(y.tolist()) == {0.0, 4.0}
    assert y.mean().item() == pytest.approx(1.0, abs=0.05)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    assert layer(x).tolist() != y.tolist()
    layer.eval()
    assert layer(x) is x
    layer.train()
    assert layer(x) is not x


CHANNELS = [
    ("dropout1d", (9, 9), 1, None),
    ("dropout1d", (9, 9, 9), 2, None),
    ("dropout2d", (9, 9), 2, "4 dimensions, got (9, 9); whole channels are chosen along its first 2"),
    ("dropout2d", (9, 9, 9), 2, "4 dimensions, got (9, 9, 9); whole channels are chosen along its first 2"),
    ("dropout2d", (9, 9, 2, 2), 2, None),
    ("dropout2d", (9, 9, 2, 2, 2), 2, "4 dimensions, got (9, 9, 2, 2, 2); whole channels are chosen along its first 2"),
    ("dropout3d", (81,), 1, "4 or 5 dimensions, got (81,); whole channels are chosen along its first 1"),
    ("dropout3d", (81, 2, 2), 1, "4 or 5 dimensions, got (81, 2, 2); whole channels are chosen along its first 1"),
    ("dropout3d", (81, 2, 2, 2), 1, None),
    ("dropout3d", (9, 9, 2, 2, 2), 2, None),
    ("dropout3d", (81, 2, 2, 2, 2, 2), 1, "4 or 5 dimensions, got (81, 2, 2, 2, 2, 2); whole channels are chosen along its first 1"),
]


@pytest.mark.parametrize(("name", "shape", "channels", "warning"), CHANNELS)
def test_dropout_of_channels_chooses_along_the_first_dimensions_as_pytorchs_does(name, shape, channels, warning):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = np.array(getattr(F, name)(tensor(np.ones(shape)), 0.5).tolist())
    assert [str(each.message) for each in caught] == ([f"{name} expected input of {warning}"] if warning else [])
    rows = out.reshape(int(np.prod(shape[:channels])), -1)
    np.testing.assert_array_equal(rows.min(1), rows.max(1))
    assert set(rows[:, 0]) == {0, 2}
    kept = out.reshape(*shape[:channels], -1)[..., 0]
    assert all(len(np.unique(kept, axis=axis)) > 1 for axis in range(channels))


@pytest.mark.parametrize(("name", "shape", "usual"), [("dropout1d", (4,), "2 or 3"), ("dropout1d", (4, 4, 4, 4), "2 or 3"),
                                                      ("dropout2d", (4,), "4"), ("dropout3d", (), "4 or 5")])  # fmt: skip
def test_dropout_of_channels_refuses_inputs_without_channels(name, shape, usual):
    x = tensor(np.ones(shape)) if shape else face.tensor(1.0)
    for error in (ValueError, RuntimeError):
        refuses(error, f"… expected input of {usual} dimensions, got {shape}; x.reshape(...) changes their number", getattr(F, name), x)


def test_dropout_rates_0_and_1_drop_nothing_and_everything():
    x = tensor([1.0, 2.0])
    assert Dropout(0.0)(x).tolist() == [1, 2]
    assert Dropout(1.0)(x).tolist() == [0, 0]
    assert Dropout().p == 0.5


def test_layers_without_parameters_call_their_functions():
    x = tensor(np.arange(-8.0, 8.0).reshape(1, 1, 4, 4))
    assert ReLU()(x[0, 0, 1:3, 0]).tolist() == [0, 0]
    assert Flatten()(x).shape == (1, 16)
    assert Flatten(0, 2)(x).shape == (4, 4)


def test_wrong_sizes_are_refused():
    refuses(ValueError, "… expected out_features and in_features of at least 0, got 5, -1", Linear, -1, 5)
    refuses(ValueError, "… expected num_embeddings and embedding_dim of at least 0, got -1, 2", Embedding, -1, 2)
    refuses(IndexingError, "… expected padding_idx from -2 to 1 for 2 rows, got 2", Embedding, 2, 2, padding_idx=2)
    refuses(TypeError, "… expected padding_idx as an integer or None, got 1.0", Embedding, 2, 2, padding_idx=1.0)
    refuses(TypeError, "… expected out_features and in_features as integers, got 5, 2.0", Linear, 2.0, 5)
    for p in (-0.1, 1.1, math.nan):
        refuses(ValueError, f"… expected p from 0 to 1, got {p}; it is the probability that an element is zeroed", Dropout, p)
    refuses(TypeError, "… expected p as a number from 0 to 1, got None; it is the probability that an element is zeroed", Dropout, None)
    refuses(TypeError, "… expected Modules, got function as '1'; call functions in a forward method", Sequential, ReLU(), lambda x: x)


def test_a_layer_needs_a_tensor():
    refuses(TypeError, "linear expected a Tensor as input, got list; make one with tensor(...)", Linear(2, 1), [1.0, 2.0])
