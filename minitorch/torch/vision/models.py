"""Stage 7 - torchvision.models: the residual networks of `minitorch.models`."""

from minitorch.models.resnet import ResNet, resnet18, resnet34, resnet50, resnet101, resnet152
from minitorch.torch.absent import refuse_absent as _refuse_absent

__all__ = ["ResNet", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152"]

__getattr__ = _refuse_absent("torchvision.models", __all__)
