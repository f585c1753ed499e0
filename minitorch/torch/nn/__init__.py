"""torch.nn: networks. This file is the folder's table of contents."""

# Stage 6 - PyTorch's interface
import sys as _sys

import minitorch.nn as _nn
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.nn import attention as attention
from minitorch.torch.nn import functional as functional
from minitorch.torch.nn import utils as utils
from minitorch.nn import init as init
from minitorch.nn import parallel as parallel
from minitorch.nn import parameter as parameter


_sys.modules.update({f"{__name__}.{module.__name__.rpartition('.')[2]}": module for module in (init, parallel, parameter)})

_LAYERS = {name for name in _nn.__all__ if name[0].isupper() and name != "Max"}
globals().update({name: getattr(_nn, name) for name in _LAYERS - {*globals()}})

__all__ = sorted({name for name in globals() if name[0].isupper()} | {"attention", "functional", "init", "parallel", "utils"})

__getattr__ = _refuse_absent("torch.nn", __all__)
