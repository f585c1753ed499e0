"""torchvision's interface: `import minitorch.torch.vision as torchvision`. This file is the folder's table of contents."""

# Stage 7 - PyTorch's interface
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.vision import models as models
from minitorch.torch.vision import transforms as transforms
from minitorch.torch.vision import datasets as datasets
from minitorch.torch.vision import utils as utils
from minitorch.torch.vision import io as io

__all__ = ["datasets", "io", "models", "transforms", "utils"]

__getattr__ = _refuse_absent("torchvision", __all__)
