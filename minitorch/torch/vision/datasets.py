"""Stage 7 - torchvision.datasets: the image data sets of `minitorch.data`."""

from minitorch.data.image_sets import CIFAR10, MNIST, FakeData, FashionMNIST, VisionDataset
from minitorch.torch.absent import refuse_absent as _refuse_absent

__all__ = ["CIFAR10", "MNIST", "FakeData", "FashionMNIST", "VisionDataset"]

__getattr__ = _refuse_absent("torchvision.datasets", __all__)
