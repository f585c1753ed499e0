"""Stage 7 - torch.xpu: the GPUs of Intel, which are not used."""

from __future__ import annotations

from minitorch.torch.absent import refuse_absent
from minitorch.torch.mps import device_count, empty_cache, is_available, manual_seed, manual_seed_all

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]


def synchronize() -> None:
    """Wait for the GPU.

    Raises:
        RuntimeError: Always, there is none.
    """
    raise RuntimeError("torch.xpu.synchronize expected a GPU of Intel, which is not used here; call it only if torch.xpu.is_available()")


__getattr__ = refuse_absent("torch.xpu", __all__)
