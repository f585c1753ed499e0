"""torch.utils: data sets and loaders, and checkpoints."""

# Stage 6 - PyTorch's interface
from minitorch.torch.utils import checkpoint as checkpoint
from minitorch.torch.utils import data as data

__all__ = ["checkpoint", "data"]
