"""torch.nn: networks. This file is the folder's table of contents."""

# Stage 7 - PyTorch's interface
import sys as _sys

from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.nn import attention as attention
from minitorch.torch.nn import functional as functional
from minitorch.torch.nn import modules as modules
from minitorch.torch.nn import utils as utils
from minitorch.nn import init as init
from minitorch.nn import parallel as parallel
from minitorch.nn import parameter as parameter


_sys.modules.update({f"{__name__}.{module.__name__.rpartition('.')[2]}": module for module in (init, parallel, parameter)})

globals().update(modules.CLASSES)

__all__ = sorted({name for name in globals() if name[0].isupper()} | {"attention", "functional", "init", "modules", "parallel", "utils"})

__getattr__ = _refuse_absent("torch.nn", __all__)
