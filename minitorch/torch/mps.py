"""Stage 7 - torch.mps: the GPUs of Apple, which are not used."""

from __future__ import annotations

from minitorch.tensor import manual_seed as manual_seed
from minitorch.torch.absent import refuse_absent
from minitorch.torch.cuda.devices import manual_seed_all as manual_seed_all

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def empty_cache() -> None:
    """Nothing: there is no memory to free."""


def synchronize() -> None:
    """Wait for the GPU.

    Raises:
        RuntimeError: Always, there is none.
    """
    raise RuntimeError("torch.mps.synchronize expected a GPU of Apple, which is not used here; call it only if torch.mps.is_available()")


__getattr__ = refuse_absent("torch.mps", __all__)
