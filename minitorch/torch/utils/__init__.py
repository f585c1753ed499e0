"""torch.utils: data sets and loaders, checkpoints, benchmarks, and logs of training runs."""

# Stage 7 - PyTorch's interface
from importlib import import_module as _import_module
from functools import partial as _partial
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.swapping import swap_tensors
from minitorch.torch.utils import checkpoint as checkpoint
from minitorch.torch.utils import data as data

__all__ = ["checkpoint", "data", "swap_tensors"]

_LATE = ("benchmark", "tensorboard")

_ABSENT = {
    "collect_env": "it describes an installation of PyTorch; print minitorch.__version__ and platform.platform()",
    "cpp_extension": "no code in C++ is compiled; write kernels with numba, see project/custom_op.py",
    "model_zoo": "no weights are downloaded; read files with torch.load",
    "hub": "no weights are downloaded; read files with torch.load",
    "dlpack": "tensors have __dlpack__; use from_dlpack of the other library",
    "mobile_optimizer": "no programs for phones are exported",
    "bottleneck": "use torch.profiler.profile",
    "flop_counter": "use minitorch.nn.summary, which counts additions and multiplications",
}

__getattr__ = _refuse_absent("torch.utils", __all__, {name: _partial(_import_module, f"{__name__}.{name}") for name in _LATE}, _ABSENT)
