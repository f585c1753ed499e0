"""Stage 7 - torch.accelerator: the GPU, if there is one, whatever its kind."""

from __future__ import annotations

from minitorch.torch.absent import refuse_absent
from minitorch.torch.cuda.devices import current_device, device_count, empty_cache, is_available, memory_allocated, set_device, synchronize
from minitorch.torch.places import device

current_device_index, set_device_index, max_memory_allocated = current_device, set_device, memory_allocated

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available", "max_memory_allocated",
    "memory_allocated", "set_device_index", "synchronize",
]  # fmt: skip


def current_accelerator(check_available: bool = False) -> device | None:
    """The GPU as a device; None without one.

    Args:
        check_available: Accepted for PyTorch, where a program may be built for a GPU that is missing.
    """
    return device("cuda") if is_available() else None


__getattr__ = refuse_absent("torch.accelerator", __all__)
