"""Stage 6 - Residual networks: blocks that add their output to their input, so that networks of a hundred layers can be trained.

Names and order of modules are torchvision's, so that `load_state_dict` accepts its weights.

Source: He et al. 2015, arXiv:1512.03385, table 1; the stride of a bottleneck is in its 3 × 3 convolution, as in later work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minitorch.nn.activations import ReLU
from minitorch.nn.containers import Sequential
from minitorch.nn.convolution import Conv2d
from minitorch.nn.init import constant_, kaiming_normal_
from minitorch.nn.layers import Flatten
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module, Node
from minitorch.nn.normalization import BatchNorm2d
from minitorch.nn.pooling import AdaptiveAvgPool2d, MaxPool2d

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minitorch.tensor import Tensor


class _Block(Module):
    """Base of both blocks: the skip connection, with a 1 × 1 convolution if input and output shapes differ."""

    expansion = 1

    def __init__(self, in_channels: int, channels: int, stride: int, on: dict[str, Any]) -> None:
        super().__init__()
        self.relu = ReLU()
        out_channels = channels * self.expansion
        if stride == 1 and in_channels == out_channels:
            self.downsample = None
        else:
            projection = Conv2d(in_channels, out_channels, 1, stride, bias=False, **on)
            self.downsample = Sequential(projection, BatchNorm2d(out_channels, **on))

    def skip(self, input: Tensor) -> Tensor:
        """The skip connection: the input, projected to the shape of the output."""
        return input if self.downsample is None else self.downsample(input)


class BasicBlock(_Block):
    """Two 3 × 3 convolutions and a skip connection."""

    def __init__(self, in_channels: int, channels: int, stride: int, on: dict[str, Any]) -> None:
        super().__init__(in_channels, channels, stride, on)
        self.conv1 = Conv2d(in_channels, channels, 3, stride, padding=1, bias=False, **on)
        self.bn1 = BatchNorm2d(channels, **on)
        self.conv2 = Conv2d(channels, channels, 3, padding=1, bias=False, **on)
        self.bn2 = BatchNorm2d(channels, **on)

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, in_channels, H, W) to (B, channels, H', W')."""
        out = self.relu(self.bn1(self.conv1(input)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + self.skip(input))


class Bottleneck(_Block):
    """A 3 × 3 convolution between two 1 × 1 convolutions, which reduce and restore the number of channels, and a skip connection."""

    expansion = 4

    def __init__(self, in_channels: int, channels: int, stride: int, on: dict[str, Any]) -> None:
        super().__init__(in_channels, channels, stride, on)
        self.conv1 = Conv2d(in_channels, channels, 1, bias=False, **on)
        self.bn1 = BatchNorm2d(channels, **on)
        self.conv2 = Conv2d(channels, channels, 3, stride, padding=1, bias=False, **on)
        self.bn2 = BatchNorm2d(channels, **on)
        self.conv3 = Conv2d(channels, 4 * channels, 1, bias=False, **on)
        self.bn3 = BatchNorm2d(4 * channels, **on)

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, in_channels, H, W) to (B, 4 · channels, H', W')."""
        out = self.relu(self.bn1(self.conv1(input)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + self.skip(input))


class ResNet(Module):
    """A residual network: a 7 × 7 convolution, four layers of blocks, global average pooling and a linear layer.

    Convolutions are initialized from He's normal distribution with mode "fan_out", as in torchvision.

    Args:
        block: BasicBlock or Bottleneck.
        layers: Number of blocks in each of the four layers.
        num_classes: Size of the output.
        in_channels: Channels of the images.
        device: Where the weights are stored.
        dtype: Dtype of the weights; None for the default dtype.

    Source: He et al. 2015, arXiv:1512.03385, table 1.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        in_channels: int = 3,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        on = {"device": device, "dtype": dtype}
        self.conv1 = Conv2d(in_channels, 64, 7, 2, 3, bias=False, **on)
        self.bn1 = BatchNorm2d(64, **on)
        self.relu = ReLU()
        self.maxpool = MaxPool2d(3, 2, 1)
        width = 64
        for number, blocks in enumerate(layers):
            channels, layer = 64 << number, []
            for position in range(blocks):
                layer.append(block(width, channels, 2 if number and not position else 1, on))
                width = channels * block.expansion
            setattr(self, f"layer{number + 1}", Sequential(*layer))
        self.avgpool = AdaptiveAvgPool2d((1, 1))
        self.flatten = Flatten()
        self.fc = Linear(width, num_classes, **on)
        self.apply(_init_weights)

    def forward(self, input: Tensor) -> Tensor:
        """From images, shape (B, in_channels, H, W), to logits, shape (B, num_classes)."""
        out = self.maxpool(self.relu(self.bn1(self.conv1(input))))
        out = self.layer4(self.layer3(self.layer2(self.layer1(out))))
        return self.fc(self.flatten(self.avgpool(out)))


def _init_weights(module: Node) -> None:
    """Initialize convolutions; batch norms keep their defaults."""
    if isinstance(module, Conv2d):
        kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    elif isinstance(module, Linear) and module.bias is not None:
        constant_(module.bias, 0.0)


def resnet18(**settings: Any) -> ResNet:
    """18 layers, 11.7 million parameters for 1,000 classes. Arguments as for `ResNet`."""
    return ResNet(BasicBlock, [2, 2, 2, 2], **settings)


def resnet34(**settings: Any) -> ResNet:
    """34 layers, 21.8 million parameters for 1,000 classes. Arguments as for `ResNet`."""
    return ResNet(BasicBlock, [3, 4, 6, 3], **settings)


def resnet50(**settings: Any) -> ResNet:
    """50 layers, 25.6 million parameters for 1,000 classes. Arguments as for `ResNet`."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **settings)


def resnet101(**settings: Any) -> ResNet:
    """101 layers, 44.5 million parameters for 1,000 classes. Arguments as for `ResNet`."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **settings)


def resnet152(**settings: Any) -> ResNet:
    """152 layers, 60.2 million parameters for 1,000 classes. Arguments as for `ResNet`."""
    return ResNet(Bottleneck, [3, 8, 36, 3], **settings)
