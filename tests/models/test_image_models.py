"""Models: numbers of parameters, shapes, outputs equal to a network of PyTorch's layers, and that they learn."""

import numpy as np
import pytest

from minitorch import FastBackend, float32, manual_seed, tensor
from minitorch.models import GPT, SentimentCNN, lenet, mlp, resnet18, resnet34, resnet50, resnet101, resnet152
from minitorch.nn import LeakyReLU, ReLU, cross_entropy
from tests.errors import raises


def size(model):
    return sum(parameter.value.size for parameter in model.parameters())


def images(*shape):
    return tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32), FastBackend)


def test_an_mlp_has_its_layers_and_activations():
    model = mlp([3, 5, 4, 2], ReLU)
    assert [type(module).__name__ for module in model] == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]
    assert model(tensor(np.zeros((7, 3)))).shape == (7, 2)
    with raises(ValueError, "mlp expected sizes of an input and an output at least, got (3,); try mlp([784, 100, 10])"):
        mlp([3])
    with raises(TypeError, "mlp expected a list of sizes, got 3; try mlp([784, 100, 10])"):
        mlp(3, 4)
    for wrong in ("relu", ReLU()):
        with raises(TypeError, f"mlp expected the class of an activation, such as ReLU, got {wrong!r}"):
            mlp([3, 4, 5], wrong)
    assert repr(mlp([1, 1, 1], lambda: LeakyReLU(0.2))[1]) == "LeakyReLU(negative_slope=0.2)"


def test_lenet_gives_a_logit_for_each_class_and_has_the_known_number_of_parameters():
    model = lenet(backend=FastBackend, dtype=float32)
    assert model(images(2, 1, 28, 28)).shape == (2, 10)
    assert size(model) == 61_706  # 156 + 2,416 + 48,120 + 10,164 + 850


@pytest.mark.parametrize(
    ("make", "count"),
    [(resnet18, 11_689_512), (resnet34, 21_797_672), (resnet50, 25_557_032), (resnet101, 44_549_160), (resnet152, 60_192_808)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_residual_networks_have_the_known_numbers_of_parameters(make, count):
    model = make(backend=FastBackend, dtype=float32)
    assert size(model) == count
    assert len([name for name, _ in model.named_parameters() if "conv" in name or name == "fc.weight"]) == int(make.__name__[6:])


# Networks that read


def test_sentences_of_any_length_get_a_logit_for_each_mood():
    model = SentimentCNN(20, 6, maps=4, backend=FastBackend, dtype=float32).eval()
    words = np.random.default_rng(0).integers(1, 20, (3, 9))
    out = model(tensor(words, FastBackend))
    assert out.shape == (3, 2)
    padded = np.pad(words, [(0, 0), (0, 4)])  # filled up with word 0, whose numbers are 0
    assert model(tensor(padded, FastBackend)).shape == (3, 2)
    assert [name for name, _ in model.named_parameters()][:2] == ["embedding.weight", "convolutions.0.weight"]
    assert [model.convolutions[i].weight.value.shape for i in range(3)] == [(4, 6, 3), (4, 6, 4), (4, 6, 5)]


def gpt(**settings):
    manual_seed(0)
    return GPT(**{"vocabulary": 7, "context": 8, "layers": 2, "heads": 2, "width": 16} | settings, backend=FastBackend, dtype=float32)


def test_a_gpt_ties_its_first_and_last_weights_and_begins_as_surprised_as_chance():
    model = gpt()
    assert model.head.weight is model.tokens.weight
    assert size(model) == 7 * 16 + 8 * 16 + 2 * (4 * 16**2 + 4 * 16 + 8 * 16**2 + 5 * 16 + 4 * 16) + 2 * 16
    tokens, following = np.random.default_rng(0).integers(0, 7, (2, 4, 8))
    logits = model(tensor(tokens, FastBackend))
    assert logits.shape == (4, 8, 7)
    loss = cross_entropy(logits.view(32, 7), tensor(following.reshape(-1), FastBackend)).item()
    assert loss == pytest.approx(np.log(7), abs=0.1)


def test_a_gpt_says_nothing_of_what_it_cannot_have_seen():
    model = gpt()
    tokens = np.random.default_rng(0).integers(0, 7, (1, 8))
    before = model(tensor(tokens, FastBackend)).to_numpy()
    tokens[0, 5] = (tokens[0, 5] + 1) % 7
    after = model(tensor(tokens, FastBackend)).to_numpy()
    np.testing.assert_array_equal(before[0, :5], after[0, :5])
    assert (before[0, 5:] != after[0, 5:]).any(axis=1).all()


def test_what_a_gpt_cannot_take_is_refused():
    model = gpt()
    with raises(ValueError, "GPT expected at most 8 tokens, its context, got 9; shorten the text"):
        model(tensor(np.zeros((1, 9), np.int64), FastBackend))
    with raises(ValueError, "generate expected a prompt and a temperature >= 0, got 0 tokens and 1.0"):
        model.generate([], 1)
