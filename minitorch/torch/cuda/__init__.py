"""torch.cuda: what there is of GPUs."""

# Stage 7 - PyTorch's interface
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.cuda import amp as amp
from minitorch.torch.cuda.devices import (
    current_device, device, device_count, empty_cache, get_device_capability, get_device_name, init, is_available, is_bf16_supported,
    is_initialized, manual_seed, manual_seed_all, max_memory_allocated, max_memory_reserved, mem_get_info, memory_allocated,
    memory_reserved, set_device, synchronize,
)  # fmt: skip
from minitorch.torch.cuda.streams import Event, Stream, current_stream, default_stream, stream
from minitorch.torch.tensor_types import CUDA as _TYPES

globals().update(_TYPES)

__all__ = [
    "Event", "Stream", "amp", "current_device", "current_stream", "default_stream", "device", "device_count", "empty_cache",
    "get_device_capability", "get_device_name", "init", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "set_device",
    "stream", "synchronize", *_TYPES,
]  # fmt: skip

_UNCOUNTED = "the memory of tensors is not counted; see mem_get_info()"
_ABSENT: dict[str, str] = dict.fromkeys(("CUDAGraph", "graph", "graphs"), "no graphs of launches; torch.compile records them")
_ABSENT |= dict.fromkeys(("memory_summary", "memory_stats", "reset_peak_memory_stats"), _UNCOUNTED)
_ABSENT |= dict.fromkeys(("get_rng_state", "set_rng_state"), "torch.manual_seed seeds the random numbers of all devices")

__getattr__ = _refuse_absent("torch.cuda", __all__, reasons=_ABSENT)
