"""torch.backends: the libraries that PyTorch computes with, none of which is used here."""

# Stage 6 - PyTorch's interface
from minitorch.torch.backends import cudnn as cudnn
from minitorch.torch.backends import mps as mps

__all__ = ["cudnn", "mps"]
