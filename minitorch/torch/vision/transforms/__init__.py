"""torchvision.transforms: images as tensors, and random changes to them. This file is the folder's table of contents."""

# Stage 7 - PyTorch's interface
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.vision.transforms import functional as functional
from minitorch.data.image_geometry import InterpolationMode
from minitorch.data.transforms import (
    CenterCrop, Compose, ConvertImageDtype, Lambda, Normalize, Pad, PILToTensor, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip,
    Resize, ToPILImage, ToTensor,
)  # fmt: skip

__all__ = [
    "CenterCrop", "Compose", "ConvertImageDtype", "InterpolationMode", "Lambda", "Normalize", "PILToTensor", "Pad", "RandomCrop",
    "RandomHorizontalFlip", "RandomVerticalFlip", "Resize", "ToPILImage", "ToTensor", "functional",
]  # fmt: skip

__getattr__ = _refuse_absent("torchvision.transforms", __all__)
