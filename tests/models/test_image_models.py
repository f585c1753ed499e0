"""Models of images and sentences: numbers of parameters, shapes, and what they refuse. GPTs: see test_text_models."""

from types import SimpleNamespace

import numpy as np
import pytest

import minitorch
import minitorch.torch as torch
import minitorch.torch.vision as torchvision
from minitorch import FastBackend, SimpleBackend, float32, tensor
from minitorch.models import SentimentCNN, lenet, mlp, resnet18, resnet34, resnet50, resnet101, resnet152
from minitorch.models.resnet import BasicBlock, Bottleneck, ResNet
from minitorch.nn import LeakyReLU, ReLU
from tests.errors import raises
from tests.marks import needs_compiler


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
    state = model.state_dict()
    assert len(state) == count_of_entries(int(make.__name__[6:]))
    assert list(state)[-2:] == ["fc.weight", "fc.bias"]
    assert {"conv1.weight", "bn1.num_batches_tracked", "layer2.0.downsample.1.running_var", "layer4.1.conv2.weight"} < set(state)


def count_of_entries(layers):
    """Entries in torchvision's state dict: six for each convolution and its norm, those of skips included, and two of the last layer."""
    return 6 * (layers - 1 + (3 if layers < 50 else 4)) + 2


@pytest.mark.parametrize(
    ("block", "layers", "options", "count"),
    [
        (Bottleneck, [3, 4, 6, 3], {"groups": 32, "width_per_group": 4}, 25_028_904),  # ResNeXt-50
        (Bottleneck, [3, 4, 6, 3], {"width_per_group": 128}, 68_883_240),  # Wide ResNet-50
    ],
    ids=["resnext", "wide"],
)
def test_options_make_the_known_variants(block, layers, options, count, monkeypatch):
    monkeypatch.setattr("minitorch.nn.init.generator", SimpleNamespace(random=np.zeros, standard_normal=np.zeros))
    assert size(ResNet(block, layers, **options)) == count


@needs_compiler
def test_strides_can_be_replaced_by_dilation_and_blocks_begin_as_the_identity():
    model = ResNet(Bottleneck, [1, 1, 1, 2], 2, True, replace_stride_with_dilation=[False, True, True]).eval()
    seen = []
    model.layer4.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    assert model(images(1, 3, 32, 32)).shape == (1, 2)
    assert seen == [(1, 2048, 4, 4)]
    assert [each.conv2.dilation for each in (*model.layer3, *model.layer4)] == [(1, 1), (2, 2), (4, 4)]
    block = model.layer4[1]
    x = torch.rand(1, 2048, 2, 2)
    assert block(x).tolist() == x.tolist()
    assert BasicBlock(4, 4).eval()(torch.zeros(1, 4, 2, 2)).shape == (1, 4, 2, 2)
    assert isinstance(ResNet(BasicBlock, [1, 1, 1, 1], norm_layer=torch.nn.InstanceNorm2d).layer1[0].bn1, torch.nn.InstanceNorm2d)


def test_torchvision_s_networks_are_these():
    for name in torchvision.models.__all__:
        assert getattr(torchvision.models, name) is getattr(minitorch.models, name)
    network = resnet18(num_classes=3)
    assert isinstance(network.layer1[0].conv1, torch.nn.Conv2d)
    assert isinstance(network.bn1, torch.nn.BatchNorm2d)
    assert repr(network.maxpool) == "MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)"
    assert (network.fc.weight.dtype, type(network.fc.weight)) == (torch.float32, torch.nn.Parameter)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: resnet18(weights="DEFAULT"), NotImplementedError,
         "resnet18 supports weights=None only, got 'DEFAULT'; load a file into model.load_state_dict"),
        (lambda: BasicBlock(4, 4, groups=2), ValueError, "BasicBlock expected groups=1 and base_width=64, got 2 and 64; use Bottleneck"),
        (lambda: BasicBlock(4, 4, dilation=2), NotImplementedError, "BasicBlock supports dilation=1 only, got 2; use Bottleneck"),
        (lambda: ResNet(Bottleneck, [1, 1, 1, 1], replace_stride_with_dilation=[True]), ValueError,
         "ResNet expected three numbers as replace_stride_with_dilation, got [True]"),
    ],
)  # fmt: skip
def test_what_a_residual_network_does_not_support_is_refused(make, error, message):
    with raises(error, message):
        make()


def test_sentences_of_any_length_get_a_logit_for_each_mood():
    model = SentimentCNN(20, 6, maps=4, device=FastBackend, dtype=float32).eval()
    words = np.random.default_rng(0).integers(1, 20, (3, 9))
    padded = np.pad(words, [(0, 0), (0, 4)])  # filled up with word 0, whose numbers are 0
    for sentences in (words, padded):
        assert model(tensor(sentences, FastBackend)).shape == (3, 2)
    assert [name for name, _ in model.named_parameters()][:2] == ["embedding.weight", "convolutions.0.weight"]
    assert [model.convolutions[i].weight.value.shape for i in range(3)] == [(4, 6, 3), (4, 6, 4), (4, 6, 5)]
