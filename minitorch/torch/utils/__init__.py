"""torch.utils: data sets and loaders."""

# Stage 6 - PyTorch's interface
from minitorch.torch.utils import data as data

__all__ = ["data"]
