"""torch.utils: data sets and loaders, checkpoints, benchmarks, and logs of training runs."""

# Stage 6 - PyTorch's interface
from importlib import import_module as _import_module
from functools import partial as _partial
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.utils import checkpoint as checkpoint
from minitorch.torch.utils import data as data

__all__ = ["checkpoint", "data"]

_LATE = ("benchmark", "tensorboard")

__getattr__ = _refuse_absent("torch.utils", __all__, {name: _partial(_import_module, f"{__name__}.{name}") for name in _LATE})
