"""Models: numbers of parameters, shapes, outputs equal to a network of PyTorch's layers, and that they learn."""

import numpy as np
import pytest

import minitorch
import minitorch.torch as torch
from minitorch import FastBackend, float32, manual_seed, tensor
from minitorch.models import resnet18
from minitorch.models.resnet import BasicBlock, Bottleneck, ResNet
from minitorch.nn import cross_entropy
from tests.models.test_image_models import images


@pytest.mark.parametrize(("block", "wide"), [(BasicBlock, 512), (Bottleneck, 2048)], ids=["basic", "bottleneck"])
def test_a_residual_network_halves_its_images_five_times(block, wide):
    model = ResNet(block, [1, 1, 1, 1], num_classes=4, in_channels=2, device=FastBackend, dtype=float32)
    seen = []
    for layer in (model.maxpool, model.layer1, model.layer4, model.avgpool):
        layer.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    assert model(images(2, 2, 64, 32)).shape == (2, 4)
    assert seen == [(2, 64, 16, 8), (2, wide // 8, 16, 8), (2, wide, 2, 1), (2, wide, 1, 1)]


def test_a_residual_network_learns_a_batch_by_heart():
    manual_seed(0)
    model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=4, in_channels=1, device=FastBackend, dtype=float32)
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


@pytest.mark.parametrize("bottleneck", [False, True], ids=["basic", "bottleneck"])
def test_with_the_weights_of_pytorchs_layers_a_residual_network_computes_the_same(bottleneck):
    real = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    from project.reproductions.torch_resnet import torch_resnet

    real.manual_seed(0)
    theirs = torch_resnet(bottleneck, [1, 2, 1, 1], 10)
    ours = ResNet(Bottleneck if bottleneck else BasicBlock, [1, 2, 1, 1], 10, device=FastBackend, dtype=float32)
    ours.load_state_dict(theirs.state_dict())
    x = images(2, 3, 32, 32)
    for mode in (True, False):  # training also moves the running means
        with real.no_grad():
            expected = theirs.train(mode)(real.from_numpy(x.to_numpy())).numpy()
        np.testing.assert_allclose(ours.train(mode)(x).to_numpy(), expected, rtol=1e-3, atol=1e-4 * abs(expected).max())
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[name].to_numpy(), value.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_network_is_trained_with_another_last_layer():
    network = resnet18(dtype=torch.float64, num_classes=3)
    network.fc = torch.nn.Linear(512, 2, dtype=torch.float64)
    out = network(torch.zeros(2, 3, 16, 16, dtype=torch.float64))
    assert out.shape == (2, 2)
    out.sum().backward()
    assert network.conv1.weight.grad.shape == (64, 3, 7, 7)
    assert network.fc.bias.grad.tolist() == [2.0, 2.0]
    assert network.bn1.num_batches_tracked.item() == 1
