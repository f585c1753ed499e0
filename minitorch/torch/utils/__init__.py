"""torch.utils: data sets and loaders, and checkpoints."""

# Stage 6 - PyTorch's interface
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.utils import checkpoint as checkpoint
from minitorch.torch.utils import data as data

__all__ = ["checkpoint", "data"]

__getattr__ = _refuse_absent("torch.utils", __all__)
