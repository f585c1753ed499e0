"""Models: numbers of parameters, shapes, outputs equal to a network of PyTorch's layers, and that they learn."""

import re

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, float32, manual_seed, tensor
from minitorch.models import GPT, SentimentCNN, lenet, mlp, resnet18, resnet34, resnet50, resnet101, resnet152
from minitorch.models.resnet import BasicBlock, Bottleneck, ResNet
from minitorch.nn import LeakyReLU, ReLU, cross_entropy


def raises(error, message):
    """pytest.raises for the whole message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


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


@pytest.mark.exhaustive
@pytest.mark.parametrize(("block", "wide"), [(BasicBlock, 512), (Bottleneck, 2048)], ids=["basic", "bottleneck"])
def test_a_residual_network_halves_its_images_five_times(block, wide):
    model = ResNet(block, [1, 1, 1, 1], num_classes=4, in_channels=2, backend=FastBackend, dtype=float32)
    seen = []
    for layer in (model.maxpool, model.layer1, model.layer4, model.flatten):
        layer.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    assert model(images(2, 2, 64, 32)).shape == (2, 4)
    assert seen == [(2, 64, 16, 8), (2, wide // 8, 16, 8), (2, wide, 2, 1), (2, wide)]


@pytest.mark.exhaustive
def test_a_residual_network_learns_a_batch_by_heart():
    manual_seed(0)
    model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=4, in_channels=1, backend=FastBackend, dtype=float32)
    x, y = images(8, 1, 32, 32), tensor(np.arange(8) % 4, FastBackend)
    optimizer = minitorch.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for _ in range(8):
        loss = cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("bottleneck", [False, True], ids=["basic", "bottleneck"])
def test_with_the_weights_of_pytorchs_layers_a_residual_network_computes_the_same(bottleneck):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    from project.reproductions.torch_resnet import torch_resnet

    torch.manual_seed(0)
    theirs = torch_resnet(bottleneck, [1, 2, 1, 1], 10)
    ours = ResNet(Bottleneck if bottleneck else BasicBlock, [1, 2, 1, 1], 10, backend=FastBackend, dtype=float32)
    ours.load_state_dict(theirs.state_dict())
    x = images(2, 3, 32, 32)
    for mode in (True, False):  # training also moves the running means
        with torch.no_grad():
            expected = theirs.train(mode)(torch.from_numpy(x.to_numpy())).numpy()
        np.testing.assert_allclose(ours.train(mode)(x).to_numpy(), expected, rtol=1e-3, atol=1e-4 * abs(expected).max())
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[name].to_numpy(), value.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)


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


@pytest.mark.exhaustive
def test_a_gpt_learns_a_text_that_repeats_and_goes_on_with_it():
    model = gpt()
    text = np.array([0, 1, 2, 3, 4, 5, 6] * 4)
    x = tensor(np.stack([text[i : i + 8] for i in range(14)]), FastBackend)
    y = tensor(np.concatenate([text[i + 1 : i + 9] for i in range(14)]), FastBackend)
    optimizer = minitorch.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        loss = cross_entropy(model(x).view(14 * 8, 7), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    assert model.generate([2], 10, temperature=0) == [2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5]
    assert model.training
    manual_seed(5)
    first = model.generate([0, 1], 6, temperature=5.0)
    manual_seed(5)
    assert model.generate([0, 1], 6, temperature=5.0) == first
    assert len(first) == 8


def test_what_a_gpt_cannot_take_is_refused():
    model = gpt()
    with raises(ValueError, "GPT expected at most 8 tokens, its context, got 9; shorten the text"):
        model(tensor(np.zeros((1, 9), np.int64), FastBackend))
    with raises(ValueError, "generate expected a prompt and a temperature >= 0, got 0 tokens and 1.0"):
        model.generate([], 1)
