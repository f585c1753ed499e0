"""torch.backends: the libraries that PyTorch computes with, none of which is used here."""

# Stage 7 - PyTorch's interface
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.backends import cuda as cuda
from minitorch.torch.backends import cudnn as cudnn
from minitorch.torch.backends import mps as mps
from minitorch.torch.backends import libraries as libraries

mkl, mkldnn, openmp = (libraries.Library(name) for name in ("mkl", "mkldnn", "openmp"))

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]

__getattr__ = _refuse_absent("torch.backends", __all__)
