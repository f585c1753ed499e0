"""Stage 7 - Residual networks: blocks that add their output to their input, so that networks of a hundred layers can be trained.

Names, arguments and order of modules are torchvision's, so that `load_state_dict` accepts its weights.

Source: He et al. 2015, arXiv:1512.03385, table 1; the stride of a bottleneck is in its 3 × 3 convolution, as in later work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minitorch.nn.activations import ReLU
from minitorch.nn.containers import Sequential
from minitorch.nn.convolution import Conv2d
from minitorch.nn.init import constant_, kaiming_normal_
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module
from minitorch.nn.normalization import BatchNorm2d
from minitorch.nn.pooling import AdaptiveAvgPool2d, MaxPool2d
from minitorch.torch.tensor import Tensor

Norm = Callable[[int], Any]
"""Makes a normalization layer for a number of channels."""


class BasicBlock(Module):
    """Two 3 × 3 convolutions and a skip connection.

    Args:
        inplanes: Number of input channels.
        planes: Number of output channels.
        stride: Step of the first convolution.
        downsample: Brings the input of the skip connection into the shape of the output where they differ.
        groups: 1.
        base_width: 64.
        dilation: 1.
        norm_layer: Makes a normalization layer for a number of channels; BatchNorm2d by default.
        on: device and dtype of the parameters.

    Raises:
        ValueError: If groups or base_width has another value.
        NotImplementedError: If dilation is above 1.
    """

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Any = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
        **on: Any,
    ) -> None:
        super().__init__()
        if (groups, base_width) != (1, 64):
            raise ValueError(f"BasicBlock expected groups=1 and base_width=64, got {groups} and {base_width}; use Bottleneck")
        if dilation > 1:
            raise NotImplementedError(f"BasicBlock supports dilation=1 only, got {dilation}; use Bottleneck")
        norm = norm_layer or partial(BatchNorm2d, **on)
        self.conv1 = Conv2d(inplanes, planes, 3, stride, padding=1, bias=False, **on)
        self.bn1 = norm(planes)
        self.relu = ReLU()
        self.conv2 = Conv2d(planes, planes, 3, padding=1, bias=False, **on)
        self.bn2 = norm(planes)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """From shape (B, inplanes, H, W) to (B, planes, H', W')."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(Module):
    """A 3 × 3 convolution between two 1 × 1 convolutions, which reduce and restore the number of channels, and a skip connection.

    The 3 × 3 convolution has groups of base_width channels for every 64 planes, and the stride and the dilation; the output has 4 · planes
    channels. The other arguments are those of `BasicBlock`.
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Any = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
        **on: Any,
    ) -> None:
        super().__init__()
        norm, width = norm_layer or partial(BatchNorm2d, **on), planes * base_width // 64 * groups
        self.conv1 = Conv2d(inplanes, width, 1, bias=False, **on)
        self.bn1 = norm(width)
        self.conv2 = Conv2d(width, width, 3, stride, dilation, dilation, groups, bias=False, **on)
        self.bn2 = norm(width)
        self.conv3 = Conv2d(width, 4 * planes, 1, bias=False, **on)
        self.bn3 = norm(4 * planes)
        self.relu = ReLU()
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """From shape (B, inplanes, H, W) to (B, 4 · planes, H', W')."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet(Module):
    """A residual network: a 7 × 7 convolution, four layers of blocks, global average pooling and a linear layer.

    Convolutions are initialized from He's normal distribution with mode "fan_out".

    Args:
        block: BasicBlock or Bottleneck.
        layers: Number of blocks in each of the four layers.
        num_classes: Size of the output.
        zero_init_residual: Whether the last normalization of each block starts with weight 0, so that the block passes on its input.
        groups: Number of channel groups of the 3 × 3 convolutions of a Bottleneck.
        width_per_group: Channels of a group for every 64 planes.
        replace_stride_with_dilation: Whether the last three layers have convolutions with dilation in place of a stride of 2.
        norm_layer: Makes a normalization layer for a number of channels; BatchNorm2d by default.
        in_channels: Channels of the images.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; None for PyTorch's default dtype.

    Raises:
        ValueError: If there are not three numbers in replace_stride_with_dilation.

    Source: He et al. 2015, arXiv:1512.03385, table 1.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Norm | None = None,
        *,
        in_channels: int = 3,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        dilate = [False, *(replace_stride_with_dilation or [False] * 3)]
        if len(dilate) != 4:
            raise ValueError(f"ResNet expected three numbers as replace_stride_with_dilation, got {replace_stride_with_dilation}")
        on = {"device": device, "dtype": dtype}
        norm = norm_layer or partial(BatchNorm2d, **on)
        self.conv1 = Conv2d(in_channels, 64, 7, 2, 3, bias=False, **on)
        self.bn1 = norm(64)
        self.relu = ReLU()
        self.maxpool = MaxPool2d(3, 2, 1)
        inplanes, dilation = 64, 1
        for number, count in enumerate(layers):
            planes, stride, before = 64 << number, 2 if number else 1, dilation
            if dilate[number]:
                dilation, stride = dilation * stride, 1
            blocks = []
            for position in range(count):
                outplanes, step = planes * block.expansion, 1 if position else stride
                downsample = None
                if step != 1 or inplanes != outplanes:
                    downsample = Sequential(Conv2d(inplanes, outplanes, 1, step, bias=False, **on), norm(outplanes))
                options = (groups, width_per_group, dilation if position else before, norm)
                blocks.append(block(inplanes, planes, step, downsample, *options, **on))
                inplanes = outplanes
            self.add_module(f"layer{number + 1}", Sequential(*blocks))
        self.avgpool = AdaptiveAvgPool2d((1, 1))
        self.fc = Linear(inplanes, num_classes, **on)
        for module in self.modules():
            if isinstance(module, Conv2d):
                kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if zero_init_residual and isinstance(module, (BasicBlock, Bottleneck)):
                constant_(module.bn2.weight if isinstance(module, BasicBlock) else module.bn3.weight, 0.0)  # type: ignore

    def forward(self, x: Tensor) -> Tensor:
        """From images, shape (B, in_channels, H, W), to logits, shape (B, num_classes)."""
        out = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        out = self.layer4(self.layer3(self.layer2(self.layer1(out))))
        return self.fc(self.avgpool(out).flatten(1))


def _resnet(name: str, block: type, layers: list[int], weights: Any, settings: dict[str, Any]) -> ResNet:
    """Make a network. Raises NotImplementedError if weights are given, which would have to be downloaded."""
    if weights is not None:
        raise NotImplementedError(f"{name} supports weights=None only, got {weights!r}; load a file into model.load_state_dict")
    return ResNet(block, layers, **settings)


def resnet18(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """18 layers, 11.7 million parameters for 1,000 classes.

    Args:
        weights: None: the parameters are drawn at random.
        progress: Has no effect: nothing is downloaded.
        kwargs: Arguments of `ResNet`, such as num_classes.

    Raises:
        NotImplementedError: If weights is not None.
    """
    return _resnet("resnet18", BasicBlock, [2, 2, 2, 2], weights, kwargs)


def resnet34(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """34 layers, 21.8 million parameters for 1,000 classes. Arguments and errors as for `resnet18`."""
    return _resnet("resnet34", BasicBlock, [3, 4, 6, 3], weights, kwargs)


def resnet50(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """50 layers, 25.6 million parameters for 1,000 classes. Arguments and errors as for `resnet18`."""
    return _resnet("resnet50", Bottleneck, [3, 4, 6, 3], weights, kwargs)


def resnet101(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """101 layers, 44.5 million parameters for 1,000 classes. Arguments and errors as for `resnet18`."""
    return _resnet("resnet101", Bottleneck, [3, 4, 23, 3], weights, kwargs)


def resnet152(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """152 layers, 60.2 million parameters for 1,000 classes. Arguments and errors as for `resnet18`."""
    return _resnet("resnet152", Bottleneck, [3, 8, 36, 3], weights, kwargs)
