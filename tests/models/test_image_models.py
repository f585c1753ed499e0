"""Models of images and sentences: numbers of parameters, shapes, and what they refuse. GPTs: see test_text_models."""

from types import SimpleNamespace

import numpy as np
import pytest

from minitorch import FastBackend, SimpleBackend, float32, tensor
from minitorch.models import SentimentCNN, lenet, mlp, resnet18, resnet34, resnet50, resnet101, resnet152
from minitorch.nn import LeakyReLU, ReLU
from tests.errors import raises


def size(model):
    return sum(parameter.value.numel() for parameter in model.parameters())


def images(*shape):
    return tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32), FastBackend)


def test_an_mlp_has_its_layers_and_activations():
    model = mlp([3, 5, 4, 2], ReLU, device=SimpleBackend, dtype="float64")
    assert [type(module).__name__ for module in model] == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]
    assert model(tensor(np.zeros((7, 3)))).shape == (7, 2)
    assert repr(mlp([1, 1, 1], lambda: LeakyReLU(0.2))[1]) == "LeakyReLU(negative_slope=0.2)"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([3],), ValueError, "mlp expected sizes of an input and an output at least, got (3,); try mlp([784, 100, 10])"),
        ((3, 4), TypeError, "mlp expected a list of sizes, got 3; try mlp([784, 100, 10])"),
        (([3, 4, 5], "relu"), TypeError, "mlp expected the class of an activation, such as ReLU, got 'relu'"),
        (([3, 4, 5], ReLU()), TypeError, "mlp expected the class of an activation, such as ReLU, got ReLU()"),
    ],
)
def test_what_an_mlp_cannot_be_made_of(arguments, error, message):
    with raises(error, message):
        mlp(*arguments)


def test_lenet_gives_a_logit_for_each_class_and_has_the_known_number_of_parameters():
    model = lenet(device=FastBackend, dtype=float32)
    assert model(images(1, 1, 28, 28)).shape == (1, 10)
    assert size(model) == 61_706  # 156 + 2,416 + 48,120 + 10,164 + 850


@pytest.mark.parametrize(
    ("make", "count"),
    [(resnet18, 11_689_512), (resnet34, 21_797_672), (resnet50, 25_557_032), (resnet101, 44_549_160), (resnet152, 60_192_808)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_residual_networks_have_the_known_numbers_of_parameters(make, count, monkeypatch):
    zeros = SimpleNamespace(random=np.zeros, standard_normal=np.zeros)  # which take less time than random numbers
    monkeypatch.setattr("minitorch.nn.init.generator", zeros)
    model = make(device=FastBackend, dtype=float32)
    assert size(model) == count
    assert len([name for name, _ in model.named_parameters() if "conv" in name or name == "fc.weight"]) == int(make.__name__[6:])


def test_sentences_of_any_length_get_a_logit_for_each_mood():
    model = SentimentCNN(20, 6, maps=4, device=FastBackend, dtype=float32).eval()
    words = np.random.default_rng(0).integers(1, 20, (3, 9))
    padded = np.pad(words, [(0, 0), (0, 4)])  # filled up with word 0, whose numbers are 0
    for sentences in (words, padded):
        assert model(tensor(sentences, FastBackend)).shape == (3, 2)
    assert [name for name, _ in model.named_parameters()][:2] == ["embedding.weight", "convolutions.0.weight"]
    assert [model.convolutions[i].weight.value.shape for i in range(3)] == [(4, 6, 3), (4, 6, 4), (4, 6, 5)]
