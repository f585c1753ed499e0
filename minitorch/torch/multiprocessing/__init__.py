"""torch.multiprocessing: Python's multiprocessing, whose queues and arguments pass tensors in shared memory on without a copy."""

# Stage 7 - PyTorch's interface
import multiprocessing as _multiprocessing

from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.multiprocessing.spawn import (
    ProcessContext, ProcessException, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn, start_processes,
)  # fmt: skip
from minitorch.torch.multiprocessing.sharing import get_all_sharing_strategies, get_sharing_strategy, set_sharing_strategy

globals().update({name: getattr(_multiprocessing, name) for name in _multiprocessing.__all__})

__all__ = [
    *_multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
]  # fmt: skip

__getattr__ = _refuse_absent("torch.multiprocessing", __all__)
