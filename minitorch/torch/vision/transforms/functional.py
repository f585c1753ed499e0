"""Stage 7 - torchvision.transforms.functional: the functions of images of `minitorch.data`."""

from minitorch.data.image_geometry import InterpolationMode, center_crop, crop, hflip, pad, resize, vflip
from minitorch.data.images import convert_image_dtype, get_dimensions, get_image_size, normalize, pil_to_tensor, to_pil_image, to_tensor
from minitorch.torch.absent import refuse_absent as _refuse_absent

__all__ = [
    "InterpolationMode", "center_crop", "convert_image_dtype", "crop", "get_dimensions", "get_image_size", "hflip", "normalize", "pad",
    "pil_to_tensor", "resize", "to_pil_image", "to_tensor", "vflip",
]  # fmt: skip

__getattr__ = _refuse_absent("torchvision.transforms.functional", __all__)
