"""Stage 6 - Residual networks with torchvision's names; their state dicts have torchvision's entries."""

from __future__ import annotations

from typing import Any

import minitorch.models.resnet as engine
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.nn.module import adapt

adapt(engine.BasicBlock)  # so that the blocks of a network are adapted with it
adapt(engine.Bottleneck)


class ResNet(adapt(engine.ResNet)):
    """A residual network; see `minitorch.models.ResNet`."""


def _resnet(name: str, block: type, layers: list[int], weights: Any, progress: bool, settings: dict[str, Any]) -> ResNet:
    """Make a network.

    Raises:
        NotImplementedError: If weights are given, which would have to be downloaded.
    """
    if weights is not None:
        raise NotImplementedError(f"{name} supports weights=None only, got {weights!r}; load a file into model.load_state_dict")
    return ResNet(block, layers, **settings)


def resnet18(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """18 layers, 11.7 million parameters for 1,000 classes.

    Args:
        weights: None: the parameters are drawn at random.
        progress: Has no effect: nothing is downloaded.
        kwargs: Arguments of the network, such as num_classes; with device and dtype.

    Raises:
        NotImplementedError: If weights is not None.
    """
    return _resnet("resnet18", engine.BasicBlock, [2, 2, 2, 2], weights, progress, kwargs)


def resnet34(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """34 layers, 21.8 million parameters for 1,000 classes. Arguments as for `resnet18`.

    Raises:
        NotImplementedError: If weights is not None.
    """
    return _resnet("resnet34", engine.BasicBlock, [3, 4, 6, 3], weights, progress, kwargs)


def resnet50(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """50 layers, 25.6 million parameters for 1,000 classes. Arguments as for `resnet18`.

    Raises:
        NotImplementedError: If weights is not None.
    """
    return _resnet("resnet50", engine.Bottleneck, [3, 4, 6, 3], weights, progress, kwargs)


def resnet101(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """101 layers, 44.5 million parameters for 1,000 classes. Arguments as for `resnet18`.

    Raises:
        NotImplementedError: If weights is not None.
    """
    return _resnet("resnet101", engine.Bottleneck, [3, 4, 23, 3], weights, progress, kwargs)


def resnet152(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """152 layers, 60.2 million parameters for 1,000 classes. Arguments as for `resnet18`.

    Raises:
        NotImplementedError: If weights is not None.
    """
    return _resnet("resnet152", engine.Bottleneck, [3, 8, 36, 3], weights, progress, kwargs)


__getattr__ = refuse_absent("torchvision.models", defined(globals()))
