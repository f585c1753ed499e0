"""A small residual network on images of CIFAR-10's shape, with momentum, weight decay and cosine learning rates."""

import io
from collections.abc import Callable

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from seeded import fill_parameters
from torch.utils.data import DataLoader, TensorDataset


def conv3x3(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """A 3×3 convolution with padding and no bias."""
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut.

    Args:
        in_planes: Channels of the input.
        planes: Channels of the output.
        stride: Stride of the first convolution.
    """

    expansion = 1

    def __init__(self, in_planes: int, planes: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = conv3x3(in_planes, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion * planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion * planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(self.expansion * planes),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images (B, in_planes, H, W) to (B, planes, H / stride, W / stride)."""
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    """A stem, stages of blocks, global average pooling and a linear layer.

    Args:
        block: Makes a block from its channels and its stride.
        num_blocks: Blocks of each stage.
        num_classes: Size of the output.
    """

    def __init__(self, block: Callable[..., nn.Module], num_blocks: list[int], num_classes: int = 10) -> None:
        super().__init__()
        self.in_planes = 8
        self.conv1 = conv3x3(3, 8)
        self.bn1 = nn.BatchNorm2d(8)
        self.layers = nn.ModuleList(self._make_layer(block, 8 * 2**i, n, stride=1 if i == 0 else 2) for i, n in enumerate(num_blocks))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.linear = nn.Linear(self.in_planes, num_classes)

    def _make_layer(self, block: Callable[..., nn.Module], planes: int, num_blocks: int, stride: int) -> nn.Sequential:
        layers = []
        for stride_of_block in [stride] + [1] * (num_blocks - 1):
            layers.append(block(self.in_planes, planes, stride_of_block))
            self.in_planes = planes
        return nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images (B, 3, 32, 32) to logits (B, num_classes)."""
        out = F.relu(self.bn1(self.conv1(x)))
        for layer in self.layers:
            out = layer(out)
        out = self.avgpool(out)
        out = out.view(out.size(0), -1)
        return self.linear(out)


def make_data(rng: np.random.Generator, n: int) -> TensorDataset:
    """Noisy images, each with the color and the stripes of its class."""
    labels = rng.integers(0, 10, size=n)
    colors, waves = rng.standard_normal((10, 3, 1, 1)), np.sin(np.outer(np.arange(1, 11), np.arange(32) / 5)).reshape(10, 1, 1, 32)
    images = (colors[labels] * waves[labels] + 0.5 * rng.standard_normal((n, 3, 32, 32))).astype("float32")
    return TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))


@torch.no_grad()
def evaluate(net: nn.Module, loader: DataLoader) -> float:
    """Accuracy in percent."""
    net.eval()
    correct = total = 0
    for inputs, targets in loader:
        _, predicted = net(inputs).max(1)
        total += targets.size(0)
        correct += predicted.eq(targets).sum().item()
    return 100.0 * correct / total


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    loader = DataLoader(make_data(rng, n=128), batch_size=32, shuffle=False, num_workers=0)
    net = ResNet(BasicBlock, [1, 1, 1])
    fill_parameters(net, rng)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.003, momentum=0.9, weight_decay=5e-4)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)

    losses: list[float] = []
    while len(losses) < steps:
        net.train()
        for inputs, targets in loader:
            optimizer.zero_grad()
            outputs = net(inputs)
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) % 10 == 0:
                print(f"step {len(losses):4d}  loss {loss.item():.4f}  rate {scheduler.get_last_lr()[0]:.4f}")
            if len(losses) == steps:
                break
        scheduler.step()

    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    restored = ResNet(BasicBlock, [1, 1, 1])
    restored.load_state_dict(torch.load(file))
    accuracy = evaluate(net, loader)
    assert evaluate(restored, loader) == accuracy
    parameters = sum(p.numel() for p in net.parameters() if p.requires_grad)
    print(f"{parameters} parameters, accuracy {accuracy:.1f} %, also after saving and loading")
    return losses


if __name__ == "__main__":
    train(steps=60)
