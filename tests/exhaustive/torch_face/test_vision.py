"""The tests of tests/torch_face/test_vision.py on the fast backend."""

from tests.torch_face.test_vision import *


def test_a_network_is_trained_with_another_last_layer() -> None:
    network = models.resnet18(dtype=torch.float64, num_classes=3)
    network.fc = torch.nn.Linear(512, 2, dtype=torch.float64)
    out = network(torch.zeros(2, 3, 16, 16, dtype=torch.float64))
    assert out.shape == (2, 2)
    out.sum().backward()
    assert network.conv1.weight.grad.shape == (64, 3, 7, 7)
    assert network.fc.bias.grad.tolist() == [2.0, 2.0]
    assert network.bn1.num_batches_tracked.item() == 1
