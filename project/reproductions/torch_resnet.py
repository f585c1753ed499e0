"""ResNet made of PyTorch's own layers, with torchvision's names, to compare ours with. Requires PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def torch_resnet(bottleneck: bool, layers: Sequence[int], num_classes: int = 1000) -> Any:
    """Return a residual network as a torch.nn.Module, with PyTorch's initial weights.

    Args:
        bottleneck: Whether blocks have three convolutions.
        layers: How many blocks each of the four layers has.
        num_classes: Size of the output.
    """
    from torch import nn  # type: ignore[import-not-found]

    def conv(inner: int, outer: int, size: int, stride: int = 1) -> Any:
        return nn.Conv2d(inner, outer, size, stride, size // 2, bias=False)

    class Block(nn.Module):
        def __init__(self, inner: int, channels: int, stride: int) -> None:
            super().__init__()
            outer = channels * (4 if bottleneck else 1)
            sizes = [(inner, channels, 1, 1), (channels, channels, 3, stride), (channels, outer, 1, 1)]
            if not bottleneck:
                sizes = [(inner, channels, 3, stride), (channels, channels, 3, 1)]
            self.count = len(sizes)
            for number, size in enumerate(sizes, 1):
                self.add_module(f"conv{number}", conv(*size))
                self.add_module(f"bn{number}", nn.BatchNorm2d(size[1]))
            same = stride == 1 and inner == outer
            self.downsample = None if same else nn.Sequential(conv(inner, outer, 1, stride), nn.BatchNorm2d(outer))

        def forward(self, x: Any) -> Any:
            out = x
            for number in range(1, self.count + 1):
                out = getattr(self, f"bn{number}")(getattr(self, f"conv{number}")(out))
                out = out.relu() if number < self.count else out
            return (out + (x if self.downsample is None else self.downsample(x))).relu()

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.bn1 = conv(3, 64, 7, 2), nn.BatchNorm2d(64)
            width = 64
            for number, blocks in enumerate(layers):
                channels, made = 64 << number, []
                for place in range(blocks):
                    made.append(Block(width, channels, 2 if number and not place else 1))
                    width = channels * (4 if bottleneck else 1)
                self.add_module(f"layer{number + 1}", nn.Sequential(*made))
            self.fc = nn.Linear(width, num_classes)

        def forward(self, x: Any) -> Any:
            out = nn.functional.max_pool2d(self.bn1(self.conv1(x)).relu(), 3, 2, 1)
            for number in range(1, len(layers) + 1):
                out = getattr(self, f"layer{number}")(out)
            return self.fc(out.mean((2, 3)))

    return Network()
